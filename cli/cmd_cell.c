/* quarry put, get, delete, incr, check-and-put: one row at a time, by one call
 * of the library, so that its atomicity is that of the table. Only delete with
 * --prefix, --start or --end is about many rows: a call for each range.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/key_range.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "cli/cli.h"
#include "cli/column.h"
#include "cli/command.h"
#include "cli/explain_args.h"
#include "cli/row_printer.h"
#include "cli/scan_args.h"
#include "cli/table_printer.h"
#include "cli/text_form.h"
#include "cli/time_form.h"

/* --- writing ------------------------------------------------------------- */

/* The time of --time, or QUARRY_NOW. */
static int cell_time(struct cli *cli,
                     const struct args *args,
                     int64_t *out,
                     struct err *err)
{
    const char *text = args_value(args, "time");
    struct err why = ERR_INIT;
    *out = QUARRY_NOW;
    if (text && time_parse(text, (int64_t)world_now_us(cli->world), out, &why))
        return usage_error(args, err, "--time: %s", why.text);
    return ERR_OK;
}

static int add_assignment(struct quarry_mutation *m,
                          const char *text,
                          int64_t time,
                          struct err *err)
{
    struct assignment a;
    int rc = assignment_parse(text, &a, err);
    if (rc)
        return rc;
    quarry_mutation_set(m, a.column.family, buf_slice(&a.column.qualifier),
                        time, buf_slice(&a.value));
    assignment_close(&a);
    return ERR_OK;
}

/* COLUMN=PATH: the value is what the file holds, as it is. */
static int add_file(struct quarry_mutation *m,
                    const char *text,
                    int64_t time,
                    struct err *err)
{
    struct buf value = BUF_INIT;
    struct assignment a;
    int rc = assignment_parse(text, &a, err);
    if (rc)
        return rc;
    rc = cli_read_file(strchr(text, '=') + 1, &value, err);
    if (!rc)
        quarry_mutation_set(m, a.column.family, buf_slice(&a.column.qualifier),
                            time, buf_slice(&value));
    buf_close(&value);
    assignment_close(&a);
    return rc;
}

/* The words from @first on and the --file options, as changes of one row. */
static int build_put(struct cli *cli,
                     const struct args *args,
                     size_t first,
                     struct quarry_mutation *m,
                     struct err *err)
{
    int64_t time;
    int rc = cell_time(cli, args, &time, err);
    for (size_t i = first; i < args->word_count && !rc; i++)
        rc = add_assignment(m, args->words[i], time, err);
    for (size_t i = 0; i < args_count(args, "file") && !rc; i++)
        rc = add_file(m, args_nth(args, "file", i), time, err);
    if (rc == ERR_INVALID)
        rc = usage_error(args, err, "%s", err ? err->text : "");
    if (!rc && args->word_count <= first && !args_flag(args, "file"))
        rc = usage_error(args, err, "no value: write FAMILY:QUALIFIER=VALUE");
    return rc;
}

static struct quarry_mutation *mutation_of(const char *row)
{
    struct buf b = BUF_INIT;
    struct quarry_mutation *m;
    argument_unescape(&b, slice_str(row));
    m = quarry_mutation_new(buf_slice(&b));
    buf_close(&b);
    return m;
}

static int cell_command_apply(struct cli *cli,
                              const char *table,
                              const struct quarry_mutation *m,
                              struct err *err)
{
    struct quarry_table *t;
    int rc = cli_table(cli, table, CLI_EXISTING, &t, err);
    if (rc)
        return rc;
    rc = quarry_apply(t, m, NULL, err);
    quarry_table_close(t);
    return rc;
}

static const struct option put_options[] = {
    {"time", 0, "TIME", "of the cells; now if not given"},
    {"file", 0, "COLUMN=PATH", "the value is this file's contents (-: stdin)"},
    {NULL, 0, NULL, NULL},
};

static int run_put(struct cli *cli, const struct args *args, struct err *err)
{
    struct quarry_mutation *m = mutation_of(args->words[1]);
    int rc = build_put(cli, args, 2, m, err);
    if (!rc)
        rc = cell_command_apply(cli, args->words[0], m, err);
    quarry_mutation_free(m);
    return rc;
}

/* --- deleting ------------------------------------------------------------ */

static const struct option delete_options[] = {
    {"prefix", 0, "PREFIX", "all rows that begin with PREFIX"},
    {"start", 0, "ROW", "all rows from ROW on"},
    {"end", 0, "ROW", "all rows before ROW"},
    {"since", 0, "TIME", "of columns: only cells of TIME or newer"},
    {"until", 0, "TIME", "of columns: only cells older than TIME"},
    {NULL, 0, NULL, NULL},
};

static bool is_empty_range(const struct quarry_range *r)
{
    return key_range_is_empty((struct key_range){r->start, r->end});
}

static int
delete_rows(struct cli *cli, const struct args *args, struct err *err)
{
    struct scan_args spec;
    struct quarry *q;
    int rc = scan_args_parse(cli, args, &spec, err);
    if (rc)
        return rc;
    rc = cli_store(cli, CLI_EXISTING, &q, err);
    for (size_t i = 0; i < spec.options.range_count && !rc; i++)
        if (!is_empty_range(&spec.ranges[i]))
            rc = quarry_table_drop_rows(q, args->words[0], spec.ranges[i].start,
                                        spec.ranges[i].end, err);
    if (rc == ERR_NOTFOUND)
        cli_hint_table(cli, args->words[0], err);
    scan_args_close(&spec);
    return rc;
}

/* A column, a family, or with no COLUMN the whole row. */
static int add_delete(struct quarry_mutation *m,
                      const char *text,
                      const struct quarry_read_options *times,
                      struct err *err)
{
    struct column c;
    int rc = column_parse(slice_str(text), &c, err);
    if (rc)
        return rc;
    if (c.whole_family)
        quarry_mutation_delete_family(m, c.family);
    else
        quarry_mutation_delete_cells(m, c.family, buf_slice(&c.qualifier),
                                     times->time_min_us, times->time_max_us);
    column_close(&c);
    return ERR_OK;
}

static int
delete_cells(struct cli *cli, const struct args *args, struct err *err)
{
    struct quarry_mutation *m = mutation_of(args->words[1]);
    struct scan_args spec;
    int rc = scan_args_parse(cli, args, &spec, err);
    if (rc)
        goto out_mutation;
    if (spec.options.time_min_us && !spec.options.time_max_us)
        spec.options.time_max_us = INT64_MAX;
    for (size_t i = 2; i < args->word_count && !rc; i++)
        rc = add_delete(m, args->words[i], &spec.options, err);
    if (args->word_count == 2)
        quarry_mutation_delete_row(m);
    if (!rc)
        rc = cell_command_apply(cli, args->words[0], m, err);
    scan_args_close(&spec);
out_mutation:
    quarry_mutation_free(m);
    return rc;
}

/* An option that would be ignored deletes more than what was asked for. */
static int check_delete(const struct args *args, bool rows, struct err *err)
{
    const char *end = args_value(args, "end");
    bool times = args_flag(args, "since") || args_flag(args, "until");
    if (rows && args->word_count > 1)
        return usage_error(args, err, "either a row or a range of rows");
    if (end && !*end)
        return usage_error(args, err,
                           "--end: nothing is before the empty row; leave it "
                           "out to delete up to the last one");
    if (rows && times)
        return usage_error(args, err,
                           "--since and --until are for columns of one row");
    if (times && args->word_count == 2)
        return usage_error(args, err,
                           "--since and --until are for columns: of which?");
    for (size_t i = 2; i < args->word_count && times; i++)
        if (!strchr(args->words[i], ':'))
            return usage_error(args, err,
                               "--since and --until are for columns, not for "
                               "the whole family '%s'",
                               args->words[i]);
    return ERR_OK;
}

static int run_delete(struct cli *cli, const struct args *args, struct err *err)
{
    bool rows = args_flag(args, "prefix") || args_flag(args, "start") ||
                args_flag(args, "end");
    int rc = check_delete(args, rows, err);
    if (rc)
        return rc;
    if (rows)
        return delete_rows(cli, args, err);
    if (args->word_count < 2)
        return usage_error(args, err,
                           "which row? (--prefix '' deletes them all)");
    return delete_cells(cli, args, err);
}

/* --- reading ------------------------------------------------------------- */

static const struct option get_options[] = {
    {"raw", 0, NULL, "the bytes of the newest value, nothing else"},
    {"cut", 0, "N", "as text: cut values at N columns"},
    {NULL, 0, NULL, NULL},
};

static void print_raw(const struct quarry_row *row)
{
    if (row->cell_count > 0 && row->cells[0].value.len > 0)
        fwrite(row->cells[0].value.data, 1, row->cells[0].value.len, stdout);
}

static int print_row(struct cli *cli,
                     const struct args *args,
                     const struct quarry_row *row,
                     struct err *err)
{
    struct row_printer p;
    uint64_t cut = 0;
    int rc = args_number(args, "cut", 1, 1 << 20, &cut, err);
    if (rc)
        return rc;
    if (args_flag(args, "raw")) {
        print_raw(row);
        return ERR_OK;
    }
    row_printer_init(&p, cli->format, args_flag(args, "keys-only"),
                     (size_t)cut);
    row_printer_row(&p, row);
    row_printer_close(&p);
    return ERR_OK;
}

static int no_row(const struct args *args, struct err *err)
{
    err_set(err, ERR_NOTFOUND, "%s: no row %s%s", args->words[0],
            args->words[1], args->word_count > 2 ? " with that column" : "");
    err_hint(err, "see: quarry scan %s --keys-only --limit 10", args->words[0]);
    return ERR_NOTFOUND;
}

static int get_row(struct cli *cli,
                   const struct args *args,
                   struct quarry_table *t,
                   struct slice key,
                   const struct quarry_read_options *options,
                   struct err *err)
{
    struct quarry_row *row = NULL;
    int rc = quarry_read_row(t, key, options, &row, err);
    if (!rc)
        rc = row ? print_row(cli, args, row, err) : no_row(args, err);
    quarry_row_free(row);
    return rc;
}

/* A scan of the one row, because scans are what is explained. */
static int get_explained(struct cli *cli,
                         const struct args *args,
                         struct quarry_table *t,
                         struct slice key,
                         struct quarry_read_options options,
                         struct err *err)
{
    struct quarry_scanner *scanner;
    const struct quarry_row *row;
    int rc;
    options.range_count = 0;
    options.keys = &key;
    options.key_count = 1;
    rc = quarry_scan(t, &options, &scanner, err);
    if (rc)
        return rc;
    rc = quarry_scanner_next(scanner, &row, err);
    if (!rc && !row)
        rc = no_row(args, err);
    else if (!rc && !explain_args_only(args))
        rc = print_row(cli, args, row, err);
    quarry_scanner_close(scanner);
    return rc;
}

static int read_row(struct cli *cli,
                    const struct args *args,
                    struct scan_args *spec,
                    struct err *err)
{
    struct quarry_explain *explain;
    struct quarry_table *t;
    struct buf key = BUF_INIT;
    int rc = cli_table(cli, args->words[0], CLI_READ, &t, err);
    if (rc)
        return rc;
    argument_unescape(&key, slice_str(args->words[1]));
    explain = explain_args_begin(args, &spec->options);
    rc = explain
             ? get_explained(cli, args, t, buf_slice(&key), spec->options, err)
             : get_row(cli, args, t, buf_slice(&key), &spec->options, err);
    explain_args_print(cli, args, explain, rc);
    buf_close(&key);
    quarry_table_close(t);
    return rc;
}

static int run_get(struct cli *cli, const struct args *args, struct err *err)
{
    struct scan_args spec;
    int rc = scan_args_parse(cli, args, &spec, err);
    if (rc)
        return rc;
    rc = scan_args_columns(&spec, args->words + 2, args->word_count - 2, err);
    if (!rc)
        rc = read_row(cli, args, &spec, err);
    scan_args_close(&spec);
    return rc;
}

/* --- read, change, write ------------------------------------------------- */

static int parse_amount(const struct args *args, int64_t *out, struct err *err)
{
    const char *s = args->word_count > 3 ? args->words[3] : "1";
    char *end;
    errno = 0;
    *out = strtoll(s, &end, 10);
    if (end == s || *end || errno)
        return usage_error(args, err, "'%s' is not a whole number", s);
    return ERR_OK;
}

static void print_counter(struct cli *cli, const struct quarry_row *row)
{
    static const struct sheet_column columns[] = {{"value", SHEET_NUMBER}};
    int64_t v = 0;
    struct sheet s;
    if (row->cell_count > 0 && row->cells[0].value.len == sizeof(v))
        v = (int64_t)get_be64(row->cells[0].value.data);
    if (cli->format == FORMAT_TEXT) {
        printf("%lld\n", (long long)v);
        return;
    }
    sheet_init(&s, columns, ARRAY_LEN(columns));
    sheet_addf(&s, "%lld", (long long)v);
    sheet_print(&s, cli->format);
    sheet_close(&s);
}

static int run_incr(struct cli *cli, const struct args *args, struct err *err)
{
    struct quarry_rmw_rule rule = {.kind = QUARRY_RMW_INCREMENT};
    struct column c;
    struct quarry_table *t;
    struct quarry_row *row = NULL;
    struct buf key = BUF_INIT;
    int rc = parse_amount(args, &rule.increment, err);
    if (rc)
        return rc;
    rc = column_parse_one(slice_str(args->words[2]), &c, err);
    if (rc)
        return usage_error(args, err, "%s", err ? err->text : "");
    rc = cli_table(cli, args->words[0], CLI_EXISTING, &t, err);
    if (rc)
        goto out_column;
    argument_unescape(&key, slice_str(args->words[1]));
    rule.family = c.family;
    rule.qualifier = buf_slice(&c.qualifier);
    rc =
        quarry_read_modify_write(t, buf_slice(&key), &rule, 1, NULL, &row, err);
    if (!rc)
        print_counter(cli, row);
    quarry_row_free(row);
    buf_close(&key);
    quarry_table_close(t);
out_column:
    column_close(&c);
    return rc;
}

/* --- aggregates ---------------------------------------------------------- */

static const struct option add_options[] = {
    {"time", 0, "TIME", "of the cell that is added to; 0 if not given"},
    {NULL, 0, NULL, NULL},
};

/* Are the inputs of @family of @t bytes? */
static int takes_bytes(struct cli *cli,
                       struct quarry_table *t,
                       const char *family,
                       bool *bytes,
                       struct err *err)
{
    struct quarry_table_info *info;
    int rc =
        quarry_table_describe(cli->store, quarry_table_name(t), &info, err);
    if (rc)
        return rc;
    *bytes = false;
    for (size_t i = 0; i < info->family_count; i++)
        if (strcmp(info->families[i].name, family) == 0)
            *bytes = strcmp(info->families[i].aggregate, "hll-bytes") == 0;
    quarry_table_info_free(info);
    return 0;
}

/* The operand that the words say, as a change of @m. */
static int build_add(const struct args *args,
                     const struct column *c,
                     int64_t time,
                     bool bytes,
                     struct quarry_mutation *m,
                     struct err *err)
{
    struct buf input = BUF_INIT;
    int64_t amount;
    int rc;
    if (!bytes) {
        rc = parse_amount(args, &amount, err);
        if (!rc)
            quarry_mutation_add(m, c->family, buf_slice(&c->qualifier), time,
                                amount);
        return rc;
    }
    if (args->word_count < 4)
        return usage_error(args, err, "no input: family %s takes bytes",
                           c->family);
    argument_unescape(&input, slice_str(args->words[3]));
    quarry_mutation_add_bytes(m, c->family, buf_slice(&c->qualifier), time,
                              buf_slice(&input));
    buf_close(&input);
    return 0;
}

static int run_add(struct cli *cli, const struct args *args, struct err *err)
{
    struct quarry_mutation *m;
    struct quarry_table *t;
    struct column c;
    int64_t time;
    bool bytes;
    int rc = cell_time(cli, args, &time, err);
    if (!rc)
        rc = column_parse_one(slice_str(args->words[2]), &c, err);
    if (rc)
        return usage_error(args, err, "%s", err ? err->text : "");
    rc = cli_table(cli, args->words[0], CLI_EXISTING, &t, err);
    if (rc)
        goto out_column;
    m = mutation_of(args->words[1]);
    rc = takes_bytes(cli, t, c.family, &bytes, err);
    if (!rc)
        rc = build_add(args, &c, time == QUARRY_NOW ? 0 : time, bytes, m, err);
    if (!rc)
        rc = quarry_apply(t, m, NULL, err);
    quarry_mutation_free(m);
    quarry_table_close(t);
out_column:
    column_close(&c);
    return rc;
}

static const struct option check_options[] = {
    {"if", 0, "COLUMN[=VALUE]",
     "the column exists, or its newest value is VALUE"},
    {"if-not", 0, "COLUMN[=VALUE]", "the opposite"},
    {"time", 0, "TIME", "of the cells; now if not given"},
    {"file", 0, "COLUMN=PATH", "the value is this file's contents (-: stdin)"},
    {NULL, 0, NULL, NULL},
};

/* The newest cell of a column, and with "=VALUE" only if it is that. */
static int
predicate_of(const char *text, struct quarry_filter **out, struct err *err)
{
    struct quarry_filter *parts[3];
    struct slice s = slice_str(text);
    size_t equals = slice_find_byte(s, '=');
    struct buf value = BUF_INIT;
    struct column c;
    size_t n = 0;
    int rc = column_parse_one(slice_sub(s, 0, equals), &c, err);
    if (rc)
        return rc;
    parts[n++] = quarry_filter_column_range(
        c.family, QUARRY_CLOSED, buf_slice(&c.qualifier), QUARRY_CLOSED,
        buf_slice(&c.qualifier));
    parts[n++] = quarry_filter_cells_per_column_limit(1);
    if (equals < s.len) {
        argument_unescape(&value, slice_sub(s, equals + 1, s.len));
        parts[n++] = quarry_filter_value_range(
            QUARRY_CLOSED, buf_slice(&value), QUARRY_CLOSED, buf_slice(&value));
    }
    *out = quarry_filter_chain(parts, n);
    buf_close(&value);
    column_close(&c);
    return ERR_OK;
}

static int check_and_put(struct cli *cli,
                         const struct args *args,
                         const struct quarry_filter *predicate,
                         const struct quarry_mutation *m,
                         struct err *err)
{
    bool negated = args_flag(args, "if-not");
    struct buf key = BUF_INIT;
    struct quarry_table *t;
    bool matched = false;
    int rc = cli_table(cli, args->words[0], CLI_EXISTING, &t, err);
    if (rc)
        return rc;
    argument_unescape(&key, slice_str(args->words[1]));
    rc = quarry_check_and_mutate(t, buf_slice(&key), predicate,
                                 negated ? NULL : m, negated ? m : NULL, NULL,
                                 &matched, err);
    if (!rc && matched == negated)
        rc = err_set(err, ERR_ABORTED,
                     "check-and-put: the condition does not hold: nothing was "
                     "changed");
    buf_close(&key);
    quarry_table_close(t);
    return rc;
}

static int
run_check_and_put(struct cli *cli, const struct args *args, struct err *err)
{
    const char *yes = args_value(args, "if");
    const char *no = args_value(args, "if-not");
    struct quarry_filter *predicate = NULL;
    struct quarry_mutation *m;
    int rc;
    if (!yes == !no)
        return usage_error(args, err, "give one of --if and --if-not");
    rc = predicate_of(yes ? yes : no, &predicate, err);
    if (rc)
        return usage_error(args, err, "%s", err ? err->text : "");
    m = mutation_of(args->words[1]);
    rc = build_put(cli, args, 2, m, err);
    if (!rc)
        rc = check_and_put(cli, args, predicate, m, err);
    quarry_mutation_free(m);
    quarry_filter_free(predicate);
    return rc;
}

const struct command cell_commands[] = {
    {.name = "put",
     .arguments = "TABLE ROW COLUMN=VALUE…",
     .summary = "Write cells of a row, all at once",
     .details =
         "COLUMN is FAMILY:QUALIFIER. \\xNN, \\n, \\t and \\\\ in rows, "
         "columns and\nvalues stand for bytes, as in what quarry prints.",
     .examples = "quarry put webtable com.cnn.www language:=EN "
                 "anchor:com.c-span.www=CNN",
     .words_min = 2,
     .words_max = WORDS_ANY,
     .options = {put_options},
     .run = run_put},
    {.name = "get",
     .arguments = "TABLE ROW [COLUMN…]",
     .summary = "Print a row, or some of its columns",
     .details = "FAMILY or FAMILY: stands for all columns of the family.",
     .examples = "quarry get webtable com.cnn.www anchor: --versions 1",
     .words_min = 2,
     .words_max = WORDS_ANY,
     .options = {get_options, read_options, explain_options},
     .run = run_get},
    {.name = "delete",
     .arguments = "TABLE ROW [COLUMN…]",
     .summary = "Delete a row, its columns, or ranges of rows",
     .details = "FAMILY without a colon deletes the row's whole family. With "
                "several of --prefix,\n--start and --end, rows that satisfy "
                "all of them are deleted.",
     .examples = "quarry delete webtable com.cnn.www anchor:com.c-span.www\n"
                 "quarry delete webtable --prefix com.cnn.",
     .words_min = 1,
     .words_max = WORDS_ANY,
     .options = {delete_options},
     .run = run_delete},
    {.name = "incr",
     .arguments = "TABLE ROW COLUMN [BY]",
     .summary = "Add to a counter and print its new value",
     .details = "A counter is a cell of 8 bytes, a big-endian number; a column "
                "without a cell\ncounts as 0.",
     .examples = "quarry incr stats com.cnn.www hits:today 5",
     .words_min = 3,
     .words_max = 4,
     .run = run_incr},
    {.name = "add",
     .arguments = "TABLE ROW COLUMN [INPUT]",
     .summary = "Add to a cell of a family with an aggregate",
     .details =
         "INPUT is a whole number (1 if not given), or, if the aggregate is\n"
         "hll-bytes, any bytes. Such cells are read as their state: the sum, "
         "the least,\nthe greatest as 8 bytes, big-endian, or a sketch of the "
         "inputs.",
     .examples = "quarry table create stats --family hits,aggregate=sum\n"
                 "quarry add stats com.cnn.www hits:today 5",
     .words_min = 3,
     .words_max = 4,
     .options = {add_options},
     .run = run_add},
    {.name = "check-and-put",
     .arguments = "TABLE ROW (--if|--if-not) COLUMN[=VALUE] COLUMN=VALUE…",
     .summary = "Write cells if a condition on the row holds",
     .details = "Test and change are one step: nobody can come between them. "
                "Exit status 1\nwhen the condition does not hold.",
     .examples = "quarry check-and-put jobs job7 --if-not lock:owner "
                 "lock:owner=me",
     .words_min = 2,
     .words_max = WORDS_ANY,
     .options = {check_options},
     .run = run_check_and_put},
    {.name = NULL},
};
