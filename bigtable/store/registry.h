/* Where a store has it written down which tablets it has, and of which files
 * they consist: the manifest of an embedded store, the rows of METADATA for a
 * tablet server.
 *
 * A change is an edit (manifest_state.h) of one tablet, or of none (a table's
 * schema). It is durable before the store acts on it.
 *
 * Threads: any; who implements it orders the changes of each tablet.
 */
#ifndef BIGTABLE_STORE_REGISTRY_H
#define BIGTABLE_STORE_REGISTRY_H

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct manifest;
struct manifest_state;

struct registry;

/* Called while no change runs; it must not wait. */
typedef void (*registry_look_fn)(void *ctx, const struct manifest_state *state);

struct registry_ops {
    int (*commit)(struct registry *r,
                  uint64_t tablet,
                  struct slice edit,
                  struct err *err);
    void (*look)(struct registry *r,
                 uint64_t tablet,
                 registry_look_fn fn,
                 void *ctx);
    void (*free)(struct registry *r);
};

/* First member of every implementation. */
struct registry {
    const struct registry_ops *ops;
};

/* Make @edit, which changes @tablet (0: a table), durable and apply it. Parks.
 * On error nothing has changed; after ERR_UNKNOWN_OUTCOME it may have for who
 * opens the tablet next. Errors: ERR_CANCELLED: the tablet is not ours
 * any more: nothing may be served of it. */
MUST_CHECK static inline int registry_commit(struct registry *r,
                                             uint64_t tablet,
                                             struct slice edit,
                                             struct err *err)
{
    return r->ops->commit(r, tablet, edit, err);
}

/* Call @fn with a state that holds @tablet. */
static inline void registry_look(struct registry *r,
                                 uint64_t tablet,
                                 registry_look_fn fn,
                                 void *ctx)
{
    r->ops->look(r, tablet, fn, ctx);
}

static inline void registry_free(struct registry *r) /* NULL is allowed. */
{
    if (r)
        r->ops->free(r);
}

/* The manifest as a registry; @m is borrowed. Owned. */
struct registry *registry_of_manifest(struct manifest *m);

#endif /* BIGTABLE_STORE_REGISTRY_H */
