/* Transfer and content codings of a body decoded, each tried and abandoned when
 * the bytes contradict the header. Output is bounded by the caller. */
#include <brotli/decode.h>
#include <libdeflate.h>
#include <string.h>
#define ZLIB_CONST
#include <zlib.h>

#include <zstd.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "mapreduce/warc/archived_http.h"

#define CODING_COUNT_MAX 8
#define STEP_BYTES       ((size_t)64 << 10)

struct http_decoder {
    struct buf chunks; /* Output of the transfer coding. */
    struct buf even;   /* Outputs of content codings, in turn. */
    struct buf odd;
    struct libdeflate_decompressor *deflate;
    z_stream inflate;
    bool inflating;
    ZSTD_DCtx *zstd;
};

struct http_decoder *http_decoder_new(void)
{
    return mem_zalloc(1, sizeof(struct http_decoder));
}

void http_decoder_free(struct http_decoder *d)
{
    if (!d)
        return;
    buf_close(&d->chunks);
    buf_close(&d->even);
    buf_close(&d->odd);
    if (d->deflate)
        libdeflate_free_decompressor(d->deflate);
    if (d->inflating)
        inflateEnd(&d->inflate);
    ZSTD_freeDCtx(d->zstd);
    mem_free(d);
}

/* --- chunked ------------------------------------------------------------- */

/* The size line of a chunk: "1a2b;ext=1 CR LF". False: malformed. */
static bool chunk_size(struct slice *s, uint64_t *size)
{
    struct slice line = slice_sub(*s, 0, 4096);
    size_t end = slice_find_byte(line, '\n');
    size_t i = 0;
    uint64_t n = 0;
    if (end == line.len)
        return false;
    for (; i < end; i++) {
        char c = line.data[i];
        unsigned v;
        if (c >= '0' && c <= '9')
            v = (unsigned)(c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            v = (unsigned)((c | 0x20) - 'a') + 10;
        else
            break;
        if (n >> 56)
            return false;
        n = n << 4 | v;
    }
    if (i == 0 || (i < end && !strchr("; \t\r", line.data[i])))
        return false;
    *size = n;
    *s = slice_sub(*s, end + 1, s->len);
    return true;
}

static void end_line(struct slice *s)
{
    if (s->len && s->data[0] == '\r')
        *s = slice_sub(*s, 1, s->len);
    if (s->len && s->data[0] == '\n')
        *s = slice_sub(*s, 1, s->len);
}

enum chunked {
    CHUNKED_NOT,
    CHUNKED_WHOLE,
    CHUNKED_CUT,
    CHUNKED_BROKEN
};

/* Join the chunks of @s into @out. CHUNKED_BROKEN: from *@rest on there are no
 * chunks any more. */
static enum chunked join_chunks(struct slice s,
                                size_t bytes_max,
                                struct buf *out,
                                struct slice *rest)
{
    size_t count = 0;
    buf_clear(out);
    for (;;) {
        uint64_t size;
        size_t n;
        *rest = s;
        if (s.len == 0 && count)
            return CHUNKED_CUT;
        if (!chunk_size(&s, &size))
            return count ? CHUNKED_BROKEN : CHUNKED_NOT;
        if (size == 0)
            return CHUNKED_WHOLE; /* Trailers follow, and are not used. */
        n = size < s.len ? (size_t)size : s.len;
        buf_append(out, s.data, MIN_OF(n, bytes_max - out->len));
        if (size > s.len)
            return CHUNKED_CUT;
        s = slice_sub(s, n, s.len);
        /* A line end follows a chunk: without one the size was wrong. */
        if (s.len && s.data[0] != '\r' && s.data[0] != '\n')
            return CHUNKED_BROKEN;
        end_line(&s);
        count++;
    }
}

static bool says_chunked(const struct http_message *m)
{
    struct slice v;
    if (!http_header(m, "transfer-encoding", &v))
        return false;
    for (size_t i = 0; i + 7 <= v.len; i++)
        if (http_slice_is(slice_sub(v, i, i + 7), "chunked"))
            return true;
    return false;
}

/* The body may be chunked without a header: only if its chunks reach its end.
 */
static bool may_be_chunked(const struct http_message *m)
{
    struct slice v;
    struct slice s = m->raw_body;
    uint64_t size;
    uint64_t declared = 0;
    if (s.len < 5 || !chunk_size(&s, &size) || size == 0 || size > s.len)
        return false;
    if (!http_header(m, "content-length", &v))
        return true;
    for (size_t i = 0; i < v.len && i < 18; i++)
        declared = declared * 10 + (uint64_t)(v.data[i] - '0');
    return declared != m->raw_body.len;
}

static struct slice undo_transfer(struct http_decoder *d,
                                  const struct http_message *m,
                                  size_t bytes_max,
                                  unsigned *flags)
{
    struct slice rest;
    bool told = says_chunked(m);
    if (m->raw_body.len == 0 || (!told && !may_be_chunked(m)))
        return m->raw_body;
    switch (join_chunks(m->raw_body, bytes_max, &d->chunks, &rest)) {
    case CHUNKED_NOT: *flags |= told ? HTTP_CHUNK_LIE : 0; return m->raw_body;
    case CHUNKED_WHOLE: break;
    case CHUNKED_CUT:
        if (!told)
            return m->raw_body;
        *flags |= HTTP_CUT;
        break;
    case CHUNKED_BROKEN:
        if (!told)
            return m->raw_body;
        buf_append(&d->chunks, rest.data,
                   MIN_OF(rest.len, bytes_max - d->chunks.len));
        *flags |= HTTP_CHUNK_LIE;
        break;
    }
    *flags |= HTTP_DECHUNKED;
    return buf_slice(&d->chunks);
}

/* --- content codings ----------------------------------------------------- */

enum result {
    RESULT_DONE,
    RESULT_CUT,  /* A prefix came out. */
    RESULT_NOT,  /* The bytes are not in this coding. */
    RESULT_FULL, /* Stopped at the limit. */
};

/* Room for a step within the limit; 0: none is left. */
static size_t step_room(struct buf *out, size_t bytes_max)
{
    size_t n = MIN_OF(bytes_max - out->len, MAX_OF(STEP_BYTES, out->len));
    buf_reserve(out, n + 1);
    return n;
}

/* Inflate with @window_bits as zlib's; members after the first are appended. */
static enum result inflate_all(struct http_decoder *d,
                               int window_bits,
                               struct slice s,
                               size_t bytes_max,
                               struct buf *out)
{
    z_stream *z = &d->inflate;
    if (!d->inflating) {
        INVARIANT(inflateInit2(z, window_bits) == Z_OK);
        d->inflating = true;
    }
    INVARIANT(inflateReset2(z, window_bits) == Z_OK);
    z->next_in = (const unsigned char *)s.data;
    z->avail_in = (unsigned)s.len;
    for (;;) {
        size_t room = step_room(out, bytes_max);
        size_t made;
        int zr;
        if (room == 0)
            return RESULT_FULL;
        z->next_out = (unsigned char *)out->data + out->len;
        z->avail_out = (unsigned)room;
        zr = inflate(z, Z_NO_FLUSH);
        made = room - z->avail_out;
        out->len += made;
        if (zr == Z_STREAM_END) {
            if (window_bits < 31 || z->avail_in < 18 || z->next_in[0] != 0x1f ||
                z->next_in[1] != 0x8b)
                return RESULT_DONE;
            INVARIANT(inflateReset(z) == Z_OK);
        } else if (zr == Z_BUF_ERROR ||
                   (zr == Z_OK && z->avail_in == 0 && z->avail_out > 0)) {
            return RESULT_CUT;
        } else if (zr != Z_OK) {
            return out->len ? RESULT_CUT : RESULT_NOT;
        }
    }
}

static bool is_gzip(struct slice s)
{
    return s.len >= 3 && memcmp(s.data, "\x1f\x8b\x08", 3) == 0;
}

/* One member whose trailer has the right size: in one call. */
static bool gunzip_whole(struct http_decoder *d,
                         struct slice s,
                         size_t bytes_max,
                         struct buf *out)
{
    uint32_t size;
    size_t in_used;
    size_t made;
    if (s.len < 18)
        return false;
    memcpy(&size, s.data + s.len - 4, 4);
    if (size > bytes_max || size / 1032 > s.len)
        return false;
    if (!d->deflate)
        d->deflate = libdeflate_alloc_decompressor();
    buf_reserve(out, (size_t)size + 1);
    if (libdeflate_gzip_decompress_ex(d->deflate, s.data, s.len, out->data,
                                      size, &in_used,
                                      &made) != LIBDEFLATE_SUCCESS ||
        in_used != s.len)
        return false;
    out->len = made;
    return true;
}

static enum result http_body_gunzip(struct http_decoder *d,
                                    struct slice s,
                                    size_t bytes_max,
                                    struct buf *out)
{
    if (!is_gzip(s))
        return RESULT_NOT;
    if (gunzip_whole(d, s, bytes_max, out))
        return RESULT_DONE;
    return inflate_all(d, 15 + 16, s, bytes_max, out);
}

/* "deflate" is zlib's format in the standard and the raw one in practice. */
static enum result inflate_either(struct http_decoder *d,
                                  struct slice s,
                                  size_t bytes_max,
                                  struct buf *out)
{
    const unsigned char *p = (const unsigned char *)s.data;
    enum result r;
    if (is_gzip(s))
        return http_body_gunzip(d, s, bytes_max, out);
    if (s.len >= 2 && (p[0] & 15) == 8 && (p[0] * 256 + p[1]) % 31 == 0) {
        r = inflate_all(d, 15, s, bytes_max, out);
        if (r != RESULT_NOT)
            return r;
    }
    buf_clear(out);
    r = inflate_all(d, -15, s, bytes_max, out);
    return r == RESULT_CUT && d->inflate.msg ? RESULT_NOT : r;
}

static enum result
http_body_unbrotli(struct slice s, size_t bytes_max, struct buf *out)
{
    BrotliDecoderState *b = BrotliDecoderCreateInstance(NULL, NULL, NULL);
    const uint8_t *next_in = (const uint8_t *)s.data;
    size_t avail_in = s.len;
    enum result result = RESULT_DONE;
    INVARIANT(b);
    for (;;) {
        size_t room = step_room(out, bytes_max);
        size_t avail_out = room;
        uint8_t *next_out = (uint8_t *)out->data + out->len;
        BrotliDecoderResult r;
        if (room == 0) {
            result = RESULT_FULL;
            break;
        }
        r = BrotliDecoderDecompressStream(b, &avail_in, &next_in, &avail_out,
                                          &next_out, NULL);
        out->len += room - avail_out;
        if (r == BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT)
            continue;
        if (r == BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT)
            result = RESULT_CUT;
        else if (r == BROTLI_DECODER_RESULT_ERROR)
            result = RESULT_NOT;
        break;
    }
    BrotliDecoderDestroyInstance(b);
    return result;
}

static enum result http_body_unzstd(struct http_decoder *d,
                                    struct slice s,
                                    size_t bytes_max,
                                    struct buf *out)
{
    ZSTD_inBuffer in = {s.data, s.len, 0};
    size_t r = 1;
    if (s.len < 4 || memcmp(s.data, "\x28\xb5\x2f\xfd", 4) != 0)
        return RESULT_NOT;
    if (!d->zstd)
        d->zstd = ZSTD_createDCtx();
    ZSTD_DCtx_reset(d->zstd, ZSTD_reset_session_only);
    while (r != 0 || in.pos < in.size) {
        size_t room = step_room(out, bytes_max);
        ZSTD_outBuffer o = {out->data + out->len, room, 0};
        size_t before = in.pos;
        if (room == 0)
            return RESULT_FULL;
        r = ZSTD_decompressStream(d->zstd, &o, &in);
        if (ZSTD_isError(r))
            return out->len ? RESULT_CUT : RESULT_NOT;
        out->len += o.pos;
        if (o.pos == 0 && in.pos == before)
            return RESULT_CUT;
    }
    return RESULT_DONE;
}

enum coding {
    CODING_NONE,
    CODING_GZIP,
    CODING_DEFLATE,
    CODING_BROTLI,
    CODING_ZSTD,
    CODING_UNKNOWN
};

static enum coding coding_of(struct slice s)
{
    static const struct {
        const char *name;
        enum coding coding;
    } names[] = {
        {"", CODING_NONE},
        {"identity", CODING_NONE},
        {"none", CODING_NONE},
        {"gzip", CODING_GZIP},
        {"x-gzip", CODING_GZIP},
        {"deflate", CODING_DEFLATE},
        {"x-deflate", CODING_DEFLATE},
        {"br", CODING_BROTLI},
        {"zstd", CODING_ZSTD},
        {"utf-8", CODING_NONE},
        {"8bit", CODING_NONE},
        {"7bit", CODING_NONE},
        {"binary", CODING_NONE},
        {"chunked", CODING_NONE},
    };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (http_slice_is(s, names[i].name))
            return names[i].coding;
    return CODING_UNKNOWN;
}

static enum result undo_one(struct http_decoder *d,
                            enum coding coding,
                            struct slice s,
                            size_t bytes_max,
                            struct buf *out)
{
    buf_clear(out);
    switch (coding) {
    case CODING_GZIP: return http_body_gunzip(d, s, bytes_max, out);
    case CODING_DEFLATE: return inflate_either(d, s, bytes_max, out);
    case CODING_BROTLI: return http_body_unbrotli(s, bytes_max, out);
    case CODING_ZSTD: return http_body_unzstd(d, s, bytes_max, out);
    case CODING_NONE:
    case CODING_UNKNOWN: break;
    }
    return RESULT_NOT;
}

/* The codings of the header in the order they were applied. */
static size_t http_body_codings(struct slice v,
                                enum coding list[CODING_COUNT_MAX])
{
    size_t n = 0;
    while (v.len && n < CODING_COUNT_MAX) {
        size_t comma = slice_find_byte(v, ',');
        list[n++] = coding_of(slice_trim(slice_sub(v, 0, comma)));
        v = slice_sub(v, comma + 1, v.len);
    }
    return n;
}

static struct slice undo_content(struct http_decoder *d,
                                 const struct http_message *m,
                                 struct slice s,
                                 size_t bytes_max,
                                 unsigned *flags)
{
    enum coding list[CODING_COUNT_MAX];
    struct slice v;
    size_t n;
    if (s.len == 0 || !http_header(m, "content-encoding", &v))
        return s;
    n = http_body_codings(v, list);
    while (n-- > 0) {
        struct buf *out = s.data == d->even.data ? &d->odd : &d->even;
        enum result r;
        if (list[n] == CODING_NONE)
            continue;
        if (list[n] == CODING_UNKNOWN) {
            *flags |= HTTP_UNKNOWN_CODING;
            return s;
        }
        r = undo_one(d, list[n], s, bytes_max, out);
        if (r == RESULT_NOT) {
            *flags |= HTTP_CODING_LIE;
            return s;
        }
        *flags |= HTTP_DECODED | (r == RESULT_CUT ? HTTP_CUT : 0) |
                  (r == RESULT_FULL ? HTTP_TOO_BIG : 0);
        s = buf_slice(out);
    }
    return s;
}

unsigned http_decode(struct http_decoder *d,
                     const struct http_message *m,
                     size_t bytes_max,
                     struct slice *payload,
                     struct slice *body)
{
    unsigned flags = 0;
    *payload = undo_transfer(d, m, bytes_max, &flags);
    *body = undo_content(d, m, *payload, bytes_max, &flags);
    if (body->len > bytes_max) {
        *body = slice_sub(*body, 0, bytes_max);
        flags |= HTTP_TOO_BIG;
    }
    return flags;
}
