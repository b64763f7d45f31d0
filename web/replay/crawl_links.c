/* A header's links, the same on all pages of one address: what they lead to is
 * in overview_pages.c and replay_pages.c. */
#include "web/replay/crawl_links.h"

#include "cli/console/html.h"

void crawl_links_put(struct html *h, bool has_ranks)
{
    html_lit(h, "<nav class=\"replay-links\" aria-label=\"The crawl\"><a "
                "href=\"/web\">Archive</a> <a href=\"/hosts\">Hosts</a> ");
    if (has_ranks)
        html_lit(h, "<a href=\"/ranks\">Ranks</a> ");
    html_lit(h, "<a href=\"/keys\">Keys</a></nav>");
}
