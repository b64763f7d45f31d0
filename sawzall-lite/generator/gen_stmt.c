/* Statements to code; see gen.h.
 *
 * A statement is the unit of undefinedness: a value that is missing skips it
 * or ends the record. Loops are compiled twice where that saves checks: once
 * with the variables from before it known as defined, once without.
 */
#include "base/core/panic.h"
#include "sawzall-lite/checker/reads.h"
#include "sawzall-lite/generator/gen.h"

/* --- declarations -------------------------------------------------------- */

static void var_decl(struct gen *g, struct saw_decl *d)
{
    gen_label end;
    uint32_t from;
    uint32_t sites = g->undef_sites;
    size_t known = gen_known_mark(g);
    bool maybe;

    if (d->is_static)
        return; /* Done before the program runs. */
    if (d->fn && !d->assigned && d->init && d->init->kind == EXPR_FUNCTION) {
        if (!d->used && !g->u->plain)
            return;
        gen_function(g->u, d->init->u.function.fn);
        return;
    }
    if (!d->in_step) {
        d->reg = gen_temp(g);
        d->defined_reg = -1;
    }
    d->known_defined = false;
    if (d->init) {
        end = gen_label_new(g);
        from = gen_handle_begin(g);
        if (!g->u->plain)
            saw_reads_report(d);
        gen_held(g, d->init, d->reg);
        maybe = g->undef_sites != sites;
        if (maybe || d->undefined_by_call) {
            if (!d->in_step)
                d->defined_reg = (int32_t)gen_temp(g);
            gen_ak(g, SAW_OP_LOADI, (gen_reg)d->defined_reg, 1);
        }
        if (maybe) {
            gen_label no = gen_label_new(g);
            gen_forget(g, known);
            gen_handle_end(g, from, SAW_HANDLER_JUMP, no);
            g->handlers[g->handler_count - 1].var = gen_var(g, d) + 1;
            g->handlers[g->handler_count - 1].expr = d->init;
            gen_jump(g, end);
            gen_bind(g, no);
            gen_ak(g, SAW_OP_LOADI, (gen_reg)d->defined_reg, 0);
        }
        gen_bind(g, end);
        g->undef_sites = sites;
    } else {
        if (!d->in_step)
            d->defined_reg = (int32_t)gen_temp(g);
        gen_ak(g, SAW_OP_LOADI, (gen_reg)d->defined_reg, 0);
    }
}

/* for (…; …; x: int = 0): the body sees x, undefined at first. */
static void step_decl(struct gen *g, struct saw_decl *d)
{
    if (d->is_static)
        return;
    d->in_step = true;
    d->undefined_by_call = true; /* Each iteration can undefine it. */
    d->reg = gen_temps(g, 2);
    d->defined_reg = (int32_t)d->reg + 1;
    gen_ak(g, SAW_OP_LOADI, (gen_reg)d->defined_reg, 0);
}

/* --- simple statements --------------------------------------------------- */

/* a = a + e over an array: in place. */
static bool gen_stmt_append(struct gen *g, struct saw_stmt *s)
{
    struct saw_expr *to = s->u.assign.target;
    struct saw_expr *e = s->u.assign.value;
    gen_reg mark = g->next_reg;
    gen_reg r;
    struct saw_decl *d;

    if (g->u->plain)
        return false;
    if (to->kind != EXPR_NAME || e->kind != EXPR_BINARY || e->constant ||
        e->u.binary.op != OP_ADD || e->type->kind != SAW_ARRAY ||
        e->u.binary.left->kind != EXPR_NAME)
        return false;
    d = to->u.name.decl;
    if (e->u.binary.left->u.name.decl != d || !gen_is_local(g, d))
        return false;
    g->at = e->u.binary.left->pos;
    gen_load_var(g, d, d->reg); /* Checks that it is defined. */
    r = gen_any(g, e->u.binary.right);
    g->at = e->pos;
    gen_abcx(g, SAW_OP_APPEND, d->reg, r, 0, e->type);
    gen_release(g, mark);
    return true;
}

/* Whether the result is written only after all operands were read. */
static bool writes_last(const struct saw_expr *e)
{
    return e->constant || e->kind == EXPR_NAME || e->kind == EXPR_CONVERT ||
           (e->kind == EXPR_BINARY && e->u.binary.op < OP_LAND) ||
           (e->kind == EXPR_CALL && e->u.call.kind == CALL_BUILTIN);
}

static void gen_stmt_assign(struct gen *g, struct saw_stmt *s)
{
    struct saw_expr *to = s->u.assign.target;
    struct saw_expr *e = s->u.assign.value;
    gen_reg mark = g->next_reg;
    gen_reg r;

    if (gen_stmt_append(g, s))
        return;
    /* Generate straight into the variable, if its old value is not needed
     * meanwhile or only by the last operation: an operation reads before it
     * writes. */
    if (to->kind == EXPR_NAME && gen_is_local(g, to->u.name.decl) &&
        saw_kind_is_basic(e->type->kind) && writes_last(e) && !g->u->plain) {
        gen_to(g, e, to->u.name.decl->reg);
        if (!to->u.name.decl->known_defined) {
            gen_set_defined(g, to->u.name.decl, true);
            gen_know(g, to->u.name.decl);
        }
        gen_release(g, mark);
        return;
    }
    r = gen_temp(g);
    gen_held(g, e, r);
    g->at = s->pos;
    gen_store(g, to, r);
    gen_release(g, mark);
}

static void gen_stmt_increment(struct gen *g, struct saw_stmt *s)
{
    struct saw_expr *e = s->u.increment.target;
    gen_reg mark = g->next_reg;
    gen_reg r;

    if (e->kind == EXPR_NAME && gen_is_local(g, e->u.name.decl)) {
        r = gen_load_var(g, e->u.name.decl, e->u.name.decl->reg);
        gen_abc(g, SAW_OP_ADDI, r, r, (uint32_t)s->u.increment.delta);
        return;
    }
    r = gen_temp(g);
    gen_target_begin(g, e);
    gen_to(g, e, r);
    gen_abc(g, SAW_OP_ADDI, r, r, (uint32_t)s->u.increment.delta);
    gen_target_store(g, e, r);
    gen_target_end(e);
    gen_release(g, mark);
}

/* --- emit ---------------------------------------------------------------- */

static uint32_t table_index(const struct saw_decl *d)
{
    INVARIANT(d->table >= 0);
    return (uint32_t)d->table;
}

/* Whether it is the table itself, not a parameter that stands for one. */
static bool is_fixed(const struct saw_decl *d)
{
    return d->is_static;
}

static uint32_t
emit_site(struct gen *g, struct saw_stmt *s, const struct saw_table_type *t)
{
    struct saw_code_pool *p = g->u->pool;

    if (p->emit_count == g->u->emit_cap) {
        struct saw_emit_site *old = p->emits;
        g->u->emit_cap = g->u->emit_cap ? g->u->emit_cap * 2 : 16;
        p->emits = arena_alloc(g->u->arena, g->u->emit_cap * sizeof(*p->emits));
        if (old)
            memcpy(p->emits, old, p->emit_count * sizeof(*old));
    }
    p->emits[p->emit_count] = (struct saw_emit_site){
        .table = is_fixed(s->u.emit.table) ? table_index(s->u.emit.table)
                                           : SAW_EMIT_TABLE_GIVEN,
        .arg_count = (uint32_t)t->index_count + 1 + (s->u.emit.weight != NULL) +
                     t->formatted + t->to_file,
        .weighted = s->u.emit.weight != NULL,
        .formatted = t->formatted,
        .to_file = t->to_file};
    return p->emit_count++;
}

/* The variables that stand for indices and element in format arguments are
 * the registers of this emit while those are compiled. */
static void gen_stmt_formats(struct gen *g,
                             const struct saw_table_expr *x,
                             gen_reg r,
                             gen_reg to)
{
    struct saw_function *owners[2] = {NULL, NULL};
    size_t i;

    for (i = 0; i < x->vars.count; i++) {
        owners[0] = x->vars.at[i]->owner;
        x->vars.at[i]->owner = g->fn;
        x->vars.at[i]->reg = r + (gen_reg)i;
    }
    if (x->format_site)
        gen_builtin(g, x->format_site, &x->format, to++);
    if (x->file_site)
        gen_builtin(g, x->file_site, &x->file, to);
    for (i = 0; i < x->vars.count; i++)
        x->vars.at[i]->owner = owners[0];
}

static void gen_stmt_emit(struct gen *g, struct saw_stmt *s)
{
    const struct saw_table_type *t = s->u.emit.table->type->table;
    gen_reg mark = g->next_reg;
    uint32_t n = (uint32_t)t->index_count;
    gen_reg r = gen_temps(g, n + 5);
    gen_reg after = r + n + 1;
    uint32_t i;

    if (s->u.emit.weight)
        gen_to(g, s->u.emit.weight, after++);
    gen_to(g, s->u.emit.value, r + n);
    for (i = n; i-- > 0;)
        gen_to(g, s->u.emit.indices.at[i], r + i);
    g->at = s->pos;
    gen_stmt_formats(g, t->syntax, r, after);
    after += t->formatted + t->to_file;
    if (!is_fixed(s->u.emit.table))
        gen_load_var(g, s->u.emit.table, after);
    g->at = s->pos;
    gen_ak(g, SAW_OP_EMIT, r, emit_site(g, s, t));
    gen_release(g, mark);
}

/* --- loops --------------------------------------------------------------- */

static void loop_once(struct gen *g, struct saw_stmt *s)
{
    struct gen_loop loop = {gen_label_new(g), gen_label_new(g), g->loop};
    gen_label body = gen_label_new(g);
    gen_label cond = gen_label_new(g);
    gen_reg mark = g->next_reg;
    size_t known = gen_known_mark(g);
    uint32_t from;

    g->loop = &loop;
    if (s->u.loop.cond && !s->u.loop.cond_last)
        gen_jump(g, cond);
    gen_bind(g, body);
    gen_stmt(g, s->u.loop.body);
    gen_bind(g, loop.next);
    gen_forget(g, known);
    if (s->u.loop.after)
        gen_stmt(g, s->u.loop.after);
    gen_bind(g, cond);
    gen_forget(g, known);
    g->at = s->u.loop.cond ? s->u.loop.cond->pos : s->pos;
    if (s->u.loop.cond) {
        from = gen_handle_begin(g);
        gen_cond(g, s->u.loop.cond, true, body);
        gen_statement_end(g, from, loop.exit, NULL, s->u.loop.cond);
    } else {
        gen_jump(g, body);
    }
    gen_bind(g, loop.exit);
    gen_forget(g, known);
    gen_release(g, mark);
    g->loop = loop.outer;
}

/* Generate the loop assuming that variables from before it are defined and, if
 * some may not be, a second version that checks each use. */
static void loop_twice(struct gen *g, struct saw_stmt *s)
{
    struct saw_decls assumed = {0};
    struct saw_decls *outer = g->assumed;
    uint32_t below = g->assumed_below;
    gen_label tests = gen_label_new(g);
    gen_label fast = gen_label_new(g);
    gen_label end = gen_label_new(g);
    gen_label slow = gen_label_new(g);
    uint32_t start = g->count;
    size_t known = gen_known_mark(g);
    size_t i;

    gen_jump(g, tests);
    gen_bind(g, fast);
    g->assumed = &assumed;
    g->assumed_below = g->next_reg;
    loop_once(g, s);
    g->assumed = outer;
    g->assumed_below = below;
    gen_forget(g, known);
    if (assumed.count == 0) { /* No test needed after all: fall through. */
        g->insns[start].op = SAW_OP_NOP;
        g->insns[start].u.k = 0;
        for (i = 0; i < g->fixup_count; i++) {
            if (g->fixups[i].insn == start)
                g->fixups[i--] = g->fixups[--g->fixup_count];
        }
        return;
    }
    gen_jump(g, end);
    gen_bind(g, tests);
    for (i = 0; i < assumed.count; i++)
        gen_branch(g, SAW_OP_JF, (gen_reg)assumed.at[i]->defined_reg, 0, slow);
    gen_jump(g, fast);
    gen_bind(g, slow);
    g->no_versions++;
    g->assumed = NULL;
    loop_once(g, s);
    g->assumed = outer;
    g->no_versions--;
    gen_bind(g, end);
}

static void gen_stmt_loop(struct gen *g, struct saw_stmt *s)
{
    gen_reg mark = g->next_reg;

    if (s->u.loop.before)
        gen_stmt(g, s->u.loop.before);
    if (s->u.loop.after && s->u.loop.after->kind == STMT_DECL)
        step_decl(g, s->u.loop.after->u.decl);
    if (g->no_versions == 0 && !s->u.loop.has_function && !g->u->plain)
        loop_twice(g, s);
    else
        loop_once(g, s);
    gen_release(g, mark);
}

/* --- branches ------------------------------------------------------------ */

/* Generate only the branch that is always taken; false if that is not known. */
static bool gen_stmt_decided(struct gen *g, struct saw_stmt *s)
{
    const struct saw_expr *cond = s->u.branch.cond;
    struct saw_stmt *taken;

    if (!cond->constant || g->u->plain)
        return false;
    taken = cond->constant->i ? s->u.branch.then : s->u.branch.otherwise;
    if (taken)
        gen_stmt(g, taken);
    return true;
}

static void gen_stmt_branch(struct gen *g, struct saw_stmt *s)
{
    gen_label otherwise = gen_label_new(g);
    gen_label end = gen_label_new(g);
    uint32_t from = gen_handle_begin(g);
    size_t before = gen_known_mark(g);
    size_t known;

    if (gen_stmt_decided(g, s))
        return;
    gen_cond(g, s->u.branch.cond, false, otherwise);
    gen_statement_end(g, from, end, NULL, s->u.branch.cond);
    known = gen_known_mark(g);
    gen_stmt(g, s->u.branch.then);
    gen_forget(g, known);
    if (s->u.branch.otherwise) {
        gen_jump(g, end);
        gen_bind(g, otherwise);
        gen_stmt(g, s->u.branch.otherwise);
        gen_forget(g, known);
    } else {
        gen_bind(g, otherwise);
    }
    gen_bind(g, end);
    if (g->u->ignore_undefs)
        gen_forget(g, before);
}

/* Jump to @body when the tag equals one of the labels. */
static void case_tests(struct gen *g,
                       const struct saw_case *c,
                       const struct saw_type *t,
                       gen_reg tag,
                       gen_label body)
{
    size_t i;

    for (i = 0; i < c->labels.count; i++) {
        struct saw_expr *e = c->labels.at[i];
        gen_label next = gen_label_new(g);
        gen_reg mark = g->next_reg;
        uint32_t from = gen_handle_begin(g);
        gen_reg r = gen_any(g, e);
        g->at = e->pos;
        if (t->kind == SAW_STRING || t->kind == SAW_BYTES) {
            gen_branch(g, SAW_OP_JSEQ, tag, r, body);
        } else if (t->kind == SAW_FLOAT) {
            gen_reg b = gen_temp(g);
            gen_abc(g, SAW_OP_FEQ, b, tag, r);
            gen_branch(g, SAW_OP_JT, b, 0, body);
        } else {
            gen_branch(g, SAW_OP_JEQ, tag, r, body);
        }
        gen_statement_end(g, from, next, NULL, e);
        gen_bind(g, next);
        gen_release(g, mark);
    }
}

static void select_case(struct gen *g, struct saw_stmt *s)
{
    struct gen_loop here = {gen_label_new(g), GEN_NO_REG, g->loop};
    gen_reg mark = g->next_reg;
    gen_reg tag = gen_temp(g);
    uint32_t from = gen_handle_begin(g);
    size_t before = gen_known_mark(g);
    size_t known;
    size_t i;

    if (g->loop)
        here.next = g->loop->next;
    gen_to(g, s->u.select.tag, tag);
    gen_statement_end(g, from, here.exit, NULL, s->u.select.tag);
    g->loop = &here;
    known = gen_known_mark(g);
    for (i = 0; i < s->u.select.case_count; i++) {
        struct saw_case *c = &s->u.select.cases[i];
        gen_label body = gen_label_new(g);
        gen_label next = gen_label_new(g);
        if (c->labels.count) {
            case_tests(g, c, s->u.select.tag->type, tag, body);
            gen_jump(g, next);
        }
        gen_bind(g, body);
        gen_forget(g, known);
        gen_stmt(g, c->body);
        gen_jump(g, here.exit);
        gen_forget(g, known);
        gen_bind(g, next);
    }
    gen_bind(g, here.exit);
    if (g->u->ignore_undefs)
        gen_forget(g, before);
    g->loop = here.outer;
    gen_release(g, mark);
}

/* --- jumps --------------------------------------------------------------- */

static void return_stmt(struct gen *g, struct saw_stmt *s)
{
    gen_reg mark = g->next_reg;
    uint32_t from = gen_handle_begin(g);
    uint32_t sites = g->undef_sites;
    gen_reg r;

    if (!s->u.expr) {
        gen_abc(g, g->fn->level == 0 ? SAW_OP_HALT : SAW_OP_RETV, 0, 0, 0);
        return;
    }
    r = gen_any(g, s->u.expr);
    gen_share(g, s->u.expr, r);
    if (g->undef_sites != sites)
        g->fn->returns_undef = true;
    gen_handle_end(g, from, SAW_HANDLER_RETURN, GEN_NO_REG);
    g->undef_sites = sites;
    gen_abc(g, SAW_OP_RET, r, 0, 0);
    gen_release(g, mark);
}

static void result_stmt(struct gen *g, struct saw_stmt *s)
{
    gen_held(g, s->u.expr, g->statexpr->u.statexpr.reg);
    gen_jump(g, g->statexpr_exit);
}

static void gen_stmt_block(struct gen *g, struct saw_stmt *s)
{
    gen_reg mark = g->next_reg;
    size_t i;

    for (i = 0; i < s->u.block.count && !g->u->failed; i++)
        gen_stmt(g, s->u.block.at[i]);
    gen_release(g, mark);
}

/* The variable a target is part of; NULL if @s has no target. */
static struct saw_decl *target_of(const struct saw_stmt *s)
{
    const struct saw_expr *e = s->kind == STMT_ASSIGN ? s->u.assign.target
                               : s->kind == STMT_INCREMENT
                                   ? s->u.increment.target
                                   : NULL;

    while (e && e->kind != EXPR_NAME)
        e = e->kind == EXPR_SELECT ? e->u.select.object : e->u.index.object;
    return e ? e->u.name.decl : NULL;
}

/* An assignment or increment without value leaves its variable undefined: the
 * handler points to code that does this and then jumps to @exit. */
static void undefine_target(struct gen *g,
                            const struct saw_stmt *s,
                            struct saw_handler *h,
                            gen_label exit)
{
    struct saw_decl *d = target_of(s);

    if (!d || d->defined_reg < 0 || !d->undefined_by_call)
        return;
    h->var = gen_var(g, d) + 1;
    h->target = gen_label_new(g);
    gen_jump(g, exit);
    gen_bind(g, h->target);
    gen_set_defined(g, d, false);
}

/* Statements that are undefined as a whole. */
static void gen_stmt_guarded(struct gen *g, struct saw_stmt *s)
{
    gen_label exit = gen_label_new(g);
    gen_reg mark = g->next_reg;
    size_t known = gen_known_mark(g);
    uint32_t from = gen_handle_begin(g);
    uint32_t sites = g->undef_sites;
    uint32_t handlers;

    if (s->kind == STMT_ASSIGN)
        gen_stmt_assign(g, s);
    else if (s->kind == STMT_INCREMENT)
        gen_stmt_increment(g, s);
    else if (s->kind == STMT_EMIT)
        gen_stmt_emit(g, s);
    else if (s->kind == STMT_RESULT)
        result_stmt(g, s);
    else
        gen_to(g, s->u.expr, gen_temp(g));
    handlers = g->handler_count;
    gen_statement_end(
        g, from, exit,
        s->kind == STMT_EXPR || s->kind == STMT_INCREMENT ? NULL : s,
        s->kind == STMT_INCREMENT ? s->u.increment.target : s->u.expr);
    if (g->u->ignore_undefs && g->undef_sites != sites &&
        g->handler_count != handlers)
        undefine_target(g, s, &g->handlers[g->handler_count - 1], exit);
    gen_bind(g, exit);
    if (g->u->ignore_undefs)
        gen_forget(g, known);
    gen_release(g, mark);
}

void gen_stmt(struct gen *g, struct saw_stmt *s)
{
    uint32_t sites = g->undef_sites;

    if (g->u->failed)
        return;
    g->at = s->pos;
    switch (s->kind) {
    case STMT_EMPTY:
    case STMT_TYPE:
    case STMT_PROTO: break;
    case STMT_BLOCK: gen_stmt_block(g, s); break;
    case STMT_BREAK: gen_jump(g, g->loop->exit); break;
    case STMT_CONTINUE: gen_jump(g, g->loop->next); break;
    case STMT_DECL: var_decl(g, s->u.decl); break;
    case STMT_ASSIGN:
    case STMT_INCREMENT:
    case STMT_EMIT:
    case STMT_RESULT:
    case STMT_EXPR: gen_stmt_guarded(g, s); break;
    case STMT_LOOP: gen_stmt_loop(g, s); break;
    case STMT_IF: gen_stmt_branch(g, s); break;
    case STMT_RETURN: return_stmt(g, s); break;
    case STMT_SWITCH: select_case(g, s); break;
    case STMT_WHEN: gen_when(g, s); break;
    }
    g->undef_sites =
        sites; /* Undefined values inside end with the statement. */
}
