/* The monotonic clock counts the time that a machine is suspended, and waits
 * are as long by it. No machine is suspended here: in a time namespace the
 * clock of the boot is ahead of the other one. */
#define _GNU_SOURCE

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "tests/lib/check_main.h"

#define NEW_TIME 0x80 /* CLONE_NEWTIME; not in all headers. */
#define AHEAD_S  1000
#define NS_PER_S UINT64_C(1000000000)

enum {
    EXIT_NO_NAMESPACE = 77,
    EXIT_OTHER_CLOCK = 1,
    EXIT_LONG_WAIT = 2,
};

/* --- Helpers ------------------------------------------------------------- */

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec ts;
    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* In a process whose boot was AHEAD_S earlier. */
static int look_at_clock(void)
{
    struct world *w = world_real_new();
    struct mutex lock;
    struct cond never;
    uint64_t other = clock_ns(CLOCK_MONOTONIC);
    uint64_t begin = world_mono_ns(w);
    if (begin < other + (AHEAD_S - 1) * NS_PER_S)
        return EXIT_OTHER_CLOCK;
    mutex_init(&lock);
    cond_init(&never);
    mutex_lock(&lock);
    cond_wait_us(&never, &lock, w, 10000);
    mutex_unlock(&lock);
    return world_mono_ns(w) - begin < 100 * NS_PER_S ? 0 : EXIT_LONG_WAIT;
}

/* Enter a namespace, and look there: its clocks are those of children. */
static int look_inside(void)
{
    static const char offset[] = "boottime 1000 0\n";
    int status = 0;
    int fd;
    pid_t pid;
    if (unshare(NEW_TIME))
        return EXIT_NO_NAMESPACE;
    fd = open("/proc/self/timens_offsets", O_WRONLY);
    if (fd < 0 || write(fd, offset, strlen(offset)) < 0)
        return EXIT_NO_NAMESPACE;
    close(fd);
    pid = fork();
    if (pid == 0) {
        alarm(60);
        _exit(look_at_clock());
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return EXIT_NO_NAMESPACE;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_LONG_WAIT;
}

/* --- Tests --------------------------------------------------------------- */

START_TEST(test_suspended_time_counts)
{
    /* Check the clock, and how long a thread waits by it. Nothing is tested
     * where no such namespace may be made. */
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(look_inside());
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    if (WEXITSTATUS(status) != EXIT_NO_NAMESPACE)
        ck_assert_int_eq(WEXITSTATUS(status), 0);
}

END_TEST

TEST_MAIN("boot_clock", test_suspended_time_counts)
