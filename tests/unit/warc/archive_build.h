/* Archives made for tests: records drawn at random, packed in every way, and a
 * reader run over them that keeps what it saw. */
#ifndef TESTS_UNIT_WARC_ARCHIVE_BUILD_H
#define TESTS_UNIT_WARC_ARCHIVE_BUILD_H

#include <lz4frame.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <zstd.h>

#include "base/core/buf.h"
#include "base/core/hash.h"
#include "base/core/rand.h"
#include "mapreduce/warc/archive_reader.h"
#include "tests/lib/check_main.h"

#define UNUSED_HERE __attribute__((unused))

/* --- compression --------------------------------------------------------- */

/* Append @s as one gzip member. */
UNUSED_HERE static void add_gzip(struct buf *out, struct slice s)
{
    z_stream z = {0};
    ck_assert_int_eq(
        deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)s.data;
    z.avail_in = (uInt)s.len;
    z.avail_out = (uInt)deflateBound(&z, s.len) + 64;
    z.next_out = (Bytef *)buf_reserve(out, z.avail_out);
    ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    out->len += z.total_out;
    deflateEnd(&z);
}

/* Append @s as one zstd frame, with the dictionary @dict unless it is empty. */
UNUSED_HERE static void
add_zstd(struct buf *out, struct slice s, struct slice dict)
{
    ZSTD_CCtx *z = ZSTD_createCCtx();
    size_t n = ZSTD_compressBound(s.len) + 64;
    ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
    if (dict.len)
        ZSTD_CCtx_loadDictionary(z, dict.data, dict.len);
    n = ZSTD_compress2(z, buf_reserve(out, n), n, s.data, s.len);
    ck_assert(!ZSTD_isError(n));
    out->len += n;
    ZSTD_freeCCtx(z);
}

/* Append @s as one lz4 frame with a checksum, as the lz4 command makes it. */
UNUSED_HERE static void add_lz4(struct buf *out, struct slice s)
{
    LZ4F_preferences_t p = LZ4F_INIT_PREFERENCES;
    size_t n;
    p.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
    p.frameInfo.blockSizeID = LZ4F_max64KB;
    n = LZ4F_compressFrameBound(s.len, &p);
    n = LZ4F_compressFrame(buf_reserve(out, n), n, s.data, s.len, &p);
    ck_assert(!LZ4F_isError(n));
    out->len += n;
}

UNUSED_HERE static void
add_skippable(struct buf *out, uint32_t magic, struct slice s)
{
    uint32_t n = (uint32_t)s.len;
    buf_append(out, &magic, 4);
    buf_append(out, &n, 4);
    buf_append_slice(out, s);
}

/* --- records ------------------------------------------------------------- */

/* Record @i of a random archive: text or noise of up to @most bytes. */
UNUSED_HERE static void add_record(struct buf *out,
                                   struct rand_gen *r,
                                   int i,
                                   size_t most,
                                   const char *eol,
                                   int separators)
{
    size_t n = rand_below(r, most + 1);
    bool noise = rand_one_in(r, 4);
    buf_printf(out, "WARC/1.0%sWARC-Type: response%s", eol, eol);
    buf_printf(out, "WARC-Target-URI: http://host%d.example/%d%s", i % 7, i,
               eol);
    buf_printf(out, "WARC-Date: 2024-01-01T00:00:%02dZ%s", i % 60, eol);
    buf_printf(out, "WARC-Record-ID: <urn:test:%d>%s", i, eol);
    buf_printf(out, "Content-Length: %zu%s%s", n, eol, eol);
    for (size_t k = 0; k < n; k++)
        buf_append_byte(out,
                        noise ? (char)rand_u64(r)
                              : "the quick fox \r\n\0<a>"[rand_below(r, 20)]);
    for (int k = 0; k < separators; k++)
        buf_append_str(out, eol);
}

/* --- reading ------------------------------------------------------------- */

struct seen {
    uint64_t hash; /* Of URI and block. */
    uint64_t offset;
    uint64_t length;
    size_t block_len;
    bool cut;
    char uri[64];
};

struct session {
    struct slice file;
    size_t at;
    struct rand_gen *chop; /* Reads of random sizes; NULL: as asked. */
    bool fresh;            /* By a reader whose buffers have to grow. */
    struct seen *seen;
    size_t count;
    size_t lost;
    size_t notes;
    int code;
    char last_reason[256];
};

UNUSED_HERE static int
session_read(void *ctx, void *dst, size_t len, size_t *got, struct err *err)
{
    struct session *s = ctx;
    size_t n = s->file.len - s->at;
    (void)err;
    if (n > len)
        n = len;
    if (s->chop && n > 1)
        n = 1 + rand_below(s->chop, n < 5000 ? n : 5000);
    memcpy(dst, s->file.data + s->at, n);
    s->at += n;
    *got = n;
    return 0;
}

UNUSED_HERE static void
session_damage(void *ctx, uint64_t offset, const char *reason, bool lost)
{
    struct session *s = ctx;
    ck_assert_uint_le(offset, s->file.len);
    snprintf(s->last_reason, sizeof(s->last_reason), "%s", reason);
    if (lost)
        s->lost++;
    else
        s->notes++;
}

/* One reader for all sessions: its buffers are touched once. */
UNUSED_HERE static struct warc_reader *
session_reader(const struct warc_reader_options *opts)
{
    static struct warc_reader *reader;
    if (reader)
        warc_reader_reset(reader, opts);
    else
        reader = warc_reader_new(opts);
    return reader;
}

/* Read all of s->file; blocks over @block_max come in pieces. */
UNUSED_HERE static void session_run(struct session *s, uint64_t block_max)
{
    struct warc_reader_options opts = {
        .read = session_read,
        .ctx = s,
        .on_damage = session_damage,
        .size_bytes = s->file.len,
        .block_bytes_max = block_max,
    };
    struct warc_reader *r =
        s->fresh ? warc_reader_new(&opts) : session_reader(&opts);
    const struct warc_record *rec;
    s->seen = NULL;
    s->at = s->count = s->lost = s->notes = 0;
    while ((s->code = warc_reader_next(r, &rec, NULL)) == 0 && rec) {
        struct seen *v;
        struct buf block = BUF_INIT;
        bool whole = rec->whole;
        if ((s->count & (s->count - 1)) == 0)
            s->seen = realloc(s->seen, (s->count * 2 + 1) * sizeof(*s->seen));
        v = &s->seen[s->count++];
        v->offset = rec->offset;
        v->length = rec->length;
        v->cut = rec->cut;
        snprintf(v->uri, sizeof(v->uri), "%.*s", (int)(rec->uri.len & 63),
                 rec->uri.data);
        v->hash = hash64_slice(rec->uri);
        buf_append_slice(&block, rec->block);
        while (!whole) {
            char piece[777];
            size_t got;
            ck_assert_int_eq(
                warc_reader_read(r, piece, sizeof(piece), &got, NULL), 0);
            if (got == 0)
                break;
            buf_append(&block, piece, got);
        }
        v->block_len = block.len;
        v->hash = hash64(block.data, block.len, v->hash);
        buf_close(&block);
    }
    if (s->fresh)
        warc_reader_free(r);
}

UNUSED_HERE static void session_close(struct session *s)
{
    free(s->seen);
    s->seen = NULL;
}

#endif /* TESTS_UNIT_WARC_ARCHIVE_BUILD_H */
