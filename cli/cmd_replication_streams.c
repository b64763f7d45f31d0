/* quarry replication: streams that servers run, or `quarry follow run` for a
 * directory: create, list, pause, resume, drop. They are followers
 * (bigtable/follow/follow.h), whose record keeps the settings.
 */
#define _XOPEN_SOURCE 700 /* realpath() */
#include "cli/cmd_replication_streams.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/macros.h"
#include "base/core/panic.h"
#include "bigtable/follow/follow.h"
#include "bigtable/quarry_replication.h"
#include "bigtable/replication/replication_follower.h"
#include "bigtable/replication/replication_settings.h"
#include "cli/cli.h"
#include "cli/replication_options.h"
#include "cli/table_printer.h"

/* The record is read by other processes: a directory is named from its root. */
static void make_absolute(struct replication_args *a)
{
    const char *target = a->spec.target;
    struct buf text = BUF_INIT;
    char *path;
    if (!target || strncmp(target, "file:", 5) != 0)
        return;
    path = realpath(target + 5, NULL);
    if (!path)
        return; /* quarry_replication_open() says why. */
    buf_printf(&text, "file:%s", path);
    mem_free(a->target);
    a->target = buf_take(&text);
    a->spec.target = a->target;
    free(path);
}

/* Can it work? Both ends are opened once. */
static int try_stream(struct cli *cli,
                      const struct replication_args *a,
                      bool create,
                      struct quarry **q,
                      struct err *err)
{
    struct quarry_table *t = NULL;
    struct quarry_replication *r = NULL;
    int rc = cli_table(cli, a->spec.table, CLI_EXISTING, &t, err);
    if (rc == 0)
        rc = cli_store(cli, CLI_EXISTING, q, err);
    if (rc == 0 && create)
        rc = quarry_replication_create_target(*q, &a->spec, NULL, err);
    if (rc == 0)
        rc = quarry_replication_open(*q, &a->spec, &r, err);
    quarry_replication_close(r);
    if (t)
        quarry_table_close(t);
    return rc;
}

int replication_run_create(struct cli *cli,
                           const struct args *args,
                           struct err *err)
{
    struct follower_record record = {.kind = REPLICATION_KIND,
                                     .name = args->words[0],
                                     .table = args->words[1]};
    struct buf settings = BUF_INIT;
    struct replication_args a;
    struct quarry *q = NULL;
    int rc = replication_args_parse(cli, args, args->words[1], &a, err);
    make_absolute(&a);
    if (rc == 0)
        rc = try_stream(cli, &a, args_flag(args, "create"), &q, err);
    if (rc == 0) {
        replication_settings_put(&a.spec, !args_flag(args, "no-copy"),
                                 &settings);
        record.settings = buf_slice(&settings);
        rc = follower_create(q, &record, err);
    }
    if (rc == 0 && quarry_is_directory(q))
        cli_remark(cli,
                   "it runs while this does: quarry follow run "
                   "replication/%s",
                   args->words[0]);
    replication_args_close(&a);
    buf_close(&settings);
    return rc;
}

/* --- listing ------------------------------------------------------------- */

static const char *state_of(const struct follower_info *f)
{
    if (f->record.paused)
        return "paused";
    if (!f->running)
        return "waiting";
    return *f->error && f->error_us > f->caught_us ? "failing" : "running";
}

static void list_one(struct sheet *s, const struct follower_info *f)
{
    struct replication_settings settings;
    struct err ignored = ERR_INIT;
    int rc = replication_settings_get(f->record.settings, &settings, &ignored);
    const char *target = rc ? "?" : settings.spec.target;
    const char *table = rc ? NULL : settings.spec.to_table;
    sheet_add_str(s, f->record.name);
    sheet_add_str(s, f->record.table);
    sheet_add_str(s, target ? target : "the same store");
    sheet_add_str(s, table ? table : f->record.table);
    sheet_add_str(s, state_of(f));
    if (f->lag_us == UINT64_MAX)
        sheet_add_str(s, "");
    else
        sheet_add_u64(s, f->lag_us);
    sheet_add_u64(s, f->changes);
    sheet_add_u64(s, f->bytes);
    sheet_add_u64(s, f->failures);
    sheet_add_str(s, f->error);
    replication_settings_close(&settings);
}

int replication_run_list(struct cli *cli,
                         const struct args *args,
                         struct err *err)
{
    static const struct sheet_column columns[] = {
        {"stream", SHEET_TEXT},     {"table", SHEET_TEXT},
        {"to", SHEET_TEXT},         {"to_table", SHEET_TEXT},
        {"state", SHEET_TEXT},      {"lag", SHEET_AGE},
        {"changes", SHEET_NUMBER},  {"bytes", SHEET_BYTES},
        {"failures", SHEET_NUMBER}, {"error", SHEET_TEXT}};
    struct follower_info *list = NULL;
    struct quarry *q;
    struct sheet s;
    size_t n = 0;
    int rc = cli_store(cli, CLI_READ, &q, err);
    (void)args;
    if (rc == 0)
        rc = follower_list(q, REPLICATION_KIND, &list, &n, err);
    if (rc)
        return rc;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < n; i++)
        list_one(&s, &list[i]);
    sheet_print(&s, cli->format);
    sheet_close(&s);
    follower_infos_free(list, n);
    return 0;
}

/* --- one ----------------------------------------------------------------- */

static int pause_stream(struct cli *cli,
                        const struct args *args,
                        bool paused,
                        struct err *err)
{
    struct quarry *q;
    int rc = cli_store(cli, CLI_EXISTING, &q, err);
    return rc ? rc
              : follower_pause(q, REPLICATION_KIND, args->words[0], paused,
                               err);
}

int replication_run_pause(struct cli *cli,
                          const struct args *args,
                          struct err *err)
{
    return pause_stream(cli, args, true, err);
}

int replication_run_resume(struct cli *cli,
                           const struct args *args,
                           struct err *err)
{
    return pause_stream(cli, args, false, err);
}

int replication_run_drop(struct cli *cli,
                         const struct args *args,
                         struct err *err)
{
    struct quarry *q;
    int rc = cli_store(cli, CLI_EXISTING, &q, err);
    return rc ? rc : follower_drop(q, REPLICATION_KIND, args->words[0], err);
}

const struct option replication_create_options[] = {
    {"create", 0, NULL, "make the table at the other end, if there is none"},
    {"no-copy", 0, NULL, "begin with the changes, without a copy"},
    {NULL, 0, NULL, NULL},
};
