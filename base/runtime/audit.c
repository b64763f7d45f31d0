/* A queue of lines, and the thread that writes them. Events become JSON
 * before they enter the queue, so that nothing they borrow must live longer
 * than audit_note(). The thread takes the whole queue at once and writes it
 * in one call; writers of events never touch the disk. */
#define _POSIX_C_SOURCE 200809L

#include "base/runtime/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "base/runtime/world_ops.h"

/* The owner, and a group that the administrator may give the file to. */
#define AUDIT_MODE 0640

struct audit {
    struct world *world;
    char *path; /* Owned. */
    char *node; /* Owned. */
    atomic_int fd;
    struct mutex mutex;
    struct cond work;
    struct buf queue;    /* Lines that wait. */
    uint64_t unreported; /* Dropped and not reported in a line yet. */
    bool closing;
    struct task *writer;
    atomic_uint_fast64_t dropped;
};

static int open_log(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, AUDIT_MODE);
}

/* --- lines --------------------------------------------------------------- */

static void put_field(struct buf *out, const char *name, struct slice s)
{
    if (s.len == 0)
        return;
    buf_printf(out, ",\"%s\":", name);
    text_put_json(out, slice_sub(s, 0, AUDIT_TEXT_BYTES_MAX));
}

static void begin_line(const struct audit *a, struct buf *out)
{
    buf_append_str(out, "{\"time\":\"");
    text_put_time(out, (int64_t)world_now_us(a->world));
    buf_append_byte(out, '"');
    put_field(out, "node", slice_str(a->node));
}

static void
put_line(const struct audit *a, const struct audit_event *e, struct buf *out)
{
    begin_line(a, out);
    put_field(out, "who", e->who);
    put_field(out, "by", e->by);
    put_field(out, "from", e->from);
    put_field(out, "what", e->what);
    put_field(out, "on", e->on);
    if (e->args.len) {
        buf_append_str(out, ",\"args\":");
        buf_append_slice(out, e->args);
    }
    buf_printf(out, ",\"allowed\":%s,\"outcome\":\"%s\"",
               e->code == ERR_DENIED ? "false" : "true", err_name(e->code));
    put_field(out, "why", e->why);
    buf_append_str(out, "}\n");
}

static void put_dropped(const struct audit *a, uint64_t count, struct buf *out)
{
    begin_line(a, out);
    buf_printf(out, ",\"what\":\"audit.dropped\",\"count\":%llu}\n",
               (unsigned long long)count);
}

void audit_note(struct world *w, const struct audit_event *e)
{
    struct audit *a = w->audit;
    struct buf line = BUF_INIT;
    if (!a)
        return;
    put_line(a, e, &line);
    mutex_lock(&a->mutex);
    if (a->queue.len + line.len > AUDIT_QUEUE_BYTES_MAX) {
        a->unreported++;
        atomic_fetch_add(&a->dropped, 1);
    } else {
        buf_append_slice(&a->queue, buf_slice(&line));
        cond_signal(&a->work);
    }
    mutex_unlock(&a->mutex);
    buf_close(&line);
}

/* --- the thread ---------------------------------------------------------- */

/* False if the disk refuses it; a part of a line may have been written. */
static bool write_all(int fd, struct slice bytes)
{
    while (bytes.len) {
        ssize_t n = write(fd, bytes.data, bytes.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes = slice_sub(bytes, (size_t)n, bytes.len);
    }
    return true;
}

static uint64_t count_lines(struct slice s)
{
    uint64_t count = 0;
    for (size_t i = 0; i < s.len; i++)
        count += s.data[i] == '\n';
    return count;
}

/* Wait for lines and take all of them; false once there will be no more. */
static bool take_lines(struct audit *a, struct buf *out)
{
    uint64_t unreported;
    mutex_lock(&a->mutex);
    while (a->queue.len == 0 && a->unreported == 0 && !a->closing)
        cond_wait(&a->work, &a->mutex);
    INVARIANT(a->queue.len <= AUDIT_QUEUE_BYTES_MAX); /* INV-1 */
    *out = a->queue;
    a->queue = BUF_INIT;
    unreported = a->unreported;
    a->unreported = 0;
    mutex_unlock(&a->mutex);
    if (unreported)
        put_dropped(a, unreported, out);
    return out->len > 0;
}

static void lose_lines(struct audit *a, uint64_t count)
{
    atomic_fetch_add(&a->dropped, count);
    mutex_lock(&a->mutex);
    /* Reported with the next line: a report at once would fail as well. */
    a->unreported += a->closing ? 0 : count;
    mutex_unlock(&a->mutex);
}

static void run_writer(void *arg)
{
    struct audit *a = arg;
    struct buf lines;
    while (take_lines(a, &lines)) {
        if (!write_all(atomic_load(&a->fd), buf_slice(&lines))) {
            lose_lines(a, count_lines(buf_slice(&lines)));
            world_sleep_us(a->world, 1000000);
        }
        buf_close(&lines);
    }
    buf_close(&lines);
}

/* --- life ---------------------------------------------------------------- */

int audit_open(struct world *w,
               const char *path,
               const char *node,
               struct audit **out,
               struct err *err)
{
    struct audit *a;
    int fd = open_log(path);
    *out = NULL;
    if (fd < 0)
        return err_set_errno(err, errno, "audit log %s", path);
    a = mem_zalloc(1, sizeof(*a));
    a->world = w;
    a->path = mem_strdup(path);
    a->node = mem_strdup(node);
    atomic_init(&a->fd, fd);
    atomic_init(&a->dropped, 0);
    mutex_init(&a->mutex);
    cond_init(&a->work);
    a->writer = task_start(w, "quarry-audit", run_writer, a);
    *out = a;
    return 0;
}

void audit_close(struct audit *a)
{
    if (!a)
        return;
    mutex_lock(&a->mutex);
    a->closing = true;
    cond_signal(&a->work);
    mutex_unlock(&a->mutex);
    task_join(a->writer);
    close(atomic_load(&a->fd));
    cond_close(&a->work);
    mutex_close(&a->mutex);
    buf_close(&a->queue);
    mem_free(a->node);
    mem_free(a->path);
    mem_free(a);
}

/* The thread may be writing, so the descriptor's number stays and dup2()
 * replaces the file that it refers to. */
int audit_reopen(struct audit *a, struct err *err)
{
    int fd;
    if (!a)
        return 0;
    fd = open_log(a->path);
    if (fd < 0)
        return err_set_errno(err, errno, "audit log %s", a->path);
    (void)dup2(fd, atomic_load(&a->fd));
    close(fd);
    return 0;
}

uint64_t audit_dropped(const struct audit *a)
{
    return a ? atomic_load(&a->dropped) : 0;
}

void world_set_audit(struct world *w, struct audit *a)
{
    w->audit = a;
}

bool world_is_audited(const struct world *w)
{
    return w->audit != NULL;
}
