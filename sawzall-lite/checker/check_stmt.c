/* Statements and declarations; see check_internal.h.
 *
 * A closure holds the frame of the function around it by position, so it must
 * not outlive that frame. The obvious cases are errors here; the machine
 * catches the others, because frames carry serial numbers.
 */
#include "base/core/panic.h"
#include "sawzall-lite/checker/check_internal.h"

/* --- functions ----------------------------------------------------------- */

static void add_function(struct saw_checker *c, struct saw_function *f)
{
    struct saw_functions *l = &c->unit->functions;

    if (l->count == l->cap) {
        struct saw_function **old = l->at;
        l->cap *= 2;
        l->at = arena_alloc(c->arena, l->cap * sizeof(*l->at));
        memcpy(l->at, old, l->count * sizeof(*l->at));
    }
    f->index = (uint32_t)l->count;
    l->at[l->count++] = f;
}

static void check_stmt_parameters(struct saw_checker *c, struct saw_function *f)
{
    size_t i;

    for (i = 0; i < f->type->field_count; i++) {
        struct saw_decl *d = arena_zalloc(c->arena, sizeof(*d));
        d->kind = DECL_VAR;
        d->name = f->type->fields[i].name;
        d->type = f->type->fields[i].type;
        d->pos = f->pos;
        d->is_param = true;
        d->finished = true;
        check_declare(c, d);
        saw_decls_add(c->arena, &f->params, d);
    }
}

void check_function(struct saw_checker *c,
                    struct saw_function *f,
                    const struct saw_type *type)
{
    struct saw_function *outer = c->fn;
    struct saw_expr *statexpr = c->statexpr;
    unsigned loops = c->loops;
    unsigned breakables = c->breakables;
    size_t i;

    PRE(f->body && type->kind == SAW_FUNCTION);
    f->type = type;
    f->owner = outer;
    f->level = outer->level + 1;
    add_function(c, f);
    c->fn = f;
    c->statexpr = NULL;
    c->loops = c->breakables = 0;
    check_open_scope(c);
    check_stmt_parameters(c, f);
    for (i = 0; i < f->body->u.block.count; i++)
        check_stmt(c, f->body->u.block.at[i]);
    check_close_scope(c);
    c->fn = outer;
    c->statexpr = statexpr;
    c->loops = loops;
    c->breakables = breakables;
}

/* A function that uses variables of the functions around it must not be stored
 * where it outlives them: at a level further out than theirs. @level is that
 * of the variable or parameter which would hold it. Cases this cannot see are
 * caught at run time. */
static void
check_escape(struct saw_checker *c, const struct saw_expr *e, uint32_t level)
{
    const struct saw_function *f = NULL;
    size_t i;

    if (e->kind == EXPR_COMPOSITE) {
        for (i = 0; i < e->u.composite.items.count; i++)
            check_escape(c, e->u.composite.items.at[i], level);
        return;
    }
    if (e->type->kind != SAW_FUNCTION)
        return;
    if (e->kind == EXPR_FUNCTION)
        f = e->u.function.fn;
    else if (e->kind == EXPR_NAME && e->u.name.decl && e->u.name.decl->fn)
        f = e->u.name.decl->fn;
    if (f && f->context_level > level)
        saw_error(c->diag, e->pos,
                  "function %s uses variables of the function around it and "
                  "must not outlive it",
                  check_expr_text(c, e));
}

/* --- declarations -------------------------------------------------------- */

/* The declared type, known before the initialiser is checked. */
static const struct saw_type *declared_type(struct saw_checker *c,
                                            struct saw_decl *d)
{
    const struct saw_type *t;

    if (!d->type_expr)
        return NULL;
    t = check_type(c, d->type_expr, NULL, true);
    if (t->kind != SAW_TABLE)
        return t;
    d->is_static = true;
    if (t->table->uses_vars && d->type_expr->kind != TYPE_TABLE &&
        check_in_static(c))
        saw_error(c->diag, d->pos,
                  "the format of this table type uses variables that are not "
                  "static: it cannot be used here");
    return t;
}

/* x := e: the type is that of e. */
static const struct saw_type *inferred_type(struct saw_checker *c,
                                            struct saw_decl *d)
{
    struct saw_expr *e = d->init;
    const char *what = NULL;

    if (e->type->kind == SAW_VOID)
        what = "no value";
    else if (e->type->kind == SAW_INCOMPLETE)
        what = "an incomplete type";
    else if (e->type->kind == SAW_TABLE)
        what = "a table type";
    if (!what)
        return e->type;
    saw_error(c->diag, e->pos, "illegal initialiser: %s has %s",
              check_expr_text(c, e), what);
    return &saw_type_bad;
}

static void check_stmt_initialiser(struct saw_checker *c,
                                   struct saw_decl *d,
                                   const struct saw_type *t)
{
    struct saw_exprs one = {.at = &d->init, .count = 1};

    if (t && t->kind == SAW_FUNCTION && d->init->kind == EXPR_FUNCTION &&
        d->init->u.function.type) {
        d->type = t; /* It may call itself. */
        d->fn = d->init->u.function.fn;
        if (d->init->u.function.type == d->type_expr)
            d->init->type = t;
    } else if (!t && d->init->kind == EXPR_FUNCTION) {
        d->type = check_type(c, d->init->u.function.type, NULL, false);
        d->init->type = d->type;
        d->fn = d->init->u.function.fn;
    }
    check_expr_hint(c, d->init, t);
    if (!t || t->kind == SAW_BAD || d->init->type->kind == SAW_BAD)
        return;
    if (t->kind == SAW_TABLE) {
        saw_error(c->diag, d->pos, "a table cannot be initialised");
    } else if (d->init->type->kind == SAW_VOID) {
        saw_error(c->diag, d->init->pos, "illegal initialiser: %s has no value",
                  check_expr_text(c, d->init));
    } else if (!check_compatible(c, t, d->init) || t == c->unit->row_type) {
        one.at = arena_alloc(c->arena, sizeof(*one.at));
        one.at[0] = d->init;
        d->init = check_conversion(c, d->init->pos, t, &one, true);
    }
}

static void add_static(struct saw_checker *c, struct saw_decl *d)
{
    bool added = true;

    if (d->type->kind == SAW_TABLE)
        hash_map_put(&c->tables, d->name, &added);
    if (!added)
        saw_error(c->diag, d->pos,
                  "table %.*s is declared already in a different scope",
                  SLICE_ARG(d->name));
    saw_decls_add(c->arena, &c->unit->statics, d);
}

void check_var_decl(struct saw_checker *c,
                    struct saw_decl *d,
                    struct saw_pos pos)
{
    bool was_static = c->fn->in_static;
    const struct saw_type *t;

    PRE(d->kind == DECL_VAR);
    d->type = NULL;
    check_declare(c, d);
    t = declared_type(c, d);
    if (d->is_static && (!t || t->kind != SAW_TABLE))
        c->fn->in_static = true;
    if (d->init) {
        check_stmt_initialiser(c, d, t);
        if (!t)
            t = inferred_type(c, d);
        check_escape(c, d->init, d->is_static ? 0 : c->fn->level);
    } else if (!t) {
        t = &saw_type_bad;
    } else if (d->is_static && t->kind != SAW_TABLE && t->kind != SAW_BAD) {
        saw_error(c->diag, pos, "static variable %.*s must be initialised",
                  SLICE_ARG(d->name));
    }
    c->fn->in_static = was_static;
    d->type = t;
    d->finished = true;
    if (!d->is_static && was_static && c->statexpr)
        saw_error(c->diag, pos,
                  "variable %.*s in the initialiser of a static must be "
                  "static itself",
                  SLICE_ARG(d->name));
    if (d->is_static) {
        if (d->init && d->init->constant)
            d->constant = d->init->constant;
        add_static(c, d);
    }
}

/* --- assignment ---------------------------------------------------------- */

/* Whether @e may be assigned to; reports why not. */
static bool is_target(struct saw_checker *c, struct saw_expr *e)
{
    struct saw_decl *d = check_root(e);

    if (e->type->kind == SAW_BAD)
        return false;
    if (!d)
        saw_error(c->diag, e->pos, "%s cannot be assigned to",
                  check_expr_text(c, e));
    else if (d->is_static)
        saw_error(c->diag, e->pos, "%s is static; it cannot be changed",
                  check_expr_text(c, e));
    else if (d->quant != QUANT_NONE)
        saw_error(c->diag, e->pos,
                  "%s is a variable of 'when'; it cannot be changed",
                  check_expr_text(c, e));
    else if (e->type->kind == SAW_TABLE)
        saw_error(c->diag, e->pos, "%s is a table; it cannot be changed",
                  check_expr_text(c, e));
    else
        return true;
    return false;
}

/* Whether the expression has a value whenever @d has one. */
static bool always_defined(const struct saw_expr *e, const struct saw_decl *d)
{
    if (e->constant || e->kind == EXPR_FUNCTION)
        return true;
    if (e->kind == EXPR_NAME)
        return e->u.name.decl == d;
    if (e->kind == EXPR_UNARY)
        return always_defined(e->u.binary.left, d);
    for (; e->kind == EXPR_BINARY; e = e->u.binary.left) {
        if (e->u.binary.op == OP_DIV || e->u.binary.op == OP_MOD ||
            !always_defined(e->u.binary.right, d))
            return false;
    }
    return e->constant || (e->kind == EXPR_NAME && e->u.name.decl == d);
}

static void check_stmt_assign(struct saw_checker *c, struct saw_stmt *s)
{
    struct saw_expr *to = s->u.assign.target;
    struct saw_expr *e = s->u.assign.value;
    struct saw_decl *d;
    bool used;

    d = to->kind == EXPR_NAME ? saw_scope_lookup(c->scope, to->u.name.text)
                              : NULL;
    used = d && d->used;
    check_expr(c, to);
    if (d)
        d->used = used; /* An assignment is not a use. */
    check_expr(c, e);
    if (!is_target(c, to))
        return;
    d = check_root(to);
    d->assigned = true;
    if (c->opts->ignore_undefs &&
        (to->kind != EXPR_NAME || !always_defined(e, d)))
        d->undefined_by_call = true;
    if (!check_compatible(c, to->type, e)) {
        saw_error(c->diag, s->pos,
                  "type mismatch in assignment: %s (type %s) = %s (type %s)",
                  check_expr_text(c, to), check_type_text(c, to->type),
                  check_expr_text(c, e), check_type_text(c, e->type));
        return;
    }
    check_escape(c, e, d->owner ? d->owner->level : 0);
}

static void check_stmt_increment(struct saw_checker *c, struct saw_stmt *s)
{
    struct saw_expr *e = s->u.increment.target;

    check_expr(c, e);
    if (!is_target(c, e))
        return;
    check_root(e)->assigned = true;
    if (c->opts->ignore_undefs && e->kind != EXPR_NAME)
        check_root(e)->undefined_by_call = true;
    if (e->type->kind != SAW_INT)
        saw_error(c->diag, s->pos, "cannot apply %s to %s of type %s",
                  s->u.increment.delta > 0 ? "++" : "--", check_expr_text(c, e),
                  check_type_text(c, e->type));
}

/* --- control ------------------------------------------------------------- */

/* Check a statement in a scope of its own. */
static void check_stmt_body(struct saw_checker *c, struct saw_stmt *s)
{
    check_open_scope(c);
    if (s->kind == STMT_BLOCK) {
        size_t i;
        for (i = 0; i < s->u.block.count; i++)
            check_stmt(c, s->u.block.at[i]);
    } else {
        check_stmt(c, s);
    }
    check_close_scope(c);
}

static void check_stmt_loop(struct saw_checker *c, struct saw_stmt *s)
{
    size_t functions = c->unit->functions.count;

    check_open_scope(c);
    if (s->u.loop.before)
        check_stmt(c, s->u.loop.before);
    if (s->u.loop.cond && !s->u.loop.cond_last)
        check_condition(c, s->u.loop.cond);
    if (s->u.loop.after)
        check_stmt(c, s->u.loop.after);
    c->loops++;
    c->breakables++;
    check_stmt_body(c, s->u.loop.body);
    c->loops--;
    c->breakables--;
    if (s->u.loop.cond && s->u.loop.cond_last)
        check_condition(c, s->u.loop.cond);
    check_close_scope(c);
    s->u.loop.has_function = c->unit->functions.count != functions;
}

static void select_case(struct saw_checker *c, struct saw_stmt *s)
{
    struct saw_expr *tag = s->u.select.tag;
    size_t i;
    size_t j;

    check_expr(c, tag);
    if (!saw_kind_is_basic(tag->type->kind) && tag->type->kind != SAW_BAD) {
        saw_error(c->diag, tag->pos,
                  "switch over %s (type %s): it must be of "
                  "a basic type",
                  check_expr_text(c, tag), check_type_text(c, tag->type));
        tag->type = &saw_type_bad;
    }
    c->breakables++;
    for (i = 0; i < s->u.select.case_count; i++) {
        struct saw_case *k = &s->u.select.cases[i];
        for (j = 0; j < k->labels.count; j++) {
            struct saw_expr *e = k->labels.at[j];
            check_expr_hint(c, e, tag->type);
            if (!check_compatible(c, tag->type, e))
                saw_error(c->diag, e->pos,
                          "label %s (type %s) should be of type %s",
                          check_expr_text(c, e), check_type_text(c, e->type),
                          check_type_text(c, tag->type));
        }
        check_stmt_body(c, k->body);
    }
    c->breakables--;
}

static void return_stmt(struct saw_checker *c, struct saw_stmt *s)
{
    const struct saw_type *t = c->fn->type;
    const struct saw_type *want =
        t->kind == SAW_FUNCTION ? t->elem : &saw_type_void;
    struct saw_expr *e = s->u.expr;

    if (e)
        check_expr_hint(c, e, want);
    if (!e && want->kind != SAW_VOID && want->kind != SAW_BAD)
        saw_error(c->diag, s->pos,
                  "the function returns %s; a value is "
                  "expected",
                  check_type_text(c, want));
    else if (e && want->kind == SAW_VOID)
        saw_error(c->diag, e->pos, "%s does not expect a result",
                  c->fn == c->unit->main ? "the program" : "this function");
    else if (e && !check_compatible(c, want, e))
        saw_error(c->diag, e->pos,
                  "result %s (type %s) does not fit the function's type %s",
                  check_expr_text(c, e), check_type_text(c, e->type),
                  check_type_text(c, want));
    else if (e && c->fn->owner)
        check_escape(c, e, c->fn->owner->level);
}

static void result_stmt(struct saw_checker *c, struct saw_stmt *s)
{
    struct saw_expr *to = c->statexpr;
    struct saw_expr *e = s->u.expr;

    if (e)
        check_expr(c, e);
    if (!to) {
        saw_error(c->diag, s->pos, "result statement must be in ?{…}");
        return;
    }
    if (!e) {
        saw_error(c->diag, s->pos, "result needs a value");
        to->type = &saw_type_bad;
        return;
    }
    if (to->type->kind == SAW_INCOMPLETE) {
        if (e->kind == EXPR_COMPOSITE)
            check_composite_guess(c, e, true);
        to->type = e->type;
    } else if (!check_compatible(c, to->type, e)) {
        struct saw_pos close = to->pos;
        close.begin = close.end > close.begin ? close.end - 1 : close.begin;
        saw_error(c->diag, close,
                  "the results of this ?{…} are of different types: %s is of "
                  "type %s, one before it of type %s",
                  check_expr_text(c, e), check_type_text(c, e->type),
                  check_type_text(c, to->type));
        saw_note(c->diag, e->pos, "the second result");
    }
}

static void expr_stmt(struct saw_checker *c, struct saw_stmt *s)
{
    struct saw_expr *e = s->u.expr;

    check_expr(c, e);
    if (e->kind == EXPR_COMPOSITE)
        check_composite_guess(c, e, true);
    if (e->type->kind == SAW_INCOMPLETE)
        e->type = &saw_type_bad;
    if (e->kind != EXPR_CALL && e->kind != EXPR_STATEXPR &&
        e->type->kind != SAW_BAD && e->type->kind != SAW_VOID)
        saw_warning(c->diag, s->pos, "this value is not used");
}

static void check_stmt_branch(struct saw_checker *c, struct saw_stmt *s)
{
    check_condition(c, s->u.branch.cond);
    check_stmt_body(c, s->u.branch.then);
    if (s->u.branch.otherwise)
        check_stmt_body(c, s->u.branch.otherwise);
}

void check_stmt(struct saw_checker *c, struct saw_stmt *s)
{
    switch (s->kind) {
    case STMT_EMPTY: break;
    case STMT_BLOCK: check_stmt_body(c, s); break;
    case STMT_BREAK:
        if (c->breakables == 0)
            saw_error(c->diag, s->pos,
                      "'break' must be in a loop or a "
                      "'switch', but not in a 'when'");
        break;
    case STMT_CONTINUE:
        if (c->loops == 0)
            saw_error(c->diag, s->pos,
                      "'continue' must be in a loop, but not in a 'when'");
        break;
    case STMT_DECL: check_var_decl(c, s->u.decl, s->pos); break;
    case STMT_TYPE: check_type_decl(c, s->u.decl); break;
    case STMT_EMIT: check_emit(c, s); break;
    case STMT_EXPR: expr_stmt(c, s); break;
    case STMT_LOOP: check_stmt_loop(c, s); break;
    case STMT_IF: check_stmt_branch(c, s); break;
    case STMT_RESULT: result_stmt(c, s); break;
    case STMT_RETURN: return_stmt(c, s); break;
    case STMT_SWITCH: select_case(c, s); break;
    case STMT_WHEN: check_when(c, s); break;
    case STMT_ASSIGN: check_stmt_assign(c, s); break;
    case STMT_INCREMENT: check_stmt_increment(c, s); break;
    case STMT_PROTO:
        saw_error(c->diag, s->pos,
                  "proto files are not read; write the type as "
                  "`type T = proto {…}`");
        break;
    }
}
