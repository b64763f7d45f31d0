/* Moving files: several at once, no faster than was asked, and each checked on
 * its way. */
#include <string.h>

#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/backup/backup_place.h"
#include "gfs-lite/fs.h"

#define REPORT_NS UINT64_C(500000000)

/* --- figures and rate ---------------------------------------------------- */

/* PRE: the lock is held; it is given back. */
static void backup_report(struct quarry_backups *b)
{
    struct quarry_backup_counts now = b->counts;
    uint64_t ns = world_mono_ns(b->world);
    bool due = b->options.progress && ns - b->reported_ns >= REPORT_NS;
    if (due)
        b->reported_ns = ns;
    mutex_unlock(&b->lock);
    if (due)
        b->options.progress(b->options.ctx, &now);
}

void backup_count_done(struct quarry_backups *b, uint64_t bytes)
{
    mutex_lock(&b->lock);
    b->counts.done_bytes += bytes;
    backup_report(b);
}

void backup_pace(struct quarry_backups *b, uint64_t bytes)
{
    uint64_t rate = b->options.rate_bytes;
    uint64_t now_ns = world_mono_ns(b->world);
    uint64_t start_ns;
    mutex_lock(&b->lock);
    b->counts.moved_bytes += bytes;
    start_ns = MAX_OF(b->rate_next_ns, now_ns);
    if (rate)
        b->rate_next_ns =
            start_ns + (uint64_t)((double)bytes * 1e9 / (double)rate);
    backup_report(b);
    if (rate && start_ns > now_ns)
        world_sleep_us(b->world, (start_ns - now_ns) / 1000);
}

/* --- several at once ----------------------------------------------------- */

struct backup_pool {
    struct quarry_backups *backups;
    size_t count;
    backup_work_fn fn;
    void *ctx;
    struct mutex lock; /* Of the rest. */
    size_t next;
    int rc;
    struct err err;
};

/* The next index; false: no more are to be taken. */
static bool pool_take(struct backup_pool *p, size_t *index)
{
    bool any;
    mutex_lock(&p->lock);
    any = p->rc == 0 && p->next < p->count;
    if (any)
        *index = p->next++;
    mutex_unlock(&p->lock);
    return any;
}

static void run_backup_pool(void *arg)
{
    struct backup_pool *p = arg;
    size_t index;
    while (pool_take(p, &index)) {
        struct err err = ERR_INIT;
        int rc = p->fn(p->ctx, index, &err);
        if (rc == 0)
            continue;
        mutex_lock(&p->lock);
        if (p->rc == 0) {
            p->rc = rc;
            err_copy(&p->err, &err);
        }
        mutex_unlock(&p->lock);
    }
}

int backup_each(struct quarry_backups *b,
                size_t count,
                backup_work_fn fn,
                void *ctx,
                struct err *err)
{
    struct backup_pool p = {.backups = b, .count = count, .fn = fn, .ctx = ctx};
    unsigned jobs = (unsigned)MIN_OF((size_t)b->options.jobs, count);
    struct task **tasks = mem_zalloc(jobs + 1, sizeof(struct task *));
    mutex_init(&p.lock);
    err_init(&p.err);
    for (unsigned i = 0; i < jobs; i++)
        tasks[i] = task_start(b->world, "quarry-backup", run_backup_pool, &p);
    for (unsigned i = 0; i < jobs; i++)
        task_join(tasks[i]);
    mem_free(tasks);
    mutex_close(&p.lock);
    return p.rc ? err_copy(err, &p.err) : 0;
}

/* --- one file ------------------------------------------------------------ */

/* Read @r to its end: call @take (may be NULL) for each piece. */
static int backup_pieces(struct quarry_backups *b,
                         struct fs_reader *r,
                         bool paced,
                         struct sha256 *d,
                         struct fs_writer *w,
                         struct err *err)
{
    char *piece = mem_alloc(BACKUP_PIECE_BYTES);
    uint64_t at = 0;
    int rc = 0;
    while (rc == 0 && at < fs_reader_size(r)) {
        size_t got = 0;
        fs_prefetch(r, at + BACKUP_PIECE_BYTES, BACKUP_PIECE_BYTES);
        rc = fs_read_at(r, at, piece, BACKUP_PIECE_BYTES, &got, err);
        if (rc == 0 && got == 0)
            break; /* Cut short: its digest is another. */
        if (rc)
            break;
        sha256_add(d, slice_make(piece, got));
        if (w)
            rc = fs_writer_append(w, piece, got, err);
        if (paced)
            backup_pace(b, got);
        at += got;
    }
    mem_free(piece);
    return rc;
}

int backup_digest_file(struct quarry_backups *b,
                       struct fs *fs,
                       const char *path,
                       bool paced,
                       uint64_t *bytes,
                       unsigned char digest[SHA256_BYTES],
                       struct err *err)
{
    struct sha256 *d = sha256_new();
    struct fs_reader *r;
    int rc = fs_open(fs, path, &r, err);
    if (rc == 0) {
        *bytes = fs_reader_size(r);
        rc = backup_pieces(b, r, paced, d, NULL, err);
        fs_reader_close(r);
    }
    sha256_end(d, digest);
    sha256_free(d);
    return rc;
}

/* Write @c->beside, and compare. A writer that is closed unsynced leaves
 * nothing, or a file that nobody looks for. */
static int backup_write_beside(struct quarry_backups *b,
                               const struct backup_copy *c,
                               struct fs_reader *r,
                               const char *path,
                               struct err *err)
{
    const struct fs_write_options opts = {.mode = FS_WRITE_STREAM,
                                          .expected_bytes = fs_reader_size(r)};
    unsigned char found[SHA256_BYTES];
    struct sha256 *d = sha256_new();
    struct fs_writer *w;
    int rc = fs_create(c->dst, path, &opts, &w, err);
    if (rc == 0) {
        rc = backup_pieces(b, r, true, d, w, err);
        sha256_end(d, found);
        if (rc == 0 && c->digest && memcmp(found, c->digest, SHA256_BYTES) != 0)
            rc = err_set(err, ERR_CORRUPT, "%s: its digest does not match",
                         c->from);
        if (rc == 0)
            rc = fs_writer_sync(w, err);
        fs_writer_close(w);
    }
    sha256_free(d);
    return rc;
}

static int backup_sync_parent(struct fs *fs, const char *path, struct err *err)
{
    const char *slash = strrchr(path, '/');
    char *parent = mem_strndup(path, slash ? (size_t)(slash - path) : 0);
    int rc = fs_sync_dir(fs, parent, err);
    mem_free(parent);
    return rc;
}

int backup_copy_file(struct quarry_backups *b,
                     const struct backup_copy *c,
                     struct err *err)
{
    bool whole = fs_writes_whole(c->dst);
    const char *path = whole ? c->to : c->beside;
    struct fs_reader *r;
    int rc = fs_open(c->src, c->from, &r, err);
    if (rc)
        return rc;
    rc = backup_write_beside(b, c, r, path, err);
    fs_reader_close(r);
    if (rc == 0 && !whole) {
        rc = fs_rename(c->dst, path, c->to, err);
        if (rc == 0)
            rc = backup_sync_parent(c->dst, c->to, err);
    }
    if (rc && !whole) {
        /* A drop removes it, or the sweep of loads. */
        IGNORE_RESULT(fs_remove(c->dst, path, NULL));
    }
    return rc;
}
