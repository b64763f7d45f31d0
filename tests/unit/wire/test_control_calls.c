/* Orders about tablets, and what servers say of them, come back as they were
 * sent, or not at all. */
#include <string.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/rand.h"
#include "bigtable/wire/control_calls.h"
#include "bigtable/wire/log_calls.h"
#include "tests/lib/check_main.h"

#define ROUNDS 1000

static uint64_t number(struct rand_gen *r)
{
    return rand_u64(r) >> rand_below(r, 64);
}

static struct slice text(struct rand_gen *r, char *to, size_t max)
{
    size_t len = rand_below(r, max + 1);
    for (size_t i = 0; i < len; i++)
        to[i] = (char)rand_u64(r);
    return slice_make(to, len);
}

/* Orders of all kinds survive the journey; cut short they are corrupt. */
START_TEST(test_orders_round_trip)
{
    struct rand_gen r;
    struct buf b = BUF_INIT;
    char t[5][20];
    rand_init(&r, test_seed());
    for (int i = 0; i < ROUNDS; i++) {
        struct tablet_order o = {text(&r, t[0], 20), number(&r),
                                 number(&r),         number(&r),
                                 text(&r, t[1], 20), text(&r, t[2], 20),
                                 text(&r, t[3], 20), text(&r, t[4], 20)},
                            p;
        buf_clear(&b);
        tablet_order_put(&o, &b);
        ck_assert_int_eq(tablet_order_get(buf_slice(&b), &p, NULL), 0);
        ck_assert(slice_eq(o.sequencer, p.sequencer) && o.server == p.server &&
                  o.tablet == p.tablet && o.epoch == p.epoch &&
                  slice_eq(o.key, p.key) && slice_eq(o.row, p.row) &&
                  slice_eq(o.row_end, p.row_end) &&
                  slice_eq(o.holders, p.holders));
        ck_assert_int_eq(
            tablet_order_get(slice_sub(buf_slice(&b), 0, rand_below(&r, b.len)),
                             &p, NULL),
            ERR_CORRUPT);
    }
    buf_close(&b);
}

END_TEST

START_TEST(test_other_orders_round_trip)
{
    struct rand_gen r;
    struct buf b = BUF_INIT;
    char t[4][20];
    rand_init(&r, test_seed());
    for (int i = 0; i < ROUNDS; i++) {
        struct schema_order s = {
            text(&r, t[0], 20),
            number(&r),
            {number(&r), number(&r), text(&r, t[1], 20), rand_one_in(&r, 2)}};
        struct schema_order s2;
        struct status_order q = {number(&r), number(&r), 17}, q2;
        struct log_order l = {text(&r, t[2], 20), number(&r), number(&r),
                              text(&r, t[3], 20)},
                         l2;
        buf_clear(&b);
        schema_order_put(&s, &b);
        ck_assert_int_eq(schema_order_get(buf_slice(&b), &s2, NULL), 0);
        ck_assert(slice_eq(s.sequencer, s2.sequencer) &&
                  s.server == s2.server && s.table.id == s2.table.id &&
                  s.table.generation == s2.table.generation &&
                  slice_eq(s.table.schema, s2.table.schema) &&
                  s.table.dropping == s2.table.dropping);
        buf_clear(&b);
        status_order_put(&q, &b);
        ck_assert_int_eq(status_order_get(buf_slice(&b), &q2, NULL), 0);
        ck_assert(q.server == q2.server && q.after == q2.after &&
                  q.max == q2.max);
        buf_clear(&b);
        log_order_put(&l, &b);
        ck_assert_int_eq(log_order_get(buf_slice(&b), &l2, NULL), 0);
        ck_assert(slice_eq(l.sequencer, l2.sequencer) &&
                  l.server == l2.server && l.log == l2.log &&
                  slice_eq(l.segment, l2.segment));
    }
    buf_close(&b);
}

END_TEST

/* So do those about sorted segments, and the list of who has them. */
START_TEST(test_log_calls_round_trip)
{
    struct rand_gen r;
    struct buf b = BUF_INIT;
    char t[4][20];
    rand_init(&r, test_seed());
    for (int i = 0; i < ROUNDS; i++) {
        struct log_read q = {text(&r, t[0], 20), number(&r),
                             number(&r),         text(&r, t[1], 20),
                             number(&r) / 2,     text(&r, t[2], 20),
                             text(&r, t[3], 20), number(&r)},
                        q2;
        struct log_sorted s = {rand_one_in(&r, 2)}, s2;
        struct log_holder h[3], h2;
        struct cursor c;
        buf_clear(&b);
        log_read_put(&q, &b);
        ck_assert_int_eq(log_read_get(buf_slice(&b), &q2, NULL), 0);
        ck_assert(slice_eq(q.sequencer, q2.sequencer) &&
                  q.server == q2.server && q.log == q2.log &&
                  slice_eq(q.segment, q2.segment) && q.table == q2.table &&
                  slice_eq(q.start, q2.start) && slice_eq(q.end, q2.end) &&
                  q.skip == q2.skip);
        buf_clear(&b);
        log_sorted_put(&s, &b);
        ck_assert_int_eq(log_sorted_get(buf_slice(&b), &s2, NULL), 0);
        ck_assert(s.held == s2.held);
        buf_clear(&b);
        for (size_t k = 0; k < 3; k++) {
            h[k] = (struct log_holder){number(&r), number(&r),
                                       text(&r, t[k], 20), slice_str("a:1")};
            log_holder_put(&h[k], &b);
        }
        c = cursor_make(buf_slice(&b));
        for (size_t k = 0; k < 3; k++) {
            ck_assert(log_holder_next(&c, &h2));
            ck_assert(h[k].log == h2.log && h[k].server == h2.server &&
                      slice_eq(h[k].segment, h2.segment) &&
                      slice_eq(h[k].address, h2.address));
        }
        ck_assert(!log_holder_next(&c, &h2) && !c.bad);
        c = cursor_make(slice_sub(buf_slice(&b), 0, b.len - 1));
        while (log_holder_next(&c, &h2))
            ;
        ck_assert(c.bad);
    }
    buf_close(&b);
}

END_TEST

START_TEST(test_orders_to_the_master_round_trip)
{
    struct rand_gen r;
    struct buf b = BUF_INIT;
    char t[4][20];
    rand_init(&r, test_seed());
    for (int i = 0; i < ROUNDS; i++) {
        struct table_order o = {text(&r, t[0], 20), text(&r, t[1], 20),
                                text(&r, t[2], 20), text(&r, t[3], 20)},
                           o2;
        struct move_order m = {number(&r), text(&r, t[0], 20),
                               text(&r, t[1], 20), text(&r, t[2], 0)},
                          m2;
        struct move_reply y = {number(&r), number(&r), number(&r), number(&r)},
                          y2;
        struct unload_reply u = {number(&r)}, u2;
        buf_clear(&b);
        table_order_put(&o, &b);
        ck_assert_int_eq(table_order_get(buf_slice(&b), &o2, NULL), 0);
        ck_assert(slice_eq(o.name, o2.name) && slice_eq(o.schema, o2.schema) &&
                  slice_eq(o.row, o2.row) && slice_eq(o.row_end, o2.row_end));
        buf_clear(&b);
        move_order_put(&m, &b);
        ck_assert_int_eq(move_order_get(buf_slice(&b), &m2, NULL), 0);
        ck_assert(m.tablet == m2.tablet && slice_eq(m.server, m2.server) &&
                  slice_eq(m.table, m2.table) && slice_eq(m.row, m2.row));
        buf_clear(&b);
        move_reply_put(&y, &b);
        ck_assert_int_eq(move_reply_get(buf_slice(&b), &y2, NULL), 0);
        ck_assert(memcmp(&y, &y2, sizeof(y)) == 0);
        buf_clear(&b);
        unload_reply_put(&u, &b);
        ck_assert_int_eq(unload_reply_get(buf_slice(&b), &u2, NULL), 0);
        ck_assert_uint_eq(u.closed_us, u2.closed_us);
    }
    buf_close(&b);
}

END_TEST

static void draw_load(struct rand_gen *r, struct tablet_load *t)
{
    *t = (struct tablet_load){
        .id = number(r),
        .table = number(r),
        .epoch = number(r),
        .phase = (enum tablet_phase)(1 + rand_below(r, 3)),
        .bytes = number(r),
        .memory_bytes = number(r),
        .reads = number(r),
        .writes = number(r),
        .cpu_us = number(r),
    };
}

static bool same_load(const struct tablet_load *a, const struct tablet_load *b)
{
    return a->id == b->id && a->table == b->table && a->epoch == b->epoch &&
           a->phase == b->phase && a->bytes == b->bytes &&
           a->memory_bytes == b->memory_bytes && a->reads == b->reads &&
           a->writes == b->writes && a->cpu_us == b->cpu_us;
}

/* The status of a server and of its tablets is read as it was written. */
START_TEST(test_server_status_round_trip)
{
    struct rand_gen r;
    struct buf b = BUF_INIT;
    struct arena a;
    static struct tablet_load loads[STATUS_TABLETS_MAX];
    rand_init(&r, test_seed());
    arena_init(&a);
    for (int i = 0; i < 100; i++) {
        size_t n = i == 0 ? STATUS_TABLETS_MAX : rand_below(&r, 20);
        struct server_status s = {number(&r),         number(&r), number(&r),
                                  number(&r),         number(&r), number(&r),
                                  rand_one_in(&r, 2), n,          loads},
                             s2;
        for (size_t j = 0; j < n; j++)
            draw_load(&r, &loads[j]);
        buf_clear(&b);
        arena_reset(&a);
        server_status_put(&s, &b);
        ck_assert_int_eq(server_status_get(buf_slice(&b), &a, &s2, NULL), 0);
        ck_assert(s.number == s2.number && s.memory_bytes == s2.memory_bytes &&
                  s.memory_max == s2.memory_max &&
                  s.log_bytes == s2.log_bytes &&
                  s.files_decided == s2.files_decided &&
                  s.tablet_total == s2.tablet_total && s.more == s2.more);
        ck_assert_uint_eq(s2.tablet_count, n);
        for (size_t j = 0; j < n; j++)
            ck_assert(same_load(&s.tablets[j], &s2.tablets[j]));
        ck_assert_int_eq(
            server_status_get(slice_sub(buf_slice(&b), 0, b.len - 1), &a, &s2,
                              NULL),
            ERR_CORRUPT);
    }
    arena_close(&a);
    buf_close(&b);
}

END_TEST

/* A count that the bytes cannot hold, or a phase there is not, is refused
 * without memory being taken for it. */
START_TEST(test_hostile_counts)
{
    static const char huge[] =
        "\x97\x01\x01\x01\x01\x01\xc2\xdd\xff\xff\xff\xff";
    static const char phase[] =
        "\x97\x01\x01\x01\x01\x01\xc2\x91\x99\1\1\1\4\1\1\1\1\1";
    struct arena a;
    struct server_status s;
    arena_init(&a);
    ck_assert_int_eq(
        server_status_get(slice_make(huge, sizeof(huge) - 1), &a, &s, NULL),
        ERR_CORRUPT);
    ck_assert_int_eq(
        server_status_get(slice_make(phase, sizeof(phase) - 1), &a, &s, NULL),
        ERR_CORRUPT);
    ck_assert_uint_lt(a.reserved_bytes, 1u << 20);
    arena_close(&a);
}

END_TEST

TEST_MAIN("control_calls",
          test_orders_round_trip,
          test_log_calls_round_trip,
          test_other_orders_round_trip,
          test_orders_to_the_master_round_trip,
          test_server_status_round_trip,
          test_hostile_counts)
