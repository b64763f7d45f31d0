/* "Did you mean …?": the known word nearest to one that is not known. */
#ifndef CLI_SUGGEST_H
#define CLI_SUGGEST_H

#include <stddef.h>

/* Commands, options or tables that are compared; more are left out. */
#define SUGGEST_OFFERS_MAX 128

struct suggest {
    const char *word;                       /* Borrowed: what the user wrote. */
    const char *offers[SUGGEST_OFFERS_MAX]; /* Borrowed. */
    size_t offer_count;
};

void suggest_init(struct suggest *s, const char *word);
/* @candidate is borrowed as long as @s is used. */
void suggest_offer(struct suggest *s, const char *candidate);
/* NULL when nothing offered is near enough to be meant. */
const char *suggest_best(const struct suggest *s);

#endif /* CLI_SUGGEST_H */
