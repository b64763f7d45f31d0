/* The blocked Bloom filter of bloom.h. Hashes are gathered first, because the
 * number of lines follows from their number; equal neighbours count once. Some
 * lines get more than their share of keys, so a few more absent keys pass than
 * with a plain filter of that size: the price of one memory access a question.
 */
#include "bigtable/sstable/bloom.h"

#include "base/core/coding.h"
#include "base/core/panic.h"

#define BLOOM_PROBES_MAX 16
#define LINE_BITS        (BLOOM_LINE_BYTES * 8)

void bloom_builder_init(struct bloom_builder *b)
{
    *b = (struct bloom_builder){.hashes = BUF_INIT};
}

void bloom_builder_close(struct bloom_builder *b)
{
    buf_close(&b->hashes);
}

void bloom_builder_add(struct bloom_builder *b, uint64_t hash)
{
    ASSERT_SLOW(b->hashes.len % 8 == 0);
    if (b->hashes.len > 0 && hash == b->last)
        return;
    b->last = hash;
    buf_put_le64(&b->hashes, hash);
}

/* A plain filter is best with 0.69 probes for each bit a key has; in lines
 * fewer are better. */
static uint32_t probes_for(uint32_t bits_per_key)
{
    uint32_t probes = (bits_per_key * 6 + 5) / 10;
    return MIN_OF(MAX_OF(probes, 1u), (uint32_t)BLOOM_PROBES_MAX);
}

static size_t line_of(uint64_t hash, uint64_t lines)
{
    ASSERT_SLOW(lines > 0);
    return (size_t)(((hash >> 32) * lines) >> 32);
}

void bloom_builder_finish(struct bloom_builder *b,
                          uint32_t bits_per_key,
                          struct buf *out)
{
    uint64_t count = bloom_builder_count(b);
    uint64_t lines = (count * bits_per_key + LINE_BITS - 1) / LINE_BITS;
    uint32_t probes = probes_for(bits_per_key);
    char *bits;

    INVARIANT(b->hashes.len % sizeof(uint64_t) == 0);
    INVARIANT(probes >= 1);
    INVARIANT(probes <= BLOOM_PROBES_MAX);
    if (lines == 0)
        lines = 1;
    bits = buf_extend(out, lines * BLOOM_LINE_BYTES);
    memset(bits, 0, lines * BLOOM_LINE_BYTES);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t hash = get_le64(b->hashes.data + i * sizeof(uint64_t));
        char *line = bits + line_of(hash, lines) * BLOOM_LINE_BYTES;
        uint32_t h = (uint32_t)hash;
        for (uint32_t k = 0; k < probes; k++) {
            uint32_t bit = h >> 23;
            line[bit / 8] = (char)(line[bit / 8] | 1 << (bit % 8));
            h *= UINT32_C(0x9e3779b9);
        }
    }
    buf_append_byte(out, (char)probes);
    buf_clear(&b->hashes);
}

bool bloom_may_contain(struct slice filter, uint64_t hash)
{
    uint64_t lines = filter.len / BLOOM_LINE_BYTES;
    const char *line;
    uint32_t probes;
    uint32_t h = (uint32_t)hash;

    if (lines == 0 || filter.len % BLOOM_LINE_BYTES != 1)
        return true;
    probes = (unsigned char)filter.data[filter.len - 1];
    ASSERT_SLOW(lines <= UINT32_MAX);
    line = filter.data + line_of(hash, lines) * BLOOM_LINE_BYTES;
    for (uint32_t k = 0; k < probes && k < BLOOM_PROBES_MAX; k++) {
        uint32_t bit = h >> 23;
        if (!(line[bit / 8] >> (bit % 8) & 1))
            return false;
        h *= UINT32_C(0x9e3779b9);
    }
    return true;
}
