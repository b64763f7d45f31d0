/* The window as a ring of flags over [oldest, newest]; `oldest` moves past all
 * that ended when the oldest one does.
 */
#include "base/session/window.h"

#include "base/core/panic.h"

void session_window_init(struct session_window *w)
{
    *w = (struct session_window){.newest = 0, .oldest = 1};
    POST(!session_window_is_full(w));
}

bool session_window_is_full(const struct session_window *w)
{
    INVARIANT(w->oldest <= w->newest + 1); /* INV-1 */
    return w->newest + 1 - w->oldest >= SESSION_WINDOW;
}

uint64_t session_window_begin(struct session_window *w)
{
    PRE(!session_window_is_full(w));
    w->newest++;
    w->ended[w->newest % SESSION_WINDOW] = false;
    return w->newest;
}

void session_window_end(struct session_window *w, uint64_t sequence)
{
    PRE(sequence >= w->oldest && sequence <= w->newest);
    PRE(!w->ended[sequence % SESSION_WINDOW]);
    w->ended[sequence % SESSION_WINDOW] = true;
    while (w->oldest <= w->newest && w->ended[w->oldest % SESSION_WINDOW])
        w->oldest++;
    INVARIANT(w->oldest <= w->newest + 1);                       /* INV-1 */
    INVARIANT(sequence < w->oldest || sequence - w->oldest > 0); /* INV-2 */
}

uint64_t session_window_acknowledged(const struct session_window *w)
{
    INVARIANT(w->oldest <= w->newest + 1); /* INV-1 */
    return w->oldest;
}
