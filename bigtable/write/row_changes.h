/* The two row transactions of the public library: check and mutate; read,
 * modify and write. quarry.h says what they mean.
 *
 * Threads: any. Parks.
 */
#ifndef BIGTABLE_WRITE_ROW_CHANGES_H
#define BIGTABLE_WRITE_ROW_CHANGES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/write/write_queue.h"

struct quarry_filter;
struct quarry_mutation;
struct quarry_rmw_rule;
struct quarry_row;
struct tablet_env;
struct table_part;

/* As quarry_check_and_mutate(). @matched may be NULL. */
MUST_CHECK int row_check_and_mutate(struct tablet_env *env,
                                    struct table_part *t,
                                    struct slice row,
                                    const struct quarry_filter *predicate,
                                    const struct quarry_mutation *if_true,
                                    const struct quarry_mutation *if_false,
                                    enum write_durability durability,
                                    bool *matched,
                                    struct err *err);

/* Which change of a client a modification is, and how the row that it makes is
 * answered (struct quarry_mutation). */
struct row_change_id {
    uint64_t session; /* 0: none. */
    uint64_t sequence;
    void (*encode)(const struct quarry_row *row, struct buf *out);
};

/* As quarry_read_modify_write(). @id may be NULL. *@out (@out may be NULL) is
 * owned, one allocation: mem_free(). */
MUST_CHECK int row_read_modify_write(struct tablet_env *env,
                                     struct table_part *t,
                                     struct slice row,
                                     const struct quarry_rmw_rule *rules,
                                     size_t rule_count,
                                     enum write_durability durability,
                                     const struct row_change_id *id,
                                     struct quarry_row **out,
                                     struct err *err);

#endif /* BIGTABLE_WRITE_ROW_CHANGES_H */
