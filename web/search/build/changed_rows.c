/* The rows of a table that changed since an index was made, and reading them.
 *
 * They are found by the changes that the table keeps, or by comparing each
 * row's signature with the one that the index has of it, which takes a scan of
 * all but the pages. Times of cells tell nothing: they are those of captures,
 * and old archives are imported late.
 */
#include <stdlib.h>

#include "base/core/arena.h"
#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "web/search/build/index_build.h"
#include "web/search/build/page_document.h"
#include "web/search/build/row_segments.h"
#include "web/search/segment/index_view.h"

/* Rows that are read with their pages at once. */
#define BUILD_BATCH_ROWS 16
/* Keys of changed rows kept in memory; beyond it rows are compared. */
#define BUILD_KEY_BYTES_MAX ((size_t)256 << 20)
/* Rows looked at between two reports. */
#define BUILD_TELL_ROWS 1024

/* --- reading rows -------------------------------------------------------- */

/* Where rows that are read go. */
struct changed_build {
    struct index_build *build;
    struct segment_place place;
    struct row_segments *segments; /* Owned. */
    struct search_progress untold;
};

static int changed_begin(struct changed_build *c, struct index_build *b)
{
    struct row_segments_options o;
    *c = (struct changed_build){.build = b, .place = {.build = b}};
    o = index_build_segments(&c->place, b->opts->memory_bytes);
    return row_segments_new(&o, &c->segments, b->err);
}

static int changed_tell(struct changed_build *c)
{
    struct search_progress p = c->untold;
    c->untold = (struct search_progress){.rows = 0};
    return index_build_count(c->build, &p, c->build->err);
}

static int changed_end(struct changed_build *c, int rc)
{
    if (!rc)
        rc = changed_tell(c);
    if (!rc)
        rc = row_segments_flush(c->segments, c->build->err);
    if (!rc)
        c->build->report->words = row_segments_words(c->segments);
    row_segments_free(c->segments);
    return rc;
}

static int changed_look(struct changed_build *c)
{
    return ++c->untold.rows % BUILD_TELL_ROWS == 0 ? changed_tell(c) : 0;
}

static int
changed_put(struct changed_build *c, const struct quarry_row *row, bool known)
{
    uint64_t before = row_segments_documents(c->segments);
    int rc = row_segments_put(c->segments, row, known, c->build->err);
    c->untold.rows_read++;
    c->untold.documents += row_segments_documents(c->segments) - before;
    if (!rc && c->untold.rows_read % 64 == 0)
        rc = changed_tell(c);
    return rc;
}

static int changed_remove(struct changed_build *c, struct slice key)
{
    c->build->report->rows_removed++;
    return row_segments_remove(c->segments, key, c->build->err);
}

/* Rows to be read with their pages, by ascending keys. */
struct row_batch {
    struct changed_build *to;
    struct slice keys[BUILD_BATCH_ROWS]; /* In the arena. */
    bool known[BUILD_BATCH_ROWS];
    uint32_t documents[BUILD_BATCH_ROWS]; /* Of known ones, as it was. */
    size_t count;
    struct arena arena;
};

static int batch_run(struct row_batch *t)
{
    struct index_build *b = t->to->build;
    struct quarry_read_options read = index_build_read(b, true);
    struct quarry_row *rows[BUILD_BATCH_ROWS] = {NULL};
    int rc = 0;
    if (t->count)
        rc = quarry_read_rows(b->opts->table, t->keys, t->count, &read, rows,
                              b->err);
    for (size_t i = 0; i < t->count && !rc; i++) {
        if (rows[i])
            rc = changed_put(t->to, rows[i], t->known[i]);
        else if (t->known[i] && t->documents[i])
            rc = changed_remove(t->to, t->keys[i]);
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
            rc = changed_remove(c->batch.to, c->key);
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

static int compare_rows(struct compare *c, struct quarry_scanner *rows)
{
    struct index_build *b = c->batch.to->build;
    const struct quarry_row *row = NULL;
    int rc = 0;
    while (!rc) {
        rc = quarry_scanner_next(rows, &row, b->err);
        if (rc || !row)
            break;
        rc = changed_look(c->batch.to);
        if (!rc)
            rc = compare_row(c, row);
    }
    while (!rc && c->has)
        rc = compare_removed(c);
    return rc ? rc : batch_run(&c->batch);
}

int index_build_compared(struct index_build *b)
{
    struct quarry_read_options read = index_build_read(b, false);
    struct changed_build to;
    struct compare c = {.batch = {.to = &to}};
    struct quarry_scanner *rows = NULL;
    int rc = changed_begin(&to, b);
    b->report->way = SEARCH_BUILD_COMPARE;
    if (rc)
        return rc;
    rc = quarry_scan(b->opts->table, &read, &rows, b->err);
    arena_init(&c.batch.arena);
    index_rows_begin(&c.rows, b->view);
    compare_step(&c);
    if (!rc)
        rc = compare_rows(&c, rows);
    rc = changed_end(&to, rc);
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
        rc = index_build_count(b, NULL, b->err);
        if (rc)
            return rc;
    }
}

static int by_key(const void *a, const void *b)
{
    return slice_cmp(*(const struct slice *)a, *(const struct slice *)b);
}

/* The keys of @r in order. Owned; they borrow from @r. */
static struct slice *changed_keys(const struct changed_rows *r)
{
    struct slice *keys = mem_alloc((r->keys.count + 1) * sizeof(*keys));
    struct hash_slot *slot;
    size_t at = 0;
    size_t count = 0;
    while ((slot = hash_map_next(&r->keys, &at)) != NULL)
        keys[count++] = slot->key;
    qsort(keys, count, sizeof(*keys), by_key);
    return keys;
}

static int changed_add(struct row_batch *batch, struct slice key)
{
    uint32_t row;
    const struct index_part *p =
        index_view_row(batch->to->build->view, key, &row);
    const uint32_t *documents = p ? p->segment->row_documents : NULL;
    int rc = changed_look(batch->to);
    return rc ? rc
              : batch_add(batch, key, p != NULL,
                          p ? documents[row + 1] - documents[row] : 0);
}

static int changed_run(struct index_build *b, const struct changed_rows *r)
{
    struct changed_build to;
    struct row_batch batch = {.to = &to};
    struct slice *keys;
    int rc = changed_begin(&to, b);
    if (rc)
        return rc;
    keys = changed_keys(r);
    arena_init(&batch.arena);
    for (size_t i = 0; i < r->keys.count && !rc; i++)
        rc = changed_add(&batch, keys[i]);
    if (!rc)
        rc = batch_run(&batch);
    rc = changed_end(&to, rc);
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

void index_build_mark_changes(struct index_build *b)
{
    struct quarry_changes *c = NULL;
    struct err err = ERR_INIT;
    buf_clear(&b->token);
    if (quarry_changes_open(b->opts->table, NULL, &c, &err))
        return;
    quarry_changes_token(c, &b->token);
    quarry_changes_close(c);
}

int index_build_changed(struct index_build *b, bool *done)
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
