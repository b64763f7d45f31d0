/* The part that every test program shares: main, seeds, temporary
 * directories. */
#define _XOPEN_SOURCE 700

#include "tests/lib/check_main.h"

#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TEST_SECONDS 120

/* --- directories --------------------------------------------------------- */

/* The program's own, made before the first test forks and removed behind the
 * last, so that tests which crash or hang leave nothing either. */
static char program_dir[256];
/* The directory that this process made. */
static char own[300];
static pid_t owner;
static unsigned made;

static int
remove_entry(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

static void remove_tree(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void must(bool ok, const char *path)
{
    if (ok)
        return;
    perror(path);
    exit(EXIT_FAILURE);
}

static void make_program_dir(void)
{
    const char *base = getenv("TMPDIR");
    if (program_dir[0]) /* A main of its own has asked before. */
        return;
    snprintf(program_dir, sizeof(program_dir), "%s/quarry-test-XXXXXX",
             base ? base : "/tmp");
    must(mkdtemp(program_dir) != NULL, program_dir);
}

/* Forked children inherit these handlers: only the owner may act. */
static void remove_own(void)
{
    if (owner == getpid())
        remove_tree(own);
}

const char *test_tmpdir(void)
{
    static char path[320];
    make_program_dir();
    if (owner != getpid()) {
        owner = getpid();
        made = 0;
        snprintf(own, sizeof(own), "%s/%ld", program_dir, (long)owner);
        must(mkdir(own, 0777) == 0, own);
        atexit(remove_own);
    }
    snprintf(path, sizeof(path), "%s/%u", own, made++);
    must(mkdir(path, 0777) == 0, path);
    return path;
}

/* --- marks --------------------------------------------------------------- */

/* The coarse clock moves every few milliseconds, and is read without a call of
 * the kernel. */
void check_main_mark(const char *file, int line)
{
    static _Thread_local struct timespec marked;
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    if (now.tv_nsec == marked.tv_nsec && now.tv_sec == marked.tv_sec)
        return;
    marked = now;
    (_mark_point)(file, line);
}

/* --- the program --------------------------------------------------------- */

int check_main(const char *name, const TTest *const *tests, size_t count)
{
    Suite *suite = suite_create(name);
    SRunner *runner;
    int failed;

    make_program_dir();
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
    remove_tree(program_dir);
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
