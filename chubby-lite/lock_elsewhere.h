/* Nodes of a cluster whose lock service others run: they have no lock server,
 * and tell clients that ask them for locks where these are. One loop. */
#ifndef CHUBBY_LITE_LOCK_ELSEWHERE_H
#define CHUBBY_LITE_LOCK_ELSEWHERE_H

#include "base/core/err.h"

struct lock_elsewhere;
struct rpc_server;

/* Add the lock service's methods to @rpc, which must not listen yet: each call
 * ends with ERR_NOTFOUND and ERR_DETAIL_LOCK_SERVICE, whose subject is the
 * public part of @text (lock_service.h). *@out is owned. Errors: ERR_INVALID.
 */
MUST_CHECK int lock_elsewhere_open(struct rpc_server *rpc,
                                   const char *text,
                                   struct lock_elsewhere **out,
                                   struct err *err);
/* PRE: the rpc server does not listen any more. NULL is allowed. */
void lock_elsewhere_close(struct lock_elsewhere *e);

#endif /* CHUBBY_LITE_LOCK_ELSEWHERE_H */
