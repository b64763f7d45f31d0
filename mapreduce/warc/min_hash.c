/* Each shingle is hashed once; the hash functions are multiply-shift of that
 * (M. Dietzfelbinger et al., 1997), which compilers turn into vectors. */
#include "mapreduce/warc/min_hash.h"

#include <math.h>

#include "base/core/hash.h"
#include "base/core/macros.h"
#include "base/core/panic.h"
#include "mapreduce/warc/text_blocks.h"

/* Longer words are cut. */
#define WORD_BYTES_MAX 64

/* The odd multiplier and the addend of function @i: fixed, because minima of
 * one job are compared with those of its other tasks. */
static uint64_t multiplier_of(size_t i)
{
    return hash_mix(2 * i + 1) | 1;
}

static uint64_t addend_of(size_t i)
{
    return hash_mix(UINT64_C(0x5bf03635) + i);
}

static uint64_t word_hash(struct slice word)
{
    char lower[WORD_BYTES_MAX];
    size_t n = MIN_OF(word.len, sizeof(lower));
    for (size_t i = 0; i < n; i++) {
        char c = word.data[i];
        lower[i] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    }
    return hash64(lower, n, 0);
}

struct min_hash_run {
    struct min_hash *out;
    uint64_t multipliers[MIN_HASH_COUNT];
    uint64_t addends[MIN_HASH_COUNT];
    uint64_t window[MIN_HASH_WIDTH_MAX]; /* Hashes of the last words: a ring. */
};

/* Take the @n words up to word @end as a shingle. */
static void take_shingle(struct min_hash_run *r, uint64_t end, size_t n)
{
    uint64_t h = 0;
    for (uint64_t i = end - n; i < end; i++)
        h = hash_mix(h + r->window[i % MIN_HASH_WIDTH_MAX]);
    for (size_t i = 0; i < MIN_HASH_COUNT; i++) {
        uint32_t x = (uint32_t)((h * r->multipliers[i] + r->addends[i]) >> 32);
        r->out->low[i] = MIN_OF(r->out->low[i], x);
    }
}

void min_hash_text(struct slice text, size_t width, struct min_hash *out)
{
    struct min_hash_run r = {.out = out};
    struct slice word;
    PRE(width >= 1 && width <= MIN_HASH_WIDTH_MAX);
    out->words = 0;
    for (size_t i = 0; i < MIN_HASH_COUNT; i++) {
        out->low[i] = UINT32_MAX;
        r.multipliers[i] = multiplier_of(i);
        r.addends[i] = addend_of(i);
    }
    while (text_word_next(&text, &word)) {
        r.window[out->words++ % MIN_HASH_WIDTH_MAX] = word_hash(word);
        if (out->words >= width)
            take_shingle(&r, out->words, width);
    }
    if (out->words < width)
        take_shingle(&r, out->words, (size_t)out->words);
}

void min_hash_pack(const struct min_hash *m, struct min_hash_sketch *out)
{
    for (size_t i = 0; i < MIN_HASH_COUNT; i++)
        out->low[i] = (uint8_t)hash_mix(m->low[i]);
}

/* Of 256 pairs of different minima, one has the same 8 bits. */
double min_hash_likeness(const struct min_hash_sketch *a,
                         const struct min_hash_sketch *b)
{
    const double chance = 1.0 / 256;
    unsigned same = 0;
    double share;
    for (size_t i = 0; i < MIN_HASH_COUNT; i++)
        same += a->low[i] == b->low[i];
    share = (double)same / MIN_HASH_COUNT;
    return share <= chance ? 0 : (share - chance) / (1 - chance);
}

size_t min_hash_rows(double likeness)
{
    for (size_t rows = 16; rows > 1; rows--) {
        double bands = (double)(MIN_HASH_COUNT / rows);
        double miss = pow(1 - pow(likeness, (double)rows), bands);
        if (miss <= 0.001)
            return rows;
    }
    return 1;
}

uint64_t min_hash_band(const struct min_hash *m, size_t rows, size_t band)
{
    PRE(rows >= 1 && (band + 1) * rows <= MIN_HASH_COUNT);
    return hash64(&m->low[band * rows], rows * sizeof(m->low[0]), band);
}
