/* Attempts in processes: the side of the job master, or of a worker.
 *
 * The zygote (zygote.c) is forked here while this process is still small, or
 * executed (exec.c) where it has threads. It forks an attempt for each start
 * message and reports how it ended. The status pages
 * are a shared mapping. Output of attempts comes through one pipe per slot, of
 * which the last part is kept. Files of a cell are proxied to attempts:
 * connections of their own would be most of what a small attempt costs, and
 * attempts that run a user's own code in their process have no other way to
 * files or rows.
 */
#define _GNU_SOURCE

#include "mapreduce/attempt/process_host.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/crypt/keyring.h"
#include "base/crypt/sealed_bytes.h"
#include "base/runtime/world.h"
#include "base/trace/span.h"
#include "gfs-lite/fs_proxy.h"
#include "mapreduce/attempt/attempt_files.h"
#include "mapreduce/attempt/death.h"
#include "mapreduce/attempt/exec.h"
#include "mapreduce/attempt/row_relay.h"
#include "mapreduce/attempt/zygote.h"
#include "mapreduce/sandbox/job_cage.h"
#include "mapreduce/task/job_package.h"
#include "mapreduce/task/job_trace.h"

/* The end of an attempt's output that is kept, and handed on if it fails. */
#define SAID_BYTES_MAX ((size_t)64 << 10)
/* Reports hold counters, file names and sampled keys. */
#define REPORT_BYTES_MAX ((uint64_t)64 << 20)

struct process_slot {
    int pipe;  /* Read end of stdout and stderr. */
    int files; /* The proxy server's end of the attempts' files; -1: none. */
    struct task *files_task; /* Serves it. */
    struct fs_proxy_session *session;
    struct row_relay *rows; /* NULL: attempts are trusted to read by themselves,
                               and may open any file. */
    struct buf said;
    struct buf report_path;
};

struct process_host {
    struct attempt_host base;
    const struct job_setup *setup;
    struct zygote_shared shared;
    int shared_fd; /* Of a zygote that is a program of its own; else -1. */
    struct process_slot *slots;
    int socket;    /* To the zygote. */
    int wakeup_fd; /* eventfd that ends a wait(); -1: none. */
    pid_t zygote;
    struct fs_proxy_server *proxy; /* Of the cell's files; NULL: none. */
    struct relay_store *store;     /* Of rows; NULL: attempts are trusted. */
};

/* --- the wire ------------------------------------------------------------ */

static int send_all(int fd, const char *p, size_t len, struct err *err)
{
    while (len > 0) {
        ssize_t n = send(fd, p, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set_errno(err, errno, "send to the worker");
        p += n;
        len -= (size_t)n;
    }
    return 0;
}

static int send_message(struct process_host *h,
                        enum zygote_op op,
                        unsigned slot,
                        struct slice body,
                        struct err *err)
{
    char head[ZYGOTE_HEADER_BYTES];
    int rc;
    put_le32(head, (uint32_t)op);
    put_le32(head + 4, slot);
    put_le64(head + 8, body.len);
    rc = send_all(h->socket, head, sizeof(head), err);
    return rc ? rc : send_all(h->socket, body.data, body.len, err);
}

static int process_host_receive(int fd, char *p, size_t len, struct err *err)
{
    while (len > 0) {
        ssize_t n = recv(fd, p, len, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set_errno(err, errno, "read from the worker");
        if (n == 0)
            return err_set(err, ERR_ABORTED, "the worker process is gone");
        p += n;
        len -= (size_t)n;
    }
    return 0;
}

/* The zygote's first message: the job's traits, or why there is no job. */
static int receive_hello(struct process_host *h, struct err *err)
{
    char head[ZYGOTE_HEADER_BYTES];
    struct buf body = BUF_INIT;
    int rc = process_host_receive(h->socket, head, sizeof(head), err);
    if (rc)
        return rc;
    rc = process_host_receive(h->socket, buf_extend(&body, get_le64(head + 8)),
                              get_le64(head + 8), err);
    if (rc == 0 && get_le32(head) == ZYGOTE_FAILED) {
        struct task_report r;
        rc = task_report_decode(&r, buf_slice(&body), err);
        if (rc == 0)
            rc = err_copy(err, &r.err);
        task_report_close(&r);
    } else if (rc == 0) {
        rc = job_traits_decode(&h->base.traits, buf_slice(&body), err);
    }
    buf_close(&body);
    return rc;
}

/* --- starting and ending ------------------------------------------------- */

static void close_files(struct process_host *h)
{
    for (unsigned i = 0; i < h->base.slot_count; i++) {
        struct process_slot *s = &h->slots[i];
        if (s->files_task) {
            shutdown(s->files, SHUT_RDWR);
            task_join(s->files_task);
        }
        if (s->files >= 0)
            close(s->files);
        fs_proxy_session_free(s->session);
        row_relay_free(s->rows);
    }
    relay_store_free(h->store);
    fs_proxy_server_free(h->proxy);
}

static void process_close(struct attempt_host *base)
{
    struct process_host *h = (struct process_host *)base;
    if (h->socket >= 0)
        close(h->socket); /* The zygote ends all attempts, then itself. */
    if (h->zygote > 0)
        while (waitpid(h->zygote, NULL, 0) < 0 && errno == EINTR) {
        }
    close_files(h);
    for (unsigned i = 0; i < base->slot_count; i++) {
        if (h->slots[i].pipe >= 0)
            close(h->slots[i].pipe);
        buf_close(&h->slots[i].said);
        buf_close(&h->slots[i].report_path);
    }
    if (h->shared_fd >= 0)
        close(h->shared_fd);
    if (h->wakeup_fd >= 0)
        close(h->wakeup_fd);
    zygote_shared_close(&h->shared, base->slot_count);
    job_traits_close(&base->traits);
    mem_free(h->slots);
    mem_free(h);
}

/* Grant an untrusted attempt the files and rows of its spec. */
static int lend_to(struct process_host *h,
                   struct process_slot *s,
                   const struct task_spec *spec,
                   struct err *err)
{
    struct trace_context trace;
    PRE(spec->attempt >= 1);
    job_trace_context(&h->setup->opts->trace, h->setup->world, h->setup->job_id,
                      spec, &trace);
    if (s->session)
        fs_proxy_session_trace(s->session, &trace);
    if (!s->rows)
        return 0;
    row_relay_aim(s->rows, spec);
    return attempt_files_grant(h->setup, spec, h->store, s->session, err);
}

static int process_start(struct attempt_host *base,
                         uint32_t worker,
                         const struct task_spec *spec,
                         unsigned *slot,
                         struct err *err)
{
    PRE(worker < base->slot_count);
    struct process_host *h = (struct process_host *)base;
    struct process_slot *s = &h->slots[worker];
    struct task_status *status = &h->shared.status[worker];
    struct buf body = BUF_INIT;
    int rc = lend_to(h, s, spec, err);
    if (rc)
        return rc;
    *slot = worker;
    *status = (struct task_status){.stage = STATUS_IDLE};
    atomic_store(&h->shared.reports[worker].bytes, 0);
    buf_clear(&s->said);
    zygote_report_path(&s->report_path, h->setup->work_dir, spec);
    task_spec_encode(spec, &body);
    rc = send_message(h, ZYGOTE_START, worker, buf_slice(&body), err);
    buf_close(&body);
    return rc;
}

static void process_kill(struct attempt_host *base, unsigned slot)
{
    struct process_host *h = (struct process_host *)base;
    /* If the message cannot be sent the zygote is gone, and wait() reports
     * that. */
    if (send_message(h, ZYGOTE_KILL, slot, SLICE_EMPTY, NULL))
        return;
}

static struct task_status *process_status(struct attempt_host *base,
                                          unsigned slot)
{
    PRE(slot < base->slot_count);
    return &((struct process_host *)base)->shared.status[slot];
}

/* --- the end of an attempt ----------------------------------------------- */

/* Read the slot's pipe, keeping the last SAID_BYTES_MAX bytes. */
static void drain_pipe(struct process_slot *s)
{
    char piece[4096];
    ssize_t n;
    while ((n = read(s->pipe, piece, sizeof(piece))) > 0) {
        buf_append(&s->said, piece, (size_t)n);
        if (s->said.len > 2 * SAID_BYTES_MAX)
            buf_consume(&s->said, s->said.len - SAID_BYTES_MAX);
    }
}

/* Decrypt @bytes if reports are encrypted. */
static int open_report(const struct process_host *h, struct buf *bytes)
{
    struct keyring *keys;
    int rc;
    if (!h->setup->encrypts)
        return 0;
    keys = keyring_new_of(h->setup->world, h->setup->spill_key);
    rc = sealed_bytes_open(keys, bytes, 0, NULL);
    keyring_unref(keys);
    return rc;
}

static int read_report_file(struct process_host *h,
                            struct process_slot *s,
                            struct buf *bytes)
{
    struct file *f;
    uint64_t size = 0;
    size_t got = 0;
    int rc = file_open(h->setup->world, buf_cstr(&s->report_path), FILE_READ,
                       &f, NULL);
    if (rc)
        return rc;
    rc = file_size(f, &size, NULL);
    if (rc == 0 && size > REPORT_BYTES_MAX)
        rc = ERR_TOOBIG;
    if (rc == 0)
        rc = file_read_at(f, 0, buf_extend(bytes, size), size, &got, NULL);
    bytes->len = got;
    file_close(f);
    return rc ? rc : open_report(h, bytes);
}

/* User code may have written anything there: it is copied before it is decoded.
 */
static int
read_report(struct process_host *h, unsigned slot, struct task_report *report)
{
    const struct zygote_report *r = &h->shared.reports[slot];
    unsigned len = atomic_load(&r->bytes);
    struct buf bytes = BUF_INIT;
    int rc = 0;
    if (len > 0 && len <= sizeof(r->data))
        buf_append(&bytes, r->data, len);
    else
        rc = read_report_file(h, &h->slots[slot], &bytes);
    if (rc == 0)
        rc = task_report_decode(report, buf_slice(&bytes), NULL);
    buf_close(&bytes);
    return rc;
}

/* The report of a shared object is written by its own code, so the sandbox is
 * counted here. */
static void
count_cage(const struct process_host *h, bool weak, struct task_report *report)
{
    const struct mr_options *o = h->setup->opts;
    if (!o->no_sandbox && job_trust_of(&o->program) == JOB_OBJECT)
        *counters_get(&report->counters,
                      weak ? COUNTERS_SANDBOX_WEAK : COUNTERS_SANDBOX_CAGE) = 1;
}

/* Hand on what a failed attempt said; nobody reads that of others. */
static void take_said(struct process_slot *s, struct attempt_event *event)
{
    struct slice said = buf_slice(&s->said);
    if (said.len > SAID_BYTES_MAX)
        said = slice_sub(said, said.len - SAID_BYTES_MAX, said.len);
    if (!event->reported || event->report.code != 0)
        buf_append_slice(&event->said, said);
    buf_clear(&s->said);
}

static int receive_end(struct process_host *h,
                       struct attempt_event *event,
                       struct err *err)
{
    char head[ZYGOTE_HEADER_BYTES];
    struct process_slot *s;
    enum zygote_reason reason;
    int status;
    int rc = process_host_receive(h->socket, head, sizeof(head), err);
    if (rc)
        return rc;
    INVARIANT(get_le32(head) == ZYGOTE_ENDED);
    INVARIANT(get_le32(head + 4) < h->base.slot_count);
    *event = (struct attempt_event){.slot = get_le32(head + 4)};
    status = (int)get_le32(head + 8);
    reason = (enum zygote_reason)(get_le32(head + 12) & ~ZYGOTE_WEAK);
    s = &h->slots[event->slot];
    drain_pipe(s);
    task_report_init(&event->report);
    if (WIFEXITED(status))
        event->reported = read_report(h, event->slot, &event->report) == 0;
    take_said(s, event);
    if (event->reported) {
        count_cage(h, get_le32(head + 12) & ZYGOTE_WEAK, &event->report);
        return 0;
    }
    death_describe(h->setup->opts, reason, status, event->death,
                   sizeof(event->death));
    return 0;
}

static int process_wait(struct attempt_host *base,
                        uint64_t timeout_us,
                        struct attempt_event *event,
                        bool *got,
                        struct err *err)
{
    struct process_host *h = (struct process_host *)base;
    struct pollfd fds[ZYGOTE_SLOTS_MAX + 2];
    unsigned n = base->slot_count;
    uint64_t rung;
    int ready;
    *got = false;
    for (unsigned i = 0; i < n; i++)
        fds[i] = (struct pollfd){.fd = h->slots[i].pipe, .events = POLLIN};
    fds[n] = (struct pollfd){.fd = h->socket, .events = POLLIN};
    fds[n + 1] = (struct pollfd){.fd = h->wakeup_fd, .events = POLLIN};
    ready = poll(fds, n + 2, (int)((timeout_us + 999) / 1000));
    if (ready < 0 && errno != EINTR)
        return err_set_errno(err, errno, "wait for attempts");
    if (ready <= 0)
        return 0;
    for (unsigned i = 0; i < n; i++)
        if (fds[i].revents)
            drain_pipe(&h->slots[i]);
    if (fds[n + 1].revents && read(h->wakeup_fd, &rung, sizeof(rung)) < 0)
        return err_set_errno(err, errno, "read an event counter");
    if (!fds[n].revents)
        return 0;
    *got = true;
    return receive_end(h, event, err);
}

/* --- opening ------------------------------------------------------------- */

static int wait_for_hello(struct process_host *h, struct err *err)
{
    int rc = receive_hello(h, err);
    if (rc == ERR_ABORTED && h->base.traits.name == NULL)
        rc = err_set(err, ERR_ABORTED,
                     "the process that loads the job's code died of it");
    return rc;
}

static int fork_zygote(struct process_host *h, struct err *err)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return err_set_errno(err, errno, "make a socket");
    h->zygote = fork();
    if (h->zygote == 0) {
        close(ends[0]);
        for (unsigned i = 0; i < h->base.slot_count; i++)
            close(h->slots[i].pipe);
        zygote_main(h->setup, &h->shared, h->base.slot_count, ends[1], NULL,
                    NULL);
    }
    close(ends[1]);
    h->socket = ends[0];
    if (h->zygote < 0)
        return err_set_errno(err, errno, "start a worker process");
    return wait_for_hello(h, err);
}

/* As a program of its own: this process has threads, and much memory. */
static int spawn_zygote(struct process_host *h,
                        const char *const *command,
                        struct err *err)
{
    int ends[2];
    int rc;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return err_set_errno(err, errno, "make a socket");
    h->socket = ends[0];
    rc = exec_zygote(command, ends[1], h->shared_fd, h->shared.pipes,
                     h->shared.files, h->base.slot_count, &h->zygote, err);
    close(ends[1]);
    return rc;
}

/* --- lending files ------------------------------------------------------- */

static void run_proxy(void *arg)
{
    const struct process_slot *s = arg;
    fs_proxy_session_serve(s->session, s->files);
}

/* A pair of sockets per slot. */
static int open_files(struct process_host *h, struct err *err)
{
    for (unsigned i = 0; i < h->base.slot_count; i++) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
            return err_set_errno(err, errno, "make a socket");
        h->slots[i].files = ends[0];
        h->shared.files[i] = ends[1];
    }
    return 0;
}

static void open_session(struct process_host *h, struct process_slot *s)
{
    struct fs_proxy_other other;
    if (h->store) {
        s->rows = row_relay_new(h->store);
        other = row_relay_answers(s->rows);
    }
    s->session = fs_proxy_session_new(h->proxy, h->store ? &other : NULL);
}

/* Start serving the job's files to the slots. Without a file system our ends
 * are closed: attempts open their own. */
static void lend_files(struct process_host *h)
{
    struct fs *fs = h->setup->files.fs;
    if (fs)
        h->proxy = fs_proxy_server_new(fs);
    if (fs && job_is_relayed(h->setup))
        h->store = relay_store_new(h->setup);
    for (unsigned i = 0; i < h->base.slot_count; i++) {
        struct process_slot *s = &h->slots[i];
        if (!fs) {
            close(s->files);
            s->files = -1;
            continue;
        }
        open_session(h, s);
        s->files_task =
            task_start(h->setup->world, "worker-files", run_proxy, s);
    }
}

static void close_ends(int *ends, unsigned count)
{
    for (unsigned i = 0; ends && i < count; i++)
        if (ends[i] >= 0) {
            close(ends[i]);
            ends[i] = -1;
        }
}

static int open_pipes(struct process_host *h, struct err *err)
{
    for (unsigned i = 0; i < h->base.slot_count; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0)
            return err_set_errno(err, errno, "make a pipe");
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
        h->slots[i].pipe = ends[0];
        h->shared.pipes[i] = ends[1];
    }
    return 0;
}

static void process_wake(struct attempt_host *base)
{
    static const uint64_t once = 1;
    const struct process_host *h = (struct process_host *)base;
    /* A counter that is full wakes the reader as well. */
    if (write(h->wakeup_fd, &once, sizeof(once)) < 0)
        return;
}

static struct process_host *new_host(unsigned slots)
{
    struct process_host *h = mem_zalloc(1, sizeof(*h));
    h->base = (struct attempt_host){.start = process_start,
                                    .wait = process_wait,
                                    .kill = process_kill,
                                    .status = process_status,
                                    .wake = process_wake,
                                    .close = process_close,
                                    .slot_count = slots};
    h->socket = h->shared_fd = -1;
    h->wakeup_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    h->slots = mem_zalloc(slots, sizeof(*h->slots));
    for (unsigned i = 0; i < slots; i++)
        h->slots[i].pipe = h->slots[i].files = -1;
    return h;
}

/* The process was started, or failed to start with @code. */
static int
process_host_opened(struct process_host *h, int code, struct attempt_host **out)
{
    /* Only attempts hold these ends. */
    close_ends(h->shared.pipes, h->base.slot_count);
    close_ends(h->shared.files, h->base.slot_count);
    if (code) {
        process_close(&h->base);
        h = NULL;
    }
    *out = h ? &h->base : NULL;
    return code;
}

int process_host_open(const struct job_setup *setup,
                      unsigned slots,
                      struct attempt_host **out,
                      struct err *err)
{
    struct process_host *h =
        new_host(MIN_OF(slots, (unsigned)ZYGOTE_SLOTS_MAX));
    int rc = zygote_shared_open(&h->shared, h->base.slot_count, NULL, err);
    h->setup = setup;
    if (rc == 0)
        rc = open_pipes(h, err);
    if (rc == 0)
        rc = fork_zygote(h, err);
    return process_host_opened(h, rc, out);
}

int process_host_spare(const char *const *command,
                       unsigned slots,
                       struct attempt_host **out,
                       struct err *err)
{
    struct process_host *h =
        new_host(MIN_OF(slots, (unsigned)ZYGOTE_SLOTS_MAX));
    int rc =
        zygote_shared_open(&h->shared, h->base.slot_count, &h->shared_fd, err);
    if (rc == 0)
        rc = open_pipes(h, err);
    if (rc == 0)
        rc = open_files(h, err);
    if (rc == 0)
        rc = spawn_zygote(h, command, err);
    return process_host_opened(h, rc, out);
}

bool process_host_is_alive(struct attempt_host *base)
{
    struct process_host *h = (struct process_host *)base;
    if (h->zygote > 0 && waitpid(h->zygote, NULL, WNOHANG) != 0)
        h->zygote = 0;
    return h->zygote > 0;
}

int process_host_begin(struct attempt_host *base,
                       const struct job_setup *setup,
                       struct err *err)
{
    struct process_host *h = (struct process_host *)base;
    struct buf package = BUF_INIT;
    int rc;
    PRE(!h->setup);
    h->setup = setup;
    lend_files(h);
    job_package_encode(setup, &package);
    rc = send_message(h, ZYGOTE_SETUP, 0, buf_slice(&package), err);
    buf_close(&package);
    return rc ? rc : wait_for_hello(h, err);
}

int process_host_exec(const struct job_setup *setup,
                      const char *const *command,
                      unsigned slots,
                      struct attempt_host **out,
                      struct err *err)
{
    struct attempt_host *h = NULL;
    int rc = process_host_spare(command, slots, &h, err);
    if (rc == 0)
        rc = process_host_begin(h, setup, err);
    if (rc && h)
        process_close(h);
    *out = rc ? NULL : h;
    return rc;
}

void attempt_event_close(struct attempt_event *e)
{
    task_report_close(&e->report);
    mem_free(e->missing);
    buf_close(&e->said);
}
