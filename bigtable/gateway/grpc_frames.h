/* Frames of a connection as its bytes come in: what HTTP/2 asks to be refused
 * and nghttp2 skips, as it keeps neither priorities nor closed streams here.
 * Pure.
 */
#ifndef BIGTABLE_GATEWAY_GRPC_FRAMES_H
#define BIGTABLE_GATEWAY_GRPC_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"

#define GRPC_FRAME_HEAD_BYTES 9
#define GRPC_PRIORITY_BYTES   5

/* Zeros at first. */
struct grpc_frames {
    uint64_t seen; /* Bytes of the connection; the preface comes first. */
    char head[GRPC_FRAME_HEAD_BYTES + GRPC_PRIORITY_BYTES];
    size_t head_len; /* Of a PRIORITY frame, with its payload. */
    size_t left;     /* Of the payload. */
    size_t event_at; /* Of GRPC_FRAME_DATA: where its head begins among the
                        bytes given, 0 if before. */
    int32_t stream;  /* Of GRPC_FRAME_DATA. */
};

enum grpc_frame_event {
    GRPC_FRAME_NOTHING,
    GRPC_FRAME_DATA,         /* A DATA frame begins, at `event_at`. */
    GRPC_FRAME_BAD_PRIORITY, /* Of no stream, or that depends on itself. */
};

/* Walk over @bytes, which came next, up to the first event or to their end;
 * returns how many of them that is. */
size_t grpc_frames_watch(struct grpc_frames *f,
                         struct slice bytes,
                         enum grpc_frame_event *event);

#endif /* BIGTABLE_GATEWAY_GRPC_FRAMES_H */
