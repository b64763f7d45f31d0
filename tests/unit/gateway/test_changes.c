/* Change streams of the public API: a table's setting, partitions, and streams
 * that tell each commit whole and once, whatever is flushed, compacted, split
 * and reopened in between and wherever a stream breaks; tokens that are not the
 * server's own are refused. */
#include "base/core/rand.h"
#include "tests/unit/gateway/change_consumer.h"

#define DAY_S 86400

/* --- Helpers ------------------------------------------------------------- */

static struct consumer_part all_rows(void)
{
    return (struct consumer_part){.start = BUF_INIT};
}

static void put_config(struct buf *b, int64_t seconds)
{
    size_t config = pb_open(b, 8);
    size_t period = pb_open(b, 1);
    pb_put_integer(b, 1, seconds);
    pb_close(b, period);
    pb_close(b, config);
}

/* A table with families f, g and a sum, whose changes are kept for @seconds (0:
 * not at all), cut at each byte of @splits. */
static int create_streamed(const char *id, int64_t seconds, const char *splits)
{
    struct buf b = BUF_INIT;
    size_t table;
    size_t entry;
    size_t opened;
    pb_put_bytes(&b, 1, SLICE_LIT(INSTANCE));
    pb_put_bytes(&b, 2, slice_str(id));
    table = pb_open(&b, 3);
    put_family(&b, "f", 0);
    put_family(&b, "g", 0);
    entry = pb_open(&b, 3);
    pb_put_bytes(&b, 1, SLICE_LIT("n"));
    opened = pb_open(&b, 2);
    pb_put_bytes(&b, 3, SLICE_LIT("\x32\x06\x0a\x02\x2a\x00\x22\x00"));
    pb_close(&b, opened);
    pb_close(&b, entry);
    if (seconds)
        put_config(&b, seconds);
    pb_close(&b, table);
    for (; *splits; splits++) {
        size_t split = pb_open(&b, 4);
        pb_put_bytes(&b, 1, slice_make(splits, 1));
        pb_close(&b, split);
    }
    return call(TABLES "CreateTable", &b);
}

/* Seconds for which GetTable says that changes are kept; 0: they are not. */
static int64_t kept_seconds(void)
{
    struct slice message;
    struct slice config;
    size_t at = 0;
    ck_assert_int_eq(call_named(TABLES "GetTable", TABLE), GRPC_OK);
    ck_assert(grpc_reply_next(&reply, &at, &message));
    config = pb_find(message, 8);
    return (int64_t)pb_find_integer(pb_find(config, 1), 1);
}

/* UpdateTable with @path as its mask; @seconds of 0: an empty message. */
static int update_config(int64_t seconds, const char *path)
{
    struct buf b = BUF_INIT;
    size_t opened = pb_open(&b, 1);
    pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
    if (seconds)
        put_config(&b, seconds);
    pb_close(&b, opened);
    opened = pb_open(&b, 2);
    pb_put_bytes(&b, 1, slice_str(path));
    pb_close(&b, opened);
    return call(TABLES "UpdateTable", &b);
}

static void put_family_name(struct buf *b, unsigned number, const char *family)
{
    size_t mutation = pb_open(b, 3);
    size_t kind = pb_open(b, number);
    if (family)
        pb_put_bytes(b, 1, slice_str(family));
    pb_close(b, kind);
    pb_close(b, mutation);
}

static struct buf write_request(const char *row)
{
    struct buf b = BUF_INIT;
    pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
    pb_put_bytes(&b, 2, slice_str(row));
    return b;
}

static void expect_write(struct buf *b)
{
    ck_assert_int_eq(call(DATA "MutateRow", b), GRPC_OK);
}

static void write_text(const char *row, const char *text)
{
    struct buf b = write_request(row);
    put_set(&b, 3, "f", "q", 1000, slice_str(text));
    expect_write(&b);
}

static int64_t now_us(void)
{
    return (int64_t)world_now_us(world);
}

/* Read all rows from @since_us on for a moment, and compare. */
static void expect_changes(int64_t since_us, const char *expected)
{
    struct consumer_part all = all_rows();
    struct told_changes t = {.closed = -1};
    struct buf request = stream_request(TABLE, &all, 1, since_us);
    client.timeout = "300m";
    ck_assert_int_eq(read_stream(&request, &t), GRPC_DEADLINE_EXCEEDED);
    client.timeout = NULL;
    ck_assert_str_eq(buf_cstr(&t.text), expected);
    told_changes_close(&t);
}

/* --- Settings ------------------------------------------------------------ */

static void run_settings(void *arg)
{
    struct quarry_table_info *info;
    const struct quarry_alter bounded = {QUARRY_SET_CHANGES, "30d", "max=1GiB"};
    (void)arg;
    open_all();
    ck_assert_int_eq(create_streamed("t", DAY_S - 1, ""),
                     GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(create_streamed("t", 7 * DAY_S + 1, ""),
                     GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(call_named(TABLES "GetTable", TABLE), GRPC_NOT_FOUND);
    ck_assert_int_eq(create_streamed("t", 2 * DAY_S, ""), GRPC_OK);
    ck_assert_int_eq(kept_seconds(), 2 * DAY_S);
    /* A table with a stream is not deleted, nor is its instance. */
    ck_assert_int_eq(call_named(TABLES "DeleteTable", TABLE),
                     GRPC_FAILED_PRECONDITION);
    ck_assert_int_eq(
        call_named("/google.bigtable.admin.v2.BigtableInstanceAdmin/"
                   "DeleteInstance",
                   INSTANCE),
        GRPC_FAILED_PRECONDITION);
    ck_assert_int_eq(
        update_config(7 * DAY_S, "change_stream_config.retention_period"),
        GRPC_OK);
    ck_assert_int_eq(kept_seconds(), 7 * DAY_S);
    ck_assert_int_eq(update_config(60, "change_stream_config"),
                     GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(update_config(DAY_S, "nothing"), GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(kept_seconds(), 7 * DAY_S);
    /* The store's own bound stays, and so does a time beyond the API's. */
    ck_assert_int_eq(quarry_table_alter(quarry, "inst.t", &bounded, 1, NULL),
                     0);
    ck_assert_int_eq(kept_seconds(), 30 * DAY_S);
    ck_assert_int_eq(update_config(DAY_S, "deletion_protection"), GRPC_OK);
    ck_assert_int_eq(kept_seconds(), 30 * DAY_S);
    ck_assert_int_eq(update_config(3 * DAY_S, "change_stream_config"), GRPC_OK);
    ck_assert_int_eq(quarry_table_describe(quarry, "inst.t", &info, NULL), 0);
    ck_assert_str_eq(info->changes, "3d,max=1GiB");
    quarry_table_info_free(info);
    /* Cleared, it may go. */
    ck_assert_int_eq(update_config(0, "change_stream_config"), GRPC_OK);
    ck_assert_int_eq(kept_seconds(), 0);
    ck_assert_int_eq(call_named(TABLES "DeleteTable", TABLE), GRPC_OK);
    close_all();
}

/* A table's change_stream_config is the store's setting, in both directions. */
START_TEST(test_settings)
{
    run(run_settings);
}

END_TEST

/* --- Messages ------------------------------------------------------------ */

/* Cells of f:q, of times [from, to). */
static void put_deletion(struct buf *b, int64_t from_us, int64_t to_us)
{
    size_t mutation = pb_open(b, 3);
    size_t kind = pb_open(b, 2);
    size_t range;
    pb_put_bytes(b, 1, SLICE_LIT("f"));
    pb_put_bytes(b, 2, SLICE_LIT("q"));
    range = pb_open(b, 3);
    pb_put_integer(b, 1, from_us);
    pb_put_integer(b, 2, to_us);
    pb_close(b, range);
    pb_close(b, kind);
    pb_close(b, mutation);
}

/* To n:q. */
static void put_addition(struct buf *b, int64_t us, int64_t input)
{
    size_t mutation = pb_open(b, 3);
    size_t kind = pb_open(b, 5);
    size_t value;
    pb_put_bytes(b, 1, SLICE_LIT("n"));
    value = pb_open(b, 2);
    pb_put_bytes(b, 8, SLICE_LIT("q"));
    pb_close(b, value);
    value = pb_open(b, 3);
    pb_put_integer(b, 9, us);
    pb_close(b, value);
    value = pb_open(b, 4);
    pb_put_integer(b, 6, input);
    pb_close(b, value);
    pb_close(b, kind);
    pb_close(b, mutation);
}

static void write_kinds(void)
{
    struct buf big = BUF_INIT;
    struct buf b = write_request("r1");
    buf_append_fill(&big, 'x', 600000);
    put_set(&b, 3, "f", "q", 1000, SLICE_LIT("v1"));
    put_set(&b, 3, "g", "", 2000, SLICE_LIT("v2"));
    expect_write(&b);
    b = write_request("r2");
    put_set(&b, 3, "f", "a", 1000, SLICE_LIT("small"));
    put_set(&b, 3, "f", "b", 1000, buf_slice(&big));
    put_set(&b, 3, "f", "c", 1000, SLICE_LIT("after"));
    expect_write(&b);
    b = write_request("r1");
    put_family_name(&b, 3, "g");
    put_family_name(&b, 4, NULL);
    put_set(&b, 3, "f", "q", 3000, SLICE_LIT("again"));
    expect_write(&b);
    b = write_request("r3");
    put_deletion(&b, 1000, 3000);
    put_addition(&b, 1000, 5);
    expect_write(&b);
    buf_close(&big);
}

#define KINDS                                                                  \
    "r1: set f:q@1000=v1; set g:@2000=v2; \n"                                  \
    "r2: set f:a@1000=small; set f:b@1000=<600000>; set f:c@1000=after; \n"    \
    "r1: delete g; delete f; delete g; delete n; set f:q@3000=again; \n"       \
    "r3: delete f:q [1000,3000); add n:q@1000 5; \n"

static void run_messages(void *arg)
{
    int64_t begin_us;
    (void)arg;
    open_all();
    ck_assert_int_eq(create_streamed("t", DAY_S, ""), GRPC_OK);
    world_sleep_us(world, 1000);
    begin_us = now_us();
    write_kinds();
    expect_changes(begin_us, KINDS);
    /* From files it is told row by row. */
    ck_assert_int_eq(quarry_table_compact(quarry, "inst.t", NULL), 0);
    expect_changes(
        begin_us,
        "r1: set f:q@1000=v1; set g:@2000=v2; \n"
        "r1: delete g; delete f; delete g; delete n; set f:q@3000=again; \n"
        "r2: set f:a@1000=small; set f:b@1000=<600000>; set f:c@1000=after; \n"
        "r3: delete f:q [1000,3000); add n:q@1000 5; \n");
    close_all();
}

/* Each kind of mutation is told as clients know it, large values in chunks. */
START_TEST(test_messages)
{
    run(run_messages);
}

END_TEST

static void run_times(void *arg)
{
    struct consumer_part all = all_rows();
    struct told_changes t = {.closed = -1};
    struct buf request;
    int64_t begin_us;
    int64_t middle_us;
    (void)arg;
    open_all();
    ck_assert_int_eq(create_streamed("t", DAY_S, ""), GRPC_OK);
    world_sleep_us(world, 1000);
    begin_us = now_us();
    write_text("a", "1");
    world_sleep_us(world, 1000000);
    middle_us = now_us();
    write_text("b", "2");
    expect_changes(middle_us, "b: set f:q@1000=2; \n");
    /* Up to a time, which is over: then the stream is. */
    world_sleep_us(world, 1000000);
    request = stream_request(TABLE, &all, 1, begin_us);
    put_duration(&request, 5, middle_us - 1);
    ck_assert_int_eq(read_stream(&request, &t), GRPC_OK);
    ck_assert_int_eq(t.closed, 0);
    ck_assert_str_eq(buf_cstr(&t.text), "a: set f:q@1000=1; \n");
    told_changes_close(&t);
    /* Heartbeats as often as wanted, and the time rises with the clock. */
    t = (struct told_changes){.closed = -1};
    request = stream_request(TABLE, &all, 1, begin_us);
    put_duration(&request, 7, 2000000);
    client.timeout = "11S";
    ck_assert_int_eq(read_stream(&request, &t), GRPC_DEADLINE_EXCEEDED);
    client.timeout = NULL;
    ck_assert_uint_eq(t.count, 2);
    ck_assert_uint_eq(t.heartbeats, 5);
    ck_assert_int_gt(t.watermark_us, now_us() - 4000000);
    told_changes_close(&t);
    request = stream_request(TABLE, &all, 1, begin_us);
    put_duration(&request, 7, 999999);
    ck_assert_int_eq(call(DATA "ReadChangeStream", &request),
                     GRPC_INVALID_ARGUMENT);
    request = stream_request(TABLE, &all, 1, now_us() + 1000000);
    ck_assert_int_eq(call(DATA "ReadChangeStream", &request),
                     GRPC_INVALID_ARGUMENT);
    close_all();
}

/* Streams begin and end at times, and heartbeats come. */
START_TEST(test_times)
{
    run(run_times);
}

END_TEST

/* --- Tokens -------------------------------------------------------------- */

/* The code of a stream with @token for the rows of @part. */
static int code_of_token(const char *table,
                         const struct consumer_part *part,
                         struct slice token)
{
    struct consumer_part p = *part;
    struct buf request;
    int code;
    p.token = BUF_INIT;
    buf_append_slice(&p.token, token);
    request = stream_request(table, &p, 1, 0);
    client.timeout = "100m";
    code = call(DATA "ReadChangeStream", &request);
    client.timeout = NULL;
    buf_close(&p.token);
    return code;
}

static void expect_garbled_refused(const struct consumer_part *p)
{
    struct rand_gen rand;
    rand_init(&rand, test_seed());
    for (int i = 0; i < 300; i++) {
        struct buf token = BUF_INIT;
        size_t at = 1 + rand_below(&rand, p->token.len - 1);
        buf_append_slice(&token, buf_slice(&p->token));
        if (rand_one_in(&rand, 3))
            buf_truncate(&token, at);
        else
            token.data[at] = (char)(token.data[at] == 'A' ? 'B' : 'A');
        if (rand_one_in(&rand, 4))
            buf_append_str(&token, "AAAA");
        ck_assert_int_eq(code_of_token(TABLE, p, buf_slice(&token)),
                         GRPC_INVALID_ARGUMENT);
        buf_close(&token);
    }
}

static void run_tokens(void *arg)
{
    struct consumer_part all = all_rows();
    struct consumer_part other = all_rows();
    struct told_changes t = {.closed = -1};
    struct buf request;
    int64_t begin_us;
    (void)arg;
    open_all();
    ck_assert_int_eq(create_streamed("t", DAY_S, ""), GRPC_OK);
    ck_assert_int_eq(create_streamed("u", DAY_S, ""), GRPC_OK);
    ck_assert_int_eq(create_streamed("off", 0, ""), GRPC_OK);
    world_sleep_us(world, 1000);
    begin_us = now_us();
    write_text("a", "1");
    write_text("b", "2");
    request = stream_request(TABLE, &all, 1, begin_us);
    client.timeout = "300m";
    ck_assert_int_eq(read_stream(&request, &t), GRPC_DEADLINE_EXCEEDED);
    client.timeout = NULL;
    buf_append_slice(&all.token, buf_slice(&t.token));
    ck_assert_int_eq(code_of_token(TABLE, &all, buf_slice(&all.token)),
                     GRPC_DEADLINE_EXCEEDED);
    expect_garbled_refused(&all);
    /* Of other rows, and of another table. */
    buf_append_str(&other.end, "m");
    ck_assert_int_eq(code_of_token(TABLE, &other, buf_slice(&all.token)),
                     GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(
        code_of_token(INSTANCE "/tables/u", &all, buf_slice(&all.token)),
        GRPC_INVALID_ARGUMENT);
    /* Without changes, without a table. */
    ck_assert_int_eq(
        code_of_token(INSTANCE "/tables/none", &all, buf_slice(&all.token)),
        GRPC_NOT_FOUND);
    buf_clear(&all.token);
    request = stream_request(INSTANCE "/tables/off", &all, 1, begin_us);
    ck_assert_int_eq(call(DATA "ReadChangeStream", &request),
                     GRPC_FAILED_PRECONDITION);
    ck_assert_int_eq(call_named(DATA "GenerateInitialChangeStreamPartitions",
                                INSTANCE "/tables/off"),
                     GRPC_FAILED_PRECONDITION);
    /* Too old. */
    ck_assert_int_eq(update_config(0, "change_stream_config"), GRPC_OK);
    ck_assert_int_eq(code_of_token(TABLE, &all, buf_slice(&t.token)),
                     GRPC_FAILED_PRECONDITION);
    write_text("a", "3");
    ck_assert_int_eq(update_config(DAY_S, "change_stream_config"), GRPC_OK);
    ck_assert_int_eq(code_of_token(TABLE, &all, buf_slice(&t.token)),
                     GRPC_OUT_OF_RANGE);
    request = stream_request(TABLE, &all, 1, 1000000);
    ck_assert_int_eq(call(DATA "ReadChangeStream", &request),
                     GRPC_OUT_OF_RANGE);
    told_changes_close(&t);
    consumer_part_close(&other);
    consumer_part_close(&all);
    close_all();
}

/* A token is taken from its own table and partition alone, as it was given, and
 * for as long as its changes are kept. */
START_TEST(test_tokens)
{
    run(run_tokens);
}

END_TEST

/* --- Partitions ---------------------------------------------------------- */

static size_t initial_partitions(struct consumer_part *list, size_t max)
{
    struct slice message;
    size_t at = 0;
    size_t count = 0;
    ck_assert_int_eq(
        call_named(DATA "GenerateInitialChangeStreamPartitions", TABLE),
        GRPC_OK);
    while (grpc_reply_next(&reply, &at, &message)) {
        ck_assert_uint_lt(count, max);
        list[count] = all_rows();
        told_rows(pb_find(message, 1), &list[count++]);
    }
    return count;
}

static void run_wide(void *arg)
{
    struct consumer_part list[32];
    struct consumer_part all = all_rows();
    struct told_changes t = {.closed = -1};
    struct buf request;
    size_t count;
    (void)arg;
    open_all();
    ck_assert_int_eq(create_streamed("t", DAY_S, "bcdefghijklmnopqrst"),
                     GRPC_OK);
    count = initial_partitions(list, ARRAY_LEN(list));
    ck_assert_uint_eq(count, 20);
    ck_assert_uint_eq(list[0].start.len, 0);
    ck_assert_uint_eq(list[19].end.len, 0);
    for (size_t i = 1; i < count; i++)
        ck_assert(
            slice_eq(buf_slice(&list[i - 1].end), buf_slice(&list[i].start)));
    /* More tablets than a stream reads in turn. */
    world_sleep_us(world, 1000);
    request = stream_request(TABLE, &all, 1, now_us());
    ck_assert_int_eq(read_stream(&request, &t), GRPC_OK);
    ck_assert_int_eq(t.closed, GRPC_OUT_OF_RANGE);
    ck_assert_uint_eq(t.part_count, 20);
    told_changes_close(&t);
    for (size_t i = 0; i < count; i++)
        consumer_part_close(&list[i]);
    close_all();
}

/* Partitions are the tablets; a request for too many gets a token for each. */
START_TEST(test_wide)
{
    run(run_wide);
}

END_TEST

/* --- Consumers ----------------------------------------------------------- */

enum {
    ROWS = 7,
    PARTS_MAX = 40
};

struct consuming {
    struct rand_gen rand;
    size_t issued[ROWS]; /* Commits made to each row: their texts count up. */
    size_t told[ROWS];   /* And those that were told. */
    struct consumer_part parts[PARTS_MAX];
    size_t part_count;
    int64_t begin_us;
};

static void row_text(unsigned row, char text[8])
{
    snprintf(text, 8, "%c%u", (char)('a' + row), row % 10);
}

static void issue(struct consuming *c)
{
    unsigned row = (unsigned)rand_below(&c->rand, ROWS);
    unsigned count = 1 + (unsigned)rand_below(&c->rand, 3);
    size_t number = c->issued[row]++;
    char name[8];
    char value[32];
    struct buf b;
    row_text(row, name);
    b = write_request(name);
    snprintf(value, sizeof(value), "%zu", number);
    for (unsigned i = 0; i < count; i++)
        put_set(&b, 3, rand_one_in(&c->rand, 2) ? "f" : "g", "q",
                (int64_t)(1 + i) * 1000, slice_str(value));
    expect_write(&b);
}

static void tell(void *ctx, struct slice row, struct slice text)
{
    struct consuming *c = ctx;
    unsigned number = (unsigned)(row.data[0] - 'a');
    char expected[32];
    size_t equals = slice_find_byte(text, '=');
    size_t end = slice_find_byte(text, ';');
    ck_assert_uint_lt(number, ROWS);
    snprintf(expected, sizeof(expected), "%zu", c->told[number]);
    ck_assert_msg(slice_eq_str(slice_sub(text, equals + 1, end), expected),
                  "row %.*s: %.*s is told, and not %s", SLICE_ARG(row),
                  SLICE_ARG(text), expected);
    c->told[number]++;
}

/* Replace @count parts from @i on by those of @t. */
static void
take_parts(struct consuming *c, size_t i, size_t count, struct told_changes *t)
{
    struct consumer_part left[PARTS_MAX];
    size_t n = 0;
    ck_assert_uint_le(c->part_count + t->part_count, PARTS_MAX);
    for (size_t k = 0; k < i; k++)
        left[n++] = c->parts[k];
    for (size_t k = 0; k < t->part_count; k++)
        left[n++] = t->parts[k];
    for (size_t k = i; k < i + count; k++)
        consumer_part_close(&c->parts[k]);
    for (size_t k = i + count; k < c->part_count; k++)
        left[n++] = c->parts[k];
    memcpy(c->parts, left, n * sizeof(left[0]));
    c->part_count = n;
    t->part_count = 0;
}

/* Read some of one partition, or of two together; the stream breaks. */
static void consume(struct consuming *c, bool whole)
{
    size_t i = rand_below(&c->rand, c->part_count);
    size_t count = 1;
    struct told_changes t = {.tell = tell, .ctx = c, .closed = -1};
    struct buf request;
    if (i + 1 < c->part_count && c->parts[i].token.len &&
        c->parts[i + 1].token.len && rand_one_in(&c->rand, 4))
        count = 2;
    if (!whole)
        t.messages_max = 1 + rand_below(&c->rand, 5);
    request = stream_request(TABLE, &c->parts[i], count, c->begin_us);
    put_duration(&request, 7, 1000000);
    client.timeout = "1200m";
    read_stream(&request, &t);
    client.timeout = NULL;
    if (t.part_count) {
        take_parts(c, i, count, &t);
    } else if (t.token.len) {
        struct told_changes one = {.part_count = 1};
        buf_append_slice(&one.parts[0].start, buf_slice(&c->parts[i].start));
        buf_append_slice(&one.parts[0].end,
                         buf_slice(&c->parts[i + count - 1].end));
        buf_append_slice(&one.parts[0].token, buf_slice(&t.token));
        take_parts(c, i, count, &one);
    }
    told_changes_close(&t);
}

static void consuming_step(struct consuming *c)
{
    char name[8];
    switch (rand_below(&c->rand, 16)) {
    case 0: ck_assert_int_eq(quarry_flush(quarry, NULL), 0); break;
    case 1:
        ck_assert_int_eq(quarry_table_compact(quarry, "inst.t", NULL), 0);
        break;
    case 2:
        row_text((unsigned)rand_below(&c->rand, ROWS), name);
        if (rand_one_in(&c->rand, 3))
            (void)!quarry_table_split(quarry, "inst.t", slice_str(name), NULL);
        break;
    case 3:
        if (rand_one_in(&c->rand, 3)) {
            close_all();
            open_all();
        }
        break;
    case 4:
    case 5:
    case 6: consume(c, false); break;
    default: issue(c);
    }
}

static bool has_all(const struct consuming *c)
{
    for (unsigned i = 0; i < ROWS; i++)
        if (c->told[i] != c->issued[i])
            return false;
    return true;
}

static void run_consumer(void *arg)
{
    struct consuming c = {.part_count = 0};
    rand_init(&c.rand, *(uint64_t *)arg);
    open_all();
    ck_assert_int_eq(create_streamed("t", DAY_S, "d"), GRPC_OK);
    c.part_count = initial_partitions(c.parts, PARTS_MAX);
    world_sleep_us(world, 1000);
    c.begin_us = now_us();
    for (int i = 0; i < 220; i++)
        consuming_step(&c);
    for (int i = 0; i < 200 && !has_all(&c); i++)
        consume(&c, true);
    for (unsigned i = 0; i < ROWS; i++)
        ck_assert_uint_eq(c.told[i], c.issued[i]);
    for (size_t i = 0; i < c.part_count; i++)
        consumer_part_close(&c.parts[i]);
    close_all();
}

/* A consumer whose streams break anywhere, and which keeps the last token that
 * it saw, is told each commit once, in the order of its row. */
START_TEST(test_consumers)
{
    for (uint64_t seed = 0; seed < 6; seed++) {
        uint64_t mine = test_seed() * 100 + seed;
        world = sim_world_new(&(struct sim_options){.seed = mine});
        sim_run(world, run_consumer, &mine);
        world_free(world);
    }
}

END_TEST

/* --- Waiting ------------------------------------------------------------- */

static void run_one_waiting(void *arg)
{
    struct grpc_client mine = {.timeout = arg};
    struct grpc_reply got;
    struct consumer_part all = all_rows();
    struct buf request = stream_request(TABLE, &all, 1, now_us());
    grpc_client_open(&mine, gateway_address(gateway));
    (void)!grpc_client_call(&mine, DATA "ReadChangeStream", buf_slice(&request),
                            &got);
    buf_close(&request);
    grpc_reply_close(&got);
    grpc_client_close(&mine);
}

static void run_waiting(void *arg)
{
    struct fiber *waiting[8];
    int64_t begin_us;
    (void)arg;
    open_all();
    ck_assert_int_eq(create_streamed("t", DAY_S, ""), GRPC_OK);
    world_sleep_us(world, 1000);
    for (size_t i = 0; i < ARRAY_LEN(waiting); i++)
        waiting[i] = fiber_start(loop_self(), "waiting", run_one_waiting, NULL);
    world_sleep_us(world, 3000000);
    /* The gateway has two threads, and scans find one. */
    begin_us = now_us();
    write_text("a", "1");
    read_all();
    expect_rows("a{f:q@1000=1}\n");
    ck_assert_int_lt(now_us() - begin_us, 1000000);
    /* The server ends while they wait. */
    begin_us = now_us();
    close_all();
    ck_assert_int_lt(now_us() - begin_us, 5000000);
    for (size_t i = 0; i < ARRAY_LEN(waiting); i++)
        fiber_join(waiting[i]);
}

/* Streams that wait hold no thread, and no server that wants to stop. */
START_TEST(test_waiting)
{
    run(run_waiting);
}

END_TEST

TEST_MAIN("changes",
          test_settings,
          test_messages,
          test_times,
          test_tokens,
          test_wide,
          test_consumers,
          test_waiting)
