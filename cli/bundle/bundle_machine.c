/* This machine and this program: what a reader of the bundle would ask first.
 * The environment is left out, because it may hold secrets. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/runtime/world.h"
#include "cli/bundle/bundle.h"
#include "cli/cli.h"
#include "cli/log_tail.h"

#define FILE_BYTES_MAX 65536

static void put_kernel(struct buf *out)
{
    struct utsname u;
    if (uname(&u) == 0)
        buf_printf(out, "kernel: %s %s %s %s\n", u.sysname, u.release,
                   u.version, u.machine);
    buf_printf(out, "processors: %ld\npage: %ld bytes\n",
               sysconf(_SC_NPROCESSORS_ONLN), sysconf(_SC_PAGESIZE));
}

static void put_limits(struct buf *out)
{
    static const struct {
        const char *name;
        int id;
    } limits[] = {{"descriptors", RLIMIT_NOFILE},
                  {"address_space", RLIMIT_AS},
                  {"core", RLIMIT_CORE},
                  {"stack", RLIMIT_STACK},
                  {"locked_memory", RLIMIT_MEMLOCK}};

    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        struct rlimit r;
        if (getrlimit((__rlimit_resource_t)limits[i].id, &r))
            continue;
        buf_printf(out, "limit %s:", limits[i].name);
        if (r.rlim_cur == RLIM_INFINITY)
            buf_append_str(out, " none\n");
        else
            buf_printf(out, " %llu (at most %llu)\n",
                       (unsigned long long)r.rlim_cur,
                       (unsigned long long)r.rlim_max);
    }
}

/* A file of the kernel or the system, as it is. */
static void put_file(struct world *w, const char *path, struct buf *out)
{
    char line[1024];
    size_t from = out->len;
    FILE *f = fopen(path, "r");
    (void)w;
    if (!f)
        return;
    buf_printf(out, "\n== %s\n", path);
    while (out->len - from < FILE_BYTES_MAX && fgets(line, sizeof(line), f))
        buf_append_str(out, line);
    fclose(f);
}

void bundle_add_machine(struct bundle *b)
{
    static const char *const files[] = {
        "/etc/os-release",
        "/proc/meminfo",
        "/proc/loadavg",
        "/proc/uptime",
        "/proc/self/limits",
        "/proc/sys/vm/overcommit_memory",
        "/proc/sys/vm/max_map_count",
        "/proc/sys/vm/swappiness",
        "/proc/sys/net/core/somaxconn",
        "/proc/sys/fs/file-max",
        "/proc/pressure/cpu",
        "/proc/pressure/io",
        "/proc/pressure/memory",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/cpu.max",
    };
    struct buf text = BUF_INIT;
    buf_printf(&text, "quarry %s, built with %s, by %s\n", QUARRY_VERSION,
               QUARRY_BUILD, __VERSION__);
    put_kernel(&text);
    put_limits(&text);
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        put_file(b->cli->world, files[i], &text);
    bundle_add(b, "machine.txt", buf_slice(&text));
    buf_close(&text);
}
