/* The checks of lock_suite.h against a real service.
 *
 *     lock_suite SERVICE all
 *     lock_suite SERVICE storm CLIENTS SECONDS SEED
 *     lock_suite SERVICE latency COUNT
 *     lock_suite SERVICE sessions COUNT
 *     lock_suite SERVICE hold PATH            until its standard input ends
 *     lock_suite SERVICE take PATH
 *
 * SERVICE: zookeeper:…, or HOST:PORT,… of lock servers of ours without
 * a key. `hold` prints "held"; "unsafe" when the lock may be lost, and
 * "expired"; `take` prints "taken", and both the microseconds of the clock that
 * also runs while the machine sleeps, so that two of them can be compared.
 */
#include "tests/lib/lock_suite.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/rpc/security.h"
#include "chubby-lite/lock_service.h"

struct run {
    struct lock_suite suite;
    struct rpc_security *security;
    const char *service;
    char **words;
    int count;
};

static struct run run;

static int connect_real(void *ctx,
                        const struct chubby_options *o,
                        struct chubby **out,
                        struct err *err)
{
    const struct run *r = ctx;
    struct chubby_options with = *o;
    with.servers = &r->service;
    with.server_count = 1;
    with.security = r->security;
    return chubby_connect(r->suite.world, &with, out, err);
}

static void say(const char *what)
{
    printf("%s %llu\n", what,
           (unsigned long long)world_mono_ns(run.suite.world) / 1000);
    fflush(stdout);
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void print_median(const char *what, uint64_t *us, size_t count)
{
    qsort(us, count, sizeof(*us), compare_u64);
    printf("%s: median %llu us, 90 of 100 within %llu us\n", what,
           (unsigned long long)us[count / 2],
           (unsigned long long)us[count * 9 / 10]);
}

/* How long a session takes to begin, and to end. */
static void measure_sessions(size_t count)
{
    uint64_t *begin = mem_zalloc(count, sizeof(uint64_t));
    uint64_t *end = mem_zalloc(count, sizeof(uint64_t));
    struct world *w = run.suite.world;
    struct suite_client a;
    for (size_t i = 0; i < count; i++) {
        uint64_t t = world_mono_ns(w);
        suite_join(&a, &run.suite);
        begin[i] = (world_mono_ns(w) - t) / 1000;
        t = world_mono_ns(w);
        chubby_disconnect(a.chubby);
        end[i] = (world_mono_ns(w) - t) / 1000;
    }
    print_median("begin a session", begin, count);
    print_median("end it", end, count);
    mem_free(begin);
    mem_free(end);
}

/* How long acquiring and releasing a free lock, writing and reading a file
 * take. */
static void measure(size_t count)
{
    uint64_t *acquire = mem_zalloc(count, sizeof(uint64_t));
    uint64_t *release = mem_zalloc(count, sizeof(uint64_t));
    uint64_t *write = mem_zalloc(count, sizeof(uint64_t));
    uint64_t *read = mem_zalloc(count, sizeof(uint64_t));
    struct world *w = run.suite.world;
    struct suite_client a;
    struct chubby_handle *h;
    lock_suite_begin(&run.suite);
    suite_join(&a, &run.suite);
    h = suite_open(&a, "latency", LOCK_MAKE | CHUBBY_UNCACHED, 0);
    for (size_t i = 0; i < count; i++) {
        uint64_t t = world_mono_ns(w);
        ck_assert_int_eq(chubby_acquire(h, CHUBBY_EXCLUSIVE, NULL), 0);
        acquire[i] = (world_mono_ns(w) - t) / 1000;
        t = world_mono_ns(w);
        ck_assert_int_eq(chubby_release(h, NULL), 0);
        release[i] = (world_mono_ns(w) - t) / 1000;
        t = world_mono_ns(w);
        suite_write(h, "x");
        write[i] = (world_mono_ns(w) - t) / 1000;
        t = world_mono_ns(w);
        suite_read(h, "x");
        read[i] = (world_mono_ns(w) - t) / 1000;
    }
    print_median("acquire", acquire, count);
    print_median("release", release, count);
    print_median("write", write, count);
    print_median("read, not cached", read, count);
    chubby_close(h);
    chubby_disconnect(a.chubby);
    mem_free(acquire);
    mem_free(release);
    mem_free(write);
    mem_free(read);
}

static bool input_ended(void)
{
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    char byte;
    return poll(&p, 1, 0) > 0 && read(STDIN_FILENO, &byte, 1) <= 0;
}

/* Hold the lock @path and say what becomes of it, looking every 5 ms. */
static void hold(const char *path)
{
    struct suite_client a;
    struct chubby_handle *h;
    bool safe = true;
    lock_suite_begin(&run.suite);
    suite_join(&a, &run.suite);
    h = suite_open(&a, path, LOCK_MAKE, 0);
    ck_assert_int_eq(chubby_acquire(h, CHUBBY_EXCLUSIVE, NULL), 0);
    say("held");
    while (!input_ended() && !(a.events & CHUBBY_EVENT_EXPIRED)) {
        if (chubby_is_safe(a.chubby) != safe) {
            safe = !safe;
            say(safe ? "safe" : "unsafe");
        }
        world_sleep_us(run.suite.world, 5000);
    }
    if (a.events & CHUBBY_EVENT_EXPIRED)
        say("expired");
    chubby_close(h);
    chubby_disconnect(a.chubby);
}

static void take(const char *path)
{
    struct suite_client a;
    struct chubby_handle *h;
    lock_suite_begin(&run.suite);
    suite_join(&a, &run.suite);
    h = suite_open(&a, path, LOCK_MAKE, 0);
    ck_assert_int_eq(chubby_acquire(h, CHUBBY_EXCLUSIVE, NULL), 0);
    say("taken");
    chubby_close(h);
    chubby_disconnect(a.chubby);
}

static void run_words(void *arg)
{
    const char *what = run.words[0];
    (void)arg;
    if (strcmp(what, "all") == 0)
        lock_suite_all(&run.suite);
    else if (strcmp(what, "latency") == 0 && run.count == 2)
        measure(strtoull(run.words[1], NULL, 10));
    else if (strcmp(what, "sessions") == 0 && run.count == 2)
        measure_sessions(strtoull(run.words[1], NULL, 10));
    else if (strcmp(what, "storm") == 0 && run.count == 4)
        (void)lock_suite_storm(&run.suite, strtoull(run.words[1], NULL, 10),
                               strtoull(run.words[2], NULL, 10) *
                                   LOCK_SUITE_SECOND,
                               strtoull(run.words[3], NULL, 10));
    else if (strcmp(what, "hold") == 0 && run.count == 2)
        hold(run.words[1]);
    else if (strcmp(what, "take") == 0 && run.count == 2)
        take(run.words[1]);
    else
        ck_abort_msg("%s: no such check", what);
}

/* The check that the command line names. */
START_TEST(test_service)
{
    struct loop *loop;
    run.suite = (struct lock_suite){.world = world_real_new(),
                                    .connect = connect_real,
                                    .ctx = &run,
                                    .root = "/suite"};
    run.suite.has_lists = !lock_service_is_named(slice_str(run.service));
    run.security = rpc_security_none("quarry", "suite");
    ck_assert_int_eq(loop_new(run.suite.world, "suite", &loop, NULL), 0);
    loop_start(loop);
    loop_call(loop, "suite", run_words, NULL);
    loop_stop(loop);
    loop_join(loop);
    loop_free(loop);
    rpc_security_free(run.security);
    world_free(run.suite.world);
}

END_TEST

int main(int argc, char **argv)
{
    const TTest *const tests[] = {test_service};
    if (argc < 3) {
        fprintf(stderr, "usage: lock_suite SERVICE CHECK [WORD…]\n");
        return 2;
    }
    run.service = argv[1];
    run.words = argv + 2;
    run.count = argc - 2;
    setenv("CK_FORK", "no", 1);
    return check_main("lock_suite", tests, 1);
}
