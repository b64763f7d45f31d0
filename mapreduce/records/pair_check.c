/* Checksums of blocks verified in passing, without their contents: a worker
 * that stores spills of others must not merge what the network damaged. */
#include "mapreduce/records/pair_check.h"

#include <string.h>

#include "base/core/crc32c.h"
#include "base/core/macros.h"
#include "base/core/panic.h"

static struct slice pair_check_take(struct slice *rest, size_t most)
{
    size_t n = MIN_OF(rest->len, most);
    struct slice s = slice_sub(*rest, 0, n);
    *rest = slice_sub(*rest, n, rest->len);
    return s;
}

static int
take_header(struct pair_check *c, struct slice *rest, struct err *err)
{
    struct pair_block_header h;
    struct slice s =
        pair_check_take(rest, BLOCK_HEADER_BYTES - c->header_bytes);
    int rc;
    memcpy(c->header + c->header_bytes, s.data, s.len);
    c->header_bytes += s.len;
    if (c->header_bytes < BLOCK_HEADER_BYTES)
        return 0;
    rc = pair_block_header_decode(c->header, &h, err);
    if (rc)
        return rc;
    c->left = h.stored_bytes;
    c->want = h.crc;
    c->crc = crc32c(c->header, 12);
    return 0;
}

int pair_check_feed(struct pair_check *c, struct slice bytes, struct err *err)
{
    PRE(c->header_bytes <= BLOCK_HEADER_BYTES); /* INV-1 */
    int rc = 0;
    while (bytes.len > 0 && rc == 0) {
        struct slice s;
        if (c->header_bytes < BLOCK_HEADER_BYTES) {
            rc = take_header(c, &bytes, err);
            continue;
        }
        s = pair_check_take(&bytes, c->left);
        c->crc = crc32c_extend(c->crc, s.data, s.len);
        c->left -= (uint32_t)s.len;
        INVARIANT(c->left <= BLOCK_BYTES_MAX);
        if (c->left > 0)
            continue;
        if (c->crc != c->want)
            rc = err_set(err, ERR_CORRUPT, "block with a wrong checksum");
        c->header_bytes = 0;
    }
    return rc;
}

int pair_check_end(const struct pair_check *c, struct err *err)
{
    return c->header_bytes == 0 ? 0
                                : err_set(err, ERR_CORRUPT, "cut in a block");
}
