/* Inputs of an import: files of this machine, directories and patterns of them,
 * and inputs that are copied into a temporary file first: standard input ("-"),
 * pipes, and files of the cluster's or directory's own file system
 * ("fs:/crawl/a.warc.gz").
 *
 * A directory stands for the files in it and below, in the order of their
 * names; names that begin with '.' or '_', and what import and export write
 * beside others (.schema, .reasons), are left out. A pattern ('*', '?', [sets])
 * that is no file itself stands for what it matches.
 *
 * Threads: one.
 */
#ifndef CLI_IMPORT_INPUT_H
#define CLI_IMPORT_INPUT_H

#include <stddef.h>

#include "cli/cli.h"
#include "cli/command.h"

struct import_input {
    const char **paths; /* To read; owned array of borrowed strings. */
    size_t count;
    size_t cap;
    char **names;  /* As the user knows them; owned. */
    char **copies; /* Paths of copies, or NULL; owned. */
    int *fds;      /* Of copies, which have no other name, or -1. */
};

/* Errors: ERR_NOTFOUND (also: a pattern matches nothing, a directory is empty),
 * and those of reading and copying. In any case import_input_close(). */
MUST_CHECK int import_input_open(struct cli *cli,
                                 const struct args *args,
                                 struct import_input *in,
                                 struct err *err);
void import_input_close(struct import_input *in);

#endif /* CLI_IMPORT_INPUT_H */
