/* The order of ListBackups (https://google.aip.dev/132#ordering):
 *
 *     order = [ key { "," key } ]     key = field [ "asc" | "desc" ]
 *
 * with the fields of backup_field.h; without a key the newest backup comes
 * first, as the API says. Backups that are equal by all keys are in the order
 * of their names.
 *
 * Pure. Threads: any.
 */
#ifndef BIGTABLE_GATEWAY_BACKUP_ORDER_H
#define BIGTABLE_GATEWAY_BACKUP_ORDER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/gateway/backup_field.h"

#define BACKUP_ORDER_KEYS_MAX 16

struct backup_order {
    struct {
        const struct backup_field *field;
        bool descending;
    } keys[BACKUP_ORDER_KEYS_MAX];

    size_t count;
};

/* Errors: ERR_INVALID, and @out is not to be used. */
MUST_CHECK int backup_order_parse(struct slice text,
                                  struct backup_order *out,
                                  struct err *err);
/* Which of two Backup messages comes first: below 0, 0 or above. */
int backup_order_compare(const struct backup_order *o,
                         struct slice a,
                         struct slice b);

#endif /* BIGTABLE_GATEWAY_BACKUP_ORDER_H */
