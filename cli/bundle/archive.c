/* Headers of ustar (POSIX.1-1988) and zlib's gzip around them. A bundle has
 * regular files with plain names alone, so few fields of a header are used,
 * and no library of archives is needed. */
#include "cli/bundle/archive.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "base/core/panic.h"

#define TOP           "quarry-bundle/"
#define BLOCK_BYTES   512
#define CHECKSUM_LEN  8
#define OUT_BYTES     65536
#define GZIP_WINDOW   (15 + 16) /* 16: a header of gzip, see zlib.h. */
#define MEMORY_LEVEL  8
#define US_PER_SECOND 1000000

struct archive {
    FILE *out;
    uint64_t now_s;
    z_stream z;
    unsigned char buffer[OUT_BYTES];
};

/* The fields that are used; the others are zero. */
struct tar_header {
    char name[100];
    char mode[8];
    char owner[8];
    char group[8];
    char size[12];
    char modified[12];
    char checksum[8];
    char kind;
    char link[100];
    char magic[8]; /* "ustar", NUL, "00" */
    char rest[247];
};

STATIC_ASSERT(sizeof(struct tar_header) == BLOCK_BYTES, "a block of ustar");

int archive_open(FILE *out,
                 uint64_t now_us,
                 struct archive **archive,
                 struct err *err)
{
    struct archive *a = mem_zalloc(1, sizeof(*a));
    PRE(out);
    *archive = NULL;
    a->out = out;
    a->now_s = now_us / US_PER_SECOND;
    if (deflateInit2(&a->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW,
                     MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        mem_free(a);
        return err_set(err, ERR_NOMEM, "no memory to compress");
    }
    *archive = a;
    return 0;
}

/* Compress @bytes; @flush is zlib's. */
static int
archive_put(struct archive *a, struct slice bytes, int flush, struct err *err)
{
    int rc;
    a->z.next_in = (unsigned char *)(uintptr_t)bytes.data;
    a->z.avail_in = (uInt)bytes.len;
    do {
        size_t made;
        a->z.next_out = a->buffer;
        a->z.avail_out = OUT_BYTES;
        rc = deflate(&a->z, flush);
        INVARIANT(rc != Z_STREAM_ERROR);
        made = OUT_BYTES - a->z.avail_out;
        if (fwrite(a->buffer, 1, made, a->out) != made)
            return err_set_errno(err, errno ? errno : EIO, "write the archive");
    } while (a->z.avail_out == 0);
    return 0;
}

/* @value in octal digits that fill @field but for its NUL. */
static void put_octal(char *field, size_t size, uint64_t value)
{
    for (size_t i = size - 1; i-- > 0; value /= 8)
        field[i] = (char)('0' + value % 8);
    POST(value == 0);
}

/* The sum of the header's bytes, those of the sum itself taken as spaces. */
static void put_checksum(struct tar_header *h)
{
    const unsigned char *p = (const unsigned char *)h;
    unsigned sum = 0;
    memset(h->checksum, ' ', CHECKSUM_LEN);
    for (size_t i = 0; i < BLOCK_BYTES; i++)
        sum += p[i];
    put_octal(h->checksum, CHECKSUM_LEN - 1, sum);
    h->checksum[CHECKSUM_LEN - 2] = '\0';
}

static void header_make(struct tar_header *h,
                        const struct archive *a,
                        const char *name,
                        size_t size)
{
    memset(h, 0, sizeof(*h));
    snprintf(h->name, sizeof(h->name), TOP "%s", name);
    memcpy(h->mode, "0000600", sizeof(h->mode));
    memcpy(h->owner, "0000000", sizeof(h->owner));
    memcpy(h->group, "0000000", sizeof(h->group));
    put_octal(h->size, sizeof(h->size), size);
    put_octal(h->modified, sizeof(h->modified), a->now_s);
    h->kind = '0';
    memcpy(h->magic,
           "ustar\0"
           "00",
           sizeof(h->magic));
    put_checksum(h);
}

int archive_add(struct archive *a,
                const char *name,
                struct slice content,
                struct err *err)
{
    static const char zeros[BLOCK_BYTES];
    struct tar_header h;
    size_t tail = content.len % BLOCK_BYTES;
    int rc;
    PRE(strlen(name) <= ARCHIVE_NAME_MAX);
    PRE(content.len < UINT32_MAX);
    header_make(&h, a, name, content.len);
    rc = archive_put(a, slice_make(&h, sizeof(h)), Z_NO_FLUSH, err);
    if (rc == 0 && content.len)
        rc = archive_put(a, content, Z_NO_FLUSH, err);
    if (rc == 0 && tail)
        rc = archive_put(a, slice_make(zeros, BLOCK_BYTES - tail), Z_NO_FLUSH,
                         err);
    return rc;
}

int archive_close(struct archive *a, int code, struct err *err)
{
    static const char zeros[2 * BLOCK_BYTES];
    if (!a)
        return code;
    if (code == 0)
        code = archive_put(a, slice_make(zeros, sizeof(zeros)), Z_FINISH, err);
    (void)deflateEnd(&a->z);
    mem_free(a);
    return code;
}
