/* Ctrl-C, for commands that can stop half-way and say what they did.
 *
 * Commands that do not watch are ended by the signal itself, which is safe:
 * what they acknowledged is in the commit log.
 */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h> /* ssize_t */

/* From now on the first Ctrl-C only sets the flag; the second one ends the
 * process. The flag is the process's: there is one terminal. */
const atomic_bool *interrupt_watch(void);
/* The same for the shell, which continues after a Ctrl-C: it clears the flag,
 * and interrupt_read() ends. */
const atomic_bool *interrupt_watch_shell(void);
/* read(), or EINTR if there was a Ctrl-C since interrupt_watch_shell(), however
 * long before the call. */
ssize_t interrupt_read(int fd, void *to, size_t len);
/* Back to the usual; the flag is cleared. */
void interrupt_unwatch(void);
bool interrupted(void);

#endif /* CLI_INTERRUPT_H */
