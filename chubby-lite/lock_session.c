/* Tables by id, and lists from session and node to their handles. Images need
 * them in the order of ids, which is made when one is saved.
 */
#include "chubby-lite/lock_session.h"

#include <stdlib.h>

#include "base/core/panic.h"
#include "chubby-lite/node.h"

static void *session_map_find(const struct hash_map *m, uint64_t id)
{
    union hash_value *v = hash_map_get(m, hash_key_u64(&id));

    return v ? v->pointer : NULL;
}

static void session_map_add(struct hash_map *m, uint64_t id, void *p)
{
    bool added;

    hash_map_put(m, hash_key_u64(&id), &added)->pointer = p;
    PRE(added);
}

static void session_map_remove(struct hash_map *m, uint64_t id)
{
    bool found = hash_map_remove(m, hash_key_u64(&id), NULL);

    PRE(found);
}

void session_table_init(struct session_table *t)
{
    hash_map_init(&t->sessions, HASH_KEYS_COPIED);
    hash_map_init(&t->handles, HASH_KEYS_COPIED);
}

static void session_free(struct session *s)
{
    session_answers_close(&s->answers);
    mem_free(s->principal);
    mem_free(s->address);
    mem_free(s);
}

void session_table_close(struct session_table *t)
{
    struct hash_slot *slot;
    size_t at = 0;

    while ((slot = hash_map_next(&t->handles, &at)))
        mem_free(slot->value.pointer);
    at = 0;
    while ((slot = hash_map_next(&t->sessions, &at)))
        session_free(slot->value.pointer);
    hash_map_close(&t->handles);
    hash_map_close(&t->sessions);
}

struct session *session_find(const struct session_table *t, uint64_t id)
{
    struct session *s = session_map_find(&t->sessions, id);

    POST(!s || s->id == id);
    return s;
}

struct handle *handle_find(const struct session_table *t, uint64_t id)
{
    return session_map_find(&t->handles, id);
}

struct session *session_add(struct session_table *t,
                            uint64_t id,
                            struct slice principal,
                            struct slice address,
                            uint32_t lease_ms)
{
    struct session *s = mem_zalloc(1, sizeof(*s));

    s->id = id;
    s->principal = mem_strndup(principal.data, principal.len);
    s->address = mem_strndup(address.data, address.len);
    s->lease_ms = lease_ms;
    LIST_INIT(&s->handles);
    session_map_add(&t->sessions, id, s);
    return s;
}

void session_remove(struct session_table *t, struct session *s)
{
    PRE(LIST_EMPTY(&s->handles));
    PRE(s->handle_count == 0); /* INV-1 */
    session_map_remove(&t->sessions, s->id);
    session_free(s);
}

struct handle *handle_add(struct session_table *t,
                          uint64_t id,
                          struct session *s,
                          struct node *n)
{
    struct handle *h = mem_zalloc(1, sizeof(*h));

    h->id = id;
    PRE(s->handle_count < SESSION_HANDLES_MAX);
    h->session = s;
    h->node = n;
    LIST_INSERT_HEAD(&s->handles, h, of_session);
    if (n)
        LIST_INSERT_HEAD(&n->handles, h, of_node);
    s->handle_count++;
    session_map_add(&t->handles, id, h);
    return h;
}

void handle_orphan(struct handle *h)
{
    PRE(h->node);
    LIST_REMOVE(h, of_node);
    h->node = NULL;
    h->holding = CHUBBY_FREE; /* INV-2 */
}

void handle_remove(struct session_table *t, struct handle *h)
{
    PRE(h->holding == CHUBBY_FREE);
    INVARIANT(h->session->handle_count > 0); /* INV-1 */
    session_map_remove(&t->handles, h->id);
    LIST_REMOVE(h, of_session);
    h->session->handle_count--;
    if (h->node)
        LIST_REMOVE(h, of_node);
    mem_free(h);
}

static int by_session(const void *a, const void *b)
{
    const struct session *x = *(struct session *const *)a;
    const struct session *y = *(struct session *const *)b;

    return (x->id > y->id) - (x->id < y->id);
}

static int by_handle(const void *a, const void *b)
{
    const struct handle *x = *(struct handle *const *)a;
    const struct handle *y = *(struct handle *const *)b;

    return (x->id > y->id) - (x->id < y->id);
}

struct session **session_sorted(const struct session_table *t, size_t *count)
{
    struct session **all =
        mem_alloc((t->sessions.count + 1) * sizeof(struct session *));
    struct hash_slot *slot;
    size_t at = 0;

    *count = 0;
    while ((slot = hash_map_next(&t->sessions, &at)))
        all[(*count)++] = slot->value.pointer;
    INVARIANT(*count == t->sessions.count);
    qsort(all, *count, sizeof(struct session *), by_session);
    return all;
}

struct handle **handle_sorted(const struct session *s)
{
    struct handle **all =
        mem_alloc((s->handle_count + 1) * sizeof(struct handle *));
    struct handle *h;
    size_t count = 0;

    LIST_FOREACH(h, &s->handles, of_session)
        all[count++] = h;
    INVARIANT(count == s->handle_count); /* INV-1 */
    qsort(all, count, sizeof(struct handle *), by_handle);
    return all;
}
