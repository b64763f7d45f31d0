/* A walk over the tree of a statement, and a list of changes of its text.
 *
 * The tree is JSON of DuckDB's parser; nodes of kinds that are not known here
 * are walked through and otherwise left alone, so that a statement is at worst
 * not narrowed.
 */
#include "bigtable/sql/sql_push.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/sql/sql_lexer.h"

/* Changes of one statement, and views in views. */
#define PUSH_SPLICES_MAX ((size_t)256)
#define PUSH_DEPTH_MAX   64
#define PUSH_KEYS_MAX    ((size_t)10000)

struct push_splice {
    size_t at; /* Replaces [at, end) of the text. */
    size_t end;
    struct slice text;
};

struct push {
    const struct sql_names *names;
    struct arena arena;
    struct slice sql;
    json_t *root; /* Of which the names of CTEs hide tables. */
    struct push_splice splices[PUSH_SPLICES_MAX];
    size_t splice_count;
    int view_depth;
};

/* Bounds of one table's key; data NULL: none. */
struct push_bounds {
    struct slice from;
    struct slice to;
    struct slice last;
    struct slice prefix;
    struct slice *keys;
    size_t key_count;
    bool skip_missing;
    uint64_t row_limit;
};

/* One thing in FROM. */
struct push_item {
    json_t *node;
    const char *alias; /* By which its columns are named. */
    const char *table; /* Of Quarry, or NULL. */
    const char *view;  /* The SELECT of a kept view, or NULL. */
    bool call;         /* quarry(…) or quarry_cells(…) in the text. */
    bool by_cells;
};

/* --- the tree ------------------------------------------------------------ */

static const char *text_of(json_t *node, const char *name)
{
    const char *s = json_string_value(json_object_get(node, name));
    return s ? s : "";
}

static bool has_type(json_t *node, const char *type)
{
    return strcmp(text_of(node, "type"), type) == 0;
}

static bool is_class(json_t *node, const char *class)
{
    return strcmp(text_of(node, "class"), class) == 0;
}

static bool is_empty(json_t *node, const char *name)
{
    json_t *v = json_object_get(node, name);
    return !v || json_is_null(v) || (json_is_array(v) && !json_array_size(v)) ||
           (json_is_string(v) && !*json_string_value(v));
}

/* The text of a constant VARCHAR. */
static bool constant_text(struct push *p, json_t *node, struct slice *out)
{
    json_t *value = json_object_get(node, "value");
    json_t *text = json_object_get(value, "value");
    if (!is_class(node, "CONSTANT") || !json_is_string(text) ||
        strcmp(text_of(json_object_get(value, "type"), "id"), "VARCHAR") != 0)
        return false;
    *out = arena_dup(&p->arena, slice_make(json_string_value(text),
                                           json_string_length(text)));
    return true;
}

/* Is @node the column @name of @item? @alone: no other table is in FROM. */
static bool is_column(json_t *node,
                      const struct push_item *item,
                      bool alone,
                      const char *name)
{
    json_t *names = json_object_get(node, "column_names");
    const size_t n = json_array_size(names);
    const char *last, *table;
    if (!is_class(node, "COLUMN_REF") || n < 1 || n > 2)
        return false;
    last = json_string_value(json_array_get(names, n - 1));
    if (!last || strcasecmp(last, name) != 0)
        return false;
    table = json_string_value(json_array_get(names, 0));
    return n == 1 ? alone : table && strcasecmp(table, item->alias) == 0;
}

/* --- bounds -------------------------------------------------------------- */

static void bound_from(struct push_bounds *b, struct slice key)
{
    if (!b->from.data || slice_cmp(key, b->from) > 0)
        b->from = key;
}

static void bound_to(struct push_bounds *b, struct slice key)
{
    if (!b->to.data || slice_cmp(key, b->to) < 0)
        b->to = key;
}

static void bound_last(struct push_bounds *b, struct slice key)
{
    if (!b->last.data || slice_cmp(key, b->last) < 0)
        b->last = key;
}

static void bound_prefix(struct push_bounds *b, struct slice key)
{
    if (key.len > b->prefix.len)
        b->prefix = key;
}

static void bound_keys(struct push_bounds *b, struct slice *keys, size_t count)
{
    if (!b->keys || count < b->key_count) {
        b->keys = keys;
        b->key_count = count;
    }
}

static void bound_one(struct push *p, struct push_bounds *b, struct slice key)
{
    struct slice *keys = arena_alloc(&p->arena, sizeof(*keys));
    *keys = key;
    bound_keys(b, keys, 1);
}

/* @type of a comparison with the column on its left side. */
static void bound_comparison(struct push *p,
                             struct push_bounds *b,
                             const char *type,
                             struct slice key)
{
    if (strcmp(type, "COMPARE_EQUAL") == 0)
        bound_one(p, b, key);
    else if (strcmp(type, "COMPARE_GREATERTHAN") == 0 ||
             strcmp(type, "COMPARE_GREATERTHANOREQUALTO") == 0)
        bound_from(b, key);
    else if (strcmp(type, "COMPARE_LESSTHAN") == 0)
        bound_to(b, key);
    else if (strcmp(type, "COMPARE_LESSTHANOREQUALTO") == 0)
        bound_last(b, key);
}

static const char *turned_round(const char *type)
{
    static const char *const pairs[][2] = {
        {"COMPARE_GREATERTHAN", "COMPARE_LESSTHAN"},
        {"COMPARE_GREATERTHANOREQUALTO", "COMPARE_LESSTHANOREQUALTO"},
    };
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
        for (size_t k = 0; k < 2; k++)
            if (strcmp(type, pairs[i][k]) == 0)
                return pairs[i][1 - k];
    return type;
}

/* The fixed beginning of a LIKE pattern; what a backslash means is left open.
 */
static struct slice fixed_beginning(struct slice pattern)
{
    size_t n = 0;
    while (n < pattern.len && !strchr("%_\\", pattern.data[n]))
        n++;
    return slice_sub(pattern, 0, n);
}

static void bound_function(struct push *p,
                           struct push_bounds *b,
                           json_t *node,
                           const struct push_item *item,
                           bool alone)
{
    static const char *const prefixes[] = {"starts_with", "prefix", "^@"};
    const char *name = text_of(node, "function_name");
    json_t *children = json_object_get(node, "children");
    struct slice text;
    if (json_array_size(children) != 2 ||
        !is_column(json_array_get(children, 0), item, alone, "key") ||
        !constant_text(p, json_array_get(children, 1), &text))
        return;
    if (strcmp(name, "~~") == 0)
        bound_prefix(b, fixed_beginning(text));
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
        if (strcmp(name, prefixes[i]) == 0)
            bound_prefix(b, text);
}

static void bound_list(struct push *p,
                       struct push_bounds *b,
                       json_t *node,
                       const struct push_item *item,
                       bool alone)
{
    json_t *children = json_object_get(node, "children");
    const size_t n = json_array_size(children);
    struct slice *keys;
    if (n < 2 || n > PUSH_KEYS_MAX ||
        !is_column(json_array_get(children, 0), item, alone, "key"))
        return;
    keys = arena_alloc(&p->arena, n * sizeof(*keys));
    for (size_t i = 1; i < n; i++)
        if (!constant_text(p, json_array_get(children, i), &keys[i - 1]))
            return;
    bound_keys(b, keys, n - 1);
}

static void bound_between(struct push *p,
                          struct push_bounds *b,
                          json_t *node,
                          const struct push_item *item,
                          bool alone)
{
    struct slice text;
    if (!is_column(json_object_get(node, "input"), item, alone, "key"))
        return;
    if (constant_text(p, json_object_get(node, "lower"), &text))
        bound_from(b, text);
    if (constant_text(p, json_object_get(node, "upper"), &text))
        bound_last(b, text);
}

/* --- rows that cannot meet a condition ----------------------------------- */

/* Is @node NULL for a row without cells in a family that it reads? So is
 * family['qualifier'], and what keeps NULL, of it. */
static bool is_of_family(struct push *p,
                         json_t *node,
                         const struct push_item *item,
                         bool alone)
{
    json_t *children = json_object_get(node, "children");
    json_t *map = json_array_get(children, 0);
    json_t *names = json_object_get(map, "column_names");
    const char *family =
        json_string_value(json_array_get(names, json_array_size(names) - 1));
    if (is_class(node, "CAST"))
        return is_of_family(p, json_object_get(node, "child"), item, alone);
    if (is_class(node, "FUNCTION") &&
        strcmp(text_of(node, "function_name"), "decode") == 0)
        return json_array_size(children) == 1 &&
               is_of_family(p, map, item, alone);
    return has_type(node, "ARRAY_EXTRACT") && family &&
           is_column(map, item, alone, family) &&
           p->names->has_family(p->names->ctx, item->table, family);
}

static bool rejects_missing(struct push *p,
                            json_t *node,
                            const struct push_item *item,
                            bool alone)
{
    json_t *first = json_array_get(json_object_get(node, "children"), 0);
    if (!item->table || item->call || item->by_cells)
        return false;
    if (is_class(node, "COMPARISON"))
        return !strstr(text_of(node, "type"), "DISTINCT") &&
               (is_of_family(p, json_object_get(node, "left"), item, alone) ||
                is_of_family(p, json_object_get(node, "right"), item, alone));
    if (has_type(node, "OPERATOR_IS_NOT_NULL") ||
        has_type(node, "COMPARE_IN") ||
        strcmp(text_of(node, "function_name"), "~~") == 0)
        return is_of_family(p, first, item, alone);
    return false;
}

/* Add the bounds that the condition @node sets to the rows of @item. */
static void bound_by(struct push *p,
                     struct push_bounds *b,
                     json_t *node,
                     const struct push_item *item,
                     bool alone)
{
    const char *type = text_of(node, "type");
    json_t *left = json_object_get(node, "left");
    json_t *right = json_object_get(node, "right");
    json_t *child;
    struct slice text;
    size_t i;
    if (strcmp(type, "CONJUNCTION_AND") == 0) {
        json_array_foreach(json_object_get(node, "children"), i, child)
            bound_by(p, b, child, item, alone);
        return;
    }
    b->skip_missing |= rejects_missing(p, node, item, alone);
    if (is_class(node, "COMPARISON")) {
        if (is_column(left, item, alone, "key") &&
            constant_text(p, right, &text))
            bound_comparison(p, b, type, text);
        else if (is_column(right, item, alone, "key") &&
                 constant_text(p, left, &text))
            bound_comparison(p, b, turned_round(type), text);
    } else if (is_class(node, "FUNCTION")) {
        bound_function(p, b, node, item, alone);
    } else if (strcmp(type, "COMPARE_IN") == 0) {
        bound_list(p, b, node, item, alone);
    } else if (is_class(node, "BETWEEN")) {
        bound_between(p, b, node, item, alone);
    }
}

static bool has_bounds(const struct push_bounds *b)
{
    return b->from.data || b->to.data || b->last.data || b->prefix.len ||
           b->keys || b->skip_missing || b->row_limit;
}

static void put_bound(struct buf *out, const char *name, struct slice key)
{
    if (!key.data)
        return;
    buf_printf(out, ", %s := ", name);
    sql_put_string(out, key);
}

/* As parameters of quarry(), each with a comma before it. */
static void put_bounds(struct buf *out, const struct push_bounds *b)
{
    put_bound(out, "key_from", b->from);
    put_bound(out, "key_to", b->to);
    put_bound(out, "key_last", b->last);
    if (b->prefix.len)
        put_bound(out, "key_prefix", b->prefix);
    if (b->keys)
        buf_append_str(out, ", keys := [");
    for (size_t i = 0; i < b->key_count; i++) {
        buf_append_str(out, i ? ", " : "");
        sql_put_string(out, b->keys[i]);
        /* A list has elements of one type. */
        if (!slice_ends_with(buf_slice(out), SLICE_LIT("BLOB")))
            buf_append_str(out, "::BLOB");
    }
    if (b->keys)
        buf_append_str(out, "]");
    if (b->skip_missing)
        buf_append_str(out, ", missing := 'skip'");
    if (b->row_limit)
        buf_printf(out, ", row_limit := %llu",
                   (unsigned long long)b->row_limit);
}

/* --- changes of the text ------------------------------------------------- */

static void add_splice(struct push *p, size_t at, size_t end, struct slice text)
{
    if (p->splice_count == PUSH_SPLICES_MAX)
        return;
    p->splices[p->splice_count++] =
        (struct push_splice){at, end, arena_dup(&p->arena, text)};
}

static size_t location_of(json_t *node)
{
    json_t *at = json_object_get(node, "query_location");
    const double place = json_is_real(at) ? json_real_value(at) : -1;
    return place >= 0 && place < (double)UINT32_MAX ? (size_t)place : SIZE_MAX;
}

/* The name @name at @at of the text: where it ends, or 0 if it is not there. */
static size_t name_end(const struct push *p, size_t at, const char *name)
{
    struct sql_lexer l = {.text = p->sql, .at = at};
    struct sql_token t;
    struct buf found = BUF_INIT;
    bool same;
    if (at >= p->sql.len)
        return 0;
    t = sql_lexer_next(&l);
    sql_token_name(&t, &found);
    same = t.at == at && strcasecmp(buf_cstr(&found), name) == 0;
    buf_close(&found);
    return same ? l.at : 0;
}

/* Where the call at @at has its last parenthesis, or 0. */
static size_t call_end(const struct push *p, size_t at)
{
    struct sql_lexer l = {.text = p->sql, .at = at};
    struct sql_token t = sql_lexer_next(&l);
    size_t depth = 0;
    if (t.kind != SQL_TOKEN_WORD)
        return 0;
    while ((t = sql_lexer_next(&l)).kind != SQL_TOKEN_END) {
        if (sql_token_is_byte(&t, '('))
            depth++;
        else if (sql_token_is_byte(&t, ')') && --depth == 0)
            return t.at;
        else if (depth == 0)
            return 0;
    }
    return 0;
}

static bool push_text(struct push *outer,
                      const struct push_bounds *b,
                      struct slice sql,
                      struct buf *out);

static void splice_item(struct push *p,
                        const struct push_item *item,
                        const struct push_bounds *b)
{
    const size_t at = location_of(item->node);
    const char *name = text_of(item->node, "table_name");
    const size_t end = item->call ? call_end(p, at) : name_end(p, at, name);
    struct buf text = BUF_INIT;
    if (end == 0)
        return;
    if (item->call) {
        put_bounds(&text, b);
        add_splice(p, end, end, buf_slice(&text));
    } else if (item->view) {
        buf_append_byte(&text, '(');
        if (push_text(p, b, slice_str(item->view), &text)) {
            buf_append_str(&text, ") ");
            if (is_empty(item->node, "alias"))
                sql_put_name(&text, name);
            add_splice(p, at, end, buf_slice(&text));
        }
    } else {
        buf_append_str(&text, "quarry(");
        sql_put_string(&text, slice_str(item->table));
        put_bounds(&text, b);
        buf_append_str(&text, ") ");
        if (is_empty(item->node, "alias"))
            sql_put_name(&text, name);
        add_splice(p, at, end, buf_slice(&text));
    }
    buf_close(&text);
}

/* --- tables -------------------------------------------------------------- */

/* Does a WITH anywhere in the statement define @name? */
static bool is_cte(json_t *node, const char *name, int depth)
{
    const char *key;
    json_t *child;
    size_t i;
    if (depth > 8 * PUSH_DEPTH_MAX)
        return true;
    if (json_is_array(node)) {
        json_array_foreach(node, i, child)
            if (is_cte(child, name, depth + 1))
                return true;
    } else if (json_is_object(node)) {
        json_array_foreach(
            json_object_get(json_object_get(node, "cte_map"), "map"), i, child)
            if (strcasecmp(text_of(child, "key"), name) == 0)
                return true;
        /* A recursive one has its name here. */
        if (strcasecmp(text_of(node, "cte_name"), name) == 0)
            return true;
        json_object_foreach(node, key, child)
            if (is_cte(child, name, depth + 1))
                return true;
    }
    return false;
}

static void name_table(struct push *p, json_t *node, struct push_item *out)
{
    const char *name = text_of(node, "table_name");
    out->alias = is_empty(node, "alias") ? name : text_of(node, "alias");
    if (!is_empty(node, "schema_name") || !is_empty(node, "catalog_name") ||
        !is_empty(node, "sample") || !is_empty(node, "column_name_alias") ||
        !is_empty(node, "at_clause") || is_cte(p->root, name, 0))
        return;
    out->view = p->names->view(p->names->ctx, name);
    if (!out->view && p->names->is_table(p->names->ctx, name))
        out->table = name;
}

static void name_call(struct push *p, json_t *node, struct push_item *out)
{
    json_t *function = json_object_get(node, "function");
    const char *name = text_of(function, "function_name");
    json_t *first = json_array_get(json_object_get(function, "children"), 0);
    struct slice table;
    out->alias = is_empty(node, "alias") ? name : text_of(node, "alias");
    out->by_cells = strcmp(name, "quarry_cells") == 0;
    out->call = true;
    if ((strcmp(name, "quarry") == 0 || out->by_cells) &&
        is_empty(node, "sample") && is_empty(node, "column_name_alias") &&
        is_empty(function, "schema") && constant_text(p, first, &table))
        out->table = table.data;
}

#define PUSH_ITEMS_MAX ((size_t)64)

struct push_items {
    struct push_item list[PUSH_ITEMS_MAX];
    size_t count;
};

/* The tables of a FROM. False: there are too many, or a join in which rows that
 * fail a condition matter. */
static bool
collect_items(struct push *p, json_t *from, struct push_items *out, int depth)
{
    struct push_item *item;
    if (depth > PUSH_DEPTH_MAX || out->count == PUSH_ITEMS_MAX)
        return false;
    if (has_type(from, "JOIN")) {
        const char *kind = text_of(from, "ref_type");
        if (strcmp(kind, "ASOF") == 0 || strcmp(kind, "POSITIONAL") == 0)
            return false;
        return collect_items(p, json_object_get(from, "left"), out,
                             depth + 1) &&
               collect_items(p, json_object_get(from, "right"), out, depth + 1);
    }
    item = &out->list[out->count++];
    *item = (struct push_item){.node = from, .alias = text_of(from, "alias")};
    if (has_type(from, "BASE_TABLE"))
        name_table(p, from, item);
    else if (has_type(from, "TABLE_FUNCTION"))
        name_call(p, from, item);
    return true;
}

/* --- one SELECT ---------------------------------------------------------- */

/* Nothing between the rows of FROM and those of the result. */
static bool is_plain_select(json_t *node)
{
    return is_empty(node, "group_expressions") && is_empty(node, "having") &&
           is_empty(node, "sample") && is_empty(node, "qualify") &&
           is_empty(json_object_get(node, "cte_map"), "map") &&
           strcmp(text_of(node, "aggregate_handling"), "STANDARD_HANDLING") ==
               0;
}

/* Columns as they are, fields and casts of them: neither aggregates nor
 * windows.
 */
static bool is_plain_expression(json_t *node)
{
    json_t *children = json_object_get(node, "children");
    if (is_class(node, "CAST"))
        return is_plain_expression(json_object_get(node, "child"));
    if (has_type(node, "ARRAY_EXTRACT") ||
        strcmp(text_of(node, "function_name"), "decode") == 0)
        return is_plain_expression(json_array_get(children, 0));
    if (is_class(node, "STAR"))
        return is_empty(node, "expr") && is_empty(node, "replace_list");
    return is_class(node, "COLUMN_REF") || is_class(node, "CONSTANT");
}

static bool whole_number(json_t *node, uint64_t *out)
{
    json_t *value = json_object_get(json_object_get(node, "value"), "value");
    const double n = json_is_real(value) ? json_real_value(value) : -1;
    if (!is_class(node, "CONSTANT") || n < 0 || n > (double)UINT32_MAX)
        return false;
    *out = (uint64_t)n;
    return (double)*out >= n;
}

/* The rows that LIMIT and OFFSET want, of a SELECT that hands rows on as they
 * come; 0: all, or unknown. */
static uint64_t limit_of(json_t *node)
{
    json_t *modifiers = json_object_get(node, "modifiers");
    json_t *limit = json_array_get(modifiers, 0);
    json_t *child;
    uint64_t rows, skipped = 0;
    size_t i;
    if (json_array_size(modifiers) != 1 || !has_type(limit, "LIMIT_MODIFIER") ||
        !is_empty(node, "where_clause") || !is_plain_select(node) ||
        !whole_number(json_object_get(limit, "limit"), &rows) ||
        (!is_empty(limit, "offset") &&
         !whole_number(json_object_get(limit, "offset"), &skipped)))
        return 0;
    json_array_foreach(json_object_get(node, "select_list"), i, child)
        if (!is_plain_expression(child))
            return 0;
    return rows + skipped;
}

static void push_select(struct push *p, json_t *node)
{
    struct push_items *items = arena_alloc(&p->arena, sizeof(*items));
    const uint64_t limit = limit_of(node);
    bool alone;
    items->count = 0;
    if (!collect_items(p, json_object_get(node, "from_table"), items, 0))
        return;
    alone = items->count == 1;
    for (size_t i = 0; i < items->count; i++) {
        const struct push_item *item = &items->list[i];
        struct push_bounds b = {.keys = NULL};
        if (!item->table && !item->view)
            continue;
        bound_by(p, &b, json_object_get(node, "where_clause"), item, alone);
        if (alone && item->table && !item->call)
            b.row_limit = limit;
        if (has_bounds(&b))
            splice_item(p, item, &b);
    }
}

static void push_walk(struct push *p, json_t *node, int depth)
{
    const char *key;
    json_t *child;
    size_t i;
    if (depth > 8 * PUSH_DEPTH_MAX)
        return;
    if (json_is_array(node)) {
        json_array_foreach(node, i, child)
            push_walk(p, child, depth + 1);
    } else if (json_is_object(node)) {
        if (has_type(node, "SELECT_NODE"))
            push_select(p, node);
        json_object_foreach(node, key, child)
            push_walk(p, child, depth + 1);
    }
}

/* --- views --------------------------------------------------------------- */

/* Does the SELECT hand on the key, as `key`? */
static bool passes_key(json_t *node, const struct push_item *item)
{
    bool passes = false;
    json_t *child;
    size_t i;
    json_array_foreach(json_object_get(node, "select_list"), i, child) {
        if (!is_plain_expression(child))
            return false;
        if (is_class(child, "STAR"))
            passes |= is_empty(child, "exclude_list") &&
                      is_empty(child, "qualified_exclude_list") &&
                      is_empty(child, "rename_list");
        else if (is_class(child, "COLUMN_REF"))
            passes |=
                is_empty(child, "alias") && is_column(child, item, true, "key");
        if (strcasecmp(text_of(child, "alias"), "key") == 0)
            return false;
    }
    return passes;
}

static void push_into_view(struct push *p, const struct push_bounds *b)
{
    json_t *statement =
        json_array_get(json_object_get(p->root, "statements"), 0);
    json_t *node = json_object_get(statement, "node");
    struct push_items *items = arena_alloc(&p->arena, sizeof(*items));
    struct push_bounds inner = *b;
    items->count = 0;
    if (!has_type(node, "SELECT_NODE") || !is_plain_select(node) ||
        !is_empty(node, "modifiers") ||
        !collect_items(p, json_object_get(node, "from_table"), items, 0) ||
        items->count != 1 || (!items->list[0].table && !items->list[0].view) ||
        !passes_key(node, &items->list[0]))
        return;
    bound_by(p, &inner, json_object_get(node, "where_clause"), &items->list[0],
             true);
    splice_item(p, &items->list[0], &inner);
}

/* --- all ----------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const struct push_splice *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void put_spliced(struct push *p, struct buf *out)
{
    size_t at = 0;
    qsort(p->splices, p->splice_count, sizeof(p->splices[0]), by_place);
    for (size_t i = 0; i < p->splice_count; i++) {
        const struct push_splice *s = &p->splices[i];
        if (s->at < at || s->end > p->sql.len)
            continue;
        buf_append_slice(out, slice_sub(p->sql, at, s->at));
        buf_append_slice(out, s->text);
        at = s->end;
    }
    buf_append_slice(out, slice_sub(p->sql, at, p->sql.len));
}

/* With @b, @sql is a view into which they are pushed. */
static bool
push_select_text(struct push *p, const struct push_bounds *b, struct buf *out)
{
    struct buf json = BUF_INIT;
    if (p->names->parse(p->names->ctx, p->sql, &json))
        /* Places that are unknown are 2^64 - 1: no integer of jansson. */
        p->root = json_loadb(json.data, json.len,
                             JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
    buf_close(&json);
    if (b && p->root)
        push_into_view(p, b);
    else if (p->root)
        push_walk(p, p->root, 0);
    json_decref(p->root);
    if (p->splice_count > 0)
        put_spliced(p, out);
    return p->splice_count > 0;
}

static bool push_text(struct push *outer,
                      const struct push_bounds *b,
                      struct slice sql,
                      struct buf *out)
{
    struct push *p;
    bool pushed;
    if (outer->view_depth > PUSH_DEPTH_MAX / 8)
        return false;
    p = mem_zalloc(1, sizeof(*p));
    p->names = outer->names;
    p->sql = sql;
    p->view_depth = outer->view_depth + 1;
    arena_init(&p->arena);
    pushed = push_select_text(p, b, out);
    arena_close(&p->arena);
    mem_free(p);
    return pushed;
}

/* Statements have a SELECT in them, which is what can be parsed: it begins with
 * the first such word that no parenthesis but COPY's own is around, and goes to
 * the end, or to that parenthesis. */
static struct slice find_select(struct slice sql)
{
    struct sql_lexer l = {.text = sql};
    struct sql_token t = sql_lexer_next(&l);
    const size_t top = sql_token_is(&t, "copy") ? 1 : 0;
    size_t depth = 0, begin = SIZE_MAX;
    for (; t.kind != SQL_TOKEN_END; t = sql_lexer_next(&l)) {
        if (sql_token_is_byte(&t, '('))
            depth++;
        else if (sql_token_is_byte(&t, ')') && depth-- == top && top &&
                 begin != SIZE_MAX)
            return slice_sub(sql, begin, t.at);
        else if (begin == SIZE_MAX && depth == top &&
                 (sql_token_is(&t, "select") || sql_token_is(&t, "with") ||
                  sql_token_is(&t, "from")))
            begin = t.at;
    }
    return begin == SIZE_MAX ? SLICE_EMPTY : slice_sub(sql, begin, sql.len);
}

bool sql_push(const struct sql_names *names, struct slice sql, struct buf *out)
{
    const struct push outer = {.names = names};
    const struct slice select = find_select(sql);
    const size_t before = out->len;
    struct push *top = mem_zalloc(1, sizeof(*top));
    bool pushed = false;
    *top = outer;
    if (select.len) {
        buf_append_slice(
            out, slice_make(sql.data, (size_t)(select.data - sql.data)));
        pushed = push_text(top, NULL, select, out);
    }
    if (pushed)
        buf_append_slice(
            out, slice_sub(sql, (size_t)(select.data - sql.data) + select.len,
                           sql.len));
    else
        buf_truncate(out, before);
    mem_free(top);
    return pushed;
}
