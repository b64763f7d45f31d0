/* The tree: nodes, lists and the source text that messages quote; see ast.h.
 *
 * Lists double in the arena and leave the old memory there: the arena is freed
 * as a whole, and a program is short beside its data.
 */
#include "sawzall-lite/front/ast.h"

#include "base/core/panic.h"
#include "sawzall-lite/values/value_text.h"

/* Room for one more of @size bytes in a list; the old memory stays in @a. */
static void *
ast_grow(struct arena *a, void *at, size_t count, size_t *cap, size_t size)
{
    void *p;

    if (count < *cap)
        return at;
    INVARIANT(count == *cap);
    *cap = *cap ? *cap * 2 : 4;
    p = arena_alloc(a, *cap * size);
    if (count)
        memcpy(p, at, count * size);
    return p;
}

void saw_exprs_add(struct arena *a, struct saw_exprs *l, struct saw_expr *e)
{
    l->at = ast_grow(a, l->at, l->count, &l->cap, sizeof(*l->at));
    l->at[l->count++] = e;
}

void saw_stmts_add(struct arena *a, struct saw_stmts *l, struct saw_stmt *s)
{
    l->at = ast_grow(a, l->at, l->count, &l->cap, sizeof(*l->at));
    l->at[l->count++] = s;
}

void saw_decls_add(struct arena *a, struct saw_decls *l, struct saw_decl *d)
{
    l->at = ast_grow(a, l->at, l->count, &l->cap, sizeof(*l->at));
    l->at[l->count++] = d;
}

struct saw_field_expr *saw_fields_add(struct arena *a, struct saw_fields *l)
{
    l->at = ast_grow(a, l->at, l->count, &l->cap, sizeof(*l->at));
    l->at[l->count] = (struct saw_field_expr){.name = SLICE_EMPTY};
    return &l->at[l->count++];
}

struct saw_case *saw_cases_add(struct arena *a, struct saw_stmt *s)
{
    s->u.select.cases =
        ast_grow(a, s->u.select.cases, s->u.select.case_count,
                 &s->u.select.case_cap, sizeof(*s->u.select.cases));
    s->u.select.cases[s->u.select.case_count] = (struct saw_case){.body = NULL};
    return &s->u.select.cases[s->u.select.case_count++];
}

struct saw_expr *
saw_expr_new(struct arena *a, enum saw_expr_kind kind, struct saw_pos pos)
{
    struct saw_expr *e = arena_zalloc(a, sizeof(*e));
    e->kind = kind;
    e->pos = pos;
    e->type = &saw_type_bad;
    return e;
}

struct saw_stmt *
saw_stmt_new(struct arena *a, enum saw_stmt_kind kind, struct saw_pos pos)
{
    struct saw_stmt *s = arena_zalloc(a, sizeof(*s));
    s->kind = kind;
    s->pos = pos;
    return s;
}

struct saw_expr *saw_expr_literal(struct arena *a,
                                  struct saw_pos pos,
                                  const struct saw_type *type,
                                  union saw_slot value)
{
    struct saw_expr *e = saw_expr_new(a, EXPR_LITERAL, pos);
    union saw_slot *v = arena_alloc(a, sizeof(*v));

    PRE(type);
    *v = value;
    e->type = type;
    e->constant = v;
    return e;
}

const char *saw_op_text(enum saw_op op)
{
    static const char *const texts[] = {
        "+", "-",  "*", "/",  "%",  "<<", ">>",  "&",  "|", "^", "==", "!=",
        "<", "<=", ">", ">=", "&&", "||", "and", "or", "-", "!", "~",  "+"};
    PRE((size_t)op < ARRAY_LEN(texts));
    return texts[op];
}

/* --- printing ------------------------------------------------------------ */

/* Messages quote at most this much of an expression. */
#define EXPR_BYTES_SHOWN 120

static void
print_list(const struct saw_exprs *l, const char *between, struct buf *out)
{
    size_t i;

    for (i = 0; i < l->count; i++) {
        if (i)
            buf_append_str(out, between);
        saw_expr_print(l->at[i], out);
    }
}

static void print_composite(const struct saw_expr *e, struct buf *out)
{
    const struct saw_exprs *items = &e->u.composite.items;
    size_t i;

    buf_append_byte(out, '{');
    if (e->u.composite.paired && items->count == 0)
        buf_append_byte(out, ':');
    for (i = 0; i < items->count; i++) {
        if (i)
            buf_append_str(out, e->u.composite.paired && i % 2 ? ": " : ", ");
        saw_expr_print(items->at[i], out);
    }
    buf_append_byte(out, '}');
}

/* Follows the spine of left operands in a loop (INV-1). */
static void print_binary(const struct saw_expr *e, struct buf *out)
{
    const struct saw_expr *left = e;
    size_t depth = 0;

    while (left->kind == EXPR_BINARY) {
        left = left->u.binary.left;
        depth++;
    }
    if (depth > 1)
        buf_append_fill(out, '(', depth - 1 > 8 ? 8 : depth - 1);
    if (depth > 9) {
        buf_append_str(out, "…");
    } else {
        saw_expr_print(e->u.binary.left->kind == EXPR_BINARY ? e->u.binary.left
                                                             : left,
                       out);
        if (depth > 1)
            buf_append_byte(out, ')');
    }
    buf_printf(out, " %s ", saw_op_text(e->u.binary.op));
    saw_expr_print(e->u.binary.right, out);
}

static void print_literal(const struct saw_expr *e, struct buf *out)
{
    if (e->constant && e->type->kind != SAW_BAD)
        saw_value_print(e->type, *e->constant, SAW_PRINT_SOURCE, out);
    else
        buf_append_byte(out, '?');
}

static void print_any(const struct saw_expr *e, struct buf *out)
{
    switch (e->kind) {
    case EXPR_BAD: buf_append_byte(out, '?'); break;
    case EXPR_LITERAL: print_literal(e, out); break;
    case EXPR_TIME_TEXT:
        buf_printf(out, "T\"%.*s\"", SLICE_ARG(e->u.text));
        break;
    case EXPR_NAME: buf_append_slice(out, e->u.name.text); break;
    case EXPR_UNARY:
        buf_append_str(out, saw_op_text(e->u.binary.op));
        saw_expr_print(e->u.binary.left, out);
        break;
    case EXPR_BINARY: print_binary(e, out); break;
    case EXPR_SELECT:
        saw_expr_print(e->u.select.object, out);
        buf_printf(out, ".%.*s", SLICE_ARG(e->u.select.name));
        break;
    case EXPR_INDEX:
        saw_expr_print(e->u.index.object, out);
        buf_append_byte(out, '[');
        saw_expr_print(e->u.index.begin, out);
        if (e->u.index.end) {
            buf_append_str(out, " : ");
            saw_expr_print(e->u.index.end, out);
        }
        buf_append_byte(out, ']');
        break;
    case EXPR_DOLLAR: buf_append_byte(out, '$'); break;
    case EXPR_CALL:
        saw_expr_print(e->u.call.fn, out);
        buf_append_byte(out, '(');
        print_list(&e->u.call.args, ", ", out);
        buf_append_byte(out, ')');
        break;
    case EXPR_CONVERT:
        saw_type_print(e->type, out);
        buf_append_byte(out, '(');
        print_list(&e->u.convert.args, ", ", out);
        buf_append_byte(out, ')');
        break;
    case EXPR_COMPOSITE: print_composite(e, out); break;
    case EXPR_FUNCTION:
        saw_type_print(e->type, out);
        buf_append_str(out, " {…}");
        break;
    case EXPR_STATEXPR: buf_append_str(out, "?{…}"); break;
    case EXPR_TYPE: saw_type_print(e->type, out); break;
    }
}

void saw_expr_print(const struct saw_expr *e, struct buf *out)
{
    size_t before = out->len;

    print_any(e, out);
    if (out->len - before > EXPR_BYTES_SHOWN) {
        size_t end = before + EXPR_BYTES_SHOWN;
        while (end > before && (out->data[end] & 0xc0) == 0x80)
            end--;
        buf_truncate(out, end);
        buf_append_str(out, "…");
    }
}
