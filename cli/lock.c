/* quarry lock …: the lock service from the command line: its files and
 * directories, locks held while a command runs, and events.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "chubby-lite/chubby.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/lock_views.h"
#include "cli/remote_call.h"
#include "cli/supervisor.h"
#include "cli/table_printer.h"

#define WATCH_TICK_US UINT64_C(100000)
#define GOODBYE_US    UINT64_C(1000000)

/* A command under way. */
struct lock_command {
    struct remote *remote;
    struct chubby *chubby; /* Its session. */
};

/* --- sessions ------------------------------------------------------------ */

static uint64_t timeout_us(const struct args *args, struct err *err, int *code)
{
    const char *text = args_value(args, "timeout");
    uint64_t us;

    *code = remote_timeout(UINT64_C(10000000), &us, err);
    if (text && text_parse_duration(slice_str(text), &us, err)) {
        err_wrap(err, "--timeout");
        *code = ERR_USAGE;
    }
    return us;
}

/* From now on, calls of this fiber end @us from now; 0: never. */
static void set_deadline(struct remote *r, uint64_t us)
{
    (void)fiber_set_deadline(us ? world_mono_ns(r->world) + us * 1000 : 0);
}

static int connect_cell(struct remote *r,
                        chubby_event_cb on_event,
                        void *ctx,
                        struct chubby **out,
                        struct err *err)
{
    struct chubby_options o = {.servers = r->addresses,
                               .server_count = r->address_count,
                               .security = r->security,
                               .on_event = on_event,
                               .ctx = ctx};
    int rc;
    uint64_t us = timeout_us(r->args, err, &rc);

    if (rc)
        return rc;
    set_deadline(r, us);
    rc = chubby_connect(r->world, &o, out, err);
    if (rc)
        remote_unreached(r, err);
    return rc;
}

/* As remote_run(), which tries for as long as --timeout says. */
static int run_within(struct cli *cli,
                      const struct args *args,
                      int (*fn)(struct remote *r, struct err *err),
                      void *ctx,
                      struct err *err)
{
    int rc = 0;
    uint64_t us = timeout_us(args, err, &rc);

    if (rc)
        return rc;
    cli->reach_us = args_value(args, "timeout") ? us : 0;
    rc = remote_run(cli, args, fn, ctx, err);
    cli->reach_us = 0;
    return rc;
}

/* Connect, open the first word, do @fn, close. */
static int
with_node(struct remote *r,
          unsigned flags,
          int (*fn)(struct remote *r, struct chubby_handle *h, struct err *err),
          struct err *err)
{
    struct chubby *c;
    struct chubby_handle *h;
    const char *path = r->args->word_count ? r->args->words[0] : "/";
    int rc = connect_cell(r, NULL, NULL, &c, err);

    if (rc)
        return rc;
    rc = chubby_open(c, path, flags, NULL, &h, err);
    if (!rc) {
        rc = fn(r, h, err);
        chubby_close(h);
    }
    chubby_disconnect(c);
    return rc;
}

/* --- ls ------------------------------------------------------------------ */

static int add_child(struct remote *r,
                     struct chubby *c,
                     const char *path,
                     const char *name,
                     struct sheet *s,
                     struct err *err)
{
    struct chubby_handle *h;
    struct chubby_stat stat;
    struct buf whole = BUF_INIT;
    int rc;

    (void)r;
    buf_printf(&whole, "%s/%s", strcmp(path, "/") == 0 ? "" : path, name);
    rc = chubby_open(c, buf_cstr(&whole), CHUBBY_READ, NULL, &h, err);
    buf_close(&whole);
    if (rc == ERR_NOTFOUND)
        return 0; /* It went meanwhile. */
    if (rc)
        return rc;
    rc = chubby_get_stat(h, &stat, err);
    chubby_close(h);
    if (rc)
        return rc == ERR_NOTFOUND ? 0 : rc;
    sheet_addf(s, "%s%s", name, stat.is_directory ? "/" : "");
    sheet_add_u64(s, stat.contents_bytes);
    sheet_add_u64(s, stat.child_count);
    sheet_add_u64(s, stat.content_generation);
    sheet_add_u64(s, stat.lock_generation);
    sheet_add_str(s, stat.is_ephemeral ? "yes" : "no");
    return 0;
}

static int lock_command_list(struct remote *r, struct err *err)
{
    static const struct sheet_column columns[] = {
        {"name", SHEET_TEXT},       {"bytes", SHEET_NUMBER},
        {"children", SHEET_NUMBER}, {"writes", SHEET_NUMBER},
        {"locked", SHEET_NUMBER},   {"ephemeral", SHEET_TEXT}};
    const char *path = r->args->word_count ? r->args->words[0] : "/";
    struct chubby *c;
    struct chubby_handle *h = NULL;
    struct sheet s;
    char **names = NULL;
    size_t count = 0;
    size_t i;
    int rc = connect_cell(r, NULL, NULL, &c, err);

    if (rc)
        return rc;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    rc = chubby_open(c, path, CHUBBY_READ, NULL, &h, err);
    if (!rc)
        rc = chubby_list(h, &names, &count, err);
    for (i = 0; i < count && !rc; i++)
        rc = add_child(r, c, path, names[i], &s, err);
    if (!rc)
        sheet_print(&s, r->cli->format);
    chubby_names_free(names, count);
    chubby_close(h);
    chubby_disconnect(c);
    sheet_close(&s);
    return rc;
}

static int run_ls(struct cli *cli, const struct args *args, struct err *err)
{
    return run_within(cli, args, lock_command_list, NULL, err);
}

/* --- cat, put, rm -------------------------------------------------------- */

static int
print_contents(struct remote *r, struct chubby_handle *h, struct err *err)
{
    struct buf b = BUF_INIT;
    int rc = chubby_read(h, &b, NULL, err);

    (void)r;
    if (!rc && fwrite(b.data, 1, b.len, stdout) < b.len)
        rc = err_set(err, ERR_IO, "standard output");
    buf_close(&b);
    return rc;
}

static int lock_command_cat(struct remote *r, struct err *err)
{
    return with_node(r, CHUBBY_READ, print_contents, err);
}

static int run_cat(struct cli *cli, const struct args *args, struct err *err)
{
    return run_within(cli, args, lock_command_cat, NULL, err);
}

static int
write_contents(struct remote *r, struct chubby_handle *h, struct err *err)
{
    const struct buf *text = r->ctx;

    return chubby_write(h, buf_slice(text), 0, err);
}

static int lock_command_put(struct remote *r, struct err *err)
{
    return with_node(r, CHUBBY_WRITE | CHUBBY_CREATE, write_contents, err);
}

static int run_put(struct cli *cli, const struct args *args, struct err *err)
{
    struct buf text = BUF_INIT;
    int rc = 0;

    if (args->word_count == 2)
        buf_append_str(&text, args->words[1]);
    else
        rc = cli_read_file("-", &text, err);
    if (!rc)
        rc = run_within(cli, args, lock_command_put, &text, err);
    buf_close(&text);
    return rc;
}

static int
lock_command_make(struct remote *r, struct chubby_handle *h, struct err *err)
{
    (void)r;
    (void)h;
    (void)err;
    return 0;
}

static int mkdir_node(struct remote *r, struct err *err)
{
    return with_node(
        r, CHUBBY_READ | CHUBBY_CREATE | CHUBBY_NEW | CHUBBY_DIRECTORY,
        lock_command_make, err);
}

static int run_mkdir(struct cli *cli, const struct args *args, struct err *err)
{
    return run_within(cli, args, mkdir_node, NULL, err);
}

static int
delete_node(struct remote *r, struct chubby_handle *h, struct err *err)
{
    (void)r;
    return chubby_delete(h, err);
}

static int lock_command_rm(struct remote *r, struct err *err)
{
    return with_node(r, CHUBBY_WRITE, delete_node, err);
}

static int run_rm(struct cli *cli, const struct args *args, struct err *err)
{
    return run_within(cli, args, lock_command_rm, NULL, err);
}

/* --- hold ---------------------------------------------------------------- */

/* A command run under the lock. */
struct held_command {
    struct world *world;
    const struct chubby *chubby;
    const bool *expired; /* The session is lost. */
    struct supervisor supervisor;
    struct supervisor_end end;
};

/* Say that the lock is held while it is, until cancelled. */
static void lock_command_vouch(void *arg)
{
    struct held_command *h = arg;

    while (fiber_check(NULL) == 0) {
        if (chubby_is_safe(h->chubby))
            supervisor_vouch(&h->supervisor);
        else if (*h->expired)
            supervisor_end(&h->supervisor);
        world_sleep_us(h->world, WATCH_TICK_US);
    }
}

static void wait_command(void *arg)
{
    struct held_command *h = arg;

    supervisor_wait(&h->supervisor, &h->end);
}

static int command_outcome(const struct supervisor_end *e,
                           const char *name,
                           struct err *err)
{
    if (e->silent)
        return err_set(err, ERR_ABORTED,
                       "%s: its supervisor was killed, and it with it", name);
    if (e->error)
        return err_set_errno(err, e->error, "%s", name);
    if (e->ended)
        return err_set(err, ERR_CLOSED,
                       "%s: the lock may be lost, and the command was ended",
                       name);
    if (WIFSIGNALED(e->status))
        return err_set(err, ERR_ABORTED, "%s: ended by signal %d", name,
                       WTERMSIG(e->status));
    if (WEXITSTATUS(e->status))
        return err_set(err, ERR_ABORTED, "%s: exit status %d", name,
                       WEXITSTATUS(e->status));
    return 0;
}

/* The first word is the path. */
static char **command_words(const struct args *args)
{
    size_t n = args->word_count - 1;
    char **argv = mem_zalloc(n + 1, sizeof(char *));

    for (size_t i = 0; i < n; i++)
        argv[i] = mem_strdup(args->words[i + 1]);
    return argv;
}

static int run_command(struct remote *r,
                       const struct chubby *c,
                       const bool *expired,
                       const char *sequencer,
                       struct err *err)
{
    struct held_command h = {
        .world = r->world, .chubby = c, .expired = expired};
    char **argv = command_words(r->args);
    struct fiber *voucher;
    int rc;

    setenv("QUARRY_SEQUENCER", sequencer, 1);
    rc = supervisor_start(&h.supervisor, argv, err);
    if (!rc) {
        voucher = fiber_start(loop_self(), "vouch", lock_command_vouch, &h);
        offload(wait_command, &h);
        fiber_cancel(voucher);
        fiber_join(voucher);
        rc = command_outcome(&h.end, argv[0], err);
    }
    for (char **word = argv; *word; word++)
        mem_free(*word);
    mem_free(argv);
    return rc;
}

/* Until Ctrl-C, or the session is lost. */
static int wait_here(struct remote *r, struct chubby *c, struct err *err)
{
    (void)interrupt_watch();
    while (!interrupted()) {
        world_sleep_us(r->world, WATCH_TICK_US);
        if (!chubby_is_safe(c))
            return err_set(err, ERR_CLOSED,
                           "the session with the lock service "
                           "may be lost, and the lock with "
                           "it");
    }
    interrupt_unwatch();
    return 0;
}

static int hold_locked(struct remote *r,
                       struct chubby *c,
                       struct chubby_handle *h,
                       const bool *expired,
                       struct err *err)
{
    char sequencer[CHUBBY_SEQUENCER_BYTES_MAX];
    int rc = chubby_sequencer(h, sequencer, err);

    if (rc)
        return rc;
    set_deadline(r, 0);
    if (r->args->word_count > 1)
        return run_command(r, c, expired, sequencer, err);
    printf("%s\n", sequencer);
    fflush(stdout);
    return wait_here(r, c, err);
}

static void note_expiry(void *ctx, struct chubby_handle *h, enum chubby_event e)
{
    bool *expired = ctx;

    (void)h;
    *expired |= e == CHUBBY_EVENT_EXPIRED;
}

static int lock_command_hold(struct remote *r, struct err *err)
{
    bool expired = false;
    /* When the session is lost nobody else has the lock before the command is
     * gone. */
    struct chubby_open_options o = {
        .lock_delay_ms = r->args->word_count > 1 ? SUPERVISOR_OVER_MS : 1000};
    enum chubby_lock mode =
        args_flag(r->args, "shared") ? CHUBBY_SHARED : CHUBBY_EXCLUSIVE;
    struct chubby *c;
    struct chubby_handle *h = NULL;
    int rc = connect_cell(r, note_expiry, &expired, &c, err);

    if (rc)
        return rc;
    rc = chubby_open(c, r->args->words[0], CHUBBY_WRITE | CHUBBY_CREATE, &o, &h,
                     err);
    if (!rc && !args_flag(r->args, "no-wait")) {
        if (!args_value(r->args, "timeout"))
            set_deadline(r, 0);
        rc = chubby_acquire(h, mode, err);
        if (rc == ERR_DEADLINE)
            err_hint(err, "another holds it still");
    } else if (!rc) {
        rc = chubby_try_acquire(h, mode, err);
    }
    if (!rc)
        rc = hold_locked(r, c, h, &expired, err);
    if (rc == ERR_CLOSED) /* A server that does not answer is not waited for. */
        set_deadline(r, GOODBYE_US);
    chubby_close(h);
    chubby_disconnect(c);
    return rc;
}

static int run_hold(struct cli *cli, const struct args *args, struct err *err)
{
    return run_within(cli, args, lock_command_hold, NULL, err);
}

/* --- watch --------------------------------------------------------------- */

static const char *event_name(enum chubby_event e)
{
    switch (e) {
    case CHUBBY_EVENT_CONTENT: return "written";
    case CHUBBY_EVENT_CHILDREN: return "children changed";
    case CHUBBY_EVENT_LOCKED: return "locked";
    case CHUBBY_EVENT_CONFLICT: return "lock asked for";
    case CHUBBY_EVENT_INVALID: return "deleted";
    case CHUBBY_EVENT_FAILOVER: return "another server leads";
    case CHUBBY_EVENT_JEOPARDY: return "session in jeopardy";
    case CHUBBY_EVENT_SAFE: return "session safe again";
    case CHUBBY_EVENT_EXPIRED: return "session lost";
    }
    return "?";
}

struct watch {
    struct remote *remote;
    bool over; /* Nothing more can come. */
};

static void print_event(void *ctx, struct chubby_handle *h, enum chubby_event e)
{
    struct watch *w = ctx;
    struct buf line = BUF_INIT;

    text_put_time(&line, (int64_t)world_now_us(w->remote->world));
    buf_printf(&line, " %s%s%s\n", h ? chubby_path(h) : "", h ? " " : "",
               event_name(e));
    fputs(buf_cstr(&line), stdout);
    fflush(stdout);
    buf_close(&line);
    w->over |= e == CHUBBY_EVENT_INVALID || e == CHUBBY_EVENT_EXPIRED;
}

static int lock_command_watch(struct remote *r, struct err *err)
{
    struct chubby_open_options o = {.events = 15};
    struct watch w = {.remote = r};
    struct chubby *c;
    struct chubby_handle *h = NULL;
    int rc = connect_cell(r, print_event, &w, &c, err);

    if (rc)
        return rc;
    rc = chubby_open(c, r->args->words[0], CHUBBY_READ, &o, &h, err);
    set_deadline(r, 0);
    (void)interrupt_watch();
    while (!rc && !w.over && !interrupted())
        world_sleep_us(r->world, WATCH_TICK_US);
    interrupt_unwatch();
    chubby_close(h);
    chubby_disconnect(c);
    return rc;
}

static int run_watch(struct cli *cli, const struct args *args, struct err *err)
{
    return run_within(cli, args, lock_command_watch, NULL, err);
}

/* --- sessions, holders --------------------------------------------------- */

static int
with_cell(struct remote *r,
          int (*fn)(struct remote *r, struct chubby *c, struct err *err),
          struct err *err)
{
    struct chubby *c;
    int rc = connect_cell(r, NULL, NULL, &c, err);

    if (rc)
        return rc;
    rc = fn(r, c, err);
    chubby_disconnect(c);
    return rc;
}

static int lock_command_sessions(struct remote *r, struct err *err)
{
    return with_cell(r, lock_views_sessions, err);
}

static int
run_sessions(struct cli *cli, const struct args *args, struct err *err)
{
    return run_within(cli, args, lock_command_sessions, NULL, err);
}

static int lock_command_holders(struct remote *r, struct err *err)
{
    return with_cell(r, lock_views_holders, err);
}

static int
run_holders(struct cli *cli, const struct args *args, struct err *err)
{
    return run_within(cli, args, lock_command_holders, NULL, err);
}

/* --- the commands -------------------------------------------------------- */

static const struct option time_options[] = {
    {"timeout", 0, "TIME", "how long to try ($QUARRY_TIMEOUT, else 10s)"},
    {NULL, 0, NULL, NULL},
};

static const struct option hold_options[] = {
    {"shared", 0, NULL, "the lock in shared mode"},
    {"no-wait", 0, NULL, "fail when it is held by another"},
    {"timeout", 0, "TIME", "how long to wait for the lock"},
    {NULL, 0, NULL, NULL},
};

const struct command lock_commands[] = {
    {.name = "lock ls",
     .arguments = "[PATH]",
     .summary = "List a directory of the lock service",
     .examples = "quarry lock ls / -t cluster:./quarry-cluster",
     .words_max = 1,
     .options = {time_options, remote_options},
     .run = run_ls},
    {.name = "lock cat",
     .arguments = "PATH",
     .summary = "Print a file of the lock service",
     .examples = "quarry lock cat /greeting -t localhost:7000 --key key",
     .words_min = 1,
     .words_max = 1,
     .options = {time_options, remote_options},
     .run = run_cat},
    {.name = "lock put",
     .arguments = "PATH [TEXT]",
     .summary = "Write a file of the lock service",
     .details = "Without TEXT, standard input. The file is made when it is not "
                "there.",
     .examples = "quarry lock put /greeting hello -t cluster:./quarry-cluster",
     .words_min = 1,
     .words_max = 2,
     .options = {time_options, remote_options},
     .run = run_put},
    {.name = "lock mkdir",
     .arguments = "PATH",
     .summary = "Make a directory of the lock service",
     .examples = "quarry lock mkdir /jobs -t cluster:./quarry-cluster",
     .words_min = 1,
     .words_max = 1,
     .options = {time_options, remote_options},
     .run = run_mkdir},
    {.name = "lock rm",
     .arguments = "PATH",
     .summary = "Delete a file or empty directory",
     .examples = "quarry lock rm /greeting -t cluster:./quarry-cluster",
     .words_min = 1,
     .words_max = 1,
     .options = {time_options, remote_options},
     .run = run_rm},
    {.name = "lock hold",
     .arguments = "PATH [-- COMMAND...]",
     .summary = "Hold a lock while a command runs",
     .details = "The file is made when it is not there. COMMAND finds the "
                "lock's sequencer in\n$QUARRY_SEQUENCER. When the lock may be "
                "lost, or this process ends, COMMAND and all\nthat it started "
                "are ended (SIGTERM, 2 seconds later SIGKILL), and the status\n"
                "is 1; the next holder waits 10 seconds longer. Without "
                "COMMAND, the sequencer is\nprinted and the lock held until "
                "Ctrl-C.",
     .examples = "quarry lock hold /nightly -t cluster:./quarry-cluster -- "
                 "./nightly.sh",
     .words_min = 1,
     .words_max = WORDS_ANY,
     .options = {hold_options, remote_options},
     .run = run_hold},
    {.name = "lock sessions",
     .arguments = "",
     .summary = "List the sessions, what is left of their leases, their locks",
     .details = "For administrators. A session whose lease has run out loses "
                "its locks.",
     .examples = "quarry lock sessions -t cluster:./quarry-cluster",
     .options = {time_options, remote_options},
     .run = run_sessions},
    {.name = "lock holders",
     .arguments = "[PATH]",
     .summary = "List who holds the locks of a directory",
     .details = "For administrators.",
     .examples = "quarry lock holders /bigtable/servers -t "
                 "cluster:./quarry-cluster",
     .words_max = 1,
     .options = {time_options, remote_options},
     .run = run_holders},
    {.name = "lock watch",
     .arguments = "PATH",
     .summary = "Print what happens to a file or directory",
     .examples = "quarry lock watch /jobs -t cluster:./quarry-cluster",
     .words_min = 1,
     .words_max = 1,
     .options = {time_options, remote_options},
     .run = run_watch},
    {.name = NULL},
};
