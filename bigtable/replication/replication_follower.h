/* Streams as followers (bigtable/follow/follow.h): a record of kind
 * "replication" has the settings of a stream (replication_settings.h), and its
 * state how far the stream is.
 *
 *     phase "copy"     rows up to "at" are copied; changes follow from "from"
 *     phase "changes"  changes are sent from the follower's token on
 *
 * Threads: as those of follow.h.
 */
#ifndef BIGTABLE_REPLICATION_REPLICATION_FOLLOWER_H
#define BIGTABLE_REPLICATION_REPLICATION_FOLLOWER_H

#define REPLICATION_KIND "replication"

struct follower_kind;

extern const struct follower_kind replication_follower;

#endif /* BIGTABLE_REPLICATION_REPLICATION_FOLLOWER_H */
