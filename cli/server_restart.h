/* A server process that restarts: it replaces itself by one with the same
 * arguments, the same process id and the same files, so that its supervisor
 * sees nothing. After each short run it waits longer before it begins: the
 * cause may last, and others need the processor and the network meanwhile.
 *
 *     server_restart_note(w);                 in main, before there are threads
 *     if (server_restart_wait(w, &ends))      before anything is opened
 *         …serve…
 *     server_restart_plan(w);                 a role has failed
 *     …close…
 *     server_restart();
 *
 * Threads: the main thread and its signal handlers.
 */
#ifndef CLI_SERVER_RESTART_H
#define CLI_SERVER_RESTART_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct world;

/* The first time, and what doubling comes to. */
#define RESTART_PAUSE_MS_MIN UINT64_C(100)
#define RESTART_PAUSE_MS_MAX UINT64_C(5000)
/* A life so long ends the row: the next time is the first again. */
#define RESTART_LIFE_MS_CALM UINT64_C(60000)

/* Note how this process was called, and for which time in a row. */
void server_restart_note(struct world *w);
/* Is this not the first of its lives? */
bool server_restart_is_due(void);
/* How often in a row it restarted. */
uint64_t server_restart_count(void);
/* Wait out the pause that is due, and say so in the log. False: a signal of
 * @ends, which must be blocked, came instead. */
bool server_restart_wait(struct world *w, const sigset_t *ends);
/* It will restart, from now on perhaps within a signal's handler. */
void server_restart_plan(struct world *w);
/* Restart. Returns only if that fails. Also from a signal's handler. */
void server_restart(void);

#endif /* CLI_SERVER_RESTART_H */
