/* The shape of a Webtable.
 *
 * Three locality groups: pages are big and read one at a time, in blocks that
 * hold many versions of one page so that these compress against each other;
 * metadata is scanned whole; anchors are many and small.
 *
 * Blocks of 256 KiB are the largest that the writer aims at, whatever a group
 * asks for, and bound what is decoded beside a page (BLOCK_TARGET_BYTES_MAX in
 * bigtable/sstable/sstable_writer.c). Level 2 and no dictionary: blocks of that
 * size hold their own context, and training would cost more than it gives. A
 * compacted page refers to a similar one anywhere in its file instead
 * (bigtable/sstable/reference_finder.h).
 */
#include "mapreduce/ingest/webtable.h"

static const struct quarry_family_spec families[] = {
    {"contents", "group=contents"}, {"anchor", "group=anchors"},
    {"language", "group=meta"},     {"http", "group=meta"},
    {"meta", "group=meta"},
};
static const struct quarry_group_spec groups[] = {
    {"contents",
     "compression=zstd,level=2,block=256KiB,bloom=row,dictionary=off,"
     "references=on"},
    {"anchors",
     "compression=zstd,level=1,block=64KiB,bloom=row,dictionary=off"},
    {"meta", "compression=zstd,level=1,block=64KiB,bloom=row,dictionary=off"},
};

const struct run_shape webtable_shape = {
    families, ARRAY_LEN(families), groups, ARRAY_LEN(groups), false, false};
