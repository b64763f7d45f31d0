/* Write side of a table: sorted entries in, one file out, front to back.
 *
 * Blocks are compressed in the calling task and streamed past the page cache
 * or, if wanted, through it.
 * With a dictionary wished for, the first blocks wait in memory (4 MiB) until
 * they have trained one; everything then goes out in order.
 *
 * Life cycle
 *     sstable_writer_open()
 *     sstable_writer_add()…
 *     sstable_writer_finish()    or not
 *     sstable_writer_free()      removes a table that was not finished
 *
 * Threads: one task at a time.
 *
 * Invariants
 *     INV-1. Keys strictly increase.
 *     INV-2. Closed blocks wait only while a dictionary is sampled, for fewer
 *            bytes than the sample.
 *     INV-3. The index of the current partition has an entry for each of its
 *            blocks, whose separator is greater than the block's last key.
 *     INV-4. A block refers only to one before it that refers to none.
 */
#ifndef BIGTABLE_SSTABLE_SSTABLE_WRITER_H
#define BIGTABLE_SSTABLE_SSTABLE_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"
#include "bigtable/row/schema.h" /* struct group_options */

struct change_extent;
struct fs;
struct keyring;
struct sstable_properties;
struct sstable_writer;

/* Start a table at @path, which must not exist. @group is copied. @cached:
 * leave it in the page cache. Parks. */
MUST_CHECK int sstable_writer_open(struct fs *fs,
                                   const char *path,
                                   const struct group_options *group,
                                   uint64_t expected_bytes,
                                   bool cached,
                                   struct sstable_writer **out,
                                   struct err *err);

/* The same, encrypted with @keys, which is shared, and not with what @fs has;
 * NULL: not encrypted. */
MUST_CHECK int sstable_writer_open_sealed(struct fs *fs,
                                          const char *path,
                                          const struct group_options *group,
                                          uint64_t expected_bytes,
                                          bool cached,
                                          struct keyring *keys,
                                          struct sstable_writer **out,
                                          struct err *err);

/* The table does not last: from here on, what costs more than to write it and
 * to read it once is left out. */
void sstable_writer_hurry(struct sstable_writer *w);

/* The table lasts: compress its blocks against similar ones before them
 * (reference_finder.h), and harder. Takes up to 34 MiB of memory until free.
 * Does nothing if the compression of the group cannot. PRE: no entry was added.
 */
void sstable_writer_refer(struct sstable_writer *w);

/* Add an entry, copied. PRE: @key is well formed and greater than the one
 * before. Parks. After an error only sstable_writer_free() is allowed. */
MUST_CHECK int sstable_writer_add(struct sstable_writer *w,
                                  struct slice key,
                                  struct slice value,
                                  struct err *err);

/* Bytes of the file if it were finished now, roughly. */
uint64_t sstable_writer_bytes(const struct sstable_writer *w);

/* The table is of a flush that dropped nothing: it holds changes as @extent
 * says, with @marks (change_marks.h), copied. PRE: extent->end_sequence is at
 * least that of every entry. */
void sstable_writer_set_changes(struct sstable_writer *w,
                                const struct change_extent *extent,
                                struct slice marks);

/* Write the rest, sync and close the file. Parks. PRE: at least one entry. */
MUST_CHECK int sstable_writer_finish(struct sstable_writer *w, struct err *err);

/* After finish: what the table is. Borrowed until free. */
const struct sstable_properties *
sstable_writer_properties(const struct sstable_writer *w);
/* After finish: exact size of the file. */
uint64_t sstable_writer_file_bytes(const struct sstable_writer *w);

void sstable_writer_free(
    struct sstable_writer *w); /* NULL is allowed. Parks. */

#endif /* BIGTABLE_SSTABLE_SSTABLE_WRITER_H */
