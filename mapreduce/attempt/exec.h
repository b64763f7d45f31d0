/* The zygote as a program of its own: how it is started, and what it then does.
 *
 * It finds its descriptors by number: the socket to its master, the status
 * pages, and from EXEC_FIRST_PIPE on a pipe per slot, then as many ends of
 * proxied file systems.
 */
#ifndef MAPREDUCE_ATTEMPT_EXEC_H
#define MAPREDUCE_ATTEMPT_EXEC_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct fs;
struct mr_job;
struct quarry_options;
struct world;

#define EXEC_SOCKET     3
#define EXEC_STATUS     4
#define EXEC_FIRST_PIPE 5

/* Run @command with the argument "SLOTS" appended, the length of @pipes and
 * @files. The descriptors stay the caller's. One thread; other descriptors do
 * not leak into it if they are opened close-on-exec. */
MUST_CHECK int exec_zygote(const char *const *command,
                           int socket,
                           int status,
                           const int *pipes,
                           const int *files,
                           unsigned slots,
                           pid_t *pid,
                           struct err *err);

/* The world that the program runs in, as only its main() knows it. */
struct attempts_options {
    unsigned slots; /* Its last argument. */
    /* Find the job of a name that is built into this program; NULL: there are
     * none. */
    const struct mr_job *(*find)(const char *name);
    /* Read the keys by which attempts prove that they are the worker's: once,
     * before the two below are used, and never in a process whose attempts call
     * a user's own code, which could find them in its memory. NULL: there are
     * none. */
    int (*identify)(void *ctx, struct err *err);
    /* Receives the job's principal, before the two below are used; NULL: not
     * wanted. */
    void (*is_for)(void *ctx, const char *principal);
    /* How attempts open the store of tables. Borrowed; NULL: as it is. */
    const struct quarry_options *store;
    /* How they open the file system of the cell, in a world of their own. */
    int (*open_fs)(void *ctx,
                   struct world *w,
                   struct fs **out,
                   struct err *err);
    void *ctx;
    bool weak_sandbox; /* See job_setup. */
};

/* Run as the zygote until its master closes the socket. Only from main(). */
NORETURN void attempts_main(const struct attempts_options *opts);

#endif /* MAPREDUCE_ATTEMPT_EXEC_H */
