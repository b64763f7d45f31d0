/* etcd as a coordination store. One loop. */
#ifndef CHUBBY_LITE_ETCD_ETCD_STORE_H
#define CHUBBY_LITE_ETCD_ETCD_STORE_H

#include "chubby-lite/mapped/coordination.h"

/* Opened with a struct lock_service of etcd. Sessions of the store are leases
 * of etcd, whose numbers are theirs; values of a session are bound to its
 * lease. */
extern const struct coordination_ops etcd_store_ops;

#endif /* CHUBBY_LITE_ETCD_ETCD_STORE_H */
