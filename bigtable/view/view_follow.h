/* The follower that maintains views: a kind for follower_host_open(). */
#ifndef BIGTABLE_VIEW_VIEW_FOLLOW_H
#define BIGTABLE_VIEW_VIEW_FOLLOW_H

#include "bigtable/follow/follow.h"

#define VIEW_KIND "view"

extern const struct follower_kind view_kind;

#endif /* BIGTABLE_VIEW_VIEW_FOLLOW_H */
