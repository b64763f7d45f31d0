/* Calls of functions, by their lines in the table; casts, and parts of times.
 */
#include <string.h>

#include "base/core/macros.h"
#include "bigtable/googlesql/gsql_functions.h"
#include "bigtable/googlesql/gsql_lexer.h"
#include "bigtable/googlesql/gsql_literal.h"
#include "bigtable/googlesql/gsql_scope.h"

#define UNKNOWN gsql_scalar(GSQL_UNKNOWN)

/* A call while it is translated. */
struct call {
    const struct gsql_function *f;
    struct gsql_node *node;
    struct gsql_expr *args; /* Of the arena. */
    struct gsql_node **nodes;
    unsigned count;
    bool of_bytes; /* Computed on bytes as Latin-1. */
};

static void
fail_call(struct gsql_translator *t, const struct gsql_node *n, const char *why)
{
    struct buf text = BUF_INIT;
    buf_printf(&text, "%s function %.*s", why,
               SLICE_ARG(slice_sub(n->text, 0, 60)));
    gsql_error(t, n->at, buf_cstr(&text), SLICE_EMPTY);
    buf_close(&text);
}

/* --- arguments ----------------------------------------------------------- */

/* "lambda v3: …", of a parameter that is an element of @list. */
static struct gsql_expr emit_lambda(struct gsql_translator *t,
                                    struct gsql_node *n,
                                    const struct gsql_type *list)
{
    const struct slice name = gsql_sql(t, "v%u", t->names++);
    struct gsql_scope_column column = {
        .name = n->list->text,
        .type = list->kind == GSQL_ARRAY ? list->element : UNKNOWN,
        .sql = name};
    struct gsql_scope_source source = {
        .columns = &column, .count = 1, .is_value = true};
    const struct gsql_scope scope = {.outer = t->scope, .sources = &source};
    struct gsql_expr body;
    t->scope = &scope;
    body = gsql_emit(t, n->a);
    t->scope = scope.outer;
    return (struct gsql_expr){
        gsql_sql(t, "lambda %.*s: %.*s", SLICE_ARG(name), SLICE_ARG(body.sql)),
        body.type};
}

static struct gsql_expr emit_part(struct gsql_translator *t,
                                  const struct gsql_node *n)
{
    const char *part = n->kind == GSQL_NAME ? gsql_date_part(n->text) : NULL;
    if (!part)
        gsql_error(t, n->at, "Not a supported part of a date", n->text);
    return (struct gsql_expr){gsql_sql(t, "'%s'", part ? part : ""), UNKNOWN};
}

/* strftime's forms that DuckDB does not know, written out. */
static struct gsql_expr emit_format(struct gsql_translator *t,
                                    const struct gsql_node *n)
{
    static const char *const longer[][2] = {
        {"%F", "%Y-%m-%d"}, {"%T", "%H:%M:%S"}, {"%R", "%H:%M"},
        {"%D", "%m/%d/%y"}, {"%E4Y", "%Y"},     {"%E6S", "%S.%f"},
        {"%Ez", "%z"},
    };
    struct buf text = BUF_INIT, sql = BUF_INIT;
    if (n->kind != GSQL_TEXT)
        gsql_error(t, n->at, "A format of times must be a literal",
                   SLICE_EMPTY);
    for (size_t i = 0; i < n->text.len;) {
        const struct slice rest = slice_sub(n->text, i, n->text.len);
        size_t taken = 0;
        for (size_t k = 0; k < ARRAY_LEN(longer) && !taken; k++)
            if (slice_starts_with(rest, slice_str(longer[k][0]))) {
                buf_append_str(&text, longer[k][1]);
                taken = strlen(longer[k][0]);
            }
        if (!taken) {
            taken = rest.len > 1 && rest.data[0] == '%' ? 2 : 1;
            buf_append(&text, rest.data, taken);
        }
        i += taken;
    }
    gsql_put_string(&sql, buf_slice(&text));
    buf_close(&text);
    return (struct gsql_expr){gsql_sql_take(t, &sql), gsql_scalar(GSQL_STRING)};
}

static struct gsql_expr
emit_argument(struct gsql_translator *t, struct call *c, unsigned i)
{
    struct gsql_node *n = c->nodes[i];
    if ((i == 1 && (c->f->flags & GSQL_PART_2)) ||
        (i == 2 && (c->f->flags & GSQL_PART_3)))
        return emit_part(t, n);
    if (i == 0 && (c->f->flags & GSQL_FORMAT_1))
        return emit_format(t, n);
    if (n->kind == GSQL_LAMBDA && i == 1 && c->f->result != GSQL_IS_BOOL)
        return emit_lambda(t, n, c->args[0].type);
    if (n->kind == GSQL_STAR && slice_eq_str(slice_str(c->f->name), "COUNT"))
        return (struct gsql_expr){SLICE_LIT("*"), UNKNOWN};
    return gsql_emit(t, n);
}

/* Literals take the type of the first argument that is none of STRING. */
static void make_alike(struct gsql_translator *t, struct call *c)
{
    const struct gsql_type *type = UNKNOWN;
    for (unsigned i = 0; i < c->count; i++)
        if (type->kind == GSQL_UNKNOWN || type->kind == GSQL_STRING)
            type = c->args[i].type->kind ? c->args[i].type : type;
    for (unsigned i = 0; i < c->count; i++) {
        c->args[i] = gsql_coerce(t, c->nodes[i], c->args[i], type);
        if (!gsql_type_fits(type, c->args[i].type))
            fail_call(t, c->node, "Arguments of different types of");
    }
}

static void use_latin1(struct gsql_translator *t, struct call *c)
{
    for (unsigned i = 0; i < c->count; i++)
        c->of_bytes |= c->args[i].type->kind == GSQL_BYTES;
    for (unsigned i = 0; c->of_bytes && i < c->count; i++) {
        struct gsql_expr *e = &c->args[i];
        *e = gsql_coerce(t, c->nodes[i], *e, gsql_scalar(GSQL_BYTES));
        if (e->type->kind == GSQL_STRING)
            fail_call(t, c->node, "STRING and BYTES cannot be mixed in");
        if (e->type->kind == GSQL_BYTES)
            e->sql = gsql_sql(t, "quarry_latin1(%.*s)", SLICE_ARG(e->sql));
    }
}

static void coerce_arguments(struct gsql_translator *t, struct call *c)
{
    const struct gsql_type *first = c->count ? c->args[0].type : UNKNOWN;
    if (c->f->flags & GSQL_ALIKE)
        make_alike(t, c);
    if (c->f->flags & GSQL_TEXTUAL)
        use_latin1(t, c);
    if (c->count < 2 || c->f->flags & (GSQL_ALIKE | GSQL_TEXTUAL))
        return;
    if (first->kind == GSQL_MAP)
        c->args[1] = gsql_coerce(t, c->nodes[1], c->args[1], first->key);
    else if (first->kind == GSQL_ARRAY && c->nodes[1]->kind != GSQL_LAMBDA)
        c->args[1] = gsql_coerce(t, c->nodes[1], c->args[1], first->element);
    if (c->count == 3 && slice_eq_str(slice_str(c->f->name), "IF")) {
        c->args[1] = gsql_coerce(t, c->nodes[1], c->args[1], c->args[2].type);
        c->args[2] = gsql_coerce(t, c->nodes[2], c->args[2], c->args[1].type);
    }
}

/* --- the expression ------------------------------------------------------ */

static int count_groups(struct slice regex)
{
    int n = 0;
    for (size_t i = 0; i < regex.len; i++) {
        if (regex.data[i] == '\\')
            i++;
        else if (regex.data[i] == '(' &&
                 (i + 1 == regex.len || regex.data[i + 1] != '?' ||
                  (i + 2 < regex.len && regex.data[i + 2] == 'P')))
            n++;
    }
    return n;
}

static void put_group(struct gsql_translator *t, struct call *c, struct buf *b)
{
    const struct gsql_node *regex = c->nodes[1];
    int groups;
    if (regex->kind != GSQL_TEXT)
        fail_call(t, c->node, "A regular expression must be a literal in");
    groups = count_groups(regex->text);
    if (groups > 1)
        fail_call(t, c->node, "More than one group in");
    buf_printf(b, "%d", groups ? 1 : 0);
}

static void put_all(struct call *c, const char *between, struct buf *b)
{
    for (unsigned i = 0; i < c->count; i++)
        buf_printf(b, "%s%.*s", i ? between : "", SLICE_ARG(c->args[i].sql));
}

static void put_nulls(struct call *c, struct buf *b)
{
    for (unsigned i = 0; i < c->count; i++)
        buf_printf(b, "%s%.*s IS NULL", i ? " OR " : "",
                   SLICE_ARG(c->args[i].sql));
}

/* The text that "$x" stands for. False: an argument that is missing. */
static bool put_placeholder(struct gsql_translator *t,
                            struct call *c,
                            char x,
                            struct buf *b)
{
    if (x >= '1' && x <= '9') {
        const unsigned i = (unsigned)(x - '1');
        if (i >= c->count)
            return false;
        buf_append_slice(b, c->args[i].sql);
        return true;
    }
    switch (x) {
    case '*': put_all(c, ", ", b); break;
    case '|': put_all(c, " || ", b); break;
    case 'n': put_nulls(c, b); break;
    case 'd': buf_append_str(b, c->node->flag ? "DISTINCT " : ""); break;
    case 'o': gsql_put_order(t, c->node->b, false, b); break;
    case 'g': put_group(t, c, b); break;
    default: break;
    }
    return true;
}

static bool put_template(struct gsql_translator *t,
                         struct call *c,
                         struct slice sql,
                         struct buf *b)
{
    bool whole = true;
    for (size_t i = 0; i < sql.len; i++) {
        if (sql.data[i] == '$' && i + 1 < sql.len) {
            whole &= put_placeholder(t, c, sql.data[++i], b);
        } else if (sql.data[i] == '[') {
            const size_t end =
                i + slice_find_byte(slice_sub(sql, i, sql.len), ']');
            const struct slice in = slice_sub(sql, i + 1, end);
            const size_t bar = slice_find_byte(in, '|');
            const size_t before = b->len;
            if (!put_template(t, c, slice_sub(in, 0, bar), b)) {
                buf_truncate(b, before);
                (void)put_template(t, c, slice_sub(in, bar + 1, in.len), b);
            }
            i = end;
        } else {
            buf_append_byte(b, sql.data[i]);
        }
    }
    return whole;
}

/* --- the type ------------------------------------------------------------ */

static const struct gsql_type *entries_of(struct gsql_translator *t,
                                          const struct gsql_type *map)
{
    struct gsql_type *e = arena_zalloc(t->arena, sizeof(*e));
    struct gsql_field *fields = arena_zalloc(t->arena, 2 * sizeof(*fields));
    fields[0] = (struct gsql_field){SLICE_LIT("key"), map->key};
    fields[1] = (struct gsql_field){SLICE_LIT("value"), map->element};
    *e = (struct gsql_type){
        .kind = GSQL_STRUCT, .fields = fields, .field_count = 2};
    return gsql_array_of(t->arena, e);
}

static const struct gsql_type *map_result(struct gsql_translator *t,
                                          const struct call *c,
                                          const struct gsql_type *map)
{
    if (map->kind != GSQL_MAP) {
        fail_call(t, c->node, "No MAP is given to");
        return UNKNOWN;
    }
    switch ((int)c->f->result) {
    case GSQL_IS_KEYS: return gsql_array_of(t->arena, map->key);
    case GSQL_IS_VALUES: return gsql_array_of(t->arena, map->element);
    default: return entries_of(t, map);
    }
}

static const struct gsql_type *common_type(const struct call *c)
{
    const struct gsql_type *type = UNKNOWN;
    for (unsigned i = 0; i < c->count; i++)
        if (type->kind == GSQL_UNKNOWN ||
            (type->kind == GSQL_INT64 && gsql_is_number(c->args[i].type)))
            type = c->args[i].type;
    return type;
}

static const struct gsql_type *result_type(struct gsql_translator *t,
                                           const struct call *c)
{
    static const enum gsql_kind scalars[] = {
        [GSQL_IS_BOOL] = GSQL_BOOL,       [GSQL_IS_INT64] = GSQL_INT64,
        [GSQL_IS_FLOAT64] = GSQL_FLOAT64, [GSQL_IS_FLOAT32] = GSQL_FLOAT32,
        [GSQL_IS_STRING] = GSQL_STRING,   [GSQL_IS_BYTES] = GSQL_BYTES,
        [GSQL_IS_DATE] = GSQL_DATE,       [GSQL_IS_TIMESTAMP] = GSQL_TIMESTAMP,
    };
    const struct gsql_type *first = c->count ? c->args[0].type : UNKNOWN;
    if ((size_t)c->f->result < ARRAY_LEN(scalars))
        return gsql_scalar(scalars[c->f->result]);
    switch ((int)c->f->result) {
    case GSQL_IS_FIRST: return first;
    case GSQL_IS_SECOND:
        return c->args[1].type->kind ? c->args[1].type
                                     : c->args[c->count - 1].type;
    case GSQL_IS_COMMON: return common_type(c);
    case GSQL_IS_TOTAL:
        return first->kind == GSQL_INT64 ? first : gsql_scalar(GSQL_FLOAT64);
    case GSQL_IS_ELEMENT:
        return first->kind == GSQL_ARRAY ? first->element : UNKNOWN;
    case GSQL_IS_LIST: return gsql_array_of(t->arena, first);
    case GSQL_IS_MAPPED: return gsql_array_of(t->arena, c->args[1].type);
    case GSQL_IS_INTEGERS:
        return gsql_array_of(t->arena, gsql_scalar(GSQL_INT64));
    default: return map_result(t, c, first);
    }
}

/* Bytes that were computed on as text, as bytes again; totals as what they are
 * totals of. */
static struct slice gsql_emit_call_finish(struct gsql_translator *t,
                                          const struct call *c,
                                          const struct gsql_type *type,
                                          struct slice sql)
{
    if (c->of_bytes && type->kind == GSQL_BYTES)
        return gsql_sql(t, "quarry_unlatin1(%.*s)", SLICE_ARG(sql));
    if (c->of_bytes && type->kind == GSQL_ARRAY)
        return gsql_sql(t, "list_transform(%.*s, lambda b: quarry_unlatin1(b))",
                        SLICE_ARG(sql));
    if (c->f->result == GSQL_IS_TOTAL)
        return gsql_sql(t, "CAST(%.*s AS %s)", SLICE_ARG(sql),
                        type->kind == GSQL_INT64 ? "BIGINT" : "DOUBLE");
    if (c->f->result == GSQL_IS_INT64)
        return gsql_sql(t, "CAST(%.*s AS BIGINT)", SLICE_ARG(sql));
    return sql;
}

/* --- a call -------------------------------------------------------------- */

static bool open_call(struct gsql_translator *t, struct call *c)
{
    struct gsql_node *n = c->node;
    c->f = gsql_function_find(n->text);
    for (struct gsql_node *i = n->list; i; i = i->next)
        c->count++;
    if (!c->f)
        fail_call(t, n, "Function not found, or not supported:");
    else if (c->count < c->f->min || c->count > c->f->max)
        fail_call(t, n, "Wrong number of arguments for");
    else if (t->aggregate_depth && (c->f->flags & GSQL_AGGREGATE))
        fail_call(t, n, "An aggregate in an aggregate:");
    else if (!(c->f->flags & GSQL_AGGREGATE) && (n->flag || n->b || n->c))
        fail_call(t, n, "DISTINCT, ORDER BY and LIMIT are for aggregates, not");
    else if (n->c || (n->b && !strstr(c->f->sql, "$o")) ||
             (n->flag && !strstr(c->f->sql, "$d")))
        fail_call(t, n, "DISTINCT, ORDER BY or LIMIT is not supported for");
    if (t->rc)
        return false;
    c->args = arena_zalloc(t->arena, (c->count + 1) * sizeof(*c->args));
    c->nodes = arena_zalloc(t->arena, (c->count + 1) * sizeof(*c->nodes));
    return true;
}

struct gsql_expr gsql_emit_call(struct gsql_translator *t, struct gsql_node *n)
{
    struct call c = {.node = n};
    struct buf b = BUF_INIT;
    struct gsql_expr out = {SLICE_LIT("NULL"), UNKNOWN};
    const char *sql;
    unsigned i = 0;
    if (!open_call(t, &c))
        return out;
    t->aggregate_depth += (c.f->flags & GSQL_AGGREGATE) != 0;
    for (struct gsql_node *a = n->list; a; a = a->next, i++) {
        c.nodes[i] = a;
        c.args[i] = emit_argument(t, &c, i);
    }
    out.type = result_type(t, &c);
    if (c.f->result == GSQL_IS_COMMON || c.f->result == GSQL_IS_SECOND ||
        (c.f->flags & GSQL_ALIKE)) {
        coerce_arguments(t, &c);
        out.type = result_type(t, &c);
    } else {
        coerce_arguments(t, &c);
    }
    sql = c.count && c.args[0].type->kind == GSQL_BYTES && c.f->bytes_sql
              ? c.f->bytes_sql
              : c.f->sql;
    (void)put_template(t, &c, slice_str(sql), &b);
    t->aggregate_depth -= (c.f->flags & GSQL_AGGREGATE) != 0;
    out.sql = gsql_emit_call_finish(t, &c, out.type, gsql_sql_take(t, &b));
    if (n->safe)
        out.sql = gsql_sql(t, "try(%.*s)", SLICE_ARG(out.sql));
    return out;
}

/* --- casts --------------------------------------------------------------- */

static bool can_cast(enum gsql_kind from, enum gsql_kind to)
{
    if (from == GSQL_UNKNOWN || from == to)
        return true;
    if (from == GSQL_BYTES || to == GSQL_BYTES)
        return from == GSQL_STRING || to == GSQL_STRING;
    return from < GSQL_ARRAY && to < GSQL_ARRAY;
}

struct gsql_expr gsql_emit_cast(struct gsql_translator *t, struct gsql_node *n)
{
    struct gsql_expr e = gsql_emit(t, n->a);
    const enum gsql_kind from = e.type->kind, to = n->type->kind;
    struct buf b = BUF_INIT;
    if (!can_cast(from, to)) {
        gsql_type_put(e.type, &b);
        buf_append_str(&b, " to ");
        gsql_type_put(n->type, &b);
        gsql_error(t, n->at, "Invalid cast", buf_slice(&b));
        buf_clear(&b);
    }
    if (from == GSQL_BYTES && to == GSQL_STRING)
        buf_printf(&b, "decode(%.*s)", SLICE_ARG(e.sql));
    else if (from == GSQL_STRING && to == GSQL_BYTES)
        buf_printf(&b, "encode(%.*s)", SLICE_ARG(e.sql));
    else if (from == GSQL_STRING && to == GSQL_INT64)
        buf_printf(&b, "quarry_parse_int64(%.*s)", SLICE_ARG(e.sql));
    else if ((from == GSQL_FLOAT64 || from == GSQL_FLOAT32) && to == GSQL_INT64)
        buf_printf(&b, "round(%.*s)::BIGINT", SLICE_ARG(e.sql));
    else if (from == GSQL_TIMESTAMP && to == GSQL_STRING)
        buf_printf(&b, "(%.*s::VARCHAR || '+00')", SLICE_ARG(e.sql));
    else {
        buf_printf(&b, "CAST(%.*s AS ", SLICE_ARG(e.sql));
        gsql_type_put_duckdb(n->type, &b);
        buf_append_byte(&b, ')');
    }
    e.sql = gsql_sql_take(t, &b);
    if (n->safe)
        e.sql = gsql_sql(t, "try(%.*s)", SLICE_ARG(e.sql));
    e.type = n->type;
    return e;
}

/* --- times --------------------------------------------------------------- */

struct gsql_expr gsql_emit_extract(struct gsql_translator *t,
                                   struct gsql_node *n)
{
    const char *part = gsql_date_part(n->text);
    const bool is_date = gsql_same_name(n->text, SLICE_LIT("DATE"));
    struct gsql_expr e = gsql_emit(t, n->a);
    const char *rest = "";
    if (is_date)
        return (struct gsql_expr){gsql_sql(t, "(%.*s)::DATE", SLICE_ARG(e.sql)),
                                  gsql_scalar(GSQL_DATE)};
    if (!part) {
        gsql_error(t, n->at, "Not a supported part of a date", n->text);
        part = "day";
    }
    if (strcmp(part, "microsecond") == 0)
        rest = " % 1000000"; /* DuckDB's have the seconds in them. */
    else if (strcmp(part, "millisecond") == 0)
        rest = " % 1000";
    else if (strcmp(part, "dayofweek") == 0)
        rest = " + 1"; /* Sunday is 1. */
    return (struct gsql_expr){gsql_sql(t,
                                       "CAST(date_part('%s', %.*s)%s AS "
                                       "BIGINT)",
                                       part, SLICE_ARG(e.sql), rest),
                              gsql_scalar(GSQL_INT64)};
}

struct gsql_expr gsql_emit_interval(struct gsql_translator *t,
                                    struct gsql_node *n)
{
    static const char *const units[][2] = {
        {"MICROSECOND", "to_microseconds(%.*s)"},
        {"MILLISECOND", "to_microseconds(1000 * %.*s)"},
        {"SECOND", "to_microseconds(1000000 * %.*s)"},
        {"MINUTE", "to_minutes(%.*s)"},
        {"HOUR", "to_hours(%.*s)"},
        {"DAY", "to_days(CAST(%.*s AS INTEGER))"},
        {"WEEK", "to_days(CAST(7 * %.*s AS INTEGER))"},
        {"MONTH", "to_months(CAST(%.*s AS INTEGER))"},
        {"QUARTER", "to_months(CAST(3 * %.*s AS INTEGER))"},
        {"YEAR", "to_months(CAST(12 * %.*s AS INTEGER))"},
    };
    struct gsql_expr e = gsql_emit(t, n->a);
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (gsql_same_name(n->text, slice_str(units[i][0]))) {
            const char *at = strstr(units[i][1], "%.*s");
            buf_append(&b, units[i][1], (size_t)(at - units[i][1]));
            buf_append_slice(&b, e.sql);
            buf_append_str(&b, at + 4);
        }
    if (b.len == 0)
        gsql_error(t, n->at, "Not a supported unit of an INTERVAL", n->text);
    return (struct gsql_expr){gsql_sql_take(t, &b), gsql_scalar(GSQL_INTERVAL)};
}
