/* Reading the commit log after a restart: segment by segment, record by record,
 * up to the first record that is not whole. Then the rest is searched for a
 * record that was written when more than that was known to be on the disk: it
 * tells damage from the unfinished end (commit_log.h).
 *
 * Without repair the list in the manifest is checked too: a segment that is
 * missing or shorter than recorded would otherwise look like a shorter log.
 */
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/log/commit_log.h"
#include "bigtable/log/log_format.h"
#include "bigtable/log/log_seal.h"

/* Bytes of one segment accepted: a record of the largest mutation and more. */
#define SEGMENT_BYTES_MAX ((uint64_t)8 << 30)

struct segment {
    uint64_t number; /* Of its name. */
    uint64_t bytes;  /* Of its file. */
    bool whole;      /* Its header is, and says the same number. */
    bool is_sealed;  /* Its records are encrypted. */
    uint64_t base;
};

struct log_reader {
    const struct commit_log_options *opts;
    struct segment *segments; /* Ascending. Owned. */
    size_t count;
    struct buf bytes;           /* Of the segment in hand. */
    uint64_t file_bytes;        /* Of its file. */
    struct unit_opener *opener; /* Of encrypted records. Owned. */
    uint64_t spare_max;         /* Highest number a spare had. */
    uint64_t last_sequence;
};

static int read_file(struct log_reader *r,
                     uint64_t number,
                     uint64_t bytes_max,
                     struct err *err)
{
    char path[LOG_PATH_BYTES];
    struct file *f;
    uint64_t size;
    size_t got = 0;
    int rc;
    PRE(number > 0);
    log_segment_path(path, r->opts->dir, number);
    rc = file_open(r->opts->world, path, FILE_READ, &f, err);
    if (rc)
        return rc;
    buf_clear(&r->bytes);
    rc = file_size(f, &size, err);
    r->file_bytes = rc ? 0 : size;
    if (rc == 0 && size > SEGMENT_BYTES_MAX)
        rc = err_set(err, ERR_CORRUPT, "%s: %llu bytes are too many", path,
                     (unsigned long long)size);
    if (rc == 0) {
        size_t want = (size_t)MIN_OF(size, bytes_max);
        rc = file_read_at(f, 0, buf_reserve(&r->bytes, want), want, &got, err);
        r->bytes.len = got;
    }
    file_close(f);
    return rc;
}

static int compare_segments(const void *a, const void *b)
{
    uint64_t x = ((const struct segment *)a)->number;
    uint64_t y = ((const struct segment *)b)->number;
    return (x > y) - (x < y);
}

static int read_header(struct log_reader *r, struct segment *s, struct err *err)
{
    struct log_segment_header h = {.number = 0};
    PRE(s->number > 0);
    int rc = read_file(r, s->number, LOG_SEGMENT_HEADER_BYTES, err);
    if (rc == 0)
        rc = log_get_segment_header(buf_slice(&r->bytes), &h, &s->whole, err);
    /* A spare that was renamed, and not begun. */
    s->whole = s->whole && h.number == s->number;
    s->bytes = r->file_bytes;
    s->base = h.base;
    s->is_sealed = h.is_sealed;
    return rc;
}

/* Segments are released oldest first, but the changes of their names may reach
 * the disk in any order. So files before the first segment recorded were
 * released. Where nothing is recorded, files before a gap in the numbers were:
 * no gap comes about otherwise, because a log that is opened continues with the
 * next number. */
static void skip_released(struct log_reader *r)
{
    const struct log_extent *e = &r->opts->named;
    uint64_t named = e->count ? e->segments[0].number : 0;
    size_t first = 0;
    while (named && first < r->count && r->segments[first].number < named)
        first++;
    for (size_t i = 1; i < r->count && !named; i++)
        if (r->segments[i].number != r->segments[i - 1].number + 1)
            first = i;
    INVARIANT(first <= r->count);
    r->count -= first;
    memmove(r->segments, r->segments + first, r->count * sizeof(*r->segments));
}

static int list_segments(struct log_reader *r, struct err *err)
{
    char **names = NULL;
    size_t count = 0;
    int rc = world_list(r->opts->world, r->opts->dir, &names, &count, err);
    if (rc == ERR_NOTFOUND)
        return 0;
    if (rc)
        return rc;
    r->segments = mem_zalloc(count + 1, sizeof(*r->segments));
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct segment *s = &r->segments[r->count];
        uint64_t spare;
        if (log_spare_number(names[i], &spare))
            r->spare_max = MAX_OF(r->spare_max, spare);
        if (!log_segment_number(names[i], &s->number))
            continue;
        rc = read_header(r, s, err);
        r->count++;
    }
    world_names_free(names, count);
    qsort(r->segments, r->count, sizeof(*r->segments), compare_segments);
    skip_released(r);
    return rc;
}

static int log_reader_refuse(struct err *err)
{
    err_hint(err, "restore the file, or open with repair to give up what was "
                  "logged in it and behind it");
    return ERR_CORRUPT;
}

/* Is the segment @n there, which is @s if it is? */
static int check_file(const struct log_reader *r,
                      const struct log_named_segment *n,
                      const struct segment *s,
                      struct err *err)
{
    unsigned long long number = n->number;
    if (s && s->whole && s->bytes >= n->bytes)
        return 0;
    if (s && s->whole)
        err_set(err, ERR_CORRUPT,
                "commit log %s/%08llu.log is cut short: it has %llu bytes and "
                "had %llu or more",
                r->opts->dir, number, (unsigned long long)s->bytes,
                (unsigned long long)n->bytes);
    else
        err_set(err, ERR_CORRUPT, "commit log %s/%08llu.log %s", r->opts->dir,
                number, s ? "has lost its header" : "is missing");
    return log_reader_refuse(err);
}

/* Are all segments there that were recorded, and as long as they were? */
static int check_files(const struct log_reader *r, struct err *err)
{
    const struct log_extent *e = &r->opts->named;
    size_t at = 0;
    int rc = 0;
    PRE(r->segments || r->count == 0);
    for (size_t i = 0; i < e->count && rc == 0; i++) {
        uint64_t number = e->segments[i].number;
        bool there;
        while (at < r->count && r->segments[at].number < number)
            at++;
        there = at < r->count && r->segments[at].number == number;
        rc = check_file(r, &e->segments[i], there ? &r->segments[at] : NULL,
                        err);
    }
    return rc;
}

/* Is everything there that was synced when it was recorded? */
static int check_end(const struct log_reader *r,
                     const struct log_end *end,
                     struct err *err)
{
    const struct log_extent *e = &r->opts->named;
    uint64_t n;
    if (e->count == 0 || end->position >= e->position)
        return 0;
    n = end->segment ? end->segment : e->segments[0].number;
    err_set(err, ERR_CORRUPT,
            "commit log %s/%08llu.log is cut short: %llu bytes that were on "
            "the disk are missing at its end",
            r->opts->dir, (unsigned long long)n,
            (unsigned long long)(e->position - end->position));
    return log_reader_refuse(err);
}

/* No record begins in @bytes from here on: nothing but zeros follows. A file
 * may have many that no record was written over yet. */
static size_t begin_of_zeros(struct slice bytes)
{
    static const char zeros[4096];
    size_t end = bytes.len;
    while (end > sizeof(zeros) &&
           memcmp(bytes.data + end - sizeof(zeros), zeros, sizeof(zeros)) == 0)
        end -= sizeof(zeros);
    POST(end <= bytes.len);
    return end;
}

/* Is there a record in the bytes in hand, from @at on, that was written when
 * the log was known to be safe beyond @position? Records that a recycled
 * segment still holds from earlier do not match its number. */
static bool proves_damage(struct log_reader *r,
                          uint64_t segment,
                          size_t at,
                          uint64_t position)
{
    struct slice all = buf_slice(&r->bytes);
    size_t end = begin_of_zeros(all);
    struct log_record_header h;
    struct slice payload;
    PRE(at <= all.len);
    for (; at < end; at++) {
        struct slice rest = slice_sub(all, at, all.len);
        if (!log_may_be_record(rest) ||
            !log_get_record(rest, segment, &h, &payload))
            continue;
        if (h.synced > position)
            return true;
        at += LOG_RECORD_HEADER_BYTES + payload.len - 1;
    }
    return false;
}

/* The first segment there is has no header. Either it was being begun when the
 * power went, or its header is damaged: then a sync came between its records.
 */
static int judge_first(struct log_reader *r, size_t i, struct err *err)
{
    struct log_record_header h;
    struct slice payload;
    uint64_t first_synced = UINT64_MAX;
    int rc = read_file(r, r->segments[i].number, UINT64_MAX, err);
    PRE(i < r->count);
    if (rc)
        return rc;
    for (size_t at = LOG_SEGMENT_HEADER_BYTES; at < r->bytes.len; at++) {
        if (!log_get_record(slice_sub(buf_slice(&r->bytes), at, r->bytes.len),
                            r->segments[i].number, &h, &payload))
            continue;
        if (h.synced > first_synced) {
            err_set(err, ERR_CORRUPT,
                    "commit log %s/%08llu.log: offset 0: bad header",
                    r->opts->dir, (unsigned long long)r->segments[i].number);
            err_hint(err, "restore the file, or open with repair to give up "
                          "what is logged in it");
            return ERR_CORRUPT;
        }
        first_synced = MIN_OF(first_synced, h.synced);
        at += LOG_RECORD_HEADER_BYTES + payload.len - 1;
    }
    return 0;
}

/* The log stops being readable at @offset of segment @i: is that its end? */
static int judge_end(struct log_reader *r,
                     size_t i,
                     size_t offset,
                     uint64_t position,
                     struct err *err)
{
    bool damaged = proves_damage(r, r->segments[i].number, offset, position);
    PRE(i < r->count);
    for (size_t k = i + 1; k < r->count && !damaged; k++) {
        int rc = read_file(r, r->segments[k].number, UINT64_MAX, err);
        if (rc)
            return rc;
        if (r->segments[k].whole)
            damaged = proves_damage(r, r->segments[k].number,
                                    LOG_SEGMENT_HEADER_BYTES, position);
    }
    if (!damaged)
        return 0;
    err_set(err, ERR_CORRUPT,
            "commit log %s/%08llu.log: offset %zu: a record that was safe on "
            "the disk is damaged",
            r->opts->dir, (unsigned long long)r->segments[i].number, offset);
    err_hint(err, "restore the file, or open with repair to give up everything "
                  "logged behind it");
    return ERR_CORRUPT;
}

/* Records of segment @i up to position @limit. *@ended is set when it is not
 * whole to there. */
static int read_records(struct log_reader *r,
                        size_t i,
                        uint64_t limit,
                        log_record_fn fn,
                        void *ctx,
                        uint64_t *position,
                        size_t *offset,
                        struct err *err)
{
    struct slice all = buf_slice(&r->bytes);
    struct log_record_header h;
    struct slice payload;
    PRE(r->segments[i].whole);
    *offset = LOG_SEGMENT_HEADER_BYTES;
    while (*position < limit &&
           log_get_record(slice_sub(all, *offset, all.len),
                          r->segments[i].number, &h, &payload)) {
        size_t bytes = payload.len;
        int rc = 0;
        if (r->segments[i].is_sealed)
            rc = log_open_payload(r->opener, r->segments[i].number, &h,
                                  r->bytes.data + *offset +
                                      LOG_RECORD_HEADER_BYTES,
                                  &payload, err);
        if (rc == 0)
            rc = fn(ctx, h.sequence, h.count, payload, err);
        if (rc) {
            err_wrap(err, "commit log %s/%08llu.log: offset %zu", r->opts->dir,
                     (unsigned long long)r->segments[i].number, *offset);
            return rc;
        }
        r->last_sequence = MAX_OF(r->last_sequence, h.sequence + h.count - 1);
        *offset += LOG_RECORD_HEADER_BYTES + bytes;
        *position += LOG_RECORD_HEADER_BYTES + bytes;
    }
    return 0;
}

/* Where the segment behind @i begins; no limit when there is none that counts.
 */
static uint64_t limit_of(const struct log_reader *r, size_t i)
{
    PRE(i < r->count);
    for (size_t k = i + 1; k < r->count; k++)
        if (r->segments[k].whole)
            return r->segments[k].base;
    return UINT64_MAX;
}

static int read_segments(struct log_reader *r,
                         bool repair,
                         log_record_fn fn,
                         void *ctx,
                         struct log_end *end,
                         struct err *err)
{
    bool first = true;
    PRE(r->segments || r->count == 0);
    for (size_t i = 0; i < r->count; i++) {
        uint64_t limit = limit_of(r, i);
        size_t offset = 0;
        int rc = 0;
        if (first && r->segments[i].whole)
            end->position = r->segments[i].base;
        if (first && !r->segments[i].whole) {
            rc = judge_first(r, i, err);
            if (rc && !(rc == ERR_CORRUPT && repair))
                return rc;
            continue;
        }
        first = false;
        /* Behind a segment that is not whole, or a gap, nothing counts. */
        if (r->segments[i].whole && r->segments[i].base == end->position) {
            end->segment = r->segments[i].number;
            rc = read_file(r, r->segments[i].number, UINT64_MAX, err);
            if (rc == 0)
                rc = read_records(r, i, limit, fn, ctx, &end->position, &offset,
                                  err);
        } else {
            rc = read_file(r, r->segments[i].number, UINT64_MAX, err);
        }
        if (rc)
            return rc;
        if (end->position == limit)
            continue;
        rc = judge_end(r, i, offset, end->position, err);
        return rc == ERR_CORRUPT && repair ? 0 : rc;
    }
    return 0;
}

int log_oldest_segment(struct world *world,
                       const char *dir,
                       uint64_t *number,
                       struct err *err)
{
    char **names = NULL;
    size_t count = 0;
    int rc = world_list(world, dir, &names, &count, err);
    *number = 0;
    if (rc)
        return rc == ERR_NOTFOUND ? 0 : rc;
    for (size_t i = 0; i < count; i++) {
        uint64_t n;
        if (log_segment_number(names[i], &n) && (*number == 0 || n < *number))
            *number = n;
    }
    world_names_free(names, count);
    return 0;
}

int log_read(const struct commit_log_options *opts,
             bool repair,
             log_record_fn fn,
             void *ctx,
             struct log_end *end,
             struct err *err)
{
    struct log_reader r = {.opts = opts,
                           .opener = log_opener_new(opts->keyring)};
    int rc = list_segments(&r, err);
    *end = (struct log_end){.next_segment = 1};
    if (rc == 0 && !repair)
        rc = check_files(&r, err);
    if (rc == 0)
        rc = read_segments(&r, repair, fn, ctx, end, err);
    if (rc == 0 && !repair)
        rc = check_end(&r, end, err);
    if (end->segment)
        end->next_segment = end->segment + 1;
    else if (r.count)
        end->next_segment = r.segments[r.count - 1].number + 1;
    if (opts->named.count)
        end->next_segment =
            MAX_OF(end->next_segment,
                   opts->named.segments[opts->named.count - 1].number + 1);
    /* A number is never given again while a file holds records of it. */
    end->next_segment = MAX_OF(end->next_segment, r.spare_max + 1);
    POST(end->next_segment > end->segment);
    POST(end->next_segment > r.spare_max);
    end->last_sequence = r.last_sequence;
    unit_opener_free(r.opener);
    buf_close(&r.bytes);
    mem_free(r.segments);
    return rc;
}
