/* The namenode's replicated state: one step for each command of the log (GFS
 * 2.6, the metadata and its operation log).
 *
 *     catalog_init(&m)
 *     catalog_apply(&m, index, command, &reply)    in the order of the log
 *     catalog_save(&m, &image), catalog_load(&m, image, &err)
 *
 * Deterministic: members of a cell that apply the same commands in the same
 * order have the same state and give the same answers. One thread.
 */
#ifndef GFS_LITE_NAMENODE_CATALOG_H
#define GFS_LITE_NAMENODE_CATALOG_H

#include "base/core/buf.h"
#include "base/session/answers.h"
#include "gfs-lite/namenode/namespace.h"

/* Most sessions, and most chunk servers ever registered. */
#define SESSIONS_MAX 100000
#define SERVERS_MAX  UINT16_MAX

/* A client's session, from the command that opened it to the one that ends it.
 */
struct catalog_session {
    uint64_t id;     /* First: see id_map.h. The index of its first command. */
    char *name;      /* Owned. */
    char *principal; /* Of its opener; owned. */
    struct session_answers answers;
};

/* A chunk server that was ever registered. Its number is its index in the array
 * and never changes. */
struct catalog_server {
    uint64_t own_id; /* Chosen by itself when its disk was first used. */
    enum gfs_server_state state;
    char *address; /* Owned. */
    char *machine; /* Owned. */
    char *rack;    /* Owned. */
};

/* Invariants, beside those of namespace.h and base/session/answers.h:
 *     INV-1. A chunk server's number is below server_count, and no two have
 *            the same own_id (catalog_add_server()).
 *     INV-2. copy_session and copy_sequence mean something only while a tree
 *            is copied. */
struct catalog {
    struct names names;
    struct id_map sessions; /* struct catalog_session, owned. */
    struct catalog_server *servers;
    size_t server_count;
    uint64_t applied; /* Index of the last command. */
    /* While a tree is copied: the command that wants it. */
    uint64_t copy_session;
    uint64_t copy_sequence;
    struct buf text; /* Of the last result. */
};

/* An empty file system; catalog_close() frees everything. */
void catalog_init(struct catalog *m);
void catalog_close(struct catalog *m);
/* Let @on_free know of chunks as chunk_map.h says, until the next load. */
void catalog_watch(struct catalog *m,
                   void (*on_free)(void *ctx, const struct chunk *c),
                   void *ctx);

/* Execute @command, entry @index of the log, and append its result. A malformed
 * command is answered with an error. */
void catalog_apply(struct catalog *m,
                   uint64_t index,
                   struct slice command,
                   struct buf *reply);

/* The first bytes of an image. */
#define CATALOG_IMAGE_MAGIC "QGFSIMG1"

/* Append the state to @out: docs/formats.md. */
void catalog_save(const struct catalog *m, struct buf *out);
/* Replace the state; an empty image is that of a new file system. On error the
 * state is empty. Errors: ERR_CORRUPT, ERR_UNSUPPORTED. */
MUST_CHECK int
catalog_load(struct catalog *m, struct slice image, struct err *err);

/* Borrowed until it ends; NULL: it has ended, or never was. */
struct catalog_session *catalog_session(const struct catalog *m, uint64_t id);
/* The number of the server with @own_id, or -1. */
int catalog_server_number(const struct catalog *m, uint64_t own_id);

/* --- for the files of this module ---------------------------------------- */

/* Execute GFS_OP_SESSION_OPEN. Errors: ERR_EXHAUSTED. */
MUST_CHECK int catalog_open_session(struct catalog *m,
                                    uint64_t index,
                                    const struct gfs_command *c,
                                    struct gfs_result *r,
                                    struct err *err);
/* Release its locks and forget it; nothing if there is none. Its open files
 * stay open, of no session, until the leader has sealed them. */
void catalog_end_session(struct catalog *m, uint64_t id);
/* Free @s alone. PRE: it is in no catalog. */
void catalog_session_free(struct catalog_session *s);

/* --- for the image ------------------------------------------------------- */

/* A session without answers. Borrowed. PRE: there is none with @id. */
struct catalog_session *catalog_add_session(struct catalog *m,
                                            uint64_t id,
                                            struct slice name,
                                            struct slice principal);
struct catalog_server *catalog_add_server(struct catalog *m, uint64_t own_id);

#endif /* GFS_LITE_NAMENODE_CATALOG_H */
