/* The kinds of followers: a line each, here and in the list. */
#include "cli/follow_kinds.h"

#include "bigtable/follow/follow.h"
#include "bigtable/replication/replication_follower.h"
#include "bigtable/view/view_follow.h"

/* Ends with NULL, so that it may be empty. */
const struct follower_kind *const follow_kinds[] = {
    &view_kind,
    &replication_follower,
    NULL,
};

const size_t follow_kind_count =
    sizeof(follow_kinds) / sizeof(follow_kinds[0]) - 1;
