/* A file of this machine that a command writes: a regular one appears under its
 * name only when it is whole, and keeps the mode and the owner of the one that
 * it replaces; a device, a pipe or a socket is written to as it is; of a
 * symbolic link, what it leads to is written, and the link stays.
 *
 * Threads: one.
 */
#ifndef CLI_OUTPUT_FILE_H
#define CLI_OUTPUT_FILE_H

#include <stdio.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"

struct world;

struct output_file {
    FILE *out;
    const char *path;   /* As given; borrowed; NULL: standard output. */
    struct buf target;  /* Behind links. */
    struct buf partial; /* Its name until it is whole; empty: in place. */
    struct remote_output *remote; /* Of a remote name; owned. */
};

/* Open @path for writing, NULL for standard output. On success the caller ends
 * with output_file_close(). Errors: ERR_INVALID (a directory, a link to
 * nothing), those of open(2). */
MUST_CHECK int
output_file_open(struct output_file *f, const char *path, struct err *err);

/* The same, also of names that are mounted in @world, which is borrowed: the
 * file is there when it was closed. */
MUST_CHECK int output_file_open_in(struct output_file *f,
                                   struct world *world,
                                   const char *path,
                                   struct err *err);

/* Close; if @code, the outcome of writing, is 0, the file takes its name, else
 * nothing is left of it. Returns @code or what went wrong here. */
MUST_CHECK int
output_file_close(struct output_file *f, int code, struct err *err);

#endif /* CLI_OUTPUT_FILE_H */
