/* The messages and services of the public API as data, for reflection. The
 * definition is written by generate_api.py from the files below protos/ while
 * the program is built.
 */
#ifndef BIGTABLE_GATEWAY_API_DESCRIPTORS_H
#define BIGTABLE_GATEWAY_API_DESCRIPTORS_H

#include "base/core/slice.h"

/* A google.protobuf.FileDescriptorSet, in which each file follows those that it
 * imports. Static. */
struct slice descriptors_all(void);

#endif /* BIGTABLE_GATEWAY_API_DESCRIPTORS_H */
