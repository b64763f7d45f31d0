/* A snapshot of a table: what it consisted of at a moment. Its record is a file
 * of the store's or the cluster's file system, SNAPSHOTS_DIR/NAME.snap; the
 * SSTables that it names stay as long as it is there.
 *
 *     file = "QRYSNAP1" crc:le32 of the rest, body
 *     body = MessagePack: [name, table, created, expires, schema, tablets]
 *     tablets = [[start, end, groups, sequence, bytes]…]
 *
 * `groups` is what manifest_state.h and tablet_files.h call so.
 *
 * Threads: any; nothing here parks.
 */
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
    bool has_access;                 /* The table had a list of rights then: */
    struct slice access; /* row/access.h. What is made of it has it too. */
};

void snapshot_tablet_put(const struct snapshot_tablet *t, struct buf *out);
/* Borrowed from @in. Errors: ERR_CORRUPT. */
MUST_CHECK int snapshot_tablet_get(struct slice in,
                                   struct snapshot_tablet *t,
                                   struct err *err);
/* The whole file, appended. */
void snapshot_record_put(const struct snapshot_record *r, struct buf *out);
/* What it gives is borrowed from @in; the tablets are in @a. Errors:
 * ERR_CORRUPT, also when the tablets do not cover all rows. */
MUST_CHECK int snapshot_record_get(struct slice in,
                                   struct arena *a,
                                   struct snapshot_record *r,
                                   struct err *err);
/* As a table's name, but not with a '.' first. ERR_INVALID. */
MUST_CHECK int snapshot_check_name(struct slice name, struct err *err);
/* The name of the snapshot whose record the file @file is; false: it is none,
 * but perhaps what a write that was cut short left. Borrowed. */
bool snapshot_of_file(struct slice file, struct slice *name);
/* Call fn(ctx, number) for each SSTable of it, perhaps more than once. */
MUST_CHECK int snapshot_each_file(const struct snapshot_record *r,
                                  void (*fn)(void *ctx, uint64_t number),
                                  void *ctx,
                                  struct err *err);

/* What a list of snapshots says of one. */
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
