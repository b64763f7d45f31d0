/* Timestamps of a directory, which one process gives out at a time: a counter
 * that follows the clock and never goes back. The file TIMESTAMP has a bound
 * that is above all that were given out, so that a later process continues
 * above it (bigtable/row/stamp_source.h); it is written some seconds ahead, and
 * only by processes that ask for timestamps.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/client/embedded/embedded.h"
#include "bigtable/row/stamp_source.h"
#include "bigtable/store/store.h"
#include "gfs-lite/fs.h"

#define TIMESTAMP_NAME      "TIMESTAMP"
#define TIMESTAMP_BYTES_MAX 32

struct local_oracle {
    struct mutex lock; /* Held over the file's replacement: once in AHEAD_US. */
    bool is_open;      /* The file was read. */
    struct stamp_source source;
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
    int64_t bound = 0;
    char *end;
    int rc = fs_read_all(fs, TIMESTAMP_NAME, TIMESTAMP_BYTES_MAX, &text, NULL);
    if (rc == 0) {
        errno = 0;
        bound = strtoll(buf_cstr(&text), &end, 10);
        if (errno || bound <= 0 || *end != '\n')
            rc =
                err_set(err, ERR_CORRUPT, "%s is not a number", TIMESTAMP_NAME);
    } else if (rc == ERR_NOTFOUND) {
        rc = 0;
    } else {
        err_set(err, rc, "%s: %s", TIMESTAMP_NAME, err_name(rc));
    }
    buf_close(&text);
    stamp_source_open(&o->source, bound, world_mono_ns(fs_world(fs)));
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
    PRE(bound > o->source.last);
    buf_printf(&text, "%lld\n", (long long)bound);
    rc = fs_replace(fs, TIMESTAMP_NAME, buf_slice(&text), err);
    buf_close(&text);
    if (rc == 0)
        o->source.bound = bound;
    else
        err_wrap(err, "bound of timestamps");
    return rc;
}

void local_oracle_close(struct quarry *q)
{
    struct local_oracle *o = q->oracle;
    /* The next process needs not begin ahead of the clock. */
    if (o && q->store && o->is_open && o->source.last > o->source.first)
        (void)!raise_bound(o, q->store->fs, o->source.last + 1, NULL);
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
    int rc = tablet_env_check_writable(&q->store->env, err);
    uint64_t mono_ns;
    int64_t from;
    if (rc)
        return rc;
    mutex_lock(&o->lock);
    if (!o->is_open)
        rc = open_oracle(o, fs, err);
    mono_ns = world_mono_ns(q->world);
    from =
        stamp_source_next(&o->source, (int64_t)world_now_us(q->world), mono_ns);
    if (rc == 0 && stamp_source_is_over(&o->source, from, count))
        rc = raise_bound(o, fs, from + count + STAMP_AHEAD_US, err);
    if (rc == 0) {
        stamp_source_take(&o->source, from, count, mono_ns);
        *first = from;
    }
    mutex_unlock(&o->lock);
    return rc;
}
