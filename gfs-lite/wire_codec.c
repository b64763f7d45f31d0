/* What the readers and writers of messages share. */
#include "gfs-lite/wire_codec.h"

int message_end(struct message_reader *m, const char *what, struct err *err)
{
    for (uint32_t i = m->known; i < m->count && !m->r.bad; i++)
        codec_skip(&m->r);
    return codec_done(&m->r) ? 0
                             : err_set(err, ERR_CORRUPT,
                                       "malformed %s of the file system", what);
}

void wire_put_servers(const struct gfs_server_set *s, struct buf *out)
{
    codec_put_array(out, s->count);
    for (size_t i = 0; i < s->count; i++)
        codec_put_u64(out, s->numbers[i]);
}

void wire_get_servers(struct codec_reader *r, struct gfs_server_set *s)
{
    s->count = (uint8_t)wire_get_count(r, GFS_REPLICAS_MAX);
    for (uint32_t i = 0; i < s->count; i++)
        s->numbers[i] = wire_get_u16(r);
}
