/* quarry saw fmt; see cmd_saw.c for the command. */
#ifndef CLI_SAW_FMT_H
#define CLI_SAW_FMT_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "cli/command.h"

extern const struct option saw_fmt_options[];

MUST_CHECK int
saw_fmt_run(struct cli *cli, const struct args *args, struct err *err);

#endif /* CLI_SAW_FMT_H */
