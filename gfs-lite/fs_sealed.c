/* Small files that are encrypted as a whole.
 *
 *     file = "QRYSEAL1" crc le32 of the unit, unit (base/crypt/sealer.h)
 */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/crypt/keyring.h"
#include "base/crypt/sealer.h"
#include "gfs-lite/fs.h"

#define SEALED_MAGIC      "QRYSEAL1"
#define SEALED_HEAD_BYTES ((size_t)12)
#define SEALED_PURPOSE    "quarry small file"

static int
seal_file(struct keyring *k, struct slice plain, struct buf *out, struct err *e)
{
    size_t bytes = plain.len + UNIT_BYTES_MORE;
    struct unit_sealer *s;
    int rc = unit_sealer_new(k, SEALED_PURPOSE, &s, e);

    if (rc)
        return rc;
    buf_append(out, SEALED_MAGIC, 8);
    buf_put_le32(out, 0);
    unit_seal(s, SLICE_LIT(SEALED_MAGIC), plain, buf_extend(out, bytes));
    put_le32(out->data + 8, crc32c(out->data + SEALED_HEAD_BYTES, bytes));
    unit_sealer_free(s);
    return 0;
}

int fs_replace_sealed(struct fs *fs,
                      const char *path,
                      struct slice contents,
                      struct err *err)
{
    struct buf sealed = BUF_INIT;
    int rc = 0;

    if (fs_keyring(fs)) {
        rc = seal_file(fs_keyring(fs), contents, &sealed, err);
        contents = buf_slice(&sealed);
    }
    if (rc == 0)
        rc = fs_replace(fs, path, contents, err);
    buf_close(&sealed);
    return rc;
}

/* Open what @out has from @at on, in place. */
static int
unseal_file(struct keyring *k, struct buf *out, size_t at, struct err *err)
{
    struct slice unit = slice_make(out->data + at + SEALED_HEAD_BYTES,
                                   out->len - at - SEALED_HEAD_BYTES);
    struct unit_opener *o;
    int rc;

    if (unit.len < UNIT_BYTES_MORE ||
        get_le32(out->data + at + 8) != crc32c(unit.data, unit.len))
        return err_set(err, ERR_CORRUPT, "checksum mismatch");
    o = unit_opener_new(k, SEALED_PURPOSE);
    rc = unit_open(o, SLICE_LIT(SEALED_MAGIC), unit,
                   out->data + at + SEALED_HEAD_BYTES, err);
    unit_opener_free(o);
    if (rc)
        return rc;
    memmove(out->data + at, out->data + at + SEALED_HEAD_BYTES,
            unit.len - UNIT_BYTES_MORE);
    buf_truncate(out, at + unit.len - UNIT_BYTES_MORE);
    return 0;
}

int fs_read_all_sealed(struct fs *fs,
                       const char *path,
                       size_t bytes_max,
                       struct buf *out,
                       struct err *err)
{
    size_t at = out->len;
    int rc = fs_read_all(
        fs, path, bytes_max + SEALED_HEAD_BYTES + UNIT_BYTES_MORE, out, err);

    if (rc || out->len - at < SEALED_HEAD_BYTES ||
        memcmp(out->data + at, SEALED_MAGIC, 8) != 0)
        return rc;
    rc = unseal_file(fs_keyring(fs), out, at, err);
    if (rc)
        err_wrap(err, "%s", path);
    return rc;
}
