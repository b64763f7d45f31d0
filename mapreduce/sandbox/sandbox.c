/* The filter is a list of what is refused, not of what is allowed: commands of
 * streaming jobs are written in any language, and a run-time system that meets
 * a refusal of something harmless fails in ways nobody can explain. */
#define _GNU_SOURCE

#include "mapreduce/sandbox/sandbox.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/core/panic.h"

struct sandbox {
    struct sandbox_rules rules;
    scmp_filter_ctx filter; /* NULL: none. */
};

#define CALL(name) SCMP_SYS(name)

/* Affecting other processes, or the process's own limits. */
static const int refused_process[] = {
    CALL(ptrace),        CALL(process_vm_readv),  CALL(process_vm_writev),
    CALL(kcmp),          CALL(pidfd_send_signal), CALL(pidfd_getfd),
    CALL(setrlimit),     CALL(process_madvise),   CALL(process_mrelease),
    CALL(move_pages),    CALL(migrate_pages),     CALL(sched_setscheduler),
    CALL(sched_setattr), CALL(sched_setparam),    CALL(ioprio_set),
};

/* Affecting the machine. */
static const int refused_machine[] = {
    CALL(mount),
    CALL(umount2),
    CALL(pivot_root),
    CALL(chroot),
    CALL(move_mount),
    CALL(open_tree),
    CALL(fsopen),
    CALL(fsconfig),
    CALL(fsmount),
    CALL(fspick),
    CALL(mount_setattr),
    CALL(setns),
    CALL(unshare),
    CALL(reboot),
    CALL(kexec_load),
    CALL(kexec_file_load),
    CALL(init_module),
    CALL(finit_module),
    CALL(delete_module),
    CALL(swapon),
    CALL(swapoff),
    CALL(acct),
    CALL(quotactl),
    CALL(syslog),
    CALL(sethostname),
    CALL(setdomainname),
    CALL(settimeofday),
    CALL(clock_settime),
    CALL(clock_adjtime),
    CALL(adjtimex),
    CALL(iopl),
    CALL(ioperm),
    CALL(bpf),
    CALL(perf_event_open),
    CALL(userfaultfd),
    CALL(fanotify_init),
    CALL(lookup_dcookie),
    CALL(add_key),
    CALL(request_key),
    CALL(keyctl),
    CALL(name_to_handle_at),
    CALL(open_by_handle_at),
    CALL(mknod),
    CALL(mknodat),
    CALL(vhangup),
    CALL(quotactl_fd),
    CALL(modify_ldt),
};

/* Memory that no limit counts; libraries can do without. */
static const int refused_memory[] = {
    CALL(memfd_create),
    CALL(memfd_secret),
    CALL(shmget),
};

/* Flags of clone() that make a namespace. */
static const uint64_t namespaces[] = {
    CLONE_NEWNS,  CLONE_NEWUTS, CLONE_NEWIPC,    CLONE_NEWUSER,
    CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWCGROUP,
};

/* A call that the kernel does not know is refused already. */
static int sandbox_refuse(scmp_filter_ctx f, int call, int errnum)
{
    int rc = seccomp_rule_add(f, SCMP_ACT_ERRNO((unsigned)errnum), call, 0);
    return rc == -EDOM || rc == -EOPNOTSUPP ? 0 : rc;
}

static int refuse_all(scmp_filter_ctx f, const int *calls, size_t count)
{
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = sandbox_refuse(f, calls[i], EPERM);
    return rc;
}

static int refuse_namespaces(scmp_filter_ctx f)
{
    int rc = 0;
    for (size_t i = 0; i < ARRAY_LEN(namespaces) && rc == 0; i++)
        rc = seccomp_rule_add(
            f, SCMP_ACT_ERRNO(EPERM), CALL(clone), 1,
            SCMP_A0(SCMP_CMP_MASKED_EQ, namespaces[i], namespaces[i]));
    /* Its flags are in memory, where a filter cannot look; libraries that get
     * ENOSYS use clone(). */
    return rc ? rc : sandbox_refuse(f, CALL(clone3), ENOSYS);
}

/* Refuse a signal to @pid by any of the calls that have it as first argument;
 * only the argument's lower half is the number. */
static int refuse_signal(scmp_filter_ctx f, pid_t pid)
{
    static const int calls[] = {CALL(kill), CALL(tkill), CALL(tgkill),
                                CALL(rt_sigqueueinfo), CALL(rt_tgsigqueueinfo)};
    int rc = 0;
    for (size_t i = 0; i < ARRAY_LEN(calls) && rc == 0; i++)
        rc = seccomp_rule_add(
            f, SCMP_ACT_ERRNO(EPERM), calls[i], 1,
            SCMP_A0(SCMP_CMP_MASKED_EQ, UINT32_MAX, (uint32_t)pid));
    return rc;
}

static int
refuse_signals(scmp_filter_ctx f, const pid_t *supervisors, size_t count)
{
    int rc = refuse_signal(f, -1);
    for (size_t i = 0; i < count && rc == 0; i++) {
        if (supervisors[i] <= 0)
            continue;
        rc = refuse_signal(f, supervisors[i]);
        if (rc == 0)
            rc = refuse_signal(f, -supervisors[i]);
    }
    return rc;
}

/* Reading limits uses the same call and stays allowed. */
static int refuse_new_limits(scmp_filter_ctx f)
{
    return seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), CALL(prlimit64), 1,
                            SCMP_A2(SCMP_CMP_NE, 0));
}

/* Pairs of sockets between a program's own processes are not the network,
 * unless they are of a kind that can be sent to others. */
static int refuse_pairs(scmp_filter_ctx f)
{
    static const uint64_t types[] = {SOCK_DGRAM, SOCK_RAW, SOCK_RDM};
    int rc = seccomp_rule_add(f, SCMP_ACT_ERRNO(EACCES), CALL(socketpair), 1,
                              SCMP_A0_32(SCMP_CMP_NE, AF_UNIX));
    for (size_t i = 0; i < ARRAY_LEN(types) && rc == 0; i++)
        rc = seccomp_rule_add(f, SCMP_ACT_ERRNO(EACCES), CALL(socketpair), 1,
                              SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, types[i]));
    return rc;
}

/* The host's network includes its abstract sockets and its routing; they stay
 * closed. */
static int refuse_families(scmp_filter_ctx f)
{
    int rc = seccomp_rule_add(f, SCMP_ACT_ERRNO(EACCES), CALL(socket), 1,
                              SCMP_A0_32(SCMP_CMP_LT, AF_INET));
    if (rc == 0)
        rc = seccomp_rule_add(f, SCMP_ACT_ERRNO(EACCES), CALL(socket), 1,
                              SCMP_A0_32(SCMP_CMP_GT, AF_INET6));
    for (uint32_t family = AF_INET + 1; family < AF_INET6 && rc == 0; family++)
        rc = seccomp_rule_add(f, SCMP_ACT_ERRNO(EACCES), CALL(socket), 1,
                              SCMP_A0_32(SCMP_CMP_EQ, family));
    return rc;
}

static int refuse_network(scmp_filter_ctx f)
{
    int rc = sandbox_refuse(f, CALL(socket), EACCES);
    return rc ? rc : sandbox_refuse(f, CALL(connect), EACCES);
}

/* Typing for others on a terminal, and programs of other systems'
 * personalities. */
static int refuse_requests(scmp_filter_ctx f)
{
    static const uint64_t ioctls[] = {TIOCSTI, TIOCLINUX};
    int rc = 0;
    for (size_t i = 0; i < ARRAY_LEN(ioctls) && rc == 0; i++)
        rc = seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), CALL(ioctl), 1,
                              SCMP_A1_32(SCMP_CMP_EQ, (uint32_t)ioctls[i]));
    return rc ? rc
              : seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), CALL(personality), 1,
                                 SCMP_A0_32(SCMP_CMP_NE, UINT32_MAX));
}

/* Calls by which a file of the job could stand for another. */
static const int refused_links[] = {
    CALL(symlink), CALL(symlinkat), CALL(link),     CALL(linkat),
    CALL(chmod),   CALL(fchmodat),  CALL(setxattr),
};

/* Calls that the runtime itself makes, and user code does not. */
static int refuse_more(scmp_filter_ctx f, const struct sandbox_rules *rules)
{
    int rc = 0;
    for (size_t i = 0; i < ARRAY_LEN(refused_memory) && rc == 0; i++)
        rc = sandbox_refuse(f, refused_memory[i], ENOSYS);
    if (rc == 0)
        rc = refuse_requests(f);
    if (rc == 0)
        rc = refuse_pairs(f);
    if (rc == 0 && rules->runtime)
        rc = refuse_all(f, refused_links, ARRAY_LEN(refused_links));
    if (rc == 0 && rules->network && !rules->runtime)
        rc = refuse_families(f);
    return rc;
}

static int sandbox_fill(scmp_filter_ctx f, const struct sandbox_rules *rules)
{
    int rc = refuse_all(f, refused_process, ARRAY_LEN(refused_process));
    if (rc == 0)
        rc = refuse_all(f, refused_machine, ARRAY_LEN(refused_machine));
    /* Its requests do not pass the filter. */
    if (rc == 0)
        rc = sandbox_refuse(f, CALL(io_uring_setup), ENOSYS);
    if (rc == 0)
        rc = refuse_namespaces(f);
    if (rc == 0)
        rc = refuse_signals(f, rules->supervisors,
                            ARRAY_LEN(rules->supervisors));
    if (rc == 0)
        rc = refuse_new_limits(f);
    if (rc == 0 && rules->user_code)
        rc = refuse_more(f, rules);
    if (rc == 0 && !rules->network)
        rc = refuse_network(f);
    return rc;
}

int sandbox_new(const struct sandbox_rules *rules,
                struct sandbox **out,
                struct err *err)
{
    struct sandbox *s = mem_zalloc(1, sizeof(*s));
    int rc = 0;
    s->rules = *rules;
    if (!rules->open) {
        s->filter = seccomp_init(SCMP_ACT_ALLOW);
        rc = s->filter ? sandbox_fill(s->filter, rules) : -ENOMEM;
    }
    *out = s;
    if (rc == 0)
        return 0;
    sandbox_free(s);
    *out = NULL;
    return err_set_errno(err, -rc, "build the filter of system calls");
}

void sandbox_free(struct sandbox *s)
{
    if (!s)
        return;
    if (s->filter)
        seccomp_release(s->filter);
    mem_free(s);
}

/* @grace: the time between the signal and the kill. */
static void sandbox_limit(int what, uint64_t value, uint64_t grace)
{
    struct rlimit old;
    /* A lower limit is somebody's decision and stays. */
    if (getrlimit((__rlimit_resource_t)what, &old) == 0 &&
        old.rlim_max != RLIM_INFINITY)
        value = MIN_OF(value, (uint64_t)old.rlim_max);
    setrlimit((__rlimit_resource_t)what,
              &(struct rlimit){value, value + grace});
}

static void set_limits(const struct sandbox_rules *rules)
{
    /* With 0 the system would still start a program that handles core dumps. */
    sandbox_limit(RLIMIT_CORE, 1, 0);
    sandbox_limit(RLIMIT_FSIZE, rules->file_bytes, 0);
    if (rules->cpu_us > 0)
        sandbox_limit(RLIMIT_CPU, (rules->cpu_us + 999999) / 1000000, 2);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    sandbox_limit(RLIMIT_DATA, rules->data_bytes, 0);
#endif /* A sanitizer's shadow memory would not fit. */
}

int sandbox_enter(const struct sandbox *s, struct err *err)
{
    int rc;
    set_limits(&s->rules);
    if (!s->filter)
        return 0;
    rc = seccomp_load(s->filter);
    if (rc == 0)
        return 0;
    err_set(err, ERR_UNSUPPORTED,
            "this system cannot filter system calls (error %d)", -rc);
    err_hint(err, "a job that is trusted may run without: --no-sandbox");
    return ERR_UNSUPPORTED;
}
