/* Descriptors of the process: how many it may have, and how many of these are
 * kept for files.
 *
 * The system gives out the lowest free number, so the number of a new socket
 * says how many are open at least. A socket that was accepted beyond
 * descriptors_for_connections() is closed at once: whatever unauthenticated
 * peers do, there is room for the files that a server needs.
 *
 * Running out is no failure of a disk: err_set_errno() makes ERR_FULL of it,
 * which passes.
 *
 * Threads: any.
 */
#ifndef BASE_RUNTIME_DESCRIPTORS_H
#define BASE_RUNTIME_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>

/* Raised to this at most: some systems allow a thousand million, and programs
 * that are started look at each. */
#define DESCRIPTORS_RAISED_MAX ((size_t)1 << 20)
/* Kept for files, if that is not more than half of all. */
#define DESCRIPTORS_FOR_FILES ((size_t)4096)

/* Raise the soft limit of this process to the hard one. Returns the limit that
 * is in force now. */
size_t descriptors_raise(void);
/* The limit in force. */
size_t descriptors_limit(void);
/* How many of @limit connections may have, together. Pure. */
size_t descriptors_for_connections(size_t limit);
/* May a connection have the descriptor @fd? One within this machine, which no
 * unauthenticated peer makes (@nearby), may have half of those that are kept
 * for files. */
bool descriptors_admit(int fd, bool nearby);

#endif /* BASE_RUNTIME_DESCRIPTORS_H */
