/* A lane's worker and its jobs: see log_lane.h. */
#include "bigtable/tablet/log_lane.h"

#include <string.h>

#include "base/core/coding.h"
#include "base/core/fault.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "bigtable/tablet/log_seal.h"
#include "gfs-lite/fs.h"

/* --- a lane's worker ------------------------------------------------------ */

/* Say in the segment that is left which one follows: from then on whoever takes
 * the log away knows of it. A segment that failed cannot say so. */
static int announce(struct lane *n, uint64_t next, struct err *err)
{
    char bytes[LOG_RECORD_HEADER_BYTES + 8];
    struct slice payload = slice_make(bytes + LOG_RECORD_HEADER_BYTES, 8);
    struct log_record_header h = {8, 1, 0, n->synced};
    put_le64(bytes + LOG_RECORD_HEADER_BYTES, next);
    log_put_record_header(bytes, n->old, &h, &payload, 1);
    return fs_writer_append_sync(n->file, bytes, sizeof(bytes), err);
}

static void note_full(struct lane *n, uint64_t number)
{
    struct shared_log *l = n->log;
    struct full_segment *f = mem_zalloc(1, sizeof(*f));
    f->number = number;
    f->bytes = n->offset;
    f->last_sequence = n->last_sequence;
    mutex_lock(&l->lock);
    f->next = l->full;
    l->full = f;
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

/* Begin the segment n->number. */
static int begin_segment(struct lane *n, struct err *err)
{
    const struct fs_write_options opts = {.mode = FS_WRITE_LOG,
                                          .exclusive = true};
    struct log_segment_header h = {.number = n->number,
                                   .is_sealed = n->sealer != NULL};
    char path[LOG_PATH_BYTES];
    char bytes[LOG_SEGMENT_HEADER_BYTES];
    struct fs_writer *file;
    int rc;
    log_segment_path(path, n->log->dir, n->number);
    rc = fs_create(n->log->options.fs, path, &opts, &file, err);
    if (rc)
        return rc;
    log_put_segment_header(bytes, &h);
    rc = fs_writer_append_sync(file, bytes, sizeof(bytes), err);
    if (rc == 0 && n->file)
        rc = announce(n, n->number, err);
    if (rc) {
        fs_writer_close(file);
        return rc;
    }
    if (n->old)
        note_full(n, n->old);
    fs_writer_close(n->file);
    n->file = file;
    n->old = n->number;
    n->offset = n->synced = sizeof(bytes);
    atomic_fetch_add(&n->log->bytes, sizeof(bytes));
    n->last_sequence = 0;
    /* For the records behind those of this job, which are sealed already. */
    return log_lane__take_sealer(n->log, n, err);
}

static int write_bytes(struct lane *n, struct err *err)
{
    struct fs_writer *f = n->file;
    bool bug = fault_hit("tablet.skip_log_sync");
    int rc;
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

static int run_job(struct lane *n, struct err *err)
{
    int rc = 0;
    if (n->rotate)
        rc = begin_segment(n, err);
    if (rc == 0)
        rc = write_bytes(n, err);
    if (rc) { /* What it holds is in doubt: leave it. */
        fs_writer_close(n->file);
        n->file = NULL;
    }
    return rc;
}

static void break_log(struct shared_log *l, const struct err *why)
{
    bool first = !l->broken;
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
    n->rc = rc;
    n->err = *err;
    if (rc == 0)
        n->dirty = !n->sync;
    if (rc == ERR_ABORTED)
        break_log(l, err);
    n->state = n->orphan ? LANE_IDLE : LANE_DONE;
    cond_broadcast(&l->done);
}

static void work(void *arg)
{
    struct lane *n = arg;
    struct shared_log *l = n->log;
    mutex_lock(&l->lock);
    for (;;) {
        struct err err = ERR_INIT;
        int rc;
        while (n->state != LANE_BUSY && !l->stop)
            cond_wait(&n->work, &l->lock);
        if (n->state != LANE_BUSY)
            break;
        mutex_unlock(&l->lock);
        rc = run_job(n, &err);
        mutex_lock(&l->lock);
        finish_job(n, rc, &err);
    }
    mutex_unlock(&l->lock);
}

/* --- jobs ----------------------------------------------------------------- */

static void put_record(struct lane *n, const struct log_record *r)
{
    struct log_record_header h = {0, r->count, r->sequence, n->synced};
    char *to;
    for (size_t i = 0; i < r->part_count; i++)
        h.length += (uint32_t)r->parts[i].len;
    if (n->sealer)
        h.length += (uint32_t)LOG_SEAL_BYTES;
    to = buf_extend(&n->bytes, LOG_RECORD_HEADER_BYTES + h.length);
    if (n->sealer)
        log_put_sealed_record(to, n->sealer, n->number, &h, r->parts,
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
    }
    buf_clear(&n->bytes);
    n->last = 0;
    for (size_t i = 0; i < count; i++) {
        put_record(n, &records[i]);
        n->last = records[i].last;
    }
    n->sync = sync;
    n->orphan = false;
    n->state = LANE_BUSY;
    cond_signal(&n->work);
}

/* --- life ----------------------------------------------------------------- */

void log_lane__start(struct shared_log *l, struct lane *n)
{
    n->log = l;
    cond_init(&n->work);
    if (loop_self())
        n->fiber = fiber_start(loop_self(), "commit-log", work, n);
    else
        n->task = task_start(l->options.world, "quarry-log", work, n);
}

void log_lane__join(struct lane *n)
{
    if (n->fiber)
        fiber_join(n->fiber);
    if (n->task)
        task_join(n->task);
}
