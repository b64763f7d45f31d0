/* A map without reduces: its tasks read rows where the tablets are, and write
 * segments as pieces in record files (jobs/search_segments.c). Then all files
 * are read, task by task, and the directory they are in is removed; what a
 * command that died left of it is removed by the next one.
 */
#include "cli/search_job.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "cli/cli.h"
#include "cli/cmd_job.h"
#include "cli/command.h"
#include "gfs-lite/fs.h"
#include "jobs/jobs.h"
#include "mapreduce/job.h"
#include "mapreduce/records/record_reader.h"
#include "web/search/search.h"

#define MADE_PREFIX "made-"

bool search_job_possible(struct cli *cli, const struct args *args)
{
    return job_cell_asked(cli, args) && job_cell_worker_count(cli, args) > 0;
}

/* --- what others left ---------------------------------------------------- */

/* Also the staging directories of jobs: ".made-…". */
static bool is_made(const char *name)
{
    name += *name == '.';
    return strncmp(name, MADE_PREFIX, strlen(MADE_PREFIX)) == 0;
}

/* The next build tries again where this fails. */
static void remove_made(struct fs *fs, const char *directory)
{
    struct buf path = BUF_INIT;
    char **names = NULL;
    size_t count = 0;
    if (fs_list(fs, directory, &names, &count, NULL))
        return;
    for (size_t i = 0; i < count; i++) {
        int rc = 0;
        if (!is_made(names[i]))
            continue;
        buf_clear(&path);
        buf_printf(&path, "%s/%s", directory, names[i]);
        rc = fs_remove_tree(fs, buf_cstr(&path), NULL);
        (void)rc;
    }
    fs_names_free(names, count);
    buf_close(&path);
}

/* --- taking it in -------------------------------------------------------- */

static int take_file(const struct job_files *files,
                     const char *path,
                     struct search_intake *to,
                     struct err *err)
{
    struct record_reader r;
    struct buf segment = BUF_INIT; /* The key of the last piece. */
    struct slice key;
    struct slice piece;
    bool more = false;
    int rc = record_reader_open(&r, files, path, err);
    while (!rc) {
        rc = record_reader_next(&r, &key, &piece, &more, err);
        if (rc || !more)
            break;
        if (!slice_eq(key, buf_slice(&segment)) || segment.len == 0)
            rc = search_intake_segment(to, err);
        buf_clear(&segment);
        buf_append_slice(&segment, key);
        if (!rc)
            rc = search_intake_bytes(to, piece, err);
    }
    record_reader_close(&r);
    buf_close(&segment);
    return rc;
}

static int take_files(const struct search_job *j,
                      const char *directory,
                      struct search_intake *to,
                      struct err *err)
{
    const struct job_files files = {.world = j->cli->world, .fs = j->fs};
    struct buf path = BUF_INIT;
    char **names = NULL;
    size_t count = 0;
    int rc = files_list(&files, directory, &names, &count, err);
    for (size_t i = 0; i < count && !rc; i++) {
        buf_clear(&path);
        buf_printf(&path, "%s/%s", directory, names[i]);
        if (strncmp(names[i], "part-", 5) == 0)
            rc = take_file(&files, buf_cstr(&path), to, err);
    }
    files_names_free(names, count);
    buf_close(&path);
    return rc;
}

/* --- the job ------------------------------------------------------------- */

/* The table with the columns that documents are made of. */
static void put_input(const char *table,
                      const char *const *families,
                      size_t family_count,
                      struct buf *out)
{
    buf_printf(out, "table:%s?columns=", table);
    for (size_t i = 0; i < family_count; i++)
        buf_printf(out, "%s%s:", i ? "," : "", families[i]);
}

static int run_maps(struct search_job *j,
                    const char *input,
                    const char *output,
                    struct mr_report **report,
                    struct err *err)
{
    static const struct job_entry part = {.name = "search_segments",
                                          .job = &job_search_segments};
    char memory[24];
    struct mr_setting param = {"memory", memory};
    struct job_command c = {.cli = j->cli,
                            .args = j->args,
                            .entry = &part,
                            .report = report,
                            .inputs = &input,
                            .outputs = &output};
    c.options.inputs = c.inputs;
    c.options.input_count = 1;
    c.options.outputs = c.outputs;
    c.options.output_count = 1;
    c.options.skip_none = true; /* A page that is left out would be missed. */
    snprintf(memory, sizeof(memory), "%" PRIu64, j->memory_bytes);
    if (j->memory_bytes) {
        c.options.params = &param;
        c.options.param_count = 1;
    }
    return job_cell_run(&c, err);
}

static void count_report(struct search_job *j,
                         const struct mr_report *r,
                         struct search_intake *to)
{
    snprintf(j->id, sizeof(j->id), "%s", r->job_id);
    search_intake_count(to, (uint64_t)mr_report_counter(r, "map.records"),
                        (uint64_t)mr_report_counter(r, "search.words"));
}

int search_job_make(void *job,
                    const char *const *families,
                    size_t family_count,
                    struct search_intake *to,
                    struct err *err)
{
    struct search_job *j = job;
    struct mr_report *report = NULL;
    struct buf top = BUF_INIT;
    struct buf input = BUF_INIT;
    struct buf output = BUF_INIT;
    char *id = mr_make_id(j->cli->world);
    int rc;
    search_directory(j->table, &top);
    remove_made(j->fs, buf_cstr(&top));
    put_input(j->table, families, family_count, &input);
    buf_printf(&output, "records:%s/" MADE_PREFIX "%s", buf_cstr(&top), id);
    rc = run_maps(j, buf_cstr(&input), buf_cstr(&output), &report, err);
    if (!rc)
        count_report(j, report, to);
    if (!rc)
        rc = take_files(j, buf_cstr(&output) + strlen("records:"), to, err);
    remove_made(j->fs, buf_cstr(&top));
    mr_report_free(report);
    mem_free(id);
    buf_close(&top);
    buf_close(&input);
    buf_close(&output);
    return rc;
}
