/* The reader of documents and the inverter together, with a bound. Where the
 * segments go, to a file or to a job's output, is the caller's.
 */
#include "web/search/build/row_segments.h"

#include "base/core/panic.h"
#include "web/search/build/inverter.h"
#include "web/search/build/page_document.h"
#include "web/search/segment/segment_writer.h"

struct row_segments {
    struct row_segments_options opts;
    struct row_document_reader *reader; /* Owned, as the inverter. */
    struct inverter *inverter;
    uint64_t documents;
};

int row_segments_new(const struct row_segments_options *opts,
                     struct row_segments **out,
                     struct err *err)
{
    struct row_segments *r = mem_zalloc(1, sizeof(*r));
    int rc = row_document_reader_new(&r->reader, err);
    r->opts = *opts;
    if (!r->opts.room_bytes)
        r->opts.room_bytes = ROW_SEGMENTS_ROOM_BYTES;
    r->inverter = inverter_new();
    if (rc) {
        row_segments_free(r);
        r = NULL;
    }
    *out = r;
    return rc;
}

void row_segments_free(struct row_segments *r)
{
    if (!r)
        return;
    row_document_reader_free(r->reader);
    inverter_free(r->inverter);
    mem_free(r);
}

int row_segments_flush(struct row_segments *r, struct err *err)
{
    struct segment_writer *w = NULL;
    int rc;
    if (inverter_rows(r->inverter) == 0)
        return 0;
    rc = r->opts.begin(r->opts.ctx, &w, err);
    if (!rc)
        rc = inverter_flush(r->inverter, w, err);
    if (!rc)
        rc = r->opts.end(r->opts.ctx, w, err);
    segment_writer_free(w);
    return rc;
}

/* Make room for the next row. */
static int keep_room(struct row_segments *r, struct err *err)
{
    return inverter_bytes(r->inverter) >= r->opts.room_bytes
               ? row_segments_flush(r, err)
               : 0;
}

int row_segments_put(struct row_segments *r,
                     const struct quarry_row *row,
                     bool known,
                     struct err *err)
{
    r->documents += row_documents_put(r->reader, row,
                                      known || row_has_pages(row), r->inverter);
    return keep_room(r, err);
}

int row_segments_remove(struct row_segments *r,
                        struct slice key,
                        struct err *err)
{
    inverter_row(r->inverter, key, 0);
    return keep_room(r, err);
}

uint64_t row_segments_documents(const struct row_segments *r)
{
    return r->documents;
}

uint64_t row_segments_words(const struct row_segments *r)
{
    return inverter_words(r->inverter);
}
