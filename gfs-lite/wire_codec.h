/* Fields that several messages of the file system share, beyond
 * base/rpc/rpc_message.h. Private to wire_*.c and namenode_command.c.
 */
#ifndef GFS_LITE_WIRE_CODEC_H
#define GFS_LITE_WIRE_CODEC_H

#include "base/core/err.h"
#include "base/rpc/rpc_message.h"
#include "gfs-lite/namenode_command.h"

/* A set of server numbers. More than GFS_REPLICAS_MAX make the reader fail. */
void wire_put_servers(const struct gfs_server_set *s, struct buf *out);
void wire_get_servers(struct codec_reader *r, struct gfs_server_set *s);
/* A proof, or empty bytes for none. */
void wire_put_proof(const struct gfs_proof *p, struct buf *out);
void wire_get_proof(struct codec_reader *r, struct gfs_proof *p);

#endif /* GFS_LITE_WIRE_CODEC_H */
