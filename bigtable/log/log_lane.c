/* A lane's worker and its jobs: see log_lane.h. Each lane writes its own
 * segments, so that a slow chunk server delays one lane and writers move to the
 * other.
 */
#include "bigtable/log/log_lane.h"

#include <string.h>

#include "base/core/coding.h"
#include "base/core/fault.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "base/trace/span.h"
#include "bigtable/log/log_seal.h"
#include "bigtable/log/segment_list.h"
#include "gfs-lite/fs.h"

/* --- a lane's worker ----------------------------------------------------- */

/* Record in the segment that is left which one follows: from then on a server
 * that takes the log over knows of it. A segment that failed cannot take it. */
static int log_lane_announce(struct lane *n, uint64_t next, struct err *err)
{
    char bytes[LOG_RECORD_HEADER_BYTES + 8];
    struct slice payload = slice_make(bytes + LOG_RECORD_HEADER_BYTES, 8);
    struct log_record_header h = {8, 1, 0, n->synced};
    PRE(next > n->old);
    PRE(n->file);
    put_le64(bytes + LOG_RECORD_HEADER_BYTES, next);
    log_put_record_header(bytes, n->old, &h, &payload, 1);
    return fs_writer_append_sync(n->file, bytes, sizeof(bytes), err);
}

/* The segment before, if there is one, is full, and what the list of the one
 * that was begun leaves out may be removed. */
static void note_begun(struct lane *n)
{
    struct shared_log *l = n->log;
    struct full_segment *f = n->old ? mem_zalloc(1, sizeof(*f)) : NULL;
    mutex_lock(&l->lock);
    INVARIANT(n->number < l->next_number); /* INV-3 */
    if (f) {
        f->number = n->old;
        f->bytes = n->offset;
        /* An announcement was synced, and all before it. */
        f->synced = n->file ? n->offset : n->synced;
        f->last_sequence = n->last_sequence;
        f->next = l->full;
        l->full = f;
    }
    for (f = l->full; f; f = f->next)
        f->unlisted |= f->unlisted_by && f->unlisted_by <= n->number;
    mutex_unlock(&l->lock);
}

int log_lane__take_sealer(struct shared_log *l, struct lane *n, struct err *err)
{
    struct keyring *k = fs_keyring(l->options.fs);
    struct unit_sealer *s;
    int rc;
    if (!k)
        return 0;
    rc = log_sealer_new(k, &s, err);
    if (rc)
        return rc;
    unit_sealer_free(n->sealer);
    n->sealer = s;
    return 0;
}

/* The list of the segments there are, as the first record of the one that
 * n->number says. PRE: the lock is held. */
static void make_list(struct lane *n)
{
    struct shared_log *l = n->log;
    PRE(n->number > n->old);
    buf_clear(&n->list);
    buf_put_le64(&n->list, 0);
    for (struct full_segment *f = l->full; f; f = f->next) {
        if (!f->released)
            segment_list_put(&n->list, f->number, f->synced);
        else if (f->unlisted_by == 0)
            f->unlisted_by = n->number;
    }
    for (size_t i = 0; i < LANES; i++)
        if (l->lanes[i].listed)
            segment_list_put(&n->list, l->lanes[i].listed,
                             l->lanes[i].listed_bytes);
}

/* Header and list of the segment n->number. */
static void put_head(const struct lane *n, struct buf *out)
{
    struct log_segment_header h = {.number = n->number,
                                   .is_sealed = n->sealer != NULL};
    struct log_record_header r = {(uint32_t)n->list.len, 1, 0, 0};
    struct slice payload = buf_slice(&n->list);
    PRE(n->list.len >= 8); /* INV-2 */
    log_put_segment_header(buf_extend(out, LOG_SEGMENT_HEADER_BYTES), &h);
    log_put_record(buf_extend(out, LOG_RECORD_HEADER_BYTES + payload.len),
                   n->number, &r, &payload, 1);
}

/* Begin the segment n->number. */
static int begin_segment(struct lane *n, struct err *err)
{
    const struct fs_write_options opts = {.mode = FS_WRITE_LOG,
                                          .exclusive = true};
    char path[LOG_PATH_BYTES];
    struct buf head = BUF_INIT;
    struct fs_writer *file;
    size_t bytes;
    int rc;
    PRE(n->number > n->old); /* INV-3 */
    log_segment_path(path, n->log->dir, n->number);
    rc = fs_create(n->log->options.fs, path, &opts, &file, err);
    if (rc)
        return rc;
    put_head(n, &head);
    bytes = head.len;
    rc = fs_writer_append_sync(file, head.data, head.len, err);
    buf_close(&head);
    if (rc == 0 && n->file)
        rc = log_lane_announce(n, n->number, err);
    if (rc) {
        fs_writer_close(file);
        return rc;
    }
    log_debug(n->log->options.world, "log", "segment=%s begins after=%llu",
              path, (unsigned long long)n->old);
    note_begun(n);
    fs_writer_close(n->file);
    n->file = file;
    n->old = n->number;
    n->offset = n->synced = bytes;
    atomic_fetch_add(&n->log->bytes, bytes);
    n->last_sequence = 0;
    /* For the records behind those of this job, which are sealed already. */
    return log_lane__take_sealer(n->log, n, err);
}

static int write_bytes(struct lane *n, struct err *err)
{
    struct fs_writer *f = n->file;
    bool bug = fault_hit("tablet.skip_log_sync");
    int rc;
    PRE(f); /* INV-2 */
    if (bug)
        rc = fs_writer_append(f, n->bytes.data, n->bytes.len, err);
    else if (n->bytes.len == 0)
        rc = fs_writer_sync(f, err);
    else if (n->sync)
        rc = fs_writer_append_sync(f, n->bytes.data, n->bytes.len, err);
    else
        rc = fs_writer_append(f, n->bytes.data, n->bytes.len, err);
    if (rc == 0 && n->bytes.len && !n->sync && !bug)
        rc = fs_writer_flush(f, err);
    if (rc)
        return rc;
    n->offset += n->bytes.len;
    atomic_fetch_add(&n->log->bytes, n->bytes.len);
    n->last_sequence = MAX_OF(n->last_sequence, n->last);
    if (n->sync)
        n->synced = n->offset;
    return 0;
}

static int run_job(struct lane *n, bool *tried, struct err *err)
{
    int rc = 0;
    struct span s;
    PRE(n->rotate || n->file);
    trace_use_context(&n->trace);
    span_begin(&s, n->sync ? "segment sync" : "segment write");
    span_number(&s, "bytes", (int64_t)n->bytes.len);
    if (n->rotate)
        rc = begin_segment(n, err);
    *tried = rc == 0;
    if (rc == 0)
        rc = write_bytes(n, err);
    if (rc) { /* Its contents are in doubt: leave it. */
        fs_writer_close(n->file);
        n->file = NULL;
    }
    span_end(&s, rc);
    (void)fiber_set_context(NULL);
    return rc;
}

static void break_log(struct shared_log *l, const struct err *why)
{
    bool first = !l->broken;
    PRE(mutex_is_held(&l->lock));
    if (first) {
        l->error = *why;
        err_wrap(&l->error, "commit log %s", l->dir);
        l->broken = true;
        if (l->options.fenced)
            l->options.fenced(l->options.ctx, &l->error);
    }
}

static void finish_job(struct lane *n, int rc, const struct err *err)
{
    struct shared_log *l = n->log;
    PRE(n->state == LANE_BUSY); /* INV-1 */
    n->rc = rc;
    n->err = *err;
    n->listed = n->old;
    n->listed_bytes = n->synced;
    if (rc == 0)
        n->dirty = !n->sync;
    if (rc == ERR_ABORTED)
        break_log(l, err);
    INVARIANT(n->listed_bytes <= n->offset);
    n->state = n->orphan ? LANE_IDLE : LANE_DONE;
    cond_broadcast(&l->done);
}

static void log_lane_work(void *arg)
{
    struct lane *n = arg;
    struct shared_log *l = n->log;
    mutex_lock(&l->lock);
    for (;;) {
        struct err err = ERR_INIT;
        bool tried;
        int rc;
        while (n->state != LANE_BUSY && !l->stop)
            cond_wait(&n->work, &l->lock);
        if (n->state != LANE_BUSY)
            break;
        mutex_unlock(&l->lock);
        rc = run_job(n, &tried, &err);
        mutex_lock(&l->lock);
        INVARIANT(n->state == LANE_BUSY); /* INV-1 */
        n->tried = tried;
        finish_job(n, rc, &err);
    }
    mutex_unlock(&l->lock);
}

/* --- jobs ---------------------------------------------------------------- */

/* One without entries is read without a key. */
static void put_record(struct lane *n, const struct log_record *r)
{
    struct unit_sealer *sealer = r->sequence ? n->sealer : NULL;
    struct log_record_header h = {0, r->count, r->sequence, n->synced};
    char *to;
    PRE(r->count > 0);
    for (size_t i = 0; i < r->part_count; i++)
        h.length += (uint32_t)r->parts[i].len;
    if (sealer)
        h.length += (uint32_t)LOG_SEAL_BYTES;
    to = buf_extend(&n->bytes, LOG_RECORD_HEADER_BYTES + h.length);
    if (sealer)
        log_put_sealed_record(to, sealer, n->number, &h, r->parts,
                              r->part_count);
    else
        log_put_record(to, n->number, &h, r->parts, r->part_count);
}

void log_lane__submit(struct lane *n,
                      const struct log_record *records,
                      size_t count,
                      bool sync)
{
    struct shared_log *l = n->log;
    PRE(n->state == LANE_IDLE);
    n->rotate = !n->file || n->offset >= l->options.segment_bytes;
    if (n->rotate) {
        n->number = l->next_number++;
        l->stats.segments++;
        make_list(n);
    }
    buf_clear(&n->bytes);
    n->last = 0;
    for (size_t i = 0; i < count; i++) {
        put_record(n, &records[i]);
        n->last = records[i].last;
    }
    n->sync = sync;
    trace_copy_context(&n->trace);
    n->orphan = false;
    INVARIANT(n->number < l->next_number); /* INV-3 */
    n->state = LANE_BUSY;
    cond_signal(&n->work);
}

/* --- life ---------------------------------------------------------------- */

void log_lane__start(struct shared_log *l, struct lane *n)
{
    PRE(!n->fiber);
    PRE(!n->task);
    n->log = l;
    cond_init(&n->work);
    if (loop_self())
        n->fiber = fiber_start(loop_self(), "commit-log", log_lane_work, n);
    else
        n->task = task_start(l->options.world, "quarry-log", log_lane_work, n);
}

void log_lane__join(struct lane *n)
{
    PRE(!n->fiber || !n->task);
    if (n->fiber)
        fiber_join(n->fiber);
    if (n->task)
        task_join(n->task);
}
