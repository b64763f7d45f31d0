/* A sweep over fault points meets every one, and unarmed they are silent. */
#include <stdlib.h>

#include "base/core/err.h"
#include "base/core/fault.h"
#include "base/core/panic.h"
#include "tests/lib/check_main.h"

/* --- Helpers ------------------------------------------------------------- */

/* Code under test: allocates three times, gives everything back on failure. */
static int build(void **parts, struct err *err)
{
    int rc = 0;
    for (int i = 0; i < 3; i++)
        parts[i] = NULL;
    for (int i = 0; i < 3 && rc == 0; i++) {
        parts[i] = mem_try_alloc(100);
        if (!parts[i])
            rc = err_set(err, ERR_NOMEM, "part %d", i);
    }
    for (int i = 0; i < 3 && rc; i++)
        mem_free(parts[i]);
    return rc;
}

/* --- Tests --------------------------------------------------------------- */

/* Failing the nth allocation for n = 1, 2, … fails the build at each of its
 * steps, and it leaks nothing (the leak checker looks). */
START_TEST(test_allocation_sweep)
{
    void *parts[3];
    uint64_t n = 1;
    for (;; n++) {
        struct err err = ERR_INIT;
        int rc;
        fault_arm(FAULT_ALLOC, n, 1);
        rc = build(parts, &err);
        ck_assert_uint_eq(fault_hit_count(FAULT_ALLOC), rc ? n : 3);
        if (fault_disarm(FAULT_ALLOC) == 0) {
            ck_assert_int_eq(rc, 0);
            break;
        }
        ck_assert_int_eq(rc, ERR_NOMEM);
    }
    ck_assert_uint_eq(n, 4);
    for (int i = 0; i < 3; i++)
        mem_free(parts[i]);
}

END_TEST

/* A point fails from its nth hit on, as often as told. */
START_TEST(test_countdown)
{
    ck_assert(!fault_hit("a"));
    fault_arm("a", 3, 2);
    fault_arm("b", 1, UINT64_MAX);
    ck_assert(!fault_hit("a"));
    ck_assert(!fault_hit("a"));
    ck_assert(fault_hit("a"));
    ck_assert(fault_hit("a"));
    ck_assert(!fault_hit("a"));
    ck_assert(fault_hit("b"));
    ck_assert(!fault_hit("c"));
    ck_assert_uint_eq(fault_hit_count("a"), 5);
    ck_assert_uint_eq(fault_disarm("a"), 2);
    fault_disarm_all();
    ck_assert(!fault_hit("b"));
}

END_TEST

/* A size nobody can mean is refused, not attempted. */
START_TEST(test_absurd_size)
{
    ck_assert_ptr_null(mem_try_alloc(SIZE_MAX / 2));
}

END_TEST

TEST_MAIN("fault", test_allocation_sweep, test_countdown, test_absurd_size)
