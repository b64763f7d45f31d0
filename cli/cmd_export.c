/* quarry export: rows of a table into files of lines or records
 * (export_parts.h), or a web archive. `quarry import` reads them back.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/world.h"
#include "base/runtime/world_mount.h"
#include "bigtable/quarry.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/export_parts.h"
#include "cli/export_target.h"
#include "cli/interrupt.h"
#include "cli/output_file.h"
#include "cli/progress.h"
#include "cli/scan_args.h"
#include "cli/sql_parquet.h"
#include "mapreduce/ingest/export.h"
#include "mapreduce/ingest/table_schema.h"

static const struct option export_options[] = {
    {"output", 'o', "FILE", "instead of standard output"},
    {"compress", 0, "PACKING",
     "pack lines: gz, zst, lz4, bz2, xz or none; without it, as\n"
     "the name of FILE says"},
    {"split", 0, "N",
     "write N files at the same time, each with a range of the\n"
     "rows: FILE-00000-of-0000N…"},
    {"with-schema", 0, NULL,
     "write the table's families and groups beside FILE, as\n"
     "FILE.schema: an import makes the table as it was"},
    {NULL, 0, NULL, NULL},
};

static int check_interrupt(uint64_t rows, struct err *err)
{
    if (!interrupted())
        return ERR_OK;
    return err_set(err, ERR_CANCELLED, "export: interrupted after %llu rows",
                   (unsigned long long)rows);
}

/* --- WARC ---------------------------------------------------------------- */

struct warc_export {
    struct output_file *to;
    struct progress progress;
};

static int write_records(void *ctx,
                         struct slice bytes,
                         const struct export_report *done,
                         struct err *err)
{
    struct warc_export *x = ctx;
    if (fwrite(bytes.data, 1, bytes.len, x->to->out) != bytes.len)
        return err_set_errno(err, errno, "export");
    progress_bytes(&x->progress, done->byte_count, 0, NULL);
    return check_interrupt(done->row_count, err);
}

static void
remark_warc(struct cli *cli, const struct export_report *r, const char *path)
{
    struct buf b = BUF_INIT;
    text_put_count(&b, r->capture_count);
    buf_append_str(&b, " captures of ");
    text_put_count(&b, r->row_count);
    buf_printf(&b, " pages in %s, ", path ? path : "all");
    text_put_bytes(&b, r->byte_count);
    if (r->left_out_count > 0) {
        buf_append_str(&b, "; ");
        text_put_count(&b, r->left_out_count);
        buf_append_str(&b, " captures without contents left out");
    }
    cli_remark(cli, "%s", buf_cstr(&b));
    buf_close(&b);
}

typedef int (*archive_export_fn)(struct quarry_table *table,
                                 const struct quarry_read_options *read,
                                 const struct export_options *opts,
                                 struct export_report *report,
                                 struct err *err);

static archive_export_fn archive_export_of(enum export_form form)
{
    switch (form) {
    case EXPORT_WACZ: return export_wacz;
    case EXPORT_CDXJ: return export_cdxj;
    case EXPORT_WET: return export_wet;
    case EXPORT_WAT: return export_wat;
    case EXPORT_WARC:
    case EXPORT_JSON:
    case EXPORT_CSV:
    case EXPORT_TSV:
    case EXPORT_RECORDS:
    case EXPORT_PARQUET:
    case EXPORT_FORMS: break;
    }
    return export_warc;
}

static int export_archive(struct cli *cli,
                          struct quarry_table *t,
                          const struct quarry_read_options *opts,
                          enum export_form form,
                          struct output_file *to,
                          struct err *err)
{
    struct warc_export x = {.to = to};
    struct export_report report;
    const char *slash = to->path ? strrchr(to->path, '/') : NULL;
    const char *name = slash ? slash + 1 : to->path ? to->path : "-";
    struct export_options o = {
        .compression = export_compression_of(name),
        .file_name = name,
        .time_us = (int64_t)world_now_us(cli->world),
        .write = write_records,
        .ctx = &x,
    };
    int rc;
    progress_start(&x.progress, cli, "export");
    rc = archive_export_of(form)(t, opts, &o, &report, err);
    progress_end(&x.progress);
    rc = output_file_close(to, rc, err);
    if (!rc)
        remark_warc(cli, &report, to->path);
    return rc;
}

/* --- the schema ---------------------------------------------------------- */

/* The schema of @table as text, appended to @out. */
static int describe_schema(struct cli *cli,
                           const char *table,
                           struct buf *out,
                           struct err *err)
{
    struct quarry_table_info *info;
    struct quarry *q;
    int rc = cli_store(cli, CLI_READ, &q, err);
    if (!rc)
        rc = quarry_table_describe(q, table, &info, err);
    if (rc)
        return rc;
    table_schema_put(out, info);
    quarry_table_info_free(info);
    return ERR_OK;
}

/* @schema beside @path. */
static int write_schema(struct cli *cli,
                        struct slice schema,
                        const char *path,
                        struct err *err)
{
    struct output_file to;
    struct buf name = BUF_INIT;
    int rc;
    PRE(path);
    buf_printf(&name, "%s%s", path, TABLE_SCHEMA_SUFFIX);
    rc = output_file_open_in(&to, cli->world, buf_cstr(&name), err);
    if (!rc) {
        if (fwrite(schema.data, 1, schema.len, to.out) != schema.len)
            rc = err_set_errno(err, errno, "%s", buf_cstr(&name));
        rc = output_file_close(&to, rc, err);
    }
    buf_close(&name);
    return rc;
}

/* --- the command --------------------------------------------------------- */

/* Files of lines or records, and what came of it. */
static int export_files(struct cli *cli,
                        struct quarry_table *t,
                        const struct quarry_read_options *opts,
                        const struct export_target *target,
                        struct slice schema,
                        struct err *err)
{
    struct export_done done;
    struct buf b = BUF_INIT;
    int rc = export_parts(cli, t, opts, target, schema, &done, err);
    if (rc || !target->path)
        return rc;
    buf_printf(&b, "%llu rows in %s", (unsigned long long)done.rows,
               target->path);
    if (target->split) {
        buf_clear(&b);
        buf_printf(&b, "%llu rows in %zu files, ",
                   (unsigned long long)done.rows, target->split);
        export_target_part(target, 0, &b);
        buf_append_str(&b, target->split > 1 ? " and so on" : "");
    }
    cli_remark(cli, "%s", buf_cstr(&b));
    buf_close(&b);
    return ERR_OK;
}

static int export_one_archive(struct cli *cli,
                              struct quarry_table *t,
                              const struct quarry_read_options *opts,
                              const struct export_target *target,
                              struct err *err)
{
    struct output_file to;
    int rc = output_file_open_in(&to, cli->world, target->path, err);
    return rc ? rc : export_archive(cli, t, opts, target->form, &to, err);
}

#ifdef QUARRY_HAVE_SQL
/* DuckDB writes the file itself: under its name until it is whole. */
static int export_parquet(struct cli *cli,
                          const char *table,
                          const struct quarry_read_options *opts,
                          const struct export_target *target,
                          struct err *err)
{
    struct output_file to;
    uint64_t cells = 0;
    const char *path = "/dev/stdout";
    int rc;
    if (!target->path && isatty(STDOUT_FILENO)) {
        err_set(err, ERR_INVALID, "Parquet is not for a terminal");
        err_hint(err, "name a FILE");
        return ERR_INVALID;
    }
    if (target->path && world_is_mounted(cli->world, target->path)) {
        err_set(err, ERR_UNSUPPORTED,
                "%s: Parquet is written to files of this "
                "machine alone",
                target->path);
        err_hint(err, "write a file, then: quarry fs put");
        return ERR_UNSUPPORTED;
    }
    rc = output_file_open(&to, target->path, err);
    if (rc)
        return rc;
    if (target->path)
        path = to.partial.len ? buf_cstr(&to.partial) : buf_cstr(&to.target);
    rc = sql_parquet_write(cli, table, opts, path, &cells, err);
    rc = output_file_close(&to, rc, err);
    if (!rc && target->path)
        cli_remark(cli, "%s written", target->path);
    return rc;
}
#else
static int export_parquet(struct cli *cli,
                          const char *table,
                          const struct quarry_read_options *opts,
                          const struct export_target *target,
                          struct err *err)
{
    (void)cli;
    (void)table;
    (void)opts;
    (void)target;
    err_set(err, ERR_UNSUPPORTED,
            "Parquet: this quarry was built without DuckDB");
    err_hint(err, "run scripts/deps sql, then cmake and the build again");
    return ERR_UNSUPPORTED;
}
#endif

static int export_table(struct cli *cli,
                        const struct args *args,
                        const struct quarry_read_options *opts,
                        const struct export_target *target,
                        struct err *err)
{
    const char *name = args->words[0];
    struct buf schema = BUF_INIT;
    struct quarry_table *t;
    int rc = cli_table(cli, name, CLI_READ, &t, err);
    if (rc)
        return rc;
    (void)interrupt_watch();
    rc = describe_schema(cli, name, &schema, err);
    if (!rc && export_form_is_archive(target->form))
        rc = export_one_archive(cli, t, opts, target, err);
    else if (!rc && target->form == EXPORT_PARQUET)
        rc = export_parquet(cli, name, opts, target, err);
    else if (!rc)
        rc = export_files(cli, t, opts, target, buf_slice(&schema), err);
    quarry_table_close(t);
    if (!rc && args_flag(args, "with-schema"))
        rc = write_schema(cli, buf_slice(&schema), target->path, err);
    buf_close(&schema);
    return rc;
}

static int run_export(struct cli *cli, const struct args *args, struct err *err)
{
    struct export_target target;
    struct scan_args spec;
    int rc = scan_args_parse(cli, args, &spec, err);
    if (rc)
        return rc;
    rc = export_target_parse(cli, args, &target, err);
    if (!rc)
        rc = export_table(cli, args, &spec.options, &target, err);
    scan_args_close(&spec);
    return rc;
}

const struct command export_commands[] = {
    {.name = "export",
     .arguments = "TABLE [FILE] [OPTION…]",
     .summary = "Write rows to files: JSON, CSV, TSV, Parquet, archives",
     .details =
         "The suffix of FILE says the format: .jsonl, .csv, .tsv, .records, "
         ".parquet,\n.warc.gz, .warc.zst, .wacz, .cdxj, .warc.wet.gz, "
         ".warc.wat.gz; --format (json,\ncsv, tsv, records, parquet, warc, "
         "wacz, cdxj, wet, wat) overrides it; without\neither, JSON. A "
         "further suffix packs lines: .gz, .zst, .lz4, .bz2, .xz.\n\n"
         "JSON has one object a row, with all cells and times; CSV and TSV "
         "have one\nline a cell, record files one record, Parquet one row (by "
         "DuckDB: scripts/deps\nsql). `quarry import` reads all of them, and "
         "`quarry load` JSON, CSV and TSV:\nthe same cells again.\n"
         "Bytes that are not UTF-8 are in base64 in JSON (a field "
         "…_base64) and CSV\n(base64:…), and \\xNN in TSV.\n\n"
         "A web archive has the captures of a table that `import warc` made; "
         "importing\nit gives the same rows again; so has a WACZ, with an "
         "index and digests. CDXJ is\nan index of the archives that were "
         "imported, WET the texts of pages, WAT their\nlinks and headers.\n\n"
         "A file appears when it is whole, and keeps the mode of the one that "
         "it\nreplaces; devices, pipes and what links lead to are written in "
         "place.",
     .examples = "quarry export webtable anchors.jsonl.zst --family anchor\n"
                 "quarry export webtable backup.records --split 8\n"
                 "quarry export webtable --format warc gnu.warc.gz "
                 "--prefix org.gnu.",
     .words_min = 1,
     .words_max = 2,
     .own_format = true,
     .options = {export_options, read_options},
     .run = run_export},
    {.name = NULL},
};
