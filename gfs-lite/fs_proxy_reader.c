/* Reading through a proxy: small reads, up to FS_PROXY_READ_BYTES_MAX in all,
 * by the proxy server, which keeps readers open; larger and later ones by a
 * reader of the client's own file system. A client without one reads everything
 * through the proxy, a message at a time.
 */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "gfs-lite/fs_proxy_parts.h"

struct fs_proxy_reader {
    struct fs_reader base;
    char *path;            /* Owned. */
    struct fs_reader *own; /* Owned; NULL: through the proxy server. */
};

int fs_proxy__open(struct fs *fs,
                   const char *path,
                   struct fs_reader **out,
                   struct err *err)
{
    struct fs_proxy *l = fs_proxy_of(fs);
    struct fs_proxy_reader *r;
    struct fs_reader *own_reader = NULL;
    struct fs *own = NULL;
    struct cursor in;
    uint64_t size = 0;
    int rc;
    fs_proxy__begin(l, FS_PROXY_OPEN, path);
    rc = fs_proxy__ask(l, &in, err);
    if (rc == 0)
        size = cursor_varint(&in);
    if (rc == ERR_CLOSED) {
        rc = fs_proxy__own(l, &own, err);
        if (rc == 0)
            rc = fs_open(own, path, &own_reader, err);
        if (rc == 0)
            size = fs_reader_size(own_reader);
    }
    if (rc)
        return rc;
    r = mem_zalloc(1, sizeof(*r));
    r->base = (struct fs_reader){fs, size};
    r->path = mem_strdup(path);
    r->own = own_reader;
    *out = &r->base;
    return 0;
}

static int ask_read(struct fs_proxy *l,
                    const struct fs_proxy_reader *r,
                    uint64_t offset,
                    void *dst,
                    size_t len,
                    struct err *err)
{
    struct buf *q = fs_proxy__begin(l, FS_PROXY_READ, r->path);
    struct cursor in;
    int rc;
    buf_put_varint(q, r->base.size_bytes);
    buf_put_varint(q, offset);
    buf_put_varint(q, len);
    rc = fs_proxy__ask(l, &in, err);
    if (rc)
        return rc;
    if (cursor_left(&in) != len)
        return err_set(err, ERR_CORRUPT, "%s: %zu bytes instead of %zu",
                       r->path, cursor_left(&in), len);
    if (len > 0)
        memcpy(dst, in.p, len);
    l->read_bytes += len;
    return 0;
}

static int read_own(struct fs_proxy_reader *r,
                    uint64_t offset,
                    void *dst,
                    size_t len,
                    size_t *got,
                    struct err *err)
{
    struct fs *own = NULL;
    int rc = 0;
    if (!r->own)
        rc = fs_proxy__own(fs_proxy_of(r->base.fs), &own, err);
    if (rc == 0 && !r->own)
        rc = fs_open(own, r->path, &r->own, err);
    return rc ? rc : fs_read_at(r->own, offset, dst, len, got, err);
}

/* All of @len, a message at a time. */
static int read_remotely(struct fs_proxy *l,
                         const struct fs_proxy_reader *r,
                         uint64_t offset,
                         void *dst,
                         size_t len,
                         size_t *got,
                         struct err *err)
{
    struct fs *none;
    int rc = 0;
    while (rc == 0 && *got < len) {
        size_t n = MIN_OF(len - *got, FS_PROXY_BYTES_MAX);
        rc = ask_read(l, r, offset + *got, (char *)dst + *got, n, err);
        if (rc == 0)
            *got += n;
    }
    return rc == ERR_CLOSED ? fs_proxy__own(l, &none, err) : rc;
}

int fs_proxy__read_at(struct fs_reader *base,
                      uint64_t offset,
                      void *dst,
                      size_t len,
                      size_t *got,
                      struct err *err)
{
    struct fs_proxy_reader *r = (struct fs_proxy_reader *)base;
    struct fs_proxy *l = fs_proxy_of(base->fs);
    int rc = ERR_CLOSED;
    *got = 0;
    if (offset >= base->size_bytes)
        return 0;
    len = MIN_OF(len, base->size_bytes - offset);
    if (fs_proxy__lender_only(l))
        return read_remotely(l, r, offset, dst, len, got, err);
    if (!r->own && len <= FS_PROXY_BYTES_MAX &&
        l->read_bytes + len <= FS_PROXY_READ_BYTES_MAX)
        rc = ask_read(l, r, offset, dst, len, err);
    if (rc == ERR_CLOSED)
        return read_own(r, offset, dst, len, got, err);
    if (rc == 0)
        *got = len;
    return rc;
}

/* A hint is sent only if all reads go through the proxy: else the large ones do
 * not. */
void fs_proxy__prefetch(struct fs_reader *base, uint64_t offset, uint64_t len)
{
    const struct fs_proxy_reader *r = (const struct fs_proxy_reader *)base;
    struct fs_proxy *l = fs_proxy_of(base->fs);
    struct cursor in;
    struct buf *q;
    if (!fs_proxy__lender_only(l))
        return;
    q = fs_proxy__begin(l, FS_PROXY_PREFETCH, r->path);
    buf_put_varint(q, offset);
    buf_put_varint(q, len);
    /* The read will report the error. */
    IGNORE_RESULT(fs_proxy__ask(l, &in, NULL));
}

void fs_proxy__reader_close(struct fs_reader *base)
{
    struct fs_proxy_reader *r = (struct fs_proxy_reader *)base;
    fs_reader_close(r->own);
    mem_free(r->path);
    mem_free(r);
}

/* Only the scheduler asks, which uses no proxy. */
size_t fs_proxy__locality(struct fs_reader *r,
                          uint64_t offset,
                          uint64_t len,
                          const char **machines,
                          size_t machines_max)
{
    (void)r;
    (void)offset;
    (void)len;
    (void)machines;
    (void)machines_max;
    return 0;
}
