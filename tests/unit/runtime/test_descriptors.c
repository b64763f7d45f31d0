/* The limit on descriptors is raised as far as the system allows, and files
 * keep their part of it. */
#include <sys/resource.h>

#include "base/runtime/descriptors.h"
#include "tests/lib/check_main.h"

#define LOW  ((rlim_t)64)
#define HIGH ((rlim_t)100)

/* The soft limit becomes the hard one, once. */
START_TEST(test_raise)
{
    struct rlimit r = {LOW, HIGH};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &r), 0);
    ck_assert_uint_eq(descriptors_limit(), LOW);
    for (int i = 0; i < 2; i++)
        ck_assert_uint_eq(descriptors_raise(), HIGH);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &r), 0);
    ck_assert_uint_eq(r.rlim_cur, HIGH);
}

END_TEST

/* Of few descriptors connections have half, of many all but those reserved for
 * files; a connection within the machine may use a part of these. */
START_TEST(test_parts)
{
    const struct rlimit r = {HIGH, HIGH};
    ck_assert_uint_eq(descriptors_for_connections(100), 50);
    ck_assert_uint_eq(descriptors_for_connections(DESCRIPTORS_RAISED_MAX),
                      DESCRIPTORS_RAISED_MAX - DESCRIPTORS_FOR_FILES);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &r), 0);
    ck_assert(descriptors_admit(49, false));
    ck_assert(!descriptors_admit(50, false));
    ck_assert(descriptors_admit(50, true));
    ck_assert(!descriptors_admit(99, true));
}

END_TEST

TEST_MAIN("descriptors", test_raise, test_parts)
