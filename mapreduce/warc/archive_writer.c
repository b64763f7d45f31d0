/* Writing WARC/1.1 (ISO 28500). A record that comes without an id gets one
 * that is derived from its content, so that the same export gives the same
 * bytes. */
#include "mapreduce/warc/archive_writer.h"

#include <libdeflate.h>

#include <zstd.h>

#include "base/core/hash.h"
#include "base/core/panic.h"
#include "mapreduce/warc/date.h"
#include "mapreduce/warc/digest.h"

struct warc_writer {
    struct libdeflate_compressor *gzip; /* At most one of these two. */
    ZSTD_CCtx *zstd;
    struct buf text;
    struct buf block;
};

static ZSTD_CCtx *zstd_new(int level)
{
    ZSTD_CCtx *z = ZSTD_createCCtx();
    INVARIANT(z);
    INVARIANT(!ZSTD_isError(
        ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, level)));
    INVARIANT(!ZSTD_isError(ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1)));
    return z;
}

struct warc_writer *warc_writer_new(enum warc_compression compression,
                                    int level)
{
    struct warc_writer *w = mem_zalloc(1, sizeof(*w));
    if (compression == WARC_GZIP) {
        w->gzip = libdeflate_alloc_compressor(level);
        INVARIANT(w->gzip);
    }
    if (compression == WARC_ZSTD)
        w->zstd = zstd_new(level);
    return w;
}

void warc_writer_free(struct warc_writer *w)
{
    if (!w)
        return;
    if (w->gzip)
        libdeflate_free_compressor(w->gzip);
    ZSTD_freeCCtx(w->zstd);
    buf_close(&w->text);
    buf_close(&w->block);
    mem_free(w);
}

/* Can @s be a line? */
static bool is_line(struct slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.data[i] < ' ' && s.data[i] != '\t')
            return false;
    return s.len > 0;
}

static void put_id(struct warc_writer *w, const struct warc_write_record *rec)
{
    uint64_t a = hash64_slice(buf_slice(&w->block));
    uint64_t b =
        hash64(rec->uri.data, rec->uri.len,
               a ^ (uint64_t)rec->time_us ^ hash64_slice(slice_str(rec->type)));
    if (is_line(rec->id)) {
        buf_printf(&w->text, "WARC-Record-ID: <%.*s>\r\n", SLICE_ARG(rec->id));
        return;
    }
    /* The bits of a name-based (version 8) UUID. */
    buf_printf(&w->text,
               "WARC-Record-ID: <urn:uuid:%08x-%04x-8%03x-%04x-%012llx>\r\n",
               (unsigned)(a >> 32), (unsigned)(a >> 16 & 0xffff),
               (unsigned)(a & 0xfff), (unsigned)(0x8000 | (b >> 48 & 0x3fff)),
               (unsigned long long)(b & UINT64_C(0xffffffffffff)));
}

static void put_head(struct warc_writer *w, const struct warc_write_record *rec)
{
    char date[DATE_TEXT_BYTES];
    char label[DIGEST_TEXT_MAX];
    struct digest d;
    date_format_us(rec->time_us, date);
    digest_of(DIGEST_SHA1, buf_slice(&w->block), &d);
    digest_format(&d, label);
    buf_clear(&w->text);
    buf_printf(&w->text, "WARC/1.1\r\nWARC-Type: %s\r\n", rec->type);
    put_id(w, rec);
    buf_printf(&w->text, "WARC-Date: %s\r\n", date);
    if (is_line(rec->uri))
        buf_printf(&w->text, "WARC-Target-URI: %.*s\r\n", SLICE_ARG(rec->uri));
    buf_printf(&w->text, "WARC-Block-Digest: %s\r\n", label);
    if (is_line(rec->content_type))
        buf_printf(&w->text, "Content-Type: %.*s\r\n",
                   SLICE_ARG(rec->content_type));
    buf_append_slice(&w->text, rec->headers);
    buf_printf(&w->text, "Content-Length: %zu\r\n\r\n", w->block.len);
}

/* Append @text to @out, compressed as one piece. */
static void
writer_pack(struct warc_writer *w, struct slice text, struct buf *out)
{
    size_t n;
    if (!w->gzip && !w->zstd) {
        buf_append_slice(out, text);
        return;
    }
    n = w->gzip ? libdeflate_gzip_compress_bound(w->gzip, text.len)
                : ZSTD_compressBound(text.len);
    buf_reserve(out, n);
    if (w->gzip)
        n = libdeflate_gzip_compress(w->gzip, text.data, text.len,
                                     out->data + out->len, n);
    else
        n = ZSTD_compress2(w->zstd, out->data + out->len, n, text.data,
                           text.len);
    INVARIANT(n > 0 && !ZSTD_isError(n));
    out->len += n;
}

void warc_writer_put(struct warc_writer *w,
                     const struct warc_write_record *rec,
                     struct buf *out)
{
    PRE(rec->type != NULL);
    buf_clear(&w->block);
    for (size_t i = 0; i < rec->part_count; i++)
        buf_append_slice(&w->block, rec->parts[i]);
    put_head(w, rec);
    buf_append_slice(&w->text, buf_slice(&w->block));
    buf_append_str(&w->text, "\r\n\r\n");
    writer_pack(w, buf_slice(&w->text), out);
}

void warc_writer_put_info(struct warc_writer *w,
                          const char *file_name,
                          int64_t time_us,
                          struct buf *out)
{
    struct buf headers = BUF_INIT;
    const struct slice part = SLICE_LIT("software: Quarry\r\n"
                                        "format: WARC File Format 1.1\r\n");
    struct warc_write_record rec = {
        .type = "warcinfo",
        .uri = SLICE_EMPTY,
        .time_us = time_us,
        .id = SLICE_EMPTY,
        .content_type = SLICE_LIT("application/warc-fields"),
        .parts = &part,
        .part_count = 1,
    };
    buf_printf(&headers, "WARC-Filename: %s\r\n", file_name);
    rec.headers = buf_slice(&headers);
    warc_writer_put(w, &rec, out);
    buf_close(&headers);
}
