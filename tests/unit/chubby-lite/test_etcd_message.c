/* Keys and transactions are what etcd is meant to get; its answers are read as
 * they are, and no part of one, nor any other bytes, is taken for more than it
 * is. */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/pb.h"
#include "chubby-lite/etcd/etcd_message.h"
#include "tests/lib/check_main.h"

/* --- keys ---------------------------------------------------------------- */

static void expect_key(const char *root, const char *path, const char *key)
{
    struct buf b = BUF_INIT;
    etcd_put_key(root, path, &b);
    ck_assert_str_eq(buf_cstr(&b), key);
    buf_close(&b);
}

/* A value has the key of its directory, two slashes, and its name: it is in the
 * range of that directory, and in no other. */
START_TEST(test_keys)
{
    static const char *const paths[] = {"/q/a",  "/q/a/b",   "/q/a%d",
                                        "/q/a0", "/q/a%d/b", "/q/b"};
    expect_key("/q", "/q", "/q");
    expect_key("/x/q", "/x/q", "/x/q");
    expect_key("/q", "/q/a", "/q//a");
    expect_key("/x/q", "/x/q/a%d/b", "/x/q/a%d//b");
    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        for (size_t k = 0; k < ARRAY_LEN(paths); k++) {
            size_t above = (size_t)(strrchr(paths[k], '/') - paths[k]);
            bool is_below = strlen(paths[i]) == above &&
                            strncmp(paths[i], paths[k], above) == 0;
            struct buf begin = BUF_INIT;
            struct buf end = BUF_INIT;
            struct buf key = BUF_INIT;
            etcd_put_children(paths[i], &begin, &end);
            etcd_put_key("/q", paths[k], &key);
            ck_assert_int_eq(
                slice_cmp(buf_slice(&begin), buf_slice(&key)) <= 0 &&
                    slice_cmp(buf_slice(&key), buf_slice(&end)) < 0,
                is_below);
            buf_close(&begin);
            buf_close(&end);
            buf_close(&key);
        }
}

END_TEST

/* --- transactions -------------------------------------------------------- */

static size_t count_fields(struct slice message, unsigned number)
{
    struct cursor c = cursor_make(message);
    struct pb_field f;
    size_t count = 0;
    while (pb_next(&c, &f))
        count += f.number == number;
    ck_assert(!c.bad);
    return count;
}

/* Each operation has its conditions and its change. */
START_TEST(test_transactions)
{
    static const struct {
        struct coordination_op op;
        size_t conditions;
        size_t changes;
    } cases[] = {
        {{.kind = COORDINATION_CHECK, .path = "/q/a", .version = 3}, 1, 0},
        {{.kind = COORDINATION_CREATE, .path = "/q"}, 1, 1},
        {{.kind = COORDINATION_CREATE, .path = "/q/a"}, 2, 1},
        {{.kind = COORDINATION_SET, .path = "/q/a", .version = -1}, 1, 1},
        {{.kind = COORDINATION_DELETE, .path = "/q/a", .version = 0}, 2, 1},
        {{.kind = COORDINATION_DELETE,
          .path = "/q/a",
          .version = -1,
          .of_session = true},
         1,
         1},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf b = BUF_INIT;
        ck_assert_int_eq(
            etcd_put_transaction("/q", &cases[i].op, 1, 7, &b, NULL), 0);
        ck_assert_uint_eq(count_fields(buf_slice(&b), 1), cases[i].conditions);
        ck_assert_uint_eq(count_fields(buf_slice(&b), 2), cases[i].changes);
        ck_assert(pb_is_message(buf_slice(&b)));
        buf_close(&b);
    }
}

END_TEST

/* A value made for the session is bound to its lease, and stays so. */
START_TEST(test_lease_of_values)
{
    const struct coordination_op ops[] = {
        {.kind = COORDINATION_CREATE, .path = "/q/a", .of_session = true},
        {.kind = COORDINATION_CREATE, .path = "/q/a/b"},
        {.kind = COORDINATION_SET, .path = "/q/c", .version = 2},
    };
    static const uint64_t leases[] = {7, 0, 0};
    static const uint64_t kept[] = {0, 0, 1};
    struct buf b = BUF_INIT;
    struct cursor c;
    struct pb_field f;
    size_t i = 0;
    ck_assert_int_eq(
        etcd_put_transaction("/q", ops, ARRAY_LEN(ops), 7, &b, NULL), 0);
    /* The second is below the first, which is made with it. */
    ck_assert_uint_eq(count_fields(buf_slice(&b), 1), 4);
    c = cursor_make(buf_slice(&b));
    while (pb_next(&c, &f)) {
        struct slice put = pb_find(f.bytes, 2);
        if (f.number != 2)
            continue;
        ck_assert_uint_eq(pb_find_integer(put, 3), leases[i]);
        ck_assert_uint_eq(pb_find_integer(put, 6), kept[i]);
        i++;
    }
    ck_assert_uint_eq(i, ARRAY_LEN(ops));
    buf_close(&b);
}

END_TEST

/* etcd takes 128 conditions; one more is refused here, with the number. */
START_TEST(test_too_many_conditions)
{
    struct coordination_op ops[ETCD_OPS_MAX + 1];
    char paths[ETCD_OPS_MAX + 1][16];
    struct err err = ERR_INIT;
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        snprintf(paths[i], sizeof(paths[i]), "/q/%zu", i);
        ops[i] = (struct coordination_op){
            .kind = COORDINATION_SET, .path = paths[i], .version = 1};
    }
    ck_assert_int_eq(etcd_put_transaction("/q", ops, ETCD_OPS_MAX, 1, &b, &err),
                     0);
    ck_assert_int_eq(
        etcd_put_transaction("/q", ops, ARRAY_LEN(ops), 1, &b, &err),
        ERR_EXHAUSTED);
    ck_assert_ptr_nonnull(strstr(err.text, "129"));
    buf_close(&b);
}

END_TEST

/* --- answers ------------------------------------------------------------- */

static void put_header(struct buf *b)
{
    size_t at = pb_open(b, 1);
    pb_put_integer(b, 3, 40);
    pb_put_integer(b, 4, 5);
    pb_close(b, at);
}

static void put_value(struct buf *b, unsigned number, const char *key)
{
    size_t at = pb_open(b, number);
    pb_put_bytes(b, 1, slice_str(key));
    pb_put_integer(b, 2, 30);
    pb_put_integer(b, 3, 33);
    pb_put_integer(b, 4, 2);
    pb_put_bytes(b, 5, SLICE_LIT("value"));
    pb_close(b, at);
}

/* A value's versions begin with 0. */
START_TEST(test_values)
{
    struct buf b = BUF_INIT;
    struct etcd_header h;
    struct etcd_value v;
    put_header(&b);
    ck_assert_int_eq(etcd_get_value(buf_slice(&b), &h, &v, NULL), 0);
    ck_assert(!v.found);
    put_value(&b, 2, "/q//a");
    ck_assert_int_eq(etcd_get_value(buf_slice(&b), &h, &v, NULL), 0);
    ck_assert(v.found);
    ck_assert_uint_eq(h.revision, 40);
    ck_assert_uint_eq(h.term, 5);
    ck_assert_int_eq(v.version, 1);
    ck_assert_uint_eq(v.created, 30);
    ck_assert_uint_eq(v.modified, 33);
    ck_assert(slice_eq_str(v.value, "value"));
    buf_close(&b);
}

END_TEST

static void put_range(struct buf *b, const char *const *keys, size_t count)
{
    size_t op = pb_open(b, 3);
    size_t range = pb_open(b, 1);
    for (size_t i = 0; i < count; i++)
        put_value(b, 2, keys[i]);
    pb_close(b, range);
    pb_close(b, op);
}

/* Names of a list; those of others are left out, and what is not below it is
 * no answer. */
START_TEST(test_names)
{
    static const char *const above[] = {"/q//a"};
    static const char *const below[] = {"/q/a//b", "/q/a//c/d", "/q/a//e%k"};
    static const char *const elsewhere[] = {"/q/b//c"};
    const struct slice begin = SLICE_LIT("/q/a//");
    struct buf b = BUF_INIT;
    struct etcd_header h;
    char **names;
    size_t count;
    put_header(&b);
    put_range(&b, above, 1);
    put_range(&b, below, 3);
    ck_assert_int_eq(
        etcd_get_names(buf_slice(&b), begin, &h, &names, &count, NULL), 0);
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(names[0], "b");
    ck_assert_str_eq(names[1], "e%k");
    chubby_names_free(names, count);
    buf_clear(&b);
    put_header(&b);
    put_range(&b, above, 0);
    put_range(&b, below, 0);
    ck_assert_int_eq(
        etcd_get_names(buf_slice(&b), begin, &h, &names, &count, NULL),
        ERR_NOTFOUND);
    buf_clear(&b);
    put_range(&b, above, 1);
    put_range(&b, elsewhere, 1);
    ck_assert_int_eq(
        etcd_get_names(buf_slice(&b), begin, &h, &names, &count, NULL),
        ERR_CORRUPT);
    buf_close(&b);
}

END_TEST

static void put_event(struct buf *b, bool removed, int64_t made, int64_t at)
{
    size_t event = pb_open(b, 11);
    size_t kv;
    pb_put_integer(b, 1, removed);
    kv = pb_open(b, 2);
    pb_put_bytes(b, 1, SLICE_LIT("/q//a"));
    pb_put_integer(b, 2, made);
    pb_put_integer(b, 3, at);
    pb_close(b, kv);
    pb_close(b, event);
}

/* Events of a watch, in their order. */
START_TEST(test_notices)
{
    struct buf b = BUF_INIT;
    struct etcd_notice n;
    struct etcd_event e;
    put_header(&b);
    pb_put_integer(&b, 2, 17);
    put_event(&b, false, 38, 38);
    put_event(&b, false, 38, 39);
    put_event(&b, true, 0, 40);
    ck_assert_int_eq(etcd_get_notice(buf_slice(&b), &n, NULL), 0);
    ck_assert_uint_eq(n.id, 17);
    ck_assert(!n.created && !n.cancelled);
    ck_assert(etcd_next_event(&n, &e) && e.made && !e.removed);
    ck_assert(etcd_next_event(&n, &e) && !e.made && e.revision == 39);
    ck_assert(etcd_next_event(&n, &e) && e.removed && e.revision == 40);
    ck_assert(!etcd_next_event(&n, &e));
    buf_close(&b);
}

END_TEST

/* Leases and outcomes that cannot be are none. */
START_TEST(test_impossible)
{
    struct buf b = BUF_INIT;
    struct etcd_header h;
    uint64_t lease;
    uint64_t ttl_s;
    bool made;
    struct slice token;
    pb_put_integer(&b, 2, 1);
    ck_assert_int_eq(etcd_get_outcome(buf_slice(&b), &h, &made, NULL),
                     ERR_CORRUPT); /* At no revision. */
    pb_put_integer(&b, 3, -1);
    ck_assert_int_eq(etcd_get_lease(buf_slice(&b), &h, &lease, &ttl_s, NULL),
                     0);
    ck_assert_uint_eq(ttl_s, 0);
    buf_clear(&b);
    pb_put_integer(&b, 2, -1);
    ck_assert_int_eq(etcd_get_lease(buf_slice(&b), &h, &lease, &ttl_s, NULL),
                     ERR_CORRUPT);
    buf_clear(&b);
    pb_put_bytes(&b, 2, SLICE_LIT("a\r\nb"));
    ck_assert_int_eq(etcd_get_token(buf_slice(&b), &token, NULL), ERR_CORRUPT);
    buf_close(&b);
}

END_TEST

TEST_MAIN("etcd_message",
          test_keys,
          test_transactions,
          test_lease_of_values,
          test_too_many_conditions,
          test_values,
          test_names,
          test_notices,
          test_impossible)
