/* Packing of small integers, with exceptions; Rice codes.
 *
 * The width of a block is the one that takes the fewest bytes, exceptions
 * included, found by a histogram of the values' widths.
 */
#include "web/search/segment/posting_codec.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"

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

static void weights_put(struct buf *out, const uint8_t *weights, size_t count)
{
    uint32_t values[POSTING_BLOCK_MAX];
    uint8_t least = weights[0];
    uint32_t all = 0;
    for (size_t i = 1; i < count; i++)
        least = MIN_OF(least, weights[i]);
    for (size_t i = 0; i < count; i++) {
        values[i] = (uint32_t)(weights[i] - least);
        all |= values[i];
    }
    buf_append_byte(out, (char)least);
    buf_append_byte(out, (char)width_of(all));
    values_pack(out, values, count, width_of(all));
}

static bool weights_get(struct cursor *c, size_t count, uint8_t *out)
{
    uint32_t values[POSTING_BLOCK_MAX];
    uint8_t least = cursor_u8(c);
    unsigned bits = cursor_u8(c);
    struct slice packed;
    if (bits > 8)
        return false;
    packed = cursor_bytes(c, packed_bytes(count, bits));
    if (c->bad)
        return false;
    values_unpack(packed, count, bits, values);
    for (size_t i = 0; i < count; i++)
        out[i] = (uint8_t)(least + values[i]);
    return true;
}

/* --- blocks -------------------------------------------------------------- */

void posting_block_put(struct buf *out,
                       uint32_t base,
                       const uint32_t *docs,
                       const uint8_t *weights,
                       const uint32_t *frequencies,
                       size_t count)
{
    uint32_t values[POSTING_BLOCK_MAX];
    PRE(count >= 1 && count <= POSTING_BLOCK_MAX);
    if (count < POSTING_SHORT_MAX) {
        for (size_t i = 0; i < count; i++) {
            buf_put_varint(out, docs[i] - base);
            buf_append_byte(out, (char)weights[i]);
            buf_put_varint(out, frequencies[i] - 1);
            base = docs[i] + 1;
        }
        return;
    }
    for (size_t i = 0; i < count; i++) {
        values[i] = docs[i] - base;
        base = docs[i] + 1;
    }
    patched_put(out, values, count);
    weights_put(out, weights, count);
    for (size_t i = 0; i < count; i++)
        values[i] = frequencies[i] - 1;
    patched_put(out, values, count);
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

static bool frequencies_ok(uint32_t *frequencies, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (frequencies[i]++ >= POSTING_POSITION_MAX)
            return false;
    return true;
}

bool posting_block_get(struct cursor *c,
                       uint32_t base,
                       uint32_t doc_end,
                       size_t count,
                       uint32_t *docs,
                       uint8_t *weights,
                       uint32_t *frequencies)
{
    PRE(count >= 1 && count <= POSTING_BLOCK_MAX);
    if (count < POSTING_SHORT_MAX) {
        for (size_t i = 0; i < count; i++) {
            uint64_t delta = cursor_varint(c);
            uint64_t frequency;
            weights[i] = cursor_u8(c);
            frequency = cursor_varint(c);
            if (c->bad || delta > UINT32_MAX || frequency > UINT32_MAX)
                return false;
            docs[i] = (uint32_t)delta;
            frequencies[i] = (uint32_t)frequency;
        }
    } else if (!patched_get(c, count, docs) ||
               !weights_get(c, count, weights) ||
               !patched_get(c, count, frequencies)) {
        return false;
    }
    return sum_deltas(base, doc_end, docs, count) &&
           frequencies_ok(frequencies, count);
}

/* --- positions ----------------------------------------------------------- */

/* The Rice parameter for gaps of about length / count words: 0.69 of their
 * mean, as a power of two. */
static unsigned rice_bits(uint32_t length, size_t count)
{
    uint64_t mean = ((uint64_t)length * 11 / 16) / count;
    return mean > 1 ? 63 - (unsigned)__builtin_clzll(mean) : 0;
}

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

void positions_put(struct bit_writer *w,
                   uint32_t length,
                   const uint32_t *positions,
                   size_t count)
{
    unsigned k = rice_bits(length, count);
    uint32_t next = 0;
    PRE(positions[count - 1] < length);
    for (size_t i = 0; i < count; i++) {
        uint32_t gap = positions[i] - next;
        for (uint32_t q = gap >> k; q; q--)
            bits_put(w, 0, 1);
        bits_put(w, 1, 1);
        bits_put(w, gap & low_mask(k), k);
        next = positions[i] + 1;
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

/* Have at least 32 bits, unless the end is near. */
static inline void bits_fill(struct bit_reader *r)
{
    while (r->count <= 56 && r->p < r->end) {
        r->bits |= (uint64_t)*r->p++ << r->count;
        r->count += 8;
    }
}

/* The zeros before the next one, which is taken, too. */
static inline uint32_t bits_unary(struct bit_reader *r)
{
    uint32_t zeros = 0;
    for (;;) {
        bits_fill(r);
        if (r->bits) {
            unsigned n = (unsigned)__builtin_ctzll(r->bits);
            r->bits >>= n;
            r->bits >>= 1;
            r->count -= n + 1;
            return zeros + n;
        }
        zeros += r->count;
        r->count = 0;
        if (r->p >= r->end || zeros > POSTING_POSITION_MAX) {
            r->bad = true;
            return 0;
        }
    }
}

static inline uint32_t bits_take(struct bit_reader *r, unsigned count)
{
    uint32_t v;
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

bool positions_get(struct bit_reader *r,
                   uint32_t length,
                   size_t count,
                   uint32_t *out)
{
    unsigned k;
    uint64_t next = 0;
    if (count == 0 || count > length) {
        r->bad = true;
        return false;
    }
    k = rice_bits(length, count);
    for (size_t i = 0; i < count; i++) {
        uint64_t q = bits_unary(r);
        next += q << k | bits_take(r, k);
        if (r->bad || next >= length) {
            r->bad = true;
            return false;
        }
        if (out)
            out[i] = (uint32_t)next;
        next++;
    }
    return true;
}
