/* The frame: the unit in which calls travel between processes.
 *
 *     frame = header (72 bytes) body attachment
 *
 * The body is MessagePack (codec.h); the attachment is raw bytes that nobody
 * parses or copies on the way: a block of a file, a batch of cells. The header
 * has its own checksum, so that a length is used only after it was verified;
 * body and attachment have their own. docs/protocols.md has the same grammar
 * with a worked example.
 *
 * Pure: no I/O. Threads: any.
 */
#ifndef BASE_RPC_FRAME_H
#define BASE_RPC_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"
#include "base/trace/trace_id.h"

#define FRAME_MAGIC        UINT32_C(0x43505251) /* "QRPC" */
#define FRAME_VERSION      1
#define FRAME_HEADER_BYTES 72
#define FRAME_PLACE_BYTES  8
#define FRAME_TRACE_BYTES  16

/* Largest body: messages are small, bulk goes into attachments. */
#define FRAME_BODY_BYTES_MAX ((uint32_t)16 << 20)
/* Largest attachment: a chunk's worth of cells, or the 256 MiB message that
 * clients of the public API may send. */
#define FRAME_ATTACHMENT_BYTES_MAX ((uint32_t)256 << 20)

enum frame_kind {
    FRAME_REQUEST = 1,
    FRAME_RESPONSE = 2, /* `status` tells the outcome. */
    FRAME_CANCEL = 3,   /* The caller of `call_id` has given up. Not
                           answered. */
    FRAME_PING = 4,     /* Answered by FRAME_PONG with the same call_id. */
    FRAME_PONG = 5,
};

enum frame_flags {
    FRAME_SAMPLED = 1, /* Collect a trace of what this call does. */
    FRAME_SHARED = 2,  /* The attachment is in shared memory, and its place,
                          8 bytes, follows instead: shared_ring.h. */
    FRAME_ACT_AS = 4,  /* The body is preceded by one byte, the length of a
                          name, and the name. Requests only. */
    FRAME_TRACE = 8,   /* Before all that come 16 bytes: the high half of the
                          trace id, and the caller's span id. Requests only, to
                          peers of protocol version 2. */
};

struct file;

struct frame {
    enum frame_kind kind;
    uint16_t flags;        /* FRAME_* flags. */
    uint64_t call_id;      /* Unique among calls in flight of a connection. */
    uint32_t method;       /* Of the service's method table; requests. */
    int32_t status;        /* 0 or ERR_*; responses. */
    uint64_t deadline_us;  /* Time left to the caller; 0: none. Relative,
                              because clocks of machines differ. */
    struct trace_id trace; /* The same along a tree of calls. */
    uint64_t span_id;      /* The caller's, in that tree; 0: none. */
    bool is_wide;          /* To send: ids in full, by FRAME_TRACE; else only
                              their low 64 and 32 bits. */
    uint64_t
        idempotency_key;     /* The same in all tries of a mutation; 0: none. */
    struct slice act_as;     /* "": the caller itself. Borrowed. */
    struct slice body;       /* Borrowed. */
    struct slice attachment; /* Borrowed. */
    const struct slice *parts; /* To send: further parts of the attachment. */
    size_t part_count;
    struct file *file; /* To send: NULL, or the whole attachment is the range
                          below, and its checksum is known. */
    uint64_t file_offset;
    size_t file_bytes;
    uint32_t body_crc; /* As received: for frame_verify(). */
    uint32_t attachment_crc;
    bool attachment_crc_known; /* To send: not to be computed. */
};

/* The length of header, act_as and body together, and their bytes; the
 * attachment follows them on the wire. PRE: body (with act_as) and attachment
 * are within their limits. */
size_t frame_head_bytes(const struct frame *f);
void frame_encode_head(const struct frame *f, char *head);
/* Set FRAME_SHARED in a header that was written. */
void frame_mark_shared(char header[FRAME_HEADER_BYTES]);
size_t frame_attachment_bytes(const struct frame *f); /* With its parts. */

/* Read a header: everything but the bytes of body and attachment, whose lengths
 * are set in @f (their data is NULL). Errors: ERR_CORRUPT (magic, checksum,
 * kind), ERR_UNSUPPORTED (version), ERR_TOOBIG (a length). */
MUST_CHECK int frame_decode_header(const char header[FRAME_HEADER_BYTES],
                                   struct frame *f,
                                   struct err *err);

/* Split trace and act_as from the front of a received and verified body.
 * Errors: ERR_CORRUPT (no valid ids or name, or not a request). */
MUST_CHECK int frame_take_front(struct frame *f, struct err *err);

/* Compare checksums of the received bytes with those in the header. Errors:
 * ERR_CORRUPT names the part. */
MUST_CHECK int frame_verify(const struct frame *f,
                            uint32_t body_crc,
                            uint32_t attachment_crc,
                            struct err *err);

#endif /* BASE_RPC_FRAME_H */
