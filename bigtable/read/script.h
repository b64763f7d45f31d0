/* Sawzall programs over rows: filters of scans, and parallel runs.
 *
 * Threads: a script_filter is one thread's, and so is a saw_run; the rest is
 * any thread's.
 */
#ifndef BIGTABLE_READ_SCRIPT_H
#define BIGTABLE_READ_SCRIPT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/row/cells.h"

struct read_spec;
struct saw_program;
struct saw_run;
struct schema;
struct script_filter;
struct world;

/* A script's share of memory, for one row and its tables. */
#define SCRIPT_BYTES_MAX ((uint64_t)256 << 20)
/* Instructions per row, unless the user says otherwise, and what a server gives
 * at the most: some seconds of a processor. */
#define SCRIPT_FUEL_DEFAULT UINT64_C(10000000)
#define SCRIPT_FUEL_MAX     UINT64_C(1000000000)

/* The fuel that a request for @fuel is granted; 0: the default. */
uint64_t script_fuel(uint64_t fuel);

/* Is @source no text of Sawzall but the name of a program that is part of this
 * one, with its arguments? There is one: row_digest.h. */
bool script_is_native(struct slice source);

/* Compile @source as a filter: it must read rows and emit to `keep`, or be
 * native. Errors: ERR_INVALID with the compiler's diagnostics. */
MUST_CHECK int script_filter_new(struct slice source,
                                 uint64_t fuel,
                                 struct script_filter **out,
                                 struct err *err);
/* The same with @program, compiled as for a server; borrowed until the filter
 * is freed, and may be in several at once. Once @cancel is set, it ends soon
 * with ERR_CANCELLED; borrowed. */
MUST_CHECK int script_filter_make(struct saw_program *program,
                                  uint64_t fuel,
                                  const atomic_bool *cancel,
                                  struct script_filter **out,
                                  struct err *err);
void script_filter_free(struct script_filter *f); /* NULL is allowed. */
/* Fuel that it has burnt so far. */
uint64_t script_filter_fuel(const struct script_filter *f);

/* Run it over @row. The rows it keeps come from script_filter_next(), borrowed
 * until the next run; one it keeps as it was read is @row itself. NULL: no
 * more. */
MUST_CHECK int script_filter_run(struct script_filter *f,
                                 const struct quarry_row *row,
                                 struct err *err);
const struct quarry_row *script_filter_next(struct script_filter *f);
/* The scan, or an answer of it, ends: more rows may come from
 * script_filter_next(). PRE: it has returned NULL. */
void script_filter_end(struct script_filter *f);

/* Run @run over one row: as its `r: Row`, or, if the program reads bytes, over
 * the value of each of its cells. Errors name the row. */
MUST_CHECK int script_run_row(struct saw_run *run,
                              const struct quarry_row *row,
                              struct err *err);

/* Let @spec leave out the values no instruction of @p can look at. */
void script_narrow(const struct saw_program *p,
                   const struct schema *schema,
                   struct read_spec *spec);

#endif /* BIGTABLE_READ_SCRIPT_H */
