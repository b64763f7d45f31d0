/* One segment after the other, each a stream that is cut into pages here. A
 * segment that breaks off leaves a file that no manifest names.
 */
#include "web/search/build/segment_intake.h"

#include "base/core/panic.h"
#include "web/search/build/index_build.h"
#include "web/search/segment/paged_file.h"
#include "web/search/segment/segment_reader.h"

struct search_intake {
    struct index_build *build;
    struct paged_writer *file; /* Owned; NULL: no segment was begun. */
    struct buf path;
    uint64_t number; /* Of that segment. */
    uint64_t rows;
    uint64_t words;
};

static int intake_add(struct search_intake *t, struct err *err)
{
    struct index_build *b = t->build;
    struct segment *s = NULL;
    int rc = segment_open(b->opts->fs, buf_cstr(&t->path), b->cache, &s, err);
    if (!rc) {
        struct index_segment facts = {.number = t->number,
                                      .rows = s->row_count,
                                      .documents = s->document_count,
                                      .bytes = paged_writer_offset(t->file)};
        struct search_progress more = {.documents = s->document_count};
        index_build_add_segment(b, &facts);
        rc = index_build_count(b, &more, err);
    }
    segment_close(s);
    return rc;
}

/* Complete the segment that was begun, if one was. */
static int intake_end(struct search_intake *t, struct err *err)
{
    int rc = 0;
    if (!t->file)
        return 0;
    rc = paged_writer_finish(t->file, err);
    if (!rc)
        rc = intake_add(t, err);
    paged_writer_free(t->file);
    t->file = NULL;
    return rc;
}

int search_intake_segment(struct search_intake *t, struct err *err)
{
    struct index_build *b = t->build;
    int rc = intake_end(t, err);
    if (rc)
        return rc;
    t->number = b->manifest.next_number++;
    index_segment_path(b->directory, t->number, &t->path);
    return paged_writer_new(b->opts->fs, buf_cstr(&t->path), &t->file, err);
}

int search_intake_bytes(struct search_intake *t,
                        struct slice bytes,
                        struct err *err)
{
    PRE(t->file);
    return paged_writer_append(t->file, bytes, err);
}

void search_intake_count(struct search_intake *t, uint64_t rows, uint64_t words)
{
    t->rows += rows;
    t->words += words;
}

int segment_intake_run(struct index_build *b)
{
    struct search_intake t = {.build = b};
    int rc = b->opts->make(b->opts->make_ctx, b->families, b->family_count, &t,
                           b->err);
    if (!rc)
        rc = intake_end(&t, b->err);
    paged_writer_free(t.file);
    buf_close(&t.path);
    b->report->done.rows += t.rows;
    b->report->done.rows_read += t.rows;
    b->report->words += t.words;
    return rc;
}
