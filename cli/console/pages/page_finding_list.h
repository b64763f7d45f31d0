/* Findings as a list, of a page that has some.
 *
 * Threads: one.
 */
#ifndef CLI_CONSOLE_PAGES_PAGE_FINDING_LIST_H
#define CLI_CONSOLE_PAGES_PAGE_FINDING_LIST_H

#include "cli/console/html.h"

/* Write @findings (an array, or NULL): severity, sentence, remedy, since when.
 */
void page_finding_list(struct html *h,
                       const json_t *findings,
                       const json_t *doc);

#endif /* CLI_CONSOLE_PAGES_PAGE_FINDING_LIST_H */
