/* The state that fake tablet servers (fake_tablets.h) share: chance, which
 * parts of logs are sorted, and a METADATA in memory, which fails now and
 * then. */
#ifndef TESTS_SIM_FAKE_METADATA_H
#define TESTS_SIM_FAKE_METADATA_H

#include <stdlib.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/rpc/security.h"
#include "base/runtime/fiber.h"
#include "base/sim/sim_cluster.h"
#include "bigtable/master/metadata_store.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/wire/control_calls.h"
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
    bool let_go[FAKE_LOGS_MAX][FAKE_SEGMENTS]; /* By who wrote it. */
    bool late; /* Dying servers release a segment while it is sorted. */
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

    /* The tablet that it reported missing, and does not load in that epoch. */
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

/* --- METADATA ------------------------------------------------------------ */

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
    int rc = 0;
    buf_append_slice(&at, start);
    while (rc == 0) {
        size_t i;
        struct metadata_row row;
        fake_pause(a, w, 100);
        i = fake_at(a, buf_slice(&at));
        if (!fake_is_readable(a, buf_slice(&at)) || fake_chance(a, 3000)) {
            rc = fake_unavailable(err);
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
            rc = fake_unavailable(err);
            break;
        }
        fake_set(&at, row.key);
        buf_append_byte(&at, '\0');
        rc = fn(ctx, &row, err);
    }
    buf_close(&at);
    return rc;
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

#endif /* TESTS_SIM_FAKE_METADATA_H */
