/* Membership in the cluster: the session with the lock service, the server's
 * number, and the lock of its file in /bigtable/servers. While that lock is
 * held the server lives; nobody else serves its tablets.
 *
 * Threads: one loop. Functions that park say so.
 *
 * Invariants, kept by tablet_server_session.c
 *     INV-1. The number is one that no server or master had before; it does not
 *            change.
 *     INV-2. `lost` is never taken back; the callback runs once. */
#ifndef BIGTABLE_TABLET_SERVER_TABLET_SERVER_SESSION_H
#define BIGTABLE_TABLET_SERVER_TABLET_SERVER_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct buf;
struct chubby;
struct chubby_handle;
struct rpc_security;
struct session;
struct world;

struct session_options {
    const char *const *cell;
    size_t cell_count;
    const struct rpc_security *security;
    uint32_t lease_ms;
    uint32_t grace_ms;
    const char *memo; /* chubby.h; NULL: none. */
    /* Called once when the session, or the lock, is lost. Must not wait. */
    void (*lost)(void *ctx, const struct err *why);
    /* Called when the file of @h, opened elsewhere, was written or removed;
     * NULL: any file may have been. Must not wait. May be NULL. */
    void (*changed)(void *ctx, const struct chubby_handle *h);
    void *ctx;
};

/* Join as the server at @address: take a new number, and the lock. Parks. *@out
 * is owned. */
MUST_CHECK int session_join(struct world *w,
                            const struct session_options *opts,
                            const char *address,
                            struct session **out,
                            struct err *err);
/* Give up the membership by deleting the server's file; if that fails, the
 * master finds the lock free later. The session is lost from now on. NULL is
 * allowed. Parks. */
void session_quit(struct session *s);
/* Free the lock, and delete its file: others take over at once. Parks. NULL is
 * allowed. */
void session_leave(struct session *s);

/* The server's number. Never 0. */
uint64_t session_number(const struct session *s);
/* The lock service's client. Borrowed. */
struct chubby *session_chubby(struct session *s);

/* Is the lock certainly held now? */
bool session_is_safe(const struct session *s);
/* Wait until it is. Parks only while that is in doubt.
 * ERR_CLOSED: it is lost. */
MUST_CHECK int session_wait_safe(struct session *s, struct err *err);

/* Is @sequencer that of the present master's lock? Parks, but not for each.
 * ERR_DENIED. */
MUST_CHECK int session_check_master(struct session *s,
                                    struct slice sequencer,
                                    struct err *err);
/* Append the master's address. Parks. ERR_NOTFOUND: there never was a master.
 */
MUST_CHECK int
session_find_master(struct session *s, struct buf *address, struct err *err);

/* Append the contents of a small file. Parks. */
MUST_CHECK int session_read_file(struct session *s,
                                 const char *path,
                                 struct buf *out,
                                 struct err *err);

#endif /* BIGTABLE_TABLET_SERVER_TABLET_SERVER_SESSION_H */
