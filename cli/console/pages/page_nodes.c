/* The nodes, and one of them: state, roles with their figures, load and
 * metrics. */
#include <math.h>
#include <string.h>

#include "cli/console/page_renderers.h"
#include "cli/console/pages/page_fields.h"
#include "cli/console/pages/page_parts.h"
#include "cli/console/pages/page_plots.h"
#include "cli/console/pages/page_rows.h"

/* "lock, namenode": those that lead in bold. */
static void
node_roles_cell(struct html *h, const json_t *row, const json_t *doc)
{
    const json_t *roles = page_list(row, "roles");
    (void)doc;
    if (json_array_size(roles) == 0)
        page_missing(h);
    for (size_t i = 0; i < json_array_size(roles); i++) {
        const json_t *r = json_array_get(roles, i);
        if (i)
            html_lit(h, ", ");
        if (page_is_true(r, "leads"))
            html_lit(h, "<strong>");
        html_json(h, page_field(r, "name"));
        if (page_is_true(r, "leads"))
            html_lit(h, " (leads)</strong>");
    }
}

/* The state, and why it is not up. */
static void
node_state_cell(struct html *h, const json_t *row, const json_t *doc)
{
    const char *why = page_string_or_empty(row, "why");
    (void)doc;
    page_state(h, page_string(row, "state"));
    if (*why) {
        html_lit(h, " <small>");
        html_str(h, why);
        html_lit(h, "</small>");
    }
}

static void node_disk_cell(struct html *h, const json_t *row, const json_t *doc)
{
    double used, size;
    (void)doc;
    page_put(h, row, "disk_used_bytes");
    if (!page_number(row, "disk_used_bytes", &used) ||
        !page_number(row, "disk_size_bytes", &size) || size <= 0)
        return;
    html_lit(h, " <small>of ");
    page_put(h, row, "disk_size_bytes");
    html_lit(h, "</small>");
    page_bar(h, used / size, used / size > 0.85);
}

static const struct page_column nodes_columns[] = {
    {"name", "Node", CELL_TEXT, "/nodes/{}", NULL},
    {"state", "State", CELL_STATE, NULL, node_state_cell},
    {"address", "Address", CELL_TEXT, NULL, NULL},
    {"rack", "Rack", CELL_TEXT, NULL, NULL},
    {"roles", "Roles", CELL_TEXT, NULL, node_roles_cell},
    {"up_us", "Up for", CELL_FIGURE, NULL, NULL},
    {"tablets", "Tablets", CELL_FIGURE, NULL, NULL},
    {"reads_per_s", "Reads", CELL_FIGURE, NULL, NULL},
    {"writes_per_s", "Writes", CELL_FIGURE, NULL, NULL},
    {"bytes_per_s", "Bytes", CELL_FIGURE, NULL, NULL},
    {"errors_per_s", "Errors", CELL_FIGURE, NULL, NULL},
    {"p50_us", "p50", CELL_FIGURE, NULL, NULL},
    {"p99_us", "p99", CELL_FIGURE, NULL, NULL},
    {"cpu_cores", "CPU cores", CELL_FIGURE, NULL, NULL},
    {"rss_bytes", "Memory", CELL_FIGURE, NULL, NULL},
    {"disk_used_bytes", "Disk", CELL_FIGURE, NULL, node_disk_cell},
    {"clock_offset_us", "Clock", CELL_FIGURE, NULL, NULL},
    {"version", "Version", CELL_TEXT, NULL, NULL},
};

static const struct page_rows nodes_rows = {
    .id = "nodes",
    .caption = "Nodes",
    .columns = nodes_columns,
    .column_count = ARRAY_LEN(nodes_columns),
    .key = "address",
    .nothing = "No node is known.",
    .next = "Begin one with `quarry server`, and look at its log.",
};

/* "2 up, 1 down". */
static void nodes_states(struct html *h, const json_t *nodes)
{
    static const char *const states[] = {"up", "silent", "down"};
    const char *separator = "";
    page_sub_begin(h);
    for (size_t s = 0; s < ARRAY_LEN(states); s++) {
        int count = 0;
        for (size_t i = 0; i < json_array_size(nodes); i++)
            count +=
                page_field_is(json_array_get(nodes, i), "state", states[s]);
        if (count == 0)
            continue;
        html_printf(h, "%s%d %s", separator, count, states[s]);
        separator = ", ";
    }
    page_sub_end(h);
}

void render_nodes(struct html *h, const json_t *doc)
{
    const json_t *nodes = page_list(doc, "nodes");
    page_head_begin(h, NULL, 0, "Nodes");
    nodes_states(h, nodes);
    page_head_end(h, doc);
    page_rows(h, &nodes_rows, nodes, doc);
}

/* --- one node ------------------------------------------------------------ */

static const struct page_plot node_plots[] = {
    {"Operations",
     "per_s",
     {{"reads_per_s", "rows read"}, {"writes_per_s", "rows written"}}},
    {"Latency, 99 % are quicker",
     "us",
     {{"read_p99_us", "read"},
      {"write_p99_us", "write"},
      {"commit_p99_us", "commit"}}},
    {"Processors", "cores", {{"cpu_cores", "busy"}}},
    {"Memory", "bytes", {{"rss_bytes", "resident"}}},
};

static void node_role_panel(struct html *h, const json_t *role)
{
    html_lit(h, "<section class=\"panel\"><h2>");
    page_put(h, role, "name");
    html_lit(h, " ");
    page_state(h, page_string(role, "health"));
    if (page_is_true(role, "leads"))
        html_lit(h, " <span class=\"st\">leads</span>");
    html_lit(h, "</h2><dl class=\"pairs\">");
    page_pairs_of(h, page_field(role, "figures"));
    html_lit(h, "</dl></section>");
}

static void node_process(struct html *h, const json_t *n)
{
    page_pairs_begin(h, "Process");
    page_figure(h, "Address", n, "address");
    page_figure(h, "Rack", n, "rack");
    page_figure(h, "Version", n, "version");
    page_figure_begin(h, "Process id");
    html_json(h, page_field(n, "pid"));
    page_figure_end(h);
    page_figure(h, "Up for", n, "up_us");
    page_figure(h, "Security", n, "security");
    page_figure(h, "Answers within", n, "rtt_us");
    page_figure(h, "Clock ahead by", n, "clock_offset_us");
    page_figure(h, "CPU cores busy", n, "cpu_cores");
    page_figure(h, "Memory", n, "rss_bytes");
    page_figure(h, "Descriptors", n, "fds");
    page_figure(h, "Descriptors at most", n, "fds_max");
    page_figure(h, "Connections", n, "connections");
    page_pairs_end(h);
}

static void node_figures(struct html *h, const json_t *n)
{
    page_figures_begin(h, "Figures");
    page_figure(h, "Tablets", n, "tablets");
    page_figure(h, "Rows read", n, "reads_per_s");
    page_figure(h, "Rows written", n, "writes_per_s");
    page_figure(h, "Errors", n, "errors_per_s");
    page_figure(h, "Median latency", n, "p50_us");
    page_figure(h, "99 % within", n, "p99_us");
    page_figure_begin(h, "Disk used");
    node_disk_cell(h, n, NULL);
    page_figure_end(h);
    page_figures_end(h);
}

/* --- its metrics --------------------------------------------------------- */

/* "method read, table t". */
static void metric_labels(struct html *h, const json_t *row, const json_t *doc)
{
    const char *name, *separator = "";
    json_t *value;
    (void)doc;
    json_object_foreach((json_t *)(uintptr_t)page_field(row, "labels"), name,
                        value) {
        html_printf(h, "%s%s ", separator, name);
        html_json(h, value);
        separator = ", ";
    }
}

static const struct page_column metrics_columns[] = {
    {"name", "Metric", CELL_KEY, NULL, NULL},
    {"labels", "Labels", CELL_TEXT, NULL, metric_labels},
    {"value", "Value", CELL_FIGURE, NULL, NULL},
};

static const struct page_rows metrics_rows = {
    .id = "metrics",
    .caption = "Metrics",
    .columns = metrics_columns,
    .column_count = ARRAY_LEN(metrics_columns),
    .sort = "sort_metrics",
    .nothing = "The node told no metrics.",
    .next = "Its console has them at /metrics.",
};

static void node_metrics_panel(struct html *h, const json_t *doc)
{
    const json_t *metrics = page_list(doc, "metrics");
    if (json_array_size(metrics) == 0)
        return;
    html_lit(h, "<details id=\"all-metrics\"><summary>All metrics of the "
                "node</summary>");
    page_rows(h, &metrics_rows, metrics, doc);
    html_lit(h, "</details>");
}

void render_node(struct html *h, const json_t *doc)
{
    static const struct page_crumb up = {"Nodes", "/nodes", NULL, NULL};
    const char *name = page_string_or_empty(doc, "name");
    const json_t *roles = page_list(doc, "roles");
    page_head_begin(h, &up, 1, *name ? name : h->view->title);
    node_state_cell(h, doc, doc);
    page_action(h, "Log levels", "/actions/log-level?node={}",
                page_string_or_empty(doc, "address"), NULL);
    page_head_end(h, doc);
    node_figures(h, doc);
    if (page_field_is(doc, "state", "up"))
        page_plots(h, node_plots, ARRAY_LEN(node_plots), name);
    html_lit(h, "<div class=\"cols\">");
    node_process(h, doc);
    for (size_t i = 0; i < json_array_size(roles); i++)
        node_role_panel(h, json_array_get(roles, i));
    html_lit(h, "</div>");
    node_metrics_panel(h, doc);
}
