/* Commands of a session that are executed once, however often they are sent:
 * the answers that a replicated state machine keeps for one session.
 *
 * A client numbers its commands from 1 and sends with each the lowest number
 * whose answer it lacks (window.h computes it). The state machine keeps an
 * answer until the client has acknowledged it, so a command that is tried again
 * gets the answer of its first execution. This is RIFL (SOSP 2015) with the
 * completion records in the state machine itself: they are replicated, saved
 * and restored with the state that the commands changed.
 *
 * Deterministic. One thread.
 *
 * Invariants, kept by answers.c
 *     INV-1. Kept sequences strictly increase.
 *     INV-2. Nothing below `acknowledged` is kept, and `acknowledged` never
 *            decreases.
 *     INV-3. At most SESSION_ANSWERS_MAX are kept.
 */
#ifndef BASE_SESSION_ANSWERS_H
#define BASE_SESSION_ANSWERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/macros.h"
#include "base/core/slice.h"

/* Answers kept for one session; a client that keeps to its window (window.h)
 * needs half of them. */
#define SESSION_ANSWERS_MAX 256

struct session_answer {
    uint64_t sequence;
    char *bytes; /* Owned by the table. */
    uint32_t len;
};

/* All zeros is the table of a new session. */
struct session_answers {
    uint64_t acknowledged; /* The client has every answer below it. */
    struct session_answer *kept;
    uint32_t count;
    uint32_t cap;
};

/* How a command is to be treated. */
enum session_verdict {
    SESSION_EXECUTE,  /* It is new. */
    SESSION_ANSWERED, /* It was executed: send the answer that was kept. */
    SESSION_STALE,    /* Its answer was acknowledged, and is gone. */
    SESSION_FULL,     /* The client acknowledges nothing: refuse it. */
};

/* Free all answers; @a is then all zeros. */
void session_answers_close(struct session_answers *a);

/* Judge command @sequence, sent with @acknowledged, and forget the answers that
 * it acknowledges, unless its own is kept. *@answer is set for
 * SESSION_ANSWERED; it is borrowed until @a changes. */
MUST_CHECK enum session_verdict session_answers_check(struct session_answers *a,
                                                      uint64_t sequence,
                                                      uint64_t acknowledged,
                                                      struct slice *answer);

/* The answer to @sequence, borrowed until @a changes; NULL: none is kept. */
const struct session_answer *
session_answers_find(const struct session_answers *a, uint64_t sequence);

/* Keep a copy of @answer. PRE: session_answers_check() said SESSION_EXECUTE. */
void session_answers_keep(struct session_answers *a,
                          uint64_t sequence,
                          struct slice answer);

/* Keep a copy of @answer in place of what is kept for @sequence; nothing if
 * that was forgotten. */
void session_answers_replace(struct session_answers *a,
                             uint64_t sequence,
                             struct slice answer);

/* Add what a saved state holds, in any order, after `acknowledged` was set.
 * False, and nothing is kept: it breaks an invariant, so the state is corrupt.
 */
MUST_CHECK bool session_answers_load(struct session_answers *a,
                                     uint64_t sequence,
                                     struct slice answer);

#endif /* BASE_SESSION_ANSWERS_H */
