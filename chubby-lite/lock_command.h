/* Commands of the cell's state machine and their answers: the bytes in the
 * replicated log and on the wire. docs/protocols.md has the same grammar.
 *
 *     command = [operation, session, sequence, acknowledged, now_us,
 *                handle, path, flags, events, lock_delay_ms, has_generation,
 *                generation, contents, principal, acl ×3 (nil: none)]
 *     answer  = [code, text, handle, created, retry_us,
 *                instance, content, lock, acl, bytes, children, checksum,
 *                is_directory, is_ephemeral]
 *
 * Pure. Threads: any.
 */
#ifndef CHUBBY_LITE_LOCK_COMMAND_H
#define CHUBBY_LITE_LOCK_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"
#include "chubby-lite/chubby.h"
#include "chubby-lite/node.h"

/* Values are part of the log: never renumber. */
enum chubby_operation {
    CHUBBY_OP_SESSION_OPEN = 1,   /* session, principal, lease (lock_delay_ms),
                                     address (contents). */
    CHUBBY_OP_SESSION_CLOSE = 2,  /* By its client: locks are free at once. */
    CHUBBY_OP_SESSION_EXPIRE = 3, /* By the leader: lock-delays begin. */
    CHUBBY_OP_OPEN = 4,           /* path, flags, events, lock_delay, contents,
                                     acl. */
    CHUBBY_OP_CLOSE = 5,          /* handle */
    CHUBBY_OP_WRITE = 6,          /* handle, contents, generation. */
    CHUBBY_OP_SET_ACL = 7,        /* handle, acl. */
    CHUBBY_OP_DELETE = 8,         /* handle */
    CHUBBY_OP_ACQUIRE = 9,        /* handle, flags: the mode. */
    CHUBBY_OP_RELEASE = 10,       /* handle */
};

struct chubby_command {
    enum chubby_operation operation;
    uint64_t session;
    uint64_t sequence; /* Of the session, from 1; 0: its answer is not kept. */
    uint64_t acknowledged; /* The client has all answers below it. */
    uint64_t now_us;       /* The cell's time, as the leader measures it. */
    uint64_t handle;
    struct slice path; /* Slices are borrowed. */
    unsigned flags;
    unsigned events;
    uint32_t lock_delay_ms;
    bool has_generation;
    uint64_t generation;
    struct slice contents;
    struct slice principal;
    bool has_acl[ACL_KINDS];
    struct slice acl[ACL_KINDS];
};

struct chubby_answer {
    int code;          /* 0 or ERR_*. */
    struct slice text; /* Of an error. Borrowed. */
    uint64_t handle;
    bool created;
    uint64_t retry_us; /* Cell's time when a lock's delay ends; 0: no delay. */
    struct chubby_stat stat;
};

/* Append the bytes of @c. */
void chubby_command_put(const struct chubby_command *c, struct buf *out);
/* Read a command, which borrows from @bytes. Errors: ERR_CORRUPT. */
MUST_CHECK int chubby_command_get(struct slice bytes,
                                  struct chubby_command *c,
                                  struct err *err);

/* Append the bytes of @a. */
void chubby_answer_put(const struct chubby_answer *a, struct buf *out);
/* Read an answer, which borrows from @bytes. Errors: ERR_CORRUPT. */
MUST_CHECK int
chubby_answer_get(struct slice bytes, struct chubby_answer *a, struct err *err);

#endif /* CHUBBY_LITE_LOCK_COMMAND_H */
