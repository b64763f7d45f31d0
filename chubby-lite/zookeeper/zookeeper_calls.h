/* ZooKeeper's C library, loaded at run time: clusters without ZooKeeper do not
 * need it. Included by zookeeper_store.c alone.
 */
#ifndef CHUBBY_LITE_ZOOKEEPER_ZOOKEEPER_CALLS_H
#define CHUBBY_LITE_ZOOKEEPER_ZOOKEEPER_CALLS_H

#define THREADED
#include <zookeeper/zookeeper.h>

#include "base/core/err.h"
#include "base/core/macros.h"

/* Everything that is used of it; functions and variables. */
#define ZOOKEEPER_FUNCTIONS(F)                                                 \
    F(zookeeper_init2)                                                         \
    F(zookeeper_close)                                                         \
    F(zoo_client_id)                                                           \
    F(zoo_recv_timeout)                                                        \
    F(zoo_add_auth)                                                            \
    F(zoo_aset)                                                                \
    F(zoo_awget)                                                               \
    F(zoo_awget_children)                                                      \
    F(zoo_amulti)                                                              \
    F(zoo_create_op_init)                                                      \
    F(zoo_delete_op_init)                                                      \
    F(zoo_set_op_init)                                                         \
    F(zoo_check_op_init)                                                       \
    F(zoo_set_debug_level)                                                     \
    F(zerror)                                                                  \
    F(ZOO_OPEN_ACL_UNSAFE)                                                     \
    F(ZOO_AUTH_FAILED_STATE)                                                   \
    F(ZOO_CONNECTED_STATE)                                                     \
    F(ZOO_NOTWATCHING_EVENT)                                                   \
    F(ZOO_EXPIRED_SESSION_STATE)                                               \
    F(ZOO_SESSION_EVENT)                                                       \
    F(ZOO_CREATOR_ALL_ACL)

#define ZOOKEEPER_FIELD(name) __typeof__(name) *name;

struct zookeeper_calls {
    ZOOKEEPER_FUNCTIONS(ZOOKEEPER_FIELD)
};

/* Load it for the rest of the process. Any thread. Errors: ERR_UNSUPPORTED. */
MUST_CHECK int zookeeper_calls_load(struct zookeeper_calls *out,
                                    struct err *err);

#endif /* CHUBBY_LITE_ZOOKEEPER_ZOOKEEPER_CALLS_H */
