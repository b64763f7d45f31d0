/* quarry export: rows of a table into a file: JSON lines, CSV and TSV, which
 * `quarry load` reads back, or a web archive, which `quarry import warc` does.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/text.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/output_file.h"
#include "cli/progress.h"
#include "cli/row_printer.h"
#include "cli/scan_args.h"
#include "mapreduce/ingest/export.h"

static const struct option export_options[] = {
    {"output", 'o', "FILE", "instead of standard output"},
    {NULL, 0, NULL, NULL},
};

static int check_interrupt(uint64_t rows, struct err *err)
{
    if (!interrupted())
        return ERR_OK;
    return err_set(err, ERR_CANCELLED, "export: interrupted after %llu rows",
                   (unsigned long long)rows);
}

/* --- JSON, CSV and TSV --------------------------------------------------- */

enum export_form {
    EXPORT_JSON,
    EXPORT_CSV,
    EXPORT_TSV,
    EXPORT_WARC
};

static int export_rows(struct cli *cli,
                       struct quarry_table *t,
                       const struct quarry_read_options *opts,
                       struct row_printer *p,
                       struct err *err)
{
    struct quarry_scanner *scanner;
    const struct quarry_row *row;
    struct progress progress;
    int rc = quarry_scan(t, opts, &scanner, err);
    if (rc)
        return rc;
    progress_start(&progress, cli, "export");
    while (!(rc = quarry_scanner_next(scanner, &row, err)) && row) {
        row_printer_row(p, row);
        if (ferror(p->out)) {
            rc = err_set_errno(err, errno, "export");
            break;
        }
        rc = check_interrupt(p->row_count, err);
        if (rc)
            break;
        progress_bytes(&progress, p->byte_count, 0, NULL);
    }
    progress_end(&progress);
    quarry_scanner_close(scanner);
    return rc;
}

/* A table is not for people's eyes here: rows as JSON unless asked. */
static int export_lines(struct cli *cli,
                        struct quarry_table *t,
                        const struct quarry_read_options *opts,
                        enum export_form form,
                        struct output_file *to,
                        struct err *err)
{
    struct row_printer p;
    int rc;
    row_printer_init(&p, form == EXPORT_JSON ? FORMAT_JSON : FORMAT_CSV,
                     opts->keys_only, 0);
    p.tsv = form == EXPORT_TSV;
    p.out = to->out;
    rc = export_rows(cli, t, opts, &p, err);
    row_printer_close(&p);
    rc = output_file_close(to, rc, err);
    if (!rc && to->path)
        cli_remark(cli, "%llu rows in %s", (unsigned long long)p.row_count,
                   to->path);
    return rc;
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

static int export_archive(struct cli *cli,
                          struct quarry_table *t,
                          const struct quarry_read_options *opts,
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
    rc = export_warc(t, opts, &o, &report, err);
    progress_end(&x.progress);
    rc = output_file_close(to, rc, err);
    if (!rc)
        remark_warc(cli, &report, to->path);
    return rc;
}

/* --- the command --------------------------------------------------------- */

static bool has_suffix(const char *path, const char *suffix)
{
    return slice_ends_with(slice_str(path), slice_str(suffix));
}

/* The format that the name of the file asks for. */
static int form_of_name(const struct args *args,
                        const char *path,
                        enum export_form *out,
                        struct err *err)
{
    static const struct {
        const char *suffix;
        enum export_form form;
    } known[] = {{".csv", EXPORT_CSV},      {".tsv", EXPORT_TSV},
                 {".jsonl", EXPORT_JSON},   {".json", EXPORT_JSON},
                 {".ndjson", EXPORT_JSON},  {".warc", EXPORT_WARC},
                 {".warc.gz", EXPORT_WARC}, {".warc.zst", EXPORT_WARC}};

    static const char *const foreign[] = {".parquet", ".gz",  ".zst", ".bz2",
                                          ".xz",      ".zip", ".orc", ".avro"};
    *out = EXPORT_JSON;
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (has_suffix(path, known[i].suffix)) {
            *out = known[i].form;
            return ERR_OK;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(foreign); i++)
        if (has_suffix(path, foreign[i]))
            return usage_error(args, err,
                               "%s: files of this kind are not written; "
                               "name a .jsonl, .csv, .tsv or .warc.gz, or a "
                               "--format",
                               path);
    return ERR_OK;
}

static int form_of_option(const struct args *args,
                          const char *format,
                          enum export_form *out,
                          struct err *err)
{
    static const char *const names[] = {"json", "csv", "tsv", "warc"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strcmp(format, names[i]) == 0) {
            *out = (enum export_form)i;
            return ERR_OK;
        }
    }
    *out = EXPORT_JSON;
    if (strcmp(format, "jsonl") == 0 || strcmp(format, "text") == 0)
        return ERR_OK;
    return usage_error(args, err,
                       "--format: '%s' is none of json, jsonl, csv, tsv and "
                       "warc",
                       format);
}

/* Captures go whole or not at all. */
static int check_whole(const struct args *args, struct err *err)
{
    static const char *const narrowing[] = {"family", "column",    "value",
                                            "saw",    "keys-only", "saw-text"};
    for (size_t i = 0; i < ARRAY_LEN(narrowing); i++)
        if (args_flag(args, narrowing[i]))
            return usage_error(args, err,
                               "--%s: archives take whole captures; choose "
                               "rows and times",
                               narrowing[i]);
    return ERR_OK;
}

/* Where to, and as what? An option comes before a file's name, and that
 * before the format of the shell. */
static int parse_target(const struct cli *cli,
                        const struct args *args,
                        const char **path,
                        enum export_form *form,
                        struct err *err)
{
    const char *format = args_value(args, "format");
    int rc = ERR_OK;
    *path = args_value(args, "output");
    if (*path && args->word_count > 1)
        return usage_error(args, err, "to %s or to %s?", args->words[1], *path);
    if (args->word_count > 1)
        *path = args->words[1];
    if (*path && strcmp(*path, "-") == 0)
        *path = NULL;
    *form = cli->format == FORMAT_CSV ? EXPORT_CSV : EXPORT_JSON;
    if (format)
        rc = form_of_option(args, format, form, err);
    else if (*path)
        rc = form_of_name(args, *path, form, err);
    if (!rc && *form == EXPORT_WARC)
        rc = check_whole(args, err);
    if (!rc && *form == EXPORT_TSV && args_flag(args, "keys-only"))
        rc = usage_error(args, err, "--keys-only: TSV is a line a cell");
    return rc;
}

static int export_table(struct cli *cli,
                        const struct args *args,
                        const struct quarry_read_options *opts,
                        struct err *err)
{
    struct quarry_table *t;
    struct output_file to;
    const char *path;
    enum export_form form;
    int rc = parse_target(cli, args, &path, &form, err);
    if (!rc)
        rc = cli_table(cli, args->words[0], CLI_READ, &t, err);
    if (rc)
        return rc;
    (void)interrupt_watch();
    rc = output_file_open(&to, path, err);
    if (!rc)
        rc = form == EXPORT_WARC ? export_archive(cli, t, opts, &to, err)
                                 : export_lines(cli, t, opts, form, &to, err);
    quarry_table_close(t);
    return rc;
}

static int run_export(struct cli *cli, const struct args *args, struct err *err)
{
    struct scan_args spec;
    int rc = scan_args_parse(cli, args, &spec, err);
    if (rc)
        return rc;
    rc = export_table(cli, args, &spec.options, err);
    scan_args_close(&spec);
    return rc;
}

const struct command export_commands[] = {
    {.name = "export",
     .arguments = "TABLE [FILE] [OPTION…]",
     .summary = "Write rows to a file: JSON lines, CSV, TSV, a web archive",
     .details =
         "The suffix of FILE says the format: .jsonl, .csv, .tsv, .warc, "
         ".warc.gz,\n.warc.zst; --format (json, csv, tsv, warc) overrides it; "
         "without either, JSON.\n\n"
         "JSON has one object a row, with all cells and times; CSV and TSV "
         "have one\nline a cell. `quarry load` reads all three and gives the "
         "same cells again.\nBytes that are not UTF-8 are in base64 in JSON "
         "(a field …_base64) and CSV\n(base64:…), and \\xNN in TSV.\n\n"
         "A web archive has the captures of a table that `import warc` made; "
         "importing\nit gives the same rows again.\n\n"
         "A file appears when it is whole, and keeps the mode of the one that "
         "it\nreplaces; devices, pipes and what links lead to are written in "
         "place.",
     .examples = "quarry export webtable anchors.jsonl --family anchor\n"
                 "quarry export webtable backup.tsv\n"
                 "quarry export webtable --format warc gnu.warc.gz "
                 "--prefix org.gnu.",
     .words_min = 1,
     .words_max = 2,
     .own_format = true,
     .options = {export_options, read_options},
     .run = run_export},
    {.name = NULL},
};
