/* Offline verification of a store: everything is read, nothing is changed. */
#ifndef CLI_CMD_CHECK_H
#define CLI_CMD_CHECK_H

#include "base/core/err.h"
#include "base/core/macros.h"

struct cli;

/* Read all of the store in @dir and print a line for each file. Errors:
 * ERR_BUSY (a process has it open), ERR_NOTFOUND (no store), ERR_CORRUPT after
 * all damage was printed. */
MUST_CHECK int check_store(struct cli *cli, const char *dir, struct err *err);

#endif /* CLI_CMD_CHECK_H */
