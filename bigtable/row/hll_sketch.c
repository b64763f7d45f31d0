/* Sparse values are gathered unsorted, and sorted when they are many or when
 * the sketch is encoded: most cells have few, and a sketch that many values are
 * merged into is sorted rarely.
 */
#include "bigtable/row/hll_sketch.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/macros.h"
#include "base/core/panic.h"
#include "base/core/pb.h"

#define SKETCH_TYPE      112
#define ENCODING_VERSION 2
/* Bits of the zeros' number in a sparse value, and the flag above all. */
#define RHO_BITS    6
#define RHO_FLAG    (UINT32_C(1) << (HLL_PRECISION + RHO_BITS))
#define SUFFIX_BITS (HLL_SPARSE_PRECISION - HLL_PRECISION)
/* A sketch becomes dense when its sparse values have this many bytes. */
#define SPARSE_BYTES_MAX (HLL_REGISTER_COUNT / 4 * 3)
/* Sparse values that are gathered before they are sorted. */
#define UNSORTED_MAX (HLL_REGISTER_COUNT / 4)
/* Largest register: all bits behind the index are zeros. */
#define REGISTER_MAX (64 - HLL_PRECISION + 1)

/* Fields of the two messages. */
enum {
    AGGREGATOR_TYPE = 1,
    AGGREGATOR_ADDED = 2,
    AGGREGATOR_VERSION = 3,
    AGGREGATOR_VALUES = 4,
    AGGREGATOR_STATE = 112,
    STATE_SPARSE_COUNT = 2,
    STATE_PRECISION = 3,
    STATE_SPARSE_PRECISION = 4,
    STATE_REGISTERS = 5,
    STATE_SPARSE = 6,
};

/* A sketch that was decoded; slices are borrowed from its encoding. */
struct decoded {
    uint64_t type;
    uint64_t added;
    uint64_t version;
    uint64_t values;
    uint64_t sparse_count;
    uint64_t precision;
    uint64_t sparse_precision;
    struct slice registers;
    struct slice sparse;
};

static void sketch_check(const struct hll_sketch *s)
{
    INVARIANT(!s->registers || s->sparse_count == 0); /* INV-1 */
    INVARIANT(s->sorted <= s->sparse_count);
}

void hll_sketch_init(struct hll_sketch *s, enum hll_values values)
{
    *s = (struct hll_sketch){.values = values};
}

void hll_sketch_close(struct hll_sketch *s)
{
    mem_free(s->sparse);
    mem_free(s->registers);
}

/* --- values -------------------------------------------------------------- */

/* Zeros before the first one of the upper @bits of @v, plus 1. */
static uint32_t count_zeros(uint64_t v, unsigned bits)
{
    return v ? (uint32_t)__builtin_clzll(v) + 1 : bits + 1;
}

static uint32_t sparse_of_hash(uint64_t hash)
{
    uint32_t index = (uint32_t)(hash >> (64 - HLL_SPARSE_PRECISION));
    uint32_t rho =
        count_zeros(hash << HLL_SPARSE_PRECISION, 64 - HLL_SPARSE_PRECISION);
    if (index & ((1 << SUFFIX_BITS) - 1))
        return index;
    return RHO_FLAG | (index >> SUFFIX_BITS) << RHO_BITS | rho;
}

static uint32_t register_of_sparse(uint32_t value)
{
    return value & RHO_FLAG ? (value ^ RHO_FLAG) >> RHO_BITS
                            : value >> SUFFIX_BITS;
}

static uint32_t zeros_of_sparse(uint32_t value)
{
    if (value & RHO_FLAG)
        return (value & ((1 << RHO_BITS) - 1)) + SUFFIX_BITS;
    return count_zeros((uint64_t)value << (64 - SUFFIX_BITS), SUFFIX_BITS);
}

/* Values that differ in their zeros alone have one index: the last counts. */
static bool same_index(uint32_t a, uint32_t b)
{
    return a == b || ((a & b & RHO_FLAG) && a >> RHO_BITS == b >> RHO_BITS);
}

static int compare_sparse(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* --- dense --------------------------------------------------------------- */

static void note_zeros(struct hll_sketch *s, size_t at, uint32_t zeros)
{
    PRE(at < HLL_REGISTER_COUNT);
    if (s->registers[at] < zeros)
        s->registers[at] = (uint8_t)zeros;
}

static void become_dense(struct hll_sketch *s)
{
    PRE(!s->registers);
    s->registers = mem_zalloc(HLL_REGISTER_COUNT, 1);
    for (size_t i = 0; i < s->sparse_count; i++)
        note_zeros(s, register_of_sparse(s->sparse[i]),
                   zeros_of_sparse(s->sparse[i]));
    mem_free(s->sparse);
    s->sparse = NULL;
    s->sparse_count = s->sparse_cap = s->sorted = 0;
    sketch_check(s);
}

/* --- sparse -------------------------------------------------------------- */

static size_t sparse_bytes(const struct hll_sketch *s)
{
    size_t bytes = 0;
    uint32_t last = 0;
    PRE(s->sorted == s->sparse_count);
    for (size_t i = 0; i < s->sparse_count; i++) {
        bytes += varint_bytes(s->sparse[i] - last);
        last = s->sparse[i];
    }
    return bytes;
}

/* Sort what was gathered; too much of it makes the sketch dense. */
static void sketch_sort(struct hll_sketch *s)
{
    size_t n = 0;
    if (s->sorted == s->sparse_count)
        return;
    qsort(s->sparse, s->sparse_count, sizeof(*s->sparse), compare_sparse);
    for (size_t i = 0; i < s->sparse_count; i++) {
        if (n && same_index(s->sparse[n - 1], s->sparse[i]))
            n--;
        s->sparse[n++] = s->sparse[i];
    }
    s->sparse_count = s->sorted = n;
    if (sparse_bytes(s) >= SPARSE_BYTES_MAX)
        become_dense(s);
}

static void add_sparse(struct hll_sketch *s, uint32_t value)
{
    if (s->registers) {
        note_zeros(s, register_of_sparse(value), zeros_of_sparse(value));
        return;
    }
    if (s->sparse_count == s->sparse_cap) {
        s->sparse_cap = s->sparse_cap ? s->sparse_cap * 2 : 8;
        s->sparse = mem_realloc(s->sparse, s->sparse_cap * sizeof(*s->sparse));
    }
    s->sparse[s->sparse_count++] = value;
    if (s->sparse_count - s->sorted > UNSORTED_MAX)
        sketch_sort(s);
}

void hll_sketch_add(struct hll_sketch *s, uint64_t hash)
{
    s->added++;
    if (s->registers)
        note_zeros(s, hash >> (64 - HLL_PRECISION),
                   count_zeros(hash << HLL_PRECISION, 64 - HLL_PRECISION));
    else
        add_sparse(s, sparse_of_hash(hash));
}

/* --- decoding ------------------------------------------------------------ */

static bool decode_state(struct slice bytes, struct decoded *d)
{
    struct cursor c = cursor_make(bytes);
    struct pb_field f;
    while (pb_next(&c, &f)) {
        if (pb_is_integer(&f, STATE_SPARSE_COUNT))
            d->sparse_count = f.integer;
        else if (pb_is_integer(&f, STATE_PRECISION))
            d->precision = f.integer;
        else if (pb_is_integer(&f, STATE_SPARSE_PRECISION))
            d->sparse_precision = f.integer;
        else if (pb_is_bytes(&f, STATE_REGISTERS))
            d->registers = f.bytes;
        else if (pb_is_bytes(&f, STATE_SPARSE))
            d->sparse = f.bytes;
        else
            return false;
    }
    return !c.bad;
}

static bool decode_message(struct slice bytes, struct decoded *d)
{
    struct cursor c = cursor_make(bytes);
    struct pb_field f;
    *d = (struct decoded){.registers = SLICE_EMPTY, .sparse = SLICE_EMPTY};
    while (pb_next(&c, &f)) {
        if (pb_is_integer(&f, AGGREGATOR_TYPE))
            d->type = f.integer;
        else if (pb_is_integer(&f, AGGREGATOR_ADDED))
            d->added = f.integer;
        else if (pb_is_integer(&f, AGGREGATOR_VERSION))
            d->version = f.integer;
        else if (pb_is_integer(&f, AGGREGATOR_VALUES))
            d->values = f.integer;
        else if (!pb_is_bytes(&f, AGGREGATOR_STATE) ||
                 !decode_state(f.bytes, d))
            return false;
    }
    return !c.bad;
}

static bool registers_are_good(struct slice registers)
{
    bool good = registers.len == HLL_REGISTER_COUNT;
    for (size_t i = 0; good && i < registers.len; i++)
        good = (uint8_t)registers.data[i] <= REGISTER_MAX;
    return good;
}

static bool sparse_value_is_good(uint32_t value)
{
    uint32_t zeros = value & ((1 << RHO_BITS) - 1);
    if (value & RHO_FLAG)
        return value < RHO_FLAG * 2 && zeros >= 1 &&
               zeros <= 64 - HLL_SPARSE_PRECISION + 1;
    return value < UINT32_C(1) << HLL_SPARSE_PRECISION &&
           (value & ((1 << SUFFIX_BITS) - 1));
}

/* The next of the sparse values in @c; false: there is none, or it is bad. */
static bool next_sparse(struct cursor *c, uint32_t *value)
{
    uint64_t step;
    if (cursor_left(c) == 0)
        return false;
    step = cursor_varint(c);
    c->bad |=
        step > RHO_FLAG * 2 || !sparse_value_is_good(*value += (uint32_t)step);
    return !c->bad;
}

static bool sparse_is_good(struct slice sparse, uint64_t count)
{
    struct cursor c = cursor_make(sparse);
    uint32_t value = 0;
    uint32_t last = 0;
    uint64_t n = 0;
    for (; next_sparse(&c, &value); n++) {
        if (n && same_index(last, value))
            return false;
        last = value;
    }
    return !c.bad && n == count;
}

static bool
hll_decode(struct slice encoded, enum hll_values values, struct decoded *d)
{
    return decode_message(encoded, d) && d->type == SKETCH_TYPE &&
           d->version == ENCODING_VERSION && d->values == (uint64_t)values &&
           d->precision == HLL_PRECISION &&
           d->sparse_precision == HLL_SPARSE_PRECISION &&
           d->added <= INT64_MAX &&
           (d->registers.len == 0 || registers_are_good(d->registers)) &&
           (d->registers.len == 0 || d->sparse.len == 0) &&
           sparse_is_good(d->sparse, d->sparse_count);
}

bool hll_sketch_check(struct slice encoded, enum hll_values values)
{
    struct decoded d;
    return hll_decode(encoded, values, &d);
}

bool hll_sketch_merge(struct hll_sketch *s, struct slice encoded)
{
    struct decoded d;
    struct cursor c;
    uint32_t value = 0;
    if (!hll_decode(encoded, s->values, &d))
        return false;
    s->added += d.added;
    if (d.registers.len && !s->registers) {
        sketch_sort(s);
        if (!s->registers)
            become_dense(s);
    }
    for (size_t i = 0; i < d.registers.len; i++)
        note_zeros(s, i, (uint8_t)d.registers.data[i]);
    c = cursor_make(d.sparse);
    while (next_sparse(&c, &value))
        add_sparse(s, value);
    sketch_check(s);
    return true;
}

/* --- encoding ------------------------------------------------------------ */

static void put_sparse(const struct hll_sketch *s, struct buf *out)
{
    uint32_t last = 0;
    pb_put_head(out, STATE_SPARSE, sparse_bytes(s));
    for (size_t i = 0; i < s->sparse_count; i++) {
        buf_put_varint(out, s->sparse[i] - last);
        last = s->sparse[i];
    }
}

static void put_state(const struct hll_sketch *s, struct buf *out)
{
    if (s->sparse_count)
        pb_put_integer(out, STATE_SPARSE_COUNT, (int64_t)s->sparse_count);
    pb_put_integer(out, STATE_PRECISION, HLL_PRECISION);
    pb_put_integer(out, STATE_SPARSE_PRECISION, HLL_SPARSE_PRECISION);
    if (s->registers)
        pb_put_bytes(
            out, STATE_REGISTERS,
            slice_make((const char *)s->registers, HLL_REGISTER_COUNT));
    else
        put_sparse(s, out);
}

void hll_sketch_put(struct hll_sketch *s, struct buf *out)
{
    struct buf state = BUF_INIT;
    sketch_sort(s);
    sketch_check(s);
    pb_put_integer(out, AGGREGATOR_TYPE, SKETCH_TYPE);
    pb_put_integer(out, AGGREGATOR_ADDED, (int64_t)s->added);
    pb_put_integer(out, AGGREGATOR_VERSION, ENCODING_VERSION);
    pb_put_integer(out, AGGREGATOR_VALUES, s->values);
    put_state(s, &state);
    pb_put_bytes(out, AGGREGATOR_STATE, buf_slice(&state));
    buf_close(&state);
}
