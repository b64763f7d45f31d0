/* The process that attempts are forked from: one thread, little memory, the
 * code of the job loaded once. It lives as long as the job master's end of the
 * socket is open, and takes all attempts with it when that closes.
 *
 * It is forked by a process that is small itself, or starts as a program of its
 * own (exec.c) that gets its job by ZYGOTE_SETUP.
 *
 * Messages both ways: op:u32 slot:u32 and a 64-bit length (of the body that
 * follows) or, for ZYGOTE_ENDED, the wait status.
 *
 * Invariant INV-1: a slot has at most one attempt; ZYGOTE_START is sent for a
 * free slot only (process_host.c keeps it, zygote.c checks it).
 */
#ifndef MAPREDUCE_ATTEMPT_ZYGOTE_H
#define MAPREDUCE_ATTEMPT_ZYGOTE_H

#include <stdatomic.h>

#include "base/core/macros.h"
#include "mapreduce/task/host.h"

struct fs;

#define ZYGOTE_HEADER_BYTES 16
#define ZYGOTE_SLOTS_MAX    256

enum zygote_op {
    ZYGOTE_READY = 1, /* To the master; body: job_traits. */
    ZYGOTE_FAILED,    /* To the master; body: a task_report with the error. */
    ZYGOTE_START,     /* To the zygote; body: a task_spec. */
    ZYGOTE_KILL,      /* To the zygote. */
    ZYGOTE_ENDED,     /* To the master: the attempt in slot has ended. */
    ZYGOTE_SETUP,     /* To the zygote, the first; body: a job package. */
};

/* Why the zygote itself ended an attempt: the upper half of the 64 bits of
 * ZYGOTE_ENDED; its wait status is the lower half. */
enum zygote_reason {
    ZYGOTE_NO_REASON,
    ZYGOTE_MEMORY,    /* Its processes used more than mr_options.heap_bytes. */
    ZYGOTE_PROCESSES, /* There were more than mr_options.processes_max. */
};

/* With the reason: the cage that the attempt was in had no namespaces. */
#define ZYGOTE_WEAK (UINT32_C(1) << 31)

/* Space for an attempt's report: a file for each would cost more than a small
 * task. */
#define ZYGOTE_REPORT_BYTES_MAX ((size_t)64 * 1024 - 64)

struct zygote_report {
    atomic_uint bytes; /* 0: there is none, or it is in its file. */
    char data[ZYGOTE_REPORT_BYTES_MAX];
};

/* Mapped in the job master, the zygote and the attempts. */
struct zygote_shared {
    struct task_status *status;    /* One a slot. */
    struct zygote_report *reports; /* One a slot. */
    int *pipes;                    /* Write ends, for stdout and stderr. */
    int *files; /* Ends of proxied file systems (gfs-lite/fs_proxy.h), or -1. */
};

/* Make the mapping and the pipes of @slots. *@fd, unless @fd is NULL, is a
 * descriptor of status and reports, owned. */
MUST_CHECK int zygote_shared_open(struct zygote_shared *s,
                                  unsigned slots,
                                  int *fd,
                                  struct err *err);
/* The same in a process that inherited them: of descriptor @fd, pipes from
 * @first_pipe on, and after them as many ends of proxied file systems. */
MUST_CHECK int zygote_shared_join(struct zygote_shared *s,
                                  unsigned slots,
                                  int fd,
                                  int first_pipe,
                                  struct err *err);
void zygote_shared_close(struct zygote_shared *s, unsigned slots);

/* Opens the file system of a cell in an attempt's process. */
typedef int (*zygote_open_fs)(void *ctx,
                              struct world *w,
                              struct fs **out,
                              struct err *err);

/* Run as the zygote, in the child of a fork. @open_fs may be NULL. */
NORETURN void zygote_main(const struct job_setup *setup,
                          const struct zygote_shared *shared,
                          unsigned slots,
                          int socket,
                          zygote_open_fs open_fs,
                          void *ctx);

/* The file of an attempt's report that is longer than the shared space, into
 * @out. */
void zygote_report_path(struct buf *out,
                        const char *work_dir,
                        const struct task_spec *spec);

#endif /* MAPREDUCE_ATTEMPT_ZYGOTE_H */
