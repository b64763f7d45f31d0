/* quarry export: rows of a table into a file. */
#include "mapreduce/ingest/export.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/text.h"
#include "base/runtime/world.h"
#include "bigtable/client/quarry.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/row_printer.h"
#include "cli/scan_args.h"

static const struct option export_options[] = {
    {"output", 'o', "FILE", "instead of standard output"},
    {NULL, 0, NULL, NULL},
};

/* Where the export goes. */
struct target {
    FILE *out;
    const char *path;   /* Borrowed; NULL: standard output. */
    struct buf partial; /* Its name until it is whole. */
};

static int check_interrupt(uint64_t rows, struct err *err)
{
    if (!interrupted())
        return ERR_OK;
    return err_set(err, ERR_CANCELLED, "export: interrupted after %llu rows",
                   (unsigned long long)rows);
}

/* --- the file ---------------------------------------------------------- */

static int open_target(struct target *t, const char *path, struct err *err)
{
    *t = (struct target){.out = stdout, .path = path};
    if (!path)
        return ERR_OK;
    buf_printf(&t->partial, "%s.partial", path);
    t->out = fopen(buf_cstr(&t->partial), "wb");
    if (t->out)
        return ERR_OK;
    buf_close(&t->partial);
    return err_set_errno(err, errno, "%s", path);
}

/* The file appears under its name only when it is whole. */
static int close_target(struct target *t, int r, struct err *err)
{
    const char *partial;
    bool synced;
    int closed;
    if (!t->path)
        return r;
    partial = buf_cstr(&t->partial);
    synced = fflush(t->out) == 0 && fsync(fileno(t->out)) == 0;
    closed = fclose(t->out);
    if (!r && (!synced || closed))
        r = err_set_errno(err, errno, "%s", t->path);
    if (!r && rename(partial, t->path) != 0)
        r = err_set_errno(err, errno, "%s", t->path);
    if (r)
        remove(partial);
    buf_close(&t->partial);
    return r;
}

/* --- JSON and CSV ------------------------------------------------------ */

static int export_rows(struct cli *cli,
                       struct quarry_table *t,
                       const struct quarry_read_options *opts,
                       struct row_printer *p,
                       struct err *err)
{
    struct quarry_scanner *scanner;
    const struct quarry_row *row;
    struct progress progress;
    int r = quarry_scan(t, opts, &scanner, err);
    if (r)
        return r;
    progress_start(&progress, cli, "export");
    while (!(r = quarry_scanner_next(scanner, &row, err)) && row) {
        row_printer_row(p, row);
        if (ferror(p->out)) {
            r = err_set_errno(err, errno, "export");
            break;
        }
        r = check_interrupt(p->row_count, err);
        if (r)
            break;
        progress_bytes(&progress, p->byte_count, 0, NULL);
    }
    progress_end(&progress);
    quarry_scanner_close(scanner);
    return r;
}

/* A table is not for people's eyes here: rows as JSON unless asked. */
static int export_lines(struct cli *cli,
                        struct quarry_table *t,
                        const struct quarry_read_options *opts,
                        struct target *to,
                        struct err *err)
{
    struct row_printer p;
    int r;
    row_printer_init(&p, cli->format == FORMAT_CSV ? FORMAT_CSV : FORMAT_JSON,
                     opts->keys_only, 0);
    p.out = to->out;
    r = export_rows(cli, t, opts, &p, err);
    row_printer_close(&p);
    r = close_target(to, r, err);
    if (!r && to->path)
        cli_remark(cli, "%llu rows in %s", (unsigned long long)p.row_count,
                   to->path);
    return r;
}

/* --- WARC -------------------------------------------------------------- */

struct warc_export {
    struct target *to;
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
                          struct target *to,
                          struct err *err)
{
    struct warc_export x = {.to = to};
    struct export_report report;
    const char *slash = to->path ? strrchr(to->path, '/') : NULL;
    const char *name = slash ? slash + 1 : to->path ? to->path : "-";
    struct export_options o = {
        .packing = export_packing_of(name),
        .file_name = name,
        .time_us = (int64_t)world_now_us(cli->world),
        .write = write_records,
        .ctx = &x,
    };
    int r;
    progress_start(&x.progress, cli, "export");
    r = export_warc(t, opts, &o, &report, err);
    progress_end(&x.progress);
    r = close_target(to, r, err);
    if (!r)
        remark_warc(cli, &report, to->path);
    return r;
}

/* --- the command ------------------------------------------------------- */

static bool is_archive_name(const char *path)
{
    struct slice s = slice_str(path ? path : "");
    return slice_ends_with(s, SLICE_LIT(".warc")) ||
           slice_ends_with(s, SLICE_LIT(".warc.gz")) ||
           slice_ends_with(s, SLICE_LIT(".warc.zst"));
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

/* Where to, and as what? */
static int parse_target(const struct args *args,
                        const char **path,
                        bool *archive,
                        struct err *err)
{
    const char *format = args_value(args, "format");
    *path = args_value(args, "output");
    if (*path && args->word_count > 1)
        return usage_error(args, err, "to %s or to %s?", args->words[1], *path);
    if (args->word_count > 1)
        *path = args->words[1];
    if (*path && strcmp(*path, "-") == 0)
        *path = NULL;
    *archive = format ? strcmp(format, "warc") == 0 : is_archive_name(*path);
    return *archive ? check_whole(args, err) : ERR_OK;
}

static int export_table(struct cli *cli,
                        const struct args *args,
                        const struct quarry_read_options *opts,
                        struct err *err)
{
    struct quarry_table *t;
    struct target to;
    const char *path;
    bool archive;
    int r = parse_target(args, &path, &archive, err);
    if (!r)
        r = cli_table(cli, args->words[0], &t, err);
    if (r)
        return r;
    (void)interrupt_watch();
    r = open_target(&to, path, err);
    if (!r)
        r = archive ? export_archive(cli, t, opts, &to, err)
                    : export_lines(cli, t, opts, &to, err);
    quarry_table_close(t);
    return r;
}

static int run_export(struct cli *cli, const struct args *args, struct err *err)
{
    struct scan_args spec;
    int r = scan_args_parse(cli, args, &spec, err);
    if (r)
        return r;
    r = export_table(cli, args, &spec.options, err);
    scan_args_close(&spec);
    return r;
}

const struct command export_commands[] = {
    {.name = "export",
     .arguments = "TABLE [FILE] [OPTION…]",
     .summary = "Write rows to a file: JSON lines, CSV, or a web archive",
     .details =
         "One JSON object a row, with all cells and times (--format csv: "
         "one line a\ncell). Bytes that are not UTF-8 come in base64, in "
         "a field …_base64.\n\n"
         "--format warc, or a FILE named .warc, .warc.gz or .warc.zst, writes "
         "the\ncaptures of a table that `import warc` made; importing the "
         "archive gives the\nsame rows again.",
     .examples = "quarry export webtable anchors.jsonl --family anchor\n"
                 "quarry export webtable --format warc gnu.warc.gz "
                 "--prefix org.gnu.",
     .words_min = 1,
     .words_max = 2,
     .own_format = "warc",
     .options = {export_options, read_options},
     .run = run_export},
    {.name = NULL},
};
