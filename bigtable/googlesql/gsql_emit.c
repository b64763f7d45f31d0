/* Expressions but for calls and casts. Each gets parentheses of its own, so
 * that precedence is decided by the tree alone.
 */
#include <stdlib.h>
#include <string.h>

#include "base/core/text.h"
#include "bigtable/googlesql/gsql_functions.h"
#include "bigtable/googlesql/gsql_lexer.h"
#include "bigtable/googlesql/gsql_literal.h"
#include "bigtable/googlesql/gsql_scope.h"

#define UNKNOWN gsql_scalar(GSQL_UNKNOWN)

static struct gsql_expr expr_of(struct slice sql, const struct gsql_type *type)
{
    return (struct gsql_expr){sql, type};
}

/* Fail with "No matching signature for @what for argument types: A, B". */
static void fail_types(struct gsql_translator *t,
                       size_t at,
                       struct slice what,
                       const struct gsql_type *a,
                       const struct gsql_type *b)
{
    struct buf text = BUF_INIT;
    buf_printf(&text,
               "No matching signature for operator %.*s for argument "
               "types: ",
               SLICE_ARG(what));
    gsql_type_put(a, &text);
    if (b) {
        buf_append_str(&text, ", ");
        gsql_type_put(b, &text);
    }
    gsql_error(t, at, buf_cstr(&text), SLICE_EMPTY);
    buf_close(&text);
}

/* --- literals ------------------------------------------------------------ */

static struct gsql_expr emit_integer(struct gsql_translator *t,
                                     const struct gsql_node *n)
{
    struct buf b = BUF_INIT;
    uint64_t v = 0;
    bool ok = true;
    if (n->text.len > 2 && (n->text.data[1] | 0x20) == 'x') {
        ok = n->text.len <= 18;
        for (size_t i = 2; ok && i < n->text.len; i++) {
            const char c = n->text.data[i];
            v = v << 4 | (uint64_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
        }
    } else {
        ok = text_parse_u64(n->text, &v, NULL) == 0;
    }
    if (!ok || v > INT64_MAX)
        gsql_error(t, n->at, "Invalid integer literal", n->text);
    gsql_put_int64(&b, (int64_t)(v & INT64_MAX));
    return expr_of(gsql_sql_take(t, &b), gsql_scalar(GSQL_INT64));
}

static struct gsql_expr emit_float(struct gsql_translator *t,
                                   const struct gsql_node *n)
{
    struct buf b = BUF_INIT;
    struct buf digits = BUF_INIT;
    buf_append_slice(&digits, n->text);
    gsql_put_float64(&b, strtod(buf_cstr(&digits), NULL));
    buf_close(&digits);
    return expr_of(gsql_sql_take(t, &b), gsql_scalar(GSQL_FLOAT64));
}

static struct gsql_expr emit_text(struct gsql_translator *t,
                                  const struct gsql_node *n)
{
    struct buf b = BUF_INIT;
    if (n->type->kind == GSQL_BYTES)
        gsql_put_bytes(&b, n->text);
    else
        gsql_put_string(&b, n->text);
    return expr_of(gsql_sql_take(t, &b), n->type);
}

static struct gsql_expr emit_typed(struct gsql_translator *t,
                                   const struct gsql_node *n)
{
    struct buf b = BUF_INIT;
    struct slice text;
    gsql_put_string(&b, n->text);
    text = gsql_sql_take(t, &b);
    return expr_of(gsql_sql(t, "(%.*s::%s)", SLICE_ARG(text),
                            n->type->kind == GSQL_DATE ? "DATE" : "TIMESTAMP"),
                   n->type);
}

const struct gsql_param *gsql_param_find(const struct gsql_translator *t,
                                         struct slice name)
{
    for (size_t i = 0; i < t->options->param_count; i++)
        if (gsql_same_name(t->options->params[i].name, name))
            return &t->options->params[i];
    return NULL;
}

static struct gsql_expr emit_param(struct gsql_translator *t,
                                   const struct gsql_node *n)
{
    const struct gsql_param *p = gsql_param_find(t, n->text);
    if (!p) {
        gsql_error(t, n->at, "Query parameter not found", n->text);
        return expr_of(SLICE_LIT("NULL"), UNKNOWN);
    }
    return expr_of(gsql_sql(t, "%.*s", SLICE_ARG(p->sql)), p->type);
}

struct gsql_expr gsql_coerce(struct gsql_translator *t,
                             const struct gsql_node *n,
                             struct gsql_expr e,
                             const struct gsql_type *wanted)
{
    struct buf b = BUF_INIT;
    if (e.type->kind != GSQL_STRING || wanted->kind == GSQL_STRING ||
        (n->kind != GSQL_TEXT && n->kind != GSQL_PARAM))
        return e;
    if (wanted->kind == GSQL_BYTES && n->kind == GSQL_TEXT) {
        gsql_put_bytes(&b, n->text);
        return expr_of(gsql_sql_take(t, &b), wanted);
    }
    if (wanted->kind == GSQL_BYTES)
        return expr_of(gsql_sql(t, "encode(%.*s)", SLICE_ARG(e.sql)), wanted);
    if (wanted->kind == GSQL_DATE || wanted->kind == GSQL_TIMESTAMP)
        return expr_of(
            gsql_sql(t, "(%.*s::%s)", SLICE_ARG(e.sql),
                     wanted->kind == GSQL_DATE ? "DATE" : "TIMESTAMP"),
            wanted);
    return e;
}

/* --- names --------------------------------------------------------------- */

static struct gsql_expr emit_name(struct gsql_translator *t,
                                  const struct gsql_node *n)
{
    const struct gsql_scope_column *c = gsql_scope_find(t, n->text, n->at);
    if (c)
        return expr_of(gsql_sql(t, "%.*s", SLICE_ARG(c->sql)), c->type);
    gsql_error(t, n->at,
               gsql_scope_source_find(t, n->text)
                   ? "A table as a value is not supported"
                   : "Unrecognized name",
               n->text);
    return expr_of(SLICE_LIT("NULL"), UNKNOWN);
}

/* The field @name of the STRUCT @e. */
static struct gsql_expr emit_field(struct gsql_translator *t,
                                   struct gsql_expr e,
                                   const struct gsql_node *n)
{
    struct buf field = BUF_INIT;
    struct slice name;
    if (e.type->kind != GSQL_STRUCT) {
        struct buf text = BUF_INIT;
        buf_printf(&text, "Cannot access field %.*s on a value with type ",
                   SLICE_ARG(slice_sub(n->text, 0, 60)));
        gsql_type_put(e.type, &text);
        gsql_error(t, n->at, buf_cstr(&text), SLICE_EMPTY);
        buf_close(&text);
        return expr_of(SLICE_LIT("NULL"), UNKNOWN);
    }
    for (size_t i = 0; i < e.type->field_count; i++)
        if (gsql_same_name(e.type->fields[i].name, n->text)) {
            gsql_put_field_name(&field, e.type->fields[i].name, i);
            name = gsql_sql_take(t, &field);
            return expr_of(
                gsql_sql(t, "(%.*s).%.*s", SLICE_ARG(e.sql), SLICE_ARG(name)),
                e.type->fields[i].type);
        }
    gsql_error(t, n->at, "Field name does not exist", n->text);
    return expr_of(SLICE_LIT("NULL"), UNKNOWN);
}

static struct gsql_expr emit_member(struct gsql_translator *t,
                                    const struct gsql_node *n)
{
    const struct gsql_scope_source *s =
        n->a->kind == GSQL_NAME ? gsql_scope_source_find(t, n->a->text) : NULL;
    const struct gsql_scope_column *found = NULL;
    if (!s || gsql_scope_find(t, n->a->text, n->a->at))
        return emit_field(t, gsql_emit(t, n->a), n);
    for (size_t i = 0; i < s->count; i++)
        if (slice_eq(s->columns[i].name, n->text) ||
            (!found && gsql_same_name(s->columns[i].name, n->text)))
            found = &s->columns[i];
    if (found)
        return expr_of(gsql_sql(t, "%.*s", SLICE_ARG(found->sql)), found->type);
    gsql_error(t, n->at, "Name not found in the table", n->text);
    return expr_of(SLICE_LIT("NULL"), UNKNOWN);
}

/* --- subscripts ---------------------------------------------------------- */

static struct gsql_expr
emit_key(struct gsql_translator *t, struct gsql_node *n, struct gsql_expr map)
{
    struct gsql_expr key =
        gsql_coerce(t, n->b, gsql_emit(t, n->b), map.type->key);
    const bool strict = slice_eq_str(n->text, "KEY");
    if (!gsql_type_fits(key.type, map.type->key))
        fail_types(t, n->at, SLICE_LIT("SUBSCRIPT"), map.type, key.type);
    if (strict)
        return expr_of(
            gsql_sql(t,
                     "CASE WHEN list_contains(map_keys(%.*s), %.*s) THEN "
                     "(%.*s)[%.*s] ELSE error('Key not found in map') END",
                     SLICE_ARG(map.sql), SLICE_ARG(key.sql), SLICE_ARG(map.sql),
                     SLICE_ARG(key.sql)),
            map.type->element);
    return expr_of(
        gsql_sql(t, "(%.*s)[%.*s]", SLICE_ARG(map.sql), SLICE_ARG(key.sql)),
        map.type->element);
}

static struct gsql_expr emit_place(struct gsql_translator *t,
                                   struct gsql_node *n,
                                   struct gsql_expr list)
{
    struct gsql_expr at = gsql_emit(t, n->b);
    const bool safe = slice_starts_with(n->text, SLICE_LIT("SAFE"));
    const int first = slice_ends_with(n->text, SLICE_LIT("ORDINAL")) ? 1 : 0;
    const struct gsql_type *element =
        list.type->kind == GSQL_ARRAY ? list.type->element : UNKNOWN;
    if (!gsql_type_fits(at.type, gsql_scalar(GSQL_INT64)))
        fail_types(t, n->at, SLICE_LIT("SUBSCRIPT"), list.type, at.type);
    return expr_of(
        gsql_sql(t,
                 "CASE WHEN %.*s IS NULL THEN NULL WHEN %.*s < %d OR %.*s >= "
                 "len(%.*s) + %d THEN %s ELSE list_extract(%.*s, %.*s + %d) "
                 "END",
                 SLICE_ARG(list.sql), SLICE_ARG(at.sql), first,
                 SLICE_ARG(at.sql), SLICE_ARG(list.sql), first,
                 safe ? "NULL" : "error('Array index is out of bounds')",
                 SLICE_ARG(list.sql), SLICE_ARG(at.sql), 1 - first),
        element);
}

static struct gsql_expr emit_index(struct gsql_translator *t,
                                   struct gsql_node *n)
{
    struct gsql_expr of = gsql_emit(t, n->a);
    const bool by_key = slice_ends_with(n->text, SLICE_LIT("KEY"));
    if (of.type->kind == GSQL_MAP && (n->text.len == 0 || by_key))
        return emit_key(t, n, of);
    if (of.type->kind == GSQL_ARRAY && !by_key)
        return emit_place(t, n, of);
    fail_types(t, n->at, SLICE_LIT("SUBSCRIPT"), of.type, NULL);
    return of;
}

/* --- operators ----------------------------------------------------------- */

/* Both operands as one type; fails if they have none in common. */
static void emit_pair(struct gsql_translator *t,
                      const struct gsql_node *n,
                      struct gsql_node *left,
                      struct gsql_node *right,
                      struct slice what,
                      struct gsql_expr *a,
                      struct gsql_expr *b)
{
    *a = gsql_emit(t, left);
    *b = gsql_emit(t, right);
    *b = gsql_coerce(t, right, *b, a->type);
    *a = gsql_coerce(t, left, *a, b->type);
    if (!gsql_type_fits(a->type, b->type))
        fail_types(t, n->at, what, a->type, b->type);
}

static bool is_text_or_list(const struct gsql_type *type)
{
    return type->kind == GSQL_UNKNOWN || type->kind == GSQL_STRING ||
           type->kind == GSQL_BYTES || type->kind == GSQL_ARRAY;
}

static const struct gsql_type *gsql_emit_wider(const struct gsql_type *a,
                                               const struct gsql_type *b)
{
    if (a->kind == GSQL_UNKNOWN || (a->kind == GSQL_INT64 && gsql_is_number(b)))
        return b;
    return a->kind == GSQL_FLOAT32 && b->kind == GSQL_FLOAT64 ? b : a;
}

static struct gsql_expr emit_logic(struct gsql_translator *t,
                                   struct gsql_node *n)
{
    const struct gsql_type *truth = gsql_scalar(GSQL_BOOL);
    struct gsql_expr a = gsql_emit(t, n->a);
    struct gsql_expr b = gsql_emit(t, n->b);
    if (!gsql_type_fits(a.type, truth) || !gsql_type_fits(b.type, truth))
        fail_types(t, n->at, n->text, a.type, b.type);
    return expr_of(gsql_sql(t, "(%.*s %.*s %.*s)", SLICE_ARG(a.sql),
                            SLICE_ARG(n->text), SLICE_ARG(b.sql)),
                   truth);
}

static struct gsql_expr emit_arithmetic(struct gsql_translator *t,
                                        struct gsql_node *n)
{
    const char op = n->text.data[0];
    struct gsql_expr a, b;
    emit_pair(t, n, n->a, n->b, n->text, &a, &b);
    if ((a.type->kind && !gsql_is_number(a.type)) ||
        (b.type->kind && !gsql_is_number(b.type)))
        fail_types(t, n->at, n->text, a.type, b.type);
    if (op == '/')
        return expr_of(gsql_sql(t, "(%.*s::DOUBLE / quarry_divisor(%.*s))",
                                SLICE_ARG(a.sql), SLICE_ARG(b.sql)),
                       gsql_scalar(GSQL_FLOAT64));
    if (op == '^')
        return expr_of(
            gsql_sql(t, "xor(%.*s, %.*s)", SLICE_ARG(a.sql), SLICE_ARG(b.sql)),
            gsql_scalar(GSQL_INT64));
    return expr_of(gsql_sql(t, "(%.*s %.*s %.*s)", SLICE_ARG(a.sql),
                            SLICE_ARG(n->text), SLICE_ARG(b.sql)),
                   gsql_emit_wider(a.type, b.type));
}

/* DATE and TIMESTAMP plus or minus an INTERVAL. */
static struct gsql_expr emit_shifted(struct gsql_translator *t,
                                     struct gsql_node *n)
{
    struct gsql_expr a = gsql_emit(t, n->a);
    struct gsql_expr b = gsql_emit(t, n->b);
    const struct gsql_type *type = gsql_scalar(GSQL_TIMESTAMP);
    if (a.type->kind != GSQL_UNKNOWN && a.type->kind != GSQL_DATE &&
        a.type->kind != GSQL_TIMESTAMP)
        fail_types(t, n->at, n->text, a.type, b.type);
    return expr_of(gsql_sql(t, "(%.*s %.*s %.*s)::TIMESTAMP", SLICE_ARG(a.sql),
                            SLICE_ARG(n->text), SLICE_ARG(b.sql)),
                   type);
}

static struct gsql_expr emit_binary(struct gsql_translator *t,
                                    struct gsql_node *n)
{
    const struct slice op = n->text;
    struct gsql_expr a, b;
    if (slice_eq_str(op, "AND") || slice_eq_str(op, "OR"))
        return emit_logic(t, n);
    if (n->b->kind == GSQL_INTERVAL_OF &&
        (slice_eq_str(op, "+") || slice_eq_str(op, "-")))
        return emit_shifted(t, n);
    if (!slice_eq_str(op, "||") && !memchr("=<>", op.data[0], 3))
        return emit_arithmetic(t, n);
    if (slice_eq_str(op, "<<") || slice_eq_str(op, ">>"))
        return emit_arithmetic(t, n);
    emit_pair(t, n, n->a, n->b, op, &a, &b);
    if (slice_eq_str(op, "||") &&
        (!is_text_or_list(a.type) || !is_text_or_list(b.type)))
        fail_types(t, n->at, op, a.type, b.type);
    return expr_of(gsql_sql(t, "(%.*s %.*s %.*s)", SLICE_ARG(a.sql),
                            SLICE_ARG(op), SLICE_ARG(b.sql)),
                   slice_eq_str(op, "||") ? gsql_emit_wider(a.type, b.type)
                                          : gsql_scalar(GSQL_BOOL));
}

static struct gsql_expr emit_unary(struct gsql_translator *t,
                                   struct gsql_node *n)
{
    struct gsql_expr a = gsql_emit(t, n->a);
    const bool is_not = slice_eq_str(n->text, "NOT");
    if (is_not ? !gsql_type_fits(a.type, gsql_scalar(GSQL_BOOL))
               : a.type->kind && !gsql_is_number(a.type))
        fail_types(t, n->at, n->text, a.type, NULL);
    return expr_of(
        gsql_sql(t, "(%.*s %.*s)", SLICE_ARG(n->text), SLICE_ARG(a.sql)),
        is_not ? gsql_scalar(GSQL_BOOL) : a.type);
}

/* --- comparisons --------------------------------------------------------- */

/* A BYTES as a text of one character a byte; any other as it is. */
static struct slice as_text(struct gsql_translator *t, struct gsql_expr e)
{
    return e.type->kind == GSQL_BYTES
               ? gsql_sql(t, "quarry_latin1(%.*s)", SLICE_ARG(e.sql))
               : e.sql;
}

static struct gsql_expr emit_like(struct gsql_translator *t,
                                  struct gsql_node *n)
{
    struct gsql_expr a, b;
    struct slice text, pattern;
    emit_pair(t, n, n->a, n->b, SLICE_LIT("LIKE"), &a, &b);
    text = as_text(t, a);
    pattern = as_text(t, b);
    return expr_of(gsql_sql(t, "(%.*s %sLIKE %.*s ESCAPE '\\')",
                            SLICE_ARG(text), n->flag ? "NOT " : "",
                            SLICE_ARG(pattern)),
                   gsql_scalar(GSQL_BOOL));
}

static struct gsql_expr emit_between(struct gsql_translator *t,
                                     struct gsql_node *n)
{
    struct gsql_expr a, low, high;
    emit_pair(t, n, n->a, n->b, SLICE_LIT("BETWEEN"), &a, &low);
    emit_pair(t, n, n->a, n->c, SLICE_LIT("BETWEEN"), &a, &high);
    return expr_of(gsql_sql(t, "(%.*s %sBETWEEN %.*s AND %.*s)",
                            SLICE_ARG(a.sql), n->flag ? "NOT " : "",
                            SLICE_ARG(low.sql), SLICE_ARG(high.sql)),
                   gsql_scalar(GSQL_BOOL));
}

static struct gsql_expr emit_in(struct gsql_translator *t, struct gsql_node *n)
{
    const struct gsql_type *truth = gsql_scalar(GSQL_BOOL);
    struct buf b = BUF_INIT;
    struct gsql_expr a = gsql_emit(t, n->a), item;
    if (n->b) {
        item = gsql_emit(t, n->b);
        if (item.type->kind == GSQL_ARRAY)
            a = gsql_coerce(t, n->a, a, item.type->element);
        return expr_of(gsql_sql(t, "(%slist_contains(%.*s, %.*s))",
                                n->flag ? "NOT " : "", SLICE_ARG(item.sql),
                                SLICE_ARG(a.sql)),
                       truth);
    }
    buf_printf(&b, "(%.*s %sIN (", SLICE_ARG(a.sql), n->flag ? "NOT " : "");
    for (struct gsql_node *i = n->list; i; i = i->next) {
        item = gsql_coerce(t, i, gsql_emit(t, i), a.type);
        if (!gsql_type_fits(a.type, item.type))
            fail_types(t, i->at, SLICE_LIT("IN"), a.type, item.type);
        buf_append_slice(&b, item.sql);
        buf_append_str(&b, i->next ? ", " : "))");
    }
    return expr_of(gsql_sql_take(t, &b), truth);
}

static struct gsql_expr emit_is(struct gsql_translator *t, struct gsql_node *n)
{
    struct gsql_expr a, b;
    if (n->b) {
        emit_pair(t, n, n->a, n->b, SLICE_LIT("IS DISTINCT FROM"), &a, &b);
        return expr_of(gsql_sql(t, "(%.*s IS %sDISTINCT FROM %.*s)",
                                SLICE_ARG(a.sql), n->flag ? "NOT " : "",
                                SLICE_ARG(b.sql)),
                       gsql_scalar(GSQL_BOOL));
    }
    a = gsql_emit(t, n->a);
    return expr_of(gsql_sql(t, "(%.*s IS %s%.*s)", SLICE_ARG(a.sql),
                            n->flag ? "NOT " : "", SLICE_ARG(n->text)),
                   gsql_scalar(GSQL_BOOL));
}

/* --- several values ------------------------------------------------------ */

static struct gsql_expr emit_case(struct gsql_translator *t,
                                  struct gsql_node *n)
{
    struct buf b = BUF_INIT;
    const struct gsql_type *type = UNKNOWN;
    const struct gsql_type *compared = UNKNOWN;
    bool is_result = false;
    buf_append_str(&b, "CASE");
    if (n->a) {
        struct gsql_expr e = gsql_emit(t, n->a);
        compared = e.type;
        buf_printf(&b, " %.*s", SLICE_ARG(e.sql));
    }
    for (struct gsql_node *i = n->list; i; i = i->next) {
        struct gsql_expr e = gsql_emit(t, i);
        if (is_result)
            type = gsql_emit_wider(type, e.type);
        else if (n->a)
            e = gsql_coerce(t, i, e, compared);
        buf_printf(&b, " %s %.*s", is_result ? "THEN" : "WHEN",
                   SLICE_ARG(e.sql));
        is_result = !is_result;
    }
    if (n->b) {
        struct gsql_expr e = gsql_emit(t, n->b);
        type = gsql_emit_wider(type, e.type);
        buf_printf(&b, " ELSE %.*s", SLICE_ARG(e.sql));
    }
    buf_append_str(&b, " END");
    return expr_of(gsql_sql_take(t, &b), type);
}

static struct gsql_expr emit_array(struct gsql_translator *t,
                                   struct gsql_node *n)
{
    struct buf b = BUF_INIT;
    const struct gsql_type *element =
        n->type->kind == GSQL_ARRAY ? n->type->element : UNKNOWN;
    buf_append_str(&b, "[");
    for (struct gsql_node *i = n->list; i; i = i->next) {
        struct gsql_expr e = gsql_coerce(t, i, gsql_emit(t, i), element);
        if (!gsql_type_fits(element, e.type))
            fail_types(t, i->at, SLICE_LIT("ARRAY"), element, e.type);
        element = gsql_emit_wider(element, e.type);
        buf_printf(&b, "%.*s%s", SLICE_ARG(e.sql), i->next ? ", " : "");
    }
    buf_append_str(&b, "]");
    if (n->type->kind == GSQL_ARRAY) {
        buf_append_str(&b, "::");
        gsql_type_put_duckdb(n->type, &b);
        element = n->type->element;
    }
    return expr_of(gsql_sql_take(t, &b), gsql_array_of(t->arena, element));
}

static struct gsql_expr emit_struct(struct gsql_translator *t,
                                    struct gsql_node *n)
{
    struct buf b = BUF_INIT;
    struct gsql_type *type = arena_zalloc(t->arena, sizeof(*type));
    struct gsql_field *fields;
    size_t count = 0;
    for (struct gsql_node *i = n->list; i; i = i->next)
        count++;
    fields = arena_zalloc(t->arena, (count + 1) * sizeof(*fields));
    *type = (struct gsql_type){
        .kind = GSQL_STRUCT, .fields = fields, .field_count = count};
    count = 0;
    buf_append_str(&b, "struct_pack(");
    for (struct gsql_node *i = n->list; i; i = i->next, count++) {
        struct gsql_expr e = gsql_emit(t, i);
        fields[count] = (struct gsql_field){
            i->alias.len || i->kind != GSQL_NAME ? i->alias : i->text, e.type};
        gsql_put_field_name(&b, fields[count].name, count);
        buf_printf(&b, " := %.*s%s", SLICE_ARG(e.sql), i->next ? ", " : ")");
    }
    return expr_of(gsql_sql_take(t, &b), type);
}

/* --- order --------------------------------------------------------------- */

void gsql_put_order(struct gsql_translator *t,
                    struct gsql_node *order,
                    bool positions,
                    struct buf *out)
{
    for (struct gsql_node *n = order; n; n = n->next) {
        const char *nulls;
        buf_append_str(out, n == order ? " ORDER BY " : ", ");
        if (positions && n->a->kind == GSQL_INTEGER && n->a->text.len < 6)
            buf_append_slice(out, n->a->text);
        else
            buf_append_slice(out, gsql_emit(t, n->a).sql);
        /* NULL is the least of all values: with DESC it comes last. */
        nulls = n->flag ? "LAST" : "FIRST";
        if (n->text.len)
            nulls = n->text.data;
        buf_printf(out, " %s NULLS %s", n->flag ? "DESC" : "ASC", nulls);
    }
}

static bool has_aggregate_in(const struct gsql_node *list)
{
    for (; list; list = list->next)
        if (gsql_has_aggregate(list))
            return true;
    return false;
}

bool gsql_has_aggregate(const struct gsql_node *n)
{
    const struct gsql_function *f;
    if (!n)
        return false;
    f = n->kind == GSQL_CALL ? gsql_function_find(n->text) : NULL;
    return (f && (f->flags & GSQL_AGGREGATE)) || gsql_has_aggregate(n->a) ||
           gsql_has_aggregate(n->b) || gsql_has_aggregate(n->c) ||
           has_aggregate_in(n->list);
}

/* --- an expression ------------------------------------------------------- */

struct gsql_expr gsql_emit(struct gsql_translator *t, struct gsql_node *n)
{
    const struct gsql_expr nothing = expr_of(SLICE_LIT("NULL"), UNKNOWN);
    if (t->rc)
        return nothing;
    switch (n->kind) {
    case GSQL_NULL: return nothing;
    case GSQL_TRUTH:
        return expr_of(n->flag ? SLICE_LIT("true") : SLICE_LIT("false"),
                       gsql_scalar(GSQL_BOOL));
    case GSQL_INTEGER: return emit_integer(t, n);
    case GSQL_FLOAT: return emit_float(t, n);
    case GSQL_TEXT: return emit_text(t, n);
    case GSQL_TYPED: return emit_typed(t, n);
    case GSQL_PARAM: return emit_param(t, n);
    case GSQL_NAME: return emit_name(t, n);
    case GSQL_MEMBER: return emit_member(t, n);
    case GSQL_INDEX: return emit_index(t, n);
    case GSQL_CALL: return gsql_emit_call(t, n);
    case GSQL_CAST: return gsql_emit_cast(t, n);
    case GSQL_UNARY: return emit_unary(t, n);
    case GSQL_BINARY: return emit_binary(t, n);
    case GSQL_LIKE: return emit_like(t, n);
    case GSQL_BETWEEN: return emit_between(t, n);
    case GSQL_IN: return emit_in(t, n);
    case GSQL_IS: return emit_is(t, n);
    case GSQL_CASE: return emit_case(t, n);
    case GSQL_ARRAY_OF: return emit_array(t, n);
    case GSQL_STRUCT_OF: return emit_struct(t, n);
    case GSQL_INTERVAL_OF: return gsql_emit_interval(t, n);
    case GSQL_EXTRACT: return gsql_emit_extract(t, n);
    case GSQL_STAR:
    case GSQL_LAMBDA:
    case GSQL_ORDER:
    case GSQL_NAMED: break;
    }
    gsql_error(t, n->at,
               n->kind == GSQL_STAR ? "* is not allowed here"
                                    : "A lambda is not allowed here",
               SLICE_EMPTY);
    return nothing;
}
