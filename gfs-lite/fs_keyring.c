/* The keyring of a file system's users, stored in a file of it: the adapter
 * between base/crypt, which knows no file systems, and fs.h.
 */
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/crypt/keyring.h"
#include "gfs-lite/fs_ops.h"

/* A KEYS file: place of a keyring. */
struct keys_place {
    struct fs *fs; /* Borrowed: it releases the keyring when it closes. */
    char *path;
};

static int read_keys_place(void *ctx, struct buf *out, struct err *err)
{
    struct keys_place *p = ctx;
    return fs_read_all(p->fs, p->path, KEYRING_FILE_BYTES_MAX, out, err);
}

static int replace_keys_place(void *ctx, struct slice contents, struct err *err)
{
    struct keys_place *p = ctx;
    return fs_replace(p->fs, p->path, contents, err);
}

static void close_keys_place(void *ctx)
{
    struct keys_place *p = ctx;
    mem_free(p->path);
    mem_free(p);
}

void fs_set_keyring(struct fs *fs, struct keyring *k)
{
    struct keyring *before = fs->keyring;
    fs->keyring = keyring_ref(k);
    keyring_unref(before);
}

struct keyring *fs_keyring(struct fs *fs)
{
    return fs->keyring;
}

int fs_open_keyring(struct fs *fs,
                    const char *path,
                    struct master_keys *masters,
                    bool create,
                    struct err *err)
{
    struct keys_place *p = mem_zalloc(1, sizeof(*p));
    struct keyring_place place = {p, read_keys_place, replace_keys_place,
                                  close_keys_place};
    struct keyring *k;
    int rc;

    p->fs = fs;
    p->path = mem_strdup(path);
    rc = keyring_open(fs->world, place, masters, create, &k, err);
    if (rc)
        return rc;
    fs_set_keyring(fs, k);
    keyring_unref(k);
    return 0;
}
