/* Reading and sorting a segment of a dead server's log. The order is an array
 * of places in the bytes that were read; the mutations themselves are not
 * copied.
 */
#include "bigtable/recovery/sorted_segment.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/log/segment_list.h"
#include "bigtable/log/shared_log.h"
#include "bigtable/row/logged_mutation.h"
#include "gfs-lite/fs.h"

/* A segment ends when it is full, but its last group may be large. */
#define SEGMENT_BYTES_MAX ((size_t)4 << 30)

/* Where a mutation lies in the segment's bytes. */
struct place {
    uint64_t table;
    uint64_t sequence;
    const char *row;
    const char *at; /* Encoded. */
    uint32_t row_len;
    uint32_t len;
};

struct sorted_segment {
    atomic_uint references;
    struct buf bytes;
    struct buf places; /* struct place. */
};

static const struct place *places_of(const struct sorted_segment *s)
{
    return (const void *)s->places.data;
}

static struct slice row_of(const struct place *p)
{
    return slice_make(p->row, p->row_len);
}

int logged_order(struct slice a_row,
                 uint64_t a_sequence,
                 struct slice b_row,
                 uint64_t b_sequence)
{
    int order = slice_cmp(a_row, b_row);
    return order ? order
                 : (a_sequence < b_sequence) - (a_sequence > b_sequence);
}

/* --- reading ------------------------------------------------------------- */

static int take_record(void *ctx,
                       uint64_t sequence,
                       uint32_t count,
                       struct slice payload,
                       struct err *err)
{
    struct sorted_segment *s = ctx;
    struct cursor c = cursor_make(payload);
    struct logged_mutation m;
    uint64_t end = sequence + count;
    const char *at = c.p;
    while (logged_mutation_read(&c, &m)) {
        struct place p = {.table = m.table,
                          .sequence = sequence,
                          .row = m.row.data,
                          .at = at,
                          .row_len = (uint32_t)m.row.len,
                          .len = (uint32_t)(c.p - at)};
        buf_append(&s->places, &p, sizeof(p));
        sequence += m.count;
        at = c.p;
    }
    if (c.bad || sequence != end)
        return err_set(err, ERR_CORRUPT, "a record is not made of mutations");
    return 0;
}

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a;
    const struct place *y = b;
    if (x->table != y->table)
        return x->table < y->table ? -1 : 1;
    return logged_order(row_of(x), x->sequence, row_of(y), y->sequence);
}

/* A mutation that was written twice counts once. */
static void sort_places(struct sorted_segment *s)
{
    struct place *p = (void *)s->places.data;
    size_t count = sorted_segment_count(s);
    size_t kept = 0;
    if (count == 0)
        return;
    qsort(p, count, sizeof(*p), compare_places);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || compare_places(&p[i], &p[kept - 1]) != 0)
            p[kept++] = p[i];
    buf_truncate(&s->places, kept * sizeof(*p));
}

int sorted_segment_read(struct fs *fs,
                        const char *dir,
                        const char *name,
                        struct sorted_segment **out,
                        struct err *err)
{
    struct sorted_segment *s;
    struct buf path = BUF_INIT;
    uint64_t announced = 0;
    uint64_t length;
    int rc;
    *out = NULL;
    if (!shared_log_is_segment(name))
        return err_set(err, ERR_INVALID, "%s is not a segment of a log", name);
    s = mem_zalloc(1, sizeof(*s));
    atomic_init(&s->references, 1);
    buf_printf(&path, "%s/%s", dir, name);
    rc = fs_recover(fs, buf_cstr(&path), &length, err);
    if (rc == 0)
        rc =
            fs_read_all(fs, buf_cstr(&path), SEGMENT_BYTES_MAX, &s->bytes, err);
    if (rc == 0)
        rc = shared_log_read(name, &s->bytes, fs_keyring(fs), take_record, s,
                             &announced, err);
    if (rc == 0)
        rc =
            segment_list_check_one(fs, dir, name, s->bytes.len, announced, err);
    buf_close(&path);
    if (rc) {
        err_wrap(err, "sort %s/%s", dir, name);
        sorted_segment_unref(s);
        return rc;
    }
    sort_places(s);
    *out = s;
    return 0;
}

struct sorted_segment *sorted_segment_ref(struct sorted_segment *s)
{
    atomic_fetch_add(&s->references, 1);
    return s;
}

void sorted_segment_unref(struct sorted_segment *s)
{
    if (!s || atomic_fetch_sub(&s->references, 1) != 1)
        return;
    buf_close(&s->places);
    buf_close(&s->bytes);
    mem_free(s);
}

/* --- looking ------------------------------------------------------------- */

size_t sorted_segment_count(const struct sorted_segment *s)
{
    return s->places.len / sizeof(struct place);
}

size_t sorted_segment_bytes(const struct sorted_segment *s)
{
    return sizeof(*s) + s->bytes.cap + s->places.cap;
}

size_t sorted_segment_find(const struct sorted_segment *s,
                           uint64_t table,
                           struct slice row)
{
    size_t low = 0;
    size_t high = sorted_segment_count(s);
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct place *p = &places_of(s)[mid];
        if (p->table < table ||
            (p->table == table && slice_cmp(row_of(p), row) < 0))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct slice sorted_segment_encoded(const struct sorted_segment *s,
                                    size_t place,
                                    uint64_t *sequence)
{
    const struct place *p = &places_of(s)[place];
    PRE(place < sorted_segment_count(s));
    *sequence = p->sequence;
    return slice_make(p->at, p->len);
}

void sorted_segment_get(const struct sorted_segment *s,
                        size_t place,
                        struct logged_mutation *m,
                        uint64_t *sequence)
{
    struct cursor c = cursor_make(sorted_segment_encoded(s, place, sequence));
    bool whole = logged_mutation_read(&c, m);
    PRE(whole); /* It was when the segment was read. */
}
