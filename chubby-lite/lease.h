/* A leader's knowledge of the sessions that is not replicated: the end of each
 * lease, news that the session must receive, nodes that it may have cached. It
 * is lost with the leadership; a new leader starts with leases from when the
 * cell was last led, of three quarters at least, and with sessions that may
 * have anything cached, until they have answered it.
 *
 * One loop.
 *
 * Invariants
 *     INV-1. A client that believes its lease valid was answered by this leader
 *            or an earlier one no longer than lease_ms before deadline_ns
 *            (server_session.c).
 *     INV-2. A node that a session has cached is in `cached` until the session
 *            has heard that it is to be dropped, or the session is not
 *            `confirmed` (lease.c, server.c).
 *     INV-3. A keep-alive that waits here (`waiting` > 0) keeps its session
 *            from being probed: its connection stands (server_probe.c).
 *     INV-4. `ending` implies `expired`; `expired` and `gone` are never taken
 *            back, so that a fiber that waits for the session may stop at the
 *            first of them (server_session.c, lease.c).
 *     INV-5. heard <= news_number; news that are not heard are in `news`, in
 *            the order of their numbers (lease.c).
 */
#ifndef CHUBBY_LITE_LEASE_H
#define CHUBBY_LITE_LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bsd/sys/queue.h>

#include "base/core/hash_map.h"
#include "chubby-lite/lock_wire.h"
#include "chubby-lite/wait_queue.h"

/* Most news that wait for a session. Beyond it a fail-over event takes the
 * place of the oldest event. */
#define LEASE_NEWS_MAX 4096

struct lease_news {
    STAILQ_ENTRY(lease_news) link;
    struct chubby_news_item item;
};

struct lease {
    uint64_t session;
    uint32_t lease_ms;
    uint64_t deadline_ns; /* Monotonic. */
    bool confirmed;       /* Has heard of this leader and emptied its cache. */
    bool expired;         /* It ran out; no keep-alive brings it back. */
    bool ending;          /* A fiber ends the session that expired. */
    bool closing;         /* Its client has closed it: it caches nothing. */
    bool gone;            /* The session has ended, or this leadership. */
    /* Whether its process lives (server_probe.c). */
    unsigned waiting;       /* Keep-alives that wait here. */
    uint64_t silent_ns;     /* Since then there is none. */
    uint64_t probe_next_ns; /* Not probed before. */
    unsigned refusals;      /* Of its address, in a row, while it is silent. */
    bool probing;           /* A fiber probes it. */
    unsigned refs;
    STAILQ_HEAD(, lease_news) news; /* Not heard yet, oldest first. */
    size_t news_count;
    uint64_t news_number;   /* Of the newest. */
    uint64_t heard;         /* Of the newest that was heard. */
    struct hash_map cached; /* Instance of a node: the number of the news that
                               invalidates it, 0 while there is none. */
    struct wait_queue waiters; /* Woken when any of the above changed. */
};

/* All leases, by session. */
struct lease_table {
    struct hash_map leases;
};

/* An empty table. */
void lease_table_init(struct lease_table *t);
/* End all leases: they are gone, and fibers that wait for them are woken. */
void lease_table_clear(struct lease_table *t);
/* The same, and free the table. */
void lease_table_close(struct lease_table *t);

/* Borrowed; NULL if there is none. */
struct lease *lease_find(const struct lease_table *t, uint64_t session);
/* The lease of @session, made if there is none. Borrowed. */
struct lease *lease_add(struct lease_table *t, uint64_t session);
/* The session has ended. Nothing if there is none. */
void lease_remove(struct lease_table *t, uint64_t session);

/* Keep @l over a parking call. Returns @l. */
struct lease *lease_ref(struct lease *l);
/* Drop a reference; the last one frees. */
void lease_unref(struct lease *l);

/* Queue news for the session; returns their number. */
uint64_t lease_notify(struct lease *l,
                      enum chubby_news_kind kind,
                      uint64_t target,
                      unsigned event);
/* The session has acted upon all news up to @number. */
void lease_hear(struct lease *l, uint64_t number);

/* The session may have node @instance in its cache from now on. */
void lease_cache(struct lease *l, uint64_t instance);
/* Have the session drop @instance. Returns the number of the news after which
 * it has; 0: the session does not have it. */
uint64_t lease_uncache(struct lease *l, uint64_t instance);

#endif /* CHUBBY_LITE_LEASE_H */
