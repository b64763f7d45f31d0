/* The target that the suite of the C library runs against: a fresh directory,
 * or, named by $QUARRY_TEST_TARGET (and $QUARRY_TEST_KEY), a cluster, whose
 * tables are dropped before each test. With $QUARRY_TEST_ENCRYPTED directories
 * are encrypted.
 */
#ifndef TESTS_UNIT_CLIENT_TEST_TARGET_H
#define TESTS_UNIT_CLIENT_TEST_TARGET_H

#include <stdio.h>
#include <stdlib.h>

#include "bigtable/quarry.h"
#include "tests/lib/check_main.h"

static inline const char *test_cluster(void)
{
    const char *target = getenv("QUARRY_TEST_TARGET");
    return target && *target ? target : NULL;
}

/* quarry_open() with what a cluster asks for. */
static inline int test_open(const char *target,
                            const struct quarry_options *opts,
                            struct quarry **out,
                            struct err *err)
{
    struct quarry_options o = {.cache_bytes = 0};
    if (opts)
        o = *opts;
    if (test_cluster())
        o.key_file = getenv("QUARRY_TEST_KEY");
    else if (getenv("QUARRY_TEST_ENCRYPTED"))
        o.encryption_key_command = "echo 00112233445566778899aabbccddeeff"
                                   "00112233445566778899aabbccddeeff";
    return quarry_open(target, &o, out, err);
}

/* A target without tables, into @out. */
static inline void test_new_target(char *out, size_t size)
{
    struct err err = ERR_INIT;
    struct quarry *q;
    char **names;
    size_t count;
    if (!test_cluster()) {
        snprintf(out, size, "file:%s/store", test_tmpdir());
        return;
    }
    snprintf(out, size, "%s", test_cluster());
    ck_assert_msg(test_open(out, NULL, &q, &err) == 0, "%s", err.text);
    ck_assert_msg(quarry_table_list(q, &names, &count, &err) == 0, "%s",
                  err.text);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(quarry_table_drop(q, names[i], &err) == 0, "%s",
                      err.text);
    quarry_names_free(names, count);
    quarry_close(q);
}

/* For a test of what a cluster has not: says why it is skipped there. */
#define SKIP_ON_CLUSTER(reason)                                                \
    do {                                                                       \
        if (test_cluster()) {                                                  \
            fprintf(stderr, "SKIPPED %s: %s\n", __func__, reason);             \
            return;                                                            \
        }                                                                      \
    } while (0)

#endif /* TESTS_UNIT_CLIENT_TEST_TARGET_H */
