/* Segments as files: beginning one, growing it, releasing the oldest, spares.
 * Each change of the list is recorded in the order that log_segments.h proves
 * its claims from: a file is on the disk before it is recorded, and recorded as
 * released before it gets another name.
 *
 * A released file is written again as a later segment. That saves allocating
 * its blocks; the segment's number in each checksum tells old records from new
 * ones.
 */
#include "bigtable/log/log_segments.h"

#include <stdio.h>
#include <string.h>

#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "base/runtime/log.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/log/log_block.h"

#define SPARE_PATH_BYTES (LOG_PATH_BYTES + 32)
/* Of the first file that a process begins, which mostly writes a little and
 * leaves; one that outgrows it gets its full length. */
#define FIRST_FILE_BYTES ((uint64_t)1 << 20)
/* Looked at at once to be erased. */
#define ERASE_BYTES ((size_t)64 << 10)

/* s->lock is held. */
static void log_segments_check(const struct log_segments *s)
{
    INVARIANT(!s->current == !s->oldest); /* INV-6 */
    INVARIANT(!s->current || !s->current->newer);
    INVARIANT(!s->current || s->current->number < s->next_number); /* INV-5 */
    INVARIANT(s->named <= s->next_number);
}

/* --- spares -------------------------------------------------------------- */

void log_segments__add_spare(struct log_segments *s, const char *path)
{
    if (s->spare_count < LOG_SPARES_MAX)
        s->spares[s->spare_count++] = mem_strdup(path);
    else if (world_remove(s->world, path, NULL) != 0) {
        /* It is found again, and reused, at the next open. */
    }
    INVARIANT(s->spare_count <= LOG_SPARES_MAX); /* INV-7 */
}

/* Give the file of segment @number a spare's name: written to @spare. */
static int rename_to_spare(struct log_segments *s,
                           uint64_t number,
                           char *spare,
                           size_t size)
{
    char path[LOG_PATH_BYTES];
    PRE(number > 0);
    log_segment_path(path, s->dir, number);
    snprintf(spare, size, "%s/spare-%08llu", s->dir,
             (unsigned long long)number);
    return world_rename(s->world, path, spare, NULL);
}

/* --- the record ---------------------------------------------------------- */

void log_segments__list_add(struct buf *list, uint64_t number, uint64_t bytes)
{
    const struct log_named_segment n = {number, bytes};
    PRE(number > 0);
    buf_append(list, &n, sizeof(n));
}

/* The segments from @first on into @list. PRE: s->lock is held. */
void log_segments__list(const struct segment *first, struct buf *list)
{
    for (; first; first = first->newer)
        log_segments__list_add(list, first->number, first->file_bytes);
}

/* Record @list, which moves in, and @position. PRE: s->name_lock is held. */
int log_segments__record(struct log_segments *s,
                         struct buf *list,
                         uint64_t position,
                         struct err *err)
{
    PRE(list->len % sizeof(struct log_named_segment) == 0);

    const struct log_extent e = {log_segments__listed(list),
                                 log_segments__listed_count(list), position};
    int rc = s->name ? s->name(s->name_ctx, &e, err) : 0;
    if (rc) {
        buf_close(list);
        return rc;
    }
    buf_close(&s->recorded);
    s->recorded = *list;
    s->recorded_to = position;
    return 0;
}

/* --- beginning ----------------------------------------------------------- */

/* Does this process fill segments? */
static bool fills_segments(const struct log_segments *s)
{
    PRE(!s->current || s->oldest); /* INV-6 */
    return s->current && s->current->file;
}

static uint64_t whole_pages(uint64_t bytes)
{
    return (bytes + LOG_PAGE_BYTES - 1) / LOG_PAGE_BYTES * LOG_PAGE_BYTES;
}

/* How long the file of a full segment is, which has @need at least. */
static uint64_t full_file_bytes(const struct log_segments *s, uint64_t need)
{
    PRE(s->segment_bytes > 0);
    return whole_pages(
        MAX_OF(LOG_SEGMENT_HEADER_BYTES + s->segment_bytes, need));
}

static uint64_t first_file_bytes(const struct log_segments *s, uint64_t need)
{
    uint64_t full = full_file_bytes(s, need);
    PRE(need >= LOG_SEGMENT_HEADER_BYTES);
    return fills_segments(s) || need > FIRST_FILE_BYTES
               ? full
               : MIN_OF(full, FIRST_FILE_BYTES);
}

/* Open the file of segment @number: a spare if there is one, else a new one. */
static int open_segment_file(struct log_segments *s,
                             uint64_t number,
                             struct file **out,
                             bool *is_new,
                             struct err *err)
{
    char path[LOG_PATH_BYTES];
    int rc;
    PRE(number == s->next_number); /* INV-5 */
    *is_new = false;
    log_segment_path(path, s->dir, number);
    while (s->spare_count > 0) {
        char *spare = s->spares[--s->spare_count];
        rc = world_rename(s->world, spare, path, NULL);
        mem_free(spare);
        if (rc == 0 &&
            file_open(s->world, path, FILE_READ | FILE_WRITE, out, NULL) == 0)
            return 0;
    }
    *is_new = true;
    rc = file_open(s->world, path,
                   FILE_READ | FILE_WRITE | FILE_CREATE | FILE_TRUNCATE, out,
                   err);
    if (rc == 0 && fills_segments(s))
        file_allocate(*out, s->segment_bytes);
    return rc;
}

/* Make @f at least @bytes long, on the disk with its next sync. */
static int extend_file(struct file *f, uint64_t bytes, struct err *err)
{
    uint64_t size;
    int rc = file_size(f, &size, err);
    return rc || size >= bytes ? rc : file_truncate(f, bytes, err);
}

/* Make the name, the header and the length of a new segment durable, and record
 * it. PRE: both locks are held, and the file has @file_bytes. */
static int name_segment(struct log_segments *s,
                        uint64_t number,
                        struct file *f,
                        uint64_t file_bytes,
                        uint64_t synced,
                        struct err *err)
{
    struct buf list = BUF_INIT;
    int rc = file_sync(f, err);
    PRE(s->name);
    if (rc == 0)
        rc = world_sync_dir(s->world, s->dir, err);
    if (rc)
        return rc;
    INVARIANT(number < s->next_number); /* INV-5 */
    s->named = number + 1;
    log_segments__list(s->oldest, &list);
    log_segments__list_add(&list, number, file_bytes);
    return log_segments__record(s, &list, synced, err);
}

/* Make the names of all segments durable. PRE: s->lock is held. */
static int sync_names(struct log_segments *s, struct err *err)
{
    int rc = world_sync_dir(s->world, s->dir, err);
    PRE(mutex_is_held(&s->lock));
    if (rc == 0)
        s->named = s->next_number;
    return rc;
}

void log_segments__add(struct log_segments *s, struct segment *segment)
{
    PRE(!segment->newer);
    PRE(segment->number < s->next_number); /* INV-5 */
    INVARIANT(!s->current == !s->oldest);  /* INV-6 */
    segment->references = 1;
    if (s->current)
        s->current->newer = segment;
    else
        s->oldest = segment;
    s->current = segment;
}

/* The file of the segment of @h, with its header and its length. PRE: s->lock
 * is held. */
static int make_file(struct log_segments *s,
                     const struct log_segment_header *h,
                     uint64_t file_bytes,
                     struct file **out,
                     bool *is_new,
                     struct err *err)
{
    char bytes[LOG_SEGMENT_HEADER_BYTES];
    char spare[SPARE_PATH_BYTES];
    struct slice part = slice_make(bytes, sizeof(bytes));
    int rc = open_segment_file(s, h->number, out, is_new, err);
    PRE(file_bytes >= LOG_SEGMENT_HEADER_BYTES);
    if (rc)
        return rc;
    log_put_segment_header(bytes, h);
    rc = file_write_at(*out, 0, &part, 1, err);
    if (rc == 0 && s->name)
        rc = extend_file(*out, file_bytes, err);
    if (rc == 0)
        return 0;
    file_close(*out);
    if (rename_to_spare(s, h->number, spare, sizeof(spare)) == 0)
        log_segments__add_spare(s, spare);
    return rc;
}

/* PRE: both locks are held. */
static int start_segment(struct log_segments *s,
                         const struct log_segment_header *h,
                         uint64_t synced,
                         uint64_t file_bytes,
                         struct err *err)
{
    struct segment *segment;
    struct file *f;
    bool is_new;
    int rc = make_file(s, h, file_bytes, &f, &is_new, err);
    PRE(h->number == s->next_number); /* INV-5 */
    if (rc)
        return rc;
    s->next_number++;
    if (s->name)
        rc = name_segment(s, h->number, f, file_bytes, synced, err);
    if (rc) { /* It may have been recorded: the file stays, empty. */
        file_close(f);
        return rc;
    }
    segment = mem_zalloc(1, sizeof(*segment));
    segment->number = h->number;
    segment->base = segment->end = h->base;
    segment->file = f;
    segment->is_new = is_new;
    segment->file_bytes = s->name ? file_bytes : 0;
    INVARIANT(!s->current || s->current->number < h->number); /* INV-5 */
    log_segments__add(s, segment);
    log_segments_check(s);
    return 0;
}

/* The name of a segment is on the disk before the next is made: its records may
 * be synced before a sync of the directory. Mostly a release has seen to it
 * meanwhile. */
int log_segments_begin(struct log_segments *s,
                       uint64_t position,
                       uint64_t synced,
                       bool is_sealed,
                       uint64_t bytes,
                       struct err *err)
{
    struct log_segment_header h = {0, position, is_sealed};
    int rc = 0;
    PRE(synced <= position);
    mutex_lock(&s->name_lock);
    mutex_lock(&s->lock);
    h.number = s->next_number;
    INVARIANT(h.number > 0); /* INV-5 */
    if (s->named < s->next_number)
        rc = sync_names(s, err);
    if (rc == 0)
        rc = start_segment(
            s, &h, synced,
            first_file_bytes(s, LOG_SEGMENT_HEADER_BYTES + bytes), err);
    mutex_unlock(&s->lock);
    mutex_unlock(&s->name_lock);
    log_debug(s->world, "log", "segment=%s/%llu begins position=%llu code=%d",
              s->dir, (unsigned long long)h.number,
              (unsigned long long)position, rc);
    return rc;
}

/* --- room ---------------------------------------------------------------- */

bool log_segments_has_room(struct log_segments *s, uint64_t bytes)
{
    const struct segment *c;
    bool has_room;
    /* A release on another thread may free the current segment while it is an
     * old one without a file; with a file only the appender replaces it. */
    mutex_lock(&s->lock);
    c = s->current;
    INVARIANT(!c || c->end >= c->base);
    has_room =
        c && c->file &&
        (c->end == c->base || c->end - c->base + bytes <= s->segment_bytes);
    mutex_unlock(&s->lock);
    return has_room;
}

bool log_segments_must_grow(const struct log_segments *s, uint64_t bytes)
{
    PRE(s->current && s->current->file);
    return s->name &&
           segment_file_end(s->current) + bytes > s->current->file_bytes;
}

int log_segments_grow(struct log_segments *s,
                      uint64_t synced,
                      uint64_t bytes,
                      struct err *err)
{
    struct segment *c = s->current;
    uint64_t before = c->file_bytes;
    struct buf list = BUF_INIT;
    uint64_t to = full_file_bytes(s, segment_file_end(c) + bytes);
    int rc = extend_file(c->file, to, err);
    PRE(to >= before); /* INV-2 */
    if (rc == 0)
        rc = file_sync(c->file, err);
    if (rc)
        return rc;
    mutex_lock(&s->name_lock);
    mutex_lock(&s->lock);
    log_segments_check(s);
    c->file_bytes = to;
    log_segments__list(s->oldest, &list);
    rc = log_segments__record(s, &list, synced, err);
    if (rc)
        c->file_bytes = before;
    mutex_unlock(&s->lock);
    mutex_unlock(&s->name_lock);
    return rc;
}

static bool is_zero(const char *p, size_t len)
{
    return len == 0 || (p[0] == 0 && memcmp(p, p + 1, len - 1) == 0);
}

/* Zeros where there are others: what is a hole stays one, so that a disk that
 * is full has room for them. */
static int erase_part(struct file *f,
                      uint64_t offset,
                      size_t len,
                      char *room,
                      struct err *err)
{
    struct slice part = slice_make(room, 0);
    size_t got = 0;
    int rc = file_read_at(f, offset, room, len, &got, err);
    PRE(len <= ERASE_BYTES);
    if (rc || is_zero(room, got))
        return rc;
    memset(room, 0, got);
    part.len = got;
    return file_write_at(f, offset, &part, 1, err);
}

int log_segments_erase(struct log_segments *s, uint64_t bytes, struct err *err)
{
    struct segment *c = s->current;
    uint64_t end = segment_file_end(c);
    char *room = mem_alloc(ERASE_BYTES);
    int rc = 0;
    for (uint64_t at = 0; at < bytes && rc == 0; at += ERASE_BYTES)
        rc = erase_part(c->file, end + at,
                        (size_t)MIN_OF(bytes - at, ERASE_BYTES), room, err);
    if (rc == 0)
        rc = file_sync(c->file, err);
    mem_free(room);
    if (rc)
        return rc;
    mutex_lock(&s->lock);
    PRE(c->file);
    c->whole = MIN_OF(c->whole, end - end % LOG_PAGE_BYTES);
    c->is_new = true;
    mutex_unlock(&s->lock);
    return 0;
}

/* --- releasing ----------------------------------------------------------- */

void log_segments_unref(struct segment *s)
{
    PRE(s->references > 0);
    if (--s->references > 0)
        return;
    file_close(s->direct);
    file_close(s->file);
    mem_free(s);
}

/* Is nothing appended to @segment any more? PRE: s->lock is held. */
static bool is_full(const struct log_segments *s, const struct segment *segment)
{
    PRE(mutex_is_held(&s->lock));
    return segment && (segment != s->current || !segment->file);
}

/* Does any segment hold nothing above @sequence? Then the others, which stay,
 * are added to @rest. PRE: s->lock is held. */
static bool
can_release(const struct log_segments *s, uint64_t sequence, struct buf *rest)
{
    const struct segment *first = s->oldest;
    PRE(rest->len == 0);
    while (is_full(s, first) && first->last_sequence <= sequence)
        first = first == s->current ? NULL : first->newer;
    if (first == s->oldest)
        return false;
    log_segments__list(first, rest);
    return true;
}

/* Take the segments out of the list that hold nothing above @sequence, chained
 * by `newer`. PRE: s->lock is held. */
static struct segment *take_released(struct log_segments *s, uint64_t sequence)
{
    struct segment *first = s->oldest;
    struct segment *last = NULL;
    PRE(mutex_is_held(&s->lock));
    while (is_full(s, s->oldest) && s->oldest->last_sequence <= sequence) {
        last = s->oldest;
        s->oldest = last->newer;
        INVARIANT(s->oldest || last == s->current); /* INV-6 */
        if (last == s->current)
            s->current = NULL;
    }
    if (!last)
        return NULL;
    last->newer = NULL;
    log_segments_check(s);
    return first;
}

/* Record the segments that stay (INV-4), and take the others out of the list.
 * *@named: all names below it were given before. */
static struct segment *begin_release(struct log_segments *s,
                                     uint64_t sequence,
                                     uint64_t synced,
                                     uint64_t *named)
{
    struct buf rest = BUF_INIT;
    struct segment *released;
    bool good;
    PRE(mutex_is_held(&s->release_lock)); /* Taken first. */
    mutex_lock(&s->name_lock);
    mutex_lock(&s->lock);
    good = can_release(s, sequence, &rest);
    mutex_unlock(&s->lock);
    good = good && log_segments__record(s, &rest, synced, NULL) == 0;
    mutex_lock(&s->lock);
    released = good ? take_released(s, sequence) : NULL;
    *named = s->next_number;
    mutex_unlock(&s->lock);
    mutex_unlock(&s->name_lock);
    return released;
}

/* The spares of @released get their names, which are on the disk; the segments
 * are freed. */
static void
end_release(struct log_segments *s, struct segment *released, uint64_t named)
{
    struct buf spares = BUF_INIT; /* char[SPARE_PATH_BYTES] each. */
    bool good;
    PRE(released);
    for (const struct segment *r = released; r; r = r->newer) {
        char *spare = buf_extend(&spares, SPARE_PATH_BYTES);
        if (rename_to_spare(s, r->number, spare, SPARE_PATH_BYTES) != 0)
            spares.len -= SPARE_PATH_BYTES; /* The next open finds it. */
    }
    /* When it fails, the next sync meets the same disk and reports it. */
    good = world_sync_dir(s->world, s->dir, NULL) == 0;
    mutex_lock(&s->lock);
    if (good && named > s->named)
        s->named = named;
    for (size_t i = 0; good && i < spares.len; i += SPARE_PATH_BYTES)
        log_segments__add_spare(s, spares.data + i);
    while (released) {
        struct segment *r = released;
        released = r->newer;
        log_segments_unref(r);
    }
    mutex_unlock(&s->lock);
    buf_close(&spares);
}

static uint64_t log_segments_release_synced(struct log_segments *s,
                                            uint64_t sequence,
                                            uint64_t synced)
{
    uint64_t bytes = 0;
    uint64_t named;
    PRE(mutex_is_held(&s->release_lock));
    struct segment *released = begin_release(s, sequence, synced, &named);
    for (const struct segment *r = released; r; r = r->newer)
        bytes += r->end - r->base;
    if (released)
        end_release(s, released, named);
    return bytes;
}

uint64_t
log_segments_release(struct log_segments *s, uint64_t sequence, uint64_t synced)
{
    struct dir_lock *alone;
    uint64_t bytes = 0;
    mutex_lock(&s->release_lock);
    if (dir_lock(s->world, s->dir, true, &alone, NULL) != ERR_BUSY) {
        bytes = log_segments_release_synced(s, sequence, synced);
        dir_unlock(alone);
    }
    mutex_unlock(&s->release_lock);
    return bytes;
}

size_t log_segments_count(struct log_segments *s)
{
    size_t count = 0;
    mutex_lock(&s->lock);
    for (const struct segment *i = s->oldest; i; i = i->newer)
        count++;
    log_segments_check(s);
    mutex_unlock(&s->lock);
    return count;
}

/* --- the end ------------------------------------------------------------- */

/* Give back what was reserved behind the last record. */
static void log_segments_trim(struct segment *s)
{
    if (s->file) {
        /* The space comes back when the segment is released. */
        IGNORE_RESULT(file_truncate(s->file, segment_file_end(s), NULL));
    }
}

/* Spares are of use to a log that is written; nobody else wants their space. */
static void remove_spares(struct log_segments *s)
{
    INVARIANT(s->spare_count <= LOG_SPARES_MAX); /* INV-7 */
    while (s->spare_count > 0) {
        char *spare = s->spares[--s->spare_count];
        /* It is found again, and reused, at the next open. */
        IGNORE_RESULT(world_remove(s->world, spare, NULL));
        mem_free(spare);
    }
}

void log_segments_finish(struct log_segments *s, uint64_t end)
{
    struct segment *c = s->current;
    struct buf list = BUF_INIT;
    remove_spares(s);
    if (!c)
        return;
    if (c->file)
        c->file_bytes = s->name ? segment_file_end(c) : 0;
    if (s->name && (c->file || end > s->recorded_to)) {
        log_segments__list(s->oldest, &list);
        if (log_segments__record(s, &list, end, NULL) != 0)
            return; /* The last record still holds: INV-2. */
    }
    INVARIANT(end <= c->end || !c->file);
    log_segments_trim(c);
}

void log_segments_close(struct log_segments *s)
{
    while (s->oldest) {
        struct segment *i = s->oldest;
        s->oldest = i->newer;
        log_segments_unref(i);
    }
    for (size_t i = 0; i < s->spare_count; i++)
        mem_free(s->spares[i]);
    buf_close(&s->recorded);
    mutex_close(&s->lock);
    mutex_close(&s->name_lock);
    mutex_close(&s->release_lock);
    INVARIANT(!s->oldest);
}
