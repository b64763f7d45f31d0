/* The public API over a store: what is written is read, before and after a
 * restart; mistakes have the codes of the real service; hostile requests
 * neither kill nor stall it. */
#include "base/core/rand.h"
#include "tests/unit/gateway/fixture.h"

/* --- Tests --------------------------------------------------------------- */

static void run_round(void *arg)
{
    (void)arg;
    open_all();
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    ck_assert_int_eq(create_table("t"), GRPC_ALREADY_EXISTS);
    ck_assert_int_eq(write_cell("b", "f", "q", 1000, SLICE_LIT("1")), 0);
    ck_assert_int_eq(write_cell("b", "f", "q", 3000, SLICE_LIT("3")), 0);
    ck_assert_int_eq(write_cell("b", "f", "q", 2000, SLICE_LIT("2")), 0);
    ck_assert_int_eq(write_cell("b", "g", "", 1000, SLICE_LIT("")), 0);
    ck_assert_int_eq(write_cell("a", "f", "z", 1000, SLICE_LIT("9")), 0);
    read_all();
    expect_rows("a{f:z@1000=9}\nb{f:q@3000=3 f:q@2000=2 g:@1000=}\n");
    close_all();
    open_all();
    read_all();
    expect_rows("a{f:z@1000=9}\nb{f:q@3000=3 f:q@2000=2 g:@1000=}\n");
    close_all();
}

START_TEST(test_rows_are_kept)
{
    /* Rows written through the API are read through it, after a restart, too.
     */
    run(run_round);
}

END_TEST

static void add_range(struct buf *rows,
                      unsigned start_field,
                      const char *start,
                      unsigned end_field,
                      const char *end)
{
    size_t range = pb_open(rows, 2);
    pb_put_bytes(rows, start_field, slice_str(start));
    pb_put_bytes(rows, end_field, slice_str(end));
    pb_close(rows, range);
}

static void run_ranges(void *arg)
{
    static const char *const keys[] = {"a", "b", "c", "d", "e"};
    struct buf b;
    size_t rows;
    (void)arg;
    open_all();
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        ck_assert_int_eq(write_cell(keys[i], "f", "", 1000, slice_str(keys[i])),
                         0);
    for (int reversed = 0; reversed < 2; reversed++) {
        b = read_request();
        rows = pb_open(&b, 2);
        pb_put_bytes(&b, 1, SLICE_LIT("e"));
        pb_put_bytes(&b, 1, SLICE_LIT("b"));
        add_range(&b, 2, "a", 4, "c"); /* (a, c] */
        add_range(&b, 1, "c", 3, "d"); /* [c, d) */
        pb_close(&b, rows);
        pb_put_integer(&b, 7, reversed);
        call(DATA "ReadRows", &b);
        expect_rows(reversed ? "e{f:@1000=e}\nc{f:@1000=c}\nb{f:@1000=b}\n"
                             : "b{f:@1000=b}\nc{f:@1000=c}\ne{f:@1000=e}\n");
    }
    b = read_request();
    pb_put_integer(&b, 4, 2);
    pb_put_integer(&b, 7, 1);
    call(DATA "ReadRows", &b);
    expect_rows("e{f:@1000=e}\nd{f:@1000=d}\n");
    b = read_request();
    rows = pb_open(&b, 2);
    add_range(&b, 2, "b", 3, "b");
    pb_close(&b, rows);
    call(DATA "ReadRows", &b);
    expect_rows("");
    b = read_request();
    rows = pb_open(&b, 2);
    add_range(&b, 1, "c", 3, "b");
    pb_close(&b, rows);
    ck_assert_int_eq(call(DATA "ReadRows", &b), GRPC_INVALID_ARGUMENT);
    close_all();
}

START_TEST(test_sets_of_rows)
{
    /* Keys and ranges that overlap give each row once, in order, either way. */
    run(run_ranges);
}

END_TEST

static void run_bulk(void *arg)
{
    struct buf b = BUF_INIT;
    struct slice message;
    size_t at = 0;
    (void)arg;
    open_all();
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
    for (int i = 0; i < 5; i++) {
        static const char *const rows[] = {"r0", "", "r2", "r3", "r4"};
        size_t entry = pb_open(&b, 2);
        pb_put_bytes(&b, 1, slice_str(rows[i]));
        if (i != 3)
            put_set(&b, 2, i == 2 ? "none" : "f", "q", i == 4 ? 1500 : 1000,
                    SLICE_LIT("v"));
        pb_close(&b, entry);
    }
    ck_assert_int_eq(call(DATA "MutateRows", &b), GRPC_OK);
    ck_assert(grpc_reply_next(&reply, &at, &message));
    {
        static const int codes[] = {0, GRPC_INVALID_ARGUMENT, GRPC_NOT_FOUND,
                                    GRPC_INVALID_ARGUMENT,
                                    GRPC_INVALID_ARGUMENT};
        struct cursor c = cursor_make(message);
        struct pb_field f;
        for (int i = 0; i < 5; i++) {
            ck_assert(pb_next(&c, &f));
            ck_assert_uint_eq(pb_find_integer(f.bytes, 1), (uint64_t)i);
            ck_assert_uint_eq(pb_find_integer(pb_find(f.bytes, 2), 1),
                              (uint64_t)codes[i]);
        }
        ck_assert(!pb_next(&c, &f));
    }
    read_all();
    expect_rows("r0{f:q@1000=v}\n");
    close_all();
}

START_TEST(test_each_row_of_a_batch_has_its_outcome)
{
    /* Bad rows of a batch fail by themselves; the good one is written. */
    run(run_bulk);
}

END_TEST

/* Whole outcomes, of indexes of one byte and of two. */
static void run_good_bulk(void *arg)
{
    const int count = 300;
    struct buf b = BUF_INIT;
    struct slice message;
    struct cursor c;
    struct pb_field f;
    size_t at = 0;
    (void)arg;
    open_all();
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
    for (int i = 0; i < count; i++) {
        size_t entry = pb_open(&b, 2);
        pb_put_bytes(&b, 1, SLICE_LIT("r"));
        put_set(&b, 2, "f", "q", 1000, SLICE_LIT("v"));
        pb_close(&b, entry);
    }
    ck_assert_int_eq(call(DATA "MutateRows", &b), GRPC_OK);
    ck_assert(grpc_reply_next(&reply, &at, &message));
    c = cursor_make(message);
    for (int i = 0; i < count; i++) {
        struct cursor entry;
        ck_assert(pb_next(&c, &f));
        ck_assert(pb_is_bytes(&f, 1));
        entry = cursor_make(f.bytes);
        ck_assert(pb_next(&entry, &f));
        ck_assert(pb_is_integer(&f, 1));
        ck_assert_uint_eq(f.integer, (uint64_t)i);
        ck_assert(pb_next(&entry, &f));
        ck_assert(pb_is_bytes(&f, 2));
        ck_assert_uint_eq(f.bytes.len, 0);
        ck_assert(!pb_next(&entry, &f));
        ck_assert(!entry.bad);
    }
    ck_assert(!pb_next(&c, &f));
    ck_assert(!c.bad);
    ck_assert(!grpc_reply_next(&reply, &at, &message));
    close_all();
}

START_TEST(test_good_rows_have_their_index)
{
    /* Each of a bulk write's rows is answered, in order, with no error. */
    run(run_good_bulk);
}

END_TEST

static void run_updates(void *arg)
{
    struct buf b = BUF_INIT;
    struct slice message;
    size_t at = 0;
    size_t rule;
    (void)arg;
    open_all();
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    for (int i = 0; i < 2; i++) { /* The second time the row exists. */
        buf_clear(&b);
        pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
        pb_put_bytes(&b, 2, SLICE_LIT("r"));
        put_set(&b, 4, "f", "yes", 1000, SLICE_LIT("y"));
        put_set(&b, 5, "f", "no", 1000, SLICE_LIT("n"));
        ck_assert_int_eq(call(DATA "CheckAndMutateRow", &b), GRPC_OK);
        at = 0;
        ck_assert(grpc_reply_next(&reply, &at, &message));
        ck_assert_uint_eq(pb_find_integer(message, 1), (uint64_t)i);
    }
    read_all();
    expect_rows("r{f:no@1000=n f:yes@1000=y}\n");
    pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
    pb_put_bytes(&b, 2, SLICE_LIT("r"));
    ck_assert_int_eq(call(DATA "CheckAndMutateRow", &b), GRPC_INVALID_ARGUMENT);
    for (int i = 0; i < 2; i++) { /* Of a cell of one byte, then a new one. */
        pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
        pb_put_bytes(&b, 2, SLICE_LIT("r"));
        rule = pb_open(&b, 3);
        pb_put_bytes(&b, 1, SLICE_LIT("f"));
        pb_put_bytes(&b, 2, i ? SLICE_LIT("count") : SLICE_LIT("no"));
        pb_put_integer(&b, 4, -5);
        pb_close(&b, rule);
        ck_assert_int_eq(call(DATA "ReadModifyWriteRow", &b),
                         i ? GRPC_OK : GRPC_INVALID_ARGUMENT);
    }
    at = 0;
    ck_assert(grpc_reply_next(&reply, &at, &message));
    message = pb_find(pb_find(message, 1), 2); /* Family, */
    message = pb_find(pb_find(message, 2), 2); /* column, cell, */
    message = pb_find(message, 2);             /* value. */
    ck_assert(
        slice_eq(message, slice_make("\377\377\377\377\377\377\377\373", 8)));
    close_all();
}

START_TEST(test_conditions_and_counters)
{
    /* Conditional writes and counters do what they say, or say why not. */
    run(run_updates);
}

END_TEST

/* Times of all cells in the reply of ReadRows are whole milliseconds. */
static void expect_whole_milliseconds(size_t cells)
{
    struct slice message;
    size_t seen = 0;
    size_t at = 0;
    while (grpc_reply_next(&reply, &at, &message)) {
        struct cursor c = cursor_make(message);
        struct pb_field f;
        while (pb_next(&c, &f)) {
            if (!pb_is_bytes(&f, 1))
                continue;
            ck_assert_uint_gt(pb_find_integer(f.bytes, 4), 0);
            ck_assert_uint_eq(pb_find_integer(f.bytes, 4) % 1000, 0);
            seen++;
        }
    }
    ck_assert_uint_eq(seen, cells);
}

static void put_rule(struct buf *b, const char *qualifier, bool append)
{
    size_t rule = pb_open(b, 3);
    pb_put_bytes(b, 1, SLICE_LIT("f"));
    pb_put_bytes(b, 2, slice_str(qualifier));
    if (append)
        pb_put_bytes(b, 3, SLICE_LIT("x"));
    else
        pb_put_integer(b, 4, 1);
    pb_close(b, rule);
}

static void run_stamps(void *arg)
{
    struct buf b = BUF_INIT;
    size_t entry;
    (void)arg;
    open_all();
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    world_sleep_us(world, 1234567); /* Not on a millisecond. */
    ck_assert_int_eq(write_cell("r", "f", "set", -1, SLICE_LIT("v")), GRPC_OK);
    pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
    entry = pb_open(&b, 2);
    pb_put_bytes(&b, 1, SLICE_LIT("r"));
    put_set(&b, 2, "f", "batch", -1, SLICE_LIT("v"));
    pb_close(&b, entry);
    ck_assert_int_eq(call(DATA "MutateRows", &b), GRPC_OK);
    pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
    pb_put_bytes(&b, 2, SLICE_LIT("r"));
    put_set(&b, 4, "f", "check", -1, SLICE_LIT("v"));
    ck_assert_int_eq(call(DATA "CheckAndMutateRow", &b), GRPC_OK);
    pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
    pb_put_bytes(&b, 2, SLICE_LIT("r"));
    put_rule(&b, "append", true);
    put_rule(&b, "count", false);
    ck_assert_int_eq(call(DATA "ReadModifyWriteRow", &b), GRPC_OK);
    read_all();
    expect_whole_milliseconds(5);
    close_all();
}

START_TEST(test_stamps_of_the_server)
{
    /* Whatever the server stamps, it stamps in whole milliseconds: the
     * granularity that it demands of clients. */
    run(run_stamps);
}

END_TEST

static int delete_times(int64_t from_us, int64_t to_us)
{
    struct buf b = BUF_INIT;
    size_t mutation;
    size_t cells;
    size_t times;
    pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
    pb_put_bytes(&b, 2, SLICE_LIT("r"));
    mutation = pb_open(&b, 3);
    cells = pb_open(&b, 2); /* DeleteFromColumn. */
    pb_put_bytes(&b, 1, SLICE_LIT("f"));
    pb_put_bytes(&b, 2, SLICE_LIT("q"));
    times = pb_open(&b, 3);
    pb_put_integer(&b, 1, from_us);
    pb_put_integer(&b, 2, to_us);
    pb_close(&b, times);
    pb_close(&b, cells);
    pb_close(&b, mutation);
    return call(DATA "MutateRow", &b);
}

static void run_delete_times(void *arg)
{
    (void)arg;
    open_all();
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    for (int64_t ms = 1; ms <= 3; ms++)
        ck_assert_int_eq(write_cell("r", "f", "q", ms * 1000, SLICE_LIT("v")),
                         GRPC_OK);
    ck_assert_int_eq(delete_times(1999, 2001), GRPC_OK);
    read_all();
    expect_rows("r{f:q@3000=v f:q@1000=v}\n");
    ck_assert_int_eq(delete_times(-1, 2001), GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(delete_times(2000, 2000), GRPC_INVALID_ARGUMENT);
    close_all();
}

START_TEST(test_deleted_times_have_microseconds)
{
    /* Bounds of what is deleted need not be times that a cell can have. */
    run(run_delete_times);
}

END_TEST

static void run_mistakes(void *arg)
{
    struct buf b;
    size_t filter;
    (void)arg;
    open_all();
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    ck_assert_int_eq(create_table("no/slash"), GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(write_cell("r", "none", "q", 0, SLICE_EMPTY),
                     GRPC_NOT_FOUND);
    ck_assert_int_eq(write_cell("", "f", "q", 0, SLICE_EMPTY),
                     GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(write_cell("r", "f", "q", 1, SLICE_EMPTY),
                     GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(write_cell("r", "f", "q", -2, SLICE_EMPTY),
                     GRPC_INVALID_ARGUMENT);
    b = read_request();
    pb_put_integer(&b, 4, -1);
    ck_assert_int_eq(call(DATA "ReadRows", &b), GRPC_INVALID_ARGUMENT);
    for (unsigned field = 10; field <= 12; field++) {
        b = read_request();
        filter = pb_open(&b, 3);
        pb_put_integer(&b, field, -1);
        pb_close(&b, filter);
        ck_assert_int_eq(call(DATA "ReadRows", &b), GRPC_INVALID_ARGUMENT);
    }
    b = read_request();
    filter = pb_open(&b, 3);
    buf_append_fill(&b, 0, 30000);
    pb_close(&b, filter);
    ck_assert_int_eq(call(DATA "ReadRows", &b), GRPC_INVALID_ARGUMENT);
    buf_init(&b);
    pb_put_bytes(&b, 1, SLICE_LIT(INSTANCE "/tables/none"));
    ck_assert_int_eq(call(DATA "ReadRows", &b), GRPC_NOT_FOUND);
    pb_put_bytes(&b, 1, SLICE_LIT("tables/none"));
    ck_assert_int_eq(call(DATA "ReadRows", &b), GRPC_INVALID_ARGUMENT);
    buf_append_str(&b, "\377\377\377");
    ck_assert_int_eq(call(DATA "MutateRow", &b), GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(call(DATA "OpenTable", &b), GRPC_UNIMPLEMENTED);
    close_all();
}

START_TEST(test_mistakes_have_their_codes)
{
    /* Each mistake is answered with the code the real service has for it. */
    run(run_mistakes);
}

END_TEST

static void run_large(void *arg)
{
    struct buf b = BUF_INIT;
    struct buf value = BUF_INIT;
    char *text;
    (void)arg;
    open_all();
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    for (int extra = 1; extra >= 0; extra--) {
        pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
        pb_put_bytes(&b, 2, SLICE_LIT("many"));
        for (int i = 0; i < 100000 + extra; i++) {
            char name[16];
            snprintf(name, sizeof(name), "%06d", i);
            put_set(&b, 3, "f", name, 1000, SLICE_LIT("v"));
        }
        ck_assert_int_eq(call(DATA "MutateRow", &b),
                         extra ? GRPC_INVALID_ARGUMENT : GRPC_OK);
    }
    read_all();
    text = rows_text();
    ck_assert(strlen(text) > 100000 * 10);
    mem_free(text);
    buf_append_fill(&value, 'x', (size_t)5 << 20);
    ck_assert_int_eq(write_cell("big", "f", "q", 1000, buf_slice(&value)), 0);
    b = read_request();
    {
        size_t rows = pb_open(&b, 2);
        pb_put_bytes(&b, 1, SLICE_LIT("big"));
        pb_close(&b, rows);
    }
    call(DATA "ReadRows", &b);
    expect_rows("big{f:q@1000=<5242880>}\n");
    close_all();
    buf_close(&value);
}

START_TEST(test_large_rows)
{
    /* A row of 100,000 cells is written and read, one of 100,001 refused; a
     * value larger than a chunk comes back whole. */
    run(run_large);
}

END_TEST

static void run_progress(void *arg)
{
    struct buf b = BUF_INIT;
    struct slice message;
    size_t filter;
    size_t at = 0;
    bool told = false;
    (void)arg;
    open_all();
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
    for (int i = 0; i < 6000; i++) {
        size_t entry = pb_open(&b, 2);
        char row[16];
        snprintf(row, sizeof(row), "%06d", i);
        pb_put_bytes(&b, 1, slice_str(row));
        put_set(&b, 2, "f", "q", 1000, SLICE_LIT("v"));
        pb_close(&b, entry);
    }
    ck_assert_int_eq(call(DATA "MutateRows", &b), GRPC_OK);
    b = read_request();
    filter = pb_open(&b, 3);
    pb_put_integer(&b, 18, 1); /* block_all */
    pb_close(&b, filter);
    pb_put_integer(&b, 6, 2); /* Full stats. */
    ck_assert_int_eq(call(DATA "ReadRows", &b), GRPC_OK);
    while (grpc_reply_next(&reply, &at, &message)) {
        told |= pb_find(message, 2).len == 6;
        ck_assert_uint_eq(pb_find(message, 1).len, 0);
    }
    ck_assert(told);
    ck_assert(pb_find(message, 3).len > 0); /* The last one: stats. */
    close_all();
}

START_TEST(test_scans_that_find_nothing_tell_how_far_they_are)
{
    /* While nothing matches, the client learns the last row scanned. */
    run(run_progress);
}

END_TEST

static void run_reversed(void *arg)
{
    struct rand_gen g;
    struct buf b = BUF_INIT;
    char *forward;
    char *backward;
    (void)arg;
    rand_init(&g, test_seed());
    open_all();
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    for (int batch = 0; batch < 12; batch++) {
        pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
        for (int i = 0; i < 100; i++) {
            size_t entry = pb_open(&b, 2);
            struct buf value = BUF_INIT;
            char row[16];
            snprintf(row, sizeof(row), "%05u", (unsigned)rand_below(&g, 99999));
            buf_append_fill(&value, 'v', rand_below(&g, 30000));
            pb_put_bytes(&b, 1, slice_str(row));
            put_set(&b, 2, "f", "q", 1000, buf_slice(&value));
            pb_close(&b, entry);
            buf_close(&value);
        }
        ck_assert_int_eq(call(DATA "MutateRows", &b), GRPC_OK);
    }
    read_all();
    forward = rows_text();
    b = read_request();
    pb_put_integer(&b, 7, 1);
    ck_assert_int_eq(call(DATA "ReadRows", &b), GRPC_OK);
    backward = rows_text();
    ck_assert_uint_eq(strlen(forward), strlen(backward));
    for (char *end = forward + strlen(forward), *p = backward; end > forward;) {
        char *line = end - 1;
        size_t len;
        while (line > forward && line[-1] != '\n')
            line--;
        len = (size_t)(end - line);
        ck_assert_int_eq(memcmp(line, p, len), 0);
        p += len;
        end = line;
    }
    mem_free(forward);
    mem_free(backward);
    close_all();
}

START_TEST(test_descending_scans)
{
    /* A reversed scan over more than one window gives the rows of a forward
     * one, from the last to the first. */
    run(run_reversed);
}

END_TEST

struct other {
    bool done;
    uint64_t us;
};

static void run_point_read(void *arg)
{
    struct other *o = arg;
    struct grpc_client c = {.stream = 0};
    struct grpc_reply r;
    struct buf b = read_request();
    size_t rows = pb_open(&b, 2);
    uint64_t begin = world_now_us(world);
    pb_put_bytes(&b, 1, SLICE_LIT("000001"));
    pb_close(&b, rows);
    grpc_client_open(&c, gateway_address(gateway));
    ck_assert_int_eq(grpc_client_call(&c, DATA "ReadRows", buf_slice(&b), &r),
                     0);
    ck_assert_int_eq(r.code, GRPC_OK);
    o->us = world_now_us(world) - begin;
    o->done = true;
    grpc_reply_close(&r);
    grpc_client_close(&c);
    buf_close(&b);
}

/* A client that reads slowly holds up its own scan, not the calls of others. */
static void run_two_at_once(void *arg)
{
    struct other o = {.done = false};
    struct grpc_client slow = {.window = 1000};
    struct grpc_reply r = {.code = -1};
    struct buf b = BUF_INIT;
    struct buf value = BUF_INIT;
    struct fiber *f;
    nghttp2_data_provider source = {.read_callback = client__read_body};
    nghttp2_nv nv[6];
    (void)arg;
    open_all();
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
    buf_append_fill(&value, 'v', 1000);
    for (int i = 0; i < 2000; i++) {
        size_t entry = pb_open(&b, 2);
        char row[16];
        snprintf(row, sizeof(row), "%06d", i);
        pb_put_bytes(&b, 1, slice_str(row));
        put_set(&b, 2, "f", "q", 1000, buf_slice(&value));
        pb_close(&b, entry);
    }
    ck_assert_int_eq(call(DATA "MutateRows", &b), GRPC_OK);
    grpc_client_open(&slow, gateway_address(gateway));
    nv[0] = client__header(":method", "POST");
    nv[1] = client__header(":scheme", "http");
    nv[2] = client__header(":path", DATA "ReadRows");
    nv[3] = client__header(":authority", "test");
    nv[4] = client__header("content-type", "application/grpc");
    nv[5] = client__header("te", "trailers");
    b = read_request();
    {
        struct buf body = BUF_INIT;
        buf_append_fill(&body, 0, 5);
        put_be32(body.data + 1, (uint32_t)b.len);
        buf_append_slice(&body, buf_slice(&b));
        slow.body = buf_slice(&body);
        slow.reply = &r;
        slow.stream =
            nghttp2_submit_request(slow.session, NULL, nv, 6, &source, NULL);
        ck_assert_int_eq(client__flush(&slow), 0);
        buf_close(&body);
    }
    world_sleep_us(world, 1000000); /* It stands there, half read. */
    f = fiber_start(loop_self(), "other", run_point_read, &o);
    fiber_join(f);
    ck_assert(o.done);
    ck_assert_uint_lt(o.us, 100000);
    while (!r.closed) /* It continues when its client does. */
        ck_assert_int_eq(client__pump(&slow), 0);
    ck_assert_int_eq(r.code, GRPC_OK);
    ck_assert_uint_gt(r.data.len, 2000 * 1000);
    grpc_reply_close(&r);
    grpc_client_close(&slow);
    buf_close(&b);
    buf_close(&value);
    close_all();
}

START_TEST(test_slow_clients_hold_up_nobody)
{
    /* A scan whose client does not read waits for it alone. */
    run(run_two_at_once);
}

END_TEST

TEST_MAIN("gateway",
          test_rows_are_kept,
          test_sets_of_rows,
          test_each_row_of_a_batch_has_its_outcome,
          test_good_rows_have_their_index,
          test_conditions_and_counters,
          test_stamps_of_the_server,
          test_deleted_times_have_microseconds,
          test_mistakes_have_their_codes,
          test_large_rows,
          test_scans_that_find_nothing_tell_how_far_they_are,
          test_descending_scans,
          test_slow_clients_hold_up_nobody)
