/* Values as data, walked by type; see datum.h.
 *
 * The entries of a map are sorted by the bytes of their keys, because equal
 * maps must have equal bytes whatever the order of insertion.
 */
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "sawzall-lite/values/datum.h"
#include "sawzall-lite/values/value.h"

struct entry {
    size_t begin; /* In the unsorted bytes. */
    size_t key_end;
    size_t end;
    const char *base;
};

static int by_key(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    return slice_cmp(slice_make(x->base + x->begin, x->key_end - x->begin),
                     slice_make(y->base + y->begin, y->key_end - y->begin));
}

static void encode_at(const struct saw_type *t,
                      union saw_slot v,
                      int depth,
                      struct buf *out);

static void encode_map(const struct saw_type *t,
                       const struct saw_map *m,
                       int depth,
                       struct buf *out)
{
    struct buf raw = BUF_INIT;
    struct entry *v = mem_alloc((m->count + 1) * sizeof(*v));
    for (uint32_t i = 0; i < m->count; i++) {
        v[i].begin = raw.len;
        encode_at(t->key, m->entries[i].key, depth, &raw);
        v[i].key_end = raw.len;
        encode_at(t->elem, m->entries[i].value, depth, &raw);
        v[i].end = raw.len;
    }
    for (uint32_t i = 0; i < m->count; i++)
        v[i].base = raw.data;
    qsort(v, m->count, sizeof(*v), by_key);
    saw_datum_put_open(out, SAW_DATUM_MAP);
    for (uint32_t i = 0; i < m->count; i++)
        buf_append(out, raw.data + v[i].begin, v[i].end - v[i].begin);
    saw_datum_put_end(out);
    mem_free(v);
    buf_close(&raw);
}

static void encode_items(const struct saw_type *t,
                         union saw_slot v,
                         int depth,
                         struct buf *out)
{
    bool array = t->kind == SAW_ARRAY;
    size_t n = array ? v.a->len : t->field_count;
    saw_datum_put_open(out, array ? SAW_DATUM_ARRAY : SAW_DATUM_TUPLE);
    for (size_t i = 0; i < n; i++) {
        if (array)
            encode_at(t->elem, v.a->items[i], depth, out);
        else
            encode_at(t->fields[i].type, v.t->fields[i], depth, out);
    }
    saw_datum_put_end(out);
}

static void encode_at(const struct saw_type *t,
                      union saw_slot v,
                      int depth,
                      struct buf *out)
{
    if (depth > SAW_DATUM_DEPTH_MAX - 2) { /* Readers refuse more. */
        saw_datum_put_text(out, SAW_DATUM_STRING, SLICE_LIT("…"));
        return;
    }
    switch (t->kind) {
    case SAW_BOOL: saw_datum_put_bool(out, v.i != 0); break;
    case SAW_INT: saw_datum_put_int(out, v.i); break;
    case SAW_UINT: saw_datum_put_word(out, SAW_DATUM_UINT, v.u); break;
    case SAW_TIME: saw_datum_put_word(out, SAW_DATUM_TIME, v.u); break;
    case SAW_FINGERPRINT:
        saw_datum_put_word(out, SAW_DATUM_FINGERPRINT, v.u);
        break;
    case SAW_FLOAT: saw_datum_put_float(out, v.f); break;
    case SAW_STRING:
        saw_datum_put_text(out, SAW_DATUM_STRING, saw_str_slice(v.s));
        break;
    case SAW_BYTES:
        saw_datum_put_text(out, SAW_DATUM_BYTES, saw_str_slice(v.s));
        break;
    case SAW_ARRAY:
    case SAW_TUPLE: encode_items(t, v, depth + 1, out); break;
    case SAW_MAP: encode_map(t, v.m, depth + 1, out); break;
    case SAW_FUNCTION:
    case SAW_TABLE:
    case SAW_VOID:
    case SAW_INCOMPLETE:
    case SAW_BAD: PANIC("a value of kind %d has no bytes", (int)t->kind);
    }
}

void saw_value_encode(const struct saw_type *t,
                      union saw_slot v,
                      struct buf *out)
{
    encode_at(t, v, 0, out);
}
