/* Open addressing with the hashes beside the names: of a long list of names
 * most look-ups touch a slot, a hash and one name.
 */
#include "jobs/graph_names.h"

#include <string.h>

#include "base/core/hash.h"
#include "base/core/panic.h"

#define SLOTS_MIN 1024U

static void put_slot(struct graph_names *n, uint32_t number)
{
    uint32_t i = n->hashes[number] & n->slot_mask;
    while (n->slots[i])
        i = (i + 1) & n->slot_mask;
    n->slots[i] = number + 1;
}

static void grow_slots(struct graph_names *n)
{
    uint32_t count = n->slot_mask ? 2 * (n->slot_mask + 1) : SLOTS_MIN;
    PRE(count != 0);
    mem_free(n->slots);
    n->slots = mem_zalloc(count, sizeof(*n->slots));
    n->slot_mask = count - 1;
    for (uint32_t i = 0; i < n->count; i++)
        put_slot(n, i);
}

static uint32_t
append_name(struct graph_names *n, struct slice name, uint32_t h)
{
    if (n->count == n->cap) {
        n->cap = n->cap ? n->cap * 2 : SLOTS_MIN;
        n->ends = mem_realloc(n->ends, n->cap * sizeof(*n->ends));
        n->hashes = mem_realloc(n->hashes, n->cap * sizeof(*n->hashes));
    }
    buf_append_slice(&n->bytes, name);
    n->ends[n->count] = n->bytes.len;
    n->hashes[n->count] = h;
    return n->count++;
}

struct slice graph_names_at(const struct graph_names *n, uint32_t number)
{
    PRE(number < n->count);
    uint64_t begin = number ? n->ends[number - 1] : 0;
    return slice_make(n->bytes.data + begin, (size_t)(n->ends[number] - begin));
}

uint32_t graph_names_add(struct graph_names *n, struct slice name)
{
    uint32_t h = (uint32_t)(hash64_slice(name) >> 32);
    uint32_t i;
    if (n->count >= n->slot_mask / 2)
        grow_slots(n);
    for (i = h & n->slot_mask; n->slots[i]; i = (i + 1) & n->slot_mask) {
        uint32_t number = n->slots[i] - 1;
        if (n->hashes[number] == h && slice_eq(graph_names_at(n, number), name))
            return number;
    }
    n->slots[i] = n->count + 1;
    return append_name(n, name, h);
}

size_t graph_names_bytes(const struct graph_names *n)
{
    return n->bytes.cap + n->cap * (sizeof(*n->ends) + sizeof(*n->hashes)) +
           (n->slot_mask + (size_t)1) * sizeof(*n->slots);
}

void graph_names_clear(struct graph_names *n)
{
    buf_clear(&n->bytes);
    n->count = 0;
    if (n->slots)
        memset(n->slots, 0, (n->slot_mask + (size_t)1) * sizeof(*n->slots));
}

void graph_names_close(struct graph_names *n)
{
    buf_close(&n->bytes);
    mem_free(n->ends);
    mem_free(n->hashes);
    mem_free(n->slots);
    *n = (struct graph_names){.count = 0};
}
