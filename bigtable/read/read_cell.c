/* The shortest way to one value: the scan cache, then lsm_get_newest(), which
 * opens no iterator and builds no row. Where deletions are involved, the row is
 * read with an iterator after all.
 */
#include <string.h>

#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/lsm/lsm.h"
#include "bigtable/read/row_source.h"
#include "bigtable/read/scan.h"
#include "bigtable/read/scan_cache.h"
#include "bigtable/row/gc_rule.h"
#include "bigtable/row/mutation.h"
#include "bigtable/row/read_row.h"
#include "bigtable/tablet/table_part.h"
#include "bigtable/tablet/tablet.h"
#include "bigtable/tablet/tablet_env.h"

/* Keys of this size are encoded on the stack. */
#define KEY_BYTES_STACK 512

/* One read. */
struct cell_read {
    struct tablet_env *env;
    struct table_part_view *view;
    struct tablet *tablet;
    size_t group; /* Index. */
    struct lsm_snapshot *snapshot;
    uint64_t complete; /* The snapshot has all entries up to this number; */
    uint64_t sequence; /* those behind this one are not seen. */
    int64_t now_us;
    const struct family *family;
    struct slice name;   /* Of the row, plain; */
    struct slice row;    /* encoded, and */
    struct slice column; /* with the column part behind. */
    uint64_t column_hash;
    struct slice qualifier; /* Plain. */
};

/* With deletions about: judge entry by entry. */
static int read_by_entries(const struct cell_read *r,
                           struct buf *value,
                           int64_t *timestamp_us,
                           bool *found,
                           struct err *err)
{
    const struct lsm_read_options opts = {.sequence_max = r->sequence,
                                          .probe_row = r->row};
    const struct row_place place = {
        r->env,  r->tablet, r->group,    r->view->generation,
        r->name, r->row,    r->snapshot, r->complete};
    struct buf target = BUF_INIT;
    struct entry_source entries;
    struct visibility view;
    struct row_source source;
    struct slice bytes;
    int rc = row_source_open_row(&source, &place, &opts, err);
    PRE(r->snapshot);
    PRE(r->complete <= r->sequence); /* INV-1 */
    if (rc)
        return rc;
    entries = row_source_entries(&source);
    visibility_init(&view, r->view->schema, r->now_us);
    rc = read_newest_cell(&entries, &view, &target, r->row, r->family->id,
                          r->qualifier, found, timestamp_us, &bytes, err);
    if (rc == 0 && *found)
        buf_append_slice(value, bytes);
    visibility_close(&view);
    buf_close(&target);
    row_source_close(&source);
    return rc;
}

/* The newest cell that is stored: is it to be seen? */
static void read_cell_judge(const struct cell_read *r,
                            struct buf *value,
                            size_t value_at,
                            int64_t timestamp_us,
                            bool *found)
{
    PRE(value_at <= value->len);
    *found = !gc_rule_collects(r->family->gc, 0, timestamp_us, r->now_us);
    if (!*found)
        buf_truncate(value, value_at);
}

/* A cell that is read often is kept. */
static void offer_cell(const struct cell_read *r,
                       const struct scan_key *k,
                       struct slice value,
                       int64_t timestamp_us)
{
    struct scan_cache *cache = r->env->scan_cache;
    struct scan_entry *e;
    PRE(r->complete <= r->sequence); /* INV-1 */
    if (value.len > scan_cache_entry_max(cache) || !scan_cache_wants(cache, k))
        return;
    e = scan_entry_new(k, 0, value.len);
    e->timestamp_us = timestamp_us;
    if (value.len)
        memcpy(scan_entry_bytes(e), value.data, value.len);
    scan_cache_put(cache, e, &r->env->stamps, r->name, r->complete);
    scan_entry_unref(e);
}

/* From memtables and tables; @k is NULL where nothing is kept. */
static int read_pinned(const struct cell_read *r,
                       const struct scan_key *k,
                       struct buf *value,
                       int64_t *timestamp_us,
                       bool *found,
                       struct err *err)
{
    enum lsm_found outcome;
    size_t len = value->len;
    int rc = lsm_get_newest(r->snapshot, r->row, r->column, r->column_hash,
                            r->sequence, &outcome, value, timestamp_us, err);
    PRE(r->snapshot);
    PRE(r->column.len > r->row.len);
    *found = false;
    if (rc)
        return rc;
    if (outcome == LSM_COMPLEX) {
        buf_truncate(value, len);
        return read_by_entries(r, value, timestamp_us, found, err);
    }
    if (outcome == LSM_ABSENT)
        return 0;
    if (k)
        offer_cell(r, k, slice_sub(buf_slice(value), len, value->len),
                   *timestamp_us);
    read_cell_judge(r, value, len, *timestamp_us, found);
    return 0;
}

/* One group: every write before the call is in the pinned state, and each
 * mutation is in it as a whole or not at all. An entry of the scan cache must
 * have everything up to a number, so that is read before the state is pinned: a
 * memtable may be frozen between that and the number readers see. */
static int read_below(struct cell_read *r,
                      const struct scan_key *k,
                      struct buf *value,
                      int64_t *timestamp_us,
                      bool *found,
                      struct err *err)
{
    int rc;
    PRE(r->group < atomic_load(&r->tablet->group_count));
    r->complete = atomic_load(&r->env->visible);
    r->snapshot = lsm_snapshot_new(r->tablet->groups[r->group]->lsm);
    r->sequence = atomic_load(&r->env->visible);
    rc = read_pinned(r, k, value, timestamp_us, found, err);
    lsm_snapshot_free(r->snapshot);
    return rc;
}

static int read_encoded(struct cell_read *r,
                        struct buf *value,
                        int64_t *timestamp_us,
                        bool *found,
                        struct err *err)
{
    struct scan_entry *e;
    struct scan_key k;
    PRE(r->family);
    if (!r->env->scan_cache)
        return read_below(r, NULL, value, timestamp_us, found, err);
    k = scan_key_make(r->tablet->life, r->view->generation, (uint32_t)r->group,
                      r->column, r->column_hash);
    e = scan_cache_get(r->env->scan_cache, &k, &r->env->stamps, r->name,
                       atomic_load(&r->env->visible));
    if (!e)
        return read_below(r, &k, value, timestamp_us, found, err);
    INVARIANT(e->pair_count == 0);
    buf_append(value, scan_entry_bytes(e), e->bytes_len);
    *timestamp_us = e->timestamp_us;
    read_cell_judge(r, value, value->len - e->bytes_len, *timestamp_us, found);
    scan_entry_unref(e);
    return 0;
}

static void read_cell_meter(const struct cell_read *r, uint64_t bytes)
{
    const struct heat_operation op = {LOAD_READS, r->name, 1, bytes};
    PRE(r->tablet);
    uint64_t metered = load_meter_add(&r->tablet->load, LOAD_READS, 1, bytes,
                                      world_mono_ns(r->env->world));
    tablet_note_heat(r->tablet, &op, metered);
}

static int read_in_view(struct cell_read *r,
                        struct buf *value,
                        int64_t *timestamp_us,
                        bool *found,
                        struct err *err)
{
    char room[KEY_BYTES_STACK];
    struct buf key = {room, 0, sizeof(room)};
    size_t value_at = value->len;
    bool large = r->name.len + r->qualifier.len > KEY_BYTES_STACK / 2 - 16;
    int rc;
    PRE(r->family && r->view);
    r->tablet = table_part_view_find(r->view, r->name, NULL);
    r->env = r->tablet->env;
    r->group = table_part_view_group(r->view, r->family->group);
    if (large)
        key = BUF_INIT;
    cell_key_append_row(&key, r->name);
    r->row.len = key.len;
    cell_key_append_family_column(&key, r->family->id, r->qualifier);
    r->row.data = key.data;
    r->column = buf_slice(&key);
    INVARIANT(r->row.len < r->column.len);
    r->column_hash = hash64_slice(r->column);
    r->now_us = r->family->gc ? tablet_env_age_us(r->env) : 0;
    rc = read_encoded(r, value, timestamp_us, found, err);
    read_cell_meter(r, r->name.len + value->len - value_at);
    if (large)
        buf_close(&key);
    return rc;
}

int read_cell(struct table_part *t,
              struct slice row,
              struct slice family,
              struct slice qualifier,
              struct buf *value,
              int64_t *timestamp_us,
              bool *found,
              struct err *err)
{
    struct cell_read r = {
        .view = table_part_get_view(t), .name = row, .qualifier = qualifier};
    int rc;
    *found = false;
    if (!r.view)
        return table_part_gone(t, err);
    r.family = schema_family(r.view->schema, family);
    if (!r.family)
        rc = schema_no_family(r.view->schema, family, err);
    else if (row.len == 0 || row.len > ROW_NAME_BYTES_MAX)
        rc = row_name_check(row, err);
    else
        rc = read_in_view(&r, value, timestamp_us, found, err);
    table_part_view_unref(r.view);
    return rc;
}
