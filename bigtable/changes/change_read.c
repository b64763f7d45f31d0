/* One call: what there is at this moment, where the reader is in it, and how
 * far it may go.
 */
#include "bigtable/changes/change_read.h"

#include "base/core/fault.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "bigtable/changes/change_emit.h"
#include "bigtable/changes/change_memory.h"
#include "bigtable/changes/change_position.h"
#include "bigtable/changes/change_sources.h"
#include "bigtable/changes/change_window.h"
#include "bigtable/log/write_log.h"
#include "bigtable/lsm/change_order.h"
#include "bigtable/lsm/memtable.h"
#include "bigtable/lsm/version.h"
#include "bigtable/tablet/table_part.h"
#include "bigtable/tablet/tablet_changes.h"
#include "bigtable/tablet/tablet_env.h"
#include "bigtable/write/write_queue.h"

static int check_on(const struct tablet *t, struct err *err)
{
    if (atomic_load(&t->changes->on))
        return 0;
    err_set(err, ERR_UNSUPPORTED, "table %s keeps no changes", t->table->name);
    err_hint(err, "quarry table alter %s --changes 7d", t->table->name);
    return ERR_UNSUPPORTED;
}

/* Changes up to @us are gone that the reader asks for. */
static int too_late(const struct tablet *t, int64_t us, struct err *err)
{
    struct buf time = BUF_INIT;
    text_put_time(&time, us + 1);
    err_set(err, ERR_EXHAUSTED,
            "table %s: the changes of that time are not kept any more",
            t->table->name);
    err_hint(err, "continue with a copy of the table, or from %s on",
             buf_cstr(&time));
    buf_close(&time);
    return ERR_EXHAUSTED;
}

/* The number of the last entry of @t, or a higher one that ends a commit. */
static uint64_t last_number(const struct tablet *t)
{
    uint64_t last = tablet_last_sequence(t);
    for (size_t i = 0; i < atomic_load(&t->group_count); i++)
        last = MAX_OF(last, atomic_load(&t->groups[i]->flushed_sequence));
    return last;
}

/* The end of what may be handed out of @s: the end of a commit, which no crash
 * takes back. */
static int
find_limit(const struct tablet_snapshot *s, uint64_t *limit, struct err *err)
{
    const struct tablet_env *env = s->tablet->env;
    *limit = MIN_OF(s->sequence, last_number(s->tablet));
    if (!env->log || write_log_synced_sequence(env->log) >= *limit ||
        fault_hit("changes.tell_unsynced")) /* A deliberate bug. */
        return 0;
    return write_log_sync(env->log, err);
}

/* --- watermarks ---------------------------------------------------------- */

int64_t change_settled_us(const struct tablet *t)
{
    struct tablet_changes *c = t->changes;
    uint64_t sequence;
    int64_t us;
    int64_t reached;
    bool settled;
    if (!t->env->log)
        return 0;
    settled = write_queue_settle(t->env, t->table, &us, &sequence);
    mutex_lock(&c->lock);
    if (c->pending_us && atomic_load(&t->env->visible) >= c->pending_sequence) {
        c->reached_us = MAX_OF(c->reached_us, c->pending_us);
        c->pending_us = 0;
    }
    if ((settled && atomic_load(&t->env->visible) >= sequence) ||
        fault_hit("changes.early_watermark")) /* A deliberate bug. */
        c->reached_us = MAX_OF(c->reached_us, us);
    else if (settled && c->pending_us == 0) {
        c->pending_us = us;
        c->pending_sequence = sequence;
    }
    reached = c->reached_us;
    mutex_unlock(&c->lock);
    return reached;
}

/* --- reading ------------------------------------------------------------- */

/* The last time of the changes of files up to @sequence. */
static int64_t time_of_window(const struct change_sources *s, uint64_t sequence)
{
    int64_t us = 0;
    for (size_t i = 0; i < s->file_count; i++)
        if (s->files[i].extent.end_sequence == sequence)
            us = MAX_OF(us, s->files[i].extent.last_us);
    return us;
}

/* Read one window, or what memtables have. *@more: there is something behind.
 */
static int read_some(struct change_sources *s,
                     uint64_t limit,
                     struct change_emitter *e,
                     struct change_position *at,
                     bool *more,
                     struct err *err)
{
    int64_t us = 0;
    uint64_t high;
    bool done;
    int rc;
    if (at->high == 0 && change_memory_has(s, at->low)) {
        rc = change_memory_read(&s->snapshot, limit, e, at, &us, err);
        *more = at->low < limit;
    } else {
        change_window_choose(s, limit, at);
        high = at->high;
        rc = change_window_read(s, e, at, &done, err);
        *more = !done || at->low < limit;
        us = done ? time_of_window(s, high) : 0;
    }
    if (us)
        e->out->watermark_us = MAX_OF(e->out->watermark_us, us - 1);
    return rc;
}

static int read_from(struct change_sources *s,
                     const struct change_request *request,
                     struct change_position *at,
                     struct change_result *out,
                     struct err *err)
{
    struct change_emitter e = {.request = request, .out = out};
    uint64_t limit;
    bool more = true;
    int rc = find_limit(&s->snapshot, &limit, err);
    if (rc == 0 && at->low < s->floor)
        rc = too_late(s->snapshot.tablet, s->floor_us, err);
    if (rc == 0 && MAX_OF(at->low, at->high) > MAX_OF(limit, s->floor))
        rc = err_set(err, ERR_INVALID,
                     "the place is ahead of the table's changes: it is of "
                     "another table, or of another state of it");
    more = at->low < limit;
    while (rc == 0 && more && out->batch.len == 0)
        rc = read_some(s, limit, &e, at, &more, err);
    out->caught_up = rc == 0 && !more;
    change_emitter_close(&e);
    return rc;
}

int change_read(struct tablet *t,
                const struct change_request *request,
                struct change_position *at,
                struct change_result *out,
                struct err *err)
{
    struct change_sources s;
    int64_t settled;
    int rc = check_on(t, err);
    PRE(out->batch.len == 0);
    if (rc)
        return rc;
    settled = change_settled_us(t);
    change_sources_open(t, &s);
    rc = read_from(&s, request, at, out, err);
    change_sources_close(&s);
    if (out->caught_up)
        out->watermark_us = MAX_OF(out->watermark_us, settled);
    return rc;
}

/* --- places -------------------------------------------------------------- */

/* Lower *@sequence to the first commit of @m at or after @us. */
static void
find_time(const struct change_marks *m, int64_t us, uint64_t *sequence)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->list[i].us >= us) {
            *sequence = MIN_OF(*sequence, m->list[i].sequence);
            return;
        }
}

static int find_time_in_files(struct change_sources *s,
                              int64_t us,
                              uint64_t *sequence,
                              struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < s->file_count && rc == 0; i++) {
        struct change_marks marks = {0};
        if (s->files[i].extent.last_us < us)
            continue;
        rc = change_source_marks(s, &s->files[i], &marks, err);
        find_time(&marks, us, sequence);
        change_marks_close(&marks);
    }
    return rc;
}

static void find_time_in_memory(const struct tablet_snapshot *s,
                                int64_t us,
                                uint64_t *sequence)
{
    for (size_t i = 0; i < s->group_count; i++)
        for (size_t k = 0; k < s->groups[i]->mem_count; k++) {
            const struct memtable *m = s->groups[i]->mems[k];
            struct change_marks marks = {0};
            if (m->order)
                change_order_copy_marks(m->order, UINT64_MAX, &marks);
            find_time(&marks, us, sequence);
            change_marks_close(&marks);
        }
}

int change_find_time(struct change_sources *s,
                     int64_t us,
                     uint64_t *sequence,
                     struct err *err)
{
    int rc = find_time_in_files(s, us, sequence, err);
    if (rc == 0)
        find_time_in_memory(&s->snapshot, us, sequence);
    return rc;
}

/* The first commit at or after @us. */
static int find_since(struct change_sources *s,
                      int64_t us,
                      uint64_t *sequence,
                      struct err *err)
{
    int rc = 0;
    if (us <= s->floor_us)
        rc = too_late(s->snapshot.tablet, s->floor_us, err);
    return rc ? rc : change_find_time(s, us, sequence, err);
}

int change_place(struct tablet *t,
                 int64_t us,
                 struct change_position *at,
                 struct err *err)
{
    struct change_sources s;
    uint64_t sequence = UINT64_MAX;
    uint64_t limit;
    int rc = check_on(t, err);
    if (rc)
        return rc;
    change_sources_open(t, &s);
    rc = find_limit(&s.snapshot, &limit, err);
    if (us == CHANGE_OLDEST)
        sequence = s.floor + 1;
    else if (rc == 0 && us)
        rc = find_since(&s, us, &sequence, err);
    if (rc == 0)
        at->low = MAX_OF(s.floor, MIN_OF(limit, sequence - 1));
    at->high = 0;
    at->row_sequence = 0;
    buf_clear(&at->row);
    change_sources_close(&s);
    return rc;
}
