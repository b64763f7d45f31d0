/* The checker of lists finds each anomaly in the smallest history that has it,
 * and none in histories without. */
#include "base/core/buf.h"
#include "tests/lib/append_history.h"
#include "tests/lib/check_main.h"

static struct append_history *h;
static int64_t now;

static size_t txn_begin(void)
{
    return append_begin(h, ++now);
}

static void txn_end(size_t t)
{
    append_end(h, t, APPEND_COMMITTED, ++now);
}

static void saw(size_t t, uint64_t key, size_t count, uint64_t a, uint64_t b)
{
    const uint64_t values[] = {a, b};
    append_read(h, t, key, values, count);
}

static void expect(bool snapshot, bool serializable)
{
    struct buf why = BUF_INIT;
    ck_assert_int_eq(append_check(h, APPEND_SNAPSHOT, &why), snapshot);
    ck_assert_int_eq(append_check(h, APPEND_SERIALIZABLE, &why), serializable);
    ck_assert_int_eq(why.len == 0, snapshot && serializable);
    buf_close(&why);
    append_history_free(h);
}

/* One after the other: all is well. */
START_TEST(test_serial)
{
    size_t t;
    h = append_history_new();
    t = txn_begin();
    saw(t, 1, 0, 0, 0);
    append_write(h, t, 1, 10);
    txn_end(t);
    t = txn_begin();
    saw(t, 1, 1, 10, 0);
    append_write(h, t, 1, 11);
    txn_end(t);
    t = txn_begin();
    saw(t, 1, 2, 10, 11);
    txn_end(t);
    expect(true, true);
}

END_TEST

/* Both have read the empty list and appended: one update is lost. */
START_TEST(test_lost_update)
{
    size_t a, b, c;
    h = append_history_new();
    a = txn_begin();
    b = txn_begin();
    saw(a, 1, 0, 0, 0);
    saw(b, 1, 0, 0, 0);
    append_write(h, a, 1, 10);
    append_write(h, b, 1, 11);
    txn_end(a);
    txn_end(b);
    c = txn_begin();
    saw(c, 1, 1, 11, 0);
    txn_end(c);
    expect(false, false);
}

END_TEST

/* The first of two lists is read before another's commit, the second after. */
START_TEST(test_read_skew)
{
    size_t a, b;
    h = append_history_new();
    a = txn_begin();
    b = txn_begin();
    saw(a, 1, 0, 0, 0);
    append_write(h, b, 1, 10);
    append_write(h, b, 2, 20);
    txn_end(b);
    saw(a, 2, 1, 20, 0);
    txn_end(a);
    a = txn_begin();
    saw(a, 1, 1, 10, 0);
    txn_end(a);
    expect(false, false);
}

END_TEST

/* Each reads what the other appends: snapshots allow it. */
START_TEST(test_write_skew)
{
    size_t a, b, c;
    h = append_history_new();
    a = txn_begin();
    b = txn_begin();
    saw(a, 1, 0, 0, 0);
    saw(b, 2, 0, 0, 0);
    append_write(h, a, 2, 20);
    append_write(h, b, 1, 10);
    txn_end(a);
    txn_end(b);
    c = txn_begin();
    saw(c, 1, 1, 10, 0);
    saw(c, 2, 1, 20, 0);
    txn_end(c);
    expect(true, false);
}

END_TEST

/* A value of an aborted transaction is read. */
START_TEST(test_dirty_read)
{
    size_t a, b;
    h = append_history_new();
    a = txn_begin();
    append_write(h, a, 1, 10);
    append_end(h, a, APPEND_ABORTED, ++now);
    b = txn_begin();
    saw(b, 1, 1, 10, 0);
    txn_end(b);
    expect(false, false);
}

END_TEST

/* Half of a transaction is seen. */
START_TEST(test_part_is_read)
{
    size_t a, b;
    h = append_history_new();
    a = txn_begin();
    append_write(h, a, 1, 10);
    append_write(h, a, 1, 11);
    txn_end(a);
    b = txn_begin();
    saw(b, 1, 1, 10, 0);
    txn_end(b);
    expect(false, false);
}

END_TEST

/* A transaction that began after a commit has not seen it. */
START_TEST(test_stale_read)
{
    size_t a, b;
    h = append_history_new();
    a = txn_begin();
    append_write(h, a, 1, 10);
    txn_end(a);
    b = txn_begin();
    saw(b, 1, 0, 0, 0);
    txn_end(b);
    a = txn_begin();
    saw(a, 1, 1, 10, 0);
    txn_end(a);
    expect(false, false);
}

END_TEST

/* An unknown outcome may be seen, and may be missed. */
START_TEST(test_unknown)
{
    size_t a, b, c;
    h = append_history_new();
    a = txn_begin();
    append_write(h, a, 1, 10);
    b = txn_begin();
    append_write(h, b, 2, 20);
    c = txn_begin();
    saw(c, 1, 1, 10, 0);
    saw(c, 2, 0, 0, 0);
    txn_end(c);
    (void)b;
    expect(true, true);
}

END_TEST

TEST_MAIN("append_history",
          test_serial,
          test_lost_update,
          test_read_skew,
          test_write_skew,
          test_dirty_read,
          test_part_is_read,
          test_stale_read,
          test_unknown)
