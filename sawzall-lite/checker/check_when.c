/* The bounds of the variables of a when; see check_internal.h.
 *
 * Each variable must index an array, map or string in the condition, alone or
 * as part of a longer index: its values are those for which all these indices
 * exist. Where an index is more than the variable itself, evaluating the
 * condition may still leave the bounds; it is guarded then, and undefined
 * counts as false (Pike et al., "Interpreting the Data", on quantifiers).
 */
#include "base/core/panic.h"
#include "sawzall-lite/checker/check_internal.h"

struct search {
    struct saw_checker *checker;
    struct saw_stmt *when;
    const struct saw_decl *var;
    struct saw_exprs *uses;
    bool guarded;
    const struct saw_expr *inside; /* The outermost ?{ } around, or NULL. */
};

static void check_when_search(struct search *s, struct saw_expr *e);
static void search_stmt(struct search *s, struct saw_stmt *stmt);

static bool is_var(const struct saw_expr *e, const struct saw_decl *d)
{
    return e->kind == EXPR_NAME && e->u.name.decl == d;
}

/* The number of quantified variables in @e; *@ours is set if the one searched
 * for is among them. */
static size_t
count_vars(const struct search *s, const struct saw_expr *e, bool *ours)
{
    size_t n = 0;
    size_t i;

    switch (e->kind) {
    case EXPR_NAME:
        if (e->u.name.decl == s->var)
            *ours = true;
        return e->u.name.decl && e->u.name.decl->quant != QUANT_NONE;
    case EXPR_UNARY: return count_vars(s, e->u.binary.left, ours);
    case EXPR_BINARY:
        for (; e->kind == EXPR_BINARY; e = e->u.binary.left)
            n += count_vars(s, e->u.binary.right, ours);
        return n + count_vars(s, e, ours);
    case EXPR_SELECT: return count_vars(s, e->u.select.object, ours);
    case EXPR_INDEX:
        n = count_vars(s, e->u.index.object, ours) +
            count_vars(s, e->u.index.begin, ours);
        return e->u.index.end ? n + count_vars(s, e->u.index.end, ours) : n;
    case EXPR_CALL:
        for (i = 0; i < e->u.call.args.count; i++)
            n += count_vars(s, e->u.call.args.at[i], ours);
        return n;
    case EXPR_CONVERT:
        for (i = 0; i < e->u.convert.args.count; i++)
            n += count_vars(s, e->u.convert.args.at[i], ours);
        return n;
    case EXPR_COMPOSITE:
        for (i = 0; i < e->u.composite.items.count; i++)
            n += count_vars(s, e->u.composite.items.at[i], ours);
        return n;
    case EXPR_BAD:
    case EXPR_LITERAL:
    case EXPR_TIME_TEXT:
    case EXPR_DOLLAR:
    case EXPR_FUNCTION:
    case EXPR_STATEXPR:
    case EXPR_TYPE: return 0;
    }
    return 0;
}

/* Whether @e uses a variable that lives only in @block, a ?{ }. Containers
 * found through it cannot bound a loop around the block. */
static bool lives_in(const struct saw_expr *e, const struct saw_expr *block)
{
    const struct saw_decl *d;
    bool found = false;
    size_t i;

    switch (e->kind) {
    case EXPR_NAME:
        d = e->u.name.decl;
        return d && d->kind == DECL_VAR && !d->is_static &&
               d->pos.source == block->pos.source &&
               d->pos.begin >= block->pos.begin && d->pos.end <= block->pos.end;
    case EXPR_UNARY: return lives_in(e->u.binary.left, block);
    case EXPR_BINARY:
        for (; e->kind == EXPR_BINARY && !found; e = e->u.binary.left)
            found = lives_in(e->u.binary.right, block);
        return found || lives_in(e, block);
    case EXPR_SELECT: return lives_in(e->u.select.object, block);
    case EXPR_INDEX:
        return lives_in(e->u.index.object, block) ||
               lives_in(e->u.index.begin, block) ||
               (e->u.index.end && lives_in(e->u.index.end, block));
    case EXPR_CALL:
        for (i = 0; i < e->u.call.args.count && !found; i++)
            found = lives_in(e->u.call.args.at[i], block);
        return found || lives_in(e->u.call.fn, block);
    case EXPR_CONVERT:
        for (i = 0; i < e->u.convert.args.count && !found; i++)
            found = lives_in(e->u.convert.args.at[i], block);
        return found;
    case EXPR_COMPOSITE:
        for (i = 0; i < e->u.composite.items.count && !found; i++)
            found = lives_in(e->u.composite.items.at[i], block);
        return found;
    case EXPR_FUNCTION:
    case EXPR_STATEXPR: return true;
    case EXPR_BAD:
    case EXPR_LITERAL:
    case EXPR_TIME_TEXT:
    case EXPR_DOLLAR:
    case EXPR_TYPE: return false;
    }
    return false;
}

/* The index @i of @e, an EXPR_INDEX. */
static void
search_index(struct search *s, struct saw_expr *e, struct saw_expr *i)
{
    bool ours = false;
    size_t n = count_vars(s, i, &ours);

    if (n == 0 || (n == 1 && !ours))
        return;
    if (s->inside && lives_in(e->u.index.object, s->inside)) {
        s->guarded = true;
        check_when_search(s, i);
        return;
    }
    if (n == 1 && i->kind == EXPR_INDEX) {
        s->guarded = true;
        check_when_search(s, i);
    } else if (n == 1 && is_var(i, s->var)) {
        saw_exprs_add(s->checker->arena, s->uses, e);
    } else {
        check_when_search(s, i);
        s->guarded = true;
    }
}

static void search_list(struct search *s, const struct saw_exprs *l)
{
    size_t i;

    for (i = 0; i < l->count; i++)
        check_when_search(s, l->at[i]);
}

static void search_statexpr(struct search *s, struct saw_expr *e)
{
    const struct saw_expr *outer = s->inside;

    if (!outer)
        s->inside = e;
    search_stmt(s, e->u.statexpr.body);
    s->inside = outer;
    s->guarded = true;
}

static void check_when_search(struct search *s, struct saw_expr *e)
{
    switch (e->kind) {
    case EXPR_UNARY: check_when_search(s, e->u.binary.left); break;
    case EXPR_BINARY:
        for (; e->kind == EXPR_BINARY; e = e->u.binary.left)
            check_when_search(s, e->u.binary.right);
        check_when_search(s, e);
        break;
    case EXPR_SELECT: check_when_search(s, e->u.select.object); break;
    case EXPR_INDEX:
        check_when_search(s, e->u.index.object);
        search_index(s, e, e->u.index.begin);
        if (e->u.index.end)
            search_index(s, e, e->u.index.end);
        break;
    case EXPR_CALL:
        check_when_search(s, e->u.call.fn);
        search_list(s, &e->u.call.args);
        break;
    case EXPR_CONVERT: search_list(s, &e->u.convert.args); break;
    case EXPR_COMPOSITE: search_list(s, &e->u.composite.items); break;
    case EXPR_STATEXPR: search_statexpr(s, e); break;
    case EXPR_BAD:
    case EXPR_LITERAL:
    case EXPR_TIME_TEXT:
    case EXPR_NAME:
    case EXPR_DOLLAR:
    case EXPR_FUNCTION:
    case EXPR_TYPE: break;
    }
}

static void search_maybe(struct search *s, struct saw_expr *e)
{
    if (e)
        check_when_search(s, e);
}

static void search_cases(struct search *s, struct saw_stmt *stmt)
{
    size_t i;

    check_when_search(s, stmt->u.select.tag);
    for (i = 0; i < stmt->u.select.case_count; i++)
        search_stmt(s, stmt->u.select.cases[i].body);
}

static void search_loop(struct search *s, struct saw_stmt *stmt)
{
    search_stmt(s, stmt->u.loop.before);
    search_maybe(s, stmt->u.loop.cond);
    search_stmt(s, stmt->u.loop.after);
    search_stmt(s, stmt->u.loop.body);
}

/* The statements of a ?{ } in the condition; NULL is allowed. */
static void search_stmt(struct search *s, struct saw_stmt *stmt)
{
    size_t i;

    switch (stmt ? stmt->kind : STMT_EMPTY) {
    case STMT_BLOCK:
        for (i = 0; i < stmt->u.block.count; i++)
            search_stmt(s, stmt->u.block.at[i]);
        break;
    case STMT_DECL: search_maybe(s, stmt->u.decl->init); break;
    case STMT_EMIT:
        search_list(s, &stmt->u.emit.indices);
        check_when_search(s, stmt->u.emit.value);
        search_maybe(s, stmt->u.emit.weight);
        break;
    case STMT_EXPR:
    case STMT_RESULT:
    case STMT_RETURN: search_maybe(s, stmt->u.expr); break;
    case STMT_LOOP: search_loop(s, stmt); break;
    case STMT_IF:
        check_when_search(s, stmt->u.branch.cond);
        search_stmt(s, stmt->u.branch.then);
        search_stmt(s, stmt->u.branch.otherwise);
        break;
    case STMT_SWITCH: search_cases(s, stmt); break;
    case STMT_WHEN:
        search_maybe(s, stmt->u.when.cond);
        search_stmt(s, stmt->u.when.body);
        break;
    case STMT_ASSIGN:
        check_when_search(s, stmt->u.assign.target);
        check_when_search(s, stmt->u.assign.value);
        break;
    case STMT_INCREMENT: check_when_search(s, stmt->u.increment.target); break;
    case STMT_EMPTY:
    case STMT_BREAK:
    case STMT_CONTINUE:
    case STMT_TYPE:
    case STMT_PROTO: break;
    }
}

static void check_when_declare(struct saw_checker *c, struct saw_decl *d)
{
    d->type = NULL;
    check_declare(c, d);
    d->type = check_type(c, d->type_expr, NULL, false);
    d->finished = true;
}

/* The bounds of one variable: all of one kind. */
static void check_when_bound(struct saw_checker *c,
                             const struct search *s,
                             const struct saw_decl *d)
{
    const struct saw_type *t;
    bool map;
    size_t i;

    if (d->type->kind == SAW_BAD)
        return;
    if (s->uses->count == 0) {
        saw_error(c->diag, s->when->pos,
                  "%.*s must be an index of an array, map or string in the "
                  "condition",
                  SLICE_ARG(d->name));
        return;
    }
    map = s->uses->at[0]->u.index.object->type->kind == SAW_MAP;
    for (i = 0; i < s->uses->count; i++) {
        const struct saw_expr *o = s->uses->at[i]->u.index.object;
        t = o->type;
        if (t->kind == SAW_BAD)
            return;
        if (map &&
            (o->kind != EXPR_NAME ||
             o->u.name.decl != s->uses->at[0]->u.index.object->u.name.decl))
            s->when->u.when.guarded = true; /* Keys of any of the maps. */
        if ((t->kind == SAW_MAP) != map) {
            saw_error(c->diag, s->when->pos,
                      "%.*s indexes a map and something else",
                      SLICE_ARG(d->name));
            return;
        }
    }
}

void check_when(struct saw_checker *c, struct saw_stmt *s)
{
    struct saw_decls *vars = &s->u.when.vars;
    unsigned loops = c->loops;
    unsigned breakables = c->breakables;
    size_t i;

    PRE(s->kind == STMT_WHEN);
    check_open_scope(c);
    for (i = 0; i < vars->count; i++)
        check_when_declare(c, vars->at[i]);
    if (s->u.when.cond)
        check_condition(c, s->u.when.cond);
    if (vars->count == 0)
        saw_warning(c->diag, s->pos, "no variables in 'when': use 'if'");
    s->u.when.uses =
        arena_zalloc(c->arena, (vars->count + 1) * sizeof(struct saw_exprs));
    for (i = 0; i < vars->count && s->u.when.cond; i++) {
        struct search q = {.checker = c,
                           .when = s,
                           .var = vars->at[i],
                           .uses = &s->u.when.uses[i]};
        check_when_search(&q, s->u.when.cond);
        s->u.when.guarded |= q.guarded;
        if (s->u.when.cond->type->kind != SAW_BAD)
            check_when_bound(c, &q, vars->at[i]);
        vars->at[i]->all_in_body = true;
    }
    c->loops = c->breakables = 0;
    check_open_scope(c);
    check_stmt(c, s->u.when.body);
    check_close_scope(c);
    c->loops = loops;
    c->breakables = breakables;
    check_close_scope(c);
}
