/* Reading the keys of a site. Values are left out of the scan, so that a site
 * of a million pages costs its keys alone.
 */
#include "web/replay/site_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "mapreduce/warc/surt.h"
#include "mapreduce/warc/url.h"

/* "com.cnn" of "com.cnn.www" and "com.cnn.www2". */
static struct slice without_www(struct slice host)
{
    size_t n = host.len;
    while (n && host.data[n - 1] >= '0' && host.data[n - 1] <= '9')
        n--;
    if (n > 4 && memcmp(host.data + n - 4, ".www", 4) == 0)
        return slice_sub(host, 0, n - 4);
    return host;
}

bool site_host(struct slice url, struct buf *out)
{
    struct buf key = BUF_INIT;
    bool ok = url_key(url, &key);
    struct slice host = ok ? url_key_host(buf_slice(&key)) : SLICE_EMPTY;
    struct slice text = slice_sub(host, 0, slice_find_byte(host, ':'));
    /* Addresses of IPv6 have colons inside their brackets. */
    if (host.len && host.data[0] == '[')
        text = slice_sub(host, 0, slice_find_byte(host, ']') + 1);
    if (!url_is_ip(text))
        text = without_www(text);
    buf_append_slice(out, text);
    buf_close(&key);
    return text.len > 0;
}

static void site_index_add(struct site_index *x, struct slice row)
{
    struct buf url = BUF_INIT;
    struct buf surt = BUF_INIT;
    url_of_row_key(row, &url);
    surt_key(buf_slice(&url), &surt);
    if (x->count == x->cap) {
        x->cap = x->cap ? x->cap * 2 : 64;
        x->at = mem_realloc(x->at, x->cap * sizeof(*x->at));
    }
    x->at[x->count++] = (struct site_entry){
        arena_dup(&x->arena, buf_slice(&surt)), arena_dup(&x->arena, row)};
    buf_close(&url);
    buf_close(&surt);
}

static int by_surt(const void *a, const void *b)
{
    const struct site_entry *x = a;
    const struct site_entry *y = b;
    int c = slice_cmp(x->surt, y->surt);
    return c ? c : slice_cmp(x->row, y->row);
}

/* Rows of pages have their URI in http:url; others are only linked to. */
static int site_index_scan(struct quarry_table *table,
                           const struct quarry_range *ranges,
                           size_t count,
                           struct site_index *out,
                           struct err *err)
{
    static const char *const families[] = {"http"};
    const struct quarry_read_options opts = {.ranges = ranges,
                                             .range_count = count,
                                             .families = families,
                                             .family_count = 1,
                                             .column_regex = "http:url",
                                             .versions = 1,
                                             .keys_only = true};
    struct quarry_scanner *rows;
    const struct quarry_row *row;
    int rc = quarry_scan(table, &opts, &rows, err);
    if (rc)
        return rc;
    while (!(rc = quarry_scanner_next(rows, &row, err)) && row) {
        if (out->arena.bytes + out->cap * sizeof(*out->at) >
            SITE_INDEX_BYTES_MAX) {
            out->is_partial = true;
            break;
        }
        site_index_add(out, row->key);
    }
    quarry_scanner_close(rows);
    return rc;
}

/* Append @host and @bound to @text as one end of a range. */
static struct slice
site_bound(struct arena *a, struct slice host, const char *bound)
{
    return slice_str(arena_printf(a, "%.*s%s", SLICE_ARG(host), bound));
}

int site_index_read(struct quarry_table *table,
                    struct slice host,
                    bool domain,
                    struct site_index *out,
                    struct err *err)
{
    /* Behind a host: its paths, its other ports and schemes, its other names.
     */
    static const char *const bounds[][2] = {
        {"/", "0"}, {":", ";"}, {".www", ".wwx"}, {".", "/"}};
    struct quarry_range ranges[ARRAY_LEN(bounds)];
    size_t count = 0;
    int rc;
    *out = (struct site_index){.at = NULL};
    arena_init(&out->arena);
    for (size_t i = 0; i < ARRAY_LEN(bounds); i++)
        if (i < 2 || domain == (i == 3))
            ranges[count++] = (struct quarry_range){
                site_bound(&out->arena, host, bounds[i][0]),
                site_bound(&out->arena, host, bounds[i][1])};
    rc = site_index_scan(table, ranges, count, out, err);
    if (rc)
        err_wrap(err, "rows of %.*s", SLICE_ARG(host));
    if (out->count > 1)
        qsort(out->at, out->count, sizeof(*out->at), by_surt);
    return rc;
}

void site_index_close(struct site_index *x)
{
    arena_close(&x->arena);
    mem_free(x->at);
    *x = (struct site_index){.at = NULL};
}

size_t site_index_find(const struct site_index *x, struct slice surt)
{
    size_t low = 0;
    size_t high = x->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (slice_cmp(x->at[middle].surt, surt) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
