/* Checking a whole SSTable, for `quarry check`.
 *
 * Threads: any.
 */
#ifndef BIGTABLE_SSTABLE_VERIFY_H
#define BIGTABLE_SSTABLE_VERIFY_H

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct sstable_reader;

/* Read all of @reader's table and check what can be checked: every CRC, the
 * order and the form of the keys, that filters know each entry, and that the
 * properties tell the truth. *@entry_count is how many entries it read, on
 * failure too. Errors: ERR_CORRUPT says where and what; ERR_IO. Parks. */
MUST_CHECK int sstable_verify(struct sstable_reader *reader,
                              uint64_t *entry_count,
                              struct err *err);

#endif /* BIGTABLE_SSTABLE_VERIFY_H */
