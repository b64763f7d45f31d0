/* Fields that several messages share: sets of servers, which are bounded, and
 * proofs, which may be absent.
 */
#include "gfs-lite/wire_codec.h"

#include <string.h>

#include "gfs-lite/gfs_wire.h"

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

static void
put_servers(const struct message_field *f, const void *m, struct buf *out)
{
    wire_put_servers(field_of(f, m), out);
}

static void
get_servers(const struct message_field *f, struct codec_reader *r, void *m)
{
    wire_get_servers(r, field_in(f, m));
}

const struct message_kind gfs_field_path = {
    .put = field_put_bytes,
    .get = field_get_bounded,
    .member_bytes = sizeof(struct slice),
    .bytes_max = GFS_PATH_BYTES_MAX,
};
const struct message_kind gfs_field_text = {
    .put = field_put_bytes,
    .get = field_get_bounded,
    .member_bytes = sizeof(struct slice),
    .bytes_max = GFS_TEXT_BYTES_MAX,
};
const struct message_kind gfs_field_servers = {
    .put = put_servers,
    .get = get_servers,
    .member_bytes = sizeof(struct gfs_server_set),
};

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
