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

#include "bigtable/wire/metadata.h"

enum control_method {
    /* Master to tablet server. */
    TABLET_LOAD = 0x501,      /* struct tablet_order. Answers once it is served.
                                 ERR_EXISTS: is served already (fine). */
    TABLET_UNLOAD = 0x502,    /* struct tablet_order; struct unload_reply. Two
                                 minor compactions; then t:location is emptied;
                                 answers when that is written down.
                                 ERR_NOTFOUND: is not here, and will not be
                                 loaded in that epoch any more. */
    TABLET_SPLIT = 0x503,     /* struct tablet_order with row; empty: middle. */
    TABLET_COMPACT = 0x504,   /* struct tablet_order: major compaction. */
    TABLET_FLUSH = 0x505,     /* struct tablet_order; tablet 0: all of them. */
    TABLET_SCHEMA = 0x506,    /* struct schema_order: a table's new schema.
                                 Answers when every tablet here obeys it. */
    TABLET_STATUS = 0x507,    /* struct status_order; struct server_status */
    TABLET_LOG_SORT = 0x508,  /* struct log_order; struct log_sorted
                                 (log_calls.h): take a segment of a dead
                                 server's log from it and sort it, into memory
                                 or, without room, into its directory `sorted`.
                               */
    TABLET_DROP_ROWS = 0x509, /* struct tablet_order with row and row_end. */
    TABLET_CAPTURE = 0x50A,   /* struct tablet_order; struct snapshot_tablet:
                                 what it consists of now. */
    /* Tablet server to tablet server, on the order of the master. */
    TABLET_LOG_READ = 0x50B, /* struct log_read (log_calls.h): what a segment
                                that was sorted has of a tablet. ERR_EXISTS: it
                                is in its directory `sorted`. */
    /* Anybody to the master; ERR_UNAVAILABLE when it is another one. Changes
     * of tables. */
    MASTER_CREATE_TABLE = 0x521, /* struct table_order */
    MASTER_DROP_TABLE = 0x522,   /* struct table_order without schema */
    MASTER_ALTER_TABLE = 0x523,  /* struct table_order with the changes, as
                                    alter_put() of data_calls.h wrote them, in
                                    `schema` */
    MASTER_SPLIT = 0x524,        /* struct table_order with row */
    MASTER_COMPACT = 0x525,      /* struct table_order */
    MASTER_FLUSH = 0x526,        /* struct table_order; name "": all */
    MASTER_DROP_ROWS = 0x527,    /* struct table_order with row and row_end */
    MASTER_STATUS = 0x528,       /* nothing; nothing: it is the master */
    MASTER_MOVE = 0x529,         /* struct move_order; struct move_reply: by
                                    an operator */
    /* Tablet server to master; a hint, may be lost. */
    MASTER_REPORT_SPLIT = 0x531, /* struct tablet_order: the parent's id */
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
    uint64_t server;      /* That shall sort. */
    uint64_t log;         /* Number of the dead one. */
    struct slice segment; /* File name below its log directory. */
};

enum tablet_phase {
    TABLET_LOADING = 1,
    TABLET_SERVING = 2,
    TABLET_UNLOADING = 3
};

/* What the master's balancing looks at. */
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
    uint64_t files_decided; /* Of its SSTables with numbers below it each is
                               named by a tablet's record, or never will be by
                               this server. */
    uint64_t tablet_total;
    bool more; /* There are tablets behind the last. */
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
    uint64_t closed_us; /* It has taken no writes for so long. */
};

/* Either the id of the tablet, or a table and one of its rows. */
struct move_order {
    uint64_t tablet; /* 0: that of the row. */
    struct slice table;
    struct slice row;
    struct slice server; /* Address of the server that shall have it. */
};

struct move_reply {
    uint64_t tablet;
    uint64_t from; /* Numbers of servers; the same: it was there. */
    uint64_t to;
    uint64_t unserved_us; /* Its rows could not be written, or read. */
};

struct arena;

void tablet_order_put(const struct tablet_order *o, struct buf *out);
MUST_CHECK int
tablet_order_get(struct slice in, struct tablet_order *o, struct err *err);
void schema_order_put(const struct schema_order *o, struct buf *out);
MUST_CHECK int
schema_order_get(struct slice in, struct schema_order *o, struct err *err);
void status_order_put(const struct status_order *o, struct buf *out);
MUST_CHECK int
status_order_get(struct slice in, struct status_order *o, struct err *err);
void log_order_put(const struct log_order *o, struct buf *out);
MUST_CHECK int
log_order_get(struct slice in, struct log_order *o, struct err *err);
void server_status_put(const struct server_status *s, struct buf *out);
MUST_CHECK int server_status_get(struct slice in,
                                 struct arena *a,
                                 struct server_status *s,
                                 struct err *err);
void table_order_put(const struct table_order *o, struct buf *out);
MUST_CHECK int
table_order_get(struct slice in, struct table_order *o, struct err *err);
void move_order_put(const struct move_order *o, struct buf *out);
MUST_CHECK int
move_order_get(struct slice in, struct move_order *o, struct err *err);
void move_reply_put(const struct move_reply *r, struct buf *out);
MUST_CHECK int
move_reply_get(struct slice in, struct move_reply *r, struct err *err);
void unload_reply_put(const struct unload_reply *r, struct buf *out);
MUST_CHECK int
unload_reply_get(struct slice in, struct unload_reply *r, struct err *err);

#endif /* BIGTABLE_WIRE_CONTROL_CALLS_H */
