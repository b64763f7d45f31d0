/* The skip list of skip_list.h: Pugh's, with one node of four on the next
 * level.
 *
 * The writer publishes a node with one release store on each level, from the
 * lowest up, so a reader finds it fully or not at all. Inserts start from the
 * place of the last one (the finger), since rows often come in order.
 */
#include <string.h>

#include "base/core/hash.h"
#include "base/core/macros.h"
#include "base/core/panic.h"
#include "bigtable/lsm/skip_list_parts.h"
#include "bigtable/sstable/chunk_pool.h"

/* The first block of a region. */
#define BLOCK_BYTES_FIRST ((size_t)2 << 10)
/* A value up to this size follows its key. */
#define VALUE_INLINE_BYTES_MAX ((size_t)64)
/* A larger value gets memory of its own, so that chunks are not wasted. */
#define VALUE_CHUNK_BYTES_MAX (CHUNK_BYTES / 8)
/* The CPU's own prefetcher fetches the rest of a large value. */
#define ASK_TO_WRITE_BYTES_MAX ((size_t)1024)
/* Searching a list with fewer entries is as fast as the index of stems. */
#define STEMS_FROM_COUNT ((size_t)1024)

/* Add to a counter that only the writer changes, without a locked operation,
 * which would wait for all stores before it. */
static void skip_list_add_to_counter(atomic_size_t *counter, size_t n)
{
    ASSERT_SLOW(counter);
    atomic_store_explicit(
        counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
        memory_order_relaxed);
}

static void *take_chunk(struct skip_list *l)
{
    void *chunk = chunk_pool_take(l->pool);

    PRE(l->pool);
    if ((l->chunk_count & (l->chunk_count + 1)) == 0 || !l->chunks)
        l->chunks = mem_realloc(l->chunks,
                                (l->chunk_count * 2 + 2) * sizeof(*l->chunks));
    l->chunks[l->chunk_count++] = chunk;
    skip_list_add_to_counter(&l->memory, CHUNK_BYTES);
    return chunk;
}

static void *take_large(struct skip_list *l, size_t bytes)
{
    void *p = mem_alloc(bytes);
    PRE(bytes > 0);

    l->large = mem_realloc(l->large, (l->large_count + 1) * sizeof(*l->large));
    l->large[l->large_count++] = p;
    skip_list_add_to_counter(&l->memory, bytes);
    POST(l->large_count > 0);
    return p;
}

/* More room for @r: for @bytes at least. */
static void
extend_region(struct skip_list *l, struct skip_region *r, size_t bytes)
{
    size_t want = MAX_OF(r->block_bytes, BLOCK_BYTES_FIRST);

    want = MAX_OF(want, bytes);
    if (want >= CHUNK_BYTES) {
        r->next = take_chunk(l);
        r->end = r->next + CHUNK_BYTES;
        return;
    }
    r->next = take_large(l, want);
    r->end = r->next + want;
    r->block_bytes += want;
    POST((size_t)(r->end - r->next) >= bytes);
}

/* @bytes aligned to @align from @r. */
static char *skip_list_take_bytes(struct skip_list *l,
                                  struct skip_region *r,
                                  size_t bytes,
                                  size_t align)
{
    size_t skew = (size_t)(-(uintptr_t)r->next) & (align - 1);
    char *p;

    if (bytes > VALUE_CHUNK_BYTES_MAX)
        return take_large(l, bytes);
    if (!r->next || (size_t)(r->end - r->next) < skew + bytes) {
        extend_region(l, r, bytes);
        skew = (size_t)(-(uintptr_t)r->next) & (align - 1);
        INVARIANT(skew == 0); /* Blocks are aligned to more than that. */
    }
    p = r->next + skew;
    r->next = p + bytes;
    INVARIANT(r->next <= r->end);
    return p;
}

void skip_list_init(struct skip_list *l, struct chunk_pool *pool)
{
    *l = (struct skip_list){.pool = pool, .random = 1};
    l->head = mem_zalloc(1, sizeof(*l->head) + SKIP_LIST_HEIGHT_MAX *
                                                   sizeof(l->head->next[0]));
    l->head->height = SKIP_LIST_HEIGHT_MAX;
    for (size_t i = 0; i < SKIP_LIST_HEIGHT_MAX; i++)
        l->finger[i] = l->head;
    atomic_init(&l->height, 1);
}

void skip_list_close(struct skip_list *l)
{
    PRE(l->chunks || l->chunk_count == 0);
    for (size_t i = 0; i < l->chunk_count; i++)
        chunk_pool_give(l->pool, l->chunks[i]);
    for (size_t i = 0; i < l->large_count; i++)
        mem_free(l->large[i]);
    stem_index_close(&l->stems);
    mem_free(l->chunks);
    mem_free(l->large);
    mem_free(l->head);
}

static uint32_t random_height(struct skip_list *l)
{
    uint64_t r = hash_mix(l->random++);
    uint32_t height = 1;

    while (height < SKIP_LIST_HEIGHT_MAX && (r & 3) == 0) {
        height++;
        r >>= 2;
    }
    POST(height <= SKIP_LIST_HEIGHT_MAX);
    return height;
}

/* The node that follows @n on @level, which a search compares next. So as not
 * to wait for memory at each node, the one to compare if this one is too far is
 * prefetched as well. */
static struct skip_node *skip_list_candidate(const struct skip_node *n,
                                             size_t level)
{
    struct skip_node *next = next_at(n, level);
    skip_node_ask_for(next);
    if (level > 0)
        skip_node_ask_for(next_at(n, level - 1));
    return next;
}

/* Where it fits on level 0 the finger is right on all levels: each of its nodes
 * is the last one before the key there. */
bool skip_list__finger_fits(const struct skip_list *l, struct slice key)
{
    const struct skip_node *n = l->finger[0];
    const struct skip_node *next = next_at(n, 0);

    return n != l->head && is_before(n, key) &&
           (!next || slice_cmp(key, skip_node_key(next)) < 0);
}

/* Point the finger at the last node before @key on every level. */
static void move_finger(struct skip_list *l, struct slice key)
{
    size_t level = atomic_load_explicit(&l->height, memory_order_relaxed);
    struct skip_node *n = l->head;
    const struct skip_node *not_before = NULL;
    INVARIANT(level <= SKIP_LIST_HEIGHT_MAX);

    while (level-- > 0) {
        struct skip_node *next = skip_list_candidate(n, level);
        while (next != not_before && is_before(next, key)) {
            n = next;
            next = skip_list_candidate(n, level);
        }
        not_before = next; /* Compared already: spare it one level down. */
        l->finger[level] = n;
    }
}

/* Prefetch @bytes of @r, which will be written next. */
static void ask_to_write(const struct skip_region *r, size_t bytes)
{
    size_t left = (size_t)(r->end - r->next);
    ASSERT_SLOW(r->next <= r->end);
    bytes = MIN_OF(MIN_OF(bytes, left), ASK_TO_WRITE_BYTES_MAX);
    for (size_t i = 0; i < bytes; i += SKIP_LINE_BYTES)
        __builtin_prefetch(r->next + i, 1);
}

struct skip_node *
skip_list__new_node(struct skip_list *l, struct slice key, struct slice value)
{
    uint32_t height = random_height(l);
    size_t links = height * sizeof(struct skip_node *);
    bool inlined = value.len <= VALUE_INLINE_BYTES_MAX;
    size_t bytes = sizeof(struct skip_node) + links + key.len;
    struct skip_node *n;
    char *to;

    PRE(key.len > 0 && key.len < SKIP_KEY_BYTES_MAX);
    PRE(value.len <= UINT32_MAX);
    n = (void *)skip_list_take_bytes(l, &l->nodes,
                                     bytes + (inlined ? value.len : 0), 8);
    n->height = height & UINT8_MAX;
    n->key_len = key.len & (SKIP_KEY_BYTES_MAX - 1);
    n->value_len = (uint32_t)value.len;
    memcpy((char *)n + sizeof(*n) + links, key.data, key.len);
    to = inlined ? (char *)n + bytes
                 : skip_list_take_bytes(l, &l->values, value.len, 1);
    if (value.len)
        memcpy(to, value.data, value.len);
    n->value = to;
    if (!inlined)
        ask_to_write(&l->values, value.len);
    skip_list_add_to_counter(&l->bytes, bytes + value.len);
    return n;
}

/* Link @n in on @level after @before. */
static void link_in(struct skip_node *before, struct skip_node *n, size_t level)
{
    ASSERT_SLOW(level < n->height); /* INV-2 */
    atomic_init(&n->next[level], next_at(before, level));
    atomic_store_explicit(&before->next[level], n, memory_order_release);
}

static void set_prev(struct skip_node *n, struct skip_node *prev)
{
    struct skip_node *next = next_at(n, 0);
    n->prev = prev;
    if (next)
        next->prev = n;
}

/* Link @n in where the finger points. */
static void insert_at_finger(struct skip_list *l, struct skip_node *n)
{
    uint32_t height = atomic_load_explicit(&l->height, memory_order_relaxed);

    INVARIANT(n->height >= 1 && n->height <= SKIP_LIST_HEIGHT_MAX);
    if (n->height > height)
        atomic_store_explicit(&l->height, (unsigned)n->height,
                              memory_order_relaxed);
    for (uint32_t i = 0; i < n->height; i++) {
        struct skip_node *before = l->finger[i];
        link_in(before, n, i);
        l->finger[i] = n;
        if (i == 0)
            set_prev(n, before);
    }
}

/* Link @n, which is on level 0, in on level 1 as well: its predecessor there is
 * mostly a few nodes back. If the finger is past @n on level 0, it must point
 * at @n on level 1. */
static void link_on_level_1(struct skip_list *l, struct skip_node *n)
{
    struct skip_node *before = n->prev;
    PRE(n->height >= 2);

    while (before->height < 2)
        before = before->prev;
    link_in(before, n, 1);
    if (before == l->finger[1] && is_before(n, skip_node_key(l->finger[0])))
        l->finger[1] = n;
    INVARIANT(before->height >= 2); /* INV-2 */
}

/* Link @n in right before @first, where it belongs if its key is lower: nothing
 * lies between these two. The higher ones of all have to be searched for, for
 * their upper levels. */
static bool
insert_before(struct skip_list *l, struct skip_node *first, struct skip_node *n)
{
    struct skip_node *before = first->prev;
    uint32_t height = atomic_load_explicit(&l->height, memory_order_relaxed);

    PRE(first != l->head);
    if (n->height > MIN_OF(height, 2) ||
        slice_cmp(skip_node_key(n), skip_node_key(first)) >= 0)
        return false;
    link_in(before, n, 0);
    set_prev(n, before);
    if (n->height == 2)
        link_on_level_1(l, n);
    return true;
}

static bool has_stem(const struct skip_node *n, struct slice stem)
{
    return slice_starts_with(skip_node_key(n), stem);
}

bool skip_list__knows_stems(const struct skip_list *l)
{
    return !l->stems.given_up &&
           atomic_load_explicit(&l->count, memory_order_relaxed) >=
               STEMS_FROM_COUNT;
}

/* True if the index need not record a key with @stem. A key that belongs where
 * the finger points is not searched for, and is not the first of its stem's
 * keys unless the node after it has the same stem. */
static bool may_bypass(const struct skip_list *l, bool fits, struct slice stem)
{
    const struct skip_node *next;

    if (stem.len == 0 || !skip_list__knows_stems(l))
        return true;
    next = fits ? next_at(l->finger[0], 0) : NULL;
    return fits && !(next && has_stem(next, stem));
}

/* Point the finger where @key was found to belong, or a little further, if
 * nodes were inserted there since. */
static void take_place(struct skip_list *l,
                       const struct skip_place *place,
                       struct slice key)
{
    size_t height = atomic_load_explicit(&l->height, memory_order_relaxed);
    INVARIANT(height <= SKIP_LIST_HEIGHT_MAX);

    for (size_t level = 0; level < height; level++) {
        struct skip_node *n = place->before[level];
        struct skip_node *next = next_at(n, level);
        while (next != place->after[level] && is_before(next, key)) {
            n = next;
            next = next_at(n, level);
        }
        l->finger[level] = n;
    }
}

static void link_at_finger(struct skip_list *l,
                           struct skip_node *n,
                           bool fits,
                           const struct skip_place *place)
{
    if (!fits && place)
        take_place(l, place, skip_node_key(n));
    else if (!fits)
        move_finger(l, skip_node_key(n));
    insert_at_finger(l, n);
}

void skip_list__link(struct skip_list *l,
                     struct skip_node *n,
                     size_t stem_bytes,
                     uint64_t hash,
                     const struct skip_place *place)
{
    struct slice stem = slice_sub(skip_node_key(n), 0, stem_bytes);
    bool fits = skip_list__finger_fits(l, skip_node_key(n));
    bool knows = !may_bypass(l, fits, stem);
    size_t slots = l->stems.slot_count;
    struct skip_node *first = NULL;
    bool is_first = false;
    PRE(stem_bytes <= n->key_len);

    if (knows) {
        hash = hash ? hash : hash64_slice(stem);
        first = stem_index_find(&l->stems, stem, hash);
        is_first = first && insert_before(l, first, n);
    }
    if (!is_first) {
        link_at_finger(l, n, fits, place);
        is_first = knows && (n->prev == l->head || !has_stem(n->prev, stem));
    }
    if (is_first)
        stem_index_put(&l->stems, hash, first, n);
    /* It grows, or gives up and is freed: the sum wraps back. */
    skip_list_add_to_counter(&l->memory, (l->stems.slot_count - slots) *
                                             sizeof(struct stem_slot));
    skip_list_add_to_counter(&l->count, 1);
}

const struct skip_node *skip_list_insert(struct skip_list *l,
                                         struct slice key,
                                         size_t stem_bytes,
                                         struct slice value)
{
    struct skip_node *n = skip_list__new_node(l, key, value);
    PRE(key.len > 0);
    skip_list__link(l, n, stem_bytes, 0, NULL);
    return n;
}

const struct skip_node *skip_list_seek(const struct skip_list *l,
                                       struct slice key)
{
    size_t level = atomic_load_explicit(&l->height, memory_order_relaxed);
    const struct skip_node *n = l->head;
    const struct skip_node *not_before = NULL;
    ASSERT_SLOW(level <= SKIP_LIST_HEIGHT_MAX);

    while (level-- > 0) {
        const struct skip_node *next = skip_list_candidate(n, level);
        while (next != not_before && is_before(next, key)) {
            n = next;
            next = skip_list_candidate(n, level);
        }
        not_before = next;
    }
    return not_before;
}

const struct skip_node *skip_list_last(const struct skip_list *l)
{
    size_t level = atomic_load_explicit(&l->height, memory_order_relaxed);
    const struct skip_node *n = l->head;
    INVARIANT(level <= SKIP_LIST_HEIGHT_MAX);

    while (level-- > 0)
        for (const struct skip_node *next = next_at(n, level); next;
             next = next_at(n, level))
            n = next;
    return n == l->head ? NULL : n;
}
