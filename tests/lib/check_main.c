/* What every test program shares: main, seeds, temporary directories. */
#define _XOPEN_SOURCE 700

#include "tests/lib/check_main.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEST_SECONDS 120

int check_main(const char *name, const TTest *const *tests, size_t count)
{
    Suite *suite = suite_create(name);
    SRunner *runner;
    int failed;

    for (size_t i = 0; i < count; i++) {
        TCase *tc = tcase_create(tests[i]->name);
        tcase_set_timeout(tc, TEST_SECONDS);
        tcase_add_test(tc, tests[i]);
        suite_add_tcase(suite, tc);
    }
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

unsigned long long test_seed(void)
{
    const char *s = getenv("QUARRY_SEED");
    unsigned long long seed = s ? strtoull(s, NULL, 0) : 20260101;
    printf("seed: QUARRY_SEED=%llu\n", seed);
    fflush(stdout);
    return seed;
}

static int
remove_entry(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

static char tmpdir[256];
static pid_t tmpdir_owner;

static void remove_tmpdir(void)
{
    if (tmpdir[0] && tmpdir_owner == getpid())
        nftw(tmpdir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

const char *test_tmpdir(void)
{
    const char *base = getenv("TMPDIR");
    snprintf(tmpdir, sizeof(tmpdir), "%s/quarry-test-XXXXXX",
             base ? base : "/tmp");
    if (!mkdtemp(tmpdir)) {
        perror(tmpdir);
        exit(EXIT_FAILURE);
    }
    tmpdir_owner = getpid();
    atexit(remove_tmpdir);
    return tmpdir;
}

char *test_shared(const char *relative)
{
    const char *root = getenv("QUARRY_SHARED");
    char path[4096];
    if (root)
        snprintf(path, sizeof(path), "%s/%s", root, relative);
    else
        snprintf(path, sizeof(path), "%s/../shared/%s", QUARRY_SOURCE_DIR,
                 relative);
    if (access(path, R_OK) == 0)
        return strdup(path);
    printf("SKIPPED: %s is not here (set QUARRY_SHARED)\n", path);
    fflush(stdout);
    return NULL;
}
