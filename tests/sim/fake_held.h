/* The tablets that a fake tablet server holds, and what it writes of them: rows
 * of METADATA and the root's record, by conditional writes; loads, splits,
 * unloads. */
#ifndef TESTS_SIM_FAKE_HELD_H
#define TESTS_SIM_FAKE_HELD_H

#include <stdio.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/wire/control_calls.h"
#include "bigtable/wire/tablet_files.h"
#include "chubby-lite/chubby.h"
#include "gfs-lite/fs.h"
#include "tests/lib/check_main.h"
#include "tests/sim/fake_metadata.h"

/* --- rows and the root's record, as a server changes them ---------------- */

struct fake_copy {
    struct buf tablet, location, state, split;
    bool found;
};

static void fake_copy_close(struct fake_copy *c)
{
    buf_close(&c->tablet);
    buf_close(&c->location);
    buf_close(&c->state);
    buf_close(&c->split);
}

static int fake_keep(void *ctx, const struct metadata_row *row, struct err *err)
{
    struct fake_copy *c = ctx;
    (void)err;
    fake_set(&c->tablet, row->tablet);
    fake_set(&c->location, row->location);
    fake_set(&c->state, row->state);
    fake_set(&c->split, row->split);
    c->found = true;
    return 0;
}

static int fake_read_file(struct fake *f,
                          const char *path,
                          struct buf *out,
                          uint64_t *generation,
                          struct err *err)
{
    struct chubby_handle *h = NULL;
    struct chubby_stat stat;
    int rc = chubby_open(f->chubby, path, CHUBBY_READ, NULL, &h, err);
    if (rc == 0)
        rc = chubby_read(h, out, &stat, err);
    if (rc == 0)
        *generation = stat.content_generation;
    chubby_close(h);
    return rc;
}

static int fake_write_file(struct fake *f,
                           const char *path,
                           struct slice contents,
                           uint64_t generation,
                           struct err *err)
{
    struct chubby_handle *h = NULL;
    int rc =
        chubby_open(f->chubby, path, CHUBBY_READ | CHUBBY_WRITE, NULL, &h, err);
    if (rc == 0)
        rc = chubby_write(h, contents, generation, err);
    chubby_close(h);
    return rc;
}

static int fake_read_row(struct fake *f,
                         struct slice key,
                         struct fake_copy *c,
                         struct err *err)
{
    struct buf behind = BUF_INIT, b = BUF_INIT;
    static struct tablet_record rec;
    uint64_t generation;
    int rc;
    if (key.len == 0) {
        rc = fake_read_file(f, BIGTABLE_LOCK_ROOT_TAB, &b, &generation, err);
        if (rc == 0)
            rc = tablet_record_get(buf_slice(&b), &rec, err);
        if (rc == 0) {
            tablet_bounds_put(&rec.bounds, &c->tablet);
            tablet_location_put(&rec.location, &c->location);
            tablet_state_put(&rec.state, &c->state);
            c->found = true;
        }
    } else {
        buf_append_slice(&behind, key);
        buf_append_byte(&behind, '\0');
        rc = fake_scan(f->all, f->world, key, buf_slice(&behind), fake_keep, c,
                       err);
    }
    buf_close(&behind);
    buf_close(&b);
    return rc;
}

static int fake_change_root(struct fake *f,
                            const struct metadata_change *c,
                            bool *done,
                            struct err *err)
{
    static struct tablet_record rec;
    struct buf b = BUF_INIT, l = BUF_INIT;
    uint64_t generation = 0;
    int rc = fake_read_file(f, BIGTABLE_LOCK_ROOT_TAB, &b, &generation, err);
    *done = false;
    if (rc == 0)
        rc = tablet_record_get(buf_slice(&b), &rec, err);
    if (rc == 0) {
        tablet_location_put(&rec.location, &l);
        *done = slice_eq(buf_slice(&l), c->if_location);
    }
    if (*done) {
        struct buf out = BUF_INIT;
        if (c->location.len)
            ck_assert_int_eq(
                tablet_location_get(c->location, &rec.location, NULL), 0);
        if (c->state.len)
            ck_assert_int_eq(tablet_state_get(c->state, &rec.state, NULL), 0);
        tablet_record_put(&rec, &out);
        rc = fake_write_file(f, BIGTABLE_LOCK_ROOT_TAB, buf_slice(&out),
                             generation, err);
        *done = rc == 0;
        if (rc == ERR_ABORTED)
            rc = 0;
        buf_close(&out);
    }
    buf_close(&b);
    buf_close(&l);
    return rc;
}

/* Change the row of @h as long as it is ours: tried until there is an answer.
 */
static int fake_change_own(struct fake *f,
                           const struct held *h,
                           const struct metadata_change *wish,
                           const struct slice *split,
                           struct err *err)
{
    struct metadata_change c = *wish;
    bool done = false;
    int rc = 0;
    c.key = buf_slice(&h->key);
    c.condition = METADATA_IF_LOCATION;
    c.if_location = buf_slice(&h->location);
    do {
        struct fake_copy now = {.found = false};
        if (!chubby_is_safe(f->chubby) || fiber_check(NULL))
            return err_set(err, ERR_CANCELLED, "lock lost");
        rc = c.key.len ? fake_change(f->all, f->world, &c, split, &done, err)
                       : fake_change_root(f, &c, &done, err);
        if (rc == 0 && !done && c.location.len &&
            fake_read_row(f, c.key, &now, NULL) == 0)
            done = slice_eq(buf_slice(&now.location), c.location);
        fake_copy_close(&now);
    } while (rc);
    return done ? 0 : err_set(err, ERR_ABORTED, "not ours any more");
}

/* --- files --------------------------------------------------------------- */

/* A file that exists, inside of the tablet @h, as the groups of a state name
 * it. */
static void
fake_put_groups(struct fake *f, const struct held *h, struct buf *out)
{
    uint64_t number = cluster_id(f->number, f->next_id++);
    char path[64];
    struct buf key = BUF_INIT;
    cell_key_append_row(&key, buf_slice(&h->start));
    snprintf(path, sizeof(path), "tables/%06llu.sst",
             (unsigned long long)number);
    ck_assert_int_eq(fs_replace(f->all->fs, path, SLICE_LIT("x"), NULL), 0);
    buf_put_varint(out, 1); /* Groups. */
    buf_put_varint(out, 1);
    buf_put_varint(out, 7);
    buf_put_varint(out, 1); /* Files. */
    buf_put_varint(out, number);
    for (int i = 0; i < 5; i++)
        buf_put_varint(out, 1);
    buf_put_lslice(out, buf_slice(&key));
    buf_put_lslice(out, buf_slice(&key));
    buf_close(&key);
}

/* --- tablets ------------------------------------------------------------- */

static struct held *fake_held(struct fake *f, uint64_t id)
{
    for (size_t i = 0; i < HELD_MAX; i++)
        if (f->held[i].used && f->held[i].id == id)
            return &f->held[i];
    return NULL;
}

static struct held *fake_hold(struct fake *f, uint64_t id, uint64_t epoch)
{
    for (size_t i = 0; i < HELD_MAX; i++)
        if (!f->held[i].used) {
            f->held[i] = (struct held){.used = true,
                                       .id = id,
                                       .epoch = epoch,
                                       .phase = TABLET_LOADING};
            return &f->held[i];
        }
    ck_abort_msg("too many tablets");
    return NULL;
}

static void fake_refuse(struct fake *f, uint64_t id, uint64_t epoch)
{
    size_t i = f->refused_count++ % REFUSED_MAX;
    f->refused[i].id = id;
    f->refused[i].epoch = epoch;
}

static bool fake_has_refused(const struct fake *f, uint64_t id, uint64_t epoch)
{
    for (size_t i = 0; i < MIN_OF(f->refused_count, REFUSED_MAX); i++)
        if (f->refused[i].id == id && f->refused[i].epoch >= epoch)
            return true;
    return false;
}

static void fake_drop(struct held *h)
{
    buf_close(&h->key);
    buf_close(&h->start);
    buf_close(&h->end);
    buf_close(&h->location);
    h->used = false;
}

static void fake_check_logs(struct fake *f, const struct tablet_state *s)
{
    for (size_t i = 0; i < s->log_count; i++) {
        char path[64];
        struct fs_info info;
        if (s->logs[i] == f->number)
            continue;
        for (int g = 0; g < FAKE_SEGMENTS; g++) {
            snprintf(path, sizeof(path), "log/%08llu/%d",
                     (unsigned long long)s->logs[i], g);
            if (f->all->let_go[s->logs[i]][g])
                continue;
            ck_assert_msg(f->all->sorted[s->logs[i]][g],
                          "%s loads what is in log %llu, which is not sorted",
                          f->name, (unsigned long long)s->logs[i]);
            ck_assert_msg(fs_stat(f->all->fs, path, &info, NULL) == 0,
                          "%s is gone", path);
        }
    }
}

static void fake_check_file(void *ctx, uint64_t number)
{
    struct fake *f = ctx;
    struct fs_info info;
    char path[64];
    snprintf(path, sizeof(path), "tables/%06llu.sst",
             (unsigned long long)number);
    ck_assert_msg(fs_stat(f->all->fs, path, &info, NULL) == 0, "%s is gone",
                  path);
}

/* Finish a split that its server did not: the lower half's row. */
static int fake_finish_split(struct fake *f,
                             const struct held *h,
                             struct slice split,
                             struct err *err)
{
    static struct tablet_record rec;
    struct buf key = BUF_INIT, b[3] = {BUF_INIT, BUF_INIT, BUF_INIT};
    struct metadata_change c = {.condition = METADATA_IF_ABSENT};
    bool done;
    int rc;
    ck_assert_int_eq(tablet_record_get(split, &rec, NULL), 0);
    metadata_key(rec.bounds.table, rec.bounds.end, &key);
    tablet_bounds_put(&rec.bounds, &b[0]);
    tablet_location_put(&rec.location, &b[1]);
    tablet_state_put(&rec.state, &b[2]);
    c.key = buf_slice(&key);
    c.tablet = buf_slice(&b[0]);
    c.location = buf_slice(&b[1]);
    c.state = buf_slice(&b[2]);
    do
        rc = fake_change(f->all, f->world, &c, NULL, &done, err);
    while (rc && chubby_is_safe(f->chubby) && fiber_check(NULL) == 0);
    if (rc == 0)
        rc = fake_change_own(f, h, &(struct metadata_change){.remove = false},
                             &SLICE_EMPTY, err);
    buf_close(&key);
    for (int i = 0; i < 3; i++)
        buf_close(&b[i]);
    return rc;
}

static int fake_load_row(struct fake *f, struct held *h, struct err *err)
{
    static struct tablet_state s;
    struct tablet_bounds bounds;
    struct tablet_location l;
    struct fake_copy row = {.found = false};
    struct buf groups = BUF_INIT, state = BUF_INIT;
    int rc = fake_read_row(f, buf_slice(&h->key), &row, err);
    if (rc == 0 && !row.found)
        rc = err_set(err, ERR_NOTFOUND, "no row");
    if (rc)
        goto done;
    ck_assert_int_eq(tablet_bounds_get(buf_slice(&row.tablet), &bounds, NULL),
                     0);
    ck_assert_int_eq(tablet_location_get(buf_slice(&row.location), &l, NULL),
                     0);
    if (bounds.id != h->id || l.server != f->number || l.epoch != h->epoch) {
        rc = err_set(err, ERR_ABORTED, "not ours");
        goto done;
    }
    h->table = bounds.table;
    fake_set(&h->start, bounds.start);
    fake_set(&h->end, bounds.end);
    fake_set(&h->location, buf_slice(&row.location));
    ck_assert_int_eq(tablet_state_get(buf_slice(&row.state), &s, NULL), 0);
    fake_check_logs(f, &s);
    ck_assert_int_eq(tablet_files_each(s.groups, fake_check_file, f, NULL), 0);
    if (row.split.len)
        rc = fake_finish_split(f, h, buf_slice(&row.split), err);
    if (rc)
        goto done;
    ck_assert_int_eq(tablet_state_get(buf_slice(&row.state), &s, NULL), 0);
    fake_put_groups(f, h, &groups);
    s.groups = buf_slice(&groups);
    s.logs[0] = f->number;
    s.log_count = 1;
    tablet_state_put(&s, &state);
    rc = fake_change_own(
        f, h, &(struct metadata_change){.state = buf_slice(&state)}, NULL, err);
done:
    fake_copy_close(&row);
    buf_close(&groups);
    buf_close(&state);
    return rc;
}

static int
fake_load(struct fake *f, const struct tablet_order *o, struct err *err)
{
    struct held *h = fake_held(f, o->tablet);
    int rc;
    if (h && h->epoch == o->epoch && h->phase == TABLET_SERVING)
        return err_set(err, ERR_EXISTS, "is served");
    if (h)
        return err_set(err, ERR_BUSY, "on its way");
    if (fake_has_refused(f, o->tablet, o->epoch))
        return err_set(err, ERR_ABORTED, "was taken back");
    h = fake_hold(f, o->tablet, o->epoch);
    fake_set(&h->key, o->key);
    fake_pause(f->all, f->world, fake_chance(f->all, 30) ? 3000000 : 50000);
    rc = fake_chance(f->all, 40) ? err_set(err, ERR_IO, "disk")
                                 : fake_load_row(f, h, err);
    if (rc == 0 && chubby_is_safe(f->chubby) && fiber_check(NULL) == 0)
        h->phase = TABLET_SERVING;
    else
        fake_drop(h);
    return rc;
}

static int
fake_unload(struct fake *f, const struct tablet_order *o, struct err *err)
{
    static struct tablet_state s;
    struct held *h = fake_held(f, o->tablet);
    struct fake_copy row = {.found = false};
    struct tablet_location nobody = {0, o->epoch, SLICE_EMPTY};
    struct buf location = BUF_INIT, state = BUF_INIT;
    int rc;
    if (!h || h->epoch != o->epoch) {
        fake_refuse(f, o->tablet, o->epoch);
        return err_set(err, ERR_NOTFOUND, "is not here");
    }
    if (h->phase != TABLET_SERVING)
        return err_set(err, ERR_BUSY, "on its way");
    nobody.epoch = h->epoch;
    h->phase = TABLET_UNLOADING;
    fake_pause(f->all, f->world, 50000);
    while ((rc = fake_read_row(f, buf_slice(&h->key), &row, err)) &&
           fiber_check(NULL) == 0 && chubby_is_safe(f->chubby))
        ;
    if (rc == 0 && row.found) {
        ck_assert_int_eq(tablet_state_get(buf_slice(&row.state), &s, NULL), 0);
        s.log_count = 0;
        tablet_state_put(&s, &state);
        tablet_location_put(&nobody, &location);
        rc = fake_change_own(
            f, h,
            &(struct metadata_change){.location = buf_slice(&location),
                                      .state = buf_slice(&state)},
            NULL, err);
    }
    fake_drop(h);
    fake_copy_close(&row);
    buf_close(&location);
    buf_close(&state);
    return rc;
}

/* Split at @row, in three writes; dying in between is allowed. */
static int
fake_split(struct fake *f, struct held *h, struct slice row, struct err *err)
{
    static struct tablet_record lower;
    struct tablet_bounds upper = {h->id, h->table, row, buf_slice(&h->end)};
    struct buf b = BUF_INIT, rec = BUF_INIT, groups = BUF_INIT, at = BUF_INIT;
    struct slice split;
    struct held *half;
    int rc;
    if (h->phase != TABLET_SERVING || h->table == METADATA_TABLE_ID ||
        slice_cmp(row, buf_slice(&h->start)) <= 0 ||
        (h->end.len && slice_cmp(row, buf_slice(&h->end)) >= 0))
        return err_set(err, ERR_INVALID, "cannot be split there");
    h->phase = TABLET_UNLOADING; /* Busy. */
    fake_put_groups(f, h, &groups);
    buf_append_slice(&at, row);
    upper.start = buf_slice(&at);
    lower = (struct tablet_record){
        .bounds = {cluster_id(f->number, f->next_id++), h->table,
                   buf_slice(&h->start), buf_slice(&at)},
        .location = {f->number, h->epoch, slice_str(f->address)},
        .state = {.groups = buf_slice(&groups),
                  .logs = {f->number},
                  .log_count = 1},
        .split = SLICE_EMPTY};
    tablet_record_put(&lower, &rec);
    tablet_bounds_put(&upper, &b);
    split = buf_slice(&rec);
    half = fake_hold(f, lower.bounds.id, h->epoch);
    half->table = h->table;
    metadata_key(h->table, buf_slice(&at), &half->key);
    fake_set(&half->start, buf_slice(&h->start));
    fake_set(&half->end, buf_slice(&at));
    tablet_location_put(&lower.location, &half->location);
    rc = fake_change_own(
        f, h, &(struct metadata_change){.tablet = buf_slice(&b)}, &split, err);
    if (rc == 0) {
        fake_set(&h->start, buf_slice(&at));
        rc = fake_finish_split(f, h, split, err);
    }
    h->phase = TABLET_SERVING;
    if (rc == 0)
        half->phase = TABLET_SERVING;
    else
        fake_drop(half);
    if (rc == ERR_ABORTED || rc == ERR_CANCELLED)
        fake_drop(h);
    buf_close(&b);
    buf_close(&rec);
    buf_close(&groups);
    buf_close(&at);
    return rc;
}

#endif /* TESTS_SIM_FAKE_HELD_H */
