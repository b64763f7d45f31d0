/* The header of a frame alone, for tests that send it without its body. */
#ifndef TESTS_LIB_FRAME_HEADER_H
#define TESTS_LIB_FRAME_HEADER_H

#include <string.h>

#include "base/core/panic.h"
#include "base/rpc/frame.h"

static inline void frame_encode_header(const struct frame *f,
                                       char header[FRAME_HEADER_BYTES])
{
    char *head = mem_alloc(frame_head_bytes(f));
    frame_encode_head(f, head);
    memcpy(header, head, FRAME_HEADER_BYTES);
    mem_free(head);
}

#endif /* TESTS_LIB_FRAME_HEADER_H */
