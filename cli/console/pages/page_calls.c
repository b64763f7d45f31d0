/* Slow calls, and one trace as a waterfall. Spans come from several nodes in
 * no order and some are lost, so the tree is built from what there is:
 * without recursion, and with cycles cut. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "cli/console/page_renderers.h"
#include "cli/console/pages/page_fields.h"
#include "cli/console/pages/page_parts.h"
#include "cli/console/pages/page_query.h"
#include "cli/console/pages/page_rows.h"

/* --- slow calls ---------------------------------------------------------- */

static void call_outcome(struct html *h, const json_t *row, const json_t *doc)
{
    (void)doc;
    page_outcome(h, page_string(row, "outcome"));
}

static const struct page_column calls_columns[] = {
    {"method", "Method", CELL_TEXT, NULL, NULL},
    {"node", "Node", CELL_TEXT, "/nodes/{}", NULL},
    {"duration_us", "Took", CELL_FIGURE, NULL, NULL},
    {"kept", "Kept as", CELL_TEXT, NULL, NULL},
    {"begun_at_us", "Begun ago", CELL_AGE, NULL, NULL},
    {"outcome", "Outcome", CELL_STATE, NULL, call_outcome},
    {"peer", "From", CELL_TEXT, NULL, NULL},
    {"trace_id", "Trace", CELL_KEY, "/traces/{}", NULL},
};

static const struct page_rows calls_rows = {
    .id = "slow",
    .caption = "Slow calls",
    .columns = calls_columns,
    .column_count = ARRAY_LEN(calls_columns),
    .nothing = "No call was slow.",
    .next = "Calls that take longer than `trace-slow` are kept.",
};

static void calls_field(struct html *h, const char *label, const char *name)
{
    char value[256];
    (void)page_query_get(h, name, value, sizeof(value));
    html_lit(h, "<label>");
    html_str(h, label);
    html_lit(h, "<input");
    html_attr(h, "name", name);
    html_attr(h, "value", value);
    html_lit(h, "></label>");
}

void render_calls(struct html *h, const json_t *doc)
{
    page_head(h, doc, "Calls");
    html_lit(h, "<form class=\"bar\" role=\"search\" "
                "aria-label=\"Which calls\">");
    calls_field(h, "Method", "method");
    calls_field(h, "Node", "node");
    calls_field(h, "At least, in µs", "min_us");
    html_lit(h, "<button>Show</button></form>");
    page_rows(h, &calls_rows, page_list(doc, "slow"), doc);
}

/* --- a trace ------------------------------------------------------------- */

/* Spans that are drawn; the JSON has all. */
#define TRACE_SPANS_MAX 2000
/* Steps by which a span is indented at most. */
#define TRACE_DEPTH_MAX 8

struct trace_span {
    const json_t *span;
    const char *id, *parent;
    double from, took;
    size_t depth;
    bool placed;
};

struct trace_tree {
    struct trace_span *spans; /* By begin. Owned. */
    size_t *order;            /* Parents before their children. Owned. */
    size_t *path;             /* From a root to the newest placed. Owned. */
    size_t count, ordered;
    double from, to;
};

static int trace_compare(const void *a, const void *b)
{
    const struct trace_span *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

static void trace_collect(struct trace_tree *t, const json_t *spans)
{
    size_t count = MIN_OF(json_array_size(spans), TRACE_SPANS_MAX);
    memset(t, 0, sizeof(*t));
    t->spans = mem_zalloc(count + 1, sizeof(*t->spans));
    t->order = mem_zalloc(count + 1, sizeof(*t->order));
    t->path = mem_zalloc(count + 1, sizeof(*t->path));
    for (size_t i = 0; i < count; i++) {
        struct trace_span *s = &t->spans[t->count];
        s->span = json_array_get(spans, i);
        s->id = page_string_or_empty(s->span, "id");
        s->parent = page_string_or_empty(s->span, "parent");
        s->from = page_number_or(s->span, "begun_at_us", 0);
        s->took = fmax(page_number_or(s->span, "duration_us", 0), 0);
        t->from = t->count ? fmin(t->from, s->from) : s->from;
        t->to = t->count ? fmax(t->to, s->from + s->took) : s->from + s->took;
        t->count++;
    }
    if (t->count)
        qsort(t->spans, t->count, sizeof(*t->spans), trace_compare);
}

/* Is span @child to be placed below @parent? */
static bool trace_is_child(const struct trace_span *child,
                           const struct trace_span *parent)
{
    return !child->placed && *child->parent &&
           strcmp(child->parent, parent->id) == 0;
}

static void trace_place(struct trace_tree *t, size_t i, size_t depth)
{
    PRE(!t->spans[i].placed);
    PRE(t->ordered < t->count);
    t->spans[i].placed = true;
    t->spans[i].depth = depth;
    t->order[t->ordered++] = i;
}

/* Place the spans below the one at @root, depth first, without recursion: after
 * each placed span comes the first child of the newest ancestor that has one
 * left. */
static void trace_place_below(struct trace_tree *t, size_t root)
{
    size_t *path = t->path;
    size_t depth = 0;
    path[0] = root;
    trace_place(t, root, 0);
    for (;;) {
        size_t i = 0;
        while (i < t->count &&
               !trace_is_child(&t->spans[i], &t->spans[path[depth]]))
            i++;
        if (i < t->count) {
            INVARIANT(depth + 1 < t->count);
            path[++depth] = i;
            trace_place(t, i, depth);
        } else if (depth == 0) {
            return;
        } else {
            depth--;
        }
    }
}

static bool trace_has_parent(const struct trace_tree *t, size_t i)
{
    for (size_t k = 0; k < t->count; k++)
        if (k != i && strcmp(t->spans[k].id, t->spans[i].parent) == 0)
            return true;
    return false;
}

/* Roots first; then what only a circle of parents leads to. */
static void trace_order(struct trace_tree *t)
{
    for (size_t i = 0; i < t->count; i++)
        if (!t->spans[i].placed && !trace_has_parent(t, i))
            trace_place_below(t, i);
    for (size_t i = 0; i < t->count; i++)
        if (!t->spans[i].placed)
            trace_place_below(t, i);
    POST(t->ordered == t->count);
}

static void trace_bar(struct html *h,
                      const struct trace_tree *t,
                      const struct trace_span *s)
{
    double span = fmax(t->to - t->from, 1);
    const char *outcome = page_string_or_empty(s->span, "outcome");
    bool good = !*outcome || strcmp(outcome, "ok") == 0;
    INVARIANT(t->from <= s->from);
    INVARIANT(s->from + s->took <= t->to);
    html_lit(h, "<td class=\"draw\"><svg class=\"bar\" aria-hidden=\"true\">"
                "<rect class=\"rail\" width=\"100%\" y=\"48%\" "
                "height=\"4%\"/><rect");
    html_attr(h, "class", good ? "s-run" : "s-fail");
    page_percent_attr(h, "x", (s->from - t->from) / span);
    page_percent_attr(h, "width", fmax(s->took / span, 0.003));
    html_lit(h, " height=\"100%\" rx=\"2\"/></svg></td>");
}

static void trace_attributes(struct html *h, const json_t *attributes)
{
    const char *key;
    json_t *value;
    const char *separator = "";
    if (json_object_size(attributes) == 0)
        return;
    html_lit(h, "<br><small>");
    json_object_foreach((json_t *)(uintptr_t)attributes, key, value) {
        html_printf(h, "%s%s ", separator, key);
        /* Counts are exact: some are names, as that of a tablet. */
        if (json_is_number(value) && humane_unit_of(key) != HUMANE_COUNT)
            page_value(h, humane_unit_of(key), json_number_value(value));
        else
            html_json(h, value);
        separator = ", ";
    }
    html_lit(h, "</small>");
}

static void trace_row(struct html *h,
                      const struct trace_tree *t,
                      const struct trace_span *s)
{
    html_lit(h, "<tr><th scope=\"row\"><div class=\"d");
    html_printf(h, "%zu", MIN_OF(s->depth, TRACE_DEPTH_MAX));
    html_lit(h, "\">");
    page_put(h, s->span, "name");
    trace_attributes(h, page_field(s->span, "attributes"));
    html_lit(h, "</div></th><td>");
    page_put(h, s->span, "kind");
    html_lit(h, "</td><td>");
    page_put(h, s->span, "node");
    html_lit(h, "</td><td class=\"num\">");
    page_value(h, HUMANE_DURATION, s->from - t->from);
    html_lit(h, "</td><td class=\"num\">");
    page_put(h, s->span, "duration_us");
    html_lit(h, "</td>");
    trace_bar(h, t, s);
    html_lit(h, "<td>");
    page_outcome(h, page_string(s->span, "outcome"));
    html_lit(h, "</td></tr>");
}

static void trace_table(struct html *h, const struct trace_tree *t)
{
    html_lit(h,
             "<div class=\"wide\" role=\"region\" tabindex=\"0\" "
             "aria-label=\"Spans\"><table id=\"spans\"><caption>Spans</caption>"
             "<thead><tr><th scope=\"col\">Span</th><th scope=\"col\">Kind</th>"
             "<th scope=\"col\">Node</th><th scope=\"col\" class=\"num\">After"
             "</th><th scope=\"col\" class=\"num\">Took</th><th "
             "scope=\"col\">When</th><th scope=\"col\">Outcome</th></tr>"
             "</thead><tbody>");
    for (size_t i = 0; i < t->ordered; i++)
        trace_row(h, t, &t->spans[t->order[i]]);
    html_lit(h, "</tbody></table></div>");
}

static void trace_figures(struct html *h, const struct trace_tree *t)
{
    page_figures_begin(h, "Figures");
    page_figure_begin(h, "Took");
    page_value(h, HUMANE_DURATION, t->to - t->from);
    page_figure_end(h);
    page_figure_begin(h, "Spans");
    page_value(h, HUMANE_COUNT, (double)t->count);
    page_figure_end(h);
    page_figure_begin(h, "Begun");
    page_time(h, t->from);
    page_figure_end(h);
    page_figures_end(h);
}

void render_trace(struct html *h, const json_t *doc)
{
    static const struct page_crumb up = {"Calls", "/slow", NULL, NULL};
    struct trace_tree t;
    trace_collect(&t, page_list(doc, "spans"));
    trace_order(&t);
    page_head_begin(h, &up, 1, "Trace");
    page_sub_begin(h);
    page_key(h, page_string(doc, "id"), "");
    page_sub_end(h);
    page_head_end(h, doc);
    if (t.count) {
        trace_figures(h, &t);
        trace_table(h, &t);
    } else {
        page_empty(h, "Nothing of this trace is kept any more.",
                   "Nodes keep the newest spans in memory.");
    }
    mem_free(t.spans);
    mem_free(t.order);
    mem_free(t.path);
}
