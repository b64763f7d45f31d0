/* Sessions and their handles. Part of the machine (cell_machine.h): replicated,
 * so that a new leader knows them (in the paper, section 2.9, it knows the
 * sessions, and makes a handle again when its client uses it).
 *
 * A session keeps the answers that its client has not acknowledged
 * (base/session/answers.h), so that a command is executed once.
 *
 * One thread.
 *
 * Invariants, kept by lock_session.c
 *     INV-1. A handle is in the table and in its session's list, and while its
 *            node exists in the node's; handle_count is the list's length.
 *     INV-2. A handle without a node holds no lock.
 *     INV-3. Ids of handles are never used again: the cell counts them.
 */
#ifndef CHUBBY_LITE_LOCK_SESSION_H
#define CHUBBY_LITE_LOCK_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bsd/sys/queue.h>

#include "base/core/hash_map.h"
#include "base/core/slice.h"
#include "base/session/answers.h"
#include "chubby-lite/chubby.h"

struct node;

/* An address of a session's process. */
#define SESSION_ADDRESS_BYTES_MAX 255
/* Handles of one session. */
#define SESSION_HANDLES_MAX 65536

struct session {
    uint64_t id;     /* Drawn by the client: opening it twice is harmless. */
    char *principal; /* Owned. Proven by the client's connection. */
    char *address;   /* Owned. Where its process listens; "": not known. */
    uint32_t lease_ms;
    struct session_answers answers;
    LIST_HEAD(, handle) handles;
    size_t handle_count;
};

struct handle {
    uint64_t id; /* INV-3. */
    struct session *session;
    struct node *node; /* NULL: it was removed. */
    LIST_ENTRY(handle) of_session;
    LIST_ENTRY(handle) of_node; /* While there is a node. */
    unsigned flags;             /* CHUBBY_READ, _WRITE, _CHANGE_ACL granted;
                                   _UNCACHED. */
    unsigned events;            /* CHUBBY_EVENT_* asked for. */
    uint32_t lock_delay_ms;
    enum chubby_lock holding;
};

/* All sessions and handles, by id. */
struct session_table {
    struct hash_map sessions;
    struct hash_map handles;
};

/* An empty table. */
void session_table_init(struct session_table *t);
/* Free all sessions and handles; nodes are not touched. */
void session_table_close(struct session_table *t);

/* Session or handle @id, borrowed; NULL: there is none. */
struct session *session_find(const struct session_table *t, uint64_t id);
struct handle *handle_find(const struct session_table *t, uint64_t id);
/* A session without handles. PRE: there is none with @id. Borrowed. */
struct session *session_add(struct session_table *t,
                            uint64_t id,
                            struct slice principal,
                            struct slice address,
                            uint32_t lease_ms);
/* Free @s. PRE: it has no handle. */
void session_remove(struct session_table *t, struct session *s);
/* A handle of @s on @n. PRE: there is none with @id. Borrowed. */
struct handle *handle_add(struct session_table *t,
                          uint64_t id,
                          struct session *s,
                          struct node *n);
/* Free @h. PRE: it holds no lock. */
void handle_remove(struct session_table *t, struct handle *h);
/* The node of @h is being removed: the handle has none from now on. */
void handle_orphan(struct handle *h);

/* All sessions in the order of their ids, @count of them. Owned: mem_free(). */
struct session **session_sorted(const struct session_table *t, size_t *count);
/* The handles of @s in the order of their ids, s->handle_count. Owned:
 * mem_free(). */
struct handle **handle_sorted(const struct session *s);

#endif /* CHUBBY_LITE_LOCK_SESSION_H */
