/* The registry: what the API has and the store has no place for (instances,
 * clusters, app profiles, backups, policies, operations), and the extras of
 * tables. It is the store's table GATEWAY_TABLE, a row each: key → message of
 * protocol buffers.
 *
 * Keys are resource names without the project: "instances/I/clusters/C"; those
 * of policies begin with "policies/", those of operations with "operations/".
 *
 * Threads: any. Everything parks.
 */
#ifndef BIGTABLE_GATEWAY_RESOURCE_REGISTRY_H
#define BIGTABLE_GATEWAY_RESOURCE_REGISTRY_H

#include <stdbool.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct quarry;

/* Append the message at @key to @message. */
MUST_CHECK int registry_get(struct quarry *q,
                            struct slice key,
                            struct buf *message,
                            bool *found,
                            struct err *err);
/* ERR_EXISTS: there is one, and it stays. */
MUST_CHECK int registry_add(struct quarry *q,
                            struct slice key,
                            struct slice message,
                            struct err *err);
MUST_CHECK int registry_put(struct quarry *q,
                            struct slice key,
                            struct slice message,
                            struct err *err);
/* Put @message where @old is (@had: false, where nothing is), or nothing at
 * all: ERR_ABORTED, something else is there. */
MUST_CHECK int registry_replace(struct quarry *q,
                                struct slice key,
                                struct slice old,
                                bool had,
                                struct slice message,
                                struct err *err);
/* No error when there is none. */
MUST_CHECK int
registry_remove(struct quarry *q, struct slice key, struct err *err);
/* The same for every key that begins with @prefix. */
MUST_CHECK int
registry_remove_all(struct quarry *q, struct slice prefix, struct err *err);

/* Called for each entry, in order; what it returns ends the walk unless 0. */
typedef int (*registry_visit)(void *ctx,
                              struct slice key,
                              struct slice message,
                              struct err *err);
MUST_CHECK int registry_each(struct quarry *q,
                             struct slice prefix,
                             registry_visit visit,
                             void *ctx,
                             struct err *err);

#endif /* BIGTABLE_GATEWAY_RESOURCE_REGISTRY_H */
