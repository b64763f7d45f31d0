/* The views of `quarry top`, as tables. The members are those of the documents,
 * which docs/monitoring.md lists.
 */
#include "cli/top/top_view.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/core/macros.h"
#include "base/core/panic.h"

static const struct top_view views[TOP_VIEWS] = {
    [TOP_NODES] = {.name = "nodes",
                   .subject = "nodes",
                   .rows = {"nodes"},
                   .columns = {{"name", "name", TOP_TEXT},
                               {"state", "state", TOP_TEXT},
                               {"cpu_cores", "cpu", TOP_RATE},
                               {"rss_bytes", "memory", TOP_BYTES},
                               {"reads_per_s", "reads/s", TOP_RATE},
                               {"writes_per_s", "writes/s", TOP_RATE},
                               {"errors_per_s", "errors/s", TOP_RATE},
                               {"p99_us", "p99", TOP_DURATION},
                               {"tablets", "tablets", TOP_NUMBER},
                               {"disk_used_bytes", "disk", TOP_BYTES},
                               {"bytes_per_s", "bytes/s", TOP_BYTES},
                               {"up_us", "up", TOP_DURATION},
                               {"roles", "roles", TOP_ROLES},
                               {"why", "why", TOP_TEXT}},
                   .column_count = 14,
                   .key = "address",
                   .drill = TOP_NODE,
                   .drill_from = {"address"}},
    [TOP_TABLES] = {.name = "tables",
                    .subject = "tables",
                    .rows = {"tables"},
                    .columns = {{"name", "name", TOP_TEXT},
                                {"reads_per_s", "reads/s", TOP_RATE},
                                {"writes_per_s", "writes/s", TOP_RATE},
                                {"bytes_per_s", "bytes/s", TOP_BYTES},
                                {"bytes", "size", TOP_BYTES},
                                {"tablets", "tablets", TOP_NUMBER},
                                {"families", "families", TOP_NUMBER},
                                {"state", "state", TOP_TEXT}},
                    .column_count = 8,
                    .sort = 1,
                    .is_descending = true,
                    .key = "name",
                    .drill = TOP_TABLETS,
                    .drill_from = {"name"}},
    [TOP_TABLETS] = {.name = "tablets",
                     .subject = "table",
                     .rows = {"tablets"},
                     .params = {"name"},
                     .columns = {{"start", "start", TOP_TEXT},
                                 {"end", "end", TOP_TEXT},
                                 {"node", "node", TOP_TEXT},
                                 {"reads_per_s", "reads/s", TOP_RATE},
                                 {"writes_per_s", "writes/s", TOP_RATE},
                                 {"bytes_per_s", "bytes/s", TOP_BYTES},
                                 {"bytes", "size", TOP_BYTES},
                                 {"files", "files", TOP_NUMBER},
                                 {"state", "state", TOP_TEXT},
                                 {"debt_bytes", "debt", TOP_BYTES},
                                 {"memory_bytes", "memory", TOP_BYTES},
                                 {"loaded_at_us", "loaded", TOP_TIME}},
                     .column_count = 12,
                     .sort = 3,
                     .is_descending = true,
                     .key = "start",
                     .drill = TOP_TABLET,
                     .drill_from = {":0", "start"}},
    [TOP_JOBS] = {.name = "jobs",
                  .subject = "jobs",
                  .rows = {"running", "past"},
                  .columns = {{"id", "id", TOP_TEXT},
                              {"label", "label", TOP_TEXT},
                              {"state", "state", TOP_TEXT},
                              {"phase", "phase", TOP_TEXT},
                              {"tasks_done", "done", TOP_NUMBER},
                              {"tasks_total", "tasks", TOP_NUMBER},
                              {"tasks_running", "running", TOP_NUMBER},
                              {"attempts_failed", "failed", TOP_NUMBER},
                              {"begun_at_us", "begun", TOP_TIME},
                              {"ended_at_us", "ended", TOP_TIME},
                              {"principal", "who", TOP_TEXT},
                              {"waits_for", "waits for", TOP_TEXT}},
                  .column_count = 12,
                  .sort = 8,
                  .is_descending = true,
                  .key = "id",
                  .drill = TOP_JOB,
                  .drill_from = {"id"}},
    [TOP_CALLS] = {.name = "calls",
                   .subject = "calls",
                   .rows = {"slow"},
                   .columns = {{"begun_at_us", "begun", TOP_TIME},
                               {"duration_us", "took", TOP_DURATION},
                               {"method", "method", TOP_TEXT},
                               {"node", "node", TOP_TEXT},
                               {"peer", "peer", TOP_TEXT},
                               {"outcome", "outcome", TOP_TEXT},
                               {"trace_id", "trace", TOP_TEXT}},
                   .column_count = 7,
                   .sort = 1,
                   .is_descending = true,
                   .key = "trace_id",
                   .drill = TOP_TRACE,
                   .drill_from = {"trace_id"}},
    [TOP_FINDINGS] = {.name = "findings",
                      .subject = "findings",
                      .rows = {"findings"},
                      .columns = {{"severity", "severity", TOP_TEXT},
                                  {"since_at_us", "since", TOP_TIME},
                                  {"subject", "about", TOP_TEXT},
                                  {"sentence", "what", TOP_TEXT},
                                  {"remedy", "remedy", TOP_TEXT}},
                      .column_count = 5,
                      .key = "sentence",
                      .drill = TOP_VIEWS},
    [TOP_NODE] = {.name = "node",
                  .subject = "node",
                  .params = {"name"},
                  .columns = {{"field", "field", TOP_TEXT},
                              {"value", "value", TOP_TEXT}},
                  .column_count = 2,
                  .sort = 2,
                  .key = "field",
                  .drill = TOP_VIEWS},
    [TOP_TABLET] = {.name = "tablet",
                    .subject = "tablet",
                    .params = {"table", "start"},
                    .columns = {{"field", "field", TOP_TEXT},
                                {"value", "value", TOP_TEXT}},
                    .column_count = 2,
                    .sort = 2,
                    .key = "field",
                    .drill = TOP_VIEWS},
    [TOP_JOB] = {.name = "job",
                 .subject = "job",
                 .rows = {"attempts"},
                 .params = {"id"},
                 .columns = {{"name", "name", TOP_TEXT},
                             {"kind", "kind", TOP_TEXT},
                             {"state", "state", TOP_TEXT},
                             {"worker", "worker", TOP_TEXT},
                             {"took_us", "took", TOP_DURATION},
                             {"records", "records", TOP_NUMBER},
                             {"bytes", "bytes", TOP_BYTES},
                             {"begun_at_us", "begun", TOP_TIME},
                             {"error", "error", TOP_TEXT}},
                 .column_count = 9,
                 .sort = 7,
                 .is_descending = true,
                 .key = "name",
                 .drill = TOP_VIEWS},
    [TOP_TRACE] = {.name = "trace",
                   .subject = "trace",
                   .rows = {"spans"},
                   .params = {"id"},
                   .columns = {{"begun_at_us", "begun", TOP_TIME},
                               {"duration_us", "took", TOP_DURATION},
                               {"name", "name", TOP_TEXT},
                               {"kind", "kind", TOP_TEXT},
                               {"node", "node", TOP_TEXT},
                               {"peer", "peer", TOP_TEXT},
                               {"outcome", "outcome", TOP_TEXT}},
                   .column_count = 7,
                   .key = "id",
                   .drill = TOP_VIEWS},
};

const struct top_view *top_view(enum top_view_id id)
{
    PRE(id < TOP_VIEWS);
    return &views[id];
}

enum top_view_id top_view_find(const char *name)
{
    enum top_view_id id = 0;
    while (id < TOP_VIEWS && strcmp(views[id].name, name) != 0)
        id++;
    return id;
}

size_t top_column_find(const struct top_view *v, const char *name)
{
    size_t i = 0;
    while (i < v->column_count && strcasecmp(v->columns[i].field, name) != 0 &&
           strcasecmp(v->columns[i].title, name) != 0)
        i++;
    return i;
}

bool top_column_letter(const struct top_view *v, size_t column, size_t *at)
{
    bool taken[256] = {false};
    PRE(column < v->column_count);
    for (size_t i = 0; i <= column; i++) {
        const char *title = v->columns[i].title;
        size_t k = 0;
        while (title[k] && (!isalpha((unsigned char)title[k]) ||
                            taken[(unsigned char)title[k]]))
            k++;
        *at = k;
        if (title[k])
            taken[(unsigned char)title[k]] = true;
        else if (i == column)
            return false;
    }
    return true;
}
