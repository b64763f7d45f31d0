/* One change of a table's schema, as a caller asks for it: to the embedded
 * engine directly, or to a master by the wire (alter_put()). Part of the
 * public C library: quarry.h includes it.
 */
#ifndef BIGTABLE_ROW_ALTERATION_H
#define BIGTABLE_ROW_ALTERATION_H

enum quarry_alter_kind {
    QUARRY_ADD_FAMILY,    /* name, options as in quarry_family_spec. */
    QUARRY_UPDATE_FAMILY, /* Its GC rule. */
    QUARRY_DROP_FAMILY,
    QUARRY_ADD_GROUP,       /* name, options as in quarry_group_spec. */
    QUARRY_UPDATE_GROUP,    /* Holds for SSTables written from now on. */
    QUARRY_SET_REPLICATION, /* Of all groups: the number is in `name`, as text.
                               Present files of a cluster's table are changed
                               in the background. */
    QUARRY_SET_CHANGES,     /* How long changes are kept: `name` is "off" or a
                               time, `options` "max=BYTES" or "". */
    /* Of quarry_index.h, which makes the index's table as well. */
    QUARRY_ADD_INDEX,   /* name, options: schema_add_index(). */
    QUARRY_READY_INDEX, /* name, options: the number of its table. */
    QUARRY_DROP_INDEX,
};

struct quarry_alter {
    enum quarry_alter_kind kind;
    const char *name;
    const char *options;
};

#endif /* BIGTABLE_ROW_ALTERATION_H */
