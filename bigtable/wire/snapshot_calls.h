/* Calls to the master about snapshots of tables, and the list of them.
 *
 * As in control_calls.h: bodies are MessagePack arrays, get fails with
 * ERR_CORRUPT.
 *
 * Threads: any; nothing here parks. */
#ifndef BIGTABLE_WIRE_SNAPSHOT_CALLS_H
#define BIGTABLE_WIRE_SNAPSHOT_CALLS_H

#include "base/rpc/call_tables.h"
#include "bigtable/wire/field_kinds.h"
#include "bigtable/wire/snapshot_record.h"

#define MASTER_SNAPSHOT_METHODS(METHOD)                                        \
    /* struct snapshot_order: of the table. */                                 \
    METHOD(MASTER_SNAPSHOT, 0x551, "master.snapshot", service_snapshot,        \
           SNAPSHOT)                                                           \
    /* No body; a list of summaries. */                                        \
    METHOD(MASTER_SNAPSHOT_LIST, 0x552, "master.snapshot_list", service_list,  \
           ITSELF)                                                             \
    /* struct snapshot_order; the record, its tablets without their            \
     * groups. */                                                              \
    METHOD(MASTER_SNAPSHOT_SHOW, 0x553, "master.snapshot_show", service_show,  \
           ITSELF)                                                             \
    /* struct snapshot_order. */                                               \
    METHOD(MASTER_SNAPSHOT_DROP, 0x554, "master.snapshot_drop",                \
           service_forget, ITSELF)                                             \
    /* struct snapshot_order: to the table. */                                 \
    METHOD(MASTER_SNAPSHOT_RESTORE, 0x555, "master.snapshot_restore",          \
           service_restore, CREATE)                                            \
    /* struct snapshot_order: the table `name` to a new one, `table`. */       \
    METHOD(MASTER_CLONE, 0x556, "master.clone", service_clone, CLONE)          \
    /* struct snapshot_order; the whole record. */                             \
    METHOD(MASTER_SNAPSHOT_RECORD, 0x557, "master.snapshot_record",            \
           service_record, ADMIN)                                              \
    /* struct import_order; struct lend_reply: the key to encrypt its files    \
     * with. */                                                                \
    METHOD(MASTER_IMPORT_LEND, 0x558, "master.import_lend",                    \
           service_import_lend, ADMIN)                                         \
    /* struct import_order: make a new table of files in LOADS_DIR. */         \
    METHOD(MASTER_IMPORT, 0x559, "master.import", service_import, ADMIN)

enum snapshot_method {
    MASTER_SNAPSHOT_METHODS(METHOD_NUMBER)
};

/* The name of a clone that a job reads in place of its table begins so
 * (mapreduce/job.h). */
#define TABLE_OF_JOB_PREFIX ".job-"

struct snapshot_order {
    struct slice name;
    struct slice table;
    uint64_t ttl_us; /* 0: for ever. */
};

static const struct message_field snapshot_order_fields[] = {
    FIELD(snapshot_order, name, field_table_name),
    FIELD(snapshot_order, table, field_table_name),
    FIELD(snapshot_order, ttl_us, field_u64),
};

/* A table that is made of files from elsewhere: a backup's. The file number N
 * of the record is LOADS_DIR/ID/ with import_file_name(N). */
struct import_order {
    struct slice table;  /* The new one. */
    struct slice id;     /* Of the load. */
    struct slice record; /* snapshot_record_put(); empty of a lend. */
};

static const struct message_field import_order_fields[] = {
    FIELD(import_order, table, field_table_name),
    FIELD(import_order, id, field_import_id),
    FIELD(import_order, record, field_bytes),
};

#define SNAPSHOT_MESSAGES(MESSAGE)                                             \
    MESSAGE(snapshot_order, "order about a snapshot")                          \
    MESSAGE(import_order, "order to import a table")

#define IMPORT_FILE_NAME_BYTES 32
/* "NUMBER.sst" */
void import_file_name(uint64_t number, char out[IMPORT_FILE_NAME_BYTES]);
/* No sequence number of an imported file is above it: those that a store gives
 * later are, and there are enough of them. */
#define IMPORT_SEQUENCE_MAX (UINT64_C(1) << 54)
/* Decode the record of @o into @r, whose tablets are in @a, and check that a
 * table can be made of it. ERR_CORRUPT. */
MUST_CHECK int import_record_get(const struct import_order *o,
                                 struct arena *a,
                                 struct snapshot_record *r,
                                 struct err *err);

/* On the wire, summaries one after the other. */
struct snapshot_list {
    struct snapshot_summary *list; /* In the arena given. */
    size_t count;
};

void snapshot_summary_put(const struct snapshot_summary *s, struct buf *out);
MUST_CHECK int snapshot_list_get(struct slice in,
                                 struct arena *a,
                                 struct snapshot_list *l,
                                 struct err *err);

SNAPSHOT_MESSAGES(MESSAGE_FUNCTIONS)

#endif /* BIGTABLE_WIRE_SNAPSHOT_CALLS_H */
