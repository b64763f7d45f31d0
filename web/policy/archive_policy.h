/* Which archived captures may be shown: a list of rules by URL and date, and
 * what a page asks of archives itself. Pure, for everything that shows
 * captures: replay, indexes, search.
 *
 *     # a comment
 *     block http://host/private*   they asked us, 2026-03-01
 *     block http://host/page       from=2014 to=201506 court order 7/15
 *     allow http://host/private/press*
 *     block *.host                 the whole domain
 *     block host
 *     block com,example)/path      a key of an index (SURT) and all behind it
 *
 * A rule is for captures of the URL alone, or with `*` at its end of all that
 * begin so; of a host, or with `*.` of its subdomains too; `from` and `to`, 4
 * to 14 digits, are dates of captures, and a date that is cut short means all
 * of its period. URLs are compared as indexes compare them, by SURT: http and
 * https, www and none, case and the order of arguments make no difference. Of
 * the rules that fit a capture the one with the longest key decides, and of
 * those of one key the last. The rest of a line is the reason that people are
 * told.
 *
 * Threads: a policy that has been read is immutable; any.
 */
#ifndef WEB_POLICY_ARCHIVE_POLICY_H
#define WEB_POLICY_ARCHIVE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct archive_policy;

/* Rules of one list, and bytes of a reason; the rest is cut. */
#define ARCHIVE_POLICY_RULES_MAX    ((size_t)1 << 20)
#define ARCHIVE_POLICY_REASON_BYTES 400
#define ARCHIVE_ROBOTS_BYTES_MAX    ((size_t)512 << 20)

struct archive_policy *archive_policy_new(void);    /* Owned. */
void archive_policy_free(struct archive_policy *p); /* NULL is allowed. */

/* Add the rules of @text, a list called @name. Errors: ERR_INVALID, with the
 * line. */
MUST_CHECK int archive_policy_read(struct archive_policy *p,
                                   struct slice text,
                                   const char *name,
                                   struct err *err);
/* Captures that ask not to be archived are not shown either. */
void archive_policy_honour_noarchive(struct archive_policy *p);
bool archive_policy_needs_robots(const struct archive_policy *p);

/* Honour robots.txt files for the robot @agent, a product token, copied: those
 * that archive_policy_add_robots() adds. PRE: none was added. */
void archive_policy_honour_robots(struct archive_policy *p, const char *agent);
bool archive_policy_wants_robots_txt(const struct archive_policy *p);
/* Add the robots.txt of @site, row keys' part before the first slash
 * ("com.cnn.www:8080"), as it was from @time_us on, oldest first. It counts for
 * captures until the next one, the first for older ones, too. Errors:
 * ERR_EXHAUSTED, all of them together have more than ARCHIVE_ROBOTS_BYTES_MAX
 * of rules. */
MUST_CHECK int archive_policy_add_robots(struct archive_policy *p,
                                         struct slice site,
                                         int64_t time_us,
                                         struct slice text,
                                         struct err *err);

/* A capture to be judged. */
struct archive_subject {
    struct slice surt;
    int64_t time_us;
    struct slice robots; /* meta:robots, or "". */
    struct slice head;   /* Of HTTP, or ""; for X-Robots-Tag. */
    struct slice row;    /* Its row's key, or "": for robots.txt. */
};

/* May it be shown? If not, *@reason is why, borrowed from @p. */
bool archive_policy_allows(const struct archive_policy *p,
                           const struct archive_subject *s,
                           struct slice *reason);

/* Does the page say noarchive (or none) to robots, in <meta name=robots> or in
 * an X-Robots-Tag header for all robots? */
bool archive_robots_noarchive(struct slice robots, struct slice head);

#endif /* WEB_POLICY_ARCHIVE_POLICY_H */
