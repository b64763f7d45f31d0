/* Sessions and their handles. Part of the machine (cell.h).
 *
 * A session remembers the answers to the commands its client has not yet said
 * to have received, so that a command that is sent twice is executed once.
 *
 * One thread.
 */
#ifndef CHUBBY_LITE_SESSION_H
#define CHUBBY_LITE_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bsd/sys/queue.h>

#include "base/core/buf.h"
#include "base/core/hash_map.h"
#include "base/core/slice.h"
#include "chubby-lite/chubby.h"

struct node;

/* Commands of a session whose answers its client has not acknowledged. */
#define SESSION_ANSWERS_MAX 256
/* An address of a session's process. */
#define SESSION_ADDRESS_BYTES_MAX 255
/* Handles of one session. */
#define SESSION_HANDLES_MAX 65536

struct answer {
    LIST_ENTRY(answer) link;
    uint64_t sequence;
    struct buf bytes;
};

struct session {
    uint64_t id;     /* Drawn by the client: opening one twice is harmless. */
    char *principal; /* Owned. Who the client has proved to be. */
    char *address;   /* Owned. Where its process listens; "": not told. */
    uint32_t lease_ms;
    uint64_t acknowledged; /* Answers below it are forgotten. */
    LIST_HEAD(, answer) answers;
    size_t answer_count;
    LIST_HEAD(, handle) handles;
    size_t handle_count;
};

struct handle {
    uint64_t id; /* Unique in the cell, for ever. */
    struct session *session;
    struct node *node; /* NULL: it is gone. */
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

void session_table_init(struct session_table *t);
/* Frees all that is left; nodes are not touched. */
void session_table_close(struct session_table *t);

struct session *session_find(const struct session_table *t, uint64_t id);
struct handle *handle_find(const struct session_table *t, uint64_t id);
/* PRE: there is none of that id. Borrowed. */
struct session *session_add(struct session_table *t,
                            uint64_t id,
                            struct slice principal,
                            struct slice address,
                            uint32_t lease_ms);
/* Free @s. PRE: it has no handle. */
void session_remove(struct session_table *t, struct session *s);
/* A handle of @s on @n. PRE: there is none of that id. Borrowed. */
struct handle *handle_add(struct session_table *t,
                          uint64_t id,
                          struct session *s,
                          struct node *n);
/* Free @h. PRE: it holds no lock. */
void handle_remove(struct session_table *t, struct handle *h);
/* Its node goes away. */
void handle_orphan(struct handle *h);

/* All sessions in the order of their ids, @count of them. Owned: mem_free(). */
struct session **session_sorted(const struct session_table *t, size_t *count);
/* The handles of @s in the order of their ids, s->handle_count. Owned:
 * mem_free(). */
struct handle **handle_sorted(const struct session *s);

/* --- answers -----------------------------------------------------------------
 */

/* The answer to @sequence, or NULL. */
const struct answer *session_answer(const struct session *s, uint64_t sequence);
/* Keep a copy of @bytes. PRE: fewer than SESSION_ANSWERS_MAX are kept. */
void session_keep(struct session *s, uint64_t sequence, struct slice bytes);
/* The client has every answer below @sequence. */
void session_forget(struct session *s, uint64_t sequence);

#endif /* CHUBBY_LITE_SESSION_H */
