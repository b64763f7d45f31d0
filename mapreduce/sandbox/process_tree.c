/* Walking /proc/PID/task/TID/children. Memory is that of the whole tree: a
 * limit on single processes is no limit for a command that starts others. */
#define _GNU_SOURCE

#include "mapreduce/sandbox/process_tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/panic.h"

/* Read a small file of /proc; "" if it is gone. */
static void read_text(const char *path, char *text, size_t size)
{
    PRE(size > 0);

    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, size - 1) : 0;
    text[n > 0 ? n : 0] = '\0';
    if (fd >= 0)
        close(fd);
}

/* Children are listed by the thread that started them; attempts and shells
 * start theirs from the first. */
unsigned process_tree_children(pid_t parent, pid_t *children, unsigned max)
{
    char path[64];
    char text[4096];
    char *at = text;
    char *end;
    unsigned n = 0;
    snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children", (long)parent,
             (long)parent);
    read_text(path, text, sizeof(text));
    for (;;) {
        long pid = strtol(at, &end, 10);
        if (end == at || n == max)
            return n;
        children[n++] = (pid_t)pid;
        at = end;
    }
}

/* The kilobytes on the line @name of @text, in bytes; 0: there is none. */
static uint64_t line_bytes(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    PRE(name[0] == '\n');
    return at ? strtoull(at + strlen(name), NULL, 10) * 1024 : 0;
}

/* Resident memory that is not of files: private, and shared with other
 * processes of the tree, which no limit of the kernel counts. */
static uint64_t own_bytes(pid_t pid)
{
    char path[64];
    char text[4096];
    snprintf(path, sizeof(path), "/proc/%ld/status", (long)pid);
    read_text(path, text, sizeof(text));
    return line_bytes(text, "\nRssAnon:") + line_bytes(text, "\nRssShmem:");
}

void process_tree_look(pid_t root, unsigned max, struct process_tree *t)
{
    PRE(root > 0);
    pid_t *found = mem_alloc(((size_t)max + 1) * sizeof(*found));
    unsigned count;
    *t = (struct process_tree){.root_bytes = own_bytes(root)};
    count = process_tree_children(root, found, max);
    for (unsigned i = 0; i < count; i++) {
        INVARIANT(count <= max);
        t->bytes += own_bytes(found[i]);
        count += process_tree_children(found[i], found + count, max - count);
    }
    t->processes = count;
    mem_free(found);
}
