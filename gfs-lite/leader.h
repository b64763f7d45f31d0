/* Calls to whichever namenode leads.
 *
 * Tries the one that answered last, follows hints of followers, goes round
 * among the others, and waits a little between rounds, until the deadline. A
 * call may so be executed more than once: see command.h for how that is told.
 *
 * Threads: as peers.h.
 */
#ifndef GFS_LITE_LEADER_H
#define GFS_LITE_LEADER_H

#include "gfs-lite/peers.h"

struct leader;
struct world;

/* @addresses: "host:port,host:port,…". @peers is borrowed. Owned. Errors:
 * ERR_INVALID. */
MUST_CHECK int leader_new(struct world *w,
                          struct peers *peers,
                          const char *addresses,
                          struct leader **out,
                          struct err *err);
void leader_free(struct leader *l); /* NULL is allowed. */
/* Call on behalf of @principal: the server must let this process do so. "": as
 * itself. Copied. PRE: no call was made. */
void leader_act_as(struct leader *l, const char *principal);
/* From now on each call tries once, those under way no more. Any thread. */
void leader_hurry(struct leader *l);

/* A server that does not know @method, having another role, is passed over.
 * Parks. Errors: ERR_UNAVAILABLE when none answered within @timeout_us (0: as
 * long as the fiber's deadline lets it), or at the first try in a hurry; those
 * of the handler. */
MUST_CHECK int leader_call(struct leader *l,
                           uint32_t method,
                           uint64_t timeout_us,
                           struct slice body,
                           struct slice attachment,
                           struct buf *reply_body,
                           struct buf *reply_attachment,
                           struct err *err);

#endif /* GFS_LITE_LEADER_H */
