/* A directory as a target: opening, closing, and its table of operations. */
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

static void close_store(struct quarry *q)
{
    if (q->is_view)
        return;
    async_pool_free(q->async);
    store_close(q->store);
}

/* A directory knows no rights. */
static void open_view(struct quarry *q, struct quarry *view, const char *as)
{
    (void)q;
    (void)view;
    (void)as;
}

static int embedded_flush(struct quarry *q, struct err *err)
{
    return store_flush(q->store, err);
}

static int embedded_pin(struct quarry *q, struct err *err)
{
    return store_pin(q->store, err);
}

static void embedded_unpin(struct quarry *q)
{
    store_unpin(q->store);
}

static const struct target_ops embedded_ops = {
    .close = close_store,
    .view = open_view,
    .flush = embedded_flush,
    .pin = embedded_pin,
    .unpin = embedded_unpin,
    .counters = embedded_counters,
    .table_create = embedded_table_create,
    .table_drop = embedded_table_drop,
    .table_alter = embedded_table_alter,
    .table_list = embedded_table_list,
    .table_open = embedded_table_open,
    .table_hold = embedded_table_hold,
    .table_release = embedded_table_release,
    .table_describe = embedded_table_describe,
    .table_split = embedded_table_split,
    .table_move_tablet = embedded_table_move_tablet,
    .table_compact = embedded_table_compact,
    .table_drop_rows = embedded_table_drop_rows,
    .table_split_points = embedded_table_split_points,
    .bulk_security = embedded_bulk_security,
    .bulk_files = embedded_bulk_files,
    .bulk_lend = embedded_bulk_lend,
    .bulk_begin = embedded_bulk_begin,
    .bulk_commit = embedded_bulk_commit,
    .bulk_abandon = embedded_bulk_abandon,
    .table_snapshot = embedded_table_snapshot,
    .table_clone = embedded_table_clone,
    .snapshot_list = embedded_snapshot_list,
    .snapshot_show = embedded_snapshot_show,
    .snapshot_drop = embedded_snapshot_drop,
    .snapshot_restore = embedded_snapshot_restore,
    .apply = embedded_apply,
    .apply_batch = embedded_apply_batch,
    .apply_each = embedded_apply_each,
    .check_and_mutate = embedded_check_and_mutate,
    .read_modify_write = embedded_read_modify_write,
    .read_row = embedded_read_row,
    .read_rows = embedded_read_rows,
    .get = embedded_get,
    .read_prepare = embedded_read_prepare,
    .read_run = embedded_read_run,
    .read_free = embedded_read_free,
    .scan = embedded_scan,
    .scanner_next = embedded_scanner_next,
    .scanner_close = embedded_scanner_close,
    .run_program = embedded_run_program,
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
