/* Filters in the wire format of google.bigtable.v2.RowFilter.
 *
 *     RowFilter       a field of filter_kinds.def; of several the last; of none
 *                     pass_all_filter
 *     Chain, Interleave   filters 1 (repeated)
 *     Condition       predicate 1, true 2, false 3
 *     ColumnRange     family 1, start_closed 2, start_open 3, end_closed 4,
 *                     end_open 5
 *     ValueRange      start_closed 1, start_open 2, end_closed 3, end_open 4
 *     TimestampRange  start 1, end 2
 *     ValueBitmask    mask 1
 */
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/row/filter.h"

enum wire {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    WIRE_FIXED32 = 5
};

/* --- writing ------------------------------------------------------------- */

static void put_tag(struct buf *out, unsigned field, enum wire wire)
{
    buf_put_varint(out, (uint64_t)field << 3 | (uint64_t)wire);
}

static void put_bytes(struct buf *out, unsigned field, struct slice s)
{
    put_tag(out, field, WIRE_BYTES);
    buf_put_lslice(out, s);
}

static void put_integer(struct buf *out, unsigned field, int64_t v)
{
    put_tag(out, field, WIRE_VARINT);
    buf_put_varint(out, (uint64_t)v);
}

static void put_message(struct buf *out, unsigned field, struct buf *body)
{
    put_bytes(out, field, buf_slice(body));
    buf_close(body);
}

static void
put_end(struct buf *out, const struct filter_end *e, unsigned closed_field)
{
    if (e->kind != FILTER_UNBOUNDED)
        put_bytes(out, closed_field + (e->kind == FILTER_OPEN),
                  buf_slice(&e->bytes));
}

static void encode_flag(const struct quarry_filter *f, struct buf *out)
{
    put_integer(out, (unsigned)f->kind, 1);
}

static void encode_count(const struct quarry_filter *f, struct buf *out)
{
    put_integer(out, (unsigned)f->kind, f->count);
}

static void encode_fraction(const struct quarry_filter *f, struct buf *out)
{
    put_tag(out, (unsigned)f->kind, WIRE_FIXED64);
    buf_put_double(out, f->probability);
}

static void encode_text(const struct quarry_filter *f, struct buf *out)
{
    put_bytes(out, (unsigned)f->kind, buf_slice(&f->text));
}

static void encode_mask(const struct quarry_filter *f, struct buf *out)
{
    struct buf body = BUF_INIT;
    put_bytes(&body, 1, buf_slice(&f->text));
    put_message(out, (unsigned)f->kind, &body);
}

static void encode_times(const struct quarry_filter *f, struct buf *out)
{
    struct buf body = BUF_INIT;
    put_integer(&body, 1, f->min_us);
    put_integer(&body, 2, f->max_us);
    put_message(out, (unsigned)f->kind, &body);
}

static void encode_column_range(const struct quarry_filter *f, struct buf *out)
{
    struct buf body = BUF_INIT;
    put_bytes(&body, 1, buf_slice(&f->text));
    put_end(&body, &f->start, 2);
    put_end(&body, &f->end, 4);
    put_message(out, (unsigned)f->kind, &body);
}

static void encode_value_range(const struct quarry_filter *f, struct buf *out)
{
    struct buf body = BUF_INIT;
    put_end(&body, &f->start, 1);
    put_end(&body, &f->end, 3);
    put_message(out, (unsigned)f->kind, &body);
}

static void encode_parts(const struct quarry_filter *f, struct buf *out)
{
    struct buf body = BUF_INIT;
    for (size_t i = 0; i < f->part_count; i++) {
        struct buf part = BUF_INIT;
        if (!f->parts[i])
            continue;
        filter_encode(f->parts[i], &part);
        put_message(&body, f->kind == FILTER_CONDITION ? (unsigned)i + 1 : 1,
                    &part);
    }
    put_message(out, (unsigned)f->kind, &body);
}

/* Arguments of one form on the wire. */
#define encode_regex     encode_text
#define encode_label     encode_text
#define encode_condition encode_parts

void filter_encode(const struct quarry_filter *f, struct buf *out)
{
    switch (f->kind) {
#define FILTER(KIND, number, api_name, name, argument, cell, row, EFFECT)      \
    case FILTER_##KIND:                                                        \
        encode_##argument(f, out);                                             \
        return;
#include "bigtable/row/filter_kinds.def"
#undef FILTER
    }
}

/* --- reading ------------------------------------------------------------- */

/* Of protobuf: https://protobuf.dev/programming-guides/proto3/#assigning */
#define FIELD_NUMBER_MAX ((UINT64_C(1) << 29) - 1)

/* One field of a message. */
struct field {
    uint64_t number;
    enum wire wire;
    uint64_t integer; /* WIRE_VARINT and WIRE_FIXED64. */
    struct slice bytes;
};

static bool next_field(struct cursor *c, struct field *f)
{
    uint64_t tag;
    if (c->bad || c->p == c->end)
        return false;
    tag = cursor_varint(c);
    f->number = tag >> 3;
    c->bad |= f->number == 0 || f->number > FIELD_NUMBER_MAX;
    f->wire = (enum wire)(tag & 7);
    f->integer = 0;
    f->bytes = SLICE_EMPTY;
    switch (f->wire) {
    case WIRE_VARINT: f->integer = cursor_varint(c); break;
    case WIRE_FIXED64: f->integer = cursor_le64(c); break;
    case WIRE_BYTES: f->bytes = cursor_lslice(c); break;
    case WIRE_FIXED32: cursor_le32(c); break;
    default: c->bad = true;
    }
    return !c->bad;
}

/* State of decoding one whole filter. */
struct decoder {
    unsigned nodes;
    bool bad;         /* Not in the format. */
    uint64_t unknown; /* A field of RowFilter that is not known; 0: none. */
};

static struct quarry_filter *
decode_filter(struct decoder *d, struct slice bytes, unsigned depth);

/* The parts of a chain or interleave, or the three of a condition. */
static struct quarry_filter *decode_parts(struct decoder *d,
                                          enum filter_kind kind,
                                          struct slice bytes,
                                          unsigned depth)
{
    struct cursor c = cursor_make(bytes);
    bool condition = kind == FILTER_CONDITION;
    struct quarry_filter **parts =
        mem_zalloc(3, sizeof(struct quarry_filter *));
    size_t count = condition ? 3 : 0;
    size_t cap = 3;
    struct quarry_filter *f;
    struct field field;
    while (!d->bad && next_field(&c, &field)) {
        size_t at = condition ? (size_t)field.number - 1 : count;
        if (field.number < 1 || field.number > (condition ? 3 : 1) ||
            field.wire != WIRE_BYTES)
            continue;
        if (at == cap) {
            cap *= 2;
            parts = mem_realloc(parts, cap * sizeof(struct quarry_filter *));
        }
        if (condition)
            filter_unref(parts[at]);
        else
            count++;
        parts[at] = decode_filter(d, field.bytes, depth + 1);
    }
    d->bad |= c.bad;
    f = filter_new_parts(kind, parts, count);
    mem_free(parts);
    return f;
}

struct range_fields {
    struct slice family;
    enum filter_bound kinds[2];
    struct slice ends[2];
};

static struct quarry_filter *
decode_range(struct decoder *d, enum filter_kind kind, struct slice bytes)
{
    struct cursor c = cursor_make(bytes);
    uint64_t first = kind == FILTER_COLUMN_RANGE ? 2 : 1;
    struct range_fields r = {SLICE_EMPTY, {0, 0}, {SLICE_EMPTY, SLICE_EMPTY}};
    struct field field;
    while (next_field(&c, &field)) {
        uint64_t i = field.number - first;
        if (field.wire != WIRE_BYTES)
            continue;
        if (field.number < first) {
            r.family = field.bytes;
        } else if (i < 4) {
            r.kinds[i / 2] = i % 2 ? FILTER_OPEN : FILTER_CLOSED;
            r.ends[i / 2] = field.bytes;
        }
    }
    d->bad |= c.bad;
    return filter_new_range(kind, r.family, r.kinds[0], r.ends[0], r.kinds[1],
                            r.ends[1]);
}

static struct quarry_filter *decode_times(struct decoder *d, struct slice bytes)
{
    struct cursor c = cursor_make(bytes);
    int64_t ends[2] = {0, 0};
    struct field field;
    while (next_field(&c, &field))
        if (field.wire == WIRE_VARINT && field.number - 1 < 2)
            ends[field.number - 1] = (int64_t)field.integer;
    d->bad |= c.bad;
    return filter_new_times(ends[0], ends[1]);
}

static struct quarry_filter *decode_mask(struct decoder *d, struct slice bytes)
{
    struct cursor c = cursor_make(bytes);
    struct slice mask = SLICE_EMPTY;
    struct field field;
    while (next_field(&c, &field))
        if (field.wire == WIRE_BYTES && field.number == 1)
            mask = field.bytes;
    d->bad |= c.bad;
    return filter_new_bitmask(mask);
}

static double double_of(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

/* A flag must be true to mean something: `pass_all_filter: false` is refused,
 * as the service refuses it. */
static struct quarry_filter *decode_flag(enum filter_kind kind, uint64_t value)
{
    if (value)
        return filter_new(kind);
    return filter_new_parts(kind, NULL, 0);
}

/* The filter that decode_field() makes of each form of argument. */
#define DECODE_parts        decode_parts(d, kind, f->bytes, depth)
#define DECODE_condition    decode_parts(d, kind, f->bytes, depth)
#define DECODE_regex        filter_new_regex(kind, f->bytes)
#define DECODE_label        filter_new_label(f->bytes)
#define DECODE_mask         decode_mask(d, f->bytes)
#define DECODE_column_range decode_range(d, kind, f->bytes)
#define DECODE_value_range  decode_range(d, kind, f->bytes)
#define DECODE_times        decode_times(d, f->bytes)
#define DECODE_count        filter_new_count(kind, (int64_t)f->integer)
#define DECODE_fraction     filter_new_sample(double_of(f->integer))
#define DECODE_flag         decode_flag(kind, f->integer)

enum argument_wire {
    WIRE_OF_parts = WIRE_BYTES,
    WIRE_OF_condition = WIRE_BYTES,
    WIRE_OF_regex = WIRE_BYTES,
    WIRE_OF_label = WIRE_BYTES,
    WIRE_OF_mask = WIRE_BYTES,
    WIRE_OF_column_range = WIRE_BYTES,
    WIRE_OF_value_range = WIRE_BYTES,
    WIRE_OF_times = WIRE_BYTES,
    WIRE_OF_count = WIRE_VARINT,
    WIRE_OF_fraction = WIRE_FIXED64,
    WIRE_OF_flag = WIRE_VARINT,
};

static struct quarry_filter *
decode_field(struct decoder *d, const struct field *f, unsigned depth)
{
    enum filter_kind kind = (enum filter_kind)f->number;
    switch (kind) {
#define FILTER(KIND, number, api_name, name, argument, cell, row, EFFECT)      \
    case FILTER_##KIND:                                                        \
        return DECODE_##argument;
#include "bigtable/row/filter_kinds.def"
#undef FILTER
    }
    d->unknown = f->number;
    d->bad = true;
    return NULL;
}

/* Does the field have the wire type of its kind, if that is known? */
static bool has_wire(const struct field *f)
{
    switch ((enum filter_kind)f->number) {
#define FILTER(KIND, number, api_name, name, argument, cell, row, EFFECT)      \
    case FILTER_##KIND:                                                        \
        return (int)f->wire == (int)WIRE_OF_##argument;
#include "bigtable/row/filter_kinds.def"
#undef FILTER
    }
    return true;
}

/* One RowFilter; of several fields of its oneof the last counts. NULL, or a
 * filter to be freed, when d->bad is set. */
static struct quarry_filter *
decode_filter(struct decoder *d, struct slice bytes, unsigned depth)
{
    struct cursor c = cursor_make(bytes);
    struct quarry_filter *f = NULL;
    struct field field;
    if (depth > FILTER_DEPTH_MAX || d->nodes++ > FILTER_NODES_MAX) {
        d->bad = true;
        return NULL;
    }
    while (!d->bad && next_field(&c, &field)) {
        if (!has_wire(&field)) {
            d->bad = true;
            break;
        }
        filter_unref(f);
        f = decode_field(d, &field, depth);
    }
    d->bad |= c.bad;
    if (!f && !d->bad) /* Nothing is set, and nothing filtered. */
        f = filter_new(FILTER_PASS_ALL);
    return f;
}

int filter_decode(struct slice bytes,
                  struct quarry_filter **out,
                  struct err *err)
{
    struct decoder d = {0, false, 0};
    struct quarry_filter *f = decode_filter(&d, bytes, 1);
    int rc = 0;
    *out = NULL;
    if (d.unknown)
        rc = err_set(err, ERR_UNSUPPORTED,
                     "filter: kind %llu of RowFilter is not known here",
                     (unsigned long long)d.unknown);
    else if (d.nodes > FILTER_NODES_MAX)
        rc = err_set(err, ERR_TOOBIG, "filter: more than %d parts",
                     FILTER_NODES_MAX);
    else if (d.bad)
        rc = err_set(err, ERR_CORRUPT, "filter: not a RowFilter message");
    else
        rc = filter_check(f, err);
    if (rc) {
        filter_unref(f);
        return rc;
    }
    *out = f;
    return 0;
}
