/* An open-addressing hash table of stems: see stem_index.h. Stems that share a
 * hash are told apart by the key of their first node, so the table itself keeps
 * no keys.
 */
#include "bigtable/lsm/stem_index.h"

#include "base/core/hash_slots.h"
#include "base/core/panic.h"
#include "bigtable/lsm/skip_list.h"

#define SLOTS_FIRST ((size_t)4096)
/* The index gives up above this many misses for each hit, plus an allowance
 * that lets a table of some ten thousand cells be written once. */
#define MISSES_PER_HIT  16
#define MISSES_AT_FIRST 8192
/* "Many" overwritten keys: more than this part of all. */
#define HITS_PART 4

void stem_index_close(struct stem_index *x)
{
    mem_free(x->slots);
    *x = (struct stem_index){.slots = NULL};
    POST(x->slot_count == 0);
}

bool stem_index_saw_disorder(const struct stem_index *x, size_t count)
{
    INVARIANT(!x->given_up || !x->slots);
    return x->given_up || x->hit_count > count / HITS_PART;
}

/* The slot of @hash whose first node is @is, or a free one. */
static struct stem_slot *
look_up(const struct stem_index *x, uint64_t hash, const struct skip_node *is)
{
    size_t at;
    PRE(x->slot_count > 0);
    HASH_SLOTS_SEEK(at, x->slot_count, hash,
                    !x->slots[at].first || x->slots[at].first == is);
    return &x->slots[at];
}

static bool slot_is_free(const struct stem_slot *s)
{
    return !s->first;
}

static uint64_t slot_hash(const struct stem_slot *s)
{
    return s->hash;
}

HASH_SLOTS_DEFINE(stem_slots, struct stem_slot, slot_is_free, slot_hash);

static void stem_index_grow(struct stem_index *x)
{
    struct stem_slot *old = x->slots;
    size_t old_count = x->slot_count;
    x->slot_count = old_count ? old_count * 2 : SLOTS_FIRST;
    x->slots = mem_zalloc(x->slot_count, sizeof(*x->slots));
    INVARIANT(x->slot_count >= 2 * x->stem_count);
    stem_slots_move(old, old_count, x->slots, x->slot_count);
    mem_free(old);
}

static struct skip_node *stem_index_miss(struct stem_index *x)
{
    PRE(!x->given_up);
    x->miss_count++;
    if (x->miss_count > MISSES_AT_FIRST + MISSES_PER_HIT * x->hit_count) {
        stem_index_close(x);
        x->given_up = true;
    }
    return NULL;
}

void stem_index_ask_for(const struct stem_index *x, uint64_t hash)
{
    ASSERT_SLOW(!x->slots || x->slot_count > 0);
    if (x->slots)
        __builtin_prefetch(&x->slots[hash & (x->slot_count - 1)]);
}

struct skip_node *stem_index_guess(const struct stem_index *x, uint64_t hash)
{
    size_t at;
    ASSERT_SLOW((x->slot_count & (x->slot_count - 1)) == 0);
    if (!x->slots)
        return NULL;
    HASH_SLOTS_SEEK(at, x->slot_count, hash,
                    !x->slots[at].first || x->slots[at].hash == hash);
    return x->slots[at].first;
}

struct skip_node *
stem_index_find(struct stem_index *x, struct slice stem, uint64_t hash)
{
    const struct stem_slot *slots = x->slots;
    size_t at;
    PRE(!x->given_up);
    if (x->slot_count == 0)
        return stem_index_miss(x);
    HASH_SLOTS_SEEK(
        at, x->slot_count, hash,
        !slots[at].first ||
            (slots[at].hash == hash &&
             slice_starts_with(skip_node_key(slots[at].first), stem)));
    if (!slots[at].first)
        return stem_index_miss(x);
    x->hit_count++;
    return slots[at].first;
}

void stem_index_put(struct stem_index *x,
                    uint64_t hash,
                    const struct skip_node *instead,
                    struct skip_node *first)
{
    PRE(first);
    if (x->given_up)
        return;
    if (!instead && 2 * x->stem_count >= x->slot_count)
        stem_index_grow(x);
    *look_up(x, hash, instead) = (struct stem_slot){hash, first};
    x->stem_count += instead == NULL;
}
