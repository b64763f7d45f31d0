/* What the messages and services of the public API look like, for reflection:
 * compiled from the files below protos/ while the program is built. */
#ifndef BIGTABLE_GATEWAY_DESCRIPTORS_H
#define BIGTABLE_GATEWAY_DESCRIPTORS_H

#include "base/core/slice.h"

/* A google.protobuf.FileDescriptorSet: each file stands behind those that it
 * imports. Static. */
struct slice descriptors_all(void);

#endif /* BIGTABLE_GATEWAY_DESCRIPTORS_H */
