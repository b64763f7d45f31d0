/* A cluster as a target: the state that the files of this directory share.
 *
 * The state of a client (where tablets are, channels, the session with the lock
 * service) belongs to one loop: that of the fiber that opened it, or, opened on
 * a plain thread, one of its own. Every call of quarry.h runs there, in a fiber
 * with a deadline; cluster_do() takes it there.
 *
 * A call that fails because a tablet moved, its server died or there is no
 * master is tried again until the deadline, after growing pauses: see struct
 * retry.
 */
#ifndef BIGTABLE_CLIENT_CLUSTER_CLUSTER_CLIENT_H
#define BIGTABLE_CLIENT_CLUSTER_CLUSTER_CLIENT_H

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
struct stamp_calls;

/* Open the servers that @target names into @q, whose world is set. Parks.
 * Errors: those of quarry_open(). */
MUST_CHECK int cluster_target_open(struct quarry *q,
                                   const char *target,
                                   const struct quarry_options *opts,
                                   struct err *err);

struct cluster_counts {
    uint64_t calls;      /* To tablet servers. */
    uint64_t retries;    /* Pauses before another try, of any call. */
    uint64_t bytes_sent; /* Bodies and attachments. */
    uint64_t bytes_received;
    uint64_t master_calls;
};

/* A client, or a view of one (quarry_as()): that has all but the first
 * fields in common with it, and makes calls of its own. */
struct cluster {
    struct quarry *quarry; /* The handle it belongs to. */
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
    /* Owned by the client; its views have the same. */
    struct change_ids *changes;
    struct cluster_counts *counts;
    struct stamp_calls *stamps;
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
    uint64_t version;             /* Of the file, when the rest was read. */
    uint64_t id;                  /* 0: not read yet. */
    uint64_t generation;          /* Of the schema. */
    struct schema *schema;        /* Owned. */
    atomic_bool has_transactions; /* It says so; read by any thread. */
};

/* --- calls on the loop --------------------------------------------------- */

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

/* --- trying again -------------------------------------------------------- */

/* Begin with `cluster` set and the rest zero; set `tries` to 0 after progress.
 */
struct retry {
    struct cluster *cluster;
    bool is_change; /* Not tried for longer than CHANGE_RETRY_US. */
    unsigned tries;
    uint64_t until_ns; /* Given up then, also without a deadline. */
    char why[200];     /* The last failure, for the error when time runs out. */
};

/* Was @rc, of a call to a tablet server or the master, one that may change? */
bool retry_is_of_use(int rc, const struct err *err);
/* Was it refused because the table is asked for more than its rates? It is
 * tried again after the time that is told. */
bool retry_is_rate(int rc, const struct err *err);
/* Does it say that the tablet is served elsewhere by now? */
bool retry_is_elsewhere(int rc, const struct err *err);
/* After a failure that may change: pause, and true; or false, when the time is
 * over. Then @err says so, beside what failed. Parks. */
bool retry_again(struct retry *r, int *rc, struct err *err);

/* --- tablet servers ------------------------------------------------------ */

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

/* --- tables (cluster_tables.c) ------------------------------------------- */

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

/* --- timestamps (cluster_timestamps.c) ----------------------------------- */

struct stamp_calls *stamp_calls_new(void);
void stamp_calls_free(struct stamp_calls *s); /* NULL is allowed. */

/* --- operations ---------------------------------------------------------- */

/* Call the master (cluster_admin.c) and append its answer to @reply (may be
 * NULL). *@unsure (may be NULL): an attempt whose answer was lost may have
 * taken effect. Parks.
 */
MUST_CHECK int cluster_call_master(struct cluster *c,
                                   uint32_t method,
                                   struct slice body,
                                   uint64_t timeout_us,
                                   struct buf *reply,
                                   bool *unsure,
                                   struct err *err);

/* The durability of changes to a cluster. A deferred change is logged at least,
 * since no one knows when all servers have flushed the changes of one client.
 */
static inline uint8_t cluster_durability(const struct quarry_write_options *o)
{
    enum write_durability d = durability_of(o);
    return (uint8_t)(d == WRITE_DEFERRED ? WRITE_LOGGED : d);
}

/* cluster_NAME() for each OP of the list. They park. */
#define OP(type, name, parameters) type cluster_##name parameters;
#define OP_OF_CLUSTER              OP
#include "bigtable/client/target_ops.def"

#endif /* BIGTABLE_CLIENT_CLUSTER_CLUSTER_CLIENT_H */
