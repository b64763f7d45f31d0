/* Forking attempts, and what the process of an attempt does.
 *
 * The zygote is single-threaded: it polls its socket and its children. Each
 * attempt is its own process with its limits and, for user code, its cage, so
 * that a job can fail, hang or be hostile without touching the worker. The
 * zygote adopts and ends the processes that attempts leave behind.
 */
#define _GNU_SOURCE

#include "mapreduce/attempt/zygote.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "base/crypt/keyring.h"
#include "base/crypt/sealed_bytes.h"
#include "base/runtime/world.h"
#include "base/runtime/world_mount.h"
#include "base/trace/span.h"
#include "gfs-lite/fs_proxy.h"
#include "mapreduce/attempt/attempt.h"
#include "mapreduce/engines/engine.h"
#include "mapreduce/sandbox/cage.h"
#include "mapreduce/sandbox/job_cage.h"
#include "mapreduce/sandbox/process_tree.h"
#include "mapreduce/sandbox/sandbox.h"
#include "mapreduce/task/job_trace.h"

/* A task spec holds splits and keys. */
#define MESSAGE_BYTES_MAX ((uint64_t)1 << 30)
#define HUGE_PAGE_BYTES   ((uintptr_t)2 << 20)
/* Most bytes of an object's description of itself. */
#define DESCRIPTION_BYTES_MAX ((size_t)1 << 20)
/* How often the processes of attempts are measured. */
#define LOOK_MS 250

struct zygote {
    const struct job_setup *setup;
    const struct zygote_shared *shared;
    const struct mr_job *job;
    unsigned slots;
    int socket;
    int signals;                 /* signalfd of SIGCHLD. */
    pid_t *pids;                 /* One per slot; 0: free. */
    enum zygote_reason *reasons; /* One per slot. */
    struct sandbox *sandbox;
    enum job_trust trust;
    struct job_cage *cage;  /* Of user code; NULL: none is needed. */
    struct cage_end **ends; /* One per slot, of attempts in cages. */
    uint64_t looked_ns;
    zygote_open_fs open_fs; /* NULL: none. */
    void *fs_ctx;
};

/* --- memory -------------------------------------------------------------- */

static size_t shared_bytes(unsigned slots)
{
    return slots * (sizeof(struct zygote_report) + sizeof(struct task_status));
}

static int
map_shared(struct zygote_shared *s, unsigned slots, int fd, struct err *err)
{
    void *at = mmap(NULL, shared_bytes(slots), PROT_READ | PROT_WRITE,
                    MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
    if (at == MAP_FAILED)
        return err_set_errno(err, errno, "reserve shared memory");
    s->status = at;
    s->reports = (void *)(s->status + slots);
    return 0;
}

static int shared_fd(size_t bytes, int *fd, struct err *err)
{
    *fd = memfd_create("attempts", MFD_CLOEXEC);
    if (*fd < 0 || ftruncate(*fd, (off_t)bytes) != 0)
        return err_set_errno(err, errno, "reserve shared memory");
    return 0;
}

int zygote_shared_open(struct zygote_shared *s,
                       unsigned slots,
                       int *fd,
                       struct err *err)
{
    int rc = 0;
    *s = (struct zygote_shared){.status = NULL};
    s->pipes = mem_alloc(slots * sizeof(*s->pipes));
    s->files = mem_alloc(slots * sizeof(*s->files));
    for (unsigned i = 0; i < slots; i++)
        s->pipes[i] = s->files[i] = -1;
    if (fd)
        rc = shared_fd(shared_bytes(slots), fd, err);
    return rc ? rc : map_shared(s, slots, fd ? *fd : -1, err);
}

int zygote_shared_join(struct zygote_shared *s,
                       unsigned slots,
                       int fd,
                       int first_pipe,
                       struct err *err)
{
    *s = (struct zygote_shared){.status = NULL};
    s->pipes = mem_alloc(slots * sizeof(*s->pipes));
    s->files = mem_alloc(slots * sizeof(*s->files));
    for (unsigned i = 0; i < slots; i++) {
        s->pipes[i] = first_pipe + (int)i;
        s->files[i] = first_pipe + (int)(slots + i);
        fcntl(s->pipes[i], F_SETFD, FD_CLOEXEC);
        fcntl(s->files[i], F_SETFD, FD_CLOEXEC);
    }
    return map_shared(s, slots, fd, err);
}

void zygote_shared_close(struct zygote_shared *s, unsigned slots)
{
    if (s->status)
        munmap(s->status, shared_bytes(slots));
    mem_free(s->pipes);
    mem_free(s->files);
}

/* Will the attempt fill more than a few huge pages? For a small one, clearing
 * them would be most of the work. */
static bool is_large(const struct task_spec *s)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < s->splits.count; i++)
        bytes += s->splits.at[i].bytes;
    return s->kind == TASK_REDUCE || bytes > 2 * HUGE_PAGE_BYTES;
}

/* Memory for an attempt's pairs, on @huge pages where possible: its table is
 * accessed at random, and with small pages a third of the time goes into page
 * tables. Shared mappings, which could be kept from attempt to attempt, get no
 * huge pages by default; memory that one attempt frees is still warm for the
 * next. */
static char *map_pairs(uint64_t bytes, bool huge)
{
    uintptr_t at;
    void *p = mmap(NULL, bytes + HUGE_PAGE_BYTES, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    at = ((uintptr_t)p + HUGE_PAGE_BYTES - 1) & ~(HUGE_PAGE_BYTES - 1);
    madvise((void *)at, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    return (char *)at;
}

void zygote_report_path(struct buf *out,
                        const char *work_dir,
                        const struct task_spec *spec)
{
    buf_clear(out);
    buf_printf(out, "%s/", work_dir);
    task_spec_prefix(spec, out);
    buf_append_str(out, ".report");
}

/* --- the attempt's process ----------------------------------------------- */

static void zygote_redirect(int out)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null >= 0)
        dup2(null, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
}

/* A report contains keys of the sample, and errors name records. */
static int seal_report(const struct job_setup *setup,
                       struct slice report,
                       struct buf *out,
                       struct err *err)
{
    struct keyring *keys = keyring_new_of(setup->world, setup->spill_key);
    int rc = sealed_bytes_put(keys, report, out, err);
    keyring_unref(keys);
    return rc;
}

static int write_report(const struct job_setup *setup,
                        const struct task_spec *spec,
                        struct slice report,
                        struct err *err)
{
    struct buf path = BUF_INIT;
    struct buf sealed = BUF_INIT;
    struct file *f;
    int rc = 0;
    zygote_report_path(&path, setup->work_dir, spec);
    if (setup->encrypts) {
        rc = seal_report(setup, report, &sealed, err);
        report = buf_slice(&sealed);
    }
    if (rc == 0)
        rc = file_open(setup->world, buf_cstr(&path),
                       FILE_WRITE | FILE_CREATE | FILE_TRUNCATE, &f, err);
    if (rc == 0) {
        rc = file_write_at(f, 0, &report, 1, err);
        file_close(f);
    }
    buf_close(&path);
    buf_close(&sealed);
    return rc;
}

static int leave_report(const struct job_setup *setup,
                        const struct task_spec *spec,
                        const struct task_report *report,
                        struct zygote_report *out,
                        struct err *err)
{
    struct buf bytes = BUF_INIT;
    int rc = 0;
    task_report_encode(report, &bytes);
    if (bytes.len > sizeof(out->data)) {
        rc = write_report(setup, spec, buf_slice(&bytes), err);
    } else {
        memcpy(out->data, bytes.data, bytes.len);
        atomic_store(&out->bytes, (unsigned)bytes.len);
    }
    buf_close(&bytes);
    return rc;
}

/* The environment of this program is not for the job's code. The memory is a
 * copy of the parent's. */
static void forget_environment(void)
{
    char **to = environ;
    for (char **from = environ; *from; from++)
        if (cage_may_know(*from))
            *to++ = *from;
        else
            memset(*from, 0, strlen(*from));
    *to = NULL;
}

/* Forked by a job master rather than a worker, it has no relay. */
static bool is_relayed(const struct zygote *z, unsigned slot)
{
    return z->shared->files[slot] >= 0 && job_is_relayed(z->setup);
}

static int run_attempt(const struct zygote *z, unsigned slot, struct slice body)
{
    struct job_setup setup = *z->setup;
    struct attempt_resources res = {.memory_bytes = z->setup->slot_bytes,
                                    .status = &z->shared->status[slot]};
    struct task_spec spec;
    struct task_report report;
    struct engine *engine = NULL;
    struct trace_context trace;
    struct err err = ERR_INIT;
    int rc = task_spec_decode(&spec, body, &err);
    res.memory = map_pairs(z->setup->slot_bytes, is_large(&spec));
    setup.job = z->job;
    if (z->trust == JOB_COMMANDS) {
        setup.cage = job_cage_rules(z->cage);
        /* A supervisor does not need them, and would count as large. */
        if (res.memory)
            madvise(res.memory, res.memory_bytes, MADV_DONTFORK);
    }
    /* The parent's world may have had threads, which a fork does not copy. */
    setup.world = setup.files.world = world_real_new();
    if (z->setup->opts->world)
        world_mount_as(setup.world, z->setup->opts->world);
    task_report_init(&report);
    if (rc == 0 && z->trust == JOB_OBJECT) {
        forget_environment();
        rc = engine_load(&z->setup->opts->program, &engine, &err);
        setup.job = rc ? NULL : engine_job(engine);
    }
    if (rc == 0 && !res.memory)
        rc = err_set(&err, ERR_NOMEM, "no memory for %llu bytes of pairs",
                     (unsigned long long)setup.slot_bytes);
    /* In a cage it is inside it already. */
    if (rc == 0 && z->trust != JOB_OBJECT)
        rc = sandbox_enter(z->sandbox, &err);
    setup.relayed = is_relayed(z, slot);
    if (rc == 0 && setup.relayed)
        setup.files.fs =
            fs_proxy_connect(setup.world, z->shared->files[slot], NULL, NULL);
    else if (rc == 0 && setup.cell_files && z->open_fs)
        setup.files.fs = fs_proxy_connect(setup.world, z->shared->files[slot],
                                          z->open_fs, z->fs_ctx);
    if (rc) {
        report.code = err_copy(&report.err, &err);
    } else {
        /* Its own calls carry the ids; servers record. */
        job_trace_context(&setup.opts->trace, setup.world, setup.job_id, &spec,
                          &trace);
        trace_use_context(&trace);
        attempt_run(&setup, &spec, &res, &report);
    }
    if (spec.attempt > 0)
        rc = leave_report(&setup, &spec, &report, &z->shared->reports[slot],
                          &err);
    if (rc)
        fprintf(stderr, "attempt: %s\n", err.text);
    fflush(stdout);
    fflush(stderr);
    return rc || report.code ? 1 : 0;
}

NORETURN static void
attempt_main(const struct zygote *z, unsigned slot, struct slice body)
{
    sigset_t none;
    sigemptyset(&none);
    setpgid(0, 0);
    /* The zygote's end must not leave attempts running. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    signal(SIGINT, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_SETMASK, &none, NULL);
    close(z->socket);
    close(z->signals);
    zygote_redirect(z->shared->pipes[slot]);
    _exit(run_attempt(z, slot, body));
}

/* --- the zygote ---------------------------------------------------------- */

/* End the processes that ended attempts left running; the zygote adopted them.
 */
static void end_strays(const struct zygote *z)
{
    enum {
        STRAYS_MAX = 1024
    };

    pid_t found[STRAYS_MAX];
    unsigned count = process_tree_children(getpid(), found, STRAYS_MAX);
    for (unsigned i = 0; i < count; i++) {
        unsigned slot = 0;
        while (slot < z->slots && z->pids[slot] != found[i])
            slot++;
        if (slot == z->slots)
            kill(found[i], SIGKILL);
    }
}

static void end_all(struct zygote *z)
{
    for (unsigned i = 0; i < z->slots && z->pids; i++) {
        if (z->pids[i] > 0)
            kill(-z->pids[i], SIGKILL);
        z->pids[i] = 0;
    }
    /* Each that ends may leave its own children to us. */
    do
        end_strays(z);
    while (wait(NULL) > 0 || errno == EINTR);
}

/* The master is gone or sends nonsense: the zygote ends. */
NORETURN static void zygote_leave(struct zygote *z)
{
    end_all(z);
    _exit(0);
}

static void zygote_answer(struct zygote *z,
                          enum zygote_op op,
                          unsigned slot,
                          uint64_t length,
                          struct slice body)
{
    char head[ZYGOTE_HEADER_BYTES];
    put_le32(head, (uint32_t)op);
    put_le32(head + 4, slot);
    put_le64(head + 8, length);
    if (send(z->socket, head, sizeof(head), MSG_NOSIGNAL) != sizeof(head))
        zygote_leave(z);
    while (body.len > 0) {
        ssize_t n = send(z->socket, body.data, body.len, MSG_NOSIGNAL);
        if (n <= 0)
            zygote_leave(z);
        body.data += n;
        body.len -= (size_t)n;
    }
}

static void zygote_take(struct zygote *z, char *p, size_t len)
{
    while (len > 0) {
        ssize_t n = recv(z->socket, p, len, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            zygote_leave(z);
        p += n;
        len -= (size_t)n;
    }
}

/* A shared object is called by the attempt, and so loaded only inside a cage.
 */
static pid_t fork_object(struct zygote *z, unsigned slot, struct slice body)
{
    PRE(z->cage != NULL);
    const int keep[2] = {z->shared->pipes[slot], z->shared->files[slot]};
    struct task_spec spec;
    struct err err = ERR_INIT;
    pid_t pid = -1;
    int rc = task_spec_decode(&spec, body, &err);
    if (rc == 0 && !z->ends[slot])
        z->ends[slot] = cage_end_new();
    if (rc == 0 && z->ends[slot]) {
        job_cage_aim(z->cage, &spec);
        pid = cage_fork(job_cage_rules(z->cage), keep, 2, z->ends[slot], &err);
    }
    if (pid < 0)
        dprintf(keep[0], "attempt: %s\n", err.text);
    task_spec_close(&spec);
    return pid;
}

static void zygote_start(struct zygote *z, unsigned slot, struct slice body)
{
    pid_t pid = z->trust == JOB_OBJECT ? fork_object(z, slot, body) : fork();
    if (pid == 0)
        attempt_main(z, slot, body);
    if (pid < 0) {
        /* Report it as if it had started and failed at once: status 255. */
        zygote_answer(z, ZYGOTE_ENDED, slot, (uint64_t)255 << 8, SLICE_EMPTY);
        return;
    }
    setpgid(pid, pid);
    z->pids[slot] = pid;
    z->reasons[slot] = ZYGOTE_NO_REASON;
}

/* End an attempt whose processes together are too many or too large. */
static void look_at(struct zygote *z, unsigned slot)
{
    const struct job_setup *s = z->setup;
    unsigned max = s->opts->processes_max;
    uint64_t bytes_max = s->heap_bytes + s->slot_bytes + HUGE_PAGE_BYTES;
    struct process_tree tree;
    /* A command in a cage has a supervisor beside it. */
    if (z->trust != JOB_TRUSTED)
        max++;
    process_tree_look(z->pids[slot], max + 1, &tree);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    if (z->trust != JOB_OBJECT)
        tree.bytes += tree.root_bytes;
#else
    /* Below its supervisor the attempt itself is counted, with shadow memory.
     */
    if (z->trust == JOB_OBJECT)
        tree.bytes = 0;
#endif
    if (tree.processes > max)
        z->reasons[slot] = ZYGOTE_PROCESSES;
    else if (tree.bytes > bytes_max)
        z->reasons[slot] = ZYGOTE_MEMORY;
    if (z->reasons[slot] != ZYGOTE_NO_REASON)
        kill(-z->pids[slot], SIGKILL);
}

/* Measure all attempts. Returns the milliseconds until the next time; -1:
 * nothing runs. */
static int zygote_look(struct zygote *z)
{
    uint64_t now = world_mono_ns(z->setup->world);
    bool due = now - z->looked_ns >= (uint64_t)LOOK_MS * 1000000;
    bool any = false;
    for (unsigned i = 0; i < z->slots; i++) {
        if (z->pids[i] <= 0)
            continue;
        any = true;
        if (due)
            look_at(z, i);
    }
    if (due)
        z->looked_ns = now;
    return any ? LOOK_MS : -1;
}

static void zygote_obey(struct zygote *z)
{
    char head[ZYGOTE_HEADER_BYTES];
    struct buf body = BUF_INIT;
    uint32_t slot;
    uint64_t length;
    zygote_take(z, head, sizeof(head));
    slot = get_le32(head + 4);
    length = get_le64(head + 8);
    if (slot >= z->slots || length > MESSAGE_BYTES_MAX)
        zygote_leave(z);
    zygote_take(z, buf_extend(&body, length), length);
    if (get_le32(head) == ZYGOTE_START)
        zygote_start(z, slot, buf_slice(&body));
    else if (z->pids[slot] > 0)
        kill(-z->pids[slot], SIGKILL);
    buf_close(&body);
}

/* The status of the attempt, where its supervisor was waited for. */
static int final_status(const struct zygote *z, unsigned slot, int status)
{
    struct err err = ERR_INIT;
    if (z->trust != JOB_OBJECT)
        return status;
    if (cage_error(z->ends[slot], &err))
        dprintf(z->shared->pipes[slot], "attempt: %s\n", err.text);
    return cage_status(z->ends[slot], status);
}

static uint32_t reason_of(const struct zygote *z, unsigned slot)
{
    bool weak = z->trust == JOB_OBJECT && z->ends[slot]->weak;
    return (uint32_t)z->reasons[slot] | (weak ? ZYGOTE_WEAK : 0);
}

static void zygote_reap(struct zygote *z)
{
    struct signalfd_siginfo info;
    bool ended = false;
    int status;
    pid_t pid;
    if (read(z->signals, &info, sizeof(info)) < 0 && errno != EAGAIN)
        zygote_leave(z);
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (unsigned i = 0; i < z->slots; i++) {
            if (z->pids[i] != pid)
                continue;
            /* The commands that a streaming job left running end too. */
            kill(-pid, SIGKILL);
            z->pids[i] = 0;
            ended = true;
            status = final_status(z, i, status);
            zygote_answer(z, ZYGOTE_ENDED, i,
                          (uint64_t)reason_of(z, i) << 32 | (unsigned)status,
                          SLICE_EMPTY);
        }
    }
    if (ended)
        end_strays(z);
}

/* Do attempts themselves, not the job's code, need connections? */
static bool needs_cell(const struct zygote *z)
{
    const struct job_setup *s = z->setup;
    if (is_relayed(z, 0))
        return false;
    return s->cell_files ||
           (s->remote && (s->reads_tables || job_setup_loads(s)));
}

/* PRE: the job's code is known. */
static int make_cage(struct zygote *z, struct err *err)
{
    const struct job_setup *s = z->setup;
    z->trust =
        s->opts->no_sandbox ? JOB_TRUSTED : job_trust_of(&s->opts->program);
    if (z->trust == JOB_TRUSTED)
        return 0;
    return job_cage_new(
        s, s->opts->network || (z->trust == JOB_OBJECT && needs_cell(z)),
        &z->cage, err);
}

static int make_sandbox(struct zygote *z, struct err *err)
{
    const struct job_setup *s = z->setup;
    const struct mr_options *o = s->opts;
    struct sandbox_rules rules = {
        .data_bytes = s->heap_bytes + s->slot_bytes + HUGE_PAGE_BYTES,
        .file_bytes = o->file_bytes,
        .cpu_us = o->cpu_us,
        .network = o->network || needs_cell(z),
        /* It starts commands in cages, which the filter would refuse; the code
         * of this process is our own. */
        .open = o->no_sandbox || z->cage != NULL,
        .supervisors = {getpid(), getppid()},
    };
    return sandbox_new(&rules, &z->sandbox, err);
}

/* Compute once what each attempt would otherwise compute for itself. */
static void zygote_warm(void)
{
    (void)crc32c_join(0, 0, 0);
}

/* Load the job's code and describe it, or why it cannot be loaded: an op and a
 * body. */
static enum zygote_op zygote_describe(struct zygote *z, struct buf *body)
{
    struct engine *engine = NULL;
    struct job_traits traits;
    struct task_report report;
    task_report_init(&report);
    report.code = engine_load(&z->setup->opts->program, &engine, &report.err);
    if (report.code) {
        task_report_encode(&report, body);
        return ZYGOTE_FAILED;
    }
    z->job = engine_job(engine);
    job_traits_of(&traits, z->job);
    job_traits_encode(&traits, body);
    job_traits_close(&traits);
    return ZYGOTE_READY;
}

/* Read everything from @fd, at most DESCRIPTION_BYTES_MAX. */
static void read_all(int fd, struct buf *out)
{
    ssize_t n;
    do {
        n = read(fd, buf_reserve(out, 4096), 4096);
        if (n > 0)
            buf_extend(out, (size_t)n);
    } while ((n > 0 && out->len <= DESCRIPTION_BYTES_MAX) ||
             (n < 0 && errno == EINTR));
}

/* Runs in the process that examines a shared object. */
NORETURN static void describe_to(struct zygote *z, int fd)
{
    struct buf body = BUF_INIT;
    char op;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    forget_environment();
    op = (char)zygote_describe(z, &body);
    if (write(fd, &op, 1) == 1 && body.len > 0)
        (void)!write(fd, body.data, body.len);
    _exit(0);
}

/* The same for a shared object, whose code runs as soon as it is loaded: in a
 * cage. The description comes from a user's code and is decoded as hostile
 * bytes. */
static int describe_object(struct zygote *z,
                           enum zygote_op *op,
                           struct buf *body,
                           struct err *err)
{
    struct cage_end *end = cage_end_new();
    int ends[2];
    int rc = 0;
    pid_t pid;
    if (!end || pipe2(ends, O_CLOEXEC) != 0) {
        cage_end_free(end);
        return err_set_errno(err, errno, "look at the job's code");
    }
    job_cage_aim(z->cage, NULL);
    pid = cage_fork(job_cage_rules(z->cage), &ends[1], 1, end, err);
    if (pid == 0)
        describe_to(z, ends[1]);
    close(ends[1]);
    if (pid < 0) {
        rc = err->code;
    } else {
        read_all(ends[0], body);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        }
        rc = cage_error(end, err);
    }
    close(ends[0]);
    if (rc == 0 && (body->len < 1 || body->len > DESCRIPTION_BYTES_MAX))
        rc = err_set(err, ERR_ABORTED,
                     "the process that loads the job's code died of it");
    if (rc == 0) {
        *op = body->data[0] == ZYGOTE_READY ? ZYGOTE_READY : ZYGOTE_FAILED;
        buf_consume(body, 1);
    }
    cage_end_free(end);
    return rc;
}

static void zygote_greet(struct zygote *z)
{
    enum zygote_op op = ZYGOTE_FAILED;
    struct task_report report;
    struct buf body = BUF_INIT;
    task_report_init(&report);
    report.code = make_cage(z, &report.err);
    if (report.code == 0)
        report.code = make_sandbox(z, &report.err);
    if (report.code == 0 && z->trust == JOB_OBJECT)
        report.code = describe_object(z, &op, &body, &report.err);
    else if (report.code == 0)
        op = zygote_describe(z, &body);
    if (report.code) {
        buf_clear(&body);
        task_report_encode(&report, &body);
    }
    zygote_answer(z, op, 0, body.len, buf_slice(&body));
    if (op == ZYGOTE_FAILED)
        zygote_leave(z);
    zygote_warm();
    buf_close(&body);
}

NORETURN void zygote_main(const struct job_setup *setup,
                          const struct zygote_shared *shared,
                          unsigned slots,
                          int socket,
                          zygote_open_fs open_fs,
                          void *ctx)
{
    struct zygote z = {.setup = setup,
                       .shared = shared,
                       .slots = slots,
                       .socket = socket,
                       .open_fs = open_fs,
                       .fs_ctx = ctx};
    struct pollfd fds[2];
    sigset_t child;
    /* Ctrl-C is the job master's to handle. */
    signal(SIGINT, SIG_IGN);
    /* Only while the code of the job is loaded, which may hang: afterwards the
     * socket reports the master's end, and running attempts are ended in order.
     */
    signal(SIGTERM, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    z.signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    z.pids = mem_zalloc(slots, sizeof(*z.pids));
    z.reasons = mem_zalloc(slots, sizeof(*z.reasons));
    z.ends = mem_zalloc(slots, sizeof(struct cage_end *));
    zygote_greet(&z);
    prctl(PR_SET_PDEATHSIG, 0);
    fds[0] = (struct pollfd){.fd = socket, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = z.signals, .events = POLLIN};
    for (;;) {
        if (poll(fds, 2, zygote_look(&z)) < 0 && errno != EINTR)
            zygote_leave(&z);
        if (fds[1].revents)
            zygote_reap(&z);
        if (fds[0].revents)
            zygote_obey(&z);
    }
}
