/* The records of a cluster's tables: names in the lock service, directories of
 * the file system, and rows of the table METADATA.
 *
 * After section 5.1 of the Bigtable paper. Three levels: a file of the lock
 * service holds the record of the root tablet; the root tablet holds the
 * records of all tablets of METADATA; these hold those of all user tablets.
 *
 *     lock service
 *       /bigtable/master          its lock is the master's; contents: address
 *       /bigtable/servers/NAME    one per tablet server, which holds its lock;
 *                                 contents: struct server_record
 *       /bigtable/root            struct tablet_record of the root tablet
 *       /bigtable/tables/NAME     struct table_record: id and schema
 *       /bigtable/counters        struct cluster_counters, changed by
 *                                 conditional writes
 *       /bigtable/cluster         the name that the cluster drew for itself
 *     file system, below /bigtable
 *       tables/NUMBER.sst         SSTables (STORE_TABLES_DIR)
 *       log/SERVER/               commit log of the tablet server SERVER (its
 *                                 number, %08llu)
 *       log/SERVER/sorted/        what LOG_SORT made of it
 *       cluster/ID                the same name as /bigtable/cluster
 *
 * METADATA is table number 1, with one family, `t`, in memory. The row of a
 * tablet is metadata_key(table, end): all tablets of a table in order, each
 * under its last row, so that the tablet of a row is the first at or behind
 * metadata_search_key(). The root tablet is METADATA's first, of the rows below
 * metadata_root_end(), and is never split.
 *
 *     t:tablet    struct tablet_bounds      who it is
 *     t:location  struct tablet_location    who may serve it; nobody when its
 *                                       server is 0 (its epoch stays then, so
 *                                       that epochs grow for ever)
 *     t:state     struct tablet_state       files, and logs to be replayed
 *     t:split     tablet_record of the lower half, while a split is being
 *                 recorded: the server that loads the tablet makes that row
 *                 first, unless it is there
 *     t:event     text, a version each: what happened to the tablet
 *
 * The master alone changes t:location from one server to another, with an epoch
 * one higher, and only when the old server certainly serves no more (it said
 * so, or lost its lock). All other changes are made by the server that
 * t:location names, on condition that t:location still holds exactly those
 * bytes: a server that was declared dead changes nothing.
 *
 * Threads: any; nothing here parks. */
#ifndef BIGTABLE_WIRE_METADATA_H
#define BIGTABLE_WIRE_METADATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "base/rpc/call_tables.h"
#include "bigtable/wire/field_kinds.h"

struct schema;

#define BIGTABLE_LOCK_ROOT     "/bigtable"
#define BIGTABLE_LOCK_MASTER   "/bigtable/master"
#define BIGTABLE_LOCK_SERVERS  "/bigtable/servers"
#define BIGTABLE_LOCK_ROOT_TAB "/bigtable/root"
#define BIGTABLE_LOCK_TABLES   "/bigtable/tables"
#define BIGTABLE_LOCK_COUNTERS "/bigtable/counters"
/* The version that the cluster is at (base/core/cluster_version.h). */
#define BIGTABLE_LOCK_VERSION "/bigtable/version"
/* A bound above all timestamps that were given out, as text. */
#define BIGTABLE_LOCK_TIMESTAMPS "/bigtable/timestamps"

/* The name of the cluster, as text; the same is in the files (below). */
#define BIGTABLE_LOCK_IDENTITY "/bigtable/cluster"

#define BIGTABLE_FS_ROOT "/bigtable"
/* Below it: data keys, where tables are encrypted (base/crypt/keyring.h). */
#define BIGTABLE_KEYS "KEYS"
/* Its file LOCK is held by the process that changes the keys. */
#define BIGTABLE_KEYS_LOCK_DIR "keys"
#define BIGTABLE_FS_LOGS       "log" /* Below it. */
#define BIGTABLE_IDENTITY_DIR  "cluster"

#define METADATA_TABLE    "METADATA"
#define METADATA_TABLE_ID UINT64_C(1)
#define METADATA_FAMILY   "t"
#define METADATA_GROUP    "metadata"
/* The stamp of every cell but those of t:event and t:state: no clock orders
 * records. A write of a column removes its old cells in the same mutation. */
#define METADATA_STAMP_US INT64_C(1)
/* User tables have numbers from here on. */
#define FIRST_USER_TABLE_ID UINT64_C(2)
/* So that the key of a tablet is a row: ends beyond it are never chosen. */
#define SPLIT_ROW_BYTES_MAX ((size_t)60 << 10)
#define ADDRESS_BYTES_MAX   256

/* --- rows of METADATA ---------------------------------------------------- */

/* The row of the tablet of @table that ends before @end (empty: at the table's
 * end): table:be64 1 end, or table:be64 2. Appended to @out. */
void metadata_key(uint64_t table, struct slice end, struct buf *out);
/* The first key that the tablet of @row can have. */
void metadata_search_key(uint64_t table, struct slice row, struct buf *out);
/* Keys of all tablets of @table are in [@start, @end). */
void metadata_table_range(uint64_t table, struct buf *start, struct buf *end);
/* Where the root tablet ends. */
void metadata_root_end(struct buf *out);
/* The table and the end that @key names. ERR_CORRUPT. *@end is borrowed from
 * @key. */
MUST_CHECK int metadata_key_read(struct slice key,
                                 uint64_t *table,
                                 struct slice *end,
                                 struct err *err);
/* Schema of METADATA. Owned. */
struct schema *metadata_schema(void);

/* --- values -------------------------------------------------------------- */
/* Each has put (appends) and get; what get gives is borrowed from the bytes,
 * errors are ERR_CORRUPT. All are MessagePack arrays (base/rpc/codec.h). */

struct tablet_bounds {
    uint64_t id; /* Never used again. */
    uint64_t table;
    struct slice start; /* Rows [start, end); an empty end: no bound. */
    struct slice end;
};

struct tablet_location {
    uint64_t server;      /* Number of the tablet server; 0: nobody. */
    uint64_t epoch;       /* Grows with every assignment. */
    struct slice address; /* "host:port" */
};

#define TABLET_LOGS_MAX 1024
#define STATE_LOADS_MAX 32

struct tablet_state {
    /* Locality groups and their files, in the form the store gives them; opaque
     * to all but tablet servers. Empty: a new tablet. */
    struct slice groups;
    uint64_t sequence; /* At least that of every entry in the files. */
    /* Servers whose commit logs may have entries that are in no file. */
    uint64_t logs[TABLET_LOGS_MAX];
    size_t log_count;
    uint64_t bytes; /* Of its files, about. */
    /* Bulk loads that it has taken, the newest ones, oldest first. */
    uint64_t loads[STATE_LOADS_MAX];
    size_t load_count;
    int64_t stamped_us;   /* Newest stamp it gave a cell, or later; 0: none. */
    struct slice done;    /* Changes that clients may try again; opaque, but two
                             of them concatenated are those of both. */
    struct slice changes; /* Kept for their readers: tablet_changes_each();
                             empty: none are. */
};

/* The four columns together: the root tablet's file, and t:split. */
struct tablet_record {
    struct tablet_bounds bounds;
    struct tablet_location location;
    struct tablet_state state;
    struct slice split; /* t:split; empty: none. */
};

struct table_record {
    uint64_t id;
    uint64_t generation; /* Grows with every change of the schema. */
    struct slice schema; /* schema_encode() */
    bool dropping;       /* Being dropped: nobody opens it any more. */
};

struct server_record {
    uint64_t number;
    struct slice address;
};

/* The next free ones. */
struct cluster_counters {
    uint64_t table;
    uint64_t server; /* Tablet servers and masters, one for each life. */
};

/* t:tablet. */
void tablet_bounds_put(const struct tablet_bounds *b, struct buf *out);
/* Borrows from @in. ERR_CORRUPT. */
MUST_CHECK int
tablet_bounds_get(struct slice in, struct tablet_bounds *b, struct err *err);
/* t:location; no bytes are nobody. */
void tablet_location_put(const struct tablet_location *l, struct buf *out);
/* Borrows from @in. ERR_CORRUPT. */
MUST_CHECK int tablet_location_get(struct slice in,
                                   struct tablet_location *l,
                                   struct err *err);
/* t:state. */
void tablet_state_put(const struct tablet_state *s, struct buf *out);
/* Borrows from @in. ERR_CORRUPT. */
MUST_CHECK int
tablet_state_get(struct slice in, struct tablet_state *s, struct err *err);
/* The four columns in one. */
void tablet_record_put(const struct tablet_record *r, struct buf *out);
/* Borrows from @in. ERR_CORRUPT. */
MUST_CHECK int
tablet_record_get(struct slice in, struct tablet_record *r, struct err *err);

static const struct message_field table_record_fields[] = {
    FIELD(table_record, id, field_u64),
    FIELD(table_record, generation, field_u64),
    FIELD(table_record, schema, field_schema),
    FIELD(table_record, dropping, field_flag),
};

static const struct message_field server_record_fields[] = {
    FIELD(server_record, number, field_u64),
    FIELD(server_record, address, field_address),
};

static const struct message_field cluster_counters_fields[] = {
    FIELD(cluster_counters, table, field_u64),
    FIELD(cluster_counters, server, field_u64),
};

#define METADATA_MESSAGES(MESSAGE)                                             \
    MESSAGE(table_record, "record of a table")                                 \
    MESSAGE(server_record, "record of a tablet server")                        \
    MESSAGE(cluster_counters, "counters of the cluster")

/* Ids made by the server or master number @server, without asking: of tablets
 * and of SSTables; its @n-th. */
static inline uint64_t cluster_id(uint64_t server, uint64_t n)
{
    return server << 32 | n;
}

/* The server that gave out @id. */
static inline uint64_t cluster_id_server(uint64_t id)
{
    return id >> 32;
}

METADATA_MESSAGES(MESSAGE_FUNCTIONS)

#endif /* BIGTABLE_WIRE_METADATA_H */
