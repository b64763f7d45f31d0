/* The record of what a scan did, filled while it runs: EXPLAIN.
 *
 * A scan that is explained has a struct quarry_explain, and every layer below
 * gets a pointer to the part of it that it fills: the tablet in hand, or one of
 * its files. The pointer is NULL in all other scans, which measure nothing; so
 * a layer looks at its pointer where it does something costly anyway (a block,
 * a file, a row) or has functions of its own for explained scans.
 *
 * On a cluster each answer of a tablet server carries the record of the scan
 * that made it (wire/explain_code.c), and the client adds them up: counters are
 * sums, and a file has the highest fate that any of the scans gave it.
 *
 * Threads: one at a time, as the scan.
 *
 * Invariants: those of explain_counts.h, and
 *     INV-1. A tablet has each file once; `fate` never falls.
 *     INV-2. Stages are in preorder, the filter's nodes and then the program;
 *            all tablets have the same.
 */
#ifndef BIGTABLE_ROW_EXPLAIN_H
#define BIGTABLE_ROW_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/hash_map.h"
#include "base/core/slice.h"
#include "bigtable/row/explain_counts.h"

struct quarry_filter;
struct quarry_row;

/* Where bytes of files came from. */
enum explain_place {
    EXPLAIN_BLOCK_CACHE,
    EXPLAIN_MEMORY, /* Groups that are kept in memory. */
    EXPLAIN_PAGE_CACHE,
    EXPLAIN_DISK,
    EXPLAIN_REMOTE,
    EXPLAIN_PLACES
};

/* The fate of a file; the higher one wins where several scans disagree. */
enum explain_fate {
    EXPLAIN_FILE_KEY_RANGE,    /* No row of the scan is in it. */
    EXPLAIN_FILE_NOT_NEEDED,   /* Rows may be, but the scan ended before, or */
                               /* found them in the scan cache. */
    EXPLAIN_FILE_FAMILY,       /* Its locality group has no wanted family. */
    EXPLAIN_FILE_SEQUENCE,     /* All is newer than the scan. */
    EXPLAIN_FILE_TIME,         /* All its times are outside of the range. */
    EXPLAIN_FILE_BLOOM_FILTER, /* Its filter ruled the row out. */
    EXPLAIN_FILE_OPENED,
    EXPLAIN_FATES
};

struct explain_file {
    struct explain_tablet *tablet;
    uint64_t number;
    uint32_t group; /* Index of its locality group. */
    enum explain_fate fate;
    enum explain_place place; /* Of the read made last. */
    uint64_t bytes;           /* Of the file. */
    uint64_t blocks;          /* Data blocks read. */
};

/* The part of a record about one tablet. */
struct explain_tablet {
    struct quarry_explain *explain;
    uint64_t id;
    struct buf server; /* "host:port"; empty: of this process. */
    struct buf start;  /* Plain rows; */
    struct buf end;    /* empty: no bound. */
    struct quarry_explain_counts counts;
    struct explain_file **files; /* Owned, in the order they were added. */
    size_t file_count;
    struct hash_map by_number;
    /* Time spent in the filter: of each eighth row. */
    uint64_t filter_rows;
    uint64_t filter_timed_rows;
    uint64_t filter_timed_ns;
    uint64_t scan_ns; /* Inside of the scan, without the program. */
};

/* A node of the filter, or the program. */
struct explain_stage {
    unsigned depth;
    bool streams;  /* It judges cells as they come; */
    bool is_chain; /* a chain, whose links may do so. */
    struct buf text;
    uint64_t cells_in;
    uint64_t cells_out;
    uint64_t rows_in; /* With a cell, or judged by the key alone. */
    uint64_t rows_out;
    uint64_t last_in; /* Numbers of the rows counted last. */
    uint64_t last_out;
};

struct quarry_explain {
    /* The clock, and its argument; before explain_begin() there is none. */
    uint64_t (*now)(void *clock);
    void *clock;
    struct explain_tablet **tablets; /* Owned, in the order they were read. */
    size_t tablet_count;
    struct explain_stage *stages; /* Owned. */
    size_t stage_count;
    bool has_program; /* The last stage is it. */
    uint64_t row;     /* Number of the row that stages count; from 1. */
    uint64_t fuel;    /* That the program of this scan has burnt. */
    uint64_t begin_ns;
    uint64_t elapsed_ns; /* From the scans' begin to their end, */
    uint64_t client_ns;  /* of it, between the calls of its user. */
    uint64_t left_ns;    /* When the user got the last row. */
};

/* An empty record. Owned. */
struct quarry_explain *explain_new(void);
void explain_free(struct quarry_explain *e); /* NULL is allowed. */

/* A scan begins, with @filter and perhaps a program; @now is asked for the time
 * in nanoseconds. A record may have several scans one after the other, all of
 * the same filter: they add up. */
void explain_begin(struct quarry_explain *e,
                   const struct quarry_filter *filter,
                   bool has_program,
                   uint64_t (*now)(void *clock),
                   void *clock);
void explain_end(struct quarry_explain *e);
/* Its user asks for a row, or was given one: what lies between is the user's
 * time. */
void explain_enter(struct quarry_explain *e);
void explain_leave(struct quarry_explain *e);

static inline uint64_t explain_now(const struct quarry_explain *e)
{
    return e->now(e->clock);
}

/* --- tablets and files --------------------------------------------------- */

/* The tablet @id at @server, added if it is new; of this process with an empty
 * @server, where @id is its place. Borrowed. */
struct explain_tablet *explain_tablet(struct quarry_explain *e,
                                      uint64_t id,
                                      struct slice server,
                                      struct slice start,
                                      struct slice end);
/* A file of @t; what is known of it is raised to @fate. Borrowed. */
struct explain_file *explain_file(struct explain_tablet *t,
                                  uint64_t number,
                                  uint32_t group,
                                  uint64_t bytes,
                                  enum explain_fate fate);
/* Raise the fate of file @number, which was added. Borrowed. */
struct explain_file *explain_file_met(struct explain_tablet *t,
                                      uint64_t number,
                                      enum explain_fate fate);

/* A data block of @f came from @place; @window: out of one that a scan read
 * ahead. */
void explain_block(struct explain_file *f,
                   enum explain_place place,
                   bool window,
                   uint64_t stored_bytes,
                   uint64_t decoded_bytes);
/* A read of the file system. */
void explain_read(struct explain_file *f,
                  enum explain_place place,
                  uint64_t bytes,
                  uint64_t took_ns);
/* The tablet returned @row; @by_program: one that the program kept. */
void explain_row_out(struct explain_tablet *t,
                     const struct quarry_row *row,
                     bool by_program);
/* The program of the scan took @took_ns for a row of @cells cells, and has
 * burnt @fuel by now. */
void explain_program(struct explain_tablet *t,
                     uint64_t took_ns,
                     size_t cells,
                     uint64_t fuel);
/* No more of @t is read by this scan: complete the counters that follow from
 * others. May be called again. */
void explain_settle(struct explain_tablet *t);

/* The counters of all tablets, added up. */
void explain_total(const struct quarry_explain *e,
                   struct quarry_explain_counts *out);

/* --- stages -------------------------------------------------------------- */

/* @cells cells of the row in hand came to stage @i, or left it. */
void explain_stage_in(struct quarry_explain *e, size_t i, size_t cells);
void explain_stage_out(struct quarry_explain *e, size_t i, size_t cells);
/* The row in hand is judged by its key alone, by stage @i. */
void explain_stage_row(struct quarry_explain *e, size_t i, bool passed);
/* A chain whose links judged cells one by one has what its links have. */
void explain_settle_stages(struct quarry_explain *e);

#endif /* BIGTABLE_ROW_EXPLAIN_H */
