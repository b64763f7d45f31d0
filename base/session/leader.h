/* Calls to the leader of a replicated service, wherever it is: followers'
 * redirects, other servers, pauses between rounds (leader_choice.h).
 *
 * A call may be executed more than once: one whose answer was lost is tried
 * again. Commands that must not be are numbered (answers.h).
 *
 * Threads: made and freed on one loop, calls from any thread.
 */
#ifndef BASE_SESSION_LEADER_H
#define BASE_SESSION_LEADER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"
#include "base/session/leader_choice.h"

struct buf;
struct channel_set;
struct leader;
struct world;

struct leader_options {
    struct world *world;          /* Borrowed. */
    struct channel_set *channels; /* Borrowed. */
    const char *service; /* For errors: "namenode". Borrowed, lives on. */
    /* May another try do better than one that ended with @code? ERR_UNSUPPORTED
     * is not asked about: a server of another role is skipped. */
    bool (*is_transient)(int code);
};

struct leader_request {
    uint32_t method;
    uint64_t timeout_us; /* Of one try. */
    struct slice body;
    struct slice attachment;
    struct buf *reply_body;       /* Replaced by each try; NULL: not wanted. */
    struct buf *reply_attachment; /* Likewise. */
};

/* @o is copied. Owned: leader_free(). */
struct leader *leader_new(const struct leader_options *o);
/* PRE: no call is under way. NULL is allowed. */
void leader_free(struct leader *l);

/* Know one more server. PRE: no call was made. */
void leader_add(struct leader *l, struct slice address);
/* Know the servers of "host:port,host:port,…". PRE: no call was made. Errors:
 * ERR_INVALID: it has none. */
MUST_CHECK int
leader_add_list(struct leader *l, const char *addresses, struct err *err);

/* Call on behalf of @principal, if the server lets this process do so. "": as
 * itself. Copied. PRE: no call was made. */
void leader_act_as(struct leader *l, const char *principal);
/* From now on each call tries once, and those under way try no more. Any
 * thread. */
void leader_hurry(struct leader *l);

/* One try. On failure another server is chosen for the next. *@again: the next
 * try may do better; wait leader_pause_us() before it. @failure gets the error,
 * also when *@again, and keeps an earlier one that says more. Parks. Errors:
 * those of the channel and of the handler. */
MUST_CHECK int leader_try(struct leader *l,
                          struct leader_search *s,
                          const struct leader_request *q,
                          bool *again,
                          struct err *failure);
/* See leader_search_pause_us(). PRE: a try failed. */
uint64_t leader_pause_us(struct leader *l, const struct leader_search *s);

/* Try until a server answers as the leader. Parks. Errors: ERR_UNAVAILABLE:
 * none did within @timeout_us (0: as long as the fiber's deadline permits), or
 * at the first try in a hurry; those of the handler; the fiber's own. */
MUST_CHECK int leader_call(struct leader *l,
                           uint32_t method,
                           uint64_t timeout_us,
                           struct slice body,
                           struct slice attachment,
                           struct buf *reply_body,
                           struct buf *reply_attachment,
                           struct err *err);

#endif /* BASE_SESSION_LEADER_H */
