/* The checker: names resolved, types computed and compared, constants folded.
 *
 * It walks the tree once, in the order of the text (names are declared before
 * use), completes the nodes and gathers the input of the generator: functions,
 * statics in order of initialisation, tables. Errors go to the diagnostics.
 *
 * Invariants of a unit that checked without error
 *   INV-1. Every expression has a type other than saw_type_bad, and every name
 *          is resolved.
 *   INV-2. functions.at[i]->index == i, and main is the first.
 *   INV-3. A static is declared before the statics whose initialisers use it.
 */
#ifndef SAWZALL_LITE_CHECKER_CHECK_PROGRAM_H
#define SAWZALL_LITE_CHECKER_CHECK_PROGRAM_H

#include "base/core/arena.h"
#include "sawzall-lite/front/ast.h"
#include "sawzall-lite/front/diag.h"

struct saw_compile_options;

struct saw_functions {
    struct saw_function **at;
    size_t count;
    size_t cap;
};

struct saw_sites {
    struct saw_call **at;
    size_t count;
    size_t cap;
};

/* The parts of a checked program. */
struct saw_unit {
    struct saw_function *main;
    struct saw_functions functions; /* main is the first. */
    struct saw_decls statics;       /* With tables, in order. */
    struct saw_sites sites;         /* Calls with something prepared. */
    struct saw_decl *input;
    struct saw_decl *input_key;
    struct saw_decl *row;            /* Holds the row when wants_rows. */
    const struct saw_type *row_type; /* The predeclared Row. */
    struct saw_decl *keep;           /* Predeclared tables. */
    struct saw_decl *undef_count;
    struct saw_decl *undef_details;
    bool wants_rows;
    bool reads_key;    /* It uses input_key. */
    bool has_statexpr; /* There is a ?{ … }: operands may assign. */
    /* Columns named by constants, and whether others may be read. */
    struct slice *columns;
    size_t column_count;
    size_t column_cap;
    bool all_columns;
};

/* Check @prelude (predeclared tables and types) and @main. False if there were
 * errors. The unit lives in @a. */
bool saw_check(struct arena *a,
               const struct saw_compile_options *opts,
               struct saw_function *prelude,
               struct saw_function *main,
               struct saw_diag *d,
               struct saw_unit *out);

/* Release the memory of prepared call sites. Call once, also after errors. */
void saw_unit_close(struct saw_unit *u);

#endif /* SAWZALL_LITE_CHECKER_CHECK_PROGRAM_H */
