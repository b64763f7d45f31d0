/* What a command counts on until it is applied: that nobody else makes or
 * removes a name, or opens handles for a session. A command's effects on names
 * are worked out before it is proposed, and hold only while that is so.
 *
 * Commands claim in the order in which they come. What is claimed exclusively
 * conflicts with all others of the same key, what is shared with exclusive
 * ones. Keys are hashes: two that collide wait for each other needlessly.
 *
 * One loop.
 *
 * Invariants
 *     INV-1. Of two claims that are held none conflict.
 */
#ifndef CHUBBY_LITE_CLAIM_H
#define CHUBBY_LITE_CLAIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bsd/sys/queue.h>

#include "base/core/slice.h"
#include "chubby-lite/wait_queue.h"

struct claim_item {
    uint64_t key;
    bool exclusive;
};

/* Those of one command. */
struct claim {
    TAILQ_ENTRY(claim) link;
    struct claim_item *items; /* Owned. */
    size_t count;
    size_t cap;
    bool held;
    struct wait_queue waiters; /* Woken when it may be its turn. */
};

TAILQ_HEAD(claim_list, claim); /* In the order of coming. */

/* @c begins to wait, behind all others. */
void claim_enter(struct claim_list *l, struct claim *c);
/* It is over, held or not; others may have their turn. */
void claim_leave(struct claim_list *l, struct claim *c);

/* Forget what @c claims. PRE: it is not held. */
void claim_clear(struct claim *c);
void claim_path(struct claim *c, struct slice path, bool exclusive);
void claim_session(struct claim *c, uint64_t session, bool exclusive);

/* Hold @c unless one that is held, or came before, conflicts with it. */
bool claim_take(struct claim_list *l, struct claim *c);

#endif /* CHUBBY_LITE_CLAIM_H */
