/* Which peers may connect, and for how long a peer may keep the server waiting.
 * Private to the gRPC server.
 *
 * Connections are limited in all, by address, and for peers of other machines
 * together, so that nobody keeps everybody else out. A newcomer at a limit
 * takes the place of the connection under that limit that has been idle for
 * longest; where none is idle it is turned away: its calls are answered with
 * RESOURCE_EXHAUSTED until it goes, which is soon.
 *
 * Once a second every connection is looked at: does its peer still answer, do
 * requests come in and replies go out, is it used at all?
 *
 * Invariants
 *     INV-1. At most connections_max connections are served,
 *            GRPC_LEAVING_MAX more are on their way out or turned away.
 */
#ifndef BIGTABLE_GATEWAY_GRPC_LIMITS_H
#define BIGTABLE_GATEWAY_GRPC_LIMITS_H

#include "bigtable/gateway/grpc_call.h"

/* Connections turned away or ended, and not yet gone. More are closed at once.
 */
#define GRPC_LEAVING_MAX 64

enum grpc_admission {
    GRPC_SERVED,
    GRPC_TURNED_AWAY,
    GRPC_DROPPED,
};

/* May a connection of @peer ("host:port"), @local or not, be served? Ends an
 * idle one for it if need be. @why is set unless it is. */
enum grpc_admission grpc_admit(struct grpc_server *server,
                               const char *peer,
                               bool local,
                               struct err *why);

/* Look at all connections once a second, until cancelled. The function of a
 * fiber; @arg is the server. Parks. */
void grpc_run_sweep(void *arg);

#endif /* BIGTABLE_GATEWAY_GRPC_LIMITS_H */
