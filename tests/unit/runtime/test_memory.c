/* The memory of the machine and of its control groups. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/runtime/world_uv.h"
#include "tests/lib/check_main.h"

#define MIB ((uint64_t)1 << 20)

static const char *root;

/* Write @text to the file @path of the system that is made up. */
static void put(const char *path, const char *text)
{
    char full[1024];
    FILE *f;
    snprintf(full, sizeof(full), "%s%s", root, path);
    for (char *p = full + strlen(root) + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        (void)mkdir(full, 0700);
        *p = '/';
    }
    f = fopen(full, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

static void put_machine(void)
{
    root = test_tmpdir();
    put("/proc/meminfo", "MemTotal:       1024000 kB\n"
                         "MemFree:          10240 kB\n"
                         "MemAvailable:    512000 kB\n");
}

static void expect(uint64_t total, uint64_t available)
{
    struct world_memory m;
    real_memory_below(root, &m);
    ck_assert_uint_eq(m.total_bytes, total);
    ck_assert_uint_eq(m.available_bytes, available);
}

/* Without groups it is the machine's; without a machine nothing is known. */
START_TEST(test_machine)
{
    root = test_tmpdir();
    expect(0, 0);
    put_machine();
    expect(1000 * MIB, 500 * MIB);
    put("/proc/self/cgroup", "nothing\n3:cpu:/\n");
    expect(1000 * MIB, 500 * MIB);
}

END_TEST

/* The smallest limit counts, of the process's group and of those above it; the
 * group's pages of files are available. */
START_TEST(test_groups_of_version_2)
{
    put_machine();
    put("/proc/self/cgroup", "0::/a/b\n");
    put("/sys/fs/cgroup/a/b/memory.max", "max\n");
    put("/sys/fs/cgroup/a/b/memory.current", "1\n");
    put("/sys/fs/cgroup/a/memory.max", "209715200\n");
    put("/sys/fs/cgroup/a/memory.current", "157286400\n");
    put("/sys/fs/cgroup/a/memory.stat",
        "anon 1\nfile 73400320\ninactive_file 41943040\n"
        "active_file 10485760\nworkingset 9\n");
    expect(200 * MIB, 100 * MIB);
    put("/sys/fs/cgroup/a/memory.current", "943718400\n"); /* Above it. */
    expect(200 * MIB, 0);
}

END_TEST

START_TEST(test_groups_of_version_1)
{
    put_machine();
    put("/proc/self/cgroup", "5:pids:/x\n4:memory:/x\n0::/\n");
    put("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "104857600\n");
    put("/sys/fs/cgroup/memory/x/memory.usage_in_bytes", "94371840\n");
    put("/sys/fs/cgroup/memory/x/memory.stat",
        "inactive_file 1\ntotal_inactive_file 10485760\n"
        "total_active_file 10485760\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    expect(100 * MIB, 30 * MIB);
}

END_TEST

/* The machine the test runs on has some memory, and not more free than that. */
START_TEST(test_here)
{
    struct world *w = world_real_new();
    struct world_memory m;
    world_memory(w, &m);
    ck_assert_uint_gt(m.total_bytes, MIB);
    ck_assert_uint_gt(m.available_bytes, 0);
    ck_assert_uint_le(m.available_bytes, m.total_bytes);
    world_free(w);
}

END_TEST

TEST_MAIN("memory",
          test_machine,
          test_groups_of_version_2,
          test_groups_of_version_1,
          test_here)
