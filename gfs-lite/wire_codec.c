/* Fields that several messages share: sets of servers, which are bounded, and
 * proofs, which may be absent.
 */
#include "gfs-lite/wire_codec.h"

#include <string.h>

void wire_put_servers(const struct gfs_server_set *s, struct buf *out)
{
    codec_put_array(out, s->count);
    for (size_t i = 0; i < s->count; i++)
        codec_put_u64(out, s->numbers[i]);
}

void wire_get_servers(struct codec_reader *r, struct gfs_server_set *s)
{
    s->count = (uint8_t)message_count(r, GFS_REPLICAS_MAX);
    for (uint32_t i = 0; i < s->count; i++)
        s->numbers[i] = message_u16(r);
}

void wire_put_proof(const struct gfs_proof *p, struct buf *out)
{
    codec_put_bin(out,
                  p->there ? slice_make(p->bytes, PROOF_BYTES) : SLICE_EMPTY);
}

void wire_get_proof(struct codec_reader *r, struct gfs_proof *p)
{
    struct slice bytes = codec_get_bytes(r);
    r->bad |= bytes.len != 0 && bytes.len != PROOF_BYTES;
    p->there = !r->bad && bytes.len > 0;
    if (p->there)
        memcpy(p->bytes, bytes.data, PROOF_BYTES);
}
