/* quarry import warc|csv|jsonl|access-log: files from outside into tables. This
 * file reads options and reports; mapreduce/ingest parses and writes.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/text.h"
#include "bigtable/quarry.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/import_input.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/table_printer.h"
#include "mapreduce/ingest/ingest.h"

/* Damage printed before the rest is only counted. */
#define DAMAGE_SHOWN_MAX 20

/* --- options ------------------------------------------------------------- */

static const struct option common_options[] = {
    {"into", 0, "TABLE", "the table; made if it is not there"},
    {"tasks", 0, "N", "files read at a time; one per processor if not given"},
    {"no-create", 0, NULL, "fail if the table is not there"},
    {"strict", 0, NULL, "fail at the first place of damage"},
    {"max-bad", 0, "N", "fail when there are more than N places of damage"},
    {"damage-to", 0, "FILE",
     "list all places of damage there, as JSON lines\n"
     "(100,000 at most; 20 are printed)"},
    {NULL, 0, NULL, NULL},
};

static const struct option warc_options[] = {
    {"no-links", 0, NULL, "write no anchor cells"},
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
    {"separator", 0, "CHAR", "of csv: , ; | or tab; 'guess' looks (,)"},
    {"no-header", 0, NULL, "csv: the first line is data; columns are 1, 2, …"},
    {NULL, 0, NULL, NULL},
};

static const struct option log_options[] = {
    {"host", 0, "HOST", "whose log this is (localhost)"},
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
    if (args_flag(args, "strict") && args_flag(args, "max-bad"))
        return usage_error(args, err, "either --strict or --max-bad");
    o->bad_limited = args_flag(args, "strict") || args_flag(args, "max-bad");
    rc = args_number(args, "max-bad", 0, UINT64_MAX, &o->bad_max, err);
    if (rc)
        return rc;
    o->tasks = (unsigned)tasks;
    if (args_flag(args, "damage-to"))
        o->damage_kept_max = INGEST_DAMAGE_KEPT_MAX;
    o->create_table = !args_flag(args, "no-create");
    o->links = !args_flag(args, "no-links");
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

/* --- report -------------------------------------------------------------- */

static void print_damage(const struct ingest_report *r,
                         const struct import_input *in)
{
    size_t shown = MIN_OF(r->damage_kept, (size_t)DAMAGE_SHOWN_MAX);
    for (size_t i = 0; i < shown; i++)
        fprintf(stderr, "quarry: %s: byte %" PRIu64 ": %s%s\n",
                import_input_name(in, r->damage[i].file), r->damage[i].offset,
                r->damage[i].reason, r->damage[i].lost ? " (lost)" : "");
    if (r->damage_count > shown)
        fprintf(stderr, "quarry: … and %" PRIu64 " more places of damage\n",
                r->damage_count - shown);
}

/* All that the report keeps, a JSON object a line. */
static int
write_damage(const struct ingest_report *r, const char *path, struct err *err)
{
    struct buf b = BUF_INIT;
    FILE *f = fopen(path, "w");
    if (!f)
        return err_set_errno(err, errno, "--damage-to %s", path);
    for (size_t i = 0; i < r->damage_kept; i++) {
        const struct ingest_damage *d = &r->damage[i];
        buf_append_str(&b, "{\"file\":");
        text_put_json(&b, slice_str(d->file));
        buf_printf(&b, ",\"offset\":%" PRIu64 ",\"reason\":", d->offset);
        text_put_json(&b, slice_str(d->reason));
        buf_printf(&b, ",\"lost\":%s}\n", d->lost ? "true" : "false");
        fwrite(b.data, 1, b.len, f);
        buf_clear(&b);
    }
    buf_close(&b);
    if (fclose(f))
        return err_set_errno(err, errno, "--damage-to %s", path);
    return 0;
}

static const struct sheet_column report_columns[] = {
    {"records", SHEET_NUMBER},      {"pages", SHEET_NUMBER},
    {"revisits", SHEET_NUMBER},     {"links", SHEET_NUMBER},
    {"skipped", SHEET_NUMBER},      {"rows", SHEET_NUMBER},
    {"cells", SHEET_NUMBER},        {"damaged", SHEET_NUMBER},
    {"lost", SHEET_NUMBER},         {"bytes_read", SHEET_BYTES},
    {"bytes_decoded", SHEET_BYTES},
};

/* Rows that were written, each counted once where they were told apart. */
static uint64_t rows_there(const struct ingest_report *r)
{
    return r->distinct_count ? r->distinct_count : r->row_count;
}

static void print_report_sheet(struct cli *cli, const struct ingest_report *r)
{
    struct sheet s;
    sheet_init(&s, report_columns, ARRAY_LEN(report_columns));
    sheet_add_u64(&s, r->record_count);
    sheet_add_u64(&s, r->page_count);
    sheet_add_u64(&s, r->revisit_count);
    sheet_add_u64(&s, r->link_count);
    sheet_add_u64(&s, r->skipped_count);
    sheet_add_u64(&s, rows_there(r));
    sheet_add_u64(&s, r->cell_count);
    sheet_add_u64(&s, r->damage_count);
    sheet_add_u64(&s, r->lost_count);
    sheet_add_u64(&s, r->bytes_read);
    sheet_add_u64(&s, r->bytes_decoded);
    sheet_print(&s, cli->format);
    sheet_close(&s);
}

static void put_count_of(struct buf *b, uint64_t n, const char *what)
{
    if (n == 0)
        return;
    if (b->len)
        buf_append_str(b, ", ");
    text_put_count(b, n);
    buf_printf(b, " %s", what);
}

/* One line for people: what came in, and how fast. */
static void
print_summary(const struct ingest_report *r, const char *table, bool failed)
{
    struct buf b = BUF_INIT;
    uint64_t us = MAX_OF(r->elapsed_us, UINT64_C(1));
    /* Archives alone tell what they were decompressed to. */
    uint64_t bytes = MAX_OF(r->bytes_read, r->bytes_decoded);
    double per_s = (double)bytes * 1e6 / (double)us;
    put_count_of(&b, r->record_count, "records");
    put_count_of(&b, r->page_count, "pages");
    put_count_of(&b, r->revisit_count, "revisits");
    put_count_of(&b, r->link_count, "links");
    put_count_of(&b, rows_there(r), rows_there(r) == 1 ? "row" : "rows");
    if (b.len == 0)
        buf_append_str(&b, "nothing");
    /* Input that was read and not flushed is lost with the failure. */
    if (failed)
        buf_append_str(&b, " before it failed; ");
    else
        buf_printf(&b, " into %s; ", table);
    text_put_bytes(&b, r->bytes_read);
    buf_append_str(&b, " read, ");
    if (r->bytes_decoded > 0) {
        text_put_bytes(&b, r->bytes_decoded);
        buf_append_str(&b, " decoded, ");
    }
    buf_append_str(&b, "in ");
    text_put_duration(&b, r->elapsed_us);
    buf_append_str(&b, " (");
    text_put_bytes(&b, (uint64_t)per_s);
    buf_append_str(&b, "/s)");
    puts(buf_cstr(&b));
    buf_close(&b);
}

/* Of several records with one key, a row has the cells of the last. */
static void remark_same_keys(struct cli *cli,
                             const struct args *args,
                             const struct ingest_report *r)
{
    struct buf b = BUF_INIT;
    if (r->distinct_count == 0 || r->distinct_count >= r->row_count)
        return;
    text_put_count(&b, r->row_count - r->distinct_count);
    buf_append_str(&b, " records have the key of an earlier one and share its "
                       "row");
    if (strcmp(args->command->name, "import csv") == 0 &&
        !args_flag(args, "key"))
        buf_append_str(&b, "; the key is the first column: --key COLUMN,COLUMN "
                           "makes one of several, --key '#' numbers the lines");
    cli_remark(cli, "%s", buf_cstr(&b));
    buf_close(&b);
}

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

static void print_report(struct cli *cli,
                         const struct args *args,
                         const struct import_input *in,
                         const struct ingest_report *r,
                         const char *table,
                         bool failed)
{
    print_damage(r, in);
    remark_same_keys(cli, args, r);
    if (cli->format == FORMAT_TEXT)
        print_summary(r, table, failed);
    else
        print_report_sheet(cli, r);
}

/* --- running ------------------------------------------------------------- */

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

static int run_import(struct cli *cli,
                      const struct args *args,
                      ingest_fn ingest,
                      struct err *err)
{
    const char *table = args_value(args, "into");
    const char *damage_to = args_value(args, "damage-to");
    struct ingest_options opts;
    struct ingest_job job = {
        .table = table,
        .opts = &opts,
    };
    struct import_input in;
    struct ingest_report report;
    struct progress progress;
    struct quarry *q;
    int rc;
    memset(&report, 0, sizeof(report));
    ingest_options_init(&opts);
    if (!table)
        return usage_error(args, err, "into which table? --into TABLE");
    rc = parse_options(args, &opts, err);
    if (rc)
        return rc;
    rc = import_input_open(cli, args, &in, err);
    if (!rc)
        rc = cli_store(cli, CLI_CREATE, &q, err);
    if (rc)
        goto out_input;
    job.paths = in.paths;
    job.path_count = in.count;
    job.q = q;
    opts.world = cli->world;
    opts.progress = on_progress;
    opts.progress_ctx = &progress;
    opts.cancel = interrupt_watch();
    if (ingest == ingest_csv || ingest == ingest_jsonl)
        warn_of_ages(q, args, table, opts.family);
    progress_start(&progress, cli, "import");
    rc = ingest(&job, &report, err);
    progress_end(&progress);
    if (!rc || report.record_count > 0)
        print_report(cli, args, &in, &report, table,
                     rc != 0 && !is_stored(rc, &report));
    if (rc == ERR_CANCELLED)
        err_hint(err, "%" PRIu64 " rows are stored; run it again for the rest",
                 rows_there(&report));
    if (damage_to) {
        struct err why = ERR_INIT;
        int w = write_damage(&report, damage_to, &why);
        if (w && !rc)
            rc = err_copy(err, &why);
    }
    if (rc == ERR_NOTFOUND && args_flag(args, "no-create"))
        cli_hint_table(cli, table, err);
    if (rc == ERR_FULL)
        err_hint(err, "free some space and run it again: what is there stays, "
                      "and is not written twice");
    ingest_report_free(&report);
out_input:
    import_input_close(&in);
    return rc;
}

static int run_warc(struct cli *cli, const struct args *args, struct err *err)
{
    cli->memtable_bytes = INGEST_WARC_MEMTABLE_BYTES;
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

#define RERUN_DETAILS(what, packings)                                          \
    "A FILE \"-\" is standard input, and fs:PATH a file of the target's own\n" \
    "file system (quarry fs). Files that are no " what ", or packed\n"         \
    "otherwise than by " packings ", are refused.\n\n"                         \
    "Damage is skipped and reported with its file and place; the status is\n"  \
    "1 when most of the lines could not be read, with --strict when one\n"     \
    "could not. Running an\n"                                                  \
    "import again, after an interruption or for nothing, changes nothing."
#define TEXT_DETAILS RERUN_DETAILS("text", "gzip or zstd")

const struct command import_commands[] = {
    {.name = "import warc",
     .arguments = "FILE… --into TABLE",
     .summary = "Bring web archives in: pages, links, languages",
     .details =
         "Reads WARC and ARC, plain, gzip, zstd or lz4, told by content.\n"
         "Rows are com.cnn.www/path: pages in contents:, by time of capture; "
         "link texts in\nanchor:<source> on the row of the page they lead "
         "to.\n\n" RERUN_DETAILS("archives", "gzip, zstd or lz4"),
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
