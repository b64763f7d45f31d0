/* Where rewritten bytes go: into a buffer, or in pieces to a writer, so that a
 * body of any length takes little memory.
 *
 * Rewriters append to `pending` and call byte_sink_check() now and then, at
 * least once for each token. One thread.
 */
#ifndef WEB_REPLAY_BYTE_SINK_H
#define WEB_REPLAY_BYTE_SINK_H

#include "base/core/buf.h"
#include "base/core/err.h"

#define BYTE_SINK_PIECE_BYTES ((size_t)64 << 10)

struct byte_sink {
    struct buf pending; /* Without a writer, all of it. */
    /* Take a piece. NULL: there is no writer. May park. */
    int (*write)(void *ctx, struct slice piece, struct err *err);
    void *ctx;
    struct err *err; /* Of the writer; borrowed. */
    int rc;          /* Its first error; nothing is written after it. */
};

/* Hand the pending bytes to the writer if they are many. */
void byte_sink_check(struct byte_sink *s);
/* Append bytes of any number. */
void byte_sink_put(struct byte_sink *s, struct slice bytes);
/* Hand over the rest. Returns the writer's first error, or 0. */
MUST_CHECK int byte_sink_finish(struct byte_sink *s);

#endif /* WEB_REPLAY_BYTE_SINK_H */
