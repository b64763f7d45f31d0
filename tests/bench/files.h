/* The frame of the benchmarks of the cluster's file system. */
#ifndef TESTS_BENCH_FILES_H
#define TESTS_BENCH_FILES_H

#include <stddef.h>

#include "base/core/err.h"
#include "base/core/panic.h"

struct world;

#define CHECK(call)                                                            \
    do {                                                                       \
        struct err err_ = ERR_INIT;                                            \
        struct err *err = &err_;                                               \
        if ((call) != 0)                                                       \
            PANIC("%s: %s", #call, err->text);                                 \
    } while (0)

extern const char *dir;     /* Where data goes. */
extern struct world *world; /* The real one. */

/* Processor seconds of this process: what others do meanwhile does not count.
 */
double cpu(void);

/* The namenode alone: @count files made, saved, loaded. */
void bench_names(size_t count);
/* How long its loop stands still while @count files are made and saved, copied,
 * looked at, moved and removed. */
void bench_stall(size_t count);

#endif /* TESTS_BENCH_FILES_H */
