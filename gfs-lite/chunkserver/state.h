/* What the files of a chunk server share. Private to gfs-lite/chunkserver. */
#ifndef GFS_LITE_CHUNKSERVER_STATE_H
#define GFS_LITE_CHUNKSERVER_STATE_H

#include "base/rpc/rpc.h"
#include "base/session/leader.h"
#include "gfs-lite/chunkserver/chunkserver.h"
#include "gfs-lite/chunkserver/store.h"
#include "gfs-lite/peers.h"

struct chunkserver_socket;
struct fiber;

/* Copies made at once, and orders to copy that wait. */
#define COPIES_MAX     4
#define COPY_QUEUE_MAX 256

/* Fences of absent chunks that are remembered. Each stands for a writer that
 * died between being given a chunk and its first byte. */
#define UNMADE_MAX 4096

/* A chunk that is to be copied here. */
struct copy_order {
    struct copy_order *next;
    uint64_t handle;
    uint32_t version;
    uint32_t length;
    char *sources[GFS_REPLICAS_MAX]; /* Owned addresses. */
    size_t source_count;
};

struct chunkserver {
    struct world *world;
    struct chunk_store *store;
    struct peers *peers;
    struct leader *leader;
    char *address; /* As others reach it; owned. */
    char *machine;
    char *rack;
    char *socket_path; /* NULL: none. */
    uint64_t heartbeat_us;
    uint64_t scrub_bytes_per_s;
    uint64_t scrub_round_us;
    uint64_t sync_after_us;
    uint64_t copy_bytes_per_s;
    uint64_t run;
    bool stopping;
    bool is_connected;
    bool send_full;
    uint64_t make_from; /* Chunks below are not made any more: see write.c. */
    /* Chunks that were to be fenced and are not here: a ring. */
    uint64_t unmade[UNMADE_MAX];
    size_t unmade_count; /* Ever. */
    struct fiber *heart;
    struct fiber *maintenance; /* Scrubs and syncs. */
    struct fiber *prober;      /* Tries the disk. */
    struct fiber *writer;      /* Has the disk write what is not synced yet; */
    size_t write_back_at;      /* where it looks next among the open files. */
    struct err health;         /* As of the last trial, as those two. */
    uint64_t capacity_bytes;
    uint64_t free_bytes;
    struct copy_order *copies;
    size_t copy_count;    /* Waiting. */
    size_t copying;       /* Under way. */
    bool copies_left;     /* Files of copies that failed may be there. */
    struct fiber *closer; /* Waits for the copies. */
    uint64_t scrubbed_bytes;
    uint64_t copied_chunks;
    struct chunkserver_socket *socket;
    const struct cluster_roles *roles; /* NULL: no proofs are asked for. */
    uint64_t proof_grace_us;
    struct proof_key keys[PROOF_KEYS_KEPT]; /* The newest first. */
    uint64_t key_named_ns[PROOF_KEYS_KEPT]; /* By a namenode, the last time. */
};

/* write.c */
int chunkserver_handle_write(void *ctx, struct rpc_call *call, struct err *err);
int chunkserver_handle_append(void *ctx,
                              struct rpc_call *call,
                              struct err *err);

/* Is @c one that takes bytes of @version? ERR_NOTFOUND, ERR_CORRUPT,
 * ERR_ABORTED, or what failed. */
MUST_CHECK int chunkserver_check_writable(const struct stored_chunk *c,
                                          uint32_t version,
                                          struct err *err);

/* grant.c: writers of this machine that add to chunks' files themselves. */
/* Let one in at @handle, which must be of @version. Pinned. Errors: ERR_BUSY,
 * ERR_EXHAUSTED, those of chunkserver_check_writable(), ERR_IO. Parks. */
MUST_CHECK int chunkserver_grant(struct chunkserver *cs,
                                 uint64_t handle,
                                 uint32_t version,
                                 struct stored_chunk **out,
                                 struct err *err);
/* Take note of what was added to @c under a grant. PRE: c->lock is held, and
 * its file open. Parks. */
MUST_CHECK int chunkserver_absorb_locked(struct chunkserver *cs,
                                         struct stored_chunk *c,
                                         struct err *err);
/* The same with the lock taken, if there is a grant. */
MUST_CHECK int chunkserver_absorb(struct chunkserver *cs,
                                  struct stored_chunk *c,
                                  struct err *err);

/* seal.c */
int chunkserver_handle_fence(void *ctx, struct rpc_call *call, struct err *err);
int chunkserver_handle_seal(void *ctx, struct rpc_call *call, struct err *err);
/* Seal @c at @length unless it is. c->lock is taken. Parks. */
MUST_CHECK int chunkserver_seal(struct chunkserver *cs,
                                struct stored_chunk *c,
                                uint32_t version,
                                uint32_t length,
                                struct err *err);

/* read.c */
int chunkserver_handle_read(void *ctx, struct rpc_call *call, struct err *err);
int chunkserver_handle_open(void *ctx, struct rpc_call *call, struct err *err);
/* The chunk @handle of at least @version, pinned, with its file open. Errors:
 * ERR_NOTFOUND, ERR_ABORTED (an older version), ERR_CORRUPT. Parks. */
MUST_CHECK int chunkserver_find(struct chunkserver *cs,
                                uint64_t handle,
                                uint32_t version,
                                struct stored_chunk **out,
                                struct err *err);

/* copy.c */
/* Queue the order, unless it is known. */
void chunkserver_add_copy(struct chunkserver *cs, const struct gfs_order *o);
/* Remove what copies that failed have left, if none is under way. Parks. */
void chunkserver_sweep_copies(struct chunkserver *cs);
/* Parks until no copy is under way. */
void chunkserver_end_copies(struct chunkserver *cs);

/* heartbeat.c */
void chunkserver_run_heart(void *arg);
/* Of the disk: how large it is, and what may still be put there. Parks. */
MUST_CHECK int chunkserver_get_space(struct chunkserver *cs,
                                     uint64_t *capacity_bytes,
                                     uint64_t *free_bytes,
                                     struct err *err);

/* scrub.c */
void chunkserver_run_maintenance(void *arg);

/* write_back.c */
void chunkserver_run_write_back(void *arg);
/* Bytes were added to @c. */
void chunkserver_note_written(struct chunkserver *cs,
                              const struct stored_chunk *c);

/* health.c */
void chunkserver_run_prober(void *arg);

/* socket.c: descriptors for readers on this machine. */
MUST_CHECK int chunkserver_open_socket(struct chunkserver *cs, struct err *err);
void chunkserver_close_socket(struct chunkserver *cs);
/* What one who may do @rights (enum proof_rights) with chunk @handle must say
 * there. */
uint64_t chunkserver_socket_token(const struct chunkserver *cs,
                                  uint64_t handle,
                                  uint8_t rights);

/* proofs.c */
/* May the caller of @rpc do @rights with the chunk of @call? *@has: all that he
 * may. @seals: he says how long it is. ERR_DENIED. */
MUST_CHECK int chunkserver_check_proof(struct chunkserver *cs,
                                       const struct rpc_call *rpc,
                                       const struct chunk_call *call,
                                       uint8_t rights,
                                       bool seals,
                                       uint8_t *has,
                                       struct err *err);
/* A namenode's keys: each counts until no namenode has named it for the grace.
 */
void chunkserver_take_keys(struct chunkserver *cs, const struct gfs_orders *o);

#endif /* GFS_LITE_CHUNKSERVER_STATE_H */
