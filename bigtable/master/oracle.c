/* Timestamps of the cluster: the bound in the lock service, and the numbers
 * below it.
 */
#include "bigtable/master/oracle.h"

#include <errno.h>
#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/master/lock_state.h"
#include "bigtable/master/master_term.h"

void oracle_init(struct oracle *o)
{
    *o = (struct oracle){.is_open = false};
    mutex_init(&o->lock);
}

void oracle_close(struct oracle *o)
{
    mutex_close(&o->lock);
}

/* The bound in the file; 0: there is none. */
static int oracle_read(struct master_term *r, int64_t *bound, struct err *err)
{
    struct oracle *o = &r->oracle;
    struct buf text = BUF_INIT;
    char *end;
    PRE(mutex_is_held(&o->lock));
    int rc = lock_state_read(r->chubby, BIGTABLE_LOCK_TIMESTAMPS, &text,
                             &o->generation, err);
    *bound = 0;
    if (rc == 0) {
        errno = 0;
        *bound = strtoll(buf_cstr(&text), &end, 10);
        if (errno || *bound <= 0 || *end != '\n')
            rc = err_set(err, ERR_CORRUPT, "%s is not a number",
                         BIGTABLE_LOCK_TIMESTAMPS);
    } else if (rc == ERR_NOTFOUND) {
        o->generation = 0;
        rc = 0;
    }
    buf_close(&text);
    return rc;
}

/* Raise the bound, if nobody else has: another who did is the master. */
static int oracle_raise(struct master_term *r, int64_t bound, struct err *err)
{
    struct oracle *o = &r->oracle;
    struct buf text = BUF_INIT;
    int64_t written;
    int rc;
    PRE(bound > o->source.last);
    buf_printf(&text, "%lld\n", (long long)bound);
    rc = lock_state_write(r->chubby, BIGTABLE_LOCK_TIMESTAMPS, buf_slice(&text),
                          o->generation, err);
    if (rc == 0)
        rc = oracle_read(r, &written, err);
    if (rc == 0 && written != bound)
        rc = ERR_ABORTED;
    if (rc == ERR_ABORTED || rc == ERR_EXISTS)
        rc = err_set(err, ERR_UNAVAILABLE, "another master gives timestamps");
    if (rc == 0)
        o->source.bound = bound;
    else
        o->is_open = false; /* The write may have been made. */
    buf_close(&text);
    return rc;
}

static int oracle_open(struct master_term *r, struct err *err)
{
    struct oracle *o = &r->oracle;
    int64_t last = o->source.last;
    int64_t bound;
    int64_t from;
    PRE(mutex_is_held(&o->lock));
    PRE(!o->is_open);
    int rc = oracle_read(r, &bound, err);
    if (rc)
        return rc;
    stamp_source_open(&o->source, MAX_OF(bound, last + 1),
                      world_mono_ns(r->world));
    from = stamp_source_next(&o->source, (int64_t)world_now_us(r->world),
                             o->source.last_ns);
    o->is_open = true;
    return oracle_raise(r, from + STAMP_AHEAD_US, err);
}

static int oracle_take_locked(struct master_term *r,
                              uint32_t count,
                              int64_t *first,
                              struct err *err)
{
    struct oracle *o = &r->oracle;
    PRE(mutex_is_held(&o->lock));
    int rc = o->is_open ? 0 : oracle_open(r, err);
    uint64_t mono_ns = world_mono_ns(r->world);
    int64_t from =
        stamp_source_next(&o->source, (int64_t)world_now_us(r->world), mono_ns);
    if (rc == 0 && stamp_source_is_over(&o->source, from, count))
        rc = oracle_raise(r, from + count + STAMP_AHEAD_US, err);
    if (rc)
        return rc;
    if (!chubby_is_safe(r->chubby))
        return err_set(err, ERR_UNAVAILABLE, "this may not be the master");
    stamp_source_take(&o->source, from, count, mono_ns);
    *first = from;
    POST(from > 0);
    return 0;
}

int oracle_take(struct master_term *r,
                uint32_t count,
                int64_t *first,
                struct err *err)
{
    int rc;
    PRE(r->lock);
    PRE(count > 0);
    mutex_lock(&r->oracle.lock);
    rc = oracle_take_locked(r, count, first, err);
    mutex_unlock(&r->oracle.lock);
    if (rc)
        err_wrap(err, "timestamps");
    return rc;
}
