/* What a leader knows of the sessions beyond the replicated state: until when
 * each lives, what it must be told, what it may have in its cache. Lost with
 * the leadership; a new leader starts with full leases and with sessions that
 * may have anything cached, until they have heard of it.
 *
 * One loop.
 *
 * Invariants
 *     I1. A client that believes its lease valid was answered by this leader or
 *         an earlier one no longer than lease_ms before deadline_ns.
 *     I2. What a session has cached is in `cached` until the session has heard
 *         that it is to be dropped, or the session is not `confirmed`.
 *     I3. A keep-alive that waits here (`waiting` > 0) keeps its session from
 * being probed: its connection stands. I4. `ending` implies `expired`, `gone`
 * is for ever, and neither is taken back: who waits for the session may stop at
 * the first of them.
 */
#ifndef CHUBBY_LITE_LEASE_H
#define CHUBBY_LITE_LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bsd/sys/queue.h>

#include "base/core/hash_map.h"
#include "chubby-lite/wait_queue.h"
#include "chubby-lite/wire.h"

/* News a session has not heard; more, and the oldest events are dropped and it
 * is told of a fail-over instead. */
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
    bool closing;         /* Its client has done with it: it caches nothing. */
    bool gone;            /* The session has ended, or this leadership. */
    /* Whether its process lives (server_probe.c). */
    unsigned waiting;       /* Keep-alives that wait here. */
    uint64_t silent_ns;     /* Since when there is none. */
    uint64_t probe_next_ns; /* Not probed before. */
    unsigned refusals;      /* Of its address, in a row, while it is silent. */
    bool probing;           /* A fiber does. */
    unsigned refs;
    STAILQ_HEAD(, lease_news) news; /* Not heard yet, oldest first. */
    size_t news_count;
    uint64_t news_number;   /* The newest. */
    uint64_t heard;         /* The newest that was heard. */
    struct hash_map cached; /* Instance of a node: the number of the news that
                               invalidates it, 0 while there is none. */
    struct wait_queue waiters; /* Woken when any of the above changed. */
};

/* All leases, by session. */
struct lease_table {
    struct hash_map leases;
};

void lease_table_init(struct lease_table *t);
/* End all leases: they are gone, and who waits on them is woken. */
void lease_table_clear(struct lease_table *t);
void lease_table_close(struct lease_table *t);

/* Borrowed; NULL if there is none. */
struct lease *lease_find(const struct lease_table *t, uint64_t session);
/* The lease of @session, made if there is none. Borrowed. */
struct lease *lease_add(struct lease_table *t, uint64_t session);
/* The session has ended. Nothing if there is none. */
void lease_remove(struct lease_table *t, uint64_t session);

/* Keep @l over a parking call. */
struct lease *lease_ref(struct lease *l);
void lease_unref(struct lease *l);

/* Something to tell; returns its number. */
uint64_t lease_notify(struct lease *l,
                      enum chubby_news_kind kind,
                      uint64_t target,
                      unsigned event);
/* All up to @number was heard. */
void lease_hear(struct lease *l, uint64_t number);

/* The session is about to have @instance in its cache. */
void lease_cache(struct lease *l, uint64_t instance);
/* Tell the session to drop @instance, unless it was told. Returns the number it
 * has to hear until the cache is without it; 0: it is without it. */
uint64_t lease_uncache(struct lease *l, uint64_t instance);

#endif /* CHUBBY_LITE_LEASE_H */
