/* Settings of the nodes, with where each value comes from: it is asked when
 * nodes that should be alike behave differently. */
#include <string.h>

#include "cli/console/page_renderers.h"
#include "cli/console/pages/page_fields.h"
#include "cli/console/pages/page_parts.h"
#include "cli/console/pages/page_rows.h"

static const struct page_column settings_columns[] = {
    {"name", "Setting", CELL_KEY, NULL, NULL},
    {"value", "Value", CELL_KEY, NULL, NULL},
    {"origin", "From", CELL_TEXT, NULL, NULL},
};

static void config_node(struct html *h, const json_t *node, size_t at)
{
    char id[40], sort[40];
    struct page_rows rows = {
        .id = id,
        .caption = page_string_or_empty(node, "name"),
        .columns = settings_columns,
        .column_count = ARRAY_LEN(settings_columns),
        .key = "name",
        .sort = sort,
        .nothing = "The node did not tell its settings.",
        .next = "It is down, or older than this one.",
    };
    snprintf(id, sizeof(id), "settings%zu", at);
    snprintf(sort, sizeof(sort), at ? "sort%zu" : "sort", at);
    if (!*rows.caption)
        rows.caption = "A node";
    page_rows(h, &rows, page_list(node, "settings"), NULL);
}

void render_config(struct html *h, const json_t *doc)
{
    const json_t *nodes = page_list(doc, "nodes");
    page_head_begin(h, NULL, 0, "Configuration");
    page_sub_begin(h);
    html_lit(h, "Secrets are left out.");
    page_sub_end(h);
    page_head_end(h, doc);
    if (json_array_size(nodes) == 0)
        page_empty(h, "No node told its settings.",
                   "Look at the nodes: are they up?");
    for (size_t i = 0; i < json_array_size(nodes); i++)
        config_node(h, json_array_get(nodes, i), i);
}
