/* Merging the sorted segments of one tablet, by row, the newest mutation of a
 * row first. Sources are few, so the least one is found by a walk over all of
 * them.
 */
#include "bigtable/recovery/log_merge.h"

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "bigtable/recovery/log_sort.h"
#include "bigtable/recovery/sorted_segment.h"
#include "bigtable/row/logged_mutation.h"
#include "bigtable/sstable/sstable_reader.h"
#include "gfs-lite/fs.h"

struct source;

struct source_ops {
    /* Go to the next one, or leave s->valid false. */
    int (*next)(struct log_merge *g, struct source *s, struct err *err);
    void (*close)(struct source *s); /* Frees it. */
};

struct source {
    const struct source_ops *ops;
    bool valid;
    struct logged_mutation mutation; /* The one it stands at. */
    uint64_t sequence;
};

struct log_merge {
    uint64_t table;
    struct buf start;
    struct buf end; /* Empty: no bound. */
    struct source **sources;
    size_t count;
    struct buf last_row; /* Of what was handed out last, */
    uint64_t last;       /* its sequence number; 0: nothing was. */
};

static bool is_before_end(struct slice row, struct slice end)
{
    return end.len == 0 || slice_cmp(row, end) < 0;
}

static void log_merge_add(struct log_merge *g, struct source *s)
{
    g->sources =
        mem_realloc(g->sources, (g->count + 1) * sizeof(struct source *));
    g->sources[g->count++] = s;
}

/* --- files --------------------------------------------------------------- */

struct file_source {
    struct source base;
    struct sstable_reader *reader;
    struct sstable_iter iter;
    struct buf scratch;
};

/* Decode the entry under the iterator. */
static int look_at_entry(struct log_merge *g, struct source *s, struct err *err)
{
    struct file_source *f = (struct file_source *)s;
    int rc;
    s->valid = false;
    if (!sstable_iter_valid(&f->iter))
        return 0;
    rc = log_sorted_decode(&f->iter, &f->scratch, &s->mutation, &s->sequence,
                           err);
    s->valid = rc == 0 && s->mutation.table == g->table &&
               is_before_end(s->mutation.row, buf_slice(&g->end));
    return rc;
}

static int file_next(struct log_merge *g, struct source *s, struct err *err)
{
    struct file_source *f = (struct file_source *)s;
    int rc = sstable_iter_next(&f->iter, err);
    return rc ? rc : look_at_entry(g, s, err);
}

static void file_close(struct source *s)
{
    struct file_source *f = (struct file_source *)s;
    sstable_iter_close(&f->iter);
    sstable_reader_unref(f->reader);
    buf_close(&f->scratch);
    mem_free(f);
}

static int
seek_start(struct log_merge *g, struct file_source *f, struct err *err)
{
    struct buf start = BUF_INIT;
    int rc;
    log_sorted_put_row(&start, g->table, buf_slice(&g->start));
    rc = sstable_iter_seek(&f->iter, buf_slice(&start), err);
    buf_close(&start);
    return rc ? rc : look_at_entry(g, &f->base, err);
}

int log_merge_add_file(struct log_merge *g,
                       struct fs *fs,
                       struct block_cache *cache,
                       const char *path,
                       struct err *err)
{
    static const struct source_ops ops = {file_next, file_close};
    const struct sstable_reader_options opts = {.cache = cache};
    struct sstable_reader *reader;
    struct file_source *f;
    struct fs_info info;
    int rc = fs_stat(fs, path, &info, err);
    if (rc || info.size_bytes == 0)
        return rc;
    rc = sstable_reader_open(fs, path, &opts, &reader, err);
    if (rc)
        return rc;
    f = mem_zalloc(1, sizeof(*f));
    f->base.ops = &ops;
    f->reader = reader;
    sstable_iter_init(&f->iter);
    sstable_iter_open(&f->iter, reader, SSTABLE_READ_SCAN);
    log_merge_add(g, &f->base);
    return seek_start(g, f, err);
}

/* --- segments in memory -------------------------------------------------- */

struct segment_source {
    struct source base;
    struct sorted_segment *segment;
    size_t place;
    size_t end;
};

static int segment_next(struct log_merge *g, struct source *s, struct err *err)
{
    struct segment_source *m = (struct segment_source *)s;
    (void)g;
    (void)err;
    s->valid = m->place < m->end;
    if (s->valid)
        sorted_segment_get(m->segment, m->place++, &s->mutation, &s->sequence);
    return 0;
}

static void segment_close(struct source *s)
{
    sorted_segment_unref(((struct segment_source *)s)->segment);
    mem_free(s);
}

static size_t
find_end(const struct sorted_segment *s, uint64_t table, struct slice end)
{
    return end.len ? sorted_segment_find(s, table, end)
                   : sorted_segment_find(s, table + 1, SLICE_EMPTY);
}

void log_merge_add_segment(struct log_merge *g, struct sorted_segment *s)
{
    static const struct source_ops ops = {segment_next, segment_close};
    struct segment_source *m = mem_zalloc(1, sizeof(*m));
    m->base.ops = &ops;
    m->segment = sorted_segment_ref(s);
    m->place = sorted_segment_find(s, g->table, buf_slice(&g->start));
    m->end = find_end(s, g->table, buf_slice(&g->end));
    log_merge_add(g, &m->base);
    /* It never fails. */
    IGNORE_RESULT(segment_next(g, &m->base, NULL));
}

/* --- segments elsewhere -------------------------------------------------- */

void log_batch_put(const struct sorted_segment *s,
                   uint64_t table,
                   struct slice start,
                   struct slice end,
                   uint64_t skip,
                   struct buf *out)
{
    size_t place = sorted_segment_find(s, table, start);
    size_t stop = find_end(s, table, end);
    size_t before = out->len;
    for (place += (size_t)MIN_OF(skip, (uint64_t)(MAX_OF(stop, place) - place));
         place < stop && out->len - before < LOG_BATCH_BYTES; place++) {
        uint64_t sequence;
        struct slice bytes = sorted_segment_encoded(s, place, &sequence);
        buf_put_varint(out, sequence);
        buf_append_slice(out, bytes);
    }
}

struct remote_source {
    struct source base;
    log_fetch_fn fetch;
    void *ctx;
    struct buf batch;
    struct cursor left; /* Of the batch. */
    uint64_t read;      /* Mutations, of all batches. */
};

static int remote_next(struct log_merge *g, struct source *s, struct err *err)
{
    struct remote_source *m = (struct remote_source *)s;
    s->valid = false;
    if (cursor_left(&m->left) == 0) {
        int rc = m->fetch(m->ctx, m->read, &m->batch, err);
        if (rc || m->batch.len == 0)
            return rc;
        m->left = cursor_make(buf_slice(&m->batch));
    }
    s->sequence = cursor_varint(&m->left);
    if (!logged_mutation_read(&m->left, &s->mutation) ||
        s->mutation.table != g->table ||
        slice_cmp(s->mutation.row, buf_slice(&g->start)) < 0 ||
        !is_before_end(s->mutation.row, buf_slice(&g->end)))
        return err_set(err, ERR_CORRUPT,
                       "a malformed batch of a sorted segment");
    m->read++;
    s->valid = true;
    return 0;
}

static void remote_close(struct source *s)
{
    buf_close(&((struct remote_source *)s)->batch);
    mem_free(s);
}

int log_merge_add_remote(struct log_merge *g,
                         log_fetch_fn fetch,
                         void *ctx,
                         struct err *err)
{
    static const struct source_ops ops = {remote_next, remote_close};
    struct remote_source *m = mem_zalloc(1, sizeof(*m));
    int rc;
    m->base.ops = &ops;
    m->fetch = fetch;
    m->ctx = ctx;
    m->left = cursor_make(SLICE_EMPTY);
    rc = remote_next(g, &m->base, err);
    if (rc)
        remote_close(&m->base);
    else
        log_merge_add(g, &m->base);
    return rc;
}

/* --- all of them --------------------------------------------------------- */

struct log_merge *
log_merge_new(uint64_t table, struct slice start, struct slice end)
{
    struct log_merge *g = mem_zalloc(1, sizeof(*g));
    PRE(table < UINT64_MAX);
    g->table = table;
    buf_append_slice(&g->start, start);
    buf_append_slice(&g->end, end);
    return g;
}

void log_merge_free(struct log_merge *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->count; i++)
        g->sources[i]->ops->close(g->sources[i]);
    mem_free(g->sources);
    buf_close(&g->start);
    buf_close(&g->end);
    buf_close(&g->last_row);
    mem_free(g);
}

static struct source *log_merge_least(const struct log_merge *g)
{
    struct source *best = NULL;
    for (size_t i = 0; i < g->count; i++) {
        struct source *s = g->sources[i];
        if (s->valid &&
            (!best || logged_order(s->mutation.row, s->sequence,
                                   best->mutation.row, best->sequence) < 0))
            best = s;
    }
    return best;
}

/* Both lanes of a log may have it. */
static bool is_repeated(const struct log_merge *g, const struct source *s)
{
    return s->sequence == g->last &&
           slice_eq(s->mutation.row, buf_slice(&g->last_row));
}

static void note_last(struct log_merge *g, const struct source *s)
{
    g->last = s->sequence;
    buf_clear(&g->last_row);
    buf_append_slice(&g->last_row, s->mutation.row);
}

int log_merge_each(struct log_merge *g,
                   log_merge_fn fn,
                   void *ctx,
                   struct err *err)
{
    struct source *s;
    int rc = 0;
    while (rc == 0 && (s = log_merge_least(g)) != NULL) {
        if (!is_repeated(g, s)) {
            rc = fn(ctx, &s->mutation, s->sequence, err);
            note_last(g, s);
        }
        if (rc == 0)
            rc = s->ops->next(g, s, err);
    }
    return rc;
}
