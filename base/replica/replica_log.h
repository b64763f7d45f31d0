/* A member's log on its disk: term and vote, and the entries since its
 * snapshot, in segments with checksums (replica_log_format.h).
 *
 * Nothing is overwritten: an entry at an index that is taken voids the entries
 * from that index on. Many operations are written together and made durable by
 * one fdatasync. A segment is filled with zeros ahead of the records, so that
 * most syncs change neither the file's size nor its blocks.
 *
 * After a crash, records are read until one is not whole. Each record has in
 * `synced` how much of the log was on the disk when it was written; an idle
 * writer adds a mark that says so of everything. If any record after the bad
 * one vouches for it, bytes that had been safe are damaged, which is reported
 * and refused. If none does, the bad record was being written when the power
 * failed, no member knows of it, and the log ends there. Beside the segments a
 * file says how long they are, and up to where the log was on the disk
 * (log_synced.h): a log that was cut, or lacks its last segment, is refused at
 * any time, also after a loss of power.
 *
 * Threads: one at a time; calls that park may run on a pool thread.
 */
#ifndef BASE_REPLICA_REPLICA_LOG_H
#define BASE_REPLICA_REPLICA_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/replica/raft_log.h"

struct keyring;
struct replica_log;
struct world;

struct replica_log_options {
    struct world *world;     /* Borrowed. */
    struct keyring *keyring; /* Borrowed; NULL: nothing is encrypted. */
    const char *directory;   /* Of the segments; copied. It exists. */
    uint64_t segment_bytes;  /* 0: LOG_SEGMENT_BYTES. */
};

/* The state that the records of a log leave. */
struct replica_log_state {
    uint64_t term;
    uint64_t vote;
    struct raft_log entries; /* Owned by the caller. */
};

/* Make a log that is empty and follows entry (@index, @term), in @term. Remains
 * of a log in the directory are removed. Parks. Errors: ERR_FULL, ERR_IO. */
MUST_CHECK int replica_log_create(const struct replica_log_options *opts,
                                  uint64_t index,
                                  uint64_t term,
                                  struct err *err);

/* Read the log and open it for writing. A torn end is cut; all that was read is
 * on the disk afterwards. Parks. *@out is owned; so is state->entries. On error
 * nothing was changed. Errors: ERR_CORRUPT (names the segment and the offset,
 * or the file that is missing), ERR_UNSUPPORTED, ERR_IO. */
MUST_CHECK int replica_log_open(const struct replica_log_options *opts,
                                struct replica_log **out,
                                struct replica_log_state *state,
                                struct err *err);
/* Read without opening for writing. Parks. Errors: as replica_log_open(). */
MUST_CHECK int replica_log_read(const struct replica_log_options *opts,
                                struct replica_log_state *state,
                                struct err *err);
/* Mark the end (replica_log_mark()) and free @l. Parks. NULL is allowed. */
void replica_log_close(struct replica_log *l);

enum replica_log_op_kind {
    REPLICA_LOG_META,    /* term, vote */
    REPLICA_LOG_APPEND,  /* entries at index */
    REPLICA_LOG_RESET,   /* empty; follows (index, term) */
    REPLICA_LOG_COMPACT, /* entries up to index are not needed */
};

struct replica_log_op {
    enum replica_log_op_kind kind;
    uint64_t term;
    uint64_t vote;
    uint64_t index;
    const struct raft_entry *entries; /* Borrowed. */
    size_t entry_count;
};

/* Do @ops in order and make them durable together. Parks. *@done is how many of
 * them are durable, also after an error. Errors: ERR_FULL: the others may be
 * tried again once there is space. Any other: nothing is known about the
 * others, and every later call fails. */
MUST_CHECK int replica_log_write(struct replica_log *l,
                                 const struct replica_log_op *ops,
                                 size_t count,
                                 size_t *done,
                                 struct err *err);
/* Write a record that vouches for everything before it, so that damage at the
 * end can be told from a torn write. For a writer that has nothing else to do.
 * Parks. A failure does no harm. */
void replica_log_mark(struct replica_log *l);

/* A spare segment is full of zeros before records need it, so that beginning it
 * takes no wait. Is it time to make one? Between writes. */
bool replica_log_wants_spare(const struct replica_log *l);
/* Make it; writes and marks may continue meanwhile. PRE: one is wanted, and no
 * other is being made. Parks. On error there is none: ERR_FULL, ERR_IO,
 * ERR_CANCELLED. */
MUST_CHECK int replica_log_make_spare(struct replica_log *l, struct err *err);
/* The log is about to be closed: replica_log_make_spare() stops soon. Any
 * thread. */
void replica_log_stop_spare(struct replica_log *l);
/* It was made: use it as the next segment. Between writes. */
void replica_log_use_spare(struct replica_log *l);

#endif /* BASE_REPLICA_REPLICA_LOG_H */
