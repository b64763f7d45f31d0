/* Parsing of the text of a node's status (SERVER_STATUS): one line about the
 * process, then one a role, "ROLE: key=value key="value with spaces" …".
 *
 * Everything borrows from the text, which may be any bytes.
 *
 * Threads: any.
 */
#ifndef CLI_STATUS_TEXT_H
#define CLI_STATUS_TEXT_H

#include <stdbool.h>

#include "base/core/slice.h"

/* The pairs of the line about the process. */
struct slice status_about(struct slice text);
/* The lines about roles. */
struct slice status_roles(struct slice text);
/* Cut the next role off *@rest: its name and its pairs. */
bool status_next_role(struct slice *rest,
                      struct slice *role,
                      struct slice *pairs);
/* Cut the next "key=value" off *@line. A value in quotes comes without them. */
bool status_next_pair(struct slice *line,
                      struct slice *key,
                      struct slice *value);
/* Empty: there is no such key. */
struct slice status_value(struct slice pairs, const char *key);
/* The pairs of @role. False: the node has not that role. */
bool status_role(struct slice text, const char *role, struct slice *pairs);
/* Do the pairs of a role say that it leads the others of its name? */
bool status_leads(struct slice pairs);

#endif /* CLI_STATUS_TEXT_H */
