/* Making an index, and bringing it up to date: what is there, what is to be
 * done, and one replacement of the manifest that publishes it.
 *
 * The lock is held from the first look to the last merge: one build at a time.
 */
#include "web/search/build/index_build.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "gfs-lite/fs.h"
#include "web/search/build/row_segments.h"
#include "web/search/search.h"
#include "web/search/segment/index_view.h"
#include "web/search/segment/paged_file.h"
#include "web/search/segment/segment_writer.h"

#define BUILD_CACHE_BYTES ((size_t)16 << 20)

/* --- families ------------------------------------------------------------ */

static int build_families(struct index_build *b)
{
    static const char *const needed[] = {"contents", "http", "meta"};
    static const char *const wanted[] = {"anchor", "rank"};
    for (size_t i = 0; i < ARRAY_LEN(needed); i++) {
        int rc = quarry_table_check_family(b->opts->table, needed[i], b->err);
        if (rc) {
            err_wrap(b->err, "%s is no table of web pages",
                     quarry_table_name(b->opts->table));
            return rc;
        }
        b->families[b->family_count++] = needed[i];
    }
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
        if (quarry_table_check_family(b->opts->table, wanted[i], NULL) == 0)
            b->families[b->family_count++] = wanted[i];
    return 0;
}

struct quarry_read_options index_build_read(const struct index_build *b,
                                            bool pages)
{
    return (struct quarry_read_options){
        .families = b->families + (pages ? 0 : 1),
        .family_count = b->family_count - (pages ? 0 : 1)};
}

/* --- segments ------------------------------------------------------------ */

int index_build_begin_segment(struct index_build *b,
                              struct segment_writer **out,
                              uint64_t *number,
                              struct err *err)
{
    struct buf path = BUF_INIT;
    int rc;
    mutex_lock(&b->lock);
    *number = b->manifest.next_number++; /* INV-1 */
    mutex_unlock(&b->lock);
    index_segment_path(b->directory, *number, &path);
    rc = segment_writer_new(b->opts->fs, buf_cstr(&path), out, err);
    buf_close(&path);
    return rc;
}

void index_build_add_segment(struct index_build *b,
                             const struct index_segment *s)
{
    mutex_lock(&b->lock);
    index_manifest_add(&b->manifest, s);
    mutex_unlock(&b->lock);
}

struct index_segment index_segment_facts(uint64_t number,
                                         const struct segment_writer *w)
{
    return (struct index_segment){.number = number,
                                  .rows = segment_writer_rows(w),
                                  .documents = segment_writer_documents(w),
                                  .bytes = segment_writer_bytes(w)};
}

static int place_begin(void *ctx, struct segment_writer **out, struct err *err)
{
    struct segment_place *p = ctx;
    return index_build_begin_segment(p->build, out, &p->number, err);
}

static int place_end(void *ctx, const struct segment_writer *w, struct err *err)
{
    struct segment_place *p = ctx;
    struct index_segment s = index_segment_facts(p->number, w);
    (void)err;
    index_build_add_segment(p->build, &s);
    return 0;
}

struct row_segments_options index_build_segments(struct segment_place *place,
                                                 size_t room)
{
    return (struct row_segments_options){.room_bytes = room,
                                         .begin = place_begin,
                                         .end = place_end,
                                         .ctx = place};
}

int index_build_count(struct index_build *b,
                      const struct search_progress *more,
                      struct err *err)
{
    const struct search_build_options *o = b->opts;
    int stop;
    mutex_lock(&b->lock);
    if (more) {
        b->report->done.rows += more->rows;
        b->report->done.rows_read += more->rows_read;
        b->report->done.documents += more->documents;
    }
    stop = o->progress ? o->progress(o->progress_ctx, &b->report->done) : 0;
    mutex_unlock(&b->lock);
    return stop ? err_set(err, ERR_CANCELLED, "the build was interrupted") : 0;
}

/* --- the build ----------------------------------------------------------- */

static int open_present(struct index_build *b)
{
    int rc =
        index_view_open(b->opts->fs, b->directory, b->cache, &b->view, b->err);
    if (rc == ERR_NOTFOUND || rc == ERR_UNSUPPORTED ||
        (rc && b->opts->from_scratch)) { /* None, or of another version. */
        b->view = NULL;
        rc = index_manifest_read(b->opts->fs, b->directory, &b->manifest, NULL);
        if (rc) {
            index_manifest_close(&b->manifest);
            b->manifest.next_number = 1;
            b->manifest.table = mem_strdup(quarry_table_name(b->opts->table));
        }
        err_init(b->err);
        return 0;
    }
    return rc ? rc
              : index_manifest_read(b->opts->fs, b->directory, &b->manifest,
                                    b->err);
}

static int build_rows(struct index_build *b)
{
    bool done = false;
    int rc;
    if (b->view) {
        rc = index_build_changed(b, &done);
        if (rc || done)
            return rc;
    }
    index_build_mark_changes(b);
    if (b->view && !b->opts->from_scratch)
        return index_build_compared(b);
    return index_build_all(b);
}

static int build_publish(struct index_build *b)
{
    if (b->manifest.segment_count > INDEX_SEGMENTS_MAX) {
        int rc = err_set(b->err, ERR_TOOBIG, "%zu segments, more than %d",
                         b->manifest.segment_count, INDEX_SEGMENTS_MAX);
        err_hint(b->err, "more memory (--memory) makes them larger");
        return rc;
    }
    buf_clear(&b->manifest.token);
    buf_append_slice(&b->manifest.token, buf_slice(&b->token));
    b->manifest.updated_us = world_now_us(b->opts->world);
    return index_manifest_write(b->opts->fs, b->directory, &b->manifest,
                                b->err);
}

/* All rows were read: merge what came of it, publish the result, and remove the
 * pieces, which nobody has seen. */
static int build_merged(struct index_build *b)
{
    int rc = index_build_merge(b);
    if (!rc)
        rc = build_publish(b);
    if (!rc)
        index_build_clean(b, b->first_number);
    return rc;
}

/* Rows that changed are found from now on, before segments are merged. */
static int build_published(struct index_build *b)
{
    int rc = build_publish(b);
    return rc ? rc : index_build_merge(b);
}

static int build_locked(struct index_build *b)
{
    int rc = open_present(b);
    if (!rc)
        rc = build_families(b);
    if (rc)
        return rc;
    index_build_clean(b, 0);
    b->first_number = b->manifest.next_number;
    rc = build_rows(b);
    index_view_close(b->view);
    b->view = NULL;
    if (rc)
        return rc;
    b->is_private = b->report->way == SEARCH_BUILD_ALL;
    return b->is_private ? build_merged(b) : build_published(b);
}

void search_directory(const char *table, struct buf *out)
{
    buf_clear(out);
    buf_printf(out, "search/%s", table);
}

int search_build(const struct search_build_options *opts,
                 struct search_build_report *out,
                 struct err *err)
{
    struct index_build b = {.opts = opts, .report = out, .err = err};
    struct buf directory = BUF_INIT;
    struct buf lock_path = BUF_INIT;
    struct fs_lock *lock = NULL;
    struct err own = ERR_INIT;
    int rc;
    if (!b.err)
        b.err = &own;
    *out = (struct search_build_report){.words = 0};
    search_directory(quarry_table_name(opts->table), &directory);
    b.directory = buf_cstr(&directory);
    mutex_init(&b.lock);
    b.cache = page_cache_new(BUILD_CACHE_BYTES);
    buf_printf(&lock_path, "%s/LOCK", b.directory);
    rc = fs_mkdirs(opts->fs, b.directory, b.err);
    if (!rc)
        rc = fs_lock(opts->fs, buf_cstr(&lock_path), &lock, b.err);
    if (!rc)
        rc = build_locked(&b);
    if (rc)
        err_wrap(b.err, "search index of %s", quarry_table_name(opts->table));
    fs_unlock(lock);
    index_view_close(b.view);
    index_manifest_close(&b.manifest);
    page_cache_free(b.cache);
    mutex_close(&b.lock);
    buf_close(&b.token);
    buf_close(&directory);
    buf_close(&lock_path);
    return rc;
}

int search_drop(struct fs *fs, const char *table, struct err *err)
{
    struct index_manifest m;
    struct buf directory = BUF_INIT;
    int rc;
    search_directory(table, &directory);
    rc = index_manifest_read(fs, buf_cstr(&directory), &m, err);
    index_manifest_close(&m);
    if (rc == ERR_NOTFOUND)
        rc = err_set(err, rc, "%s has no search index", table);
    else /* A damaged one may be dropped. */
        rc = fs_remove_tree(fs, buf_cstr(&directory), err);
    buf_close(&directory);
    return rc;
}
