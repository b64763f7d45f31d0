/* The hosts with the most pages: of a Webtable its captured rows, of archives
 * their responses, of text a URL or host at the start of each line. One line a
 * host, the most frequent first, names ascending among equals. */
#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/heap.h"
#include "base/core/panic.h"
#include "jobs/jobs.h"
#include "jobs/page.h"
#include "mapreduce/warc/url.h"

struct host {
    char *name;
    size_t len;
    int64_t count;
};

struct hosts {
    struct page_reader *pages;
    struct buf key;
    struct buf name;
    struct host *best; /* A heap: the least of the best at its root. */
    size_t count;
    size_t limit;
};

static int top_hosts_setup(struct mr_task *t, struct err *err)
{
    struct hosts *h = mem_zalloc(1, sizeof(*h));
    int64_t limit = 1;
    int rc = mr_param_i64(t, "limit", 1, 1000000, &limit, err);
    h->pages = page_reader_new();
    h->limit = (size_t)limit;
    mr_set_state(t, h);
    return rc;
}

static void top_hosts_teardown(struct mr_task *t)
{
    struct hosts *h = mr_state(t);
    page_reader_free(h->pages);
    for (size_t i = 0; i < h->count; i++)
        mem_free(h->best[i].name);
    mem_free(h->best);
    buf_close(&h->key);
    buf_close(&h->name);
    mem_free(h);
}

static void emit_host(struct mr_task *t, struct slice key)
{
    struct hosts *h = mr_state(t);
    buf_clear(&h->name);
    url_reverse_host(url_key_host(key), &h->name);
    if (h->name.len > 0)
        mr_emit_count(t, buf_slice(&h->name), 1);
}

/* "http://host/path …" or "host …". */
static void map_line(struct mr_task *t, struct slice line)
{
    struct hosts *h = mr_state(t);
    struct url u;
    size_t n = 0;
    line = slice_trim(line);
    while (n < line.len && !strchr(" \t,", line.data[n]))
        n++;
    line = slice_sub(line, 0, n);
    url_split(line, &u);
    if (u.has_authority) {
        buf_clear(&h->key);
        if (url_key(line, &h->key))
            emit_host(t, buf_slice(&h->key));
    } else if (line.len > 0 && line.len <= 255) {
        mr_emit_count(t, line, 1);
    }
}

static int top_hosts_map(struct mr_task *t,
                         const struct mr_record *record,
                         struct err *err)
{
    struct hosts *h = mr_state(t);
    struct page page;
    (void)err;
    if (page_read(h->pages, record, &page))
        emit_host(t, page.key);
    else if (!record->row && !record->warc)
        map_line(t, record->value);
    return 0;
}

/* Does @a come after @b in the list? */
static bool top_hosts_worse(const struct host *a, const struct host *b)
{
    if (a->count != b->count)
        return a->count < b->count;
    return slice_cmp(slice_make(a->name, a->len), slice_make(b->name, b->len)) >
           0;
}

static bool
host_before(const struct hosts *h, const struct host *a, const struct host *b)
{
    (void)h;
    return top_hosts_worse(a, b);
}

HEAP_DEFINE(host_heap, struct host, const struct hosts *, host_before);

static void top_hosts_keep(struct hosts *h, struct host fresh)
{
    if (h->count == h->limit) {
        if (top_hosts_worse(&fresh, &h->best[0])) {
            mem_free(fresh.name);
            return;
        }
        mem_free(h->best[0].name);
        h->best[0] = fresh;
        host_heap_sift_down(h, h->best, h->count, 0);
        return;
    }
    h->best = mem_realloc(h->best, (h->count + 1) * sizeof(*h->best));
    h->best[h->count++] = fresh;
    if (h->count == h->limit)
        host_heap_make(h, h->best, h->count);
}

static int top_hosts_reduce(struct mr_task *t,
                            struct slice key,
                            struct mr_values *values,
                            struct err *err)
{
    struct host fresh = {mem_strndup(key.data, key.len), key.len,
                         mr_values_sum(values)};
    (void)err;
    top_hosts_keep(mr_state(t), fresh);
    return 0;
}

static int best_first(const void *a, const void *b)
{
    if (top_hosts_worse(a, b))
        return 1;
    return top_hosts_worse(b, a) ? -1 : 0;
}

static int reduce_end(struct mr_task *t, struct err *err)
{
    struct hosts *h = mr_state(t);
    (void)err;
    if (h->count > 1)
        qsort(h->best, h->count, sizeof(*h->best), best_first);
    for (size_t i = 0; i < h->count; i++)
        mr_write_count(mr_output(t, NULL),
                       slice_make(h->best[i].name, h->best[i].len),
                       h->best[i].count);
    return 0;
}

static const struct mr_param params[] = {
    {"limit", "100", "How many hosts to list."},
};

const struct mr_job job_top_hosts = {
    .abi_version = MR_ABI_VERSION,
    .no_table_output = true,
    .name = "top_hosts",
    .help = "List the hosts with the most pages.",
    .params = params,
    .param_count = ARRAY_LEN(params),
    .setup = top_hosts_setup,
    .teardown = top_hosts_teardown,
    .map = top_hosts_map,
    .reduce = top_hosts_reduce,
    .reduce_end = reduce_end,
    .combine = mr_combine_sum,
    .single_reducer = true,
};
