/* Coding of calls about a cell's members, and making one over a connection of
 * its own: the caller is in no cell yet, or a person.
 */
#include "base/replica/cell_call.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/rpc/codec.h"
#include "base/rpc/remote.h"

#define REQUEST_FIELDS 4
#define VIEW_FIELDS    10
#define MEMBER_FIELDS  5
#define CONNECT_US     UINT64_C(2000000)

static void skip_rest(struct codec_reader *c, uint32_t count, uint32_t known)
{
    PRE(known > 0);
    for (uint32_t i = known; i < count; i++)
        codec_skip(c);
}

/* A text that cannot be an address leaves the reader bad. */
static void get_address(struct codec_reader *c, char out[256])
{
    struct slice s = codec_get_bytes(c);
    if (s.len >= 256 || slice_find_byte(s, '\0') != s.len)
        c->bad = true;
    else if (s.len)
        memcpy(out, s.data, s.len);
    POST(out[255] == '\0');
}

void cell_request_put(const struct cell_request *q, struct buf *out)
{
    PRE(q->verb >= CELL_ASK && q->verb <= CELL_LEAD);
    codec_put_array(out, REQUEST_FIELDS);
    codec_put_u64(out, q->cell);
    codec_put_u64(out, q->verb);
    codec_put_u64(out, q->id);
    codec_put_str(out, slice_str(q->address));
}

int cell_request_get(struct slice bytes,
                     struct cell_request *out,
                     struct err *err)
{
    struct codec_reader c = codec_reader_make(bytes);
    uint32_t count = codec_get_array(&c);
    uint64_t verb;
    memset(out, 0, sizeof(*out));
    out->cell = codec_get_u64(&c);
    verb = codec_get_u64(&c);
    out->id = codec_get_u64(&c);
    get_address(&c, out->address);
    skip_rest(&c, count, REQUEST_FIELDS);
    if (!codec_done(&c) || count < REQUEST_FIELDS || verb < CELL_ASK ||
        verb > CELL_LEAD)
        return err_set(err, ERR_CORRUPT, "a call about members: malformed");
    out->verb = (enum cell_verb)verb;
    return 0;
}

static void
put_member(const struct replica_status *s, size_t i, struct buf *out)
{
    PRE(i < s->member_count);
    codec_put_array(out, MEMBER_FIELDS);
    codec_put_u64(out, s->members[i].id);
    codec_put_bool(out, s->members[i].voting);
    codec_put_str(out, slice_str(s->members[i].address));
    codec_put_u64(out, s->members[i].match_index);
    codec_put_bool(out, s->members[i].reachable);
}

void cell_view_put(const struct cell_view *v, struct buf *out)
{
    const struct replica_status *s = &v->status;
    PRE(s->member_count <= REPLICA_MEMBERS_MAX);
    codec_put_array(out, VIEW_FIELDS);
    codec_put_u64(out, s->role);
    codec_put_u64(out, v->list);
    codec_put_u64(out, s->id);
    codec_put_u64(out, s->term);
    codec_put_u64(out, s->leader_id);
    codec_put_u64(out, s->last_index);
    codec_put_u64(out, s->commit_index);
    codec_put_u64(out, s->applied_index);
    codec_put_u64(out, s->snapshot_index);
    codec_put_array(out, (uint32_t)s->member_count);
    for (size_t i = 0; i < s->member_count; i++)
        put_member(s, i, out);
}

static void
get_member(struct codec_reader *c, struct replica_status *s, size_t i)
{
    uint32_t count = codec_get_array(c);
    PRE(i < REPLICA_MEMBERS_MAX);
    s->members[i].id = codec_get_u64(c);
    s->members[i].voting = codec_get_bool(c);
    get_address(c, s->members[i].address);
    s->members[i].match_index = codec_get_u64(c);
    s->members[i].reachable = codec_get_bool(c);
    skip_rest(c, count, MEMBER_FIELDS);
    if (s->members[i].id == s->leader_id)
        memcpy(s->leader_address, s->members[i].address,
               sizeof(s->leader_address));
}

int cell_view_get(struct slice bytes, struct cell_view *out, struct err *err)
{
    struct codec_reader c = codec_reader_make(bytes);
    struct replica_status *s = &out->status;
    uint32_t count = codec_get_array(&c);
    uint64_t role;
    uint32_t members;
    memset(out, 0, sizeof(*out));
    role = codec_get_u64(&c);
    out->list = codec_get_u64(&c);
    s->id = codec_get_u64(&c);
    s->term = codec_get_u64(&c);
    s->leader_id = codec_get_u64(&c);
    s->last_index = codec_get_u64(&c);
    s->commit_index = codec_get_u64(&c);
    s->applied_index = codec_get_u64(&c);
    s->snapshot_index = codec_get_u64(&c);
    members = codec_get_array(&c);
    for (; s->member_count < MIN_OF(members, REPLICA_MEMBERS_MAX);
         s->member_count++)
        get_member(&c, s, s->member_count);
    skip_rest(&c, count, VIEW_FIELDS);
    if (!codec_done(&c) || count < VIEW_FIELDS || role > REPLICA_OUTSIDE ||
        members > REPLICA_MEMBERS_MAX)
        return err_set(err, ERR_CORRUPT, "an answer about members: malformed");
    s->role = (enum replica_role)role;
    POST(s->member_count <= REPLICA_MEMBERS_MAX);
    return 0;
}

int cell_call(const char *to,
              const struct rpc_security *security,
              uint32_t method,
              uint64_t timeout_us,
              const struct cell_request *q,
              struct cell_view *view,
              struct err *err)
{
    struct rpc_channel_options o = {.security = security,
                                    .connect_timeout_us =
                                        MIN_OF(timeout_us, CONNECT_US)};
    struct rpc_call_options call = {.timeout_us = timeout_us};
    struct rpc_channel *channel = rpc_channel_new(to, &o);
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    int rc;
    PRE(!view || q->verb == CELL_ASK);
    cell_request_put(q, &body);
    rc = rpc_call(channel, REPLICA_CELL_METHOD(method), &call, buf_slice(&body),
                  SLICE_EMPTY, &reply, NULL, err);
    if (rc == 0 && q->verb == CELL_ASK && view)
        rc = cell_view_get(buf_slice(&reply), view, err);
    rpc_channel_free(channel);
    buf_close(&body);
    buf_close(&reply);
    return rc;
}
