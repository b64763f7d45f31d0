/* Where DuckDB's library is.
 *
 * Threads: any.
 */
#ifndef CLI_SQL_LIBRARY_H
#define CLI_SQL_LIBRARY_H

struct buf;

/* Append the path of libduckdb.so: $QUARRY_DUCKDB, else where scripts/deps sql
 * puts it, else its bare name, for the system's linker. */
void sql_library_find(struct buf *out);

#endif /* CLI_SQL_LIBRARY_H */
