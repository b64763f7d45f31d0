/* The record of a snapshot: the tablets and files of a table at one moment. It
 * is a file of the store's or the cluster's file system,
 * SNAPSHOTS_DIR/NAME.snap; the SSTables that it names stay as long as it
 * exists.
 *
 *     file = "QRYSNAP1" crc:le32 of the rest, body
 *     body = MessagePack: [name, table, created, expires, schema, tablets]
 *     tablets = [[start, end, groups, sequence, bytes]…]
 *
 * `groups` has the form of manifest_state.h and tablet_files.h.
 *
 * Threads: any; nothing here parks. */
#ifndef BIGTABLE_WIRE_SNAPSHOT_RECORD_H
#define BIGTABLE_WIRE_SNAPSHOT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct arena;

#define SNAPSHOTS_DIR   "snapshots" /* Below the root. */
#define SNAPSHOT_SUFFIX ".snap"
/* 100,000 tablets of hundreds of files. */
#define SNAPSHOT_BYTES_MAX   ((size_t)1 << 30)
#define SNAPSHOT_TABLETS_MAX ((size_t)1 << 20)

struct snapshot_tablet {
    struct slice start; /* Rows [start, end); an empty end: no bound. */
    struct slice end;
    struct slice groups;
    uint64_t sequence;  /* At least that of every entry in the files. */
    uint64_t bytes;     /* Of its files, about. */
    int64_t stamped_us; /* As in struct tablet_state. */
};

struct snapshot_record {
    struct slice name;
    struct slice table; /* Name of the table it is of. */
    uint64_t created_us;
    uint64_t expires_us; /* 0: never. */
    struct slice schema; /* schema_encode() */
    size_t tablet_count;
    struct snapshot_tablet *tablets; /* Ascending, without gaps. */
    bool has_access;                 /* The table had a list of rights then, */
    struct slice access; /* row/access.h, which a table made of the snapshot
                          * gets too. */
};

/* One tablet, appended. */
void snapshot_tablet_put(const struct snapshot_tablet *t, struct buf *out);
/* Borrowed from @in. Errors: ERR_CORRUPT. */
MUST_CHECK int snapshot_tablet_get(struct slice in,
                                   struct snapshot_tablet *t,
                                   struct err *err);
/* The whole file, appended. */
void snapshot_record_put(const struct snapshot_record *r, struct buf *out);
/* Decode a file; the record borrows from @in, and its tablets are in @a.
 * Errors: ERR_CORRUPT, also when the tablets do not cover all rows. */
MUST_CHECK int snapshot_record_get(struct slice in,
                                   struct arena *a,
                                   struct snapshot_record *r,
                                   struct err *err);
/* As a table's name, but not with a '.' first. ERR_INVALID. */
MUST_CHECK int snapshot_check_name(struct slice name, struct err *err);
/* The name of the snapshot in the file @file, borrowed. False: the file is not
 * a record, but perhaps the rest of an interrupted write. */
bool snapshot_of_file(struct slice file, struct slice *name);
/* Call fn(ctx, number) for each SSTable of it, perhaps more than once. */
MUST_CHECK int snapshot_each_file(const struct snapshot_record *r,
                                  void (*fn)(void *ctx, uint64_t number),
                                  void *ctx,
                                  struct err *err);

/* A snapshot in a list. */
struct snapshot_summary {
    struct slice name;
    struct slice table;
    uint64_t created_us;
    uint64_t expires_us;
    uint64_t tablets;
    uint64_t files;
    uint64_t bytes;
};

/* @out borrows from @r. Errors: ERR_CORRUPT. */
MUST_CHECK int snapshot_summarize(const struct snapshot_record *r,
                                  struct snapshot_summary *out,
                                  struct err *err);

#endif /* BIGTABLE_WIRE_SNAPSHOT_RECORD_H */
