/* KEYS as a file of the world: replaced by writing a temporary file, syncing
 * it, renaming it and syncing the directory, so that a crash leaves the old
 * keys or the new ones. */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/crypt/keyring.h"
#include "base/runtime/world.h"

struct keys_file {
    struct world *world;
    char *path;
};

static int read_keys_file(void *ctx, struct buf *out, struct err *err)
{
    struct keys_file *k = ctx;
    struct file *f;
    size_t got;
    int rc = file_open(k->world, k->path, FILE_READ, &f, err);

    if (rc)
        return rc;
    rc = file_read_at(f, 0, buf_reserve(out, KEYRING_FILE_BYTES_MAX),
                      KEYRING_FILE_BYTES_MAX, &got, err);
    if (rc == 0)
        out->len += got;
    file_close(f);
    return rc;
}

static int write_beside(struct world *w,
                        const char *path,
                        struct slice contents,
                        struct err *err)
{
    struct file *f;
    int rc =
        file_open(w, path, FILE_WRITE | FILE_CREATE | FILE_TRUNCATE, &f, err);
    if (rc)
        return rc;
    rc = file_write_synced(f, 0, &contents, 1, err);
    file_close(f);
    return rc;
}

static int replace_keys_file(void *ctx, struct slice contents, struct err *err)
{
    struct keys_file *k = ctx;
    struct buf beside = BUF_INIT;
    char *directory = world_directory_of(k->path);
    int rc;

    buf_printf(&beside, "%s.new", k->path);
    rc = write_beside(k->world, buf_cstr(&beside), contents, err);
    if (rc == 0)
        rc = world_rename(k->world, buf_cstr(&beside), k->path, err);
    if (rc == 0)
        rc = world_sync_dir(k->world, directory, err);
    mem_free(directory);
    buf_close(&beside);
    return rc;
}

static void close_keys_file(void *ctx)
{
    struct keys_file *k = ctx;
    mem_free(k->path);
    mem_free(k);
}

struct keyring_place keyring_world_place(struct world *w, const char *path)
{
    struct keys_file *k = mem_zalloc(1, sizeof(*k));
    k->world = w;
    k->path = mem_strdup(path);
    return (struct keyring_place){k, read_keys_file, replace_keys_file,
                                  close_keys_file};
}
