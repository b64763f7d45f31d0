/* Which server of a replicated service to ask: the addresses that a client
 * knows, and the one that leads as far as it knows.
 *
 * A follower refuses a call and names the leader (replica_leader_hint()). A
 * client follows such a hint also to an address it was not configured with:
 * members are replaced while clients live. Without a hint it tries the
 * addresses in turn.
 *
 * Does no I/O and does not lock; leader.h makes calls with it.
 *
 * Invariants, kept by leader_choice.c
 *     INV-1. current < count, once there is an address.
 *     INV-2. Addresses are distinct, not empty, and end within
 *            LEADER_ADDRESS_BYTES.
 *     INV-3. The first `configured` addresses stay as they are; of those that
 *            hints added, the oldest is replaced when there is no room, unless
 *            it is the current one.
 */
#ifndef BASE_SESSION_LEADER_CHOICE_H
#define BASE_SESSION_LEADER_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"

#define LEADER_ADDRESS_BYTES  256 /* With the NUL. */
#define LEADER_CONFIGURED_MAX 16
/* Members that joined since the client was configured; a cell has seven. */
#define LEADER_LEARNED_MAX 16

struct leader_choice {
    char *addresses[LEADER_CONFIGURED_MAX + LEADER_LEARNED_MAX]; /* Owned. */
    size_t configured;
    size_t count;
    size_t current;  /* The server to ask first. */
    size_t replaced; /* Learned addresses replaced so far. */
};

/* One call, over its tries. All zeros at its beginning. */
struct leader_search {
    unsigned tries;
    uint32_t other_services; /* A bit for each configured server that does not
                                know the method. */
};

/* Frees the addresses. All zeros is an empty choice. */
void leader_choice_close(struct leader_choice *c);

/* Add a configured address. Nothing if it is known, is no address by its
 * length, or there are LEADER_CONFIGURED_MAX. PRE: no hint was followed yet. */
void leader_choice_add(struct leader_choice *c, struct slice address);

/* The address to ask. Borrowed until @c changes. PRE: there is one. */
const char *leader_choice_current(const struct leader_choice *c);

/* @asked did not answer as a leader; @hint is the address it named, or "".
 * Nothing if another call has moved on from @asked already. */
void leader_choice_failed(struct leader_choice *c,
                          const char *asked,
                          const char *hint);

/* Count a try of @asked that ended with @code, which is not 0. False: @code is
 * ERR_UNSUPPORTED, and so every configured server has said in this call;
 * nodes of a cluster do not all have the same roles. */
bool leader_search_continue(struct leader_search *s,
                            const struct leader_choice *c,
                            const char *asked,
                            int code);

/* How long to wait before the next try: 0 in the first round, so that hints are
 * followed at once; then longer from round to round. @random spreads callers
 * that failed together. */
uint64_t leader_search_pause_us(const struct leader_search *s,
                                const struct leader_choice *c,
                                uint64_t random);

#endif /* BASE_SESSION_LEADER_CHOICE_H */
