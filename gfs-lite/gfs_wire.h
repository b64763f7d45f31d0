/* Calls between clients, namenodes and chunk servers: method numbers and
 * bodies, as tables (base/rpc/call_tables.h). docs/protocols.md describes the
 * same.
 *
 * A body is an array of the struct's fields in their order (codec.h); texts
 * borrow from the decoded bytes. Decoders refuse values beyond their bounds.
 */
#ifndef GFS_LITE_GFS_WIRE_H
#define GFS_LITE_GFS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"
#include "base/rpc/call_tables.h"
#include "gfs-lite/namenode_command.h"

struct arena;
struct buf;

/* Bodies and answers, and the handlers: in namenode/ and chunkserver/. */
#define NAMENODE_METHODS(METHOD)                                               \
    /* gfs_command; gfs_result */                                              \
    METHOD(GFS_EXECUTE, 0x400, "namenode.execute", namenode_handle_execute, 0) \
    /* gfs_query; gfs_stat */                                                  \
    METHOD(GFS_STAT, 0x401, "namenode.stat", namenode_handle_stat, 0)          \
    /* gfs_query; gfs_listing */                                               \
    METHOD(GFS_LIST, 0x402, "namenode.list", namenode_handle_list, 0)          \
    /* gfs_query; gfs_layout */                                                \
    METHOD(GFS_LAYOUT, 0x403, "namenode.layout", namenode_handle_layout, 0)    \
    /* gfs_query (session); nothing */                                         \
    METHOD(GFS_RENEW, 0x404, "namenode.renew", namenode_handle_renew, 0)       \
    /* gfs_recovery; gfs_result */                                             \
    METHOD(GFS_RECOVER, 0x405, "namenode.recover", namenode_handle_recover, 0) \
    /* gfs_heartbeat, report attached; gfs_orders */                           \
    METHOD(GFS_HEARTBEAT, 0x406, "namenode.heartbeat",                         \
           namenode_handle_heartbeat, 0)                                       \
    /* nothing; gfs_status */                                                  \
    METHOD(GFS_STATUS, 0x407, "namenode.status", namenode_handle_status, 0)    \
    /* gfs_query; gfs_findings */                                              \
    METHOD(GFS_CHECK, 0x408, "namenode.check", namenode_handle_check, 0)       \
    /* gfs_query (path: its address, length: state) */                         \
    METHOD(GFS_SET_SERVER, 0x409, "namenode.set_server",                       \
           namenode_handle_set_server, 0)                                      \
    /* gfs_query; gfs_result (length) */                                       \
    METHOD(GFS_TAKE_OVER, 0x40a, "namenode.take_over",                         \
           namenode_handle_take_over, 0)                                       \
    /* gfs_query; gfs_path_grants */                                           \
    METHOD(GFS_GRANTS, 0x40b, "namenode.grants", namenode_handle_grants, 0)

#define CHUNK_METHODS(METHOD)                                                  \
    /* chunk_call, data attached; chunk_answer */                              \
    METHOD(CHUNK_WRITE, 0x480, "chunk.write", chunkserver_handle_write,        \
           RPC_METHOD_CHECKS_CRC)                                              \
    /* The same: a record, at the server's offset. */                          \
    METHOD(CHUNK_APPEND, 0x481, "chunk.append", chunkserver_handle_append, 0)  \
    /* chunk_call; chunk_answer, data attached */                              \
    METHOD(CHUNK_READ, 0x482, "chunk.read", chunkserver_handle_read, 0)        \
    /* chunk_call; chunk_answer */                                             \
    METHOD(CHUNK_OPEN, 0x483, "chunk.open", chunkserver_handle_open, 0)        \
    /* chunk_call (new_version); chunk_answer */                               \
    METHOD(CHUNK_FENCE, 0x484, "chunk.fence", chunkserver_handle_fence,        \
           RPC_METHOD_INTERNAL)                                                \
    /* chunk_call (length); chunk_answer */                                    \
    METHOD(CHUNK_SEAL, 0x485, "chunk.seal", chunkserver_handle_seal, 0)

enum gfs_method {
    NAMENODE_METHODS(METHOD_NUMBER) CHUNK_METHODS(METHOD_NUMBER)
};

/* --- queries to a namenode ----------------------------------------------- */

struct gfs_query {
    struct slice path;
    struct slice after; /* LIST, CHECK: continue after it. */
    uint64_t file;      /* LAYOUT: instead of the path, if not 0. */
    uint64_t session;
    uint64_t offset;
    uint64_t length;
};

struct gfs_stat {
    uint64_t file;
    bool is_directory;
    bool is_open;
    uint32_t replication;
    uint64_t size_bytes; /* Of a file: of its sealed chunks. */
    uint64_t modified_us;
    uint64_t chunk_count;
    uint64_t entry_count; /* Of a directory, all below. */
    uint64_t file_count;
    uint64_t bytes;
    uint64_t entry_quota;
    uint64_t byte_quota;
    struct slice owner; /* "": the servers. Borrowed from the message. */
    uint32_t mode;      /* enum gfs_mode. */
};

/* Rights by path, of a file or directory and of all above it. */
struct gfs_path_grant {
    struct slice path; /* The path that it was made for. */
    struct slice principal;
    uint32_t rights; /* enum gfs_grant. */
    bool by_owner;   /* Holds for files of the same owner. */
};

struct gfs_path_grants {
    struct gfs_path_grant *grants; /* Arena of the reader. */
    size_t count;
};

/* Grants in one answer. */
#define GFS_PATH_GRANTS_MAX 65536

struct gfs_entry {
    struct slice name;
    struct gfs_stat stat;
};

struct gfs_listing {
    struct gfs_entry *entries; /* Arena of the reader. */
    size_t count;
    bool more;
};

/* Entries in one answer. */
#define GFS_LISTING_MAX 1000

struct gfs_server {
    uint16_t number;
    struct slice address;
    struct slice machine;
    struct slice rack;
};

struct gfs_chunk {
    uint64_t handle;
    uint32_t version;
    uint32_t length; /* Sealed ones. */
    bool sealed;
    uint64_t offset; /* Of its first byte in the file. */
    struct gfs_server_set servers;
    struct gfs_proof proof; /* For the caller. */
};

struct gfs_layout {
    uint64_t file;
    uint64_t size_bytes; /* Of the sealed chunks. */
    bool is_open;
    struct gfs_chunk *chunks; /* Arena of the reader. */
    size_t chunk_count;
    struct gfs_server *servers; /* All that the chunks mention. */
    size_t server_count;
};

/* Chunks in one answer. */
#define GFS_LAYOUT_MAX 256

/* A writer's chain broke, or a reader waits for a file without a writer. */
struct gfs_recovery {
    uint64_t file;
    uint64_t epoch; /* 0: not the writer. */
    uint64_t chunk;
    uint64_t
        acknowledged; /* Bytes of the chunk that the writer knows to be safe. */
    struct gfs_server_set failed;
};

/* --- chunk servers to a namenode ----------------------------------------- */

struct gfs_heartbeat {
    uint64_t own_id;
    struct slice address;
    struct slice machine;
    struct slice rack;
    uint64_t capacity_bytes;
    uint64_t free_bytes;
    uint64_t chunk_count;
    uint32_t load; /* Copies under way. */
    bool full;     /* The report is of all chunks. */
    uint64_t run;  /* Drawn at each start. */
};

/* One chunk in a report: five varints each, attached. */
struct gfs_replica {
    uint64_t handle;
    uint32_t version;
    uint32_t length;
    bool sealed;
    bool damaged;
    bool gone; /* Deleted since the last report, or could not be copied. */
};

/* Append @r to a report. */
void gfs_replica_put(const struct gfs_replica *r, struct buf *out);
/* Cut the first replica off *@in; false at the end, or with *@bad. */
bool gfs_replica_get(struct slice *in, struct gfs_replica *r, bool *bad);

enum gfs_order_kind {
    GFS_ORDER_DELETE = 1, /* Its replicas up to and including that version. */
    GFS_ORDER_COPY = 2,   /* Fetch it from `sources`. */
    GFS_ORDER_SEAL = 3,   /* It ended at that length. */
};

struct gfs_order {
    enum gfs_order_kind kind;
    uint64_t handle;
    uint32_t version;
    uint32_t length;
    struct slice sources[GFS_REPLICAS_MAX]; /* Addresses. */
    size_t source_count;
};

struct gfs_orders {
    uint16_t number;          /* Of the server. */
    bool send_full;           /* The next report must be a full one. */
    uint64_t next_handle;     /* All chunks so far have smaller ones. */
    struct gfs_order *orders; /* Arena of the reader. */
    size_t count;
    struct proof_key keys[PROOF_KEYS_MAX];
    size_t key_count;
};

/* Orders in one answer. */
#define GFS_ORDERS_MAX 512

/* --- state, for people --------------------------------------------------- */

struct gfs_server_status {
    struct gfs_server server;
    uint64_t own_id;
    enum gfs_server_state state;
    bool alive;
    uint64_t capacity_bytes;
    uint64_t free_bytes;
    uint64_t chunk_count;
    uint64_t heard_us_ago;
};

struct gfs_status {
    bool safe_mode;
    uint64_t files;
    uint64_t directories;
    uint64_t chunks;
    uint64_t bytes;
    uint64_t open_files;
    uint64_t sessions;
    uint64_t lost; /* Chunks without a copy on servers that report. */
    uint64_t under_replicated; /* They wait for copies. */
    uint64_t copying;
    struct gfs_server_status *servers; /* Arena of the reader. */
    size_t server_count;
    uint64_t unreported; /* Chunks without a known copy, while servers have yet
                            to report. */
    uint64_t over_replicated; /* With too many copies, at the last scan. */
    /* Wall clock of the leader, when it first saw the present ones; 0: there
     * are none. */
    uint64_t under_since_us;
    uint64_t lost_since_us;
};

struct gfs_finding {
    struct slice path;
    uint64_t chunk;
    uint32_t wanted;
    uint32_t copies;
    bool is_open;
};

struct gfs_findings {
    struct gfs_finding *findings; /* Arena of the reader. */
    size_t count;
    uint64_t files_checked;
    bool more;
    struct slice after; /* Where to continue. */
    bool early;         /* Servers have yet to report. */
};

/* Files, directories and chunks looked at for one answer; findings in it. */
#define GFS_CHECK_MAX    2000
#define GFS_FINDINGS_MAX 10000

/* --- chunk servers ------------------------------------------------------- */

enum chunk_flags {
    CHUNK_SYNC = 1,   /* On all disks before the answer. */
    CHUNK_MAKE = 2,   /* Make the chunk if it is missing. */
    CHUNK_VERIFY = 4, /* READ: verify all blocks, even recently verified ones:
                         the caller got wrong bytes. */
    CHUNK_UNREAD = 8, /* WRITE: readers of this machine have another copy. */
};

struct chunk_call {
    uint64_t handle;
    uint32_t version;
    uint32_t new_version;
    uint64_t offset;
    uint64_t length;
    uint32_t flags;
    struct slice chain[GFS_REPLICAS_MAX]; /* Addresses, this server's not. */
    size_t chain_count;
    struct gfs_proof proof;
    uint64_t own_id; /* FENCE, SEAL: of the chunk server that is meant; another
                        one may have its address by now. 0: any. */
};

struct chunk_answer {
    int code; /* A chain's outcome: 0 or ERR_*. */
    struct slice text;
    struct slice failed; /* The address of the one that failed. */
    uint64_t length;     /* Of the chunk. */
    uint64_t offset;     /* APPEND: where the record begins. */
    uint32_t version;
    uint32_t tail_crc; /* OPEN: of the last block, if it is not whole. */
    bool sealed;
    bool found; /* Begun before its server started: unsynced bytes may be
                   missing. */
    struct slice socket; /* OPEN: for readers of the same machine, or empty. */
    uint64_t token;      /* The token to send there. */
};

/* Largest piece of data in one call. */
#define CHUNK_DATA_BYTES_MAX ((uint32_t)4 << 20)
/* How long a chain's answer may take, for each server of it: a server nearer to
 * the end times out sooner, so that the right one is blamed. */
#define CHUNK_CHAIN_UNIT_US UINT64_C(4000000)
/* Largest record of an append: a quarter of a chunk, so that the space lost at
 * the end of a chunk is bounded. */
#define CHUNK_RECORD_BYTES_MAX (GFS_CHUNK_BYTES / 4)

/* --- bytes --------------------------------------------------------------- */

/* Flat messages, field by field in the order of the wire (call_tables.h; kinds:
 * wire_codec.h). A new one is its struct, its list and its line in the table.
 */
/* Kinds of fields: paths, other texts, sets of servers. Bounded. */
extern const struct message_kind gfs_field_path;
extern const struct message_kind gfs_field_text;
extern const struct message_kind gfs_field_servers;

static const struct message_field gfs_query_fields[] = {
    FIELD(gfs_query, path, gfs_field_path),
    FIELD(gfs_query, after, gfs_field_path),
    FIELD(gfs_query, file, field_u64),
    FIELD(gfs_query, session, field_u64),
    FIELD(gfs_query, offset, field_u64),
    FIELD(gfs_query, length, field_u64),
};

static const struct message_field gfs_recovery_fields[] = {
    FIELD(gfs_recovery, file, field_u64),
    FIELD(gfs_recovery, epoch, field_u64),
    FIELD(gfs_recovery, chunk, field_u64),
    FIELD(gfs_recovery, acknowledged, field_u64),
    FIELD(gfs_recovery, failed, gfs_field_servers),
};

static const struct message_field gfs_heartbeat_fields[] = {
    FIELD(gfs_heartbeat, own_id, field_u64),
    FIELD(gfs_heartbeat, address, gfs_field_text),
    FIELD(gfs_heartbeat, machine, gfs_field_text),
    FIELD(gfs_heartbeat, rack, gfs_field_text),
    FIELD(gfs_heartbeat, capacity_bytes, field_u64),
    FIELD(gfs_heartbeat, free_bytes, field_u64),
    FIELD(gfs_heartbeat, chunk_count, field_u64),
    FIELD(gfs_heartbeat, load, field_u32),
    FIELD(gfs_heartbeat, full, field_flag),
    FIELD(gfs_heartbeat, run, field_u64),
};

#define GFS_MESSAGES(MESSAGE)                                                  \
    MESSAGE(gfs_query, "query of the file system")                             \
    MESSAGE(gfs_recovery, "recovery of the file system")                       \
    MESSAGE(gfs_heartbeat, "heartbeat of the file system")

GFS_MESSAGES(MESSAGE_FUNCTIONS)

/* Encoders append the message to @out; decoders borrow texts from @in, take
 * arrays from @a, and fail with ERR_CORRUPT. */
void gfs_stat_put(const struct gfs_stat *s, struct buf *out);
MUST_CHECK int
gfs_stat_get(struct slice in, struct gfs_stat *s, struct err *err);
void gfs_listing_put(const struct gfs_listing *l, struct buf *out);
MUST_CHECK int gfs_listing_get(struct slice in,
                               struct arena *a,
                               struct gfs_listing *l,
                               struct err *err);
void gfs_path_grants_put(const struct gfs_path_grants *g, struct buf *out);
MUST_CHECK int gfs_path_grants_get(struct slice in,
                                   struct arena *a,
                                   struct gfs_path_grants *g,
                                   struct err *err);
void gfs_layout_put(const struct gfs_layout *l, struct buf *out);
MUST_CHECK int gfs_layout_get(struct slice in,
                              struct arena *a,
                              struct gfs_layout *l,
                              struct err *err);
void gfs_orders_put(const struct gfs_orders *o, struct buf *out);
MUST_CHECK int gfs_orders_get(struct slice in,
                              struct arena *a,
                              struct gfs_orders *o,
                              struct err *err);
void gfs_status_put(const struct gfs_status *s, struct buf *out);
MUST_CHECK int gfs_status_get(struct slice in,
                              struct arena *a,
                              struct gfs_status *s,
                              struct err *err);
void gfs_findings_put(const struct gfs_findings *f, struct buf *out);
MUST_CHECK int gfs_findings_get(struct slice in,
                                struct arena *a,
                                struct gfs_findings *f,
                                struct err *err);
void chunk_call_put(const struct chunk_call *c, struct buf *out);
MUST_CHECK int
chunk_call_get(struct slice in, struct chunk_call *c, struct err *err);
void chunk_answer_put(const struct chunk_answer *a, struct buf *out);
MUST_CHECK int
chunk_answer_get(struct slice in, struct chunk_answer *a, struct err *err);

#endif /* GFS_LITE_GFS_WIRE_H */
