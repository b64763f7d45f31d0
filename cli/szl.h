/* quarry szl: the front of the published interpreter; see cmd_saw.c for the
 * command. */
#ifndef CLI_SZL_H
#define CLI_SZL_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "cli/command.h"

extern const struct option szl_options[];

MUST_CHECK int
szl_run(struct cli *cli, const struct args *args, struct err *err);

#endif /* CLI_SZL_H */
