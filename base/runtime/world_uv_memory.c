/* The memory that is there for this process: /proc/meminfo, and the limits of
 * its control groups, of version 1 and 2, up to the root. Pages of files count
 * as available in a group, as they do in the system's own MemAvailable.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/panic.h"
#include "base/runtime/world_uv.h"

/* Larger than any of the files: memory.stat has some 60 short lines. */
#define MEMORY_TEXT_BYTES 8192

/* The names that the two versions give to the same things. */
struct cgroup_names {
    const char *directory;
    const char *limit;
    const char *usage;
    const char *active; /* Lines of memory.stat. */
    const char *inactive;
};

static const struct cgroup_names cgroup_v1 = {
    "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
    "total_active_file", "total_inactive_file"};
static const struct cgroup_names cgroup_v2 = {"/sys/fs/cgroup", "memory.max",
                                              "memory.current", "active_file",
                                              "inactive_file"};

/* The text of a small file; false if there is none. */
static bool read_text(const char *path, char text[MEMORY_TEXT_BYTES])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;
    if (fd < 0)
        return false;
    do {
        n = read(fd, text, MEMORY_TEXT_BYTES - 1);
    } while (n < 0 && errno == EINTR);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* The number behind @name and blanks at the start of a line of @text; 0 if
 * there is none. */
static uint64_t line_number(const char *text, const char *name)
{
    size_t len = strlen(name);
    while (text) {
        if (strncmp(text, name, len) == 0 && strchr(": \t", text[len]))
            return strtoull(text + len + strspn(text + len, ": \t"), NULL, 10);
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    return 0;
}

static bool read_group_text(const char *root,
                            const struct cgroup_names *names,
                            const char *group,
                            const char *file,
                            char text[MEMORY_TEXT_BYTES])
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s%s%s/%s", root, names->directory,
                     group, file);
    return n > 0 && (size_t)n < sizeof(path) && read_text(path, text);
}

/* Lower @out to the limit of one group, if it has one. */
static void apply_group(const char *root,
                        const struct cgroup_names *names,
                        const char *group,
                        struct world_memory *out)
{
    char text[MEMORY_TEXT_BYTES];
    uint64_t limit;
    uint64_t used;
    uint64_t files;
    if (!read_group_text(root, names, group, names->limit, text))
        return;
    limit = strtoull(text, NULL, 10); /* "max" is 0. */
    if (limit == 0 || limit >= out->total_bytes ||
        !read_group_text(root, names, group, names->usage, text))
        return;
    used = strtoull(text, NULL, 10);
    if (!read_group_text(root, names, group, "memory.stat", text))
        return;
    files =
        line_number(text, names->active) + line_number(text, names->inactive);
    used -= MIN_OF(files, used);
    out->total_bytes = limit;
    out->available_bytes =
        MIN_OF(out->available_bytes, limit - MIN_OF(used, limit));
}

/* The group @group and those above it. */
static void apply_groups(const char *root,
                         const struct cgroup_names *names,
                         char *group,
                         struct world_memory *out)
{
    char *slash;
    for (;;) {
        apply_group(root, names, strcmp(group, "/") == 0 ? "" : group, out);
        slash = strrchr(group, '/');
        if (!slash)
            return;
        *slash = '\0';
    }
}

/* The groups of a line of /proc/self/cgroup: number:controllers:path. */
static void apply_line(const char *root, char *line, struct world_memory *out)
{
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return;
    *group++ = '\0';
    if (strcmp(controllers + 1, "memory") == 0)
        apply_groups(root, &cgroup_v1, group, out);
    else if (controllers[1] == '\0')
        apply_groups(root, &cgroup_v2, group, out);
}

void real_memory_below(const char *root, struct world_memory *out)
{
    char path[PATH_MAX];
    char text[MEMORY_TEXT_BYTES];
    char *rest = NULL;
    *out = (struct world_memory){.total_bytes = 0};
    if ((size_t)snprintf(path, sizeof(path), "%s/proc/meminfo", root) >=
            sizeof(path) ||
        !read_text(path, text))
        return;
    out->total_bytes = line_number(text, "MemTotal") * 1024;
    out->available_bytes = line_number(text, "MemAvailable") * 1024;
    snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    if (!read_text(path, text))
        return;
    for (char *line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest))
        apply_line(root, line, out);
    POST(out->available_bytes <= MAX_OF(out->total_bytes, UINT64_C(1)) ||
         out->total_bytes == 0);
}

void real_memory(struct world *w, struct world_memory *out)
{
    (void)w;
    real_memory_below("", out);
}
