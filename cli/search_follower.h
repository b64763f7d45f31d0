/* A search index as a follower of its table (docs/followers.md): the kind
 * "search". Its record is named like the table. */
#ifndef CLI_SEARCH_FOLLOWER_H
#define CLI_SEARCH_FOLLOWER_H

#include "base/core/err.h"
#include "base/core/macros.h"

struct quarry;

#define SEARCH_FOLLOWER_KIND "search"

extern const struct follower_kind search_follower;

/* Keep the index of @table right from now on. Parks. Errors: ERR_EXISTS, those
 * of follower_create(), of search_files_refuse_encrypted(). */
MUST_CHECK int
search_follower_create(struct quarry *q, const char *table, struct err *err);

#endif /* CLI_SEARCH_FOLLOWER_H */
