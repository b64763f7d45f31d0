/* Encoding and checking of frame headers: fixed offsets, so that reading a
 * header allocates nothing and a hostile one costs 72 bytes. */
#include "base/rpc/frame.h"

#include <string.h>

#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "base/rpc/rpc.h"
#include "base/rpc/security.h"

/* Offsets of the header's fields; integers are little-endian. */
enum {
    AT_MAGIC = 0,
    AT_VERSION = 4,
    AT_KIND = 5,
    AT_FLAGS = 6,
    AT_CALL_ID = 8,
    AT_METHOD = 16,
    AT_STATUS = 20,
    AT_DEADLINE = 24,
    AT_TRACE_ID = 32,
    AT_IDEMPOTENCY = 40,
    AT_BODY_BYTES = 48,
    AT_ATTACHMENT_BYTES = 52,
    AT_BODY_CRC = 56,
    AT_ATTACHMENT_CRC = 60,
    AT_SPAN_ID = 64,
    AT_HEADER_CRC = 68,
};

STATIC_ASSERT(AT_HEADER_CRC + 4 == FRAME_HEADER_BYTES, "header is 72 bytes");

size_t frame_attachment_bytes(const struct frame *f)
{
    size_t bytes = f->attachment.len + f->file_bytes;
    for (size_t i = 0; i < f->part_count; i++)
        bytes += f->parts[i].len;
    return bytes;
}

static uint32_t crc_of_attachment(const struct frame *f)
{
    uint32_t crc;
    if (f->attachment_crc_known)
        return f->attachment_crc;
    crc = crc32c(f->attachment.data, f->attachment.len);
    for (size_t i = 0; i < f->part_count; i++)
        crc = crc32c_extend(crc, f->parts[i].data, f->parts[i].len);
    return crc;
}

/* Bytes that precede the body: the trace, the length of act_as, and the name.
 */
static size_t front_bytes(const struct frame *f)
{
    return (f->is_wide ? FRAME_TRACE_BYTES : 0) +
           (f->act_as.len ? 1 + f->act_as.len : 0);
}

static char *put_trace(const struct frame *f, char *to)
{
    put_le64(to, f->trace.high);
    put_le64(to + 8, f->span_id);
    return to + FRAME_TRACE_BYTES;
}

size_t frame_head_bytes(const struct frame *f)
{
    return FRAME_HEADER_BYTES + front_bytes(f) + f->body.len;
}

static uint16_t flags_of(const struct frame *f)
{
    unsigned flags = f->flags;
    if (f->act_as.len)
        flags |= FRAME_ACT_AS;
    if (f->is_wide)
        flags |= FRAME_TRACE;
    return (uint16_t)flags;
}

/* @body_crc: of the body and of what is before it. */
static void
frame_encode_header(const struct frame *f, uint32_t body_crc, char *header)
{
    size_t body_bytes = front_bytes(f) + f->body.len;
    size_t attachment_bytes = frame_attachment_bytes(f);
    PRE(f->act_as.len <= RPC_NAME_BYTES_MAX);
    PRE(body_bytes <= FRAME_BODY_BYTES_MAX);
    PRE(attachment_bytes <= FRAME_ATTACHMENT_BYTES_MAX);
    put_le32(header + AT_MAGIC, FRAME_MAGIC);
    header[AT_VERSION] = FRAME_VERSION;
    header[AT_KIND] = (char)f->kind;
    put_le16(header + AT_FLAGS, flags_of(f));
    put_le64(header + AT_CALL_ID, f->call_id);
    put_le32(header + AT_METHOD, f->method);
    put_le32(header + AT_STATUS, (uint32_t)f->status);
    put_le64(header + AT_DEADLINE, f->deadline_us);
    put_le64(header + AT_TRACE_ID, f->trace.low);
    put_le64(header + AT_IDEMPOTENCY, f->idempotency_key);
    put_le32(header + AT_BODY_BYTES, (uint32_t)body_bytes);
    put_le32(header + AT_ATTACHMENT_BYTES, (uint32_t)attachment_bytes);
    put_le32(header + AT_BODY_CRC, body_crc);
    put_le32(header + AT_ATTACHMENT_CRC, crc_of_attachment(f));
    put_le32(header + AT_SPAN_ID, (uint32_t)f->span_id);
    put_le32(header + AT_HEADER_CRC, crc32c(header, AT_HEADER_CRC));
}

static char *put_bytes(char *to, struct slice s)
{
    if (s.len)
        memcpy(to, s.data, s.len);
    return to + s.len;
}

void frame_encode_head(const struct frame *f, char *head)
{
    char *body = head + FRAME_HEADER_BYTES;
    char *to = body;
    if (f->is_wide)
        to = put_trace(f, to);
    if (f->act_as.len)
        *to++ = (char)f->act_as.len;
    to = put_bytes(put_bytes(to, f->act_as), f->body);
    /* In one piece, as it lies there now. */
    frame_encode_header(f, crc32c(body, (size_t)(to - body)), head);
}

static int frame_take_trace(struct frame *f, struct err *err)
{
    if ((f->flags & FRAME_TRACE) == 0)
        return 0;
    if (f->kind != FRAME_REQUEST)
        return err_set(err, ERR_CORRUPT, "frame: a trace, and no request");
    if (f->body.len < FRAME_TRACE_BYTES)
        return err_set(err, ERR_CORRUPT, "frame: a trace longer than it");
    f->trace.high = get_le64(f->body.data);
    f->span_id = get_le64(f->body.data + 8);
    f->body = slice_sub(f->body, FRAME_TRACE_BYTES, f->body.len);
    return 0;
}

static int frame_take_act_as(struct frame *f, struct err *err)
{
    size_t len;
    if ((f->flags & FRAME_ACT_AS) == 0)
        return 0;
    if (f->kind != FRAME_REQUEST)
        return err_set(err, ERR_CORRUPT, "frame: a principal, and no request");
    len = f->body.len ? (unsigned char)f->body.data[0] : 0;
    if (len + 1 > f->body.len)
        return err_set(err, ERR_CORRUPT, "frame: a principal longer than it");
    f->act_as = slice_sub(f->body, 1, len + 1);
    f->body = slice_sub(f->body, len + 1, f->body.len);
    if (!rpc_name_is_valid(f->act_as))
        return err_set(err, ERR_CORRUPT, "frame: malformed principal");
    return 0;
}

int frame_take_front(struct frame *f, struct err *err)
{
    int rc = frame_take_trace(f, err);
    return rc ? rc : frame_take_act_as(f, err);
}

void frame_mark_shared(char header[FRAME_HEADER_BYTES])
{
    put_le16(header + AT_FLAGS, get_le16(header + AT_FLAGS) | FRAME_SHARED);
    put_le32(header + AT_HEADER_CRC, crc32c(header, AT_HEADER_CRC));
}

static int check_fixed_part(const char *header, struct err *err)
{
    unsigned version = (unsigned char)header[AT_VERSION];
    unsigned kind = (unsigned char)header[AT_KIND];

    if (get_le32(header + AT_MAGIC) != FRAME_MAGIC)
        return err_set(err, ERR_CORRUPT, "frame: bad magic %08x",
                       get_le32(header + AT_MAGIC));
    if (get_le32(header + AT_HEADER_CRC) != crc32c(header, AT_HEADER_CRC))
        return err_set(err, ERR_CORRUPT, "frame: bad checksum of the header");
    if (version != FRAME_VERSION)
        return err_set(err, ERR_UNSUPPORTED,
                       "frame: version %u, this program speaks %d", version,
                       FRAME_VERSION);
    if (kind < FRAME_REQUEST || kind > FRAME_PONG)
        return err_set(err, ERR_CORRUPT, "frame: unknown kind %u", kind);
    return 0;
}

int frame_decode_header(const char header[FRAME_HEADER_BYTES],
                        struct frame *f,
                        struct err *err)
{
    uint32_t body_bytes = get_le32(header + AT_BODY_BYTES);
    uint32_t attachment_bytes = get_le32(header + AT_ATTACHMENT_BYTES);
    int rc = check_fixed_part(header, err);

    if (rc)
        return rc;
    if (body_bytes > FRAME_BODY_BYTES_MAX)
        return err_set(err, ERR_TOOBIG, "frame: body of %u bytes, limit is %u",
                       body_bytes, FRAME_BODY_BYTES_MAX);
    if (attachment_bytes > FRAME_ATTACHMENT_BYTES_MAX)
        return err_set(err, ERR_TOOBIG,
                       "frame: attachment of %u bytes, limit is %u",
                       attachment_bytes, FRAME_ATTACHMENT_BYTES_MAX);
    *f = (struct frame){
        .kind = (enum frame_kind)(unsigned char)header[AT_KIND],
        .flags = get_le16(header + AT_FLAGS),
        .call_id = get_le64(header + AT_CALL_ID),
        .method = get_le32(header + AT_METHOD),
        .status = (int32_t)get_le32(header + AT_STATUS),
        .deadline_us = get_le64(header + AT_DEADLINE),
        .trace = {0, get_le64(header + AT_TRACE_ID)},
        .idempotency_key = get_le64(header + AT_IDEMPOTENCY),
        .span_id = get_le32(header + AT_SPAN_ID),
        .body = {NULL, body_bytes},
        .attachment = {NULL, attachment_bytes},
        .body_crc = get_le32(header + AT_BODY_CRC),
        .attachment_crc = get_le32(header + AT_ATTACHMENT_CRC),
    };
    return 0;
}

int frame_verify(const struct frame *f,
                 uint32_t body_crc,
                 uint32_t attachment_crc,
                 struct err *err)
{
    if (body_crc != f->body_crc)
        return err_set(err, ERR_CORRUPT, "frame: bad checksum of the body");
    if (attachment_crc != f->attachment_crc)
        return err_set(err, ERR_CORRUPT,
                       "frame: bad checksum of the attachment");
    return 0;
}
