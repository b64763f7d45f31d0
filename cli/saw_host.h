/* The host of a Sawzall program that a command runs: the files it includes,
 * loads and writes, and the clock.
 *
 * One thread.
 */
#ifndef CLI_SAW_HOST_H
#define CLI_SAW_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct args;
struct cli;
struct saw_compile_options;
struct saw_program;
struct saw_run_options;

/* Files and commands a program writes to with file(…) and proc(…), beside the
 * standard ones. */
#define SAW_HOST_FILES_MAX 64

struct saw_host {
    struct cli *cli;     /* Borrowed. */
    const char *program; /* Its path; NULL when it is none. Borrowed. */

    struct saw_host_file {
        char *path; /* Owned. Or the command. */
        FILE *file; /* Owned. */
        pid_t pid;  /* Of the command; 0: it is a file. */
    } files[SAW_HOST_FILES_MAX];

    size_t file_count;
};

/* Close what the program opened. The first error is in @err. */
MUST_CHECK int saw_host_close(struct saw_host *h, struct err *err);

/* Let programs include files. */
void saw_host_compile_options(struct saw_host *h,
                              struct saw_compile_options *o);
/* Let runs write, load and see the clock; a seed by chance. */
void saw_host_run_options(struct saw_host *h, struct saw_run_options *o);

/* Compile @source, called @name, and print errors and warnings on standard
 * error. On success *@out is owned. */
MUST_CHECK int saw_host_compile(struct saw_host *h,
                                struct slice source,
                                const char *name,
                                const struct saw_compile_options *o,
                                struct saw_program **out,
                                struct err *err);

/* The same for the program that @args name: -e TEXT, --program FILE, or the
 * first word; with --restrict and --ignore-undefs. *@words is how many words
 * were the program's. */
MUST_CHECK int saw_host_compile_args(struct saw_host *h,
                                     const struct args *args,
                                     struct saw_program **out,
                                     size_t *words,
                                     struct err *err);

#endif /* CLI_SAW_HOST_H */
