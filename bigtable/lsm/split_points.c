/* Row keys that cut a group into about equal pieces: each data block counts
 * with its stored bytes at its separator, which the tables' indexes have, and
 * each stretch of a memtable with its own. No data block is read.
 */
#include <stdlib.h>

#include "base/core/arena.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/lsm/group.h"
#include "bigtable/lsm/memtable.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/sstable/sstable_reader.h"

/* Entries of a memtable between two of its samples. */
#define MEMTABLE_SAMPLE_EVERY 64

struct sample {
    struct slice key; /* Arena of the collection. */
    uint64_t bytes;
};

struct samples {
    const struct lsm *lsm;
    struct arena arena;
    struct sample *items;
    size_t count;
    size_t capacity;
    uint64_t bytes; /* Of all of them. */
};

static void add_sample(struct samples *s, struct slice key, uint64_t bytes)
{
    const struct lsm_options *o = &s->lsm->options;

    if (slice_cmp(key, o->lower) < 0 ||
        (o->upper.len > 0 && slice_cmp(key, o->upper) >= 0))
        return;
    if (s->count == s->capacity) {
        s->capacity = s->capacity ? s->capacity * 2 : 256;
        s->items = mem_realloc(s->items, s->capacity * sizeof(*s->items));
    }
    s->items[s->count++] = (struct sample){arena_dup(&s->arena, key), bytes};
    s->bytes += bytes;
    POST(s->count <= s->capacity);
}

static void
sample_block(void *arg, struct slice separator, const struct block_handle *h)
{
    add_sample(arg, separator, h->stored_bytes);
}

static void sample_memtable(struct samples *s, const struct memtable *m)
{
    const struct skip_node *n = skip_list_seek(&m->list, SLICE_EMPTY);
    uint64_t bytes = 0;
    size_t count = 0;

    for (; n; n = skip_node_next(n)) {
        bytes += n->key_len + n->value_len;
        if (++count % MEMTABLE_SAMPLE_EVERY == 0) {
            add_sample(s, skip_node_key(n), bytes);
            bytes = 0;
        }
    }
}

static int compare_samples(const void *a, const void *b)
{
    return slice_cmp(((const struct sample *)a)->key,
                     ((const struct sample *)b)->key);
}

/* A separator is cut short and may end inside a row key: the part of the row
 * key it has, terminated as row keys are, is a valid border. Empty if it has
 * none. */
static void row_border(struct slice key, struct buf *border)
{
    size_t n = cell_key_row_length(key);

    buf_clear(border);
    if (n > 0) {
        buf_append(border, key.data, n);
        return;
    }
    n = key.len;
    while (n > 0 && (key.data[n - 1] == '\0' || key.data[n - 1] == '\xff'))
        n--; /* Not in the middle of an escape. */
    for (size_t i = 0; i < n; i++)
        if (key.data[i] == '\0' &&
            (i + 1 == n || (unsigned char)key.data[i + 1] != 0xff))
            n = i;
    if (n == 0)
        return;
    buf_append(border, key.data, n);
    buf_append(border, "\0\1", 2);
    POST(border->len > 2);
}

static void
pick_points(struct samples *s, size_t parts, struct buf *keys, size_t *count)
{
    struct buf border = BUF_INIT;
    struct buf last = BUF_INIT;
    uint64_t seen = 0;
    size_t next = 1;

    PRE(parts > 0);
    for (size_t i = 0; i < s->count && next < parts; i++) {
        seen += s->items[i].bytes;
        if (seen < s->bytes / parts * next)
            continue;
        row_border(s->items[i].key, &border);
        while (next < parts && seen >= s->bytes / parts * next)
            next++;
        if (border.len == 0 ||
            slice_cmp(buf_slice(&border), buf_slice(&last)) <= 0 ||
            slice_cmp(buf_slice(&border), s->lsm->options.lower) <= 0)
            continue;
        buf_put_lslice(keys, buf_slice(&border));
        (*count)++;
        buf_clear(&last);
        buf_append_slice(&last, buf_slice(&border));
    }
    POST(*count < parts);
    buf_close(&border);
    buf_close(&last);
}

struct range_sum {
    const struct lsm *lsm;
    uint64_t bytes;
};

static void
add_block(void *arg, struct slice separator, const struct block_handle *h)
{
    struct range_sum *s = arg;
    const struct lsm_options *o = &s->lsm->options;

    if (slice_cmp(separator, o->lower) >= 0 &&
        (o->upper.len == 0 || slice_cmp(separator, o->upper) < 0))
        s->bytes += h->stored_bytes;
}

int lsm_bytes_in_range(struct lsm *l, uint64_t *bytes, struct err *err)
{
    struct lsm_snapshot *snapshot = state_pin(&l->slot);
    const struct version *v = snapshot->version;
    struct range_sum s = {.lsm = l};
    int rc = 0;
    INVARIANT(v);

    for (size_t i = 0; i < v->table_count && !rc; i++)
        rc =
            sstable_reader_each_block(v->tables[i]->reader, add_block, &s, err);
    state_unpin(snapshot);
    *bytes = s.bytes;
    return rc;
}

int lsm_split_points(struct lsm *l,
                     size_t parts,
                     struct buf *keys,
                     size_t *count,
                     struct err *err)
{
    struct lsm_snapshot *snapshot = state_pin(&l->slot);
    const struct version *v = snapshot->version;
    struct samples s = {.lsm = l};
    int rc = 0;

    PRE(parts > 0);
    *count = 0;
    arena_init(&s.arena);
    for (size_t i = 0; i < snapshot->mem_count; i++)
        sample_memtable(&s, snapshot->mems[i]);
    for (size_t i = 0; i < v->table_count && !rc; i++)
        rc = sstable_reader_each_block(v->tables[i]->reader, sample_block, &s,
                                       err);
    if (!rc && s.count > 0) {
        qsort(s.items, s.count, sizeof(*s.items), compare_samples);
        pick_points(&s, parts, keys, count);
    }
    mem_free(s.items);
    arena_close(&s.arena);
    state_unpin(snapshot);
    return rc;
}
