/* The Sawzall language: compile a program once, run it over many records.
 *
 *     struct saw_program *p;
 *     struct saw_run *run;
 *     saw_compile(&opts, source, "hosts.szl", &p, &diagnostics);
 *     saw_run_new(p, &run_opts, &run);
 *     while (next record)
 *         saw_run_record(run, record, key, &err);
 *     saw_run_print(run, ...);
 *
 * A program knows neither files nor network: records come in by value, emitted
 * values go to aggregator tables inside the run (or to the sink of
 * saw_run_options for output that is printed as it is emitted). Tables of two
 * runs of one program merge: saw_run_encode_tables() here,
 * saw_run_merge_tables() there, over any tree of workers.
 *
 * Threads: a program is immutable and shared freely. A run is one thread's at a
 * time, and may be moved between threads between records.
 *
 * Bounds: fuel (instructions) per record, bytes of memory, depth of calls, and
 * cancellation end a record with an error that names the line; nothing recurses
 * on the C stack over user input without a bound.
 */
#ifndef SAWZALL_LITE_SAWZALL_H
#define SAWZALL_LITE_SAWZALL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/slice.h"

struct saw_program;
struct saw_run;

/* --- compiling ----------------------------------------------------------- */

struct saw_compile_options {
    /* How `include "f"` and similar find text: appends to @text or fails. NULL:
     * refused, as in a server. */
    int (*read_include)(void *ctx,
                        const char *path,
                        struct buf *text,
                        struct err *err);
    void *ctx;
    bool restricted;    /* No file, proc, getenv, load: for servers. */
    bool ignore_undefs; /* --ignore_undefs. */
    bool plain_code;    /* Without optimisation: for tests that compare. */
    /* A table whose types its kind cannot aggregate is no error; a run that
     * would aggregate it reports it. For runs that print emitted values. */
    bool defer_tables;
    unsigned errors_max; /* Printed at most; 0: 200. */
};

/* Compile @source, called @name in messages. On success *@out is owned. Errors
 * and warnings, each with file:line:column, the line and a caret, are appended
 * to @diagnostics in either case; ERR_INVALID when there is an error. */
MUST_CHECK int saw_compile(const struct saw_compile_options *opts,
                           struct slice source,
                           const char *name,
                           struct saw_program **out,
                           struct buf *diagnostics);
void saw_program_free(struct saw_program *p); /* NULL is allowed. */

/* The source of @p, for compiling it again elsewhere; the options that its
 * meaning depends on go to @opts. Borrowed. */
struct slice saw_program_source(const struct saw_program *p,
                                struct saw_compile_options *opts);

/* Append the type of the expression statement that ends @source; the program
 * is checked and not compiled. ERR_INVALID as above, or if the last statement
 * is no expression. */
MUST_CHECK int saw_type_of(const struct saw_compile_options *opts,
                           struct slice source,
                           const char *name,
                           struct buf *out,
                           struct buf *diagnostics);

/* True if the program has `r: Row = input;`: it reads table rows. */
bool saw_program_wants_rows(const struct saw_program *p);
/* True if it emits to the predeclared table `keep`: it filters a scan. */
bool saw_program_keeps_rows(const struct saw_program *p);
/* True if it looks at `input_key`. */
bool saw_program_reads_key(const struct saw_program *p);
/* True if a record may depend on those before it, by intrinsics that keep
 * something with the run: one run must have all records, in their order. */
bool saw_program_is_stateful(const struct saw_program *p);
/* True if a record alone decides what is emitted for it, whenever and wherever
 * it is run: it asks neither for the clock nor for anything outside. */
bool saw_program_is_repeatable(const struct saw_program *p);
/* The columns "family:qualifier" ("family:" for a whole family) it can read;
 * count 0 with *@all set when that is not known statically. Borrowed. */
size_t saw_program_columns(const struct saw_program *p,
                           const struct slice **columns,
                           bool *all);
/* Append the checked tree, a node a line, then tables and code, in readable
 * form; or one of the two alone. */
void saw_program_dump(const struct saw_program *p, struct buf *out);
void saw_program_dump_tree(const struct saw_program *p, struct buf *out);
void saw_program_dump_code(const struct saw_program *p, struct buf *out);

/* The predeclared names; NULL past the end. */
const char *saw_predeclared(size_t index);
/* Append two lines of help on the predeclared @name; false if it is none. */
bool saw_explain(struct slice name, struct buf *out);

/* Append @source, called @name in messages, in the usual layout to @out: white
 * space is set and nothing else changed, and formatting what was formatted
 * changes nothing. Included files are not read. ERR_INVALID when it does not
 * parse: then the errors are appended to @diagnostics and nothing to @out. */
MUST_CHECK int saw_format(struct slice source,
                          const char *name,
                          struct buf *out,
                          struct buf *diagnostics);

/* --- running ------------------------------------------------------------- */

struct saw_cell {
    struct slice family;
    struct slice qualifier;
    int64_t timestamp_us;
    struct slice value;
};

struct saw_row {
    struct slice key;
    const struct saw_cell *cells; /* Columns ascending, newest first. */
    size_t cell_count;
};

struct saw_run_options {
    uint64_t fuel_per_record;  /* 0: no limit. */
    uint64_t memory_bytes_max; /* Record arena + tables; 0: no limit. */
    uint32_t depth_max;        /* Calls; 0: 10,000. */
    const atomic_bool
        *cancel; /* Borrowed; read from time to time. NULL: none. */
    /* Receives the output of `emit stdout`, `output`, file(…) tables and
     * unprinted tables: @path is "/dev/stdout" and the like. NULL: it stays in
     * the run, for saw_run_print(). */
    int (*write)(void *ctx,
                 const char *path,
                 struct slice text,
                 struct err *err);
    /* The same for proc(…) tables: @command is a shell command that reads
     * everything emitted to it. NULL: such an emit fails. */
    int (*pipe)(void *ctx,
                const char *command,
                struct slice text,
                struct err *err);
    void *write_ctx;
    /* Tables whose results are aggregated and printed at the end ("*": all);
     * others are printed as they are emitted, as `emit t[k] <- v;`, like the
     * published interpreter does. NULL: aggregate all. */
    const char *table_output;
    /* The world of intrinsics: the clock of now() in microseconds since 1970
     * (NULL: it stands at 0) and the files of load() (NULL: refused). */
    int64_t (*now_us)(void *ctx);
    int (*read_file)(void *ctx,
                     struct slice path,
                     struct buf *out,
                     struct err *err);
    void *world_ctx;
    /* Seed of rand() and nrand(). Each record draws numbers of its own from
     * it, so results do not depend on which worker has the record. */
    uint64_t seed;
    /* Called with each row emitted to `keep`; borrowed during the call. */
    int (*keep)(void *ctx, const struct saw_row *row, struct err *err);
    void *keep_ctx;
};

/* Set the source of time zones with names such as "Europe/Paris", also for
 * restricted programs: @read appends the system's file of that name, which is
 * a path without "." at its beginning. Call once, before the first run of the
 * process; any thread may call @read from then on. Without it, runs with a
 * read_file hook use that hook; without either such zones are unknown. */
void saw_zones_from(int (*read)(const char *name,
                                struct buf *out,
                                struct err *err));

/* Start a run of @p, which must outlive it. On success *@out is owned. Errors:
 * those of initialising the statics, as for saw_run_record(). */
MUST_CHECK int saw_run_new(struct saw_program *p,
                           const struct saw_run_options *opts,
                           struct saw_run **out,
                           struct err *err);
void saw_run_free(struct saw_run *r); /* NULL is allowed. */
struct saw_program *saw_run_program(const struct saw_run *r);
/* Fuel that it has burnt so far, in all records. */
uint64_t saw_run_fuel(const struct saw_run *r);
/* The options of saw_run_new(), for runs that do a part of the work of @r.
 * Borrowed. */
const struct saw_run_options *saw_run_options(const struct saw_run *r);

/* Run once over @input with @key (`input`, `input_key`). After any error the
 * run may continue with the next record. Errors: ERR_INVALID a program that
 * reads rows, an undefined value, a failed assert, a run-time error (with a
 * trace of the program in the text); ERR_EXHAUSTED fuel, memory or depth;
 * ERR_CANCELLED. */
MUST_CHECK int saw_run_record(struct saw_run *r,
                              struct slice input,
                              struct slice key,
                              struct err *err);
/* The same where keys do not distinguish records of equal contents, such as
 * lines of a file whose numbers are not known: @place does. Samples and rand()
 * depend on input and place alone. */
MUST_CHECK int saw_run_record_at(struct saw_run *r,
                                 struct slice input,
                                 struct slice key,
                                 struct slice place,
                                 struct err *err);

#define SAW_PLACE_BYTES 20

/* The place of a line that begins at @offset of its file: that number with
 * leading zeros. */
void saw_line_place(uint64_t offset, char place[SAW_PLACE_BYTES]);

/* Lines, and where they stand in the input. */
struct saw_line_block {
    struct slice text; /* The last may lack its line feed. */
    uint64_t number;   /* Of the first: its key, in decimal. */
    uint64_t offset;   /* Where the first begins, in its file: its place. */
};

/* Run over each line, without its line feed. *@done gets the number of lines
 * before the one that failed, or of all. Errors: those of saw_run_record_at();
 * ERR_CANCELLED also between lines. */
MUST_CHECK int saw_run_lines(struct saw_run *r,
                             const struct saw_line_block *lines,
                             uint64_t *done,
                             struct err *err);
/* The same for `r: Row = input;` PRE: saw_program_wants_rows(). */
MUST_CHECK int
saw_run_row(struct saw_run *r, const struct saw_row *row, struct err *err);

/* --- tables -------------------------------------------------------------- */

/* The state of all tables as bytes: versioned, checked when read. */
void saw_run_encode_tables(struct saw_run *r, struct buf *out);
/* Add a state that a run of the same program encoded. ERR_CORRUPT, or
 * ERR_INVALID when it is of another program. */
MUST_CHECK int
saw_run_merge_tables(struct saw_run *r, struct slice state, struct err *err);

/* Add what the tables of @from hold to those of @to, behind what is there, as
 * if one run had had all records, and clear @from: faster than by a state, and
 * nothing is rounded on the way. Both are runs of the same program with the
 * same options. Errors: ERR_EXHAUSTED the budget of @to. */
MUST_CHECK int
saw_run_absorb(struct saw_run *to, struct saw_run *from, struct err *err);
/* Drop what the tables hold and what was printed into the run. */
void saw_run_clear(struct saw_run *r);

/* --- states of single keys ----------------------------------------------- */
/* For results that are kept while records change: what one record adds to one
 * key of one table is a state of its own, and a key's result that of the states
 * of all records, merged. */

/* Receives the state of a key; borrowed for the call. A failure ends it. */
struct saw_state_sink {
    void *ctx;
    int (*state)(void *ctx,
                 uint32_t table,
                 struct slice key,
                 struct slice state,
                 struct err *err);
};

/* Hand out the state of each key, tables in order of declaration, keys
 * ascending. Returns the sink's failure. */
MUST_CHECK int saw_run_states(struct saw_run *r,
                              const struct saw_state_sink *sink,
                              struct err *err);
/* Add @state, of a run of the same program, to @key of @table. Errors: as
 * saw_run_merge_tables(). */
MUST_CHECK int saw_run_merge_state(struct saw_run *r,
                                   uint32_t table,
                                   struct slice key,
                                   struct slice state,
                                   struct err *err);
/* Does the order in which states are merged show in the results? */
bool saw_run_keeps_order(const struct saw_run *r, uint32_t table);
/* Is @name a table whose results are estimates beyond some size, which may
 * depend on the order in which states are merged? */
bool saw_run_estimates(const struct saw_run *r, struct slice name);
/* Append the state that takes @state back when it is merged, exactly: of sums
 * of integers. False: there is none; @out is as it was. */
bool saw_run_negate_state(const struct saw_run *r,
                          uint32_t table,
                          struct slice state,
                          struct buf *out);

/* The first value of the results of a key whose state is @state, without a run:
 * of a `sum` its total, of a `maximum` or `minimum` the best. One datum
 * (values/datum.h), borrowed from @state; empty: there is none, or it is of
 * another kind of tables. */
struct slice saw_state_first(const char *kind, struct slice state);

enum saw_column_type {
    SAW_COLUMN_TEXT, /* Any other, as it is printed. */
    SAW_COLUMN_INT,
    SAW_COLUMN_FLOAT,
    SAW_COLUMN_BOOL,
    SAW_COLUMN_TIME, /* µs since 1970. */
};

/* The name of table @number, which is made if nothing was emitted to it;
 * "": it is none that keeps results; NULL: there are no more. Borrowed. */
const char *saw_run_table_name(struct saw_run *r, uint32_t number);
/* How many columns of its results are keys: they come first. */
size_t saw_run_table_keys(const struct saw_run *r, uint32_t number);
/* The type of a column that saw_run_results() gives of that table, keys first.
 */
enum saw_column_type
saw_run_column_type(const struct saw_run *r, uint32_t number, size_t column);

/* --- what a run holds ---------------------------------------------------- */

/* True if the run may write by its hooks while it has records. */
bool saw_run_writes(const struct saw_run *r);

/* Append the results of all tables, `name[k1, k2] = v` a line, keys ascending
 * (strings bytewise, numbers by value), tables in order of declaration. */
void saw_run_print(struct saw_run *r, struct buf *out);

/* Receives text a piece at a time, borrowed for the call: quantile(n) has n
 * lines, however little was emitted. False: no more is wanted. */
struct saw_text_sink {
    void *ctx;
    bool (*write)(void *ctx, struct slice text);
};

/* As saw_run_print(), to @sink. Returns the result of the last write(). */
bool saw_run_print_to(struct saw_run *r, const struct saw_text_sink *sink);

/* Receives results as structure, for other formats (JSON, CSV, a printer of
 * aligned columns). Names are borrowed from the program, values from the call.
 */
struct saw_result_sink {
    void *ctx;
    /* A table begins: names of its key and value columns. */
    void (*table)(void *ctx,
                  const char *name,
                  const char *const *columns,
                  size_t column_count);
    /* One line of it: values as text; @numeric[i] is set for numbers. False:
     * no more is wanted. */
    bool (*line)(void *ctx,
                 const struct slice *values,
                 const bool *numeric,
                 size_t count);
};

/* Hand all tables to @sink, in the order of saw_run_print(). False: it wanted
 * no more. */
bool saw_run_results(struct saw_run *r, const struct saw_result_sink *sink);

#endif /* SAWZALL_LITE_SAWZALL_H */
