/* The overview: health in one sentence, findings with what to do about them,
 * figures, plots and leaders. It answers the first question of a call at
 * night. */
#include <math.h>
#include <string.h>

#include "cli/console/page_renderers.h"
#include "cli/console/pages/page_fields.h"
#include "cli/console/pages/page_finding_list.h"
#include "cli/console/pages/page_parts.h"
#include "cli/console/pages/page_plots.h"

static const struct page_plot overview_plots[] = {
    {"Operations",
     "per_s",
     {{"reads_per_s", "rows read"}, {"writes_per_s", "rows written"}}},
    {"Latency, median",
     "us",
     {{"read_p50_us", "read"},
      {"write_p50_us", "write"},
      {"scan_p50_us", "scan"},
      {"commit_p50_us", "commit"}}},
    {"Latency, 99 % are quicker",
     "us",
     {{"read_p99_us", "read"},
      {"write_p99_us", "write"},
      {"scan_p99_us", "scan"},
      {"commit_p99_us", "commit"}}},
    {"Bytes of rows", "bytes_per_s", {{"bytes_per_s", "read and written"}}},
    {"Errors", "per_s", {{"errors_per_s", "failed calls"}}},
    {"Disk",
     "bytes",
     {{"disk_used_bytes", "chunks"},
      {"disk_free_bytes", "free"},
      {"disk_size_bytes", "size"}}},
};

/* --- findings ------------------------------------------------------------ */

static void finding_sentence(struct html *h, const json_t *f)
{
    const char *link = page_string(f, "link");
    html_lit(h, "<strong>");
    /* Only addresses of the console: a document cannot lead elsewhere. */
    if (link && link[0] == '/' && link[1] != '/' && link[1] != '\\') {
        html_lit(h, "<a");
        html_attr(h, "href", link);
        html_lit(h, ">");
        page_put(h, f, "sentence");
        html_lit(h, "</a>");
    } else {
        page_put(h, f, "sentence");
    }
    html_lit(h, "</strong>");
}

static void finding_item(struct html *h, const json_t *f, const json_t *doc)
{
    double since;
    html_lit(h, "<li>");
    page_state(h, page_string(f, "severity"));
    html_lit(h, "<div>");
    finding_sentence(h, f);
    if (page_string(f, "remedy")) {
        html_lit(h, "<div>");
        page_put(h, f, "remedy");
        html_lit(h, "</div>");
    }
    /* A finding that is new has no age yet. */
    if (page_number(f, "since_at_us", &since) &&
        page_number_or(doc, "at_us", NAN) - since >= 1e6) {
        html_lit(h, "<div class=\"dim\">for ");
        page_age(h, since, page_number_or(doc, "at_us", NAN));
        html_lit(h, "</div>");
    }
    html_lit(h, "</div></li>");
}

void page_finding_list(struct html *h,
                       const json_t *findings,
                       const json_t *doc)
{
    html_lit(h, "<ul class=\"finds\">");
    for (size_t i = 0; i < json_array_size(findings); i++)
        finding_item(h, json_array_get(findings, i), doc);
    html_lit(h, "</ul>");
}

void render_findings(struct html *h, const json_t *doc)
{
    const json_t *list = page_list(doc, "findings");
    page_head(h, doc, "Findings");
    html_lit(h, "<section class=\"panel\" aria-label=\"Findings\">");
    if (json_array_size(list))
        page_finding_list(h, list, doc);
    else
        page_empty(h, "Nothing is wrong, and nothing soon will be.",
                   "`quarry doctor` tells the same.");
    html_lit(h, "</section>");
}

/* --- the overview -------------------------------------------------------- */

static void overview_head(struct html *h, const json_t *doc)
{
    page_head_begin(h, NULL, 0, "Overview");
    page_state(h, page_string(doc, "state"));
    html_lit(h, "<p class=\"sub state\" aria-live=\"polite\">");
    page_put(h, doc, "sentence");
    html_lit(h, "</p>");
    page_head_end(h, doc);
}

static void overview_findings(struct html *h, const json_t *doc)
{
    const json_t *list = page_list(doc, "findings");
    if (json_array_size(list) == 0)
        return;
    html_lit(h, "<section class=\"panel\"><h2>Findings</h2>");
    page_finding_list(h, list, doc);
    html_lit(h, "<p><a href=\"/findings\">All findings</a></p></section>");
}

/* "2 of 3", of two fields. */
static void overview_share(struct html *h,
                           const char *name,
                           const char *link,
                           const json_t *doc,
                           const char *part,
                           const char *whole)
{
    page_figure_begin(h, name);
    html_lit(h, "<a");
    html_attr(h, "href", link);
    html_lit(h, ">");
    page_put(h, doc, part);
    html_lit(h, "</a> <small>of ");
    page_put(h, doc, whole);
    html_lit(h, "</small>");
    page_figure_end(h);
}

static void overview_latency(struct html *h,
                             const char *name,
                             const json_t *doc,
                             const char *p50,
                             const char *p99)
{
    page_figure_begin(h, name);
    page_put(h, doc, p50);
    html_lit(h, " <small>p99 ");
    page_put(h, doc, p99);
    html_lit(h, "</small>");
    page_figure_end(h);
}

static void overview_linked(struct html *h,
                            const char *name,
                            const char *link,
                            const json_t *doc,
                            const char *path)
{
    page_figure_begin(h, name);
    html_lit(h, "<a");
    html_attr(h, "href", link);
    html_lit(h, ">");
    page_put(h, doc, path);
    html_lit(h, "</a>");
    page_figure_end(h);
}

static void overview_figures(struct html *h, const json_t *doc)
{
    page_figures_begin(h, "Figures");
    overview_share(h, "Nodes up", "/nodes", doc, "nodes.up", "nodes.total");
    overview_linked(h, "Tables", "/tables", doc, "tables");
    page_figure(h, "Tablets", doc, "tablets");
    if (page_number_or(doc, "tablets_unassigned", 0) > 0)
        page_figure(h, "Not served", doc, "tablets_unassigned");
    page_figure(h, "Rows read", doc, "reads_per_s");
    page_figure(h, "Rows written", doc, "writes_per_s");
    page_figure(h, "Bytes of rows", doc, "bytes_per_s");
    page_figure(h, "Errors", doc, "errors_per_s");
    overview_latency(h, "Read", doc, "latency.read.p50_us",
                     "latency.read.p99_us");
    overview_latency(h, "Write", doc, "latency.write.p50_us",
                     "latency.write.p99_us");
    overview_latency(h, "Scan", doc, "latency.scan.p50_us",
                     "latency.scan.p99_us");
    overview_latency(h, "Commit", doc, "latency.commit.p50_us",
                     "latency.commit.p99_us");
    overview_share(h, "Disk used", "/files", doc, "disk.used_bytes",
                   "disk.size_bytes");
    overview_linked(h, "Jobs running", "/jobs", doc, "jobs.running");
    page_figure(h, "Jobs waiting", doc, "jobs.waiting");
    page_figures_end(h);
}

static void overview_leader(struct html *h,
                            const char *name,
                            const json_t *doc,
                            const char *path)
{
    const char *node = page_string(doc, path);
    page_figure_begin(h, name);
    if (node && *node) {
        html_lit(h, "<a");
        html_url(h, "href", "/nodes/{}", node);
        html_lit(h, ">");
        html_str(h, node);
        html_lit(h, "</a>");
    } else {
        page_state(h, "none");
    }
    page_figure_end(h);
}

static void overview_leaders(struct html *h, const json_t *doc)
{
    page_pairs_begin(h, "Leaders");
    overview_leader(h, "Lock service", doc, "leaders.lock");
    overview_leader(h, "Namenode", doc, "leaders.namenode");
    overview_leader(h, "Master of tables", doc, "leaders.master");
    overview_leader(h, "Master of jobs", doc, "leaders.jobs");
    page_pairs_end(h);
}

void render_overview(struct html *h, const json_t *doc)
{
    overview_head(h, doc);
    overview_findings(h, doc);
    overview_figures(h, doc);
    page_plots(h, overview_plots, ARRAY_LEN(overview_plots), "");
    overview_leaders(h, doc);
}

/* --- any series ---------------------------------------------------------- */

#define HISTORY_PLOTS_MAX 24

void render_history(struct html *h, const json_t *doc)
{
    const json_t *series = page_list(doc, "series");
    struct page_plot plots[HISTORY_PLOTS_MAX] = {0};
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(series); i++) {
        const json_t *s = json_array_get(series, i);
        const char *name = page_string(s, "name");
        bool known = !name || count == HISTORY_PLOTS_MAX;
        for (size_t k = 0; k < count && !known; k++)
            known = strcmp(plots[k].lines[0].series, name) == 0;
        if (known)
            continue;
        plots[count].title = name;
        plots[count].unit = page_string_or_empty(s, "unit");
        plots[count].lines[0] = (struct page_plot_line){name, "value"};
        count++;
    }
    page_head(h, doc, "History");
    if (count)
        page_plots(h, plots, count, "");
    else
        page_empty(h, "No samples yet.",
                   "A process samples its figures every 5 seconds.");
}
