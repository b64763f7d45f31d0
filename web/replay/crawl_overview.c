/* One scan over a table's captures: rows of a host lie together, so that hosts
 * are counted as they pass, and nothing is sorted. */
#include "web/replay/crawl_overview.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "bigtable/quarry.h"
#include "mapreduce/warc/surt.h"
#include "mapreduce/warc/url.h"
#include "web/policy/archive_policy.h"

/* A capture has meta:type; its length may be missing. */
#define COLUMNS        "meta:(type|length)"
#define COLUMNS_ROBOTS COLUMNS "|http:headers|meta:robots"

/* --- hosts --------------------------------------------------------------- */

/* The name of the host of a row, as URLs have it. */
static struct slice host_name(struct arena *arena, struct slice reversed)
{
    struct buf name = BUF_INIT;
    struct slice out;
    url_reverse_host(reversed, &name);
    out = arena_dup(arena, buf_slice(&name));
    buf_close(&name);
    return out;
}

static struct overview_host *overview_add_host(struct crawl_overview *o,
                                               struct slice reversed)
{
    if (o->host_count == o->host_cap) {
        o->host_cap = o->host_cap ? o->host_cap * 2 : 64;
        o->hosts = mem_realloc(o->hosts, o->host_cap * sizeof(*o->hosts));
    }
    o->hosts[o->host_count] = (struct overview_host){
        .name = reversed.len ? host_name(&o->arena, reversed)
                             : SLICE_LIT("(no host)"),
        .first_row = o->pages,
        .first_us = INT64_MAX,
        .last_us = INT64_MIN};
    return &o->hosts[o->host_count++];
}

/* --- captures ------------------------------------------------------------ */

static bool cell_is(const struct quarry_cell *c, const char *qualifier)
{
    return slice_eq_str(c->qualifier, qualifier);
}

/* The value of a row's @qualifier at @us, or "". */
static struct slice
value_at(const struct quarry_row *row, const char *qualifier, int64_t us)
{
    for (size_t i = 0; i < row->cell_count; i++)
        if (row->cells[i].timestamp_us == us &&
            cell_is(&row->cells[i], qualifier))
            return row->cells[i].value;
    return SLICE_EMPTY;
}

static bool is_shown(const struct archive_policy *policy,
                     const struct quarry_row *row,
                     struct slice surt,
                     int64_t us)
{
    struct slice reason;
    struct archive_subject s = {.surt = surt, .time_us = us, .row = row->key};
    if (!policy)
        return true;
    if (archive_policy_needs_robots(policy)) {
        s.robots = value_at(row, "robots", us);
        s.head = value_at(row, "headers", us);
    }
    return archive_policy_allows(policy, &s, &reason);
}

static void add_capture(struct crawl_overview *o,
                        struct overview_host *h,
                        int64_t us,
                        struct slice length)
{
    uint64_t bytes = 0;
    if (text_parse_u64(length, &bytes, NULL) == 0) {
        h->bytes += bytes;
        o->bytes += bytes;
    }
    if (o->capture_count == o->capture_cap) {
        o->capture_cap = o->capture_cap ? o->capture_cap * 2 : 1024;
        o->captures =
            mem_realloc(o->captures, o->capture_cap * sizeof(*o->captures));
    }
    o->captures[o->capture_count++] = (struct overview_capture){us, o->pages};
    h->captures++;
    h->first_us = MIN_OF(h->first_us, us);
    h->last_us = MAX_OF(h->last_us, us);
    if (o->capture_count == 1)
        o->first_us = o->last_us = us;
    o->first_us = MIN_OF(o->first_us, us);
    o->last_us = MAX_OF(o->last_us, us);
}

/* Count the captures of @row, with @host the name it was read under last. */
static void add_row(struct crawl_overview *o,
                    const struct archive_policy *policy,
                    const struct quarry_row *row,
                    struct buf *host,
                    struct buf *surt)
{
    struct slice reversed = url_key_host(row->key);
    struct overview_host *h =
        o->host_count ? &o->hosts[o->host_count - 1] : NULL;
    size_t before = o->capture_count;
    buf_clear(surt);
    if (policy) {
        struct buf url = BUF_INIT;
        url_of_row_key(row->key, &url);
        surt_key(buf_slice(&url), surt);
        buf_close(&url);
    }
    for (size_t i = 0; i < row->cell_count; i++) {
        int64_t us = row->cells[i].timestamp_us;
        if (!cell_is(&row->cells[i], "type") ||
            !is_shown(policy, row, buf_slice(surt), us))
            continue;
        if (!h || !slice_eq(buf_slice(host), reversed)) {
            h = overview_add_host(o, reversed);
            buf_clear(host);
            buf_append_slice(host, reversed);
        }
        add_capture(o, h, us, value_at(row, "length", us));
    }
    if (o->capture_count > before) {
        h->pages++;
        o->pages++;
    }
}

int crawl_overview_read(struct quarry_table *table,
                        const struct archive_policy *policy,
                        struct crawl_overview *out,
                        struct err *err)
{
    static const char *const families[] = {"http", "meta"};
    bool robots = policy && archive_policy_needs_robots(policy);
    const struct quarry_read_options opts = {
        .families = robots ? families : families + 1,
        .family_count = robots ? 2 : 1,
        .column_regex = robots ? COLUMNS_ROBOTS : COLUMNS};
    struct quarry_scanner *rows;
    const struct quarry_row *row;
    struct buf host = BUF_INIT;
    struct buf surt = BUF_INIT;
    int rc;
    *out = (struct crawl_overview){.hosts = NULL};
    arena_init(&out->arena);
    rc = quarry_scan(table, &opts, &rows, err);
    if (rc)
        return rc;
    while (!(rc = quarry_scanner_next(rows, &row, err)) && row) {
        if (out->capture_count >= OVERVIEW_CAPTURES_MAX) {
            out->is_partial = true;
            break;
        }
        add_row(out, policy, row, &host, &surt);
    }
    quarry_scanner_close(rows);
    buf_close(&host);
    buf_close(&surt);
    return rc;
}

void crawl_overview_close(struct crawl_overview *o)
{
    arena_close(&o->arena);
    mem_free(o->hosts);
    mem_free(o->captures);
    *o = (struct crawl_overview){.hosts = NULL};
}

uint32_t crawl_overview_plot(const struct crawl_overview *o,
                             size_t columns,
                             size_t rows,
                             uint32_t *counts)
{
    uint64_t span = (uint64_t)(o->last_us - o->first_us) + 1;
    uint32_t most = 0;
    PRE(columns > 0 && rows > 0);
    memset(counts, 0, columns * rows * sizeof(*counts));
    for (size_t i = 0; i < o->capture_count; i++) {
        const struct overview_capture *c = &o->captures[i];
        double share = (double)(c->time_us - o->first_us) / (double)span;
        size_t x = MIN_OF((size_t)(share * (double)columns), columns - 1);
        size_t y = (size_t)(c->row * rows / o->pages);
        INVARIANT(c->row < o->pages && y < rows); /* INV-2. */
        uint32_t n = ++counts[y * columns + x];
        most = MAX_OF(most, n);
    }
    return most;
}
