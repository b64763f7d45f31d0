/* quarry view …: results of programs and of SQL that are kept up to date.
 * Each command is one call of quarry_view.h; this file parses options and
 * prints. */
#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "bigtable/quarry.h"
#include "bigtable/quarry_view.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/saw_results.h"
#include "cli/table_printer.h"

/* --- create -------------------------------------------------------------- */

static const struct option create_options[] = {
    {"table", 0, "TABLE", "the table whose rows the program reads"},
    {"sql", 0, "QUERY",
     "SELECT … FROM TABLE [WHERE …] [GROUP BY …] in place\n"
     "of a program"},
    {NULL, 0, NULL, NULL},
};

/* NAME AS PROGRAM, NAME PROGRAM, or NAME --sql QUERY. */
static int
program_path(const struct args *args, const char **path, struct err *err)
{
    size_t at = 1;
    bool sql = args_flag(args, "sql");
    *path = NULL;
    if (args->word_count > 1 && (strcmp(args->words[1], "AS") == 0 ||
                                 strcmp(args->words[1], "as") == 0))
        at++;
    if (args->word_count > at)
        *path = args->words[at++];
    if (args->word_count > at)
        return usage_error(args, err, "unexpected argument '%s'",
                           args->words[at]);
    if (sql == (*path != NULL))
        return usage_error(args, err, "either a program or --sql");
    if (*path && !args_flag(args, "table"))
        return usage_error(args, err, "--table is missing");
    return 0;
}

static int run_create(struct cli *cli, const struct args *args, struct err *err)
{
    struct quarry_view_spec spec = {.name = args->words[0],
                                    .table = args_value(args, "table"),
                                    .sql = args_value(args, "sql")};
    struct buf program = BUF_INIT;
    struct quarry *q = NULL;
    const char *path;
    int rc = program_path(args, &path, err);

    if (rc == 0 && path)
        rc = cli_read_file(path, &program, err);
    spec.program = buf_slice(&program);
    if (rc == 0)
        rc = cli_store(cli, CLI_EXISTING, &q, err);
    if (rc == 0)
        rc = quarry_view_create(q, &spec, err);
    if (rc == ERR_NOTFOUND && spec.table)
        cli_hint_table(cli, spec.table, err);
    buf_close(&program);
    return rc;
}

/* --- list, describe ------------------------------------------------------ */

static const char *state_name(const struct quarry_view_info *v)
{
    if (v->paused)
        return "paused";
    return v->state == QUARRY_VIEW_READY ? "ready" : "building";
}

static void add_time(struct sheet *s, int64_t us)
{
    struct buf b = BUF_INIT;
    if (us)
        text_put_time(&b, us);
    sheet_add(s, buf_slice(&b));
    buf_close(&b);
}

static void print_views(const struct quarry_view_info *list,
                        size_t count,
                        enum cli_format format)
{
    static const struct sheet_column columns[] = {
        {"view", SHEET_TEXT},     {"table", SHEET_TEXT},
        {"state", SHEET_TEXT},    {"runs", SHEET_TEXT},
        {"as_of", SHEET_TEXT},    {"rows", SHEET_NUMBER},
        {"groups", SHEET_NUMBER}, {"failed", SHEET_NUMBER}};
    struct sheet s;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < count; i++) {
        const struct quarry_view_info *v = &list[i];
        sheet_add_str(&s, v->name);
        sheet_add_str(&s, v->table);
        sheet_add_str(&s, state_name(v));
        sheet_add_str(&s, v->running ? "yes" : "no");
        add_time(&s, v->caught_us);
        sheet_add_u64(&s, v->rows);
        sheet_add_u64(&s, v->groups);
        sheet_add_u64(&s, v->failed);
    }
    sheet_print(&s, format);
    sheet_close(&s);
}

static int run_list(struct cli *cli, const struct args *args, struct err *err)
{
    struct quarry_view_info *list = NULL;
    struct quarry *q;
    size_t count = 0;
    int rc = cli_store(cli, CLI_EXISTING, &q, err);
    (void)args;
    if (rc == 0)
        rc = quarry_view_list(q, &list, &count, err);
    if (rc)
        return rc;
    print_views(list, count, cli->format);
    quarry_view_infos_free(list, count);
    return 0;
}

static void add_field(struct sheet *s, const char *name, const char *value)
{
    sheet_add_str(s, name);
    sheet_add_str(s, value);
}

static void add_number(struct sheet *s, const char *name, uint64_t value)
{
    struct buf b = BUF_INIT;
    buf_printf(&b, "%llu", (unsigned long long)value);
    add_field(s, name, buf_cstr(&b));
    buf_close(&b);
}

static void print_view(const struct quarry_view_info *v, enum cli_format format)
{
    static const struct sheet_column columns[] = {{"field", SHEET_TEXT},
                                                  {"value", SHEET_TEXT}};
    struct sheet s;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    add_field(&s, "view", v->name);
    add_field(&s, "table", v->table);
    add_field(&s, "state", state_name(v));
    add_field(&s, "runs", v->running ? "yes" : "no");
    sheet_add_str(&s, "as_of");
    add_time(&s, v->caught_us);
    add_number(&s, "rows", v->rows);
    add_number(&s, "groups", v->groups);
    add_number(&s, "failed_rows", v->failed);
    if (*v->failure)
        add_field(&s, "last_failed_row", v->failure);
    add_number(&s, "builds", v->builds);
    if (*v->error)
        add_field(&s, "error", v->error);
    if (*v->sql)
        add_field(&s, "sql", v->sql);
    if (format != FORMAT_TEXT)
        add_field(&s, "program", v->program);
    sheet_print(&s, format);
    sheet_close(&s);
    if (format == FORMAT_TEXT)
        printf("\n%s", v->program);
}

static int
run_describe(struct cli *cli, const struct args *args, struct err *err)
{
    struct quarry_view_info *v = NULL;
    struct quarry *q;
    int rc = cli_store(cli, CLI_EXISTING, &q, err);
    if (rc == 0)
        rc = quarry_view_describe(q, args->words[0], &v, err);
    if (rc)
        return rc;
    print_view(v, cli->format);
    quarry_view_infos_free(v, 1);
    return 0;
}

/* --- show ---------------------------------------------------------------- */

static const struct option show_options[] = {
    {"aligned", 'a', NULL, "text in aligned columns"},
    {"memory", 0, "SIZE", "at most so much for the results (default: 512MiB)"},
    {NULL, 0, NULL, NULL},
};

/* Rows of the SELECT. */
static void print_rows(struct quarry_view_rows *rows, enum cli_format format)
{
    const char *const *names;
    size_t count = quarry_view_rows_columns(rows, &names);
    struct sheet_column *columns = mem_zalloc(count, sizeof(*columns));
    struct sheet s;
    for (size_t i = 0; i < count; i++)
        columns[i] = (struct sheet_column){names[i], SHEET_TEXT};
    sheet_init(&s, columns, count);
    for (size_t i = 0; i < quarry_view_rows_count(rows); i++) {
        const struct quarry_view_cell *cells = quarry_view_rows_at(rows, i);
        for (size_t k = 0; k < count; k++)
            sheet_add(&s, cells[k].text);
    }
    sheet_print(&s, format);
    sheet_close(&s);
    mem_free(columns);
}

static int print_results(struct cli *cli,
                         const struct args *args,
                         struct quarry_view_rows *rows,
                         struct err *err)
{
    const char *const *names;
    if (quarry_view_rows_columns(rows, &names)) {
        print_rows(rows, cli->format);
        return 0;
    }
    return saw_results_print(quarry_view_rows_run(rows), cli->format,
                             args_flag(args, "aligned"), err);
}

static int run_show(struct cli *cli, const struct args *args, struct err *err)
{
    struct quarry_view_rows *rows = NULL;
    const char *memory = args_value(args, "memory");
    uint64_t bytes = 0;
    struct err why = ERR_INIT;
    struct quarry *q;
    int rc;
    if (memory && text_parse_bytes(slice_str(memory), &bytes, &why))
        return usage_error(args, err, "--memory: %s", why.text);
    rc = cli_store(cli, CLI_EXISTING, &q, err);
    if (rc == 0)
        rc = quarry_view_read(q, args->words[0], bytes, &rows, err);
    if (rc == 0)
        rc = print_results(cli, args, rows, err);
    quarry_view_rows_close(rows);
    return rc;
}

/* --- drop, refresh, check ------------------------------------------------ */

static int run_drop(struct cli *cli, const struct args *args, struct err *err)
{
    struct quarry *q;
    int rc = cli_store(cli, CLI_EXISTING, &q, err);
    for (size_t i = 0; i < args->word_count && rc == 0; i++)
        rc = quarry_view_drop(q, args->words[i], err);
    return rc;
}

static int
run_refresh(struct cli *cli, const struct args *args, struct err *err)
{
    struct quarry *q;
    int rc = cli_store(cli, CLI_EXISTING, &q, err);
    return rc ? rc : quarry_view_refresh(q, args->words[0], err);
}

static const struct option check_options[] = {
    {"wait", 0, "TIME",
     "how long rows that differ may take until the view has\n"
     "caught up with them (default: 10s)"},
    {NULL, 0, NULL, NULL},
};

static void print_check(const struct quarry_view_check *c,
                        enum cli_format format)
{
    static const struct sheet_column columns[] = {
        {"rows", SHEET_NUMBER},         {"wrong_rows", SHEET_NUMBER},
        {"pending_rows", SHEET_NUMBER}, {"groups", SHEET_NUMBER},
        {"wrong_groups", SHEET_NUMBER}, {"example", SHEET_TEXT}};
    struct sheet s;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    sheet_add_u64(&s, c->rows);
    sheet_add_u64(&s, c->wrong_rows);
    sheet_add_u64(&s, c->pending_rows);
    sheet_add_u64(&s, c->groups);
    sheet_add_u64(&s, c->wrong_groups);
    sheet_add_str(&s, c->example);
    sheet_print(&s, format);
    sheet_close(&s);
}

static int run_check(struct cli *cli, const struct args *args, struct err *err)
{
    const char *wait = args_value(args, "wait");
    uint64_t wait_us = UINT64_C(10000000);
    struct quarry_view_check c;
    struct quarry *q;
    int rc;
    if (wait && text_parse_duration(slice_str(wait), &wait_us, err))
        return usage_error(args, err, "--wait %s is no duration", wait);
    rc = cli_store(cli, CLI_EXISTING, &q, err);
    if (rc == 0)
        rc = quarry_view_check(q, args->words[0], wait_us, &c, err);
    if (rc)
        return rc;
    print_check(&c, cli->format);
    if (c.wrong_rows || c.wrong_groups)
        cli->status = 1;
    return 0;
}

/* --- the commands -------------------------------------------------------- */

const struct command view_commands[] = {
    {.name = "view create",
     .arguments = "NAME AS PROGRAM --table TABLE | NAME --sql QUERY",
     .summary = "Keep the results of a program over a table up to date",
     .details =
         "PROGRAM is a file of Sawzall that reads rows (r: Row = input;) and\n"
         "emits to tables of any kind; - is standard input. The table keeps\n"
         "its changes: see --changes of `quarry table create` and `quarry\n"
         "table alter`. A server builds the view and maintains it; over a\n"
         "directory, `quarry follow run` does.",
     .examples =
         "quarry view create hits AS hits.szl --table logs\n"
         "quarry view create langs --sql \"SELECT contents['lang'], count(*)\n"
         "    FROM webtable GROUP BY contents['lang']\"\n"
         "quarry follow run view/hits --until-caught-up",
     .words_min = 1,
     .words_max = 3,
     .options = {create_options},
     .run = run_create},
    {.name = "view list",
     .arguments = "",
     .summary = "List the views, and how far they are",
     .examples = "quarry view list",
     .run = run_list},
    {.name = "view describe",
     .arguments = "NAME",
     .summary = "Print a view's figures and its program",
     .examples = "quarry view describe hits",
     .words_min = 1,
     .words_max = 1,
     .run = run_describe},
    {.name = "view show",
     .arguments = "NAME [OPTION…]",
     .summary = "Print the results of a view, as `quarry saw` prints them",
     .examples = "quarry view show hits\n"
                 "quarry view show hits --format json",
     .words_min = 1,
     .words_max = 1,
     .options = {show_options},
     .run = run_show},
    {.name = "view refresh",
     .arguments = "NAME",
     .summary = "Have a view go through all rows of its table again",
     .details = "After bulk loads and dropped ranges of rows, which are not\n"
                "told as changes. The view can be read meanwhile.",
     .examples = "quarry view refresh hits",
     .words_min = 1,
     .words_max = 1,
     .run = run_refresh},
    {.name = "view check",
     .arguments = "NAME [--wait TIME]",
     .summary = "Compare a view with its table",
     .details =
         "The contribution of each row is compared with what the program\n"
         "makes of the row, and the results with the contributions, merged\n"
         "again.\n"
         "Exits with 1 if something is wrong.",
     .examples = "quarry view check hits",
     .words_min = 1,
     .words_max = 1,
     .options = {check_options},
     .run = run_check},
    {.name = "view drop",
     .arguments = "NAME…",
     .summary = "Drop views, with all that they keep",
     .examples = "quarry view drop hits",
     .words_min = 1,
     .words_max = WORDS_ANY,
     .run = run_drop},
    {.name = NULL},
};
