/* Sawzall programs, compiled once: clients send the text with every call. The
 * cache has one place for each hash; a program that loses its place lives on
 * until the calls that use it end.
 *
 * Threads: any.
 *
 * Invariants, kept by programs.c
 *     INV-1. Each place of the cache holds one reference.
 *     INV-2. A shared program does not change after it was put into the cache.
 */
#ifndef BIGTABLE_TABLET_SERVER_PROGRAMS_H
#define BIGTABLE_TABLET_SERVER_PROGRAMS_H

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct program_cache;
struct saw_program;
struct shared_program;

#define PROGRAMS_MAX 64

/* An empty cache. Owned. */
struct program_cache *program_cache_new(void);
/* PRE: no call is running. NULL is allowed. */
void program_cache_free(struct program_cache *c);

/* The program @source, compiled as for a server. Referenced. ERR_INVALID, with
 * the compiler's diagnostics. */
MUST_CHECK int program_get(struct program_cache *c,
                           struct slice source,
                           bool ignore_undefs,
                           bool defer_tables,
                           struct shared_program **out,
                           struct err *err);
/* NULL is allowed. */
void program_unref(struct shared_program *p);

/* The code, borrowed for as long as the reference is held. */
struct saw_program *program_code(struct shared_program *p);

#endif /* BIGTABLE_TABLET_SERVER_PROGRAMS_H */
