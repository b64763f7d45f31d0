/* Tablet servers load, serve, split and unload tablets as the master orders,
 * and what they acknowledged is found wherever a tablet goes. */
#include "bigtable/wire/methods.h"
#include "tests/unit/tablet_server/fixture.h"

static void run(task_fn scenario)
{
    start_cluster(1);
    server_options.rows = fake_metadata();
    sim_cluster_run(cluster, scenario, NULL);
    forget_rows();
    free_cluster();
}

/* The tablet @id of all rows, loaded by @n. */
static void load_first(struct node *n, uint64_t id)
{
    make_table();
    make_tablet(id, "", "", n, 1);
    OK(order_of(n, TABLET_LOAD, "", err));
}

/* --- Tests --------------------------------------------------------------- */

/* The root tablet, whose record is a file of the lock service, is served, and
 * another server that loads it after it was unloaded finds all its rows. */
static void root_moves(void *arg)
{
    struct node *a = &nodes[0];
    struct node *b = &nodes[1];
    (void)arg;
    begin();
    boot(a);
    boot(b);
    write_root(a, 1);
    OK(order(a, TABLET_LOAD, ROOT_TABLET, 1, SLICE_EMPTY, SLICE_EMPTY, err));
    OK(put(a, ROOT_TABLET, "x", "1", err));
    OK(put(a, ROOT_TABLET, "y", "2", err));
    expect_rows(a, ROOT_TABLET, "x=1 y=2 ");
    OK(order(a, TABLET_UNLOAD, ROOT_TABLET, 1, SLICE_EMPTY, SLICE_EMPTY, err));
    ck_assert_int_eq(put(a, ROOT_TABLET, "z", "3", NULL), ERR_NOTFOUND);
    move_root(b, 2);
    OK(order(b, TABLET_LOAD, ROOT_TABLET, 2, SLICE_EMPTY, SLICE_EMPTY, err));
    expect_rows(b, ROOT_TABLET, "x=1 y=2 ");
    OK(put(b, ROOT_TABLET, "x", "3", err));
    expect_rows(b, ROOT_TABLET, "x=3 y=2 ");
    end();
}

START_TEST(test_root_moves)
{
    run(root_moves);
}

END_TEST

/* A client of a tablet that is not here, or of a row that it does not have,
 * gets the error that makes it look up the tablet again. */
static void unauthenticated(void *arg)
{
    struct node *a = &nodes[0];
    (void)arg;
    begin();
    boot(a);
    make_table();
    make_tablet(5, "", "m", a, 1);
    ck_assert_int_eq(put(a, 5, "b", "1", fresh_err()), ERR_NOTFOUND);
    ck_assert_int_eq(test_err.detail, ERR_DETAIL_ELSEWHERE);
    OK(order_of(a, TABLET_LOAD, "m", err));
    ck_assert_int_eq(order_of(a, TABLET_LOAD, "m", NULL), ERR_EXISTS);
    OK(put(a, 5, "b", "1", err));
    ck_assert_int_eq(put(a, 5, "n", "1", fresh_err()), ERR_NOTFOUND);
    ck_assert_int_eq(test_err.detail, ERR_DETAIL_ELSEWHERE);
    expect_rows(a, 5, "b=1 ");
    end();
}

START_TEST(test_unauthenticated)
{
    run(unauthenticated);
}

END_TEST

/* An order for another server's number, or by one who is not master, is
 * refused. */
static void wrong_orders(void *arg)
{
    struct node *a = &nodes[0];
    (void)arg;
    begin();
    boot(a);
    make_table();
    make_tablet(5, "", "", a, 1);
    a->number++;
    ck_assert_int_eq(
        order(a, TABLET_LOAD, 5, 1, SLICE_LIT("k"), SLICE_EMPTY, NULL),
        ERR_CLOSED);
    a->number--;
    ck_assert_int_eq(chubby_release(master_lock, NULL), 0);
    ck_assert_int_eq(order_of(a, TABLET_LOAD, "", NULL), ERR_DENIED);
    end();
}

START_TEST(test_wrong_orders)
{
    run(wrong_orders);
}

END_TEST

/* The gate of a method refuses a call before the handler reads its body: the
 * bodies here have the head of an order and nothing else. */
enum gate_tried {
    TRIED_ORDER,
    TRIED_CLUSTER,
    TRIED_READY
};

static const struct tried_method {
    uint32_t number;
    enum gate_tried gate;
} tried_methods[] = {

#define TRIED(NAME, number, name, handler, gate) {NAME, TRIED_##gate},
    TABLET_METHODS(TRIED)};

static int try_head(struct node *n,
                    uint32_t method,
                    const char *sequencer,
                    uint64_t number)
{
    const struct order_head h = {slice_str(sequencer), number};
    struct buf body = BUF_INIT;
    int rc;
    order_head_put(&h, &body);
    rc = call(n, method, &body, SLICE_EMPTY, NULL, NULL, NULL);
    buf_close(&body);
    return rc;
}

static void gates(void *arg)
{
    struct node *a = &nodes[0];
    (void)arg;
    begin();
    boot(a);
    for (size_t i = 0; i < ARRAY_LEN(tried_methods); i++) {
        const struct tried_method *m = &tried_methods[i];
        int passed = try_head(a, m->number, master_sequencer, a->number);
        ck_assert_msg(passed == ERR_CORRUPT || passed == ERR_INVALID,
                      "method 0x%x: %s", m->number, err_name(passed));
        if (m->gate != TRIED_ORDER)
            continue;
        ck_assert_int_eq(
            try_head(a, m->number, master_sequencer, a->number + 1),
            ERR_CLOSED);
        ck_assert_int_eq(try_head(a, m->number, "none", a->number), ERR_DENIED);
    }
    end();
}

START_TEST(test_gates)
{
    run(gates);
}

END_TEST

/* A tablet that is split by order is two tablets here at once, each with its
 * rows and its record; the one that was split is gone. Moved, they still have
 * their rows. */
static void split(void *arg)
{
    struct node *a = &nodes[0];
    struct node *b = &nodes[1];
    uint64_t lower;
    uint64_t upper;
    (void)arg;
    begin();
    boot(a);
    boot(b);
    load_first(a, 5);
    OK(put(a, 5, "b", "1", err));
    OK(put(a, 5, "p", "2", err));
    OK(order(a, TABLET_SPLIT, 5, 1, SLICE_EMPTY, SLICE_LIT("m"), err));
    lower = bounds_of("m").id;
    upper = bounds_of("").id;
    ck_assert_uint_ne(lower, 5);
    ck_assert_uint_ne(upper, 5);
    ck_assert_uint_eq(tablet_row_of("")->row.split.len, 0);
    ck_assert_int_eq(put(a, 5, "b", "9", NULL), ERR_NOTFOUND);
    expect_rows(a, lower, "b=1 ");
    expect_rows(a, upper, "p=2 ");
    OK(put(a, lower, "c", "3", err));
    OK(put(a, upper, "q", "4", err));
    OK(order_of(a, TABLET_UNLOAD, "m", err));
    ck_assert_uint_eq(location_of("m").server, 0);
    assign("m", b, 2);
    OK(order_of(b, TABLET_LOAD, "m", err));
    expect_rows(b, lower, "b=1 c=3 ");
    expect_rows(a, upper, "p=2 q=4 ");
    end();
}

START_TEST(test_split)
{
    run(split);
}

END_TEST

/* Writers to a tablet that moves to and fro. */
struct writer_state {
    struct node *where;
    bool stop;
    unsigned tries;
    unsigned acked[1000];
    unsigned count;
};

static void write_on(void *arg)
{
    struct writer_state *w = arg;
    while (!w->stop && w->tries < ARRAY_LEN(w->acked)) {
        char row[16];
        unsigned i = w->tries++;
        snprintf(row, sizeof(row), "r%04u", i);
        if (put(w->where, 5, row, "x", NULL) == 0)
            w->acked[w->count++] = i;
        world_sleep_us(director, 300);
    }
}

static struct writer_state writers;

/* Rows are written while their tablet moves: all that were acknowledged are
 * there afterwards, wherever it is. */
static void moves(void *arg)
{
    struct fiber *f;
    struct buf got = BUF_INIT;
    (void)arg;
    begin();
    boot(&nodes[0]);
    boot(&nodes[1]);
    load_first(&nodes[0], 5);
    writers = (struct writer_state){.where = &nodes[0]};
    f = fiber_start(loop_self(), "writer", write_on, &writers);
    for (int i = 0; i < 6; i++) {
        struct node *from = &nodes[i % 2];
        struct node *to = &nodes[(i + 1) % 2];
        world_sleep_us(director, 20000);
        OK(order_of(from, TABLET_UNLOAD, "", err));
        assign("", to, (uint64_t)i + 2);
        OK(order_of(to, TABLET_LOAD, "", err));
        writers.where = to;
    }
    world_sleep_us(director, 20000);
    writers.stop = true;
    fiber_join(f);
    OK(read_all(writers.where, 5, &got, err));
    ck_assert_uint_gt(writers.count, 50);
    for (unsigned i = 0; i < writers.count; i++) {
        char want[16];
        snprintf(want, sizeof(want), "r%04u=x", writers.acked[i]);
        ck_assert_msg(strstr(buf_cstr(&got), want), "%s is lost", want);
    }
    buf_close(&got);
    end();
}

START_TEST(test_moves_under_writes)
{
    run(moves);
}

END_TEST

/* The counter's value; -1: the client was told before what became of it. */
static int increment(struct node *n,
                     uint64_t tablet,
                     struct change_origin origin,
                     uint64_t sequence)
{
    const struct quarry_rmw_rule rule = {.kind = QUARRY_RMW_INCREMENT,
                                         .family = "t",
                                         .qualifier = SLICE_LIT("n"),
                                         .increment = 1};
    struct modify_request r = {.tablet = tablet,
                               .row = SLICE_LIT("counter"),
                               .rules = &rule,
                               .rule_count = 1,
                               .origin = origin,
                               .sequence = sequence};
    struct rpc_call_options o = {.timeout_us = SECOND};
    struct buf body = BUF_INIT;
    struct buf rows = BUF_INIT;
    struct row_decoder d;
    const struct quarry_row *row;
    int value = -1;
    int rc;
    modify_request_put(&r, &body);
    rc = rpc_call(n->channel, TABLET_MODIFY, &o, buf_slice(&body), SLICE_EMPTY,
                  NULL, &rows, NULL);
    ck_assert(rc == 0 || rc == ERR_ABORTED);
    row_decoder_init(&d, buf_slice(&rows));
    if (rc == 0) {
        OK(row_decoder_next(&d, &row, err));
        value = row->cells[0].value.data[7];
    }
    row_decoder_close(&d);
    buf_close(&body);
    buf_close(&rows);
    return value;
}

/* A counter's increment that is asked for twice, because the answer was lost,
 * is done once, and answered alike; and not at all when its client has said
 * that it knows what became of it. */
static void increments(void *arg)
{
    const struct change_origin none = {.session = 0};
    const struct change_origin first = {.session = 9, .floor = 1};
    const struct change_origin later = {.session = 9, .floor = 3};
    struct node *a = &nodes[0];
    (void)arg;
    begin();
    boot(a);
    load_first(a, 5);
    ck_assert_int_eq(increment(a, 5, first, 1), 1);
    ck_assert_int_eq(increment(a, 5, first, 1), 1);
    ck_assert_int_eq(increment(a, 5, first, 2), 2);
    ck_assert_int_eq(increment(a, 5, none, 0), 3);
    ck_assert_int_eq(increment(a, 5, none, 0), 4);
    ck_assert_int_eq(increment(a, 5, first, 2), 2);
    ck_assert_int_eq(increment(a, 5, later, 3), 5);
    ck_assert_int_eq(increment(a, 5, first, 2), -1);
    ck_assert_int_eq(increment(a, 5, later, 3), 5);
    end();
}

START_TEST(test_increments_once)
{
    run(increments);
}

END_TEST

/* Changes with mistakes fail alone, in whatever order they come. */
static void mistakes(void *arg)
{
    struct node *a = &nodes[0];
    struct change_list l = {BUF_INIT, 0};
    struct quarry_mutation m;
    struct row_change c = {.tablet = 5, .row = SLICE_LIT("c")};
    (void)arg;
    begin();
    boot(a);
    load_first(a, 5);
    put_cell(&l, 5, "a", "1");
    put_cell(&l, 6, "b", "2");
    mutation_init(&m, c.row);
    mutation_set(&m, SLICE_LIT("nosuch"), SLICE_EMPTY, 1, SLICE_LIT("3"));
    c.ops = buf_slice(&m.ops);
    c.count = 1;
    row_change_put(&c, &l.bytes);
    l.count++;
    c.ops = SLICE_LIT("\x07garbage");
    row_change_put(&c, &l.bytes);
    l.count++;
    put_cell(&l, 5, "d", "4");
    ck_assert_int_ne(apply(a, &l, NULL), 0);
    expect_rows(a, 5, "a=1 d=4 ");
    mutation_close(&m);
    end();
}

START_TEST(test_mistakes_alone)
{
    run(mistakes);
}

END_TEST

TEST_MAIN("tablet_server serve",
          test_root_moves,
          test_unauthenticated,
          test_wrong_orders,
          test_gates,
          test_split,
          test_moves_under_writes,
          test_increments_once,
          test_mistakes_alone)
