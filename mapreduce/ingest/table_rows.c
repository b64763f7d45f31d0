/* Imports of plain rows (csv, jsonl, access-log): reading lines, recognising
 * times, and failing when most of a file could not be read. */
#include "mapreduce/ingest/table_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "mapreduce/ingest/table_schema.h"
#include "mapreduce/ingest/text_check.h"
#include "mapreduce/warc/date.h"

#define COUNT_EVERY 1024

bool field_time(struct slice s, int64_t *us)
{
    int64_t n = 0;
    size_t i = 0;
    s = slice_trim(s);
    /* 8 and 14 digits are dates: as counts they would be 1970 and year 2600. */
    if ((s.len == 8 || s.len == 14 || s.len < 6) && date_parse(s, us))
        return true;
    for (; i < s.len && i < 19 && s.data[i] >= '0' && s.data[i] <= '9'; i++) {
        if (n > (INT64_MAX - 9) / 10)
            return false;
        n = n * 10 + (s.data[i] - '0');
    }
    if (i == 0 || (i < s.len && s.data[i] != '.'))
        return date_parse(s, us);
    if (n < INT64_C(100000000000))
        *us = n * 1000000;
    else if (n < INT64_C(100000000000000))
        *us = n * 1000;
    else if (n < INT64_C(100000000000000000))
        *us = n;
    else
        *us = n / 1000;
    return true;
}

/* A file of another kind must not look like a success. */
static int check_most(const struct ingest_report *r, int code, struct err *err)
{
    if (code || r->lost_count * 2 <= r->record_count)
        return code;
    err_set(err, ERR_CORRUPT,
            "most of the input could not be read: %" PRIu64 " of %" PRIu64
            " lines",
            r->lost_count, r->record_count);
    err_hint(err, "is it of another kind? quarry import without a kind looks, "
                  "and quarry load reads exports");
    return ERR_CORRUPT;
}

/* Nor must a text that lost a part of its lines with its compression. */
static int check_cut(const struct run *run, int code, struct err *err)
{
    if (code || run->cut_count == 0 || run->opts.bad_limited)
        return code;
    err_set(err, ERR_CORRUPT, "%s: damaged, and not read whole",
            run->names[run->first_cut]);
    err_hint(err, "what could be read is stored; run it again with the whole "
                  "file, or with --max-errors to accept the loss");
    return ERR_CORRUPT;
}

int import_rows(const struct ingest_job *job,
                const char *family,
                run_file_fn read_file,
                struct ingest_report *report,
                struct err *err)
{
    static const struct quarry_group_spec group = {
        "data", "compression=zstd,level=1,block=64KiB,dictionary=off"};
    struct quarry_family_spec data = {.options = "group=data"};
    const struct run_shape shape = {&data, 1, &group, 1, .text = true};
    struct ingest_options defaults;
    struct run run;
    int rc;
    ingest_options_init(&defaults);
    data.name = family      ? family
                : job->opts ? job->opts->family
                            : defaults.family;
    rc = run_open(&run, job, &shape, report, err);
    if (rc == 0) {
        run.read_file = read_file;
        rc = check_cut(&run, run_files(&run, err), err);
    }
    return run_close(&run, check_most(report, rc, err), err);
}

/* Make the table of a schema, before the run opens it. *@made: it was. */
static int make_of_schema(const struct ingest_job *job,
                          const struct ingest_options *o,
                          bool *made,
                          struct err *err)
{
    int rc;
    *made = false;
    if (!o->create_table || o->schema.len == 0)
        return 0;
    rc = table_schema_create(job->q, job->table, o->schema, err);
    *made = rc == 0;
    return rc == ERR_EXISTS && !o->must_create ? 0 : rc;
}

int import_into(const struct ingest_job *job,
                run_file_fn read_file,
                void *kind,
                bool *adds_families,
                struct ingest_report *report,
                struct err *err)
{
    const struct run_shape shape = {.text = true,
                                    .binary = job->source != NULL};
    struct ingest_options defaults;
    const struct ingest_options *o = job->opts;
    struct run run;
    bool made = false;
    int rc;
    ingest_options_init(&defaults);
    o = o ? o : &defaults;
    memset(report, 0, sizeof(*report));
    rc = make_of_schema(job, o, &made, err);
    if (rc)
        return rc;
    rc = run_open(&run, job, &shape, report, err);
    if (rc == 0) {
        *adds_families = run.made_table;
        run.made_table |= made;
        run.kind = kind;
        run.read_file = read_file;
        rc = check_cut(&run, run_files(&run, err), err);
    }
    return run_close(&run, check_most(report, rc, err), err);
}

static int each_line(struct run *run,
                     struct run_lines *lines,
                     struct run_batch *batch,
                     line_fn fn,
                     void *ctx,
                     struct err *err)
{
    uint64_t told = 0;
    uint64_t n = 0;
    for (;;) {
        struct run_line line;
        int rc = run_lines_next(lines, &line, err);
        if (rc == 0 && line.number)
            rc = fn(ctx, &line, batch, err);
        if (rc)
            return rc;
        if (!line.number || ++n % COUNT_EVERY == 0 || run_stopped(run)) {
            batch->counts.bytes_read += run_lines_bytes_in(lines) - told;
            told = run_lines_bytes_in(lines);
            rc = run_count(run, &batch->counts, err);
        }
        if (rc || !line.number)
            return rc;
    }
}

int import_lines(struct run *run,
                 size_t index,
                 line_fn fn,
                 void *ctx,
                 struct err *err)
{
    struct run_batch batch;
    struct run_lines *lines;
    struct slice head;
    int rc = run_lines_open(run, index, &lines, err);
    if (rc)
        return rc;
    run_batch_init(&batch, run);
    rc = run_lines_head(lines, &head, err);
    if (rc == 0)
        rc = text_check(head, err);
    if (rc == 0)
        rc = each_line(run, lines, &batch, fn, ctx, err);
    if (rc == 0 || rc == ERR_CANCELLED || rc == ERR_CORRUPT) {
        int flushed = run_batch_flush(&batch, rc ? NULL : err);
        rc = rc ? rc : flushed;
    }
    if (run_lines_damaged(lines))
        run_cut(run, index);
    run_batch_close(&batch);
    run_lines_close(lines);
    return rc;
}
