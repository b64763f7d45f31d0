/* The main function of a test program on libcheck.
 *
 * A test file ends with
 *     TEST_MAIN("bloom", test_add_then_find, test_empty_filter)
 * where each is START_TEST(test_…). CK_FORK and CK_TIMEOUT work as usual; each
 * test has 120 seconds unless the environment says otherwise.
 */
#ifndef TESTS_LIB_CHECK_MAIN_H
#define TESTS_LIB_CHECK_MAIN_H

#include <stddef.h>

#include <check.h>

/* libcheck writes a record to a file, and flushes it, for each assertion that
 * holds: the last of them says where a test was that crashed or hung. Loops
 * make millions, which took most of the time of the tests. One record in some
 * milliseconds is enough. */
void check_main_mark(const char *file, int line);
#define _mark_point(file, line) check_main_mark(file, line)

int check_main(const char *name, const TTest *const *tests, size_t count);

#define TEST_MAIN(name, ...)                                                   \
    int main(void)                                                             \
    {                                                                          \
        const TTest *const tests[] = {__VA_ARGS__};                            \
        return check_main(name, tests, sizeof(tests) / sizeof(tests[0]));      \
    }

/* The seed of a property test: $QUARRY_SEED or a fixed default, printed so that
 * a failure can be run again. */
unsigned long long test_seed(void);

/* A fresh empty directory at each call, removed when the process that called
 * exits, or at the end of the program if it crashed. Borrowed until the next
 * call. */
const char *test_tmpdir(void);

/* Path of a file below the shared data set, or NULL (after saying loudly that
 * the test is skipped) when that is absent: ../shared from the repository, or
 * $QUARRY_SHARED. The string is the caller's to free. */
char *test_shared(const char *relative);

#endif /* TESTS_LIB_CHECK_MAIN_H */
