/* Claims as a list in the order of arrival. There are as many as commands under
 * way, few, so that conflicts are looked for by a walk.
 */
#include "chubby-lite/claim.h"

#include "base/core/hash.h"
#include "base/core/panic.h"

/* Keys of paths and of sessions have seeds of their own. */
enum {
    SEED_PATH = 1,
    SEED_SESSION = 2,
};

void claim_enter(struct claim_list *l, struct claim *c)
{
    *c = (struct claim){.count = 0};
    LIST_INIT(&c->waiters);
    TAILQ_INSERT_TAIL(l, c, link);
}

void claim_leave(struct claim_list *l, struct claim *c)
{
    struct claim *other;

    PRE(!TAILQ_EMPTY(l));
    TAILQ_REMOVE(l, c, link);
    mem_free(c->items);
    TAILQ_FOREACH(other, l, link)
        if (!other->held)
            wait_queue_wake(&other->waiters);
}

void claim_clear(struct claim *c)
{
    PRE(!c->held);
    c->count = 0;
}

static void claim_add(struct claim *c, uint64_t key, bool exclusive)
{
    PRE(!c->held); /* INV-2 */
    if (c->count == c->cap) {
        c->cap = c->cap * 2 + 4;
        c->items = mem_realloc(c->items, c->cap * sizeof(*c->items));
    }
    c->items[c->count++] = (struct claim_item){key, exclusive};
}

void claim_path(struct claim *c, struct slice path, bool exclusive)
{
    /* The path of a node has one spelling, and so one key. */
    PRE(path.len == 1 || path.data[path.len - 1] != '/');
    claim_add(c, hash64(path.data, path.len, SEED_PATH), exclusive);
}

void claim_session(struct claim *c, uint64_t session, bool exclusive)
{
    claim_add(c, hash64(&session, sizeof(session), SEED_SESSION), exclusive);
}

static bool claims_conflict(const struct claim *a, const struct claim *b)
{
    for (size_t i = 0; i < a->count; i++)
        for (size_t j = 0; j < b->count; j++)
            if (a->items[i].key == b->items[j].key &&
                (a->items[i].exclusive || b->items[j].exclusive))
                return true;
    return false;
}

bool claim_take(struct claim_list *l, struct claim *c)
{
    const struct claim *other;
    bool is_earlier = true;

    PRE(!c->held);
    TAILQ_FOREACH(other, l, link) {
        if (other == c)
            is_earlier = false;
        else if ((other->held || is_earlier) && claims_conflict(c, other))
            return false;
    }
    INVARIANT(!is_earlier); /* It is in the list. */
    c->held = true;
    return true;
}
