/* Blocks: see block.h for the layout. A search does a binary search over the
 * restarts, whose keys are whole, and then walks at most one interval; every
 * length is checked against the block, which may be damaged.
 */
#include "bigtable/sstable/block.h"

#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"

/* --- building ------------------------------------------------------------ */

void block_builder_init(struct block_builder *b, uint32_t restart_every)
{
    PRE(restart_every > 0);
    *b = (struct block_builder){.restart_every = restart_every};
}

void block_builder_close(struct block_builder *b)
{
    buf_close(&b->out);
    buf_close(&b->keys);
    buf_close(&b->restarts);
    buf_close(&b->last_key);
}

static void block_builder_check(const struct block_builder *b)
{
    INVARIANT(b->since_restart <= b->restart_every); /* INV-1 */
    INVARIANT(b->restarts.len / BLOCK_RESTART_BYTES ==
              ((size_t)b->entry_count + b->restart_every - 1) /
                  b->restart_every);
}

size_t key_shared_bytes(struct slice a, struct slice b)
{
    size_t n = MIN_OF(a.len, b.len);
    size_t i = 0;

    while (i + 8 <= n) {
        uint64_t x = get_le64(a.data + i) ^ get_le64(b.data + i);
        if (x)
            return i + (size_t)__builtin_ctzll(x) / 8;
        i += 8;
    }
    while (i < n && a.data[i] == b.data[i])
        i++;
    return i;
}

void block_builder_add(struct block_builder *b,
                       struct slice key,
                       size_t shared,
                       struct slice value)
{
    char *p;

    if (b->since_restart == b->restart_every || b->entry_count == 0) {
        buf_put_le32(&b->restarts, (uint32_t)b->keys.len);
        buf_put_le32(&b->restarts, (uint32_t)b->out.len);
        b->since_restart = 0;
        shared = 0;
    }
    PRE(shared <= key.len);
    PRE(shared <= b->last_key.len); /* INV-2 */
    b->since_restart++;
    b->entry_count++;
    p = buf_reserve(&b->keys, 3 * VARINT32_BYTES_MAX + key.len - shared);
    p = put_varint(p, shared);
    p = put_varint(p, key.len - shared);
    p = put_varint(p, value.len);
    memcpy(p, key.data + shared, key.len - shared);
    b->keys.len = (size_t)(p + (key.len - shared) - b->keys.data);
    buf_append_slice(&b->out, value);
    buf_truncate(&b->last_key, MIN_OF(shared, b->last_key.len));
    buf_append(&b->last_key, key.data + shared, key.len - shared);
}

size_t block_builder_bytes(const struct block_builder *b)
{
    return b->out.len + b->keys.len + b->restarts.len + BLOCK_TAIL_BYTES;
}

struct slice block_builder_finish(struct block_builder *b)
{
    uint32_t values_bytes = (uint32_t)b->out.len;

    PRE(block_builder_bytes(b) <= UINT32_MAX);
    block_builder_check(b);
    buf_append_slice(&b->out, buf_slice(&b->keys));
    buf_append_slice(&b->out, buf_slice(&b->restarts));
    buf_put_le32(&b->out, values_bytes);
    buf_put_le32(&b->out, b->entry_count);
    buf_put_le32(&b->out, (uint32_t)(b->restarts.len / BLOCK_RESTART_BYTES));
    return buf_slice(&b->out);
}

void block_builder_reset(struct block_builder *b)
{
    PRE(b->restart_every > 0); /* INV-1 */
    buf_clear(&b->out);
    buf_clear(&b->keys);
    buf_clear(&b->restarts);
    buf_clear(&b->last_key);
    b->since_restart = 0;
    b->entry_count = 0;
}

/* --- searching ----------------------------------------------------------- */

void block_iter_init(struct block_iter *it)
{
    memset(it, 0, offsetof(struct block_iter, room));
    it->key = it->room;
    it->key_cap = sizeof(it->room);
}

void block_iter_close(struct block_iter *it)
{
    if (it->key != it->room)
        mem_free(it->key);
    block_iter_init(it);
}

int block_iter_open(struct block_iter *it, struct slice block, struct err *err)
{
    const char *tail;
    size_t body;
    size_t restarts_bytes;

    it->valid = false;
    it->bad = false;
    it->key_len = 0;
    if (block.len < BLOCK_TAIL_BYTES)
        return err_set(err, ERR_CORRUPT, "block of %zu bytes has no tail",
                       block.len);
    body = block.len - BLOCK_TAIL_BYTES;
    tail = block.data + body;
    it->entry_count = get_le32(tail + 4);
    it->restart_count = get_le32(tail + 8);
    restarts_bytes = (size_t)it->restart_count * BLOCK_RESTART_BYTES;
    if (it->restart_count == 0 || it->restart_count > it->entry_count ||
        restarts_bytes > body || get_le32(tail) > body - restarts_bytes)
        return err_set(err, ERR_CORRUPT, "malformed block tail");
    it->values = block.data;
    it->keys = block.data + get_le32(tail);
    it->keys_end = tail - restarts_bytes;
    it->next = it->keys_end;
    POST(it->values <= it->keys); /* INV-3 */
    POST(it->keys <= it->keys_end);
    return 0;
}

static void set_bad(struct block_iter *it)
{
    it->bad = true;
    it->valid = false;
}

/* A varint of up to two bytes without a call. */
static inline const char *get_length(const char *p, const char *end, size_t *v)
{
    uint64_t wide = 0;

    if (LIKELY(end - p >= 2)) {
        unsigned b0 = (unsigned char)p[0];
        unsigned b1 = (unsigned char)p[1];
        if (b0 < 0x80) {
            *v = b0;
            return p + 1;
        }
        if (b1 < 0x80) {
            *v = (b0 & 0x7f) | b1 << 7;
            return p + 2;
        }
    }
    p = get_varint(p, end, &wide);
    *v = (size_t)wide;
    return p;
}

static void grow_key(struct block_iter *it, size_t need)
{
    PRE(need > it->key_cap);

    char *p = mem_alloc(need * 2);

    memcpy(p, it->key, it->key_len);
    if (it->key != it->room)
        mem_free(it->key);
    it->key = p;
    it->key_cap = need * 2;
}

/* Decode the entry at @p, whose value starts at @value. */
static inline void
decode_entry(struct block_iter *it, const char *p, const char *value)
{
    size_t shared = 0;
    size_t rest = 0;
    size_t value_len = 0;
    ASSERT_SLOW(p <= it->keys_end); /* INV-3 */
    ASSERT_SLOW(value >= it->values && value <= it->keys);

    p = get_length(p, it->keys_end, &shared);
    if (LIKELY(p != NULL))
        p = get_length(p, it->keys_end, &rest);
    if (LIKELY(p != NULL))
        p = get_length(p, it->keys_end, &value_len);
    if (UNLIKELY(!p || shared > it->key_len ||
                 rest > (size_t)(it->keys_end - p) ||
                 value_len > (size_t)(it->keys - value))) {
        set_bad(it);
        return;
    }
    if (UNLIKELY(shared + rest > it->key_cap))
        grow_key(it, shared + rest);
    memcpy(it->key + shared, p, rest);
    it->key_len = shared + rest;
    it->value = value;
    it->value_len = value_len;
    it->next = p + rest;
    it->valid = true;
}

/* Key and value positions of restart @i; false when they are malformed. */
static bool restart_at(const struct block_iter *it,
                       uint32_t i,
                       const char **key,
                       const char **value)
{
    const char *p = it->keys_end + (size_t)i * BLOCK_RESTART_BYTES;
    size_t key_at = get_le32(p);
    size_t value_at = get_le32(p + 4);

    *key = it->keys + key_at;
    *value = it->values + value_at;
    return key_at < (size_t)(it->keys_end - it->keys) &&
           value_at <= (size_t)(it->keys - it->values);
}

/* The whole key of a restart entry; false when it is malformed. */
static bool
restart_key(const struct block_iter *it, uint32_t i, struct slice *key)
{
    const char *p;
    const char *value;
    size_t shared = 0;
    size_t rest = 0;
    size_t value_len;
    ASSERT_SLOW(it->keys <= it->keys_end); /* INV-3 */

    if (!restart_at(it, i, &p, &value))
        return false;
    p = get_length(p, it->keys_end, &shared);
    if (p)
        p = get_length(p, it->keys_end, &rest);
    if (p)
        p = get_length(p, it->keys_end, &value_len);
    if (!p || shared != 0 || rest > (size_t)(it->keys_end - p))
        return false;
    *key = (struct slice){p, rest};
    return true;
}

void block_iter_at(struct block_iter *it, uint32_t index)
{
    const char *p;
    const char *value;

    PRE(index < it->restart_count);
    it->valid = false;
    it->key_len = 0;
    if (!restart_at(it, index, &p, &value)) {
        set_bad(it);
        return;
    }
    decode_entry(it, p, value);
}

void block_iter_first(struct block_iter *it)
{
    block_iter_at(it, 0);
}

void block_iter_next(struct block_iter *it)
{
    PRE(it->valid);
    if (it->next >= it->keys_end) {
        it->valid = false;
        return;
    }
    decode_entry(it, it->next, it->value + it->value_len);
}

/* The last restart whose key is below @target (with @equal: or equal), or 0. */
static uint32_t
find_restart(struct block_iter *it, struct slice target, bool equal)
{
    uint32_t low = 0;
    uint32_t high = it->restart_count;

    PRE(it->restart_count > 0);
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        struct slice key;
        int c;
        if (UNLIKELY(!restart_key(it, middle, &key))) {
            set_bad(it);
            return 0;
        }
        c = slice_cmp(key, target);
        if (c < 0 || (equal && c == 0))
            low = middle;
        else
            high = middle;
    }
    return low;
}

void block_iter_seek(struct block_iter *it, struct slice target)
{
    uint32_t restart = find_restart(it, target, false);
    ASSERT_SLOW(it->key_len <= it->key_cap);

    if (it->bad)
        return;
    block_iter_at(it, restart);
    while (it->valid && slice_cmp(block_iter_key(it), target) < 0)
        block_iter_next(it);
}

void block_iter_after(struct block_iter *it, struct slice target)
{
    uint32_t restart = find_restart(it, target, true);
    ASSERT_SLOW(it->key_len <= it->key_cap);

    if (it->bad)
        return;
    block_iter_at(it, restart);
    while (it->valid && slice_cmp(block_iter_key(it), target) <= 0)
        block_iter_next(it);
}

uint32_t block_iter_index(const struct block_iter *it)
{
    /* With a restart an entry, the one whose successor starts at `next`. */
    uint32_t low = 0;
    uint32_t high = it->restart_count;
    size_t next_at = (size_t)(it->next - it->keys);

    PRE(it->valid);
    PRE(it->restart_count == it->entry_count);
    PRE(it->next > it->keys);
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        const char *p = it->keys_end + (size_t)middle * BLOCK_RESTART_BYTES;
        if (get_le32(p) < next_at)
            low = middle;
        else
            high = middle;
    }
    return low;
}
