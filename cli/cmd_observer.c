/* quarry observer: make and drop observers, and look after the rows that they
 * have put aside. Their functions are those of programs: quarry_observer.h.
 */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/macros.h"
#include "base/core/text.h"
#include "bigtable/quarry_observer.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/table_printer.h"
#include "cli/text_form.h"

static const struct option observer_create_options[] = {
    {"table", 0, "TABLE", "the table that it observes"},
    {"column", 0, "COLUMN",
     "FAMILY or FAMILY:QUALIFIER that it watches; may be given again"},
    {"writes", 0, "COLUMN",
     "TABLE:FAMILY or TABLE:FAMILY:QUALIFIER that it may write;\n"
     "may be given again"},
    {"tries", 0, "N", "put a row aside that failed N times (default: 3)"},
    {.name = NULL},
};

static size_t take_list(const struct args *args,
                        const char *name,
                        const char *list[QUARRY_OBSERVER_COLUMNS_MAX + 1])
{
    size_t n =
        MIN_OF(args_count(args, name), (size_t)QUARRY_OBSERVER_COLUMNS_MAX + 1);
    for (size_t i = 0; i < n; i++)
        list[i] = args_nth(args, name, i);
    return n;
}

static int
run_observer_create(struct cli *cli, const struct args *args, struct err *err)
{
    const char *columns[QUARRY_OBSERVER_COLUMNS_MAX + 1];
    const char *writes[QUARRY_OBSERVER_COLUMNS_MAX + 1];
    struct quarry_observer_spec spec = {.name = args->words[0],
                                        .table = args_value(args, "table"),
                                        .columns = columns,
                                        .writes = writes};
    uint64_t tries = QUARRY_OBSERVER_TRIES;
    struct quarry *q;
    int rc = args_number(args, "tries", 1, 1000, &tries, err);
    if (rc)
        return rc;
    if (!spec.table || !args_count(args, "column"))
        return usage_error(args, err, "--table and --column are wanted");
    spec.column_count = take_list(args, "column", columns);
    spec.write_count = take_list(args, "writes", writes);
    spec.tries = (unsigned)tries;
    rc = cli_store(cli, CLI_EXISTING, &q, err);
    if (rc == 0)
        rc = quarry_observer_create(q, &spec, err);
    if (rc == ERR_NOTFOUND)
        cli_hint_table(cli, spec.table, err);
    return rc;
}

static int
run_observer_drop(struct cli *cli, const struct args *args, struct err *err)
{
    struct quarry *q;
    int rc = cli_store(cli, CLI_EXISTING, &q, err);
    return rc ? rc : quarry_observer_drop(q, args->words[0], err);
}

static int
run_observer_log(struct cli *cli, const struct args *args, struct err *err)
{
    static const struct sheet_column columns[] = {{"row", SHEET_TEXT},
                                                  {"time", SHEET_TIME},
                                                  {"state", SHEET_TEXT},
                                                  {"error", SHEET_TEXT}};
    struct quarry_observer_letter *list = NULL;
    struct quarry *q;
    struct sheet s;
    size_t n = 0;
    int rc = cli_store(cli, CLI_READ, &q, err);
    if (rc == 0)
        rc = quarry_observer_log(q, args->words[0], &list, &n, err);
    if (rc)
        return rc;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < n; i++) {
        struct buf row = BUF_INIT;
        text_put_escaped(&row, list[i].row, 0);
        sheet_add(&s, buf_slice(&row));
        sheet_addf(&s, "%lld", (long long)list[i].time_us);
        sheet_add_str(&s, list[i].waits ? "waits" : "aside");
        sheet_add_str(&s, list[i].error);
        buf_close(&row);
    }
    sheet_print(&s, cli->format);
    sheet_close(&s);
    quarry_observer_letters_free(list, n);
    return 0;
}

static int
run_observer_retry(struct cli *cli, const struct args *args, struct err *err)
{
    struct buf key = BUF_INIT;
    struct slice row;
    struct quarry *q;
    int rc = cli_store(cli, CLI_EXISTING, &q, err);
    if (args->word_count > 1)
        argument_unescape(&key, slice_str(args->words[1]));
    row = buf_slice(&key);
    if (rc == 0)
        rc = quarry_observer_retry(q, args->words[0],
                                   args->word_count > 1 ? &row : NULL, err);
    buf_close(&key);
    return rc;
}

const struct command observer_commands[] = {
    {.name = "observer create",
     .arguments = "NAME --table TABLE --column COLUMN… [OPTION…]",
     .summary = "Make an observer of columns, whose function a program runs",
     .details = "The table keeps its changes and takes part in transactions, "
                "and so do those\nthat it writes. An observer that would "
                "trigger itself, by way of others or\nnot, is refused.",
     .examples = "quarry observer create words --table pages --column contents "
                 "\\\n    --writes index:word",
     .words_min = 1,
     .words_max = 1,
     .options = {observer_create_options},
     .run = run_observer_create},
    {.name = "observer drop",
     .arguments = "NAME",
     .summary = "Drop an observer, with the rows that it has put aside",
     .examples = "quarry observer drop words",
     .words_min = 1,
     .words_max = 1,
     .run = run_observer_drop},
    {.name = "observer log",
     .arguments = "NAME",
     .summary = "List the rows that an observer has put aside, and why",
     .details = "Its lag and its failures: quarry follow show observer/NAME",
     .examples = "quarry observer log words",
     .words_min = 1,
     .words_max = 1,
     .run = run_observer_log},
    {.name = "observer retry",
     .arguments = "NAME [ROW]",
     .summary = "Have rows that were put aside tried again",
     .examples = "quarry observer retry words com.cnn.www",
     .words_min = 1,
     .words_max = 2,
     .run = run_observer_retry},
    {.name = NULL},
};
