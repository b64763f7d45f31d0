/* Small files that are encrypted as a whole (base/crypt/sealed_bytes.h) if the
 * file system has a keyring. They are replaced atomically, so no part of one
 * needs to be rewritten.
 */
#include "base/core/buf.h"
#include "base/crypt/sealed_bytes.h"
#include "gfs-lite/fs.h"

int fs_replace_sealed(struct fs *fs,
                      const char *path,
                      struct slice contents,
                      struct err *err)
{
    struct buf sealed = BUF_INIT;
    int rc = 0;

    if (fs_keyring(fs)) {
        rc = sealed_bytes_put(fs_keyring(fs), contents, &sealed, err);
        contents = buf_slice(&sealed);
    }
    if (rc == 0)
        rc = fs_replace(fs, path, contents, err);
    buf_close(&sealed);
    return rc;
}

int fs_read_all_sealed(struct fs *fs,
                       const char *path,
                       size_t bytes_max,
                       struct buf *out,
                       struct err *err)
{
    size_t at = out->len;
    int rc = fs_read_all(fs, path, bytes_max + SEALED_BYTES_MORE, out, err);

    if (rc)
        return rc;
    rc = sealed_bytes_open(fs_keyring(fs), out, at, err);
    if (rc)
        err_wrap(err, "%s", path);
    return rc;
}
