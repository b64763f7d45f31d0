/* The numbers of the operations in edits of a manifest, for their writer
 * (manifest_edit.c) and their reader (manifest_state.c). They are on disks: a
 * number is never given to another operation. docs/formats.md has the grammar.
 */
#ifndef BIGTABLE_STORE_MANIFEST_OPS_H
#define BIGTABLE_STORE_MANIFEST_OPS_H

enum manifest_op {
    OP_COUNTERS = 1,
    OP_PUT_TABLE = 2,
    OP_DROP_TABLE = 3,
    OP_PUT_TABLET = 4,
    OP_DROP_TABLET = 5,
    OP_CHANGE_GROUP = 6,
    OP_PUT_LOADS = 7,
    OP_PUT_STAMP = 8,
    OP_PUT_DONE = 9,
    OP_PUT_LOG = 10,
    OP_PUT_SNAPSHOT = 11,
    OP_DROP_SNAPSHOT = 12,
    OP_PUT_LOG_FILES = 13,
    OP_PUT_CHANGES = 14,
    OP_DROP_CHANGES = 15,
};

#endif /* BIGTABLE_STORE_MANIFEST_OPS_H */
