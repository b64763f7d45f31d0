/* Plain, gzip and zstd files as streams of bytes.
 *
 * Concatenated gzip members and zstd frames are one text. After damage the
 * source looks for the bytes that begin a member or frame and accepts a place
 * only if a trial decompression succeeds there: the magic numbers alone occur
 * by chance.
 */
#define _GNU_SOURCE /* memmem */

#include "mapreduce/records/byte_source.h"

#include <limits.h>
#include <zlib.h>

#include "base/core/panic.h"
#include "mapreduce/records/block_codec.h"
#include "mapreduce/records/files.h"

/* Compressed bytes read at a time. */
#define COMPRESSED_BYTES ((size_t)256 << 10)
/* A decompressor may notice damage this many bytes after the next member began.
 */
#define OVERRUN_BYTES ((uint64_t)64 << 10)
/* Decompressed to see whether a member begins at a place: garbage fails
 * earlier. */
#define TRIAL_BYTES       ((size_t)32 << 10)
#define TRIAL_PLAIN_BYTES ((uint64_t)1 << 20)
/* Places tried after one damage: bounds the work on hostile files. */
#define TRIALS_MAX 10000u

struct byte_source {
    struct job_file *file;
    char *path; /* For messages. */
    enum byte_compression compression;
    uint64_t offset;  /* Of the next byte to read from the file. */
    char *compressed; /* Read, [input.data, +input.len) is not decompressed yet.
                       */
    struct slice input; /* Read from the file and not decompressed yet, in
                           `compressed`. */
    bool file_ended;
    bool at_border;  /* Between members: the file may end here. */
    uint64_t member; /* Where the current one begins. */
    struct err
        why; /* To be reported when the bytes before it have been read. */
    z_stream gzip;
    struct zstd_stream *zstd;
};

static int decompress_start(struct byte_source *s, struct err *err)
{
    if (s->compression == BYTES_PLAIN)
        return 0;
    s->compressed = mem_alloc(COMPRESSED_BYTES);
    s->at_border = true;
    if (s->compression == BYTES_ZSTD)
        s->zstd = zstd_stream_new();
    /* 15: the largest window; 16: with a gzip header. */
    else if (inflateInit2(&s->gzip, 15 + 16) != Z_OK)
        return err_set(err, ERR_NOMEM, "no memory to decompress gzip");
    return 0;
}

int byte_source_open(const struct job_files *files,
                     const char *path,
                     enum byte_compression compression,
                     uint64_t offset,
                     struct byte_source **out,
                     struct err *err)
{
    struct byte_source *s = mem_zalloc(1, sizeof(*s));
    int rc;
    *out = NULL;
    s->path = mem_strdup(path);
    s->compression = compression;
    s->offset = offset;
    rc = job_file_open(files, path, &s->file, err);
    if (rc == 0)
        rc = decompress_start(s, err);
    if (rc)
        byte_source_close(s);
    else
        *out = s;
    return rc;
}

void byte_source_close(struct byte_source *s)
{
    if (!s)
        return;
    if (s->compression == BYTES_GZIP && s->compressed)
        inflateEnd(&s->gzip);
    zstd_stream_free(s->zstd);
    mem_free(s->compressed);
    mem_free(s->path);
    job_file_close(s->file);
    mem_free(s);
}

uint64_t byte_source_offset(const struct byte_source *s)
{
    return s->offset - s->input.len;
}

/* Read compressed bytes if none are left, unless the file has ended. */
static int input_fill(struct byte_source *s, struct err *err)
{
    size_t got = 0;
    int rc;
    if (s->input.len > 0 || s->file_ended)
        return 0;
    rc = job_file_read_at(s->file, s->offset, s->compressed, COMPRESSED_BYTES,
                          &got, err);
    s->offset += got;
    s->input = slice_make(s->compressed, got);
    s->file_ended = got < COMPRESSED_BYTES;
    return rc;
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

static int decompress_step(struct byte_source *s,
                           char *dst,
                           size_t len,
                           size_t *got,
                           struct err *err)
{
    if (s->at_border)
        s->member = byte_source_offset(s);
    if (s->compression == BYTES_GZIP)
        return gzip_step(s, dst, len, got, err);
    return zstd_stream_step(s->zstd, &s->input, dst, len, got, &s->at_border,
                            err);
}

static int byte_source_decompress(struct byte_source *s,
                                  char *dst,
                                  size_t len,
                                  size_t *got,
                                  struct err *err)
{
    struct err why = ERR_INIT;
    int rc = 0;
    *got = 0;
    if (s->why.code) {
        rc = err_copy(err, &s->why);
        s->why.code = 0;
        return rc;
    }
    while (rc == 0 && *got == 0) {
        size_t before;
        rc = input_fill(s, &why);
        before = s->input.len;
        if (rc == 0 && before == 0 && s->at_border)
            break;
        if (rc == 0)
            rc = decompress_step(s, dst, len, got, &why);
        if (rc == 0 && *got == 0 && before == 0)
            rc = err_set(&why, ERR_CORRUPT, "compressed file ends too early");
    }
    if (rc == 0)
        return 0;
    err_wrap(&why, "%s: near offset %llu", s->path,
             (unsigned long long)byte_source_offset(s));
    if (*got == 0)
        return err_copy(err, &why);
    s->why = why;
    return 0;
}

int byte_source_read(struct byte_source *s,
                     char *dst,
                     size_t len,
                     size_t *got,
                     struct err *err)
{
    int rc;
    if (s->compression != BYTES_PLAIN)
        return byte_source_decompress(s, dst, len, got, err);
    rc = job_file_read_at(s->file, s->offset, dst, len, got, err);
    s->offset += *got;
    return rc;
}

/* --- behind damage ------------------------------------------------------- */

static void decoder_reset(struct byte_source *s)
{
    if (s->compression == BYTES_GZIP) {
        inflateReset(&s->gzip);
    } else {
        zstd_stream_free(s->zstd);
        s->zstd = zstd_stream_new();
    }
    s->at_border = true;
}

static size_t
find_magic(enum byte_compression compression, struct slice s, size_t from)
{
    struct slice magic = compression == BYTES_GZIP
                             ? SLICE_LIT("\x1f\x8b\x08")
                             : SLICE_LIT("\x28\xb5\x2f\xfd");
    const char *p = from < s.len ? memmem(s.data + from, s.len - from,
                                          magic.data, magic.len)
                                 : NULL;
    return p ? (size_t)(p - s.data) : s.len;
}

/* Does a trial decompression succeed at @offset? */
static int try_at(struct byte_source *s,
                  uint64_t offset,
                  char *compressed,
                  bool *good,
                  struct err *err)
{
    char *plain = mem_alloc(TRIAL_BYTES);
    uint64_t made = 0;
    size_t got = 0;
    int rc =
        job_file_read_at(s->file, offset, compressed, TRIAL_BYTES, &got, err);
    *good = rc == 0;
    decoder_reset(s);
    s->input = slice_make(compressed, got);
    while (*good && s->input.len > 0) {
        size_t before = s->input.len;
        size_t n;
        *good = decompress_step(s, plain, TRIAL_BYTES, &n, NULL) == 0;
        made += n;
        if (s->at_border || made > TRIAL_PLAIN_BYTES ||
            (n == 0 && s->input.len == before))
            break;
    }
    decoder_reset(s);
    s->input = SLICE_EMPTY;
    mem_free(plain);
    return rc;
}

/* The first place from @from on where a member decompresses; UINT64_MAX: none.
 */
static int
find_member(struct byte_source *s, uint64_t from, uint64_t *at, struct err *err)
{
    char *trial = mem_alloc(TRIAL_BYTES);
    uint64_t window = from;
    unsigned tried = 0;
    size_t got = COMPRESSED_BYTES;
    bool good = false;
    int rc = 0;
    *at = UINT64_MAX;
    while (rc == 0 && !good && got == COMPRESSED_BYTES && tried < TRIALS_MAX) {
        size_t i;
        rc = job_file_read_at(s->file, window, s->compressed, COMPRESSED_BYTES,
                              &got, err);
        i = find_magic(s->compression, slice_make(s->compressed, got), 0);
        while (rc == 0 && i < got && tried++ < TRIALS_MAX) {
            rc = try_at(s, window + i, trial, &good, err);
            if (good)
                break;
            i = find_magic(s->compression, slice_make(s->compressed, got),
                           i + 1);
        }
        if (good)
            *at = window + i;
        window += got - 3; /* A magic number may lie across two windows. */
    }
    mem_free(trial);
    return rc;
}

int byte_source_resync(struct byte_source *s, uint64_t *bytes, struct err *err)
{
    uint64_t stop = byte_source_offset(s);
    /* A truncated member shows only inside the next one, so the search starts
     * at the damaged member; it must not find that member again. */
    uint64_t from = MAX_OF(stop - MIN_OF(stop, OVERRUN_BYTES), s->member + 1);
    uint64_t size = 0;
    uint64_t at = 0;
    int rc = job_file_size(s->file, &size, err);
    PRE(s->compression != BYTES_PLAIN);
    if (rc == 0)
        rc = find_member(s, from, &at, err);
    if (rc)
        return rc;
    at = MIN_OF(at, size);
    s->offset = at;
    s->input = SLICE_EMPTY;
    s->file_ended = at == size;
    *bytes = at - MIN_OF(stop, at);
    return 0;
}

int byte_source_probe(const struct job_files *files,
                      const char *path,
                      enum byte_compression *compression,
                      uint64_t *bytes,
                      struct err *err)
{
    static const unsigned char zstd_magic[4] = {0x28, 0xb5, 0x2f, 0xfd};
    unsigned char head[4] = {0};
    size_t got = 0;
    struct job_file *f = NULL;
    int rc = job_file_open(files, path, &f, err);
    if (rc)
        return rc;
    rc = job_file_read_at(f, 0, head, sizeof(head), &got, err);
    if (rc == 0)
        rc = job_file_size(f, bytes, err);
    *compression = BYTES_PLAIN;
    if (got >= 3 && head[0] == 0x1f && head[1] == 0x8b && head[2] == 8)
        *compression = BYTES_GZIP;
    if (got == 4 && memcmp(head, zstd_magic, 4) == 0)
        *compression = BYTES_ZSTD;
    job_file_close(f);
    return rc;
}
