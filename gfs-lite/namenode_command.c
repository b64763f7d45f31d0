/* Commands and results as MessagePack arrays. Fields are only appended: logs of
 * older versions have fewer, and decoding leaves those that are missing empty.
 */
#include "gfs-lite/namenode_command.h"

#include "base/core/buf.h"
#include "gfs-lite/wire_codec.h"

#define COMMAND_FIELDS 20
/* Logs from before files had owners have fewer. */
#define COMMAND_FIELDS_OLD 17
#define RESULT_FIELDS      11
#define RESULT_FIELDS_OLD  10

bool gfs_op_is_for_clients(enum gfs_op op)
{
    return op >= GFS_OP_SESSION_OPEN && op <= GFS_OP_GRANT;
}

const char *gfs_op_name(enum gfs_op op)
{
    switch (op) {
    case GFS_OP_SESSION_OPEN: return "open session";
    case GFS_OP_SESSION_CLOSE: return "close session";
    case GFS_OP_MKDIRS: return "mkdir";
    case GFS_OP_CREATE: return "create";
    case GFS_OP_APPEND_OPEN: return "append";
    case GFS_OP_RENAME: return "rename";
    case GFS_OP_REMOVE: return "remove";
    case GFS_OP_SET_REPLICATION: return "set replication";
    case GFS_OP_SNAPSHOT: return "snapshot";
    case GFS_OP_SET_QUOTA: return "set quota";
    case GFS_OP_LOCK: return "lock";
    case GFS_OP_UNLOCK: return "unlock";
    case GFS_OP_ALLOCATE: return "allocate";
    case GFS_OP_CLOSE: return "close";
    case GFS_OP_SETTLE: return "settle";
    case GFS_OP_SET_MODE: return "set mode";
    case GFS_OP_SET_OWNER: return "set owner";
    case GFS_OP_GRANT: return "set grant";
    case GFS_OP_FENCE: return "fence";
    case GFS_OP_SEAL: return "seal";
    case GFS_OP_SESSION_EXPIRE: return "expire session";
    case GFS_OP_TRASH_EXPIRE: return "empty trash";
    case GFS_OP_SERVER_REGISTER: return "register server";
    case GFS_OP_SERVER_STATE: return "set server state";
    case GFS_OP_REAP: return "free removed files";
    case GFS_OP_COPY: return "copy a tree";
    case GFS_OP_REPLICATE: return "set replication";
    }
    return "?";
}

void gfs_command_put(const struct gfs_command *c, struct buf *out)
{
    codec_put_array(out, COMMAND_FIELDS);
    codec_put_u64(out, (uint64_t)c->op);
    codec_put_u64(out, c->session);
    codec_put_u64(out, c->sequence);
    codec_put_u64(out, c->answered);
    codec_put_u64(out, c->time_us);
    codec_put_bin(out, c->path);
    codec_put_bin(out, c->to);
    codec_put_bin(out, c->text);
    codec_put_u64(out, c->file);
    codec_put_u64(out, c->epoch);
    codec_put_u64(out, c->chunk);
    codec_put_u64(out, c->version);
    codec_put_u64(out, c->length);
    codec_put_u64(out, c->bytes);
    codec_put_u64(out, c->replication);
    codec_put_u64(out, c->flags);
    wire_put_servers(&c->servers, out);
    codec_put_bin(out, c->caller);
    codec_put_bin(out, c->roles);
    codec_put_u64(out, c->mode);
}

/* Fields that older commands lack. */
static void get_rights(struct message_reader *m, struct gfs_command *c)
{
    if (m->count < COMMAND_FIELDS)
        return;
    m->known = COMMAND_FIELDS;
    c->caller = message_bytes(&m->r, GFS_TEXT_BYTES_MAX);
    c->roles = message_bytes(&m->r, GFS_ROLES_BYTES_MAX);
    c->mode = message_u32(&m->r);
    m->r.bad |= c->mode > GFS_MODE_MAX;
}

int gfs_command_get(struct slice in, struct gfs_command *c, struct err *err)
{
    struct message_reader m = message_begin(in, COMMAND_FIELDS_OLD);
    *c = (struct gfs_command){.op = (enum gfs_op)message_u32(&m.r)};
    c->session = codec_get_u64(&m.r);
    c->sequence = codec_get_u64(&m.r);
    c->answered = codec_get_u64(&m.r);
    c->time_us = codec_get_u64(&m.r);
    c->path = message_bytes(&m.r, GFS_PATH_BYTES_MAX);
    c->to = message_bytes(&m.r, GFS_PATH_BYTES_MAX);
    c->text = message_bytes(&m.r, GFS_TEXT_BYTES_MAX);
    c->file = codec_get_u64(&m.r);
    c->epoch = codec_get_u64(&m.r);
    c->chunk = codec_get_u64(&m.r);
    c->version = codec_get_u64(&m.r);
    c->length = codec_get_u64(&m.r);
    c->bytes = codec_get_u64(&m.r);
    c->replication = message_u32(&m.r);
    c->flags = message_u32(&m.r);
    wire_get_servers(&m.r, &c->servers);
    get_rights(&m, c);
    return message_end(&m, "command of the file system", err);
}

void gfs_result_put(const struct gfs_result *r, struct buf *out)
{
    codec_put_array(out, RESULT_FIELDS);
    codec_put_i64(out, r->code);
    codec_put_bin(out, r->text);
    codec_put_bin(out, r->hint);
    codec_put_u64(out, r->session);
    codec_put_u64(out, r->file);
    codec_put_u64(out, r->epoch);
    codec_put_u64(out, r->chunk);
    codec_put_u64(out, r->version);
    codec_put_u64(out, r->length);
    wire_put_servers(&r->servers, out);
    wire_put_proof(&r->proof, out);
}

int gfs_result_get(struct slice in, struct gfs_result *out, struct err *err)
{
    struct message_reader m = message_begin(in, RESULT_FIELDS_OLD);
    int64_t code = codec_get_i64(&m.r);
    *out = (struct gfs_result){.code = (int)code};
    m.r.bad |= code > 0 || code < INT16_MIN;
    out->text = message_bytes(&m.r, MAX_OF(ERR_TEXT_BYTES, GFS_PATH_BYTES_MAX));
    out->hint = message_bytes(&m.r, ERR_HINT_BYTES);
    out->session = codec_get_u64(&m.r);
    out->file = codec_get_u64(&m.r);
    out->epoch = codec_get_u64(&m.r);
    out->chunk = codec_get_u64(&m.r);
    out->version = codec_get_u64(&m.r);
    out->length = codec_get_u64(&m.r);
    wire_get_servers(&m.r, &out->servers);
    if (m.count >= RESULT_FIELDS) {
        m.known = RESULT_FIELDS;
        wire_get_proof(&m.r, &out->proof);
    }
    return message_end(&m, "result of the file system", err);
}
