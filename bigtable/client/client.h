/* The client library from the inside.
 *
 * A target is either a directory ("file:DIR"), served by the store in this
 * process (embedded/), or a cluster ("host:port,…"), reached over the network
 * (cluster/). A handle has a table of operations, and quarry.c passes each call
 * of quarry.h to the operation of the same name: target_ops.def lists them and
 * says where they are implemented.
 */
#ifndef BIGTABLE_CLIENT_CLIENT_H
#define BIGTABLE_CLIENT_CLIENT_H

#include <stdatomic.h>

#include "bigtable/client/parallel_for.h"
#include "bigtable/quarry.h"
#include "bigtable/row/filter.h"
#include "bigtable/write/write_queue.h"

struct async_pool;
struct change_partition;
struct change_result;
struct index_handles;
struct index_set;
struct key_loan;
struct local_oracle;
struct load_list;
struct load_ticket;
struct fs;
struct quarry_bulk_result;
struct cluster;
struct cluster_table;
struct schema;
struct store;
struct table_part;
struct target_ops;

struct quarry {
    const struct target_ops *ops;
    struct world *world;
    bool owns_world;
    struct store *store;         /* Of a directory; otherwise NULL. */
    struct local_oracle *oracle; /* Likewise. */
    struct cluster *cluster;     /* Of a cluster; otherwise NULL. */
    struct async_pool *async;    /* Its tasks start with the first calls. */
    _Atomic(struct index_handles *)
        indexes;  /* Owned; open tables of indexes. */
    bool is_view; /* Of quarry_as(): all but `cluster` is the original's. */
};

struct quarry_table {
    const struct target_ops *ops;
    struct quarry *quarry; /* Borrowed. */

    union {
        struct table_part *table;     /* Referenced: of a directory, */
        struct cluster_table *remote; /* of a cluster. */
    };
};

/* The first member of each target's own kind of scanner. */
struct quarry_scanner {
    const struct target_ops *ops;
};

/* A read that has copied its options and may outlive them. */
struct any_read;

struct change_block;

/* Should one of @count changes that were made together be made again by itself,
 * after it ended with @code? */
static inline bool apply_is_again(int code, size_t count)
{
    return count > 1 && code && code != ERR_DEADLINE && code != ERR_CANCELLED &&
           code != ERR_CONFLICT;
}

/* The operations of a target: a pointer for each of target_ops.def. */
struct target_ops {
#define OP(type, name, parameters) type(*name) parameters;
#define OP_OF_CLUSTER              OP
#include "bigtable/client/target_ops.def"
};

/* Does a read of @t by @filter (NULL: none) have to finish transactions first
 * (txn/txn_settle.h)? Those that look at hidden families are part of what does.
 */
static inline bool table_must_settle(const struct quarry_table *t,
                                     const struct quarry_filter *filter)
{
    return UNLIKELY(t->ops->table_has_transactions(t)) &&
           !filter_names_hidden(filter);
}

/* The engine's durability for @opts, which may be NULL: synced. */
enum write_durability durability_of(const struct quarry_write_options *opts);

#endif /* BIGTABLE_CLIENT_CLIENT_H */
