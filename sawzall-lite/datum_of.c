/* Values of the machine as the data tables work on (tables/datum.h). */
#include <stdlib.h>

#include "base/core/panic.h"
#include "sawzall-lite/run.h"
#include "sawzall-lite/tables/datum.h"

static void datum_at(const struct saw_type *t,
                     union saw_slot v,
                     unsigned depth,
                     struct buf *out);

/* Keys of an entry as they stand in a buffer, for sorting. */
struct entry {
    size_t begin;
    size_t end;
    const struct saw_map_entry *from;
};

/* Entries ascending by the bytes of their keys: insertion sort for the small
 * maps that occur, merge sort would need the buffer in its comparison. */
static void sort_entries(struct entry *e, size_t n, const char *bytes)
{
    size_t gap;
    size_t i;
    size_t j;

    for (gap = n / 2; gap > 0; gap /= 2) {
        for (i = gap; i < n; i++) {
            struct entry x = e[i];
            struct slice key = slice_make(bytes + x.begin, x.end - x.begin);
            for (j = i; j >= gap; j -= gap) {
                struct entry *y = &e[j - gap];
                if (slice_cmp(slice_make(bytes + y->begin, y->end - y->begin),
                              key) <= 0)
                    break;
                e[j] = *y;
            }
            e[j] = x;
        }
    }
}

static void map_datum(const struct saw_type *t,
                      const struct saw_map *m,
                      unsigned depth,
                      struct buf *out)
{
    struct entry *e = mem_alloc((m->count + 1) * sizeof(*e));
    struct buf keys = BUF_INIT;
    uint32_t i;

    for (i = 0; i < m->count; i++) {
        e[i].begin = keys.len;
        e[i].from = &m->entries[i];
        datum_at(t->key, m->entries[i].key, depth, &keys);
        e[i].end = keys.len;
    }
    if (m->count)
        sort_entries(e, m->count, keys.data);
    saw_datum_put_open(out, SAW_DATUM_MAP);
    for (i = 0; i < m->count; i++) {
        buf_append(out, keys.data + e[i].begin, e[i].end - e[i].begin);
        datum_at(t->elem, e[i].from->value, depth, out);
    }
    saw_datum_put_end(out);
    buf_close(&keys);
    mem_free(e);
}

static void datum_at(const struct saw_type *t,
                     union saw_slot v,
                     unsigned depth,
                     struct buf *out)
{
    size_t i;

    if (depth > SAW_DATUM_DEPTH_MAX - 2) { /* Only of recursive types. */
        saw_datum_put_text(out, SAW_DATUM_STRING, SLICE_LIT("…"));
        return;
    }
    switch (t->kind) {
    case SAW_BOOL: saw_datum_put_bool(out, v.i != 0); break;
    case SAW_INT: saw_datum_put_int(out, v.i); break;
    case SAW_FLOAT: saw_datum_put_float(out, v.f); break;
    case SAW_UINT: saw_datum_put_word(out, SAW_DATUM_UINT, v.u); break;
    case SAW_TIME: saw_datum_put_word(out, SAW_DATUM_TIME, v.u); break;
    case SAW_FINGERPRINT:
        saw_datum_put_word(out, SAW_DATUM_FINGERPRINT, v.u);
        break;
    case SAW_STRING:
        saw_datum_put_text(out, SAW_DATUM_STRING, saw_str_slice(v.s));
        break;
    case SAW_BYTES:
        saw_datum_put_text(out, SAW_DATUM_BYTES, saw_str_slice(v.s));
        break;
    case SAW_ARRAY:
        saw_datum_put_open(out, SAW_DATUM_ARRAY);
        for (i = 0; i < v.a->len; i++)
            datum_at(t->elem, v.a->items[i], depth + 1, out);
        saw_datum_put_end(out);
        break;
    case SAW_TUPLE:
        saw_datum_put_open(out, SAW_DATUM_TUPLE);
        for (i = 0; i < t->field_count; i++)
            datum_at(t->fields[i].type, v.t->fields[i], depth + 1, out);
        saw_datum_put_end(out);
        break;
    case SAW_MAP: map_datum(t, v.m, depth + 1, out); break;
    case SAW_FUNCTION:
    case SAW_TABLE:
    case SAW_VOID:
    case SAW_INCOMPLETE:
    case SAW_BAD: PANIC("a value of kind %d in a table", (int)t->kind);
    }
}

void saw_value_datum(const struct saw_type *t,
                     union saw_slot v,
                     struct buf *out)
{
    datum_at(t, v, 0, out);
}
