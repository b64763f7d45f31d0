/* The field automated_backup_policy of the message Table, and what is done for
 * it: a backup of the table each `frequency`, which is kept for
 * `retention_period`. Other backups that have expired go at the same rounds.
 *
 * The registry has, for each table with a policy, the time of its last backup
 * under "automatic/I/T". A gateway that finds one due claims it by replacing
 * that time, so that of several gateways one makes it.
 *
 * Threads: one loop. Everything but the checks parks.
 */
#ifndef BIGTABLE_GATEWAY_BACKUP_SCHEDULE_H
#define BIGTABLE_GATEWAY_BACKUP_SCHEDULE_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/gateway/message_fields.h"
#include "bigtable/gateway/resource_names.h"

struct gateway;

/* The rules of the message AutomatedBackupPolicy. */
extern const struct message_type backup_policy_type;

/* Is the policy of @table, a message Table, one that the API allows: from 3 to
 * 90 days, every 24 hours? ERR_INVALID. Pure. */
MUST_CHECK int backup_policy_check(struct slice table, struct err *err);
/* The table @name had the extras @old and has @fresh: begin to make backups, or
 * end. Errors: those of the registry. */
MUST_CHECK int backup_policy_note(struct gateway *g,
                                  const struct resource_name *name,
                                  struct slice old,
                                  struct slice fresh,
                                  struct err *err);

/* One round: make the backups that are due, and remove those that have expired.
 * A failure is logged, and tried again at the next round. */
void backup_schedule_round(struct gateway *g);
/* A fiber's function, whose @gateway it is: a round every ten minutes, until it
 * is cancelled. */
void backup_schedule_run(void *gateway);

#endif /* BIGTABLE_GATEWAY_BACKUP_SCHEDULE_H */
