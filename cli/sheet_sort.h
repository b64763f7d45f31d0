/* The rows of a sheet in another order. */
#ifndef CLI_SHEET_SORT_H
#define CLI_SHEET_SORT_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "cli/command.h"
#include "cli/table_printer.h"

/* Order @s by the column that `--sort` of @args names: text ascending, numbers
 * the largest first; equal rows stay as they are. Without the option nothing
 * changes. Errors: ERR_USAGE, which names the columns. */
MUST_CHECK int
sheet_sort(struct sheet *s, const struct args *args, struct err *err);

#endif /* CLI_SHEET_SORT_H */
