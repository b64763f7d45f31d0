/* A cluster as a target. What the files of this directory share.
 *
 * The state of a client (where tablets are, channels, the session with the lock
 * service) belongs to one loop: that of the fiber that opened it, or, opened on
 * a plain thread, one of its own. Every call of quarry.h runs there, in a fiber
 * with a deadline; cluster_do() takes it there.
 *
 * What fails because a tablet was moved, its server died, or nobody is master,
 * is tried again until the deadline, after pauses that grow: see struct retry.
 */
#ifndef BIGTABLE_CLIENT_CLUSTER_CLUSTER_H
#define BIGTABLE_CLIENT_CLUSTER_CLUSTER_H

#include "base/rpc/rpc.h"
#include "bigtable/client/client.h"
#include "bigtable/client/cluster/change_ids.h"
#include "bigtable/client/cluster/location_map.h"
#include "bigtable/client/cluster/open_tables.h"
#include "bigtable/wire/data_calls.h"
#include "bigtable/wire/metadata.h"

struct arena;
struct channel_set;
struct fiber;
struct lock_file;
struct lock_files;
struct locator;
struct loop;
struct rpc_security;
struct shared_calls;
struct shared_kind;

/* Open the servers @target names into @q, whose world is set. Parks. Errors:
 * those of quarry_open(). */
MUST_CHECK int cluster_target_open(struct quarry *q,
                                   const char *target,
                                   const struct quarry_options *opts,
                                   struct err *err);

struct cluster_counts {
    uint64_t calls;      /* To tablet servers, for users. */
    uint64_t retries;    /* Of them. */
    uint64_t bytes_sent; /* Bodies and attachments. */
    uint64_t bytes_received;
    uint64_t master_calls;
};

/* A client, or a view of one (quarry_as()): that has all but the first
 * fields in common with it, and makes calls of its own. */
struct cluster {
    struct quarry *quarry; /* Whose it is. */
    char *as; /* Owned. On whose behalf; NULL: the client itself. */
    struct open_tables tables;
    size_t held;          /* References to tables of it. */
    struct fiber *closer; /* Waits for those of asynchronous calls. */
    struct cluster *main; /* Of a view: the client. */

    struct world *world;
    struct loop *loop;
    bool own_loop;
    char *target; /* Its servers: owned. */
    const struct rpc_security *security;
    struct rpc_security *own_security; /* Made from the options. */
    uint64_t timeout_us;
    struct channel_set *channels;
    struct lock_files *files;
    struct lock_file *root;   /* BIGTABLE_LOCK_ROOT_TAB */
    struct lock_file *master; /* BIGTABLE_LOCK_MASTER */
    struct locator *locator;
    struct shared_calls *reads;
    struct shared_calls *writes;
    struct change_ids changes;
    struct cluster_counts *counts; /* Owned by the client. */
};

/* A table as its record in the lock service says. Shared by all that have it
 * open, by their handles: asynchronous calls outlive those of users. */
struct cluster_table {
    struct cluster *cluster;
    unsigned references; /* 0: kept for the next who opens it. */
    bool listed;         /* In `tables`; there: */
    struct cluster_table *older;
    struct cluster_table *newer;
    char *name; /* Owned. */
    struct lock_file *file;
    uint64_t version;      /* Of the file, when the rest was read. */
    uint64_t id;           /* 0: not read yet. */
    uint64_t generation;   /* Of the schema. */
    struct schema *schema; /* Owned. */
};

/* --- calls on the loop -----------------------------------------------------
 */

typedef int (*cluster_fn)(void *arg, struct err *err);

/* Run fn(arg) on the loop, in a fiber whose deadline is @timeout_us from now
 * (0: the target's; UINT64_MAX: none of ours) or the caller's, if that is
 * earlier. Returns what it returned. Parks. */
MUST_CHECK int cluster_do(struct cluster *c,
                          const char *name,
                          uint64_t timeout_us,
                          cluster_fn fn,
                          void *arg,
                          struct err *err);
#define CLUSTER_NO_TIMEOUT UINT64_MAX

/* --- trying again ----------------------------------------------------------
 */

/* Begins with `cluster` alone; what succeeds in between sets `tries` to 0. */
struct retry {
    struct cluster *cluster;
    bool is_change; /* Not tried for longer than CHANGE_RETRY_US. */
    unsigned tries;
    uint64_t until_ns; /* Given up then, also without a deadline. */
    char why[200];     /* What failed last: told when a later try is late. */
};

/* Was @rc, of a call to a tablet server, an answer that may change? */
bool retry_is_of_use(int rc, const struct err *err);
/* Was it refused because the table is asked for more than its rates? It is
 * tried again after the time that is told. */
bool retry_is_rate(int rc, const struct err *err);
/* Does it say that the tablet is served elsewhere by now? */
bool retry_is_elsewhere(int rc, const struct err *err);
/* After a failure that may change: pause, and true; or false, when the time is
 * over. Then @err says so, beside what failed. Parks. */
bool retry_again(struct retry *r, int *rc, struct err *err);

/* --- tablet servers --------------------------------------------------------
 */

/* One call of the server of @l, on behalf of the view @c; the answer is
 * appended. @opts may be NULL.
 * Parks. When it fails in a way that says so, @l is forgotten. */
MUST_CHECK int tablet_call(struct cluster *c,
                           struct location *l,
                           uint32_t method,
                           const struct rpc_call_options *opts,
                           struct slice body,
                           struct slice attachment,
                           struct buf *reply,
                           struct buf *reply_attachment,
                           struct err *err);

/* Methods whose calls are shared (shared_calls.h). */
extern const struct shared_kind cluster_read_kind;
extern const struct shared_kind cluster_write_kind;

/* --- tables (tables.c) -----------------------------------------------------
 */

/* Its id, generation and schema as they are now. Errors: ERR_NOTFOUND: it was
 * dropped. Parks unless nothing has changed. */
MUST_CHECK int cluster_table_refresh(struct cluster_table *t, struct err *err);
struct cluster_table *cluster_table_ref(struct cluster_table *t);
/* On the loop. May park. */
void cluster_table_unref(struct cluster_table *t);
/* Open @name on the loop. Parks, unless it was open lately. */
MUST_CHECK int cluster_table_new(struct cluster *c,
                                 const char *name,
                                 struct cluster_table **out,
                                 struct err *err);
/* Free all, once asynchronous calls have released theirs. On the loop. Parks.
 * PRE: nobody opens any. */
void cluster_tables_close(struct cluster *c);

int cluster_table_list(struct quarry *q,
                       char ***names,
                       size_t *count,
                       struct err *err);
int cluster_table_open(struct quarry_table *t,
                       const char *name,
                       struct err *err);
void cluster_table_hold(struct quarry_table *t);
void cluster_table_release(struct quarry_table *t);

/* --- what quarry.h offers --------------------------------------------------
 */

/* admin.c */

/* Call the master; what it answers is appended to @reply (may be NULL).
 * *@unsure (may be NULL): a try whose answer was lost may have been done.
 * Parks.
 */
MUST_CHECK int cluster_call_master(struct cluster *c,
                                   uint32_t method,
                                   struct slice body,
                                   uint64_t timeout_us,
                                   struct buf *reply,
                                   bool *unsure,
                                   struct err *err);
int cluster_flush(struct quarry *q, struct err *err);
int cluster_table_create(struct quarry *q,
                         const char *name,
                         const struct schema *schema,
                         struct err *err);
int cluster_table_drop(struct quarry *q, const char *name, struct err *err);
int cluster_table_alter(struct quarry *q,
                        const char *name,
                        const struct quarry_alter *changes,
                        size_t change_count,
                        struct err *err);
int cluster_table_split(struct quarry *q,
                        const char *name,
                        struct slice row,
                        struct err *err);
int cluster_table_move_tablet(struct quarry *q,
                              const char *name,
                              struct slice row,
                              const char *server,
                              struct quarry_move *out,
                              struct err *err);
int cluster_table_compact(struct quarry *q, const char *name, struct err *err);
int cluster_table_drop_rows(struct quarry *q,
                            const char *name,
                            struct slice start,
                            struct slice end,
                            struct err *err);

/* bulk.c */
const struct rpc_security *cluster_bulk_security(struct quarry *q);
int cluster_bulk_files(struct quarry *q, struct fs **out, struct err *err);
int cluster_bulk_lend(struct quarry *q,
                      const char *table,
                      const char *id,
                      struct key_loan *out,
                      struct err *err);
int cluster_bulk_begin(struct quarry *q,
                       const char *table,
                       const char *id,
                       struct buf *ticket,
                       struct err *err);
int cluster_bulk_commit(struct quarry *q,
                        const struct load_ticket *ticket,
                        const struct load_list *l,
                        struct quarry_bulk_result *result,
                        struct err *err);
int cluster_bulk_abandon(struct quarry *q,
                         const struct load_ticket *ticket,
                         struct err *err);

/* snapshots.c */
int cluster_table_snapshot(struct quarry *q,
                           const char *table,
                           const char *name,
                           uint64_t ttl_us,
                           struct err *err);
int cluster_table_clone(struct quarry *q,
                        const char *table,
                        const char *to,
                        struct err *err);
int cluster_snapshot_list(struct quarry *q, struct buf *out, struct err *err);
int cluster_snapshot_show(struct quarry *q,
                          const char *name,
                          struct buf *out,
                          struct err *err);
int cluster_snapshot_drop(struct quarry *q, const char *name, struct err *err);
int cluster_snapshot_restore(struct quarry *q,
                             const char *name,
                             const char *table,
                             struct err *err);

/* describe.c */
int cluster_table_describe(struct quarry *q,
                           const char *name,
                           struct quarry_table_info **out,
                           struct err *err);
int cluster_table_split_points(struct quarry_table *t,
                               size_t parts,
                               struct slice **keys,
                               size_t *count,
                               struct err *err);
size_t cluster_counters(struct quarry *q,
                        struct quarry_counter out[QUARRY_COUNTERS_MAX]);

/* write.c, row_changes.c */

/* What is deferred here is in the log at least: nobody could say when all
 * servers have flushed what one client wrote. */
static inline uint8_t cluster_durability(const struct quarry_write_options *o)
{
    enum write_durability d = durability_of(o);
    return (uint8_t)(d == WRITE_DEFERRED ? WRITE_LOGGED : d);
}

int cluster_apply(struct quarry_table *t,
                  const struct quarry_mutation *m,
                  const struct quarry_write_options *opts,
                  struct err *err);
int cluster_apply_batch(struct quarry_table *t,
                        struct quarry_mutation *const *mutations,
                        size_t count,
                        const struct quarry_write_options *opts,
                        size_t *failed_index,
                        struct err *err);
int cluster_apply_each(struct quarry_table *t,
                       struct quarry_mutation *const *mutations,
                       size_t count,
                       const struct quarry_write_options *opts,
                       int *codes,
                       struct err *err);
void cluster_apply_some(struct quarry_table *t,
                        const struct quarry_mutation *const *mutations,
                        size_t count,
                        const struct quarry_write_options *opts,
                        struct change_block **blocks,
                        int *codes,
                        struct err *err);
int cluster_check_and_mutate(struct quarry_table *t,
                             struct slice row,
                             const struct quarry_filter *predicate,
                             const struct quarry_mutation *if_true,
                             const struct quarry_mutation *if_false,
                             const struct quarry_write_options *opts,
                             bool *matched,
                             struct err *err);
int cluster_read_modify_write(struct quarry_table *t,
                              struct slice row,
                              const struct quarry_rmw_rule *rules,
                              size_t rule_count,
                              const struct quarry_write_options *opts,
                              struct quarry_row **out,
                              struct err *err);

/* read.c, scanner.c, run_program.c */
int cluster_read_row(struct quarry_table *t,
                     struct slice row,
                     const struct quarry_read_options *opts,
                     struct quarry_row **out,
                     struct err *err);
int cluster_read_rows(struct quarry_table *t,
                      const struct slice *keys,
                      size_t count,
                      const struct quarry_read_options *opts,
                      struct quarry_row **rows,
                      struct err *err);
int cluster_get(struct quarry_table *t,
                struct slice row,
                const char *family,
                struct slice qualifier,
                struct buf *value,
                bool *found,
                struct err *err);
struct any_read *cluster_read_prepare(struct quarry_table *t,
                                      const struct quarry_read_options *opts);
int cluster_read_run(struct any_read *r,
                     struct slice row,
                     struct quarry_row **out,
                     struct err *err);
void cluster_read_free(struct any_read *r);
void cluster_read_some(struct any_read *r,
                       const struct slice *keys,
                       size_t count,
                       struct quarry_row **rows,
                       int *codes,
                       struct err *err);
bool cluster_read_is_same(const struct any_read *a, const struct any_read *b);
int cluster_scan(struct quarry_table *t,
                 const struct quarry_read_options *opts,
                 struct quarry_scanner **out,
                 struct err *err);
int cluster_scanner_next(struct quarry_scanner *s,
                         const struct quarry_row **row,
                         struct err *err);
void cluster_scanner_close(struct quarry_scanner *s);
int cluster_run_program(struct quarry_table *t,
                        const struct quarry_read_options *opts,
                        struct saw_run *run,
                        uint64_t *row_count,
                        struct err *err);

#endif /* BIGTABLE_CLIENT_CLUSTER_CLUSTER_H */
