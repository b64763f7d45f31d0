/* The engine of the public API's queries: DuckDB.
 *
 * Each query that runs has a database of its own, empty, with the caller's
 * store: a lane. Lanes are kept for later queries, their connections are not,
 * so that a query that has ended uses nothing of its store. A lane can neither
 * read nor write files, load extensions or change its settings, and has a bound
 * of memory; what needs more fails.
 *
 * Threads: as gsql_engine.h says.
 *
 * Invariants
 *     INV-1. A lane is either on the engine's list or one query's.
 *     INV-2. A lane on the list has neither a connection nor a store.
 */
#ifndef BIGTABLE_SQL_SQL_ENGINE_H
#define BIGTABLE_SQL_SQL_ENGINE_H

#include <stdint.h>

struct gsql_engine;

struct sql_engine_options {
    const char *library;   /* libduckdb.so; copied. */
    uint64_t memory_bytes; /* Of a query in DuckDB; 0: 256 MiB. */
    unsigned threads;      /* Of a query; 0: as many as there are processors,
                              four at most. */
};

/* An engine; DuckDB is loaded when it is first asked. Owned. */
struct gsql_engine *sql_engine_new(const struct sql_engine_options *opts);
/* PRE: no query is open. NULL is allowed. */
void sql_engine_free(struct gsql_engine *engine);

#endif /* BIGTABLE_SQL_SQL_ENGINE_H */
