/* quarry export: rows of a table into a file. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/text.h"
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
        if (interrupted()) {
            r = err_set(err, ERR_CANCELLED,
                        "export: interrupted after %llu rows",
                        (unsigned long long)p->row_count);
            break;
        }
        progress_bytes(&progress, p->byte_count, 0, NULL);
    }
    progress_end(&progress);
    quarry_scanner_close(scanner);
    return r;
}

/* The file appears under its name only when it is whole. */
static int finish_file(FILE *out,
                       const char *partial,
                       const char *path,
                       int r,
                       struct err *err)
{
    bool synced = fflush(out) == 0 && fsync(fileno(out)) == 0;
    int closed = fclose(out);
    if (!r && (!synced || closed))
        r = err_set_errno(err, errno, "%s", path);
    if (!r && rename(partial, path) != 0)
        r = err_set_errno(err, errno, "%s", path);
    if (r)
        remove(partial);
    return r;
}

static int export_to(struct cli *cli,
                     struct quarry_table *t,
                     const struct quarry_read_options *opts,
                     const char *path,
                     struct err *err)
{
    struct row_printer p;
    struct buf partial = BUF_INIT;
    FILE *out = stdout;
    int r;
    if (path) {
        buf_printf(&partial, "%s.partial", path);
        out = fopen(buf_cstr(&partial), "wb");
        if (!out) {
            r = err_set_errno(err, errno, "%s", path);
            buf_close(&partial);
            return r;
        }
    }
    /* A table is not for people's eyes here: rows as JSON unless asked. */
    row_printer_init(&p, cli->format == FORMAT_CSV ? FORMAT_CSV : FORMAT_JSON,
                     opts->keys_only, 0);
    p.out = out;
    r = export_rows(cli, t, opts, &p, err);
    row_printer_close(&p);
    if (path)
        r = finish_file(out, buf_cstr(&partial), path, r, err);
    buf_close(&partial);
    if (!r && path)
        cli_remark(cli, "%llu rows in %s", (unsigned long long)p.row_count,
                   path);
    return r;
}

static int run_export(struct cli *cli, const struct args *args, struct err *err)
{
    struct scan_args spec;
    struct quarry_table *t;
    int r = scan_args_parse(cli, args, &spec, err);
    if (r)
        return r;
    r = cli_table(cli, args->words[0], &t, err);
    if (!r) {
        (void)interrupt_watch();
        r = export_to(cli, t, &spec.options, args_value(args, "output"), err);
        quarry_table_close(t);
    }
    scan_args_close(&spec);
    return r;
}

const struct command export_commands[] = {
    {.name = "export",
     .arguments = "TABLE [OPTION…]",
     .summary = "Write rows to a file: JSON lines, or CSV",
     .details =
         "One JSON object a row, with all cells and times (--format csv: "
         "one line a\ncell). Bytes that are not UTF-8 come in base64, in "
         "a field …_base64.",
     .examples = "quarry export webtable --family anchor -o anchors.jsonl",
     .words_min = 1,
     .words_max = 1,
     .options = {export_options, read_options},
     .run = run_export},
    {.name = NULL},
};
