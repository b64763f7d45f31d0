/* The graph of links between pages, hosts or domains, from a Webtable or from
 * archives.
 *
 * Of a Webtable either the anchors are read, which lie on the rows linked to,
 * or (links=contents) the pages themselves; archives always are. The result is
 * a row a source: link:<target> holds the number of links. Hosts and domains
 * are named as in row keys, reversed ("com.cnn.www", "uk.co.bbc"), and links
 * inside of one are left out, as in the host graphs of Common Crawl.
 *     table:    link:<target> = count
 *     text:     source <tab> target <space> count, a line an edge
 *     records:  key source, value targets, each ended by a line break
 */
#include <stdio.h>

#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "jobs/jobs.h"
#include "jobs/page.h"
#include "jobs/pair_key.h"
#include "mapreduce/warc/public_suffix.h"
#include "mapreduce/warc/url.h"

enum graph_level {
    GRAPH_PAGES,
    GRAPH_HOSTS,
    GRAPH_DOMAINS
};

struct graph {
    struct mr_task *task;
    struct page_reader *pages;
    bool from_contents;
    enum graph_level level;
    struct public_suffixes *suffixes; /* For domains; else NULL. */
    struct slice source;              /* Of the current page. */
    struct buf key;
    struct buf value;
};

static int parse_level(const char *text, enum graph_level *out, struct err *err)
{
    static const char *const names[] = {"page", "host", "domain"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strcmp(text, names[i]) == 0) {
            *out = (enum graph_level)i;
            return 0;
        }
    }
    return err_set(err, ERR_INVALID,
                   "parameter level=%s: must be page, host or domain", text);
}

static int link_graph_setup(struct mr_task *t, struct err *err)
{
    struct graph *g = mem_zalloc(1, sizeof(*g));
    const char *links = mr_param(t, "links");
    g->task = t;
    g->pages = page_reader_new();
    g->from_contents = strcmp(links, "contents") == 0;
    mr_set_state(t, g);
    if (!g->from_contents && strcmp(links, "anchors") != 0)
        return err_set(err, ERR_INVALID,
                       "parameter links=%s: must be anchors or contents",
                       links);
    if (parse_level(mr_param(t, "level"), &g->level, err))
        return ERR_INVALID;
    if (g->level == GRAPH_DOMAINS)
        g->suffixes = public_suffixes_new();
    return 0;
}

static void link_graph_teardown(struct mr_task *t)
{
    struct graph *g = mr_state(t);
    page_reader_free(g->pages);
    public_suffixes_free(g->suffixes);
    buf_close(&g->key);
    buf_close(&g->value);
    mem_free(g);
}

/* The node that the page @key is in. */
static struct slice node_of(const struct graph *g, struct slice key)
{
    if (g->level == GRAPH_PAGES)
        return key;
    key = url_key_host(key);
    return g->level == GRAPH_HOSTS ? key
                                   : public_suffixes_domain(g->suffixes, key);
}

static void emit_edge(struct graph *g, struct slice from, struct slice to)
{
    from = node_of(g, from);
    to = node_of(g, to);
    if (g->level != GRAPH_PAGES &&
        (from.len == 0 || to.len == 0 || slice_eq(from, to)))
        return;
    if (pair_key(&g->key, from, to))
        mr_emit_count(g->task, buf_slice(&g->key), 1);
}

static void emit_link(void *ctx, struct slice target)
{
    struct graph *g = ctx;
    emit_edge(g, g->source, target);
}

static void map_anchors(struct graph *g, const struct quarry_row *row)
{
    struct slice last = {NULL, 0};
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct quarry_cell *c = &row->cells[i];
        if (!slice_eq_str(c->family, "anchor"))
            continue;
        /* Versions of an anchor are one link. */
        if (!last.data || !slice_eq(last, c->qualifier))
            emit_edge(g, c->qualifier, row->key);
        last = c->qualifier;
    }
}

static int link_graph_map(struct mr_task *t,
                          const struct mr_record *record,
                          struct err *err)
{
    struct graph *g = mr_state(t);
    struct page page;
    (void)err;
    if (record->row && !g->from_contents) {
        map_anchors(g, record->row);
    } else if (page_read(g->pages, record, &page)) {
        g->source = page.key;
        page_links(g->pages, &page, emit_link, g);
    }
    return 0;
}

static void write_edge(struct graph *g,
                       struct mr_output *out,
                       struct slice source,
                       struct slice target,
                       int64_t count)
{
    char text[24];
    size_t n = (size_t)snprintf(text, sizeof(text), "%lld", (long long)count);
    if (mr_output_is_table(out)) {
        mr_put(out, source, "link", target, MR_JOB_TIME, slice_make(text, n));
        return;
    }
    if (mr_output_is_records(out)) {
        buf_append_slice(&g->value, target);
        buf_append_byte(&g->value, '\n');
        return;
    }
    buf_clear(&g->value);
    buf_append_slice(&g->value, target);
    buf_append_byte(&g->value, ' ');
    buf_append(&g->value, text, n);
    mr_write(out, source, buf_slice(&g->value));
}

static int link_graph_reduce(struct mr_task *t,
                             struct slice source,
                             struct mr_values *values,
                             struct err *err)
{
    struct graph *g = mr_state(t);
    struct mr_output *out = mr_output(t, NULL);
    struct slice value;
    int64_t count = 0;
    (void)err;
    buf_clear(&g->key);
    buf_clear(&g->value);
    while (mr_values_next(values, &value)) {
        struct slice target =
            pair_key_member(mr_values_key(values), source.len);
        if (count > 0 && !slice_eq(target, buf_slice(&g->key))) {
            write_edge(g, out, source, buf_slice(&g->key), count);
            count = 0;
        }
        buf_clear(&g->key);
        buf_append_slice(&g->key, target);
        count += mr_value_count(value);
    }
    write_edge(g, out, source, buf_slice(&g->key), count);
    if (mr_output_is_records(out))
        mr_write(out, source, buf_slice(&g->value));
    return 0;
}

static const struct mr_param params[] = {
    {"links", "anchors",
     "Of a table: anchors, the anchor: cells of the pages linked to, or "
     "contents, the pages that link."},
    {"level", "page", "Nodes: page, host or domain (by the public suffixes)."},
};
static const char *const families[] = {"link", NULL};

const struct mr_job job_link_graph = {
    .abi_version = MR_ABI_VERSION,
    .name = "link_graph",
    .help = "Make the graph of links from a Webtable or from archives.",
    .params = params,
    .param_count = ARRAY_LEN(params),
    .setup = link_graph_setup,
    .teardown = link_graph_teardown,
    .map = link_graph_map,
    .reduce = link_graph_reduce,
    .combine = mr_combine_sum,
    .group = pair_key_group,
    .output_families = families,
};
