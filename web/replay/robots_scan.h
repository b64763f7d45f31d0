/* The robots.txt files of a table, for a policy that honours them. */
#ifndef WEB_REPLAY_ROBOTS_SCAN_H
#define WEB_REPLAY_ROBOTS_SCAN_H

#include "base/core/err.h"
#include "base/core/macros.h"

struct archive_policy;
struct quarry_table;

/* Add every robots.txt in @table, of all its captures that say 200 (or, as
 * captures of other things, nothing), to @policy. Hosts are stepped over, not
 * scanned: the cost is two reads a host. Parks. Errors: those of reading and of
 * archive_policy_add_robots(). */
MUST_CHECK int robots_scan(struct quarry_table *table,
                           struct archive_policy *policy,
                           struct err *err);

#endif /* WEB_REPLAY_ROBOTS_SCAN_H */
