/* The fields of the message Backup that ListBackups filters and orders by.
 *
 * Pure. Threads: any.
 */
#ifndef BIGTABLE_GATEWAY_BACKUP_FIELD_H
#define BIGTABLE_GATEWAY_BACKUP_FIELD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/slice.h"

/* As a text, for messages: all of them. */
#define BACKUP_FIELD_NAMES                                                     \
    "name, source_table, state, start_time, end_time, expire_time, size_bytes"

enum backup_field_kind {
    BACKUP_FIELD_TEXT,
    BACKUP_FIELD_TIME,
    BACKUP_FIELD_STATE,
    BACKUP_FIELD_SIZE,
    BACKUP_FIELD_TRUTH, /* Of other messages that are filtered so. */
};

struct backup_field {
    const char *name;
    unsigned number; /* In the message Backup. */
    enum backup_field_kind kind;
};

/* The field @name, in any case; NULL: there is none. */
const struct backup_field *backup_field_find(struct slice name);
/* The field's number in @backup: µs since the epoch, bytes, or the number of a
 * state; 0 if it is absent. PRE: it is no text. */
int64_t backup_field_number(const struct backup_field *f, struct slice backup);
/* Which of two backups comes first by @f: below 0, 0 or above, as memcmp(). */
int backup_field_compare(const struct backup_field *f,
                         struct slice a,
                         struct slice b);

/* Are they the same but for the case of ASCII letters? */
bool backup_text_equal(struct slice a, struct slice b);
/* The order of two texts, without regard to the case of ASCII letters. */
int backup_text_compare(struct slice a, struct slice b);

#endif /* BIGTABLE_GATEWAY_BACKUP_FIELD_H */
