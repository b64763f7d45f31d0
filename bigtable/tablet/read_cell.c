/* The shortest way to one value: Bloom filters, one block, no row. */
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/lsm/lsm.h"
#include "bigtable/row/gc_rule.h"
#include "bigtable/row/mutation.h"
#include "bigtable/row/read_row.h"
#include "bigtable/tablet/scan.h"
#include "bigtable/tablet/store.h"
#include "bigtable/tablet/table.h"
#include "bigtable/tablet/tablet.h"

/* Keys of this size are encoded on the stack. */
#define KEY_BYTES_STACK 512

/* What one read is about. */
struct cell_read {
    struct table_view *view;
    struct lsm_snapshot *snapshot;
    uint64_t sequence;
    int64_t now_us;
    const struct family *family;
    struct slice row;       /* Encoded, and */
    struct slice column;    /* with the column part behind. */
    struct slice qualifier; /* Plain. */
};

static int seek_source(void *it, struct slice key, struct err *err)
{
    return lsm_iter_seek(it, key, err);
}

static int next_source(void *it, struct err *err)
{
    return lsm_iter_next(it, err);
}

static bool valid_source(const void *it)
{
    return lsm_iter_valid(it);
}

static struct slice key_of_source(const void *it)
{
    return lsm_iter_key(it);
}

static struct slice value_of_source(const void *it)
{
    return lsm_iter_value(it);
}

static const struct entry_source_ops iter_source = {
    seek_source, next_source, valid_source, key_of_source, value_of_source};

/* With deletions about: judge entry by entry. */
static int read_by_iterator(const struct cell_read *r,
                            struct buf *value,
                            int64_t *timestamp_us,
                            bool *found,
                            struct err *err)
{
    const struct lsm_read_options opts = {.sequence_max = r->sequence,
                                          .probe_row = r->row};
    struct visibility view;
    struct buf target = BUF_INIT;
    struct slice bytes;
    struct lsm_iter *it;
    int rc = lsm_iter_new(r->snapshot, &opts, &it, err);
    if (rc)
        return rc;
    visibility_init(&view, r->view->schema, r->now_us);
    rc = read_newest_cell(&(struct entry_source){it, &iter_source}, &view,
                          &target, r->row, r->family->id, r->qualifier, found,
                          timestamp_us, &bytes, err);
    if (rc == 0 && *found)
        buf_append_slice(value, bytes);
    visibility_close(&view);
    buf_close(&target);
    lsm_iter_free(it);
    return rc;
}

static int read_pinned(const struct cell_read *r,
                       struct buf *value,
                       int64_t *timestamp_us,
                       bool *found,
                       struct err *err)
{
    enum lsm_found outcome;
    size_t len = value->len;
    int rc = lsm_get_newest(r->snapshot, r->row, r->column, r->sequence,
                            &outcome, value, timestamp_us, err);
    *found = false;
    if (rc)
        return rc;
    if (outcome == LSM_COMPLEX) {
        buf_truncate(value, len);
        return read_by_iterator(r, value, timestamp_us, found, err);
    }
    if (outcome == LSM_ABSENT)
        return 0;
    *found = !gc_rule_collects(r->family->gc, 0, *timestamp_us, r->now_us);
    if (!*found)
        buf_truncate(value, len);
    return 0;
}

static int read_in_view(struct table *t,
                        struct cell_read *r,
                        struct slice row,
                        struct buf *value,
                        int64_t *timestamp_us,
                        bool *found,
                        struct err *err)
{
    const struct tablet *tablet = table_view_find(r->view, row, NULL);
    size_t group = table_view_group(r->view, r->family->group);
    char room[KEY_BYTES_STACK];
    struct buf key = {room, 0, sizeof(room)};
    bool large = row.len + r->qualifier.len > KEY_BYTES_STACK / 2 - 16;
    int rc;
    if (large)
        key = BUF_INIT;
    cell_key_append_row(&key, row);
    r->row.len = key.len;
    cell_key_append_family_column(&key, r->family->id, r->qualifier);
    r->row.data = key.data;
    r->column = buf_slice(&key);
    r->now_us = r->family->gc ? (int64_t)world_now_us(t->store->world) : 0;
    /* One group: what was written before the call is in the pinned state, and
     * each mutation is in it as a whole or not at all. */
    r->snapshot = lsm_snapshot_new(tablet->groups[group]->lsm);
    r->sequence = atomic_load(&t->store->visible);
    rc = read_pinned(r, value, timestamp_us, found, err);
    lsm_snapshot_free(r->snapshot);
    if (large)
        buf_close(&key);
    return rc;
}

int read_cell(struct table *t,
              struct slice row,
              struct slice family,
              struct slice qualifier,
              struct buf *value,
              int64_t *timestamp_us,
              bool *found,
              struct err *err)
{
    struct cell_read r = {.view = table_get_view(t), .qualifier = qualifier};
    int rc;
    *found = false;
    if (!r.view)
        return table_gone(t, err);
    r.family = schema_family(r.view->schema, family);
    if (!r.family)
        rc = schema_no_family(r.view->schema, family, err);
    else if (row.len == 0 || row.len > ROW_NAME_BYTES_MAX)
        rc = row_name_check(row, err);
    else
        rc = read_in_view(t, &r, row, value, timestamp_us, found, err);
    table_view_unref(r.view);
    return rc;
}
