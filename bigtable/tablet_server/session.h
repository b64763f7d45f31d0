/* Being a member of the cluster: the session with the lock service, the
 * server's number, and the lock of its file in /bigtable/servers, which say
 * that it lives.
 *
 * Threads: one loop. What parks says so.
 */
#ifndef BIGTABLE_TABLET_SERVER_SESSION_H
#define BIGTABLE_TABLET_SERVER_SESSION_H

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
    /* The session, or the lock, is lost: once. Does not wait. */
    void (*lost)(void *ctx, const struct err *why);
    /* The file of @h, opened by others, was written or is gone; NULL: that may
     * be so of any. Does not wait. NULL: nobody cares. */
    void (*changed)(void *ctx, const struct chubby_handle *h);
    void *ctx;
};

/* Join as the server at @address: take a number that none had before, and the
 * lock. Parks. *@out is owned. */
MUST_CHECK int session_join(struct world *w,
                            const struct session_options *opts,
                            const char *address,
                            struct session **out,
                            struct err *err);
/* Tell the cluster that this server is no member any more; nothing is lost when
 * it cannot be told. From now on the session is lost. NULL is allowed. Parks.
 */
void session_quit(struct session *s);
/* Free the lock, and delete its file: others take over at once. Parks. NULL is
 * allowed. */
void session_leave(struct session *s);

uint64_t session_number(const struct session *s);
struct chubby *session_chubby(struct session *s);

/* Is the lock surely held, now? */
bool session_is_safe(const struct session *s);
/* Wait until it is. Parks only while that is in doubt.
 * ERR_CLOSED: it is lost. */
MUST_CHECK int session_wait_safe(struct session *s, struct err *err);

/* Is @sequencer that of the present master's lock? Parks, but not for each.
 * ERR_DENIED. */
MUST_CHECK int session_check_master(struct session *s,
                                    struct slice sequencer,
                                    struct err *err);
/* Where the master is: appended. Parks. */
MUST_CHECK int
session_find_master(struct session *s, struct buf *address, struct err *err);

/* The whole of a small file, appended. Parks. */
MUST_CHECK int session_read_file(struct session *s,
                                 const char *path,
                                 struct buf *out,
                                 struct err *err);

#endif /* BIGTABLE_TABLET_SERVER_SESSION_H */
