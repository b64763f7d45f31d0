/* A file's writer, and the pieces it has sent. Private to gfs-lite/client. */
#ifndef GFS_LITE_CLIENT_WRITER_H
#define GFS_LITE_CLIENT_WRITER_H

#include "gfs-lite/client/client.h"

/* A piece's way to one server, or by that to all. */
struct delivery {
    struct piece *piece;
    unsigned server; /* Index in the writer's. */
    struct buf reply;
};

/* Part of the open chunk on its way. */
struct piece {
    struct piece *next;
    struct gfs_writer *writer;
    struct buf data;
    uint32_t offset; /* In the chunk. */
    uint32_t crc;    /* Of the data. */
    bool sync;
    bool is_there; /* In the servers' files, by a grant. */
    struct delivery deliveries[GFS_REPLICAS_MAX];
    unsigned deliveries_left; /* Under way. */
    int rc;                   /* The first failure, */
    struct err err;           /* why, */
    int failed;               /* and whose: a server's number; -1: not known. */
};

struct granted;

struct gfs_writer {
    struct fs_writer base;
    struct gfs *gfs;
    char *path; /* For messages; owned. */
    enum fs_write_mode mode;
    uint64_t file;
    uint64_t epoch;
    struct buf buffer; /* Appended, in no piece yet. */
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
    uint64_t asked_grant;     /* The chunk for which it was asked for last. */
    bool no_grants;           /* One failed: no more of them. */
    struct gfs_writer *ended; /* Of the chunk before it, while that is synced;
                                 owned. NULL: there is none. */
    /* The chunk before it, which the next command seals; 0: it is sealed. */
    uint64_t unsealed;
    uint32_t unsealed_length;
    struct gfs_server_set excluded; /* Servers that failed it, */
    uint64_t excluded_ns;           /* the last of them then. */
    uint64_t failing_ns; /* When a piece failed first since servers took some;
                            0: none has. */
    bool denied;         /* The last to fail was refused. */
    bool unsynced;       /* Bytes since the last sync. */
    bool syncs;          /* What is being appended is synced next;
                            one that ended: its servers sync it. */
    int failed;          /* Sticky. */
    struct mutex mutex;  /* Of the pieces' outcomes. */
    struct cond changed;
    struct piece *pieces; /* Oldest first. */
    struct piece **last;
    size_t piece_count;
};

/* --- piece.c ------------------------------------------------------------- */

/* Send @p, one of its writer's pieces, to the open chunk's servers. Parks if
 * there is a grant. */
void gfs__send_piece(struct piece *p);
/* Have the calls made for @p, which is otherwise filled in. */
void gfs__start_deliveries(struct piece *p);
/* Wait for its outcome. Parks. */
void gfs__await_piece(struct gfs_writer *w, const struct piece *p);
/* Forget the oldest piece. PRE: it is not under way. */
void gfs__drop_oldest(struct gfs_writer *w);

/* --- write.c ------------------------------------------------------------- */

/* A server failed: its next chunks are elsewhere, for a while. */
void gfs__exclude(struct gfs_writer *w, uint16_t number);
/* A piece failed: have the open chunk sealed, at *@length. Parks. */
MUST_CHECK int
gfs__seal_broken(struct gfs_writer *w, uint64_t *length, struct err *err);

/* --- ended.c ------------------------------------------------------------- */

/* The open chunk, which is full and acknowledged, is to be synced while the
 * writer goes on. PRE: there is no other such one. */
void gfs__begin_ended(struct gfs_writer *w);
/* Have w->ended synced from now on, if there is one. */
void gfs__start_ended(struct gfs_writer *w);
/* Have the servers of w->ended, which is there, all answered? */
bool gfs__is_synced(const struct gfs_writer *w);
/* Wait until w->ended, if there is one, is on its servers' disks and sealed; it
 * is NULL then. Parks. */
MUST_CHECK int gfs__settle_ended(struct gfs_writer *w, struct err *err);
/* Leave it to the namenode. Parks. */
void gfs__drop_ended(struct gfs_writer *w);

/* --- granted.c ----------------------------------------------------------- */

/* A piece of @len bytes is next: is the open chunk to be written by a grant
 * from now on, and if so, it is asked for. Parks. */
void gfs__consider_grant(struct gfs_writer *w, size_t len, bool sync);
/* Is there one for the open chunk? */
bool gfs__has_grant(const struct gfs_writer *w);
/* Put @p into the servers' files. Its outcome is in it, as far as this goes.
 * Parks. */
void gfs__write_granted(struct gfs_writer *w, struct piece *p);
/* The open chunk ends: nothing more is said of it by its grants. Parks. */
void gfs__end_reporting(struct gfs_writer *w);
/* Close the files, of whatever chunk; a server ends the grant itself when it
 * next takes bytes, fences or seals. Parks. */
void gfs__close_granted(struct gfs_writer *w);

#endif /* GFS_LITE_CLIENT_WRITER_H */
