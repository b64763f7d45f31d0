/* Applying commits of other sites: each reduced by what was done here since it
 * was made (change_conflict.h), on condition that nothing comes between.
 *
 * Each gets a time of its own later than that of its stamp, as the table's
 * clock is moved behind it. So the table's later commits have higher stamps,
 * and all that may stand against a commit are among those made at or after its
 * time. A stamp too far ahead of the machine's clock is refused: it would take
 * the table's clock along.
 *
 * A table that keeps no changes takes them as they come: it is a copy, which
 * nobody else writes.
 *
 * Threads: any. Parks.
 */
#ifndef BIGTABLE_CHANGES_CHANGE_APPLY_H
#define BIGTABLE_CHANGES_CHANGE_APPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "bigtable/write/write_queue.h"

struct quarry_mutation;
struct tablet_env;
struct table_part;

/* How far a stamp may be ahead of the machine's clock. */
#define CHANGE_AHEAD_US_MAX (INT64_C(3600) * 1000000)

/* The number of mutations at the beginning of @list, of @count, that are all
 * commits of other sites (*@foreign), or all are not. */
size_t change_apply_run(const struct quarry_mutation *const *list,
                        size_t count,
                        bool *foreign);

/* As write_apply() without condition, for commits of other sites. Errors: also
 * those of files; ERR_INVALID: a stamp that is too far ahead. */
MUST_CHECK int change_apply(struct tablet_env *env,
                            struct table_part *t,
                            const struct quarry_mutation *const *list,
                            size_t count,
                            enum write_durability durability,
                            int64_t now_us,
                            size_t *failed_index,
                            struct err *err);

/* The same for any mutations. */
MUST_CHECK int change_apply_any(struct tablet_env *env,
                                struct table_part *t,
                                const struct quarry_mutation *const *list,
                                size_t count,
                                enum write_durability durability,
                                int64_t now_us,
                                size_t *failed_index,
                                struct err *err);

#endif /* BIGTABLE_CHANGES_CHANGE_APPLY_H */
