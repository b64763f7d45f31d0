/* quarry import [warc|csv|jsonl|access-log]: files from outside into tables.
 * This file reads options; import_report.h tells what came of it, and
 * mapreduce/ingest parses and writes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "bigtable/quarry.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/import_input.h"
#include "cli/import_records.h"
#include "cli/import_report.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/sql_parquet.h"
#include "mapreduce/ingest/detect.h"
#include "mapreduce/ingest/ingest.h"
#include "mapreduce/ingest/table_schema.h"

/* In the number of a part of an export. */
#define PART_DIGITS 5

/* --- options ------------------------------------------------------------- */

static const struct option common_options[] = {
    {"into", 0, "TABLE", "the table; made if it is not there"},
    {"tasks", 0, "N", "files read at a time; one per processor if not given"},
    {"no-create", 0, NULL, "fail if the table is not there"},
    {"strict", 0, NULL, "stop at the first line that is refused, or damage"},
    {"max-errors", 0, "N", "stop when more than N are"},
    {"max-bad", 0, "N", "another name of --max-errors"},
    {"rejects", 0, "FILE",
     "refused lines, byte for byte; their places and\n"
     "reasons are in FILE.reasons, as JSON lines"},
    {"damage-to", 0, "FILE",
     "list all places of damage there, as JSON lines\n"
     "(100,000 at most; 20 are printed)"},
    {"no-count", 0, NULL, "do not look up which rows are new"},
    {NULL, 0, NULL, NULL},
};

static const struct option warc_options[] = {
    {"no-links", 0, NULL, "write no anchor cells"},
    {"text", 0, NULL,
     "write contents:main, the text without menus and the like,\n"
     "and language:text, its language"},
    {"verify", 0, NULL, "skip and report records whose digests differ"},
    {"page-max", 0, "SIZE", "cut longer bodies (64MiB)"},
    {NULL, 0, NULL, NULL},
};

static const struct option field_options[] = {
    {"key", 0, "COLUMN",
     "where the row key is: a name, or for csv a number from\n"
     "1 (default: the first column; for jsonl id or key)"},
    {"family", 0, "FAMILY", "of the cells (data)"},
    {"time", 0, "COLUMN", "where the cells' time is (default: all at 0)"},
    {"separator", 0, "CHAR",
     "of csv: , ; | or tab (default: the text shows it)"},
    {"no-header", 0, NULL, "csv: the first line is data; columns are 1, 2, …"},
    {NULL, 0, NULL, NULL},
};

static const struct option log_options[] = {
    {"host", 0, "HOST", "whose log this is (localhost)"},
    {NULL, 0, NULL, NULL},
};

/* Of `import` itself, whose inputs may be of any kind. */
static const struct option any_options[] = {
    {"schema", 0, "FILE",
     "of an export: make the table as that says (default:\n"
     "what lies beside it, its name and .schema)"},
    {"create", 0, NULL, "of an export: fail if the table is there already"},
    {"host", 0, "HOST", "of an access log: whose it is (localhost)"},
    {"no-links", 0, NULL, "of web archives: write no anchor cells"},
    {"text", 0, NULL, "of web archives: write the main text and its language"},
    {NULL, 0, NULL, NULL},
};

static int parse_separator(const struct args *args,
                           struct ingest_options *o,
                           struct err *e)
{
    const char *s = args_value(args, "separator");
    if (!s)
        return ERR_OK;
    if (strcmp(s, "guess") == 0)
        o->separator = '\0';
    else if (strcmp(s, "tab") == 0 || strcmp(s, "\\t") == 0)
        o->separator = '\t';
    else if (strlen(s) == 1)
        o->separator = s[0];
    else
        return usage_error(args, e, "--separator: '%s' is not one character",
                           s);
    return ERR_OK;
}

static int parse_options(const struct args *args,
                         struct ingest_options *o,
                         struct err *err)
{
    const char *page_max = args_value(args, "page-max");
    struct err why = ERR_INIT;
    uint64_t tasks = 0;
    int rc = args_number(args, "tasks", 1, 1024, &tasks, err);
    if (rc)
        return rc;
    o->bad_limited =
        args_flag(args, "max-errors") || args_flag(args, "max-bad");
    if (args_flag(args, "strict") && o->bad_limited)
        return usage_error(args, err, "either --strict or --max-errors");
    o->bad_limited |= args_flag(args, "strict");
    rc = args_number(args, "max-bad", 0, UINT64_MAX, &o->bad_max, err);
    if (!rc)
        rc = args_number(args, "max-errors", 0, UINT64_MAX, &o->bad_max, err);
    if (rc)
        return rc;
    o->tasks = (unsigned)tasks;
    if (args_flag(args, "damage-to"))
        o->damage_kept_max = INGEST_DAMAGE_KEPT_MAX;
    o->create_table = !args_flag(args, "no-create");
    o->count_new = !args_flag(args, "no-count");
    o->links = !args_flag(args, "no-links");
    o->text = args_flag(args, "text");
    o->verify_digests = args_flag(args, "verify");
    o->header = !args_flag(args, "no-header");
    if (args_flag(args, "family"))
        o->family = args_value(args, "family");
    if (args_flag(args, "host"))
        o->log_host = args_value(args, "host");
    if (getenv("TMPDIR"))
        o->temp_dir = getenv("TMPDIR");
    o->key = args_value(args, "key");
    o->time_field = args_value(args, "time");
    if (page_max &&
        text_parse_bytes(slice_str(page_max), &o->page_bytes_max, &why))
        return usage_error(args, err, "--page-max: %s", why.text);
    return parse_separator(args, o, err);
}

/* --- running ------------------------------------------------------------- */

/* Cells at time 0 are older than any age. */
static void warn_of_ages(struct quarry *q,
                         const struct args *args,
                         const char *table,
                         const char *family)
{
    struct quarry_table_info *info;
    if (args_flag(args, "time") || quarry_table_describe(q, table, &info, NULL))
        return;
    for (size_t i = 0; i < info->family_count; i++)
        if (strcmp(info->families[i].name, family) == 0 &&
            (strstr(info->families[i].gc, "ttl") ||
             strstr(info->families[i].gc, "age")))
            fprintf(stderr,
                    "quarry: warning: family %s of %s drops cells by age (%s), "
                    "and these have the time 0, so that none is kept (--time "
                    "COLUMN says where their time is)\n",
                    family, table, info->families[i].gc);
    quarry_table_info_free(info);
}

static void on_progress(void *ctx, const struct ingest_progress *p)
{
    struct buf extra = BUF_INIT;
    text_put_count(&extra, p->record_count);
    buf_append_str(&extra, " records");
    if (p->damage_count > 0)
        buf_printf(&extra, ", %" PRIu64 " damaged", p->damage_count);
    if (p->files_total > 1)
        buf_printf(&extra, ", file %zu of %zu",
                   MIN_OF(p->files_done + 1, p->files_total), p->files_total);
    progress_bytes(ctx, p->bytes_done, p->bytes_total, buf_cstr(&extra));
    buf_close(&extra);
}

/* Rows read before the end are in the table nevertheless. */
static bool is_stored(int code, const struct ingest_report *r)
{
    return code == ERR_CANCELLED || code == ERR_CORRUPT || r->refused_count;
}

/* One import: its inputs, what reads them, and what came of it. */
struct import {
    struct cli *cli;
    const struct args *args;
    const char *table;
    ingest_fn ingest; /* NULL: the inputs' contents tell. */
    struct ingest_options opts;
    struct import_input in;
    struct import_rejects rejects;
    struct buf schema;
    enum ingest_kind kind;
    struct ingest_cell_source source;
    struct sql_parquet_columns columns; /* Of the source of Parquet. */
    struct ingest_report report;
};

/* --- what the inputs are ------------------------------------------------- */

/* How a kind is imported; NULL: not by this command. */
static ingest_fn ingest_of(enum ingest_kind kind)
{
    static const ingest_fn known[INGEST_KINDS] = {
        [INGEST_KIND_WARC] = ingest_warc,
        [INGEST_KIND_CSV] = ingest_csv,
        [INGEST_KIND_JSONL] = ingest_jsonl,
        [INGEST_KIND_ACCESS_LOG] = ingest_access_log,
        [INGEST_KIND_CELLS] = ingest_cells,
        [INGEST_KIND_RECORDS] = ingest_cell_files,
#ifdef QUARRY_HAVE_SQL
        [INGEST_KIND_PARQUET] = ingest_cell_files,
#endif
    };
    return known[kind];
}

static int not_imported(const struct import *m,
                        size_t i,
                        enum ingest_kind kind,
                        struct err *err)
{
#ifndef QUARRY_HAVE_SQL
    if (kind == INGEST_KIND_PARQUET) {
        err_set(err, ERR_UNSUPPORTED,
                "%s: Parquet: this quarry was built without DuckDB",
                m->in.names[i]);
        err_hint(err, "run scripts/deps sql, then cmake and the build again");
        return ERR_UNSUPPORTED;
    }
#endif
    err_set(err, ERR_UNSUPPORTED, "%s: %s is not imported", m->in.names[i],
            ingest_kind_name(kind));
    err_hint(err, "write it as Parquet: pyarrow.parquet.write_table()");
    return ERR_UNSUPPORTED;
}

/* The reader of files that are no texts. */
static void find_source(struct import *m)
{
    PRE(m->ingest);
#ifdef QUARRY_HAVE_SQL
    if (m->kind == INGEST_KIND_PARQUET) {
        m->columns = (struct sql_parquet_columns){.cli = m->cli,
                                                  .key = m->opts.key,
                                                  .family = m->opts.family,
                                                  .time = m->opts.time_field};
        m->source = sql_parquet_source(&m->columns);
        return;
    }
#endif
    m->source = import_records_source(m->cli);
}

/* All inputs are of one kind: two would be two imports with options of their
 * own. */
static int find_kind(struct import *m, struct err *err)
{
    enum ingest_kind kind = INGEST_KIND_EMPTY;
    size_t first = 0;
    PRE(!m->ingest);
    PRE(m->in.count > 0);
    for (size_t i = 0; i < m->in.count; i++) {
        struct ingest_detected d;
        int rc = ingest_detect(m->cli->world, m->in.paths[i], &d, err);
        if (rc && rc != ERR_NOTFOUND) /* That names the file itself. */
            err_wrap(err, "%s", m->in.names[i]);
        if (rc)
            return rc;
        if (d.kind == INGEST_KIND_EMPTY)
            continue;
        if (!ingest_of(d.kind))
            return not_imported(m, i, d.kind, err);
        if (kind == INGEST_KIND_EMPTY) {
            first = i;
            kind = d.kind;
        }
        if (d.kind != kind) {
            err_set(err, ERR_INVALID, "%s is %s and %s is %s",
                    m->in.names[first], ingest_kind_name(kind), m->in.names[i],
                    ingest_kind_name(d.kind));
            err_hint(err, "import files of one kind at a time");
            return ERR_INVALID;
        }
    }
    if (kind == INGEST_KIND_EMPTY) {
        err_set(err, ERR_INVALID, "%s is empty: nothing tells its kind",
                m->in.names[0]);
        err_hint(err, "name the kind: quarry import csv, jsonl, access-log or "
                      "warc");
        return ERR_INVALID;
    }
    m->kind = kind;
    m->ingest = ingest_of(kind);
    find_source(m);
    cli_remark(m->cli, "%s%s: %s", m->in.names[0],
               m->in.count > 1 ? " and others" : "", ingest_kind_name(kind));
    return 0;
}

/* Append the name of the schema beside @name, an export or a part of one:
 * "t.tsv.schema" of "t-00001-of-00004.tsv". */
static void schema_beside(const char *name, struct buf *out)
{
    const char *of = strstr(name, "-of-");
    const char *part =
        of && of - name >= PART_DIGITS + 1 ? of - PART_DIGITS - 1 : NULL;
    PRE(name);
    if (part && *part == '-' && strspn(part + 1, "0123456789") == PART_DIGITS &&
        strspn(of + 4, "0123456789") == PART_DIGITS)
        buf_printf(out, "%.*s%s", (int)(part - name), name,
                   of + 4 + PART_DIGITS);
    else
        buf_append_str(out, name);
    buf_append_str(out, TABLE_SCHEMA_SUFFIX);
}

/* The schema that the user names, or that is beside the first input. */
static int find_schema(struct import *m, struct err *err)
{
    const char *named = args_value(m->args, "schema");
    struct buf path = BUF_INIT;
    int rc = 0;
    PRE(m->in.count > 0);
    m->opts.must_create = args_flag(m->args, "create");
    if (named)
        buf_append_str(&path, named);
    else
        schema_beside(m->in.names[0], &path);
    if (!named && m->kind == INGEST_KIND_RECORDS)
        rc = import_records_schema(m->cli, m->in.paths[0], &m->schema, err);
    else if (named || access(buf_cstr(&path), R_OK) == 0)
        rc = cli_read_file(buf_cstr(&path), &m->schema, err);
    else if (m->opts.must_create)
        rc = err_set(err, ERR_NOTFOUND,
                     "--create: %s: no such file, and --schema names none",
                     buf_cstr(&path));
    m->opts.schema = buf_slice(&m->schema);
    buf_close(&path);
    return rc;
}

/* --- running ------------------------------------------------------------- */

static int hint_failure(const struct import *m, int rc, struct err *err)
{
    if (rc == ERR_CANCELLED)
        err_hint(err, "%" PRIu64 " rows are stored; run it again for the rest",
                 import_rows_there(&m->report));
    if (rc == ERR_NOTFOUND && args_flag(m->args, "no-create"))
        cli_hint_table(m->cli, m->table, err);
    if (rc == ERR_FULL)
        err_hint(err, "free some space and run it again: what is there stays, "
                      "and is not written twice");
    return rc;
}

/* --damage-to, whatever the outcome @rc. */
static int list_damage(const struct import *m, int rc, struct err *err)
{
    const char *to = args_value(m->args, "damage-to");
    struct err why = ERR_INIT;
    int w = to ? import_report_damage(&m->report, to, &why) : 0;
    return w && !rc ? err_copy(err, &why) : rc;
}

static int run_ingest(struct import *m, struct err *err)
{
    const struct ingest_job job = {
        .table = m->table,
        .opts = &m->opts,
        .paths = m->in.paths,
        .path_count = m->in.count,
        .names = (const char *const *)m->in.names,
        .source = m->ingest == ingest_cell_files ? &m->source : NULL,
    };
    struct ingest_job with_store = job;
    struct progress progress;
    int rc = cli_store(m->cli, CLI_CREATE, &with_store.q, err);
    if (rc)
        return rc;
    PRE(m->ingest);
    m->opts.world = m->cli->world;
    m->opts.progress = on_progress;
    m->opts.progress_ctx = &progress;
    m->opts.cancel = interrupt_watch();
    if (m->ingest == ingest_csv || m->ingest == ingest_jsonl)
        warn_of_ages(with_store.q, m->args, m->table, m->opts.family);
    progress_start(&progress, m->cli, "import");
    rc = m->ingest(&with_store, &m->report, err);
    progress_end(&progress);
    if (!rc || m->report.record_count > 0 || m->report.damage_count > 0)
        import_report_print(m->cli, m->args, &m->report, m->table,
                            rc != 0 && !is_stored(rc, &m->report));
    return list_damage(m, hint_failure(m, rc, err), err);
}

static int open_rejects(struct import *m, struct err *err)
{
    const char *to = args_value(m->args, "rejects");
    if (!to)
        return 0;
    m->opts.reject = import_rejects_add;
    m->opts.reject_ctx = &m->rejects;
    return import_rejects_open(&m->rejects, to, err);
}

static int run_import(struct cli *cli,
                      const struct args *args,
                      ingest_fn ingest,
                      struct err *err)
{
    struct import m = {.cli = cli,
                       .args = args,
                       .table = args_value(args, "into"),
                       .ingest = ingest};
    int rc;
    ingest_options_init(&m.opts);
    if (!m.table)
        return usage_error(args, err, "into which table? --into TABLE");
    rc = parse_options(args, &m.opts, err);
    if (rc)
        return rc;
    rc = import_input_open(cli, args, &m.in, err);
    if (!rc && !ingest)
        rc = find_kind(&m, err);
    if (!rc && m.ingest == ingest_warc)
        cli->memtable_bytes = INGEST_WARC_MEMTABLE_BYTES;
    if (!rc && (m.ingest == ingest_cells || m.ingest == ingest_cell_files))
        rc = find_schema(&m, err);
    if (!rc)
        rc = open_rejects(&m, err);
    if (!rc)
        rc = run_ingest(&m, err);
    rc = import_rejects_close(&m.rejects, rc, err);
    ingest_report_free(&m.report);
    import_input_close(&m.in);
    buf_close(&m.schema);
    return rc;
}

static int run_any(struct cli *cli, const struct args *args, struct err *err)
{
    return run_import(cli, args, NULL, err);
}

static int run_warc(struct cli *cli, const struct args *args, struct err *err)
{
    return run_import(cli, args, ingest_warc, err);
}

static int run_csv(struct cli *cli, const struct args *args, struct err *err)
{
    return run_import(cli, args, ingest_csv, err);
}

static int run_jsonl(struct cli *cli, const struct args *args, struct err *err)
{
    return run_import(cli, args, ingest_jsonl, err);
}

static int run_log(struct cli *cli, const struct args *args, struct err *err)
{
    return run_import(cli, args, ingest_access_log, err);
}

#define RERUN_DETAILS                                                          \
    "A FILE \"-\" is standard input, fs:PATH a file of the target's own\n"     \
    "file system (quarry fs); a directory stands for the files in it and\n"    \
    "below, a pattern for the files it matches. Files compressed by gzip,\n"   \
    "zstd, lz4, bzip2 or xz are decompressed.\n\n"                             \
    "Lines that cannot be read are refused and reported with file, place\n"    \
    "and reason. The status is 1 if most of the lines are refused, if a\n"     \
    "compressed text is truncated or damaged, and as --strict and\n"           \
    "--max-errors say. An import can be run again: it writes the same\n"       \
    "cells."
#define TEXT_DETAILS RERUN_DETAILS " Files that are no text are refused."

const struct command import_commands[] = {
    {.name = "import",
     .arguments = "FILE… --into TABLE",
     .summary = "Bring files in, whatever they are: told by their contents",
     .details =
         "Reads web archives (WARC, ARC), CSV of any separator, JSON lines,\n"
         "access logs, and what `quarry export` writes, record files too: the\n"
         "same cells again. Parquet is read by DuckDB (scripts/deps sql).\n"
         "All files of one import are of one kind; options of a kind are in\n"
         "its own page, as quarry import csv --help.\n\n" RERUN_DETAILS,
     .examples = "quarry import crawl/ --into webtable\n"
                 "quarry import people.csv.gz --key email --into people\n"
                 "ssh host cat backup.jsonl.zst | quarry import - --into t",
     .words_min = 1,
     .words_max = WORDS_ANY,
     .options = {field_options, any_options, common_options},
     .run = run_any},
    {.name = "import warc",
     .arguments = "FILE… --into TABLE",
     .summary = "Bring web archives in: pages, links, languages",
     .details =
         "Reads WARC and ARC, plain, gzip, zstd or lz4, told by content.\n"
         "Rows are com.cnn.www/path: pages in contents:, by time of capture; "
         "link texts in\nanchor:<source> on the row of the page they lead "
         "to.\n\n" RERUN_DETAILS " Files that are no archives are skipped.",
     .examples = "quarry import warc crawl/*.warc.gz --into webtable",
     .words_min = 1,
     .words_max = WORDS_ANY,
     .options = {warc_options, common_options},
     .run = run_warc},
    {.name = "import csv",
     .arguments = "FILE… --into TABLE",
     .summary = "Bring comma-separated values in, a row a line",
     .details = TEXT_DETAILS,
     .examples = "quarry import csv people.csv --key email --into people",
     .words_min = 1,
     .words_max = WORDS_ANY,
     .options = {field_options, common_options},
     .run = run_csv},
    {.name = "import jsonl",
     .arguments = "FILE… --into TABLE",
     .summary = "Bring JSON objects in, one a line",
     .details = "Nested fields become columns \"a.b\".\n\n" TEXT_DETAILS,
     .examples = "quarry import jsonl events.jsonl --key id --into events",
     .words_min = 1,
     .words_max = WORDS_ANY,
     .options = {field_options, common_options},
     .run = run_jsonl},
    {.name = "import access-log",
     .arguments = "FILE… --into TABLE",
     .summary = "Bring the logs of Apache and nginx in",
     .details = TEXT_DETAILS,
     .examples = "quarry import access-log access.log --host www.example.org "
                 "--into log",
     .words_min = 1,
     .words_max = WORDS_ANY,
     .options = {log_options, common_options},
     .run = run_log},
    {.name = NULL},
};
