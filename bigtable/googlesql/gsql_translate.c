/* Queries: what FROM means, the selected columns, and the order of clauses.
 */
#include "bigtable/googlesql/gsql_translate.h"

#include <string.h>

#include "bigtable/googlesql/gsql_bounds.h"
#include "bigtable/googlesql/gsql_keys.h"
#include "bigtable/googlesql/gsql_lexer.h"
#include "bigtable/googlesql/gsql_literal.h"
#include "bigtable/googlesql/gsql_parser.h"
#include "bigtable/googlesql/gsql_scope.h"

/* Selected columns: as many as DuckDB takes. */
#define COLUMNS_MAX ((size_t)10000)

/* A translated query. */
struct body {
    struct slice sql;
    struct gsql_scope_column *columns; /* Names and types; sql: "c0", … */
    size_t count;
};

static struct body emit_query(struct gsql_translator *t, struct gsql_query *q);

/* --- tables -------------------------------------------------------------- */

/* with_history and so on: the parameters of quarry(). */
static bool put_options(struct gsql_translator *t,
                        const struct gsql_source *s,
                        struct buf *b)
{
    static const struct {
        const char *name;
        const char *sql;
        bool of_history;
    } options[] = {
        {"after", ", time_from := (%.*s + to_microseconds(1))", true},
        {"after_or_equal", ", time_from := %.*s", true},
        {"before", ", time_to := %.*s", true},
        {"before_or_equal", ", time_to := (%.*s + to_microseconds(1))", true},
        {"latest_n", ", versions := %.*s", true},
        {"as_of", ", time_to := (%.*s + to_microseconds(1))", false},
    };

    bool history = false, bounded = false, as_of = false;
    for (struct gsql_node *n = s->options; n; n = n->next) {
        size_t i = 0;
        struct gsql_expr e = gsql_emit(t, n->a);
        const char *at;
        if (gsql_same_name(n->text, SLICE_LIT("with_history"))) {
            if (n->a->kind != GSQL_TRUTH)
                gsql_error(t, n->at, "with_history is TRUE or FALSE",
                           SLICE_EMPTY);
            history = n->a->flag;
            continue;
        }
        while (i < ARRAY_LEN(options) &&
               !gsql_same_name(n->text, slice_str(options[i].name)))
            i++;
        if (i == ARRAY_LEN(options)) {
            gsql_error(t, n->at, "Named argument not found", n->text);
            return false;
        }
        if (i == 4 && (n->a->kind == GSQL_INTEGER && e.sql.data[2] == '0'))
            gsql_error(t, n->at, "latest_n must be at least 1", SLICE_EMPTY);
        if (i != 4)
            e = gsql_coerce(t, n->a, e, gsql_scalar(GSQL_TIMESTAMP));
        bounded |= options[i].of_history;
        as_of |= !options[i].of_history;
        at = strstr(options[i].sql, "%.*s");
        buf_append(b, options[i].sql, (size_t)(at - options[i].sql));
        buf_append_slice(b, e.sql);
        buf_append_str(b, at + 4);
    }
    if (bounded && !history)
        gsql_error(t, s->at, "Bounds of times need with_history => TRUE",
                   SLICE_EMPTY);
    if (as_of && history)
        gsql_error(t, s->at, "as_of excludes with_history => TRUE",
                   SLICE_EMPTY);
    if (history)
        buf_append_str(b, ", history := true");
    return history;
}

static void put_key(struct buf *b, const char *name, struct slice key)
{
    buf_append_str(b, name);
    gsql_put_bytes(b, key);
}

static void put_bounds(const struct gsql_bounds *bounds, struct buf *b)
{
    if (bounds->nothing) {
        buf_append_str(b, ", keys := []::BLOB[]");
        return;
    }
    if (bounds->has_keys) {
        buf_append_str(b, ", keys := [");
        for (size_t i = 0; i < bounds->key_count; i++)
            put_key(b, i ? ", " : "", bounds->keys[i]);
        buf_append_byte(b, ']');
        return;
    }
    if (bounds->from.len)
        put_key(b, ", key_from := ", bounds->from);
    if (bounds->to.len)
        put_key(b, ", key_to := ", bounds->to);
}

/* The values of a family of numbers are 8 bytes in the store. */
static void read_numbers(struct gsql_translator *t, struct gsql_scope_column *c)
{
    const unsigned name = t->names++;
    c->sql = gsql_sql(t,
                      "map_from_entries(list_transform(map_entries(%.*s), "
                      "lambda v%u: struct_pack(k := v%u.key, v := "
                      "quarry_int64(v%u.value))))",
                      SLICE_ARG(c->sql), name, name, name);
}

static void add_column(struct gsql_translator *t,
                       struct gsql_scope_source *o,
                       unsigned table,
                       struct slice name,
                       const struct gsql_type *type)
{
    o->columns[o->count] = (struct gsql_scope_column){
        .name = name,
        .type = type,
        .sql = gsql_sql(t, "t%u.f%zu", table, o->count)};
    o->count++;
}

static void add_families(struct gsql_translator *t,
                         struct gsql_scope_source *o,
                         unsigned table,
                         const struct gsql_relation *r,
                         bool history)
{
    const struct gsql_type *bytes = gsql_scalar(GSQL_BYTES);
    o->columns =
        arena_zalloc(t->arena, (r->family_count + 1) * sizeof(*o->columns));
    add_column(t, o, table, SLICE_LIT("_key"), bytes);
    for (size_t i = 0; i < r->family_count; i++) {
        const struct gsql_type *value = bytes;
        if (history)
            value = gsql_history_of(t->arena, bytes);
        else if (r->types && r->types[i])
            value = r->types[i];
        add_column(t, o, table, r->families[i],
                   gsql_map_of(t->arena, bytes, value));
        if (value->kind == GSQL_INT64)
            read_numbers(t, &o->columns[o->count - 1]);
    }
}

/* " AS t0(f0, f1, …)" */
static void
put_names(const struct gsql_scope_source *o, unsigned table, struct buf *b)
{
    buf_printf(b, " AS t%u(", table);
    for (size_t i = 0; i < o->count; i++)
        buf_printf(b, "%sf%zu", i ? ", " : "", i);
    buf_append_byte(b, ')');
}

/* A query's result as a source. */
static void add_body(struct gsql_translator *t,
                     struct gsql_scope_source *o,
                     const struct body *inner,
                     struct buf *b)
{
    const unsigned table = t->names++;
    o->columns =
        arena_zalloc(t->arena, (inner->count + 1) * sizeof(*o->columns));
    for (size_t i = 0; i < inner->count; i++)
        add_column(t, o, table, inner->columns[i].name, inner->columns[i].type);
    buf_printf(b, "(%.*s)", SLICE_ARG(inner->sql));
    put_names(o, table, b);
}

static void emit_view(struct gsql_translator *t,
                      const struct gsql_source *s,
                      struct slice text,
                      struct gsql_scope_source *o,
                      struct buf *b)
{
    const struct slice outer = t->text;
    const struct gsql_scope *scope = t->scope;
    struct gsql_query *q;
    struct body inner;
    if (++t->view_depth > GSQL_VIEWS_MAX)
        gsql_error(t, s->at, "Too many views in views", s->name);
    if (t->rc == 0)
        t->rc = gsql_parse(text, t->arena, &q, t->err);
    if (t->rc == 0) {
        t->text = text;
        t->scope = NULL;
        inner = emit_query(t, q);
        t->scope = scope;
        t->text = outer;
    }
    if (t->rc)
        err_wrap(t->err, "view %.*s", SLICE_ARG(slice_sub(s->name, 0, 60)));
    else
        add_body(t, o, &inner, b);
    t->view_depth--;
}

/* A view that is kept up to date. */
static void emit_kept(struct gsql_translator *t,
                      const struct gsql_source *s,
                      const struct gsql_relation *r,
                      unsigned table,
                      struct gsql_scope_source *o,
                      struct buf *b)
{
    if (s->options)
        gsql_error(t, s->at, "A view takes no arguments", s->name);
    o->columns =
        arena_zalloc(t->arena, (r->kept_count + 1) * sizeof(*o->columns));
    for (size_t i = 0; i < r->kept_count; i++)
        add_column(t, o, table, r->kept[i].name, r->kept[i].type);
    buf_append_str(b, "quarry(");
    gsql_put_string(b, r->table);
    if (r->source.len) {
        buf_append_str(b, ", target := ");
        gsql_put_string(b, r->source);
    }
    buf_append_byte(b, ')');
    put_names(o, table, b);
}

static void emit_table(struct gsql_translator *t,
                       const struct gsql_source *s,
                       const struct gsql_node *where,
                       struct gsql_scope_source *o,
                       struct buf *b)
{
    struct gsql_relation r = {.view = SLICE_EMPTY};
    struct gsql_bounds bounds;
    const unsigned table = t->names;
    const bool keyed = t->wants_key;
    bool history;
    t->wants_key = false;
    if (t->rc == 0)
        t->rc =
            t->options->find(t->options->ctx, s->name, t->arena, &r, t->err);
    if (t->rc == ERR_NOTFOUND) {
        t->rc = 0;
        gsql_error(t, s->at, "Table not found", s->name);
    }
    if (t->rc)
        return;
    if (r.view.len) {
        if (s->options)
            gsql_error(t, s->at, "A view takes no arguments", s->name);
        emit_view(t, s, r.view, o, b);
        return;
    }
    t->names++;
    if (r.kept) {
        emit_kept(t, s, &r, table, o, b);
        return;
    }
    buf_append_str(b, "quarry(");
    gsql_put_string(b, r.table);
    buf_append_str(b, ", binary := true");
    if (r.source.len) {
        buf_append_str(b, ", target := ");
        gsql_put_string(b, r.source);
    }
    history = put_options(t, s, b);
    bounds = gsql_bounds_of(t, where, o->alias);
    t->is_keyed = keyed;
    if (keyed && t->options->resume)
        bounds = gsql_bounds_after(t, bounds, t->options->resume->after);
    if (keyed)
        buf_append_str(b, ", ordered := true");
    put_bounds(&bounds, b);
    buf_append_byte(b, ')');
    add_families(t, o, table, &r, history);
    put_names(o, table, b);
}

/* --- UNPACK -------------------------------------------------------------- */

static size_t count_histories(const struct gsql_scope_source *o)
{
    size_t n = 0;
    for (size_t i = 0; i < o->count; i++)
        n += gsql_is_history(o->columns[i].type);
    return n;
}

/* All timestamps in the columns of @o that have them, each once. */
static void put_timestamps(const struct gsql_scope_source *o, struct buf *b)
{
    bool first = true;
    buf_append_str(b, "unnest(list_distinct(");
    for (size_t i = 0; i < o->count; i++) {
        if (!gsql_is_history(o->columns[i].type))
            continue;
        buf_printf(
            b, "%slist_transform(coalesce(%.*s, []), lambda e: e.timestamp)",
            first ? "" : " || ", SLICE_ARG(o->columns[i].sql));
        first = false;
    }
    buf_append_str(b, "))");
}

static struct gsql_scope_source *emit_source(struct gsql_translator *t,
                                             struct gsql_source *s,
                                             const struct gsql_node *where,
                                             struct buf *b);

/* A row for each timestamp, with the values of that time. */
static void emit_unpack(struct gsql_translator *t,
                        const struct gsql_source *s,
                        struct gsql_scope_source *o,
                        struct buf *b)
{
    struct buf from = BUF_INIT;
    struct gsql_scope_source *in = emit_source(t, s->inner, NULL, &from);
    const unsigned times = t->names++, table = t->names++;
    if (t->rc == 0 && count_histories(in) == 0)
        gsql_error(t, s->at,
                   "UNPACK needs a column with history (with_history => TRUE)",
                   SLICE_EMPTY);
    o->columns = arena_zalloc(t->arena, (in->count + 1) * sizeof(*o->columns));
    buf_append_str(b, "(SELECT ");
    for (size_t i = 0; i < in->count; i++) {
        const struct gsql_scope_column *c = &in->columns[i];
        const bool history = gsql_is_history(c->type);
        if (history)
            buf_printf(b,
                       "list_extract(list_filter(%.*s, lambda e: e.timestamp = "
                       "t%u.v), 1).\"value\", ",
                       SLICE_ARG(c->sql), times);
        else
            buf_printf(b, "%.*s, ", SLICE_ARG(c->sql));
        add_column(t, o, table, c->name,
                   history ? c->type->element->fields[1].type : c->type);
    }
    buf_printf(b, "t%u.v FROM %.*s, ", times, (int)from.len,
               from.data ? from.data : "");
    put_timestamps(in, b);
    buf_printf(b, " AS t%u(v))", times);
    add_column(t, o, table, SLICE_LIT("_timestamp"),
               gsql_scalar(GSQL_TIMESTAMP));
    put_names(o, table, b);
    buf_close(&from);
}

static void emit_unnest(struct gsql_translator *t,
                        const struct gsql_source *s,
                        struct gsql_scope_source *o,
                        struct buf *b)
{
    struct gsql_expr list = gsql_emit(t, s->array);
    const unsigned table = t->names++;
    o->columns = arena_zalloc(t->arena, sizeof(*o->columns));
    o->is_value = true;
    add_column(t, o, table, o->alias,
               list.type->kind == GSQL_ARRAY ? list.type->element
                                             : gsql_scalar(GSQL_UNKNOWN));
    buf_printf(b, "unnest(%.*s)", SLICE_ARG(list.sql));
    put_names(o, table, b);
}

/* One thing in FROM, and its names. */
static struct gsql_scope_source *emit_source(struct gsql_translator *t,
                                             struct gsql_source *s,
                                             const struct gsql_node *where,
                                             struct buf *b)
{
    struct gsql_scope_source *o = arena_zalloc(t->arena, sizeof(*o));
    o->alias = s->alias.len ? s->alias : s->name;
    if (s->kind == GSQL_FROM_TABLE) {
        emit_table(t, s, where, o, b);
    } else if (s->kind == GSQL_FROM_QUERY) {
        struct body inner = emit_query(t, s->query);
        if (t->rc == 0)
            add_body(t, o, &inner, b);
    } else if (s->kind == GSQL_FROM_UNPACK) {
        emit_unpack(t, s, o, b);
    } else if (s->kind == GSQL_FROM_UNNEST) {
        emit_unnest(t, s, o, b);
    }
    return o;
}

/* --- SELECT -------------------------------------------------------------- */

struct selection {
    struct body *body;
    struct buf *out;
};

static void put_selected(struct gsql_translator *t,
                         struct selection *s,
                         struct slice name,
                         struct gsql_expr e)
{
    struct body *body = s->body;
    if (body->count == COLUMNS_MAX) {
        gsql_error(t, 0, "Too many columns", SLICE_EMPTY);
        return;
    }
    if ((body->count & (body->count - 1)) == 0) {
        const size_t room = body->count ? body->count * 2 : 1;
        struct gsql_scope_column *more =
            arena_alloc(t->arena, room * sizeof(*more));
        if (body->count)
            memcpy(more, body->columns, body->count * sizeof(*more));
        body->columns = more;
    }
    buf_printf(s->out, "%s%.*s AS c%zu", body->count ? ", " : "",
               SLICE_ARG(e.sql), body->count);
    body->columns[body->count] = (struct gsql_scope_column){
        .name = name, .type = e.type, .sql = gsql_sql(t, "c%zu", body->count)};
    body->count++;
}

static struct gsql_node *
find_name(struct gsql_node *list, struct slice name, bool by_alias)
{
    for (; list; list = list->next)
        if (gsql_same_name(by_alias ? list->alias : list->text, name))
            return list;
    return NULL;
}

static void select_star(struct gsql_translator *t,
                        const struct gsql_node *star,
                        struct selection *s)
{
    const struct gsql_scope_source *only = NULL;
    size_t seen = 0;
    if (star->a) {
        only = star->a->kind == GSQL_NAME
                   ? gsql_scope_source_find(t, star->a->text)
                   : NULL;
        if (!only)
            gsql_error(t, star->at, ".* is for tables", SLICE_EMPTY);
    }
    for (const struct gsql_scope_source *o = t->scope->sources; o;
         o = o->next) {
        if (only && o != only)
            continue;
        for (size_t i = 0; i < o->count; i++, seen++) {
            const struct gsql_scope_column *c = &o->columns[i];
            struct gsql_node *other = find_name(star->b, c->name, true);
            const struct gsql_expr e = {c->sql, c->type};
            if (find_name(star->list, c->name, false))
                continue;
            put_selected(t, s, c->name, other ? gsql_emit(t, other) : e);
        }
    }
    if (seen == 0)
        gsql_error(t, star->at, "SELECT * must have a FROM clause",
                   SLICE_EMPTY);
}

static void emit_selected(struct gsql_translator *t,
                          struct gsql_query *q,
                          struct body *body,
                          struct buf *out)
{
    struct selection s = {.body = body, .out = out};
    for (struct gsql_node *n = q->select; n; n = n->next) {
        if (n->kind == GSQL_STAR)
            select_star(t, n, &s);
        else
            put_selected(t, &s, gsql_selected_name(n), gsql_emit(t, n));
    }
}

/* --- clauses ------------------------------------------------------------- */

static void
put_group(struct gsql_translator *t, const struct gsql_query *q, struct buf *b)
{
    if (q->group_all)
        buf_append_str(b, " GROUP BY ALL");
    for (struct gsql_node *n = q->group; n; n = n->next) {
        buf_append_str(b, n == q->group ? " GROUP BY " : ", ");
        if (n->kind == GSQL_INTEGER && n->text.len < 6)
            buf_append_slice(b, n->text);
        else
            buf_append_slice(b, gsql_emit(t, n).sql);
    }
}

/* The number of a LIMIT or OFFSET; UINT64_MAX: there is none. */
static uint64_t number_of(struct gsql_translator *t, const struct gsql_node *n)
{
    const struct gsql_param *p;
    struct slice s;
    uint64_t v = 0;
    if (!n)
        return UINT64_MAX;
    s = n->text;
    p = n->kind == GSQL_PARAM ? gsql_param_find(t, n->text) : NULL;
    if (p && p->type->kind == GSQL_INT64) /* ('12'::BIGINT) */
        s = slice_starts_with(p->sql, SLICE_LIT("('"))
                ? slice_sub(p->sql, 2, p->sql.len)
                : SLICE_LIT("0");
    else if (n->kind != GSQL_INTEGER)
        gsql_error(t, n->at,
                   "LIMIT and OFFSET take an INT64 literal or "
                   "parameter",
                   SLICE_EMPTY);
    if (s.len && s.data[0] == '-')
        gsql_error(t, n->at, "LIMIT and OFFSET are not negative", SLICE_EMPTY);
    for (size_t i = 0; i < s.len && s.data[i] >= '0' && s.data[i] <= '9'; i++) {
        if (v > INT64_MAX / 10 - 1)
            break;
        v = v * 10 + (uint64_t)(s.data[i] - '0');
    }
    return v;
}

static void put_limit(struct gsql_translator *t,
                      const struct gsql_query *q,
                      bool keyed,
                      struct buf *b)
{
    uint64_t limit = number_of(t, q->limit);
    uint64_t offset = number_of(t, q->offset);
    if (keyed && t->options->resume) {
        offset = UINT64_MAX;
        if (limit != UINT64_MAX)
            limit -= MIN_OF(limit, t->options->resume->rows);
    }
    if (limit != UINT64_MAX)
        buf_printf(b, " LIMIT %llu", (unsigned long long)limit);
    if (offset != UINT64_MAX)
        buf_printf(b, " OFFSET %llu", (unsigned long long)offset);
}

static void put_condition(struct gsql_translator *t,
                          const char *word,
                          struct gsql_node *n,
                          struct buf *b)
{
    struct gsql_expr e;
    if (!n)
        return;
    e = gsql_emit(t, n);
    if (!gsql_type_fits(e.type, gsql_scalar(GSQL_BOOL))) {
        struct buf text = BUF_INIT;
        buf_printf(&text, "%s takes a BOOL, not ", word);
        gsql_type_put(e.type, &text);
        gsql_error(t, n->at, buf_cstr(&text), SLICE_EMPTY);
        buf_close(&text);
    }
    buf_printf(b, " %s %.*s", word, SLICE_ARG(e.sql));
}

static void emit_from(struct gsql_translator *t,
                      struct gsql_query *q,
                      struct gsql_scope *scope,
                      struct buf *b)
{
    struct gsql_scope_source **last = &scope->sources;
    for (struct gsql_source *s = q->from; s; s = s->next) {
        buf_append_str(b, s == q->from ? " FROM " : ", ");
        *last = emit_source(t, s, q->from->next ? NULL : q->where, b);
        last = &(*last)->next;
        if (t->rc)
            return;
    }
}

static void put_clauses(struct gsql_translator *t,
                        struct gsql_query *q,
                        struct body *body,
                        struct gsql_scope *scope,
                        bool keyed,
                        struct buf *b)
{
    if (gsql_has_aggregate(q->where))
        gsql_error(t, q->where->at, "An aggregate is not allowed in WHERE",
                   SLICE_EMPTY);
    put_condition(t, "WHERE", q->where, b);
    scope->selected = body->columns;
    scope->selected_count = body->count;
    /* Names of GROUP BY are those of selected columns first, as in
     * '*' AS _key … GROUP BY _key. */
    scope->selected_first = true;
    put_group(t, q, b);
    scope->selected_first = false;
    put_condition(t, "HAVING", q->having, b);
    scope->selected_first = true;
    if (!keyed)
        gsql_put_order(t, q->order, true, b);
    put_limit(t, q, keyed, b);
}

/* --- keyed queries ------------------------------------------------------- */

/* Does no selected column hide the key's name? */
static bool selects_no_other_key(const struct gsql_query *q)
{
    const struct slice key = SLICE_LIT("_key");
    for (const struct gsql_node *n = q->select; n; n = n->next)
        if (gsql_same_name(n->alias, key) ||
            (n->kind == GSQL_STAR && find_name(n->b, key, true)) ||
            (n->kind == GSQL_MEMBER && gsql_same_name(n->text, key) &&
             n->a->kind != GSQL_NAME))
            return false;
    return true;
}

/* Is the order that of the keys? */
static bool has_key_order(const struct gsql_query *q)
{
    const struct gsql_node *n = q->order;
    if (!n)
        return true;
    return !n->next && !n->flag && n->text.len == 0 &&
           n->a->kind == GSQL_NAME &&
           gsql_same_name(n->a->text, SLICE_LIT("_key")) &&
           selects_no_other_key(q);
}

/* Has the query one row for each row of one table that it lets through, in the
 * order of the keys? */
static bool is_plain_scan(const struct gsql_query *q)
{
    if (!q->from || q->from->next || q->from->kind != GSQL_FROM_TABLE ||
        q->distinct || q->group || q->group_all || q->having)
        return false;
    for (const struct gsql_node *n = q->select; n; n = n->next)
        if (n->kind != GSQL_STAR && gsql_has_aggregate(n))
            return false;
    return has_key_order(q);
}

/* --- a query ------------------------------------------------------------- */

static struct body emit_query(struct gsql_translator *t, struct gsql_query *q)
{
    struct body body = {.count = 0};
    bool keyed;
    struct gsql_scope scope = {.sources = NULL};
    struct buf from = BUF_INIT, selected = BUF_INIT, out = BUF_INIT;
    const struct gsql_scope *outer = t->scope;
    t->scope = &scope;
    t->wants_key &= is_plain_scan(q);
    emit_from(t, q, &scope, &from);
    keyed = t->is_keyed && !outer && t->rc == 0;
    if (t->rc == 0)
        emit_selected(t, q, &body, &selected);
    if (keyed)
        buf_printf(&selected, ", %.*s AS k",
                   SLICE_ARG(scope.sources->columns[0].sql));
    buf_append_str(&out, q->distinct ? "SELECT DISTINCT " : "SELECT ");
    buf_append_slice(&out, buf_slice(&selected));
    buf_append_slice(&out, buf_slice(&from));
    if (t->rc == 0)
        put_clauses(t, q, &body, &scope, keyed, &out);
    t->scope = outer;
    buf_close(&from);
    buf_close(&selected);
    body.sql = gsql_sql_take(t, &out);
    return body;
}

int gsql_translate(struct slice query,
                   const struct gsql_options *options,
                   struct arena *arena,
                   struct gsql_result *out,
                   struct err *err)
{
    struct err own = ERR_INIT;
    struct gsql_translator t = {.options = options,
                                .arena = arena,
                                .text = query,
                                .wants_key = options->keyed,
                                .err = err ? err : &own};
    struct gsql_query *q;
    struct gsql_column *columns;
    struct body body;
    *out = (struct gsql_result){.column_count = 0};
    t.rc = gsql_parse(query, arena, &q, t.err);
    if (t.rc)
        return t.rc;
    body = emit_query(&t, q);
    if (t.rc)
        return t.rc;
    columns = arena_zalloc(arena, (body.count + 1) * sizeof(*columns));
    for (size_t i = 0; i < body.count; i++)
        columns[i] = (struct gsql_column){body.columns[i].name,
                                          body.columns[i].type, false};
    gsql_mark_keys(q, columns, body.count);
    *out = (struct gsql_result){.sql = body.sql,
                                .columns = columns,
                                .column_count = body.count,
                                .is_keyed = t.is_keyed};
    return 0;
}

void gsql_put_cast(const struct gsql_result *result, struct buf *out)
{
    for (size_t i = 0; i < result->column_count; i++) {
        buf_printf(out, "%s CAST(c%zu AS ", i ? "," : "SELECT", i);
        gsql_type_put_duckdb(result->columns[i].type, out);
        buf_append_byte(out, ')');
    }
    buf_printf(out, "%s FROM (%.*s)", result->is_keyed ? ", k" : "",
               SLICE_ARG(result->sql));
}
