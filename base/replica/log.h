/* A member's log on its disk: term and vote, and the entries since its
 * snapshot, in segments with checksums (log_format.h).
 *
 * Nothing is overwritten: an entry at an index that is taken voids what was
 * there and behind it. Many operations are written together and made durable
 * by one fdatasync. The end of a segment is filled with zeros ahead of what is
 * written, so that most syncs change neither the file's size nor its blocks.
 *
 * What a crash leaves. Records are read until one is not whole. Each tells by
 * `synced` how much of the log was on the disk when it was written; once the
 * writer has nothing to do it writes a mark that tells so of everything. If any
 * record behind the bad one vouches for it, bytes that had been safe are
 * damaged, which is reported and refused. If none does, the bad record was
 * being written when the power went, nobody was told of it, and the log ends
 * there. Beside the segments a file says how long they are, and up to where the
 * log was on the disk (log_synced.h): a log that was cut, or lacks its last
 * segment, is refused at any time, after a loss of power too.
 *
 * Threads: one at a time; calls that park may run on a pool thread.
 */
#ifndef BASE_REPLICA_LOG_H
#define BASE_REPLICA_LOG_H

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
    const char *directory;   /* Of the segments; copied. It is there. */
    uint64_t segment_bytes;  /* 0: LOG_SEGMENT_BYTES. */
};

/* What the log says. */
struct replica_log_state {
    uint64_t term;
    uint64_t vote;
    struct raft_log entries; /* Owned by the caller. */
};

/* Make a log that is empty behind entry (@index, @term), in @term, in a
 * directory without one (what is left of one is removed). Parks. */
MUST_CHECK int replica_log_create(const struct replica_log_options *opts,
                                  uint64_t index,
                                  uint64_t term,
                                  struct err *err);

/* Read the log and open it for writing. A torn end is cut; what was read is on
 * the disk afterwards. Parks. *@out is owned; so is state->entries. On error
 * nothing was changed. Errors: ERR_CORRUPT (segment, and offset or what is
 * missing),
 * ERR_UNSUPPORTED, ERR_IO. */
MUST_CHECK int replica_log_open(const struct replica_log_options *opts,
                                struct replica_log **out,
                                struct replica_log_state *state,
                                struct err *err);
/* Read alone: for inspection and tests. Parks. */
MUST_CHECK int replica_log_read(const struct replica_log_options *opts,
                                struct replica_log_state *state,
                                struct err *err);
/* Parks. NULL is allowed. */
void replica_log_close(struct replica_log *l);

enum replica_log_op_kind {
    REPLICA_LOG_META,    /* term, vote */
    REPLICA_LOG_APPEND,  /* entries at index */
    REPLICA_LOG_RESET,   /* empty behind (index, term) */
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

/* Do @ops in order and make them durable, together. Parks. *@done is how many
 * of them are, also after an error. ERR_FULL: the rest may be tried again once
 * there is space. Any other: nothing is known about the rest, and every later
 * call fails. */
MUST_CHECK int replica_log_write(struct replica_log *l,
                                 const struct replica_log_op *ops,
                                 size_t count,
                                 size_t *done,
                                 struct err *err);
/* Everything is on the disk and nothing else to do: say so in the log, so that
 * damage of its end is told from a torn write. Parks. Not an error if it
 * fails. */
void replica_log_mark(struct replica_log *l);

/* A segment that is there, full of zeros, when records want it: begun then
 * without a wait. Is it time to make one? Between writes. */
bool replica_log_wants_spare(const struct replica_log *l);
/* Make it; writes and marks may go on meanwhile. PRE: one is wanted, and no
 * other is being made. Parks. On error there is none: ERR_FULL, ERR_IO,
 * ERR_CANCELLED. */
MUST_CHECK int replica_log_make_spare(struct replica_log *l, struct err *err);
/* The log is about to be closed: whoever makes one stops soon. Any thread. */
void replica_log_stop_spare(struct replica_log *l);
/* It was made: the next segment is to be it. Between writes. */
void replica_log_use_spare(struct replica_log *l);

#endif /* BASE_REPLICA_LOG_H */
