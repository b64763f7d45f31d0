/* The page of results, and the form above it. */
#ifndef WEB_SEARCH_PAGES_RESULT_PAGE_H
#define WEB_SEARCH_PAGES_RESULT_PAGE_H

#include "web/search/pages/search_meters.h"
#include "web/search/search.h"

struct http_reply;

struct result_page {
    struct search_index *index; /* Borrowed, as all here. */
    struct quarry_table *table;
    const char *table_name;
    bool has_ranks; /* There is a page of ranks to lead to. */
    struct search_request request;
};

/* Search, and write the page into @reply; what goes wrong is a sentence on it.
 * A blank query gives the form alone, and nothing found. Parks. */
struct search_ending result_page_put(const struct result_page *page,
                                     struct http_reply *reply);

#endif /* WEB_SEARCH_PAGES_RESULT_PAGE_H */
