/* A walk over the tree of a statement, and a list of changes of its text.
 *
 * The tree is JSON of DuckDB's parser; nodes of kinds that are not known here
 * are walked through and otherwise left alone, so that a statement is at worst
 * not narrowed.
 */
#include "bigtable/sql/sql_push.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/sql/sql_bounds.h"
#include "bigtable/sql/sql_lexer.h"
#include "bigtable/sql/sql_tree.h"

/* Changes of one statement, and views in views. */
#define PUSH_SPLICES_MAX ((size_t)256)
#define PUSH_DEPTH_MAX   64

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
                      const struct sql_bounds *b,
                      struct slice sql,
                      struct buf *out);

static void splice_item(struct push *p,
                        const struct sql_item *item,
                        const struct sql_bounds *b)
{
    const size_t at = location_of(item->node);
    const char *name = tree_text(item->node, "table_name");
    const size_t end =
        item->parameters ? call_end(p, at) : name_end(p, at, name);
    struct buf text = BUF_INIT;
    if (end == 0)
        return;
    if (item->parameters) {
        sql_bounds_put(&text, b);
        add_splice(p, end, end, buf_slice(&text));
    } else if (item->view) {
        buf_append_byte(&text, '(');
        if (push_text(p, b, slice_str(item->view), &text)) {
            buf_append_str(&text, ") ");
            if (tree_is_empty(item->node, "alias"))
                sql_put_name(&text, name);
            add_splice(p, at, end, buf_slice(&text));
        }
    } else {
        buf_append_str(&text, "quarry(");
        sql_put_string(&text, slice_str(item->table));
        sql_bounds_put(&text, b);
        buf_append_str(&text, ") ");
        if (tree_is_empty(item->node, "alias"))
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
            if (strcasecmp(tree_text(child, "key"), name) == 0)
                return true;
        /* A recursive one has its name here. */
        if (strcasecmp(tree_text(node, "cte_name"), name) == 0)
            return true;
        json_object_foreach(node, key, child)
            if (is_cte(child, name, depth + 1))
                return true;
    }
    return false;
}

static void name_table(struct push *p, json_t *node, struct sql_item *out)
{
    const char *name = tree_text(node, "table_name");
    out->alias = tree_is_empty(node, "alias") ? name : tree_text(node, "alias");
    if (!tree_is_empty(node, "schema_name") ||
        !tree_is_empty(node, "catalog_name") ||
        !tree_is_empty(node, "sample") ||
        !tree_is_empty(node, "column_name_alias") ||
        !tree_is_empty(node, "at_clause") || is_cte(p->root, name, 0))
        return;
    out->view = p->names->view(p->names->ctx, name);
    if (!out->view && p->names->is_table(p->names->ctx, name))
        out->table = name;
}

/* Is the flag @name of the call set? One that is no constant counts as set. */
static bool is_flagged(const struct sql_item *item, const char *name)
{
    json_t *value = json_object_get(tree_parameter(item, name), "value");
    json_t *flag = json_object_get(value, "value");
    return tree_parameter(item, name) && !json_is_false(flag);
}

static void name_call(struct push *p, json_t *node, struct sql_item *out)
{
    json_t *function = json_object_get(node, "function");
    const char *name = tree_text(function, "function_name");
    json_t *children = json_object_get(function, "children");
    struct slice table;
    out->alias = tree_is_empty(node, "alias") ? name : tree_text(node, "alias");
    out->by_cells = strcmp(name, "quarry_cells") == 0;
    out->parameters = children;
    if ((strcmp(name, "quarry") == 0 || out->by_cells) &&
        tree_is_empty(node, "sample") &&
        tree_is_empty(node, "column_name_alias") &&
        tree_is_empty(function, "schema") &&
        tree_constant(&p->arena, json_array_get(children, 0), &table)) {
        out->table = table.data;
        out->binary = is_flagged(out, "binary");
    }
}

#define PUSH_ITEMS_MAX ((size_t)64)

struct push_items {
    struct sql_item list[PUSH_ITEMS_MAX];
    size_t count;
};

/* The tables of a FROM. False: there are too many, or a join in which rows that
 * fail a condition matter. */
static bool
collect_items(struct push *p, json_t *from, struct push_items *out, int depth)
{
    struct sql_item *item;
    if (depth > PUSH_DEPTH_MAX || out->count == PUSH_ITEMS_MAX)
        return false;
    if (tree_has_type(from, "JOIN")) {
        const char *kind = tree_text(from, "ref_type");
        if (strcmp(kind, "ASOF") == 0 || strcmp(kind, "POSITIONAL") == 0)
            return false;
        return collect_items(p, json_object_get(from, "left"), out,
                             depth + 1) &&
               collect_items(p, json_object_get(from, "right"), out, depth + 1);
    }
    item = &out->list[out->count++];
    *item = (struct sql_item){.node = from, .alias = tree_text(from, "alias")};
    if (tree_has_type(from, "BASE_TABLE"))
        name_table(p, from, item);
    else if (tree_has_type(from, "TABLE_FUNCTION"))
        name_call(p, from, item);
    return true;
}

/* --- one SELECT ---------------------------------------------------------- */

/* Nothing between the rows of FROM and those of the result. */
static bool is_plain_select(json_t *node)
{
    return tree_is_empty(node, "group_expressions") &&
           tree_is_empty(node, "having") && tree_is_empty(node, "sample") &&
           tree_is_empty(node, "qualify") &&
           tree_is_empty(json_object_get(node, "cte_map"), "map") &&
           strcmp(tree_text(node, "aggregate_handling"), "STANDARD_HANDLING") ==
               0;
}

/* Columns as they are, fields and casts of them: neither aggregates nor
 * windows.
 */
static bool is_plain_expression(json_t *node)
{
    json_t *children = json_object_get(node, "children");
    if (tree_is_class(node, "CAST"))
        return is_plain_expression(json_object_get(node, "child"));
    if (tree_has_type(node, "ARRAY_EXTRACT") ||
        strcmp(tree_text(node, "function_name"), "decode") == 0)
        return is_plain_expression(json_array_get(children, 0));
    if (tree_is_class(node, "STAR"))
        return tree_is_empty(node, "expr") &&
               tree_is_empty(node, "replace_list");
    return tree_is_class(node, "COLUMN_REF") || tree_is_class(node, "CONSTANT");
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
    if (json_array_size(modifiers) != 1 ||
        !tree_has_type(limit, "LIMIT_MODIFIER") ||
        !tree_is_empty(node, "where_clause") || !is_plain_select(node) ||
        !tree_number(json_object_get(limit, "limit"), &rows) ||
        (!tree_is_empty(limit, "offset") &&
         !tree_number(json_object_get(limit, "offset"), &skipped)))
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
    items->count = 0;
    if (!collect_items(p, json_object_get(node, "from_table"), items, 0))
        return;
    for (size_t i = 0; i < items->count; i++) {
        struct sql_item *item = &items->list[i];
        struct sql_bounds b = {.arena = &p->arena};
        if (!item->table && !item->view)
            continue;
        item->alone = items->count == 1;
        sql_bounds_add(&b, p->names, json_object_get(node, "where_clause"),
                       item);
        sql_bounds_fit(&b, p->names, item);
        if (item->alone && item->table && !item->parameters)
            b.row_limit = limit;
        if (sql_bounds_any(&b))
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
        if (tree_has_type(node, "SELECT_NODE"))
            push_select(p, node);
        json_object_foreach(node, key, child)
            push_walk(p, child, depth + 1);
    }
}

/* --- views --------------------------------------------------------------- */

/* Does the SELECT hand on the key, as `key`? */
static bool passes_key(json_t *node, const struct sql_item *item)
{
    bool passes = false;
    json_t *child;
    size_t i;
    json_array_foreach(json_object_get(node, "select_list"), i, child) {
        if (!is_plain_expression(child))
            return false;
        if (tree_is_class(child, "STAR"))
            passes |= tree_is_empty(child, "exclude_list") &&
                      tree_is_empty(child, "qualified_exclude_list") &&
                      tree_is_empty(child, "rename_list");
        else if (tree_is_class(child, "COLUMN_REF"))
            passes |= tree_is_empty(child, "alias") &&
                      tree_is_column(child, item, "key");
        if (strcasecmp(tree_text(child, "alias"), "key") == 0)
            return false;
    }
    return passes;
}

static void push_into_view(struct push *p, const struct sql_bounds *b)
{
    json_t *statement =
        json_array_get(json_object_get(p->root, "statements"), 0);
    json_t *node = json_object_get(statement, "node");
    struct push_items *items = arena_alloc(&p->arena, sizeof(*items));
    struct sql_bounds inner = *b;
    struct sql_item *item;
    inner.arena = &p->arena;
    items->count = 0;
    if (!tree_has_type(node, "SELECT_NODE") || !is_plain_select(node) ||
        !tree_is_empty(node, "modifiers") ||
        !collect_items(p, json_object_get(node, "from_table"), items, 0) ||
        items->count != 1)
        return;
    item = &items->list[0];
    item->alone = true;
    if ((!item->table && !item->view) || !passes_key(node, item))
        return;
    sql_bounds_add(&inner, p->names, json_object_get(node, "where_clause"),
                   item);
    sql_bounds_fit(&inner, p->names, item);
    splice_item(p, item, &inner);
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
push_select_text(struct push *p, const struct sql_bounds *b, struct buf *out)
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
                      const struct sql_bounds *b,
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
