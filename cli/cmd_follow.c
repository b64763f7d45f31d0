/* quarry follow: what follows the changes of tables, of whatever kind: list,
 * show, run in the foreground, pause, resume, drop.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/macros.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/world.h"
#include "bigtable/follow/follow.h"
#include "bigtable/quarry.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/follow_kinds.h"
#include "cli/interrupt.h"
#include "cli/table_printer.h"
#include "cli/text_form.h"

/* How often a foreground host looks whether it may end. */
#define LOOK_US ((uint64_t)100000)
/* A follower that fails as often while it is waited for has failed. */
#define FAILURES_MAX 3

/* --- listing ------------------------------------------------------------- */

static const char *state_of(const struct follower_info *i)
{
    if (i->record.paused)
        return "paused";
    if (!i->running)
        return "waiting";
    return *i->error && i->error_us > i->caught_us ? "failing" : "running";
}

static int
run_follow_list(struct cli *cli, const struct args *args, struct err *err)
{
    static const struct sheet_column columns[] = {
        {"follower", SHEET_TEXT}, {"table", SHEET_TEXT},
        {"state", SHEET_TEXT},    {"runner", SHEET_TEXT},
        {"lag", SHEET_AGE},       {"changes", SHEET_NUMBER},
        {"bytes", SHEET_BYTES},   {"failures", SHEET_NUMBER},
        {"error", SHEET_TEXT}};
    struct quarry *q;
    struct follower_info *list = NULL;
    struct sheet s;
    size_t n = 0;
    int rc = cli_store(cli, CLI_READ, &q, err);
    (void)args;
    if (rc == 0)
        rc = follower_list(q, NULL, &list, &n, err);
    if (rc)
        return rc;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < n; i++) {
        const struct follower_info *f = &list[i];
        sheet_addf(&s, "%s/%s", f->record.kind, f->record.name);
        sheet_add_str(&s, f->record.table);
        sheet_add_str(&s, state_of(f));
        sheet_add_str(&s, f->running ? f->runner : "");
        if (f->lag_us == UINT64_MAX)
            sheet_add_str(&s, "");
        else
            sheet_add_u64(&s, f->lag_us);
        sheet_add_u64(&s, f->changes);
        sheet_add_u64(&s, f->bytes);
        sheet_add_u64(&s, f->failures);
        sheet_add_str(&s, f->error);
    }
    sheet_print(&s, cli->format);
    sheet_close(&s);
    follower_infos_free(list, n);
    return 0;
}

/* --- one ----------------------------------------------------------------- */

struct follower_name {
    char kind[FOLLOWER_NAME_BYTES_MAX + 1];
    char name[FOLLOWER_NAME_BYTES_MAX + 1];
};

static int
parse_name(const struct args *args, struct follower_name *n, struct err *err)
{
    const char *word = args->words[0];
    const char *slash = strchr(word, '/');
    size_t len = slash ? (size_t)(slash - word) : 0;
    if (len == 0 || len > FOLLOWER_NAME_BYTES_MAX ||
        strlen(slash + 1) > FOLLOWER_NAME_BYTES_MAX)
        return usage_error(args, err, "%s: a follower is named KIND/NAME",
                           word);
    snprintf(n->kind, sizeof(n->kind), "%.*s", (int)len, word);
    snprintf(n->name, sizeof(n->name), "%s", slash + 1);
    return 0;
}

static void show_line(const char *name, const char *value)
{
    printf("%-10s %s\n", name, value);
}

static void show_time(const char *name, int64_t us)
{
    struct buf b = BUF_INIT;
    if (us)
        text_put_time(&b, us);
    else
        buf_append_str(&b, "-");
    show_line(name, buf_cstr(&b));
    buf_close(&b);
}

static void show_text(const struct follower_info *f)
{
    struct buf b = BUF_INIT;
    show_line("kind", f->record.kind);
    show_line("name", f->record.name);
    show_line("table", f->record.table);
    show_line("principal", f->record.principal);
    show_line("state", state_of(f));
    show_line("runner", f->runner);
    show_time("heartbeat", f->beat_us);
    show_time("up to", f->caught_us);
    if (f->lag_us != UINT64_MAX)
        text_put_duration(&b, f->lag_us);
    show_line("lag", buf_cstr(&b));
    printf("%-10s %llu\n", "changes", (unsigned long long)f->changes);
    printf("%-10s %llu\n", "failures", (unsigned long long)f->failures);
    if (*f->error) {
        show_time("failed at", f->error_us);
        show_line("error", f->error);
    }
    printf("%-10s %.*s\n", "settings", SLICE_ARG(f->record.settings));
    for (size_t i = 0; i < f->state_count; i++) {
        buf_clear(&b);
        text_put_escaped(&b, f->states[i].value, 0);
        printf("%-10.*s %s\n", SLICE_ARG(f->states[i].key), buf_cstr(&b));
    }
    buf_close(&b);
}

static void put_text(struct buf *b, const char *name, const char *value)
{
    buf_append_str(b, ", ");
    json_put_bytes(b, name, slice_str(value));
}

static void show_json(const struct follower_info *f)
{
    struct buf b = BUF_INIT;
    buf_append_byte(&b, '{');
    json_put_bytes(&b, "kind", slice_str(f->record.kind));
    put_text(&b, "name", f->record.name);
    put_text(&b, "table", f->record.table);
    put_text(&b, "principal", f->record.principal);
    put_text(&b, "state", state_of(f));
    put_text(&b, "runner", f->runner);
    buf_printf(&b, ", \"epoch\": %llu, \"up_to\": %lld",
               (unsigned long long)f->record.epoch, (long long)f->caught_us);
    if (f->lag_us != UINT64_MAX)
        buf_printf(&b, ", \"lag_us\": %llu", (unsigned long long)f->lag_us);
    buf_printf(&b, ", \"changes\": %llu, \"bytes\": %llu, \"failures\": %llu",
               (unsigned long long)f->changes, (unsigned long long)f->bytes,
               (unsigned long long)f->failures);
    put_text(&b, "error", f->error);
    buf_append_str(&b, ", ");
    json_put_bytes(&b, "settings", f->record.settings);
    buf_append_str(&b, ", \"state_cells\": {");
    for (size_t i = 0; i < f->state_count; i++) {
        struct buf key = BUF_INIT;
        buf_append_slice(&key, f->states[i].key);
        buf_append_str(&b, i ? ", " : "");
        json_put_bytes(&b, buf_cstr(&key), f->states[i].value);
        buf_close(&key);
    }
    buf_append_str(&b, "}}\n");
    fwrite(b.data, 1, b.len, stdout);
    buf_close(&b);
}

static int
run_follow_show(struct cli *cli, const struct args *args, struct err *err)
{
    struct follower_name n;
    struct follower_info *f;
    struct quarry *q;
    int rc = parse_name(args, &n, err);
    if (rc == 0)
        rc = cli_store(cli, CLI_READ, &q, err);
    if (rc == 0)
        rc = follower_get(q, n.kind, n.name, &f, err);
    if (rc)
        return rc;
    if (cli->format == FORMAT_JSON)
        show_json(f);
    else
        show_text(f);
    follower_infos_free(f, 1);
    return 0;
}

static int pause_one(struct cli *cli,
                     const struct args *args,
                     bool paused,
                     struct err *err)
{
    struct follower_name n;
    struct quarry *q;
    int rc = parse_name(args, &n, err);
    if (rc == 0)
        rc = cli_store(cli, CLI_EXISTING, &q, err);
    return rc ? rc : follower_pause(q, n.kind, n.name, paused, err);
}

static int
run_follow_pause(struct cli *cli, const struct args *args, struct err *err)
{
    return pause_one(cli, args, true, err);
}

static int
run_follow_resume(struct cli *cli, const struct args *args, struct err *err)
{
    return pause_one(cli, args, false, err);
}

static int
run_follow_drop(struct cli *cli, const struct args *args, struct err *err)
{
    struct follower_name n;
    struct quarry *q;
    int rc = parse_name(args, &n, err);
    if (rc == 0)
        rc = cli_store(cli, CLI_EXISTING, &q, err);
    return rc ? rc : follower_drop(q, n.kind, n.name, err);
}

/* --- a host in the foreground -------------------------------------------- */

static const struct option follow_run_options[] = {
    {"until-caught-up", 0, NULL,
     "end when all that was written before has been dealt with"},
    {"weak-sandbox", 0, NULL,
     "run observers' commands where the kernel cannot confine them"},
    {"no-sandbox", 0, NULL, "they may do whatever you may"},
    {.name = NULL},
};

/* The state of a host in the foreground that waits. */
struct follow_wait {
    struct quarry *quarry; /* Borrowed, as `only`. */
    const char *only;
    int64_t since_us; /* All that was written until then. */
    struct buf known; /* uint64_t each: failures at the beginning. */
    bool looked;
};

static bool is_ours(const struct follow_wait *w, const struct follower_info *f)
{
    struct buf key = BUF_INIT;
    bool ours;
    buf_printf(&key, "%s/%s", f->record.kind, f->record.name);
    ours =
        !f->record.paused && (!w->only || strcmp(w->only, buf_cstr(&key)) == 0);
    buf_close(&key);
    return ours;
}

/* @caught: nothing is left to wait for. An error: one of them fails. */
static int look_at_all(struct follow_wait *w, bool *caught, struct err *err)
{
    struct follower_info *list;
    size_t n;
    int rc = follower_list(w->quarry, NULL, &list, &n, err);
    if (rc)
        return rc;
    *caught = true;
    for (size_t i = 0; i < n && rc == 0; i++) {
        const struct follower_info *f = &list[i];
        if (!w->looked)
            buf_append(&w->known, &f->failures, sizeof(f->failures));
        if (!is_ours(w, f))
            continue;
        *caught = *caught && f->caught_us >= w->since_us;
        if (i < w->known.len / sizeof(f->failures)) {
            const uint64_t *before = (const void *)w->known.data;
            if (f->failures >= before[i] + FAILURES_MAX)
                rc = err_set(err, ERR_ABORTED, "%s/%s fails: %s",
                             f->record.kind, f->record.name, f->error);
        }
    }
    w->looked = true;
    follower_infos_free(list, n);
    return rc;
}

static int
wait_in_foreground(struct follow_wait *w, bool caught_up, struct err *err)
{
    struct world *world = quarry_world(w->quarry);
    bool caught = false;
    int rc = 0;
    w->since_us = (int64_t)world_now_us(world);
    while (rc == 0 && !caught && !interrupted()) {
        if (caught_up)
            rc = look_at_all(w, &caught, err);
        if (rc == 0 && !caught)
            world_sleep_us(world, LOOK_US);
    }
    return rc;
}

static int
run_follow_run(struct cli *cli, const struct args *args, struct err *err)
{
    struct follower_name n;
    struct follower_info *f;
    struct follower_host *h = NULL;
    struct follow_wait w = {.known = BUF_INIT};
    struct follower_host_options o = {.name = NULL};
    const struct observe_host allowed = {
        .weak_sandbox = args_flag(args, "weak-sandbox"),
        .no_sandbox = args_flag(args, "no-sandbox")};
    struct follow_kinds kinds;
    char name[64];
    int rc = cli_store(cli, CLI_EXISTING, &w.quarry, err);
    snprintf(name, sizeof(name), "process %ld", (long)getpid());
    o.name = name;
    if (rc == 0 && args->word_count) {
        w.only = o.only = args->words[0];
        rc = parse_name(args, &n, err);
        if (rc == 0)
            rc = follower_get(w.quarry, n.kind, n.name, &f, err);
        if (rc == 0)
            follower_infos_free(f, 1);
    }
    (void)interrupt_watch();
    follow_kinds_init(&kinds, &allowed);
    if (rc == 0)
        rc = follower_host_open(w.quarry, kinds.list, kinds.count, &o, &h, err);
    if (rc == 0)
        rc = wait_in_foreground(&w, args_flag(args, "until-caught-up"), err);
    follower_host_close(h);
    buf_close(&w.known);
    return rc;
}

const struct command follow_commands[] = {
    {.name = "follow list",
     .arguments = "",
     .summary = "List what follows the changes of tables",
     .details = "Replication streams, observers, asynchronous indexes, "
                "views and search indexes,\nwith who runs them and how far "
                "behind they are.",
     .examples = "quarry follow list --format json",
     .run = run_follow_list},
    {.name = "follow show",
     .arguments = "KIND/NAME",
     .summary = "Show one follower with its settings and its last failure",
     .examples = "quarry follow show observer/links",
     .words_min = 1,
     .words_max = 1,
     .run = run_follow_show},
    {.name = "follow run",
     .arguments = "[KIND/NAME] [OPTION…]",
     .summary = "Run followers in this process, until it is interrupted",
     .details = "The servers of a cluster with the role `follow` run them "
                "anyway; on a directory\nthis is how they run. With "
                "--until-caught-up it ends when all that was written\nbefore "
                "has been dealt with, and fails when a follower does.",
     .examples = "quarry follow run\n"
                 "quarry follow run observer/links --until-caught-up",
     .words_max = 1,
     .options = {follow_run_options},
     .run = run_follow_run},
    {.name = "follow pause",
     .arguments = "KIND/NAME",
     .summary = "Stop a follower until it is resumed; it loses nothing",
     .examples = "quarry follow pause observer/links",
     .words_min = 1,
     .words_max = 1,
     .run = run_follow_pause},
    {.name = "follow resume",
     .arguments = "KIND/NAME",
     .summary = "Let a paused follower continue where it stopped",
     .examples = "quarry follow resume observer/links",
     .words_min = 1,
     .words_max = 1,
     .run = run_follow_resume},
    {.name = "follow drop",
     .arguments = "KIND/NAME",
     .summary = "Drop a follower with its place in the changes",
     .examples = "quarry follow drop observer/links",
     .words_min = 1,
     .words_max = 1,
     .run = run_follow_drop},
    {.name = NULL},
};
