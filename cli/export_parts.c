/* The parts of an export. Each scans its own rows and writes its own file, in
 * a thread of its own; the first failure stops the others, and files that are
 * not whole are removed. */
#include "cli/export_parts.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "cli/export_records.h"
#include "cli/interrupt.h"
#include "cli/output_file.h"
#include "cli/packed_file.h"
#include "cli/progress.h"
#include "cli/row_printer.h"

/* State that all parts share. */
struct parts_run {
    struct cli *cli;
    struct quarry_table *table;
    const struct export_target *target;
    struct slice schema;
    struct progress progress; /* Of the first part. */
    _Atomic(uint64_t) bytes;  /* Of all parts. */
    atomic_bool failed;       /* The others may stop. */
};

struct part {
    struct parts_run *run;
    struct quarry_read_options opts;
    struct quarry_range *ranges; /* Owned. */
    struct slice *keys;          /* Owned array. */
    bool empty;                  /* None of the rows are in its range. */
    bool first;
    struct buf name;
    struct output_file to;
    uint64_t rows;
    int code;
    struct err err;
};

/* --- rows of a part ------------------------------------------------------ */

static bool slice_below(struct slice a, struct slice b)
{
    return slice_cmp(a, b) < 0;
}

/* @r cut to [@from, @to), empty ends being open; false: nothing is left. */
static bool
cut_range(struct quarry_range *r, struct slice from, struct slice to)
{
    if (from.len && slice_below(r->start, from))
        r->start = from;
    if (to.len && (r->end.len == 0 || slice_below(to, r->end)))
        r->end = to;
    return r->end.len == 0 || slice_below(r->start, r->end);
}

/* The rows of @all that are in [@from, @to). */
static void choose_rows(struct part *p,
                        const struct quarry_read_options *all,
                        struct slice from,
                        struct slice to)
{
    p->opts = *all;
    p->ranges = mem_zalloc(all->range_count + 1, sizeof(*p->ranges));
    p->keys = mem_zalloc(all->key_count + 1, sizeof(*p->keys));
    p->opts.ranges = p->ranges;
    p->opts.keys = p->keys;
    p->opts.range_count = 0;
    p->opts.key_count = 0;
    for (size_t i = 0; i < all->range_count; i++) {
        p->ranges[p->opts.range_count] = all->ranges[i];
        p->opts.range_count +=
            cut_range(&p->ranges[p->opts.range_count], from, to);
    }
    for (size_t i = 0; i < all->key_count; i++)
        if (!slice_below(all->keys[i], from) &&
            (to.len == 0 || slice_below(all->keys[i], to)))
            p->keys[p->opts.key_count++] = all->keys[i];
    if (all->range_count + all->key_count == 0) {
        p->ranges[0] = (struct quarry_range){from, to};
        p->opts.range_count = 1;
    }
    p->empty = p->opts.range_count + p->opts.key_count == 0;
}

/* --- writing ------------------------------------------------------------- */

/* Where rows of a part go. */
struct part_sink {
    struct row_printer lines;
    struct export_records *records; /* Instead, if it is not NULL. */
};

static int
put_row(struct part_sink *s, const struct quarry_row *row, struct err *err)
{
    if (s->records)
        return export_records_row(s->records, row, err);
    row_printer_row(&s->lines, row);
    if (ferror(s->lines.out))
        return err_set_errno(err, errno, "export");
    return ERR_OK;
}

static int part_stopped(struct part *p, struct err *err)
{
    if (interrupted())
        return err_set(err, ERR_CANCELLED,
                       "export: interrupted after %llu "
                       "rows",
                       (unsigned long long)p->rows);
    if (atomic_load(&p->run->failed))
        return err_set(err, ERR_CANCELLED, "export: another part failed");
    return ERR_OK;
}

static int scan_part(struct part *p, struct part_sink *sink, struct err *err)
{
    struct parts_run *run = p->run;
    struct quarry_scanner *scanner;
    const struct quarry_row *row;
    uint64_t told = 0;
    int rc = quarry_scan(run->table, &p->opts, &scanner, err);
    if (rc)
        return rc;
    while (!(rc = quarry_scanner_next(scanner, &row, err)) && row) {
        uint64_t bytes;
        rc = put_row(sink, row, err);
        p->rows++;
        if (!rc)
            rc = part_stopped(p, err);
        if (rc)
            break;
        bytes = sink->records ? export_records_bytes(sink->records)
                              : sink->lines.byte_count;
        atomic_fetch_add(&run->bytes, bytes - told);
        told = bytes;
        if (p->first)
            progress_bytes(&run->progress, atomic_load(&run->bytes), 0, NULL);
    }
    quarry_scanner_close(scanner);
    return rc;
}

static int part_lines(struct part *p, struct err *err)
{
    const struct export_target *target = p->run->target;
    struct part_sink sink = {.records = NULL};
    struct packed_file packed;
    int rc = packed_file_open(&packed, target->packing, p->to.out, err);
    if (rc)
        return rc;
    row_printer_init(&sink.lines,
                     target->form == EXPORT_JSON ? FORMAT_JSON : FORMAT_CSV,
                     p->opts.keys_only, 0);
    sink.lines.tsv = target->form == EXPORT_TSV;
    sink.lines.out = packed.out;
    if (!p->empty)
        rc = scan_part(p, &sink, err);
    row_printer_close(&sink.lines);
    return packed_file_close(&packed, rc, err);
}

static int part_records(struct part *p, struct err *err)
{
    struct part_sink sink = {.records = NULL};
    int rc = export_records_open(p->run->cli, &p->to, p->run->schema,
                                 &sink.records, err);
    if (rc)
        return rc;
    if (!p->empty)
        rc = scan_part(p, &sink, err);
    return export_records_close(sink.records, rc, err);
}

static void write_part(void *arg)
{
    struct part *p = arg;
    p->code = p->run->target->form == EXPORT_RECORDS ? part_records(p, &p->err)
                                                     : part_lines(p, &p->err);
    if (p->code)
        atomic_store(&p->run->failed, true);
}

/* --- all parts ----------------------------------------------------------- */

/* Open the files of all parts. On failure those that were opened are gone. */
static int open_files(struct part *parts, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct export_target *target = parts[i].run->target;
        int rc;
        if (target->split)
            export_target_part(target, i, &parts[i].name);
        rc = output_file_open_in(
            &parts[i].to, parts[i].run->cli->world,
            target->split ? buf_cstr(&parts[i].name) : target->path, err);
        for (size_t k = 0; rc && k < i; k++)
            rc = output_file_close(&parts[k].to, rc, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

static void write_all(struct part *parts, size_t count)
{
    struct parts_run *run = parts[0].run;
    struct task **tasks = mem_zalloc(count, sizeof(struct task *));
    progress_start(&run->progress, run->cli, "export");
    for (size_t i = 1; i < count; i++)
        tasks[i] = task_start(run->cli->world, "export", write_part, &parts[i]);
    write_part(&parts[0]);
    for (size_t i = 1; i < count; i++)
        task_join(tasks[i]);
    progress_end(&run->progress);
    mem_free(tasks);
}

/* The failure that made the others stop, if any. */
static int first_failure(struct part *parts, size_t count, struct err *err)
{
    const struct part *worst = NULL;
    for (size_t i = 0; i < count; i++)
        if (parts[i].code && (!worst || worst->code == ERR_CANCELLED))
            worst = &parts[i];
    return worst ? err_copy(err, &worst->err) : ERR_OK;
}

/* Row keys where parts begin, but the first; there may be fewer than asked for:
 * the last parts are empty then. */
static int cut_rows(struct quarry_table *t,
                    const struct quarry_read_options *opts,
                    struct part *parts,
                    size_t count,
                    struct slice **cuts,
                    struct err *err)
{
    size_t cut_count = 0;
    int rc = ERR_OK;
    *cuts = NULL;
    if (count > 1)
        rc = quarry_table_split_points(t, count, cuts, &cut_count, err);
    for (size_t i = 0; i < count && !rc; i++) {
        struct slice from = SLICE_EMPTY;
        struct slice to = i < cut_count ? (*cuts)[i] : SLICE_EMPTY;
        if (i && i <= cut_count)
            from = (*cuts)[i - 1];
        choose_rows(&parts[i], opts, from, to);
        parts[i].empty |= i > cut_count;
    }
    return rc;
}

int export_parts(struct cli *cli,
                 struct quarry_table *t,
                 const struct quarry_read_options *opts,
                 const struct export_target *target,
                 struct slice schema,
                 struct export_done *done,
                 struct err *err)
{
    struct parts_run run = {
        .cli = cli, .table = t, .target = target, .schema = schema};
    size_t count = MAX_OF(target->split, (size_t)1);
    struct part *parts = mem_zalloc(count, sizeof(*parts));
    struct slice *cuts = NULL;
    int rc;
    *done = (struct export_done){0, 0};
    for (size_t i = 0; i < count; i++) {
        parts[i].run = &run;
        parts[i].first = i == 0;
    }
    rc = cut_rows(t, opts, parts, count, &cuts, err);
    if (!rc)
        rc = open_files(parts, count, err);
    if (!rc) {
        write_all(parts, count);
        rc = first_failure(parts, count, err);
        for (size_t i = 0; i < count; i++)
            rc = output_file_close(&parts[i].to, rc, err);
    }
    for (size_t i = 0; i < count; i++) {
        done->rows += parts[i].rows;
        mem_free(parts[i].ranges);
        mem_free(parts[i].keys);
        buf_close(&parts[i].name);
    }
    done->bytes = atomic_load(&run.bytes);
    mem_free(cuts);
    mem_free(parts);
    return rc;
}
