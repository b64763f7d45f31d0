/* ZooKeeper as a coordination store. One loop. */
#ifndef CHUBBY_LITE_ZOOKEEPER_ZOOKEEPER_STORE_H
#define CHUBBY_LITE_ZOOKEEPER_ZOOKEEPER_STORE_H

#include "chubby-lite/mapped/coordination.h"

/* Opened with a struct lock_service. Its ZooKeeper's sessions are those of the
 * store; what is made has the rights of the credentials, if there are some. */
extern const struct coordination_ops zookeeper_store_ops;

#endif /* CHUBBY_LITE_ZOOKEEPER_ZOOKEEPER_STORE_H */
