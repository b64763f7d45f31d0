/* quarry scan, count: many rows. A scan stops when standard output fails.
 * Ctrl-C is looked for between rows by a count, and by a scan in the shell,
 * which end with an error; elsewhere it ends the process.
 */
#include <stdio.h>

#include "bigtable/quarry.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/explain_args.h"
#include "cli/interrupt.h"
#include "cli/row_printer.h"
#include "cli/scan_args.h"
#include "cli/table_printer.h"
#include "cli/where_args.h"

/* Called with each row; the scan ends when it is false. */
typedef bool (*row_fn)(void *ctx, const struct quarry_row *row);

static void say_index(struct cli *cli, const char *index)
{
    if (index[0])
        cli_remark(cli, "rows were found by index %s", index);
    else
        cli_remark(cli, "no index is on the columns: all rows were looked at");
}

static int open_scan(struct cli *cli,
                     const struct args *args,
                     struct quarry_table *t,
                     struct scan_args *spec,
                     struct quarry_scanner **out,
                     struct err *err)
{
    char index[65];
    int rc;
    if (!where_args_given(args))
        return quarry_scan(t, &spec->options, out, err);
    rc = where_args_scan(cli, args, t, spec, out, index, err);
    if (rc == 0 && spec->options.explain)
        say_index(cli, index);
    return rc;
}

static int scan_rows(struct cli *cli,
                     const struct args *args,
                     struct quarry_table *t,
                     struct scan_args *spec,
                     row_fn each,
                     void *ctx,
                     struct err *err)
{
    struct quarry_scanner *scanner;
    const struct quarry_row *row;
    int rc = open_scan(cli, args, t, spec, &scanner, err);
    if (rc)
        return rc;
    while (!(rc = quarry_scanner_next(scanner, &row, err)) && row)
        if (!each(ctx, row))
            break;
    quarry_scanner_close(scanner);
    return rc;
}

static int scan_table(struct cli *cli,
                      const struct args *args,
                      bool keys_only,
                      row_fn each,
                      void *ctx,
                      struct err *err)
{
    struct quarry_explain *explain;
    struct scan_args spec;
    struct quarry_table *t;
    int rc = scan_args_parse(cli, args, &spec, err);
    if (rc)
        return rc;
    rc = cli_table(cli, args->words[0], CLI_READ, &t, err);
    if (!rc) {
        spec.options.keys_only |= keys_only;
        spec.options.reversed = args_flag(args, "reverse");
        explain = explain_args_begin(args, &spec.options);
        rc = scan_rows(cli, args, t, &spec, each, ctx, err);
        explain_args_print(cli, args, explain, rc);
        quarry_table_close(t);
    }
    scan_args_close(&spec);
    return rc;
}

/* --- scan ---------------------------------------------------------------- */

/* For --explain-only. */
static bool count_only(void *ctx, const struct quarry_row *row)
{
    (void)row;
    ((struct row_printer *)ctx)->row_count++;
    return !interrupted();
}

/* Ctrl-C ends a scan in the shell without ending the shell. */
static bool print_one(void *ctx, const struct quarry_row *row)
{
    row_printer_row(ctx, row);
    return !interrupted() && !ferror(stdout);
}

static const struct option scan_only_options[] = {
    {"reverse", 0, NULL, "rows in descending order: the last ones first"},
    {"cut", 0, "N", "as text: cut values at N columns (default: terminal)"},
    {NULL, 0, NULL, NULL},
};

static int run_scan(struct cli *cli, const struct args *args, struct err *err)
{
    struct row_printer p;
    uint64_t cut = 0;
    int rc = args_number(args, "cut", 1, 1 << 20, &cut, err);
    if (rc)
        return rc;
    row_printer_init(&p, cli->format, args_flag(args, "keys-only"),
                     (size_t)cut);
    if (cli->in_shell)
        (void)interrupt_watch();
    rc = scan_table(cli, args, false,
                    explain_args_only(args) ? count_only : print_one, &p, err);
    if (!rc && interrupted())
        rc = err_set(err, ERR_CANCELLED, "scan: interrupted after %llu rows",
                     (unsigned long long)p.row_count);
    if (!explain_args_only(args))
        row_printer_close(&p);
    else
        buf_close(&p.line);
    return rc;
}

/* --- count --------------------------------------------------------------- */

struct count {
    uint64_t rows;
    uint64_t cells;
};

static bool count_one(void *ctx, const struct quarry_row *row)
{
    struct count *c = ctx;
    c->rows++;
    c->cells += row->cell_count;
    return !interrupted();
}

static void print_count(struct cli *cli, const struct count *c)
{
    static const struct sheet_column columns[] = {{"rows", SHEET_NUMBER},
                                                  {"cells", SHEET_NUMBER}};
    struct sheet s;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    sheet_add_u64(&s, c->rows);
    sheet_add_u64(&s, c->cells);
    sheet_print(&s, cli->format);
    sheet_close(&s);
}

static int run_count(struct cli *cli, const struct args *args, struct err *err)
{
    struct count c = {.rows = 0};
    int rc;
    (void)interrupt_watch();
    rc = scan_table(cli, args, true, count_one, &c, err);
    if (!rc && interrupted())
        rc = err_set(err, ERR_CANCELLED, "count: interrupted at %llu rows",
                     (unsigned long long)c.rows);
    if (!rc)
        print_count(cli, &c);
    return rc;
}

const struct command scan_commands[] = {
    {.name = "scan",
     .arguments = "TABLE [OPTION…]",
     .summary = "Print rows in order",
     .examples =
         "quarry scan webtable --prefix com.cnn. --column 'anchor:.*' "
         "--limit 20\n"
         "quarry scan webtable --keys-only --saw-text \\\n"
         "    'r: Row = input; if (match(\"news\", r.key)) emit keep <- "
         "r;'\n"
         "quarry scan webtable --value '.*news.*' --explain-only\n"
         "quarry scan logs --reverse --limit 10\n"
         "quarry scan people --where 'contact:mail = ann@example.org'",
     .words_min = 1,
     .words_max = 1,
     .options = {read_options, where_options, scan_only_options,
                 explain_options},
     .run = run_scan},
    {.name = "count",
     .arguments = "TABLE [OPTION…]",
     .summary = "Count rows and cells",
     .examples = "quarry count webtable --family anchor",
     .words_min = 1,
     .words_max = 1,
     .options = {read_options, where_options},
     .run = run_count},
    {.name = NULL},
};
