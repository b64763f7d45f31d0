/* Rows into segments whose bytes go to a function, in pieces, so that tasks of
 * a job can hand them on as records.
 */
#include "web/search/search_segments.h"

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "web/search/build/row_segments.h"
#include "web/search/segment/segment_writer.h"

struct search_segments {
    struct row_segments *rows; /* Owned. */
    search_piece_fn fn;
    void *ctx;
    struct buf piece; /* Not handed out yet. */
    uint32_t segment;
};

static void hand_out(struct search_segments *s)
{
    if (s->piece.len)
        s->fn(s->ctx, s->segment, buf_slice(&s->piece));
    buf_clear(&s->piece);
}

static int take_bytes(void *ctx, struct slice bytes, struct err *err)
{
    struct search_segments *s = ctx;
    (void)err;
    while (bytes.len) {
        size_t n = MIN_OF(bytes.len, SEARCH_PIECE_BYTES - s->piece.len);
        buf_append_slice(&s->piece, slice_sub(bytes, 0, n));
        bytes = slice_sub(bytes, n, bytes.len);
        if (s->piece.len == SEARCH_PIECE_BYTES)
            hand_out(s);
    }
    return 0;
}

static int begin_stream(void *ctx, struct segment_writer **out, struct err *err)
{
    (void)err;
    *out = segment_writer_to(take_bytes, ctx);
    return 0;
}

static int
end_stream(void *ctx, const struct segment_writer *w, struct err *err)
{
    struct search_segments *s = ctx;
    (void)w;
    (void)err;
    hand_out(s);
    s->segment++;
    return 0;
}

int search_segments_new(size_t memory_bytes,
                        search_piece_fn fn,
                        void *ctx,
                        struct search_segments **out,
                        struct err *err)
{
    struct search_segments *s = mem_zalloc(1, sizeof(*s));
    const struct row_segments_options o = {.room_bytes = memory_bytes,
                                           .begin = begin_stream,
                                           .end = end_stream,
                                           .ctx = s};
    int rc = row_segments_new(&o, &s->rows, err);
    s->fn = fn;
    s->ctx = ctx;
    if (rc) {
        search_segments_free(s);
        s = NULL;
    }
    *out = s;
    return rc;
}

void search_segments_free(struct search_segments *s)
{
    if (!s)
        return;
    row_segments_free(s->rows);
    buf_close(&s->piece);
    mem_free(s);
}

int search_segments_put(struct search_segments *s,
                        const struct quarry_row *row,
                        struct err *err)
{
    return row_segments_put(s->rows, row, false, err);
}

int search_segments_end(struct search_segments *s, struct err *err)
{
    return row_segments_flush(s->rows, err);
}

uint64_t search_segments_documents(const struct search_segments *s)
{
    return row_segments_documents(s->rows);
}

uint64_t search_segments_words(const struct search_segments *s)
{
    return row_segments_words(s->rows);
}
