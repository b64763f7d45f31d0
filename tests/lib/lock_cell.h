/* A lock service of one server, on a simulated machine of its own. */
#ifndef TESTS_LIB_LOCK_CELL_H
#define TESTS_LIB_LOCK_CELL_H

#include <stddef.h>

#include <check.h>

#include "base/rpc/remote.h"
#include "base/rpc/rpc.h"
#include "base/runtime/fiber.h"
#include "base/sim/sim_cluster.h"
#include "chubby-lite/server.h"

#define LOCK_CELL_ADDRESS "s1:700"

/* Until its fiber is cancelled: what a program on a machine does. Parks. */
static inline void serve_until_cancelled(void)
{
    while (fiber_check(NULL) == 0)
        if (fiber_park_checked(NULL))
            break;
}

struct lock_cell {
    struct world *machine; /* s1 */
    struct rpc_security *security;
    const struct rpc_method *method; /* One more that it answers, or NULL. */
};

/* Its program: sim_boot(cell->machine, lock_cell_main, cell). @cell outlives
 * it. */
static inline void lock_cell_main(void *cell)
{
    const struct lock_cell *c = cell;
    struct rpc_server *rpc = rpc_server_new(c->machine);
    struct replica_member member = {1, LOCK_CELL_ADDRESS, true};
    struct chubby_server_options o = {.replica = {.name = "test",
                                                  .directory = "/lock",
                                                  .id = 1,
                                                  .members = &member,
                                                  .member_count = 1,
                                                  .security = c->security}};
    struct rpc_listen_options listen = {.security = c->security};
    struct rpc_listener *listener = NULL;
    struct chubby_server *server = NULL;
    ck_assert_int_eq(chubby_server_open(c->machine, rpc, &o, &server, NULL), 0);
    if (c->method)
        rpc_server_add(rpc, c->method, 1, NULL);
    ck_assert_int_eq(
        rpc_listen(rpc, LOCK_CELL_ADDRESS, &listen, &listener, NULL), 0);
    serve_until_cancelled();
    rpc_listener_close(listener);
    chubby_server_close(server);
    rpc_server_free(rpc);
}

#endif /* TESTS_LIB_LOCK_CELL_H */
