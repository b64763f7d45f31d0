/* The table as an array whose front is dropped lazily: `begin` moves up, and
 * the entries move down when half of the array is free. Indexes are checked
 * here, because a wrong one reads another command.
 */
#include "base/replica/raft_log.h"

#include <limits.h>
#include <string.h>

#include "base/core/panic.h"

struct raft_bytes *raft_bytes_new(struct slice s)
{
    struct raft_bytes *b = mem_alloc(sizeof(*b) + s.len);
    PRE(s.data || s.len == 0);
    b->refs = 1;
    b->len = s.len;
    if (s.len)
        memcpy(b->data, s.data, s.len);
    return b;
}

struct raft_bytes *raft_bytes_ref(struct raft_bytes *b)
{
    PRE(b->refs > 0 && b->refs < UINT_MAX);
    b->refs++;
    return b;
}

void raft_bytes_unref(struct raft_bytes *b)
{
    PRE(b->refs > 0);
    if (--b->refs == 0)
        mem_free(b);
}

void raft_log_init(struct raft_log *l, uint64_t index, uint64_t term)
{
    *l = (struct raft_log){.base_index = index, .base_term = term};
}

static struct raft_entry *raft_log_at(const struct raft_log *l, uint64_t index)
{
    PRE(index > l->base_index && index - l->base_index <= l->count);
    return &l->entries[l->begin + (size_t)(index - l->base_index - 1)];
}

static bool raft_log_holds(const struct raft_log *l, uint64_t index)
{
    return index > l->base_index && index <= raft_log_last(l);
}

static void raft_log_drop_all(struct raft_log *l)
{
    INVARIANT(l->begin + l->count <= l->cap);
    for (size_t i = 0; i < l->count; i++)
        raft_bytes_unref(l->entries[l->begin + i].bytes);
    l->count = 0;
    l->begin = 0;
}

void raft_log_close(struct raft_log *l)
{
    raft_log_drop_all(l);
    mem_free(l->entries);
    *l = (struct raft_log){0};
}

const struct raft_entry *raft_log_get(const struct raft_log *l, uint64_t index)
{
    return raft_log_holds(l, index) ? raft_log_at(l, index) : NULL;
}

uint64_t raft_log_term(const struct raft_log *l, uint64_t index)
{
    if (index == l->base_index)
        return l->base_term;
    return raft_log_holds(l, index) ? raft_log_at(l, index)->term : 0;
}

static uint64_t raft_log_end(const struct raft_log *l, uint64_t index)
{
    PRE(index >= l->base_index);
    PRE(index <= raft_log_last(l));
    return index == l->base_index ? l->base_bytes
                                  : raft_log_at(l, index)->end_bytes;
}

uint64_t raft_log_bytes(const struct raft_log *l, uint64_t from, uint64_t to)
{
    PRE(from >= l->base_index);
    PRE(from <= to && to <= raft_log_last(l));
    INVARIANT(raft_log_end(l, to) >= raft_log_end(l, from)); /* INV-2 */
    return raft_log_end(l, to) - raft_log_end(l, from);
}

/* Room for one more entry: move down when half of the table has been dropped,
 * else grow. */
static void raft_log_make_room(struct raft_log *l)
{
    INVARIANT(l->begin + l->count <= l->cap);
    if (l->begin + l->count < l->cap)
        return;
    if (l->begin > l->cap / 2) {
        memmove(l->entries, l->entries + l->begin,
                l->count * sizeof(*l->entries));
        l->begin = 0;
        return;
    }
    l->cap = l->cap ? l->cap * 2 : 64;
    l->entries = mem_realloc(l->entries, l->cap * sizeof(*l->entries));
}

void raft_log_append(struct raft_log *l,
                     uint64_t term,
                     enum raft_entry_kind kind,
                     struct raft_bytes *bytes)
{
    uint64_t end = raft_log_end(l, raft_log_last(l)) + bytes->len +
                   RAFT_ENTRY_OVERHEAD_BYTES;
    PRE(term >= raft_log_term(l, raft_log_last(l))); /* INV-1 */
    PRE(kind >= RAFT_ENTRY_COMMAND && kind <= RAFT_ENTRY_CONFIG);
    PRE(bytes->refs > 0);
    raft_log_make_room(l);
    INVARIANT(l->begin + l->count < l->cap); /* INV-3 */
    l->entries[l->begin + l->count] =
        (struct raft_entry){term, kind, bytes, end};
    l->count++;
}

void raft_log_truncate(struct raft_log *l, uint64_t index)
{
    PRE(index > l->base_index);
    while (raft_log_last(l) >= index) {
        raft_bytes_unref(raft_log_at(l, raft_log_last(l))->bytes);
        l->count--;
    }
    POST(raft_log_last(l) < index);
}

void raft_log_drop_prefix(struct raft_log *l, uint64_t index)
{
    size_t drop = (size_t)(index - l->base_index);
    PRE(raft_log_holds(l, index));
    l->base_term = raft_log_at(l, index)->term;
    l->base_bytes = raft_log_at(l, index)->end_bytes;
    for (size_t i = 0; i < drop; i++)
        raft_bytes_unref(l->entries[l->begin + i].bytes);
    l->base_index = index;
    l->begin += drop;
    l->count -= drop;
    INVARIANT(l->begin + l->count <= l->cap); /* INV-3 */
}

void raft_log_reset(struct raft_log *l, uint64_t index, uint64_t term)
{
    raft_log_drop_all(l);
    l->base_index = index;
    l->base_term = term;
    POST(raft_log_last(l) == index);
}

struct raft_entry *
raft_log_copy(const struct raft_log *l, uint64_t index, size_t count)
{
    struct raft_entry *copy;
    if (count == 0)
        return NULL;
    PRE(raft_log_holds(l, index) && raft_log_holds(l, index + count - 1));
    copy = mem_alloc(count * sizeof(*copy));
    memcpy(copy, raft_log_at(l, index), count * sizeof(*copy));
    for (size_t i = 0; i < count; i++)
        raft_bytes_ref(copy[i].bytes);
    return copy;
}

void raft_entries_free(struct raft_entry *entries, size_t count)
{
    PRE(entries || count == 0);
    for (size_t i = 0; i < count; i++)
        raft_bytes_unref(entries[i].bytes);
    mem_free(entries);
}
