/* The state machine of the lock service: every server of the cell executes the
 * same commands in the same order; the leader reads it. No clock, no
 * randomness, no I/O.
 *
 * Time. Commands carry the cell's time as the leader measures it, which is not
 * a wall clock: a new leader continues from the newest time in the state with
 * its own monotonic clock, so that a lock-delay never ends early because clocks
 * of servers differ; it may end late, by the time without a leader.
 *
 * Access. A command of a session is executed with the principal that opened
 * it. Names of lists are those of files below /acl, whose lines are principals,
 * "*" for everybody; the name "" allows everybody, a list that does not exist
 * nobody. Handles keep the rights that they were opened with.
 *
 * One thread.
 *
 * Invariants
 *     INV-1. now_us, instance_count and handle_count never decrease, so that
 *            instances and handles are never used again (cell_machine.c,
 *            cell_node.c).
 *     INV-2. node_count and contents_bytes are those of the tree
 *            (cell_node.c, cell_image.c).
 *     INV-3. Each command has one answer, also a malformed one
 *            (cell_machine.c).
 */
#ifndef CHUBBY_LITE_CELL_MACHINE_H
#define CHUBBY_LITE_CELL_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"
#include "chubby-lite/lock_command.h"
#include "chubby-lite/lock_session.h"

struct buf;
struct cell;

/* Bounds of the whole cell, far above its purpose. */
#define CELL_NODES_MAX          1000000
#define CELL_SESSIONS_MAX       100000
#define CELL_CONTENTS_BYTES_MAX (UINT64_C(1) << 30)

/* @event happened to the node of handle @h, which subscribed to it; some events
 * need no subscription. Called while a command is executed; does not park. */
typedef void (*cell_event_cb)(void *ctx,
                              const struct handle *h,
                              enum chubby_event event);

/* An empty cell: "/" and "/acl". @on_event may be NULL. Owned: cell_free(). */
struct cell *cell_new(cell_event_cb on_event, void *ctx);
/* NULL is allowed. */
void cell_free(struct cell *c);

/* Execute @command and append the answer (lock_command.h) to @answer. A
 * malformed command is answered with ERR_CORRUPT and changes nothing. */
void cell_apply(struct cell *c, struct slice command, struct buf *answer);

/* --- reading ------------------------------------------------------------- */

/* The newest time in the state, µs. */
uint64_t cell_now_us(const struct cell *c);
/* All sessions and handles; borrowed. */
const struct session_table *cell_sessions(const struct cell *c);
/* The directory "/"; borrowed. */
struct node *cell_root(const struct cell *c);

/* Handle @id of session @session, opened for @flags. *@out is borrowed.
 * Errors: ERR_CLOSED (no such session), ERR_INVALID (no such handle),
 * ERR_NOTFOUND (its node is gone), ERR_DENIED. */
MUST_CHECK int cell_handle(const struct cell *c,
                           uint64_t session,
                           uint64_t id,
                           unsigned flags,
                           struct handle **out,
                           struct err *err);

/* Append the sequencer of the lock that @h holds: "mode:lock generation:
 * instance:path". Errors: ERR_INVALID: it holds none. */
MUST_CHECK int
cell_sequencer(const struct handle *h, struct buf *out, struct err *err);
/* Is the lock of @sequencer still held? Errors: ERR_ABORTED: it is not;
 * ERR_INVALID: @sequencer is malformed. */
MUST_CHECK int cell_check_sequencer(const struct cell *c,
                                    struct slice sequencer,
                                    struct err *err);

/* --- images -------------------------------------------------------------- */

/* Append the whole state; equal states give equal bytes. */
void cell_save(const struct cell *c, struct buf *out);
/* Replace the state by that of @image, or by an empty cell if it is empty.
 * Errors: ERR_CORRUPT; the state is as before. */
MUST_CHECK int cell_load(struct cell *c, struct slice image, struct err *err);

#endif /* CHUBBY_LITE_CELL_MACHINE_H */
