/* Inputs of an import: files of this machine, and inputs that are copied into a
 * temporary file first: standard input ("-"), pipes, and files of the cluster's
 * or directory's own file system ("fs:/crawl/a.warc.gz").
 *
 * Threads: one.
 */
#ifndef CLI_IMPORT_INPUT_H
#define CLI_IMPORT_INPUT_H

#include <stddef.h>

#include "cli/cli.h"
#include "cli/command.h"

struct import_input {
    const char **paths; /* To read; owned array. */
    size_t count;
    const struct args *args; /* As the user named them; borrowed. */
    char **names;            /* Of copies, or NULL; owned. */
    int *fds;                /* Of copies, which have no other name, or -1. */
};

/* Errors: ERR_NOTFOUND, and those of reading and copying. In any case
 * import_input_close(). */
MUST_CHECK int import_input_open(struct cli *cli,
                                 const struct args *args,
                                 struct import_input *in,
                                 struct err *err);
void import_input_close(struct import_input *in);

/* The user's name for @path. Borrowed. */
const char *import_input_name(const struct import_input *in, const char *path);

#endif /* CLI_IMPORT_INPUT_H */
