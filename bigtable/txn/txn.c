/* Transactions as their users see them: begin, read, collect writes, end.
 * Reads are of the moment it began; writes stay in memory until the commit
 * (txn_commit.c), which finds conflicts. So a transaction that is given up
 * leaves nothing behind. */
#include "bigtable/txn/txn.h"

#include <stdio.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "bigtable/row/hidden.h"
#include "bigtable/row/mutation.h"

#define LEASE_US ((uint64_t)10 * 1000000)

/* --- life ---------------------------------------------------------------- */

uint64_t txn_age_us(const struct quarry_txn *t)
{
    return (world_mono_ns(t->world) - t->begun_ns) / 1000;
}

int txn_check(const struct quarry_txn *t, struct err *err)
{
    uint64_t age = txn_age_us(t);
    int rc = fiber_check(err);
    if (rc)
        return rc;
    if (t->ended)
        return err_set(err, ERR_CLOSED, "the transaction has ended");
    if (t->opts.cancel && atomic_load(t->opts.cancel))
        return err_set(err, ERR_CANCELLED, "the transaction was cancelled");
    if (age > QUARRY_TXN_US_MAX)
        return err_set(err, ERR_TOO_OLD,
                       "the transaction began more than %llu minutes ago",
                       (unsigned long long)(QUARRY_TXN_US_MAX / 60000000));
    if (age > t->opts.timeout_us)
        return err_set(err, ERR_DEADLINE, "the transaction's %llu ms are over",
                       (unsigned long long)(t->opts.timeout_us / 1000));
    return 0;
}

int quarry_txn_begin(struct quarry *q,
                     const struct quarry_txn_options *opts,
                     struct quarry_txn **out,
                     struct err *err)
{
    struct quarry_txn *t = mem_zalloc(1, sizeof(*t));
    int rc;
    *out = NULL;
    t->quarry = q;
    t->world = quarry_world(q);
    if (opts)
        t->opts = *opts;
    if (t->opts.timeout_us == 0)
        t->opts.timeout_us = TXN_TIMEOUT_US;
    if (t->opts.lease_us == 0)
        t->opts.lease_us = LEASE_US;
    t->opts.lease_us = MIN_OF(t->opts.lease_us, QUARRY_TXN_US_MAX);
    t->begun_ns = world_mono_ns(t->world);
    hash_map_init(&t->by_key, HASH_KEYS_COPIED);
    rc = quarry_timestamps(q, 1, &t->start, err);
    if (rc) {
        err_wrap(err, "begin a transaction");
        quarry_txn_close(t);
        return rc;
    }
    t->stamped_ns = world_mono_ns(t->world);
    *out = t;
    return 0;
}

int64_t quarry_txn_start(const struct quarry_txn *txn)
{
    return txn->start;
}

void quarry_txn_close(struct quarry_txn *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->row_count; i++) {
        buf_close(&t->rows[i].key);
        quarry_mutation_free(t->rows[i].writes);
    }
    for (size_t i = 0; i < t->range_count; i++) {
        buf_close(&t->ranges[i].start);
        buf_close(&t->ranges[i].end);
    }
    mem_free(t->rows);
    mem_free(t->ranges);
    mem_free(t->checked);
    hash_map_close(&t->by_key);
    mem_free(t);
}

/* --- its tables ---------------------------------------------------------- */

static int txn_check_family(struct quarry_table *table,
                            const char *family,
                            struct err *err)
{
    int rc;
    if (*family && hidden_is_name(slice_str(family)))
        return err_set(err, ERR_INVALID, "family %s is the library's own",
                       family);
    if (*family)
        return quarry_table_check_family(table, family, err);
    rc = quarry_table_check_family(table, HIDDEN_LOCKS, err);
    if (rc != ERR_NOTFOUND)
        return rc;
    err_set(err, ERR_UNSUPPORTED, "table %s takes no part in transactions",
            quarry_table_name(table));
    err_hint(err, "quarry table alter %s --transactions",
             quarry_table_name(table));
    return ERR_UNSUPPORTED;
}

static int use_family(struct quarry_txn *t,
                      struct quarry_table *table,
                      const char *family,
                      struct err *err)
{
    size_t n = t->checked_count;
    int rc;
    for (size_t i = 0; i < n; i++)
        if (t->checked[i].table == table &&
            strcmp(t->checked[i].family, family) == 0)
            return 0;
    rc = txn_check_family(table, family, err);
    if (rc)
        return rc;
    if ((n & (n - 1)) == 0)
        t->checked =
            mem_realloc(t->checked, (n ? n * 2 : 1) * sizeof(*t->checked));
    t->checked[n].table = table;
    snprintf(t->checked[n].family, sizeof(t->checked[n].family), "%s", family);
    t->checked_count++;
    return 0;
}

int txn_use(struct quarry_txn *t,
            struct quarry_table *table,
            const char *family,
            struct err *err)
{
    int rc = txn_check(t, err);
    if (rc == 0)
        rc = use_family(t, table, "", err);
    return rc || !family ? rc : use_family(t, table, family, err);
}

/* --- its rows ------------------------------------------------------------ */

static void
put_row_key(struct buf *key, const struct quarry_table *table, struct slice row)
{
    buf_put_text(key, quarry_table_name(table));
    buf_append_byte(key, '\0');
    buf_append_slice(key, row);
}

struct txn_row *txn_find_row(const struct quarry_txn *t,
                             struct quarry_table *table,
                             struct slice row)
{
    struct buf key = BUF_INIT;
    const union hash_value *v;
    if (t->row_count == 0)
        return NULL;
    put_row_key(&key, table, row);
    v = hash_map_get(&t->by_key, buf_slice(&key));
    buf_close(&key);
    INVARIANT(!v || v->number < t->row_count);
    return v ? &t->rows[v->number] : NULL;
}

int txn_add_row(struct quarry_txn *t,
                struct quarry_table *table,
                struct slice row,
                struct txn_row **out,
                struct err *err)
{
    struct buf key = BUF_INIT;
    *out = txn_find_row(t, table, row);
    if (*out)
        return 0;
    if (t->row_count == QUARRY_TXN_ROWS_MAX)
        return err_set(err, ERR_TOOBIG, "a transaction has at most %zu rows",
                       QUARRY_TXN_ROWS_MAX);
    if (t->row_count == t->row_cap) {
        t->row_cap = t->row_cap ? t->row_cap * 2 : 8;
        t->rows = mem_realloc(t->rows, t->row_cap * sizeof(*t->rows));
    }
    *out = &t->rows[t->row_count];
    **out = (struct txn_row){.table = table, .key = BUF_INIT};
    buf_append_slice(&(*out)->key, row);
    put_row_key(&key, table, row);
    hash_map_put(&t->by_key, buf_slice(&key), NULL)->number = t->row_count++;
    buf_close(&key);
    return 0;
}

int txn_note_read(struct quarry_txn *t,
                  struct quarry_table *table,
                  struct slice row,
                  struct err *err)
{
    struct txn_row *r;
    int rc;
    if (!t->opts.serializable)
        return 0;
    rc = txn_add_row(t, table, row, &r, err);
    if (rc == 0)
        r->read = true;
    return rc;
}

void txn_note_range(struct quarry_txn *t,
                    struct quarry_table *table,
                    struct slice start,
                    struct slice end)
{
    size_t n = t->range_count;
    if (!t->opts.serializable)
        return;
    if ((n & (n - 1)) == 0)
        t->ranges =
            mem_realloc(t->ranges, (n ? n * 2 : 1) * sizeof(*t->ranges));
    t->ranges[n] = (struct txn_range){table, BUF_INIT, BUF_INIT};
    buf_append_slice(&t->ranges[n].start, start);
    buf_append_slice(&t->ranges[n].end, end);
    t->range_count++;
}

/* --- reading ------------------------------------------------------------- */

int quarry_txn_get(struct quarry_txn *t,
                   struct quarry_table *table,
                   struct slice row,
                   const char *family,
                   struct slice qualifier,
                   struct buf *value,
                   bool *found,
                   struct err *err)
{
    struct quarry_row *r = NULL;
    int rc = txn_use(t, table, family, err);
    buf_clear(value);
    *found = false;
    if (rc == 0)
        rc = txn_read_one(t, table, row, family, qualifier, &r, err);
    if (rc == 0)
        rc = txn_note_read(t, table, row, err);
    for (size_t i = 0; rc == 0 && r && i < r->cell_count; i++) {
        const struct quarry_cell *c = &r->cells[i];
        if (!slice_eq_str(c->family, family) ||
            !slice_eq(c->qualifier, qualifier))
            continue;
        *found = true;
        buf_append_slice(value, c->value);
    }
    quarry_row_free(r);
    return rc;
}

int quarry_txn_read_row(struct quarry_txn *t,
                        struct quarry_table *table,
                        struct slice row,
                        struct quarry_row **out,
                        struct err *err)
{
    int rc = txn_use(t, table, NULL, err);
    *out = NULL;
    if (rc == 0)
        rc = txn_read_one(t, table, row, NULL, SLICE_EMPTY, out, err);
    if (rc == 0)
        rc = txn_note_read(t, table, row, err);
    if (rc) {
        quarry_row_free(*out);
        *out = NULL;
    }
    return rc;
}

/* --- writing ------------------------------------------------------------- */

/* The row's writes, to add to. */
static int txn_writes(struct quarry_txn *t,
                      struct quarry_table *table,
                      struct slice row,
                      struct quarry_mutation **out,
                      struct err *err)
{
    struct txn_row *r;
    int rc = txn_use(t, table, NULL, err);
    if (rc == 0 && t->opts.read_only)
        rc = err_set(err, ERR_DENIED, "the transaction only reads");
    if (rc == 0)
        rc = row_name_check(row, err);
    if (rc == 0)
        rc = txn_add_row(t, table, row, &r, err);
    if (rc)
        return rc;
    if (!r->writes)
        r->writes = quarry_mutation_new(row);
    *out = r->writes;
    return 0;
}

/* Count what was added to @m, which had @before bytes. */
static int txn_count(struct quarry_txn *t,
                     const struct quarry_mutation *m,
                     size_t before,
                     struct err *err)
{
    int rc = mutation_check(m, err);
    t->bytes += m->ops.len - before;
    if (rc == 0 && t->bytes > QUARRY_TXN_BYTES_MAX)
        rc = err_set(err, ERR_TOOBIG, "a transaction writes at most %zu MiB",
                     QUARRY_TXN_BYTES_MAX >> 20);
    if (rc)
        t->ended = true; /* It can only be made without this write. */
    return rc;
}

/* The writes of @row so far, for one more of @family (NULL: the row). */
static int txn_begin_write(struct quarry_txn *t,
                           struct quarry_table *table,
                           struct slice row,
                           const char *family,
                           struct quarry_mutation **out,
                           size_t *before,
                           struct err *err)
{
    int rc = txn_use(t, table, family, err);
    if (rc == 0)
        rc = txn_writes(t, table, row, out, err);
    if (rc == 0)
        *before = (*out)->ops.len;
    return rc;
}

int quarry_txn_put(struct quarry_txn *t,
                   struct quarry_table *table,
                   struct slice row,
                   const char *family,
                   struct slice qualifier,
                   struct slice value,
                   struct err *err)
{
    struct quarry_mutation *m;
    size_t before;
    int rc = txn_begin_write(t, table, row, family, &m, &before, err);
    if (rc)
        return rc;
    quarry_mutation_set(m, family, qualifier, QUARRY_NOW, value);
    return txn_count(t, m, before, err);
}

int quarry_txn_delete(struct quarry_txn *t,
                      struct quarry_table *table,
                      struct slice row,
                      const char *family,
                      struct slice qualifier,
                      struct err *err)
{
    struct quarry_mutation *m;
    size_t before;
    int rc = txn_begin_write(t, table, row, family, &m, &before, err);
    if (rc)
        return rc;
    if (family)
        quarry_mutation_delete_cells(m, family, qualifier, 0, 0);
    else
        quarry_mutation_delete_row(m);
    return txn_count(t, m, before, err);
}

/* A transaction cannot promise times: its cells have its commit's. */
static int check_changes(struct quarry_txn *t,
                         struct quarry_table *table,
                         const struct quarry_mutation *m,
                         struct err *err)
{
    struct cursor c = cursor_make(buf_slice(&m->ops));
    struct mutation_op op;
    while (mutation_next(&c, &op)) {
        char family[FAMILY_NAME_BYTES_MAX + 1];
        int rc;
        if (op.kind == MUTATION_ORIGIN)
            return err_set(err, ERR_UNSUPPORTED,
                           "changes of another site are not part of a "
                           "transaction here");
        snprintf(family, sizeof(family), "%.*s", SLICE_ARG(op.family));
        rc = txn_use(t, table, op.family.len ? family : NULL, err);
        if (rc)
            return rc;
        if (op.kind == MUTATION_ADD || op.kind == MUTATION_MERGE)
            return err_set(err, ERR_UNSUPPORTED,
                           "a transaction sets and deletes cells, and does "
                           "not add to those of an aggregate");
        if (op.kind == MUTATION_SET && op.timestamp_us != QUARRY_NOW)
            return err_set(err, ERR_UNSUPPORTED,
                           "cells of a transaction have its commit's time, "
                           "and no other");
        if (op.kind == MUTATION_DELETE_CELLS &&
            (op.timestamp_us != 0 || op.max_us != 0))
            return err_set(err, ERR_UNSUPPORTED,
                           "a transaction deletes whole columns, not times "
                           "of them");
    }
    return 0;
}

int quarry_txn_apply(struct quarry_txn *t,
                     struct quarry_table *table,
                     const struct quarry_mutation *m,
                     struct err *err)
{
    struct quarry_mutation *writes;
    size_t before;
    int rc = mutation_check(m, err);
    if (rc == 0)
        rc = check_changes(t, table, m, err);
    if (rc == 0)
        rc = txn_writes(t, table, buf_slice(&m->row), &writes, err);
    if (rc)
        return rc;
    before = writes->ops.len;
    buf_append_slice(&writes->ops, buf_slice(&m->ops));
    writes->count += m->count;
    return txn_count(t, writes, before, err);
}
