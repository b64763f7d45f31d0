/* Collects the candidates for a misspelt word and returns one that begins with
 * it, or else the nearest by base/core/text.h.
 */
#include "cli/suggest.h"

#include <string.h>

#include "base/core/text.h"

/* A word cut short this far is still taken for its beginning. */
#define PREFIX_BYTES_MIN 3

void suggest_init(struct suggest *s, const char *word)
{
    s->word = word;
    s->offer_count = 0;
}

void suggest_offer(struct suggest *s, const char *candidate)
{
    if (s->offer_count < SUGGEST_OFFERS_MAX)
        s->offers[s->offer_count++] = candidate;
}

const char *suggest_best(const struct suggest *s)
{
    size_t len = strlen(s->word);
    /* "desc" is far from "describe" by letters, but meant. */
    for (size_t i = 0; i < s->offer_count && len >= PREFIX_BYTES_MIN; i++)
        if (strncmp(s->offers[i], s->word, len) == 0)
            return s->offers[i];
    return text_nearest(slice_str(s->word), s->offers, s->offer_count);
}
