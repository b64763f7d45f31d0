/* Any document as nested tables and lists, for pages without a renderer. */
#include "cli/console/page_renderers.h"

/* Deeper parts are shown as JSON, so that no page needs more than a bounded
 * stack. */
#define GENERIC_DEPTH_MAX 8

static void generic_value(struct html *h,
                          const char *name,
                          const json_t *value,
                          unsigned depth);

/* "tablets_per_s" as "tablets per s". */
static void generic_label(struct html *h, const char *name)
{
    for (; *name; name++)
        html_text(h, *name == '_' ? SLICE_LIT(" ") : slice_make(name, 1));
}

/* A row, with the columns of all. */
static void
generic_row(struct html *h, json_t *columns, const json_t *row, unsigned depth)
{
    const char *key;
    json_t *any;
    html_lit(h, "<tr>");
    json_object_foreach(columns, key, any)
    {
        (void)any;
        html_lit(h, "<td>");
        generic_value(h, key, json_object_get(row, key), depth + 1);
        html_lit(h, "</td>");
    }
    html_lit(h, "</tr>");
}

/* A table with a column for each key of any row. */
static void generic_rows(struct html *h, const json_t *rows, unsigned depth)
{
    json_t *columns = json_object();
    const char *key;
    json_t *any;
    for (size_t i = 0; i < json_array_size(rows); i++)
        (void)!json_object_update_missing(columns, json_array_get(rows, i));
    html_lit(h, "<table class=\"sortable\"><thead><tr>");
    json_object_foreach(columns, key, any)
    {
        (void)any;
        html_lit(h, "<th scope=\"col\">");
        generic_label(h, key);
        html_lit(h, "</th>");
    }
    html_lit(h, "</tr></thead><tbody>");
    for (size_t i = 0; i < json_array_size(rows); i++)
        generic_row(h, columns, json_array_get(rows, i), depth);
    html_lit(h, "</tbody></table>");
    json_decref(columns);
}

static void generic_list(struct html *h,
                         const char *name,
                         const json_t *list,
                         unsigned depth)
{
    if (json_array_size(list) == 0) {
        html_lit(h, "<span class=\"none\">none</span>");
        return;
    }
    if (json_is_object(json_array_get(list, 0))) {
        generic_rows(h, list, depth);
        return;
    }
    html_lit(h, "<ul>");
    for (size_t i = 0; i < json_array_size(list); i++) {
        html_lit(h, "<li>");
        generic_value(h, name, json_array_get(list, i), depth + 1);
        html_lit(h, "</li>");
    }
    html_lit(h, "</ul>");
}

static void generic_object(struct html *h, const json_t *object, unsigned depth)
{
    const char *key;
    json_t *value;
    html_lit(h, "<dl>");
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        html_lit(h, "<dt>");
        generic_label(h, key);
        html_lit(h, "</dt><dd>");
        generic_value(h, key, value, depth + 1);
        html_lit(h, "</dd>");
    }
    html_lit(h, "</dl>");
}

static void generic_value(struct html *h,
                          const char *name,
                          const json_t *value,
                          unsigned depth)
{
    if (depth >= GENERIC_DEPTH_MAX)
        html_json(h, value);
    else if (json_is_object(value))
        generic_object(h, value, depth);
    else if (json_is_array(value))
        generic_list(h, name, value, depth);
    else
        html_figure(h, name, value);
}

void render_generic(struct html *h, const json_t *doc)
{
    generic_value(h, "", doc, 0);
}
