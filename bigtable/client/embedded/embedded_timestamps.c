/* Timestamps of a directory, which one process gives out at a time: a counter
 * that follows the clock and never goes back. The file TIMESTAMP has a bound
 * that is above all that were given out, so that a later process continues
 * above it, whatever its clock says; it is written some seconds ahead, and only
 * by processes that ask for timestamps. One that continues from a bound ahead
 * of the clock lets time pass at half its pace, so that leases, which are
 * counted in timestamps, run out all the same.
 *
 * Invariants
 *     INV-1. last < bound, or nothing was given out yet.
 *     INV-2. The file holds `bound`, synced, before a number below it is given
 *            out.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/client/embedded/embedded.h"
#include "bigtable/store/store.h"
#include "gfs-lite/fs.h"

#define TIMESTAMP_NAME      "TIMESTAMP"
#define TIMESTAMP_BYTES_MAX 32
#define AHEAD_US            ((int64_t)3 * 1000000)

struct local_oracle {
    struct mutex lock; /* Held over the file's replacement: once in AHEAD_US. */
    bool is_open;      /* The file was read. */
    int64_t last;      /* Given out. */
    int64_t bound;
    int64_t first;     /* `last` when it was opened, */
    uint64_t since_ns; /* and the time. */
};

struct local_oracle *local_oracle_new(void)
{
    struct local_oracle *o = mem_zalloc(1, sizeof(*o));
    mutex_init(&o->lock);
    return o;
}

/* Read the bound that an earlier process left. */
static int open_oracle(struct local_oracle *o, struct fs *fs, struct err *err)
{
    struct buf text = BUF_INIT;
    char *end;
    int rc = fs_read_all(fs, TIMESTAMP_NAME, TIMESTAMP_BYTES_MAX, &text, NULL);
    if (rc == 0) {
        errno = 0;
        o->bound = strtoll(buf_cstr(&text), &end, 10);
        if (errno || o->bound <= 0 || *end != '\n')
            rc =
                err_set(err, ERR_CORRUPT, "%s is not a number", TIMESTAMP_NAME);
    } else if (rc == ERR_NOTFOUND) {
        rc = 0;
    } else {
        err_set(err, rc, "%s: %s", TIMESTAMP_NAME, err_name(rc));
    }
    buf_close(&text);
    o->last = o->first = MAX_OF(o->bound, 1) - 1;
    o->since_ns = world_mono_ns(fs_world(fs));
    o->is_open = rc == 0;
    return rc;
}

static int raise_bound(struct local_oracle *o,
                       struct fs *fs,
                       int64_t bound,
                       struct err *err)
{
    struct buf text = BUF_INIT;
    int rc;
    PRE(bound > o->last);
    buf_printf(&text, "%lld\n", (long long)bound);
    rc = fs_replace(fs, TIMESTAMP_NAME, buf_slice(&text), err);
    buf_close(&text);
    if (rc == 0)
        o->bound = bound;
    else
        err_wrap(err, "bound of timestamps");
    return rc;
}

void local_oracle_close(struct quarry *q)
{
    struct local_oracle *o = q->oracle;
    /* The next process needs not begin ahead of the clock. */
    if (o && q->store && o->is_open && o->last > o->first)
        (void)!raise_bound(o, q->store->fs, o->last + 1, NULL);
    if (!o)
        return;
    mutex_close(&o->lock);
    mem_free(o);
    q->oracle = NULL;
}

int embedded_timestamps(struct quarry *q,
                        uint32_t count,
                        int64_t *first,
                        struct err *err)
{
    struct local_oracle *o = q->oracle;
    struct fs *fs = q->store->fs;
    int64_t now = (int64_t)world_now_us(q->world);
    int rc = tablet_env_check_writable(&q->store->env, err);
    int64_t from;
    uint64_t passed_us;
    if (rc)
        return rc;
    mutex_lock(&o->lock);
    if (!o->is_open)
        rc = open_oracle(o, fs, err);
    passed_us = (world_mono_ns(q->world) - o->since_ns) / 1000;
    from = MAX_OF(o->last + 1, o->first + (int64_t)(passed_us / 2));
    from = MAX_OF(from, now);
    if (rc == 0 && from + count > o->bound)
        rc = raise_bound(o, fs, from + count + AHEAD_US, err);
    if (rc == 0) {
        *first = from;
        o->last = from + count - 1;
        INVARIANT(o->last < o->bound); /* INV-1 */
    }
    mutex_unlock(&o->lock);
    return rc;
}
