/* when: one loop per variable, in the order of declaration.
 *
 * Variables before the first `all` are real loops with the body inside. From
 * the first `all` on, the loops only test: `all` fails at the first value that
 * fails, the others succeed at the first that succeeds; then the body runs
 * once.
 */
#include "sawzall-lite/generator/gen.h"

struct when {
    struct gen *g;
    struct saw_stmt *s;
    gen_reg found[SAW_NESTING_MAX + 1]; /* Per `some` around: body was run. */
    size_t found_count;
    gen_label exit;
};

/* A loop over the values of one variable. */
struct range {
    gen_reg index;
    gen_reg count;
    gen_reg keys; /* A map or an array of keys; GEN_NO_REG: index is all. */
    bool keys_in_array;
    gen_label body;
    gen_label next;
    gen_label cond;
    gen_label exit;
};

static bool same_variable(const struct saw_expr *a, const struct saw_expr *b)
{
    return a->kind == EXPR_NAME && b->kind == EXPR_NAME &&
           a->u.name.decl == b->u.name.decl;
}

/* count = the smallest length of what the variable indexes. */
static void
array_range(struct gen *g, const struct saw_exprs *uses, struct range *r)
{
    size_t i;

    for (i = 0; i < uses->count; i++) {
        struct saw_expr *o = uses->at[i]->u.index.object;
        gen_reg mark = g->next_reg;
        gen_reg n = i == 0 ? r->count : gen_temp(g);
        gen_reg x = gen_any(g, o);
        g->at = o->pos;
        gen_abc(g, o->type->kind == SAW_ARRAY ? SAW_OP_ALEN : SAW_OP_SLEN, n, x,
                0);
        if (uses->at[i]->u.index.end) /* a[n : n] exists too. */
            gen_abc(g, SAW_OP_ADDI, n, n, 1);
        if (i > 0)
            gen_abc(g, SAW_OP_MIN, r->count, r->count, n);
        gen_release(g, mark);
    }
}

/* The keys of one map as they stand, or of several without repetition. */
static void
map_range(struct gen *g, const struct saw_exprs *uses, struct range *r)
{
    struct saw_expr *first = uses->at[0]->u.index.object;
    size_t i;

    for (i = 1; i < uses->count; i++) {
        if (!same_variable(first, uses->at[i]->u.index.object))
            r->keys_in_array = true;
    }
    r->keys = gen_temp(g);
    if (!r->keys_in_array) {
        gen_to(g, first, r->keys);
        gen_abc(g, SAW_OP_MLEN, r->count, r->keys, 0);
        return;
    }
    gen_abc(g, SAW_OP_ARRAY, r->keys, 0, 0);
    for (i = 0; i < uses->count; i++) {
        struct saw_expr *o = uses->at[i]->u.index.object;
        gen_reg mark = g->next_reg;
        gen_reg m = gen_any(g, o);
        gen_abcx(g, SAW_OP_KEYS, r->keys, m, 0, o->type);
        gen_release(g, mark);
    }
    gen_abc(g, SAW_OP_ALEN, r->count, r->keys, 0);
}

static void range_begin(struct when *w, size_t i, struct range *r)
{
    struct gen *g = w->g;
    struct saw_decl *d = w->s->u.when.vars.at[i];
    const struct saw_exprs *uses = &w->s->u.when.uses[i];
    bool map = uses->at[0]->u.index.object->type->kind == SAW_MAP;
    uint32_t from = gen_handle_begin(g);

    d->reg = gen_temp(g);
    d->defined_reg = -1;
    *r = (struct range){.index = map ? gen_temp(g) : d->reg,
                        .count = gen_temp(g),
                        .keys = GEN_NO_REG,
                        .body = gen_label_new(g),
                        .next = gen_label_new(g),
                        .cond = gen_label_new(g),
                        .exit = gen_label_new(g)};
    if (map)
        map_range(g, uses, r);
    else
        array_range(g, uses, r);
    gen_statement_end(g, from, r->exit, NULL, w->s->u.when.cond);
    gen_ak(g, SAW_OP_LOADI, r->index, 0);
    gen_jump(g, r->cond);
    gen_bind(g, r->body);
    if (r->keys != GEN_NO_REG)
        gen_abc(g, r->keys_in_array ? SAW_OP_AGET : SAW_OP_KEYAT, d->reg,
                r->keys, r->index);
}

static void range_end(struct when *w, struct range *r)
{
    struct gen *g = w->g;

    gen_bind(g, r->next);
    gen_abc(g, SAW_OP_ADDI, r->index, r->index, 1);
    gen_bind(g, r->cond);
    gen_branch(g, SAW_OP_JLT, r->index, r->count, r->body);
    gen_bind(g, r->exit);
}

/* Falls through where the variables from @i on satisfy the condition. */
static void gen_when_test(struct when *w, size_t i, gen_label no)
{
    struct gen *g = w->g;
    struct range r;
    uint32_t from;
    gen_reg mark = g->next_reg;
    size_t known = gen_known_mark(g);

    if (i == w->s->u.when.vars.count) {
        from = gen_handle_begin(g);
        gen_cond(g, w->s->u.when.cond, false, no);
        if (w->s->u.when.guarded)
            gen_handle_end(g, from, SAW_HANDLER_JUMP, no);
        else
            gen_statement_end(g, from, w->exit, NULL, w->s->u.when.cond);
        if (w->s->u.when.guarded || g->u->ignore_undefs)
            gen_forget(g, known);
        return;
    }
    range_begin(w, i, &r);
    if (w->s->u.when.vars.at[i]->quant == QUANT_ALL) {
        gen_when_test(w, i + 1, no);
        range_end(w, &r);
    } else {
        gen_label yes = gen_label_new(g);
        gen_when_test(w, i + 1, r.next);
        gen_jump(g, yes);
        range_end(w, &r);
        gen_jump(g, no);
        gen_bind(g, yes);
    }
    gen_forget(g, known);
    gen_release(g, mark);
}

static void gen_when_run(struct when *w, size_t i)
{
    struct gen *g = w->g;
    const struct saw_decls *vars = &w->s->u.when.vars;
    gen_reg mark = g->next_reg;
    size_t known = gen_known_mark(g);
    struct range r;
    size_t k;

    if (i == vars->count || vars->at[i]->quant == QUANT_ALL) {
        gen_label no = gen_label_new(g);
        gen_when_test(w, i, no);
        gen_stmt(g, w->s->u.when.body);
        for (k = 0; k < w->found_count; k++)
            gen_ak(g, SAW_OP_LOADI, w->found[k], 1);
        gen_bind(g, no);
    } else if (vars->at[i]->quant == QUANT_EACH ||
               w->found_count > SAW_NESTING_MAX) {
        range_begin(w, i, &r);
        gen_when_run(w, i + 1);
        range_end(w, &r);
    } else {
        gen_reg found = gen_temp(g);
        gen_ak(g, SAW_OP_LOADI, found, 0);
        w->found[w->found_count++] = found;
        range_begin(w, i, &r);
        gen_when_run(w, i + 1);
        gen_branch(g, SAW_OP_JT, found, 0, r.exit);
        range_end(w, &r);
        w->found_count--;
    }
    gen_forget(g, known);
    gen_release(g, mark);
}

void gen_when(struct gen *g, struct saw_stmt *s)
{
    struct when w = {.g = g, .s = s};
    size_t known = gen_known_mark(g);

    w.exit = gen_label_new(g);
    gen_when_run(&w, 0);
    gen_bind(g, w.exit);
    gen_forget(g, known);
}
