/* Reading a store beside its writer: see read_beside.h. */
#include "bigtable/tablet/read_beside.h"

#include "base/core/buf.h"
#include "base/runtime/world.h"
#include "bigtable/tablet/commit_log.h"
#include "bigtable/tablet/manifest.h"
#include "bigtable/tablet/store.h"

/* How long a reader tries before it says that the store changes too fast. */
#define TRY_NS  UINT64_C(10000000000)
#define WAIT_US UINT64_C(20000)
/* Damage may be a record that was being written: it is looked at again. */
#define DAMAGE_TRIES 3

bool read_beside(const struct store *s)
{
    return s->options.read_only && !s->options.pinned;
}

static int oldest_segment(struct store *s, uint64_t *number, struct err *err)
{
    struct buf dir = BUF_INIT;
    int rc;
    buf_printf(&dir, "%s/log", s->dir);
    rc = log_oldest_segment(s->world, buf_cstr(&dir), number, err);
    buf_close(&dir);
    return rc;
}

int read_beside_begin(struct store *s, uint64_t *oldest, struct err *err)
{
    *oldest = 0;
    return read_beside(s) ? oldest_segment(s, oldest, err) : 0;
}

static bool is_unchanged(struct store *s, uint64_t oldest)
{
    uint64_t now;
    return oldest_segment(s, &now, NULL) == 0 && now == oldest &&
           manifest_is_unchanged(s->manifest);
}

int read_beside_end(struct store *s, uint64_t oldest, int rc, struct err *err)
{
    if (!read_beside(s) || !s->manifest || is_unchanged(s, oldest))
        return rc;
    return err_set(err, ERR_BUSY,
                   "it changes too fast for a reader beside its writer");
}

bool read_beside_again(struct world *w,
                       int rc,
                       uint64_t begin_ns,
                       unsigned *tries)
{
    bool may_pass = rc == ERR_BUSY ? world_mono_ns(w) - begin_ns < TRY_NS
                                   : rc == ERR_CORRUPT && *tries < DAMAGE_TRIES;
    if (!may_pass)
        return false;
    (*tries)++;
    world_sleep_us(w, WAIT_US);
    return true;
}
