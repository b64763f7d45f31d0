/* The cluster's file system beyond fs.h: how to open it, and operations that
 * only it has.
 *
 *     fs_open_target(w, "gfs://host:port,host:port/path", security, &fs, &err)
 *     fs_open_target(w, "/some/directory", NULL, &fs, &err)     the local one
 *
 * Threads: any. Everything parks.
 */
#ifndef GFS_LITE_GFS_H
#define GFS_LITE_GFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"
#include "gfs-lite/fs.h"
#include "gfs-lite/gfs_wire.h"

struct arena;
struct rpc_security;

#define GFS_SCHEME "gfs://"

/* Open the file system @target: "gfs://…" of a cluster, "file:DIR" or DIR of
 * this machine. @security (NULL: none) is borrowed. Owned: fs_close(). Errors:
 * ERR_INVALID; those of fs_local_open(). A cluster that does not answer is
 * noticed by the first call. */
MUST_CHECK int fs_open_target(struct world *w,
                              const char *target,
                              const struct rpc_security *security,
                              struct fs **out,
                              struct err *err);

/* The way of a file's bytes to its servers. */
enum gfs_write_way {
    GFS_WRITE_BY_DISTANCE, /* To each, if all are on this machine; else */
    GFS_WRITE_ALONG_CHAIN, /* to the first, each of which forwards them
                              (GFS 3.2); */
    GFS_WRITE_TO_EACH,     /* from the writer to each. */
};

/* Zeros give the defaults. Texts are copied, @security is borrowed. */
struct gfs_options {
    const char *namenodes; /* "host:port,…" */
    const char *path;      /* The root, below the file system's; default "". */
    const char *machine;   /* Of this process: copies there are near. */
    const char *rack;
    const char *name; /* Of this process, in messages to others. */
    const struct rpc_security *security;
    const char *act_as; /* Act for this principal, if namenodes let this process
                           do so; NULL: for itself. */
    uint32_t replication;  /* Of new files; default 3. */
    uint64_t timeout_us;   /* Of calls of the namenode, and of reads while
                              servers come and go; default 60 s. */
    uint64_t renew_us;     /* Between signs of life; default 10 s. */
    uint64_t hedge_us;     /* A read that takes longer is also sent to another
                              server; default 30 ms. */
    uint32_t chunk_bytes;  /* Where this one's writers end a chunk; default,
                              and at most, GFS_CHUNK_BYTES. */
    bool no_short_circuit; /* Always read and write through the servers. */
    enum gfs_write_way write_way;
};

/* Open it. On a fiber, it runs on the fiber's loop and must be closed there; on
 * a plain thread it runs a loop of its own. *@out is owned. Errors:
 * ERR_INVALID. */
MUST_CHECK int fs_gfs_open(struct world *w,
                           const struct gfs_options *opts,
                           struct fs **out,
                           struct err *err);
/* Is it the cluster's? */
bool fs_is_gfs(const struct fs *fs);

/* --- beyond fs.h; PRE: fs_is_gfs(fs) ------------------------------------- */

/* Open a writer that appends to the closed file @path. *@out is owned. Errors:
 * ERR_NOTFOUND, ERR_BUSY (it is open), ERR_INVALID. */
MUST_CHECK int gfs_append_open(struct fs *fs,
                               const char *path,
                               const struct fs_write_options *opts,
                               struct fs_writer **out,
                               struct err *err);
/* Append @record atomically at an offset that the file system chooses,
 * *@offset, concurrently with other callers (GFS 3.3). The file is made if
 * missing. The record is then on all copies, at least once: after a failure it
 * may be there twice. Errors: ERR_TOOBIG beyond CHUNK_RECORD_BYTES_MAX. */
MUST_CHECK int gfs_record_append(struct fs *fs,
                                 const char *path,
                                 struct slice record,
                                 uint64_t *offset,
                                 struct err *err);

/* More than fs_stat(), without the owner. The size of an open file is that of
 * its sealed chunks. */
MUST_CHECK int gfs_stat(struct fs *fs,
                        const char *path,
                        struct gfs_stat *out,
                        struct err *err);
/* The same with the owner, in memory of @a. */
MUST_CHECK int gfs_look(struct fs *fs,
                        const char *path,
                        struct arena *a,
                        struct gfs_stat *out,
                        struct err *err);
/* The entries of @path after the name @after, in memory of @a. */
MUST_CHECK int gfs_list(struct fs *fs,
                        const char *path,
                        const char *after,
                        struct arena *a,
                        struct gfs_listing *out,
                        struct err *err);
/* Set the number of copies of @path and all files below it; of files made
 * meanwhile, for some. */
MUST_CHECK int gfs_set_replication(struct fs *fs,
                                   const char *path,
                                   uint32_t replication,
                                   struct err *err);
/* A copy of @from, as of one moment, under the new name @to, sharing chunks
 * (GFS 3.4). Changes of names in @from wait until it is done. */
MUST_CHECK int
gfs_snapshot(struct fs *fs, const char *from, const char *to, struct err *err);
/* Remove @path, and all below it, into the trash. */
MUST_CHECK int gfs_discard(struct fs *fs, const char *path, struct err *err);
/* Limit the number of files and directories, and the bytes, below @path; 0:
 * none. */
MUST_CHECK int gfs_set_quota(struct fs *fs,
                             const char *path,
                             uint64_t entries,
                             uint64_t bytes,
                             struct err *err);
/* Set the rights of the owner and of others to @path: enum gfs_mode. */
MUST_CHECK int
gfs_set_mode(struct fs *fs, const char *path, uint32_t mode, struct err *err);
/* Make @owner the owner of @path. */
MUST_CHECK int gfs_set_owner(struct fs *fs,
                             const char *path,
                             struct slice owner,
                             struct err *err);
/* Give @principal, a name, "role:NAME" or "*", @rights (enum gfs_grant) to
 * @path and all below it, or take them away. */
MUST_CHECK int gfs_grant(struct fs *fs,
                         const char *path,
                         struct slice principal,
                         uint32_t rights,
                         bool take,
                         struct err *err);
/* Grants of @path and of directories above it, in memory of @a. */
MUST_CHECK int gfs_get_grants(struct fs *fs,
                              const char *path,
                              struct arena *a,
                              struct gfs_path_grants *out,
                              struct err *err);
/* The chunks of a file and their servers, in memory of @a. */
MUST_CHECK int gfs_get_layout(struct fs *fs,
                              const char *path,
                              uint64_t offset,
                              struct arena *a,
                              struct gfs_layout *out,
                              struct err *err);
/* Files below @path, after @after, with fewer copies than wanted. */
MUST_CHECK int gfs_check(struct fs *fs,
                         const char *path,
                         struct slice after,
                         struct arena *a,
                         struct gfs_findings *out,
                         struct err *err);
/* Figures of the file system and its servers, in memory of @a. */
MUST_CHECK int gfs_get_status(struct fs *fs,
                              struct arena *a,
                              struct gfs_status *out,
                              struct err *err);
/* Set the state that the operator wants of the chunk server at @address. */
MUST_CHECK int gfs_set_server_state(struct fs *fs,
                                    const char *address,
                                    enum gfs_server_state state,
                                    struct err *err);

/* --- figures ------------------------------------------------------------- */

struct gfs_client_stats {
    uint64_t local_reads;  /* Through descriptors of this machine, */
    uint64_t remote_reads; /* over the network, */
    uint64_t hedged_reads; /* of these, sent to a second server too. */
    uint64_t recoveries;   /* Broken chains. */
    uint64_t local_writes; /* Pieces written to descriptors of this machine. */
};

/* Figures since the file system was opened. */
void gfs_get_client_stats(const struct fs *fs, struct gfs_client_stats *out);

#endif /* GFS_LITE_GFS_H */
