/* Counts of a search server: queries by their outcome and time, results, and
 * how new the index is (docs/metrics.md).
 *
 * Threads: any.
 */
#ifndef WEB_SEARCH_PAGES_SEARCH_METERS_H
#define WEB_SEARCH_PAGES_SEARCH_METERS_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct metric_set;
struct search_index;
struct search_meters;
struct world;

enum search_outcome {
    SEARCH_FOUND,
    SEARCH_NOTHING, /* No page has it. */
    SEARCH_REFUSED, /* The query cannot be answered. */
    SEARCH_FAILED,  /* The index or the table cannot be read. */
    SEARCH_OUTCOMES,
};

/* How one query ended. */
struct search_ending {
    enum search_outcome outcome;
    size_t results; /* That were shown. */
};

/* The ending of a query that returned @rc with @results. */
struct search_ending search_ending_of(int rc, size_t results);

struct search_meters *search_meters_new(void);    /* Owned. */
void search_meters_free(struct search_meters *m); /* NULL is allowed. */
/* Count a query that was asked by @form, "page" or "json", and took @ns. */
void search_meters_query(struct search_meters *m,
                         const char *form,
                         struct search_ending ending,
                         uint64_t ns);
/* Count completed words, which took @ns. */
void search_meters_suggestion(struct search_meters *m, uint64_t ns);
/* A new index could not be read: the one before answers. */
void search_meters_stale(struct search_meters *m);
/* Append all in Prometheus' text form, with those of @index and what @gather
 * adds of the process; NULL: nothing. Parks. */
void search_meters_print(struct search_meters *m,
                         struct search_index *index,
                         struct world *world,
                         void (*gather)(struct metric_set *out),
                         struct buf *out);

#endif /* WEB_SEARCH_PAGES_SEARCH_METERS_H */
