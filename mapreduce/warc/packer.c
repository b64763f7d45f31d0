/* Compression in parts, each by one call of its library, so that a reader can
 * begin at any part. One function for each format; the loop around them is
 * common. */
#include "mapreduce/warc/packer.h"

#include <libdeflate.h>
#include <lz4frame.h>
#include <string.h>

#include <zstd.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "mapreduce/warc/decompress.h" /* QUARRY_HAVE_… */
#if QUARRY_HAVE_BZIP2
#include <bzlib.h>
#endif
#if QUARRY_HAVE_LZMA
#include <lzma.h>
#endif

/* Of the stream, in a part. */
#define PART_BYTES  ((size_t)4 << 20)
#define GZIP_LEVEL  6
#define ZSTD_LEVEL  3
#define BZIP2_BLOCK 9
#define XZ_LEVEL    6
/* bzip2 may grow by 1 % and 600 bytes. */
#define BZIP2_GROWTH     100
#define BZIP2_ROOM_LEAST 600

struct packer {
    enum packing packing;
    struct buf part; /* Not compressed yet. */
    bool any;        /* A part was written. */
    struct libdeflate_compressor *gzip;
    ZSTD_CCtx *zstd;
};

static const struct {
    const char *suffix;
    const char *program;
} packing_names[PACKINGS] = {{"", ""},       {"gz", "gzip"},   {"zst", "zstd"},
                             {"lz4", "lz4"}, {"bz2", "bzip2"}, {"xz", "xz"}};

const char *packing_suffix(enum packing packing)
{
    PRE(packing < PACKINGS);
    return packing_names[packing].suffix;
}

bool packing_of(struct slice suffix, enum packing *out)
{
    for (size_t i = 1; i < PACKINGS; i++) {
        if (slice_eq_str(suffix, packing_names[i].suffix) ||
            slice_eq_str(suffix, packing_names[i].program)) {
            *out = (enum packing)i;
            return true;
        }
    }
    return false;
}

static bool is_built(enum packing packing)
{
    if (packing == PACKING_BZIP2)
        return QUARRY_HAVE_BZIP2;
    return packing != PACKING_XZ || QUARRY_HAVE_LZMA;
}

int packer_new(enum packing packing, struct packer **out, struct err *err)
{
    struct packer *p;
    *out = NULL;
    if (!is_built(packing)) {
        err_set(err, ERR_UNSUPPORTED, "this build does not write %s",
                packing_names[packing].program);
        err_hint(err, "install the Debian packages that scripts/deps build "
                      "names and build again, or choose gz or zst");
        return ERR_UNSUPPORTED;
    }
    p = mem_zalloc(1, sizeof(*p));
    p->packing = packing;
    if (packing == PACKING_GZIP)
        INVARIANT(p->gzip = libdeflate_alloc_compressor(GZIP_LEVEL));
    if (packing == PACKING_ZSTD) {
        p->zstd = ZSTD_createCCtx();
        INVARIANT(p->zstd);
        ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
        ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_checksumFlag, 1);
    }
    *out = p;
    return 0;
}

void packer_free(struct packer *p)
{
    if (!p)
        return;
    if (p->gzip)
        libdeflate_free_compressor(p->gzip);
    ZSTD_freeCCtx(p->zstd);
    buf_close(&p->part);
    mem_free(p);
}

/* --- parts --------------------------------------------------------------- */

/* Each returns the bytes made of @s in @to, which has room for as many as its
 * bound says; 0: the library has no memory. */

static size_t gzip_part(struct packer *p, struct slice s, struct buf *out)
{
    size_t room = libdeflate_gzip_compress_bound(p->gzip, s.len);
    return libdeflate_gzip_compress(p->gzip, s.data, s.len,
                                    buf_reserve(out, room), room);
}

static size_t zstd_part(struct packer *p, struct slice s, struct buf *out)
{
    size_t room = ZSTD_compressBound(s.len);
    size_t n =
        ZSTD_compress2(p->zstd, buf_reserve(out, room), room, s.data, s.len);
    return ZSTD_isError(n) ? 0 : n;
}

static size_t lz4_part(struct slice s, struct buf *out)
{
    LZ4F_preferences_t how = LZ4F_INIT_PREFERENCES;
    size_t room;
    size_t n;
    how.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
    how.frameInfo.blockSizeID = LZ4F_max256KB;
    room = LZ4F_compressFrameBound(s.len, &how);
    n = LZ4F_compressFrame(buf_reserve(out, room), room, s.data, s.len, &how);
    return LZ4F_isError(n) ? 0 : n;
}

static size_t bzip2_part(struct slice s, struct buf *out)
{
#if QUARRY_HAVE_BZIP2
    unsigned room = (unsigned)(s.len + s.len / BZIP2_GROWTH + BZIP2_ROOM_LEAST);
    char *to = buf_reserve(out, room);
    /* The library takes what it does not change as char *. */
    char *from = (char *)(uintptr_t)s.data;
    char none = '\0';
    int r = BZ2_bzBuffToBuffCompress(to, &room, from ? from : &none,
                                     (unsigned)s.len, BZIP2_BLOCK, 0, 0);
    return r == BZ_OK ? room : 0;
#else
    (void)s;
    (void)out;
    return 0;
#endif
}

static size_t xz_part(struct slice s, struct buf *out)
{
#if QUARRY_HAVE_LZMA
    size_t room = lzma_stream_buffer_bound(s.len);
    size_t made = 0;
    lzma_ret r = lzma_easy_buffer_encode(
        XZ_LEVEL, LZMA_CHECK_CRC64, NULL, (const uint8_t *)s.data, s.len,
        (uint8_t *)buf_reserve(out, room), &made, room);
    return r == LZMA_OK ? made : 0;
#else
    (void)s;
    (void)out;
    return 0;
#endif
}

/* Compress what has been gathered. */
static int end_part(struct packer *p, struct buf *out, struct err *err)
{
    struct slice s = buf_slice(&p->part);
    size_t made = 0;
    switch (p->packing) {
    case PACKING_NONE:
        buf_append_slice(out, s);
        buf_clear(&p->part);
        return 0;
    case PACKING_GZIP: made = gzip_part(p, s, out); break;
    case PACKING_ZSTD: made = zstd_part(p, s, out); break;
    case PACKING_LZ4: made = lz4_part(s, out); break;
    case PACKING_BZIP2: made = bzip2_part(s, out); break;
    case PACKING_XZ: made = xz_part(s, out); break;
    case PACKINGS: break;
    }
    if (made == 0)
        return err_set(err, ERR_NOMEM, "%s: no memory to compress",
                       packing_names[p->packing].program);
    (void)buf_extend(out, made);
    buf_clear(&p->part);
    p->any = true;
    return 0;
}

int packer_put(struct packer *p,
               struct slice s,
               struct buf *out,
               struct err *err)
{
    while (s.len) {
        size_t n = MIN_OF(s.len, PART_BYTES - p->part.len);
        int rc = 0;
        buf_append_slice(&p->part, slice_sub(s, 0, n));
        s = slice_sub(s, n, s.len);
        if (p->part.len == PART_BYTES)
            rc = end_part(p, out, err);
        if (rc)
            return rc;
    }
    return 0;
}

int packer_end(struct packer *p, struct buf *out, struct err *err)
{
    PRE(p->part.len < PART_BYTES);
    return p->part.len || !p->any ? end_part(p, out, err) : 0;
}
