/* Tablet servers that keep no rows, and a METADATA in memory, for trying the
 * master: they follow the protocol of bigtable/wire to the letter (numbers,
 * locks, epochs, conditional writes, splits in three steps, logs named by
 * tablets), take their time, fail now and then, and see to it that nothing is
 * asked of them that would lose data.
 */
#ifndef TESTS_SIM_FAKE_TABLETS_H
#define TESTS_SIM_FAKE_TABLETS_H

#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/rpc/remote.h"
#include "base/runtime/fiber.h"
#include "base/sim/sim_cluster.h"
#include "bigtable/wire/control_calls.h"
#include "chubby-lite/chubby.h"
#include "tests/sim/fake_held.h"

/* --- calls --------------------------------------------------------------- */

static int fake_check(struct fake *f,
                      uint64_t server,
                      struct slice sequencer,
                      struct err *err)
{
    if (server != f->number || !chubby_is_safe(f->chubby))
        return err_set(err, ERR_CLOSED, "another incarnation");
    if (sequencer.len && chubby_check_sequencer(f->chubby, sequencer, err))
        return err_set(err, ERR_DENIED, "not the present master");
    return 0;
}

static int fake_on_tablet(void *ctx, struct rpc_call *call, struct err *err)
{
    struct fake *f = ctx;
    struct tablet_order o;
    struct held *h;
    int rc = tablet_order_get(call->body, &o, err);
    if (rc == 0)
        rc = fake_check(f, o.server, o.sequencer, err);
    if (rc)
        return rc;
    h = fake_held(f, o.tablet);
    switch (call->method) {
    case TABLET_LOAD: rc = fake_load(f, &o, err); break;
    case TABLET_UNLOAD: rc = fake_unload(f, &o, err); break;
    case TABLET_SPLIT:
        rc = h ? fake_split(f, h, o.row, err)
               : err_set(err, ERR_NOTFOUND, "is not here");
        break;
    default:
        rc = h || o.tablet == 0 ? 0 : err_set(err, ERR_NOTFOUND, "is not here");
    }
    /* The answer is lost on its way. */
    return fake_chance(f->all, 50) ? err_set(err, ERR_UNAVAILABLE, "lost") : rc;
}

static int fake_on_status(void *ctx, struct rpc_call *call, struct err *err)
{
    struct fake *f = ctx;
    struct status_order o;
    struct tablet_load loads[16];
    struct server_status s = {.memory_max = 1 << 30, .tablets = loads};
    int rc = status_order_get(call->body, &o, err);
    if (rc == 0)
        rc = fake_check(f, o.server, SLICE_EMPTY, err);
    if (rc)
        return rc;
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

/* The dead server had put all of it into files, and its order to remove it came
 * late. */
static void fake_let_go(struct fake_world *all, uint64_t log, int segment)
{
    char path[64];
    snprintf(path, sizeof(path), "log/%08llu/%d", (unsigned long long)log,
             segment);
    if (!all->let_go[log][segment])
        ck_assert_int_eq(fs_remove(all->fs, path, NULL), 0);
    all->let_go[log][segment] = true;
}

static int fake_on_sort(void *ctx, struct rpc_call *call, struct err *err)
{
    struct fake *f = ctx;
    struct log_order o;
    int rc = log_order_get(call->body, &o, err);
    if (rc == 0)
        rc = fake_check(f, o.server, o.sequencer, err);
    if (rc)
        return rc;
    /* Nobody may write to it any more. */
    for (size_t i = 0; i < f->all->fake_count; i++)
        ck_assert(f->all->fakes[i]->number != o.log ||
                  !chubby_is_safe(f->all->fakes[i]->chubby));
    fake_pause(f->all, f->world, fake_chance(f->all, 10) ? 20000000 : 300000);
    if (fake_chance(f->all, 10) || fiber_check(NULL))
        return err_set(err, ERR_IO, "disk");
    if (f->all->late && o.segment.data[0] == '1') {
        fake_let_go(f->all, o.log, 1);
        return err_set(err, ERR_NOTFOUND, "no such file");
    }
    f->all->sorted[o.log][o.segment.data[0] - '0'] = true;
    return 0;
}

static int fake_on_schema(void *ctx, struct rpc_call *call, struct err *err)
{
    struct fake *f = ctx;
    struct schema_order o;
    int rc = schema_order_get(call->body, &o, err);
    return rc ? rc : fake_check(f, o.server, o.sequencer, err);
}

/* --- a server's life ----------------------------------------------------- */

static int fake_take_number(struct fake *f, struct err *err)
{
    struct cluster_counters c;
    struct buf b = BUF_INIT;
    uint64_t generation = 0;
    int rc;
    do {
        buf_clear(&b);
        rc = fake_read_file(f, BIGTABLE_LOCK_COUNTERS, &b, &generation, err);
        if (rc == 0)
            rc = cluster_counters_get(buf_slice(&b), &c, err);
        if (rc)
            break;
        f->number = 0;
        c.server++;
        buf_clear(&b);
        cluster_counters_put(&c, &b);
        rc = fake_write_file(f, BIGTABLE_LOCK_COUNTERS, buf_slice(&b),
                             generation, err);
    } while (rc == ERR_ABORTED);
    buf_close(&b);
    if (rc == 0) {
        ck_assert_uint_lt(c.server - 1, FAKE_LOGS_MAX);
        f->number = c.server - 1;
        f->next_id = 1;
    }
    return rc;
}

static int fake_register(struct fake *f, struct err *err)
{
    struct chubby_open_options o = {.lock_delay_ms = 200};
    struct server_record rec = {f->number, slice_str(f->address)};
    struct buf b = BUF_INIT;
    char path[64];
    int rc;
    for (int g = 0; g < FAKE_SEGMENTS; g++) {
        snprintf(path, sizeof(path), "log/%08llu/%d",
                 (unsigned long long)f->number, g);
        ck_assert_int_eq(fs_replace(f->all->fs, path, SLICE_LIT("x"), NULL), 0);
    }
    snprintf(path, sizeof(path), BIGTABLE_LOCK_SERVERS "/%llu",
             (unsigned long long)f->number);
    rc = chubby_open(f->chubby, path,
                     CHUBBY_READ | CHUBBY_WRITE | CHUBBY_CREATE | CHUBBY_NEW,
                     &o, &f->lock, err);
    if (rc == 0)
        rc = chubby_try_acquire(f->lock, CHUBBY_EXCLUSIVE, err);
    server_record_put(&rec, &b);
    if (rc == 0)
        rc = chubby_write(f->lock, buf_slice(&b), 0, err);
    buf_close(&b);
    return rc;
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
        {TABLET_LOAD, "load", fake_on_tablet, 0},
        {TABLET_UNLOAD, "unload", fake_on_tablet, 0},
        {TABLET_SPLIT, "split", fake_on_tablet, 0},
        {TABLET_COMPACT, "compact", fake_on_tablet, 0},
        {TABLET_FLUSH, "flush", fake_on_tablet, 0},
        {TABLET_DROP_ROWS, "drop rows", fake_on_tablet, 0},
        {TABLET_SCHEMA, "schema", fake_on_schema, 0},
        {TABLET_STATUS, "status", fake_on_status, 0},
        {TABLET_LOG_SORT, "sort", fake_on_sort, 0},
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
    int rc;

    f->chubby = NULL;
    f->lock = NULL;
    f->number = 0;
    rpc_server_add(rpc, methods, ARRAY_LEN(methods), f);
    rc = chubby_connect(f->world, &o, &f->chubby, &err);
    /* The master makes the counters. */
    while (rc == 0 && (rc = fake_take_number(f, &err)) == ERR_NOTFOUND &&
           fiber_check(NULL) == 0)
        world_sleep_us(f->world, 100000), rc = 0;
    if (rc == 0)
        rc = rpc_listen(rpc, f->address, &listen, &listener, &err);
    if (rc == 0)
        rc = fake_register(f, &err);
    if (rc == 0)
        fake_live(f);
    sim_note(f->all->sim, "tablet server %llu ends: %s",
             (unsigned long long)f->number, rc ? err.text : "lock lost");
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
