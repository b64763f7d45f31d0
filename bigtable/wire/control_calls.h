/* Calls that move tablets: between the master and tablet servers, and from
 * clients to the master.
 *
 * Bodies are MessagePack arrays; put appends, get borrows from the bytes and
 * fails with ERR_CORRUPT. An answer without a struct here is empty.
 *
 * Every call of the master to a tablet server carries the sequencer of the
 * master's lock; a tablet server refuses one that is not of the present master
 * with ERR_DENIED (chubby_check_sequencer, remembered per sequencer). Every
 * call to a tablet server names its number, and one of another incarnation
 * refuses with ERR_CLOSED.
 *
 * Threads: any; nothing here parks.
 */
#ifndef BIGTABLE_WIRE_CONTROL_CALLS_H
#define BIGTABLE_WIRE_CONTROL_CALLS_H

#include "base/rpc/call_tables.h"
#include "bigtable/wire/field_kinds.h"
#include "bigtable/wire/metadata.h"

/* From the master to tablet servers. */
#define TABLET_ORDER_METHODS(METHOD)                                           \
    /* struct tablet_order. Answers once the tablet is served.                 \
     * ERR_EXISTS: it is served already. */                                    \
    METHOD(TABLET_LOAD, 0x501, "tablet.load", handle_load, ORDER)              \
    /* struct tablet_order; struct unload_reply. Two minor compactions,        \
     * then t:location is emptied; answers when that is written.               \
     * ERR_NOTFOUND: the tablet is not here, and will not be loaded in         \
     * that epoch any more. */                                                 \
    METHOD(TABLET_UNLOAD, 0x502, "tablet.unload", handle_unload, ORDER)        \
    /* struct tablet_order with row; empty: in the middle. */                  \
    METHOD(TABLET_SPLIT, 0x503, "tablet.split", handle_split, ORDER)           \
    /* struct tablet_order: a major compaction. */                             \
    METHOD(TABLET_COMPACT, 0x504, "tablet.compact", handle_compact, ORDER)     \
    /* struct tablet_order; tablet 0: all of them. */                          \
    METHOD(TABLET_FLUSH, 0x505, "tablet.flush", handle_flush, ORDER)           \
    /* struct schema_order. Answers when every tablet here has the             \
     * schema. */                                                              \
    METHOD(TABLET_SCHEMA, 0x506, "tablet.schema", handle_schema, ORDER)        \
    /* struct status_order; struct server_status. */                           \
    METHOD(TABLET_STATUS, 0x507, "tablet.status", handle_status, CLUSTER)      \
    /* struct log_order; struct log_sorted (log_calls.h). Takes a segment      \
     * of a dead server's log from it and sorts it, into memory or,            \
     * without room, into the log's directory `sorted`. */                     \
    METHOD(TABLET_LOG_SORT, 0x508, "tablet.log_sort", handle_log_sort, ORDER)  \
    /* struct tablet_order with row and row_end. */                            \
    METHOD(TABLET_DROP_ROWS, 0x509, "tablet.drop_rows", handle_drop_rows,      \
           ORDER)                                                              \
    /* struct tablet_order; struct snapshot_tablet: the tablet as it is        \
     * now. */                                                                 \
    METHOD(TABLET_CAPTURE, 0x50a, "tablet.capture", handle_capture, ORDER)     \
    /* From tablet server to tablet server, with the master's sequencer.       \
     * struct log_read (log_calls.h); a batch of the tablet's rows in a        \
     * sorted segment. ERR_EXISTS: it is in the log's directory `sorted`. */   \
    METHOD(TABLET_LOG_READ, 0x50b, "tablet.log_read", handle_log_read, ORDER)

enum tablet_order_method {
    TABLET_ORDER_METHODS(METHOD_NUMBER)
};

/* From anybody to the master; ERR_UNAVAILABLE where it is another process. */
#define MASTER_TABLE_METHODS(METHOD)                                           \
    /* struct table_order. */                                                  \
    METHOD(MASTER_CREATE_TABLE, 0x521, "master.create_table", service_create,  \
           CREATE)                                                             \
    /* struct table_order without schema. */                                   \
    METHOD(MASTER_DROP_TABLE, 0x522, "master.drop_table", service_drop, OWN)   \
    /* struct table_order with the changes, as alter_put() of                  \
     * data_calls.h wrote them, in `schema`. */                                \
    METHOD(MASTER_ALTER_TABLE, 0x523, "master.alter_table", service_alter,     \
           OWN)                                                                \
    /* struct table_order with row. */                                         \
    METHOD(MASTER_SPLIT, 0x524, "master.split", service_split, OWN)            \
    /* struct table_order. */                                                  \
    METHOD(MASTER_COMPACT, 0x525, "master.compact", service_compact, OWN)      \
    /* struct table_order; name "": all tables. */                             \
    METHOD(MASTER_FLUSH, 0x526, "master.flush", service_flush, ANYBODY)        \
    /* struct table_order with row and row_end. */                             \
    METHOD(MASTER_DROP_ROWS, 0x527, "master.drop_rows", service_drop_rows,     \
           WRITE)                                                              \
    /* No body: is this the master? */                                         \
    METHOD(MASTER_STATUS, 0x528, "master.status", service_status, STATUS)      \
    /* struct move_order; struct move_reply. */                                \
    METHOD(MASTER_MOVE, 0x529, "master.move", service_move, ADMIN)             \
    /* struct timestamps_order; struct timestamps_reply. Also before the       \
     * master knows where tablets are. */                                      \
    METHOD(MASTER_TIMESTAMPS, 0x52a, "master.timestamps", service_timestamps,  \
           STATUS)                                                             \
    /* From a tablet server: struct tablet_order with the parent's id. A       \
     * hint, which may be lost. */                                             \
    METHOD(MASTER_REPORT_SPLIT, 0x531, "master.report_split",                  \
           service_note_split, CLUSTER)

enum master_table_method {
    MASTER_TABLE_METHODS(METHOD_NUMBER)
};

struct tablet_order {
    struct slice sequencer; /* Of the master's lock; "" from servers. */
    uint64_t server;        /* Number of the tablet server meant. */
    uint64_t tablet;
    uint64_t epoch;   /* Of t:location when it was ordered. */
    struct slice key; /* Its row of METADATA; empty: the root tablet. */
    struct slice row;
    struct slice row_end;
    struct slice holders; /* Of the logs that it needs (log_calls.h). */
};

struct schema_order {
    struct slice sequencer;
    uint64_t server;
    struct table_record table;
};

struct status_order {
    uint64_t server;
    uint64_t after; /* Tablets with greater ids only. */
    uint32_t max;
};

struct log_order {
    struct slice sequencer;
    uint64_t server;      /* The server to sort it. */
    uint64_t log;         /* Number of the dead one. */
    struct slice segment; /* File name below its log directory. */
};

enum tablet_phase {
    TABLET_LOADING = 1,
    TABLET_SERVING = 2,
    TABLET_UNLOADING = 3
};

/* The load of a tablet, for the master's balancing. */
struct tablet_load {
    uint64_t id;
    uint64_t table;
    uint64_t epoch;
    enum tablet_phase phase;
    uint64_t bytes;        /* Of its files. */
    uint64_t memory_bytes; /* Of its memtables, and of files that its locality
                              groups keep in memory. */
    uint64_t reads;        /* Rows, since it was loaded. */
    uint64_t writes;
    uint64_t cpu_us; /* Spent for it, about. */
};

#define STATUS_TABLETS_MAX 4096

struct server_status {
    uint64_t number;
    uint64_t memory_bytes; /* Of all memtables. */
    uint64_t memory_max;
    uint64_t log_bytes;
    uint64_t files_decided; /* Each of its SSTables with a lower number is
                               named by a tablet's record, or will never be
                               named by this server. */
    uint64_t tablet_total;
    bool more; /* There are tablets after the last one here. */
    size_t tablet_count;
    struct tablet_load *tablets; /* In the arena given. */
};

struct table_order {
    struct slice name;
    struct slice schema;
    struct slice row;
    struct slice row_end;
};

struct unload_reply {
    uint64_t closed_us; /* How long it had taken no writes. */
};

/* Either the id of the tablet, or a table and one of its rows. */
struct move_order {
    uint64_t tablet; /* 0: that of the row. */
    struct slice table;
    struct slice row;
    struct slice server; /* Address of the server to move it to. */
};

struct move_reply {
    uint64_t tablet;
    uint64_t from; /* Numbers of servers; the same: it was there. */
    uint64_t to;
    uint64_t unserved_us; /* How long its rows could not be written, or read. */
};

struct timestamps_order {
    uint32_t count; /* At least one, at most QUARRY_TIMESTAMPS_MAX. */
};

struct timestamps_reply {
    uint64_t first;
};

struct arena;

/* As the messages below; the tablets are in @a. */
void server_status_put(const struct server_status *s, struct buf *out);
/* Borrows from @in; the tablets are in @a. ERR_CORRUPT. */
MUST_CHECK int server_status_get(struct slice in,
                                 struct arena *a,
                                 struct server_status *s,
                                 struct err *err);

/* --- on the wire --------------------------------------------------------- */

/* Every order to a tablet server begins with these two fields. */
struct order_head {
    struct slice sequencer;
    uint64_t server;
};

static const struct message_field order_head_fields[] = {
    FIELD(order_head, sequencer, field_sequencer),
    FIELD(order_head, server, field_u64),
};

static const struct message_field tablet_order_fields[] = {
    FIELD(tablet_order, sequencer, field_sequencer),
    FIELD(tablet_order, server, field_u64),
    FIELD(tablet_order, tablet, field_u64),
    FIELD(tablet_order, epoch, field_u64),
    FIELD(tablet_order, key, field_row),
    FIELD(tablet_order, row, field_row),
    FIELD(tablet_order, row_end, field_row),
    FIELD(tablet_order, holders, field_holders),
};

static const struct message_field schema_order_fields[] = {
    FIELD(schema_order, sequencer, field_sequencer),
    FIELD(schema_order, server, field_u64),
    FIELD(schema_order, table.id, field_u64),
    FIELD(schema_order, table.generation, field_u64),
    FIELD(schema_order, table.schema, field_schema),
    FIELD(schema_order, table.dropping, field_flag),
};

static const struct message_field status_order_fields[] = {
    FIELD(status_order, server, field_u64),
    FIELD(status_order, after, field_u64),
    FIELD(status_order, max, field_u32),
};

static const struct message_field log_order_fields[] = {
    FIELD(log_order, sequencer, field_sequencer),
    FIELD(log_order, server, field_u64),
    FIELD(log_order, log, field_u64),
    FIELD(log_order, segment, field_file_name),
};

static const struct message_field table_order_fields[] = {
    FIELD(table_order, name, field_name),
    FIELD(table_order, schema, field_schema),
    FIELD(table_order, row, field_row),
    FIELD(table_order, row_end, field_row),
};

static const struct message_field move_order_fields[] = {
    FIELD(move_order, tablet, field_u64),
    FIELD(move_order, table, field_name),
    FIELD(move_order, row, field_row),
    FIELD(move_order, server, field_address),
};

static const struct message_field move_reply_fields[] = {
    FIELD(move_reply, tablet, field_u64),
    FIELD(move_reply, from, field_u64),
    FIELD(move_reply, to, field_u64),
    FIELD(move_reply, unserved_us, field_u64),
};

static const struct message_field unload_reply_fields[] = {
    FIELD(unload_reply, closed_us, field_u64),
};

static const struct message_field timestamps_order_fields[] = {
    FIELD(timestamps_order, count, field_u32),
};
static const struct message_field timestamps_reply_fields[] = {
    FIELD(timestamps_reply, first, field_u64),
};

#define CONTROL_MESSAGES(MESSAGE)                                              \
    MESSAGE(order_head, "order")                                               \
    MESSAGE(tablet_order, "order about a tablet")                              \
    MESSAGE(schema_order, "order about a schema")                              \
    MESSAGE(status_order, "question for the state of a server")                \
    MESSAGE(log_order, "order about a log")                                    \
    MESSAGE(table_order, "order about a table")                                \
    MESSAGE(move_order, "order to move a tablet")                              \
    MESSAGE(move_reply, "outcome of a move")                                   \
    MESSAGE(unload_reply, "outcome of an unload")                              \
    MESSAGE(timestamps_order, "order of timestamps")                           \
    MESSAGE(timestamps_reply, "timestamps")

CONTROL_MESSAGES(MESSAGE_FUNCTIONS)

#endif /* BIGTABLE_WIRE_CONTROL_CALLS_H */
