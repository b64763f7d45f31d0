/* Jobs that run, with their progress, and those that have ended, with the
 * time they took and how they ended. */
#include "cli/console/page_renderers.h"
#include "cli/console/pages/page_fields.h"
#include "cli/console/pages/page_parts.h"
#include "cli/console/pages/page_rows.h"

static void job_progress(struct html *h, const json_t *row, const json_t *doc)
{
    double done, total;
    (void)doc;
    page_put(h, row, "tasks_done");
    html_lit(h, " <small>of ");
    page_put(h, row, "tasks_total");
    html_lit(h, "</small>");
    if (page_number(row, "tasks_done", &done) &&
        page_number(row, "tasks_total", &total) && total > 0)
        page_bar(h, done / total, false);
}

/* Its label, with its id below. */
static void job_label(struct html *h, const json_t *row, const json_t *doc)
{
    const char *id = page_string(row, "id");
    const char *label = page_string_or_empty(row, "label");
    (void)doc;
    if (!id) {
        page_put(h, row, "label");
        return;
    }
    html_lit(h, "<a");
    html_url(h, "href", "/jobs/{}", id);
    html_lit(h, ">");
    html_str(h, *label ? label : id);
    html_lit(h, "</a>");
    if (*label) {
        html_lit(h, "<br><small class=\"key\">");
        html_str(h, id);
        html_lit(h, "</small>");
    }
}

static void job_took(struct html *h, const json_t *row, const json_t *doc)
{
    double from, to;
    if (!page_number(row, "ended_at_us", &to) || to <= 0)
        to = page_number_or(doc, "at_us", 0);
    if (page_number(row, "begun_at_us", &from) && from > 0 && to >= from)
        page_value(h, HUMANE_DURATION, to - from);
    else
        page_missing(h);
}

static const struct page_column running_columns[] = {
    {"label", "Job", CELL_TEXT, NULL, job_label},
    {"state", "State", CELL_STATE, NULL, NULL},
    {"phase", "Phase", CELL_TEXT, NULL, NULL},
    {"tasks_done", "Tasks done", CELL_FIGURE, NULL, job_progress},
    {"tasks_running", "Running", CELL_FIGURE, NULL, NULL},
    {"attempts_failed", "Failed attempts", CELL_FIGURE, NULL, NULL},
    {"begun_at_us", "Running for", CELL_AGE, NULL, NULL},
    {"waits_for", "Waits for", CELL_TEXT, NULL, NULL},
    {"principal", "Of", CELL_TEXT, NULL, NULL},
};

static const struct page_rows running_rows = {
    .id = "running",
    .caption = "Running",
    .columns = running_columns,
    .column_count = ARRAY_LEN(running_columns),
    .key = "id",
    .nothing = "No job runs.",
    .next = "Begin one: quarry job run --help",
};

static const struct page_column past_columns[] = {
    {"label", "Job", CELL_TEXT, NULL, job_label},
    {"state", "State", CELL_STATE, NULL, NULL},
    {"tasks_done", "Tasks done", CELL_FIGURE, NULL, job_progress},
    {"attempts_failed", "Failed attempts", CELL_FIGURE, NULL, NULL},
    {"ended_at_us", "Ended ago", CELL_AGE, NULL, NULL},
    {"begun_at_us", "Took", CELL_TEXT, NULL, job_took},
    {"principal", "Of", CELL_TEXT, NULL, NULL},
};

static const struct page_rows past_rows = {
    .id = "past",
    .caption = "Past",
    .columns = past_columns,
    .column_count = ARRAY_LEN(past_columns),
    .key = "id",
    .sort = "sort_past",
    .nothing = "No job has ended yet.",
    .next = "The history of a job is here as soon as it ends.",
};

static const struct page_column workers_columns[] = {
    {"name", "Worker", CELL_TEXT, NULL, NULL},
    {"state", "State", CELL_STATE, NULL, NULL},
    {"address", "Address", CELL_TEXT, NULL, NULL},
    {"rack", "Rack", CELL_TEXT, NULL, NULL},
    {"slots_busy", "Busy slots", CELL_FIGURE, NULL, NULL},
    {"slots", "Slots", CELL_FIGURE, NULL, NULL},
    {"memory_promised_bytes", "Memory promised", CELL_FIGURE, NULL, NULL},
    {"memory_bytes", "Memory", CELL_FIGURE, NULL, NULL},
};

static const struct page_rows workers_rows = {
    .id = "workers",
    .caption = "Workers",
    .columns = workers_columns,
    .column_count = ARRAY_LEN(workers_columns),
    .key = "name",
    .sort = "sort_workers",
    .nothing = "No worker is known.",
    .next = "Without one no task runs: nodes need the role worker.",
};

void render_jobs(struct html *h, const json_t *doc)
{
    page_head(h, doc, "Jobs");
    page_rows(h, &running_rows, page_list(doc, "running"), doc);
    page_rows(h, &past_rows, page_list(doc, "past"), doc);
    page_rows(h, &workers_rows, page_list(doc, "workers"), doc);
}
