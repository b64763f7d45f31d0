/* Leases and their news. A lease is counted, because fibers wait for it over
 * parking calls while sessions end.
 */
#include "chubby-lite/lease.h"

#include <limits.h>

#include "base/core/panic.h"

void lease_table_init(struct lease_table *t)
{
    hash_map_init(&t->leases, HASH_KEYS_COPIED);
}

struct lease *lease_ref(struct lease *l)
{
    PRE(l->refs > 0);
    PRE(l->refs < UINT_MAX);
    l->refs++;
    return l;
}

void lease_unref(struct lease *l)
{
    PRE(l->refs > 0);
    if (--l->refs > 0)
        return;
    lease_hear(l, UINT64_MAX);
    INVARIANT(l->news_count == 0);
    INVARIANT(l->waiting == 0);
    hash_map_close(&l->cached);
    mem_free(l);
}

static void lease_end(struct lease *l)
{
    PRE(!l->gone); /* INV-4: once. */
    l->gone = true;
    wait_queue_wake(&l->waiters);
    lease_unref(l);
}

void lease_table_clear(struct lease_table *t)
{
    struct hash_slot *slot;
    size_t at = 0;

    while ((slot = hash_map_next(&t->leases, &at)))
        lease_end(slot->value.pointer);
    hash_map_clear(&t->leases);
    POST(t->leases.count == 0);
}

void lease_table_close(struct lease_table *t)
{
    lease_table_clear(t);
    hash_map_close(&t->leases);
}

struct lease *lease_find(const struct lease_table *t, uint64_t session)
{
    union hash_value *v = hash_map_get(&t->leases, hash_key_u64(&session));
    struct lease *l = v ? v->pointer : NULL;

    POST(!l || (l->session == session && !l->gone)); /* INV-4 */
    return l;
}

struct lease *lease_add(struct lease_table *t, uint64_t session)
{
    bool added;
    union hash_value *v =
        hash_map_put(&t->leases, hash_key_u64(&session), &added);
    struct lease *l;

    if (!added)
        return v->pointer;
    l = mem_zalloc(1, sizeof(*l));
    l->session = session;
    l->refs = 1;
    STAILQ_INIT(&l->news);
    LIST_INIT(&l->waiters);
    hash_map_init(&l->cached, HASH_KEYS_COPIED);
    v->pointer = l;
    POST(l->refs == 1);
    POST(lease_find(t, session) == l);
    return l;
}

void lease_remove(struct lease_table *t, uint64_t session)
{
    union hash_value old;

    if (hash_map_remove(&t->leases, hash_key_u64(&session), &old))
        lease_end(old.pointer);
}

/* Replace the oldest event; invalidations stay, because commands wait for them.
 */
static void drop_event(struct lease *l)
{
    struct lease_news *n;

    PRE(l->news_count > 0);
    STAILQ_FOREACH(n, &l->news, link)
        if (n->item.kind == CHUBBY_NEWS_EVENT &&
            n->item.event != CHUBBY_EVENT_FAILOVER)
            break;
    if (!n)
        return;
    n->item.target = 0;
    n->item.event = CHUBBY_EVENT_FAILOVER;
}

uint64_t lease_notify(struct lease *l,
                      enum chubby_news_kind kind,
                      uint64_t target,
                      unsigned event)
{
    struct lease_news *n;

    PRE(kind <= CHUBBY_NEWS_INVALIDATE);
    if (kind == CHUBBY_NEWS_EVENT && l->news_count >= LEASE_NEWS_MAX) {
        drop_event(l);
        return l->news_number;
    }
    n = mem_zalloc(1, sizeof(*n));
    n->item = (struct chubby_news_item){++l->news_number, kind, target, event};
    INVARIANT(l->heard < l->news_number); /* INV-5 */
    STAILQ_INSERT_TAIL(&l->news, n, link);
    l->news_count++;
    wait_queue_wake(&l->waiters);
    return l->news_number;
}

void lease_hear(struct lease *l, uint64_t number)
{
    struct lease_news *n;

    while ((n = STAILQ_FIRST(&l->news)) && n->item.number <= number) {
        STAILQ_REMOVE_HEAD(&l->news, link);
        mem_free(n);
        l->news_count--;
    }
    l->heard = MAX_OF(l->heard, MIN_OF(number, l->news_number));
    INVARIANT((l->news_count == 0) == STAILQ_EMPTY(&l->news));
    INVARIANT(l->heard <= l->news_number); /* INV-5 */
    wait_queue_wake(&l->waiters);
}

void lease_cache(struct lease *l, uint64_t instance)
{
    PRE(!l->gone);
    hash_map_put(&l->cached, hash_key_u64(&instance), NULL)->number = 0;
}

uint64_t lease_uncache(struct lease *l, uint64_t instance)
{
    union hash_value *v = hash_map_get(&l->cached, hash_key_u64(&instance));

    if (!v)
        return 0;
    INVARIANT(v->number <= l->news_number); /* INV-2 */
    if (v->number && v->number <= l->heard) {
        hash_map_remove(&l->cached, hash_key_u64(&instance), NULL);
        return 0;
    }
    if (!v->number)
        v->number = lease_notify(l, CHUBBY_NEWS_INVALIDATE, instance, 0);
    POST(v->number > l->heard); /* INV-2 */
    return v->number;
}
