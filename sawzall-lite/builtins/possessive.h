/* Possessive quantifiers (`a*+`), which the published interpreter's patterns
 * have and RE2 has not. Where what follows shows that giving back could never
 * help, greedy ones match the same and are written instead.
 */
#ifndef SAWZALL_LITE_BUILTINS_POSSESSIVE_H
#define SAWZALL_LITE_BUILTINS_POSSESSIVE_H

#include <stdbool.h>

#include "base/core/buf.h"
#include "base/core/slice.h"

/* Append @pattern with greedy quantifiers for possessive ones. False if it has
 * none, or one for which that would match something else; @out then holds
 * nothing of use. */
bool saw_possessive_rewrite(struct slice pattern, struct buf *out);

#endif /* SAWZALL_LITE_BUILTINS_POSSESSIVE_H */
