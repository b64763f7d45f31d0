/* quarry load: sorted cells, from lines (cell_file.h) or record files, into a
 * table as SSTables of their own (bulk load), without passing through log and
 * memtable.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/client/bulk_load.h"
#include "bigtable/quarry.h"
#include "cli/cell_file.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/text_form.h"
#include "mapreduce/records/files.h"
#include "mapreduce/records/record_reader.h"

/* The cells of all files. */
struct load_input {
    struct world *world;
    const struct args *args;
    size_t file; /* Of the words, from 1; 0: none is open. */
    struct cell_file cells;
    bool given; /* A cell was handed out, which may be refused. */
};

static int
next_cell(void *ctx, struct quarry_bulk_cell *c, bool *more, struct err *err)
{
    struct load_input *in = ctx;
    in->given = false;
    for (;;) {
        int rc = 0;
        if (in->file) {
            rc = cell_file_next(&in->cells, c, more, err);
            in->given = !rc && *more;
            if (rc || *more)
                return rc;
            cell_file_close(&in->cells);
        }
        if (in->file + 1 >= in->args->word_count) {
            in->file = 0;
            *more = false;
            return 0;
        }
        rc = cell_file_open(&in->cells, in->world, in->args->words[++in->file],
                            err);
        if (rc) {
            in->file = 0;
            return rc;
        }
    }
}

/* --- record files -------------------------------------------------------- */

/* The records of all files: keys are rows, values those of one column. */
struct record_input {
    struct world *world;
    const struct args *args;
    size_t file; /* Of the words, from 1; 0: none is open. */
    struct record_reader reader;
    struct buf column; /* FAMILY, NUL, QUALIFIER. */
    struct slice qualifier;
};

static int
take_record_column(struct record_input *in, const char *column, struct err *err)
{
    struct buf *text = &in->column;
    size_t n;
    argument_unescape(text, slice_str(column));
    n = slice_find_byte(buf_slice(text), ':');
    if (n == 0 || n == text->len)
        return usage_error(in->args, err, "--records is FAMILY:QUALIFIER");
    text->data[n] = '\0';
    in->qualifier = slice_sub(buf_slice(text), n + 1, text->len);
    return 0;
}

static int
next_record(void *ctx, struct quarry_bulk_cell *c, bool *more, struct err *err)
{
    struct record_input *in = ctx;
    c->family = in->column.data;
    c->qualifier = in->qualifier;
    c->timestamp_us = QUARRY_NOW;
    for (;;) {
        const struct job_files files = {.world = in->world};
        int rc = 0;
        if (in->file) {
            rc = record_reader_next(&in->reader, &c->row, &c->value, more, err);
            if (rc || *more)
                return rc;
            record_reader_close(&in->reader);
        }
        if (in->file + 1 >= in->args->word_count) {
            in->file = 0;
            *more = false;
            return 0;
        }
        memset(&in->reader, 0, sizeof(in->reader));
        rc = record_reader_open(&in->reader, &files,
                                in->args->words[++in->file], err);
        if (rc) {
            in->file = 0;
            return rc;
        }
    }
}

static int load_records(struct cli *cli,
                        struct quarry *q,
                        const struct args *args,
                        const char *id,
                        struct quarry_bulk_result *result,
                        struct err *err)
{
    struct record_input in = {.world = cli->world, .args = args};
    int rc = take_record_column(&in, args_value(args, "records"), err);
    if (!rc)
        rc = quarry_bulk_load(q, args->words[0], id, next_record, &in, result,
                              err);
    if (in.file)
        record_reader_close(&in.reader);
    buf_close(&in.column);
    return rc;
}

static int load_lines(struct cli *cli,
                      struct quarry *q,
                      const struct args *args,
                      const char *id,
                      struct quarry_bulk_result *result,
                      struct err *err)
{
    struct load_input in = {.world = cli->world, .args = args};
    int rc =
        quarry_bulk_load(q, args->words[0], id, next_cell, &in, result, err);
    if (rc && in.given)
        err_wrap(err, "%s: line %" PRIu64, in.cells.lines.path,
                 in.cells.lines.line_count);
    if (in.file)
        cell_file_close(&in.cells);
    return rc;
}

static int run_load(struct cli *cli, const struct args *args, struct err *err)
{
    struct quarry_bulk_result result;
    const char *id = args_value(args, "id");
    char own[40];
    struct quarry *q;
    int rc = cli_store(cli, CLI_EXISTING, &q, err);
    if (rc)
        return rc;
    snprintf(own, sizeof(own), "load-%016" PRIx64, world_random(cli->world));
    if (args_flag(args, "records"))
        rc = load_records(cli, q, args, id ? id : own, &result, err);
    else
        rc = load_lines(cli, q, args, id ? id : own, &result, err);
    if (rc == ERR_NOTFOUND)
        cli_hint_table(cli, args->words[0], err);
    if (rc == ERR_EXISTS && id) {
        cli_remark(cli, "load %s was committed before", id);
        return 0;
    }
    if (!rc)
        cli_remark(cli,
                   "%" PRIu64 " cells in %" PRIu64 " files (%" PRIu64
                   " bytes) into %" PRIu64 " tablets",
                   result.cells, result.files, result.bytes, result.tablets);
    return rc;
}

static const struct option load_options[] = {
    {"id", 0, "ID",
     "name of the load: what was loaded under it once is\n"
     "not loaded again"},
    {"records", 0, "FAMILY:QUALIFIER",
     "the files are record files, as jobs write them: a\n"
     "record's key is the row, its value that of the column"},
    {NULL, 0, NULL, NULL},
};

const struct command load_commands[] = {
    {.name = "load",
     .arguments = "TABLE FILE…",
     .summary = "Add rows that are in order, as SSTables of their own",
     .details =
         "Each line is a cell: ROW, FAMILY:QUALIFIER, TIME and VALUE, with\n"
         "tabs between them; \\t, \\n, \\\\ and \\xNN stand for bytes. TIME\n"
         "is in µs since 1970; empty, it is the time of the load. Rows must\n"
         "ascend, over all files in their order (LC_ALL=C sort). \"-\" is\n"
         "standard input.\n\n"
         "Files that `quarry export` writes are read too; the first line\n"
         "tells the format: TSV, JSON lines, CSV. It gives the same\n"
         "cells: a table is restored by making it again and loading its\n"
         "export.\n\n"
         "Nothing goes through the log: this is the fastest way to fill a\n"
         "table. Cells are ordered by their times as all are; deletions from\n"
         "before do not hide them. All rows of a tablet appear at once.",
     .examples = "quarry load webtable backup.tsv\n"
                 "quarry load webtable anchors.tsv --id crawl-2026-11\n"
                 "quarry load ranks --records rank:now out/part-*",
     .words_min = 2,
     .words_max = WORDS_ANY,
     .options = {load_options},
     .run = run_load},
    {.name = NULL},
};
