/* Few segments instead of many, and files that nobody needs.
 *
 * A run of segments of about a size becomes one, and is published by another
 * replacement of the manifest. Files that no manifest names any more are
 * removed when the next build begins: a search that runs meanwhile still reads
 * them. A build of all rows is private until it is merged, and removes its own
 * pieces.
 */
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "gfs-lite/fs.h"
#include "web/search/build/index_build.h"
#include "web/search/segment/index_view.h"
#include "web/search/segment/segment_merge.h"
#include "web/search/segment/segment_writer.h"

/* A segment is merged with the next older one if that has at most three times
 * its bytes: each document is written a logarithm of times. */
#define MERGE_RATIO 3
/* Merged segments get no larger: they are searched in parallel. */
#define MERGE_BYTES_MAX (UINT64_C(2) << 30)

/* --- merging ------------------------------------------------------------- */

/* The first segment of the newest run that should be one; segment_count:
 * none. */
static size_t merge_choice(const struct index_manifest *m, uint64_t live)
{
    size_t first = m->segment_count;
    uint64_t bytes = 0;
    uint64_t documents = 0;
    for (size_t i = 0; i < m->segment_count; i++)
        documents += m->segments[i].documents;
    if (m->segment_count > 1 && documents > 2 * live + 1000)
        return 0; /* Half of it is hidden. */
    while (first > 0) {
        uint64_t next = m->segments[first - 1].bytes;
        if (bytes &&
            (next > MERGE_RATIO * bytes || next + bytes > MERGE_BYTES_MAX))
            break;
        bytes += next;
        first--;
    }
    return first + 1 < m->segment_count ? first : m->segment_count;
}

static int
merge_run(struct index_build *b, const struct index_view *view, size_t first)
{
    struct segment_writer *w = NULL;
    uint64_t number;
    int rc = index_build_begin_segment(b, &w, &number, b->err);
    if (!rc)
        rc = segment_merge(view->parts + first, view->part_count - first,
                           first > 0, w, b->err);
    if (!rc) {
        struct index_segment s = index_segment_facts(number, w);
        b->manifest.segment_count = first;
        if (s.rows)
            index_manifest_add(&b->manifest, &s);
        if (!b->is_private)
            rc = index_manifest_write(b->opts->fs, b->directory, &b->manifest,
                                      b->err);
    }
    segment_writer_free(w);
    return rc;
}

int index_build_merge(struct index_build *b)
{
    for (;;) {
        struct index_view *view;
        size_t first;
        int rc = index_view_of(b->opts->fs, b->directory, &b->manifest,
                               b->cache, &view, b->err);
        if (rc)
            return rc;
        first = merge_choice(&b->manifest, view->live_documents);
        b->report->live_documents = view->live_documents;
        b->report->index_bytes = view->bytes;
        b->report->segment_count = view->part_count;
        if (first < view->part_count)
            rc = merge_run(b, view, first);
        index_view_close(view);
        if (rc || first >= b->report->segment_count)
            return rc;
    }
}

/* --- files --------------------------------------------------------------- */

static bool manifest_names(const struct index_manifest *m, uint64_t number)
{
    for (size_t i = 0; i < m->segment_count; i++)
        if (m->segments[i].number == number)
            return true;
    return false;
}

void index_build_clean(struct index_build *b, uint64_t from)
{
    struct buf path = BUF_INIT;
    char **names = NULL;
    size_t count = 0;
    if (fs_list(b->opts->fs, b->directory, &names, &count, NULL))
        return;
    for (size_t i = 0; i < count; i++) {
        char *end;
        uint64_t number = strtoull(names[i], &end, 10);
        if (end == names[i] || strcmp(end, ".segment") != 0 || number < from ||
            manifest_names(&b->manifest, number))
            continue;
        index_segment_path(b->directory, number, &path);
        int rc = fs_remove(b->opts->fs, buf_cstr(&path), NULL);
        (void)rc;
    }
    fs_names_free(names, count);
    buf_close(&path);
}
