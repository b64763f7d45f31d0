/* Descriptors of the process: how many it may have, and how many of them are
 * reserved for files.
 *
 * The system gives out the lowest free number, so the number of a new socket
 * says how many are open at least. A socket that was accepted beyond
 * descriptors_for_connections() is closed at once, so that unauthenticated
 * peers cannot take the descriptors that a server needs for its files.
 *
 * Running out of them is not a failure of a disk: err_set_errno() makes it
 * ERR_FULL, which is temporary.
 *
 * Threads: any.
 */
#ifndef BASE_RUNTIME_DESCRIPTORS_H
#define BASE_RUNTIME_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>

/* Highest limit that is set: some systems allow a billion, and child
 * processes may try to close each descriptor. */
#define DESCRIPTORS_RAISED_MAX ((size_t)1 << 20)
/* Reserved for files, unless that is more than half of all. */
#define DESCRIPTORS_FOR_FILES ((size_t)4096)

/* Raise the soft limit of this process to the hard one. Returns the new
 * limit. */
size_t descriptors_raise(void);
/* The limit in force. */
size_t descriptors_limit(void);
/* How many of @limit descriptors all connections together may have. Pure. */
size_t descriptors_for_connections(size_t limit);
/* True if a connection may have the descriptor @fd. A connection within this
 * machine (@nearby), which a remote peer cannot open, may also use half of
 * those that are reserved for files. */
bool descriptors_admit(int fd, bool nearby);

#endif /* BASE_RUNTIME_DESCRIPTORS_H */
