/* quarry snapshot …, table snapshot, table clone: keeping the state of tables,
 * and making tables of it.
 */
#include <stdio.h>

#include "base/core/text.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/table_info_printer.h"
#include "cli/table_printer.h"
#include "cli/table_restore.h"
#include "cli/time_form.h"

static const struct option snapshot_options[] = {
    {"ttl", 0, "TIME", "drop it after so long: 12h, 7d; without, keep it"},
    {NULL, 0, NULL, NULL},
};

static int
run_snapshot(struct cli *cli, const struct args *args, struct err *err)
{
    const char *ttl = args_value(args, "ttl");
    uint64_t ttl_us = 0;
    struct quarry *q;
    int rc = ttl ? text_parse_duration(slice_str(ttl), &ttl_us, err) : 0;
    if (rc)
        return usage_error(args, err, "--ttl %s is no duration", ttl);
    rc = cli_store(cli, CLI_EXISTING, &q, err);
    if (!rc)
        rc = quarry_table_snapshot(q, args->words[0], args->words[1], ttl_us,
                                   err);
    if (rc == ERR_NOTFOUND)
        cli_hint_table(cli, args->words[0], err);
    if (rc == ERR_EXISTS)
        err_hint(err, "see: quarry snapshot list");
    return rc;
}

static int run_clone(struct cli *cli, const struct args *args, struct err *err)
{
    struct quarry *q;
    int rc = cli_store(cli, CLI_EXISTING, &q, err);
    if (!rc)
        rc = quarry_table_clone(q, args->words[0], args->words[1], err);
    if (rc == ERR_NOTFOUND)
        cli_hint_table(cli, args->words[0], err);
    return rc;
}

static const struct option table_restore_options[] = {
    {"to", 0, "TIME", "what it was then (2024-05-01T10:20:30Z, 3h, …)"},
    {"into", 0, "NEW",
     "leave the table, and make a new one; it is complete when\n"
     "the command has succeeded"},
    {NULL, 0, NULL, NULL},
};

/* The time of --to, which must have come. */
static int restore_time(struct cli *cli,
                        const struct args *args,
                        int64_t *us,
                        struct err *err)
{
    const char *text = args_value(args, "to");
    struct err why = ERR_INIT;
    if (!text)
        return usage_error(args, err, "--to TIME is missing");
    if (time_parse(text, (int64_t)world_now_us(cli->world), us, &why))
        return usage_error(args, err, "--to: %s", why.text);
    if (*us <= 0)
        return usage_error(args, err, "--to %s is before 1970", text);
    return ERR_OK;
}

static int
run_table_restore(struct cli *cli, const struct args *args, struct err *err)
{
    const char *table = args->words[0];
    const char *into = args_value(args, "into");
    struct table_restored done;
    struct quarry *q;
    int64_t us;
    int rc = restore_time(cli, args, &us, err);
    if (!rc)
        rc = cli_store(cli, CLI_EXISTING, &q, err);
    if (!rc && into)
        rc = quarry_table_clone(q, table, into, err);
    if (rc == ERR_NOTFOUND)
        cli_hint_table(cli, table, err);
    if (rc)
        return rc;
    rc = table_restore(q, table, into ? into : table, us, &done, err);
    if (rc && into && quarry_table_drop(q, into, NULL))
        err_hint(err, "table %s is not complete: drop it", into);
    else if (rc && done.rows_back + done.rows_gone)
        err_hint(err, "some rows are back: give the same command again");
    else if (!rc)
        printf("%llu rows brought back, %llu deleted\n",
               (unsigned long long)done.rows_back,
               (unsigned long long)done.rows_gone);
    return rc;
}

static void add_time(struct sheet *s, uint64_t us)
{
    struct buf b = BUF_INIT;
    if (us)
        text_put_time(&b, (int64_t)us);
    sheet_add(s, buf_slice(&b));
    buf_close(&b);
}

static void print_list(const struct quarry_snapshots *l, enum cli_format format)
{
    static const struct sheet_column columns[] = {
        {"snapshot", SHEET_TEXT},  {"table", SHEET_TEXT},
        {"created", SHEET_TEXT},   {"expires", SHEET_TEXT},
        {"tablets", SHEET_NUMBER}, {"files", SHEET_NUMBER},
        {"bytes", SHEET_BYTES}};
    struct sheet s;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < l->count; i++) {
        const struct quarry_snapshot *x = &l->list[i];
        sheet_add_str(&s, x->name);
        sheet_add_str(&s, x->table);
        add_time(&s, x->created_us);
        add_time(&s, x->expires_us);
        sheet_add_u64(&s, x->tablet_count);
        sheet_add_u64(&s, x->file_count);
        sheet_add_u64(&s, x->bytes);
    }
    sheet_print(&s, format);
    sheet_close(&s);
}

static int run_list(struct cli *cli, const struct args *args, struct err *err)
{
    struct quarry_snapshots *l;
    struct quarry *q;
    int rc = cli_store(cli, CLI_READ, &q, err);
    (void)args;
    if (!rc)
        rc = quarry_snapshot_list(q, &l, err);
    if (rc)
        return rc;
    print_list(l, cli->format);
    quarry_snapshots_free(l);
    return 0;
}

static const struct option show_options[] = {
    {"tablets", 0, NULL, "its tablets instead of its families"},
    {NULL, 0, NULL, NULL},
};

static int run_show(struct cli *cli, const struct args *args, struct err *err)
{
    struct quarry_table_info *info;
    struct quarry *q;
    int rc = cli_store(cli, CLI_READ, &q, err);
    if (!rc)
        rc = quarry_snapshot_describe(q, args->words[0], &info, err);
    if (rc)
        return rc;
    if (args_flag(args, "tablets"))
        table_print_tablets(info, cli->format);
    else
        table_print_families(info, cli->format);
    quarry_table_info_free(info);
    return 0;
}

static int run_drop(struct cli *cli, const struct args *args, struct err *err)
{
    struct quarry *q;
    int rc = cli_store(cli, CLI_EXISTING, &q, err);
    for (size_t i = 0; i < args->word_count && !rc; i++)
        rc = quarry_snapshot_drop(q, args->words[i], err);
    return rc;
}

static int
run_restore(struct cli *cli, const struct args *args, struct err *err)
{
    struct quarry *q;
    int rc = cli_store(cli, CLI_EXISTING, &q, err);
    if (!rc)
        rc = quarry_snapshot_restore(q, args->words[0], args->words[1], err);
    if (rc == ERR_NOTFOUND)
        err_hint(err, "see: quarry snapshot list");
    return rc;
}

const struct command snapshot_commands[] = {
    {.name = "table snapshot",
     .arguments = "TABLE NAME",
     .summary = "Keep what a table is now",
     .details =
         "The snapshot names the table's files, which are never changed:\n"
         "it takes a moment, and no space until the table changes.\n"
         "Each row is whole in it.",
     .examples = "quarry table snapshot webtable before-cleaning --ttl 7d",
     .words_min = 2,
     .words_max = 2,
     .options = {snapshot_options},
     .run = run_snapshot},
    {.name = "table clone",
     .arguments = "TABLE NEW",
     .summary = "Make a new table of what a table is now",
     .details = "Both share files until they change.",
     .examples = "quarry table clone webtable webtable-test",
     .words_min = 2,
     .words_max = 2,
     .run = run_clone},
    {.name = "table restore",
     .arguments = "TABLE --to TIME [--into NEW]",
     .summary = "Bring a table back to what it was at a time",
     .details =
         "For a table that keeps its changes (--changes), to any time for\n"
         "which they are kept. Only rows that differ are written, each at\n"
         "once; after an error the same command continues. Since these are\n"
         "changes, too, the table can be brought back from this as well.\n"
         "Rows that others write meanwhile are theirs: stop writers first.",
     .examples = "quarry table restore webtable --to 2024-05-01T10:20:30Z\n"
                 "quarry table restore webtable --to 3h --into webtable-then",
     .words_min = 1,
     .words_max = 1,
     .options = {table_restore_options},
     .run = run_table_restore},
    {.name = "snapshot list",
     .arguments = "",
     .summary = "List the snapshots",
     .examples = "quarry snapshot list",
     .run = run_list},
    {.name = "snapshot show",
     .arguments = "NAME",
     .summary = "Show the families or the tablets of a snapshot",
     .examples = "quarry snapshot show before-cleaning --tablets",
     .words_min = 1,
     .words_max = 1,
     .options = {show_options},
     .run = run_show},
    {.name = "snapshot restore",
     .arguments = "NAME NEWTABLE",
     .summary = "Make a new table of a snapshot",
     .examples = "quarry snapshot restore before-cleaning webtable-old",
     .words_min = 2,
     .words_max = 2,
     .run = run_restore},
    {.name = "snapshot drop",
     .arguments = "NAME…",
     .summary = "Drop snapshots",
     .examples = "quarry snapshot drop before-cleaning",
     .words_min = 1,
     .words_max = WORDS_ANY,
     .run = run_drop},
    {.name = NULL},
};
