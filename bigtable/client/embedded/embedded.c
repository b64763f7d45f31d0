/* A directory as a target: opening, closing, and its table of operations.
 * Options of quarry.h become options of the store; a directory has no rights,
 * so a view is the same handle again.
 */
#include "bigtable/client/embedded/embedded.h"

#include "base/crypt/master_key.h"
#include "bigtable/client/async.h"
#include "bigtable/store/store.h"

static struct store_options store_options_of(const struct quarry_options *o)
{
    return (struct store_options){
        .cache_bytes = o->cache_bytes,
        .scan_cache_bytes = o->scan_cache_bytes,
        .scan_cache_off = o->scan_cache_off,
        .memtable_bytes = o->memtable_bytes,
        .split_bytes = o->split_bytes,
        .background_tasks = o->background_tasks,
        .read_only = o->read_only || o->pinned,
        .pinned = o->pinned,
        .must_exist = o->must_exist,
        .repair = o->repair,
    };
}

void embedded_target_close(struct quarry *q)
{
    if (q->is_view)
        return;
    async_pool_free(q->async);
    local_oracle_close(q);
    store_close(q->store);
}

/* A directory knows no rights. */
void embedded_target_view(struct quarry *q, struct quarry *view, const char *as)
{
    (void)q;
    (void)view;
    (void)as;
}

const char *embedded_target_principal(const struct quarry *q)
{
    (void)q;
    return "";
}

int embedded_parallel_for(struct quarry *q,
                          size_t count,
                          parallel_fn fn,
                          void *ctx,
                          struct err *err)
{
    int rc = 0;
    (void)q;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = fn(ctx, i, err);
    return rc;
}

int embedded_flush(struct quarry *q, struct err *err)
{
    return store_flush(q->store, err);
}

int embedded_pin(struct quarry *q, struct err *err)
{
    return store_pin(q->store, err);
}

void embedded_unpin(struct quarry *q)
{
    store_unpin(q->store);
}

static const struct target_ops embedded_ops = {
#define OP(type, name, parameters) .name = embedded_##name,
#define OP_OF_CLUSTER(type, name, parameters)
#include "bigtable/client/target_ops.def"
};

int embedded_target_open(struct quarry *q,
                         const char *dir,
                         const struct quarry_options *opts,
                         struct err *err)
{
    const struct master_key_source source = {
        .key_file = opts->encryption_key_file,
        .key_command = opts->encryption_key_command,
        .previous_key_file = opts->encryption_previous_key_file,
        .previous_key_command = opts->encryption_previous_key_command,
    };
    struct store_options store = store_options_of(opts);
    struct master_keys *keys = master_keys_ref(opts->master_keys);
    int rc = 0;
    q->ops = &embedded_ops;
    q->oracle = local_oracle_new();
    if (!keys)
        rc = master_keys_read(q->world, &source, &keys, err);
    store.master_keys = keys;
    if (rc == 0)
        rc = store_open(q->world, dir, &store, &q->store, err);
    master_keys_unref(keys);
    if (rc == 0)
        q->async = async_pool_new(q->world, NULL, opts->async_tasks,
                                  opts->async_calls);
    return rc;
}
