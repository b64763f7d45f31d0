/* Ceph's librados, loaded at run time: programs that do not use it need neither
 * the library nor its dozens of others. Included by the rados_client files
 * alone.
 */
#ifndef BASE_OBJECTS_RADOS_CALLS_H
#define BASE_OBJECTS_RADOS_CALLS_H

#include <rados/librados.h>

#include "base/core/err.h"
#include "base/core/macros.h"

/* Everything that is used of it. */
#define RADOS_FUNCTIONS(F)                                                     \
    F(rados_create2)                                                           \
    F(rados_conf_read_file)                                                    \
    F(rados_conf_set)                                                          \
    F(rados_conf_parse_argv)                                                   \
    F(rados_connect)                                                           \
    F(rados_shutdown)                                                          \
    F(rados_ioctx_create)                                                      \
    F(rados_ioctx_destroy)                                                     \
    F(rados_ioctx_set_namespace)                                               \
    F(rados_set_pool_full_try)                                                 \
    F(rados_aio_create_completion2)                                            \
    F(rados_aio_release)                                                       \
    F(rados_aio_get_return_value)                                              \
    F(rados_aio_get_version)                                                   \
    F(rados_aio_cancel)                                                        \
    F(rados_aio_read)                                                          \
    F(rados_aio_write)                                                         \
    F(rados_aio_remove)                                                        \
    F(rados_aio_stat)                                                          \
    F(rados_aio_getxattr)                                                      \
    F(rados_create_write_op)                                                   \
    F(rados_release_write_op)                                                  \
    F(rados_write_op_assert_exists)                                            \
    F(rados_write_op_assert_version)                                           \
    F(rados_write_op_cmpxattr)                                                 \
    F(rados_write_op_setxattr)                                                 \
    F(rados_write_op_create)                                                   \
    F(rados_write_op_remove)                                                   \
    F(rados_write_op_write)                                                    \
    F(rados_write_op_write_full)                                               \
    F(rados_write_op_omap_cmp2)                                                \
    F(rados_write_op_omap_set2)                                                \
    F(rados_write_op_omap_rm_keys2)                                            \
    F(rados_aio_write_op_operate)                                              \
    F(rados_create_read_op)                                                    \
    F(rados_release_read_op)                                                   \
    F(rados_read_op_omap_get_vals2)                                            \
    F(rados_read_op_omap_get_vals_by_keys2)                                    \
    F(rados_aio_read_op_operate)                                               \
    F(rados_omap_get_next2)                                                    \
    F(rados_omap_get_end)                                                      \
    F(rados_lock_exclusive)                                                    \
    F(rados_unlock)                                                            \
    F(rados_list_lockers)

#define RADOS_FIELD(name) __typeof__(name) *name;

struct rados_calls {
    RADOS_FUNCTIONS(RADOS_FIELD)
};

/* Load it for the rest of the process. Any thread. Errors: ERR_UNSUPPORTED. */
MUST_CHECK int rados_calls_load(struct rados_calls *out, struct err *err);

#endif /* BASE_OBJECTS_RADOS_CALLS_H */
