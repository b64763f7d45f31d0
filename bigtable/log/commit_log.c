/* The commit log of an embedded store as it is written: appends and syncs.
 * Appends go through the page cache or past it (log_append.c); a sync covers
 * everything before it, and its position goes into later records, by which
 * recovery tells a torn end from damage.
 */
#include "bigtable/log/commit_log.h"

#include <stdatomic.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/log/commit_log_parts.h"
#include "bigtable/log/log_seal.h"

/* Files one round of a sync goes through: segments filled since the last. */
#define UNSYNCED_MAX 64

static const struct write_log_ops base_ops;

/* --- life ---------------------------------------------------------------- */

int commit_log_open(const struct commit_log_options *opts,
                    const struct log_end *end,
                    struct commit_log **out,
                    struct err *err)
{
    struct commit_log *l = mem_zalloc(1, sizeof(*l));
    uint64_t bytes;
    int rc;
    PRE(opts->world && opts->dir);
    l->base.ops = &base_ops;
    l->keyring = opts->keyring;
    atomic_init(&l->position, end->position);
    atomic_init(&l->synced, end->position);
    atomic_init(&l->synced_sequence, end->last_sequence);
    l->last_sequence = end->last_sequence;
    *out = NULL;
    rc = log_segments_open(&l->segments, opts, end, &bytes, err);
    atomic_init(&l->bytes, bytes);
    if (rc) {
        err_wrap(err, "commit log %s", opts->dir);
        atomic_store(&l->broken, true);
        commit_log_close(l);
        return rc;
    }
    *out = l;
    return 0;
}

void commit_log_close(struct commit_log *l)
{
    if (!l)
        return;
    /* A log that failed stays as it is: nobody knows what is on the disk. */
    if (!atomic_load(&l->broken) && commit_log_sync(l, NULL) == 0)
        log_segments_finish(&l->segments, atomic_load(&l->position));
    log_segments_close(&l->segments);
    log_block_close(&l->block);
    unit_sealer_free(l->sealer);
    mem_free(l);
}

size_t commit_log_segment_count(struct commit_log *l)
{
    return log_segments_count(&l->segments);
}

void commit_log_release(struct commit_log *l, uint64_t sequence)
{
    uint64_t bytes =
        log_segments_release(&l->segments, sequence, atomic_load(&l->synced));
    atomic_fetch_sub(&l->bytes, bytes);
}

uint64_t commit_log_bytes(const struct commit_log *l)
{
    return atomic_load(&l->bytes);
}

/* For the writer, between two appends. */
static void commit_log_check(const struct commit_log *l)
{
    const struct segment *s = l->segments.current;
    uint64_t synced = atomic_load(&l->synced);
    uint64_t position = atomic_load(&l->position);

    INVARIANT(synced <= position);                                   /* INV-1 */
    INVARIANT(s->end == position);                                   /* INV-2 */
    INVARIANT(l->block.len == segment_file_end(s) % LOG_PAGE_BYTES); /* INV-3 */
}

/* --- appending ----------------------------------------------------------- */

/* A sealer for a new segment, where records are encrypted: with the key of now,
 * and a salt of its own. */
static int take_sealer(struct commit_log *l, struct err *err)
{
    struct unit_sealer *s;
    int rc;
    if (!l->keyring)
        return 0;
    rc = log_sealer_new(l->keyring, &s, err);
    if (rc)
        return rc;
    unit_sealer_free(l->sealer);
    l->sealer = s;
    return 0;
}

static int begin_segment(struct commit_log *l, size_t bytes, struct err *err)
{
    uint64_t position = atomic_load(&l->position);
    struct log_segment_header h = {0, position, l->keyring != NULL};
    int rc = take_sealer(l, err);
    if (rc == 0)
        rc = log_segments_begin(&l->segments, position, atomic_load(&l->synced),
                                h.is_sealed, bytes, err);
    if (rc)
        return rc;
    INVARIANT(!l->keyring == !l->sealer);
    h.number = l->segments.current->number;
    l->block.len = 0;
    log_put_segment_header(
        log_block_extend(&l->block, LOG_SEGMENT_HEADER_BYTES), &h);
    l->cached = true;
    return 0;
    INVARIANT(segment_file_end(l->segments.current) ==
              LOG_SEGMENT_HEADER_BYTES);
}

static int make_room(struct commit_log *l, size_t bytes, struct err *err)
{
    PRE(bytes > 0);
    if (!log_segments_has_room(&l->segments, bytes))
        return begin_segment(l, bytes, err);
    if (!log_segments_must_grow(&l->segments, bytes))
        return 0;
    return log_segments_grow(&l->segments, atomic_load(&l->synced), bytes, err);
}

/* After an input/output error nothing that is written can be trusted, nor after
 * a sync that failed for whatever reason. A write to a full disk is different:
 * what failed is written again when there is room. */
static int
note_failure(struct commit_log *l, int rc, bool goes_on, struct err *err)
{
    struct err here = ERR_INIT;
    PRE(rc != 0);
    if (err)
        here = *err;
    else
        err_set(&here, rc, "%s", err_name(rc));
    err_wrap(&here, "commit log %s", l->segments.dir);
    if (!goes_on) {
        err_hint(&here,
                 "close the store and open it again when the disk works");
        mutex_lock(&l->segments.lock);
        if (!atomic_load(&l->broken)) {
            l->error = here;
            atomic_store(&l->broken, true);
        }
        mutex_unlock(&l->segments.lock);
    }
    err_copy(err, &here);
    return rc;
}

/* @bytes of records behind the end are written: they count. */
static void commit_log_advance(struct commit_log *l,
                               const struct log_record *last,
                               size_t bytes)
{
    struct segment *s = l->segments.current;
    uint64_t pages;
    PRE(bytes >= LOG_RECORD_HEADER_BYTES);
    PRE(s->file);
    mutex_lock(&l->segments.lock);
    s->end += bytes;
    pages = (segment_file_end(s) + LOG_PAGE_BYTES - 1) / LOG_PAGE_BYTES;
    s->whole = MAX_OF(s->whole, pages * LOG_PAGE_BYTES);
    s->last_sequence = l->last_sequence = last->last;
    mutex_unlock(&l->segments.lock);
    atomic_fetch_add(&l->position, bytes);
    atomic_fetch_add(&l->bytes, bytes);
}

/* The append of @bytes of records failed: make sure that the next open finds
 * none of them. */
static int
take_back(struct commit_log *l, size_t bytes, int rc, struct err *err)
{
    PRE(rc != 0);
    if (log_segments_erase(&l->segments, bytes, NULL)) {
        err_wrap(err, "the write failed, and so did taking it back");
        if (err)
            err->code = ERR_UNKNOWN_OUTCOME;
        return note_failure(l, ERR_UNKNOWN_OUTCOME, false, err);
    }
    return note_failure(l, rc, rc == ERR_FULL, err);
}

/* Append @records: @direct, and thereby synced, or through the page cache.
 * PRE: there is room. */
static int commit_log_append_records(struct commit_log *l,
                                     const struct log_record *records,
                                     size_t count,
                                     size_t bytes,
                                     bool direct,
                                     struct err *err)
{
    int rc = direct ? commit_log__write_direct(l, records, count, err)
                    : commit_log__write(l, records, count, bytes, err);
    PRE(count > 0);
    if (rc)
        return take_back(l, bytes, rc, err);
    commit_log_advance(l, &records[count - 1], bytes);
    commit_log_check(l);
    return 0;
}

/* The first step of every append. */
static int begin_append(struct commit_log *l, size_t bytes, struct err *err)
{
    int rc;
    PRE(bytes > 0);
    if (atomic_load(&l->broken))
        return err_copy(err, &l->error);
    rc = make_room(l, bytes, err);
    return rc ? note_failure(l, rc, rc == ERR_FULL, err) : 0;
}

int commit_log_append(struct commit_log *l,
                      const struct log_record *records,
                      size_t count,
                      struct err *err)
{
    size_t bytes = commit_log__bytes(l, records, count);
    int rc = begin_append(l, bytes, err);
    return rc ? rc
              : commit_log_append_records(l, records, count, bytes, false, err);
}

/* The work of one sync. */
struct sync_work {
    struct segment *segments[UNSYNCED_MAX]; /* Referenced. */
    size_t count;
    uint64_t position; /* Safe when it is done, */
    uint64_t sequence; /* up to this entry. */
    uint64_t names;    /* Names below it; 0: none is new. */
};

static void collect_work(struct commit_log *l, struct sync_work *w)
{
    uint64_t synced = atomic_load(&l->synced);
    *w = (struct sync_work){.position = l->segments.current->end,
                            .sequence = l->last_sequence};
    for (struct segment *s = l->segments.oldest; s && w->count < UNSYNCED_MAX;
         s = s->newer) {
        if (!s->file || s->end <= synced)
            continue;
        INVARIANT(s->references > 0);
        s->references++;
        w->segments[w->count++] = s;
    }
    if (w->count == UNSYNCED_MAX) { /* The rest waits for the next round. */
        w->position = w->segments[w->count - 1]->end;
        w->sequence = w->segments[w->count - 1]->last_sequence;
        INVARIANT(w->position > synced);
    }
    if (l->segments.named < l->segments.next_number)
        w->names = l->segments.next_number;
}

static void commit_log_raise(atomic_ullong *value, uint64_t to)
{
    unsigned long long old = atomic_load(value);
    while (old < to && !atomic_compare_exchange_weak(value, &old, to))
        ;
    POST(atomic_load(value) >= to);
}

static void finish_work(struct commit_log *l, struct sync_work *w, bool good)
{
    PRE(w->count <= UNSYNCED_MAX);
    mutex_lock(&l->segments.lock);
    if (good && w->names > l->segments.named)
        l->segments.named = w->names;
    for (size_t i = 0; i < w->count; i++)
        log_segments_unref(w->segments[i]);
    mutex_unlock(&l->segments.lock);
    if (good) {
        commit_log_raise(&l->synced, w->position);
        commit_log_raise(&l->synced_sequence, w->sequence);
    }
}

int commit_log_sync(struct commit_log *l, struct err *err)
{
    uint64_t target = atomic_load(&l->position);
    while (atomic_load(&l->synced) < target) {
        struct sync_work w;
        int rc = 0;
        if (atomic_load(&l->broken))
            return err_copy(err, &l->error);
        mutex_lock(&l->segments.lock);
        collect_work(l, &w);
        mutex_unlock(&l->segments.lock);
        for (size_t i = 0; i < w.count && rc == 0; i++)
            rc = file_sync(w.segments[i]->file, err);
        if (rc == 0 && w.names)
            rc = world_sync_dir(l->segments.world, l->segments.dir, err);
        finish_work(l, &w, rc == 0);
        if (rc)
            return note_failure(l, rc, false, err);
    }
    return 0;
}

/* Is the log on the disk but for the records to come, which are few enough to
 * be put together? Then these need no more than their own sync. */
static bool is_next_to_sync(struct commit_log *l, size_t bytes)
{
    bool named;
    if (bytes > LOG_DIRECT_BYTES_MAX ||
        atomic_load(&l->synced) != atomic_load(&l->position))
        return false;
    mutex_lock(&l->segments.lock);
    named = l->segments.named == l->segments.next_number;
    INVARIANT(l->segments.named <= l->segments.next_number);
    mutex_unlock(&l->segments.lock);
    return named;
}

int commit_log_append_synced(struct commit_log *l,
                             const struct log_record *records,
                             size_t count,
                             struct err *err)
{
    size_t bytes = commit_log__bytes(l, records, count);
    bool direct;
    PRE(count > 0);
    int rc = begin_append(l, bytes, err);
    if (rc)
        return rc;
    direct = is_next_to_sync(l, bytes);
    rc = commit_log_append_records(l, records, count, bytes, direct, err);
    if (rc)
        return rc;
    if (!direct) {
        rc = commit_log_sync(l, err);
        if (rc && err)
            err->code = ERR_UNKNOWN_OUTCOME;
        return rc ? ERR_UNKNOWN_OUTCOME : 0;
    }
    commit_log_raise(&l->synced, atomic_load(&l->position));
    commit_log_raise(&l->synced_sequence, l->last_sequence);
    return 0;
}

uint64_t commit_log_synced_sequence(const struct commit_log *l)
{
    return atomic_load(&l->synced_sequence);
}

/* --- as a write_log ------------------------------------------------------ */

static struct commit_log *of_base(struct write_log *l)
{
    PRE(l->ops == &base_ops);
    return (struct commit_log *)l;
}

static int base_write(struct write_log *l,
                      const struct log_record *records,
                      size_t count,
                      bool sync,
                      struct err *err)
{
    return sync ? commit_log_append_synced(of_base(l), records, count, err)
                : commit_log_append(of_base(l), records, count, err);
}

static int base_sync(struct write_log *l, struct err *err)
{
    return commit_log_sync(of_base(l), err);
}

static uint64_t base_synced_sequence(const struct write_log *l)
{
    return commit_log_synced_sequence((const struct commit_log *)l);
}

static void base_release(struct write_log *l, uint64_t sequence)
{
    commit_log_release(of_base(l), sequence);
}

static uint64_t base_bytes(const struct write_log *l)
{
    return commit_log_bytes((const struct commit_log *)l);
}

static size_t base_segment_count(struct write_log *l)
{
    return commit_log_segment_count(of_base(l));
}

static void base_close(struct write_log *l)
{
    PRE(l->ops == &base_ops);
    commit_log_close(of_base(l));
}

static const struct write_log_ops base_ops = {
    .writes_max = 1,
    .write = base_write,
    .sync = base_sync,
    .synced_sequence = base_synced_sequence,
    .release = base_release,
    .bytes = base_bytes,
    .segment_count = base_segment_count,
    .close = base_close,
};

struct write_log *commit_log_writer(struct commit_log *l)
{
    return &l->base;
}
