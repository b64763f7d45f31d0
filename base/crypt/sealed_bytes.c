/* Small files, sealed as one unit. A CRC precedes the unit, so that damage
 * is told from a wrong key. */
#include "base/crypt/sealed_bytes.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/crypt/keyring.h"
#include "base/crypt/sealer.h"

#define SEALED_MAGIC      "QRYSEAL1"
#define SEALED_HEAD_BYTES ((size_t)12)
#define SEALED_PURPOSE    "quarry small file"

STATIC_ASSERT(SEALED_HEAD_BYTES + UNIT_BYTES_MORE == SEALED_BYTES_MORE,
              "on disk");

int sealed_bytes_put(struct keyring *k,
                     struct slice plain,
                     struct buf *out,
                     struct err *err)
{
    size_t bytes = plain.len + UNIT_BYTES_MORE;
    size_t at = out->len;
    struct unit_sealer *s;
    int rc = unit_sealer_new(k, SEALED_PURPOSE, &s, err);

    if (rc)
        return rc;
    buf_append(out, SEALED_MAGIC, 8);
    buf_put_le32(out, 0);
    unit_seal(s, SLICE_LIT(SEALED_MAGIC), plain, buf_extend(out, bytes));
    put_le32(out->data + at + 8,
             crc32c(out->data + at + SEALED_HEAD_BYTES, bytes));
    unit_sealer_free(s);
    return 0;
}

int sealed_bytes_open(struct keyring *k,
                      struct buf *b,
                      size_t at,
                      struct err *err)
{
    char *p = b->data + at;
    struct unit_opener *o;
    struct slice unit;
    int rc;

    if (b->len - at < SEALED_HEAD_BYTES || memcmp(p, SEALED_MAGIC, 8) != 0)
        return 0;
    unit = slice_make(p + SEALED_HEAD_BYTES, b->len - at - SEALED_HEAD_BYTES);
    if (unit.len < UNIT_BYTES_MORE ||
        get_le32(p + 8) != crc32c(unit.data, unit.len))
        return err_set(err, ERR_CORRUPT, "checksum mismatch");
    o = unit_opener_new(k, SEALED_PURPOSE);
    rc =
        unit_open(o, SLICE_LIT(SEALED_MAGIC), unit, p + SEALED_HEAD_BYTES, err);
    unit_opener_free(o);
    if (rc)
        return rc;
    memmove(p, p + SEALED_HEAD_BYTES, unit.len - UNIT_BYTES_MORE);
    buf_truncate(b, at + unit.len - UNIT_BYTES_MORE);
    return 0;
}
