/* The client's side of answers.h: the numbers of a session's commands, and
 * which of them are under way.
 *
 *     while (session_window_is_full(&w)) wait until one ends
 *     sequence = session_window_begin(&w)
 *     send it with session_window_acknowledged(&w)
 *     session_window_end(&w, sequence)
 *
 * The window bounds how far the newest command may be ahead of the oldest that
 * has no answer, not how many are under way: the server keeps every answer
 * since the oldest, so one slow command and many quick ones would otherwise
 * fill its table (SESSION_ANSWERS_MAX) and be refused. Half of the table leaves
 * room for commands whose acknowledgement is still on its way.
 *
 * Does not lock: a caller that shares a window between threads does.
 *
 * Invariants, kept by window.c
 *     INV-1. oldest <= newest + 1, and at most SESSION_WINDOW numbers are in
 *            [oldest, newest].
 *     INV-2. The oldest of them is under way; every number below it has ended.
 */
#ifndef BASE_SESSION_WINDOW_H
#define BASE_SESSION_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/session/answers.h"

#define SESSION_WINDOW (SESSION_ANSWERS_MAX / 2)

struct session_window {
    uint64_t newest; /* The last number given out; 0: none yet. */
    uint64_t oldest; /* The first that is under way; newest + 1: none is. */
    bool ended[SESSION_WINDOW]; /* By number modulo SESSION_WINDOW. */
};

/* No command was sent in this session. */
void session_window_init(struct session_window *w);

/* Must another command wait until one ends? */
bool session_window_is_full(const struct session_window *w);

/* The number of a new command. PRE: the window is not full. */
uint64_t session_window_begin(struct session_window *w);

/* Command @sequence has its answer, or will not be tried again. PRE: it is
 * under way. */
void session_window_end(struct session_window *w, uint64_t sequence);

/* The client has every answer below this number. */
uint64_t session_window_acknowledged(const struct session_window *w);

#endif /* BASE_SESSION_WINDOW_H */
