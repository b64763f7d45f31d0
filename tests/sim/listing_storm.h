/* Operations of clients of the lock service on the names of one directory:
 * files made, deleted and read, and the directory listed, mostly from caches.
 * Part of lock_storm.h.
 */
#ifndef TESTS_SIM_LISTING_STORM_H
#define TESTS_SIM_LISTING_STORM_H

#include <stdint.h>

#include "base/core/rand.h"

struct chubby;
struct chubby_handle;
struct history_names;
struct listing_storm;

struct listing_storm *listing_storm_new(void); /* Owned. */
void listing_storm_free(struct listing_storm *l);

/* One session's view of the directory. */
struct listing_session {
    struct listing_storm *storm;
    struct chubby *chubby;
    uint64_t number;              /* Of the session. */
    struct rand_gen *rand;        /* Borrowed. */
    struct chubby_handle *listed; /* The directory; NULL: not open. */
};

/* One call, with the deadline that the fiber has. Parks. */
void listing_session_step(struct listing_session *s);
/* List, and look at every name: all must be answered. Parks. */
void listing_session_finish(struct listing_session *s);
void listing_session_close(struct listing_session *s);

/* Fails the storm when the answers have no order. */
void listing_storm_check(const struct listing_storm *l);

#endif /* TESTS_SIM_LISTING_STORM_H */
