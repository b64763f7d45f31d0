/* Links to the pages about the whole crawl, for the headers of replay's pages
 * and of those that share its address. */
#ifndef WEB_REPLAY_CRAWL_LINKS_H
#define WEB_REPLAY_CRAWL_LINKS_H

#include <stdbool.h>

struct html;

/* Append the links to @h; @has_ranks: the server has a table of ranks. */
void crawl_links_put(struct html *h, bool has_ranks);

#endif /* WEB_REPLAY_CRAWL_LINKS_H */
