/* The schema of a table: its column families, their garbage-collection rules,
 * and the locality groups the families are stored in.
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
#include "bigtable/row/aggregate.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/row/compression.h"

struct buf;
struct gc_rule;
struct index_set;

#define FAMILY_NAME_BYTES_MAX 64
/* Room for an instance of the public API before the name. */
#define TABLE_NAME_BYTES_MAX 160
#define FAMILY_COUNT_MAX     1024 /* "at most hundreds", says the paper. */
#define GROUP_COUNT_MAX      32
#define REPLICATION_MAX      16
/* Changes are kept for a century at most. */
#define CHANGES_US_MAX (UINT64_C(100) * 366 * 24 * 3600 * 1000000)

enum bloom_kind {
    BLOOM_NONE,
    BLOOM_ROW,
    BLOOM_ROW_COLUMN
};

/* Do the files that flushes and compactions write stay in the page cache? */
enum cache_option {
    CACHE_AUTO, /* While memory is free: see lsm/cache_policy.h. */
    CACHE_OFF,
    CACHE_ON,
    CACHE_OPTION_COUNT
};

/* How a locality group is stored. */
struct group_options {
    enum compression compression; /* Default zstd. */
    int level;                    /* zstd's, -5..19; default 3. */
    bool dictionary;              /* Train one per SSTable; default on. */
    bool references;              /* Blocks of what major compactions write
                                     refer to similar ones; default off. */
    uint32_t block_bytes;         /* Uncompressed target; default 64 KiB. */
    enum bloom_kind bloom;        /* Default row+column. */
    uint32_t bloom_bits;          /* Bits per key; default 10. */
    bool in_memory;               /* Its tables are read into memory at open. */
    uint64_t memtable_bytes;      /* Freeze at this size; default 64 MiB. */
    uint32_t replication;         /* Copies of its SSTables in a cluster; 0,
                                     the default: as the cluster does. */
    enum cache_option cache;      /* Of its new files; default auto. */
};

struct locality_group {
    char name[FAMILY_NAME_BYTES_MAX + 1];
    uint32_t id; /* Never reused inside the table. */
    struct group_options options;
};

struct family {
    char name[FAMILY_NAME_BYTES_MAX + 1];
    family_id id;                  /* From 1; never reused inside the table. */
    uint32_t group;                /* Id of its locality group. */
    struct gc_rule *gc;            /* Owned; NULL keeps everything. */
    bool hidden;                   /* Not of users: row/hidden.h. */
    enum aggregate_kind aggregate; /* Stays as it was created. */
};

/* Owned by one thread while it is changed; immutable and shared afterwards. */
struct schema {
    struct family *families; /* In order of their ids: the schema's order. */
    size_t family_count;
    struct locality_group *groups; /* In order of their ids; never empty: the
                                      first is SCHEMA_DEFAULT_GROUP. */
    size_t group_count;
    family_id next_family; /* Ids the next ones get. */
    uint32_t next_group;
    size_t hidden_count;       /* Of the families; */
    size_t txn_count;          /* those of transactions: 0, it takes no part. */
    uint64_t changes_us;       /* How long changes are kept; 0: they are not, */
    uint64_t changes_bytes;    /* and in how many bytes at most; 0: in any. */
    struct index_set *indexes; /* Reference; NULL: it never had any. */
};

/* Every schema has this group; families are stored there unless told. */
#define SCHEMA_DEFAULT_GROUP "default"

/* The defaults above. */
void group_options_default(struct group_options *o);
/* Change @o by "key=value" options, comma-separated. Errors: ERR_INVALID names
 * the option and what it may be; @o is unchanged then. */
MUST_CHECK int
group_options_parse(struct group_options *o, const char *text, struct err *err);
/* Append every option, as group_options_parse() takes them. */
void group_options_format(const struct group_options *o, struct buf *out);

/* No families, the default group. Owned. */
struct schema *schema_new(void);
struct schema *schema_copy(const struct schema *s);
void schema_free(struct schema *s); /* NULL is allowed. */

/* Each of these changes @s or, on error, leaves it as it was. Options are those
 * of struct quarry_family_spec and quarry_group_spec (bigtable/quarry.h).
 * Errors: ERR_EXISTS, ERR_NOTFOUND (lists what there is), ERR_INVALID,
 * ERR_TOOBIG (too many). */
MUST_CHECK int schema_add_family(struct schema *s,
                                 const char *name,
                                 const char *options,
                                 struct err *err);
MUST_CHECK int schema_update_family(struct schema *s,
                                    const char *name,
                                    const char *options,
                                    struct err *err);
MUST_CHECK int
schema_drop_family(struct schema *s, const char *name, struct err *err);
MUST_CHECK int schema_add_group(struct schema *s,
                                const char *name,
                                const char *options,
                                struct err *err);
MUST_CHECK int schema_update_group(struct schema *s,
                                   const char *name,
                                   const char *options,
                                   struct err *err);

/* Keep changes as @text says: "off", or "7d", or "7d,max=10GiB" (a time, and a
 * bound of the bytes of each tablet that are kept for changes alone).
 * ERR_INVALID. */
MUST_CHECK int
schema_set_changes(struct schema *s, const char *text, struct err *err);
/* Append it, as schema_set_changes() takes it. */
void schema_format_changes(const struct schema *s, struct buf *out);

/* NULL when there is none. Borrowed from @s. */
const struct family *schema_family(const struct schema *s, struct slice name);
const struct family *schema_family_by_id(const struct schema *s, family_id id);
/* Has a family an aggregate? */
bool schema_has_aggregates(const struct schema *s);
const struct locality_group *schema_group(const struct schema *s,
                                          struct slice name);
const struct locality_group *schema_group_by_id(const struct schema *s,
                                                uint32_t id);
/* 0 if the families and the group of transactions (row/hidden.h) are all there
 * as they must be, or none of them, and that of indexes where there are indexes
 * alone; else ERR_INVALID: their names are kept for them. */
MUST_CHECK int schema_check_hidden(const struct schema *s, struct err *err);
/* The message for a family that is not there: lists those that are. Returns
 * ERR_NOTFOUND. */
int schema_no_family(const struct schema *s,
                     struct slice name,
                     struct err *err);

/* The same for an index. */
int schema_no_index(const struct schema *s, const char *name, struct err *err);

/* Letters, digits, '_', '-', '.'; 1 to FAMILY_NAME_BYTES_MAX of them. @what is
 * the kind of thing for the message. */
MUST_CHECK int
schema_check_name(const char *what, struct slice name, struct err *err);
/* The same for tables: 1 to TABLE_NAME_BYTES_MAX. */
MUST_CHECK int schema_check_table_name(struct slice name, struct err *err);

/* Binary form, versioned. Errors: ERR_CORRUPT, ERR_UNSUPPORTED (newer). */
void schema_encode(const struct schema *s, struct buf *out);
MUST_CHECK int
schema_decode(struct slice bytes, struct schema **out, struct err *err);

#endif /* BIGTABLE_ROW_SCHEMA_H */
