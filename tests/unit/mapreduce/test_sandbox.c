/* The restrictions of attempts, seen from inside a job: the calls are refused,
 * the limits hold, and processes that they start end with them. */
#define _GNU_SOURCE

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mapreduce/job.h"
#include "mapreduce/mapreduce.h"
#include "tests/lib/check_main.h"

/* --- Fixture ------------------------------------------------------------- */

static const char *dir;
static char in_spec[310];
static char out_spec[310];
static const char *inputs[1] = {in_spec};
static const char *outputs[1] = {out_spec};

static void setup(void)
{
    char path[310];
    FILE *f;
    dir = test_tmpdir();
    setenv("TMPDIR", dir, 1);
    snprintf(in_spec, sizeof(in_spec), "file:%s/in.txt", dir);
    snprintf(out_spec, sizeof(out_spec), "file:%s/out", dir);
    snprintf(path, sizeof(path), "%s/in.txt", dir);
    f = fopen(path, "wb");
    fputs("one line\n", f);
    fclose(f);
}

static struct mr_options options(struct mr_program program)
{
    return (struct mr_options){.program = program,
                               .inputs = inputs,
                               .input_count = 1,
                               .outputs = outputs,
                               .output_count = 1,
                               .workers = 2,
                               .attempts_max = 1,
                               .memory_bytes = 2 << 20,
                               .skip_none = true,
                               .overwrite = true};
}

static void read_output(char *text, size_t size)
{
    char path[400];
    size_t n;
    FILE *f;
    snprintf(path, sizeof(path), "%s/out/part-00000", dir);
    f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    n = fread(text, 1, size - 1, f);
    text[n] = '\0';
    fclose(f);
}

static void expect_error(struct mr_options *o, const char *text)
{
    struct err err = ERR_INIT;
    ck_assert_int_ne(mr_run(o, NULL, &err), 0);
    ck_assert_msg(strstr(err.text, text), "%s", err.text);
}

/* --- System calls -------------------------------------------------------- */

/* Write what each call failed with, by name. */
static void tell(struct mr_task *t, const char *what, long result)
{
    mr_write(mr_output(t, NULL), slice_str(what),
             slice_str(result >= 0 ? "done" : strerrorname_np(errno)));
}

static int try_map(struct mr_task *t, const struct mr_record *r, struct err *e)
{
    struct rlimit limit = {1, 1};
    int pair[2];
    (void)r;
    (void)e;
    tell(t, "socket", socket(AF_INET, SOCK_STREAM, 0));
    tell(t, "unix", socket(AF_UNIX, SOCK_STREAM, 0));
    tell(t, "pair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    tell(t, "ptrace", ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
    tell(t, "kill parent", kill(getppid(), 0));
    tell(t, "kill all", kill(-1, 0));
    tell(t, "kill self", kill(getpid(), 0));
    tell(t, "mount", mount("none", "/mnt", "tmpfs", 0, NULL));
    tell(t, "unshare", unshare(CLONE_NEWUSER));
    tell(t, "namespace",
         syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
    tell(t, "limit", setrlimit(RLIMIT_NOFILE, &limit));
    tell(t, "get limit", getrlimit(RLIMIT_NOFILE, &limit));
    tell(t, "io_uring", syscall(SYS_io_uring_setup, 1, NULL));
    return 0;
}

static const struct mr_job tries = {.abi_version = MR_ABI_VERSION,
                                    .name = "tries",
                                    .map = try_map};

/* A call that no job needs is refused with an error that a program can handle,
 * and calls about a program itself are not. */
START_TEST(test_refused_calls)
{
    setup();
    struct mr_options o = options((struct mr_program){.job = &tries});
    struct err err = ERR_INIT;
    char text[2048];
    ck_assert_msg(mr_run(&o, NULL, &err) == 0, "%s", err.text);
    read_output(text, sizeof(text));
    ck_assert_str_eq(text, "socket\tEACCES\n"
                           "unix\tEACCES\n"
                           "pair\tdone\n"
                           "ptrace\tEPERM\n"
                           "kill parent\tEPERM\n"
                           "kill all\tEPERM\n"
                           "kill self\tdone\n"
                           "mount\tEPERM\n"
                           "unshare\tEPERM\n"
                           "namespace\tEPERM\n"
                           "limit\tEPERM\n"
                           "get limit\tdone\n"
                           "io_uring\tENOSYS\n");
}

END_TEST

/* A job that asks for the network gets it, and nothing else. */
START_TEST(test_network)
{
    setup();
    struct mr_options o = options((struct mr_program){.job = &tries});
    char text[2048];
    o.network = true;
    ck_assert_int_eq(mr_run(&o, NULL, NULL), 0);
    read_output(text, sizeof(text));
    ck_assert_ptr_nonnull(strstr(text, "socket\tdone\n"));
    ck_assert_ptr_nonnull(strstr(text, "mount\tEPERM\n"));
}

END_TEST

/* Commands are in it too. */
START_TEST(test_commands)
{
    setup();
    struct mr_options o = options((struct mr_program){
        .mapper = "kill -9 $(ps -o ppid= $PPID) 2>/dev/null || echo refused"});
    char text[64];
    ck_assert_int_eq(mr_run(&o, NULL, NULL), 0);
    read_output(text, sizeof(text));
    ck_assert_str_eq(text, "refused\t\n");
}

END_TEST

/* --- Limits -------------------------------------------------------------- */

/* A limit that is met is named. */
START_TEST(test_limits)
{
    setup();
    struct mr_options o =
        options((struct mr_program){.mapper = "while :; do :; done"});
    o.cpu_us = 1000 * 1000;
    expect_error(&o, "CPU time limit exceeded");
    o = options((struct mr_program){
        .mapper = "for i in 1 2 3 4 5 6 7 8 9; do sleep 20 & done; wait"});
    o.processes_max = 5;
    expect_error(&o, "more than 5 processes");
    o = options((struct mr_program){
        .mapper = "python3 -c \"x = b'x' * (200 << 20); import time; "
                  "time.sleep(20)\""});
    o.heap_bytes = 64 << 20;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    /* The kernel says no before the zygote has looked. */
    expect_error(&o, "MemoryError");
#else
    expect_error(&o, "more memory than 64");
#endif
}

END_TEST

static int spin_map(struct mr_task *t, const struct mr_record *r, struct err *e)
{
    volatile bool spinning = true;
    (void)t;
    (void)r;
    (void)e;
    while (spinning) {
    }
    return 0;
}

static int file_map(struct mr_task *t, const struct mr_record *r, struct err *e)
{
    static char piece[1 << 16];
    (void)e;
    for (unsigned i = 0; i < 1000; i++)
        mr_write(mr_output(t, NULL), r->value,
                 slice_make(piece, sizeof(piece)));
    return 0;
}

/* So it is when the job's own code meets it. */
START_TEST(test_own_limits)
{
    setup();
    struct mr_job job = {
        .abi_version = MR_ABI_VERSION, .name = "own", .map = spin_map};
    struct mr_options o = options((struct mr_program){.job = &job});
    o.cpu_us = 1000 * 1000;
    expect_error(&o, "more processor time than 1");
    job.map = file_map;
    o.cpu_us = 0;
    o.file_bytes = 1 << 20;
    expect_error(&o, "wrote a file of more than 1");
}

END_TEST

/* Is there a process "sleep @time"? Its number means nothing outside. */
static bool sleeps(const char *time)
{
    char found[700];
    snprintf(found, sizeof(found), "pgrep -fx 'sleep %s' >/dev/null", time);
    return system(found) == 0;
}

static void expect_no_strays(bool no_sandbox)
{
    char command[900];
    char text[32];
    char time[32];
    struct mr_options o;
    snprintf(time, sizeof(time), "60.%d%d", getpid(), no_sandbox);
    snprintf(command, sizeof(command),
             "setsid sleep %s >/dev/null 2>&1 & "
             "until pgrep -fx 'sleep %s' >/dev/null; do :; done; echo runs",
             time, time);
    o = options((struct mr_program){.mapper = command});
    o.no_sandbox = no_sandbox;
    ck_assert_int_eq(mr_run(&o, NULL, NULL), 0);
    read_output(text, sizeof(text));
    ck_assert_str_eq(text, "runs\t\n");
    ck_assert(!sleeps(time));
}

/* A process that a command leaves running, even out of its group, ends with its
 * attempt. */
START_TEST(test_strays)
{
    setup();
    expect_no_strays(false);
    expect_no_strays(true);
}

END_TEST

TEST_MAIN("sandbox",
          test_refused_calls,
          test_network,
          test_commands,
          test_limits,
          test_own_limits,
          test_strays)
