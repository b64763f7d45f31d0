/* Walking over HTTP/2 frames before nghttp2 sees them, across the borders of
 * reads: it tells what a peer is about to do in time to bound it.
 */
#include "bigtable/gateway/grpc_frames.h"

#include <string.h>

#include "base/core/coding.h"
#include "base/core/macros.h"
#include "base/core/panic.h"

/* "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" */
#define PREFACE_BYTES 24
#define TYPE_DATA     0
#define TYPE_PRIORITY 2
#define STREAM_MASK   UINT32_C(0x7fffffff)

static size_t payload_of(const struct grpc_frames *f)
{
    return get_be32(f->head) >> 8;
}

static bool is_priority(const struct grpc_frames *f)
{
    return f->head[3] == TYPE_PRIORITY && payload_of(f) == GRPC_PRIORITY_BYTES;
}

static bool is_sound(const struct grpc_frames *f)
{
    uint32_t stream = get_be32(f->head + 5) & STREAM_MASK;
    uint32_t parent = get_be32(f->head + GRPC_FRAME_HEAD_BYTES) & STREAM_MASK;
    return stream != 0 && stream != parent;
}

static struct slice
grpc_frames_gather(struct grpc_frames *f, struct slice bytes, size_t to)
{
    size_t n = MIN_OF(to - f->head_len, bytes.len);
    PRE(f->head_len <= to);
    PRE(to <= sizeof(f->head));
    memcpy(f->head + f->head_len, bytes.data, n);
    f->head_len += n;
    return slice_sub(bytes, n, bytes.len);
}

/* Take the head of a frame; that of PRIORITY is kept for its payload. */
static struct slice
take_head(struct grpc_frames *f, struct slice bytes, enum grpc_frame_event *e)
{
    bytes = grpc_frames_gather(f, bytes, GRPC_FRAME_HEAD_BYTES);
    if (f->head_len < GRPC_FRAME_HEAD_BYTES)
        return bytes;
    f->left = payload_of(f);
    if (is_priority(f))
        return bytes;
    f->head_len = 0;
    f->stream = (int32_t)(get_be32(f->head + 5) & STREAM_MASK);
    if (f->head[3] == TYPE_DATA)
        *e = GRPC_FRAME_DATA;
    return bytes;
}

static struct slice take_priority(struct grpc_frames *f,
                                  struct slice bytes,
                                  enum grpc_frame_event *e)
{
    PRE(f->head_len >= GRPC_FRAME_HEAD_BYTES);
    bytes = grpc_frames_gather(f, bytes, sizeof(f->head));
    if (f->head_len < sizeof(f->head))
        return bytes;
    if (!is_sound(f))
        *e = GRPC_FRAME_BAD_PRIORITY;
    f->head_len = f->left = 0;
    return bytes;
}

static struct slice
grpc_frames_skip(struct slice bytes, size_t count, size_t *done)
{
    *done = MIN_OF(count, bytes.len);
    return slice_sub(bytes, *done, bytes.len);
}

size_t grpc_frames_watch(struct grpc_frames *f,
                         struct slice bytes,
                         enum grpc_frame_event *event)
{
    size_t all = bytes.len;
    size_t done;
    *event = GRPC_FRAME_NOTHING;
    f->event_at = 0;
    if (f->seen < PREFACE_BYTES) {
        bytes = grpc_frames_skip(bytes, PREFACE_BYTES - f->seen, &done);
        f->seen += done;
    }
    while (bytes.len && *event == GRPC_FRAME_NOTHING) {
        if (f->head_len >= GRPC_FRAME_HEAD_BYTES) {
            bytes = take_priority(f, bytes, event);
        } else if (f->left) {
            bytes = grpc_frames_skip(bytes, f->left, &done);
            f->left -= done;
        } else {
            if (f->head_len == 0)
                f->event_at = all - bytes.len;
            bytes = take_head(f, bytes, event);
        }
    }
    return all - bytes.len;
}
