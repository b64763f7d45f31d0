/* Prints the description of a table, or of a snapshot of one, on standard
 * output.
 *
 * Threads: one.
 */
#ifndef CLI_TABLE_INFO_PRINTER_H
#define CLI_TABLE_INFO_PRINTER_H

#include "cli/cli.h"

struct quarry_table_info;

/* A row for each family: its group, and what is kept of it. */
void table_print_families(const struct quarry_table_info *info,
                          enum cli_format format);
/* A row for each tablet: its size, and where it begins and ends. */
void table_print_tablets(const struct quarry_table_info *info,
                         enum cli_format format);

#endif /* CLI_TABLE_INFO_PRINTER_H */
