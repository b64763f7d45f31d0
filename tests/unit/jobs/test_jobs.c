/* Every job of the list gives what a few obvious lines of C or the shell give,
 * with little memory, in one task and in many, from files and from tables. */
#define _GNU_SOURCE

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/core/rand.h"
#include "bigtable/quarry.h"
#include "jobs/jobs.h"
#include "jobs/page.h"
#include "tests/lib/check_main.h"

/* --- Fixture ------------------------------------------------------------- */

static const char *dir;
static char target[310];

static void setup(void)
{
    dir = test_tmpdir();
    setenv("TMPDIR", dir, 1);
    snprintf(target, sizeof(target), "file:%s/store", dir);
}

static void write_text(const char *name, struct slice text)
{
    char path[400];
    FILE *f;
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "wb");
    ck_assert_uint_eq(fwrite(text.data, 1, text.len, f), text.len);
    fclose(f);
}

/* Run a shell line with $D set to the directory; its output, owned. */
static char *shell(const char *line)
{
    struct buf out = BUF_INIT;
    char piece[4096];
    size_t n;
    FILE *p;
    setenv("D", dir, 1);
    setenv("LC_ALL", "C", 1);
    p = popen(line, "r");
    while ((n = fread(piece, 1, sizeof(piece), p)) > 0)
        buf_append(&out, piece, n);
    ck_assert_int_eq(pclose(p), 0);
    return buf_take(&out);
}

static void same_output(const char *a, const char *b)
{
    char *x = shell(a);
    char *y = shell(b);
    ck_assert_uint_gt(strlen(x), 0);
    ck_assert_str_eq(x, y);
    mem_free(x);
    mem_free(y);
}

/* Put the directory in the place of $D. */
static void in_dir(char *out, size_t size, const char *spec)
{
    const char *at = strstr(spec, "$D");
    char *copy = strdup(spec);
    if (!at) {
        snprintf(out, size, "%s", spec);
    } else {
        copy[at - spec] = '\0';
        snprintf(out, size, "%s%s%s", copy, dir, at + 2);
    }
    free(copy);
}

/* Run job @name; @input and @output have $D where the directory belongs. */
static int run_with(const char *name,
                    const char *input,
                    const char *output,
                    const struct mr_setting *params,
                    size_t param_count,
                    unsigned variant)
{
    char in[400];
    char out[400];
    const char *inputs[] = {in};
    const char *outputs[] = {out};
    struct mr_options o = {.inputs = inputs,
                           .input_count = 1,
                           .outputs = outputs,
                           .output_count = 1,
                           .params = params,
                           .param_count = param_count,
                           .target = target,
                           .workers = 2,
                           .memory_bytes = 2 << 20,
                           .overwrite = true};
    struct err err = ERR_INIT;
    int rc;
    in_dir(in, sizeof(in), input);
    in_dir(out, sizeof(out), output);
    o.split_bytes = variant & 1 ? 5000 : 0;
    o.reducers = variant & 2 ? 4 : 1;
    o.in_process = variant & 4;
    rc = jobs_run(jobs_find(name), &o, NULL, &err);
    ck_assert_msg(rc == 0, "%s: %s", name, err.text);
    return rc;
}

static void run(const char *name, const char *in, const char *out, unsigned v)
{
    run_with(name, in, out, NULL, 0, v);
}

/* Words over few letters, so that they repeat, with odd bytes among them. */
static void make_text(void)
{
    struct rand_gen r;
    struct buf text = BUF_INIT;
    rand_init(&r, test_seed());
    for (int i = 0; i < 4000; i++) {
        for (size_t n = rand_below(&r, 12); n; n--) {
            for (size_t k = 1 + rand_below(&r, rand_one_in(&r, 9) ? 30 : 3); k;
                 k--)
                buf_append_byte(&text, "abcdXY7\xc3"[rand_below(&r, 8)]);
            buf_append_str(&text, rand_one_in(&r, 5) ? "\t  " : " ");
        }
        buf_append_byte(&text, '\n');
    }
    write_text("text", buf_slice(&text));
    buf_close(&text);
}

/* --- Tests --------------------------------------------------------------- */

/* word_count is what tr, sort and uniq make. */
START_TEST(test_word_count)
{
    setup();
    make_text();
    for (unsigned v = 0; v < 8; v++) {
        run("word_count", "file:$D/text", "file:$D/out", v);
        same_output("sort $D/out/part-*",
                    "tr -s ' \\t' '\\n\\n' < $D/text | sed '/^$/d' | sort |"
                    "uniq -c | awk '{print $2 \"\\t\" $1}' | sort");
    }
}

END_TEST

/* tera_sort is what sort makes, ties in order of the input, over all parts. */
START_TEST(test_tera_sort)
{
    struct mr_setting bytes = {"key_bytes", "3"};
    setup();
    make_text();
    for (unsigned v = 0; v < 8; v++) {
        run_with("tera_sort", "file:$D/text", "file:$D/out", &bytes, 1, v);
        same_output("cat $D/out/part-*", "sort -s -k1.1,1.3 -t '\001' $D/text");
    }
}

END_TEST

static char *index_model(void)
{
    return shell("tr 'A-Z' 'a-z' < $D/text | tr -c 'a-z0-9\\200-\\377' '\\n' |"
                 "awk 'length($0) > 1 && length($0) <= 64' | sort | uniq -c |"
                 "awk -v d=$D/text '{print $2 \"\\t\" d \":\" $1}' | sort");
}

/* inverted_index names the file and the count of each word of two bytes. */
START_TEST(test_inverted_index)
{
    setup();
    make_text();
    for (unsigned v = 0; v < 4; v++) {
        char *want = index_model();
        char *got;
        run("inverted_index", "file:$D/text", "file:$D/out", v);
        got = shell("sort $D/out/part-*");
        ck_assert_str_eq(got, want);
        mem_free(got);
        mem_free(want);
    }
}

END_TEST

/* url_frequency counts the paths of an access log. */
START_TEST(test_url_frequency)
{
    struct rand_gen r;
    struct buf log = BUF_INIT;
    setup();
    rand_init(&r, test_seed());
    for (int i = 0; i < 2000; i++)
        buf_printf(&log,
                   "10.0.0.%d - - [06/Nov/1994:08:49:37 +0000] "
                   "\"GET /p%u HTTP/1.1\" 200 %d \"-\" \"agent \\\" x\"\n",
                   i % 9, (unsigned)rand_below(&r, 40), i);
    buf_append_str(&log, "garbage\n");
    write_text("log", buf_slice(&log));
    for (unsigned v = 0; v < 4; v++) {
        run("url_frequency", "file:$D/log", "file:$D/out", v);
        same_output("sort $D/out/part-*",
                    "awk '/GET/ {n[$7]++} END {for (k in n) print k \"\\t\" "
                    "n[k]}' $D/log | sort");
    }
    buf_close(&log);
}

END_TEST

/* top_hosts lists the most frequent first, names ascending among equals. */
START_TEST(test_top_hosts)
{
    struct rand_gen r;
    struct buf text = BUF_INIT;
    struct mr_setting limit = {"limit", "7"};
    setup();
    rand_init(&r, test_seed());
    for (int i = 0; i < 3000; i++) {
        uint64_t bound = 1 + rand_below(&r, 30);
        buf_printf(&text, "http://www.h%u.com/%d\n",
                   (unsigned)rand_below(&r, bound), i);
    }
    write_text("urls", buf_slice(&text));
    for (unsigned v = 0; v < 2; v++) {
        run_with("top_hosts", "file:$D/urls", "file:$D/out", &limit, 1, v);
        same_output("cat $D/out/part-*",
                    "cut -d/ -f3 $D/urls | sort | uniq -c | "
                    "sort -k1,1nr -k2,2 | head -7 | "
                    "awk '{print $2 \"\\t\" $1}'");
    }
    buf_close(&text);
}

END_TEST

enum {
    NODES = 60
};

static bool linked[NODES][NODES];

static void make_graph(struct buf *edges)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    memset(linked, 0, sizeof(linked));
    for (int i = 0; i < 400; i++) {
        size_t from = rand_below(&r, NODES - 5); /* The last ones dangle. */
        size_t to = rand_below(&r, NODES);
        linked[from][to] = true;
        buf_printf(edges, "n%zu n%zu\n", from, to);
    }
}

/* The textbook's way, in floating point. */
static void rank_model(double *rank)
{
    bool exists[NODES] = {false};
    double n = 0;
    for (int i = 0; i < NODES; i++)
        for (int k = 0; k < NODES; k++)
            exists[i] = exists[i] || linked[i][k] || linked[k][i];
    for (int i = 0; i < NODES; i++)
        n += exists[i];
    for (int i = 0; i < NODES; i++)
        rank[i] = exists[i] ? 1 / n : 0;
    for (int round = 0; round < 200; round++) {
        double next[NODES];
        double dangling = 0;
        for (int i = 0; i < NODES; i++)
            next[i] = 0;
        for (int i = 0; i < NODES; i++) {
            int out = 0;
            for (int k = 0; k < NODES; k++)
                out += linked[i][k];
            dangling += out == 0 ? rank[i] : 0;
            for (int k = 0; k < NODES; k++)
                if (linked[i][k])
                    next[k] += rank[i] / out;
        }
        for (int i = 0; i < NODES; i++)
            rank[i] =
                exists[i] ? 0.15 / n + 0.85 * (next[i] + dangling / n) : 0;
    }
}

static void check_ranks(char *text)
{
    double want[NODES];
    double before = 1;
    double sum = 0;
    char *line = text;
    rank_model(want);
    while (*line) {
        int node;
        double rank;
        ck_assert_int_eq(sscanf(line, "n%d %lf", &node, &rank), 2);
        ck_assert_double_lt(fabs(rank - want[node]), 1e-6);
        ck_assert_double_le(rank, before);
        before = rank;
        sum += rank;
        line = strchr(line, '\n') + 1;
    }
    ck_assert_double_lt(fabs(sum - 1), 1e-6);
}

/* page_rank agrees with the formula, best first, and to the last digit with
 * itself however the work is cut. */
START_TEST(test_page_rank)
{
    struct buf edges = BUF_INIT;
    struct mr_setting tolerance = {"tolerance", "0.000000001"};
    char *first = NULL;
    setup();
    make_graph(&edges);
    write_text("edges", buf_slice(&edges));
    for (unsigned v = 4; v < 7; v++) {
        char *text;
        run_with("page_rank", "file:$D/edges", "file:$D/out", &tolerance, 1, v);
        text = shell("cat $D/out/part-*");
        check_ranks(text);
        if (first)
            ck_assert_str_eq(text, first);
        mem_free(first);
        first = text;
    }
    mem_free(first);
    buf_close(&edges);
}

END_TEST

/* --- Tables -------------------------------------------------------------- */

static void make_webtable(void)
{
    struct quarry_family_spec f[] = {
        {"contents", ""}, {"anchor", ""}, {"http", ""}};
    struct quarry *q;
    struct quarry_table *t;
    ck_assert_int_eq(quarry_open(target, NULL, &q, NULL), 0);
    ck_assert_int_eq(quarry_table_create(q, "web", f, 3, NULL, 0, NULL), 0);
    ck_assert_int_eq(quarry_table_open(q, "web", &t, NULL), 0);
    for (int i = 0; i < NODES; i++) {
        char row[32];
        struct quarry_mutation *m;
        snprintf(row, sizeof(row), "n%d", i);
        m = quarry_mutation_new(slice_str(row));
        quarry_mutation_set(m, "http", SLICE_LIT("url"), 1000,
                            SLICE_LIT("http://x/"));
        for (int k = 0; k < NODES; k++)
            if (linked[k][i]) {
                char from[32];
                snprintf(from, sizeof(from), "n%d", k);
                quarry_mutation_set(m, "anchor", slice_str(from), 1000,
                                    SLICE_LIT("text"));
            }
        ck_assert_int_eq(quarry_apply(t, m, NULL, NULL), 0);
        quarry_mutation_free(m);
    }
    quarry_table_close(t);
    quarry_close(q);
}

static void check_links(void)
{
    struct quarry *q;
    struct quarry_table *t;
    ck_assert_int_eq(quarry_open(target, NULL, &q, NULL), 0);
    ck_assert_int_eq(quarry_table_open(q, "links", &t, NULL), 0);
    for (int i = 0; i < NODES; i++)
        for (int k = 0; k < NODES; k++) {
            char row[32];
            char to[32];
            struct buf value = BUF_INIT;
            bool found;
            snprintf(row, sizeof(row), "n%d", i);
            snprintf(to, sizeof(to), "n%d", k);
            ck_assert_int_eq(quarry_get(t, slice_str(row), "link",
                                        slice_str(to), &value, &found, NULL),
                             0);
            ck_assert_int_eq(found, linked[i][k]);
            if (found)
                ck_assert(slice_eq_str(buf_slice(&value), "1"));
            buf_close(&value);
        }
    quarry_table_close(t);
    quarry_close(q);
}

/* From a Webtable into a graph and on to ranks, all in tables, in processes
 * that read while the store is open here. */
START_TEST(test_tables)
{
    struct buf edges = BUF_INIT;
    struct mr_setting tolerance = {"tolerance", "0.000000001"};
    char *text;
    setup();
    make_graph(&edges);
    make_webtable();
    for (unsigned v = 0; v < 3; v += 2) {
        run("link_graph", "table:web?columns=anchor:", "table:links", v);
        check_links();
    }
    run_with("page_rank", "table:links", "file:$D/out", &tolerance, 1, 4);
    text = shell("cat $D/out/part-*");
    check_ranks(text);
    mem_free(text);
    run("page_rank", "table:web", "table:ranks", 4);
    buf_close(&edges);
}

END_TEST

/* --- Hosts, domains, near duplicates ------------------------------------- */

static void put_cell(struct quarry_table *t,
                     const char *row,
                     const char *family,
                     const char *qualifier,
                     const char *value)
{
    struct quarry_mutation *m = quarry_mutation_new(slice_str(row));
    quarry_mutation_set(m, family, slice_str(qualifier), 1000,
                        slice_str(value));
    ck_assert_int_eq(quarry_apply(t, m, NULL, NULL), 0);
    quarry_mutation_free(m);
}

/* Links between hosts and domains are those between their pages, added up;
 * those inside of one are none, and domains are told by public suffixes. */
START_TEST(test_graph_levels)
{
    static const char *const links[][2] = {
        {"uk.co.bbc.www/a", "com.cnn.www/x"},
        {"uk.co.bbc.www/b", "com.cnn.edition/y"},
        {"uk.co.bbc.news:8080/", "uk.co.bbc.www/a"},
        {"uk.co.bbc.www/a", "uk.co.bbc.www/b"},
        {"192.168.1.10/", "com.cnn.www/x"}};
    static const struct quarry_family_spec anchors[] = {{"anchor", ""}};
    struct mr_setting level = {"level", "host"};
    struct quarry *q;
    struct quarry_table *t;
    setup();
    ck_assert_int_eq(quarry_open(target, NULL, &q, NULL), 0);
    ck_assert_int_eq(quarry_table_create(q, "web", anchors, 1, NULL, 0, NULL),
                     0);
    ck_assert_int_eq(quarry_table_open(q, "web", &t, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(links); i++)
        put_cell(t, links[i][1], "anchor", links[i][0], "text");
    quarry_table_close(t);
    quarry_close(q);
    run_with("link_graph", "table:web", "file:$D/hosts", &level, 1, 0);
    char *text = shell("cat $D/hosts/part-*");
    ck_assert_str_eq(text, "192.168.1.10\tcom.cnn.www 1\n"
                           "uk.co.bbc.news\tuk.co.bbc.www 1\n"
                           "uk.co.bbc.www\tcom.cnn.edition 1\n"
                           "uk.co.bbc.www\tcom.cnn.www 1\n");
    mem_free(text);
    level.value = "domain";
    run_with("link_graph", "table:web", "file:$D/domains", &level, 1, 0);
    text = shell("cat $D/domains/part-*");
    ck_assert_str_eq(text, "192.168.1.10\tcom.cnn 1\n"
                           "uk.co.bbc\tcom.cnn 2\n");
    mem_free(text);
}

END_TEST

/* A page of @words words drawn by @seed, of which one in @every is another. */
static void put_article(struct quarry_table *t,
                        const char *row,
                        uint64_t seed,
                        uint64_t noise,
                        size_t every)
{
    struct rand_gen r;
    struct rand_gen other;
    struct buf b = BUF_INIT;
    rand_init(&r, seed);
    rand_init(&other, noise);
    buf_append_str(&b, "<html><body><ul><li><a href=/>Home</a></ul>");
    for (int i = 0; i < 400; i++) {
        unsigned word = (unsigned)rand_below(&r, 20000);
        if (every && rand_below(&other, every) == 0)
            word += 50000;
        buf_printf(&b, "%sw%u ", i % 40 ? "" : "<p>", word);
    }
    put_cell(t, row, "contents", "", buf_cstr(&b));
    put_cell(t, row, "http", "content-type", "text/html");
    buf_close(&b);
}

/* Pages that differ in few words are one cluster, named by its first; pages of
 * other words are in none, however the job is split, in lines and in a table.
 */
START_TEST(test_near_duplicates)
{
    static const struct quarry_family_spec families[] = {{"contents", ""},
                                                         {"http", ""}};
    struct quarry *q;
    struct quarry_table *t;
    struct buf value = BUF_INIT;
    bool found;
    char row[32];
    setup();
    ck_assert_int_eq(quarry_open(target, NULL, &q, NULL), 0);
    ck_assert_int_eq(quarry_table_create(q, "web", families, 2, NULL, 0, NULL),
                     0);
    ck_assert_int_eq(quarry_table_open(q, "web", &t, NULL), 0);
    for (unsigned i = 0; i < 30; i++) {
        snprintf(row, sizeof(row), "com.a%u/", i);
        put_article(t, row, i % 10 ? 100 + i : 7, i, i % 10 ? 0 : 200);
    }
    put_article(t, "org.b/1", 8, 0, 0);
    put_article(t, "org.b/2", 8, 0, 0);
    put_cell(t, "org.short/", "contents", "", "w1 w2");
    quarry_table_close(t);
    quarry_close(q);
    for (unsigned v = 0; v < 8; v += 3) {
        run("near_duplicates", "table:web", "file:$D/near", v);
        char *text = shell("cat $D/near/part-*");
        ck_assert_str_eq(text, "com.a0/\tcom.a10/\ncom.a0/\tcom.a20/\n"
                               "org.b/1\torg.b/2\n");
        mem_free(text);
    }
    run("near_duplicates", "table:web", "table:near", 4);
    ck_assert_int_eq(quarry_open(target, NULL, &q, NULL), 0);
    ck_assert_int_eq(quarry_table_open(q, "near", &t, NULL), 0);
    ck_assert_int_eq(quarry_get(t, SLICE_LIT("com.a0/"), "duplicate",
                                SLICE_LIT("copies"), &value, &found, NULL),
                     0);
    ck_assert(found && slice_eq_str(buf_slice(&value), "2"));
    buf_clear(&value);
    ck_assert_int_eq(quarry_get(t, SLICE_LIT("org.b/2"), "duplicate",
                                SLICE_LIT("of"), &value, &found, NULL),
                     0);
    ck_assert(found && slice_eq_str(buf_slice(&value), "org.b/1"));
    quarry_table_close(t);
    quarry_close(q);
    buf_close(&value);
}

END_TEST

/* main_text writes the text and its language into the table that it reads, at
 * the time of the capture; and as lines. */
START_TEST(test_main_text)
{
    static const struct quarry_family_spec families[] = {
        {"contents", ""}, {"http", ""}, {"language", ""}};
    struct quarry *q;
    struct quarry_table *t;
    struct buf value = BUF_INIT;
    bool found;
    setup();
    ck_assert_int_eq(quarry_open(target, NULL, &q, NULL), 0);
    ck_assert_int_eq(quarry_table_create(q, "web", families, 3, NULL, 0, NULL),
                     0);
    ck_assert_int_eq(quarry_table_open(q, "web", &t, NULL), 0);
    put_cell(t, "com.a/", "contents", "",
             "<nav>Menu</nav><p>The quick brown fox jumps over the lazy dog "
             "while seven wizards quietly prepare a jug of brew.");
    put_cell(t, "com.a/", "http", "content-type", "text/html");
    put_cell(t, "com.b/", "contents", "", "%PDF-");
    put_cell(t, "com.b/", "http", "content-type", "application/pdf");
    quarry_table_close(t);
    quarry_close(q);
    run("main_text", "table:web", "table:web", 0);
    run("main_text", "table:web?columns=contents:,http:", "file:$D/lines", 0);
    char *text = shell("cat $D/lines/part-*");
    ck_assert_str_eq(text,
                     "com.a/\ten\tThe quick brown fox jumps over the lazy dog "
                     "while seven wizards quietly prepare a jug of brew.\n");
    mem_free(text);
    ck_assert_int_eq(quarry_open(target, NULL, &q, NULL), 0);
    ck_assert_int_eq(quarry_table_open(q, "web", &t, NULL), 0);
    ck_assert_int_eq(quarry_get(t, SLICE_LIT("com.a/"), "language",
                                SLICE_LIT("text"), &value, &found, NULL),
                     0);
    ck_assert(found && slice_eq_str(buf_slice(&value), "en"));
    buf_clear(&value);
    ck_assert_int_eq(quarry_get(t, SLICE_LIT("com.a/"), "contents",
                                SLICE_LIT("main"), &value, &found, NULL),
                     0);
    ck_assert(found &&
              slice_starts_with(buf_slice(&value), SLICE_LIT("The quick")));
    quarry_table_close(t);
    quarry_close(q);
    buf_close(&value);
}

END_TEST

/* --- Words --------------------------------------------------------------- */

static void join_word(void *ctx, struct slice word)
{
    buf_append_slice(ctx, word);
    buf_append_byte(ctx, ' ');
}

/* Markup, scripts and references are no words; nothing hangs or overruns. */
START_TEST(test_words_of_html)
{
    struct rand_gen r;
    struct buf words = BUF_INIT;
    page_words(SLICE_LIT("<html><STYLE>p{a:b}</Style><p class=x>One&amp;two "
                         "<!-- no --> Th<b>re</b>e<script>if (a<b) c();"
                         "</script> a < 5 <unclosed"),
               true, join_word, &words);
    ck_assert_str_eq(buf_cstr(&words), "one two th re e a 5 ");
    rand_init(&r, test_seed());
    for (int i = 0; i < 3000; i++) {
        char *text = malloc(40);
        size_t n = rand_below(&r, 40);
        for (size_t k = 0; k < n; k++)
            text[k] = "<>/!-&;scriptyle a\xff"[rand_below(&r, 20)];
        buf_clear(&words);
        page_words(slice_make(text, n), true, join_word, &words);
        free(text);
    }
    buf_close(&words);
}

END_TEST

TEST_MAIN("jobs",
          test_word_count,
          test_graph_levels,
          test_near_duplicates,
          test_main_text,
          test_tera_sort,
          test_inverted_index,
          test_url_frequency,
          test_top_hosts,
          test_page_rank,
          test_tables,
          test_words_of_html)
