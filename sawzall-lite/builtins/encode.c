/* Values as data for tables, and back. */
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "sawzall-lite/builtins/private.h"
#include "sawzall-lite/tables/datum.h"

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

/* Entries by ascending key, so that equal maps have equal bytes. */
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

/* --- decoding ------------------------------------------------------------- */

static enum saw_status bad(struct cursor *c)
{
    c->bad = true;
    return SAW_FAIL;
}

static bool take_tag(struct cursor *c, uint8_t tag)
{
    if (cursor_u8(c) == tag && !c->bad)
        return true;
    c->bad = true;
    return false;
}

static bool at_end(struct cursor *c)
{
    if (c->p < c->end && *c->p != SAW_DATUM_END)
        return false;
    if (c->p >= c->end)
        c->bad = true;
    else
        c->p++;
    return true;
}

static enum saw_status decode_text(struct saw_ctx *ctx,
                                   bool string,
                                   struct cursor *c,
                                   union saw_slot *out)
{
    struct slice datum = saw_datum_skip(c);
    struct buf text = BUF_INIT;
    size_t chars;
    if (c->bad ||
        saw_datum_tag(datum) != (string ? SAW_DATUM_STRING : SAW_DATUM_BYTES))
        return bad(c);
    saw_datum_text(datum, &text);
    if (string && !saw_utf8_check(buf_slice(&text), &chars)) {
        buf_close(&text);
        return bad(c);
    }
    out->s = string ? saw_string_dup(ctx, buf_slice(&text))
                    : saw_bytes_dup(ctx, buf_slice(&text));
    buf_close(&text);
    return out->s ? SAW_OK : SAW_FAIL;
}

static enum saw_status decode_array(struct saw_ctx *ctx,
                                    const struct saw_type *t,
                                    struct cursor *c,
                                    union saw_slot *out)
{
    struct cursor scan;
    size_t n = 0;
    if (!take_tag(c, SAW_DATUM_ARRAY))
        return SAW_FAIL;
    for (scan = *c; !at_end(&scan); n++)
        saw_datum_skip(&scan);
    if (scan.bad)
        return bad(c);
    out->a = saw_array_new(ctx, n);
    if (!out->a)
        return SAW_FAIL;
    for (size_t i = 0; i < n; i++) {
        if (saw_value_decode(ctx, t->elem, c, &out->a->items[i]) != SAW_OK)
            return SAW_FAIL;
    }
    at_end(c);
    return SAW_OK;
}

static enum saw_status decode_tuple(struct saw_ctx *ctx,
                                    const struct saw_type *t,
                                    struct cursor *c,
                                    union saw_slot *out)
{
    if (!take_tag(c, SAW_DATUM_TUPLE))
        return SAW_FAIL;
    out->t = saw_tuple_new(ctx, t);
    if (!out->t)
        return SAW_FAIL;
    for (size_t i = 0; i < t->field_count; i++) {
        if (saw_value_decode(ctx, t->fields[i].type, c, &out->t->fields[i]) !=
            SAW_OK)
            return SAW_FAIL;
    }
    return at_end(c) && !c->bad ? SAW_OK : bad(c);
}

static enum saw_status decode_map(struct saw_ctx *ctx,
                                  const struct saw_type *t,
                                  struct cursor *c,
                                  union saw_slot *out)
{
    if (!take_tag(c, SAW_DATUM_MAP))
        return SAW_FAIL;
    out->m = saw_map_new(ctx, 0);
    if (!out->m)
        return SAW_FAIL;
    while (!at_end(c)) {
        union saw_slot key;
        struct saw_map_entry *e;
        bool made;
        if (saw_value_decode(ctx, t->key, c, &key) != SAW_OK)
            return SAW_FAIL;
        e = saw_map_add(ctx, out->m, t, key, &made);
        if (!e || saw_value_decode(ctx, t->elem, c, &e->value) != SAW_OK)
            return SAW_FAIL;
    }
    return c->bad ? SAW_FAIL : SAW_OK;
}

static enum saw_status
decode_word(enum saw_datum_tag tag, struct cursor *c, union saw_slot *out)
{
    struct slice datum = saw_datum_skip(c);
    if (c->bad || saw_datum_tag(datum) != tag)
        return bad(c);
    if (tag == SAW_DATUM_BOOL)
        out->i = datum.data[1];
    else if (tag == SAW_DATUM_INT)
        out->i = saw_datum_int(datum);
    else if (tag == SAW_DATUM_FLOAT)
        out->f = saw_datum_float(datum);
    else
        out->u = saw_datum_word(datum);
    return SAW_OK;
}

enum saw_status saw_value_decode(struct saw_ctx *ctx,
                                 const struct saw_type *t,
                                 struct cursor *c,
                                 union saw_slot *out)
{
    switch (t->kind) {
    case SAW_BOOL: return decode_word(SAW_DATUM_BOOL, c, out);
    case SAW_INT: return decode_word(SAW_DATUM_INT, c, out);
    case SAW_UINT: return decode_word(SAW_DATUM_UINT, c, out);
    case SAW_TIME: return decode_word(SAW_DATUM_TIME, c, out);
    case SAW_FINGERPRINT: return decode_word(SAW_DATUM_FINGERPRINT, c, out);
    case SAW_FLOAT: return decode_word(SAW_DATUM_FLOAT, c, out);
    case SAW_STRING: return decode_text(ctx, true, c, out);
    case SAW_BYTES: return decode_text(ctx, false, c, out);
    case SAW_ARRAY: return decode_array(ctx, t, c, out);
    case SAW_TUPLE: return decode_tuple(ctx, t, c, out);
    case SAW_MAP: return decode_map(ctx, t, c, out);
    case SAW_FUNCTION:
    case SAW_TABLE:
    case SAW_VOID:
    case SAW_INCOMPLETE:
    case SAW_BAD: break;
    }
    return bad(c);
}
