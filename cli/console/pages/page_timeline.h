/* A timeline of a job's attempts: a lane for each worker, in which attempts
 * that overlap have rows of their own.
 *
 * Threads: one.
 */
#ifndef CLI_CONSOLE_PAGES_PAGE_TIMELINE_H
#define CLI_CONSOLE_PAGES_PAGE_TIMELINE_H

#include "cli/console/html.h"

/* Attempts that are drawn: the newest ones, if there are more. */
#define TIMELINE_ATTEMPTS_MAX 2000

/* Draw @attempts (an array, or NULL). Those that run end at @now_us. The tasks
 * in @stragglers are marked. Nothing is drawn of attempts without a begin. */
void page_timeline(struct html *h,
                   const json_t *attempts,
                   const json_t *stragglers,
                   double now_us);
/* Is it one of @stragglers: the same part, kind, task and attempt? */
bool page_is_straggler(const json_t *attempt, const json_t *stragglers);

#endif /* CLI_CONSOLE_PAGES_PAGE_TIMELINE_H */
