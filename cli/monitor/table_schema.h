/* The schema of a table, from the lock service: without asking its tablets.
 *
 * Threads: one loop. Parks.
 */
#ifndef CLI_MONITOR_TABLE_SCHEMA_H
#define CLI_MONITOR_TABLE_SCHEMA_H

#include "cli/monitor/subject.h"

struct quarry_table_info;

/* The families and groups of table @name, as quarry_table_describe() gives
 * them, without sizes and tablets, and its id. *@out: quarry_table_info_free().
 * Errors: ERR_NOTFOUND, those of the lock service. */
MUST_CHECK int table_schema_get(struct monitor *m,
                                const char *name,
                                struct quarry_table_info **out,
                                uint64_t *id,
                                struct err *err);

#endif /* CLI_MONITOR_TABLE_SCHEMA_H */
