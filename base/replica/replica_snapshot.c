/* Snapshots as files: written under another name, synced, renamed, and only
 * then older ones are removed, so that after any crash one whole snapshot
 * counts.
 */
#include "base/replica/replica_snapshot.h"

#include <inttypes.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/crypt/sealed_file.h"
#include "base/runtime/world.h"

#define MAGIC            "QRRAFSNP"
#define VERSION          1
#define PREFIX           "snapshot-"
#define NAME_NEW         "new"
#define NAME_INCOMING    "incoming"
#define CONFIG_BYTES_MAX 8192

STATIC_ASSERT(SNAPSHOT_HEADER_BYTES == 8 + 4 + 4 + 3 * 8 + 4 + 4,
              "snapshot header");

/* --- names --------------------------------------------------------------- */

static void path_of(const char *directory, uint64_t index, struct buf *out)
{
    buf_clear(out);
    buf_printf(out, "%s/" PREFIX "%020" PRIu64, directory, index);
}

static void path_named(const char *directory, const char *name, struct buf *out)
{
    buf_clear(out);
    buf_printf(out, "%s/%s", directory, name);
}

static bool index_of(const char *name, uint64_t *index)
{
    struct slice s = slice_str(name);
    return slice_starts_with(s, SLICE_LIT(PREFIX)) &&
           text_parse_u64(slice_sub(s, strlen(PREFIX), s.len), index, NULL) ==
               0;
}

int snapshot_find(struct world *w,
                  const char *directory,
                  bool *found,
                  uint64_t *index,
                  struct err *err)
{
    char **names;
    size_t count;
    int rc = world_list(w, directory, &names, &count, err);
    *found = false;
    *index = 0;
    if (rc)
        return rc;
    for (size_t i = 0; i < count; i++) {
        uint64_t at;
        if (!index_of(names[i], &at))
            continue;
        *index = *found ? MAX_OF(*index, at) : at;
        *found = true;
    }
    world_names_free(names, count);
    return 0;
}

void snapshot_drop_older(struct world *w, const char *directory, uint64_t index)
{
    struct buf path = BUF_INIT;
    char **names;
    size_t count;
    if (world_list(w, directory, &names, &count, NULL) != 0)
        return;
    for (size_t i = 0; i < count; i++) {
        uint64_t at;
        if ((!index_of(names[i], &at) || at >= index) &&
            strcmp(names[i], NAME_NEW) != 0)
            continue;
        path_named(directory, names[i], &path);
        if (world_remove(w, buf_cstr(&path), NULL) != 0)
            break; /* The next one tries again. */
    }
    world_names_free(names, count);
    buf_close(&path);
}

/* --- header -------------------------------------------------------------- */

static void put_header(const struct snapshot_info *info,
                       struct slice image,
                       struct buf *out)
{
    struct buf config = BUF_INIT;
    char *p;
    PRE((info->index == 0) == (info->term == 0));
    raft_config_encode(&info->config, &config);
    PRE(config.len <= CONFIG_BYTES_MAX && out->len == 0);
    p = buf_extend(out, SNAPSHOT_HEADER_BYTES);
    memcpy(p, MAGIC, 8);
    put_le32(p + 8, VERSION);
    put_le64(p + 16, info->index);
    put_le64(p + 24, info->term);
    put_le64(p + 32, image.len);
    put_le32(p + 40, crc32c(image.data, image.len));
    put_le32(p + 44, (uint32_t)config.len);
    buf_append_slice(out, buf_slice(&config));
    put_le32(out->data + 12, crc32c(out->data + 16, out->len - 16));
    buf_close(&config);
}

bool snapshot_is_one(struct slice head)
{
    return slice_starts_with(head, SLICE_LIT(MAGIC));
}

struct header {
    struct snapshot_info info;
    uint32_t image_crc;
    size_t image_at; /* Its offset in the file. */
};

/* @head is the file's beginning, all that a header can take. */
static int get_header(struct slice head, struct header *h, struct err *err)
{
    const char *p = head.data;
    uint32_t config_bytes;
    if (head.len < SNAPSHOT_HEADER_BYTES || !snapshot_is_one(head))
        return err_set(err, ERR_CORRUPT, "bad magic");
    if (get_le32(p + 8) != VERSION)
        return err_set(err, ERR_UNSUPPORTED,
                       "snapshot format %u, newest known is %d",
                       get_le32(p + 8), VERSION);
    config_bytes = get_le32(p + 44);
    if (config_bytes > head.len - SNAPSHOT_HEADER_BYTES ||
        get_le32(p + 12) !=
            crc32c(p + 16, SNAPSHOT_HEADER_BYTES - 16 + config_bytes) ||
        !raft_config_decode(slice_make(p + SNAPSHOT_HEADER_BYTES, config_bytes),
                            &h->info.config))
        return err_set(err, ERR_CORRUPT, "header: bad checksum");
    h->info.index = get_le64(p + 16);
    h->info.term = get_le64(p + 24);
    h->info.image_bytes = get_le64(p + 32);
    h->image_crc = get_le32(p + 40);
    h->image_at = SNAPSHOT_HEADER_BYTES + config_bytes;
    return 0;
}

/* --- reading ------------------------------------------------------------- */

static int read_header(struct sealed_file *f, struct header *h, struct err *err)
{
    char head[SNAPSHOT_HEADER_BYTES + CONFIG_BYTES_MAX];
    uint64_t size = 0;
    size_t got = 0;
    int rc = sealed_file_size(f, &size, err);
    if (rc == 0)
        rc = sealed_file_read_at(f, 0, head, sizeof(head), &got, err);
    if (rc == 0)
        rc = get_header(slice_make(head, got), h, err);
    if (rc == 0 && (h->info.image_bytes > SNAPSHOT_IMAGE_MAX ||
                    size != h->image_at + h->info.image_bytes))
        rc = err_set(err, ERR_CORRUPT, "%" PRIu64 " bytes instead of %" PRIu64,
                     size, h->image_at + h->info.image_bytes);
    return rc;
}

static int read_image(struct sealed_file *f,
                      const struct header *h,
                      struct buf *image,
                      struct err *err)
{
    size_t len = (size_t)h->info.image_bytes;
    char *bytes = mem_try_alloc(len + 1);
    size_t got;
    int rc;
    PRE(h->info.image_bytes <= SNAPSHOT_IMAGE_MAX);
    if (!bytes)
        return err_set(err, ERR_NOMEM, "no memory for %zu bytes", len);
    rc = sealed_file_read_at(f, h->image_at, bytes, len, &got, err);
    if (rc == 0 && (got != len || crc32c(bytes, len) != h->image_crc))
        rc = err_set(err, ERR_CORRUPT, "image: bad checksum");
    if (rc == 0 && image->len == 0) {
        buf_close(image);
        *image = (struct buf){bytes, len, len + 1};
        return 0;
    }
    if (rc == 0)
        buf_append(image, bytes, len);
    mem_free(bytes);
    return rc;
}

int snapshot_load_file(struct world *w,
                       struct keyring *k,
                       const char *path,
                       struct snapshot_info *info,
                       struct buf *image,
                       struct err *err)
{
    struct header h;
    struct sealed_file *f;
    int rc = sealed_file_open(w, path, FILE_READ, k, &f, err);
    if (rc)
        return rc;
    rc = read_header(f, &h, err);
    if (rc == 0)
        rc = read_image(f, &h, image, err);
    sealed_file_close(f);
    if (rc)
        err_wrap(err, "%s", path);
    else
        *info = h.info;
    return rc;
}

int snapshot_load(struct world *w,
                  struct keyring *k,
                  const char *directory,
                  uint64_t index,
                  struct snapshot_info *info,
                  struct buf *image,
                  struct err *err)
{
    struct buf path = BUF_INIT;
    int rc;
    PRE(directory[0]);
    path_of(directory, index, &path);
    rc = snapshot_load_file(w, k, buf_cstr(&path), info, image, err);
    if (rc == 0 && info->index != index)
        rc = err_set(err, ERR_CORRUPT, "%s: holds index %" PRIu64,
                     buf_cstr(&path), info->index);
    buf_close(&path);
    return rc;
}

int snapshot_read_chunk(struct world *w,
                        struct keyring *k,
                        const char *directory,
                        uint64_t index,
                        uint64_t offset,
                        size_t max,
                        struct buf *out,
                        bool *last,
                        struct err *err)
{
    struct buf path = BUF_INIT;
    uint64_t size = 0;
    size_t got = 0;
    struct sealed_file *f;
    int rc;
    PRE(max > 0);
    path_of(directory, index, &path);
    rc = sealed_file_open(w, buf_cstr(&path), FILE_READ, k, &f, err);
    buf_close(&path);
    if (rc)
        return rc;
    rc = sealed_file_size(f, &size, err);
    if (rc == 0 && offset < size) {
        max = (size_t)MIN_OF((uint64_t)max, size - offset);
        rc = sealed_file_read_at(f, offset, buf_reserve(out, max), max, &got,
                                 err);
        if (rc == 0)
            buf_extend(out, got);
    }
    *last = offset + got >= size;
    sealed_file_close(f);
    return rc;
}

/* --- writing ------------------------------------------------------------- */

static int write_new(struct world *w,
                     struct keyring *k,
                     const char *path,
                     const struct slice *parts,
                     size_t count,
                     struct err *err)
{
    struct sealed_file *f;
    uint64_t at = 0;
    int rc = sealed_file_open(w, path, FILE_WRITE | FILE_CREATE | FILE_TRUNCATE,
                              k, &f, err);
    PRE(count > 0);
    if (rc)
        return rc;
    for (size_t i = 0; rc == 0 && i < count; at += parts[i++].len)
        rc = sealed_file_write_at(f, at, parts[i], err);
    if (rc == 0)
        rc = sealed_file_sync(f, err);
    sealed_file_close(f);
    return rc;
}

/* Give the durable file at @from its name, durably. */
static int snapshot_publish(struct world *w,
                            const char *directory,
                            const char *from,
                            uint64_t index,
                            struct err *err)
{
    struct buf to = BUF_INIT;
    int rc;
    path_of(directory, index, &to);
    rc = world_rename(w, from, buf_cstr(&to), err);
    if (rc == 0)
        rc = world_sync_dir(w, directory, err);
    buf_close(&to);
    if (rc == 0)
        snapshot_drop_older(w, directory, index);
    return rc;
}

int snapshot_write(struct world *w,
                   struct keyring *k,
                   const char *directory,
                   const struct snapshot_info *info,
                   struct slice image,
                   struct err *err)
{
    struct buf head = BUF_INIT;
    struct buf path = BUF_INIT;
    struct slice parts[2];
    int rc;
    PRE(image.len <= SNAPSHOT_IMAGE_MAX);
    put_header(info, image, &head);
    parts[0] = buf_slice(&head);
    parts[1] = image;
    path_named(directory, NAME_NEW, &path);
    rc = write_new(w, k, buf_cstr(&path), parts, 2, err);
    if (rc == 0)
        rc = snapshot_publish(w, directory, buf_cstr(&path), info->index, err);
    if (rc)
        err_wrap(err, "snapshot at %" PRIu64, info->index);
    buf_close(&head);
    buf_close(&path);
    return rc;
}

/* --- incoming ------------------------------------------------------------ */

int snapshot_put_chunk(struct world *w,
                       struct keyring *k,
                       const char *directory,
                       uint64_t offset,
                       struct slice chunk,
                       struct err *err)
{
    struct buf path = BUF_INIT;
    struct sealed_file *f;
    unsigned flags = FILE_WRITE | FILE_CREATE;
    int rc;
    path_named(directory, NAME_INCOMING, &path);
    rc = sealed_file_open(w, buf_cstr(&path),
                          offset ? flags : flags | FILE_TRUNCATE, k, &f, err);
    buf_close(&path);
    if (rc)
        return rc;
    rc = sealed_file_write_at(f, offset, chunk, err);
    sealed_file_close(f);
    return rc;
}

static int
sync_file(struct world *w, struct keyring *k, const char *path, struct err *err)
{
    struct sealed_file *f;
    int rc = sealed_file_open(w, path, FILE_READ | FILE_WRITE, k, &f, err);
    if (rc)
        return rc;
    rc = sealed_file_sync(f, err);
    sealed_file_close(f);
    return rc;
}

int snapshot_accept(struct world *w,
                    struct keyring *k,
                    const char *directory,
                    struct snapshot_info *info,
                    struct buf *image,
                    struct err *err)
{
    struct buf path = BUF_INIT;
    int rc;
    path_named(directory, NAME_INCOMING, &path);
    rc = sync_file(w, k, buf_cstr(&path), err);
    if (rc == 0)
        rc = snapshot_load_file(w, k, buf_cstr(&path), info, image, err);
    if (rc == 0)
        rc = snapshot_publish(w, directory, buf_cstr(&path), info->index, err);
    buf_close(&path);
    return rc;
}
