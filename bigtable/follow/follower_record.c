/* The users' side of followers: make, change, list and drop their records. A
 * record is changed in a transaction, because the host that runs the follower
 * writes the same row. */
#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/follow/follower_row.h"

/* --- making one ---------------------------------------------------------- */

struct creation {
    struct quarry_table *table; /* Borrowed, as all. */
    const struct follower_record *record;
    const char *key;
    const char *principal;
    uint64_t epoch;
    struct slice start;
};

static int put_cell(struct quarry_txn *txn,
                    const struct creation *c,
                    const char *name,
                    struct slice value,
                    struct err *err)
{
    return quarry_txn_put(txn, c->table, slice_str(c->key), FOLLOWER_RECORD,
                          slice_str(name), value, err);
}

static int create_in_txn(struct quarry_txn *txn, void *ctx, struct err *err)
{
    const struct creation *c = ctx;
    const struct follower_record *r = c->record;
    struct quarry_row *old = NULL;
    char epoch[8];
    int rc = quarry_txn_read_row(txn, c->table, slice_str(c->key), &old, err);
    if (rc == 0 && old)
        rc = err_set(err, ERR_EXISTS, "there is a %s already", c->key);
    quarry_row_free(old);
    put_be64(epoch, c->epoch);
    if (rc == 0)
        rc = put_cell(txn, c, "epoch", slice_make(epoch, 8), err);
    if (rc == 0)
        rc = put_cell(txn, c, "table", slice_str(r->table), err);
    if (rc == 0)
        rc = put_cell(txn, c, "settings", r->settings, err);
    if (rc == 0)
        rc = put_cell(txn, c, "principal", slice_str(c->principal), err);
    if (rc == 0)
        rc = put_cell(txn, c, "paused",
                      r->paused ? SLICE_LIT("1") : SLICE_LIT("0"), err);
    if (rc == 0)
        rc = put_cell(txn, c, "start", c->start, err);
    return rc;
}

/* The token of now: that the table keeps its changes, and that the caller may
 * read them, is found out here. */
static int
put_start(struct quarry *q, const char *table, struct buf *out, struct err *err)
{
    struct quarry_table *t = NULL;
    struct quarry_changes *c = NULL;
    int rc = quarry_table_open(q, table, &t, err);
    if (rc == 0)
        rc = quarry_changes_open(t, NULL, &c, err);
    if (rc == 0)
        quarry_changes_token(c, out);
    if (rc == ERR_UNSUPPORTED && err)
        err_hint(err, "quarry table alter %s --changes 7d", table);
    quarry_changes_close(c);
    quarry_table_close(t);
    return rc;
}

static int check_count(struct quarry_table *t, struct err *err)
{
    struct follower_row *rows;
    size_t n;
    int rc = follower_rows_read(t, "", &rows, &n, err);
    for (size_t i = 0; i < n; i++)
        follower_row_close(&rows[i]);
    mem_free(rows);
    if (rc == 0 && n >= FOLLOWERS_MAX)
        rc = err_set(err, ERR_TOOBIG, "there are %zu followers, the most", n);
    return rc;
}

int follower_create(struct quarry *q,
                    const struct follower_record *r,
                    struct err *err)
{
    char key[FOLLOWER_KEY_BYTES];
    struct creation c = {
        .record = r, .key = key, .principal = quarry_principal(q)};
    struct buf start = BUF_INIT;
    int64_t now = 0;
    int rc = follower_key(r->kind, r->name, key, err);
    if (rc == 0 && r->settings.len > FOLLOWER_SETTINGS_BYTES_MAX)
        rc = err_set(err, ERR_TOOBIG, "settings of %zu bytes (at most %zu)",
                     r->settings.len, FOLLOWER_SETTINGS_BYTES_MAX);
    if (rc == 0 && *r->table)
        rc = put_start(q, r->table, &start, err);
    if (rc == 0)
        rc = follower_table_make(q, &c.table, err);
    if (rc == 0)
        rc = check_count(c.table, err);
    if (rc == 0)
        rc = quarry_timestamps(q, 1, &now, err);
    c.epoch = (uint64_t)now;
    c.start = buf_slice(&start);
    if (rc == 0)
        rc = quarry_txn_run(q, NULL, create_in_txn, &c, err);
    quarry_table_close(c.table);
    buf_close(&start);
    return rc;
}

/* --- changing one -------------------------------------------------------- */

struct alteration {
    struct quarry_table *table; /* Borrowed, as all. */
    const char *key;
    const char *cell; /* NULL: drop the row. */
    struct slice value;
};

static int alter_in_txn(struct quarry_txn *txn, void *ctx, struct err *err)
{
    const struct alteration *a = ctx;
    struct slice row = slice_str(a->key);
    struct buf epoch = BUF_INIT;
    bool found = false;
    int rc = quarry_txn_get(txn, a->table, row, FOLLOWER_RECORD,
                            SLICE_LIT("epoch"), &epoch, &found, err);
    buf_close(&epoch);
    if (rc == 0 && !found)
        rc = err_set(err, ERR_NOTFOUND, "there is no %s", a->key);
    if (rc)
        return rc;
    if (!a->cell)
        return quarry_txn_delete(txn, a->table, row, NULL, SLICE_EMPTY, err);
    return quarry_txn_put(txn, a->table, row, FOLLOWER_RECORD,
                          slice_str(a->cell), a->value, err);
}

static int alter_follower(struct quarry *q,
                          const char *kind,
                          const char *name,
                          const char *cell,
                          struct slice value,
                          struct err *err)
{
    char key[FOLLOWER_KEY_BYTES];
    struct alteration a = {.key = key, .cell = cell, .value = value};
    int rc = follower_key(kind, name, key, err);
    if (rc == 0)
        rc = follower_table_open(q, &a.table, err);
    if (rc)
        return rc;
    rc = a.table ? quarry_txn_run(q, NULL, alter_in_txn, &a, err)
                 : err_set(err, ERR_NOTFOUND, "there is no %s", key);
    quarry_table_close(a.table);
    return rc;
}

int follower_drop(struct quarry *q,
                  const char *kind,
                  const char *name,
                  struct err *err)
{
    return alter_follower(q, kind, name, NULL, SLICE_EMPTY, err);
}

int follower_pause(struct quarry *q,
                   const char *kind,
                   const char *name,
                   bool paused,
                   struct err *err)
{
    return alter_follower(q, kind, name, "paused",
                          paused ? SLICE_LIT("1") : SLICE_LIT("0"), err);
}

int follower_update(struct quarry *q,
                    const char *kind,
                    const char *name,
                    struct slice settings,
                    struct err *err)
{
    if (settings.len > FOLLOWER_SETTINGS_BYTES_MAX)
        return err_set(err, ERR_TOOBIG, "settings of %zu bytes (at most %zu)",
                       settings.len, FOLLOWER_SETTINGS_BYTES_MAX);
    return alter_follower(q, kind, name, "settings", settings, err);
}

/* --- looking ------------------------------------------------------------- */

static void set_running(struct quarry *q, struct follower_row *r)
{
    int64_t now = (int64_t)world_now_us(quarry_world(q));
    struct follower_info *i = &r->info;
    i->running = r->beat_bytes.len && !r->beat.released && !i->record.paused &&
                 now - i->beat_us < (int64_t)FOLLOWER_SILENT_US;
}

int follower_get(struct quarry *q,
                 const char *kind,
                 const char *name,
                 struct follower_info **out,
                 struct err *err)
{
    char key[FOLLOWER_KEY_BYTES];
    struct quarry_table *t = NULL;
    struct follower_row row;
    int rc = follower_key(kind, name, key, err);
    *out = NULL;
    if (rc == 0)
        rc = follower_table_open(q, &t, err);
    if (rc == 0)
        rc = follower_row_read(t, key, &row, err);
    if (rc == 0) {
        set_running(q, &row);
        *out = mem_alloc(sizeof(**out));
        **out = row.info;
    }
    quarry_table_close(t);
    return rc;
}

int follower_list(struct quarry *q,
                  const char *kind,
                  struct follower_info **out,
                  size_t *count,
                  struct err *err)
{
    struct quarry_table *t = NULL;
    struct follower_row *rows = NULL;
    struct buf prefix = BUF_INIT;
    int rc = follower_table_open(q, &t, err);
    *out = NULL;
    *count = 0;
    if (kind)
        buf_printf(&prefix, "%s/", kind);
    if (rc == 0 && t)
        rc = follower_rows_read(t, buf_cstr(&prefix), &rows, count, err);
    *out = mem_zalloc(*count + 1, sizeof(**out));
    for (size_t i = 0; i < *count; i++) {
        set_running(q, &rows[i]);
        (*out)[i] = rows[i].info;
    }
    mem_free(rows);
    buf_close(&prefix);
    quarry_table_close(t);
    return rc;
}
