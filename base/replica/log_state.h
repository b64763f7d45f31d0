/* A log that is open for writing. Private to log*.c.
 *
 * Invariants, asserted by replica_log__check() when a segment begins and when a
 * batch is on the disk
 *     INV-1. Segments are numbered without gaps and their bases do not
 *            decrease; the last one is written (replica_log_segments.c).
 *     INV-2. base of the last segment <= synced <= position (log_write.c).
 *     INV-3. `ends` is `flushed` and the records of the batch: a batch that
 *            fails is dropped and leaves the log as it was (log_write.c).
 *     INV-4. After a write or sync that failed for any reason but space,
 *            `failed` is set and stays: the page cache and the disk may differ.
 */
#ifndef BASE_REPLICA_LOG_STATE_H
#define BASE_REPLICA_LOG_STATE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/replica/log_file.h"
#include "base/replica/log_segment.h"
#include "base/replica/log_synced.h"

struct unit_sealer;
struct world;

/* How far ahead of the records a segment is filled with zeros, in parts of its
 * size, where no spare one was made in time: a sync that follows costs ten
 * times as much as others, because the file's size changes. */
#define LOG_ZEROS_PER_SEGMENT 8

/* The state that the records so far leave; the next segment's header has it. */
struct log_ends {
    uint64_t term;
    uint64_t vote;
    uint64_t index;
    uint64_t index_term;
};

struct replica_log {
    struct world *world;
    char *directory; /* Owned. */
    uint64_t segment_bytes;
    struct log_segment *segments; /* Oldest first; the last is written. */
    size_t count;
    size_t cap;
    struct log_file file;   /* Of the last segment: zeros after the records. */
    struct log_file spare;  /* Zeros for the next one; may be closed. */
    struct log_file making; /* The spare, while it is made. */
    struct log_synced synced_file; /* Gets a slot with each sync. */
    uint64_t file_bytes;        /* The least size of the last segment's file. */
    uint64_t position;          /* After the last record that counts. */
    uint64_t synced;            /* Position known to be on the disk. */
    bool marked;                /* A record in the log says so. */
    bool failed;                /* INV-4. */
    atomic_bool closing;        /* No spare is made any more. */
    struct log_ends ends;       /* The batch included. */
    struct buf batch;           /* Records to be written at position. */
    struct keyring *keyring;    /* Borrowed; NULL: not encrypted. */
    struct unit_sealer *sealer; /* Of the last segment; NULL likewise. */
    struct buf sealed;          /* A payload, encrypted. */
    struct buf commands;        /* Of the record that is being made. */
    struct log_ends
        flushed;       /* As of position: a failed batch falls back to it. */
    size_t op_count;   /* Of a call: all in the batch or before it, */
    size_t done_count; /* and of these on the disk. */
};

/* Assert the invariants above. */
void replica_log__check(const struct replica_log *l);

/* How much of the log there is now. */
static inline struct log_reach replica_log__reach(const struct replica_log *l)
{
    INVARIANT(l->count > 0 && l->segments[l->count - 1].number > 0);
    return (struct log_reach){l->segments[l->count - 1].number, l->synced,
                              l->file_bytes};
}

/* A sealer for the segment that is begun or continued, if it is to be
 * encrypted. Parks. */
MUST_CHECK int replica_log__take_sealer(struct replica_log *l, struct err *err);

/* The segment that is written. */
static inline struct log_segment *replica_log__current(struct replica_log *l)
{
    PRE(l->count > 0);
    return &l->segments[l->count - 1];
}

/* Where @position is in it. */
static inline uint64_t replica_log__offset(struct replica_log *l,
                                           uint64_t position)
{
    PRE(position >= replica_log__current(l)->base);
    return LOG_HEADER_BYTES + position - replica_log__current(l)->base;
}

/* Begin segment @number at l->position: its header and its name are on the disk
 * before any record is. Parks. */
MUST_CHECK int replica_log__begin_segment(struct replica_log *l,
                                          uint64_t number,
                                          struct err *err);
/* Remove the file of segment @number; one that stays is harmless. Parks. */
void replica_log__remove_segment(struct replica_log *l, uint64_t number);
/* Release the oldest segments that have no entry after @index. Parks. */
void replica_log__compact(struct replica_log *l, uint64_t index);
/* Remove the spare of an earlier process. Parks. */
void replica_log__remove_spare(struct replica_log *l);

#endif /* BASE_REPLICA_LOG_STATE_H */
