/* Reads single nodes; walks are sql_push.c's and sql_bounds.c's.
 */
#include "bigtable/sql/sql_tree.h"

#include <string.h>
#include <strings.h>

#include "base/core/arena.h"

const char *tree_text(json_t *node, const char *name)
{
    const char *s = json_string_value(json_object_get(node, name));
    return s ? s : "";
}

bool tree_has_type(json_t *node, const char *type)
{
    return strcmp(tree_text(node, "type"), type) == 0;
}

bool tree_is_class(json_t *node, const char *kind)
{
    return strcmp(tree_text(node, "class"), kind) == 0;
}

bool tree_is_empty(json_t *node, const char *name)
{
    json_t *v = json_object_get(node, name);
    return !v || json_is_null(v) || (json_is_array(v) && !json_array_size(v)) ||
           (json_is_string(v) && !*json_string_value(v));
}

bool tree_constant(struct arena *arena, json_t *node, struct slice *out)
{
    json_t *value = json_object_get(node, "value");
    json_t *text = json_object_get(value, "value");
    if (!tree_is_class(node, "CONSTANT") || !json_is_string(text) ||
        strcmp(tree_text(json_object_get(value, "type"), "id"), "VARCHAR") != 0)
        return false;
    *out = arena_dup(
        arena, slice_make(json_string_value(text), json_string_length(text)));
    return true;
}

bool tree_is_column(json_t *node, const struct sql_item *item, const char *name)
{
    json_t *names = json_object_get(node, "column_names");
    const size_t n = json_array_size(names);
    const char *last, *table;
    if (!tree_is_class(node, "COLUMN_REF") || n < 1 || n > 2)
        return false;
    last = json_string_value(json_array_get(names, n - 1));
    if (!last || strcasecmp(last, name) != 0)
        return false;
    table = json_string_value(json_array_get(names, 0));
    return n == 1 ? item->alone : table && strcasecmp(table, item->alias) == 0;
}

bool tree_number(json_t *node, uint64_t *out)
{
    json_t *value = json_object_get(json_object_get(node, "value"), "value");
    const double n = json_is_real(value) ? json_real_value(value) : -1;
    if (!tree_is_class(node, "CONSTANT") || n < 0 || n > (double)UINT32_MAX)
        return false;
    *out = (uint64_t)n;
    return (double)*out >= n;
}

json_t *tree_parameter(const struct sql_item *item, const char *name)
{
    json_t *child;
    size_t i;
    json_array_foreach(item->parameters, i, child)
        if (strcasecmp(tree_text(child, "alias"), name) == 0)
            return child;
    return NULL;
}
