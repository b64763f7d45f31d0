/* One job: progress, what it waits for, a timeline of its attempts, the skew of
 * its partitions, counters; and the log of an attempt. */
#include <math.h>
#include <string.h>

#include "cli/console/page_renderers.h"
#include "cli/console/pages/page_fields.h"
#include "cli/console/pages/page_parts.h"
#include "cli/console/pages/page_query.h"
#include "cli/console/pages/page_rows.h"
#include "cli/console/pages/page_timeline.h"

/* --- attempts ------------------------------------------------------------ */

/* "map 12", with its straggling. */
static void attempt_task(struct html *h, const json_t *row, const json_t *doc)
{
    html_json(h, page_field(row, "kind"));
    html_lit(h, " ");
    page_put(h, row, "task");
    if (page_is_straggler(row, page_list(doc, "stragglers"))) {
        html_lit(h, " ");
        page_state(h, "straggler");
    }
}

static void attempt_took(struct html *h, const json_t *row, const json_t *doc)
{
    double from, to;
    if (!page_number(row, "ended_at_us", &to) || to <= 0)
        to = page_number_or(doc, "at_us", NAN);
    if (page_number(row, "begun_at_us", &from) && to >= from)
        page_value(h, HUMANE_DURATION, to - from);
    else
        page_missing(h);
}

/* Of a failed one: why, and where its log is. */
static void attempt_error(struct html *h, const json_t *row, const json_t *doc)
{
    const char *error = page_string_or_empty(row, "error");
    const char *state = page_string_or_empty(row, "state");
    char part[24], task[24], attempt[24];
    page_put(h, row, "error");
    if (!page_is_true(row, "has_log") && !*error &&
        strncmp(state, "fail", 4) != 0)
        return;
    snprintf(part, sizeof(part), "%lld",
             page_field(row, "part")
                 ? (long long)json_integer_value(page_field(row, "part"))
                 : 1);
    snprintf(task, sizeof(task), "%lld",
             (long long)json_integer_value(page_field(row, "task")));
    snprintf(attempt, sizeof(attempt), "%lld",
             (long long)json_integer_value(page_field(row, "attempt")));
    html_lit(h, " <a");
    html_url(h, "href", "/jobs/{}/log?part={}&kind={}&task={}&attempt={}",
             page_string_or_empty(doc, "id"), part,
             page_string_or_empty(row, "kind"), task, attempt);
    html_lit(h, ">log</a>");
}

static const struct page_column attempts_columns[] = {
    {"task", "Task", CELL_FIGURE, NULL, attempt_task},
    {"attempt", "Attempt", CELL_FIGURE, NULL, NULL},
    {"worker", "Worker", CELL_TEXT, NULL, NULL},
    {"state", "State", CELL_STATE, NULL, NULL},
    {"begun_at_us", "Begun ago", CELL_AGE, NULL, NULL},
    {"ended_at_us", "Took", CELL_FIGURE, NULL, attempt_took},
    {"records", "Records", CELL_FIGURE, NULL, NULL},
    {"bytes", "Bytes", CELL_FIGURE, NULL, NULL},
    {"error", "Error", CELL_TEXT, NULL, attempt_error},
};

static const struct page_rows attempts_rows = {
    .id = "attempts",
    .caption = "Attempts",
    .columns = attempts_columns,
    .column_count = ARRAY_LEN(attempts_columns),
    .nothing = "No attempt has begun.",
    .next =
        "Workers take tasks as soon as they have a slot: look at the nodes.",
};

/* --- partitions ---------------------------------------------------------- */

struct partition_sizes {
    const char *field; /* Bytes, or records where those are not known. */
    double max, mean;
};

static struct partition_sizes partition_sizes(const json_t *list)
{
    struct partition_sizes s = {"records", 0, 0};
    for (size_t i = 0; i < json_array_size(list); i++)
        if (page_number_or(json_array_get(list, i), "bytes", 0) > 0)
            s.field = "bytes";
    for (size_t i = 0; i < json_array_size(list); i++) {
        double size = page_number_or(json_array_get(list, i), s.field, 0);
        s.max = fmax(s.max, size);
        s.mean += size / (double)json_array_size(list);
    }
    return s;
}

/* A bar by the greatest; twice the mean is skew. */
static void partition_bar(struct html *h, const json_t *row, const json_t *doc)
{
    struct partition_sizes s = partition_sizes(page_list(doc, "partitions"));
    double size = page_number_or(row, s.field, 0);
    page_bar(h, s.max > 0 ? size / s.max : 0, size > 2 * s.mean);
}

static const struct page_column partitions_columns[] = {
    {"index", "Partition", CELL_FIGURE, NULL, NULL},
    {"records", "Records", CELL_FIGURE, NULL, NULL},
    {"bytes", "Bytes", CELL_FIGURE, NULL, NULL},
    {"share", "Share", CELL_TEXT, NULL, partition_bar},
};

static const struct page_rows partitions_rows = {
    .id = "partitions",
    .caption = "Partitions",
    .columns = partitions_columns,
    .column_count = ARRAY_LEN(partitions_columns),
    .sort = "sort_partitions",
    .nothing = "No partition has data yet.",
    .next = "They fill as map tasks end.",
};

static void job_skew(struct html *h, const json_t *list)
{
    struct partition_sizes s = partition_sizes(list);
    if (s.mean <= 0)
        return;
    html_lit(h, "<p class=\"sub\">The greatest partition has ");
    html_printf(h, "%.1f", s.max / s.mean);
    html_lit(h, " times the mean.</p>");
}

/* --- the job ------------------------------------------------------------- */

static const struct page_column phases_columns[] = {
    {"name", "Phase", CELL_TEXT, NULL, NULL},
    {"tasks", "Tasks", CELL_FIGURE, NULL, NULL},
    {"attempts", "Attempts", CELL_FIGURE, NULL, NULL},
    {"mean_us", "Mean", CELL_FIGURE, NULL, NULL},
    {"longest_us", "Longest", CELL_FIGURE, NULL, NULL},
    {"begun_at_us", "Begun ago", CELL_AGE, NULL, NULL},
    {"ended_at_us", "Took", CELL_FIGURE, NULL, attempt_took},
};

static const struct page_rows phases_rows = {
    .id = "phases",
    .caption = "Phases",
    .columns = phases_columns,
    .column_count = ARRAY_LEN(phases_columns),
    .sort = "sort_phases",
    .nothing = "No phase has begun.",
    .next = "The job waits for its turn.",
};

static void job_figures(struct html *h, const json_t *doc)
{
    double done = page_number_or(doc, "tasks_done", 0);
    double total = page_number_or(doc, "tasks_total", 0);
    page_figures_begin(h, "Progress");
    page_figure_begin(h, "Tasks done");
    page_put(h, doc, "tasks_done");
    html_lit(h, " <small>of ");
    page_put(h, doc, "tasks_total");
    html_lit(h, "</small>");
    page_bar(h, total > 0 ? done / total : 0, false);
    page_figure_end(h);
    page_figure(h, "Phase", doc, "phase");
    page_figure(h, "Tasks running", doc, "tasks_running");
    page_figure(h, "Failed attempts", doc, "attempts_failed");
    page_figure_begin(h, "Took");
    attempt_took(h, doc, doc);
    page_figure_end(h);
    page_figure(h, "Of", doc, "principal");
    page_figures_end(h);
}

static void job_remark(struct html *h, const char *what, const json_t *text)
{
    if (!json_is_string(text))
        return;
    html_lit(h, "<div class=\"note warn\" role=\"note\"><strong>");
    html_str(h, what);
    html_lit(h, "</strong> ");
    html_json(h, text);
    html_lit(h, "</div>");
}

static void job_notes(struct html *h, const json_t *notes)
{
    if (json_array_size(notes) == 0)
        return;
    html_lit(h, "<section class=\"panel\"><h2>Notes</h2><ul>");
    for (size_t i = 0; i < json_array_size(notes); i++) {
        html_lit(h, "<li>");
        html_json(h, json_array_get(notes, i));
        html_lit(h, "</li>");
    }
    html_lit(h, "</ul></section>");
}

static void job_partitions(struct html *h, const json_t *doc)
{
    const json_t *partitions = page_list(doc, "partitions");
    if (json_array_size(partitions) == 0)
        return;
    html_lit(h, "<div>");
    page_rows(h, &partitions_rows, partitions, doc);
    job_skew(h, partitions);
    html_lit(h, "</div>");
}

static void job_parts(struct html *h, const json_t *doc)
{
    const json_t *counters = page_field(doc, "counters");
    html_lit(h, "<div class=\"cols\">");
    job_partitions(h, doc);
    if (json_object_size(counters)) {
        page_pairs_begin(h, "Counters");
        page_pairs_of(h, counters);
        page_pairs_end(h);
    }
    job_notes(h, page_list(doc, "notes"));
    html_lit(h, "</div>");
}

static void job_kill(struct html *h, const json_t *doc)
{
    double ended;
    if (!page_number(doc, "ended_at_us", &ended) || ended <= 0)
        page_action(h, "Kill", "/actions/kill?job={}",
                    page_string_or_empty(doc, "id"), NULL);
}

static void job_trace_link(struct html *h, const char *trace)
{
    if (!*trace)
        return;
    html_lit(h, " <a");
    html_url(h, "href", "/traces/{}", trace);
    html_lit(h, ">trace</a>");
}

void render_job(struct html *h, const json_t *doc)
{
    static const struct page_crumb up = {"Jobs", "/jobs", NULL, NULL};
    const char *label = page_string_or_empty(doc, "label");
    const char *id = page_string_or_empty(doc, "id");
    const json_t *attempts = page_list(doc, "attempts");
    page_head_begin(h, &up, 1, *label ? label : id);
    page_state(h, page_string(doc, "state"));
    job_kill(h, doc);
    page_sub_begin(h);
    html_str(h, id);
    job_trace_link(h, page_string_or_empty(doc, "trace_id"));
    page_sub_end(h);
    page_head_end(h, doc);
    job_remark(h, "Error:", page_field(doc, "error"));
    job_remark(h, "Waits:", page_field(doc, "waits_for"));
    job_remark(h, "Hint:", page_field(doc, "hint"));
    job_figures(h, doc);
    page_timeline(h, attempts, page_list(doc, "stragglers"),
                  page_number_or(doc, "at_us", 0));
    if (page_list_size(doc, "phases"))
        page_rows(h, &phases_rows, page_list(doc, "phases"), doc);
    job_parts(h, doc);
    page_rows(h, &attempts_rows, attempts, doc);
    page_query_next(h, doc, "attempts_next", "after", "More attempts");
}

void render_job_log(struct html *h, const json_t *doc)
{
    const char *id = page_string_or_empty(doc, "id");
    const struct page_crumb up[] = {{"Jobs", "/jobs", NULL, NULL},
                                    {id, "/jobs/{}", id, NULL}};
    const char *text = page_string_or_empty(doc, "text");
    page_head_begin(h, up, ARRAY_LEN(up), "Log of an attempt");
    page_sub_begin(h);
    html_json(h, page_field(doc, "kind"));
    html_lit(h, " task ");
    page_put(h, doc, "task");
    html_lit(h, ", attempt ");
    page_put(h, doc, "attempt");
    page_sub_end(h);
    page_head_end(h, doc);
    if (!*text) {
        page_empty(h, "The attempt wrote no log.",
                   "It has the standard error of a task.");
        return;
    }
    html_lit(h, "<pre class=\"log\" tabindex=\"0\" role=\"region\" "
                "aria-label=\"Log\">");
    html_str(h, text);
    html_lit(h, "</pre>");
}
