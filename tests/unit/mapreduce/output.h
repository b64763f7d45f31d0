/* Reading the text output of jobs, part by part. */
#ifndef TESTS_UNIT_MAPREDUCE_OUTPUT_H
#define TESTS_UNIT_MAPREDUCE_OUTPUT_H

#include <stdio.h>

#include "base/core/buf.h"
#include "tests/lib/check_main.h"

/* Append part @i of the output in @dir to @out; false: there is none. */
static inline bool read_part(const char *dir, unsigned i, struct buf *out)
{
    char path[2000];
    char piece[4096];
    size_t n;
    FILE *f;
    snprintf(path, sizeof(path), "%s/part-%05u", dir, i);
    f = fopen(path, "rb");
    if (!f)
        return false;
    while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
        buf_append(out, piece, n);
    fclose(f);
    return true;
}

/* All parts one after the other. Owned. */
static inline char *read_parts(const char *dir)
{
    struct buf all = BUF_INIT;
    unsigned i = 0;
    while (read_part(dir, i, &all))
        i++;
    return buf_take(&all);
}

#endif /* TESTS_UNIT_MAPREDUCE_OUTPUT_H */
