/* Building, verifying and walking blocks of pairs. Keys are prefix-compressed
 * against the key before, which sorted runs make cheap and effective; lengths
 * of a stored block are checked before memory is taken for it. */
#include "mapreduce/records/pair_block.h"

#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "base/crypt/sealer.h"
#include "mapreduce/mapreduce.h"
#include "mapreduce/records/block_codec.h"

STATIC_ASSERT(BLOCK_BYTES_MAX + UNIT_BYTES_MORE < BLOCK_SEALED,
              "lengths leave the flag alone");
STATIC_ASSERT(BLOCK_BYTES_MAX >=
                  BLOCK_VALUE_BYTES_MAX + BLOCK_BYTES + MR_KEY_BYTES_MAX + 64,
              "the largest entry fits into the largest block");

void pair_block_builder_init(struct pair_block_builder *b)
{
    *b = (struct pair_block_builder){.raw = BUF_INIT};
}

void pair_block_builder_close(struct pair_block_builder *b)
{
    buf_close(&b->raw);
    buf_close(&b->last_key);
}

static size_t shared_bytes(struct slice a, struct slice b)
{
    size_t n = MIN_OF(a.len, b.len);
    size_t i = 0;
    while (i + 8 <= n) {
        uint64_t diff = get_le64(a.data + i) ^ get_le64(b.data + i);
        if (diff)
            return i + (size_t)__builtin_ctzll(diff) / 8;
        i += 8;
    }
    while (i < n && a.data[i] == b.data[i])
        i++;
    return i;
}

void pair_block_builder_add(struct pair_block_builder *b,
                            struct slice key,
                            struct slice value)
{
    size_t shared = 0;
    size_t suffix;
    char *p;
    PRE(key.len <= MR_KEY_BYTES_MAX);
    PRE(value.len <= BLOCK_VALUE_BYTES_MAX);
    if (b->count > 0)
        shared = shared_bytes(buf_slice(&b->last_key), key);
    suffix = key.len - shared;
    p = buf_reserve(&b->raw, 3 * VARINT32_BYTES_MAX + suffix + value.len);
    p = put_varint(p, shared);
    p = put_varint(p, suffix);
    p = put_varint(p, value.len);
    if (suffix > 0)
        memcpy(p, key.data + shared, suffix);
    p += suffix;
    if (value.len > 0)
        memcpy(p, value.data, value.len);
    b->raw.len = (size_t)(p + value.len - b->raw.data);
    b->last_key.len = shared;
    buf_append(&b->last_key, key.data + shared, suffix);
    b->count++;
}

/* Seal the last @bytes of @out; returns how many bytes they are sealed. */
static size_t
seal_payload(struct block_codec *codec, size_t bytes, struct buf *out)
{
    char *unit;
    buf_extend(out, UNIT_BYTES_MORE);
    unit = out->data + out->len - bytes - UNIT_BYTES_MORE;
    memmove(unit + UNIT_HEAD_BYTES, unit, bytes);
    unit_seal(codec->sealer, SLICE_EMPTY,
              slice_make(unit + UNIT_HEAD_BYTES, bytes), unit);
    return bytes + UNIT_BYTES_MORE;
}

void pair_block_builder_finish(struct pair_block_builder *b,
                               struct block_codec *codec,
                               struct buf *out)
{
    size_t at = out->len;
    struct slice raw = buf_slice(&b->raw);
    size_t stored;
    char *p;
    buf_extend(out, BLOCK_HEADER_BYTES);
    stored = block_codec_compress(codec, raw, out);
    if (stored == 0) {
        stored = raw.len;
        buf_append_slice(out, raw);
    }
    if (codec->sealer)
        stored = seal_payload(codec, stored, out);
    p = out->data + at;
    put_le32(p, (uint32_t)stored | (codec->sealer ? BLOCK_SEALED : 0));
    put_le32(p + 4, (uint32_t)raw.len);
    put_le32(p + 8, b->count);
    put_le32(p + 12,
             crc32c_extend(crc32c(p, 12), p + BLOCK_HEADER_BYTES, stored));
    b->count = 0;
    buf_clear(&b->raw);
    buf_clear(&b->last_key);
}

int pair_block_header_decode(const char *p,
                             struct pair_block_header *h,
                             struct err *err)
{
    uint32_t plain;
    h->stored_bytes = get_le32(p) & ~BLOCK_SEALED;
    h->is_sealed = get_le32(p) & BLOCK_SEALED;
    h->raw_bytes = get_le32(p + 4);
    h->entry_count = get_le32(p + 8);
    h->crc = get_le32(p + 12);
    plain = h->stored_bytes - (h->is_sealed ? (uint32_t)UNIT_BYTES_MORE : 0);
    if (plain > h->stored_bytes || plain > h->raw_bytes ||
        h->raw_bytes > BLOCK_BYTES_MAX || h->entry_count == 0 ||
        h->entry_count > h->raw_bytes / 3)
        return err_set(err, ERR_CORRUPT, "block header with impossible sizes");
    return 0;
}

/* Decrypt @stored into the codec's memory, and point it there. */
static int
unseal_payload(struct block_codec *codec, struct slice *stored, struct err *err)
{
    struct slice unit = *stored;
    if (!codec->opener)
        return err_set(err, ERR_DENIED,
                       "a block is encrypted, and there is no key for it");
    buf_clear(&codec->scratch);
    buf_extend(&codec->scratch, unit.len - UNIT_BYTES_MORE);
    *stored = buf_slice(&codec->scratch);
    return unit_open(codec->opener, SLICE_EMPTY, unit, codec->scratch.data,
                     err);
}

int pair_block_open(const char *p,
                    const struct pair_block_header *h,
                    struct block_codec *codec,
                    struct buf *raw,
                    struct err *err)
{
    struct slice stored = {p + BLOCK_HEADER_BYTES, h->stored_bytes};
    if (crc32c_extend(crc32c(p, 12), stored.data, stored.len) != h->crc)
        return err_set(err, ERR_CORRUPT, "block with a wrong checksum");
    if (h->is_sealed) {
        int rc = unseal_payload(codec, &stored, err);
        if (rc)
            return rc;
    }
    buf_clear(raw);
    /* Larger sizes come from a file or a peer: allocate them so that failure is
     * an error. */
    if (raw->cap < h->raw_bytes && h->raw_bytes > 2 * BLOCK_BYTES) {
        char *bigger = mem_try_alloc(h->raw_bytes);
        if (!bigger)
            return err_set(err, ERR_NOMEM, "no memory for a block of %u bytes",
                           h->raw_bytes);
        buf_close(raw);
        *raw = (struct buf){bigger, 0, h->raw_bytes};
    }
    if (stored.len == h->raw_bytes) {
        buf_append_slice(raw, stored);
        return 0;
    }
    return block_codec_decompress(codec, stored, buf_extend(raw, h->raw_bytes),
                                  h->raw_bytes, err);
}

void pair_cursor_init(struct pair_cursor *c)
{
    *c = (struct pair_cursor){.value = SLICE_EMPTY};
}

void pair_cursor_close(struct pair_cursor *c)
{
    buf_close(&c->key);
}

void pair_cursor_start(struct pair_cursor *c,
                       struct slice raw,
                       uint32_t entry_count)
{
    c->p = raw.data;
    c->end = raw.data + raw.len;
    c->left = entry_count;
    buf_clear(&c->key);
}

/* Put the suffix after the shared bytes, and eight zeros after both: readers
 * load the first eight bytes of a key whatever its length. */
static void
cursor_set_key(struct pair_cursor *c, size_t shared, struct slice suffix)
{
    char *p;
    c->key.len = shared;
    p = buf_reserve(&c->key, suffix.len + 8);
    if (suffix.len > 0)
        memcpy(p, suffix.data, suffix.len);
    memset(p + suffix.len, 0, 8);
    c->key.len = shared + suffix.len;
}

int pair_cursor_next(struct pair_cursor *c, bool *more, struct err *err)
{
    uint64_t shared;
    uint64_t suffix;
    uint64_t value;
    const char *p = c->p;
    *more = c->left > 0;
    if (c->left == 0) {
        if (c->p != c->end)
            return err_set(err, ERR_CORRUPT, "bytes behind the last entry");
        return 0;
    }
    p = get_varint(p, c->end, &shared);
    p = p ? get_varint(p, c->end, &suffix) : NULL;
    p = p ? get_varint(p, c->end, &value) : NULL;
    if (!p || shared > c->key.len || suffix > (uint64_t)(c->end - p) ||
        value > (uint64_t)(c->end - p) - suffix ||
        shared + suffix > MR_KEY_BYTES_MAX)
        return err_set(err, ERR_CORRUPT, "malformed entry in a block");
    cursor_set_key(c, shared, slice_make(p, suffix));
    c->value = slice_make(p + suffix, value);
    c->p = p + suffix + value;
    c->left--;
    return 0;
}
