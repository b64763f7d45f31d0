/* The addresses of lock services that others run, the names of values in them,
 * and their records, are read as they were written; what is malformed is
 * refused. */
#include <string.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "chubby-lite/lock_service.h"
#include "chubby-lite/mapped/mapped_path.h"
#include "chubby-lite/mapped/mapped_record.h"
#include "tests/lib/check_main.h"

/* A service is named by its servers, its root and its credentials; others are
 * told the first two. */
START_TEST(test_addresses)
{
    struct lock_service s;
    struct buf b = BUF_INIT;
    ck_assert(!lock_service_is_named(SLICE_LIT("host:7400")));
    ck_assert(lock_service_is_named(SLICE_LIT("zookeeper:host:2181")));
    ck_assert_int_eq(
        lock_service_parse(SLICE_LIT("zookeeper:a:1,[::1]:2/x/y?auth=/etc/f"),
                           &s, NULL),
        0);
    ck_assert_str_eq(s.servers, "a:1,[::1]:2");
    ck_assert_str_eq(s.root, "/x/y");
    ck_assert_str_eq(s.auth, "/etc/f");
    lock_service_put_public(&s, &b);
    ck_assert_str_eq(buf_cstr(&b), "zookeeper:a:1,[::1]:2/x/y");
    lock_service_close(&s);
    ck_assert_int_eq(lock_service_parse(SLICE_LIT("zookeeper:a:1"), &s, NULL),
                     0);
    ck_assert_str_eq(s.root, "/quarry");
    lock_service_close(&s);
    ck_assert_int_eq(
        lock_service_parse(
            SLICE_LIT("etcd:a:1,b:2/zookeeper?ca=/c&cert=/d&key=/e&auth=/f"),
            &s, NULL),
        0);
    ck_assert_int_eq(s.kind, LOCK_SERVICE_ETCD);
    ck_assert_str_eq(s.ca, "/c");
    ck_assert_str_eq(s.cert, "/d");
    ck_assert_str_eq(s.key, "/e");
    ck_assert_str_eq(s.auth, "/f");
    buf_clear(&b);
    lock_service_put_public(&s, &b);
    ck_assert_str_eq(buf_cstr(&b), "etcd:a:1,b:2/zookeeper");
    lock_service_close(&s);
    buf_close(&b);
}

END_TEST

/* A malformed one is refused with a reason. */
START_TEST(test_bad_addresses)
{
    static const char *const bad[] = {
        "host:1",
        "zookeeper:",
        "zookeeper:host",
        "zookeeper:host:port",
        "zookeeper::1",
        "zookeeper:a:1/",
        "zookeeper:a:1//x",
        "zookeeper:a:1/x/",
        "zookeeper:a:1/x%y",
        "zookeeper:a:1/zookeeper",
        "zookeeper:a:1/x?auth",
        "zookeeper:a:1/x?auth=",
        "zookeeper:a:1/x?auth=f&auth=g",
        "zookeeper:a:1/x?ca=f",
        "zookeeper:user@a:1/x",
        "etcd:",
        "etcd:a:1/x?cert=f",
        "etcd:a:1/x?cert=f&key=g",
        "etcd:a:1/x?ca=f&key=g",
        "etcd:a:1/x?ca=f&ca=g",
        "etcd:a:1/x?token=f",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct lock_service s;
        struct err err = ERR_INIT;
        ck_assert_msg(lock_service_parse(slice_str(bad[i]), &s, &err) ==
                          ERR_INVALID,
                      "%s", bad[i]);
        ck_assert(strstr(err.text, bad[i]));
        lock_service_close(&s);
    }
}

END_TEST

/* The values of a node, and the names they are found by. */
START_TEST(test_paths)
{
    struct mapped_path p;
    struct buf b = BUF_INIT;
    struct slice rest;
    mapped_path_init(&p, "/q", SLICE_LIT("/a b/c%"), 0x2a);
    ck_assert_str_eq(p.record, "/q/a%20b%d/c%25");
    ck_assert_str_eq(p.lock, "/q/a%20b%d/c%25%k");
    ck_assert_str_eq(p.ephemeral, "/q/a%20b%d/c%25%e");
    ck_assert_str_eq(p.marker, "/q/a%20b%d/c%25%o000000000000002a");
    ck_assert_str_eq(p.above_record, "/q/a%20b");
    ck_assert_str_eq(p.above_children, "/q/a%20b%d");
    mapped_path_close(&p);
    mapped_path_init(&p, "/q", SLICE_LIT("/"), 1);
    ck_assert_str_eq(p.children, "/q");
    ck_assert_ptr_null(p.above_record);
    mapped_path_close(&p);
    ck_assert_int_eq(mapped_name_read(SLICE_LIT("c%25%o2a"), &b, &rest),
                     MAPPED_NAME_MARKER);
    ck_assert_str_eq(buf_cstr(&b), "c%");
    ck_assert(slice_eq_str(rest, "2a"));
    buf_clear(&b);
    ck_assert_int_eq(mapped_name_read(SLICE_LIT("%s"), &b, &rest),
                     MAPPED_NAME_OTHER);
    ck_assert_int_eq(mapped_name_read(SLICE_LIT("x%z"), &b, &rest),
                     MAPPED_NAME_OTHER);
    buf_close(&b);
}

END_TEST

/* Any name comes back from its escaped form. */
START_TEST(test_names)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int i = 0; i < 2000; i++) {
        char path[40] = "/";
        size_t len = 1 + rand_below(&r, 30);
        struct mapped_path p;
        struct buf b = BUF_INIT;
        struct slice rest;
        for (size_t k = 1; k <= len; k++)
            do
                path[k] = (char)(1 + rand_below(&r, 255));
            while (path[k] == '/');
        path[len + 1] = '\0';
        mapped_path_init(&p, "/q", slice_str(path), 1);
        ck_assert_int_eq(mapped_name_read(slice_str(p.record + 3), &b, &rest),
                         MAPPED_NAME_RECORD);
        ck_assert_str_eq(buf_cstr(&b), path + 1);
        buf_close(&b);
        mapped_path_close(&p);
    }
}

END_TEST

/* Records are text; others may have damaged them. */
START_TEST(test_records)
{
    static const char *const bad[] = {
        "",           "q1",
        "q1 f 1",     "q2 f 1\n",
        "q1 x 1",     "q1 f -1\n",
        "q1 f 1 2\n", "q1 d 0\nx",
        "q1  1\n",    "q1 f 99999999999999999999999\n"};

    static const char *const bad_locks[] = {"q1 f 1 0 0\n",
                                            "q1 f 1 0 0 0\n1 2 3 -\n",
                                            "q1 x 1 0 0 0\n",
                                            "q1 x 1 0 0 0\n1 2 3 -\n1 2 3 -\n",
                                            "q1 x 1 0 0 0\n1 2 3 -",
                                            "q1 x 1 0 0 0\n1 2 999999999 -\n",
                                            "q1 x 1 0 0 0\nXY 2 3 -\n",
                                            "q1 x 1 0 0 0\n1 2 3 ?\n"};

    struct mapped_record r;
    struct lock_state_record s;
    struct arena a;
    arena_init(&a);
    ck_assert_int_eq(mapped_record_get(SLICE_LIT("q1 f 7\nx\ny"), &r, NULL), 0);
    ck_assert(slice_eq_str(r.contents, "x\ny"));
    ck_assert_uint_eq(r.content_generation, 7);
    ck_assert_int_eq(
        lock_state_record_get(SLICE_LIT("q1 s 4 0 1 2a\nff 2 3 c\n1 2 3 -\n"),
                              &a, &s, NULL),
        0);
    ck_assert_uint_eq(s.count, 2);
    ck_assert_uint_eq(s.draining, 0x2a);
    ck_assert_uint_eq(s.holders[0].session, 0xff);
    ck_assert(s.holders[0].hears_conflict && !s.holders[1].hears_conflict);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        ck_assert_msg(mapped_record_get(slice_str(bad[i]), &r, NULL) ==
                          ERR_CORRUPT,
                      "%s", bad[i]);
    for (size_t i = 0; i < ARRAY_LEN(bad_locks); i++)
        ck_assert_msg(lock_state_record_get(slice_str(bad_locks[i]), &a, &s,
                                            NULL) == ERR_CORRUPT,
                      "%s", bad_locks[i]);
    arena_close(&a);
}

END_TEST

TEST_MAIN("lock_service",
          test_addresses,
          test_bad_addresses,
          test_paths,
          test_names,
          test_records)
