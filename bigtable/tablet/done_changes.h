/* The changes of rows that a tablet has made, as long as a client may ask for
 * them again: so that each is made once.
 *
 * After RIFL (SOSP 2015). A client has a session, a random number, and numbers
 * its changes of rows in it, from 1 on; each try of a change carries the same
 * numbers. With them goes the session's floor: the client has been told, or has
 * given up to be told, what became of all changes below it.
 *
 * The record of a change stays with its row. It goes into the log with the
 * mutation, is in memory as soon as the mutation is, and is written down with
 * each minor compaction beside the tablet's files (edit_put_done()). So it is
 * there after a crash, a move, a split, a merge and a recovery. It is given up
 * below the floor, and when its session was not heard of for DONE_KEPT_US; a
 * client does not try again for that long (CHANGE_RETRY_US of data_calls.h).
 *
 *     encoded = client…
 *     client  = session:le64 floor first, run count, run…,
 *               answer count, answer…                     (numbers: varints)
 *     run     = changes between it and the one before (first: from `first` on)
 *               that were not made, changes that were
 *     answer  = sequence answer:lslice
 *
 * Threads: any.
 *
 * Invariants
 *     INV-1  No change below the floor of its session is begun.
 *     INV-2  A change is begun only while it is not done and nobody else has
 *            begun it. It counts as begun, also when it is done by then, until
 *            done_changes_end().
 *     INV-3  The floor of a session that is remembered never falls, and an
 *            answer is kept only of a change that is done and not below it.
 *     INV-4  The bytes counted are those of all clients, their words and their
 *            answers.
 */
#ifndef BIGTABLE_TABLET_DONE_CHANGES_H
#define BIGTABLE_TABLET_DONE_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct buf;
struct done_changes;
struct quarry_mutation;
struct world;

/* Two times what a client may need, whatever their clocks' drift is. */
#define DONE_KEPT_US (UINT64_C(600) * 1000000)
/* Changes of one session from its floor on. */
#define DONE_WINDOW (UINT64_C(1) << 22)
/* Of one tablet: then nothing is begun until some are given up. */
#define DONE_BYTES_MAX ((size_t)16 << 20)
/* Of a longer answer only is kept that it was given. */
#define DONE_ANSWER_BYTES_MAX ((size_t)64 << 10)

/* @world is borrowed. */
struct done_changes *done_changes_new(struct world *world);
void done_changes_free(struct done_changes *d); /* NULL is allowed. */

enum change_state {
    CHANGE_BEGUN, /* It is the caller's to make: done_changes_end(). */
    CHANGE_DONE,  /* It was made before. */
    CHANGE_OVER,  /* Its client has been told already. */
};

/* Begin the @count changes of @session with these @sequences; what became of
 * each is in @states. Those that others have begun are waited for. Parks.
 * Errors, nothing is begun: ERR_UNAVAILABLE: the window or the memory is full;
 * those of fiber_check(). */
MUST_CHECK int done_changes_begin(struct done_changes *d,
                                  uint64_t session,
                                  uint64_t floor,
                                  const uint64_t *sequences,
                                  size_t count,
                                  enum change_state *states,
                                  struct err *err);
/* A change that was begun was made and noted, or will not be made. */
void done_changes_end(struct done_changes *d,
                      uint64_t session,
                      const uint64_t *sequences,
                      size_t count);
/* Append the answer that was given; false: it was too long. */
bool done_changes_answer(struct done_changes *d,
                         uint64_t session,
                         uint64_t sequence,
                         struct buf *out);

/* @mutations are in the log and about to be in the memtables: those with a
 * session were made. */
void done_changes_note(struct done_changes *d,
                       const struct quarry_mutation *const *mutations,
                       size_t count);
/* The same of one that a log has. */
void done_changes_note_one(struct done_changes *d,
                           uint64_t session,
                           uint64_t sequence,
                           struct slice answer);

/* Append all that is kept; what has not been heard of for too long is given up.
 */
void done_changes_encode(struct done_changes *d, struct buf *out);
/* Add what was encoded, perhaps several times behind each other. Errors:
 * ERR_CORRUPT. */
MUST_CHECK int
done_changes_decode(struct done_changes *d, struct slice in, struct err *err);

/* Add all that @from has to @to. */
void done_changes_copy(struct done_changes *to, struct done_changes *from);

#endif /* BIGTABLE_TABLET_DONE_CHANGES_H */
