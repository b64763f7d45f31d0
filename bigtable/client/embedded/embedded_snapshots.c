/* Snapshots of the tables of a directory, by way of the store, encoded as a
 * cluster's master encodes them.
 */
#include "base/core/arena.h"
#include "base/runtime/world.h"
#include "bigtable/client/embedded/embedded.h"
#include "bigtable/store/snapshot.h"
#include "bigtable/store/store.h"
#include "bigtable/wire/snapshot_calls.h"

int embedded_table_snapshot(struct quarry *q,
                            const char *table,
                            const char *name,
                            uint64_t ttl_us,
                            struct err *err)
{
    return store_snapshot(q->store, table, name, ttl_us, err);
}

int embedded_table_clone(struct quarry *q,
                         const char *table,
                         const char *to,
                         struct err *err)
{
    return store_clone_table(q->store, table, to, err);
}

int embedded_snapshot_show(struct quarry *q,
                           const char *name,
                           struct buf *out,
                           struct err *err)
{
    return store_snapshot_record(q->store, name, out, err);
}

int embedded_snapshot_drop(struct quarry *q, const char *name, struct err *err)
{
    return store_snapshot_drop(q->store, name, err);
}

int embedded_snapshot_restore(struct quarry *q,
                              const char *name,
                              const char *table,
                              struct err *err)
{
    return store_snapshot_restore(q->store, name, table, err);
}

/* Add what the list says of @name. */
static int add_summary(struct store *s,
                       const char *name,
                       struct buf *list,
                       struct err *err)
{
    struct snapshot_summary summary;
    struct snapshot_record r;
    struct buf bytes = BUF_INIT;
    struct arena a;
    int rc = store_snapshot_record(s, name, &bytes, NULL);
    if (rc == ERR_NOTFOUND) /* Dropped meanwhile. */
        return 0;
    arena_init(&a);
    rc = snapshot_record_get(buf_slice(&bytes), &a, &r, err);
    if (rc == 0)
        rc = snapshot_summarize(&r, &summary, err);
    if (rc == 0)
        snapshot_summary_put(&summary, list);
    arena_close(&a);
    buf_close(&bytes);
    return rc;
}

int embedded_snapshot_list(struct quarry *q, struct buf *out, struct err *err)
{
    struct buf list = BUF_INIT;
    char **names;
    size_t count;
    int rc = 0;
    store_snapshot_names(q->store, &names, &count);
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = add_summary(q->store, names[i], &list, err);
    if (rc == 0)
        buf_append_slice(out, buf_slice(&list));
    world_names_free(names, count);
    buf_close(&list);
    return rc;
}
