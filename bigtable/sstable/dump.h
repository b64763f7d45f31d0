/* Looking into a table file: for people (`quarry dump FILE`) and for checks
 * (`quarry check DIR`).                                                [door]
 *
 * Threads: any. Both park.
 */
#ifndef BIGTABLE_SSTABLE_DUMP_H
#define BIGTABLE_SSTABLE_DUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"

struct buf;
struct fs;

/* Append a description of the table @path to @out: properties, partitions and
 * blocks, and with @entries every entry. Errors: those of table_reader_open();
 * what was readable before the damage is in @out. */
MUST_CHECK int sstable_dump(struct fs *fs,
                            const char *path,
                            bool entries,
                            struct buf *out,
                            struct err *err);

struct sstable_report {
    uint64_t file_bytes;
    uint64_t block_count;
    uint64_t entry_count;
};

/* Read all of the table @path and check what can be checked: every CRC, the
 * order and the form of the keys, that index and filters find each entry, and
 * that the properties tell the truth. Errors: ERR_CORRUPT says where and what.
 */
MUST_CHECK int sstable_verify(struct fs *fs,
                              const char *path,
                              struct sstable_report *report,
                              struct err *err);

#endif /* BIGTABLE_SSTABLE_DUMP_H */
