/* The constants of ranking. They were chosen by known-item search over crawls:
 * docs/performance.md. */
#include "web/search/build/word_weights.h"

#include <math.h>

#include "base/core/macros.h"
#include "web/search/segment/segment_format.h"

#define BM25F_K1 8.0

static const struct {
    double weight;
    double slope;  /* How much the field's length counts: BM25's b. */
    double length; /* Its usual one, in words. */
} kind_weights[WORD_KIND_COUNT] = {
    [WORD_TITLE] = {90.0, 0.95, 8.0},  [WORD_URL] = {3.0, 0.5, 8.0},
    [WORD_ANCHOR] = {20.0, 0.6, 12.0}, [WORD_BODY] = {1.0, 0.75, 500.0},
    [WORD_HEADING] = {3.0, 0.5, 40.0},
};

double word_kind_part(enum word_kind kind, uint32_t length)
{
    double slope = kind_weights[kind].slope;
    return kind_weights[kind].weight /
           (1.0 - slope + slope * length / kind_weights[kind].length);
}

uint8_t word_weight(double w)
{
    double part = w / (BM25F_K1 + w) * SEGMENT_WEIGHT_MAX;
    return (uint8_t)MAX_OF(lrint(part), 1L);
}
