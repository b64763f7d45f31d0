/* Hostile code in a job: each way out is tried from inside and found closed,
 * and the same code without a sandbox shows that it was no empty threat.
 *
 * Where the kernel gives no namespaces to this process, jobs with user code are
 * refused, and that is what is tested. */
#define _GNU_SOURCE

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/panic.h"
#include "mapreduce/job.h"
#include "mapreduce/mapreduce.h"
#include "tests/lib/check_main.h"
#include "tests/lib/escapes.h"

#define PATH_BYTES 512
#define TEXT_BYTES ((size_t)16 << 10)
#define AIMS       20

#define ORDINARY_USER 54321

/* --- inside the job ------------------------------------------------------ */

/* This program is also the command of the jobs below. */
__attribute__((constructor)) static void
be_command(int argc, char **argv, char **envp)
{
    (void)envp;
    if (argc != 2 || strcmp(argv[1], "escape") != 0)
        return;
    escapes_try_all();
    _exit(0);
}

/* --- Fixture ------------------------------------------------------------- */

static char dir[PATH_BYTES];     /* Where the job starts. */
static char outside[PATH_BYTES]; /* Of others. */
static char home[PATH_BYTES];
static char program[PATH_BYTES];
static char command[2 * PATH_BYTES];
static char in_spec[2 * PATH_BYTES];
static char out_spec[2 * PATH_BYTES];
static const char *inputs[1] = {in_spec};
static const char *outputs[1] = {out_spec};
static char values[AIMS][PATH_BYTES];
static struct mr_setting aims[AIMS];
static size_t aim_count;
static char key_path[2 * PATH_BYTES];
static const char *hidden[1] = {key_path};
static pid_t bystander;

static void set_aim(const char *name, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void set_aim(const char *name, const char *fmt, ...)
{
    va_list ap;
    ck_assert_uint_lt(aim_count, AIMS);
    va_start(ap, fmt);
    vsnprintf(values[aim_count], PATH_BYTES, fmt, ap);
    va_end(ap);
    aims[aim_count] = (struct mr_setting){name, values[aim_count]};
    aim_count++;
}

static void write_file(const char *path, const char *text, mode_t mode)
{
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
    ck_assert_int_eq(chmod(path, mode), 0);
}

static int bound(int type, const char *name)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    size_t len = strlen(name);
    int fd = socket(AF_UNIX, type, 0);
    memcpy(a.sun_path, name, len);
    if (name[0] == '@')
        a.sun_path[0] = '\0';
    ck_assert_int_eq(
        bind(fd, (struct sockaddr *)&a,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)),
        0);
    if (type == SOCK_STREAM)
        ck_assert_int_eq(listen(fd, 50), 0);
    return fd;
}

static void open_sockets(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    set_aim("named", "%.90s/s", outside);
    bound(SOCK_STREAM, values[aim_count - 1]);
    set_aim("named_datagram", "%.90s/d", outside);
    bound(SOCK_DGRAM, values[aim_count - 1]);
    set_aim("abstract", "@quarry-test-stream-%d", getpid());
    bound(SOCK_STREAM, values[aim_count - 1]);
    set_aim("abstract_datagram", "@quarry-test-datagram-%d", getpid());
    bound(SOCK_DGRAM, values[aim_count - 1]);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    ck_assert_int_eq(listen(fd, 50), 0);
    getsockname(fd, (struct sockaddr *)&a, &len);
    set_aim("tcp", "%u", ntohs(a.sin_port));
}

static int segment = -1;
static int semaphore = -1;
static int queue = -1;

static void open_shared(void)
{
    key_t key = (key_t)(0x51000000 + getpid());
    segment = shmget(key, 4096, IPC_CREAT | 0600);
    semaphore = semget(key, 1, IPC_CREAT | 0600);
    queue = msgget(key, IPC_CREAT | 0600);
    set_aim("segment", "%d", (int)key);
    set_aim("queue", "/quarry-test-%d", getpid());
    mq_close(mq_open(values[aim_count - 1], O_CREAT | O_RDWR, 0600, NULL));
    set_aim("shared", "/quarry-test-%d", getpid());
    close(shm_open(values[aim_count - 1], O_CREAT | O_RDWR, 0600));
}

/* Files that must not stay on the machine. */
static void remove_shared(void)
{
    shmctl(segment, IPC_RMID, NULL);
    semctl(semaphore, 0, IPC_RMID);
    msgctl(queue, IPC_RMID, NULL);
    for (size_t i = 0; i < aim_count; i++) {
        if (strcmp(aims[i].name, "queue") == 0)
            mq_unlink(aims[i].value);
        if (strcmp(aims[i].name, "shared") == 0)
            shm_unlink(aims[i].value);
    }
}

static void start_bystander(void)
{
    static char secret[] = "a secret";
    bystander = fork();
    if (bystander == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    set_aim("bystander", "%d", bystander);
    set_aim("address", "%p", (void *)secret);
    set_aim("master", "%d", getpid());
}

/* The directory @path, and those of tests above it, are to be @user's. */
static void give_directory(const char *path, uid_t user)
{
    char at[PATH_BYTES];
    char *slash;
    ck_assert_int_eq(chown(path, user, user), 0);
    snprintf(at, sizeof(at), "%s", path);
    while ((slash = strrchr(at, '/')) != NULL && strstr(at, "quarry-test")) {
        ck_assert_int_eq(chmod(at, 0755), 0);
        *slash = '\0';
    }
}

/* As @user; 0: as the user that runs the tests. */
static void setup_as(uid_t user)
{
    char path[2 * PATH_BYTES];
    ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
    ck_assert_int_gt(n, 0);
    snprintf(outside, sizeof(outside), "%s", test_tmpdir());
    snprintf(home, sizeof(home), "%s", test_tmpdir());
    snprintf(dir, sizeof(dir), "%s", test_tmpdir());
    setenv("TMPDIR", outside, 1);
    ck_assert_int_eq(chmod(dir, 0755), 0);
    if (user && geteuid() == 0) {
        give_directory(outside, user);
        give_directory(dir, user);
        give_directory(home, user);
        ck_assert_int_eq(setgid(user), 0);
        ck_assert_int_eq(setuid(user), 0);
        prctl(PR_SET_DUMPABLE, 1); /* As a login would leave it. */
    }
    ck_assert_int_eq(chdir(dir), 0);
    snprintf(in_spec, sizeof(in_spec), "file:%s/in.txt", dir);
    snprintf(out_spec, sizeof(out_spec), "file:%s/out", dir);
    /* Sanitizers would set a limit, which is refused. */
    snprintf(command, sizeof(command),
             "ASAN_OPTIONS=disable_coredump=0 %s escape", program);
    snprintf(path, sizeof(path), "%s/in.txt", dir);
    write_file(path, "one line\n", 0644);
    snprintf(key_path, sizeof(key_path), "%s/cluster.key", dir);
    write_file(key_path, "0123456789abcdef0123456789abcdef\n", 0644);
    set_aim("key", "%.500s", key_path);
    set_aim("home", "%s", home);
    snprintf(path, sizeof(path), "%s/other", outside);
    write_file(path, "of another job\n", 0644);
    set_aim("other_job", "%.500s", path);
    start_bystander();
    open_sockets();
    open_shared();
}

static void setup(void)
{
    setup_as(0);
}

static void teardown(void)
{
    kill(bystander, SIGKILL);
    waitpid(bystander, NULL, 0);
    remove_shared();
}

static struct mr_options options(struct mr_program p)
{
    return (struct mr_options){.program = p,
                               .inputs = inputs,
                               .input_count = 1,
                               .outputs = outputs,
                               .output_count = 1,
                               .params = aims,
                               .param_count = aim_count,
                               .hidden = hidden,
                               .hidden_count = 1,
                               .workers = 2,
                               .attempts_max = 1,
                               .memory_bytes = 2 << 20,
                               .skip_none = true,
                               .overwrite = true};
}

/* --- Expectations -------------------------------------------------------- */

static void read_output(char *text)
{
    char path[2 * PATH_BYTES];
    size_t n;
    FILE *f;
    snprintf(path, sizeof(path), "%s/out/part-00000", dir);
    f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    n = fread(text, 1, TEXT_BYTES - 1, f);
    text[n] = '\0';
    fclose(f);
}

/* Does @text say that the escape was refused? */
static bool was_refused(const char *text, const char *name)
{
    size_t len = strlen(name);
    const char *at = text;
    while (strncmp(at, name, len) != 0 || at[len] != '\t') {
        at = strchr(at, '\n');
        ck_assert_msg(at != NULL, "%s: not tried", name);
        at++;
    }
    return strncmp(at + len + 1, "done", 4) != 0;
}

static bool can_confine(void)
{
    pid_t pid = fork();
    int status = 0;
    if (pid == 0)
        _exit(unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) != 0);
    waitpid(pid, &status, 0);
    return status == 0;
}

/* As in a container: the calls that make namespaces fail. */
static void forbid_namespaces(void)
{
    scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);
    ck_assert_int_eq(seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone),
                                      1,
                                      SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NEWUSER,
                                              CLONE_NEWUSER)),
                     0);
    ck_assert_int_eq(
        seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(unshare), 0), 0);
    ck_assert_int_eq(seccomp_load(f), 0);
    seccomp_release(f);
}

static int
copy_map(struct mr_task *t, const struct mr_record *r, struct err *err)
{
    (void)err;
    mr_write(mr_output(t, NULL), SLICE_EMPTY, r->value);
    return 0;
}

static const struct mr_job copies = {.abi_version = MR_ABI_VERSION,
                                     .name = "copies",
                                     .map = copy_map};

static void expect_all_refused(struct mr_options *o)
{
    static char text[TEXT_BYTES];
    struct err err = ERR_INIT;
    int rc = mr_run(o, NULL, &err);
    if (!can_confine()) {
        ck_assert_int_eq(rc, ERR_UNSUPPORTED);
        return;
    }
    ck_assert_msg(rc == 0, "%s", err.text);
    read_output(text);
    for (size_t i = 0; i < escape_count; i++)
        ck_assert_msg(was_refused(text, escapes[i].name), "%s: it escaped\n%s",
                      escapes[i].name, text);
    ck_assert_int_eq(kill(bystander, 0), 0);
}

static void expect_controls(struct mr_options *o)
{
    static char text[TEXT_BYTES];
    struct err err = ERR_INIT;
    o->no_sandbox = true;
    ck_assert_msg(mr_run(o, NULL, &err) == 0, "%s", err.text);
    read_output(text);
    for (size_t i = 0; i < escape_count; i++)
        if (escapes[i].control == ESCAPE_ANYBODY ||
            (escapes[i].control == ESCAPE_ROOT && geteuid() == 0))
            ck_assert_msg(!was_refused(text, escapes[i].name),
                          "%s: refused without a sandbox, so that it shows "
                          "nothing\n%s",
                          escapes[i].name, text);
}

/* The job's history says how it ran. */
static void expect_note(struct mr_options *o, const char *note)
{
    struct mr_report *report = NULL;
    struct err err = ERR_INIT;
    bool found = false;
    ck_assert_msg(mr_run(o, &report, &err) == 0, "%s", err.text);
    for (size_t i = 0; i < report->note_count; i++)
        found = found || strstr(report->notes[i], note);
    ck_assert_msg(found, "no note %s", note);
    mr_report_free(report);
}

/* --- Tests --------------------------------------------------------------- */

/* A command finds every way out closed. */
START_TEST(test_command)
{
    setup();
    struct mr_options o = options((struct mr_program){.mapper = command});
    int left = open("/dev/null", O_RDONLY); /* To be inherited. */
    expect_all_refused(&o);
    close(left);
    teardown();
}

END_TEST

/* An ordinary user's job: where this test is root it becomes one. */
START_TEST(test_command_of_user)
{
    setup_as(ORDINARY_USER);
    struct mr_options o = options((struct mr_program){.mapper = command});
    expect_all_refused(&o);
    teardown();
}

END_TEST

/* Code of a shared object is in the attempt's own process, which is in a cage:
 * what it inherits there is the runtime's. */
START_TEST(test_object)
{
    static char text[TEXT_BYTES];
    static char object[2 * PATH_BYTES];
    struct err err = ERR_INIT;
    setup_as(ORDINARY_USER);
    snprintf(object, sizeof(object), "%.*s/libescape_job.so",
             (int)(strrchr(program, '/') - program), program);
    struct mr_options o = options((struct mr_program){.object = object});
    int rc = mr_run(&o, NULL, &err);
    if (!can_confine()) {
        ck_assert_int_eq(rc, ERR_UNSUPPORTED);
    } else {
        ck_assert_msg(rc == 0, "%s", err.text);
        read_output(text);
        for (size_t i = 0; i < escape_count; i++)
            ck_assert_msg(strcmp(escapes[i].name, "inherited descriptors") ==
                                  0 ||
                              was_refused(text, escapes[i].name),
                          "%s: it escaped\n%s", escapes[i].name, text);
    }
    teardown();
}

END_TEST

/* The user that runs the tests may be root, and then stays root. */
START_TEST(test_object_of_root)
{
    static char text[TEXT_BYTES];
    static char object[2 * PATH_BYTES];
    struct err err = ERR_INIT;
    setup();
    snprintf(object, sizeof(object), "%.*s/libescape_job.so",
             (int)(strrchr(program, '/') - program), program);
    struct mr_options o = options((struct mr_program){.object = object});
    /* As the command line has it: jobs lie in the store's directory. */
    ck_assert_int_eq(mkdir("store", 0700), 0);
    ck_assert_int_eq(mkdir("store/jobs", 0700), 0);
    o.target = "file:store";
    o.history_dir = "store/jobs";
    if (can_confine()) {
        ck_assert_msg(mr_run(&o, NULL, &err) == 0, "%s", err.text);
        read_output(text);
        for (size_t i = 0; i < escape_count; i++)
            ck_assert_msg(strcmp(escapes[i].name, "inherited descriptors") ==
                                  0 ||
                              strncmp(escapes[i].name, "set", 3) == 0 ||
                              was_refused(text, escapes[i].name),
                          "%s: it escaped\n%s", escapes[i].name, text);
    }
    teardown();
}

END_TEST

/* A kernel that gives no namespaces: user code is refused, with the reason, and
 * runs only where the administrator has said so; what is built in always does.
 */
START_TEST(test_no_namespaces)
{
    setup();
    struct mr_options o = options((struct mr_program){.mapper = "id -u"});
    struct err err = ERR_INIT;
    forbid_namespaces();
    ck_assert_int_eq(mr_run(&o, NULL, &err), ERR_UNSUPPORTED);
    ck_assert_msg(strstr(err.text, "refuses namespaces") != NULL, "%s",
                  err.text);
    err = ERR_INIT;
    o.weak_sandbox = true;
    expect_note(&o, "(--weak-sandbox)");
    o.weak_sandbox = false;
    o.no_sandbox = true;
    expect_note(&o, "(--no-sandbox)");
    o.no_sandbox = false;
    o.program = (struct mr_program){.job = &copies};
    o.param_count = 0;
    ck_assert_msg(mr_run(&o, NULL, &err) == 0, "%s", err.text);
    teardown();
}

END_TEST

/* With the weak one, what Landlock and the filter see to still holds. */
START_TEST(test_weak)
{
    static const char *const kept[] = {
        "ptrace",
        "process_vm_readv",
        "signal the job master",
        "named socket",
        "abstract socket",
        "tcp",
        "netlink",
        "mount",
        "unshare",
        "io_uring",
        "memory of the job master",
        "datagram to a named socket",
        "inherited descriptors",
    };
    static char text[TEXT_BYTES];
    struct err err = ERR_INIT;
    setup();
    struct mr_options o = options((struct mr_program){.mapper = command});
    o.weak_sandbox = true;
    forbid_namespaces();
    ck_assert_msg(mr_run(&o, NULL, &err) == 0, "%s", err.text);
    read_output(text);
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        ck_assert_msg(was_refused(text, kept[i]), "%s: it escaped\n%s", kept[i],
                      text);
    teardown();
}

END_TEST

static void expect_killed(const char *mapper, const char *why)
{
    struct mr_options o = options((struct mr_program){.mapper = mapper});
    struct err err = ERR_INIT;
    o.processes_max = 20;
    o.heap_bytes = 64 << 20;
    if (!can_confine())
        return;
    ck_assert_msg(mr_run(&o, NULL, &err) != 0, "%s", mapper);
    ck_assert_msg(strstr(err.text, why) != NULL, "%s", err.text);
    ck_assert_int_eq(kill(bystander, 0), 0);
}

/* Bombs hit a bound of their own, and the machine survives. */
START_TEST(test_bombs)
{
    setup();
    expect_killed("bomb() { bomb | bomb & }; bomb; sleep 1; exit 9", "");
    expect_killed("python3 -c 'import os, time\n"
                  "try:\n"
                  "  while os.fork(): pass\n"
                  "except OSError: print(\"no more\")\n"
                  "time.sleep(60)'",
                  "more than 20");
    expect_killed("python3 -c 'import mmap, time\n"
                  "m = mmap.mmap(-1, 300 << 20)\n"
                  "for i in range(0, len(m), 4096): m[i] = 1\n"
                  "time.sleep(60)'",
                  "more memory than 64");
    expect_killed("cat /dev/zero >/tmp/much", "No space left");
    expect_killed("python3 -c 'import os\n"
                  "while True: os.dup(0)'",
                  "Too many open files");
    teardown();
}

END_TEST

/* Without a sandbox the same code gets out. */
START_TEST(test_command_controls)
{
    setup();
    struct mr_options o = options((struct mr_program){.mapper = command});
    int left = open("/dev/null", O_RDONLY);
    expect_controls(&o);
    close(left);
    teardown();
}

END_TEST

/* Work of a job that no store keeps lies among the files of others: nobody else
 * can look into it, nor take its name before. */
START_TEST(test_temporary_directory)
{
    static char text[TEXT_BYTES];
    char look[2 * PATH_BYTES];
    unsigned long long mode = 0;
    char name[PATH_BYTES];
    struct err err = ERR_INIT;
    setup();
    snprintf(look, sizeof(look), "stat -c '%%a %%n' %s/quarry-job-*", outside);
    struct mr_options o = options((struct mr_program){.mapper = look});
    o.no_sandbox = true;
    o.id = "20260101-000000-0001";
    ck_assert_msg(mr_run(&o, NULL, &err) == 0, "%s", err.text);
    read_output(text);
    ck_assert_int_eq(sscanf(text, "%llu %500s", &mode, name), 2);
    ck_assert_uint_eq(mode, 700);
    ck_assert_uint_eq(strspn(strrchr(name, '-') + 1, "0123456789abcdef"), 32);
    teardown();
}

END_TEST

TEST_MAIN("escapes",
          test_command,
          test_command_controls,
          test_command_of_user,
          test_object,
          test_object_of_root,
          test_no_namespaces,
          test_weak,
          test_bombs,
          test_temporary_directory)
