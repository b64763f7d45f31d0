/* The texts that a server process tells about itself, by their names.
 *
 * Threads: one loop.
 */
#ifndef CLI_BUNDLE_NODE_TEXTS_H
#define CLI_BUNDLE_NODE_TEXTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct buf;
struct rpc_channel;
struct rpc_security;

/* "status", "metrics", "fibers", …; NULL after the last one. */
const char *node_text_name(size_t index);
/* A channel to the process at @address. Owned: rpc_channel_free(). */
struct rpc_channel *node_text_channel(const char *address,
                                      const struct rpc_security *security);
/* Append to @out the text @name. PRE: there is one of this name. Parks, for at
 * most five seconds. Errors: those of rpc_call(); ERR_CORRUPT. */
MUST_CHECK int node_text_ask(struct rpc_channel *c,
                             const char *name,
                             struct buf *out,
                             struct err *err);

#endif /* CLI_BUNDLE_NODE_TEXTS_H */
