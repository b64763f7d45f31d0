/* Times as users write them on the command line. */
#ifndef CLI_TIME_FORM_H
#define CLI_TIME_FORM_H

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"

/* Read @text: what text_parse_time() takes, the 14 digits of a capture
 * "20240501102030", an age "90s", "3h", "7d" before @now_us, "now", or a plain
 * number of µs since 1970. Errors: ERR_INVALID says which forms there are. */
MUST_CHECK int
time_parse(const char *text, int64_t now_us, int64_t *out_us, struct err *err);

#endif /* CLI_TIME_FORM_H */
