/* Pages with checksums, and a cache of them.
 *
 * A set-associative cache in place of a list of uses: a page has four places to
 * be, and the one used longest ago makes room. It needs no allocation, one
 * short lock, and no reference to a page outlives a call: readers copy what
 * they need, some hundred bytes at a time.
 */
#include "web/search/segment/paged_file.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/crypt/aead.h"
#include "base/crypt/keyring.h"
#include "base/runtime/sync.h"
#include "gfs-lite/fs.h"

#define PAGED_FILE_PURPOSE "quarry search segment"
#define CRC_BYTES          ((size_t)4)
/* Bytes that one read past the cache takes at most. */
#define LOAD_PAGES 64

/* The key of a sealed file; zeroed: it is not sealed. */
struct page_seal {
    struct keyring *ring; /* Shared. */
    uint64_t key_id;
    unsigned char salt[KEYRING_SALT_BYTES];
    struct aead_key *key; /* Owned; NULL: pages have checksums. */
};

static void page_seal_close(struct page_seal *s)
{
    if (s->key)
        keyring_key_free(s->ring, s->key);
    keyring_unref(s->ring);
    *s = (struct page_seal){.ring = NULL};
}

static size_t page_trailer_bytes(const struct page_seal *s)
{
    return s->key ? AEAD_TAG_BYTES : CRC_BYTES;
}

static size_t page_payload_bytes(const struct page_seal *s)
{
    return PAGED_FILE_PAGE_BYTES - page_trailer_bytes(s);
}

static uint32_t page_crc(uint64_t number, const char *payload, size_t len)
{
    char head[8];
    put_le64(head, number);
    return crc32c_extend(crc32c(head, sizeof(head)), payload, len);
}

static void page_nonce(uint64_t number, unsigned char nonce[AEAD_NONCE_BYTES])
{
    memset(nonce, 0, AEAD_NONCE_BYTES);
    put_le64((char *)nonce, number);
}

/* --- writing ------------------------------------------------------------- */

struct paged_writer {
    struct fs_writer *file; /* Owned; NULL: bytes go to the sink. */
    paged_sink_fn sink;
    void *sink_ctx;
    uint64_t sunk; /* Bytes that the sink was given. */
    struct page_seal seal;
    uint64_t page; /* Number of the page that is being filled. */
    size_t fill;   /* Bytes in it; fewer than its payload. */
    char bytes[PAGED_FILE_PAGE_BYTES];
};

static int page_seal_begin(struct fs *fs, struct page_seal *s, struct err *err)
{
    struct keyring *k = fs_keyring(fs);
    if (!k)
        return 0;
    keyring_refresh(k);
    s->ring = keyring_ref(k);
    s->key_id = keyring_current_id(k);
    keyring_salt(k, s->salt);
    return keyring_derive(k, s->key_id, s->salt, PAGED_FILE_PURPOSE, &s->key,
                          err);
}

static int paged_writer_head(struct paged_writer *w, struct err *err)
{
    char head[PAGED_FILE_HEAD_BYTES];
    memcpy(head, PAGED_FILE_MAGIC, 8);
    put_le64(head + 8, w->seal.key ? w->seal.key_id : 0);
    memcpy(head + 16, w->seal.salt, KEYRING_SALT_BYTES);
    put_le32(head + 32, crc32c(head, 32));
    return fs_writer_append(w->file, head, sizeof(head), err);
}

int paged_writer_new(struct fs *fs,
                     const char *path,
                     struct paged_writer **out,
                     struct err *err)
{
    static const struct fs_write_options opts = {.mode = FS_WRITE_STREAM,
                                                 .cached = true};
    struct paged_writer *w = mem_zalloc(1, sizeof(*w));
    int rc = page_seal_begin(fs, &w->seal, err);
    if (!rc)
        rc = fs_create(fs, path, &opts, &w->file, err);
    if (!rc)
        rc = paged_writer_head(w, err);
    if (rc) {
        paged_writer_free(w);
        w = NULL;
    }
    *out = w;
    return rc;
}

struct paged_writer *paged_writer_to(paged_sink_fn fn, void *ctx)
{
    struct paged_writer *w = mem_zalloc(1, sizeof(*w));
    PRE(fn);
    w->sink = fn;
    w->sink_ctx = ctx;
    return w;
}

static int paged_writer_page(struct paged_writer *w, struct err *err)
{
    unsigned char nonce[AEAD_NONCE_BYTES];
    if (w->seal.key) {
        page_nonce(w->page, nonce);
        aead_seal(w->seal.key, nonce, SLICE_EMPTY,
                  slice_make(w->bytes, w->fill), w->bytes);
    } else {
        put_le32(w->bytes + w->fill, page_crc(w->page, w->bytes, w->fill));
    }
    w->page++;
    return fs_writer_append(w->file, w->bytes,
                            w->fill + page_trailer_bytes(&w->seal), err);
}

int paged_writer_append(struct paged_writer *w,
                        struct slice bytes,
                        struct err *err)
{
    size_t room = page_payload_bytes(&w->seal);
    if (w->sink) {
        w->sunk += bytes.len;
        return bytes.len ? w->sink(w->sink_ctx, bytes, err) : 0;
    }
    while (bytes.len) {
        size_t n = MIN_OF(bytes.len, room - w->fill);
        int rc;
        memcpy(w->bytes + w->fill, bytes.data, n);
        w->fill += n;
        bytes = slice_sub(bytes, n, bytes.len);
        if (w->fill < room)
            break;
        rc = paged_writer_page(w, err);
        if (rc)
            return rc;
        w->fill = 0;
    }
    POST(w->fill < room);
    return 0;
}

uint64_t paged_writer_offset(const struct paged_writer *w)
{
    return w->sink ? w->sunk : w->page * page_payload_bytes(&w->seal) + w->fill;
}

int paged_writer_finish(struct paged_writer *w, struct err *err)
{
    int rc = w->fill ? paged_writer_page(w, err) : 0;
    if (!rc && w->file)
        rc = fs_writer_sync(w->file, err);
    return rc;
}

void paged_writer_free(struct paged_writer *w)
{
    if (!w)
        return;
    if (w->file)
        fs_writer_close(w->file);
    page_seal_close(&w->seal);
    mem_free(w);
}

/* --- the cache ----------------------------------------------------------- */

enum {
    CACHE_WAYS = 4
};

struct cached_page {
    uint64_t file; /* 0: the place is free. */
    uint64_t number;
    uint32_t len;
    uint32_t used; /* Time of its last use, of its set. */
    char *bytes;   /* Owned; NULL until the place is first used. */
};

struct page_cache {
    struct mutex lock; /* A copy takes less than a microsecond. */
    struct cached_page *places;
    size_t set_count; /* A power of two. */
    uint64_t next_file;
    uint32_t clock;
};

struct page_cache *page_cache_new(size_t bytes)
{
    struct page_cache *c = mem_zalloc(1, sizeof(*c));
    size_t sets = bytes / PAGED_FILE_PAGE_BYTES / CACHE_WAYS;
    c->set_count = 1;
    while (c->set_count * 2 <= sets)
        c->set_count *= 2;
    c->places = mem_zalloc(c->set_count * CACHE_WAYS, sizeof(*c->places));
    c->next_file = 1;
    mutex_init(&c->lock);
    return c;
}

void page_cache_free(struct page_cache *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->set_count * CACHE_WAYS; i++)
        mem_free(c->places[i].bytes);
    mem_free(c->places);
    mutex_close(&c->lock);
    mem_free(c);
}

/* The places of the set of a page. The lock is held. */
static struct cached_page *
cache_set(struct page_cache *c, uint64_t file, uint64_t number)
{
    uint64_t h = hash_mix(file * UINT64_C(0x9e3779b97f4a7c15) + number);
    PRE(mutex_is_held(&c->lock));
    return c->places + (h & (c->set_count - 1)) * CACHE_WAYS;
}

/* Copy [@at, @at + @len) of a cached page; false: it is not there. */
static bool cache_copy(struct page_cache *c,
                       uint64_t file,
                       uint64_t number,
                       size_t at,
                       void *to,
                       size_t len)
{
    bool found = false;
    mutex_lock(&c->lock);
    struct cached_page *set = cache_set(c, file, number);
    for (int i = 0; i < CACHE_WAYS && !found; i++) {
        if (set[i].file != file || set[i].number != number)
            continue;
        set[i].used = ++c->clock;
        memcpy(to, set[i].bytes + at, len);
        found = true;
    }
    mutex_unlock(&c->lock);
    return found;
}

static void cache_put(struct page_cache *c,
                      uint64_t file,
                      uint64_t number,
                      const char *bytes,
                      size_t len)
{
    mutex_lock(&c->lock);
    struct cached_page *set = cache_set(c, file, number);
    struct cached_page *to = &set[0];
    for (int i = 0; i < CACHE_WAYS; i++) {
        if (set[i].file == file && set[i].number == number) {
            to = &set[i]; /* Another thread was faster: INV-2. */
            break;
        }
        if (set[i].file == 0 || (to->file && set[i].used < to->used))
            to = &set[i];
    }
    if (!to->bytes)
        to->bytes = mem_alloc(PAGED_FILE_PAGE_BYTES);
    memcpy(to->bytes, bytes, len);
    to->file = file;
    to->number = number;
    to->len = (uint32_t)len;
    to->used = ++c->clock;
    mutex_unlock(&c->lock);
}

static uint64_t cache_join(struct page_cache *c)
{
    uint64_t file;
    mutex_lock(&c->lock);
    file = c->next_file++;
    mutex_unlock(&c->lock);
    return file;
}

/* --- reading ------------------------------------------------------------- */

struct paged_reader {
    struct fs_reader *file;   /* Owned. */
    struct page_cache *cache; /* Borrowed. */
    uint64_t id;              /* In the cache. */
    char *path;
    struct page_seal seal;
    uint64_t file_bytes;
    uint64_t size; /* Of the stream. */
};

static int
page_corrupt(const struct paged_reader *r, uint64_t number, struct err *err)
{
    return err_set(err, ERR_CORRUPT, "segment %s: page %llu is damaged",
                   r->path, (unsigned long long)number);
}

static int paged_reader_exact(struct paged_reader *r,
                              uint64_t offset,
                              void *to,
                              size_t len,
                              struct err *err)
{
    size_t got = 0;
    int rc = fs_read_at(r->file, offset, to, len, &got, err);
    if (!rc && got != len)
        rc =
            err_set(err, ERR_CORRUPT, "segment %s: it ends too early", r->path);
    return rc;
}

static int page_seal_open(struct fs *fs, struct page_seal *s, struct err *err)
{
    struct keyring *k = fs_keyring(fs);
    if (!k)
        return err_set(err, ERR_DENIED,
                       "it is encrypted, and no master key was given");
    s->ring = keyring_ref(k);
    return keyring_derive(k, s->key_id, s->salt, PAGED_FILE_PURPOSE, &s->key,
                          err);
}

/* The stream's size is the file's without head and trailers. */
static int paged_reader_measure(struct paged_reader *r, struct err *err)
{
    uint64_t bytes = r->file_bytes - PAGED_FILE_HEAD_BYTES;
    uint64_t whole = bytes / PAGED_FILE_PAGE_BYTES;
    uint64_t rest = bytes % PAGED_FILE_PAGE_BYTES;
    size_t trailer = page_trailer_bytes(&r->seal);
    if (rest && rest <= trailer)
        return err_set(err, ERR_CORRUPT, "segment %s: it ends inside a page",
                       r->path);
    r->size =
        whole * page_payload_bytes(&r->seal) + (rest ? rest - trailer : 0);
    return 0;
}

static int
paged_reader_head(struct paged_reader *r, struct fs *fs, struct err *err)
{
    char head[PAGED_FILE_HEAD_BYTES];
    int rc;
    if (r->file_bytes < sizeof(head))
        return err_set(err, ERR_CORRUPT, "segment %s: it has no head", r->path);
    rc = paged_reader_exact(r, 0, head, sizeof(head), err);
    if (rc)
        return rc;
    if (memcmp(head, PAGED_FILE_MAGIC, 8) != 0 ||
        crc32c(head, 32) != get_le32(head + 32))
        return err_set(err, ERR_CORRUPT,
                       "%s is no segment of a search index, or its head is "
                       "damaged",
                       r->path);
    r->seal.key_id = get_le64(head + 8);
    memcpy(r->seal.salt, head + 16, KEYRING_SALT_BYTES);
    if (r->seal.key_id) {
        rc = page_seal_open(fs, &r->seal, err);
        if (rc)
            err_wrap(err, "segment %s", r->path);
    }
    return rc ? rc : paged_reader_measure(r, err);
}

int paged_reader_open(struct fs *fs,
                      const char *path,
                      struct page_cache *cache,
                      struct paged_reader **out,
                      struct err *err)
{
    struct paged_reader *r = mem_zalloc(1, sizeof(*r));
    int rc = fs_open(fs, path, &r->file, err);
    r->cache = cache;
    r->id = cache_join(cache);
    r->path = mem_strdup(path);
    if (!rc) {
        r->file_bytes = fs_reader_size(r->file);
        rc = paged_reader_head(r, fs, err);
    }
    if (rc) {
        paged_reader_close(r);
        r = NULL;
    }
    *out = r;
    return rc;
}

void paged_reader_close(struct paged_reader *r)
{
    if (!r)
        return;
    fs_reader_close(r->file);
    page_seal_close(&r->seal);
    mem_free(r->path);
    mem_free(r);
}

uint64_t paged_reader_size(const struct paged_reader *r)
{
    return r->size;
}

uint64_t paged_reader_file_bytes(const struct paged_reader *r)
{
    return r->file_bytes;
}

/* Verify page @number, of @len bytes at @stored, in place. */
static int paged_reader_verify(struct paged_reader *r,
                               uint64_t number,
                               char *stored,
                               size_t len,
                               struct err *err)
{
    unsigned char nonce[AEAD_NONCE_BYTES];
    size_t payload = len - page_trailer_bytes(&r->seal);
    if (r->seal.key) {
        page_nonce(number, nonce);
        if (aead_open(r->seal.key, nonce, SLICE_EMPTY, slice_make(stored, len),
                      stored, NULL))
            return page_corrupt(r, number, err);
    } else if (page_crc(number, stored, payload) !=
               get_le32(stored + payload)) {
        return page_corrupt(r, number, err);
    }
    return 0;
}

/* Bytes of page @number as it lies in the file. */
static size_t paged_reader_stored(const struct paged_reader *r, uint64_t number)
{
    uint64_t at = PAGED_FILE_HEAD_BYTES + number * PAGED_FILE_PAGE_BYTES;
    return (size_t)MIN_OF(r->file_bytes - at, PAGED_FILE_PAGE_BYTES);
}

static int paged_reader_check(const struct paged_reader *r,
                              uint64_t offset,
                              size_t len,
                              struct err *err)
{
    if (offset > r->size || len > r->size - offset)
        return err_set(err, ERR_CORRUPT,
                       "segment %s: bytes %llu to %llu lie outside of it",
                       r->path, (unsigned long long)offset,
                       (unsigned long long)(offset + len));
    return 0;
}

static int paged_reader_fetch(struct paged_reader *r,
                              uint64_t number,
                              size_t at,
                              void *to,
                              size_t len,
                              struct err *err)
{
    size_t stored = paged_reader_stored(r, number);
    char *page = mem_alloc(PAGED_FILE_PAGE_BYTES);
    int rc = paged_reader_exact(
        r, PAGED_FILE_HEAD_BYTES + number * PAGED_FILE_PAGE_BYTES, page, stored,
        err);
    if (!rc)
        rc = paged_reader_verify(r, number, page, stored, err);
    if (!rc) {
        cache_put(r->cache, r->id, number, page, stored);
        memcpy(to, page + at, len);
    }
    mem_free(page);
    return rc;
}

int paged_reader_read(struct paged_reader *r,
                      uint64_t offset,
                      void *to,
                      size_t len,
                      struct err *err)
{
    size_t room = page_payload_bytes(&r->seal);
    char *p = to;
    int rc = paged_reader_check(r, offset, len, err);
    while (!rc && len) {
        uint64_t number = offset / room;
        size_t at = (size_t)(offset % room);
        size_t n = MIN_OF(len, room - at);
        if (!cache_copy(r->cache, r->id, number, at, p, n))
            rc = paged_reader_fetch(r, number, at, p, n, err);
        p += n;
        offset += n;
        len -= n;
    }
    return rc;
}

int paged_reader_load(struct paged_reader *r,
                      uint64_t offset,
                      void *to,
                      size_t len,
                      struct err *err)
{
    size_t room = page_payload_bytes(&r->seal);
    char *run = NULL;
    char *p = to;
    int rc = paged_reader_check(r, offset, len, err);
    if (!rc && len)
        run = mem_alloc(LOAD_PAGES * PAGED_FILE_PAGE_BYTES);
    while (!rc && len) {
        uint64_t first = offset / room;
        uint64_t last = (offset + len - 1) / room;
        size_t bytes = 0;
        last = MIN_OF(last, first + LOAD_PAGES - 1);
        for (uint64_t n = first; n <= last; n++)
            bytes += paged_reader_stored(r, n);
        rc = paged_reader_exact(
            r, PAGED_FILE_HEAD_BYTES + first * PAGED_FILE_PAGE_BYTES, run,
            bytes, err);
        for (uint64_t n = first; n <= last && !rc; n++) {
            char *page = run + (n - first) * PAGED_FILE_PAGE_BYTES;
            size_t at = (size_t)(offset - n * room);
            size_t part = MIN_OF(len, room - at);
            rc =
                paged_reader_verify(r, n, page, paged_reader_stored(r, n), err);
            if (rc)
                break;
            memcpy(p, page + at, part);
            p += part;
            offset += part;
            len -= part;
        }
    }
    mem_free(run);
    return rc;
}
