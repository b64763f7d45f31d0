/* Packing of small integers, with exceptions; codes of bits.
 *
 * The width of a block is the one that takes the fewest bytes, exceptions
 * included, found by a histogram of the values' widths.
 */
#include "web/search/segment/posting_codec.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "web/search/segment/segment_format.h"

/* --- packed values ------------------------------------------------------- */

static unsigned width_of(uint32_t v)
{
    return v ? 32 - (unsigned)__builtin_clz(v) : 0;
}

static uint32_t low_mask(unsigned bits)
{
    return bits >= 32 ? UINT32_MAX : (UINT32_C(1) << bits) - 1;
}

static size_t packed_bytes(size_t count, unsigned bits)
{
    return (count * bits + 7) / 8;
}

static void values_pack(struct buf *out,
                        const uint32_t *values,
                        size_t count,
                        unsigned bits)
{
    uint64_t acc = 0;
    unsigned have = 0;
    for (size_t i = 0; i < count; i++) {
        acc |= (uint64_t)(values[i] & low_mask(bits)) << have;
        have += bits;
        while (have >= 8) {
            buf_append_byte(out, (char)(acc & 0xff));
            acc >>= 8;
            have -= 8;
        }
    }
    if (have)
        buf_append_byte(out, (char)(acc & 0xff));
}

static void
values_unpack(struct slice bytes, size_t count, unsigned bits, uint32_t *out)
{
    const unsigned char *p = (const unsigned char *)bytes.data;
    const unsigned char *end = p + bytes.len;
    uint64_t acc = 0;
    unsigned have = 0;
    uint32_t mask = low_mask(bits);
    for (size_t i = 0; i < count; i++) {
        if (have < bits) {
            if (end - p >= 4) {
                acc |= (uint64_t)get_le32((const char *)p) << have;
                p += 4;
                have += 32;
            } else {
                while (have < bits && p < end) {
                    acc |= (uint64_t)*p++ << have;
                    have += 8;
                }
            }
        }
        out[i] = (uint32_t)acc & mask;
        acc >>= bits;
        have -= bits;
    }
}

/* The width that takes the fewest bytes. */
static unsigned patched_width(const uint32_t *values, size_t count)
{
    size_t of_width[33] = {0};
    size_t above = 0; /* Values wider than `bits`, and bytes of their rests. */
    size_t best = SIZE_MAX;
    unsigned best_bits = 32;
    for (size_t i = 0; i < count; i++)
        of_width[width_of(values[i])]++;
    for (int bits = 32; bits >= 0; bits--) {
        size_t bytes = packed_bytes(count, (unsigned)bits);
        for (int w = bits + 1; w <= 32; w++)
            bytes += of_width[w] * (1 + (size_t)(w - bits + 6) / 7);
        if (bytes < best && above < 256) {
            best = bytes;
            best_bits = (unsigned)bits;
        }
        above += of_width[bits];
    }
    return best_bits;
}

static void patched_put(struct buf *out, const uint32_t *values, size_t count)
{
    unsigned bits = patched_width(values, count);
    size_t exceptions = 0;
    for (size_t i = 0; i < count; i++)
        exceptions += width_of(values[i]) > bits;
    PRE(exceptions <= POSTING_BLOCK_MAX);
    buf_append_byte(out, (char)bits);
    buf_append_byte(out, (char)(unsigned char)exceptions);
    values_pack(out, values, count, bits);
    for (size_t i = 0; i < count; i++)
        if (width_of(values[i]) > bits) {
            buf_append_byte(out, (char)(unsigned char)i);
            buf_put_varint(out, values[i] >> bits);
        }
}

static bool patched_get(struct cursor *c, size_t count, uint32_t *out)
{
    unsigned bits = cursor_u8(c);
    size_t exceptions = cursor_u8(c);
    struct slice packed;
    if (bits > 32 || exceptions > count)
        return false;
    packed = cursor_bytes(c, packed_bytes(count, bits));
    if (c->bad)
        return false;
    values_unpack(packed, count, bits, out);
    for (size_t i = 0; i < exceptions; i++) {
        size_t at = cursor_u8(c);
        uint64_t high = cursor_varint(c);
        if (c->bad || at >= count || bits >= 32 || high > (UINT32_MAX >> bits))
            return false;
        out[at] |= (uint32_t)high << bits;
    }
    return true;
}

/* --- bits ---------------------------------------------------------------- */

static void bits_put(struct bit_writer *w, uint64_t value, unsigned count)
{
    w->bits |= value << w->count;
    w->count += count;
    while (w->count >= 8) {
        buf_append_byte(w->out, (char)(w->bits & 0xff));
        w->bits >>= 8;
        w->count -= 8;
    }
}

void bit_writer_end(struct bit_writer *w)
{
    if (w->count)
        buf_append_byte(w->out, (char)(w->bits & 0xff));
    w->bits = 0;
    w->count = 0;
}

void bit_reader_init(struct bit_reader *r, struct slice bytes)
{
    *r = (struct bit_reader){.p = (const unsigned char *)bytes.data,
                             .end =
                                 (const unsigned char *)bytes.data + bytes.len};
}

/* Have more than 56 bits, unless the end is near. */
static inline void bits_fill(struct bit_reader *r)
{
    if (r->end - r->p >= 8) {
        unsigned more = (63 - r->count) / 8;
        r->bits |= get_le64((const char *)r->p) << r->count;
        r->p += more;
        r->count += more * 8;
        r->bits &= UINT64_MAX >> (64 - r->count);
        return;
    }
    while (r->count <= 56 && r->p < r->end) {
        r->bits |= (uint64_t)*r->p++ << r->count;
        r->count += 8;
    }
}

static inline uint32_t bits_take(struct bit_reader *r, unsigned count)
{
    uint32_t v;
    if (r->count < count)
        bits_fill(r);
    if (r->count < count) {
        r->bad = true;
        return 0;
    }
    v = (uint32_t)r->bits & low_mask(count);
    r->bits >>= count;
    r->count -= count;
    return v;
}

bool bit_reader_at_end(struct bit_reader *r)
{
    bits_fill(r);
    return !r->bad && r->p == r->end && r->count < 8 && r->bits == 0;
}

/* A number of at least 1: one zero less than it has bits, then the bits, of
 * which the first one is a one. */
static void gamma_put(struct bit_writer *w, uint32_t v)
{
    unsigned more = width_of(v) - 1;
    bits_put(w, UINT64_C(1) << more, more + 1);
    bits_put(w, v & low_mask(more), more);
}

static inline uint32_t gamma_get(struct bit_reader *r)
{
    unsigned more;
    if (r->count < 32)
        bits_fill(r);
    if (r->bits == 0 || (more = (unsigned)__builtin_ctzll(r->bits)) > 31) {
        r->bad = true;
        return 1;
    }
    r->bits >>= more + 1;
    r->count -= more + 1;
    return (uint32_t)(UINT64_C(1) << more) | bits_take(r, more);
}

/* --- interpolated numbers ------------------------------------------------ */

/* One of @n numbers: those in the middle, which come more often, take a bit
 * less where @n is no power of two. */
static void among_put(struct bit_writer *w, uint32_t v, uint32_t n)
{
    unsigned bits = width_of(n - 1);
    uint32_t brief = (uint32_t)((UINT64_C(1) << bits) - n);
    uint32_t first = (n - brief) / 2;
    if (bits == 0)
        return;
    v = v >= first ? v - first : v + (n - first);
    if (v < brief) {
        bits_put(w, v, bits - 1);
        return;
    }
    bits_put(w, ((uint64_t)v + brief) >> 1, bits - 1);
    bits_put(w, ((uint64_t)v + brief) & 1, 1);
}

static inline uint32_t among_get(struct bit_reader *r, uint32_t n)
{
    unsigned bits = width_of(n - 1);
    uint32_t brief = (uint32_t)((UINT64_C(1) << bits) - n);
    uint32_t first = (n - brief) / 2;
    uint32_t v;
    if (bits == 0)
        return 0;
    v = bits_take(r, bits - 1);
    if (v >= brief)
        v = (uint32_t)(((uint64_t)v << 1 | bits_take(r, 1)) - brief);
    return v >= n - first ? v - (n - first) : v + first;
}

/* @count ascending numbers in [@low, @high). */
static void ascending_put(struct bit_writer *w,
                          const uint32_t *v,
                          size_t count,
                          uint32_t low,
                          uint32_t high)
{
    while (count > 0 && high - low > count) {
        size_t half = count / 2;
        uint32_t first = low + (uint32_t)half;
        among_put(w, v[half] - first, high - low - (uint32_t)count + 1);
        ascending_put(w, v, half, low, v[half]);
        low = v[half] + 1;
        v += half + 1;
        count -= half + 1;
    }
}

/* The same back; @out may be NULL. PRE: @count <= @high - @low. The depth is
 * the logarithm of the count. */
static void ascending_get(struct bit_reader *r,
                          uint32_t *out,
                          size_t count,
                          uint32_t low,
                          uint32_t high)
{
    while (count > 0 && !r->bad) {
        size_t half = count / 2;
        uint32_t v = low + (uint32_t)half +
                     among_get(r, high - low - (uint32_t)count + 1);
        if (out)
            out[half] = v;
        if (half)
            ascending_get(r, out, half, low, v);
        low = v + 1;
        out = out ? out + half + 1 : NULL;
        count -= half + 1;
    }
}

/* --- blocks -------------------------------------------------------------- */

uint8_t posting_weight_guess(uint32_t frequency, uint32_t body_words)
{
    uint64_t part = UINT64_C(250) * frequency;
    uint64_t whole = 500 + UINT64_C(3) * body_words + part;
    uint64_t guess = (2 * SEGMENT_WEIGHT_MAX * part + whole) / (2 * whole);
    return (uint8_t)MAX_OF(guess, 1U);
}

static uint32_t zigzag_of(int8_t v)
{
    return v < 0 ? 2 * (uint32_t)-v - 1 : 2 * (uint32_t)v;
}

void posting_block_put(struct buf *out,
                       uint32_t base,
                       uint32_t doc_end,
                       const uint32_t *docs,
                       const uint32_t *frequencies,
                       const int8_t *differences,
                       size_t count)
{
    uint32_t deltas[POSTING_BLOCK_MAX];
    struct bit_writer w = {.out = out};
    PRE(count >= 1 && count <= POSTING_BLOCK_MAX);
    PRE(docs[0] >= base && docs[count - 1] < doc_end);
    if (count < POSTING_BLOCK_MAX) {
        ascending_put(&w, docs, count, base, doc_end);
    } else {
        for (size_t i = 0; i < count; i++) {
            deltas[i] = docs[i] - base;
            base = docs[i] + 1;
        }
        patched_put(out, deltas, count);
    }
    for (size_t i = 0; i < count; i++)
        gamma_put(&w, frequencies[i]);
    for (size_t i = 0; i < count; i++)
        gamma_put(&w, 1 + zigzag_of(differences[i]));
    bit_writer_end(&w);
}

/* From deltas to documents; false: one is not below @doc_end. */
static bool
sum_deltas(uint64_t base, uint32_t doc_end, uint32_t *docs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        base += docs[i];
        if (base >= doc_end)
            return false;
        docs[i] = (uint32_t)base++;
    }
    return true;
}

bool posting_docs_get(struct bit_reader *r,
                      struct slice bytes,
                      uint32_t base,
                      uint32_t doc_end,
                      size_t count,
                      uint32_t *docs)
{
    struct cursor c = cursor_make(bytes);
    PRE(count >= 1 && count <= POSTING_BLOCK_MAX);
    if (base > doc_end || count > doc_end - base)
        return false;
    if (count < POSTING_BLOCK_MAX) {
        bit_reader_init(r, bytes);
        ascending_get(r, docs, count, base, doc_end);
        return !r->bad;
    }
    if (!patched_get(&c, count, docs))
        return false;
    bit_reader_init(r, slice_make(c.p, cursor_left(&c)));
    return sum_deltas(base, doc_end, docs, count);
}

bool posting_values_get(struct bit_reader *r,
                        size_t count,
                        uint32_t *frequencies,
                        int8_t *differences)
{
    for (size_t i = 0; i < count; i++) {
        frequencies[i] = gamma_get(r);
        if (frequencies[i] > POSTING_POSITION_MAX)
            return false;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t v = gamma_get(r) - 1;
        if (v > 2 * SEGMENT_WEIGHT_MAX)
            return false;
        differences[i] = (int8_t)(v & 1 ? -(int)(v / 2) - 1 : (int)(v / 2));
    }
    return bit_reader_at_end(r);
}

/* --- positions ----------------------------------------------------------- */

void positions_put(struct bit_writer *w,
                   uint32_t length,
                   const uint32_t *positions,
                   size_t count)
{
    PRE(count > 0 && positions[count - 1] < length);
    ascending_put(w, positions, count, 0, length);
}

bool positions_get(struct bit_reader *r,
                   uint32_t length,
                   size_t count,
                   uint32_t *out)
{
    if (count == 0 || count > length)
        r->bad = true;
    else
        ascending_get(r, out, count, 0, length);
    return !r->bad;
}
