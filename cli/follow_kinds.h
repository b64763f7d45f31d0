/* The kinds of followers that a process can run: `quarry server` and `quarry
 * follow run` host all of them.
 */
#ifndef CLI_FOLLOW_KINDS_H
#define CLI_FOLLOW_KINDS_H

#include <stddef.h>

struct follower_kind;

extern const struct follower_kind *const follow_kinds[];
extern const size_t follow_kind_count;

#endif /* CLI_FOLLOW_KINDS_H */
