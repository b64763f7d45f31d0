/* An open index: one view, which is replaced as a whole when a build has
 * published another. Results with the same text are folded into one here, and
 * the parts of a result that are shown are read.
 */
#include <string.h>

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "mapreduce/warc/surt.h"
#include "web/policy/archive_policy.h"
#include "web/search/build/page_document.h"
#include "web/search/query/query_parser.h"
#include "web/search/query/query_run.h"
#include "web/search/query/snippet.h"
#include "web/search/query/term_suggestion.h"
#include "web/search/search.h"
#include "web/search/segment/index_view.h"
#include "web/search/segment/paged_file.h"
#include "web/search/text/page_fields.h"
#include "web/search/text/word_breaks.h"

#define INDEX_CACHE_BYTES ((size_t)64 << 20)
#define TASK_BYTES        ((size_t)4 << 20)
#define REFRESH_US        UINT64_C(1000000)
/* Bits by which the likenesses of two texts that say the same may differ. */
#define ALIKE_BITS 3
/* Terms that are looked up for "did you mean". */
#define SUGGESTED_TERMS_MAX 4
#define TITLE_BYTES_MAX     ((size_t)160)

/* A view with the number of searches that use it. */
struct shared_view {
    struct index_view *view;
    size_t users; /* Under the index's lock; one is the index. */
};

/* ICU's tables take long to make: readers are used again. */
struct search_reader {
    struct row_document_reader *documents; /* Owned. */
    struct page_fields fields;
    struct search_reader *next; /* Of the idle ones. */
};

struct search_index {
    /* Held for moments: of `shared`, `looked_ns` and `idle`. */
    struct mutex lock;
    struct search_reader *idle; /* Owned; as many as were used at once. */
    struct fs *fs;              /* Borrowed. */
    struct world *world;
    struct buf directory;
    struct page_cache *cache;
    size_t task_bytes;
    const struct archive_policy *policy; /* Borrowed, or NULL. */
    struct shared_view *shared;
    uint64_t looked_ns;
};

static struct shared_view *shared_view_new(struct index_view *view)
{
    struct shared_view *s = mem_zalloc(1, sizeof(*s));
    s->view = view;
    s->users = 1;
    return s;
}

static struct shared_view *view_take(struct search_index *x)
{
    struct shared_view *s;
    mutex_lock(&x->lock);
    s = x->shared;
    s->users++;
    mutex_unlock(&x->lock);
    return s;
}

static void view_give(struct search_index *x, struct shared_view *s)
{
    bool last;
    mutex_lock(&x->lock);
    INVARIANT(s->users > 0);
    last = --s->users == 0;
    mutex_unlock(&x->lock);
    if (last) {
        index_view_close(s->view);
        mem_free(s);
    }
}

/* A reader for one thread, to be given back; NULL on error. */
static struct search_reader *reader_take(struct search_index *x,
                                         struct err *err)
{
    struct search_reader *r;
    mutex_lock(&x->lock);
    r = x->idle;
    if (r)
        x->idle = r->next;
    mutex_unlock(&x->lock);
    if (r)
        return r;
    r = mem_zalloc(1, sizeof(*r));
    if (row_document_reader_new(&r->documents, err) == 0)
        return r;
    mem_free(r);
    return NULL;
}

static void reader_give(struct search_index *x, struct search_reader *r)
{
    if (!r)
        return;
    mutex_lock(&x->lock);
    r->next = x->idle;
    x->idle = r;
    mutex_unlock(&x->lock);
}

static void readers_close(struct search_index *x)
{
    while (x->idle) {
        struct search_reader *r = x->idle;
        x->idle = r->next;
        row_document_reader_free(r->documents);
        page_fields_close(&r->fields);
        mem_free(r);
    }
}

int search_index_open(const struct search_index_options *opts,
                      struct search_index **out,
                      struct err *err)
{
    struct search_index *x = mem_zalloc(1, sizeof(*x));
    struct index_view *view = NULL;
    int rc;
    mutex_init(&x->lock);
    x->fs = opts->fs;
    x->world = opts->world;
    x->policy = opts->policy;
    search_directory(opts->table, &x->directory);
    x->cache = page_cache_new(opts->cache_bytes ? opts->cache_bytes
                                                : INDEX_CACHE_BYTES);
    x->task_bytes = opts->task_bytes ? opts->task_bytes : TASK_BYTES;
    x->looked_ns = world_mono_ns(x->world);
    rc = index_view_open(x->fs, buf_cstr(&x->directory), x->cache, &view, err);
    if (rc == ERR_NOTFOUND) {
        rc = err_set(err, rc, "%s has no search index", opts->table);
        err_hint(err, "quarry search build %s makes one", opts->table);
    }
    if (rc) {
        search_index_close(x);
        *out = NULL;
        return rc;
    }
    x->shared = shared_view_new(view);
    *out = x;
    return 0;
}

void search_index_close(struct search_index *x)
{
    if (!x)
        return;
    if (x->shared)
        view_give(x, x->shared);
    readers_close(x);
    page_cache_free(x->cache);
    buf_close(&x->directory);
    mutex_close(&x->lock);
    mem_free(x);
}

/* Is it time to look? */
static bool refresh_is_due(struct search_index *x)
{
    uint64_t now = world_mono_ns(x->world);
    bool due;
    mutex_lock(&x->lock);
    due = now - x->looked_ns >= REFRESH_US * 1000;
    if (due)
        x->looked_ns = now;
    mutex_unlock(&x->lock);
    return due;
}

static bool manifest_is_same(const struct index_manifest *a,
                             const struct index_manifest *b)
{
    return a->next_number == b->next_number && a->updated_us == b->updated_us &&
           a->segment_count == b->segment_count;
}

int search_index_refresh(struct search_index *x, struct err *err)
{
    struct index_manifest m;
    struct index_view *view = NULL;
    struct shared_view *before;
    bool same;
    int rc;
    if (!refresh_is_due(x))
        return 0;
    before = view_take(x);
    rc = index_manifest_read(x->fs, buf_cstr(&x->directory), &m, err);
    same = !rc && manifest_is_same(&m, &before->view->manifest);
    index_manifest_close(&m);
    view_give(x, before);
    if (rc || same)
        return rc;
    rc = index_view_open(x->fs, buf_cstr(&x->directory), x->cache, &view, err);
    if (rc)
        return rc;
    mutex_lock(&x->lock);
    before = x->shared;
    x->shared = shared_view_new(view);
    mutex_unlock(&x->lock);
    view_give(x, before);
    return 0;
}

static int64_t newest_capture(const struct index_view *v)
{
    int64_t newest = INT64_MIN;
    for (size_t i = 0; i < v->part_count; i++) {
        const struct segment *s = v->parts[i].segment;
        for (uint32_t k = 0; k < s->document_count; k++) {
            const struct document_values *d = &s->documents[k];
            if (!part_hides(&v->parts[i], d->row))
                newest = MAX_OF(newest,
                                s->times_us[d->times_at + d->time_count - 1]);
        }
    }
    return newest;
}

void search_index_get_facts(struct search_index *x,
                            struct search_index_facts *out)
{
    struct shared_view *s = view_take(x);
    *out =
        (struct search_index_facts){.documents = s->view->live_documents,
                                    .bytes = s->view->bytes,
                                    .updated_us = s->view->manifest.updated_us,
                                    .newest_us = newest_capture(s->view),
                                    .segment_count = s->view->part_count};
    view_give(x, s);
}

/* --- folding ------------------------------------------------------------- */

/* The place of a document that says the same as @d; @count: there is none. */
static size_t find_alike(const struct found_document *found,
                         const size_t *kept,
                         size_t count,
                         const struct found_document *d)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t differ = found[kept[i]].likeness ^ d->likeness;
        if (__builtin_popcountll(differ) <= ALIKE_BITS)
            return i;
    }
    return count;
}

/* The documents that are shown: the best of each group of those alike. */
static size_t fold_alike(const struct found_document *found,
                         size_t count,
                         bool keep,
                         size_t *kept,
                         uint32_t *alike)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        size_t same = keep ? n : find_alike(found, kept, n, &found[i]);
        if (same < n) {
            alike[same]++;
            continue;
        }
        kept[n] = i;
        alike[n++] = 0;
    }
    return n;
}

static void put_hit(struct search_results *out,
                    const struct index_view *view,
                    const struct found_document *f,
                    uint32_t alike)
{
    const struct segment *s = view->parts[f->part].segment;
    const struct document_values *d = &s->documents[f->document];
    struct buf key = BUF_INIT;
    segment_row_key(s, d->row, &key);
    out->hits[out->count++] =
        (struct search_hit){.row = arena_dup(out->memory, buf_slice(&key)),
                            .score = f->score,
                            .time_us = f->time_us,
                            .capture_count = d->time_count,
                            .alike_count = alike};
    buf_close(&key);
}

/* Find what is asked for and one more: as many documents as that takes, because
 * some are folded. */
static int run_folded(struct search_index *x,
                      const struct index_view *view,
                      const struct search_query *query,
                      const struct search_request *request,
                      struct search_results *out,
                      struct query_counts *counts,
                      struct err *err)
{
    size_t want = request->skip + request->limit + 1;
    size_t room = request->keep_alike ? want : want + want / 2 + 10;
    struct found_document *found = NULL;
    size_t *kept = NULL;
    uint32_t *alike = NULL;
    size_t count = 0;
    size_t n = 0;
    int rc;
    for (;;) {
        found = mem_realloc(found, room * sizeof(*found));
        kept = mem_realloc(kept, room * sizeof(*kept));
        alike = mem_realloc(alike, room * sizeof(*alike));
        rc = query_run(x->world, x->task_bytes, view, query, room, found,
                       &count, counts, err);
        if (rc)
            break;
        n = fold_alike(found, count, request->keep_alike, kept, alike);
        if (n >= want || count < room || room > 4 * SEARCH_RESULTS_MAX)
            break;
        room *= 2;
    }
    out->has_more = !rc && n >= want;
    out->hits =
        arena_alloc(out->memory, (request->limit + 1) * sizeof(*out->hits));
    for (size_t i = request->skip; !rc && i < n && out->count < request->limit;
         i++)
        put_hit(out, view, &found[kept[i]], alike[i]);
    mem_free(found);
    mem_free(kept);
    mem_free(alike);
    return rc;
}

/* --- did you mean -------------------------------------------------------- */

/* The query with @with in place of the bytes of each term. */
static void replace_terms(struct search_results *out,
                          struct slice query,
                          const struct search_query *q,
                          const struct buf *with)
{
    struct buf text = BUF_INIT;
    size_t at = 0;
    for (size_t i = 0; i < q->term_count; i++) {
        if (with[i].len == 0 || q->terms[i].begin < at)
            continue;
        buf_append_slice(&text, slice_sub(query, at, q->terms[i].begin));
        buf_append_slice(&text, buf_slice(&with[i]));
        at = q->terms[i].end;
    }
    buf_append_slice(&text, slice_sub(query, at, query.len));
    out->suggestion = arena_dup(out->memory, buf_slice(&text));
    buf_close(&text);
}

static bool term_is_rare(const struct query_counts *counts, size_t i)
{
    return counts->term_documents[i] * 1000 <= counts->live_documents;
}

static int suggest_query(const struct index_view *view,
                         const struct search_query *q,
                         struct slice query,
                         const struct query_counts *counts,
                         struct search_results *out,
                         struct err *err)
{
    struct buf with[QUERY_TERMS_MAX];
    size_t looked = 0;
    bool any = false;
    int rc = 0;
    memset(with, 0, sizeof(with));
    for (size_t c = 0; c < q->clause_count && !rc; c++) {
        const struct query_clause *k = &q->clauses[c];
        if (k->role == QUERY_EXCLUDED)
            continue;
        for (size_t i = k->first; i < k->first + k->count && !rc; i++) {
            if (!term_is_rare(counts, i) || looked == SUGGESTED_TERMS_MAX)
                continue;
            looked++;
            rc = term_suggestion_near(view, q->terms[i].term,
                                      counts->term_documents[i], &with[i], err);
            any |= with[i].len > 0;
        }
    }
    if (any)
        replace_terms(out, query, q, with);
    for (size_t i = 0; i < QUERY_TERMS_MAX; i++)
        buf_close(&with[i]);
    return rc;
}

/* --- searching ----------------------------------------------------------- */

static void keep_words(const struct search_query *q,
                       const struct query_counts *counts,
                       struct search_results *out)
{
    struct search_words *w = arena_zalloc(out->memory, sizeof(*w));
    for (size_t c = 0; c < q->clause_count; c++) {
        const struct query_clause *k = &q->clauses[c];
        if (k->role == QUERY_EXCLUDED)
            continue;
        for (size_t i = k->first; i < k->first + k->count; i++) {
            w->terms[w->count] = arena_dup(out->memory, q->terms[i].term);
            w->worth[w->count++] =
                query_idf(counts->live_documents, counts->term_documents[i]);
        }
    }
    out->words = w;
}

int search_run(struct search_index *x,
               const struct search_request *request,
               struct search_results *out,
               struct err *err)
{
    struct search_query *q = mem_zalloc(1, sizeof(*q));
    struct query_counts counts = {.scored = 0};
    struct shared_view *s = view_take(x);
    struct search_reader *r = reader_take(x, err);
    int rc = r ? 0 : ERR_UNSUPPORTED;
    *out = (struct search_results){.suggestion = SLICE_EMPTY};
    out->memory = mem_zalloc(1, sizeof(*out->memory));
    arena_init(out->memory);
    PRE(request->limit > 0 &&
        request->skip + request->limit <= SEARCH_RESULTS_MAX);
    if (!rc)
        rc = search_query_parse(row_document_breaker(r->documents),
                                request->query, q, err);
    if (!rc)
        rc = run_folded(x, s->view, q, request, out, &counts, err);
    out->documents = s->view->live_documents;
    if (!rc && request->skip == 0)
        rc = suggest_query(s->view, q, request->query, &counts, out, err);
    keep_words(q, &counts, out);
    search_query_close(q);
    mem_free(q);
    reader_give(x, r);
    view_give(x, s);
    return rc;
}

void search_results_close(struct search_results *r)
{
    if (!r->memory)
        return;
    arena_close(r->memory);
    mem_free(r->memory);
    *r = (struct search_results){.suggestion = SLICE_EMPTY};
}

int search_suggest(struct search_index *x,
                   struct slice prefix,
                   struct buf *out,
                   struct err *err)
{
    struct search_query *q = mem_zalloc(1, sizeof(*q));
    struct shared_view *s = view_take(x);
    struct search_reader *r = reader_take(x, err);
    int rc = r ? 0 : ERR_UNSUPPORTED;
    /* The prefix in the form of terms, if it is one word. */
    if (!rc &&
        search_query_parse(row_document_breaker(r->documents), prefix, q,
                           NULL) == 0 &&
        q->term_count == 1)
        rc = term_suggestion_prefix(s->view, q->terms[0].term,
                                    SEARCH_SUGGESTIONS_MAX, out, err);
    search_query_close(q);
    mem_free(q);
    reader_give(x, r);
    view_give(x, s);
    return rc;
}

/* --- what is shown ------------------------------------------------------- */

static int read_hit(struct quarry_table *table,
                    const struct search_hit *hit,
                    struct quarry_row **row,
                    struct err *err)
{
    static const char *const families[] = {"contents", "http", "meta"};
    const struct quarry_read_options read = {.families = families,
                                             .family_count = 3,
                                             .time_min_us = hit->time_us,
                                             .time_max_us = hit->time_us + 1};
    return quarry_read_row(table, hit->row, &read, row, err);
}

static struct slice
row_value(const struct quarry_row *row, const char *family, const char *name)
{
    for (size_t i = 0; i < row->cell_count; i++)
        if (slice_eq_str(row->cells[i].family, family) &&
            slice_eq_str(row->cells[i].qualifier, name))
            return row->cells[i].value;
    return SLICE_EMPTY;
}

/* May the capture be shown? @row has its cells alone. */
static bool hit_is_blocked(const struct search_index *x,
                           const struct quarry_row *row,
                           int64_t time_us)
{
    struct buf surt = BUF_INIT;
    struct slice reason;
    struct archive_subject s = {.time_us = time_us};
    bool allowed;
    if (!x->policy || !row)
        return false;
    surt_key(row_value(row, "http", "url"), &surt);
    s.surt = buf_slice(&surt);
    s.row = row->key;
    s.robots = row_value(row, "meta", "robots");
    s.head = row_value(row, "http", "headers");
    allowed = archive_policy_allows(x->policy, &s, &reason);
    buf_close(&surt);
    return !allowed;
}

static void search_page_clear(struct search_page *p)
{
    buf_clear(&p->url);
    buf_clear(&p->title.text);
    buf_clear(&p->snippet.text);
    p->title.mark_count = p->snippet.mark_count = 0;
    p->is_blocked = false;
}

int search_describe(struct search_index *x,
                    struct quarry_table *table,
                    const struct search_results *results,
                    const struct search_hit *hit,
                    struct search_page *out,
                    struct err *err)
{
    struct search_reader *r = reader_take(x, err);
    struct quarry_row *row = NULL;
    struct word_breaker *words;
    struct slice url = SLICE_EMPTY;
    struct slice title;
    bool has_text = false;
    int rc = r ? 0 : ERR_UNSUPPORTED;
    search_page_clear(out);
    if (!rc)
        rc = read_hit(table, hit, &row, err);
    if (rc)
        goto out;
    out->is_blocked = hit_is_blocked(x, row, hit->time_us);
    if (out->is_blocked)
        goto out;
    if (row)
        has_text = row_capture_fields(r->documents, row, hit->time_us,
                                      &r->fields, &url);
    buf_append_slice(&out->url, url.len ? url : hit->row);
    title = has_text ? slice_trim(buf_slice(&r->fields.title)) : SLICE_EMPTY;
    words = row_document_breaker(r->documents);
    snippet_mark(words, results->words,
                 title.len ? title : buf_slice(&out->url), TITLE_BYTES_MAX,
                 &out->title);
    if (has_text)
        snippet_make(words, results->words, buf_slice(&r->fields.text),
                     &out->snippet);
out:
    quarry_row_free(row);
    reader_give(x, r);
    return rc;
}

void search_page_close(struct search_page *p)
{
    buf_close(&p->url);
    buf_close(&p->title.text);
    buf_close(&p->snippet.text);
}
