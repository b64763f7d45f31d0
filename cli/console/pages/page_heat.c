/* The key visualizer of a table. The script draws the picture; the page itself
 * has the ranges that were used most as a table, which says the same to readers
 * without a script or a screen.
 */
#include <string.h>

#include "cli/console/page_renderers.h"
#include "cli/console/pages/page_fields.h"
#include "cli/console/pages/page_parts.h"
#include "cli/console/pages/page_query.h"
#include "cli/console/pages/page_rows.h"

/* The figures to choose from. Links keep the rows and times that are shown. */
static void heat_choice(struct html *h, const char *what)
{
    static const char *const choices[] = {"reads", "writes", "bytes"};
    html_lit(h, "<nav class=\"ranges\" aria-label=\"Figure\">");
    for (size_t i = 0; i < ARRAY_LEN(choices); i++) {
        html_lit(h, "<a class=\"btn\"");
        page_query_link(h, "what", choices[i]);
        html_attr(h, "data-what", choices[i]);
        if (strcmp(choices[i], what) == 0)
            html_lit(h, " aria-current=\"true\"");
        html_lit(h, ">");
        html_str(h, choices[i]);
        html_lit(h, "</a> ");
    }
    html_lit(h, "</nav>");
}

/* The times to choose from, of the same rows. */
static void heat_spans(struct html *h)
{
    static const struct {
        const char *name;
        const char *from; /* Seconds before now; NULL: a day. */
    } spans[] = {{"1 hour", "-3600"}, {"6 hours", "-21600"}, {"1 day", NULL}};

    char from[32];
    bool has_from = page_query_get(h, "from", from, sizeof(from));
    html_lit(h, "<nav class=\"ranges\" aria-label=\"Span\">");
    for (size_t i = 0; i < ARRAY_LEN(spans); i++) {
        bool is_it =
            spans[i].from ? strcmp(from, spans[i].from) == 0 : !has_from;
        html_lit(h, "<a class=\"btn\"");
        page_query_link(h, "from", spans[i].from);
        if (is_it)
            html_lit(h, " aria-current=\"true\"");
        html_lit(h, ">");
        html_str(h, spans[i].name);
        html_lit(h, "</a> ");
    }
    html_lit(h, "</nav>");
}

/* The first row of the range, with a link to the tablet that has it. */
static void heat_tablet(struct html *h, const json_t *row, const json_t *doc)
{
    const char *start = page_string_or_empty(row, "start");
    html_lit(h, "<a");
    html_url(h, "href", "/tables/{}/tablet?start={}",
             page_string_or_empty(doc, "table"), start);
    html_lit(h, ">");
    page_key(h, start, "the first row");
    html_lit(h, "</a>");
}

static void heat_end(struct html *h, const json_t *row, const json_t *doc)
{
    (void)doc;
    page_key(h, page_string(row, "end"), "the end");
}

/* Of bytes or rows, as the document says. */
static void
heat_rate(struct html *h, const json_t *row, const json_t *doc, const char *of)
{
    const char *unit = page_string_or_empty(doc, "unit");
    const json_t *value = page_field(row, of);
    if (!json_is_number(value)) {
        page_missing(h);
        return;
    }
    page_value(h, humane_unit_of(unit), json_number_value(value));
}

static void heat_mean(struct html *h, const json_t *row, const json_t *doc)
{
    heat_rate(h, row, doc, "mean_per_s");
}

static void heat_now(struct html *h, const json_t *row, const json_t *doc)
{
    heat_rate(h, row, doc, "now_per_s");
}

static void heat_most(struct html *h, const json_t *row, const json_t *doc)
{
    heat_rate(h, row, doc, "most_per_s");
}

static const struct page_column heat_columns[] = {
    {"start", "From row", CELL_KEY, NULL, heat_tablet},
    {"end", "To before", CELL_KEY, NULL, heat_end},
    {"mean_per_s", "Mean", CELL_FIGURE, NULL, heat_mean},
    {"now_per_s", "Now", CELL_FIGURE, NULL, heat_now},
    {"most_per_s", "Most", CELL_FIGURE, NULL, heat_most},
    {"most_at_us", "At", CELL_AGE, NULL, NULL},
};

static const struct page_rows heat_rows = {
    .id = "hottest",
    .caption = "Hottest ranges of rows",
    .columns = heat_columns,
    .column_count = ARRAY_LEN(heat_columns),
    .nothing = "Nothing was counted for these rows in this time.",
    .next = "Servers count while rows are read and written, and remember a "
            "day.",
};

void render_heat(struct html *h, const json_t *doc)
{
    const char *table = page_string_or_empty(doc, "table");
    const struct page_crumb up[] = {{"Tables", "/tables", NULL, NULL},
                                    {table, "/tables/{}", table, NULL}};
    const char *what = page_string(doc, "what");
    page_head_begin(h, up, ARRAY_LEN(up), "Key visualizer");
    page_head_end(h, doc);
    heat_choice(h, what ? what : "reads");
    heat_spans(h);
    html_lit(h, "<section class=\"panel heat\" id=\"heat\" data-keep=\"\" "
                "aria-label=\"Heat by range of rows and time\"><noscript>The "
                "picture is drawn by a script; the table below has its "
                "hottest ranges.</noscript></section>");
    page_rows(h, &heat_rows, page_list(doc, "hottest"), doc);
}
