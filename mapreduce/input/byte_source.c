/* Plain, gzip and zstd files as streams of bytes. */
#include "mapreduce/input/byte_source.h"

#include <limits.h>
#include <zlib.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "mapreduce/shuffle/packer.h"

/* Packed bytes read at a time. */
#define PACKED_BYTES ((size_t)256 << 10)

struct byte_source {
    struct file *file;
    char *path; /* For messages. */
    enum input_packing packing;
    uint64_t offset;    /* Of the next byte to read from the file. */
    char *packed;       /* Read, [packed_begin, packed_end) not unpacked yet. */
    struct slice input; /* That part. */
    bool file_ended;
    bool at_border; /* Between members: the file may end here. */
    z_stream gzip;
    struct packer_stream *zstd;
};

static int unpack_start(struct byte_source *s, struct err *err)
{
    if (s->packing == INPUT_PLAIN)
        return 0;
    s->packed = mem_alloc(PACKED_BYTES);
    s->at_border = true;
    if (s->packing == INPUT_ZSTD)
        s->zstd = packer_stream_new();
    /* 15 + 16: the largest window, with a gzip header. */
    else if (inflateInit2(&s->gzip, 15 + 16) != Z_OK)
        return err_set(err, ERR_NOMEM, "no memory to unpack gzip");
    return 0;
}

int byte_source_open(struct world *w,
                     const char *path,
                     enum input_packing packing,
                     uint64_t offset,
                     struct byte_source **out,
                     struct err *err)
{
    struct byte_source *s = mem_zalloc(1, sizeof(*s));
    int code;
    *out = NULL;
    s->path = mem_strdup(path);
    s->packing = packing;
    s->offset = offset;
    code = file_open(w, path, FILE_READ, &s->file, err);
    if (code == 0)
        code = unpack_start(s, err);
    if (code)
        byte_source_close(s);
    else
        *out = s;
    return code;
}

void byte_source_close(struct byte_source *s)
{
    if (!s)
        return;
    if (s->packing == INPUT_GZIP && s->packed)
        inflateEnd(&s->gzip);
    packer_stream_free(s->zstd);
    mem_free(s->packed);
    mem_free(s->path);
    file_close(s->file);
    mem_free(s);
}

uint64_t byte_source_offset(const struct byte_source *s)
{
    return s->offset - s->input.len;
}

/* Have some packed bytes, unless the file has ended. */
static int input_fill(struct byte_source *s, struct err *err)
{
    size_t got = 0;
    int code;
    if (s->input.len > 0 || s->file_ended)
        return 0;
    code = file_read_at(s->file, s->offset, s->packed, PACKED_BYTES, &got, err);
    s->offset += got;
    s->input = slice_make(s->packed, got);
    s->file_ended = got < PACKED_BYTES;
    return code;
}

static int gzip_step(struct byte_source *s,
                     char *dst,
                     size_t len,
                     size_t *got,
                     struct err *err)
{
    int z;
    s->gzip.next_in = (unsigned char *)(uintptr_t)s->input.data;
    s->gzip.avail_in = (unsigned)s->input.len;
    s->gzip.next_out = (unsigned char *)dst;
    s->gzip.avail_out = (unsigned)MIN_OF(len, (size_t)INT_MAX);
    z = inflate(&s->gzip, Z_NO_FLUSH);
    *got = (size_t)((char *)s->gzip.next_out - dst);
    s->input = slice_make(s->gzip.next_in, s->gzip.avail_in);
    s->at_border = z == Z_STREAM_END;
    if (z == Z_STREAM_END)
        z = inflateReset(&s->gzip);
    if (z != Z_OK && z != Z_BUF_ERROR)
        return err_set(err, ERR_CORRUPT, "gzip: %s",
                       s->gzip.msg ? s->gzip.msg : "damaged");
    return 0;
}

static int unpack_step(struct byte_source *s,
                       char *dst,
                       size_t len,
                       size_t *got,
                       struct err *err)
{
    if (s->packing == INPUT_GZIP)
        return gzip_step(s, dst, len, got, err);
    return packer_stream_step(s->zstd, &s->input, dst, len, got, &s->at_border,
                              err);
}

static int unpack(struct byte_source *s,
                  char *dst,
                  size_t len,
                  size_t *got,
                  struct err *err)
{
    int code = 0;
    *got = 0;
    while (code == 0 && *got == 0) {
        size_t before;
        code = input_fill(s, err);
        before = s->input.len;
        if (code == 0 && before == 0 && s->at_border)
            break;
        if (code == 0)
            code = unpack_step(s, dst, len, got, err);
        if (code == 0 && *got == 0 && before == 0)
            code = err_set(err, ERR_CORRUPT, "packed file ends too early");
    }
    if (code)
        err_wrap(err, "%s: near offset %llu", s->path,
                 (unsigned long long)byte_source_offset(s));
    return code;
}

int byte_source_read(struct byte_source *s,
                     char *dst,
                     size_t len,
                     size_t *got,
                     struct err *err)
{
    int code;
    if (s->packing != INPUT_PLAIN)
        return unpack(s, dst, len, got, err);
    code = file_read_at(s->file, s->offset, dst, len, got, err);
    s->offset += *got;
    return code;
}

int byte_source_probe(struct world *w,
                      const char *path,
                      enum input_packing *packing,
                      uint64_t *bytes,
                      struct err *err)
{
    static const unsigned char zstd_magic[4] = {0x28, 0xb5, 0x2f, 0xfd};
    unsigned char head[4] = {0};
    size_t got = 0;
    struct file *f;
    int code = file_open(w, path, FILE_READ, &f, err);
    if (code)
        return code;
    code = file_read_at(f, 0, head, sizeof(head), &got, err);
    if (code == 0)
        code = file_size(f, bytes, err);
    *packing = INPUT_PLAIN;
    if (got >= 3 && head[0] == 0x1f && head[1] == 0x8b && head[2] == 8)
        *packing = INPUT_GZIP;
    if (got == 4 && memcmp(head, zstd_magic, 4) == 0)
        *packing = INPUT_ZSTD;
    file_close(f);
    return code;
}
