/* Directories of results: making, clearing and replacing whole trees through
 * the job's files. Any thread; everything parks. */
#ifndef MAPREDUCE_OUTPUT_DIRS_H
#define MAPREDUCE_OUTPUT_DIRS_H

#include <stdbool.h>

#include "base/core/err.h"

struct job_files;

/* The directory part of @path, "." where it has none: owned. *@name is the name
 * in it, borrowed from @path. */
char *dirs_parent(const char *path, const char **name);

/* Make @path and the directories above it; existing ones are no error. */
MUST_CHECK int
dirs_make(const struct job_files *files, const char *path, struct err *err);
/* Remove @path and everything below it; no error if it does not exist. */
MUST_CHECK int
dirs_remove(const struct job_files *files, const char *path, struct err *err);
/* *@exists: something is at @path. *@empty: it is a directory without names. */
MUST_CHECK int dirs_probe(const struct job_files *files,
                          const char *path,
                          bool *exists,
                          bool *empty,
                          struct err *err);

#endif /* MAPREDUCE_OUTPUT_DIRS_H */
