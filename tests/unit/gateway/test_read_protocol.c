/* The chunks of ReadRows obey the rules of the official clients,
 * whatever is filtered out, deleted or read in reverse; and a client that
 * lost its stream at any message resumes from where it was without losing a row
 * or having one twice. */
#include "tests/lib/read_rows_checker.h"
#include "tests/unit/gateway/fixture.h"

#define ROWS 14000

/* --- Helpers ------------------------------------------------------------- */

/* Rows of five digits: every 7,000th is a hit; a few hold large values. */
static void write_rows(void)
{
    struct buf large = BUF_INIT;
    struct buf b = BUF_INIT;
    buf_append_fill(&large, 'x', ((size_t)5 << 20) / 2);
    for (int i = 0; i < ROWS; i++) {
        size_t entry;
        char row[16];
        if (b.len == 0)
            pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
        entry = pb_open(&b, 2);
        snprintf(row, sizeof(row), "%05d", i);
        pb_put_bytes(&b, 1, slice_str(row));
        put_set(&b, 2, "f", i % 7000 == 3 ? "hit" : "q", 1000, SLICE_LIT("v"));
        if (i % 5000 == 4999)
            put_set(&b, 2, "g", "", 2000, buf_slice(&large));
        pb_close(&b, entry);
        if (i % 3500 == 3499)
            ck_assert_int_eq(call(DATA "MutateRows", &b), GRPC_OK);
    }
    buf_close(&large);
    /* SSTables have the points that reversed scans are cut at. */
    ck_assert_int_eq(quarry_table_compact(quarry, "inst.t", NULL), 0);
}

static void delete_rows(int from, int to)
{
    struct buf b = BUF_INIT;
    pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
    for (int i = from; i < to; i++) {
        size_t entry = pb_open(&b, 2);
        size_t mutation;
        char row[16];
        snprintf(row, sizeof(row), "%05d", i);
        pb_put_bytes(&b, 1, slice_str(row));
        mutation = pb_open(&b, 2);
        pb_put_bytes(&b, 4, SLICE_EMPTY);
        pb_close(&b, mutation);
        pb_close(&b, entry);
    }
    ck_assert_int_eq(call(DATA "MutateRows", &b), GRPC_OK);
}

struct asked {
    const char *column; /* Of cells that are wanted; NULL: all. */
    const char *family;
    bool reversed;
    bool stats;
    int64_t limit;
};

static void
put_regex(struct buf *b, unsigned number, unsigned field, const char *regex)
{
    size_t filter = pb_open(b, number);
    pb_put_bytes(b, field, slice_str(regex));
    pb_close(b, filter);
}

/* Read what @a asks for, of rows beyond @after (NULL: all). */
static void ask(const struct asked *a, const struct buf *after, int64_t limit)
{
    struct buf b = read_request();
    if (after) {
        size_t rows = pb_open(&b, 2);
        size_t range = pb_open(&b, 2);
        pb_put_bytes(&b, a->reversed ? 3 : 2, buf_slice(after));
        pb_close(&b, range);
        pb_close(&b, rows);
    }
    if (a->column)
        put_regex(&b, 3, 6, a->column);
    if (a->family)
        put_regex(&b, 3, 5, a->family);
    if (limit)
        pb_put_integer(&b, 4, limit);
    if (a->stats)
        pb_put_integer(&b, 6, 2);
    if (a->reversed)
        pb_put_integer(&b, 7, 1);
    ck_assert_int_eq(call(DATA "ReadRows", &b), GRPC_OK);
}

/* Take the first @count messages of the reply; false: there are fewer. */
static bool take(struct read_rows_checker *c, size_t count)
{
    struct slice message;
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        if (!grpc_reply_next(&reply, &at, &message))
            return false;
        read_rows_checker_take(c, message);
    }
    return true;
}

/* A stream that breaks behind @count messages, and the rest by a second one, as
 * the clients resume: a row that was under way is forgotten. */
static void
resume(struct read_rows_checker *c, const struct asked *a, size_t count)
{
    ask(a, NULL, a->limit);
    (void)take(c, count);
    if (a->limit && c->row_count >= (size_t)a->limit)
        return;
    c->in_row = c->in_cell = c->is_ended = false;
    ask(a, c->has_last ? &c->last_key : NULL,
        a->limit ? a->limit - (int64_t)c->row_count : 0);
    (void)take(c, SIZE_MAX);
    read_rows_checker_end(c);
}

/* Returns the number of messages about progress. */
static size_t check_scan(const struct asked *a, size_t row_count)
{
    struct read_rows_checker whole = {.reversed = a->reversed};
    size_t messages = 0;
    struct slice message;
    size_t scanned;
    size_t at = 0;
    ask(a, NULL, a->limit);
    while (grpc_reply_next(&reply, &at, &message)) {
        read_rows_checker_take(&whole, message);
        messages++;
    }
    read_rows_checker_end(&whole);
    ck_assert_uint_eq(whole.row_count, row_count);
    scanned = whole.scanned_count;
    for (size_t i = 0; i < messages; i++) {
        struct read_rows_checker parts = {.reversed = a->reversed};
        resume(&parts, a, i);
        ck_assert_str_eq(buf_cstr(&parts.rows), buf_cstr(&whole.rows));
        read_rows_checker_close(&parts);
    }
    read_rows_checker_close(&whole);
    return scanned;
}

/* --- Tests --------------------------------------------------------------- */

static void run_scans(void *arg)
{
    (void)arg;
    open_all();
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    write_rows();
    for (int reversed = 0; reversed < 2; reversed++) {
        struct asked a = {.column = "hit", .reversed = reversed};
        ck_assert_uint_gt(check_scan(&a, 2), 0);
        a.stats = true;
        ck_assert_uint_gt(check_scan(&a, 2), 0);
        a.limit = 1;
        check_scan(&a, 1);
        a = (struct asked){.family = "g", .reversed = reversed};
        ck_assert_uint_gt(check_scan(&a, ROWS / 5000), 0);
        a = (struct asked){.column = "none", .reversed = reversed};
        ck_assert_uint_gt(check_scan(&a, 0), 0);
        a = (struct asked){.limit = 3, .reversed = reversed};
        check_scan(&a, 3);
    }
    close_all();
}

START_TEST(test_filtered_scans)
{
    /* Where the filter lets little through, clients hear how far the scan is,
     * in messages of their own and in the order of the rows. */
    run(run_scans);
}

END_TEST

static void run_deleted(void *arg)
{
    (void)arg;
    open_all();
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    write_rows();
    delete_rows(100, 4990);
    delete_rows(5010, ROWS);
    for (int reversed = 0; reversed < 2; reversed++) {
        struct asked a = {.reversed = reversed};
        check_scan(&a, 120);
    }
    close_all();
}

START_TEST(test_scans_over_deleted_rows)
{
    /* The same where rows were deleted. */
    run(run_deleted);
}

END_TEST

TEST_MAIN("read_protocol", test_filtered_scans, test_scans_over_deleted_rows)
