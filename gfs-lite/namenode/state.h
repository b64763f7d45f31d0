/* What the files of a namenode share. Private to gfs-lite/namenode. */
#ifndef GFS_LITE_NAMENODE_STATE_H
#define GFS_LITE_NAMENODE_STATE_H

#include "base/core/buf.h"
#include "base/replica/replica.h"
#include "base/rpc/rpc.h"
#include "base/runtime/sync.h"
#include "gfs-lite/namenode/balance.h"
#include "gfs-lite/namenode/chunk_servers.h"
#include "gfs-lite/namenode/namenode.h"
#include "gfs-lite/namenode/repair.h"
#include "gfs-lite/peers.h"

struct fiber;

/* When something was last heard of: a session, a file of record appends. */
struct last_use {
    uint64_t id; /* First: see id_map.h. */
    uint64_t used_ns;
};

/* A copy that was ordered. */
struct copy_task {
    uint64_t handle; /* First: see id_map.h. */
    uint16_t target;
    uint64_t until_ns;
};

/* A chunk that is being recovered. */
struct recovery {
    uint64_t file; /* First: see id_map.h. */
};

/* A read that the audit log has. */
struct noted_read {
    uint64_t hash; /* Of the reader and the path. */
    uint64_t at_ns;
};

#define NOTED_READS_MAX 64

struct namenode {
    struct world *world;
    struct namenode_options options;
    struct catalog catalog;
    struct replica *replica;
    struct peers *peers;
    struct chunk_servers servers;
    struct id_map sessions;   /* struct last_use, owned. */
    struct id_map shared;     /* struct last_use of shared open files. */
    struct id_map copies;     /* struct copy_task, owned. */
    struct id_map recoveries; /* struct recovery, on their fibers' stacks. */
    struct id_map_walk
        open_walk;     /* Over the open files, by the maintenance fiber. */
    struct mutex lock; /* Of waiting for a recovery's end. */
    struct cond recovered;
    struct repair_queue repairs;
    uint64_t scan_due_ns;
    uint64_t trash_due_ns;
    uint64_t thin_due_ns;
    uint64_t alone_since_ns;   /* Chunks could have had one server alone, */
    uint64_t alone_ns;         /* the last one then. */
    uint64_t leading_since_ns; /* 0: another leads. */
    uint64_t term;
    uint64_t under_count; /* Chunks with too few copies, at the last scan. */
    unsigned reports;     /* Full ones that are being taken: what is known of
                             copies is not whole meanwhile. */
    bool copies_tree;     /* A fiber proposes steps of a snapshot. */
    bool stopping;
    struct fiber *maintenance;
    size_t helpers;       /* Fibers beside the maintenance fiber. */
    struct fiber *closer; /* Waits for them. */
    struct proof_key keys[PROOF_KEYS_MAX];    /* proofs.c */
    uint64_t key_turned_ns;                   /* 0: there are none. */
    struct noted_read noted[NOTED_READS_MAX]; /* audit.c */
};

/* --- namenode.c ---------------------------------------------------------- */

/* 0 on the leader; else the error that tells the caller whom to ask. */
MUST_CHECK int namenode_lead(const struct namenode *nn, struct err *err);
/* The same, once everything committed before is known here. Parks. */
MUST_CHECK int namenode_lead_now(struct namenode *nn, struct err *err);
/* Have @c executed; its time is set. A refusal is an error here. Parks. */
MUST_CHECK int namenode_propose(struct namenode *nn,
                                struct gfs_command *c,
                                struct gfs_result *r,
                                struct buf *reply,
                                struct err *err);
/* Between steps that follow one another: the loop hears of its sockets and
 * timers only when nobody has been ready to run for long, and where a disk is
 * fast the next step always is. Parks. */
void namenode_rest(const struct namenode *nn);
/* One of nn->helpers ends. */
void namenode_end_helper(struct namenode *nn);
bool namenode_in_safe_mode(const struct namenode *nn);
/* May servers that have not said what they hold since this member leads still
 * do so? A chunk without copies is not lost until then. */
bool namenode_is_early(const struct namenode *nn);
/* Note that @id was heard of now. */
void namenode_touch(struct namenode *nn, struct id_map *m, uint64_t id);
/* For how long it was not; a new leader counts from its beginning. */
uint64_t
namenode_silent_us(struct namenode *nn, const struct id_map *m, uint64_t id);

/* --- execute.c: changes -------------------------------------------------- */

/* Was @c executed already? It comes again then for its answer. */
bool namenode_is_answered(const struct namenode *nn,
                          const struct gfs_command *c);
int namenode_handle_execute(void *ctx, struct rpc_call *call, struct err *err);
int namenode_handle_renew(void *ctx, struct rpc_call *call, struct err *err);
int namenode_handle_recover(void *ctx, struct rpc_call *call, struct err *err);
int namenode_handle_take_over(void *ctx,
                              struct rpc_call *call,
                              struct err *err);
int namenode_handle_set_server(void *ctx,
                               struct rpc_call *call,
                               struct err *err);

/* --- tree_copy.c: whole trees -------------------------------------------- */

/* Seal the chunks that are open below @c's source: all that was written to the
 * files before the snapshot is in it, and their writers go on in new ones.
 * Parks. */
MUST_CHECK int namenode_prepare_snapshot(struct namenode *nn,
                                         struct gfs_command *c,
                                         struct err *err);
/* Must @c, which ended so, be proposed again once no tree is being copied? */
bool namenode_is_behind_copy(const struct gfs_command *c,
                             int rc,
                             const struct gfs_result *r);
/* Have the tree copied that is being copied now. Parks. Errors: another leads;
 * ERR_CANCELLED. */
MUST_CHECK int namenode_finish_copy(struct namenode *nn, struct err *err);
/* At most @steps steps of it, unless another fiber is at it. Parks. */
void namenode_go_on_copying(struct namenode *nn, unsigned steps);
/* Go on with @c, which sets a tree's replication, behind the path @after, if it
 * is not empty. Parks. */
MUST_CHECK int namenode_replicate_rest(struct namenode *nn,
                                       const struct gfs_command *c,
                                       struct slice after,
                                       struct err *err);

/* --- tree_rights.c ------------------------------------------------------- */

/* Has the caller of @c the rights that it needs to all that is below its path?
 * Parks. ERR_DENIED; another leads. */
MUST_CHECK int namenode_check_tree(struct namenode *nn,
                                   const struct gfs_command *c,
                                   struct err *err);

/* --- proofs.c ------------------------------------------------------------ */

/* This member leads now: it has no keys yet. */
void namenode_begin_keys(struct namenode *nn);
/* What chunk servers verify proofs by; how many? */
size_t namenode_put_keys(struct namenode *nn,
                         struct proof_key keys[PROOF_KEYS_MAX]);
/* For the caller of @call: proof.h. None for the cluster itself. */
void namenode_prove(struct namenode *nn,
                    const struct rpc_call *call,
                    uint64_t handle,
                    uint8_t rights,
                    uint32_t length,
                    struct gfs_proof *out);

/* --- audit.c ------------------------------------------------------------- */

/* The caller was let do @bits of enum permission_bits with @n: note it if he is
 * an administrator whom neither mode nor grant lets. Does not park. */
struct inode;
void namenode_audit_read(struct namenode *nn,
                         const struct rpc_call *call,
                         const struct inode *n,
                         unsigned bits);
/* Is @c, of @call, an event of the audit log also if it is done? */
bool namenode_is_for_audit(const struct namenode *nn,
                           const struct rpc_call *call,
                           const struct gfs_command *c);

/* --- query.c: questions -------------------------------------------------- */

/* Has the caller of @call enum permission_bits @bits of @n? ERR_DENIED. */
MUST_CHECK int namenode_check_inode(const struct namenode *nn,
                                    const struct rpc_call *call,
                                    const struct inode *n,
                                    unsigned bits,
                                    struct err *err);
int namenode_handle_stat(void *ctx, struct rpc_call *call, struct err *err);
int namenode_handle_grants(void *ctx, struct rpc_call *call, struct err *err);
int namenode_handle_list(void *ctx, struct rpc_call *call, struct err *err);
int namenode_handle_layout(void *ctx, struct rpc_call *call, struct err *err);
int namenode_handle_status(void *ctx, struct rpc_call *call, struct err *err);
int namenode_handle_check(void *ctx, struct rpc_call *call, struct err *err);

/* --- report.c: heartbeats ------------------------------------------------ */

int namenode_handle_heartbeat(void *ctx,
                              struct rpc_call *call,
                              struct err *err);

/* --- recovery.c ---------------------------------------------------------- */

/* Has chunk server @number, which counts as alive, been silent for longer than
 * it is when it is well? */
bool namenode_is_quiet(const struct namenode *nn, uint16_t number);

/* What the writer of an unsealed chunk knows; none: it is gone. */
struct writer_view {
    bool present;
    uint64_t acknowledged;
    struct gfs_server_set failed;
};

/* Seal the unsealed chunk @handle at the end of file @id, if it still is, and
 * with @close close the file. *@length is the chunk's, 0 when it had no bytes.
 * Parks. Errors: ERR_BUSY: no server that has it can be reached now;
 * ERR_UNAVAILABLE: another leads. */
MUST_CHECK int namenode_recover(struct namenode *nn,
                                uint64_t id,
                                uint64_t handle,
                                const struct writer_view *writer,
                                bool close,
                                uint64_t *length,
                                struct err *err);
/* Close file @id, whoever writes it, once its last chunk is sealed; 0 also if
 * it is closed or removed already. Parks. Errors: as above. */
MUST_CHECK int
namenode_take_over(struct namenode *nn, uint64_t id, struct err *err);
/* Wait until nobody recovers file @id. Parks. */
void namenode_await_recovery(struct namenode *nn, uint64_t id);

/* --- care.c: copies, deletions ------------------------------------------- */

/* What repair sees of @c. */
struct repair_view namenode_view_chunk(const struct namenode *nn,
                                       const struct placement_server *view,
                                       const struct chunk *c);
/* After each step of a walk over much, counted in *@steps: let others run now
 * and then. False: this member does not lead any more. Parks. */
bool namenode_pause(struct namenode *nn, size_t *steps);
/* Look at all chunks: queue what is to be repaired, drop what is too much.
 * Parks; by one fiber at a time. */
void namenode_scan(struct namenode *nn);
/* Count the chunks of which nobody alive has a copy, and those with too few.
 * False: this member does not lead any more. Parks. */
bool namenode_count(struct namenode *nn, uint64_t *lost, uint64_t *under);
/* Order copies of the most urgent chunks. */
void namenode_order_copies(struct namenode *nn);
/* Order copies that even out the disks. */
void namenode_order_moves(struct namenode *nn);
/* The copy of @handle to @server arrived or failed. */
void namenode_end_copy(struct namenode *nn, uint64_t handle, uint16_t server);
void namenode_drop_old_copies(struct namenode *nn);
/* @server knows nothing of copies that were ordered of it: it restarted, or
 * the order did not reach it. */
void namenode_forget_copies(struct namenode *nn, uint16_t server);
/* @server is gone: it holds nothing. False: as above. Parks. */
bool namenode_forget_server(struct namenode *nn, uint16_t server);

/* --- maintenance.c ------------------------------------------------------- */

void namenode_run_maintenance(void *arg);

#endif /* GFS_LITE_NAMENODE_STATE_H */
