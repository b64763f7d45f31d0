/* The formatter: one layout for all programs.
 *
 * It sets white space and nothing else: the tokens of the result are those of
 * the source, comments and include clauses between them included, so the
 * program means the same. Lines are broken where statements and blocks ask for
 * it, and otherwise where the author broke them. Formatting what was formatted
 * changes nothing.
 */
#ifndef SAWZALL_LITE_FMT_H
#define SAWZALL_LITE_FMT_H

#include "base/core/buf.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

/* Append @source, called @name in messages, laid out to @out. Included files
 * are not read. ERR_INVALID when it does not parse: then the errors are
 * appended to @diagnostics and nothing to @out. */
MUST_CHECK int saw_format(struct slice source,
                          const char *name,
                          struct buf *out,
                          struct buf *diagnostics);

#endif /* SAWZALL_LITE_FMT_H */
