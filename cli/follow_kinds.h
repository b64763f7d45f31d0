/* The kinds of followers that a process can run: `quarry server` and `quarry
 * follow run` host all of them.
 */
#ifndef CLI_FOLLOW_KINDS_H
#define CLI_FOLLOW_KINDS_H

#include <stddef.h>

#include "bigtable/observer/observer_code.h"
#include "mapreduce/observe/observe_command.h"

struct follow_kinds {
    const struct follower_kind *list[4];
    size_t count;
    struct observer_kind observer; /* In the list. */
    struct observe_host allowed;   /* To observers' programs. */
};

/* All of them, where observers' programs are allowed @allowed. @k does not
 * move. */
void follow_kinds_init(struct follow_kinds *k,
                       const struct observe_host *allowed);

/* That of views alone, which needs no programs of users. */
const struct follower_kind *follow_kinds_view(void);

#endif /* CLI_FOLLOW_KINDS_H */
