/* Calls that need more than the values of their arguments, such as a type or
 * an lvalue, and which the compiler therefore provides itself: def, new, len,
 * haskey, lookup, inproto, clearproto, DEBUG, saw; see check_internal.h. */
#include "base/core/panic.h"
#include "sawzall-lite/checker/check_internal.h"

static struct saw_expr *check_special_arg(const struct saw_expr *call, size_t i)
{
    return call->u.call.args.at[i];
}

static bool
arg_count(struct saw_checker *c, struct saw_expr *e, size_t min, size_t max)
{
    size_t n = e->u.call.args.count;

    if (n >= min && n <= max)
        return true;
    saw_error(c->diag, e->pos, "%s takes %zu argument%s, not %zu",
              check_expr_text(c, e->u.call.fn), n < min ? min : max,
              (n < min ? min : max) == 1 ? "" : "s", n);
    return false;
}

static void call_def(struct saw_checker *c, struct saw_expr *e)
{
    if (!arg_count(c, e, 1, 1))
        return;
    if (check_special_arg(e, 0)->type->kind == SAW_VOID)
        saw_error(c->diag, check_special_arg(e, 0)->pos,
                  "argument of def() is not a value");
    e->type = &saw_type_bool;
}

static void call_new(struct saw_checker *c, struct saw_expr *e)
{
    size_t n = e->u.call.args.count;
    const struct saw_type *t;
    size_t i;

    if (n == 0) {
        saw_error(c->diag, e->pos, "new() needs a type");
        return;
    }
    t = check_type_argument(c, check_special_arg(e, 0));
    for (i = 1; i < n; i++)
        check_expr(c, check_special_arg(e, i));
    if (t->kind == SAW_BAD)
        return;
    e->type = t;
    if (n > 1 && check_special_arg(e, 1)->type->kind != SAW_INT &&
        check_special_arg(e, 1)->type->kind != SAW_BAD)
        saw_error(c->diag, check_special_arg(e, 1)->pos,
                  "new(%s): the length must be an int", check_type_text(c, t));
    if (t->kind == SAW_MAP) {
        if (n > 2)
            saw_error(c->diag, check_special_arg(e, 2)->pos,
                      "new(%s) must not have an initial value",
                      check_type_text(c, t));
    } else if (t->kind == SAW_ARRAY || t->kind == SAW_STRING ||
               t->kind == SAW_BYTES) {
        const struct saw_type *elem =
            t->kind == SAW_ARRAY ? t->elem : &saw_type_int;
        if (n < 3)
            saw_error(c->diag, e->pos,
                      "new(%s) needs a length and an initial value",
                      check_type_text(c, t));
        else if (!check_compatible(c, elem, check_special_arg(e, 2)))
            saw_error(c->diag, check_special_arg(e, 2)->pos,
                      "incompatible initial value %s in new()",
                      check_expr_text(c, check_special_arg(e, 2)));
    } else {
        saw_error(c->diag, e->pos, "type %s cannot be made by new()",
                  check_type_text(c, t));
    }
    if (n > 3)
        saw_error(c->diag, check_special_arg(e, 3)->pos,
                  "too many arguments for new()");
    fold_expr(c, e);
}

static void call_len(struct saw_checker *c, struct saw_expr *e)
{
    enum saw_kind k;

    e->type = &saw_type_int;
    if (!arg_count(c, e, 1, 1))
        return;
    if (check_special_arg(e, 0)->kind == EXPR_COMPOSITE)
        check_composite_guess(c, check_special_arg(e, 0), false);
    k = check_special_arg(e, 0)->type->kind;
    if (k != SAW_STRING && k != SAW_BYTES && k != SAW_ARRAY && k != SAW_MAP &&
        k != SAW_BAD)
        saw_error(c->diag, check_special_arg(e, 0)->pos,
                  "%s (type %s) has no length",
                  check_expr_text(c, check_special_arg(e, 0)),
                  check_type_text(c, check_special_arg(e, 0)->type));
    fold_expr(c, e);
}

/* haskey(m, k) and lookup(m, k, default). */
static void call_map(struct saw_checker *c, struct saw_expr *e, bool lookup)
{
    const struct saw_type *t;

    e->type = lookup ? &saw_type_bad : &saw_type_bool;
    if (!arg_count(c, e, lookup ? 3 : 2, lookup ? 3 : 2))
        return;
    check_composite_guess(c, check_special_arg(e, 0), false);
    t = check_special_arg(e, 0)->type;
    if (t->kind == SAW_BAD)
        return;
    if (t->kind != SAW_MAP) {
        saw_error(c->diag, check_special_arg(e, 0)->pos,
                  "the first argument must be a map; %s is of type %s",
                  check_expr_text(c, check_special_arg(e, 0)),
                  check_type_text(c, t));
        return;
    }
    if (!check_compatible(c, t->key, check_special_arg(e, 1)))
        saw_error(c->diag, check_special_arg(e, 1)->pos,
                  "%s (type %s) is not a key of the map (type %s)",
                  check_expr_text(c, check_special_arg(e, 1)),
                  check_type_text(c, check_special_arg(e, 1)->type),
                  check_type_text(c, t));
    if (!lookup)
        return;
    e->type = t->elem;
    if (!check_compatible(c, t->elem, check_special_arg(e, 2)))
        saw_error(c->diag, check_special_arg(e, 2)->pos,
                  "%s (type %s) is not a value of the map (type %s)",
                  check_expr_text(c, check_special_arg(e, 2)),
                  check_type_text(c, check_special_arg(e, 2)->type),
                  check_type_text(c, t));
}

/* inproto(t.f), clearproto(t.f). */
static void call_proto(struct saw_checker *c, struct saw_expr *e, bool clear)
{
    const struct saw_expr *s;
    struct saw_decl *root;

    e->type = clear ? &saw_type_void : &saw_type_bool;
    if (!arg_count(c, e, 1, 1))
        return;
    s = check_special_arg(e, 0);
    if (s->type->kind == SAW_BAD)
        return;
    if (s->kind != EXPR_SELECT)
        saw_error(c->diag, s->pos, "a field (tuple.field) expected; found %s",
                  check_expr_text(c, s));
    else if (!s->u.select.object->type->proto)
        saw_error(c->diag, s->pos, "%s (type %s) is not a proto tuple",
                  check_expr_text(c, s->u.select.object),
                  check_type_text(c, s->u.select.object->type));
    else if (clear) {
        root = check_root(s);
        if (root)
            root->assigned = true;
        if (!root || root->is_static)
            saw_error(c->diag, s->pos, "%s cannot be changed",
                      check_expr_text(c, s));
    }
}

static void call_undefine(struct saw_checker *c, struct saw_expr *e)
{
    struct saw_decl *d;

    e->type = &saw_type_void;
    if (!arg_count(c, e, 1, 1) ||
        check_special_arg(e, 0)->type->kind == SAW_BAD)
        return;
    d = check_special_arg(e, 0)->kind == EXPR_NAME
            ? check_root(check_special_arg(e, 0))
            : NULL;
    if (!d || d->is_static || d->quant != QUANT_NONE) {
        saw_error(c->diag, check_special_arg(e, 0)->pos,
                  "%s is not a variable that can be undefined",
                  check_expr_text(c, check_special_arg(e, 0)));
        return;
    }
    d->undefined_by_call = true;
    d->assigned = true;
}

/* DEBUG("print", format, …), DEBUG("ref", x). */
static void call_debug(struct saw_checker *c, struct saw_expr *e)
{
    struct saw_exprs rest = e->u.call.args;
    struct slice command;

    e->type = &saw_type_int;
    if (rest.count == 0 || check_special_arg(e, 0)->kind != EXPR_LITERAL ||
        check_special_arg(e, 0)->type->kind != SAW_STRING) {
        saw_error(c->diag, e->pos, "DEBUG needs a literal string argument");
        return;
    }
    command = saw_str_slice(check_special_arg(e, 0)->constant->s);
    rest.at++;
    rest.count--;
    if (slice_eq_str(command, "print")) {
        if (rest.count == 0 || rest.at[0]->kind != EXPR_LITERAL ||
            rest.at[0]->type->kind != SAW_STRING)
            saw_error(c->diag, e->pos,
                      "DEBUG \"print\" needs a literal format string");
        else
            e->u.call.site = check_format(c, e->pos, &rest);
    } else if (slice_eq_str(command, "ref")) {
        if (rest.count != 1)
            saw_error(c->diag, e->pos,
                      "DEBUG \"ref\" needs a value as second argument");
    } else {
        saw_error(c->diag, check_special_arg(e, 0)->pos,
                  "unknown DEBUG command \"%.*s\"", SLICE_ARG(command));
    }
}

static void call_cell(struct saw_checker *c, struct saw_expr *e)
{
    size_t i;

    for (i = 0; i < e->u.call.args.count; i++) {
        c->row_ok = i == 0;
        check_expr(c, check_special_arg(e, i));
    }
    c->row_ok = false;
    e->type = &saw_type_bytes;
    if (!arg_count(c, e, 2, 2) || check_any_bad(&e->u.call.args))
        return;
    if (check_special_arg(e, 0)->type != c->unit->row_type)
        saw_error(c->diag, check_special_arg(e, 0)->pos,
                  "cell() wants a Row, not %s",
                  check_type_text(c, check_special_arg(e, 0)->type));
    if (check_special_arg(e, 1)->type->kind != SAW_STRING)
        saw_error(c->diag, check_special_arg(e, 1)->pos,
                  "cell() wants the name of a column, \"family:qualifier\"");
    else if (check_special_arg(e, 1)->constant)
        check_column(c, saw_str_slice(check_special_arg(e, 1)->constant->s));
    else
        c->unit->all_columns = true;
    if (check_special_arg(e, 0)->kind != EXPR_NAME)
        c->unit->all_columns = true;
}

/* saw(text, pattern…), sawzall(text, pattern…), sawn(count, text, pattern…). */
static void call_saw(struct saw_checker *c, struct saw_expr *e)
{
    struct saw_exprs *args = &e->u.call.args;
    bool counted = slice_eq_str(e->u.call.fn->u.name.text, "sawn");
    bool once = slice_eq_str(e->u.call.fn->u.name.text, "saw");
    size_t first = counted ? 2 : 1;
    size_t i;

    e->type = &saw_type_array_of_string;
    if (args->count <= first) {
        saw_error(c->diag, e->pos, "%s needs a string and a regular expression",
                  check_expr_text(c, e->u.call.fn));
        return;
    }
    if (args->count > SAW_CALL_ARGS_MAX) {
        saw_error(c->diag, e->pos, "over %d arguments", SAW_CALL_ARGS_MAX);
        return;
    }
    for (i = 0; i < args->count; i++) {
        const struct saw_type *want =
            counted && i == 0 ? &saw_type_int : &saw_type_string;
        enum saw_arg_flag flag = e->u.call.flags[i];
        struct saw_decl *root;
        if (!saw_type_equal(check_special_arg(e, i)->type, want))
            saw_error(c->diag, check_special_arg(e, i)->pos,
                      "argument %zu is %s (type %s), should be %s", i + 1,
                      check_expr_text(c, check_special_arg(e, i)),
                      check_type_text(c, check_special_arg(e, i)->type),
                      check_type_text(c, want));
        if (flag != ARG_PLAIN && i < first)
            saw_error(c->diag, check_special_arg(e, i)->pos,
                      "skip, rest and submatch go with patterns");
        if (flag != ARG_REST)
            continue;
        root = check_root(check_special_arg(e, i));
        if (!once && i + 1 < args->count)
            saw_error(c->diag, check_special_arg(e, i)->pos,
                      "'rest' must be the last argument here");
        else if (!root || root->is_static || root->quant != QUANT_NONE)
            saw_error(c->diag, check_special_arg(e, i)->pos,
                      "'rest' needs a variable; %s is none",
                      check_expr_text(c, check_special_arg(e, i)));
        else
            root->assigned = true;
    }
    e->u.call.site = check_site(c, NULL, args, e->type);
    e->u.call.site->flags = e->u.call.flags;
    e->u.call.site->once = once;
}

static void call_regex(struct saw_checker *c, struct saw_expr *e)
{
    size_t n = e->u.call.args.count;
    const struct saw_type *t =
        n ? check_type_argument(c, check_special_arg(e, 0)) : &saw_type_bad;
    char message[200] = "";
    int64_t base = 0;
    const char *pattern;
    struct saw_str *s = arena_zalloc(c->arena, sizeof(*s));

    if (n > 1)
        check_expr(c, check_special_arg(e, 1));
    if (n == 0 || n > 2) {
        saw_error(c->diag, e->pos, "regex() takes a type and maybe a base");
        return;
    }
    if (t->kind == SAW_BAD)
        return;
    if (n == 2 && t->kind != SAW_INT) {
        saw_error(c->diag, check_special_arg(e, 1)->pos,
                  "a base goes with regex(int) only");
        return;
    }
    if (n == 2 && (check_special_arg(e, 1)->type->kind != SAW_INT ||
                   !check_special_arg(e, 1)->constant)) {
        saw_error(c->diag, check_special_arg(e, 1)->pos,
                  "the base in regex() must be an int literal");
        return;
    }
    if (n == 2)
        base = check_special_arg(e, 1)->constant->i;
    pattern = saw_regex_for_type(c->arena, t, base, message);
    if (!pattern) {
        saw_error(c->diag, e->pos, "no regular expression for %s%s%s",
                  check_type_text(c, t), message[0] ? ": " : "", message);
        return;
    }
    s->data = pattern;
    s->len = s->chars = strlen(pattern);
    *e = *saw_expr_literal(c->arena, e->pos, &saw_type_string,
                           (union saw_slot){.s = s});
}

/* --- which one ----------------------------------------------------------- */

static const struct {
    const char *name;
    enum saw_call_kind kind;
} special_names[] = {
    {"def", CALL_DEF},
    {"new", CALL_NEW},
    {"len", CALL_LEN},
    {"haskey", CALL_HASKEY},
    {"lookup", CALL_LOOKUP},
    {"inproto", CALL_INPROTO},
    {"clearproto", CALL_CLEARPROTO},
    {"___undefine", CALL_UNDEFINE},
    {"DEBUG", CALL_DEBUG},
    {"cell", CALL_CELL},
    {"saw", CALL_SAW},
    {"sawn", CALL_SAW},
    {"sawzall", CALL_SAW},
    {"___heapcheck", CALL_NOTHING},
    {"___addressof", CALL_NOTHING},
};

static void check_special_call(struct saw_checker *c,
                               struct saw_expr *e,
                               enum saw_call_kind kind)
{
    e->u.call.kind = kind;
    if (kind != CALL_NEW && kind != CALL_CELL)
        check_call_args(c, e);
    switch (kind) {
    case CALL_DEF: call_def(c, e); break;
    case CALL_NEW: call_new(c, e); break;
    case CALL_LEN: call_len(c, e); break;
    case CALL_HASKEY: call_map(c, e, false); break;
    case CALL_LOOKUP: call_map(c, e, true); break;
    case CALL_INPROTO: call_proto(c, e, false); break;
    case CALL_CLEARPROTO: call_proto(c, e, true); break;
    case CALL_UNDEFINE: call_undefine(c, e); break;
    case CALL_DEBUG: call_debug(c, e); break;
    case CALL_CELL: call_cell(c, e); break;
    case CALL_SAW: call_saw(c, e); break;
    case CALL_NOTHING:
        e->type = slice_eq_str(e->u.call.fn->u.name.text, "___addressof")
                      ? &saw_type_int
                      : &saw_type_void;
        break;
    case CALL_FUNCTION:
    case CALL_BUILTIN: break;
    }
}

bool check_special(struct saw_checker *c, struct saw_expr *e)
{
    struct slice name = e->u.call.fn->u.name.text;
    struct saw_exprs *args = &e->u.call.args;
    size_t i;

    PRE(e->kind == EXPR_CALL && e->u.call.fn->kind == EXPR_NAME);
    for (i = 0; i < ARRAY_LEN(special_names); i++) {
        if (slice_eq_str(name, special_names[i].name)) {
            check_special_call(c, e, special_names[i].kind);
            return true;
        }
    }
    if (slice_eq_str(name, "regex")) {
        call_regex(c, e);
        return true;
    }
    if (!slice_eq_str(name, "convert"))
        return false;
    if (args->count)
        check_convert_call(c, e, check_type_argument(c, args->at[0]), 1);
    else
        saw_error(c->diag, e->pos, "convert needs a type and a value");
    return true;
}
