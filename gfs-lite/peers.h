/* Channels to other processes of the cluster, by address: made on first use and
 * kept until the set is closed.
 *
 * Private to gfs-lite: its clients, namenodes and chunk servers.
 *
 * Threads: made and closed on one loop's fiber; calls from any thread.
 */
#ifndef GFS_LITE_PEERS_H
#define GFS_LITE_PEERS_H

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"

struct buf;
struct leader;
struct peers;
struct world;
struct rpc_security;

/* An empty set. @security (NULL: none) is borrowed. Owned. On a fiber. */
struct peers *peers_new(const struct rpc_security *security);
/* Close all channels. Parks. PRE: no call is under way. NULL is allowed. */
void peers_close(struct peers *p);

/* rpc_call() to the server at @address. Parks. Errors: those of the channel and
 * of the handler. */
MUST_CHECK int peers_call(struct peers *p,
                          struct slice address,
                          uint32_t method,
                          uint64_t timeout_us,
                          struct slice body,
                          struct slice attachment,
                          struct buf *reply_body,
                          struct buf *reply_attachment,
                          struct err *err);
/* The same with more options. */
struct rpc_call_options;
MUST_CHECK int peers_call_with(struct peers *p,
                               struct slice address,
                               uint32_t method,
                               const struct rpc_call_options *opts,
                               struct slice body,
                               struct slice attachment,
                               struct buf *reply_body,
                               struct buf *reply_attachment,
                               struct err *err);

/* Calls to the namenode that leads, over the channels of @p, which is borrowed.
 * @addresses: "host:port,host:port,…". *@out is owned: leader_free(). Errors:
 * ERR_INVALID. */
MUST_CHECK int peers_find_leader(struct peers *p,
                                 struct world *w,
                                 const char *addresses,
                                 struct leader **out,
                                 struct err *err);

#endif /* GFS_LITE_PEERS_H */
