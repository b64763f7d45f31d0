/* Opening targets, and what concerns a store as a whole. */
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/client/async.h"
#include "bigtable/client/client.h"
#include "bigtable/tablet/store.h"

#define FILE_SCHEME "file:"

/* The directory a target names, or NULL with the reason. */
static const char *directory_of(const char *target, struct err *err)
{
    if (strncmp(target, FILE_SCHEME, strlen(FILE_SCHEME)) == 0 &&
        target[strlen(FILE_SCHEME)] != '\0')
        return target + strlen(FILE_SCHEME);
    if (strchr(target, ':') && strncmp(target, FILE_SCHEME, 5) != 0) {
        err_set(err, ERR_UNSUPPORTED,
                "target \"%s\": clusters are not supported", target);
        err_hint(err, "use file:DIR for a store in a directory");
    } else {
        err_set(err, ERR_INVALID, "\"%s\" is not a target", target);
        err_hint(err, "file:DIR names a store in a directory");
    }
    return NULL;
}

static struct store_options store_options_of(const struct quarry_options *o)
{
    return (struct store_options){
        .cache_bytes = o->cache_bytes,
        .scan_cache_bytes = o->scan_cache_bytes,
        .scan_cache_off = o->scan_cache_off,
        .memtable_bytes = o->memtable_bytes,
        .split_bytes = o->split_bytes,
        .background_tasks = o->background_tasks,
        .read_only = o->read_only,
        .must_exist = o->must_exist,
        .repair = o->repair,
    };
}

int quarry_open(const char *target,
                const struct quarry_options *opts,
                struct quarry **out,
                struct err *err)
{
    static const struct quarry_options defaults = {.cache_bytes = 0};
    const char *dir = directory_of(target, err);
    struct store_options store;
    struct quarry *q;
    int rc;
    *out = NULL;
    if (!dir)
        return strchr(target, ':') && strncmp(target, FILE_SCHEME, 5) != 0
                   ? ERR_UNSUPPORTED
                   : ERR_INVALID;
    if (!opts)
        opts = &defaults;
    store = store_options_of(opts);
    q = mem_zalloc(1, sizeof(*q));
    q->owns_world = opts->world == NULL;
    q->world = opts->world ? opts->world : world_real_new();
    rc = store_open(q->world, dir, &store, &q->store, err);
    if (rc) {
        quarry_close(q);
        return rc;
    }
    q->async = async_pool_new(q->world, opts->async_tasks, opts->async_calls);
    *out = q;
    return 0;
}

void quarry_close(struct quarry *q)
{
    if (!q)
        return;
    async_pool_free(q->async);
    store_close(q->store);
    if (q->owns_world)
        world_free(q->world);
    mem_free(q);
}

int quarry_flush(struct quarry *q, struct err *err)
{
    return store_flush(q->store, err);
}

int quarry_pin(struct quarry *q, struct err *err)
{
    return store_pin(q->store, err);
}

void quarry_unpin(struct quarry *q)
{
    store_unpin(q->store);
}

void quarry_drain(struct quarry *q)
{
    async_pool_drain(q->async);
}
