/* Tablet servers that keep no rows, and a METADATA in memory, for trying the
 * master: they follow the protocol of bigtable/wire to the letter (numbers,
 * locks, epochs, conditional writes, splits in three steps, logs named by
 * tablets), take their time, fail now and then, and see to it that nothing is
 * asked of them that would lose data.
 */
#ifndef TESTS_SIM_FAKE_TABLETS_H
#define TESTS_SIM_FAKE_TABLETS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/rpc/remote.h"
#include "base/rpc/security.h"
#include "base/runtime/fiber.h"
#include "base/runtime/sim_cluster.h"
#include "bigtable/master/metadata_store.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/wire/control_calls.h"
#include "bigtable/wire/tablet_files.h"
#include "chubby-lite/chubby.h"
#include "gfs-lite/fs.h"
#include "tests/lib/check_main.h"

enum {
    FAKES_MAX = 8,
    HELD_MAX = 256,
    REFUSED_MAX = 64,
    ROWS_MAX = 2048,
    FAKE_LOGS_MAX = 256,
    FAKE_SEGMENTS = 3
};

/* --- what all of them share: METADATA, logs, chance --- */

struct fake_row {
    struct buf key, tablet, location, state, split;
};

struct fake_world {
    struct sim_cluster *sim;
    struct rand_gen random;
    struct fs *fs; /* On the director. */
    struct rpc_security *security;
    const char *const *cell;
    size_t cell_count;
    struct fake_row *rows[ROWS_MAX]; /* In order of their keys. */
    size_t row_count;
    bool sorted[FAKE_LOGS_MAX][FAKE_SEGMENTS];
    bool calm; /* Nothing fails any more. */
    struct fake *fakes[FAKES_MAX];
    size_t fake_count;
};

struct held {
    bool used;
    uint64_t id, table, epoch;
    enum tablet_phase phase;
    struct buf key, start, end, location;
};

struct fake {
    struct fake_world *all;
    struct world *world;
    char name[16], address[32];
    uint64_t number; /* 0: does not serve. */
    uint64_t next_id;
    struct chubby *chubby;
    struct chubby_handle *lock;
    struct held held[HELD_MAX];

    /* What it said it does not have, and does not load in that epoch. */
    struct {
        uint64_t id, epoch;
    } refused[REFUSED_MAX];

    size_t refused_count;
};

static bool fake_chance(struct fake_world *a, uint64_t one_in)
{
    return !a->calm && rand_one_in(&a->random, one_in);
}

static void fake_pause(struct fake_world *a, struct world *w, uint64_t us)
{
    world_sleep_us(w, 50 + rand_below(&a->random, us));
}

/* --- METADATA --- */

static size_t fake_at(const struct fake_world *a, struct slice key)
{
    size_t i = 0;
    while (i < a->row_count && slice_cmp(buf_slice(&a->rows[i]->key), key) < 0)
        i++;
    return i;
}

static struct fake_row *fake_get(const struct fake_world *a, struct slice key)
{
    size_t i = fake_at(a, key);
    return i < a->row_count && slice_eq(buf_slice(&a->rows[i]->key), key)
               ? a->rows[i]
               : NULL;
}

static void fake_set(struct buf *b, struct slice v)
{
    buf_clear(b);
    buf_append_slice(b, v);
}

static void fake_free_row(struct fake_row *row)
{
    buf_close(&row->key);
    buf_close(&row->tablet);
    buf_close(&row->location);
    buf_close(&row->state);
    buf_close(&row->split);
    mem_free(row);
}

static struct fake_row *fake_insert(struct fake_world *a, struct slice key)
{
    size_t at = fake_at(a, key);
    ck_assert_uint_lt(a->row_count, ROWS_MAX);
    memmove(a->rows + at + 1, a->rows + at,
            (a->row_count - at) * sizeof(*a->rows));
    a->rows[at] = mem_zalloc(1, sizeof(struct fake_row));
    fake_set(&a->rows[at]->key, key);
    a->row_count++;
    return a->rows[at];
}

static void fake_remove(struct fake_world *a, struct slice key)
{
    size_t at = fake_at(a, key);
    fake_free_row(a->rows[at]);
    memmove(a->rows + at, a->rows + at + 1,
            (a->row_count - at - 1) * sizeof(*a->rows));
    a->row_count--;
}

/* Does a server that may serve have the tablet of METADATA with the row @key?
 */
static bool fake_is_readable(const struct fake_world *a, struct slice key)
{
    for (size_t i = 0; i < a->fake_count; i++) {
        const struct fake *f = a->fakes[i];
        for (size_t j = 0; f->number && j < HELD_MAX; j++) {
            const struct held *h = &f->held[j];
            if (h->used && h->table == METADATA_TABLE_ID &&
                h->phase == TABLET_SERVING && chubby_is_safe(f->chubby) &&
                slice_cmp(buf_slice(&h->start), key) <= 0 &&
                (h->end.len == 0 || slice_cmp(key, buf_slice(&h->end)) < 0))
                return true;
        }
    }
    return false;
}

static int fake_unavailable(struct err *err)
{
    return err_set(err, ERR_UNAVAILABLE, "METADATA is not served");
}

static int fake_scan(struct fake_world *a,
                     struct world *w,
                     struct slice start,
                     struct slice end,
                     metadata_row_fn fn,
                     void *ctx,
                     struct err *err)
{
    struct buf at = BUF_INIT;
    int code = 0;
    buf_append_slice(&at, start);
    while (code == 0) {
        size_t i;
        struct metadata_row row;
        fake_pause(a, w, 100);
        i = fake_at(a, buf_slice(&at));
        if (!fake_is_readable(a, buf_slice(&at)) || fake_chance(a, 3000)) {
            code = fake_unavailable(err);
            break;
        }
        if (i == a->row_count ||
            (end.len && slice_cmp(buf_slice(&a->rows[i]->key), end) >= 0))
            break;
        row = (struct metadata_row){
            buf_slice(&a->rows[i]->key), buf_slice(&a->rows[i]->tablet),
            buf_slice(&a->rows[i]->location), buf_slice(&a->rows[i]->state),
            buf_slice(&a->rows[i]->split)};
        if (!fake_is_readable(a, row.key)) {
            code = fake_unavailable(err);
            break;
        }
        fake_set(&at, row.key);
        buf_append_byte(&at, '\0');
        code = fn(ctx, &row, err);
    }
    buf_close(&at);
    return code;
}

/* A change, and what the interface of the master does not have: t:split. */
static int fake_change(struct fake_world *a,
                       struct world *w,
                       const struct metadata_change *c,
                       const struct slice *split,
                       bool *done,
                       struct err *err)
{
    struct fake_row *row;
    *done = false;
    fake_pause(a, w, 1000);
    if (fiber_check(NULL) || !fake_is_readable(a, c->key) || fake_chance(a, 60))
        return fake_unavailable(err);
    row = fake_get(a, c->key);
    *done = c->condition == METADATA_IF_ABSENT
                ? !row
                : row && slice_eq(buf_slice(&row->location), c->if_location);
    if (*done && c->remove) {
        fake_remove(a, c->key);
    } else if (*done) {
        if (!row)
            row = fake_insert(a, c->key);
        if (c->tablet.len)
            fake_set(&row->tablet, c->tablet);
        if (c->location.len)
            fake_set(&row->location, c->location);
        if (c->state.len)
            fake_set(&row->state, c->state);
        if (split)
            fake_set(&row->split, *split);
    }
    fake_pause(a, w, 1000);
    /* Done, but the answer is lost. */
    return fiber_check(NULL) || fake_chance(a, 60) ? fake_unavailable(err) : 0;
}

struct fake_store {
    struct metadata_store store; /* First. */
    struct fake_world *all;
    struct world *world;
};

static int fake_store_scan(struct metadata_store *s,
                           struct slice start,
                           struct slice end,
                           metadata_row_fn fn,
                           void *ctx,
                           struct err *err)
{
    struct fake_store *f = CONTAINER_OF(s, struct fake_store, store);
    return fake_scan(f->all, f->world, start, end, fn, ctx, err);
}

static int fake_store_change(struct metadata_store *s,
                             const struct metadata_change *c,
                             bool *done,
                             struct err *err)
{
    struct fake_store *f = CONTAINER_OF(s, struct fake_store, store);
    return fake_change(f->all, f->world, c, NULL, done, err);
}

static void fake_store_free(struct metadata_store *s)
{
    mem_free(CONTAINER_OF(s, struct fake_store, store));
}

static struct metadata_store *fake_store_new(struct fake_world *a,
                                             struct world *w)
{
    static const struct metadata_store_ops ops = {
        fake_store_scan, fake_store_change, fake_store_free};
    struct fake_store *f = mem_zalloc(1, sizeof(*f));
    f->store.ops = &ops;
    f->all = a;
    f->world = w;
    return &f->store;
}

/* --- rows and the root's record, as a server changes them --- */

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
    int code = chubby_open(f->chubby, path, CHUBBY_READ, NULL, &h, err);
    if (code == 0)
        code = chubby_read(h, out, &stat, err);
    if (code == 0)
        *generation = stat.content_generation;
    chubby_close(h);
    return code;
}

static int fake_write_file(struct fake *f,
                           const char *path,
                           struct slice contents,
                           uint64_t generation,
                           struct err *err)
{
    struct chubby_handle *h = NULL;
    int code =
        chubby_open(f->chubby, path, CHUBBY_READ | CHUBBY_WRITE, NULL, &h, err);
    if (code == 0)
        code = chubby_write(h, contents, generation, err);
    chubby_close(h);
    return code;
}

static int fake_read_row(struct fake *f,
                         struct slice key,
                         struct fake_copy *c,
                         struct err *err)
{
    struct buf behind = BUF_INIT, b = BUF_INIT;
    static struct tablet_record rec;
    uint64_t generation;
    int code;
    if (key.len == 0) {
        code = fake_read_file(f, BIGTABLE_LOCK_ROOT_TAB, &b, &generation, err);
        if (code == 0)
            code = tablet_record_get(buf_slice(&b), &rec, err);
        if (code == 0) {
            tablet_bounds_put(&rec.bounds, &c->tablet);
            tablet_location_put(&rec.location, &c->location);
            tablet_state_put(&rec.state, &c->state);
            c->found = true;
        }
    } else {
        buf_append_slice(&behind, key);
        buf_append_byte(&behind, '\0');
        code = fake_scan(f->all, f->world, key, buf_slice(&behind), fake_keep,
                         c, err);
    }
    buf_close(&behind);
    buf_close(&b);
    return code;
}

static int fake_change_root(struct fake *f,
                            const struct metadata_change *c,
                            bool *done,
                            struct err *err)
{
    static struct tablet_record rec;
    struct buf b = BUF_INIT, l = BUF_INIT;
    uint64_t generation = 0;
    int code = fake_read_file(f, BIGTABLE_LOCK_ROOT_TAB, &b, &generation, err);
    *done = false;
    if (code == 0)
        code = tablet_record_get(buf_slice(&b), &rec, err);
    if (code == 0) {
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
        code = fake_write_file(f, BIGTABLE_LOCK_ROOT_TAB, buf_slice(&out),
                               generation, err);
        *done = code == 0;
        if (code == ERR_ABORTED)
            code = 0;
        buf_close(&out);
    }
    buf_close(&b);
    buf_close(&l);
    return code;
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
    int code = 0;
    c.key = buf_slice(&h->key);
    c.condition = METADATA_IF_LOCATION;
    c.if_location = buf_slice(&h->location);
    do {
        struct fake_copy now = {.found = false};
        if (!chubby_is_safe(f->chubby) || fiber_check(NULL))
            return err_set(err, ERR_CANCELLED, "lock lost");
        code = c.key.len ? fake_change(f->all, f->world, &c, split, &done, err)
                         : fake_change_root(f, &c, &done, err);
        if (code == 0 && !done && c.location.len &&
            fake_read_row(f, c.key, &now, NULL) == 0)
            done = slice_eq(buf_slice(&now.location), c.location);
        fake_copy_close(&now);
    } while (code);
    return done ? 0 : err_set(err, ERR_ABORTED, "not ours any more");
}

/* --- files --- */

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

/* --- tablets --- */

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
    int code;
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
        code = fake_change(f->all, f->world, &c, NULL, &done, err);
    while (code && chubby_is_safe(f->chubby) && fiber_check(NULL) == 0);
    if (code == 0)
        code = fake_change_own(f, h, &(struct metadata_change){.remove = false},
                               &SLICE_EMPTY, err);
    buf_close(&key);
    for (int i = 0; i < 3; i++)
        buf_close(&b[i]);
    return code;
}

static int fake_load_row(struct fake *f, struct held *h, struct err *err)
{
    static struct tablet_state s;
    struct tablet_bounds bounds;
    struct tablet_location l;
    struct fake_copy row = {.found = false};
    struct buf groups = BUF_INIT, state = BUF_INIT;
    int code = fake_read_row(f, buf_slice(&h->key), &row, err);
    if (code == 0 && !row.found)
        code = err_set(err, ERR_NOTFOUND, "no row");
    if (code)
        goto done;
    ck_assert_int_eq(tablet_bounds_get(buf_slice(&row.tablet), &bounds, NULL),
                     0);
    ck_assert_int_eq(tablet_location_get(buf_slice(&row.location), &l, NULL),
                     0);
    if (bounds.id != h->id || l.server != f->number || l.epoch != h->epoch) {
        code = err_set(err, ERR_ABORTED, "not ours");
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
        code = fake_finish_split(f, h, buf_slice(&row.split), err);
    if (code)
        goto done;
    ck_assert_int_eq(tablet_state_get(buf_slice(&row.state), &s, NULL), 0);
    fake_put_groups(f, h, &groups);
    s.groups = buf_slice(&groups);
    s.logs[0] = f->number;
    s.log_count = 1;
    tablet_state_put(&s, &state);
    code = fake_change_own(
        f, h, &(struct metadata_change){.state = buf_slice(&state)}, NULL, err);
done:
    fake_copy_close(&row);
    buf_close(&groups);
    buf_close(&state);
    return code;
}

static int
fake_load(struct fake *f, const struct tablet_order *o, struct err *err)
{
    struct held *h = fake_held(f, o->tablet);
    int code;
    if (h && h->epoch == o->epoch && h->phase == TABLET_SERVING)
        return err_set(err, ERR_EXISTS, "is served");
    if (h)
        return err_set(err, ERR_BUSY, "on its way");
    if (fake_has_refused(f, o->tablet, o->epoch))
        return err_set(err, ERR_ABORTED, "was taken back");
    h = fake_hold(f, o->tablet, o->epoch);
    fake_set(&h->key, o->key);
    fake_pause(f->all, f->world, fake_chance(f->all, 30) ? 3000000 : 50000);
    code = fake_chance(f->all, 40) ? err_set(err, ERR_IO, "disk")
                                   : fake_load_row(f, h, err);
    if (code == 0 && chubby_is_safe(f->chubby) && fiber_check(NULL) == 0)
        h->phase = TABLET_SERVING;
    else
        fake_drop(h);
    return code;
}

static int
fake_unload(struct fake *f, const struct tablet_order *o, struct err *err)
{
    static struct tablet_state s;
    struct held *h = fake_held(f, o->tablet);
    struct fake_copy row = {.found = false};
    struct tablet_location nobody = {0, o->epoch, SLICE_EMPTY};
    struct buf location = BUF_INIT, state = BUF_INIT;
    int code;
    if (!h || h->epoch != o->epoch) {
        fake_refuse(f, o->tablet, o->epoch);
        return err_set(err, ERR_NOTFOUND, "is not here");
    }
    if (h->phase != TABLET_SERVING)
        return err_set(err, ERR_BUSY, "on its way");
    nobody.epoch = h->epoch;
    h->phase = TABLET_UNLOADING;
    fake_pause(f->all, f->world, 50000);
    while ((code = fake_read_row(f, buf_slice(&h->key), &row, err)) &&
           fiber_check(NULL) == 0 && chubby_is_safe(f->chubby))
        ;
    if (code == 0 && row.found) {
        ck_assert_int_eq(tablet_state_get(buf_slice(&row.state), &s, NULL), 0);
        s.log_count = 0;
        tablet_state_put(&s, &state);
        tablet_location_put(&nobody, &location);
        code = fake_change_own(
            f, h,
            &(struct metadata_change){.location = buf_slice(&location),
                                      .state = buf_slice(&state)},
            NULL, err);
    }
    fake_drop(h);
    fake_copy_close(&row);
    buf_close(&location);
    buf_close(&state);
    return code;
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
    int code;
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
    code = fake_change_own(
        f, h, &(struct metadata_change){.tablet = buf_slice(&b)}, &split, err);
    if (code == 0) {
        fake_set(&h->start, buf_slice(&at));
        code = fake_finish_split(f, h, split, err);
    }
    h->phase = TABLET_SERVING;
    if (code == 0)
        half->phase = TABLET_SERVING;
    else
        fake_drop(half);
    if (code == ERR_ABORTED || code == ERR_CANCELLED)
        fake_drop(h);
    buf_close(&b);
    buf_close(&rec);
    buf_close(&groups);
    buf_close(&at);
    return code;
}

/* --- calls --- */

static int fake_check(struct fake *f,
                      uint64_t server,
                      struct slice sequencer,
                      struct err *err)
{
    if (server != f->number || !chubby_is_safe(f->chubby))
        return err_set(err, ERR_CLOSED, "another life");
    if (sequencer.len && chubby_check_sequencer(f->chubby, sequencer, err))
        return err_set(err, ERR_DENIED, "not the present master");
    return 0;
}

static int fake_on_tablet(void *ctx, struct rpc_call *call, struct err *err)
{
    struct fake *f = ctx;
    struct tablet_order o;
    struct held *h;
    int code = tablet_order_get(call->body, &o, err);
    if (code == 0)
        code = fake_check(f, o.server, o.sequencer, err);
    if (code)
        return code;
    h = fake_held(f, o.tablet);
    switch (call->method) {
    case TABLET_LOAD: code = fake_load(f, &o, err); break;
    case TABLET_UNLOAD: code = fake_unload(f, &o, err); break;
    case TABLET_SPLIT:
        code = h ? fake_split(f, h, o.row, err)
                 : err_set(err, ERR_NOTFOUND, "is not here");
        break;
    default:
        code =
            h || o.tablet == 0 ? 0 : err_set(err, ERR_NOTFOUND, "is not here");
    }
    /* The answer is lost on its way. */
    return fake_chance(f->all, 50) ? err_set(err, ERR_UNAVAILABLE, "lost")
                                   : code;
}

static int fake_on_status(void *ctx, struct rpc_call *call, struct err *err)
{
    struct fake *f = ctx;
    struct status_order o;
    struct tablet_load loads[16];
    struct server_status s = {.memory_max = 1 << 30, .tablets = loads};
    int code = status_order_get(call->body, &o, err);
    if (code == 0)
        code = fake_check(f, o.server, SLICE_EMPTY, err);
    if (code)
        return code;
    s.number = f->number;
    /* The next ids behind `after`, in order, a few at a time. */
    for (;;) {
        const struct held *next = NULL;
        for (size_t i = 0; i < HELD_MAX; i++) {
            const struct held *h = &f->held[i];
            if (h->used && h->id > o.after && (!next || h->id < next->id))
                next = h;
        }
        if (!next)
            break;
        if (s.tablet_count == 16) {
            s.more = true;
            break;
        }
        loads[s.tablet_count++] = (struct tablet_load){
            .id = next->id,
            .table = next->table,
            .epoch = next->epoch,
            .phase = next->phase,
            .bytes = 1000,
        };
        o.after = next->id;
    }
    server_status_put(&s, call->reply_body);
    return 0;
}

static int fake_on_sort(void *ctx, struct rpc_call *call, struct err *err)
{
    struct fake *f = ctx;
    struct log_order o;
    int code = log_order_get(call->body, &o, err);
    if (code == 0)
        code = fake_check(f, o.server, o.sequencer, err);
    if (code)
        return code;
    /* Nobody may write to it any more. */
    for (size_t i = 0; i < f->all->fake_count; i++)
        ck_assert(f->all->fakes[i]->number != o.log ||
                  !chubby_is_safe(f->all->fakes[i]->chubby));
    fake_pause(f->all, f->world, fake_chance(f->all, 10) ? 20000000 : 300000);
    if (fake_chance(f->all, 10) || fiber_check(NULL))
        return err_set(err, ERR_IO, "disk");
    f->all->sorted[o.log][o.segment.data[0] - '0'] = true;
    return 0;
}

static int fake_on_schema(void *ctx, struct rpc_call *call, struct err *err)
{
    struct fake *f = ctx;
    struct schema_order o;
    int code = schema_order_get(call->body, &o, err);
    return code ? code : fake_check(f, o.server, o.sequencer, err);
}

/* --- a server's life --- */

static int fake_take_number(struct fake *f, struct err *err)
{
    struct cluster_counters c;
    struct buf b = BUF_INIT;
    uint64_t generation = 0;
    int code;
    do {
        buf_clear(&b);
        code = fake_read_file(f, BIGTABLE_LOCK_COUNTERS, &b, &generation, err);
        if (code == 0)
            code = cluster_counters_get(buf_slice(&b), &c, err);
        if (code)
            break;
        f->number = 0;
        c.server++;
        buf_clear(&b);
        cluster_counters_put(&c, &b);
        code = fake_write_file(f, BIGTABLE_LOCK_COUNTERS, buf_slice(&b),
                               generation, err);
    } while (code == ERR_ABORTED);
    buf_close(&b);
    if (code == 0) {
        ck_assert_uint_lt(c.server - 1, FAKE_LOGS_MAX);
        f->number = c.server - 1;
        f->next_id = 1;
    }
    return code;
}

static int fake_register(struct fake *f, struct err *err)
{
    struct chubby_open_options o = {.lock_delay_ms = 200};
    struct server_record rec = {f->number, slice_str(f->address)};
    struct buf b = BUF_INIT;
    char path[64];
    int code;
    for (int g = 0; g < FAKE_SEGMENTS; g++) {
        snprintf(path, sizeof(path), "log/%08llu/%d",
                 (unsigned long long)f->number, g);
        ck_assert_int_eq(fs_replace(f->all->fs, path, SLICE_LIT("x"), NULL), 0);
    }
    snprintf(path, sizeof(path), BIGTABLE_LOCK_SERVERS "/%llu",
             (unsigned long long)f->number);
    code = chubby_open(f->chubby, path,
                       CHUBBY_READ | CHUBBY_WRITE | CHUBBY_CREATE | CHUBBY_NEW,
                       &o, &f->lock, err);
    if (code == 0)
        code = chubby_try_acquire(f->lock, CHUBBY_EXCLUSIVE, err);
    server_record_put(&rec, &b);
    if (code == 0)
        code = chubby_write(f->lock, buf_slice(&b), 0, err);
    buf_close(&b);
    return code;
}

/* Split something now and then; the master is not told. */
static void fake_live(struct fake *f)
{
    while (fiber_check(NULL) == 0 && chubby_is_safe(f->chubby)) {
        struct held *h;
        char row[16];
        world_sleep_us(f->world, 200000);
        h = &f->held[rand_below(&f->all->random, HELD_MAX)];
        if (f->all->calm || !h->used || h->phase != TABLET_SERVING ||
            f->all->row_count > 150)
            continue;
        snprintf(row, sizeof(row), "%03u",
                 (unsigned)rand_below(&f->all->random, 1000));
        (void)!fake_split(f, h, slice_str(row), NULL);
    }
}

static void fake_main(void *arg)
{
    static const struct rpc_method methods[] = {
        {TABLET_LOAD, "load", fake_on_tablet},
        {TABLET_UNLOAD, "unload", fake_on_tablet},
        {TABLET_SPLIT, "split", fake_on_tablet},
        {TABLET_COMPACT, "compact", fake_on_tablet},
        {TABLET_FLUSH, "flush", fake_on_tablet},
        {TABLET_DROP_ROWS, "drop rows", fake_on_tablet},
        {TABLET_SCHEMA, "schema", fake_on_schema},
        {TABLET_STATUS, "status", fake_on_status},
        {TABLET_LOG_SORT, "sort", fake_on_sort},
    };
    struct fake *f = arg;
    struct rpc_server *rpc = rpc_server_new(f->world);
    struct rpc_listen_options listen = {.security = f->all->security};
    struct rpc_listener *listener = NULL;
    struct chubby_options o = {.servers = f->all->cell,
                               .server_count = f->all->cell_count,
                               .security = f->all->security,
                               .lease_ms = 2000,
                               .grace_ms = 4000};
    struct err err = ERR_INIT;
    int code;

    f->chubby = NULL;
    f->lock = NULL;
    f->number = 0;
    rpc_server_add(rpc, methods, ARRAY_LEN(methods), f);
    code = chubby_connect(f->world, &o, &f->chubby, &err);
    /* The master makes the counters. */
    while (code == 0 && (code = fake_take_number(f, &err)) == ERR_NOTFOUND &&
           fiber_check(NULL) == 0)
        world_sleep_us(f->world, 100000), code = 0;
    if (code == 0)
        code = rpc_listen(rpc, f->address, &listen, &listener, &err);
    if (code == 0)
        code = fake_register(f, &err);
    if (code == 0)
        fake_live(f);
    sim_note(f->all->sim, "tablet server %llu ends: %s",
             (unsigned long long)f->number, code ? err.text : "lock lost");
    rpc_listener_close(listener);
    for (size_t i = 0; i < HELD_MAX; i++)
        if (f->held[i].used)
            fake_drop(&f->held[i]);
    f->number = 0;
    chubby_close(f->lock);
    chubby_disconnect(f->chubby);
    f->chubby = NULL;
    rpc_server_free(rpc);
}

#endif /* TESTS_SIM_FAKE_TABLETS_H */
