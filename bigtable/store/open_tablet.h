/* Opening tablets: the files that a registry names for each locality group, and
 * the hooks by which a group's lsm records its changes there.
 *
 * Threads: any.
 */
#ifndef BIGTABLE_STORE_OPEN_TABLET_H
#define BIGTABLE_STORE_OPEN_TABLET_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct changes_record;
struct manifest_group;
struct schema;
struct store;
struct table_part;
struct tablet;
struct tablet_group;

/* Open the groups of @schema with the files of @groups (those of the manifest;
 * a group it does not name is empty), and the changes of @changes (NULL: none
 * are kept). Parks. One reference, the caller's. */
MUST_CHECK int tablet_open(struct store *store,
                           struct table_part *table,
                           uint64_t id,
                           struct slice start,
                           struct slice end,
                           const struct schema *schema,
                           const struct manifest_group *groups,
                           size_t group_count,
                           const struct changes_record *changes,
                           struct tablet **out,
                           struct err *err);
/* Open the groups @schema has beyond those of @t. PRE: its table is closed to
 * writers. Parks. */
MUST_CHECK int tablet_add_groups(struct tablet *t,
                                 const struct schema *schema,
                                 struct err *err);

/* Close @g and release its files: tablet_env_ops.close_group. Parks. */
void tablet_close_group(struct tablet_group *g);

#endif /* BIGTABLE_STORE_OPEN_TABLET_H */
