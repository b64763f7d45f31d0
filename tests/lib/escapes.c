/* The attempts. None of them does harm where it succeeds. */
#define _GNU_SOURCE

#include "tests/lib/escapes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Its target. */
static const char *aim(const char *name)
{
    char variable[64];
    const char *value;
    snprintf(variable, sizeof(variable), "QUARRY_PARAM_%s", name);
    value = getenv(variable);
    return value ? value : "";
}

static long aim_number(const char *name)
{
    return strtol(aim(name), NULL, 0);
}

static long open_at(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    return fd;
}

/* Remove what an attempt may have made, and keep what it failed with. */
static void remove_made(const char *path)
{
    int errnum = errno;
    unlink(path);
    errno = errnum;
}

static long open_proc(long pid, const char *file, int flags)
{
    char path[128];
    snprintf(path, sizeof(path), "/proc/%ld/%s", pid, file);
    return open_at(path, flags);
}

/* --- other processes ----------------------------------------------------- */

static long memory_of_master(void)
{
    return open_proc(aim_number("master"), "mem", O_RDWR);
}

static long memory_of_bystander(void)
{
    return open_proc(aim_number("bystander"), "mem", O_RDWR);
}

/* The memory of an ancestor: the supervisor, or the shell's parents. */
static long memory_of_process_one(void)
{
    return open_proc(1, "mem", O_RDWR);
}

static long root_of_process_one(void)
{
    return open_proc(1, "root/etc/passwd", O_RDONLY);
}

static long environment_of_master(void)
{
    return open_proc(aim_number("master"), "environ", O_RDONLY);
}

static long descriptors_of_master(void)
{
    return open_proc(aim_number("master"), "fd", O_RDONLY | O_DIRECTORY);
}

static long trace(void)
{
    pid_t pid = (pid_t)aim_number("bystander");
    long r = ptrace(PTRACE_ATTACH, pid, NULL, NULL);
    if (r == 0) {
        waitpid(pid, NULL, __WALL);
        ptrace(PTRACE_DETACH, pid, NULL, NULL);
    }
    return r;
}

static long copy_memory(bool out)
{
    char bytes[8] = {0};
    struct iovec here = {bytes, sizeof(bytes)};
    struct iovec there = {(void *)(uintptr_t)aim_number("address"),
                          sizeof(bytes)};
    pid_t pid = (pid_t)aim_number("bystander");
    return out ? process_vm_readv(pid, &here, 1, &there, 1, 0)
               : process_vm_writev(pid, &here, 1, &there, 1, 0);
}

static long read_memory(void)
{
    return copy_memory(true);
}

static long write_memory(void)
{
    return copy_memory(false);
}

static long signal_bystander(void)
{
    return kill((pid_t)aim_number("bystander"), 0);
}

static long signal_master(void)
{
    return kill((pid_t)aim_number("master"), 0);
}

static long signal_everybody(void)
{
    return kill(-1, 0);
}

static long queue_signal(void)
{
    return sigqueue((pid_t)aim_number("bystander"), 0,
                    (union sigval){.sival_int = 0});
}

static long open_process(void)
{
    long fd = syscall(SYS_pidfd_open, aim_number("bystander"), 0);
    if (fd >= 0)
        close((int)fd);
    return fd;
}

static long prioritise(void)
{
    return setpriority(PRIO_PROCESS, 0, -5);
}

static long prioritise_bystander(void)
{
    id_t pid = (id_t)aim_number("bystander");
    return setpriority(PRIO_PROCESS, pid, getpriority(PRIO_PROCESS, pid));
}

static long real_time(void)
{
    struct sched_param p = {.sched_priority = 0};
    return sched_setscheduler(0, SCHED_BATCH, &p);
}

static long raise_limit(void)
{
    struct rlimit l;
    getrlimit(RLIMIT_NOFILE, &l);
    return setrlimit(RLIMIT_NOFILE, &l);
}

static long limit_bystander(void)
{
    struct rlimit l;
    pid_t pid = (pid_t)aim_number("bystander");
    if (prlimit(pid, RLIMIT_NOFILE, NULL, &l) != 0)
        return -1;
    return prlimit(pid, RLIMIT_NOFILE, &l, NULL);
}

/* --- sockets and messages ------------------------------------------------ */

static socklen_t unix_address(struct sockaddr_un *a, const char *name)
{
    size_t len = strlen(name);
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(a->sun_path, name, len);
    if (name[0] == '@')
        a->sun_path[0] = '\0';
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

static long reach_unix(const char *name, int type)
{
    struct sockaddr_un a;
    socklen_t len = unix_address(&a, name);
    int fd = socket(AF_UNIX, type, 0);
    long r = fd;
    if (fd >= 0) {
        r = connect(fd, (struct sockaddr *)&a, len);
        close(fd);
    }
    return r;
}

static long reach_named(void)
{
    return reach_unix(aim("named"), SOCK_STREAM);
}

static long reach_abstract(void)
{
    return reach_unix(aim("abstract"), SOCK_STREAM);
}

/* With a socket from a pair, which needs no socket(). */
static long send_to(const char *name)
{
    struct sockaddr_un a;
    socklen_t len = unix_address(&a, name);
    int pair[2];
    long r;
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0)
        return -1;
    r = sendto(pair[0], "x", 1, 0, (struct sockaddr *)&a, len);
    close(pair[0]);
    close(pair[1]);
    return r;
}

static long send_to_named(void)
{
    return send_to(aim("named_datagram"));
}

static long send_to_abstract(void)
{
    return send_to(aim("abstract_datagram"));
}

static struct sockaddr_in loopback(const char *port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)aim_number(port)),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

static long reach_tcp(void)
{
    struct sockaddr_in a = loopback("tcp");
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    long r = fd;
    if (fd >= 0) {
        r = connect(fd, (struct sockaddr *)&a, sizeof(a));
        close(fd);
    }
    return r;
}

static long send_udp(void)
{
    struct sockaddr_in a = loopback("tcp");
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    long r = fd;
    if (fd >= 0) {
        r = sendto(fd, "x", 1, 0, (struct sockaddr *)&a, sizeof(a));
        close(fd);
    }
    return r;
}

static long open_socket(int family, int type, int protocol)
{
    int fd = socket(family, type | SOCK_CLOEXEC, protocol);
    if (fd >= 0)
        close(fd);
    return fd;
}

static long netlink(void)
{
    return open_socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
}

static long packets(void)
{
    return open_socket(AF_PACKET, SOCK_RAW, 0);
}

static long shared_segment(void)
{
    return shmget((key_t)aim_number("segment"), 0, 0);
}

static long semaphores(void)
{
    return semget((key_t)aim_number("segment"), 0, 0);
}

static long messages(void)
{
    return msgget((key_t)aim_number("segment"), 0);
}

static long message_queue(void)
{
    mqd_t q = mq_open(aim("queue"), O_RDONLY);
    if (q >= 0)
        mq_close(q);
    return q;
}

static long shared_file(void)
{
    char path[128];
    snprintf(path, sizeof(path), "/dev/shm%s", aim("shared"));
    return open_at(path, O_RDONLY);
}

/* Any that are not ours: above the streams and not QUARRY_CONTROL. */
static long inherited(void)
{
    const char *text = getenv("QUARRY_CONTROL");
    long control = text ? strtol(text, NULL, 10) : -1;
    long kept = aim_number("kept");
    for (long fd = STDERR_FILENO + 1; fd < 1024; fd++)
        if (fd != control && fd != kept && fcntl((int)fd, F_GETFD) >= 0)
            return fd;
    errno = EBADF;
    return -1;
}

/* --- files --------------------------------------------------------------- */

static long read_key(void)
{
    char bytes[8];
    int fd = open(aim("key"), O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
    if (fd >= 0)
        close(fd);
    return n > 0 ? 0 : -1;
}

static long read_shadow(void)
{
    return open_at("/etc/shadow", O_RDONLY);
}

static long read_users_home(void)
{
    return open_at(aim("home"), O_RDONLY | O_DIRECTORY);
}

static long read_other_job(void)
{
    return open_at(aim("other_job"), O_RDONLY);
}

static long follow_link(void)
{
    char path[128];
    long r;
    snprintf(path, sizeof(path), "/tmp/link-%d", getpid());
    if (symlink(aim("other_job"), path) != 0)
        return -1;
    r = open_at(path, O_RDONLY);
    remove_made(path);
    return r;
}

static long climb(void)
{
    char path[4300];
    snprintf(path, sizeof(path), "/tmp/../../..%s", aim("other_job"));
    return open_at(path, O_RDONLY);
}

static long hard_link(void)
{
    char path[128];
    long r;
    snprintf(path, sizeof(path), "/tmp/hard-%d", getpid());
    r = link(aim("other_job"), path);
    remove_made(path);
    return r;
}

static long write_where_it_began(void)
{
    char path[128];
    long r;
    snprintf(path, sizeof(path), "escaped-%d", getpid());
    r = open_at(path, O_WRONLY | O_CREAT);
    remove_made(path);
    return r;
}

static long write_system(void)
{
    char path[128];
    long r;
    snprintf(path, sizeof(path), "/usr/lib/escaped-%d", getpid());
    r = open_at(path, O_WRONLY | O_CREAT);
    remove_made(path);
    return r;
}

static long write_setting_of_kernel(void)
{
    return open_at("/proc/sys/kernel/core_pattern", O_WRONLY);
}

static long system_tree(void)
{
    return open_at("/sys/kernel", O_RDONLY | O_DIRECTORY);
}

static long device(void)
{
    return open_at("/dev/kmsg", O_RDONLY);
}

static long make_device(void)
{
    char path[128];
    long r;
    snprintf(path, sizeof(path), "/tmp/device-%d", getpid());
    r = mknod(path, S_IFCHR | 0600, (dev_t)0x0103);
    remove_made(path);
    return r;
}

static long handle_of_file(void)
{
    char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
    struct file_handle *h = (void *)room;
    int mount;
    h->handle_bytes = MAX_HANDLE_SZ;
    return name_to_handle_at(AT_FDCWD, "/usr", h, &mount, 0);
}

/* --- the machine --------------------------------------------------------- */

static long set_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return clock_settime(CLOCK_REALTIME, &t);
}

static long mount_files(void)
{
    return mount("escape", "/mnt", "no-such-file-system", 0, NULL) == 0 ||
                   errno == ENODEV
               ? 0
               : -1;
}

static long unmount(void)
{
    return umount2("/tmp", MNT_DETACH);
}

static long new_namespace(void)
{
    pid_t pid = fork();
    int status = 0;
    if (pid == 0)
        _exit(unshare(CLONE_NEWUSER) == 0 ? 0 : errno);
    waitpid(pid, &status, 0);
    errno = WEXITSTATUS(status);
    return status == 0 ? 0 : -1;
}

static long clone_namespace(void)
{
    long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        _exit(0);
    if (pid > 0)
        waitpid((pid_t)pid, NULL, 0);
    return pid;
}

static long enter_namespace(void)
{
    int fd = open("/proc/self/ns/ipc", O_RDONLY | O_CLOEXEC);
    long r = fd < 0 ? -1 : setns(fd, CLONE_NEWIPC);
    if (fd >= 0)
        close(fd);
    return r;
}

static long turn_root(void)
{
    long r = syscall(SYS_pivot_root, "/nowhere", "/nowhere");
    return r != 0 && errno == ENOENT ? 0 : r;
}

static long change_root(void)
{
    pid_t pid = fork();
    int status = 0;
    if (pid == 0)
        _exit(chroot("/") == 0 ? 0 : errno);
    waitpid(pid, &status, 0);
    errno = WEXITSTATUS(status);
    return status == 0 ? 0 : -1;
}

static long keys(void)
{
    return syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 0);
}

static long program_of_kernel(void)
{
    static const char empty[128];
    long r = syscall(SYS_bpf, 0 /* BPF_MAP_CREATE */, empty, sizeof(empty));
    return r < 0 && errno == EINVAL ? 0 : r;
}

static long measure_others(void)
{
    struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE,
                                .size = sizeof(a),
                                .config = PERF_COUNT_SW_CPU_CLOCK};
    long fd = syscall(SYS_perf_event_open, &a, -1, 0, -1, 0);
    if (fd >= 0)
        close((int)fd);
    return fd;
}

static long handle_faults(void)
{
    long fd = syscall(SYS_userfaultfd, O_CLOEXEC);
    if (fd >= 0)
        close((int)fd);
    return fd;
}

static long unfiltered_requests(void)
{
    char params[256] = {0};
    long fd = syscall(SYS_io_uring_setup, 1, params);
    if (fd >= 0)
        close((int)fd);
    return fd;
}

static long load_kernel(void)
{
    return syscall(SYS_kexec_load, 0, 0, NULL, ~0UL);
}

static long load_module(void)
{
    return syscall(SYS_finit_module, -1, "", 0);
}

static long restart(void)
{
    return syscall(SYS_reboot, 1, 2, 3, NULL);
}

static long swap(void)
{
    return syscall(SYS_swapoff, "/nowhere");
}

static long name_host(void)
{
    char name[65];
    gethostname(name, sizeof(name));
    return sethostname(name, strlen(name));
}

static long ports(void)
{
    return syscall(SYS_iopl, 0);
}

static long become_root(void)
{
    return setresuid(0, 0, 0);
}

static long become_group_root(void)
{
    return setresgid(0, 0, 0);
}

/* Capabilities, by whatever name. */
static long capability(void)
{
    return prctl(PR_CAPBSET_READ, 21 /* CAP_SYS_ADMIN */) == 1 ? 0 : -1;
}

static long new_rights(void)
{
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0 ? 0 : -1;
}

static long type_on_terminal(void)
{
    /* Of no terminal: what is not refused says ENOTTY. */
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    long r = ioctl(fd, TIOCSTI, "x");
    close(fd);
    return r < 0 && errno == ENOTTY ? 0 : r;
}

static long other_personality(void)
{
    int now = personality(0xffffffff);
    return personality((unsigned long)now);
}

static long dump_core(void)
{
    struct rlimit l;
    getrlimit(RLIMIT_CORE, &l);
    errno = EPERM;
    return l.rlim_max > 1 ? 0 : -1;
}

static long uncounted_memory(void)
{
    int fd = memfd_create("escape", MFD_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd;
}

/* clang-format off */
const struct escape escapes[] = {
    {"memory of the job master", ESCAPE_ANYBODY, memory_of_master},
    {"memory of another process", ESCAPE_ANYBODY, memory_of_bystander},
    {"memory of process 1", ESCAPE_NOBODY, memory_of_process_one},
    {"root of process 1", ESCAPE_NOBODY, root_of_process_one},
    {"environment of the job master", ESCAPE_ANYBODY, environment_of_master},
    {"descriptors of the job master", ESCAPE_ANYBODY, descriptors_of_master},
    {"ptrace", ESCAPE_ROOT, trace},
    {"process_vm_readv", ESCAPE_ROOT, read_memory},
    {"process_vm_writev", ESCAPE_ROOT, write_memory},
    {"signal a bystander", ESCAPE_ANYBODY, signal_bystander},
    {"signal the job master", ESCAPE_ANYBODY, signal_master},
    {"signal everybody", ESCAPE_ANYBODY, signal_everybody},
    {"queue a signal", ESCAPE_ANYBODY, queue_signal},
    {"pidfd of a bystander", ESCAPE_ANYBODY, open_process},
    {"priority", ESCAPE_ROOT, prioritise},
    {"priority of a bystander", ESCAPE_ANYBODY, prioritise_bystander},
    {"scheduling class", ESCAPE_ANYBODY, real_time},
    {"own limits", ESCAPE_ANYBODY, raise_limit},
    {"limits of a bystander", ESCAPE_ANYBODY, limit_bystander},
    {"named socket", ESCAPE_ANYBODY, reach_named},
    {"abstract socket", ESCAPE_ANYBODY, reach_abstract},
    {"datagram to a named socket", ESCAPE_ANYBODY, send_to_named},
    {"datagram to an abstract socket", ESCAPE_ANYBODY, send_to_abstract},
    {"tcp", ESCAPE_ANYBODY, reach_tcp},
    {"udp", ESCAPE_ANYBODY, send_udp},
    {"netlink", ESCAPE_ANYBODY, netlink},
    {"packets", ESCAPE_ROOT, packets},
    {"shared segment", ESCAPE_ANYBODY, shared_segment},
    {"semaphores", ESCAPE_ANYBODY, semaphores},
    {"messages", ESCAPE_ANYBODY, messages},
    {"message queue", ESCAPE_ANYBODY, message_queue},
    {"shared file", ESCAPE_ANYBODY, shared_file},
    {"inherited descriptors", ESCAPE_ANYBODY, inherited},
    {"key of the cluster", ESCAPE_ANYBODY, read_key},
    {"shadow", ESCAPE_ROOT, read_shadow},
    {"home", ESCAPE_ANYBODY, read_users_home},
    {"other job", ESCAPE_ANYBODY, read_other_job},
    {"symbolic link", ESCAPE_ANYBODY, follow_link},
    {"dots", ESCAPE_ANYBODY, climb},
    {"hard link", ESCAPE_ANYBODY, hard_link},
    {"write where it began", ESCAPE_ANYBODY, write_where_it_began},
    {"write the system", ESCAPE_ROOT, write_system},
    {"settings of the kernel", ESCAPE_ROOT, write_setting_of_kernel},
    {"/sys", ESCAPE_ANYBODY, system_tree},
    {"/dev/kmsg", ESCAPE_ROOT, device},
    {"mknod", ESCAPE_ROOT, make_device},
    {"file handle", ESCAPE_ANYBODY, handle_of_file},
    {"clock_settime", ESCAPE_NOBODY, set_clock},
    {"mount", ESCAPE_ROOT, mount_files},
    {"umount", ESCAPE_NOBODY, unmount},
    {"unshare", ESCAPE_ANYBODY, new_namespace},
    {"clone into namespaces", ESCAPE_ANYBODY, clone_namespace},
    {"setns", ESCAPE_ROOT, enter_namespace},
    {"pivot_root", ESCAPE_ROOT, turn_root},
    {"chroot", ESCAPE_ROOT, change_root},
    {"keyctl", ESCAPE_ANYBODY, keys},
    {"bpf", ESCAPE_ROOT, program_of_kernel},
    {"perf_event_open", ESCAPE_NOBODY, measure_others},
    {"userfaultfd", ESCAPE_ROOT, handle_faults},
    {"io_uring", ESCAPE_NOBODY, unfiltered_requests},
    {"kexec", ESCAPE_NOBODY, load_kernel},
    {"module", ESCAPE_NOBODY, load_module},
    {"reboot", ESCAPE_NOBODY, restart},
    {"swapoff", ESCAPE_NOBODY, swap},
    {"name of the host", ESCAPE_ROOT, name_host},
    {"input and output ports", ESCAPE_NOBODY, ports},
    {"setuid", ESCAPE_ROOT, become_root},
    {"setgid", ESCAPE_ROOT, become_group_root},
    {"capabilities", ESCAPE_ANYBODY, capability},
    {"new rights", ESCAPE_ANYBODY, new_rights},
    {"TIOCSTI", ESCAPE_ANYBODY, type_on_terminal},
    {"personality", ESCAPE_ANYBODY, other_personality},
    {"core dump", ESCAPE_NOBODY, dump_core},
    {"memory without a limit", ESCAPE_ANYBODY, uncounted_memory},
};
/* clang-format on */
const size_t escape_count = sizeof(escapes) / sizeof(escapes[0]);

void escapes_try_all(void)
{
    for (size_t i = 0; i < escape_count; i++) {
        long r = escapes[i].attempt();
        printf("%s\t%s\n", escapes[i].name,
               r >= 0 ? "done" : strerrorname_np(errno));
    }
    fflush(stdout);
}
