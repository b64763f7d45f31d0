/* The store that a call of quarry() names: file:DIR, a server's HOST:PORT, with
 * `cluster:` before it or not, or cluster:DIR, the directory of a cluster that
 * `quarry cluster` started, which has the servers' addresses and the key.
 *
 * Threads: any; nothing is kept.
 */
#ifndef BIGTABLE_SQL_SQL_TARGET_H
#define BIGTABLE_SQL_SQL_TARGET_H

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"

/* Append to @name the target as quarry_open() takes it, and to @key_file the
 * cluster's own key's file, if there is one. Errors: ERR_INVALID, ERR_NOTFOUND
 * (a node's settings). */
MUST_CHECK int sql_target_resolve(const char *target,
                                  struct buf *name,
                                  struct buf *key_file,
                                  struct err *err);

#endif /* BIGTABLE_SQL_SQL_TARGET_H */
