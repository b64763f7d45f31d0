/* Figures of a process in the text format of Prometheus (exposition format
 * 0.0.4).
 *
 * Counters and the numbers of roles have no type here that would be known, so
 * none is told; names that scrapers know of every process are typed.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "cli/console.h"
#include "cli/console_text.h"

/* Letters, digits and '_' are what a name may have. */
static void put_name(struct buf *out, struct slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.data[i];
        bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                    (c >= '0' && c <= '9');
        buf_append_byte(out, good ? c : '_');
    }
}

static bool is_number(struct slice s)
{
    size_t digits = 0;
    size_t points = 0;
    for (size_t i = 0; i < s.len; i++) {
        digits += s.data[i] >= '0' && s.data[i] <= '9';
        points += s.data[i] == '.';
    }
    return digits > 0 && points <= 1 && digits + points == s.len;
}

static void
put_sample(struct buf *out, struct slice role, struct slice key, struct slice v)
{
    if (!is_number(v))
        return;
    buf_append_str(out, "quarry_");
    if (role.len) {
        put_name(out, role);
        buf_append_byte(out, '_');
    }
    put_name(out, key);
    buf_append_byte(out, ' ');
    buf_append_slice(out, v);
    buf_append_byte(out, '\n');
}

static void put_roles(struct buf *out, struct slice status)
{
    console_cut(&status, '\n'); /* The process, told below. */
    while (status.len) {
        struct slice line = console_cut(&status, '\n');
        struct slice role = console_cut(&line, ':');
        struct slice key, value;
        while (console_figure(&line, &key, &value)) {
            put_sample(out, role, key, value);
        }
    }
}

static void put_process(struct buf *out)
{
    struct rusage use;
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%*u %lu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    getrusage(RUSAGE_SELF, &use);
    buf_printf(out,
               "# TYPE process_resident_memory_bytes gauge\n"
               "process_resident_memory_bytes %llu\n"
               "# TYPE process_cpu_seconds_total counter\n"
               "process_cpu_seconds_total %.6f\n",
               (unsigned long long)pages *
                   (unsigned long long)sysconf(_SC_PAGESIZE),
               (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                   (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6);
}

void console_metrics(struct slice vars, struct slice status, struct buf *out)
{
    while (vars.len) {
        struct slice value = console_cut(&vars, '\n');
        struct slice name = console_cut(&value, ' ');
        put_sample(out, SLICE_EMPTY, name, value);
    }
    put_roles(out, status);
    put_process(out);
}
