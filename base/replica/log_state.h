/* A log that is written: what log*.c share. Private to them. */
#ifndef BASE_REPLICA_LOG_STATE_H
#define BASE_REPLICA_LOG_STATE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/core/buf.h"
#include "base/replica/log_file.h"
#include "base/replica/log_segment.h"
#include "base/replica/log_synced.h"

struct unit_sealer;
struct world;

/* How far ahead of the records a segment is filled with zeros, in parts of its
 * size, where no spare one was made in time: a sync that follows costs ten
 * times as much as others, because the file's size changes. */
#define LOG_ZEROS_PER_SEGMENT 8

/* The state that the records so far leave; a header says it. */
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
    struct log_file file;   /* Of the last segment: zeros behind the records. */
    struct log_file spare;  /* Zeros for the next one; may be closed. */
    struct log_file making; /* The spare, while it is made beside the rest. */
    struct log_synced synced_file; /* Told of each sync. */
    uint64_t file_bytes;     /* The last segment's file has so many at least. */
    uint64_t position;       /* Behind the last record that counts. */
    uint64_t synced;         /* Position known to be on the disk. */
    bool marked;             /* A record in the log says so. */
    bool failed;             /* Nothing is known about the disk any more. */
    atomic_bool closing;     /* No spare is made any more. */
    struct log_ends ends;    /* The batch included. */
    struct buf batch;        /* Records to be written at position. */
    struct keyring *keyring; /* Borrowed; NULL: not encrypted. */
    struct unit_sealer *sealer; /* Of the last segment; NULL likewise. */
    struct buf sealed;          /* A payload, encrypted. */
    struct buf commands;        /* Of the record that is being made. */
    struct log_ends
        flushed;       /* As of position: a failed batch falls back to it. */
    size_t op_count;   /* Of a call: all in the batch or before it, */
    size_t done_count; /* and of these on the disk. */
};

/* How much of the log there is now. */
static inline struct log_reach replica_log__reach(const struct replica_log *l)
{
    return (struct log_reach){l->segments[l->count - 1].number, l->synced,
                              l->file_bytes};
}

/* A sealer for the segment that is begun or continued, if it is to be
 * encrypted. Parks. */
MUST_CHECK int replica_log__take_sealer(struct replica_log *l, struct err *err);

/* The one that is written. */
static inline struct log_segment *replica_log__current(struct replica_log *l)
{
    return &l->segments[l->count - 1];
}

/* Where @position is in it. */
static inline uint64_t replica_log__offset(struct replica_log *l,
                                           uint64_t position)
{
    return LOG_HEADER_BYTES + position - replica_log__current(l)->base;
}

/* Begin segment @number at l->position: its header and its name are on the disk
 * before any record is. Parks. */
MUST_CHECK int replica_log__begin_segment(struct replica_log *l,
                                          uint64_t number,
                                          struct err *err);
void replica_log__remove_segment(struct replica_log *l, uint64_t number);
/* Let go of the oldest segments that hold nothing behind @index. */
void replica_log__compact(struct replica_log *l, uint64_t index);
/* Of an earlier process; one that stays is made again when it is wanted. */
void replica_log__remove_spare(struct replica_log *l);

#endif /* BASE_REPLICA_LOG_STATE_H */
