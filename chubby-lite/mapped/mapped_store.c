/* Calls of the store that outlive the loss of an answer. A read is repeated. Of
 * a transaction the journal says whether it was made; if it was not, the
 * journal is changed, after which it cannot be made any more (mapped_state.h).
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "chubby-lite/mapped/mapped_state.h"

/* Between tries, at random up to this; it doubles with each. */
#define PAUSE_NS_MIN UINT64_C(10000000)
#define PAUSE_NS_MAX UINT64_C(400000000)
/* A wait looks again after this, whatever it was told. */
#define LOOK_AGAIN_NS UINT64_C(5000000000)

static int store_pause(struct mapped *m, unsigned tries, struct err *err)
{
    uint64_t most = MIN_OF(PAUSE_NS_MIN << MIN_OF(tries, 6U), PAUSE_NS_MAX);
    int rc = wait_queue_wait(
        &m->changed, world_mono_ns(m->world) + 1 + rand_below(&m->random, most),
        NULL);

    PRE(m->store);
    return rc == ERR_CANCELLED ? err_set(err, rc, "cancelled")
                               : fiber_check(err);
}

/* Wait before the next try, after @rc of @tries. 0: try again. */
static int
store_again(struct mapped *m, int rc, unsigned tries, struct err *err)
{
    PRE(m->store);
    if (rc == ERR_CLOSED)
        mapped__set_state(m, MAPPED_EXPIRED);
    if (rc != ERR_UNAVAILABLE)
        return rc;
    return store_pause(m, tries, err);
}

int mapped__get(struct mapped *m,
                const char *path,
                unsigned flags,
                struct buf *value,
                struct coordination_stat *stat,
                struct err *err)
{
    size_t before = value ? value->len : 0;

    PRE(m->store);
    for (unsigned tries = 0;; tries++) {
        int rc = mapped__wait_safe(m, err);
        if (rc)
            return rc;
        if (value)
            buf_truncate(value, before);
        rc = m->store->ops->get(m->store, path, flags, value, stat, err);
        if (!rc)
            return 0;
        rc = store_again(m, rc, tries, err);
        if (rc)
            return rc;
    }
}

int mapped__list(struct mapped *m,
                 const char *path,
                 unsigned flags,
                 char ***names,
                 size_t *count,
                 struct err *err)
{
    PRE(m->store);
    for (unsigned tries = 0;; tries++) {
        int rc = mapped__wait_safe(m, err);
        if (rc)
            return rc;
        rc = m->store->ops->list(m->store, path, flags, names, count, err);
        if (!rc)
            return 0;
        rc = store_again(m, rc, tries, err);
        if (rc)
            return rc;
    }
}

/* --- transactions -------------------------------------------------------- */

static int journal_begin(struct mapped *m, struct err *err)
{
    int rc = 0;

    PRE(m->store);
    while (m->committing && !rc)
        rc = wait_queue_wait(&m->turn, 0, err);
    if (!rc)
        m->committing = true; /* INV-3 */
    return rc;
}

static void journal_end(struct mapped *m)
{
    PRE(m->store);
    INVARIANT(m->committing);
    m->committing = false;
    wait_queue_wake(&m->turn);
}

static void journal_text(uint64_t number, bool fence, char text[32])
{
    snprintf(text, 32, "%" PRIu64 "%s", number, fence ? " fence" : "");
}

static int journal_write(struct mapped *m,
                         const char *text,
                         const struct coordination_op *ops,
                         size_t count,
                         uint64_t *revision,
                         struct err *err)
{
    struct coordination_op all[MAPPED_OPS_MAX + 1];

    PRE(m->store);
    PRE(m->committing && count <= MAPPED_OPS_MAX);
    all[0] = (struct coordination_op){.kind = COORDINATION_SET,
                                      .path = m->journal,
                                      .value = slice_str(text),
                                      .version = m->journal_version};
    for (size_t i = 0; i < count; i++)
        all[i + 1] = ops[i];
    return m->store->ops->commit(m->store, all, count + 1, revision, err);
}

/* Was the transaction in doubt made, and when? From now on it is never made
 * later. */
static int journal_settle(struct mapped *m,
                          bool *made,
                          uint64_t *revision,
                          struct err *err)
{
    struct coordination_stat stat;
    struct buf b = BUF_INIT;
    char text[32];
    char fence[32];
    int rc = 0;

    PRE(m->store);
    journal_text(m->journal_number, false, text);
    journal_text(m->journal_number, true, fence);
    for (unsigned tries = 0; m->journal_doubt && !rc; tries++) {
        buf_clear(&b);
        rc = mapped__get(m, m->journal, COORDINATION_FRESH, &b, &stat, err);
        if (rc)
            break;
        *made = slice_eq_str(buf_slice(&b), text);
        if (*made || slice_eq_str(buf_slice(&b), fence)) {
            m->journal_version = stat.version;
            m->journal_doubt = false;
            *revision = stat.modified;
            break;
        }
        m->journal_version = stat.version;
        rc = journal_write(m, fence, NULL, 0, NULL, err);
        if (rc == 0 || rc == ERR_ABORTED || rc == ERR_UNAVAILABLE)
            rc = store_pause(m, tries, err);
    }
    buf_close(&b);
    return rc;
}

/* PRE: its turn. */
static int journal_commit(struct mapped *m,
                          const struct coordination_op *ops,
                          size_t count,
                          uint64_t *revision,
                          struct err *err)
{
    char text[32];
    bool made = false;
    int rc = m->journal_doubt ? journal_settle(m, &made, revision, err) : 0;

    PRE(m->store);
    if (!rc)
        rc = mapped__wait_safe(m, err);
    if (rc)
        return rc;
    INVARIANT(!m->journal_doubt);
    journal_text(++m->journal_number, false, text);
    m->journal_doubt = true;
    rc = journal_write(m, text, ops, count, revision, err);
    if (rc == 0 || rc == ERR_ABORTED) {
        m->journal_doubt = false;
        m->journal_version += rc == 0;
        return rc == 0 ? 0 : MAPPED_AGAIN;
    }
    if (rc != ERR_UNAVAILABLE)
        return rc;
    made = false;
    rc = journal_settle(m, &made, revision, err);
    return rc ? rc : made ? 0 : MAPPED_AGAIN;
}

int mapped__commit(struct mapped *m,
                   const struct coordination_op *ops,
                   size_t count,
                   uint64_t *revision,
                   struct err *err)
{
    uint64_t ignored;
    int rc = journal_begin(m, err);

    PRE(m->store);
    if (rc)
        return rc;
    rc = journal_commit(m, ops, count, revision ? revision : &ignored, err);
    journal_end(m);
    if (rc == ERR_CLOSED)
        mapped__set_state(m, MAPPED_EXPIRED);
    return rc;
}

int mapped__try(struct mapped *m,
                mapped_try_fn fn,
                void *arg,
                bool fresh,
                struct err *err)
{
    struct err e;

    PRE(m->store);
    for (unsigned tries = 0;; tries++) {
        int rc;
        err_init(&e);
        rc = fn(arg, fresh, &e);
        if (rc == 0)
            return 0;
        /* It may have seen an old state. */
        if (rc != MAPPED_AGAIN && (fresh || rc == ERR_CLOSED ||
                                   rc == ERR_CANCELLED || rc == ERR_DEADLINE))
            return err_copy(err, &e);
        if (rc == MAPPED_AGAIN && fresh) {
            rc = store_pause(m, tries, err);
            if (rc)
                return rc;
        }
        fresh = true;
    }
}

/* --- other sessions ------------------------------------------------------ */

char *mapped__session_path(const char *path, uint64_t id)
{
    struct buf b = BUF_INIT;

    buf_printf(&b, "%s/%016" PRIx64, path, id);
    return buf_take(&b);
}

int mapped__lives(struct mapped *m,
                  uint64_t id,
                  unsigned flags,
                  bool *lives,
                  struct err *err)
{
    struct coordination_stat stat;
    struct buf sessions = BUF_INIT;
    char *path;
    int rc;

    PRE(m->store);
    buf_printf(&sessions, "%s/%%s", m->root);
    path = mapped__session_path(buf_cstr(&sessions), id);
    rc = mapped__get(m, path, flags, NULL, &stat, err);
    *lives = rc == 0;
    buf_close(&sessions);
    mem_free(path);
    return rc == ERR_NOTFOUND ? 0 : rc;
}

/* --- waiting ------------------------------------------------------------- */

void mapped__wait_for(struct mapped *m, struct path_waiter *w, const char *path)
{
    PRE(m->store);
    if (w->count == 0) {
        w->hit = false;
        LIST_INSERT_HEAD(&m->waiters, w, link);
    }
    w->paths = mem_realloc(w->paths, (w->count + 1) * sizeof(char *));
    w->paths[w->count++] = mem_strdup(path);
}

void mapped__waiter_close(struct path_waiter *w)
{
    if (w->count > 0)
        LIST_REMOVE(w, link);
    for (size_t i = 0; i < w->count; i++)
        mem_free(w->paths[i]);
    mem_free(w->paths);
    w->paths = NULL;
    w->count = 0;
}

int mapped__wait_change(struct mapped *m,
                        struct path_waiter *w,
                        uint64_t until_ns,
                        struct err *err)
{
    uint64_t look_ns = world_mono_ns(m->world) + LOOK_AGAIN_NS;
    int rc = 0;

    PRE(m->store);
    until_ns = until_ns ? MIN_OF(until_ns, look_ns) : look_ns;
    while (!w->hit && rc == 0 && m->state != MAPPED_EXPIRED)
        rc = wait_queue_wait(&m->changed, until_ns, NULL);
    mapped__waiter_close(w);
    return rc == ERR_CANCELLED ? err_set(err, rc, "cancelled")
                               : fiber_check(err);
}
