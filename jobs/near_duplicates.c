/* Pages whose texts are nearly the same, in clusters: two jobs.
 *
 * `near_duplicates.bands` gives each page's MinHash sketch to a bucket for each
 * band of it; pages of a bucket are compared, and pairs that are alike enough
 * become edges. `near_duplicates` joins them: its one reducer keeps a forest of
 * the pages that have a near duplicate (union by the smaller name, paths
 * halved), and no others. A cluster is named by the smallest row key in it. The
 * likeness is of pairs, so pages of a long chain may differ more.
 *     table:    duplicate:of = name; on the row of that name duplicate:copies
 *     text:     name <tab> page, a line a page of a cluster but its first
 *     records:  key name, value page
 */
#include "jobs/near_duplicates.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/core/coding.h"
#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "jobs/jobs.h"
#include "jobs/page.h"
#include "mapreduce/warc/main_text.h"
#include "mapreduce/warc/min_hash.h"

/* Sketches of a bucket that others are compared with: of a bucket of pages that
 * share a menu and nothing else, the rest is compared with these alone. */
#define BUCKET_SKETCHES_MAX 64
/* Names that the last reducer keeps in memory. */
#define NAME_BYTES_MAX ((uint64_t)1 << 30)

/* --- buckets ------------------------------------------------------------- */

struct bucket_page {
    struct buf name;
    struct min_hash_sketch sketch;
};

struct bands_task {
    struct page_reader *pages;
    struct main_text *extractor;
    bool whole_text;
    size_t width;
    size_t words_min;
    size_t rows;
    double likeness;
    struct min_hash hash;
    struct buf key;
    struct bucket_page bucket[BUCKET_SKETCHES_MAX]; /* Of the reducer. */
    size_t bucket_count;
};

static int
read_band_params(struct mr_task *t, struct bands_task *b, struct err *err)
{
    const char *text = mr_param(t, "text");
    int64_t percent = 0;
    int64_t width = 0;
    int64_t words = 0;
    int rc = mr_param_i64(t, "likeness", 50, 100, &percent, err);
    if (rc == 0)
        rc = mr_param_i64(t, "width", 1, MIN_HASH_WIDTH_MAX, &width, err);
    if (rc == 0)
        rc = mr_param_i64(t, "min_words", 1, 1000000, &words, err);
    b->whole_text = strcmp(text, "all") == 0;
    if (rc == 0 && !b->whole_text && strcmp(text, "main") != 0)
        rc = err_set(err, ERR_INVALID, "parameter text=%s: must be main or all",
                     text);
    b->likeness = (double)percent / 100;
    b->width = (size_t)width;
    b->words_min = (size_t)words;
    b->rows = min_hash_rows(b->likeness);
    return rc;
}

static int bands_setup(struct mr_task *t, struct err *err)
{
    struct bands_task *b = mem_zalloc(1, sizeof(*b));
    b->pages = page_reader_new();
    b->extractor = main_text_new();
    mr_set_state(t, b);
    return read_band_params(t, b, err);
}

static void bands_teardown(struct mr_task *t)
{
    struct bands_task *b = mr_state(t);
    page_reader_free(b->pages);
    main_text_free(b->extractor);
    for (size_t i = 0; i < BUCKET_SKETCHES_MAX; i++)
        buf_close(&b->bucket[i].name);
    buf_close(&b->key);
    mem_free(b);
}

/* Keys are a band's hash, 8 bytes, and the page: pages of a bucket come in
 * order of their names, whatever task read them. */
static size_t bands_group(struct mr_task *t, struct slice key)
{
    (void)t;
    return MIN_OF(key.len, sizeof(uint64_t));
}

static int
bands_map(struct mr_task *t, const struct mr_record *record, struct err *err)
{
    struct bands_task *b = mr_state(t);
    struct min_hash_sketch sketch;
    struct page page;
    struct slice text;
    (void)err;
    if (!page_read(b->pages, record, &page) || !page.text ||
        page.key.len + sizeof(uint64_t) > MR_KEY_BYTES_MAX)
        return 0;
    text = !page.html      ? page.body
           : b->whole_text ? main_text_all(b->extractor, page.body)
                           : main_text_of(b->extractor, page.body);
    min_hash_text(text, b->width, &b->hash);
    if (b->hash.words < b->words_min) {
        mr_count(t, "near_duplicates.short", 1);
        return 0;
    }
    mr_count(t, "near_duplicates.pages", 1);
    min_hash_pack(&b->hash, &sketch);
    for (size_t i = 0; (i + 1) * b->rows <= MIN_HASH_COUNT; i++) {
        uint64_t band = min_hash_band(&b->hash, b->rows, i);
        buf_clear(&b->key);
        buf_append(&b->key, &band, sizeof(band));
        buf_append_slice(&b->key, page.key);
        mr_emit(t, buf_slice(&b->key),
                slice_make(sketch.low, sizeof(sketch.low)));
    }
    return 0;
}

/* Compare a page with those of its bucket; alike pages make an edge, from the
 * smaller name. */
static void compare_in_bucket(struct mr_task *t,
                              struct bands_task *b,
                              struct slice name,
                              const struct min_hash_sketch *sketch)
{
    for (size_t i = 0; i < b->bucket_count; i++) {
        const struct bucket_page *o = &b->bucket[i];
        if (slice_eq(buf_slice(&o->name), name))
            return; /* Another capture of the page. */
        mr_count(t, "near_duplicates.compared", 1);
        if (min_hash_likeness(&o->sketch, sketch) >= b->likeness) {
            mr_write(mr_output(t, NULL), buf_slice(&o->name), name);
            return;
        }
    }
    if (b->bucket_count == BUCKET_SKETCHES_MAX) {
        mr_count(t, "near_duplicates.crowded", 1);
        return;
    }
    struct bucket_page *fresh = &b->bucket[b->bucket_count++];
    buf_clear(&fresh->name);
    buf_append_slice(&fresh->name, name);
    fresh->sketch = *sketch;
}

static int bands_reduce(struct mr_task *t,
                        struct slice key,
                        struct mr_values *values,
                        struct err *err)
{
    struct bands_task *b = mr_state(t);
    struct min_hash_sketch sketch;
    struct slice value;
    (void)key;
    (void)err;
    b->bucket_count = 0;
    while (mr_values_next(values, &value)) {
        struct slice whole = mr_values_key(values);
        if (value.len != sizeof(sketch.low))
            continue;
        memcpy(sketch.low, value.data, sizeof(sketch.low));
        compare_in_bucket(t, b, slice_sub(whole, sizeof(uint64_t), whole.len),
                          &sketch);
    }
    return 0;
}

const struct mr_param near_duplicates_params[NEAR_DUPLICATES_PARAM_COUNT] = {
    {"likeness", "80", "Percent of the shingles that both have, 50 to 100."},
    {"width", "5", "Words of a shingle."},
    {"min_words", "20", "Pages with fewer words are left out."},
    {"text", "main",
     "main: without menus, footers and lists of links; or all."},
};

static const struct mr_job bands_job = {
    .abi_version = MR_ABI_VERSION,
    .name = "near_duplicates.bands",
    .help = "Find pairs of pages with nearly the same text.",
    .params = near_duplicates_params,
    .param_count = NEAR_DUPLICATES_PARAM_COUNT,
    .setup = bands_setup,
    .teardown = bands_teardown,
    .map = bands_map,
    .reduce = bands_reduce,
    .group = bands_group,
};

/* --- clusters ------------------------------------------------------------ */

struct cluster_node {
    struct slice name; /* Borrowed from the map of names. */
    size_t parent;     /* Itself: the root, and smallest name, of a cluster. */
};

struct clusters_task {
    struct hash_map names; /* To an index. */
    struct cluster_node *nodes;
    size_t count;
    size_t cap;
    uint64_t name_bytes;
};

static int clusters_setup(struct mr_task *t, struct err *err)
{
    struct clusters_task *c = mem_zalloc(1, sizeof(*c));
    (void)err;
    hash_map_init(&c->names, HASH_KEYS_COPIED);
    mr_set_state(t, c);
    return 0;
}

static void clusters_teardown(struct mr_task *t)
{
    struct clusters_task *c = mr_state(t);
    hash_map_close(&c->names);
    mem_free(c->nodes);
    mem_free(c);
}

static size_t find_root(struct clusters_task *c, size_t i)
{
    while (c->nodes[i].parent != i) {
        c->nodes[i].parent = c->nodes[c->nodes[i].parent].parent;
        i = c->nodes[i].parent;
    }
    return i;
}

static size_t node_of_name(struct clusters_task *c, struct slice name)
{
    bool added;
    union hash_value *v = hash_map_put(&c->names, name, &added);
    if (!added)
        return (size_t)v->number;
    if (c->count == c->cap) {
        c->cap = c->cap ? c->cap * 2 : 256;
        c->nodes = mem_realloc(c->nodes, c->cap * sizeof(*c->nodes));
    }
    c->nodes[c->count] = (struct cluster_node){SLICE_EMPTY, c->count};
    c->name_bytes += name.len;
    v->number = c->count;
    return c->count++;
}

/* The names of nodes are the map's copies; a map that grows keeps those. */
static void name_nodes(struct clusters_task *c)
{
    const struct hash_slot *s;
    size_t at = 0;
    while ((s = hash_map_next(&c->names, &at)) != NULL)
        c->nodes[s->value.number].name = s->key;
}

static int clusters_reduce(struct mr_task *t,
                           struct slice key,
                           struct mr_values *values,
                           struct err *err)
{
    struct clusters_task *c = mr_state(t);
    size_t a = node_of_name(c, key);
    struct slice value;
    while (mr_values_next(values, &value)) {
        size_t b = find_root(c, node_of_name(c, value));
        size_t root = find_root(c, a);
        c->nodes[MAX_OF(root, b)].parent = MIN_OF(root, b);
        if (c->name_bytes > NAME_BYTES_MAX)
            return err_set(err, ERR_INVALID,
                           "pages with near duplicates have names of more than "
                           "%llu bytes together: take a part of the table",
                           (unsigned long long)NAME_BYTES_MAX);
    }
    return 0;
}

static int by_cluster_and_name(const void *a, const void *b)
{
    const struct slice *x = a;
    const struct slice *y = b;
    int c = slice_cmp(x[0], y[0]);
    return c ? c : slice_cmp(x[1], y[1]);
}

static void write_copies(struct mr_output *out, struct slice name, size_t n)
{
    char text[24];
    int len = snprintf(text, sizeof(text), "%zu", n);
    if (n && mr_output_is_table(out))
        mr_put(out, name, "duplicate", SLICE_LIT("copies"), MR_JOB_TIME,
               slice_make(text, (size_t)len));
}

static void write_member(struct mr_output *out, const struct slice pair[2])
{
    if (mr_output_is_table(out))
        mr_put(out, pair[1], "duplicate", SLICE_LIT("of"), MR_JOB_TIME,
               pair[0]);
    else
        mr_write(out, pair[0], pair[1]);
}

/* The smallest name of each cluster becomes its root's place in @least. */
static size_t *find_least_names(struct clusters_task *c)
{
    size_t *least = mem_alloc(MAX_OF(c->count, (size_t)1) * sizeof(*least));
    for (size_t i = 0; i < c->count; i++)
        least[i] = i;
    for (size_t i = 0; i < c->count; i++) {
        size_t root = find_root(c, i);
        if (slice_cmp(c->nodes[i].name, c->nodes[least[root]].name) < 0)
            least[root] = i;
    }
    return least;
}

static int clusters_end(struct mr_task *t, struct err *err)
{
    struct clusters_task *c = mr_state(t);
    struct mr_output *out = mr_output(t, NULL);
    (void)err;
    name_nodes(c);
    size_t *least = find_least_names(c);
    struct slice(*pairs)[2] =
        mem_alloc(MAX_OF(c->count, (size_t)1) * sizeof(*pairs));
    size_t n = 0;
    for (size_t i = 0; i < c->count; i++) {
        size_t first = least[find_root(c, i)];
        if (first == i)
            continue;
        pairs[n][0] = c->nodes[first].name;
        pairs[n++][1] = c->nodes[i].name;
    }
    if (n)
        qsort(pairs, n, sizeof(*pairs), by_cluster_and_name);
    for (size_t i = 0, of = 0; i < n; i++) {
        write_member(out, pairs[i]);
        of++;
        if (i + 1 == n || !slice_eq(pairs[i][0], pairs[i + 1][0])) {
            write_copies(out, pairs[i][0], of);
            mr_count(t, "near_duplicates.clusters", 1);
            of = 0;
        }
    }
    mr_count(t, "near_duplicates.copies", (int64_t)n);
    mem_free(pairs);
    mem_free(least);
    return 0;
}

static const char *const families[] = {"duplicate", NULL};

static const struct mr_job clusters_job = {
    .abi_version = MR_ABI_VERSION,
    .name = "near_duplicates",
    .help = "Find pages with nearly the same text.",
    .setup = clusters_setup,
    .teardown = clusters_teardown,
    .reduce = clusters_reduce,
    .reduce_end = clusters_end,
    .single_reducer = true,
    .output_families = families,
};

/* --- one after the other ------------------------------------------------- */

const struct mr_job *near_duplicates_part(const char *name)
{
    if (strcmp(name, bands_job.name) == 0)
        return &bands_job;
    return strcmp(name, clusters_job.name) == 0 ? &clusters_job : NULL;
}

static int run_bands(const struct mr_options *opts,
                     struct world *world,
                     const char *edges,
                     struct mr_report **report,
                     struct err *err)
{
    struct mr_options o = *opts;
    o.program = (struct mr_program){.job = &bands_job};
    o.world = world;
    o.outputs = &edges;
    o.output_count = 1;
    o.overwrite = true;
    return mr_run(&o, report, err);
}

static int run_clusters(const struct mr_options *opts,
                        struct world *world,
                        const char *edges,
                        struct mr_report **report,
                        struct err *err)
{
    struct mr_options o = *opts;
    o.program = (struct mr_program){.job = &clusters_job};
    o.world = world;
    o.params = NULL;
    o.param_count = 0;
    o.inputs = &edges;
    o.input_count = 1;
    return mr_run(&o, report, err);
}

/* Both jobs; the counters of the first are added to the report of the last. */
static int run_both(const struct mr_options *opts,
                    struct world *world,
                    const char *edges,
                    struct mr_report **report,
                    struct err *err)
{
    static const char *const kept[] = {
        "near_duplicates.pages", "near_duplicates.short",
        "near_duplicates.compared", "near_duplicates.crowded"};
    struct mr_report *first = NULL;
    int rc = run_bands(opts, world, edges, &first, err);
    if (rc == 0)
        rc = run_clusters(opts, world, edges, report, err);
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(kept); i++) {
        struct mr_report *r = *report;
        int64_t value = mr_report_counter(first, kept[i]);
        if (!value)
            continue;
        r->counters = mem_realloc(r->counters, (r->counter_count + 1) *
                                                   sizeof(*r->counters));
        r->counters[r->counter_count++] =
            (struct mr_counter_value){mem_strdup(kept[i]), value};
    }
    mr_report_free(first);
    return rc;
}

int near_duplicates_run(const struct mr_options *opts,
                        struct mr_report **report,
                        struct err *err)
{
    struct world *own = NULL;
    struct world *world = opts->world;
    struct mr_report *last = NULL;
    struct buf edges = BUF_INIT;
    char *dir = NULL;
    int rc;
    if (!world)
        world = own = world_real_new();
    rc = mr_check_outputs(opts, world, err);
    if (rc == 0)
        rc = mr_scratch_make(opts, world, &dir, err);
    if (rc == 0) {
        int removed;
        buf_printf(&edges, "records:%s/edges", dir);
        rc = run_both(opts, world, buf_cstr(&edges), &last, err);
        removed = mr_scratch_remove(opts, world, dir, rc ? NULL : err);
        rc = rc ? rc : removed;
    }
    if (report)
        *report = last;
    else
        mr_report_free(last);
    buf_close(&edges);
    mem_free(dir);
    world_free(own);
    return rc;
}
