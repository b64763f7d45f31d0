/* How many bytes each family of a tablet takes: of SSTables, by what their
 * properties say of it before compression, and of memory: memtables, whose
 * entries are looked at, and the files of groups that are kept there.
 *
 * Threads: any. Does not wait, but for memtables of groups with several
 * families looks at every entry.
 */
#ifndef BIGTABLE_READ_FAMILY_USE_H
#define BIGTABLE_READ_FAMILY_USE_H

#include <stdbool.h>
#include <stdint.h>

struct schema;
struct tablet;

struct family_use {
    uint64_t stored_bytes;
    uint64_t memory_bytes;
};

/* Add those of @t to @uses, one for each family of @schema, in its order.
 * Without @memtables these are left out. */
void family_use_add(const struct tablet *t,
                    const struct schema *schema,
                    bool memtables,
                    struct family_use *uses);

/* Bytes of @t in memory: of memtables, and of files that are kept there. */
uint64_t tablet_memory_bytes(const struct tablet *t,
                             const struct schema *schema);

#endif /* BIGTABLE_READ_FAMILY_USE_H */
