/* Commands and results as MessagePack arrays. */
#include "gfs-lite/command.h"

#include "base/core/buf.h"
#include "base/rpc/codec.h"

#define COMMAND_FIELDS 17
#define RESULT_FIELDS  10

bool gfs_op_is_for_clients(enum gfs_op op)
{
    return op >= GFS_OP_SESSION_OPEN && op <= GFS_OP_CLOSE;
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
    case GFS_OP_FENCE: return "fence";
    case GFS_OP_SEAL: return "seal";
    case GFS_OP_SESSION_EXPIRE: return "expire session";
    case GFS_OP_TRASH_EXPIRE: return "empty trash";
    case GFS_OP_SERVER_REGISTER: return "register server";
    case GFS_OP_SERVER_STATE: return "set server state";
    }
    return "?";
}

static void put_servers(const struct gfs_server_set *s, struct buf *out)
{
    codec_put_array(out, s->count);
    for (size_t i = 0; i < s->count; i++)
        codec_put_u64(out, s->numbers[i]);
}

static void get_servers(struct codec_reader *r, struct gfs_server_set *s)
{
    uint32_t count = codec_get_array(r);
    if (count > GFS_REPLICAS_MAX) {
        r->bad = true;
        return;
    }
    s->count = (uint8_t)count;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t number = codec_get_u64(r);
        r->bad |= number > UINT16_MAX;
        s->numbers[i] = (uint16_t)number;
    }
}

static struct slice get_text(struct codec_reader *r, size_t bytes_max)
{
    struct slice s = codec_get_bytes(r);
    r->bad |= s.len > bytes_max;
    return s;
}

static uint32_t get_u32(struct codec_reader *r)
{
    uint64_t v = codec_get_u64(r);
    r->bad |= v > UINT32_MAX;
    return (uint32_t)v;
}

/* The fields a newer writer has added. */
static void skip_rest(struct codec_reader *r, uint32_t count, uint32_t known)
{
    r->bad |= count < known;
    for (; count > known && !r->bad; count--)
        codec_skip(r);
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
    put_servers(&c->servers, out);
}

int gfs_command_get(struct slice in, struct gfs_command *c, struct err *err)
{
    struct codec_reader r = codec_reader_make(in);
    uint32_t count = codec_get_array(&r);
    *c = (struct gfs_command){.op = (enum gfs_op)get_u32(&r)};
    c->session = codec_get_u64(&r);
    c->sequence = codec_get_u64(&r);
    c->answered = codec_get_u64(&r);
    c->time_us = codec_get_u64(&r);
    c->path = get_text(&r, GFS_PATH_BYTES_MAX);
    c->to = get_text(&r, GFS_PATH_BYTES_MAX);
    c->text = get_text(&r, GFS_TEXT_BYTES_MAX);
    c->file = codec_get_u64(&r);
    c->epoch = codec_get_u64(&r);
    c->chunk = codec_get_u64(&r);
    c->version = codec_get_u64(&r);
    c->length = codec_get_u64(&r);
    c->bytes = codec_get_u64(&r);
    c->replication = get_u32(&r);
    c->flags = get_u32(&r);
    get_servers(&r, &c->servers);
    skip_rest(&r, count, COMMAND_FIELDS);
    return codec_done(&r) ? 0
                          : err_set(err, ERR_CORRUPT,
                                    "malformed command of "
                                    "the file system");
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
    put_servers(&r->servers, out);
}

int gfs_result_get(struct slice in, struct gfs_result *out, struct err *err)
{
    struct codec_reader r = codec_reader_make(in);
    uint32_t count = codec_get_array(&r);
    int64_t code = codec_get_i64(&r);
    *out = (struct gfs_result){.code = (int)code};
    r.bad |= code > 0 || code < INT16_MIN;
    out->text = get_text(&r, ERR_TEXT_BYTES);
    out->hint = get_text(&r, ERR_HINT_BYTES);
    out->session = codec_get_u64(&r);
    out->file = codec_get_u64(&r);
    out->epoch = codec_get_u64(&r);
    out->chunk = codec_get_u64(&r);
    out->version = codec_get_u64(&r);
    out->length = codec_get_u64(&r);
    get_servers(&r, &out->servers);
    skip_rest(&r, count, RESULT_FIELDS);
    return codec_done(&r) ? 0
                          : err_set(err, ERR_CORRUPT,
                                    "malformed answer of "
                                    "the file system");
}
