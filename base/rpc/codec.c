/* MessagePack (https://github.com/msgpack/msgpack/blob/master/spec.md):
 * msgpack-c for writing, which needs no trust, and our own bounds-checked
 * cursor for reading. The only file that includes msgpack.h. */
#include "base/rpc/codec.h"

#include <string.h>

#include <msgpack.h>

#include "base/core/coding.h"
#include "base/core/panic.h"

/* --- writing ------------------------------------------------------------- */

static int write_to_buf(void *data, const char *bytes, size_t len)
{
    buf_append(data, bytes, len);
    return 0;
}

static msgpack_packer codec_packer(struct buf *out)
{
    msgpack_packer pk;
    msgpack_packer_init(&pk, out, write_to_buf);
    return pk;
}

void codec_put_nil(struct buf *out)
{
    msgpack_packer pk = codec_packer(out);
    msgpack_pack_nil(&pk);
}

void codec_put_bool(struct buf *out, bool v)
{
    msgpack_packer pk = codec_packer(out);
    if (v)
        msgpack_pack_true(&pk);
    else
        msgpack_pack_false(&pk);
}

void codec_put_u64(struct buf *out, uint64_t v)
{
    msgpack_packer pk = codec_packer(out);
    msgpack_pack_uint64(&pk, v);
}

void codec_put_i64(struct buf *out, int64_t v)
{
    msgpack_packer pk = codec_packer(out);
    msgpack_pack_int64(&pk, v);
}

void codec_put_bin(struct buf *out, struct slice s)
{
    msgpack_packer pk = codec_packer(out);
    PRE(s.len <= UINT32_MAX);
    msgpack_pack_bin(&pk, s.len);
    msgpack_pack_bin_body(&pk, s.data, s.len);
}

void codec_put_str(struct buf *out, struct slice s)
{
    msgpack_packer pk = codec_packer(out);
    PRE(s.len <= UINT32_MAX);
    msgpack_pack_str(&pk, s.len);
    msgpack_pack_str_body(&pk, s.data, s.len);
}

void codec_put_array(struct buf *out, uint32_t count)
{
    msgpack_packer pk = codec_packer(out);
    msgpack_pack_array(&pk, count);
}

/* --- reading ------------------------------------------------------------- */

static size_t codec_bytes_left(const struct codec_reader *r)
{
    return (size_t)(r->end - r->p);
}

static void codec_fail(struct codec_reader *r)
{
    r->bad = true;
    r->p = r->end;
}

/* Consume @count bytes as a big-endian number; 0 and bad when they are
 * missing. */
static uint64_t take_be(struct codec_reader *r, size_t count)
{
    uint64_t v = 0;
    if (codec_bytes_left(r) < count) {
        codec_fail(r);
        return 0;
    }
    for (size_t i = 0; i < count; i++)
        v = v << 8 | (unsigned char)*r->p++;
    return v;
}

/* Consume the next type byte; 0xc1, which no value has, at the end. */
static unsigned take_tag(struct codec_reader *r)
{
    if (codec_bytes_left(r) == 0) {
        codec_fail(r);
        return 0xc1;
    }
    return (unsigned char)*r->p++;
}

static enum codec_type type_of_tag(unsigned tag)
{
    if (tag < 0x80)
        return CODEC_UINT;
    if (tag < 0x90)
        return CODEC_MAP;
    if (tag < 0xa0)
        return CODEC_ARRAY;
    if (tag < 0xc0)
        return CODEC_STR;
    if (tag >= 0xe0)
        return CODEC_INT;
    switch (tag) {
    case 0xc0: return CODEC_NIL;
    case 0xc2:
    case 0xc3: return CODEC_BOOL;
    case 0xc4:
    case 0xc5:
    case 0xc6: return CODEC_BIN;
    case 0xca:
    case 0xcb: return CODEC_FLOAT;
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xcf: return CODEC_UINT;
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3: return CODEC_INT;
    case 0xd9:
    case 0xda:
    case 0xdb: return CODEC_STR;
    case 0xdc:
    case 0xdd: return CODEC_ARRAY;
    case 0xde:
    case 0xdf: return CODEC_MAP;
    default: return CODEC_BAD;
    }
}

enum codec_type codec_peek(const struct codec_reader *r)
{
    if (r->bad || codec_bytes_left(r) == 0)
        return CODEC_BAD;
    return type_of_tag((unsigned char)*r->p);
}

bool codec_get_bool(struct codec_reader *r)
{
    unsigned tag = take_tag(r);
    if (tag == 0xc2 || tag == 0xc3)
        return tag == 0xc3;
    codec_fail(r);
    return false;
}

/* Sign-extend the low @bytes bytes of @v. */
static int64_t codec_sign_extend(uint64_t v, size_t bytes)
{
    unsigned shift = (unsigned)(64 - 8 * bytes);
    return (int64_t)(v << shift) >> shift;
}

/* Consume a number as 64 bits, which are signed if *@negative. */
static uint64_t take_integer(struct codec_reader *r, bool *negative)
{
    unsigned tag = take_tag(r);
    int64_t v;

    *negative = false;
    if (tag < 0x80)
        return tag;
    if (tag >= 0xe0) {
        *negative = true;
        return (uint64_t)(int64_t)(int8_t)tag;
    }
    if (tag >= 0xcc && tag <= 0xcf)
        return take_be(r, (size_t)1 << (tag - 0xcc));
    if (tag >= 0xd0 && tag <= 0xd3) {
        size_t bytes = (size_t)1 << (tag - 0xd0);
        v = codec_sign_extend(take_be(r, bytes), bytes);
        *negative = v < 0;
        return (uint64_t)v;
    }
    codec_fail(r);
    return 0;
}

uint64_t codec_get_u64(struct codec_reader *r)
{
    bool negative;
    uint64_t v = take_integer(r, &negative);
    if (negative) {
        codec_fail(r);
        return 0;
    }
    return v;
}

int64_t codec_get_i64(struct codec_reader *r)
{
    bool negative;
    uint64_t v = take_integer(r, &negative);
    if (!negative && v > INT64_MAX) {
        codec_fail(r);
        return 0;
    }
    return (int64_t)v;
}

double codec_get_double(struct codec_reader *r)
{
    unsigned tag = take_tag(r);
    if (tag == 0xcb) {
        uint64_t bits = take_be(r, 8);
        double v;
        memcpy(&v, &bits, sizeof(v));
        return v;
    }
    if (tag == 0xca) {
        uint32_t bits = (uint32_t)take_be(r, 4);
        float v;
        memcpy(&v, &bits, sizeof(v));
        return (double)v;
    }
    codec_fail(r);
    return 0;
}

struct slice codec_get_bytes(struct codec_reader *r)
{
    unsigned tag = take_tag(r);
    uint64_t len;
    const char *p;

    if (tag >= 0xa0 && tag < 0xc0)
        len = tag & 0x1f;
    else if (tag >= 0xc4 && tag <= 0xc6)
        len = take_be(r, (size_t)1 << (tag - 0xc4));
    else if (tag >= 0xd9 && tag <= 0xdb)
        len = take_be(r, (size_t)1 << (tag - 0xd9));
    else
        len = UINT64_MAX;
    if (r->bad || len > codec_bytes_left(r)) {
        codec_fail(r);
        return SLICE_EMPTY;
    }
    p = r->p;
    r->p += len;
    return slice_make(p, (size_t)len);
}

/* Count of a container whose every value takes at least @each bytes. */
static uint32_t
take_count(struct codec_reader *r, unsigned fix, unsigned tag16, size_t each)
{
    unsigned tag = take_tag(r);
    uint64_t count;

    if (tag >= fix && tag < fix + 16)
        count = tag & 0x0f;
    else if (tag == tag16 || tag == tag16 + 1)
        count = take_be(r, tag == tag16 ? 2 : 4);
    else
        count = UINT64_MAX;
    if (r->bad || count > codec_bytes_left(r) / each) {
        codec_fail(r);
        return 0;
    }
    return (uint32_t)count;
}

uint32_t codec_get_array(struct codec_reader *r)
{
    return take_count(r, 0x90, 0xdc, 1);
}

uint32_t codec_get_map(struct codec_reader *r)
{
    return take_count(r, 0x80, 0xde, 2);
}

/* Skip a value that is not a container. */
static void skip_scalar(struct codec_reader *r, enum codec_type type)
{
    bool negative;
    switch (type) {
    case CODEC_NIL:
    case CODEC_BOOL: r->p++; break;
    case CODEC_UINT:
    case CODEC_INT: (void)take_integer(r, &negative); break;
    case CODEC_FLOAT: (void)codec_get_double(r); break;
    case CODEC_STR:
    case CODEC_BIN: (void)codec_get_bytes(r); break;
    case CODEC_ARRAY:
    case CODEC_MAP:
    case CODEC_BAD: codec_fail(r); break;
    }
}

void codec_skip(struct codec_reader *r)
{
    uint64_t open[CODEC_DEPTH_MAX]; /* Values still to come, by depth. */
    size_t depth = 0;

    open[0] = 1;
    for (;;) {
        enum codec_type type;
        while (open[depth] == 0) {
            if (depth == 0)
                return;
            depth--;
        }
        open[depth]--;
        type = codec_peek(r);
        if (type == CODEC_ARRAY || type == CODEC_MAP) {
            uint64_t count = type == CODEC_ARRAY
                                 ? codec_get_array(r)
                                 : (uint64_t)codec_get_map(r) * 2;
            if (++depth == CODEC_DEPTH_MAX)
                codec_fail(r);
            else
                open[depth] = count;
        } else {
            skip_scalar(r, type);
        }
        if (r->bad)
            return;
    }
}

bool codec_done(const struct codec_reader *r)
{
    return !r->bad && r->p == r->end;
}
