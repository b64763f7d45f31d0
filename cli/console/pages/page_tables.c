/* Tables, one of them with its tablets, and one tablet: sizes, rates, groups,
 * and the actions that an operator may take. */
#include <math.h>
#include <string.h>

#include "cli/console/page_renderers.h"
#include "cli/console/pages/page_fields.h"
#include "cli/console/pages/page_parts.h"
#include "cli/console/pages/page_rows.h"

/* The name of the table that a document is about. */
static const char *table_name(const json_t *doc)
{
    const char *name = page_string(doc, "name");
    return name ? name : page_string_or_empty(doc, "table");
}

/* --- all tables ---------------------------------------------------------- */

static void
tables_families(struct html *h, const json_t *row, const json_t *doc)
{
    const json_t *f = page_field(row, "families");
    (void)doc;
    if (!json_is_array(f)) {
        page_put(h, row, "families");
        return;
    }
    for (size_t i = 0; i < json_array_size(f); i++) {
        const json_t *one = json_array_get(f, i);
        if (i)
            html_lit(h, ", ");
        html_json(h, json_is_object(one) ? page_field(one, "name") : one);
    }
}

static void tables_hottest(struct html *h, const json_t *row, const json_t *doc)
{
    const json_t *hot = page_field(row, "hottest_tablet");
    const char *start = json_is_object(hot) ? page_string(hot, "start")
                                            : json_string_value(hot);
    (void)doc;
    if (!start) {
        page_missing(h);
        return;
    }
    html_lit(h, "<a");
    html_url(h, "href", "/tables/{}/tablet?start={}",
             page_string_or_empty(row, "name"), start);
    html_lit(h, ">");
    page_key(h, start, "the first");
    html_lit(h, "</a>");
}

static const struct page_column tables_columns[] = {
    {"name", "Table", CELL_TEXT, "/tables/{}", NULL},
    {"state", "State", CELL_STATE, NULL, NULL},
    {"families", "Families", CELL_TEXT, NULL, tables_families},
    {"tablets", "Tablets", CELL_FIGURE, NULL, NULL},
    {"bytes", "Size", CELL_FIGURE, NULL, NULL},
    {"reads_per_s", "Reads", CELL_FIGURE, NULL, NULL},
    {"writes_per_s", "Writes", CELL_FIGURE, NULL, NULL},
    {"bytes_per_s", "Bytes", CELL_FIGURE, NULL, NULL},
    {"hottest_tablet", "Hottest tablet from", CELL_TEXT, NULL, tables_hottest},
};

static const struct page_rows tables_rows = {
    .id = "tables",
    .caption = "Tables",
    .columns = tables_columns,
    .column_count = ARRAY_LEN(tables_columns),
    .key = "name",
    .nothing = "There is no table yet.",
    .next = "Make one: quarry table create pages --family contents",
};

void render_tables(struct html *h, const json_t *doc)
{
    page_head(h, doc, "Tables");
    page_rows(h, &tables_rows, page_list(doc, "tables"), doc);
}

/* --- one table ----------------------------------------------------------- */

static void tablet_start(struct html *h, const json_t *row, const json_t *doc)
{
    const char *start = page_string(row, "start");
    html_lit(h, "<a");
    html_url(h, "href", "/tables/{}/tablet?start={}", table_name(doc),
             start ? start : "");
    html_lit(h, ">");
    page_key(h, start, "the first row");
    html_lit(h, "</a>");
}

static void tablet_end(struct html *h, const json_t *row, const json_t *doc)
{
    (void)doc;
    page_key(h, page_string(row, "end"), "the last row");
}

static void tablet_node(struct html *h, const json_t *row, const json_t *doc)
{
    const char *node = page_string(row, "node");
    (void)doc;
    if (!node || !*node) {
        page_put(h, row, "server");
        return;
    }
    html_lit(h, "<a");
    html_url(h, "href", "/nodes/{}", node);
    html_lit(h, ">");
    html_str(h, node);
    html_lit(h, "</a>");
}

static const struct page_column tablets_columns[] = {
    {"start", "From row", CELL_TEXT, NULL, tablet_start},
    {"end", "To before row", CELL_TEXT, NULL, tablet_end},
    {"node", "Server", CELL_TEXT, NULL, tablet_node},
    {"state", "State", CELL_STATE, NULL, NULL},
    {"bytes", "Size", CELL_FIGURE, NULL, NULL},
    {"files", "Files", CELL_FIGURE, NULL, NULL},
    {"memory_bytes", "In memory", CELL_FIGURE, NULL, NULL},
    {"debt_bytes", "Compaction debt", CELL_FIGURE, NULL, NULL},
    {"reads_per_s", "Reads", CELL_FIGURE, NULL, NULL},
    {"writes_per_s", "Writes", CELL_FIGURE, NULL, NULL},
    {"bytes_per_s", "Bytes", CELL_FIGURE, NULL, NULL},
    {"loaded_at_us", "Loaded for", CELL_AGE, NULL, NULL},
};

static const struct page_rows tablets_rows = {
    .id = "tablets",
    .caption = "Tablets",
    .columns = tablets_columns,
    .column_count = ARRAY_LEN(tablets_columns),
    .key = "start",
    .nothing = "No tablet is known.",
    .next = "The master may just be starting: look at the nodes.",
};

static const struct page_column families_columns[] = {
    {"name", "Family", CELL_TEXT, NULL, NULL},
    {"group", "Locality group", CELL_TEXT, NULL, NULL},
    {"gc", "Keeps", CELL_TEXT, NULL, NULL},
};

static const struct page_rows families_rows = {
    .id = "families",
    .caption = "Families",
    .columns = families_columns,
    .column_count = ARRAY_LEN(families_columns),
    .key = "name",
    .sort = "sort_families",
    .nothing = "The table has no family.",
    .next = "Without one nothing can be written: quarry table alter",
};

static void table_group(struct html *h, const json_t *group)
{
    html_lit(h, "<section class=\"panel\"><h2>Locality group ");
    page_put(h, group, "name");
    html_lit(h, "</h2><dl class=\"pairs\">");
    page_pairs_of(h, group);
    html_lit(h, "</dl></section>");
}

static void table_schema(struct html *h, const json_t *doc)
{
    const json_t *groups = page_list(doc, "schema.groups");
    const json_t *quotas = page_field(doc, "quotas");
    page_rows(h, &families_rows, page_list(doc, "schema.families"), doc);
    html_lit(h, "<div class=\"cols\">");
    for (size_t i = 0; i < json_array_size(groups); i++)
        table_group(h, json_array_get(groups, i));
    if (json_object_size(quotas)) {
        page_pairs_begin(h, "Quotas");
        page_pairs_of(h, quotas);
        page_pairs_end(h);
    }
    html_lit(h, "</div>");
}

/* Adds up a field of all rows; NAN: no row has it. */
static double table_sum(const json_t *rows, const char *field)
{
    double sum = NAN;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        double v;
        if (page_number(json_array_get(rows, i), field, &v))
            sum = isnan(sum) ? v : sum + v;
    }
    return sum;
}

static void table_total(struct html *h,
                        const char *name,
                        const json_t *rows,
                        const char *field)
{
    page_figure_begin(h, name);
    page_value(h, humane_unit_of(field), table_sum(rows, field));
    page_figure_end(h);
}

static void table_figures(struct html *h, const json_t *tablets)
{
    page_figures_begin(h, "Figures");
    page_figure_begin(h, "Tablets");
    page_value(h, HUMANE_COUNT, (double)json_array_size(tablets));
    page_figure_end(h);
    table_total(h, "Size", tablets, "bytes");
    table_total(h, "Files", tablets, "files");
    table_total(h, "Rows read", tablets, "reads_per_s");
    table_total(h, "Rows written", tablets, "writes_per_s");
    table_total(h, "Bytes", tablets, "bytes_per_s");
    page_figures_end(h);
}

void render_table(struct html *h, const json_t *doc)
{
    static const struct page_crumb up = {"Tables", "/tables", NULL, NULL};
    const json_t *tablets = page_list(doc, "tablets");
    page_head_begin(h, &up, 1, table_name(doc));
    page_button(h, "Key visualizer", "/heat/{}", table_name(doc));
    page_action(h, "Compact", "/actions/compact?table={}", table_name(doc),
                NULL);
    page_head_end(h, doc);
    table_figures(h, tablets);
    page_rows(h, &tablets_rows, tablets, doc);
    table_schema(h, doc);
}

/* --- one tablet ---------------------------------------------------------- */

static const struct page_column tablet_files_columns[] = {
    {"name", "File", CELL_KEY, NULL, NULL},
    {"group", "Locality group", CELL_TEXT, NULL, NULL},
    {"level", "Level", CELL_FIGURE, NULL, NULL},
    {"generation", "Generation", CELL_FIGURE, NULL, NULL},
    {"bytes", "Size", CELL_FIGURE, NULL, NULL},
    {"entries", "Entries", CELL_FIGURE, NULL, NULL},
    {"smallest", "From row", CELL_KEY, NULL, NULL},
    {"largest", "To row", CELL_KEY, NULL, NULL},
};

static const struct page_rows tablet_files_rows = {
    .id = "tablet-files",
    .caption = "Files",
    .columns = tablet_files_columns,
    .column_count = ARRAY_LEN(tablet_files_columns),
    .nothing = "The tablet has no file yet.",
    .next = "Its rows are in memory and in the log; a flush writes the first.",
};

static const struct page_column memtables_columns[] = {
    {"group", "Locality group", CELL_TEXT, NULL, NULL},
    {"count", "Memtables", CELL_FIGURE, NULL, NULL},
    {"bytes", "Size", CELL_FIGURE, NULL, NULL},
};

static const struct page_rows memtables_rows = {
    .id = "memtables",
    .caption = "Memtables",
    .columns = memtables_columns,
    .column_count = ARRAY_LEN(memtables_columns),
    .sort = "sort_memtables",
    .nothing = "No memtable.",
    .next = "The server did not tell its memtables.",
};

static const struct page_column events_columns[] = {
    {"text", "Event", CELL_TEXT, NULL, NULL},
    {"at_us", "Ago", CELL_AGE, NULL, NULL},
};

static const struct page_rows events_rows = {
    .id = "events",
    .caption = "Events",
    .columns = events_columns,
    .column_count = ARRAY_LEN(events_columns),
    .sort = "sort_events",
    .nothing = "No event is kept.",
    .next = "METADATA keeps splits, moves and loads of the last days.",
};

static void tablet_compaction(struct html *h, const json_t *doc)
{
    page_figure_begin(h, "Compaction");
    if (page_is_true(doc, "compaction.running"))
        html_lit(h, "running");
    else if (page_field(doc, "compaction.running"))
        html_lit(h, "idle");
    else
        page_missing(h);
    page_figure_end(h);
    page_figure(h, "Compaction debt", doc, "compaction.debt_bytes");
}

static void tablet_figures(struct html *h, const json_t *doc)
{
    page_figures_begin(h, "Figures");
    page_figure_begin(h, "Server");
    tablet_node(h, doc, NULL);
    page_figure_end(h);
    page_figure(h, "Size", doc, "bytes");
    page_figure(h, "Rows read", doc, "reads_per_s");
    page_figure(h, "Rows written", doc, "writes_per_s");
    page_figure(h, "Bytes", doc, "bytes_per_s");
    page_figure_begin(h, "Loaded for");
    page_age(h, page_number_or(doc, "loaded_at_us", NAN),
             page_number_or(doc, "at_us", NAN));
    page_figure_end(h);
    tablet_compaction(h, doc);
    page_figures_end(h);
}

static void tablet_actions(struct html *h, const json_t *doc)
{
    const char *table = table_name(doc);
    const char *start = page_string_or_empty(doc, "start");
    page_action(h, "Move", "/actions/move?table={}&row={}", table, start);
    page_action(h, "Split", "/actions/split?table={}&row={}", table, start);
}

/* "From row a to before row b". */
static void tablet_range(struct html *h, const json_t *doc)
{
    page_sub_begin(h);
    html_lit(h, "From ");
    page_key(h, page_string(doc, "start"), "the first row");
    html_lit(h, " to before ");
    page_key(h, page_string(doc, "end"), "the end of the table");
    page_sub_end(h);
}

void render_tablet(struct html *h, const json_t *doc)
{
    const char *table = page_string_or_empty(doc, "table");
    const struct page_crumb up[] = {{"Tables", "/tables", NULL, NULL},
                                    {table, "/tables/{}", table, NULL}};
    page_head_begin(h, up, ARRAY_LEN(up), "Tablet");
    page_state(h, page_string(doc, "state"));
    tablet_actions(h, doc);
    tablet_range(h, doc);
    page_head_end(h, doc);
    tablet_figures(h, doc);
    page_rows(h, &tablet_files_rows, page_list(doc, "files"), doc);
    html_lit(h, "<div class=\"cols\">");
    page_rows(h, &memtables_rows, page_list(doc, "memtables"), doc);
    page_rows(h, &events_rows, page_list(doc, "events"), doc);
    html_lit(h, "</div>");
}
