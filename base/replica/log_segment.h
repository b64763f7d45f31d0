/* A log's segments as files, for its reader and its writer. Private to log*.c.
 */
#ifndef BASE_REPLICA_LOG_SEGMENT_H
#define BASE_REPLICA_LOG_SEGMENT_H

#include "base/core/buf.h"
#include "base/replica/replica_log.h"
#include "base/replica/replica_log_format.h"

struct log_segment {
    uint64_t number;
    uint64_t base;      /* Position of its first record. */
    uint64_t max_index; /* Of the entries in it; 0: none. */
    uint64_t bytes;     /* Of the file. */
};

/* Where reading ended. */
struct log_tail {
    struct log_segment *segments; /* Owned by the caller; oldest first. */
    size_t count;
    uint64_t position; /* After the last whole record. */
    uint64_t synced;   /* Some record vouches for everything before it. */
    bool clean;        /* Only zeros follow in the last segment. */
    uint64_t torn;     /* Number of a segment that was being begun; 0: none. */
    bool old;          /* The last segment is of an older version. */
    bool is_sealed;    /* Its payloads are encrypted. */
    uint64_t *leftovers; /* Owned by the caller: numbers of segments that were
                            released and are still there. */
    size_t leftover_count;
};

/* "DIR/0000000007.seg" into @out, emptied before. */
void replica_log_path(const char *directory, uint64_t number, struct buf *out);

/* Read everything and change nothing. state->entries and what *@tail owns are
 * the caller's, also after an error. Parks. Errors: those of
 * replica_log_read(). */
MUST_CHECK int log_read_all(const struct replica_log_options *opts,
                            struct replica_log_state *state,
                            struct log_tail *tail,
                            struct err *err);

#endif /* BASE_REPLICA_LOG_SEGMENT_H */
