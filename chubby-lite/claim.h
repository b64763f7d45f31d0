/* Claims of a command until it is applied: that no other command makes or
 * removes a name, or opens handles for a session. A command's effects on names
 * are worked out before it is proposed and must still be right when it is
 * applied.
 *
 * Commands claim in the order in which they arrive. An exclusive claim
 * conflicts with every other one of the same key, a shared claim with exclusive
 * ones. Keys are hashes: a collision makes a command wait without need.
 *
 * One loop.
 *
 * Invariants
 *     INV-1. No two claims that are held conflict (claim_take()).
 *     INV-2. A claim that is held does not change (claim_clear(), claim_path(),
 *            claim_session()).
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

/* The claims of one command. */
struct claim {
    TAILQ_ENTRY(claim) link;
    struct claim_item *items; /* Owned. */
    size_t count;
    size_t cap;
    bool held;
    struct wait_queue waiters; /* Woken when it may be its turn. */
};

TAILQ_HEAD(claim_list, claim); /* In the order of arrival. */

/* @c begins to wait, after all others. */
void claim_enter(struct claim_list *l, struct claim *c);
/* It is over, held or not; others may have their turn. */
void claim_leave(struct claim_list *l, struct claim *c);

/* Forget what @c claims. PRE: it is not held. */
void claim_clear(struct claim *c);
/* Claim a path or a session. PRE: @c is not held. */
void claim_path(struct claim *c, struct slice path, bool exclusive);
void claim_session(struct claim *c, uint64_t session, bool exclusive);

/* Hold @c unless one that is held, or came before, conflicts with it. */
bool claim_take(struct claim_list *l, struct claim *c);

#endif /* CHUBBY_LITE_CLAIM_H */
