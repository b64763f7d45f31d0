/* A file's writer, and the pieces it has sent. Private to gfs-lite/client.
 *
 *     INV-1. acknowledged <= offset <= chunk_bytes of the client.
 *     INV-2. Until it failed, `pieces` has the bytes of the open chunk from
 *            acknowledged on, in order; a piece under way is not freed.
 *     INV-3. At most one chunk is `ended`. While there is one, no request for
 *            a chunk seals `unsealed`: the ended one is settled first.
 */
#ifndef GFS_LITE_CLIENT_FILE_WRITER_H
#define GFS_LITE_CLIENT_FILE_WRITER_H

#include "base/trace/span.h"
#include "gfs-lite/client/gfs_client.h"

/* The call for a piece to one server, or to the chain. */
struct delivery {
    struct piece *piece;
    unsigned server; /* Index in the writer's. */
    struct buf reply;
};

/* A part of the open chunk being sent. */
struct piece {
    struct piece *next;
    struct gfs_writer *writer;
    struct buf data;
    uint32_t offset; /* In the chunk. */
    uint32_t crc;    /* Of the data. */
    bool sync;
    bool is_there; /* Written to the servers' files, by a grant. */
    struct delivery deliveries[GFS_REPLICAS_MAX];
    unsigned deliveries_left;   /* Under way. */
    struct trace_context trace; /* Of who sent it. */
    int rc;                     /* The first failure, */
    struct err err;             /* its error, */
    int failed; /* and the number of the server that failed; -1: not known. */
};

struct granted;

struct gfs_writer {
    struct fs_writer base;
    struct gfs *gfs;
    char *path; /* For messages; owned. */
    enum fs_write_mode mode;
    uint64_t file;
    uint64_t epoch;
    struct buf buffer; /* Appended bytes that are in no piece yet. */
    /* The open chunk; handle 0: none. */
    uint64_t chunk;
    uint32_t version;
    struct gfs_proof proof;
    uint32_t offset;       /* Bytes in pieces. */
    uint32_t acknowledged; /* All of its servers have them. */
    struct gfs_server_set servers;
    char *addresses[GFS_REPLICAS_MAX]; /* Owned. */
    bool to_each;                      /* Pieces go to each of them from here;
                                          else along the chain. */
    struct granted *granted;           /* Of this or an earlier chunk; owned. */
    uint64_t asked_grant; /* The chunk for which a grant was last requested. */
    bool no_grants;       /* One failed: no more of them. */
    struct gfs_writer *ended; /* Of the chunk before it, while that is synced;
                                 owned. NULL: there is none. */
    /* The chunk before it, which the next command seals; 0: it is sealed. */
    uint64_t unsealed;
    uint32_t unsealed_length;
    struct gfs_server_set excluded; /* Servers that failed the writer, */
    uint64_t excluded_ns;           /* the last of them at this time. */
    uint64_t failing_ns; /* When a piece failed first since servers accepted
                            some; 0: none has. */
    bool denied;         /* The last failure was a refusal. */
    bool unsynced;       /* Bytes since the last sync. */
    bool syncs; /* The bytes being appended are synced next; of `ended`: its
                   servers sync it. */
    int failed; /* Sticky. */
    struct mutex mutex; /* Guards the pieces' outcomes. */
    struct cond changed;
    struct piece *pieces; /* Oldest first. */
    struct piece **last;
    size_t piece_count;
};

/* --- piece.c ------------------------------------------------------------- */

/* Send @p, one of its writer's pieces, to the open chunk's servers. Parks if
 * there is a grant. */
void gfs__send_piece(struct piece *p);
/* Start the calls of @p, which is filled in otherwise. */
void gfs__start_deliveries(struct piece *p);
/* Wait for its outcome. Parks. */
void gfs__await_piece(struct gfs_writer *w, const struct piece *p);
/* Forget the oldest piece. PRE: it is not under way. */
void gfs__drop_oldest(struct gfs_writer *w);

/* --- gfs_write.c --------------------------------------------------------- */

/* Server @number failed: place chunks on others for a while. */
void gfs__exclude(struct gfs_writer *w, uint16_t number);
/* A piece failed: have the open chunk sealed, at *@length. Parks. */
MUST_CHECK int
gfs__seal_broken(struct gfs_writer *w, uint64_t *length, struct err *err);

/* --- ended.c ------------------------------------------------------------- */

/* The open chunk is full and acknowledged: it is to be synced while the writer
 * continues. PRE: there is no other such chunk. */
void gfs__begin_ended(struct gfs_writer *w);
/* Begin to sync w->ended, if there is one. */
void gfs__start_ended(struct gfs_writer *w);
/* Have all servers of w->ended answered? PRE: there is one. */
bool gfs__is_synced(const struct gfs_writer *w);
/* Wait until w->ended, if there is one, is synced on its servers and sealed; it
 * is NULL then. Parks. Errors: it broke. */
MUST_CHECK int gfs__settle_ended(struct gfs_writer *w, struct err *err);
/* Leave w->ended to the namenode. Parks. */
void gfs__drop_ended(struct gfs_writer *w);

/* --- granted.c ----------------------------------------------------------- */

/* A piece of @len bytes is next: request grants if the open chunk should be
 * written by them from now on. Parks. */
void gfs__consider_grant(struct gfs_writer *w, size_t len, bool sync);
/* Does the open chunk have grants? */
bool gfs__has_grant(const struct gfs_writer *w);
/* Write @p to the servers' files. Its outcome is in it. Parks. */
void gfs__write_granted(struct gfs_writer *w, struct piece *p);
/* The open chunk ends: its grants are reported no more. Parks. */
void gfs__end_reporting(struct gfs_writer *w);
/* Close the files of all grants; a server ends a grant itself when it next
 * appends, fences or seals. Parks. */
void gfs__close_granted(struct gfs_writer *w);

#endif /* GFS_LITE_CLIENT_FILE_WRITER_H */
