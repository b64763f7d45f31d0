/* Conversions, written T(x, …) and convert(T, x, …) or inserted by the
 * checker; see check_internal.h.
 *
 * Which conversions exist is known to builtins/ (saw_convert_check); this file
 * makes their call sites, and recognises `r: Row = input;`, which makes a
 * program read rows instead of records.
 */
#include "sawzall-lite/checker/check_internal.h"

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
        size_t items = src->u.composite.items.count;
        if (check_composite_as(c, src, to))
            return src;
        if (implicit && to->kind == SAW_TUPLE && !src->u.composite.paired &&
            items != to->field_count) {
            saw_error(c->diag, pos, "%s has %zu item%s, and %s %zu field%s",
                      check_expr_text(c, src), items, items == 1 ? "" : "s",
                      check_type_text(c, to), to->field_count,
                      to->field_count == 1 ? "" : "s");
            return bad_conversion(c, pos);
        }
        check_composite_guess(c, src, true);
    }
    if (check_any_bad(args) || to->kind == SAW_BAD)
        return bad_conversion(c, pos);
    if (to->open) {
        saw_error(c->diag, pos,
                  "no value of type %s can be made within its declaration",
                  check_type_text(c, to));
        return bad_conversion(c, pos);
    }
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
    types = check_types_of(c, args);
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
    if (src->type->kind == SAW_ARRAY && to->kind == SAW_TUPLE)
        e->u.convert.site->source = check_expr_text(c, src);
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

/* Turn @e into @x. Nodes that others point to (an index with its `$`) must not
 * be copied: they are wrapped. */
static void check_convert_become(struct saw_expr *e, struct saw_expr *x)
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
void check_convert_call(struct saw_checker *c,
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
    check_convert_become(e, check_conversion(c, e->pos, to, &args, false));
}

/* The first argument of convert, new and regex. */
const struct saw_type *check_type_argument(struct saw_checker *c,
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
