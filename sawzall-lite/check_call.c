/* Calls of functions and intrinsics; see check_internal.h. */
#include "base/core/panic.h"
#include "sawzall-lite/check_internal.h"

/* The functions that need more than values: what the compiler does itself. */
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

static struct saw_expr *arg(const struct saw_expr *call, size_t i)
{
    return call->u.call.args.at[i];
}

static void check_args(struct saw_checker *c, struct saw_expr *e)
{
    size_t i;

    for (i = 0; i < e->u.call.args.count; i++)
        check_expr(c, arg(e, i));
}

static bool any_bad(const struct saw_exprs *args)
{
    size_t i;

    for (i = 0; i < args->count; i++) {
        if (args->at[i]->type->kind == SAW_BAD)
            return true;
    }
    return false;
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

static const struct saw_type **types_of(struct saw_checker *c,
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

    site->builtin = b;
    site->arg_count = args->count;
    site->arg_types = types_of(c, args);
    site->result_type = result;
    if (b && b->prepare) {
        site->prepared = b->prepare(site, constants_of(c, args));
        if (site->prepared)
            add_site(c, site);
    }
    return site;
}

/* --- intrinsics ---------------------------------------------------------- */

/* Arguments against the signature. */
static bool matches(struct saw_checker *c,
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

/* The check function of @b; its result type, or NULL after an error. */
static const struct saw_type *ask(struct saw_checker *c,
                                  struct saw_pos pos,
                                  const struct saw_builtin *b,
                                  const struct saw_exprs *args)
{
    struct saw_check check = {.arg_types = types_of(c, args),
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
        guess_args(c, args);
        return ask(c, e->pos, b, args);
    }
    if (d->type->kind == SAW_BAD)
        d->type = check_signature(c, b->signature);
    if (!matches(c, e, b, d->type))
        return NULL;
    if (b->check) {
        t = ask(c, e->pos, b, args);
        return t ? d->type->elem : NULL;
    }
    return d->type->elem;
}

static void
builtin_call(struct saw_checker *c, struct saw_expr *e, struct saw_decl *d)
{
    const struct saw_type *t;

    check_args(c, e);
    e->u.call.kind = CALL_BUILTIN;
    if (any_bad(&e->u.call.args))
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
    if (any_bad(args))
        return NULL;
    t = ask(c, pos, b, args);
    return t ? check_site(c, b, args, t) : NULL;
}

/* --- conversions --------------------------------------------------------- */

static struct saw_expr *bad_conversion(struct saw_checker *c,
                                       struct saw_pos pos)
{
    return saw_expr_new(c->arena, EXPR_BAD, pos);
}

/* `r: Row = input;` */
static bool is_row_input(struct saw_checker *c,
                         const struct saw_type *to,
                         const struct saw_expr *e)
{
    return to == c->unit->row_type && e->kind == EXPR_NAME && e->u.name.decl &&
           e->u.name.decl == c->unit->input;
}

static struct saw_expr *row_input(struct saw_checker *c, struct saw_pos pos)
{
    struct saw_expr *e = saw_expr_new(c->arena, EXPR_NAME, pos);

    c->unit->wants_rows = true;
    e->u.name.text = c->unit->row->name;
    e->u.name.decl = c->unit->row;
    e->type = c->unit->row_type;
    check_use(c, c->unit->row, pos);
    return e;
}

struct saw_expr *check_conversion(struct saw_checker *c,
                                  struct saw_pos pos,
                                  const struct saw_type *to,
                                  const struct saw_exprs *args,
                                  bool implicit)
{
    struct saw_expr *src = args->at[0];
    const struct saw_type **types;
    struct saw_expr *e;
    char message[200] = "";
    bool may_be_undef = true;

    if (src->kind == EXPR_COMPOSITE && src->type->kind == SAW_INCOMPLETE) {
        if (check_composite_as(c, src, to))
            return src;
        check_composite_guess(c, src, true);
    }
    if (any_bad(args) || to->kind == SAW_BAD)
        return bad_conversion(c, pos);
    if (is_row_input(c, to, src))
        return row_input(c, pos);
    if (saw_type_equal(src->type, to) && args->count == 1 &&
        src->type->proto == to->proto) {
        if (!implicit)
            saw_warning(c->diag, pos,
                        "%s is of type %s already; conversion suppressed",
                        check_expr_text(c, src), check_type_text(c, to));
        return src;
    }
    types = types_of(c, args);
    if (src->type->kind >= SAW_TABLE ||
        !saw_convert_check(src->type, to, types + 1, args->count - 1,
                           &may_be_undef, message)) {
        saw_error(c->diag, pos, "cannot convert %s (type %s) to %s%s%s",
                  check_expr_text(c, src), check_type_text(c, src->type),
                  check_type_text(c, to), message[0] ? ": " : "", message);
        return bad_conversion(c, pos);
    }
    e = saw_expr_new(c->arena, EXPR_CONVERT, pos);
    e->type = to;
    e->u.convert.args = *args;
    e->u.convert.may_be_undef = may_be_undef;
    e->u.convert.site = check_site(c, NULL, args, to);
    fold_expr(c, e);
    return e;
}

static void warn_base(struct saw_checker *c,
                      const struct saw_type *to,
                      const struct saw_exprs *args,
                      struct saw_pos pos)
{
    if (args->count == 1 && args->at[0]->type->kind == SAW_STRING &&
        !args->at[0]->constant && (to->kind == SAW_INT || to->kind == SAW_UINT))
        saw_warning(c->diag, pos,
                    "no base given: it will depend on the text (0x…, 0…)");
}

/* Make @e mean @x. Nodes that others point to (an index with its `$`) must not
 * be copied: they are wrapped. */
static void become(struct saw_expr *e, struct saw_expr *x)
{
    struct saw_pos pos = e->pos;

    if (x->kind != EXPR_INDEX) {
        *e = *x;
        return;
    }
    *e = (struct saw_expr){.kind = EXPR_UNARY, .pos = pos, .type = x->type};
    e->u.binary.op = OP_PLUS;
    e->u.binary.left = x;
}

/* T(x, …) or convert(T, x, …); @from is where the values begin. */
static void conversion(struct saw_checker *c,
                       struct saw_expr *e,
                       const struct saw_type *to,
                       size_t from)
{
    struct saw_exprs args = e->u.call.args;
    size_t i;

    if (args.count <= from) {
        saw_error(c->diag, e->pos, "a conversion needs a value");
        return;
    }
    args.at += from;
    args.count -= from;
    for (i = 0; i < args.count; i++)
        check_expr(c, args.at[i]);
    if (to->kind == SAW_TABLE || to->kind == SAW_FUNCTION) {
        if (!saw_type_equal(to, args.at[0]->type)) {
            saw_error(c->diag, e->pos, "cannot convert to %s",
                      check_type_text(c, to));
            return;
        }
    }
    warn_base(c, to, &args, e->pos);
    become(e, check_conversion(c, e->pos, to, &args, false));
}

/* The first argument of convert, new and regex. */
static const struct saw_type *type_argument(struct saw_checker *c,
                                            struct saw_expr *e)
{
    struct saw_type_expr t = {.kind = TYPE_NAME, .pos = e->pos};

    if (e->kind == EXPR_TYPE) {
        e->type = check_type(c, e->u.type_expr, NULL, false);
        return e->type;
    }
    if (e->kind == EXPR_NAME) {
        t.name = e->u.name.text;
    } else if (e->kind == EXPR_SELECT &&
               e->u.select.object->kind == EXPR_NAME) {
        t.name = slice_str(arena_printf(
            c->arena, "%.*s.%.*s", SLICE_ARG(e->u.select.object->u.name.text),
            SLICE_ARG(e->u.select.name)));
    } else {
        saw_error(c->diag, e->pos, "a type is expected here");
        return &saw_type_bad;
    }
    return check_type(c, &t, NULL, false);
}

/* --- intrinsics of the compiler ------------------------------------------ */

static void call_def(struct saw_checker *c, struct saw_expr *e)
{
    if (!arg_count(c, e, 1, 1))
        return;
    if (arg(e, 0)->type->kind == SAW_VOID)
        saw_error(c->diag, arg(e, 0)->pos, "argument of def() is not a value");
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
    t = type_argument(c, arg(e, 0));
    for (i = 1; i < n; i++)
        check_expr(c, arg(e, i));
    if (t->kind == SAW_BAD)
        return;
    e->type = t;
    if (n > 1 && arg(e, 1)->type->kind != SAW_INT &&
        arg(e, 1)->type->kind != SAW_BAD)
        saw_error(c->diag, arg(e, 1)->pos, "new(%s): the length must be an int",
                  check_type_text(c, t));
    if (t->kind == SAW_MAP) {
        if (n > 2)
            saw_error(c->diag, arg(e, 2)->pos,
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
        else if (!check_compatible(c, elem, arg(e, 2)))
            saw_error(c->diag, arg(e, 2)->pos,
                      "incompatible initial value %s in new()",
                      check_expr_text(c, arg(e, 2)));
    } else {
        saw_error(c->diag, e->pos, "type %s cannot be made by new()",
                  check_type_text(c, t));
    }
    if (n > 3)
        saw_error(c->diag, arg(e, 3)->pos, "too many arguments for new()");
}

static void call_len(struct saw_checker *c, struct saw_expr *e)
{
    enum saw_kind k;

    e->type = &saw_type_int;
    if (!arg_count(c, e, 1, 1))
        return;
    if (arg(e, 0)->kind == EXPR_COMPOSITE)
        check_composite_guess(c, arg(e, 0), false);
    k = arg(e, 0)->type->kind;
    if (k != SAW_STRING && k != SAW_BYTES && k != SAW_ARRAY && k != SAW_MAP &&
        k != SAW_BAD)
        saw_error(c->diag, arg(e, 0)->pos, "%s (type %s) has no length",
                  check_expr_text(c, arg(e, 0)),
                  check_type_text(c, arg(e, 0)->type));
    fold_expr(c, e);
}

/* haskey(m, k) and lookup(m, k, default). */
static void call_map(struct saw_checker *c, struct saw_expr *e, bool lookup)
{
    const struct saw_type *t;

    e->type = lookup ? &saw_type_bad : &saw_type_bool;
    if (!arg_count(c, e, lookup ? 3 : 2, lookup ? 3 : 2))
        return;
    t = arg(e, 0)->type;
    if (t->kind == SAW_BAD)
        return;
    if (t->kind != SAW_MAP) {
        saw_error(c->diag, arg(e, 0)->pos,
                  "the first argument must be a map; %s is of type %s",
                  check_expr_text(c, arg(e, 0)), check_type_text(c, t));
        return;
    }
    if (!check_compatible(c, t->key, arg(e, 1)))
        saw_error(c->diag, arg(e, 1)->pos,
                  "%s (type %s) is not a key of the map (type %s)",
                  check_expr_text(c, arg(e, 1)),
                  check_type_text(c, arg(e, 1)->type), check_type_text(c, t));
    if (!lookup)
        return;
    e->type = t->elem;
    if (!check_compatible(c, t->elem, arg(e, 2)))
        saw_error(c->diag, arg(e, 2)->pos,
                  "%s (type %s) is not a value of the map (type %s)",
                  check_expr_text(c, arg(e, 2)),
                  check_type_text(c, arg(e, 2)->type), check_type_text(c, t));
}

/* inproto(t.f), clearproto(t.f). */
static void call_proto(struct saw_checker *c, struct saw_expr *e, bool clear)
{
    const struct saw_expr *s;
    struct saw_decl *root;

    e->type = clear ? &saw_type_void : &saw_type_bool;
    if (!arg_count(c, e, 1, 1))
        return;
    s = arg(e, 0);
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
    if (!arg_count(c, e, 1, 1) || arg(e, 0)->type->kind == SAW_BAD)
        return;
    d = arg(e, 0)->kind == EXPR_NAME ? check_root(arg(e, 0)) : NULL;
    if (!d || d->is_static || d->quant != QUANT_NONE) {
        saw_error(c->diag, arg(e, 0)->pos,
                  "%s is not a variable that can be undefined",
                  check_expr_text(c, arg(e, 0)));
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
    if (rest.count == 0 || arg(e, 0)->kind != EXPR_LITERAL ||
        arg(e, 0)->type->kind != SAW_STRING) {
        saw_error(c->diag, e->pos, "DEBUG needs a literal string argument");
        return;
    }
    command = saw_str_slice(arg(e, 0)->constant->s);
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
        saw_error(c->diag, arg(e, 0)->pos, "unknown DEBUG command \"%.*s\"",
                  SLICE_ARG(command));
    }
}

static void call_cell(struct saw_checker *c, struct saw_expr *e)
{
    size_t i;

    for (i = 0; i < e->u.call.args.count; i++) {
        c->row_ok = i == 0;
        check_expr(c, arg(e, i));
    }
    c->row_ok = false;
    e->type = &saw_type_bytes;
    if (!arg_count(c, e, 2, 2) || any_bad(&e->u.call.args))
        return;
    if (arg(e, 0)->type != c->unit->row_type)
        saw_error(c->diag, arg(e, 0)->pos, "cell() wants a Row, not %s",
                  check_type_text(c, arg(e, 0)->type));
    if (arg(e, 1)->type->kind != SAW_STRING)
        saw_error(c->diag, arg(e, 1)->pos,
                  "cell() wants the name of a column, \"family:qualifier\"");
    else if (arg(e, 1)->constant)
        check_column(c, saw_str_slice(arg(e, 1)->constant->s));
    else
        c->unit->all_columns = true;
    if (arg(e, 0)->kind != EXPR_NAME)
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
        if (!saw_type_equal(arg(e, i)->type, want))
            saw_error(c->diag, arg(e, i)->pos,
                      "argument %zu is %s (type %s), should be %s", i + 1,
                      check_expr_text(c, arg(e, i)),
                      check_type_text(c, arg(e, i)->type),
                      check_type_text(c, want));
        if (flag != ARG_PLAIN && i < first)
            saw_error(c->diag, arg(e, i)->pos,
                      "skip, rest and submatch go with patterns");
        if (flag != ARG_REST)
            continue;
        root = check_root(arg(e, i));
        if (!once && i + 1 < args->count)
            saw_error(c->diag, arg(e, i)->pos,
                      "'rest' must be the last argument here");
        else if (!root || root->is_static || root->quant != QUANT_NONE)
            saw_error(c->diag, arg(e, i)->pos,
                      "'rest' needs a variable; %s is none",
                      check_expr_text(c, arg(e, i)));
        else
            root->assigned = true;
    }
    e->u.call.site = check_site(c, NULL, args, e->type);
    e->u.call.site->flags = e->u.call.flags;
    e->u.call.site->once = once;
}

static void
special(struct saw_checker *c, struct saw_expr *e, enum saw_call_kind kind)
{
    e->u.call.kind = kind;
    if (kind != CALL_NEW && kind != CALL_CELL)
        check_args(c, e);
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

/* regex(T), regex(int, base): a constant. */
static void call_regex(struct saw_checker *c, struct saw_expr *e)
{
    size_t n = e->u.call.args.count;
    const struct saw_type *t = n ? type_argument(c, arg(e, 0)) : &saw_type_bad;
    char message[200] = "";
    int64_t base = 0;
    const char *pattern;
    struct saw_str *s = arena_zalloc(c->arena, sizeof(*s));

    if (n > 1)
        check_expr(c, arg(e, 1));
    if (n == 0 || n > 2) {
        saw_error(c->diag, e->pos, "regex() takes a type and maybe a base");
        return;
    }
    if (t->kind == SAW_BAD)
        return;
    if (n == 2 && t->kind != SAW_INT) {
        saw_error(c->diag, arg(e, 1)->pos, "a base goes with regex(int) only");
        return;
    }
    if (n == 2 && (arg(e, 1)->type->kind != SAW_INT || !arg(e, 1)->constant)) {
        saw_error(c->diag, arg(e, 1)->pos,
                  "the base in regex() must be an int literal");
        return;
    }
    if (n == 2)
        base = arg(e, 1)->constant->i;
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

/* --- functions of the program -------------------------------------------- */

static void function_call(struct saw_checker *c, struct saw_expr *e)
{
    const struct saw_type *t = e->u.call.fn->type;
    struct saw_exprs *args = &e->u.call.args;
    size_t i;

    e->u.call.kind = CALL_FUNCTION;
    check_args(c, e);
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

/* A call of a name that is not a variable: true if it was one. */
static bool named_call(struct saw_checker *c, struct saw_expr *e)
{
    struct saw_expr *fn = e->u.call.fn;
    struct saw_decl *d = saw_scope_lookup(c->scope, fn->u.name.text);
    size_t i;

    if (!d) {
        for (i = 0; i < ARRAY_LEN(special_names); i++) {
            if (slice_eq_str(fn->u.name.text, special_names[i].name)) {
                special(c, e, special_names[i].kind);
                return true;
            }
        }
        if (slice_eq_str(fn->u.name.text, "convert")) {
            if (e->u.call.args.count)
                conversion(c, e, type_argument(c, e->u.call.args.at[0]), 1);
            else
                saw_error(c->diag, e->pos, "convert needs a type and a value");
            return true;
        }
        if (slice_eq_str(fn->u.name.text, "regex")) {
            call_regex(c, e);
            return true;
        }
        d = check_lookup(c, fn->u.name.text, fn->pos);
    }
    if (!d) {
        check_args(c, e);
        return true;
    }
    if (d->kind == DECL_TYPE) {
        struct saw_type_expr t = {
            .kind = TYPE_NAME, .pos = fn->pos, .name = fn->u.name.text};
        conversion(c, e, check_type(c, &t, NULL, true), 0);
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
    conversion(c, e, d->type, 0);
    return true;
}

void check_call(struct saw_checker *c, struct saw_expr *e)
{
    struct saw_expr *fn = e->u.call.fn;

    if (fn->kind == EXPR_NAME && named_call(c, e))
        return;
    if (fn->kind == EXPR_SELECT && qualified_conversion(c, e))
        return;
    check_expr(c, fn);
    function_call(c, e);
}
