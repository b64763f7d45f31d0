/* Inside of the client library: what stands behind the names of quarry.h.
 *
 * A target is either a directory ("file:DIR"), served by the store in this
 * process (embedded/), or a cluster ("host:port,…"), reached over the network
 * (cluster/). Both are a table of operations; quarry.c chooses by the target,
 * and hands each call of quarry.h on.
 */
#ifndef BIGTABLE_CLIENT_CLIENT_H
#define BIGTABLE_CLIENT_CLIENT_H

#include "bigtable/quarry.h"
#include "bigtable/write/write_queue.h"

struct async_pool;
struct key_loan;
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
    struct store *store;      /* Of a directory; else NULL. */
    struct cluster *cluster;  /* Of a cluster; else NULL. */
    struct async_pool *async; /* Started by the first asynchronous call. */
    bool is_view;             /* See quarry_as(): the rest is another's. */
};

struct quarry_table {
    const struct target_ops *ops;
    struct quarry *quarry; /* Borrowed. */

    union {
        struct table_part *table;     /* Referenced: of a directory, */
        struct cluster_table *remote; /* of a cluster. */
    };
};

/* Each kind of target has one, and more behind it. */
struct quarry_scanner {
    const struct target_ops *ops;
};

/* A read whose options have been taken: it may outlive them. */
struct any_read;

struct change_block;

/* One of @count changes that were made together ended with @code: is it to be
 * made by itself? */
static inline bool apply_is_again(int code, size_t count)
{
    return count > 1 && code && code != ERR_DEADLINE && code != ERR_CANCELLED;
}

/* What a target does, as quarry.h says of the functions with these names. */
struct target_ops {
    /* Frees all but the struct quarry; also after an open that failed. */
    void (*close)(struct quarry *q);
    /* Let @view, a copy of @q, make calls on behalf of @as. */
    void (*view)(struct quarry *q, struct quarry *view, const char *as);
    int (*flush)(struct quarry *q, struct err *err);
    int (*pin)(struct quarry *q, struct err *err);
    void (*unpin)(struct quarry *q);
    size_t (*counters)(struct quarry *q,
                       struct quarry_counter out[QUARRY_COUNTERS_MAX]);

    int (*table_create)(struct quarry *q,
                        const char *name,
                        const struct schema *schema,
                        struct err *err);
    int (*table_drop)(struct quarry *q, const char *name, struct err *err);
    int (*table_alter)(struct quarry *q,
                       const char *name,
                       const struct quarry_alter *changes,
                       size_t change_count,
                       struct err *err);
    int (*table_list)(struct quarry *q,
                      char ***names,
                      size_t *count,
                      struct err *err);
    /* Fills @t, whose quarry is set. */
    int (*table_open)(struct quarry_table *t,
                      const char *name,
                      struct err *err);
    /* One more user of what @t, a copy of a table, stands for; and one less. */
    void (*table_hold)(struct quarry_table *t);
    void (*table_release)(struct quarry_table *t);
    int (*table_describe)(struct quarry *q,
                          const char *name,
                          struct quarry_table_info **out,
                          struct err *err);
    int (*table_split)(struct quarry *q,
                       const char *name,
                       struct slice row,
                       struct err *err);
    int (*table_move_tablet)(struct quarry *q,
                             const char *name,
                             struct slice row,
                             const char *server,
                             struct quarry_move *out,
                             struct err *err);
    int (*table_compact)(struct quarry *q, const char *name, struct err *err);
    int (*table_drop_rows)(struct quarry *q,
                           const char *name,
                           struct slice start,
                           struct slice end,
                           struct err *err);
    int (*table_split_points)(struct quarry_table *t,
                              size_t parts,
                              struct slice **keys,
                              size_t *count,
                              struct err *err);

    /* For the writers of a load: NULL: none. */
    const struct rpc_security *(*bulk_security)(struct quarry *q);
    int (*bulk_files)(struct quarry *q, struct fs **out, struct err *err);
    int (*bulk_lend)(struct quarry *q,
                     const char *table,
                     const char *id,
                     struct key_loan *out,
                     struct err *err);
    int (*bulk_begin)(struct quarry *q,
                      const char *table,
                      const char *id,
                      struct buf *ticket,
                      struct err *err);
    int (*bulk_commit)(struct quarry *q,
                       const struct load_ticket *ticket,
                       const struct load_list *l,
                       struct quarry_bulk_result *result,
                       struct err *err);
    int (*bulk_abandon)(struct quarry *q,
                        const struct load_ticket *ticket,
                        struct err *err);
    int (*table_snapshot)(struct quarry *q,
                          const char *table,
                          const char *name,
                          uint64_t ttl_us,
                          struct err *err);
    int (*table_clone)(struct quarry *q,
                       const char *table,
                       const char *to,
                       struct err *err);
    /* Appended: a list, a record, as wire/snapshot_calls.h says. */
    int (*snapshot_list)(struct quarry *q, struct buf *out, struct err *err);
    int (*snapshot_show)(struct quarry *q,
                         const char *name,
                         struct buf *out,
                         struct err *err);
    int (*snapshot_drop)(struct quarry *q, const char *name, struct err *err);
    int (*snapshot_restore)(struct quarry *q,
                            const char *name,
                            const char *table,
                            struct err *err);

    int (*apply)(struct quarry_table *t,
                 const struct quarry_mutation *m,
                 const struct quarry_write_options *opts,
                 struct err *err);
    int (*apply_batch)(struct quarry_table *t,
                       struct quarry_mutation *const *mutations,
                       size_t count,
                       const struct quarry_write_options *opts,
                       size_t *failed_index,
                       struct err *err);
    int (*apply_each)(struct quarry_table *t,
                      struct quarry_mutation *const *mutations,
                      size_t count,
                      const struct quarry_write_options *opts,
                      int *codes,
                      struct err *err);
    /* For asynchronous writes that go together, in no order; NULL: they do not.
     * One by itself is tried until it is made or cannot be; of several, those
     * that fail once are told of. @err explains one of the failures. @blocks,
     * NULL at first, keep the numbers of those that are called with again
     * (apply_is_again()). */
    void (*apply_some)(struct quarry_table *t,
                       const struct quarry_mutation *const *mutations,
                       size_t count,
                       const struct quarry_write_options *opts,
                       struct change_block **blocks,
                       int *codes,
                       struct err *err);
    int (*check_and_mutate)(struct quarry_table *t,
                            struct slice row,
                            const struct quarry_filter *predicate,
                            const struct quarry_mutation *if_true,
                            const struct quarry_mutation *if_false,
                            const struct quarry_write_options *opts,
                            bool *matched,
                            struct err *err);
    int (*read_modify_write)(struct quarry_table *t,
                             struct slice row,
                             const struct quarry_rmw_rule *rules,
                             size_t rule_count,
                             const struct quarry_write_options *opts,
                             struct quarry_row **out,
                             struct err *err);

    int (*read_row)(struct quarry_table *t,
                    struct slice row,
                    const struct quarry_read_options *opts,
                    struct quarry_row **out,
                    struct err *err);
    /* PRE: @rows are NULL; what is in them on error is freed. */
    int (*read_rows)(struct quarry_table *t,
                     const struct slice *keys,
                     size_t count,
                     const struct quarry_read_options *opts,
                     struct quarry_row **rows,
                     struct err *err);
    int (*get)(struct quarry_table *t,
               struct slice row,
               const char *family,
               struct slice qualifier,
               struct buf *value,
               bool *found,
               struct err *err);
    int (*scan)(struct quarry_table *t,
                const struct quarry_read_options *opts,
                struct quarry_scanner **out,
                struct err *err);
    int (*scanner_next)(struct quarry_scanner *s,
                        const struct quarry_row **row,
                        struct err *err);
    void (*scanner_close)(struct quarry_scanner *s);
    int (*run_program)(struct quarry_table *t,
                       const struct quarry_read_options *opts,
                       struct saw_run *run,
                       uint64_t *row_count,
                       struct err *err);

    /* For asynchronous reads: take the options (mistakes come from the run),
     * read, free. @t outlives the read. */
    struct any_read *(*read_prepare)(struct quarry_table *t,
                                     const struct quarry_read_options *opts);
    int (*read_run)(struct any_read *r,
                    struct slice row,
                    struct quarry_row **out,
                    struct err *err);
    void (*read_free)(struct any_read *r);
    /* Rows of several reads whose options are the same, read with @r: as
     * apply_some. PRE: @rows are NULL. */
    void (*read_some)(struct any_read *r,
                      const struct slice *keys,
                      size_t count,
                      struct quarry_row **rows,
                      int *codes,
                      struct err *err);
    bool (*read_is_same)(const struct any_read *a, const struct any_read *b);
};

enum write_durability durability_of(const struct quarry_write_options *opts);

#endif /* BIGTABLE_CLIENT_CLIENT_H */
