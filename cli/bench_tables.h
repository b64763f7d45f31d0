/* quarry bench tables: see bench_tables.c. */
#ifndef CLI_BENCH_TABLES_H
#define CLI_BENCH_TABLES_H

#include "cli/command.h"

struct cli;

/* Run it; its options are in bench.c. */
MUST_CHECK int
run_bench_tables(struct cli *cli, const struct args *args, struct err *err);

#endif /* CLI_BENCH_TABLES_H */
