/* Sawzall programs, compiled once: clients send the text with every call.
 *
 * Threads: any.
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

struct program_cache *program_cache_new(void);
void program_cache_free(struct program_cache *c); /* NULL is allowed. */

/* The program @source, compiled as for a server. Referenced. ERR_INVALID, with
 * the compiler's diagnostics. */
MUST_CHECK int program_get(struct program_cache *c,
                           struct slice source,
                           bool ignore_undefs,
                           bool defer_tables,
                           struct shared_program **out,
                           struct err *err);
void program_unref(struct shared_program *p); /* NULL is allowed. */
struct saw_program *program_code(struct shared_program *p);

#endif /* BIGTABLE_TABLET_SERVER_PROGRAMS_H */
