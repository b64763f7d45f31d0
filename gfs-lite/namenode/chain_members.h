/* The servers that may hold an unsealed chunk, called all at once: the calls
 * that a recovery makes (recovery.c decides). Private to gfs-lite/namenode.
 *
 *     INV-1. A server is in the list at most once, so no replica is counted
 *         twice.
 *
 * Threads: the namenode's loop. Calls park.
 */
#ifndef GFS_LITE_NAMENODE_CHAIN_MEMBERS_H
#define GFS_LITE_NAMENODE_CHAIN_MEMBERS_H

#include "base/core/buf.h"
#include "gfs-lite/namenode/namenode_state.h"

struct chain_member {
    struct namenode *nn;
    uint16_t server;
    uint32_t method;
    struct chunk_call call;
    struct fiber *fiber; /* Of the call under way. */
    struct buf reply;
    struct buf data;
    uint64_t timeout_us; /* Of each call. */
    uint64_t length;     /* Of its replica, as of the last answer. */
    bool is_whole;       /* All bytes that it ever accepted are there. */
    int rc;              /* Of the last call. */
    struct err err;
};

struct chain_members {
    struct chain_member items[2 * GFS_REPLICAS_MAX];
    size_t count;
};

struct chain_members *
chain_members_new(void); /* An empty list. Owned: chain_members_free(). */
/* Free the list. PRE: no call is under way. */
void chain_members_free(struct chain_members *all);

/* Fill the list with the servers of @c's chain (@o: NULL if its file is not
 * open) and those that reported it. A server that failed the writer according
 * to @writer is called too, with a short timeout: it may be well, and every
 * copy counts. */
void chain_members_find(struct chain_members *all,
                        struct namenode *nn,
                        const struct open_file *o,
                        const struct chunk *c,
                        const struct writer_view *writer);

/* Call all servers for which @wanted holds (NULL: all), in parallel, and wait
 * for their answers. Each item's rc is its own outcome. Parks. */
void chain_members_call(struct chain_members *all,
                        uint32_t method,
                        const struct chunk_call *call,
                        bool (*wanted)(const struct chain_member *m,
                                       const struct chunk_call *call));

/* If exactly one of several servers has answered well, make it read all its
 * bytes of the chunk, in version @version, and verify them. It fails with
 * ERR_CORRUPT if a byte is damaged, so that the recovery waits for the other
 * copies. Parks. */
void chain_members_verify_alone(struct chain_members *all,
                                uint64_t handle,
                                uint32_t version);

/* Bring members that have fewer than @length bytes up to it, with bytes of one
 * that has them, in version call->new_version. Members that cannot be brought
 * there stay shorter, or fail. Parks. */
void chain_members_level(struct chain_members *all,
                         const struct chunk_call *call,
                         uint64_t length);

#endif /* GFS_LITE_NAMENODE_CHAIN_MEMBERS_H */
