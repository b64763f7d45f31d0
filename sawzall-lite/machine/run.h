/* A run from the inside: run.c (life, records), emit.c (emit), results.c
 * (states and results of tables).
 *
 * Invariants
 *   INV-1. `tables` has one entry for each table of the program, in its order;
 *          `table` is set only on SAW_ROUTE_TABLE.
 *   INV-2. budget.bytes is the sum of what the tables hold.
 */
#ifndef SAWZALL_LITE_MACHINE_RUN_H
#define SAWZALL_LITE_MACHINE_RUN_H

#include "sawzall-lite/machine/vm.h"
#include "sawzall-lite/program.h"
#include "sawzall-lite/tables/saw_table.h"

/* The destination of values emitted to a table. */
enum saw_route {
    SAW_ROUTE_TABLE, /* Aggregated; results at the end. */
    SAW_ROUTE_PRINT, /* Printed at once, as `emit t[k] <- v;`. */
    SAW_ROUTE_LINE,  /* Printed as `t[k] = v`, in the order of emits. */
    SAW_ROUTE_FILE,  /* Written at once to the file named. */
    SAW_ROUTE_KEEP,  /* Rows handed to the caller. */
};

/* How its values get into a table. */
enum saw_entrance {
    SAW_ENTRANCE_DATUM,
    SAW_ENTRANCE_INT,    /* Elements are ints, which are not encoded; */
    SAW_ENTRANCE_WEIGHT, /* or weights are. */
};

struct saw_run_table {
    enum saw_entrance entrance;
    enum saw_route route;
    const struct saw_table_site *site;
    const struct saw_table_traits *traits;
    struct saw_table_decl decl;
    struct saw_table *table; /* Of SAW_ROUTE_TABLE; made when first needed. */
    const char *name;        /* NUL-terminated; of the program's arena. */
    const char **index_names;
};

struct saw_run {
    struct saw_program *program;
    struct saw_run_options opts; /* table_output is owned. */
    struct saw_vm vm;
    struct saw_table_budget budget;
    struct saw_run_table *tables; /* One per table of the program. */
    struct arena names;
    struct buf key; /* Of one emit: scratch. */
    struct buf element;
    struct buf weight;
    struct buf text;
    struct buf output;  /* Text written while there is no write(). */
    uint64_t origin;    /* Of the next emit of this record (saw_emit_origin),
                           where something depends on it. */
    bool uses_origin;   /* A table samples, or the program draws numbers. */
    bool counted_undef; /* _undef_cnt was emitted for this record. */
    const union saw_slot *kept_row; /* The value of `r: Row = input`. */
    union saw_slot row_value;
};

/* Write @text to @path by the caller's hook or into the run. */
int saw_run_write(struct saw_run *r,
                  const char *path,
                  struct slice text,
                  struct err *err);
/* The aggregate of a table of SAW_ROUTE_TABLE, made on first use. */
struct saw_table *saw_run_table(struct saw_run *r, uint32_t index);

#endif /* SAWZALL_LITE_MACHINE_RUN_H */
