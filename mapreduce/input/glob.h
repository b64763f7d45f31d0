/* File names by pattern: '*', '?' and [sets] in any component, as in a shell;
 * names that begin with '.' or '_' only match a pattern that does too, so that
 * the output of one job can be the input of the next. */
#ifndef MAPREDUCE_INPUT_GLOB_H
#define MAPREDUCE_INPUT_GLOB_H

#include <stddef.h>

#include "base/core/err.h"

struct job_files;

/* Paths of the files that match, sorted; a directory stands for the files in
 * it. *@paths is owned: files_names_free(). None is not an error. Parks. */
MUST_CHECK int glob_files(const struct job_files *files,
                          const char *pattern,
                          char ***paths,
                          size_t *count,
                          struct err *err);

#endif /* MAPREDUCE_INPUT_GLOB_H */
