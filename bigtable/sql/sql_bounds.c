/* From conditions to bounds, and from these to parameters. Conditions of kinds
 * that are not known here bound nothing.
 */
#include "bigtable/sql/sql_bounds.h"

#include <string.h>
#include <strings.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "bigtable/sql/sql_lexer.h"

#define BOUNDS_TEXTS_MAX ((size_t)10000)
/* Qualifiers become a regular expression. */
#define BOUNDS_QUALIFIERS_MAX ((size_t)100)

/* --- keys ---------------------------------------------------------------- */

static void bound_from(struct sql_bounds *b, struct slice key)
{
    if (!b->from.data || slice_cmp(key, b->from) > 0)
        b->from = key;
}

static void bound_to(struct sql_bounds *b, struct slice key)
{
    if (!b->to.data || slice_cmp(key, b->to) < 0)
        b->to = key;
}

static void bound_last(struct sql_bounds *b, struct slice key)
{
    if (!b->last.data || slice_cmp(key, b->last) < 0)
        b->last = key;
}

static void bound_texts(struct sql_texts *t, struct sql_texts these)
{
    if (!t->list || these.count < t->count)
        *t = these;
}

static void
bound_one(struct sql_bounds *b, struct sql_texts *t, struct slice text)
{
    struct slice *list = arena_alloc(b->arena, sizeof(*list));
    *list = text;
    bound_texts(t, (struct sql_texts){list, 1});
}

static void bound_longer(struct slice *prefix, struct slice text)
{
    if (text.len > prefix->len)
        *prefix = text;
}

/* @type of a comparison with the key on its left side. */
static void bound_key(struct sql_bounds *b, const char *type, struct slice key)
{
    if (strcmp(type, "COMPARE_EQUAL") == 0)
        bound_one(b, &b->keys, key);
    else if (strcmp(type, "COMPARE_GREATERTHAN") == 0 ||
             strcmp(type, "COMPARE_GREATERTHANOREQUALTO") == 0)
        bound_from(b, key);
    else if (strcmp(type, "COMPARE_LESSTHAN") == 0)
        bound_to(b, key);
    else if (strcmp(type, "COMPARE_LESSTHANOREQUALTO") == 0)
        bound_last(b, key);
}

/* --- times --------------------------------------------------------------- */

/* A constant time as an expression of SQL: TIMESTAMP '…', DATE '…', a text, or
 * make_timestamp(µs). */
static bool constant_time(struct sql_bounds *b, json_t *node, struct slice *out)
{
    json_t *children = json_object_get(node, "children");
    const char *cast = tree_text(json_object_get(node, "cast_type"), "id");
    struct buf text = BUF_INIT;
    struct slice literal;
    uint64_t micros;
    if (tree_constant(b->arena, node, &literal)) {
        sql_put_string(&text, literal);
        buf_append_str(&text, "::TIMESTAMP");
    } else if (tree_is_class(node, "CAST") &&
               (strcmp(cast, "TIMESTAMP") == 0 || strcmp(cast, "DATE") == 0) &&
               tree_constant(b->arena, json_object_get(node, "child"),
                             &literal)) {
        sql_put_string(&text, literal);
        buf_printf(&text, "::%s::TIMESTAMP", cast);
    } else if (strcmp(tree_text(node, "function_name"), "make_timestamp") ==
                   0 &&
               json_array_size(children) == 1 &&
               tree_number(json_array_get(children, 0), &micros)) {
        buf_printf(&text, "make_timestamp(%llu)", (unsigned long long)micros);
    }
    *out = arena_dup(b->arena, buf_slice(&text));
    buf_close(&text);
    return out->len > 0;
}

static void time_to_after(struct sql_bounds *b, struct slice time)
{
    struct buf text = BUF_INIT;
    buf_append_slice(&text, time);
    buf_append_str(&text, " + INTERVAL 1 MICROSECOND");
    b->time_to = arena_dup(b->arena, buf_slice(&text));
    buf_close(&text);
}

/* Of several conditions on one side the last counts. */
static void
bound_time(struct sql_bounds *b, const char *type, struct slice time)
{
    const bool equal = strcmp(type, "COMPARE_EQUAL") == 0;
    if (equal || strcmp(type, "COMPARE_GREATERTHAN") == 0 ||
        strcmp(type, "COMPARE_GREATERTHANOREQUALTO") == 0)
        b->time_from = time;
    if (equal || strcmp(type, "COMPARE_LESSTHANOREQUALTO") == 0)
        time_to_after(b, time);
    else if (strcmp(type, "COMPARE_LESSTHAN") == 0)
        b->time_to = time;
}

/* --- conditions ---------------------------------------------------------- */

/* The texts that the column @node may be one of; NULL: it is no such column. */
static struct sql_texts *
texts_of(struct sql_bounds *b, json_t *node, const struct sql_item *item)
{
    if (tree_is_column(node, item, "key"))
        return &b->keys;
    if (item->by_cells && tree_is_column(node, item, "family"))
        return &b->families;
    if (item->by_cells && tree_is_column(node, item, "qualifier"))
        return &b->qualifiers;
    return NULL;
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

/* @column @type @value. */
static void bound_comparison(struct sql_bounds *b,
                             json_t *column,
                             const char *type,
                             json_t *value,
                             const struct sql_item *item)
{
    struct sql_texts *texts = texts_of(b, column, item);
    struct slice text;
    if (item->by_cells && tree_is_column(column, item, "timestamp")) {
        if (constant_time(b, value, &text))
            bound_time(b, type, text);
    } else if (texts && tree_constant(b->arena, value, &text)) {
        if (texts == &b->keys)
            bound_key(b, type, text);
        else if (strcmp(type, "COMPARE_EQUAL") == 0)
            bound_one(b, texts, text);
    }
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

static bool is_prefix_function(const char *name)
{
    static const char *const names[] = {"starts_with", "prefix", "^@"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static void
bound_function(struct sql_bounds *b, json_t *node, const struct sql_item *item)
{
    const char *name = tree_text(node, "function_name");
    json_t *children = json_object_get(node, "children");
    struct sql_texts *texts = texts_of(b, json_array_get(children, 0), item);
    struct slice text;
    if (json_array_size(children) != 2 || !texts || texts == &b->families ||
        !tree_constant(b->arena, json_array_get(children, 1), &text))
        return;
    if (strcmp(name, "~~") == 0)
        text = fixed_beginning(text);
    else if (!is_prefix_function(name))
        return;
    bound_longer(texts == &b->keys ? &b->prefix : &b->qualifier_prefix, text);
}

static void
bound_list(struct sql_bounds *b, json_t *node, const struct sql_item *item)
{
    json_t *children = json_object_get(node, "children");
    const size_t n = json_array_size(children);
    struct sql_texts *texts = texts_of(b, json_array_get(children, 0), item);
    struct slice *list;
    if (n < 2 || n > BOUNDS_TEXTS_MAX || !texts)
        return;
    list = arena_alloc(b->arena, n * sizeof(*list));
    for (size_t i = 1; i < n; i++)
        if (!tree_constant(b->arena, json_array_get(children, i), &list[i - 1]))
            return;
    bound_texts(texts, (struct sql_texts){list, n - 1});
}

static void
bound_between(struct sql_bounds *b, json_t *node, const struct sql_item *item)
{
    json_t *column = json_object_get(node, "input");
    bound_comparison(b, column, "COMPARE_GREATERTHANOREQUALTO",
                     json_object_get(node, "lower"), item);
    bound_comparison(b, column, "COMPARE_LESSTHANOREQUALTO",
                     json_object_get(node, "upper"), item);
}

/* --- rows that cannot meet a condition ----------------------------------- */

/* Is @node NULL for a row without cells in a family that it reads? So is
 * family['qualifier'], and what keeps NULL, of it. */
static bool is_of_family(const struct sql_names *names,
                         json_t *node,
                         const struct sql_item *item)
{
    json_t *children = json_object_get(node, "children");
    json_t *map = json_array_get(children, 0);
    json_t *path = json_object_get(map, "column_names");
    const char *family =
        json_string_value(json_array_get(path, json_array_size(path) - 1));
    if (tree_is_class(node, "CAST"))
        return is_of_family(names, json_object_get(node, "child"), item);
    if (tree_is_class(node, "FUNCTION") &&
        strcmp(tree_text(node, "function_name"), "decode") == 0)
        return json_array_size(children) == 1 && is_of_family(names, map, item);
    return tree_has_type(node, "ARRAY_EXTRACT") && family &&
           tree_is_column(map, item, family) &&
           names->has_family(names->ctx, item->table, family);
}

static bool rejects_missing(const struct sql_names *names,
                            json_t *node,
                            const struct sql_item *item)
{
    json_t *first = json_array_get(json_object_get(node, "children"), 0);
    if (!item->table || item->parameters)
        return false;
    if (tree_is_class(node, "COMPARISON"))
        return !strstr(tree_text(node, "type"), "DISTINCT") &&
               (is_of_family(names, json_object_get(node, "left"), item) ||
                is_of_family(names, json_object_get(node, "right"), item));
    if (tree_has_type(node, "OPERATOR_IS_NOT_NULL") ||
        tree_has_type(node, "COMPARE_IN") ||
        strcmp(tree_text(node, "function_name"), "~~") == 0)
        return is_of_family(names, first, item);
    return false;
}

void sql_bounds_add(struct sql_bounds *b,
                    const struct sql_names *names,
                    json_t *node,
                    const struct sql_item *item)
{
    const char *type = tree_text(node, "type");
    json_t *left = json_object_get(node, "left");
    json_t *right = json_object_get(node, "right");
    json_t *child;
    size_t i;
    if (strcmp(type, "CONJUNCTION_AND") == 0) {
        json_array_foreach(json_object_get(node, "children"), i, child)
            sql_bounds_add(b, names, child, item);
        return;
    }
    b->skip_missing |= rejects_missing(names, node, item);
    if (tree_is_class(node, "COMPARISON")) {
        bound_comparison(b, left, type, right, item);
        bound_comparison(b, right, turned_round(type), left, item);
    } else if (tree_is_class(node, "FUNCTION")) {
        bound_function(b, node, item);
    } else if (strcmp(type, "COMPARE_IN") == 0) {
        bound_list(b, node, item);
    } else if (tree_is_class(node, "BETWEEN")) {
        bound_between(b, node, item);
    }
}

/* --- fitting them to a call ---------------------------------------------- */

/* A family that the table lacks would be an error; the condition finds nothing
 * by itself. */
static void keep_known_families(struct sql_bounds *b,
                                const struct sql_names *names,
                                const struct sql_item *item)
{
    size_t kept = 0;
    for (size_t i = 0; i < b->families.count; i++)
        if (names->has_family(names->ctx, item->table,
                              b->families.list[i].data))
            b->families.list[kept++] = b->families.list[i];
    b->families.count = kept;
    if (kept == 0)
        b->families.list = NULL;
}

/* As a BLOB, a text with a backslash stands for other bytes. */
static bool is_plain(struct slice text)
{
    return slice_find_byte(text, '\\') == text.len;
}

static void keep_plain_list(struct sql_texts *texts)
{
    for (size_t i = 0; texts->list && i < texts->count; i++)
        if (!is_plain(texts->list[i]))
            texts->list = NULL;
}

static void keep_plain(struct sql_bounds *b)
{
    struct slice *texts[] = {&b->from, &b->to, &b->last, &b->prefix,
                             &b->qualifier_prefix};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (!is_plain(*texts[i]))
            *texts[i] = (struct slice){.data = NULL};
    keep_plain_list(&b->keys);
    keep_plain_list(&b->qualifiers);
}

void sql_bounds_fit(struct sql_bounds *b,
                    const struct sql_names *names,
                    const struct sql_item *item)
{
    const struct {
        const char *name;
        struct slice *text;
    } single[] = {
        {"key_from", &b->from},       {"key_to", &b->to},
        {"key_last", &b->last},       {"key_prefix", &b->prefix},
        {"time_from", &b->time_from}, {"time_to", &b->time_to},
    };

    const bool by_count =
        tree_parameter(item, "versions") || tree_parameter(item, "program");
    if (tree_parameter(item, "row_limit")) { /* Of the rows without bounds. */
        *b = (struct sql_bounds){.arena = b->arena};
        return;
    }
    keep_known_families(b, names, item);
    if (item->binary)
        keep_plain(b);
    for (size_t i = 0; i < ARRAY_LEN(single); i++)
        if (tree_parameter(item, single[i].name))
            *single[i].text = (struct slice){.data = NULL};
    if (tree_parameter(item, "keys"))
        b->keys.list = NULL;
    /* The newest versions are not those before a time. */
    if (by_count || tree_parameter(item, "time_from") ||
        tree_parameter(item, "time_to"))
        b->time_from = b->time_to = (struct slice){.data = NULL};
    if (tree_parameter(item, "program") || tree_parameter(item, "families"))
        b->families.list = NULL;
    if (tree_parameter(item, "program") ||
        tree_parameter(item, "column_regex")) {
        b->qualifiers.list = NULL;
        b->qualifier_prefix.len = 0;
    }
    if (b->qualifiers.list && b->qualifiers.count > BOUNDS_QUALIFIERS_MAX)
        b->qualifiers.list = NULL;
}

bool sql_bounds_any(const struct sql_bounds *b)
{
    return b->from.data || b->to.data || b->last.data || b->prefix.len ||
           b->keys.list || b->families.list || b->qualifiers.list ||
           b->qualifier_prefix.len || b->time_from.data || b->time_to.data ||
           b->skip_missing || b->row_limit;
}

/* --- parameters ---------------------------------------------------------- */

static void put_key(struct buf *out, const char *name, struct slice key)
{
    if (!key.data)
        return;
    buf_printf(out, ", %s := ", name);
    sql_put_string(out, key);
}

static void put_time(struct buf *out, const char *name, struct slice time)
{
    if (time.data)
        buf_printf(out, ", %s := %.*s", name, SLICE_ARG(time));
}

static void put_keys(struct buf *out, const struct sql_texts *keys)
{
    buf_append_str(out, ", keys := [");
    for (size_t i = 0; i < keys->count; i++) {
        buf_append_str(out, i ? ", " : "");
        sql_put_string(out, keys->list[i]);
        /* A list has elements of one type. */
        if (!slice_ends_with(buf_slice(out), SLICE_LIT("BLOB")))
            buf_append_str(out, "::BLOB");
    }
    buf_append_str(out, "]");
}

static void put_families(struct buf *out, const struct sql_texts *families)
{
    for (size_t i = 0; i < families->count; i++) {
        buf_append_str(out, i ? ", " : ", families := [");
        sql_put_string(out, families->list[i]);
    }
    buf_append_str(out, "]");
}

/* @text in a regular expression over bytes. */
static void put_literal(struct buf *out, struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        const unsigned char c = (unsigned char)text.data[i];
        if ((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z'))
            buf_append_byte(out, (char)c);
        else
            buf_printf(out, "\\x%02x", (unsigned)c);
    }
}

/* Any family, and one of the qualifiers, or one with the prefix. */
static void put_qualifiers(struct buf *out, const struct sql_bounds *b)
{
    struct buf pattern = BUF_INIT;
    buf_append_str(&pattern, "[^:]*:(?s:");
    for (size_t i = 0; b->qualifiers.list && i < b->qualifiers.count; i++) {
        buf_append_str(&pattern, i ? "|" : "");
        put_literal(&pattern, b->qualifiers.list[i]);
    }
    if (!b->qualifiers.list) {
        put_literal(&pattern, b->qualifier_prefix);
        buf_append_str(&pattern, ".*");
    }
    /* Nothing in it is a quotation mark. */
    buf_printf(out, ", column_regex := '%s)'", buf_cstr(&pattern));
    buf_close(&pattern);
}

void sql_bounds_put(struct buf *out, const struct sql_bounds *b)
{
    put_key(out, "key_from", b->from);
    put_key(out, "key_to", b->to);
    put_key(out, "key_last", b->last);
    if (b->prefix.len)
        put_key(out, "key_prefix", b->prefix);
    if (b->keys.list)
        put_keys(out, &b->keys);
    if (b->families.list)
        put_families(out, &b->families);
    if (b->qualifiers.list || b->qualifier_prefix.len)
        put_qualifiers(out, b);
    /* Without a beginning, times before 1970 count, too. */
    if (b->time_to.data && !b->time_from.data)
        buf_append_str(out, ", time_from := '-infinity'::TIMESTAMP");
    put_time(out, "time_from", b->time_from);
    put_time(out, "time_to", b->time_to);
    if (b->skip_missing)
        buf_append_str(out, ", missing := 'skip'");
    if (b->row_limit)
        buf_printf(out, ", row_limit := %llu",
                   (unsigned long long)b->row_limit);
}
