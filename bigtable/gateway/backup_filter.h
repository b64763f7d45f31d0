/* The filter of ListBackups: which of the backups are wanted.
 *
 *     filter     = term { [ "AND" | "OR" ] term }     AND binds first
 *     term       = [ "NOT" ] ( "(" filter ")" | comparison )
 *     comparison = field ( ":" | "=" | "!=" | "<" | "<=" | ">" | ">=" ) value
 *     value      = a word, or "text in quotes"
 *
 * Fields are name, source_table, state, start_time, end_time, expire_time and
 * size_bytes. Names are compared by their letters, in any case; ":" asks for
 * names that contain the value, and is "=" for all else. Times are RFC 3339 in
 * UTC.
 *
 * Pure. Threads: any.
 */
#ifndef BIGTABLE_GATEWAY_BACKUP_FILTER_H
#define BIGTABLE_GATEWAY_BACKUP_FILTER_H

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct backup_field;

/* Fields of other messages that are filtered in this language: the one of a
 * name, NULL for none, and all names for error messages. */
struct list_fields {
    const struct backup_field *(*find)(struct slice name);
    const char *names;
};

/* Does @message fit @filter? Fields of the kind TRUTH are integers, whose
 * values are true and false. Errors: as below. */
MUST_CHECK int list_filter_fits(const struct list_fields *fields,
                                struct slice filter,
                                struct slice message,
                                bool *fits,
                                struct err *err);

/* Does @backup, a Backup message, fit @filter? An empty filter fits all.
 * Errors: ERR_INVALID, for any backup. */
MUST_CHECK int backup_filter_fits(struct slice filter,
                                  struct slice backup,
                                  bool *fits,
                                  struct err *err);

#endif /* BIGTABLE_GATEWAY_BACKUP_FILTER_H */
