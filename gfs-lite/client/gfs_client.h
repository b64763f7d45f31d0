/* The cluster client's struct and the functions that its files share. Private
 * to gfs-lite/client.
 *
 * Threads: any; `mutex` guards the fields after it up to `unclosed`. Channels
 * take their calls to the loop themselves; what else needs its fibers goes
 * there by gfs__on_loop().
 *
 *     INV-1. With `own_loop` the loop is stopped and freed by close; else it is
 *            the opener's.
 *     INV-2. While `session` is 0 the window has no commands.
 */
#ifndef GFS_LITE_CLIENT_GFS_CLIENT_H
#define GFS_LITE_CLIENT_GFS_CLIENT_H

#include <stdatomic.h>

#include "base/core/buf.h"
#include "base/runtime/sync.h"
#include "base/session/leader.h"
#include "base/session/window.h"
#include "gfs-lite/fs_ops.h"
#include "gfs-lite/gfs.h"
#include "gfs-lite/id_map.h"
#include "gfs-lite/peers.h"

struct fiber;
struct loop;

/* A chunk server as layouts have shown it. */
struct known_server {
    uint64_t number; /* First: see id_map.h. */
    char *address;   /* Owned. */
    char *machine;   /* Owned. */
    char *rack;      /* Owned. */
};

/* A file whose close did not reach the namenode. */
struct unclosed {
    struct unclosed *next;
    uint64_t file;
    uint64_t epoch;
    uint64_t chunk;
    uint64_t length;
};

struct gfs {
    struct fs base;
    struct loop *loop;
    bool own_loop;
    struct peers *peers;
    struct leader *leader;
    char *path; /* The root: "" or without a final '/'. Owned. */
    char *machine;
    char *rack;
    char *name;
    uint32_t replication;
    uint64_t timeout_us;
    uint64_t renew_us;
    uint64_t hedge_us;
    uint32_t chunk_bytes;
    bool short_circuit;
    enum gfs_write_way write_way;

    struct mutex mutex; /* Guards the fields up to `unclosed`. */
    struct cond changed;
    uint64_t session;             /* 0: none. */
    uint64_t renewed_ns;          /* When it was last known to live. */
    struct session_window window; /* Commands of the session. */
    bool opening;                 /* A fiber opens the session. */
    struct id_map servers;        /* struct known_server, owned. */
    char **machines;              /* Names that locality gave out; owned. */
    size_t machine_count;
    struct unclosed *unclosed;
    atomic_bool stopping; /* Nothing is retried. */

    uint64_t read_turn;  /* Which of equally near servers is used now, */
    unsigned reads_left; /* and by how many reads more. Of the loop. */
    struct fiber *renewer;
    atomic_uint_least64_t local_reads;
    atomic_uint_least64_t remote_reads;
    atomic_uint_least64_t hedged_reads;
    atomic_uint_least64_t recoveries;
    atomic_uint_least64_t local_writes;
    atomic_uint_least64_t slow_until_ns; /* The disk holds writers back. */
};

static inline struct gfs *gfs_of(struct fs *fs)
{
    return (struct gfs *)fs;
}

/* Is it pointless to retry a failed call? */
bool gfs__gives_up(struct gfs *g, uint64_t until_ns);
/* Run fn(arg) in a fiber of the client's loop and wait for it. Parks. */
void gfs__on_loop(struct gfs *g,
                  const char *name,
                  void (*fn)(void *),
                  void *arg);

/* --- gfs_session.c ------------------------------------------------------- */

/* Have @c executed, in the session unless it opens one. @reply holds the texts
 * of *@r. Parks. Errors: those of the command; ERR_UNAVAILABLE. */
MUST_CHECK int gfs__execute(struct gfs *g,
                            struct gfs_command *c,
                            struct gfs_result *r,
                            struct buf *reply,
                            struct err *err);
/* The same for a command whose result is not needed. */
MUST_CHECK int
gfs__execute_plain(struct gfs *g, struct gfs_command *c, struct err *err);
/* The fiber that renews the session and closes files late, until the client
 * stops. */
void gfs__run_renewer(void *arg);
/* End the session, if the namenode answers soon. Parks. */
void gfs__end_session(struct gfs *g);
/* Have the file closed when the namenode answers again. */
void gfs__close_later(struct gfs *g,
                      uint64_t file,
                      uint64_t epoch,
                      uint64_t chunk,
                      uint64_t length);

/* --- names.c ------------------------------------------------------------- */

/* Write @path below the file system's root to @out. ERR_INVALID. */
MUST_CHECK int gfs__path(const struct gfs *g,
                         const char *path,
                         struct buf *out,
                         struct err *err);
/* Send a query to the leader and append the answer to @reply. Parks. */
MUST_CHECK int gfs__query(struct gfs *g,
                          uint32_t method,
                          const struct gfs_query *q,
                          struct buf *reply,
                          struct err *err);
/* Implementations of fs.h. They park. */
int gfs__rename(struct fs *fs,
                const char *from,
                const char *to,
                struct err *err);
int gfs__remove(struct fs *fs, const char *path, struct err *err);
int gfs__remove_tree(struct fs *fs, const char *path, struct err *err);
int gfs__mkdirs(struct fs *fs, const char *path, struct err *err);
int gfs__stat(struct fs *fs,
              const char *path,
              struct fs_info *info,
              struct err *err);
int gfs__sync_dir(struct fs *fs, const char *path, struct err *err);
int gfs__list(struct fs *fs,
              const char *path,
              char ***names,
              size_t *count,
              struct err *err);
int gfs__lock(struct fs *fs,
              const char *path,
              struct fs_lock **out,
              struct err *err);
void gfs__unlock(struct fs_lock *l);

/* --- chunkserver_list.c -------------------------------------------------- */

/* Remember the servers that @l names. */
void gfs__note_servers(struct gfs *g, const struct gfs_layout *l);
/* The address of server @number, or NULL. Owned. */
char *gfs__server_address(struct gfs *g, uint16_t number);
/* The number of the server at @address, or -1. */
int gfs__server_number(struct gfs *g, struct slice address);
/* Forget its address, which may have changed. */
void gfs__forget_server(struct gfs *g, uint16_t number);
/* 0: this machine, 1: this rack, 2: elsewhere. */
int gfs__distance(struct gfs *g, uint16_t number);
/* The layout of a file from @offset on; its servers are remembered. By @path
 * (below the root of all) or @file. Parks. Errors: those of the query. */
MUST_CHECK int gfs__layout(struct gfs *g,
                           struct slice path,
                           uint64_t file,
                           uint64_t offset,
                           struct arena *a,
                           struct buf *reply,
                           struct gfs_layout *out,
                           struct err *err);
/* The length of the open chunk @c, as its servers know it: the bytes that all
 * of those that answer have. 0 if it was not made yet. Parks. */
MUST_CHECK int gfs__open_length(struct gfs *g,
                                const struct gfs_chunk *c,
                                uint64_t *length,
                                struct err *err);

/* --- gfs_write.c, take_over.c, gfs_read.c -------------------------------- */

/* Implementations of fs.h. They park. */
int gfs__create(struct fs *fs,
                const char *path,
                const struct fs_write_options *opts,
                struct fs_writer **out,
                struct err *err);
int gfs__append(struct fs_writer *w,
                const void *data,
                size_t len,
                struct err *err);
int gfs__flush(struct fs_writer *w, struct err *err);
int gfs__sync(struct fs_writer *w, struct err *err);
int gfs__append_sync(struct fs_writer *w,
                     const void *data,
                     size_t len,
                     struct err *err);
void gfs__writer_close(struct fs_writer *w);
int gfs__recover(struct fs *fs,
                 const char *path,
                 uint64_t *length,
                 struct err *err);

/* Implementations of fs.h. They park. */
int gfs__open(struct fs *fs,
              const char *path,
              struct fs_reader **out,
              struct err *err);
int gfs__read_at(struct fs_reader *r,
                 uint64_t offset,
                 void *dst,
                 size_t len,
                 size_t *got,
                 struct err *err);
enum fs_place
gfs__read_place(struct fs_reader *base, uint64_t offset, uint64_t len);
void gfs__prefetch(struct fs_reader *r, uint64_t offset, uint64_t len);
void gfs__reader_close(struct fs_reader *r);
size_t gfs__locality(struct fs_reader *r,
                     uint64_t offset,
                     uint64_t len,
                     const char **machines,
                     size_t machines_max);

/* --- gfs_remote.c: reading over the network ------------------------------ */

/* Read [@offset, @offset+@len) of chunk @c into @dst from its servers, near
 * ones first, and a second one if the first is slow. Parks. */
MUST_CHECK int gfs__read_remote(struct gfs *g,
                                const struct gfs_chunk *c,
                                uint32_t offset,
                                uint32_t len,
                                char *dst,
                                struct err *err);

/* --- short_circuit.c: reading the files of this machine's server --------- */

struct local_chunk;
struct file;

/* A request for a descriptor to a server of this machine. */
struct gfs_descriptor {
    const char *address; /* Of the server. */
    uint64_t handle;
    uint32_t version;
    uint64_t length; /* Of a sealed chunk. */
    bool to_write;   /* Of an open chunk, by a grant; else of a sealed one. */
    struct gfs_proof proof;
};

/* Get a descriptor. *@out is owned; numbers of *@answer describe the chunk.
 * Parks. Errors: ERR_UNSUPPORTED (the server passes none), ERR_UNAVAILABLE,
 * ERR_CORRUPT, those of the call. */
MUST_CHECK int gfs__fetch_descriptor(struct gfs *g,
                                     const struct gfs_descriptor *wanted,
                                     struct chunk_answer *answer,
                                     struct file **out,
                                     struct err *err);

/* Open the sealed chunk @c at the server @number of this machine. *@out is
 * owned. Parks. Errors: as above. */
MUST_CHECK int gfs__open_local(struct gfs *g,
                               const struct gfs_chunk *c,
                               uint16_t number,
                               struct local_chunk **out,
                               struct err *err);
void gfs__close_local(struct local_chunk *l); /* NULL is allowed. */
/* Read and verify. PRE: within the chunk. Parks. Errors: ERR_CORRUPT: a
 * checksum is wrong. */
MUST_CHECK int gfs__read_local(struct local_chunk *l,
                               uint32_t offset,
                               uint32_t len,
                               char *dst,
                               struct err *err);
/* Does the page cache have [offset, offset + len) of the chunk? */
bool gfs__local_is_cached(const struct local_chunk *l,
                          uint32_t offset,
                          uint32_t len);

#endif /* GFS_LITE_CLIENT_GFS_CLIENT_H */
