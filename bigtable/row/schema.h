/* What a table is: its column families, their garbage-collection rules, and the
 * locality groups the families are stored in.
 *
 * Family ids are given at creation and never reused, so that entries of a
 * dropped family can be told from those of a later one of the same name.
 */
#ifndef BIGTABLE_ROW_SCHEMA_H
#define BIGTABLE_ROW_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"
#include "bigtable/row/cell_key.h"

struct buf;
struct gc_rule;

#define FAMILY_NAME_BYTES_MAX 64
#define FAMILY_COUNT_MAX      1024 /* "at most hundreds", says the paper. */
#define GROUP_COUNT_MAX       32

enum compression { COMPRESSION_NONE, COMPRESSION_ZSTD };
enum bloom_kind { BLOOM_NONE, BLOOM_ROW, BLOOM_ROW_COLUMN };

/* How a locality group is stored. */
struct group_options {
    enum compression compression; /* Default zstd. */
    int level;                    /* zstd's, -5..19; default 3. */
    bool dictionary;              /* Train one per table file; default on. */
    uint32_t block_bytes;         /* Uncompressed target; default 64 KiB. */
    enum bloom_kind bloom;        /* Default row+column. */
    uint32_t bloom_bits;          /* Bits per key; default 10. */
    bool in_memory;               /* Its tables are read into memory at open. */
    uint64_t memtable_bytes;      /* Freeze at this size; default 64 MiB. */
};

struct locality_group {
    char name[FAMILY_NAME_BYTES_MAX + 1];
    uint32_t id; /* Never reused inside the table. */
    struct group_options options;
};

struct family {
    char name[FAMILY_NAME_BYTES_MAX + 1];
    family_id id;     /* From 1; never reused inside the table. */
    uint32_t group;   /* Id of its locality group. */
    struct gc_rule *gc; /* Owned; NULL keeps everything. */
};

/* The rest of this module (struct schema, its encoding and lookup) belongs to
 * row/schema.c; group_options_default() gives the defaults above. */
void group_options_default(struct group_options *o);

#endif /* BIGTABLE_ROW_SCHEMA_H */
