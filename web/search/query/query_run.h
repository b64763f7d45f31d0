/* The best documents of an index for a query.
 *
 * A document's score is the sum over the query's terms (those of exclusions
 * apart) of idf × weight, plus a part for its rank; idf counts live documents
 * alone, so that neither segments nor hidden rows change a score. Of equal
 * scores the newer capture comes first, then the order of row keys decides:
 * results depend on what is in the index, not on how it was built.
 *
 * Threads: any.
 */
#ifndef WEB_SEARCH_QUERY_QUERY_RUN_H
#define WEB_SEARCH_QUERY_QUERY_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct index_view;
struct search_query;
struct world;

struct found_document {
    double score;
    int64_t time_us; /* Of the newest capture within the query's dates. */
    uint64_t likeness;
    uint32_t part;
    uint32_t document;
};

struct query_counts {
    uint64_t scored;             /* Documents whose score was computed. */
    uint64_t live_documents;     /* Of the index. */
    uint64_t term_documents[48]; /* Of each term of the query. */
};

/* The best @limit documents, best first, into @out, *@count of them. Segments
 * from @task_bytes on are searched beside each other, in tasks of @world.
 * Parks. Errors: ERR_CORRUPT, ERR_IO, ERR_NOMEM. */
MUST_CHECK int query_run(struct world *world,
                         size_t task_bytes,
                         const struct index_view *view,
                         const struct search_query *query,
                         size_t limit,
                         struct found_document *out,
                         size_t *count,
                         struct query_counts *counts,
                         struct err *err);

/* idf of a term that @documents of @all have. */
double query_idf(uint64_t all, uint64_t documents);

#endif /* WEB_SEARCH_QUERY_QUERY_RUN_H */
