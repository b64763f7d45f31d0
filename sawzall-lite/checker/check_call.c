/* Calls of functions and intrinsics; see check_internal.h.
 *
 * An intrinsic is matched against its signature, which is written in the
 * language and parsed once, or asked through its check function; then it may
 * prepare (compile a constant pattern, say). The checks of format() are those
 * of any intrinsic.
 */
#include "base/core/panic.h"
#include "sawzall-lite/checker/check_internal.h"

void check_call_args(struct saw_checker *c, struct saw_expr *e)
{
    size_t i;

    for (i = 0; i < e->u.call.args.count; i++)
        check_expr(c, e->u.call.args.at[i]);
}

bool check_any_bad(const struct saw_exprs *args)
{
    size_t i;

    for (i = 0; i < args->count; i++) {
        if (args->at[i]->type->kind == SAW_BAD)
            return true;
    }
    return false;
}

/* --- call sites ---------------------------------------------------------- */

static void add_site(struct saw_checker *c, struct saw_call *site)
{
    struct saw_sites *l = &c->unit->sites;

    if (l->count == l->cap) {
        struct saw_call **old = l->at;
        l->cap = l->cap ? l->cap * 2 : 16;
        l->at = arena_alloc(c->arena, l->cap * sizeof(*l->at));
        if (old)
            memcpy(l->at, old, l->count * sizeof(*l->at));
    }
    l->at[l->count++] = site;
}

static const union saw_slot **constants_of(struct saw_checker *c,
                                           const struct saw_exprs *args)
{
    const union saw_slot **k =
        arena_zalloc(c->arena, (args->count + 1) * sizeof(union saw_slot *));
    size_t i;

    for (i = 0; i < args->count; i++)
        k[i] = args->at[i]->constant;
    return k;
}

const struct saw_type **check_types_of(struct saw_checker *c,
                                       const struct saw_exprs *args)
{
    const struct saw_type **t =
        arena_zalloc(c->arena, (args->count + 1) * sizeof(struct saw_type *));
    size_t i;

    for (i = 0; i < args->count; i++)
        t[i] = args->at[i]->type;
    return t;
}

struct saw_call *check_site(struct saw_checker *c,
                            const struct saw_builtin *b,
                            const struct saw_exprs *args,
                            const struct saw_type *result)
{
    struct saw_call *site = arena_zalloc(c->arena, sizeof(*site));

    PRE(result); /* Arguments may be bad: then the program is not compiled. */
    site->builtin = b;
    site->arg_count = args->count;
    site->arg_types = check_types_of(c, args);
    site->result_type = result;
    if (b && b->prepare) {
        site->prepared = b->prepare(site, constants_of(c, args));
        if (site->prepared)
            add_site(c, site);
    }
    return site;
}

/* --- intrinsics ---------------------------------------------------------- */

/* Match the arguments with the signature. */
static bool check_call_matches(struct saw_checker *c,
                               struct saw_expr *e,
                               const struct saw_builtin *b,
                               const struct saw_type *t)
{
    struct saw_exprs *args = &e->u.call.args;
    size_t i;

    if (args->count < b->args_min || args->count > t->field_count) {
        saw_error(c->diag, e->pos, "%s takes %zu%s arguments, not %zu: %s%s",
                  b->name,
                  args->count < b->args_min ? b->args_min : t->field_count,
                  b->args_min == t->field_count ? ""
                  : args->count < b->args_min   ? " or more"
                                                : " or fewer",
                  args->count, b->name, b->signature + strlen("function"));
        return false;
    }
    for (i = 0; i < args->count; i++) {
        const struct saw_type *want = t->fields[i].type;
        if (want->kind == SAW_TUPLE && want->field_count == 0 &&
            args->at[i]->type->kind == SAW_TUPLE)
            continue; /* {}: any tuple. */
        if (!check_compatible(c, want, args->at[i])) {
            saw_error(c->diag, args->at[i]->pos,
                      "argument %zu of %s is %s (type %s), should be %s", i + 1,
                      b->name, check_expr_text(c, args->at[i]),
                      check_type_text(c, args->at[i]->type),
                      check_type_text(c, want));
            return false;
        }
    }
    return true;
}

/* Call the check function of @b; the result type, or NULL after an error. */
static const struct saw_type *check_call_ask(struct saw_checker *c,
                                             struct saw_pos pos,
                                             const struct saw_builtin *b,
                                             const struct saw_exprs *args)
{
    struct saw_check check = {.arg_types = check_types_of(c, args),
                              .constants = constants_of(c, args),
                              .arg_count = args->count,
                              .arena = c->arena,
                              .bad_arg = -1};
    const struct saw_type *t = b->check(&check);

    if (!t) {
        if (check.bad_arg >= 0 && (size_t)check.bad_arg < args->count)
            pos = args->at[check.bad_arg]->pos;
        saw_error(c->diag, pos, "%s: %s", b->name, check.message);
    } else if (check.warning[0]) {
        saw_warning(c->diag, pos, "%s: %s", b->name, check.warning);
    }
    return t;
}

static void guess_args(struct saw_checker *c, struct saw_exprs *args)
{
    size_t i;

    for (i = 0; i < args->count; i++) {
        if (args->at[i]->kind == EXPR_COMPOSITE)
            check_composite_guess(c, args->at[i], true);
    }
}

/* Literals { … } take the types that the verbs of a format need. */
static bool type_format_args(struct saw_checker *c, struct saw_exprs *args)
{
    const union saw_slot *fmt =
        args->count && args->at[0]->type->kind == SAW_STRING
            ? args->at[0]->constant
            : NULL;
    size_t i;

    for (i = 1; fmt && i < args->count; i++) {
        struct saw_expr *e = args->at[i];
        const struct saw_type *want;
        if (e->kind != EXPR_COMPOSITE || e->type->kind != SAW_INCOMPLETE)
            continue;
        want = saw_format_arg_type(saw_str_slice(fmt->s), i - 1);
        if (!want || !check_composite_as(c, e, want)) {
            saw_error(c->diag, e->pos,
                      "illegal format argument: %s has an incomplete type",
                      check_expr_text(c, e));
            return false;
        }
    }
    return true;
}

static const struct saw_type *
builtin_type(struct saw_checker *c, struct saw_expr *e, struct saw_decl *d)
{
    const struct saw_builtin *b = d->builtin;
    struct saw_exprs *args = &e->u.call.args;
    const struct saw_type *t;

    if (b->flags & SAW_BUILTIN_OUTSIDE && c->opts->restricted) {
        saw_error(c->diag, e->pos, "%s is not allowed here", b->name);
        return NULL;
    }
    if (!b->signature) {
        if (b == saw_builtin_find(SLICE_LIT("format")) &&
            !type_format_args(c, args))
            return NULL;
        guess_args(c, args);
        return check_call_ask(c, e->pos, b, args);
    }
    if (d->type->kind == SAW_BAD)
        d->type = check_signature(c, b->signature);
    if (!check_call_matches(c, e, b, d->type))
        return NULL;
    if (b->check) {
        t = check_call_ask(c, e->pos, b, args);
        return t ? d->type->elem : NULL;
    }
    return d->type->elem;
}

static void
builtin_call(struct saw_checker *c, struct saw_expr *e, struct saw_decl *d)
{
    const struct saw_type *t;

    check_call_args(c, e);
    e->u.call.kind = CALL_BUILTIN;
    if (check_any_bad(&e->u.call.args))
        return;
    if (e->u.call.args.count > SAW_CALL_ARGS_MAX) {
        saw_error(c->diag, e->pos, "over %d arguments", SAW_CALL_ARGS_MAX);
        return;
    }
    t = builtin_type(c, e, d);
    if (!t)
        return;
    e->type = t;
    e->u.call.site = check_site(c, d->builtin, &e->u.call.args, t);
    fold_expr(c, e);
}

struct saw_call *check_format(struct saw_checker *c,
                              struct saw_pos pos,
                              const struct saw_exprs *args)
{
    const struct saw_builtin *b = saw_builtin_find(SLICE_LIT("format"));
    const struct saw_type *t;

    INVARIANT(b);
    if (check_any_bad(args))
        return NULL;
    t = check_call_ask(c, pos, b, args);
    return t ? check_site(c, b, args, t) : NULL;
}

/* --- functions of the program -------------------------------------------- */

static void function_call(struct saw_checker *c, struct saw_expr *e)
{
    const struct saw_type *t = e->u.call.fn->type;
    struct saw_exprs *args = &e->u.call.args;
    size_t i;

    e->u.call.kind = CALL_FUNCTION;
    check_call_args(c, e);
    if (t->kind == SAW_BAD)
        return;
    if (t->kind != SAW_FUNCTION) {
        saw_error(c->diag, e->pos, "%s (type %s) is not a function",
                  check_expr_text(c, e->u.call.fn), check_type_text(c, t));
        return;
    }
    e->type = t->elem;
    if (args->count != t->field_count) {
        saw_error(c->diag, e->pos, "%s takes %zu argument%s, not %zu: %s",
                  check_expr_text(c, e->u.call.fn), t->field_count,
                  t->field_count == 1 ? "" : "s", args->count,
                  check_type_text(c, t));
        return;
    }
    for (i = 0; i < args->count; i++) {
        if (!check_compatible(c, t->fields[i].type, args->at[i]))
            saw_error(c->diag, args->at[i]->pos,
                      "argument %zu of %s is %s (type %s), should be %s", i + 1,
                      check_expr_text(c, e->u.call.fn),
                      check_expr_text(c, args->at[i]),
                      check_type_text(c, args->at[i]->type),
                      check_type_text(c, t->fields[i].type));
    }
}

/* Check a call of a name that is no variable; false if it is one. */
static bool named_call(struct saw_checker *c, struct saw_expr *e)
{
    struct saw_expr *fn = e->u.call.fn;
    struct saw_decl *d = saw_scope_lookup(c->scope, fn->u.name.text);

    if (!d) {
        if (check_special(c, e))
            return true;
        d = check_lookup(c, fn->u.name.text, fn->pos);
    }
    if (!d) {
        check_call_args(c, e);
        return true;
    }
    if (d->kind == DECL_TYPE) {
        struct saw_type_expr t = {
            .kind = TYPE_NAME, .pos = fn->pos, .name = fn->u.name.text};
        check_convert_call(c, e, check_type(c, &t, NULL, true), 0);
        return true;
    }
    if (d->kind == DECL_BUILTIN) {
        builtin_call(c, e, d);
        return true;
    }
    return false;
}

/* package.Type(x): the name of a type in parts. */
static bool qualified_conversion(struct saw_checker *c, struct saw_expr *e)
{
    struct saw_expr *fn = e->u.call.fn;
    struct saw_expr *o = fn->u.select.object;
    struct saw_decl *d;
    struct slice name;

    if (o->kind != EXPR_NAME)
        return false;
    name =
        slice_str(arena_printf(c->arena, "%.*s.%.*s", SLICE_ARG(o->u.name.text),
                               SLICE_ARG(fn->u.select.name)));
    d = saw_scope_lookup(c->scope, name);
    if (!d) {
        d = saw_scope_lookup(c->scope, o->u.name.text);
        d = d && d->kind == DECL_TYPE && d->members
                ? saw_scope_find(d->members, fn->u.select.name)
                : NULL;
    }
    if (!d || d->kind != DECL_TYPE || !d->type)
        return false;
    d->used = true;
    check_convert_call(c, e, d->type, 0);
    return true;
}

void check_call(struct saw_checker *c, struct saw_expr *e)
{
    struct saw_expr *fn = e->u.call.fn;

    PRE(e->kind == EXPR_CALL && fn);
    if (fn->kind == EXPR_NAME && named_call(c, e))
        return;
    if (fn->kind == EXPR_SELECT && qualified_conversion(c, e))
        return;
    check_expr(c, fn);
    function_call(c, e);
}
