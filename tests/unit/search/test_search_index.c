/* Searches find what a look at every document finds, however the index was
 * built.
 *
 * The model keeps pages as lists of words, and knows neither HTML nor files; a
 * table gets the same pages as a crawler would have written them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "gfs-lite/fs.h"
#include "tests/lib/check_main.h"
#include "web/search/build/word_weights.h"
#include "web/search/query/query_parser.h"
#include "web/search/query/query_run.h"
#include "web/search/search.h"
#include "web/search/search_segments.h"
#include "web/search/text/word_breaks.h"

/* --- the model ----------------------------------------------------------- */

enum {
    VOCABULARY = 24,
    FIELD_WORDS_MAX = 40,
    ROWS = 40,
    CAPTURES_MAX = 4,
    ANCHORS = 3,
};

/* Words of a field, by their numbers. */
struct word_list {
    uint8_t at[FIELD_WORDS_MAX];
    size_t count;
};

struct model_capture {
    int64_t time_us;
    struct word_list title;
    struct word_list heading; /* Before the body. */
    struct word_list body;
};

struct model_row {
    struct model_capture captures[CAPTURES_MAX]; /* Oldest first. */
    size_t count;
    struct word_list anchors[ANCHORS]; /* Different texts. */
    size_t anchor_count;
    uint8_t has_rank;
};

struct model {
    struct model_row rows[ROWS];
};

static const char *const hosts[] = {"a.example", "www.a.example", "b.example",
                                    "ab.example"};

static void row_url(size_t row, struct buf *out)
{
    buf_clear(out);
    buf_printf(out, "http://%s/p%zu", hosts[row % ARRAY_LEN(hosts)], row);
}

static void row_key(size_t row, struct buf *out)
{
    static const char *const keys[] = {"example.a", "example.a.www",
                                       "example.b", "example.ab"};
    buf_clear(out);
    buf_printf(out, "%s/p%zu", keys[row % ARRAY_LEN(keys)], row);
}

static void word_text(size_t word, struct buf *out)
{
    static const char *const others[] = {
        "été", "中", "straße", "longerthanfifteen", "longerthanfifteenandmore"};
    buf_append_str(out, word < ARRAY_LEN(others) ? others[word] : "w");
    if (word >= ARRAY_LEN(others))
        buf_printf(out, "%zu", word);
}

static void words_text(const struct word_list *l, struct buf *out)
{
    for (size_t i = 0; i < l->count; i++) {
        if (i)
            buf_append_byte(out, ' ');
        word_text(l->at[i], out);
    }
}

/* A document as the model sees it: all of its words with places. */
struct model_word {
    uint32_t position;
    uint8_t word; /* VOCABULARY and above: of the URL. */
    uint8_t kind;
    uint8_t field;
};

struct model_document {
    size_t row;
    int64_t times[CAPTURES_MAX];
    size_t time_count;
    int64_t next_us;
    struct model_word words[512];
    size_t word_count;
    uint32_t lengths[WORD_KIND_COUNT];
    uint8_t rank;
};

static void model_words(struct model_document *d,
                        const struct word_list *l,
                        enum word_kind kind,
                        enum document_field field,
                        uint32_t *position)
{
    for (size_t i = 0; i < l->count; i++) {
        d->words[d->word_count++] = (struct model_word){
            (*position)++, l->at[i], (uint8_t)kind, (uint8_t)field};
        d->lengths[kind]++;
    }
}

static void model_document_of(const struct model *m,
                              size_t row,
                              size_t capture,
                              struct model_document *d)
{
    const struct model_row *r = &m->rows[row];
    const struct model_capture *c = &r->captures[capture];
    uint32_t position = 0;
    /* Host in two or three labels, and "p7": no word of the vocabulary. */
    size_t url_words = row % 4 == 1 ? 4 : 3;
    d->row = row;
    d->word_count = 0;
    memset(d->lengths, 0, sizeof(d->lengths));
    model_words(d, &c->title, WORD_TITLE, FIELD_TITLE, &position);
    position++;
    for (size_t i = 0; i < url_words; i++) {
        d->words[d->word_count++] =
            (struct model_word){position++, VOCABULARY, WORD_URL, FIELD_URL};
        d->lengths[WORD_URL]++;
    }
    position++;
    for (size_t i = 0; i < r->anchor_count; i++) {
        model_words(d, &r->anchors[i], WORD_ANCHOR, FIELD_ANCHOR, &position);
        position++;
    }
    position++;
    model_words(d, &c->heading, WORD_HEADING, FIELD_BODY, &position);
    model_words(d, &c->body, WORD_BODY, FIELD_BODY, &position);
    /* A rank of 2^-10: (30 - 10) × 8.5. */
    d->rank = r->has_rank ? 170 : 0;
}

static bool same_words(const struct word_list *a, const struct word_list *b)
{
    return a->count == b->count && memcmp(a->at, b->at, a->count) == 0;
}

static bool same_text(const struct model_capture *a,
                      const struct model_capture *b)
{
    return same_words(&a->title, &b->title) &&
           same_words(&a->heading, &b->heading) &&
           same_words(&a->body, &b->body);
}

/* All documents; those captures of a row that follow one another and say the
 * same are one. */
static size_t model_documents(const struct model *m, struct model_document *out)
{
    size_t n = 0;
    for (size_t i = 0; i < ROWS; i++) {
        const struct model_row *r = &m->rows[i];
        for (size_t k = 0; k < r->count; k++) {
            if (k && same_text(&r->captures[k - 1], &r->captures[k])) {
                out[n - 1].times[out[n - 1].time_count++] =
                    r->captures[k].time_us;
                continue;
            }
            if (k)
                out[n - 1].next_us = r->captures[k].time_us;
            model_document_of(m, i, k, &out[n]);
            out[n].times[0] = r->captures[k].time_us;
            out[n].time_count = 1;
            out[n++].next_us = INT64_MAX;
        }
    }
    return n;
}

/* --- the model's search -------------------------------------------------- */

struct model_hit {
    size_t row;
    int64_t time_us;
    double score;
};

static int word_of_term(struct slice term)
{
    static struct buf text;
    for (int i = 0; i < VOCABULARY; i++) {
        buf_clear(&text);
        word_text((size_t)i, &text);
        if (slice_eq(buf_slice(&text), term) ||
            (i == 2 && slice_eq_str(term, "strasse")))
            return i;
    }
    return -1;
}

static bool model_has(const struct model_document *d, int word)
{
    for (size_t i = 0; i < d->word_count; i++)
        if (d->words[i].word == word)
            return true;
    return false;
}

static bool model_at(const struct model_document *d,
                     uint32_t position,
                     int word,
                     enum document_field field)
{
    for (size_t i = 0; i < d->word_count; i++)
        if (d->words[i].position == position)
            return d->words[i].word == word &&
                   (field == FIELD_COUNT || d->words[i].field == field);
    return false;
}

static bool model_clause(const struct model_document *d,
                         const struct search_query *q,
                         const struct query_clause *c)
{
    for (size_t i = 0; i < d->word_count; i++) {
        bool good = true;
        for (size_t k = 0; k < c->count && good; k++) {
            const struct query_term *t = &q->terms[c->first + k];
            good = model_at(d, d->words[i].position + t->offset,
                            word_of_term(t->term), c->field);
        }
        if (good)
            return true;
    }
    return false;
}

static bool site_has(const struct query_site *site, struct slice key)
{
    struct slice rest = slice_sub(key, site->prefix.len, key.len);
    return slice_starts_with(key, site->prefix) && rest.len &&
           (rest.data[0] == '/' || rest.data[0] == '.' || rest.data[0] == ':');
}

static bool model_sites(size_t row, const struct search_query *q)
{
    struct buf key = BUF_INIT;
    bool any = false;
    bool inside = false;
    bool barred = false;
    row_key(row, &key);
    for (size_t i = 0; i < q->site_count; i++) {
        bool has = site_has(&q->sites[i], buf_slice(&key));
        any |= !q->sites[i].is_excluded;
        inside |= has && !q->sites[i].is_excluded;
        barred |= has && q->sites[i].is_excluded;
    }
    buf_close(&key);
    return !barred && (inside || !any);
}

static double model_weight(const struct model_document *d, int word)
{
    double w = 0;
    for (size_t i = 0; i < d->word_count; i++)
        if (d->words[i].word == word) {
            enum word_kind kind = (enum word_kind)d->words[i].kind;
            w += word_kind_part(kind, d->lengths[kind]);
        }
    return word_weight(w);
}

/* Is it the newest capture of its row within the dates? */
static bool model_time(const struct model_document *d,
                       const struct search_query *q,
                       int64_t *us)
{
    bool found = false;
    for (size_t i = 0; i < d->time_count; i++)
        if (d->times[i] >= q->after_us && d->times[i] < q->before_us) {
            *us = d->times[i];
            found = true;
        }
    return found && !(d->next_us >= q->after_us && d->next_us < q->before_us);
}

static struct buf key_a;
static struct buf key_b;

static int by_rank(const void *a, const void *b)
{
    const struct model_hit *x = a;
    const struct model_hit *y = b;
    if (x->score < y->score || x->score > y->score)
        return x->score > y->score ? -1 : 1;
    if (x->time_us != y->time_us)
        return x->time_us > y->time_us ? -1 : 1;
    row_key(x->row, &key_a);
    row_key(y->row, &key_b);
    return slice_cmp(buf_slice(&key_a), buf_slice(&key_b));
}

static bool model_matches(const struct model_document *d,
                          const struct search_query *q,
                          const int *words,
                          size_t word_count)
{
    bool any = word_count == 0;
    bool needed = false;
    for (size_t i = 0; i < q->clause_count; i++) {
        const struct query_clause *c = &q->clauses[i];
        needed |= c->role == QUERY_NEEDED;
        if (c->role != QUERY_WANTED &&
            model_clause(d, q, c) != (c->role == QUERY_NEEDED))
            return false;
    }
    for (size_t i = 0; i < word_count; i++)
        any |= model_has(d, words[i]);
    return any || needed;
}

static size_t model_search(const struct model_document *documents,
                           size_t count,
                           const struct search_query *q,
                           struct model_hit *out)
{
    int words[QUERY_TERMS_MAX]; /* Each once, in their order; */
    bool scored[QUERY_TERMS_MAX];
    size_t word_count = 0;
    size_t n = 0;
    for (size_t i = 0; i < q->clause_count; i++)
        for (size_t k = 0; k < q->clauses[i].count; k++) {
            int word = word_of_term(q->terms[q->clauses[i].first + k].term);
            size_t at = 0;
            while (at < word_count && words[at] != word)
                at++;
            if (at == word_count) {
                scored[at] = false;
                words[word_count++] = word;
            }
            scored[at] |= q->clauses[i].role != QUERY_EXCLUDED;
        }
    for (size_t i = 0, kept = 0, all = word_count; i < all; i++) {
        words[kept] = words[i]; /* Those that are scored stay. */
        kept += scored[i];
        word_count = kept;
    }
    for (size_t i = 0; i < count; i++) {
        const struct model_document *d = &documents[i];
        struct model_hit h = {.row = d->row};
        if (!model_sites(d->row, q) || !model_time(d, q, &h.time_us) ||
            !model_matches(d, q, words, word_count))
            continue;
        for (size_t k = 0; k < word_count; k++) {
            uint64_t with = 0;
            for (size_t j = 0; j < count; j++)
                with += model_has(&documents[j], words[k]);
            if (model_has(d, words[k]))
                h.score += query_idf(count, with) * model_weight(d, words[k]);
        }
        h.score = h.score / SEGMENT_WEIGHT_MAX + 0.5 / 255.0 * d->rank;
        out[n++] = h;
    }
    qsort(out, n, sizeof(*out), by_rank);
    return n;
}

/* --- the table ----------------------------------------------------------- */

static struct world *world;
static struct quarry *store;
static struct quarry_table *table;
static struct fs *fs;
static struct model_document *documents;
static struct model_hit *hits;
static struct word_breaker *breaker;

static void open_store(const char *changes)
{
    static const struct quarry_family_spec families[] = {
        {"contents", ""},
        {"anchor", ""},
        {"http", ""},
        {"meta", ""},
        {"rank", "versions=1"}};
    struct buf target = BUF_INIT;
    const char *dir = test_tmpdir();
    world = world_real_new();
    buf_printf(&target, "file:%s", dir);
    ck_assert_int_eq(quarry_open(buf_cstr(&target), NULL, &store, NULL), 0);
    ck_assert_int_eq(fs_local_open(world, dir, &fs, NULL), 0);
    ck_assert_int_eq(quarry_table_create_with_changes(store, "web", families, 5,
                                                      NULL, 0, changes, NULL),
                     0);
    ck_assert_int_eq(quarry_table_open(store, "web", &table, NULL), 0);
    ck_assert_int_eq(word_breaker_new(&breaker, NULL), 0);
    documents = mem_zalloc(ROWS * CAPTURES_MAX, sizeof(*documents));
    hits = mem_zalloc(ROWS * CAPTURES_MAX, sizeof(*hits));
    buf_close(&target);
}

static void close_store(void)
{
    quarry_table_close(table);
    quarry_close(store);
    fs_close(fs);
    word_breaker_free(breaker);
    world_free(world);
    mem_free(documents);
    mem_free(hits);
    buf_close(&key_a);
    buf_close(&key_b);
}

static void put_cell(struct quarry_mutation *m,
                     const char *family,
                     const char *qualifier,
                     int64_t us,
                     struct slice value)
{
    quarry_mutation_set(m, family, slice_str(qualifier), us, value);
}

static void apply(struct quarry_mutation *m)
{
    static const struct quarry_write_options opts = {.durability =
                                                         QUARRY_DEFERRED};
    ck_assert_int_eq(quarry_apply(table, m, &opts, NULL), 0);
    quarry_mutation_free(m);
}

static struct quarry_mutation *row_mutation(size_t row)
{
    struct buf key = BUF_INIT;
    struct quarry_mutation *m;
    row_key(row, &key);
    m = quarry_mutation_new(buf_slice(&key));
    buf_close(&key);
    return m;
}

static void put_capture(size_t row, const struct model_capture *c)
{
    struct quarry_mutation *m = row_mutation(row);
    struct buf html = BUF_INIT;
    struct buf url = BUF_INIT;
    row_url(row, &url);
    buf_append_str(&html, "<!doctype html><meta charset=utf-8><title>");
    words_text(&c->title, &html);
    buf_append_str(&html, "</title><script>w3 w4</script><h2>");
    words_text(&c->heading, &html);
    buf_append_str(&html, "</h2><p>");
    words_text(&c->body, &html);
    put_cell(m, "contents", "", c->time_us, buf_slice(&html));
    put_cell(m, "http", "url", c->time_us, buf_slice(&url));
    put_cell(m, "http", "status", c->time_us, SLICE_LIT("200"));
    put_cell(m, "http", "content-type", c->time_us, SLICE_LIT("text/html"));
    /* As imports do: what tells a capture from another one with its time. */
    buf_clear(&url);
    buf_printf(&url, "%u", crc32c(html.data, html.len));
    put_cell(m, "meta", "digest", c->time_us, buf_slice(&url));
    apply(m);
    buf_close(&html);
    buf_close(&url);
}

/* --- changes ------------------------------------------------------------- */

static void draw_words(struct rand_gen *r, size_t most, struct word_list *out)
{
    out->count = (size_t)rand_below(r, most + 1);
    for (size_t i = 0; i < out->count; i++) {
        /* Small numbers are frequent. */
        uint64_t a = rand_below(r, VOCABULARY);
        uint64_t b = rand_below(r, VOCABULARY);
        out->at[i] = (uint8_t)MIN_OF(a, b);
    }
}

static void change_capture(struct model *m, struct rand_gen *r, size_t row)
{
    struct model_row *to = &m->rows[row];
    struct model_capture c = {.time_us = 0};
    if (to->count == CAPTURES_MAX)
        return;
    if (to->count && rand_below(r, 3) == 0) {
        c = to->captures[to->count - 1];
    } else {
        draw_words(r, 5, &c.title);
        draw_words(r, 6, &c.heading);
        draw_words(r, FIELD_WORDS_MAX, &c.body);
    }
    c.time_us =
        (to->count ? to->captures[to->count - 1].time_us : INT64_C(1000000)) +
        1 + (int64_t)rand_below(r, 5);
    to->captures[to->count++] = c;
    put_capture(row, &c);
}

static void change_delete(struct model *m, size_t row)
{
    struct quarry_mutation *d = row_mutation(row);
    quarry_mutation_delete_row(d);
    apply(d);
    m->rows[row] = (struct model_row){.count = 0};
}

static void change_anchor(struct model *m, struct rand_gen *r, size_t row)
{
    struct model_row *to = &m->rows[row];
    struct word_list text;
    struct quarry_mutation *a;
    struct buf source = BUF_INIT;
    struct buf bytes = BUF_INIT;
    draw_words(r, 4, &text);
    for (size_t i = 0; i < to->anchor_count; i++)
        if (same_words(&text, &to->anchors[i]))
            return; /* The model has no counts. */
    if (text.count == 0 || to->anchor_count == ANCHORS)
        return;
    a = row_mutation(row);
    buf_printf(&source, "example.source/%zu", to->anchor_count);
    words_text(&text, &bytes);
    put_cell(a, "anchor", buf_cstr(&source), 5, buf_slice(&bytes));
    apply(a);
    to->anchors[to->anchor_count++] = text;
    buf_close(&source);
    buf_close(&bytes);
}

static void change_rank(struct model *m, size_t row)
{
    struct quarry_mutation *a = row_mutation(row);
    put_cell(a, "rank", "", 7, SLICE_LIT("0.0009765625"));
    apply(a);
    m->rows[row].has_rank = 1;
}

static void change_something(struct model *m, struct rand_gen *r)
{
    size_t row = (size_t)rand_below(r, ROWS);
    uint64_t kind = rand_below(r, 12);
    if (kind == 0)
        change_delete(m, row);
    else if (kind < 3)
        change_anchor(m, r, row);
    else if (kind == 3)
        change_rank(m, row);
    else
        change_capture(m, r, row);
}

/* --- queries ------------------------------------------------------------- */

static void draw_query(struct rand_gen *r, struct buf *out)
{
    static const char *const signs[] = {"", "", "", "", "+", "-"};
    static const char *const fields[] = {"",       "",      "",       "",
                                         "title:", "body:", "anchor:"};
    static const char *const sites[] = {"site:a.example", "site:b.example",
                                        "site:example", "-site:a.example",
                                        "site:www.a.example"};
    for (size_t n = 1 + (size_t)rand_below(r, 4); n; n--) {
        bool quoted = rand_below(r, 4) == 0;
        buf_printf(out, "%s%s", signs[rand_below(r, ARRAY_LEN(signs))],
                   fields[rand_below(r, ARRAY_LEN(fields))]);
        if (quoted)
            buf_append_byte(out, '"');
        for (size_t k = quoted ? 1 + (size_t)rand_below(r, 3) : 1; k; k--) {
            word_text((size_t)rand_below(r, VOCABULARY), out);
            buf_append_str(out, quoted && k > 1 ? " " : "");
        }
        buf_append_str(out, quoted ? "\" " : " ");
    }
    if (rand_below(r, 4) == 0)
        buf_printf(out, "%s ", sites[rand_below(r, ARRAY_LEN(sites))]);
    if (rand_below(r, 4) == 0)
        buf_printf(out, "after:1970-01-01T00:00:01.00000%uZ ",
                   (unsigned)rand_below(r, 10));
    if (rand_below(r, 4) == 0)
        buf_printf(out, "before:1970-01-01T00:00:01.0000%02uZ ",
                   (unsigned)rand_below(r, 20));
}

static void compare_results(const struct search_results *got,
                            size_t want,
                            size_t limit,
                            const char *query)
{
    struct buf key = BUF_INIT;
    ck_assert_msg(got->count == MIN_OF(want, limit), "'%s': %zu, not %zu",
                  query, got->count, want);
    ck_assert_int_eq(got->has_more, want > limit);
    for (size_t i = 0; i < got->count; i++) {
        row_key(hits[i].row, &key);
        ck_assert_msg(slice_eq(got->hits[i].row, buf_slice(&key)) &&
                          got->hits[i].time_us == hits[i].time_us,
                      "'%s': place %zu is %.*s at %lld, not %s at %lld", query,
                      i, SLICE_ARG(got->hits[i].row),
                      (long long)got->hits[i].time_us, buf_cstr(&key),
                      (long long)hits[i].time_us);
        ck_assert_double_eq(got->hits[i].score, hits[i].score);
    }
    buf_close(&key);
}

static void check_queries(const struct model *m, struct rand_gen *r, int count)
{
    const struct search_index_options opts = {.fs = fs,
                                              .world = world,
                                              .table = "web",
                                              .cache_bytes = 1 << 20,
                                              .task_bytes =
                                                  rand_below(r, 2) ? 1 : 0};
    size_t document_count = model_documents(m, documents);
    struct search_index *x;
    ck_assert_int_eq(search_index_open(&opts, &x, NULL), 0);
    for (int i = 0; i < count; i++) {
        struct buf text = BUF_INIT;
        struct search_query q;
        struct search_results got;
        struct search_request request = {.limit = 1 + (size_t)rand_below(r, 12),
                                         .keep_alike = true};
        struct err err = ERR_INIT;
        int rc;
        draw_query(r, &text);
        request.query = buf_slice(&text);
        rc = search_query_parse(breaker, buf_slice(&text), &q, NULL);
        ck_assert_int_eq(search_run(x, &request, &got, &err), rc);
        if (rc == 0) {
            ck_assert_uint_eq(got.documents, document_count);
            compare_results(&got,
                            model_search(documents, document_count, &q, hits),
                            request.limit, buf_cstr(&text));
        }
        search_results_close(&got);
        search_query_close(&q);
        buf_close(&text);
    }
    search_index_close(x);
}

/* --- tests --------------------------------------------------------------- */

static struct search_build_report build_with(struct search_build_options o)
{
    struct search_build_report report;
    struct err err = ERR_INIT;
    int rc;
    o.table = table;
    o.fs = fs;
    o.world = world;
    rc = search_build(&o, &report, &err);
    ck_assert_msg(rc == 0, "%s", err.text);
    return report;
}

static struct search_build_report build(bool from_scratch, size_t memory)
{
    return build_with((struct search_build_options){
        .from_scratch = from_scratch, .memory_bytes = memory});
}

/* Pieces of segments, as tasks of a job write them. */
struct made {
    struct search_intake *to;
    uint32_t segment;
    bool has_segment;
    size_t damage; /* Bits to change in each piece. */
    int rc;
    struct err *err;
};

static void take_piece(void *ctx, uint32_t segment, struct slice piece)
{
    struct made *m = ctx;
    struct buf bytes = BUF_INIT;
    buf_append_slice(&bytes, piece);
    for (size_t i = 0; i < m->damage; i++)
        bytes.data[(i + 1) * 977 % bytes.len] ^= 0x40;
    if (!m->rc && (!m->has_segment || segment != m->segment))
        m->rc = search_intake_segment(m->to, m->err);
    if (!m->rc)
        m->rc = search_intake_bytes(m->to, buf_slice(&bytes), m->err);
    m->has_segment = true;
    m->segment = segment;
    buf_close(&bytes);
}

static int make_range(struct made *m,
                      const struct quarry_range *range,
                      size_t memory,
                      const char *const *families,
                      size_t family_count)
{
    const struct quarry_read_options o = {.ranges = range,
                                          .range_count = 1,
                                          .families = families,
                                          .family_count = family_count};
    const struct quarry_row *row = NULL;
    struct quarry_scanner *rows;
    struct search_segments *s;
    m->has_segment = false;
    ck_assert_int_eq(search_segments_new(memory, take_piece, m, &s, m->err), 0);
    ck_assert_int_eq(quarry_scan(table, &o, &rows, m->err), 0);
    for (;;) {
        ck_assert_int_eq(quarry_scanner_next(rows, &row, m->err), 0);
        if (!row)
            break;
        search_intake_count(m->to, 1, 0);
        ck_assert_int_eq(search_segments_put(s, row, m->err), 0);
    }
    ck_assert_int_eq(search_segments_end(s, m->err), 0);
    search_segments_free(s);
    quarry_scanner_close(rows);
    return m->rc;
}

struct making {
    size_t memory;
    size_t damage;
};

/* Three tasks, each of which reads a range of rows. */
static int make_segments(void *ctx,
                         const char *const *families,
                         size_t family_count,
                         struct search_intake *to,
                         struct err *err)
{
    const struct making *how = ctx;
    const struct quarry_range ranges[] = {
        {SLICE_EMPTY, SLICE_LIT("example.a/p2")},
        {SLICE_LIT("example.a/p2"), SLICE_LIT("example.ab/p7")},
        {SLICE_LIT("example.ab/p7"), SLICE_EMPTY}};
    struct made m = {.to = to, .err = err, .damage = how->damage};
    int rc = 0;
    for (size_t i = 0; i < ARRAY_LEN(ranges) && !rc; i++)
        rc = make_range(&m, &ranges[i], how->memory, families, family_count);
    return rc;
}

static struct search_build_report build_made(size_t memory)
{
    struct making how = {memory, 0};
    return build_with((struct search_build_options){
        .from_scratch = true, .make = make_segments, .make_ctx = &how});
}

/* Any interleaving of changes and updates gives what the model gives, and so
 * does a build from scratch. */
static void run_interleaving(const char *changes, uint64_t seed)
{
    struct model *m = mem_zalloc(1, sizeof(*m));
    struct rand_gen r;
    struct search_build_report report;
    open_store(changes);
    rand_init(&r, seed);
    for (int step = 0; step < 12; step++) {
        for (uint64_t n = rand_below(&r, step ? 12 : 120); n; n--)
            change_something(m, &r);
        /* Little memory: several segments a build. */
        report = build(false, rand_below(&r, 2) ? 0 : 20000);
        ck_assert_int_eq(report.way, step == 0 ? SEARCH_BUILD_ALL
                                     : changes ? SEARCH_BUILD_CHANGES
                                               : SEARCH_BUILD_COMPARE);
        check_queries(m, &r, 60);
    }
    (void)build(true, 0);
    check_queries(m, &r, 60);
    report = build(false, 0);
    ck_assert_uint_eq(report.done.rows_read, 0); /* Nothing has changed. */
    close_store();
    mem_free(m);
}

START_TEST(test_updates_by_comparing)
{
    run_interleaving(NULL, test_seed());
    run_interleaving(NULL, test_seed() + 1);
}

END_TEST

START_TEST(test_updates_by_changes)
{
    run_interleaving("1h", test_seed() + 2);
}

END_TEST

/* The bytes of the one segment that the index consists of. */
static void segment_bytes(struct buf *out)
{
    char **names;
    size_t count;
    struct buf path = BUF_INIT;
    struct search_index_facts facts;
    struct search_index *x;
    const char *newest = NULL;
    size_t files = 0;
    const struct search_index_options o = {
        .fs = fs, .world = world, .table = "web"};
    ck_assert_int_eq(search_index_open(&o, &x, NULL), 0);
    search_index_get_facts(x, &facts);
    search_index_close(x);
    ck_assert_uint_eq(facts.segment_count, 1);
    ck_assert_int_eq(fs_list(fs, "search/web", &names, &count, NULL), 0);
    for (size_t i = 0; i < count; i++) /* Names ascend. */
        if (strstr(names[i], ".segment")) {
            newest = names[i];
            files++;
        }
    /* That of before, which searches may still read; no pieces. */
    ck_assert_uint_le(files, 2);
    buf_printf(&path, "search/web/%s", newest);
    buf_clear(out);
    ck_assert_int_eq(fs_read_all(fs, buf_cstr(&path), 1 << 24, out, NULL), 0);
    fs_names_free(names, count);
    buf_close(&path);
}

/* Threads, and tasks of a job, make the index that one thread makes: to the
 * byte, once it is one segment. */
START_TEST(test_builds_beside_each_other)
{
    struct model *m = mem_zalloc(1, sizeof(*m));
    struct buf alone = BUF_INIT;
    struct buf beside = BUF_INIT;
    struct rand_gen r;
    open_store(NULL);
    rand_init(&r, test_seed() + 3);
    for (int round = 0; round < 4; round++) {
        struct search_build_options o = {.from_scratch = true, .threads = 3};
        struct search_build_report want;
        struct search_build_report got;
        size_t memory = round % 2 ? 20000 : 0;
        for (int n = 0; n < 80; n++)
            change_something(m, &r);
        want = build(true, 0);
        segment_bytes(&alone);
        o.memory_bytes = memory;
        got = build_with(o);
        check_queries(m, &r, 40);
        segment_bytes(&beside);
        ck_assert(slice_eq(buf_slice(&alone), buf_slice(&beside)));
        ck_assert_uint_eq(got.done.rows, want.done.rows);
        ck_assert_uint_eq(got.words, want.words);
        got = build_made(memory);
        check_queries(m, &r, 40);
        segment_bytes(&beside);
        ck_assert(slice_eq(buf_slice(&alone), buf_slice(&beside)));
        ck_assert_uint_eq(got.done.rows, want.done.rows);
        ck_assert_uint_eq(got.done.documents, want.done.documents);
    }
    buf_close(&alone);
    buf_close(&beside);
    close_store();
    mem_free(m);
}

END_TEST

/* Segments that come damaged from elsewhere are refused, or are segments that
 * searches find damaged; the index is as before until then. */
START_TEST(test_damaged_pieces)
{
    struct model *m = mem_zalloc(1, sizeof(*m));
    struct rand_gen r;
    struct making how = {0, 0};
    open_store(NULL);
    rand_init(&r, test_seed() + 4);
    for (int n = 0; n < 80; n++)
        change_something(m, &r);
    (void)build(true, 0);
    for (how.damage = 1; how.damage < 60; how.damage++) {
        struct search_build_report report;
        struct err err = ERR_INIT;
        const struct search_build_options o = {.table = table,
                                               .fs = fs,
                                               .world = world,
                                               .from_scratch = true,
                                               .make = make_segments,
                                               .make_ctx = &how};
        int rc = search_build(&o, &report, &err);
        ck_assert(rc == 0 || rc == ERR_CORRUPT || rc == ERR_UNSUPPORTED);
        if (rc)
            break;
    }
    (void)build(true, 0);
    check_queries(m, &r, 20);
    close_store();
    mem_free(m);
}

END_TEST

/* A damaged byte anywhere in a segment or a manifest is refused when it is
 * read, and changes no result. */
START_TEST(test_damage)
{
    struct model *m = mem_zalloc(1, sizeof(*m));
    const struct search_index_options opts = {
        .fs = fs, .world = world, .table = "web"};
    struct rand_gen r;
    struct buf good = BUF_INIT;
    struct buf bad = BUF_INIT;
    char **names;
    size_t name_count;
    open_store(NULL);
    rand_init(&r, test_seed());
    for (int n = 0; n < 200; n++)
        change_something(m, &r);
    (void)build(false, 0);
    ck_assert_int_eq(fs_list(fs, "search/web", &names, &name_count, NULL), 0);
    for (size_t i = 0; i < name_count; i++) {
        struct buf path = BUF_INIT;
        if (strcmp(names[i], "LOCK") == 0)
            continue;
        buf_printf(&path, "search/web/%s", names[i]);
        buf_clear(&good);
        ck_assert_int_eq(fs_read_all(fs, buf_cstr(&path), 1 << 24, &good, NULL),
                         0);
        for (int k = 0; k < 60; k++) {
            struct search_index_options o = opts;
            struct search_index *x;
            struct search_results got;
            const struct search_request request = {
                .query = SLICE_LIT("w4 w5 \"w6 w7\""), .limit = 10};
            int rc;
            o.fs = fs;
            o.world = world;
            buf_clear(&bad);
            buf_append_slice(&bad, buf_slice(&good));
            bad.data[rand_below(&r, bad.len)] ^= (char)(1 << rand_below(&r, 8));
            if (k % 4 == 0)
                buf_truncate(&bad, (size_t)rand_below(&r, bad.len));
            ck_assert_int_eq(
                fs_replace(fs, buf_cstr(&path), buf_slice(&bad), NULL), 0);
            rc = search_index_open(&o, &x, NULL);
            if (rc == 0) { /* The page is not one that is read at the open. */
                rc = search_run(x, &request, &got, NULL);
                search_results_close(&got);
                search_index_close(x);
            }
            ck_assert(rc == ERR_CORRUPT || rc == ERR_UNSUPPORTED);
        }
        ck_assert_int_eq(
            fs_replace(fs, buf_cstr(&path), buf_slice(&good), NULL), 0);
        buf_close(&path);
    }
    fs_names_free(names, name_count);
    check_queries(m, &r, 10);
    buf_close(&good);
    buf_close(&bad);
    close_store();
    mem_free(m);
}

END_TEST

/* A misspelt word is noticed, a beginning is completed, and pages that say the
 * same are folded into one. */
START_TEST(test_suggestions)
{
    const struct search_index_options opts = {
        .fs = fs, .world = world, .table = "web"};
    struct search_index_options o = opts;
    struct search_index *x;
    struct search_results got;
    struct search_request request = {.query = SLICE_LIT("library archve"),
                                     .limit = 10};
    struct buf words = BUF_INIT;
    open_store(NULL);
    for (size_t i = 0; i < 12; i++) {
        struct quarry_mutation *m = row_mutation(i);
        put_cell(m, "contents", "", 1000,
                 SLICE_LIT("The archive of a library"));
        put_cell(m, "http", "content-type", 1000, SLICE_LIT("text/plain"));
        apply(m);
    }
    (void)build(false, 0);
    o.fs = fs;
    o.world = world;
    ck_assert_int_eq(search_index_open(&o, &x, NULL), 0);
    ck_assert_int_eq(search_run(x, &request, &got, NULL), 0);
    ck_assert_uint_eq(got.count, 1);
    ck_assert_uint_eq(got.hits[0].alike_count, 11);
    ck_assert(slice_eq_str(got.suggestion, "library archive"));
    search_results_close(&got);
    ck_assert_int_eq(search_suggest(x, SLICE_LIT("Arch"), &words, NULL), 0);
    ck_assert_str_eq(buf_cstr(&words), "archive\n");
    search_index_close(x);
    buf_close(&words);
    close_store();
}

END_TEST

TEST_MAIN("search_index",
          test_updates_by_comparing,
          test_updates_by_changes,
          test_builds_beside_each_other,
          test_damaged_pieces,
          test_damage,
          test_suggestions)
