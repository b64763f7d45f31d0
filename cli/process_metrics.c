/* The process as the kernel knows it: /proc/self, getrusage(), and for the
 * clock adjtimex(), by which chrony, ntpd and systemd-timesyncd tell the kernel
 * how far off it is. Names that begin with "process_" are those by which
 * scrapers know every process.
 */
#include "cli/process_metrics.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/timex.h>
#include <unistd.h>

#include "base/core/panic.h"
#include "base/metrics/metrics.h"
#include "base/runtime/descriptors.h"
#include "cli/server_restart.h"

#define PATH_BYTES 4096

static void
process_metrics_put(struct metric_set *out, enum metric_id id, double value)
{
    metric_put(out, id, NULL, value);
}

static void put_processor(struct metric_set *out)
{
    struct rusage use;
    if (getrusage(RUSAGE_SELF, &use))
        return;
    process_metrics_put(
        out, METRIC_process_cpu_seconds,
        (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
            (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6);
}

/* The seconds since the epoch at which the machine was booted; 0: unknown. */
static double boot_time(void)
{
    char line[256];
    unsigned long long at = 0;
    FILE *f = fopen("/proc/stat", "r");
    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "btime %llu", &at) == 1)
            break;
    if (f)
        fclose(f);
    return (double)at;
}

/* Fields 20, 22, 23 and 24 of /proc/self/stat; the name before them may have
 * spaces and ends with the last ')'. */
static void put_stat(struct metric_set *out)
{
    char text[1024] = "";
    const char *rest;
    unsigned long long threads, start, size, pages;
    FILE *f = fopen("/proc/self/stat", "r");
    if (!f)
        return;
    rest = fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;
    fclose(f);
    if (!rest ||
        sscanf(rest + 1,
               " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d "
               "%*d %*d %llu %*d %llu %llu %llu",
               &threads, &start, &size, &pages) != 4)
        return;
    process_metrics_put(out, METRIC_process_threads, (double)threads);
    process_metrics_put(out, METRIC_process_start_time_seconds,
                        boot_time() +
                            (double)start / (double)sysconf(_SC_CLK_TCK));
    process_metrics_put(out, METRIC_process_virtual_memory_bytes, (double)size);
    process_metrics_put(out, METRIC_process_resident_memory_bytes,
                        (double)pages * (double)sysconf(_SC_PAGESIZE));
}

/* The number in kB behind @name in a file of /proc. False: there is none. */
static bool read_kb(const char *path, const char *name, double *bytes)
{
    char line[256];
    unsigned long long kb = 0;
    bool found = false;
    size_t len = strlen(name);
    FILE *f = fopen(path, "r");
    while (f && !found && fgets(line, sizeof(line), f))
        found = strncmp(line, name, len) == 0 &&
                sscanf(line + len, " %llu kB", &kb) == 1;
    if (f)
        fclose(f);
    *bytes = (double)kb * 1024;
    return found;
}

/* The limit in the file @name of the control group @group below @root, or of
 * one above it, if it is lower than *@least. */
static void lower_by_groups(const char *root,
                            const char *group,
                            const char *name,
                            double *least)
{
    char path[2 * PATH_BYTES];
    char at[PATH_BYTES];
    unsigned long long limit;
    PRE(*root == '/');
    PRE(*least >= 0);
    snprintf(at, sizeof(at), "%s", group);
    for (;;) {
        char *slash = strrchr(at, '/');
        FILE *f;
        snprintf(path, sizeof(path), "%s%s/%s", root, at, name);
        f = fopen(path, "r");
        if (f && fscanf(f, "%llu", &limit) == 1 && (double)limit < *least)
            *least = (double)limit;
        if (f)
            fclose(f);
        if (!slash)
            return;
        *slash = '\0';
    }
}

/* Version 2 has a line "0::/group", version 1 "N:memory:/group". */
static void lower_by_limits(double *least)
{
    char line[PATH_BYTES];
    FILE *f = fopen("/proc/self/cgroup", "r");
    while (f && fgets(line, sizeof(line), f)) {
        const char *first = strchr(line, ':');
        const char *group = first ? strchr(first + 1, ':') : NULL;
        line[strcspn(line, "\n")] = '\0';
        if (group && strncmp(first, "::", 2) == 0)
            lower_by_groups("/sys/fs/cgroup", group + 1, "memory.max", least);
        if (group && strncmp(first, ":memory:", 8) == 0)
            lower_by_groups("/sys/fs/cgroup/memory", group + 1,
                            "memory.limit_in_bytes", least);
    }
    if (f)
        fclose(f);
}

static void put_memory(struct metric_set *out)
{
    double bytes;
    if (read_kb("/proc/self/status", "VmSwap:", &bytes))
        process_metrics_put(out, METRIC_process_swap_bytes, bytes);
    if (!read_kb("/proc/meminfo", "MemTotal:", &bytes))
        return;
    lower_by_limits(&bytes);
    process_metrics_put(out, METRIC_process_memory_limit_bytes, bytes);
}

static void put_descriptors(struct metric_set *out)
{
    const struct dirent *e;
    size_t count = 0;
    DIR *d = opendir("/proc/self/fd");
    if (d) {
        while ((e = readdir(d)) != NULL)
            count += e->d_name[0] != '.';
        closedir(d);
        process_metrics_put(out, METRIC_process_open_fds,
                            (double)(count - 1)); /* Not ours. */
    }
    process_metrics_put(out, METRIC_process_max_fds,
                        (double)descriptors_limit());
}

static void put_clock(struct metric_set *out)
{
    struct timex t = {.modes = 0};
    int state = adjtimex(&t);
    if (state < 0)
        return;
    process_metrics_put(out, METRIC_clock_synchronized,
                        state != TIME_ERROR && !(t.status & STA_UNSYNC));
    process_metrics_put(out, METRIC_clock_offset_seconds,
                        (double)t.offset / (t.status & STA_NANO ? 1e9 : 1e6));
    process_metrics_put(out, METRIC_clock_error_seconds,
                        (double)t.maxerror / 1e6);
}

void process_metrics_gather(struct metric_set *out)
{
    put_processor(out);
    put_stat(out);
    put_memory(out);
    process_metrics_put(out, METRIC_process_restarts,
                        (double)server_restart_count());
    put_descriptors(out);
    put_clock(out);
}
