/* The chunk server's struct and the functions that its files share. Private to
 * gfs-lite/chunkserver.
 */
#ifndef GFS_LITE_CHUNKSERVER_CHUNKSERVER_STATE_H
#define GFS_LITE_CHUNKSERVER_CHUNKSERVER_STATE_H

#include "base/rpc/rpc.h"
#include "base/session/leader.h"
#include "gfs-lite/chunkserver/chunk_store.h"
#include "gfs-lite/chunkserver/chunkserver.h"
#include "gfs-lite/peers.h"

struct chunkserver_socket;
struct fiber;

/* Copies made at once, and orders to copy that wait. */
#define COPIES_MAX     4
#define COPY_QUEUE_MAX 256

/* Fences of absent chunks that are remembered. Each stands for a writer that
 * died after it got a chunk and before its first byte. */
#define UNMADE_MAX 4096

/* A chunk to be copied here. */
struct copy_order {
    struct copy_order *next;
    uint64_t handle;
    uint32_t version;
    uint32_t length;
    char *sources[GFS_REPLICAS_MAX]; /* Owned addresses. */
    size_t source_count;
};

/* Invariants
 *     INV-1. A chunk in `unmade`, or below make_from and absent, is never
 *            made here (chunk_write.c).
 *     INV-2. copy_count orders wait in `copies`, at most COPY_QUEUE_MAX;
 *            `copying` fibers copy, at most COPIES_MAX (copy.c).
 *     INV-3. A key without an id is unused; the newest is first. */
/* Of probes of the disk. */
#define PROBES_KEPT 3

struct chunkserver {
    struct world *world;
    struct chunk_store *store;
    struct peers *peers;
    struct leader *leader;
    char *address; /* As clients reach it; owned. */
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
    uint64_t make_from; /* Chunks below are not made: see chunk_write.c. */
    /* Absent chunks that were to be fenced: a ring. */
    uint64_t unmade[UNMADE_MAX];
    size_t unmade_count; /* Ever. */
    struct fiber *heart;
    struct fiber *maintenance; /* Scrubs and syncs. */
    struct fiber *prober;      /* Probes the disk. */
    struct fiber *writer;      /* Writes back unsynced bytes; */
    size_t write_back_at;      /* where it continues among the open files. */
    uint64_t probe_us[PROBES_KEPT]; /* Of the last ones: a ring. */
    uint64_t probe_count;
    struct err health; /* The result of the last probe, like the next two. */
    uint64_t capacity_bytes;
    uint64_t free_bytes;
    struct copy_order *copies;
    size_t copy_count;    /* Waiting. */
    size_t copying;       /* Under way. */
    bool copies_left;     /* Failed copies may have left files. */
    struct fiber *closer; /* Waits for the copies. */
    uint64_t scrubbed_bytes;
    uint64_t copied_chunks;
    struct chunkserver_socket *socket;
    const struct cluster_roles *roles; /* NULL: no proofs are asked for. */
    uint64_t proof_grace_us;
    struct proof_key keys[PROOF_KEYS_KEPT]; /* The newest first. */
    uint64_t key_named_ns[PROOF_KEYS_KEPT]; /* By a namenode, the last time. */
};

/* Handlers of the methods (gfs_wire.h), in chunk_write.c, chunk_read.c and
 * seal.c; they park. Errors go to the caller. */
CHUNK_METHODS(RPC_METHOD_HANDLER)

/* chunk_write.c */
/* May @c take bytes of @version? ERR_NOTFOUND, ERR_CORRUPT, ERR_ABORTED, or the
 * error of an earlier write. */
MUST_CHECK int chunkserver_check_writable(const struct stored_chunk *c,
                                          uint32_t version,
                                          struct err *err);

/* grant.c: writers of this machine that append to chunks' files themselves. */
/* Grant a writer the chunk @handle, which must be of @version. *@out is pinned.
 * Parks. Errors: ERR_BUSY, ERR_EXHAUSTED, those of
 * chunkserver_check_writable(), ERR_IO. */
MUST_CHECK int chunkserver_grant(struct chunkserver *cs,
                                 uint64_t handle,
                                 uint32_t version,
                                 struct stored_chunk **out,
                                 struct err *err);
/* Take over the bytes appended to @c under a grant. PRE: c->lock is held, and
 * its file open. Parks. */
MUST_CHECK int chunkserver_absorb_locked(struct chunkserver *cs,
                                         struct stored_chunk *c,
                                         struct err *err);
/* The same; takes the lock, if there is a grant. */
MUST_CHECK int chunkserver_absorb(struct chunkserver *cs,
                                  struct stored_chunk *c,
                                  struct err *err);

/* seal.c */
/* Seal @c at @length unless it is sealed. Takes c->lock. Parks. Errors:
 * ERR_ABORTED (other version, too short), ERR_CORRUPT, ERR_IO. */
MUST_CHECK int chunkserver_seal(struct chunkserver *cs,
                                struct stored_chunk *c,
                                uint32_t version,
                                uint32_t length,
                                struct err *err);

/* chunk_read.c */
/* The chunk @handle of at least @version, pinned, with its file open. Errors:
 * ERR_NOTFOUND, ERR_ABORTED (an older version), ERR_CORRUPT. Parks. */
MUST_CHECK int chunkserver_find(struct chunkserver *cs,
                                uint64_t handle,
                                uint32_t version,
                                struct stored_chunk **out,
                                struct err *err);

/* copy.c */
/* Queue the order, unless it is queued. */
void chunkserver_add_copy(struct chunkserver *cs, const struct gfs_order *o);
/* Remove the files that failed copies left, if none is under way. Parks. */
void chunkserver_sweep_copies(struct chunkserver *cs);
/* Parks until no copy is under way. */
void chunkserver_end_copies(struct chunkserver *cs);

/* heartbeat.c */
/* The fiber that sends heartbeats; @arg is the server. */
void chunkserver_run_heart(void *arg);
/* The size of the disk, and the bytes that may still be stored. Parks. */
MUST_CHECK int chunkserver_get_space(struct chunkserver *cs,
                                     uint64_t *capacity_bytes,
                                     uint64_t *free_bytes,
                                     struct err *err);

/* scrub.c */
/* The fiber that scrubs and syncs; @arg is the server. */
void chunkserver_run_maintenance(void *arg);

/* write_back.c */
/* The fiber that writes back; @arg is the server. */
void chunkserver_run_write_back(void *arg);
/* Bytes were appended to @c: wake the write-back fiber if there is enough. */
void chunkserver_note_written(struct chunkserver *cs,
                              const struct stored_chunk *c);

/* health.c */
/* The fiber that probes the disk; @arg is the server. */
void chunkserver_run_prober(void *arg);
/* The median of the last probes; 0: there were too few. */
uint64_t chunkserver_probe_us(const struct chunkserver *cs);

/* socket.c: descriptors for readers and writers on this machine. */
/* Listen at cs->socket_path. Parks. Errors: those of stream_listen(). */
MUST_CHECK int chunkserver_open_socket(struct chunkserver *cs, struct err *err);
/* Stop, and wait for the clients' fibers. Parks. No-op if not open. */
void chunkserver_close_socket(struct chunkserver *cs);
/* The token of a client with @rights (enum proof_rights) to chunk @handle. */
uint64_t chunkserver_socket_token(const struct chunkserver *cs,
                                  uint64_t handle,
                                  uint8_t rights);

/* chunk_proofs.c */
/* Has the caller of @rpc the @rights to the chunk of @call? *@has: all its
 * rights. @seals: the call gives the length, which the proof must name too.
 * ERR_DENIED. */
MUST_CHECK int chunkserver_check_proof(struct chunkserver *cs,
                                       const struct rpc_call *rpc,
                                       const struct chunk_call *call,
                                       uint8_t rights,
                                       bool seals,
                                       uint8_t *has,
                                       struct err *err);
/* Add a namenode's keys: each is valid until no namenode has named it for the
 * grace. */
void chunkserver_take_keys(struct chunkserver *cs, const struct gfs_orders *o);

#endif /* GFS_LITE_CHUNKSERVER_CHUNKSERVER_STATE_H */
