/* Making an index, and bringing it up to date.
 *
 * An update finds the rows that changed in one of two ways: by the changes that
 * the table keeps, or by comparing each row's signature with the one that the
 * index has of it, which takes a scan of all but the pages. Times of cells tell
 * nothing: they are those of captures, and old archives are imported late.
 *
 * New segments are published by one replacement of the manifest; then segments
 * of about a size are merged into one, and published again. Files that no
 * manifest names any more are removed when the next build begins: a search that
 * runs meanwhile still reads them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "gfs-lite/fs.h"
#include "web/search/build/inverter.h"
#include "web/search/build/page_document.h"
#include "web/search/search.h"
#include "web/search/segment/index_manifest.h"
#include "web/search/segment/index_view.h"
#include "web/search/segment/paged_file.h"
#include "web/search/segment/segment_merge.h"
#include "web/search/segment/segment_writer.h"

#define BUILD_MEMORY_BYTES ((size_t)256 << 20)
#define BUILD_CACHE_BYTES  ((size_t)16 << 20)
/* Rows that are read with their pages at once. */
#define BUILD_BATCH_ROWS 16
/* Keys of changed rows kept in memory; beyond it rows are compared. */
#define BUILD_KEY_BYTES_MAX ((size_t)256 << 20)
/* A segment is merged with the next older one if that has at most three times
 * its bytes: each document is written a logarithm of times. */
#define MERGE_RATIO 3
/* Merged segments get no larger: they are searched in parallel. */
#define MERGE_BYTES_MAX (UINT64_C(2) << 30)

struct index_build {
    const struct search_build_options *opts;
    const char *directory;
    struct index_manifest manifest; /* As it will be published. */
    struct page_cache *cache;
    struct index_view *view; /* The index as it was; NULL: none. */
    struct inverter *inverter;
    struct row_document_reader *reader;
    const char *families[8]; /* All that documents are made of. */
    size_t family_count;
    struct buf token; /* Of the changes, for the next update. */
    struct search_build_report *report;
    struct err *err;
};

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

/* Families of a read, with or without the pages. */
static struct quarry_read_options build_read(const struct index_build *b,
                                             bool pages)
{
    return (struct quarry_read_options){
        .families = b->families + (pages ? 0 : 1),
        .family_count = b->family_count - (pages ? 0 : 1)};
}

/* --- segments ------------------------------------------------------------ */

static int begin_segment(struct index_build *b,
                         struct segment_writer **out,
                         uint64_t *number)
{
    struct buf path = BUF_INIT;
    int rc;
    *number = b->manifest.next_number++;
    index_segment_path(b->directory, *number, &path);
    rc = segment_writer_new(b->opts->fs, buf_cstr(&path), out, b->err);
    buf_close(&path);
    return rc;
}

static struct index_segment segment_facts(uint64_t number,
                                          const struct segment_writer *w)
{
    return (struct index_segment){.number = number,
                                  .rows = segment_writer_rows(w),
                                  .documents = segment_writer_documents(w),
                                  .bytes = segment_writer_bytes(w)};
}

static int flush_segment(struct index_build *b)
{
    struct segment_writer *w = NULL;
    uint64_t number;
    int rc;
    if (inverter_rows(b->inverter) == 0)
        return 0;
    rc = begin_segment(b, &w, &number);
    if (!rc)
        rc = inverter_flush(b->inverter, w, b->err);
    if (!rc) {
        struct index_segment s = segment_facts(number, w);
        index_manifest_add(&b->manifest, &s);
    }
    segment_writer_free(w);
    return rc;
}

/* --- rows ---------------------------------------------------------------- */

static int build_tell(struct index_build *b)
{
    const struct search_build_options *o = b->opts;
    if (o->progress && o->progress(o->progress_ctx, &b->report->done))
        return err_set(b->err, ERR_CANCELLED, "the build was interrupted");
    return 0;
}

/* @row has its pages. @known: the index has the row. */
static int
build_row(struct index_build *b, const struct quarry_row *row, bool known)
{
    size_t room =
        b->opts->memory_bytes ? b->opts->memory_bytes : BUILD_MEMORY_BYTES;
    int rc = 0;
    b->report->done.rows_read++;
    b->report->done.documents += row_documents_put(
        b->reader, row, known || row_has_pages(row), b->inverter);
    if (inverter_bytes(b->inverter) >= room)
        rc = flush_segment(b);
    if (!rc && b->report->done.rows_read % 64 == 0)
        rc = build_tell(b);
    return rc;
}

static void build_removed(struct index_build *b, struct slice key)
{
    inverter_row(b->inverter, key, 0);
    b->report->rows_removed++;
}

/* Every row, into an index that begins empty. */
static int build_all(struct index_build *b)
{
    struct quarry_read_options read = build_read(b, true);
    struct quarry_scanner *rows = NULL;
    const struct quarry_row *row = NULL;
    int rc = quarry_scan(b->opts->table, &read, &rows, b->err);
    b->report->way = SEARCH_BUILD_ALL;
    b->manifest.segment_count = 0;
    while (!rc) {
        rc = quarry_scanner_next(rows, &row, b->err);
        if (rc || !row)
            break;
        b->report->done.rows++;
        rc = build_row(b, row, false);
    }
    quarry_scanner_close(rows);
    return rc;
}

/* --- rows that changed --------------------------------------------------- */

/* Rows to be read with their pages, by ascending keys. */
struct row_batch {
    struct index_build *build;
    struct slice keys[BUILD_BATCH_ROWS]; /* In the arena. */
    bool known[BUILD_BATCH_ROWS];
    uint32_t documents[BUILD_BATCH_ROWS]; /* Of known ones, as it was. */
    size_t count;
    struct arena arena;
};

static int batch_run(struct row_batch *t)
{
    struct index_build *b = t->build;
    struct quarry_read_options read = build_read(b, true);
    struct quarry_row *rows[BUILD_BATCH_ROWS] = {NULL};
    int rc = 0;
    if (t->count)
        rc = quarry_read_rows(b->opts->table, t->keys, t->count, &read, rows,
                              b->err);
    for (size_t i = 0; i < t->count && !rc; i++) {
        if (rows[i])
            rc = build_row(b, rows[i], t->known[i]);
        else if (t->known[i] && t->documents[i])
            build_removed(b, t->keys[i]);
    }
    for (size_t i = 0; i < t->count; i++)
        quarry_row_free(rows[i]);
    t->count = 0;
    arena_reset(&t->arena);
    return rc;
}

static int
batch_add(struct row_batch *t, struct slice key, bool known, uint32_t documents)
{
    t->keys[t->count] = arena_dup(&t->arena, key);
    t->known[t->count] = known;
    t->documents[t->count] = documents;
    return ++t->count == BUILD_BATCH_ROWS ? batch_run(t) : 0;
}

/* The place in the index beside a scan of the table. */
struct compare {
    struct row_batch batch;
    struct index_rows rows;
    struct slice key;
    uint64_t signature;
    uint32_t documents;
    bool has;
};

static void compare_step(struct compare *c)
{
    c->has = index_rows_next(&c->rows, &c->key, &c->signature, &c->documents);
}

/* The index has the row and the table does not. Rows come in order: the batch
 * goes first. */
static int compare_removed(struct compare *c)
{
    int rc = 0;
    if (c->documents) {
        rc = batch_run(&c->batch);
        if (!rc)
            build_removed(c->batch.build, c->key);
    }
    compare_step(c);
    return rc;
}

/* @row: all but its pages. */
static int compare_row(struct compare *c, const struct quarry_row *row)
{
    int rc = 0;
    while (!rc && c->has && slice_cmp(c->key, row->key) < 0)
        rc = compare_removed(c);
    if (rc)
        return rc;
    if (c->has && slice_eq(c->key, row->key)) {
        if (c->signature != row_signature(row))
            rc = batch_add(&c->batch, row->key, true, c->documents);
        compare_step(c);
    } else if (row_has_pages(row)) {
        rc = batch_add(&c->batch, row->key, false, 0);
    }
    return rc;
}

static int build_compare(struct index_build *b)
{
    struct quarry_read_options read = build_read(b, false);
    struct compare c = {.batch = {.build = b}};
    struct quarry_scanner *rows = NULL;
    const struct quarry_row *row = NULL;
    int rc = quarry_scan(b->opts->table, &read, &rows, b->err);
    b->report->way = SEARCH_BUILD_COMPARE;
    arena_init(&c.batch.arena);
    index_rows_begin(&c.rows, b->view);
    compare_step(&c);
    while (!rc) {
        rc = quarry_scanner_next(rows, &row, b->err);
        if (rc || !row)
            break;
        b->report->done.rows++;
        rc = compare_row(&c, row);
        if (!rc && b->report->done.rows % 1024 == 0)
            rc = build_tell(b);
    }
    while (!rc && c.has)
        rc = compare_removed(&c);
    if (!rc)
        rc = batch_run(&c.batch);
    quarry_scanner_close(rows);
    index_rows_close(&c.rows);
    arena_close(&c.batch.arena);
    return rc;
}

/* --- by changes ---------------------------------------------------------- */

struct changed_rows {
    struct hash_map keys;
    size_t bytes;
};

static int changed_read(struct index_build *b,
                        struct quarry_changes *from,
                        struct changed_rows *out)
{
    const struct quarry_change *list;
    size_t count;
    int rc;
    for (;;) {
        rc = quarry_changes_next(from, 0, &list, &count, b->err);
        if (rc || count == 0)
            return rc;
        for (size_t i = 0; i < count; i++) {
            bool added;
            (void)hash_map_put(&out->keys, list[i].row, &added);
            if (added)
                out->bytes += list[i].row.len + sizeof(struct hash_slot);
        }
        if (out->bytes > BUILD_KEY_BYTES_MAX)
            return err_set(b->err, ERR_EXHAUSTED, "too many rows changed");
        rc = build_tell(b);
        if (rc)
            return rc;
    }
}

static int by_key(const void *a, const void *b)
{
    return slice_cmp(*(const struct slice *)a, *(const struct slice *)b);
}

static int changed_run(struct index_build *b, const struct changed_rows *r)
{
    struct slice *keys = mem_alloc((r->keys.count + 1) * sizeof(*keys));
    struct row_batch batch = {.build = b};
    struct hash_slot *slot;
    size_t at = 0;
    size_t count = 0;
    int rc = 0;
    arena_init(&batch.arena);
    while ((slot = hash_map_next(&r->keys, &at)) != NULL)
        keys[count++] = slot->key;
    qsort(keys, count, sizeof(*keys), by_key);
    for (size_t i = 0; i < count && !rc; i++) {
        uint32_t row;
        const struct index_part *p = index_view_row(b->view, keys[i], &row);
        const uint32_t *documents = p ? p->segment->row_documents : NULL;
        b->report->done.rows++;
        rc = batch_add(&batch, keys[i], p != NULL,
                       p ? documents[row + 1] - documents[row] : 0);
    }
    if (!rc)
        rc = batch_run(&batch);
    arena_close(&batch.arena);
    mem_free(keys);
    return rc;
}

/* Open the changes from where the index is; *@out is NULL where it cannot be
 * brought up to date by them. */
static int changes_open(struct index_build *b, struct quarry_changes **out)
{
    struct quarry_changes_options o = {.token = buf_slice(&b->manifest.token)};
    struct err err = ERR_INIT;
    *out = NULL;
    if (b->manifest.token.len == 0 || b->opts->compare ||
        b->opts->from_scratch || !b->view)
        return 0;
    if (quarry_changes_open(b->opts->table, &o, out, &err))
        *out = NULL; /* Not kept any more, or not from there on. */
    return 0;
}

/* Remember from where on the next update looks, if changes are kept. */
static void changes_mark(struct index_build *b)
{
    struct quarry_changes *c = NULL;
    struct err err = ERR_INIT;
    buf_clear(&b->token);
    if (quarry_changes_open(b->opts->table, NULL, &c, &err))
        return;
    quarry_changes_token(c, &b->token);
    quarry_changes_close(c);
}

/* Find the rows by changes; *@done is false if they do not tell. */
static int build_changes(struct index_build *b, bool *done)
{
    struct changed_rows rows = {.bytes = 0};
    struct quarry_changes *from;
    int rc = changes_open(b, &from);
    *done = false;
    if (rc || !from)
        return rc;
    hash_map_init(&rows.keys, HASH_KEYS_COPIED);
    rc = changed_read(b, from, &rows);
    if (rc == 0) {
        b->report->way = SEARCH_BUILD_CHANGES;
        buf_clear(&b->token);
        quarry_changes_token(from, &b->token);
        rc = changed_run(b, &rows);
        *done = true;
    } else if (rc == ERR_EXHAUSTED) {
        rc = 0;
    }
    hash_map_close(&rows.keys);
    quarry_changes_close(from);
    return rc;
}

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
    int rc = begin_segment(b, &w, &number);
    if (!rc)
        rc = segment_merge(view->parts + first, view->part_count - first,
                           first > 0, w, b->err);
    if (!rc) {
        struct index_segment s = segment_facts(number, w);
        b->manifest.segment_count = first;
        if (s.rows)
            index_manifest_add(&b->manifest, &s);
        rc = index_manifest_write(b->opts->fs, b->directory, &b->manifest,
                                  b->err);
    }
    segment_writer_free(w);
    return rc;
}

static int build_merges(struct index_build *b)
{
    for (;;) {
        struct index_view *view;
        size_t first;
        int rc =
            index_view_open(b->opts->fs, b->directory, b->cache, &view, b->err);
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

/* Remove segments that the manifest does not name. The next build tries again
 * where that fails. */
static void remove_old_segments(struct index_build *b)
{
    struct buf path = BUF_INIT;
    char **names = NULL;
    size_t count = 0;
    if (fs_list(b->opts->fs, b->directory, &names, &count, NULL))
        return;
    for (size_t i = 0; i < count; i++) {
        char *end;
        uint64_t number = strtoull(names[i], &end, 10);
        if (end == names[i] || strcmp(end, ".segment") != 0 ||
            manifest_names(&b->manifest, number))
            continue;
        index_segment_path(b->directory, number, &path);
        int rc = fs_remove(b->opts->fs, buf_cstr(&path), NULL);
        (void)rc;
    }
    fs_names_free(names, count);
    buf_close(&path);
}

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
        rc = build_changes(b, &done);
        if (rc || done)
            return rc;
    }
    changes_mark(b);
    if (b->view && !b->opts->from_scratch)
        return build_compare(b);
    return build_all(b);
}

static int build_publish(struct index_build *b)
{
    buf_clear(&b->manifest.token);
    buf_append_slice(&b->manifest.token, buf_slice(&b->token));
    b->manifest.updated_us = world_now_us(b->opts->world);
    return index_manifest_write(b->opts->fs, b->directory, &b->manifest,
                                b->err);
}

static int build_locked(struct index_build *b)
{
    int rc = open_present(b);
    if (!rc)
        rc = build_families(b);
    if (!rc)
        rc = row_document_reader_new(&b->reader, b->err);
    if (rc)
        return rc;
    b->inverter = inverter_new();
    remove_old_segments(b);
    rc = build_rows(b);
    if (!rc)
        rc = flush_segment(b);
    if (!rc)
        rc = build_publish(b);
    b->report->words = inverter_words(b->inverter);
    index_view_close(b->view);
    b->view = NULL;
    if (!rc)
        rc = build_merges(b);
    return rc;
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
    inverter_free(b.inverter);
    row_document_reader_free(b.reader);
    page_cache_free(b.cache);
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
