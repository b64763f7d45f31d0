/* Batches of entries for skip lists: see skip_batch.h. The places that the
 * interleaved searches find are hints: skip_list__link() decides, and finds the
 * nodes that it compares in the CPU's cache.
 */
#include "bigtable/lsm/skip_batch.h"

#include "base/core/hash.h"
#include "base/core/panic.h"
#include "bigtable/lsm/skip_list_parts.h"

/* Within this many nodes backwards there mostly is one on level 1. */
#define WALK_STEPS_MAX 8

enum batch_task {
    BATCH_TASK_NONE,
    BATCH_TASK_WALK,   /* Back from a later version to a node on level 1. */
    BATCH_TASK_SEARCH, /* For the place of a key. */
};

struct pending {
    struct skip_list *list;
    struct skip_node *node;
    struct slice key; /* Of it. */
    size_t stem_bytes;
    uint64_t hash; /* Of the stem; 0: not known. */
    enum batch_task task;
    unsigned level;               /* Of the search; of a walk: steps left. */
    struct skip_node *n;          /* The search or walk is at. */
    struct skip_node *next;       /* To compare next; of a walk: the last. */
    struct skip_node *not_before; /* Compared already. */
    struct skip_place place;      /* Found. */
};

struct skip_batch {
    size_t count;
    struct pending pending[SKIP_BATCH_COUNT_MAX];
};

struct skip_batch *skip_batch_new(void)
{
    return mem_zalloc(1, sizeof(struct skip_batch));
}

void skip_batch_free(struct skip_batch *b)
{
    PRE(!b || b->count == 0);
    mem_free(b);
}

const struct skip_node *skip_batch_insert(struct skip_batch *b,
                                          struct skip_list *l,
                                          struct slice key,
                                          size_t stem_bytes,
                                          struct slice value)
{
    struct pending *p = &b->pending[b->count++];
    const struct skip_node *node;

    PRE(b->count <= SKIP_BATCH_COUNT_MAX);
    PRE(stem_bytes <= key.len);
    p->list = l;
    p->stem_bytes = stem_bytes;
    p->hash = 0;
    p->task =
        skip_list__finger_fits(l, key) ? BATCH_TASK_NONE : BATCH_TASK_SEARCH;
    if (p->task && stem_bytes && skip_list__knows_stems(l)) {
        p->hash = hash64_slice(slice_sub(key, 0, stem_bytes));
        stem_index_ask_for(&l->stems, p->hash);
    }
    node = p->node = skip_list__new_node(l, key, value);
    p->key = skip_node_key(p->node);
    if (b->count == SKIP_BATCH_COUNT_MAX)
        skip_batch_end(b);
    return node;
}

static void begin_search(struct pending *p)
{
    struct skip_list *l = p->list;
    unsigned height = atomic_load_explicit(&l->height, memory_order_relaxed);

    INVARIANT(height >= 1 && height <= SKIP_LIST_HEIGHT_MAX);
    for (size_t i = height; i < SKIP_LIST_HEIGHT_MAX; i++) {
        p->place.before[i] = l->head;
        p->place.after[i] = NULL;
    }
    p->level = height - 1;
    p->n = l->head;
    p->next = next_at(p->n, p->level);
    p->not_before = NULL;
    skip_node_ask_for(p->next);
}

/* Choose the task: a version of the cell is in the list, and the new one goes
 * right before it; else search. */
static void skip_batch_begin(struct pending *p)
{
    if (p->task == BATCH_TASK_NONE)
        return;
    p->n = p->hash ? stem_index_guess(&p->list->stems, p->hash) : NULL;
    if (!p->n || p->node->height > 2) {
        begin_search(p);
        return;
    }
    skip_node_ask_for(p->n);
    p->task = BATCH_TASK_WALK;
    p->next = NULL;
    p->level = p->node->height == 1 ? 1 : WALK_STEPS_MAX;
}

static bool walk_step(struct pending *p)
{
    ASSERT_SLOW(p->n);
    if (p->level == 0 || p->n == p->list->head || (p->next && p->n->height > 1))
        return false;
    p->level--;
    p->next = p->n;
    p->n = p->n->prev;
    skip_node_ask_for(p->n);
    return true;
}

static bool search_step(struct pending *p)
{
    ASSERT_SLOW(p->level < SKIP_LIST_HEIGHT_MAX);
    if (p->next != p->not_before && is_before(p->next, p->key)) {
        p->n = p->next;
    } else {
        p->not_before = p->next;
        p->place.before[p->level] = p->n;
        p->place.after[p->level] = p->next;
        if (p->level == 0)
            return false;
        p->level--;
    }
    p->next = next_at(p->n, p->level);
    skip_node_ask_for(p->next);
    return true;
}

/* One step. False: it was the last. */
static bool skip_batch_step(struct pending *p)
{
    switch (p->task) {
    case BATCH_TASK_WALK: return walk_step(p);
    case BATCH_TASK_SEARCH: return search_step(p);
    case BATCH_TASK_NONE: break;
    }
    return false;
}

/* Run all tasks, a step of each in turn. */
static void run_tasks(struct skip_batch *b)
{
    struct pending *busy[SKIP_BATCH_COUNT_MAX];
    size_t count = b->count;
    PRE(b->count <= SKIP_BATCH_COUNT_MAX);

    for (size_t i = 0; i < count; i++) {
        busy[i] = &b->pending[i];
        skip_batch_begin(busy[i]);
    }
    while (count > 0)
        for (size_t i = 0; i < count;) {
            if (skip_batch_step(busy[i]))
                i++;
            else
                busy[i] = busy[--count];
        }
}

void skip_batch_end(struct skip_batch *b)
{
    bool together = b->count > 1;

    PRE(b->count <= SKIP_BATCH_COUNT_MAX);
    if (together)
        run_tasks(b);
    for (size_t i = 0; i < b->count; i++) {
        const struct pending *p = &b->pending[i];
        bool found = together && p->task == BATCH_TASK_SEARCH;
        skip_list__link(p->list, p->node, p->stem_bytes, p->hash,
                        found ? &p->place : NULL);
    }
    b->count = 0;
}
