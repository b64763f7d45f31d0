/* Reading a store beside its writer. Before and after all is read, the reader
 * looks where the log begins and whether the manifest still describes the same
 * rows; if not, it opens the store again, for some seconds. The writer is never
 * asked and never waits.
 */
#include "bigtable/store/read_beside.h"

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/log/commit_log.h"
#include "bigtable/store/manifest.h"
#include "bigtable/store/store.h"

/* How long a reader tries before it says that the store changes too fast. */
#define TRY_NS  UINT64_C(10000000000)
#define WAIT_US UINT64_C(20000)
/* Damage may be a record that was being written: it is looked at again. */
#define DAMAGE_TRIES 3

bool is_read_beside(const struct store *s)
{
    return s->options.read_only && !s->options.pinned;
}

/* A log that is not there yet has nothing to lock. */
int read_beside_begin(struct store *s, struct read_beside *r, struct err *err)
{
    struct buf dir = BUF_INIT;
    int rc;
    PRE(s->dir);
    *r = (struct read_beside){.log = NULL};
    if (!is_read_beside(s))
        return 0;
    buf_printf(&dir, "%s/log", s->dir);
    rc = dir_lock(s->world, buf_cstr(&dir), false, &r->log, err);
    if (rc == 0 || rc == ERR_NOTFOUND)
        rc = log_oldest_segment(s->world, buf_cstr(&dir), &r->oldest_segment,
                                err);
    buf_close(&dir);
    return rc;
}

static bool is_one_state(struct store *s, const struct read_beside *r)
{
    struct buf dir = BUF_INIT;
    uint64_t oldest = 0;
    int rc;
    PRE(s->manifest);
    buf_printf(&dir, "%s/log", s->dir);
    rc = log_oldest_segment(s->world, buf_cstr(&dir), &oldest, NULL);
    buf_close(&dir);
    return rc == 0 && oldest == r->oldest_segment &&
           manifest_rows_unchanged(s->manifest, r->log != NULL);
}

int read_beside_end(struct store *s,
                    struct read_beside *r,
                    int rc,
                    struct err *err)
{
    bool good = !is_read_beside(s) || !s->manifest || is_one_state(s, r);
    dir_unlock(r->log);
    r->log = NULL;
    POST(!is_read_beside(s) || !s->env.log); /* INV-1: it writes nothing. */
    if (good)
        return rc;
    return err_set(err, ERR_BUSY,
                   "it changes too fast for a reader beside its writer");
}

bool read_beside_again(struct world *w,
                       int rc,
                       uint64_t begin_ns,
                       unsigned *tries)
{
    PRE(rc != 0);

    bool may_pass = rc == ERR_BUSY ? world_mono_ns(w) - begin_ns < TRY_NS
                                   : rc == ERR_CORRUPT && *tries < DAMAGE_TRIES;
    if (!may_pass)
        return false;
    (*tries)++;
    world_sleep_us(w, WAIT_US);
    return true;
}
