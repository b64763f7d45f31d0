/* quarry server: the process of a node: its directory, its log, its signals and
 * its end. server_host.c runs the roles. SIGTERM stops it within bounds of
 * time; when a role fails because it lost its place or others did not answer,
 * it restarts itself (server_restart.c).
 */
#define _GNU_SOURCE

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/audit.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "base/trace/span.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/remote_call.h"
#include "cli/server_host.h"
#include "cli/server_restart.h"
#include "cli/server_settings.h"

/* After SIGTERM the roles have so long to hand over. */
#define STOP_SECONDS_MAX 12
/* Then what is under way has so long to end: it may wait for nodes that are
 * gone as well. After that the process ends as it is: what was acknowledged is
 * on the disk. */
#define CLOSE_NS UINT64_C(3000000000)
/* One that is to restart has less: nobody serves meanwhile. */
#define AGAIN_SECONDS_MAX 3
/* Files of a server are readable by its user only. */
#define OTHERS_MODE 077
/* Allocations below this come from memory that the process keeps. */
#define KEEP_BYTES (32 << 20)

struct server {
    struct cli *cli;
    struct world *world;
    struct server_settings settings;
    struct logger *logger;
    struct audit *audit;    /* NULL: none. */
    struct file_lock *lock; /* On the data directory. */
    struct loop *loop;
    struct server_host *host;
    struct mutex closing; /* Over `is_closed`. */
    struct cond closed;
    bool is_closed;
    bool is_left; /* With what is under way; nothing can be freed. */
    bool has_pid_file;
    int rc;
    struct err *err;
};

/* --- signals ------------------------------------------------------------- */

static volatile sig_atomic_t is_again;

/* The place is lost (ERR_CLOSED), or others that were needed did not answer in
 * time: neither is a fault of this machine's. */
static bool may_restart(int failure)
{
    return failure == ERR_CLOSED || failure == ERR_UNAVAILABLE ||
           failure == ERR_DEADLINE;
}

/* The main thread waits for these; all others have them blocked. */
static void block_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
    sigaddset(set, SIGUSR1); /* A role has failed. */
    sigaddset(set, SIGUSR2); /* Leave, and stop later. */
    sigprocmask(SIG_BLOCK, set, NULL);
    /* A limit on files is an error of the write, as a full disk is. */
    signal(SIGXFSZ, SIG_IGN);
}

static void on_failed(void *ctx)
{
    (void)ctx;
    kill(getpid(), SIGUSR1);
}

static void on_alarm(int number)
{
    static const char text[] = "quarry: server: did not stop in time\n";
    (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
    if (is_again && number == SIGALRM)
        server_restart();
    _exit(1);
}

static void leave_host(void *arg)
{
    struct server *s = arg;
    server_host_leave(s->host);
}

static void reload_host(void *arg)
{
    struct server *s = arg;
    server_host_reload(s->host);
}

/* One that cannot leave must not stay for ever. */
static void leave_in_time(struct server *s)
{
    struct sigaction now = {.sa_flags = 0};
    now.sa_handler = on_alarm;
    sigemptyset(&now.sa_mask);
    sigaction(SIGALRM, &now, NULL);
    alarm(STOP_SECONDS_MAX);
    loop_call(s->loop, "leave", leave_host, s);
    alarm(0);
}

/* Why it is over: one of the signals that end it. */
static int await_end(struct server *s, const sigset_t *set)
{
    struct err err = ERR_INIT;
    int number = 0;
    while (number != SIGTERM && number != SIGINT && number != SIGUSR1) {
        number = sigwaitinfo(set, NULL);
        if (number == SIGHUP) {
            logger_reopen(s->logger);
            if (audit_reopen(s->audit, &err))
                log_error(s->world, "server", "%s", err.text);
            loop_call(s->loop, "reload", reload_host, s);
        } else if (number == SIGUSR2) {
            log_info(s->world, "server", "leaving");
            leave_in_time(s);
        }
    }
    log_info(s->world, "server", "stopping signal=%d", number);
    return number;
}

/* From now on a second signal, or the end of patience, ends the process. */
static void stop_in_time(const sigset_t *set)
{
    struct sigaction now = {.sa_flags = 0};
    now.sa_handler = on_alarm;
    sigemptyset(&now.sa_mask);
    sigaction(SIGALRM, &now, NULL);
    sigaction(SIGTERM, &now, NULL);
    sigaction(SIGINT, &now, NULL);
    sigprocmask(SIG_UNBLOCK, set, NULL);
    alarm(is_again ? AGAIN_SECONDS_MAX : STOP_SECONDS_MAX);
}

/* --- the data directory -------------------------------------------------- */

static int take_directory(struct server *s, struct err *err)
{
    struct buf path = BUF_INIT;
    int rc = world_make_dir(s->world, s->settings.data, err);
    buf_printf(&path, "%s/LOCK", s->settings.data);
    if (rc == 0)
        rc = world_make_private(s->world, s->settings.data, err);
    if (rc == 0)
        rc = file_lock(s->world, buf_cstr(&path), &s->lock, err);
    if (rc)
        err_wrap(err, "data directory %s", s->settings.data);
    buf_close(&path);
    return rc;
}

static int write_pid_file(struct server *s, struct err *err)
{
    const char *path = s->settings.pid_file;
    FILE *f;
    if (!*path)
        return 0;
    f = fopen(path, "w");
    if (!f || fprintf(f, "%ld\n", (long)getpid()) < 0 || fclose(f) != 0)
        return err_set_errno(err, errno, "pid file %s", path);
    (void)chmod(path, 0644); /* It is for others. */
    s->has_pid_file = true;
    return 0;
}

/* --- on the loop --------------------------------------------------------- */

static void open_host(void *arg)
{
    struct server *s = arg;
    s->rc = server_host_open(s->world, &s->settings, on_failed, NULL, &s->host,
                             s->err);
}

static void stop_host(void *arg)
{
    struct server *s = arg;
    server_host_stop(s->host);
    s->rc = server_host_failure(s->host, s->err);
}

static void run_close(void *arg)
{
    struct server *s = arg;
    server_host_close(s->host);
    mutex_lock(&s->closing);
    s->is_closed = true;
    cond_broadcast(&s->closed);
    mutex_unlock(&s->closing);
}

static void start_close(void *arg)
{
    struct server *s = arg;
    fiber_detach(fiber_start(s->loop, "close", run_close, s));
}

/* False: something is under way still. */
static bool close_host(struct server *s)
{
    uint64_t end_ns = world_mono_ns(s->world) + CLOSE_NS;
    uint64_t now_ns;
    bool closed;
    loop_post(s->loop, start_close, s);
    mutex_lock(&s->closing);
    while (!s->is_closed && (now_ns = world_mono_ns(s->world)) < end_ns)
        (void)cond_wait_us(&s->closed, &s->closing, s->world,
                           (end_ns - now_ns) / 1000 + 1);
    closed = s->is_closed;
    mutex_unlock(&s->closing);
    return closed;
}

static void say_ready(struct server *s)
{
    struct buf b = BUF_INIT;
    server_host_describe(s->host, &b);
    log_info(s->world, "server", "ready %s pid=%ld", buf_cstr(&b),
             (long)getpid());
    if (!s->cli->quiet) {
        printf("ready %s\n", buf_cstr(&b));
        fflush(stdout);
    }
    buf_close(&b);
}

/* Until a signal says that it is over, and why. */
static void serve_on(struct server *s, const sigset_t *set)
{
    int number;
    say_ready(s);
    number = await_end(s, set);
    /* A process that was told to stop stops. */
    is_again =
        number == SIGUSR1 && may_restart(server_host_failure(s->host, NULL));
    if (is_again)
        server_restart_plan(s->world);
    stop_in_time(set);
}

static void serve_until_stopped(struct server *s, const sigset_t *set)
{
    serve_on(s, set);
    loop_call(s->loop, "stop", stop_host, s);
    if (!is_again)
        alarm(0); /* The following steps have bounds of their own. */
}

static int serve_loop(struct server *s, const sigset_t *set, struct err *err)
{
    int rc = loop_new(s->world, "server", &s->loop, err);
    if (rc)
        return rc;
    s->err = err;
    loop_start(s->loop);
    /* Before the port answers; the data directory is this process's. */
    s->rc = write_pid_file(s, err);
    if (s->rc == 0)
        loop_call(s->loop, "open", open_host, s);
    if (s->rc == 0)
        serve_until_stopped(s, set);
    s->is_left = !close_host(s);
    if (s->is_left) {
        log_warn(s->world, "server", "ends with calls under way");
        return s->rc;
    }
    loop_stop(s->loop);
    loop_join(s->loop);
    loop_free(s->loop);
    return s->rc;
}

/* Its thread takes no signals: they are blocked by now. */
static int open_audit(struct server *s, struct err *err)
{
    const struct server_settings *t = &s->settings;
    int rc;
    if (!*t->audit_log)
        return 0;
    rc = audit_open(s->world, t->audit_log, *t->name ? t->name : t->listen,
                    &s->audit, err);
    world_set_audit(s->world, s->audit);
    return rc;
}

static int server_command_serve(struct server *s, struct err *err)
{
    sigset_t set;
    sigset_t ends;
    int rc = 0;
    block_signals(&set);
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    /* The life before left its file. */
    s->has_pid_file = server_restart_is_due() && *s->settings.pid_file;
    rc = open_audit(s, err);
    if (rc == 0 && server_restart_wait(s->world, &ends))
        rc = serve_loop(s, &set, err);
    if (s->has_pid_file && !is_again)
        unlink(s->settings.pid_file);
    log_info(s->world, "server", "stopped");
    return rc;
}

/* --- the command --------------------------------------------------------- */

static int
server_command_start(struct server *s, const struct args *args, struct err *err)
{
    int rc = server_settings_read(s->world, args, &s->settings, err);
    if (rc == 0)
        rc = logger_open(*s->settings.log ? s->settings.log : NULL,
                         LOG_LEVEL_INFO, &s->logger, err);
    if (rc == 0) {
        rc = logger_set_levels(s->logger, slice_str(s->settings.log_levels),
                               err);
        if (rc)
            server_settings_blame(args, "log-level", err);
    }
    if (rc)
        return rc;
    logger_find_journal(s->logger, remote_variable("JOURNAL_STREAM"));
    logger_set_format(s->logger, s->settings.log_format);
    logger_set_request(s->logger, trace_request_text);
    world_set_logger(s->world, s->logger);
    rc = take_directory(s, err);
    if (rc == 0)
        rc = server_command_serve(s, err);
    if (rc)
        log_error(s->world, "server", "failed why=\"%s\"", err->text);
    return rc;
}

/* Buffers come and go with every call: memory that was touched is kept, because
 * touching it again is what costs. */
static void keep_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, KEEP_BYTES);
    mallopt(M_TRIM_THRESHOLD, 4 * KEEP_BYTES);
}

/* Threads that still run use everything: nothing is freed. */
static _Noreturn void end_as_it_is(int rc, const struct err *err)
{
    if (is_again)
        server_restart();
    if (rc)
        cli_report(err);
    _exit(rc ? 1 : 0);
}

/* Its own world: the logger belongs to that, and nothing else uses it. */
static int run_server(struct cli *cli, const struct args *args, struct err *err)
{
    struct server s = {.cli = cli, .world = world_real_new()};
    int rc;
    umask(OTHERS_MODE);
    mutex_init(&s.closing);
    cond_init(&s.closed);
    server_restart_note(s.world);
    keep_memory();
    rc = server_command_start(&s, args, err);
    if (s.is_left)
        end_as_it_is(rc, err);
    mutex_close(&s.closing);
    cond_close(&s.closed);
    file_unlock(s.lock);
    world_set_audit(s.world, NULL);
    audit_close(s.audit);
    world_set_logger(s.world, NULL);
    logger_close(s.logger);
    server_settings_close(&s.settings);
    world_free(s.world);
    if (is_again)
        server_restart();
    return rc;
}

const struct command server_commands[] = {
    {.name = "server",
     .arguments = "",
     .summary = "Run a node of a cluster: lock service, files, tables",
     .details =
         "One process hosts any set of roles on one port. With --data alone it "
         "is all of\nthem, on loopback. Nodes of one cluster are given the "
         "same --cell, and a --key\nor certificates, without which they talk "
         "only within a machine.\n\nWhen it is ready it prints a line 'ready "
         "NAME ADDRESS ROLES'. SIGTERM stops it in\norder; SIGHUP opens its "
         "log files again, and reads keys, certificates and\ntokens again; "
         "SIGUSR2, before the SIGTERM that ends a whole cluster, has its\n"
         "roles leave while the cell still runs.\n\nThe file "
         "of --config has the same settings by their names, in section "
         "[server].",
     .examples = "quarry server --data /var/lib/quarry\n"
                 "quarry server --config /etc/quarry.conf",
     .options = {server_options, server_security_options},
     .run = run_server},
    {.name = NULL},
};
