/* Fields that several messages of the file system share, beyond
 * base/rpc/rpc_message.h. Private to wire_*.c and namenode_command.c.
 */
#ifndef GFS_LITE_WIRE_CODEC_H
#define GFS_LITE_WIRE_CODEC_H

#include "base/core/err.h"
#include "base/rpc/rpc_message.h"
#include "gfs-lite/namenode_command.h"

/* Kinds of fields (message_code.h): paths, texts, sets of servers. */
#define PUT_PATH(member) codec_put_bin(out, m->member);
#define GET_PATH(member) m->member = message_bytes(&in.r, GFS_PATH_BYTES_MAX);

#define PUT_TEXT(member) codec_put_bin(out, m->member);
#define GET_TEXT(member) m->member = message_bytes(&in.r, GFS_TEXT_BYTES_MAX);

#define PUT_SERVERS(member) wire_put_servers(&m->member, out);
#define GET_SERVERS(member) wire_get_servers(&in.r, &m->member);

/* A set of server numbers. More than GFS_REPLICAS_MAX make the reader fail. */
void wire_put_servers(const struct gfs_server_set *s, struct buf *out);
void wire_get_servers(struct codec_reader *r, struct gfs_server_set *s);
/* A proof, or empty bytes for none. */
void wire_put_proof(const struct gfs_proof *p, struct buf *out);
void wire_get_proof(struct codec_reader *r, struct gfs_proof *p);

#endif /* GFS_LITE_WIRE_CODEC_H */
