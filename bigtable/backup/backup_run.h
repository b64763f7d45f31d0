/* Signs of life of calls at a place: a file for each call that makes a backup
 * or removes files. Both look for the other's after their own is there, so that
 * of two at once one at least sees the other: files are never removed while a
 * backup is being made that may need them.
 *
 * Files are renewed by a task; one that was not renewed for the lease, by the
 * clock that stamps the place's files, is of a dead call. A call that could not
 * renew its own for half the lease takes itself for dead.
 *
 * Private to bigtable/backup.
 *
 * Threads: one, beside the task.
 */
#ifndef BIGTABLE_BACKUP_BACKUP_RUN_H
#define BIGTABLE_BACKUP_BACKUP_RUN_H

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct backup_run;
struct quarry_backups;

enum backup_run_kind {
    BACKUP_RUN_CREATE,
    BACKUP_RUN_DROP,
};

/* Begin: the file is there. *@out is owned. Parks. */
MUST_CHECK int backup_run_begin(struct quarry_backups *b,
                                enum backup_run_kind kind,
                                struct backup_run **out,
                                struct err *err);
/* Its id, of 16 hexadecimal digits. Borrowed. */
const char *backup_run_id(const struct backup_run *run);
/* *@found: a call of @kind, other than this one, lives. Files of dead ones are
 * removed. Parks. */
MUST_CHECK int backup_run_look(struct backup_run *run,
                               enum backup_run_kind kind,
                               bool *found,
                               struct err *err);
/* ERR_ABORTED if others may take it for dead. */
MUST_CHECK int backup_run_check(struct backup_run *run, struct err *err);
/* Remove the file. NULL is allowed. Parks. */
void backup_run_end(struct backup_run *run);

#endif /* BIGTABLE_BACKUP_BACKUP_RUN_H */
