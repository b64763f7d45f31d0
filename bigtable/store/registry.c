/* The registry of an embedded store: edits of all tablets go to one manifest,
 * which orders them. A tablet server has another registry, over the rows of
 * METADATA.
 */
#include "bigtable/store/registry.h"

#include "base/core/panic.h"
#include "bigtable/store/manifest.h"

struct manifest_registry {
    struct registry base;
    struct manifest *manifest; /* Borrowed. */
};

static struct manifest *manifest_of(struct registry *r)
{
    return ((struct manifest_registry *)r)->manifest;
}

static int store_registry_commit(struct registry *r,
                                 uint64_t tablet,
                                 struct slice edit,
                                 struct err *err)
{
    PRE(edit.len > 0);
    (void)tablet;
    return manifest_commit(manifest_of(r), edit, err);
}

static void store_registry_look(struct registry *r,
                                uint64_t tablet,
                                registry_look_fn fn,
                                void *ctx)
{
    PRE(fn);
    (void)tablet;
    manifest_look(manifest_of(r), fn, ctx);
}

static void free_registry(struct registry *r)
{
    mem_free(r);
}

struct registry *registry_of_manifest(struct manifest *m)
{
    static const struct registry_ops ops = {store_registry_commit,
                                            store_registry_look, free_registry};
    struct manifest_registry *r = mem_zalloc(1, sizeof(*r));
    PRE(m);
    r->base.ops = &ops;
    r->manifest = m;
    return &r->base;
}
