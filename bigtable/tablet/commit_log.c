/* The commit log as it is written: its segments, appends and syncs. */
#include "bigtable/tablet/commit_log.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/tablet/commit_log_parts.h"
#include "bigtable/tablet/log_format.h"
#include "bigtable/tablet/log_seal.h"

#define SPARE_PATH_BYTES (LOG_PATH_BYTES + 32)
/* Files one round of a sync goes through: segments filled since the last. */
#define UNSYNCED_MAX 64

static const struct write_log_ops base_ops;

/* --- spares ------------------------------------------------------------ */

static void add_spare(struct commit_log *l, const char *path)
{
    if (l->spare_count < SPARES_MAX)
        l->spares[l->spare_count++] = mem_strdup(path);
    else if (world_remove(l->world, path, NULL) != 0) {
        /* It is found again, and reused, at the next open. */
    }
}

/* Give the file of segment @number a spare's name: written to @spare. */
static int
rename_to_spare(struct commit_log *l, uint64_t number, char *spare, size_t size)
{
    char path[LOG_PATH_BYTES];
    log_segment_path(path, l->dir, number);
    snprintf(spare, size, "%s/spare-%08llu", l->dir,
             (unsigned long long)number);
    return world_rename(l->world, path, spare, NULL);
}

/* --- segments ---------------------------------------------------------- */

/* Open the file of segment @number: a spare if there is one, else a new one. */
static int open_segment_file(struct commit_log *l,
                             uint64_t number,
                             struct file **out,
                             bool *is_new,
                             struct err *err)
{
    char path[LOG_PATH_BYTES];
    int rc;
    *is_new = false;
    log_segment_path(path, l->dir, number);
    while (l->spare_count > 0) {
        char *spare = l->spares[--l->spare_count];
        rc = world_rename(l->world, spare, path, NULL);
        mem_free(spare);
        if (rc == 0 &&
            file_open(l->world, path, FILE_READ | FILE_WRITE, out, NULL) == 0)
            return 0;
    }
    *is_new = true;
    rc = file_open(l->world, path,
                   FILE_READ | FILE_WRITE | FILE_CREATE | FILE_TRUNCATE, out,
                   err);
    /* Whoever fills one segment will fill the next; most processes write a
     * little and leave. */
    if (rc == 0 && l->current)
        file_allocate(*out, l->segment_bytes);
    return rc;
}

/* The segments from @s on into @list. PRE: l->lock is held. */
static void list_segments(const struct segment *s, struct buf *list)
{
    for (; s; s = s->newer)
        buf_append(list, &s->number, sizeof(s->number));
}

/* Record @list, which moves in, and @position. PRE: l->name_lock is held. */
static int record_extent(struct commit_log *l,
                         struct buf *list,
                         uint64_t position,
                         struct err *err)
{
    const struct log_extent e = {(const uint64_t *)(const void *)list->data,
                                 list->len / sizeof(uint64_t), position};
    int rc = l->name ? l->name(l->name_ctx, &e, err) : 0;
    if (rc) {
        buf_close(list);
        return rc;
    }
    buf_close(&l->recorded);
    l->recorded = *list;
    l->recorded_to = position;
    return 0;
}

/* Make the name and header of a new segment durable, and record it. PRE: both
 * locks are held. */
static int name_segment(struct commit_log *l,
                        uint64_t number,
                        struct file *f,
                        struct err *err)
{
    struct buf list = BUF_INIT;
    int rc;
    if (!l->name)
        return 0;
    rc = file_sync(f, err);
    if (rc == 0)
        rc = world_sync_dir(l->world, l->dir, err);
    if (rc)
        return rc;
    l->named = number + 1;
    list_segments(l->oldest, &list);
    buf_append(&list, &number, sizeof(number));
    return record_extent(l, &list, atomic_load(&l->synced), err);
}

/* A sealer for a new segment, where records are encrypted: with the key of now,
 * and a salt of its own. PRE: both locks are held. */
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

/* Begin a segment at the present position. PRE: both locks are held. */
static int start_segment(struct commit_log *l, struct err *err)
{
    uint64_t position = atomic_load(&l->position);
    struct log_segment_header h = {l->next_number, position,
                                   l->keyring != NULL};
    char bytes[LOG_SEGMENT_HEADER_BYTES];
    struct slice part = slice_make(bytes, sizeof(bytes));
    struct segment *s;
    struct file *f;
    bool is_new;
    int rc = take_sealer(l, err);
    if (rc == 0)
        rc = open_segment_file(l, h.number, &f, &is_new, err);
    if (rc)
        return rc;
    log_put_segment_header(bytes, &h);
    rc = file_write_at(f, 0, &part, 1, err);
    if (rc) {
        char spare[SPARE_PATH_BYTES];
        file_close(f);
        if (rename_to_spare(l, h.number, spare, sizeof(spare)) == 0)
            add_spare(l, spare);
        return rc;
    }
    rc = name_segment(l, h.number, f, err);
    if (rc) { /* It may have been recorded: the file stays, empty. */
        file_close(f);
        l->next_number++;
        return rc;
    }
    s = mem_zalloc(1, sizeof(*s));
    s->number = l->next_number++;
    s->base = s->end = position;
    s->file = f;
    s->is_new = is_new;
    s->references = 1;
    if (l->current)
        l->current->newer = s;
    else
        l->oldest = s;
    l->current = s;
    l->block.len = 0;
    log_block_append(&l->block, part);
    l->cached = true;
    return 0;
}

/* PRE: l->lock is held, or nobody else is there. */
static void unref_segment(struct segment *s)
{
    if (--s->references > 0)
        return;
    file_close(s->direct);
    file_close(s->file);
    mem_free(s);
}

/* Is nothing appended to @s any more? PRE: l->lock is held. */
static bool is_full(const struct commit_log *l, const struct segment *s)
{
    return s && (s != l->current || !s->file);
}

/* Make the names of all segments durable. PRE: l->lock is held. */
static int sync_names(struct commit_log *l, struct err *err)
{
    int rc = world_sync_dir(l->world, l->dir, err);
    if (rc == 0)
        l->named = l->next_number;
    return rc;
}

/* Does any segment hold nothing above @sequence? Then the others, which stay,
 * are added to @rest. PRE: l->lock is held. */
static bool
can_release(const struct commit_log *l, uint64_t sequence, struct buf *rest)
{
    const struct segment *s = l->oldest;
    while (is_full(l, s) && s->last_sequence <= sequence)
        s = s == l->current ? NULL : s->newer;
    if (s == l->oldest)
        return false;
    list_segments(s, rest);
    return true;
}

/* Take the segments out of the list that hold nothing above @sequence, chained
 * by `newer`. PRE: l->lock is held. */
static struct segment *take_released(struct commit_log *l, uint64_t sequence)
{
    struct segment *first = l->oldest;
    struct segment *last = NULL;
    while (is_full(l, l->oldest) && l->oldest->last_sequence <= sequence) {
        last = l->oldest;
        l->oldest = last->newer;
        if (last == l->current)
            l->current = NULL;
        atomic_fetch_sub(&l->bytes, last->end - last->base);
    }
    if (!last)
        return NULL;
    last->newer = NULL;
    return first;
}

/* The spares' names are made durable before they are written again: a segment
 * that came back half overwritten would look like damage. Renames and sync may
 * take the disk long, so appends continue meanwhile. */
static void release_segments(struct commit_log *l, uint64_t sequence)
{
    struct buf spares = BUF_INIT; /* char[SPARE_PATH_BYTES] each. */
    struct buf rest = BUF_INIT;
    struct segment *released;
    uint64_t named;
    bool good;
    mutex_lock(&l->name_lock);
    mutex_lock(&l->lock);
    good = can_release(l, sequence, &rest);
    mutex_unlock(&l->lock);
    /* Recorded first: what is released must not be missed. */
    good = good && record_extent(l, &rest, atomic_load(&l->synced), NULL) == 0;
    mutex_lock(&l->lock);
    released = good ? take_released(l, sequence) : NULL;
    named = l->next_number;
    mutex_unlock(&l->lock);
    mutex_unlock(&l->name_lock);
    if (!released)
        return;
    for (const struct segment *s = released; s; s = s->newer) {
        char *spare = buf_extend(&spares, SPARE_PATH_BYTES);
        if (rename_to_spare(l, s->number, spare, SPARE_PATH_BYTES) != 0)
            spares.len -= SPARE_PATH_BYTES; /* The next open finds it. */
    }
    /* When it fails, the next sync meets the same disk and reports it. */
    good = world_sync_dir(l->world, l->dir, NULL) == 0;
    mutex_lock(&l->lock);
    if (good && named > l->named)
        l->named = named;
    for (size_t i = 0; good && i < spares.len; i += SPARE_PATH_BYTES)
        add_spare(l, spares.data + i);
    while (released) {
        struct segment *s = released;
        released = s->newer;
        unref_segment(s);
    }
    mutex_unlock(&l->lock);
    buf_close(&spares);
}

/* A reader that is opening the store has locked the directory, and keeps all
 * segments: the next release has them too. */
void commit_log_release(struct commit_log *l, uint64_t sequence)
{
    struct dir_lock *alone;
    mutex_lock(&l->release_lock);
    if (dir_lock(l->world, l->dir, true, &alone, NULL) != ERR_BUSY) {
        release_segments(l, sequence);
        dir_unlock(alone);
    }
    mutex_unlock(&l->release_lock);
}

uint64_t commit_log_bytes(const struct commit_log *l)
{
    return atomic_load(&l->bytes);
}

/* --- opening ----------------------------------------------------------- */

/* A segment of before this open stays until what it holds is in tables. What it
 * holds was only read back: it is synced now, because what follows claims so.
 */
static int keep_segment(struct commit_log *l,
                        uint64_t number,
                        const struct log_end *end,
                        struct err *err)
{
    char path[LOG_PATH_BYTES];
    struct segment *s;
    struct file *f;
    uint64_t size = 0;
    int rc;
    log_segment_path(path, l->dir, number);
    rc = file_open(l->world, path, FILE_READ | FILE_WRITE, &f, err);
    if (rc)
        return rc;
    rc = file_sync(f, err);
    if (rc == 0)
        rc = file_size(f, &size, err);
    file_close(f);
    if (rc)
        return rc;
    s = mem_zalloc(1, sizeof(*s));
    s->number = number;
    s->base = end->position;
    s->end = s->base + size;
    s->last_sequence = end->last_sequence;
    s->references = 1;
    if (l->current)
        l->current->newer = s;
    else
        l->oldest = s;
    l->current = s;
    atomic_fetch_add(&l->bytes, size);
    return 0;
}

/* 0: none is. */
static uint64_t first_recorded(const struct commit_log *l)
{
    return l->recorded.len ? *(const uint64_t *)(const void *)l->recorded.data
                           : 0;
}

/* One name in the directory: an old segment, one behind the end, or a spare. */
static int take_name(struct commit_log *l,
                     const char *name,
                     const struct log_end *end,
                     struct err *err)
{
    char path[LOG_PATH_BYTES + 256];
    uint64_t number;
    snprintf(path, sizeof(path), "%s/%s", l->dir, name);
    if (log_spare_number(name, &number)) {
        add_spare(l, path);
        return 0;
    }
    if (!log_segment_number(name, &number))
        return 0;
    if (number > end->segment || number < first_recorded(l))
        return world_remove(l->world, path, err);
    return keep_segment(l, number, end, err);
}

static int
take_directory(struct commit_log *l, const struct log_end *end, struct err *err)
{
    char **names;
    size_t count;
    int rc = world_mkdir(l->world, l->dir, err);
    if (rc && rc != ERR_EXISTS)
        return rc;
    rc = world_list(l->world, l->dir, &names, &count, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = take_name(l, names[i], end, err);
    world_names_free(names, count);
    /* What was removed must not come back between what is kept and what is
     * written next. */
    return rc ? rc : world_sync_dir(l->world, l->dir, err);
}

/* The recorded segments up to number @last into @list. */
static void
list_kept(const struct commit_log *l, uint64_t last, struct buf *list)
{
    const uint64_t *numbers = (const uint64_t *)(const void *)l->recorded.data;
    size_t count = l->recorded.len / sizeof(*numbers);
    for (size_t i = 0; i < count && numbers[i] <= last; i++)
        buf_append(list, &numbers[i], sizeof(*numbers));
}

/* Take the segments there are, and record what the log is now if that is not
 * what was recorded: after a repair, or in a store of format 1. */
static int
open_segments(struct commit_log *l, const struct log_end *end, struct err *err)
{
    struct buf list = BUF_INIT;
    uint64_t position = MIN_OF(l->recorded_to, end->position);
    int rc = 0;
    list_kept(l, end->segment, &list);
    /* Recorded first: take_directory() removes what is behind the end. */
    if (list.len != l->recorded.len || position != l->recorded_to)
        rc = record_extent(l, &list, position, err);
    else
        buf_close(&list);
    if (rc == 0)
        rc = take_directory(l, end, err);
    if (rc)
        return rc;
    list = BUF_INIT;
    list_segments(l->oldest, &list);
    if (list.len != l->recorded.len)
        return record_extent(l, &list, end->position, err);
    buf_close(&list);
    return 0;
}

int commit_log_open(const struct commit_log_options *opts,
                    const struct log_end *end,
                    struct commit_log **out,
                    struct err *err)
{
    struct commit_log *l = mem_zalloc(1, sizeof(*l));
    int rc;
    l->base.ops = &base_ops;
    l->world = opts->world;
    l->segment_bytes =
        opts->segment_bytes ? opts->segment_bytes : LOG_SEGMENT_BYTES;
    snprintf(l->dir, sizeof(l->dir), "%s", opts->dir);
    l->next_number = end->next_segment;
    atomic_init(&l->position, end->position);
    atomic_init(&l->synced, end->position);
    atomic_init(&l->synced_sequence, end->last_sequence);
    l->named = end->next_segment;
    l->last_sequence = end->last_sequence;
    l->keyring = opts->keyring;
    l->name = opts->name;
    l->name_ctx = opts->name_ctx;
    if (opts->named.count)
        buf_append(&l->recorded, opts->named.segments,
                   opts->named.count * sizeof(uint64_t));
    l->recorded_to = opts->named.position;
    mutex_init(&l->release_lock);
    mutex_init(&l->name_lock);
    mutex_init(&l->lock);
    *out = NULL;
    rc = open_segments(l, end, err);
    if (rc) {
        err_wrap(err, "commit log %s", opts->dir);
        commit_log_close(l);
        return rc;
    }
    *out = l;
    return 0;
}

size_t commit_log_segment_count(struct commit_log *l)
{
    size_t count = 0;
    mutex_lock(&l->lock);
    for (const struct segment *s = l->oldest; s; s = s->newer)
        count++;
    mutex_unlock(&l->lock);
    return count;
}

/* Give back what was reserved behind the last record. */
static void trim(struct segment *s)
{
    uint64_t bytes = LOG_SEGMENT_HEADER_BYTES + (s->end - s->base);
    if (s->file && file_truncate(s->file, bytes, NULL) != 0) {
        /* The space comes back when the segment is let go of. */
    }
}

/* Record where the log ends, so that a cut is noticed. */
static void record_end(struct commit_log *l)
{
    struct buf list = BUF_INIT;
    uint64_t end = atomic_load(&l->position);
    if (!l->name || !l->oldest || atomic_load(&l->broken) ||
        end <= l->recorded_to || commit_log_sync(l, NULL) != 0)
        return;
    list_segments(l->oldest, &list);
    if (record_extent(l, &list, end, NULL)) {
        /* What was recorded before holds. */
    }
}

void commit_log_close(struct commit_log *l)
{
    if (!l)
        return;
    record_end(l);
    if (l->current)
        trim(l->current);
    while (l->oldest) {
        struct segment *s = l->oldest;
        l->oldest = s->newer;
        unref_segment(s);
    }
    for (size_t i = 0; i < l->spare_count; i++)
        mem_free(l->spares[i]);
    log_block_close(&l->block);
    unit_sealer_free(l->sealer);
    buf_close(&l->recorded);
    mutex_close(&l->lock);
    mutex_close(&l->name_lock);
    mutex_close(&l->release_lock);
    mem_free(l);
}

/* --- appending --------------------------------------------------------- */

/* The name of a segment is on the disk before the next is made: its records may
 * be synced before a sync of the directory. Mostly a release has seen to it
 * meanwhile. */
static int make_room(struct commit_log *l, size_t bytes, struct err *err)
{
    const struct segment *s = l->current;
    int rc = 0;
    if (s && s->file &&
        (s->end == s->base || s->end - s->base + bytes <= l->segment_bytes))
        return 0;
    mutex_lock(&l->name_lock);
    mutex_lock(&l->lock);
    if (l->named < l->next_number)
        rc = sync_names(l, err);
    if (rc == 0)
        rc = start_segment(l, err);
    mutex_unlock(&l->lock);
    mutex_unlock(&l->name_lock);
    return rc;
}

/* After an input/output error nothing that is written can be trusted, nor after
 * a sync that failed for whatever reason. A write to a full disk is different:
 * what failed is written again when there is room. */
static int
note_failure(struct commit_log *l, int rc, bool goes_on, struct err *err)
{
    struct err here = ERR_INIT;
    if (err)
        here = *err;
    else
        err_set(&here, rc, "%s", err_name(rc));
    err_wrap(&here, "commit log %s", l->dir);
    if (!goes_on) {
        err_hint(&here,
                 "close the store and open it again when the disk works");
        mutex_lock(&l->lock);
        if (!atomic_load(&l->broken)) {
            l->error = here;
            atomic_store(&l->broken, true);
        }
        mutex_unlock(&l->lock);
    }
    err_copy(err, &here);
    return rc;
}

/* @bytes of records behind the end are written: they count. */
static void
advance(struct commit_log *l, const struct log_record *last, size_t bytes)
{
    struct segment *s = l->current;
    uint64_t pages;
    mutex_lock(&l->lock);
    s->end += bytes;
    pages = (commit_log__end(s) + LOG_PAGE_BYTES - 1) / LOG_PAGE_BYTES;
    s->whole = MAX_OF(s->whole, pages * LOG_PAGE_BYTES);
    s->last_sequence = l->last_sequence = last->last;
    mutex_unlock(&l->lock);
    atomic_fetch_add(&l->position, bytes);
    atomic_fetch_add(&l->bytes, bytes);
}

/* The append of records failed: make sure that the next open finds none of
 * them. */
static int take_back(struct commit_log *l, int rc, struct err *err)
{
    struct segment *s = l->current;
    uint64_t end = commit_log__end(s);
    uint64_t size = 0;
    int back = file_size(s->file, &size, NULL);
    if (back == 0 && size > end)
        back = file_truncate(s->file, end, NULL);
    if (back == 0)
        back = file_sync(s->file, NULL);
    if (back) {
        err_wrap(err, "the write failed, and so did taking it back");
        if (err)
            err->code = ERR_UNKNOWN_OUTCOME;
        return note_failure(l, ERR_UNKNOWN_OUTCOME, false, err);
    }
    mutex_lock(&l->lock);
    s->whole = MIN_OF(s->whole, end - end % LOG_PAGE_BYTES);
    s->is_new = true;
    mutex_unlock(&l->lock);
    return note_failure(l, rc, rc == ERR_FULL, err);
}

/* Append @records: @direct, and thereby synced, or through the page cache.
 * PRE: there is room. */
static int append(struct commit_log *l,
                  const struct log_record *records,
                  size_t count,
                  size_t bytes,
                  bool direct,
                  struct err *err)
{
    int rc = direct ? commit_log__write_direct(l, records, count, err)
                    : commit_log__write(l, records, count, bytes, err);
    if (rc)
        return take_back(l, rc, err);
    advance(l, &records[count - 1], bytes);
    return 0;
}

/* What every append begins with. */
static int begin_append(struct commit_log *l, size_t bytes, struct err *err)
{
    int rc;
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
    return rc ? rc : append(l, records, count, bytes, false, err);
}

/* What one sync has to do. */
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
    *w = (struct sync_work){.position = l->current->end,
                            .sequence = l->last_sequence};
    for (struct segment *s = l->oldest; s && w->count < UNSYNCED_MAX;
         s = s->newer) {
        if (!s->file || s->end <= synced)
            continue;
        s->references++;
        w->segments[w->count++] = s;
    }
    if (w->count == UNSYNCED_MAX) { /* The rest waits for the next round. */
        w->position = w->segments[w->count - 1]->end;
        w->sequence = w->segments[w->count - 1]->last_sequence;
    }
    if (l->named < l->next_number)
        w->names = l->next_number;
}

static void raise(atomic_ullong *value, uint64_t to)
{
    unsigned long long old = atomic_load(value);
    while (old < to && !atomic_compare_exchange_weak(value, &old, to))
        ;
}

static void finish_work(struct commit_log *l, struct sync_work *w, bool good)
{
    mutex_lock(&l->lock);
    if (good && w->names > l->named)
        l->named = w->names;
    for (size_t i = 0; i < w->count; i++)
        unref_segment(w->segments[i]);
    mutex_unlock(&l->lock);
    if (good) {
        raise(&l->synced, w->position);
        raise(&l->synced_sequence, w->sequence);
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
        mutex_lock(&l->lock);
        collect_work(l, &w);
        mutex_unlock(&l->lock);
        for (size_t i = 0; i < w.count && rc == 0; i++)
            rc = file_sync(w.segments[i]->file, err);
        if (rc == 0 && w.names)
            rc = world_sync_dir(l->world, l->dir, err);
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
    mutex_lock(&l->lock);
    named = l->named == l->next_number;
    mutex_unlock(&l->lock);
    return named;
}

int commit_log_append_synced(struct commit_log *l,
                             const struct log_record *records,
                             size_t count,
                             struct err *err)
{
    size_t bytes = commit_log__bytes(l, records, count);
    bool direct;
    int rc = begin_append(l, bytes, err);
    if (rc)
        return rc;
    direct = is_next_to_sync(l, bytes);
    rc = append(l, records, count, bytes, direct, err);
    if (rc)
        return rc;
    if (!direct) {
        rc = commit_log_sync(l, err);
        if (rc && err)
            err->code = ERR_UNKNOWN_OUTCOME;
        return rc ? ERR_UNKNOWN_OUTCOME : 0;
    }
    raise(&l->synced, atomic_load(&l->position));
    raise(&l->synced_sequence, l->last_sequence);
    return 0;
}

uint64_t commit_log_synced_sequence(const struct commit_log *l)
{
    return atomic_load(&l->synced_sequence);
}

/* --- as a write_log ------------------------------------------------------ */

static struct commit_log *of_base(struct write_log *l)
{
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
