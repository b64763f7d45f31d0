/* Encoding and decoding of messages of chunk servers: to each other, to
 * clients, and heartbeats with their reports and orders. Messages are
 * MessagePack arrays; the replicas of a report are varints without a header for
 * each, because there may be a million.
 */
#include <string.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/coding.h"
#include "gfs-lite/gfs_wire.h"
#include "gfs-lite/wire_codec.h"

#define CALL_FIELDS       9
#define CALL_FIELDS_PROOF 8
#define CALL_FIELDS_OLD   7
#define ANSWER_FIELDS     11
#define ORDERS_FIELDS     5
#define ORDERS_FIELDS_OLD 4
#define KEY_FIELDS        2
#define ORDER_FIELDS      5

/* Flags of a replica in a report. */
enum {
    REPLICA_SEALED = 1,
    REPLICA_DAMAGED = 2,
    REPLICA_GONE = 4,
};

static void put_texts(const struct slice *texts, size_t count, struct buf *out)
{
    codec_put_array(out, (uint32_t)count);
    for (size_t i = 0; i < count; i++)
        codec_put_bin(out, texts[i]);
}

static size_t get_texts(struct codec_reader *r, struct slice *texts)
{
    size_t count = message_count(r, GFS_REPLICAS_MAX);
    for (size_t i = 0; i < count; i++)
        texts[i] = message_bytes(r, GFS_TEXT_BYTES_MAX);
    return count;
}

/* --- calls --------------------------------------------------------------- */

void chunk_call_put(const struct chunk_call *c, struct buf *out)
{
    codec_put_array(out, CALL_FIELDS);
    codec_put_u64(out, c->handle);
    codec_put_u64(out, c->version);
    codec_put_u64(out, c->new_version);
    codec_put_u64(out, c->offset);
    codec_put_u64(out, c->length);
    codec_put_u64(out, c->flags);
    put_texts(c->chain, c->chain_count, out);
    wire_put_proof(&c->proof, out);
    codec_put_u64(out, c->own_id);
}

int chunk_call_get(struct slice in, struct chunk_call *c, struct err *err)
{
    struct message_reader m = message_begin(in, CALL_FIELDS_OLD);
    c->handle = codec_get_u64(&m.r);
    c->version = message_u32(&m.r);
    c->new_version = message_u32(&m.r);
    c->offset = codec_get_u64(&m.r);
    c->length = codec_get_u64(&m.r);
    c->flags = message_u32(&m.r);
    c->chain_count = get_texts(&m.r, c->chain);
    c->proof.there = false;
    c->own_id = 0;
    if (m.count >= CALL_FIELDS_PROOF) {
        m.known = CALL_FIELDS_PROOF;
        wire_get_proof(&m.r, &c->proof);
    }
    if (m.count >= CALL_FIELDS) {
        m.known = CALL_FIELDS;
        c->own_id = codec_get_u64(&m.r);
    }
    m.r.bad |= c->offset > GFS_CHUNK_BYTES || c->length > GFS_CHUNK_BYTES;
    return message_end(&m, "call for a chunk", err);
}

void chunk_answer_put(const struct chunk_answer *a, struct buf *out)
{
    codec_put_array(out, ANSWER_FIELDS);
    codec_put_i64(out, a->code);
    codec_put_bin(out, a->text);
    codec_put_bin(out, a->failed);
    codec_put_u64(out, a->length);
    codec_put_u64(out, a->offset);
    codec_put_u64(out, a->version);
    codec_put_u64(out, a->tail_crc);
    codec_put_bool(out, a->sealed);
    codec_put_bin(out, a->socket);
    codec_put_u64(out, a->token);
    codec_put_bool(out, a->found);
}

int chunk_answer_get(struct slice in, struct chunk_answer *a, struct err *err)
{
    struct message_reader m = message_begin(in, ANSWER_FIELDS);
    int64_t code = codec_get_i64(&m.r);
    m.r.bad |= code > 0 || code < INT16_MIN;
    a->code = (int)code;
    a->text = message_bytes(&m.r, ERR_TEXT_BYTES);
    a->failed = message_bytes(&m.r, GFS_TEXT_BYTES_MAX);
    a->length = codec_get_u64(&m.r);
    a->offset = codec_get_u64(&m.r);
    a->version = message_u32(&m.r);
    a->tail_crc = message_u32(&m.r);
    a->sealed = codec_get_bool(&m.r);
    a->socket = message_bytes(&m.r, GFS_PATH_BYTES_MAX);
    a->token = codec_get_u64(&m.r);
    a->found = codec_get_bool(&m.r);
    m.r.bad |= a->length > GFS_CHUNK_BYTES || a->offset > GFS_CHUNK_BYTES;
    return message_end(&m, "answer about a chunk", err);
}

/* --- reports ------------------------------------------------------------- */

void gfs_replica_put(const struct gfs_replica *r, struct buf *out)
{
    buf_put_varint(out, r->handle);
    buf_put_varint(out, r->version);
    buf_put_varint(out, r->length);
    buf_put_u8(out, (uint8_t)((r->sealed ? REPLICA_SEALED : 0) |
                              (r->damaged ? REPLICA_DAMAGED : 0) |
                              (r->gone ? REPLICA_GONE : 0)));
}

bool gfs_replica_get(struct slice *in, struct gfs_replica *r, bool *bad)
{
    struct cursor c = cursor_make(*in);
    uint64_t version;
    uint64_t length;
    uint8_t flags;
    *bad = false;
    if (in->len == 0)
        return false;
    r->handle = cursor_varint(&c);
    version = cursor_varint(&c);
    length = cursor_varint(&c);
    flags = cursor_u8(&c);
    *bad = c.bad || version > UINT32_MAX || length > GFS_CHUNK_BYTES;
    r->version = (uint32_t)version;
    r->length = (uint32_t)length;
    r->sealed = flags & REPLICA_SEALED;
    r->damaged = flags & REPLICA_DAMAGED;
    r->gone = flags & REPLICA_GONE;
    *in = slice_make(c.p, cursor_left(&c));
    return !*bad;
}

/* --- orders -------------------------------------------------------------- */

static void put_order(const struct gfs_order *o, struct buf *out)
{
    codec_put_array(out, ORDER_FIELDS);
    codec_put_u64(out, (uint64_t)o->kind);
    codec_put_u64(out, o->handle);
    codec_put_u64(out, o->version);
    codec_put_u64(out, o->length);
    put_texts(o->sources, o->source_count, out);
}

static void get_order(struct codec_reader *r, struct gfs_order *o)
{
    uint32_t kind;
    message_part(r, ORDER_FIELDS);
    kind = message_u32(r);
    r->bad |= kind < GFS_ORDER_DELETE || kind > GFS_ORDER_SEAL;
    o->kind = (enum gfs_order_kind)kind;
    o->handle = codec_get_u64(r);
    o->version = message_u32(r);
    o->length = message_u32(r);
    o->source_count = get_texts(r, o->sources);
    r->bad |= o->length > GFS_CHUNK_BYTES;
}

void gfs_orders_put(const struct gfs_orders *o, struct buf *out)
{
    codec_put_array(out, ORDERS_FIELDS);
    codec_put_u64(out, o->number);
    codec_put_bool(out, o->send_full);
    codec_put_u64(out, o->next_handle);
    codec_put_array(out, (uint32_t)o->count);
    for (size_t i = 0; i < o->count; i++)
        put_order(&o->orders[i], out);
    codec_put_array(out, (uint32_t)o->key_count);
    for (size_t i = 0; i < o->key_count; i++) {
        codec_put_array(out, KEY_FIELDS);
        codec_put_u64(out, o->keys[i].id);
        codec_put_bin(out, slice_make(o->keys[i].secret, RPC_MAC_KEY_BYTES));
    }
}

static void get_keys(struct codec_reader *r, struct gfs_orders *o)
{
    o->key_count = message_count(r, PROOF_KEYS_MAX);
    for (size_t i = 0; i < o->key_count && !r->bad; i++) {
        struct slice secret;
        message_part(r, KEY_FIELDS);
        o->keys[i].id = message_u32(r);
        secret = codec_get_bytes(r);
        r->bad |= secret.len != RPC_MAC_KEY_BYTES;
        if (!r->bad)
            memcpy(o->keys[i].secret, secret.data, RPC_MAC_KEY_BYTES);
    }
}

int gfs_orders_get(struct slice in,
                   struct arena *a,
                   struct gfs_orders *o,
                   struct err *err)
{
    struct message_reader m = message_begin(in, ORDERS_FIELDS_OLD);
    o->number = message_u16(&m.r);
    o->send_full = codec_get_bool(&m.r);
    o->next_handle = codec_get_u64(&m.r);
    o->count = message_count(&m.r, GFS_ORDERS_MAX);
    o->orders = arena_zalloc(a, (o->count + 1) * sizeof(*o->orders));
    for (size_t i = 0; i < o->count; i++)
        get_order(&m.r, &o->orders[i]);
    o->key_count = 0;
    if (m.count >= ORDERS_FIELDS) {
        m.known = ORDERS_FIELDS;
        get_keys(&m.r, o);
    }
    return message_end(&m, "orders of the file system", err);
}
