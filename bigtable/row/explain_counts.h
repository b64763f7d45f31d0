/* The counters of an explained scan, each once: COUNT(part, name) is the member
 * part_name, "name" of the object "part" as JSON. Times are nanoseconds in the
 * struct (`time` part) and microseconds as JSON ("name_us"). They travel in
 * this order: only append. Part of the public C library: quarry.h includes it.
 *
 * Invariants, of one tablet as of the sum over all (quarry_explain_total())
 *     INV-1. files_considered = files_opened + the files that were skipped
 *            (files_by_family, _by_key_range, _by_bloom_filter, _by_time,
 *            _by_sequence) + files_not_needed.
 *     INV-2. blocks_read = the blocks from each place.
 *     INV-3. entries_read = the entries from memtables, files and the scan
 *            cache, and also = the entries by their fate: shown, hidden,
 *            deletions, expired, foreign, and those stepped over.
 *     INV-4. cells_returned <= entries_shown, unless the filter multiplies
 *            cells or a program makes some; rows_returned <= rows_examined
 *            likewise.
 *     INV-5. reads_made = the reads from each place.
 */
#ifndef BIGTABLE_ROW_EXPLAIN_COUNTS_H
#define BIGTABLE_ROW_EXPLAIN_COUNTS_H

#include <stdint.h>

#define EXPLAIN_COUNTS(COUNT)                                                  \
    /* Of a cluster: answers of tablet servers, and calls made again. */       \
    COUNT(calls, made)                                                         \
    COUNT(calls, retried)                                                      \
    /* SSTables of the tablets, by fate. */                                    \
    COUNT(files, considered)                                                   \
    COUNT(files, opened)                                                       \
    COUNT(files, by_family)                                                    \
    COUNT(files, by_key_range)                                                 \
    COUNT(files, by_bloom_filter)                                              \
    COUNT(files, by_time)                                                      \
    COUNT(files, by_sequence)                                                  \
    COUNT(files, not_needed)                                                   \
    /* Data blocks, by where they came from. */                                \
    COUNT(blocks, read)                                                        \
    COUNT(blocks, from_block_cache)                                            \
    COUNT(blocks, from_memory)                                                 \
    COUNT(blocks, from_page_cache)                                             \
    COUNT(blocks, from_disk)                                                   \
    COUNT(blocks, from_remote)                                                 \
    /* Of these blocks: as stored, and decoded. */                             \
    COUNT(blocks, stored_bytes)                                                \
    COUNT(blocks, decoded_bytes)                                               \
    /* Index blocks walked, and Bloom filters asked. */                        \
    COUNT(index, blocks)                                                       \
    COUNT(index, filters_asked)                                                \
    COUNT(index, filters_negative)                                             \
    /* Of the file system: data, read-ahead, indexes and filters. */           \
    COUNT(reads, made)                                                         \
    COUNT(reads, from_page_cache)                                              \
    COUNT(reads, from_disk)                                                    \
    COUNT(reads, from_remote)                                                  \
    COUNT(reads, page_cache_bytes)                                             \
    COUNT(reads, disk_bytes)                                                   \
    COUNT(reads, remote_bytes)                                                 \
    /* Of these: windows of a scan, their bytes, and those of blocks used. */  \
    COUNT(read_ahead, windows)                                                 \
    COUNT(read_ahead, bytes)                                                   \
    COUNT(read_ahead, used_bytes)                                              \
    COUNT(memtables, read)                                                     \
    /* Stored versions and deletions, by source and by fate. */                \
    COUNT(entries, read)                                                       \
    COUNT(entries, from_memtables)                                             \
    COUNT(entries, from_files)                                                 \
    COUNT(entries, from_scan_cache)                                            \
    COUNT(entries, shown)                                                      \
    COUNT(entries, hidden)                                                     \
    COUNT(entries, deletions)                                                  \
    COUNT(entries, expired)                                                    \
    COUNT(entries, foreign)                                                    \
    COUNT(entries, stepped_over)                                               \
    COUNT(rows, examined)                                                      \
    COUNT(rows, returned)                                                      \
    COUNT(cells, returned)                                                     \
    COUNT(bytes, returned)                                                     \
    COUNT(program, fuel)                                                       \
    /* Time of the tablets' scans, by part. */                                 \
    COUNT(time, queue)                                                         \
    COUNT(time, reading)                                                       \
    COUNT(time, decompressing)                                                 \
    COUNT(time, merging)                                                       \
    COUNT(time, filter)                                                        \
    COUNT(time, program)                                                       \
    COUNT(time, answering)                                                     \
    COUNT(time, network)

struct quarry_explain_counts {
#define EXPLAIN_MEMBER(part, name) uint64_t part##_##name;
    EXPLAIN_COUNTS(EXPLAIN_MEMBER)
#undef EXPLAIN_MEMBER
};

#define EXPLAIN_ONE(part, name) +1
/* The number of members. */
#define EXPLAIN_COUNTS_COUNT (0 EXPLAIN_COUNTS(EXPLAIN_ONE))

#endif /* BIGTABLE_ROW_EXPLAIN_COUNTS_H */
