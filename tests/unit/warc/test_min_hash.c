/* Sketches tell how alike two texts are, as the sets of their shingles do. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/hash.h"
#include "base/core/rand.h"
#include "mapreduce/warc/archive_reader.h"
#include "mapreduce/warc/archived_http.h"
#include "mapreduce/warc/main_text.h"
#include "mapreduce/warc/min_hash.h"
#include "mapreduce/warc/text_blocks.h"
#include "tests/lib/check_main.h"

#define WIDTH     5
#define WORDS_MAX 20000
#define VERSIONS  160

/* --- The model: sets of shingles ----------------------------------------- */

struct shingles {
    uint64_t at[WORDS_MAX];
    size_t count;
};

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a;
    const uint64_t *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void shingles_of(struct slice text, struct shingles *s)
{
    static struct slice words[WORDS_MAX];
    size_t n = 0;
    size_t kept = 0;
    while (n < WORDS_MAX && text_word_next(&text, &words[n]))
        n++;
    s->count = 0;
    for (size_t i = 0; i + WIDTH <= n; i++)
        s->at[s->count++] =
            hash64(words[i].data,
                   (size_t)(words[i + WIDTH - 1].data +
                            words[i + WIDTH - 1].len - words[i].data),
                   0);
    qsort(s->at, s->count, sizeof(*s->at), by_value);
    for (size_t i = 0; i < s->count; i++)
        if (kept == 0 || s->at[kept - 1] != s->at[i])
            s->at[kept++] = s->at[i];
    s->count = kept;
}

static double jaccard(const struct shingles *a, const struct shingles *b)
{
    size_t i = 0;
    size_t k = 0;
    size_t both = 0;
    while (i < a->count && k < b->count) {
        if (a->at[i] == b->at[k])
            both++;
        if (a->at[i] <= b->at[k]) {
            k += a->at[i] == b->at[k];
            i++;
        } else {
            k++;
        }
    }
    return a->count + b->count == 0
               ? 1
               : (double)both / (double)(a->count + b->count - both);
}

/* A text, and the same with one word in @every replaced. */
static void
put_texts(struct rand_gen *r, size_t every, struct buf *a, struct buf *b)
{
    size_t n = 300 + rand_below(r, 300);
    buf_clear(a);
    buf_clear(b);
    for (size_t i = 0; i < n; i++) {
        unsigned word = (unsigned)rand_below(r, 5000);
        buf_printf(a, "w%u ", word);
        if (rand_below(r, every) == 0)
            buf_printf(b, "other%u ", (unsigned)rand_below(r, 5000));
        else
            buf_printf(b, "W%u ", word);
    }
}

/* --- Tests --------------------------------------------------------------- */

/* The estimate is within four standard errors of the Jaccard index, for texts
 * alike to any degree; case makes no difference. */
START_TEST(test_estimate)
{
    struct rand_gen r;
    struct buf a = BUF_INIT;
    struct buf b = BUF_INIT;
    struct buf lower = BUF_INIT;
    static struct shingles x;
    static struct shingles y;
    double errors = 0;
    int n = 0;
    rand_init(&r, test_seed());
    for (size_t every = 2; every < 400; every += every / 4 + 1) {
        struct min_hash m;
        struct min_hash_sketch p;
        struct min_hash_sketch q;
        put_texts(&r, every, &a, &b);
        min_hash_text(buf_slice(&a), WIDTH, &m);
        min_hash_pack(&m, &p);
        min_hash_text(buf_slice(&b), WIDTH, &m);
        min_hash_pack(&m, &q);
        buf_clear(&lower);
        for (size_t i = 0; i < b.len; i++)
            buf_append_byte(&lower, b.data[i] == 'W' ? 'w' : b.data[i]);
        shingles_of(buf_slice(&a), &x);
        shingles_of(buf_slice(&lower), &y);
        double exact = jaccard(&x, &y);
        double error = min_hash_likeness(&p, &q) - exact;
        double standard = sqrt(exact * (1 - exact) / MIN_HASH_COUNT) + 0.01;
        ck_assert_msg(fabs(error) <= 5 * standard, "%f for %f", error, exact);
        errors += error;
        n++;
    }
    ck_assert(fabs(errors / n) < 0.05);
    buf_close(&a);
    buf_close(&b);
    buf_close(&lower);
}

END_TEST

/* Texts as alike as asked for meet in a band, nearly always; others seldom. */
START_TEST(test_bands)
{
    struct rand_gen r;
    struct buf a = BUF_INIT;
    struct buf b = BUF_INIT;
    int met = 0;
    int tried = 0;
    size_t rows = min_hash_rows(0.8);
    rand_init(&r, test_seed());
    ck_assert_uint_eq(rows, 5);
    ck_assert_uint_ge(min_hash_rows(1), 16);
    ck_assert_uint_eq(min_hash_rows(0.5), 2);
    for (int i = 0; i < 60; i++) {
        struct min_hash m;
        struct min_hash o;
        bool meet = false;
        put_texts(&r, 50, &a, &b); /* 0.82 alike. */
        min_hash_text(buf_slice(&a), WIDTH, &m);
        min_hash_text(buf_slice(&b), WIDTH, &o);
        for (size_t k = 0; (k + 1) * rows <= MIN_HASH_COUNT; k++)
            meet = meet ||
                   min_hash_band(&m, rows, k) == min_hash_band(&o, rows, k);
        met += meet;
        tried++;
    }
    ck_assert_int_ge(met, tried - 1);
    buf_close(&a);
    buf_close(&b);
}

END_TEST

/* Short and empty texts have sketches too; equal ones are wholly alike. */
START_TEST(test_short)
{
    static const char *const texts[] = {"", "one", "one two three four"};
    for (size_t i = 0; i < 3; i++) {
        struct min_hash m;
        struct min_hash_sketch p;
        struct min_hash_sketch q;
        min_hash_text(slice_str(texts[i]), WIDTH, &m);
        min_hash_pack(&m, &p);
        ck_assert_uint_eq(m.words, i == 2 ? 4 : i);
        min_hash_text(slice_str(texts[2]), WIDTH, &m);
        min_hash_pack(&m, &q);
        ck_assert(i == 2 ? min_hash_likeness(&p, &q) > 0.999
                         : min_hash_likeness(&p, &q) < 0.1);
    }
}

END_TEST

/* --- Real pages ---------------------------------------------------------- */

struct version {
    struct shingles shingles;
    struct min_hash hash;
    struct min_hash_sketch sketch;
};

static int
read_file(void *ctx, void *dst, size_t len, size_t *got, struct err *err)
{
    (void)err;
    *got = fread(dst, 1, len, ctx);
    return 0;
}

/* All text of every @step th response of a file, behind the first @n of
 * @out; how many there are then. */
static size_t
read_versions(const char *path, size_t step, struct version *out, size_t n)
{
    char *full = test_shared(path);
    struct warc_reader_options o = {.read = read_file};
    struct http_decoder *decoder;
    struct main_text *texts;
    const struct warc_record *rec;
    static struct http_message m;
    size_t seen = 0;
    if (!full)
        return n;
    decoder = http_decoder_new();
    texts = main_text_new();
    o.ctx = fopen(full, "rb");
    struct warc_reader *r = warc_reader_new(&o);
    while (n < VERSIONS && warc_reader_next(r, &rec, NULL) == 0 && rec) {
        struct slice payload;
        struct slice body;
        if (rec->type != WARC_RESPONSE || seen++ % step ||
            !http_parse(rec->block, &m))
            continue;
        http_decode(decoder, &m, 64 << 20, &payload, &body);
        struct slice text = main_text_all(texts, body);
        shingles_of(text, &out[n].shingles);
        min_hash_text(text, WIDTH, &out[n].hash);
        min_hash_pack(&out[n].hash, &out[n].sketch);
        n += out[n].hash.words >= 20 && out[n].hash.words < WORDS_MAX;
    }
    warc_reader_free(r);
    fclose(o.ctx);
    main_text_free(texts);
    http_decoder_free(decoder);
    free(full);
    return n;
}

static bool meet_in_band(const struct version *a, const struct version *b)
{
    size_t rows = min_hash_rows(0.8);
    for (size_t k = 0; (k + 1) * rows <= MIN_HASH_COUNT; k++)
        if (min_hash_band(&a->hash, rows, k) ==
            min_hash_band(&b->hash, rows, k))
            return true;
    return false;
}

/* Of versions of real pages, nearly all pairs of a Jaccard index of 0.8 are
 * found, and nearly all that are found have it, or miss it by little. */
START_TEST(test_versions)
{
    struct version *v = calloc(VERSIONS, sizeof(*v));
    size_t n = read_versions(
        "data/crawl/derived/dev-versions-hot-00000.warc.gz", 4, v, 0);
    n = read_versions("data/crawl/derived/dev-versions-00000.warc.gz", 3, v, n);
    int alike = 0;
    int found = 0;
    int both = 0;
    int nearly = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) {
            double exact = jaccard(&v[i].shingles, &v[k].shingles);
            bool is_found =
                meet_in_band(&v[i], &v[k]) &&
                min_hash_likeness(&v[i].sketch, &v[k].sketch) >= 0.8;
            alike += exact >= 0.8;
            found += is_found;
            both += is_found && exact >= 0.8;
            nearly += is_found && exact >= 0.7;
        }
    }
    if (n) {
        printf("%zu pages, %d pairs alike, %d found, precision %.4f (%.4f at "
               "0.7), recall %.4f\n",
               n, alike, found, (double)both / found, (double)nearly / found,
               (double)both / alike);
        ck_assert_int_gt(alike, 100);
        ck_assert_int_ge(both * 100, alike * 90);
        ck_assert_int_ge(both * 100, found * 90);
        ck_assert_int_ge(nearly * 100, found * 99);
    }
    free(v);
}

END_TEST

TEST_MAIN("min_hash", test_estimate, test_bands, test_short, test_versions)
