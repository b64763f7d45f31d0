/* The servers that may hold an unsealed chunk, asked and told all at once: the
 * hands of a recovery. Private to gfs-lite/namenode.
 *
 * Threads: the namenode's loop. What calls parks.
 */
#ifndef GFS_LITE_NAMENODE_CHAIN_MEMBERS_H
#define GFS_LITE_NAMENODE_CHAIN_MEMBERS_H

#include "base/core/buf.h"
#include "gfs-lite/namenode/state.h"

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
    bool is_whole;       /* Nothing it took can be missing. */
    int rc;              /* Of the last call. */
    struct err err;
};

struct chain_members {
    struct chain_member items[2 * GFS_REPLICAS_MAX];
    size_t count;
};

struct chain_members *chain_members_new(void); /* Owned. */
void chain_members_free(struct chain_members *all);

/* The servers of @c's chain (@o: NULL if its file is not open) and those that
 * reported it. One that has failed the writer, as it says, is asked too, for a
 * moment: it may be well, and every copy counts. */
void chain_members_find(struct chain_members *all,
                        struct namenode *nn,
                        const struct open_file *o,
                        const struct chunk *c,
                        const struct writer_view *writer);

/* Call all for whom @wanted (NULL: all) holds, at once. Parks. */
void chain_members_call(struct chain_members *all,
                        uint32_t method,
                        const struct chunk_call *call,
                        bool (*wanted)(const struct chain_member *m,
                                       const struct chunk_call *call));

/* When one alone of several has answered well: have it read all it has of the
 * chunk, in version @version. If a byte is not what it took, it has failed with
 * ERR_CORRUPT: the others are still to be had. Parks. */
void chain_members_verify_alone(struct chain_members *all,
                                uint64_t handle,
                                uint32_t version);

/* Bring members that have fewer than @length bytes up to it, with the bytes of
 * one that has them, in version call->new_version. Those that cannot be brought
 * there stay shorter, or fail. Parks. */
void chain_members_level(struct chain_members *all,
                         const struct chunk_call *call,
                         uint64_t length);

#endif /* GFS_LITE_NAMENODE_CHAIN_MEMBERS_H */
