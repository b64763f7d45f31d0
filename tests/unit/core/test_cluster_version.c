/* A program serves a cluster whose version it speaks and refuses any other by
 * name; a cluster is raised to the highest version that every node speaks, and
 * never when a node did not answer. */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/cluster_version.h"
#include "base/core/rand.h"
#include "tests/lib/check_main.h"

/* --- Tests --------------------------------------------------------------- */

/* Serves exactly the versions of its range; a refusal says what to do. */
START_TEST(test_check)
{
    for (uint32_t min = 1; min <= 4; min++)
        for (uint32_t max = min; max <= 5; max++)
            for (uint32_t v = 1; v <= 6; v++) {
                struct err err = ERR_INIT;
                int rc = cluster_version_check((struct version_range){min, max},
                                               v, &err);
                ck_assert_int_eq(rc,
                                 v >= min && v <= max ? 0 : ERR_UNSUPPORTED);
                ck_assert(rc == 0 || err.hint[0]);
            }
}

END_TEST

START_TEST(test_refusals_say_what_to_do)
{
    struct err err = ERR_INIT;
    ck_assert_int_ne(
        cluster_version_check((struct version_range){1, 1}, 2, &err), 0);
    ck_assert_str_eq(err.text, "the cluster is at version 2 (quarry 0.2), and "
                               "this program speaks 1 to 1");
    ck_assert_str_eq(err.hint, "set cluster-version-max to 2, or leave it out");
    ck_assert_int_ne(
        cluster_version_check(cluster_version_range(CLUSTER_VERSION_MAX),
                              CLUSTER_VERSION_MAX + 1, &err),
        0);
    ck_assert_ptr_nonnull(strstr(err.text, "(quarry a newer release)"));
    ck_assert_ptr_nonnull(strstr(err.hint, "install the release"));
    ck_assert_int_ne(
        cluster_version_check((struct version_range){3, 4}, 1, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.hint, "quarry cluster upgrade"));
}

END_TEST

/* Against the obvious model: the least maximum, not below where it is. */
START_TEST(test_choose)
{
    struct rand_gen r;
    rand_init(&r, 7);
    for (int n = 0; n < 5000; n++) {
        struct version_node nodes[5];
        size_t count = rand_below(&r, 6);
        uint32_t present = 1 + (uint32_t)rand_below(&r, 4);
        uint32_t wanted = 1 + (uint32_t)rand_below(&r, 5);
        uint32_t least = present > wanted ? present : wanted;
        uint32_t version = 0;
        size_t held = 99;
        int expected = 0;
        for (size_t i = 0; i < count; i++) {
            nodes[i] = (struct version_node){.name = "n"};
            nodes[i].range.min = 1 + (uint32_t)rand_below(&r, 3);
            nodes[i].range.max =
                nodes[i].range.min + (uint32_t)rand_below(&r, 3);
            nodes[i].why = rand_below(&r, 12) == 0 ? "silent" : NULL;
            if (expected == 0 && nodes[i].why)
                expected = ERR_UNAVAILABLE;
            if (expected == 0 &&
                (present < nodes[i].range.min || present > nodes[i].range.max))
                expected = ERR_UNSUPPORTED;
            if (nodes[i].range.max < least)
                least = nodes[i].range.max;
        }
        ck_assert_int_eq(cluster_version_choose(nodes, count, present, wanted,
                                                &version, &held, NULL),
                         expected);
        if (expected)
            continue;
        ck_assert_uint_eq(version, least);
        ck_assert_uint_ge(version, present);
        if (version < wanted)
            ck_assert_uint_eq(nodes[held].range.max, version);
        else
            ck_assert_uint_eq(held, count);
    }
}

END_TEST

START_TEST(test_texts)
{
    static const char *const bad[] = {
        "",      "-",   "1",    "1-",   "-2",   "2-1",          "0-1",
        "1-2-3", "a-b", "1-2 ", " 1-2", "+1-2", "1-99999999999"};
    struct version_range r;
    struct buf b = BUF_INIT;
    uint32_t v = 0;
    version_range_put((struct version_range){1, 12}, &b);
    ck_assert_str_eq(buf_cstr(&b), "1-12");
    ck_assert_int_eq(version_range_get(buf_slice(&b), &r, NULL), 0);
    ck_assert_uint_eq(r.min, 1);
    ck_assert_uint_eq(r.max, 12);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        ck_assert_msg(version_range_get(slice_str(bad[i]), &r, NULL) ==
                          ERR_INVALID,
                      "%s", bad[i]);
    buf_clear(&b);
    cluster_version_put(3, &b);
    ck_assert_int_eq(cluster_version_get(buf_slice(&b), &v, NULL), 0);
    ck_assert_uint_eq(v, 3);
    ck_assert_int_eq(cluster_version_get(SLICE_EMPTY, &v, NULL), ERR_CORRUPT);
    ck_assert_int_eq(cluster_version_get(slice_str("0\n"), &v, NULL),
                     ERR_CORRUPT);
    buf_close(&b);
}

END_TEST

TEST_MAIN("cluster_version",
          test_check,
          test_refusals_say_what_to_do,
          test_choose,
          test_texts)
