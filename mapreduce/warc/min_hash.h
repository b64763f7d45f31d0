/* MinHash: how alike two texts are, from a few bytes of each (A. Broder, On the
 * resemblance and containment of documents, SEQUENCES 1997). Likeness is the
 * Jaccard index of the sets of shingles, runs of some words in order: the share
 * of shingles that both have. The share of equal minima of hash functions is an
 * estimate of it, of which b = 8 bits a minimum are kept (P. Li, A. König,
 * b-Bit Minwise Hashing, WWW 2010): its standard error at 0.8 is 0.036.
 *
 * Pure; threads: any. Nothing waits.
 */
#ifndef MAPREDUCE_WARC_MIN_HASH_H
#define MAPREDUCE_WARC_MIN_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"

/* Hash functions. */
#define MIN_HASH_COUNT 128
/* Most words of a shingle. */
#define MIN_HASH_WIDTH_MAX 32

struct min_hash {
    uint32_t low[MIN_HASH_COUNT]; /* The minima. */
    uint64_t words;               /* Of the text. */
};

/* A text's minima of 8 bits. */
struct min_hash_sketch {
    uint8_t low[MIN_HASH_COUNT];
};

/* The minima of @text (UTF-8): of its shingles of @width words, in lower case
 * as far as ASCII goes; a shorter text is one shingle. In scripts without
 * blanks a character is a word. PRE: 1 <= width <= MIN_HASH_WIDTH_MAX. */
void min_hash_text(struct slice text, size_t width, struct min_hash *out);

void min_hash_pack(const struct min_hash *m, struct min_hash_sketch *out);
/* The estimated likeness, 0 to 1. */
double min_hash_likeness(const struct min_hash_sketch *a,
                         const struct min_hash_sketch *b);

/* Minima in bands of some rows each: two texts that agree in all rows of a band
 * are candidates (A. Rajaraman, J. Ullman, Mining of Massive Datasets, 3.4).
 * The most rows with which texts of @likeness (0 to 1) meet in a band with a
 * probability of 0.999. */
size_t min_hash_rows(double likeness);
/* The hash of band @band, of MIN_HASH_COUNT / @rows. */
uint64_t min_hash_band(const struct min_hash *m, size_t rows, size_t band);

#endif /* MAPREDUCE_WARC_MIN_HASH_H */
