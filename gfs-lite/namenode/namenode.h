/* A namenode: the file system's names and chunks, replicated over the cell, and
 * on its leader the upkeep of the chunk servers (GFS 2.4, the single master).
 *
 *     namenode_open(w, server, &opts, &nn, &err)     adds its methods
 *     … rpc_listen(server, …) …
 *     namenode_close(nn)                             after the listener's close
 *
 * Threads: one loop, that of the fiber that opened it.
 */
#ifndef GFS_LITE_NAMENODE_NAMENODE_H
#define GFS_LITE_NAMENODE_NAMENODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "gfs-lite/namenode/path_rights.h"

struct metric_set;
struct namenode;
struct replica_options;
struct replica_status;
struct rpc_server;
struct world;

/* Zeros give the defaults. */
struct namenode_options {
    const struct replica_options *replica; /* Copied by the replica. */
    uint64_t session_us; /* A client silent for longer is gone; default 60 s. */
    uint64_t server_dead_us; /* A chunk server; default 10 s. */
    uint64_t trash_us; /* Removed files stay in the trash for this long; default
                          72 h. */
    uint64_t copy_timeout_us; /* A copy that was ordered; default 60 s. */
    unsigned copies_max;      /* Under way at once; default 16. */
    uint64_t scan_us;         /* Between scans of all chunks; default 5 s. */
    uint64_t full_report_us;  /* Between full reports; default 10 min. */
    uint64_t shared_idle_us;  /* A file of record appends is closed when unused
                                 for this long; default 10 min. */
    struct rights_rules rights; /* Of paths: path_rights.h. */
    uint32_t mask;              /* Bits of enum gfs_mode that new files and
                                   directories do not get. */
    uint64_t proof_turn_us; /* A key of proofs (proof.h) signs for this long;
                               default 45 min. */
    uint64_t copy_step;     /* Inodes and chunks that one command of a
                               snapshot copies; default 1,024. */
};

/* Open the member of the cell and add the methods to @server, which must not
 * listen yet. Parks. *@out is owned. Errors: those of replica_open(). */
MUST_CHECK int namenode_open(struct world *w,
                             struct rpc_server *server,
                             const struct namenode_options *opts,
                             struct namenode **out,
                             struct err *err);
/* Stop the member and free it. Parks until its fibers have ended. PRE: the
 * server does not listen any more. NULL is allowed. */
void namenode_close(struct namenode *nn);

/* The state of this member of the cell. */
void namenode_get_status(const struct namenode *nn, struct replica_status *out);
/* Add what the leader knows of files, chunks and servers; nothing on another
 * member. Does not park. */
void namenode_gather(const struct namenode *nn, struct metric_set *out);
/* 0, or the reason why the member does not serve: as replica_health(). Does not
 * park. */
MUST_CHECK int namenode_health(const struct namenode *nn, struct err *err);
/* Adopt a rotated master key: as replica_take_master_key(). Parks. */
MUST_CHECK int namenode_take_master_key(struct namenode *nn, struct err *err);
/* Does this member lead, as far as it knows? Does not park. */
bool namenode_is_leader(const struct namenode *nn);

#endif /* GFS_LITE_NAMENODE_NAMENODE_H */
