/* The namenode's replicated state: one step for each command of the log.
 *
 *     catalog_init(&m)
 *     catalog_apply(&m, index, command, &reply)    in the order of the log
 *     catalog_save(&m, &image), catalog_load(&m, image, &err)
 *
 * Deterministic: what members of a cell apply in the same order gives the same
 * state and the same answers. One thread.
 */
#ifndef GFS_LITE_NAMENODE_CATALOG_H
#define GFS_LITE_NAMENODE_CATALOG_H

#include "base/core/buf.h"
#include "gfs-lite/namenode/namespace.h"

/* Most answers kept for a session: as many commands may be under way. */
#define SESSION_ANSWERS_MAX 256
/* Most sessions, and most chunk servers ever registered. */
#define SESSIONS_MAX 100000
#define SERVERS_MAX  UINT16_MAX

/* The answer to a command, kept until the client says that it has it. */
struct catalog_answer {
    uint64_t sequence;
    char *bytes; /* Owned. */
    uint32_t len;
};

struct catalog_session {
    uint64_t id;       /* First: see id_map.h. */
    uint64_t answered; /* The client has all answers up to here. */
    char *name;        /* Owned. */
    char *principal;   /* Who opened it; owned. */
    struct catalog_answer *answers;
    uint32_t answer_count;
};

/* A chunk server that was ever registered; its number is its place. */
struct catalog_server {
    uint64_t own_id; /* Chosen by itself when its disk was first used. */
    enum gfs_server_state state;
    char *address; /* Owned. */
    char *machine; /* Owned. */
    char *rack;    /* Owned. */
};

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

/* What an image begins with. */
#define CATALOG_IMAGE_MAGIC "QGFSIMG1"

/* Append the state to @out: docs/formats.md. */
void catalog_save(const struct catalog *m, struct buf *out);
/* Replace the state; an empty image is that of a new file system. On error the
 * state is empty. Errors: ERR_CORRUPT, ERR_UNSUPPORTED. */
MUST_CHECK int
catalog_load(struct catalog *m, struct slice image, struct err *err);

struct catalog_session *catalog_session(const struct catalog *m, uint64_t id);
/* What was answered to command @sequence of @s, if that is still kept. */
const struct catalog_answer *catalog_answer(const struct catalog_session *s,
                                            uint64_t sequence);
/* The number of the server with @own_id, or -1. */
int catalog_server_number(const struct catalog *m, uint64_t own_id);

/* --- for the files of this module -------------------------------------- */

MUST_CHECK int catalog_open_session(struct catalog *m,
                                    uint64_t index,
                                    const struct gfs_command *c,
                                    struct gfs_result *r,
                                    struct err *err);
/* Its files stay open, of nobody, until the leader has sealed them. */
void catalog_end_session(struct catalog *m, uint64_t id);
void catalog_session_free(struct catalog_session *s);
/* The client has the answers of all up to @answered. */
void catalog_drop_answers(struct catalog_session *s, uint64_t answered);
/* Keep @a instead, if an answer is still kept. */
void catalog_change_answer(struct catalog_session *s,
                           uint64_t sequence,
                           struct slice a);

/* --- for the image ----------------------------------------------------- */

struct catalog_session *catalog_add_session(struct catalog *m,
                                            uint64_t id,
                                            struct slice name,
                                            struct slice principal);
void catalog_keep_answer(struct catalog_session *s,
                         uint64_t sequence,
                         struct slice a);
struct catalog_server *catalog_add_server(struct catalog *m, uint64_t own_id);

#endif /* GFS_LITE_NAMENODE_CATALOG_H */
