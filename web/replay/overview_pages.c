/* Pages about the whole crawl: its hosts, the pages that PageRank puts first,
 * and captures by key and time. Drawn as SVG by the server, so that they need
 * no script; the overview behind them is read once and kept for a while. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/http/http.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "mapreduce/warc/url.h"
#include "web/replay/page_shell.h"

#define HOSTS_SHOWN 100
#define RANKS_SHOWN 50
/* Read, where some may not be shown. */
#define RANKS_READ 200
/* Where others may write, the overview is read again after this. */
#define OVERVIEW_FRESH_US UINT64_C(60000000)

/* The plot: cells, and their size in units of the drawing. */
#define PLOT_COLUMNS 64
#define PLOT_ROWS    96
#define CELL_WIDTH   11
#define CELL_HEIGHT  6
#define PLOT_LEFT    230
#define PLOT_TOP     8
#define PLOT_WIDTH   (PLOT_COLUMNS * CELL_WIDTH)
#define PLOT_HEIGHT  (PLOT_ROWS * CELL_HEIGHT)
/* Hosts below this height have no label. */
#define LABEL_HEIGHT    15
#define LABEL_BYTES_MAX 32

/* --- the overview, kept -------------------------------------------------- */

/* Read it, if it is not there or old. PRE: the lock is held. Parks. */
static int overview_refresh(struct replay_server *r, struct err *err)
{
    uint64_t now = world_mono_ns(loop_world(loop_self())) / 1000;
    struct crawl_overview fresh;
    int rc;
    PRE(mutex_is_held(&r->overview_lock));
    if (r->overview_read_us &&
        (r->is_fixed || now - r->overview_read_us < OVERVIEW_FRESH_US))
        return 0;
    rc = crawl_overview_read(r->table, r->policy, &fresh, err);
    if (rc) {
        crawl_overview_close(&fresh);
        return rc;
    }
    crawl_overview_close(&r->overview);
    r->overview = fresh;
    r->overview_read_us = now;
    return 0;
}

/* Begin a page with figures of the overview; false: it was answered with what
 * went wrong. True: the lock is held until page_end(). */
static bool page_begin(struct replay_call *k,
                       struct html *h,
                       struct html_view *view,
                       const char *title)
{
    struct replay_server *r = k->replay;
    const struct crawl_overview *o = &r->overview;
    struct err err = ERR_INIT;
    mutex_lock(&r->overview_lock);
    if (overview_refresh(r, &err)) {
        mutex_unlock(&r->overview_lock);
        replay_failed(k, &err);
        return false;
    }
    shell_begin(h, view, k, title);
    html_lit(h, "<p class=\"dim\">");
    html_count(h, (int64_t)o->pages);
    html_printf(h, " page%s, ", o->pages == 1 ? "" : "s");
    html_count(h, (int64_t)o->capture_count);
    html_printf(h, " capture%s, ", o->capture_count == 1 ? "" : "s");
    html_count(h, (int64_t)o->host_count);
    html_printf(h, " host%s, %.1f MB of contents.",
                o->host_count == 1 ? "" : "s", (double)o->bytes / 1e6);
    if (o->is_partial)
        html_lit(h, " The table has more: these are the first, by key.");
    html_lit(h, "</p>");
    return true;
}

static void page_end(struct replay_call *k, struct html *h)
{
    shell_end(h);
    mutex_unlock(&k->replay->overview_lock);
}

/* --- hosts --------------------------------------------------------------- */

static int by_pages(const void *a, const void *b)
{
    const struct overview_host *x = *(const struct overview_host *const *)a;
    const struct overview_host *y = *(const struct overview_host *const *)b;
    if (x->pages != y->pages)
        return x->pages < y->pages ? 1 : -1;
    return slice_cmp(x->name, y->name);
}

/* A bar as long as @share of the longest. */
static void put_bar(struct html *h, double share)
{
    html_lit(h, "<svg class=\"overview-bar\" viewBox=\"0 0 1000 10\" "
                "preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect "
                "height=\"10\"");
    html_attr_int(h, "width", (int64_t)(share * 1000));
    html_lit(h, "/></svg>");
}

static void
put_host(struct html *h, const struct overview_host *host, double share)
{
    struct buf to = BUF_INIT;
    buf_printf(&to, REPLAY_WEB "*/http://%.*s/*", SLICE_ARG(host->name));
    html_lit(h, "<tr><th scope=\"row\"><a");
    html_attr_slice(h, "href", buf_slice(&to));
    html_lit(h, ">");
    html_text(h, host->name);
    html_lit(h, "</a></th><td>");
    put_bar(h, share);
    html_lit(h, "</td><td class=\"num\">");
    html_count(h, (int64_t)host->pages);
    html_lit(h, "</td><td class=\"num\">");
    html_count(h, (int64_t)host->captures);
    html_lit(h, "</td><td class=\"num\">");
    html_printf(h, "%.2f", (double)host->bytes / 1e6);
    html_lit(h, "</td><td>");
    html_time(h, host->first_us / 1000000 * 1000000);
    html_lit(h, "</td><td>");
    html_time(h, host->last_us / 1000000 * 1000000);
    html_lit(h, "</td></tr>");
    buf_close(&to);
}

void replay_hosts_page(struct replay_call *k)
{
    const struct crawl_overview *o = &k->replay->overview;
    const struct overview_host **order;
    struct html h;
    struct html_view view;
    if (!page_begin(k, &h, &view, "Hosts with the most pages"))
        return;
    order = mem_zalloc(o->host_count + 1, sizeof(*order));
    for (size_t i = 0; i < o->host_count; i++)
        order[i] = &o->hosts[i];
    qsort(order, o->host_count, sizeof(*order), by_pages);
    html_lit(&h, "<div class=\"wide\" tabindex=\"0\" role=\"region\" "
                 "aria-label=\"Hosts\"><table><thead><tr><th "
                 "scope=\"col\">Host</th><td></td><th scope=\"col\" "
                 "class=\"num\">Pages</th><th scope=\"col\" "
                 "class=\"num\">Captures</th><th scope=\"col\" "
                 "class=\"num\">MB</th><th scope=\"col\">First</th><th "
                 "scope=\"col\">Last</th></tr></thead><tbody>");
    for (size_t i = 0; i < MIN_OF(o->host_count, (size_t)HOSTS_SHOWN); i++)
        put_host(&h, order[i],
                 (double)order[i]->pages / (double)order[0]->pages);
    html_lit(&h, "</tbody></table></div>");
    mem_free(order);
    page_end(k, &h);
}

/* --- ranks --------------------------------------------------------------- */

struct ranked_page {
    struct buf row;
    double rank;
};

/* The pages ranked first, best first, and how many there are of all. */
struct ranking {
    struct ranked_page at[RANKS_READ];
    size_t count;
    uint64_t pages;
};

static void ranking_close(struct ranking *ranking)
{
    for (size_t i = 0; i < RANKS_READ; i++)
        buf_close(&ranking->at[i].row);
}

static void ranking_add(struct ranking *ranking, struct slice row, double rank)
{
    size_t i = ranking->count;
    struct ranked_page own;
    if (i == RANKS_READ && ranking->at[--i].rank >= rank)
        return;
    ranking->count = i + 1;
    own = ranking->at[i];
    for (; i > 0 && ranking->at[i - 1].rank < rank; i--)
        ranking->at[i] = ranking->at[i - 1];
    own.rank = rank;
    buf_clear(&own.row);
    buf_append_slice(&own.row, row);
    ranking->at[i] = own;
}

/* False: @text is no rank. */
static bool rank_parse(struct slice text, double *out)
{
    char copy[64];
    char *end;
    if (text.len == 0 || text.len >= sizeof(copy))
        return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    *out = strtod(copy, &end);
    return *end == '\0' && isfinite(*out);
}

/* Read a table of page_rank: a row a page, its newest rank as text in rank:. */
static int
ranking_read(struct quarry_table *table, struct ranking *out, struct err *err)
{
    static const char *const families[] = {"rank"};
    const struct quarry_read_options opts = {
        .families = families, .family_count = 1, .versions = 1};
    struct quarry_scanner *rows;
    const struct quarry_row *row;
    int rc = quarry_scan(table, &opts, &rows, err);
    if (rc)
        return rc;
    while (!(rc = quarry_scanner_next(rows, &row, err)) && row) {
        double rank;
        if (row->cell_count == 0 || !rank_parse(row->cells[0].value, &rank))
            continue;
        out->pages++;
        ranking_add(out, row->key, rank);
    }
    quarry_scanner_close(rows);
    return rc;
}

/* Of a ranked page, beside its rank. */
struct ranked_facts {
    struct buf url;
    struct buf title;
    int64_t time_us;
    size_t captures;
    bool is_blocked; /* None of its captures may be shown. */
};

static int read_facts(struct replay_server *r,
                      struct slice row,
                      struct ranked_facts *out,
                      struct err *err)
{
    static const char *const families[] = {"meta"};
    const struct quarry_read_options opts = {.families = families,
                                             .family_count = 1,
                                             .column_regex = "meta:title",
                                             .versions = 1};
    struct capture_list l = {.at = NULL};
    struct quarry_row *read = NULL;
    int rc;
    arena_init(&l.arena);
    buf_clear(&out->url);
    buf_clear(&out->title);
    url_of_row_key(row, &out->url);
    rc = archive_row_captures(r->archive, row, &l, err);
    out->captures = l.count;
    out->is_blocked = rc == 0 && l.count == 0 && l.blocked > 0;
    if (l.count)
        out->time_us = l.at[l.count - 1].time_us;
    capture_list_close(&l);
    if (rc == 0 && out->captures)
        rc = quarry_read_row(r->table, row, &opts, &read, err);
    if (rc == 0 && read && read->cell_count)
        buf_append_slice(&out->title, read->cells[0].value);
    if (rc == 0)
        quarry_row_free(read);
    return rc;
}

static void put_ranked(struct html *h,
                       size_t number,
                       double rank,
                       double share,
                       const struct ranked_facts *f)
{
    struct slice text =
        f->title.len ? buf_slice(&f->title) : buf_slice(&f->url);
    html_lit(h, "<tr><td class=\"num\">");
    html_printf(h, "%zu", number);
    html_lit(h, "</td><td>");
    if (f->captures) {
        struct buf to = BUF_INIT;
        buf_append_str(&to, REPLAY_WEB);
        buf_append_slice(&to, buf_slice(&f->url));
        html_lit(h, "<a");
        html_attr_slice(h, "href", buf_slice(&to));
        html_lit(h, ">");
        html_text(h, text);
        html_lit(h, "</a>");
        buf_close(&to);
    } else {
        html_text(h, text);
        html_lit(h, " <span class=\"dim\">(linked to, not captured)</span>");
    }
    html_lit(h, "<div class=\"dim overview-url\">");
    html_text(h, buf_slice(&f->url));
    html_lit(h, "</div></td><td>");
    put_bar(h, share);
    html_lit(h, "</td><td class=\"num\">");
    html_printf(h, "%.4g", rank);
    html_lit(h, "</td><td class=\"num\">");
    html_printf(h, "%zu", f->captures);
    html_lit(h, "</td></tr>");
}

static int put_ranking(struct replay_call *k,
                       struct html *h,
                       const struct ranking *ranking,
                       struct err *err)
{
    struct ranked_facts facts = {.url = BUF_INIT, .title = BUF_INIT};
    size_t shown = 0;
    int rc = 0;
    html_lit(h, "<div class=\"wide\" tabindex=\"0\" role=\"region\" "
                "aria-label=\"Ranks\"><table><thead><tr><td></td><th "
                "scope=\"col\">Page</th><td></td><th scope=\"col\" "
                "class=\"num\">Rank</th><th scope=\"col\" "
                "class=\"num\">Captures</th></tr></thead><tbody>");
    for (size_t i = 0; rc == 0 && i < ranking->count && shown < RANKS_SHOWN;
         i++) {
        const struct ranked_page *p = &ranking->at[i];
        rc = read_facts(k->replay, buf_slice(&p->row), &facts, err);
        if (rc == 0 && !facts.is_blocked)
            put_ranked(h, ++shown, p->rank, p->rank / ranking->at[0].rank,
                       &facts);
    }
    html_lit(h, "</tbody></table></div>");
    buf_close(&facts.url);
    buf_close(&facts.title);
    return rc;
}

void replay_ranks_page(struct replay_call *k)
{
    struct ranking *ranking;
    struct err err = ERR_INIT;
    struct html h;
    struct html_view view;
    if (!k->replay->ranks) {
        replay_error(k, 404,
                     "there is no table of ranks: the job page_rank makes one, "
                     "and --ranks names it");
        return;
    }
    ranking = mem_zalloc(1, sizeof(*ranking));
    if (ranking_read(k->replay->ranks, ranking, &err)) {
        replay_failed(k, &err);
    } else {
        shell_begin(&h, &view, k, "Pages by rank");
        html_lit(&h, "<p class=\"dim\">PageRank of ");
        html_count(&h, (int64_t)ranking->pages);
        html_lit(&h, " pages: the share of the time that a reader spends on "
                     "each who follows links at random.</p>");
        if (put_ranking(k, &h, ranking, &err)) {
            html_lit(&h, "<p class=\"error\" role=\"alert\">");
            html_str(&h, err.text);
            html_lit(&h, "</p>");
        }
        shell_end(&h);
    }
    ranking_close(ranking);
    mem_free(ranking);
}

/* --- keys ---------------------------------------------------------------- */

static void put_place(struct html *h, int x, int y)
{
    html_attr_int(h, "x", x);
    html_attr_int(h, "y", y);
}

static void put_extent(struct html *h, int width, int height)
{
    html_attr_int(h, "width", width);
    html_attr_int(h, "height", height);
}

static int plot_y(const struct crawl_overview *o, uint64_t row)
{
    return PLOT_TOP + (int)(row * PLOT_HEIGHT / o->pages);
}

/* The hosts along the left side: a line where each begins, and the names of
 * those that have the room. */
static void put_host_labels(struct html *h, const struct crawl_overview *o)
{
    int last = -LABEL_HEIGHT;
    for (size_t i = 0; i < o->host_count; i++) {
        const struct overview_host *host = &o->hosts[i];
        int top = plot_y(o, host->first_row);
        int bottom = plot_y(o, host->first_row + host->pages);
        if (bottom - top < LABEL_HEIGHT || top < last + LABEL_HEIGHT)
            continue;
        last = top;
        html_lit(h, "<line class=\"overview-edge\" x1=\"0\"");
        html_attr_int(h, "x2", PLOT_LEFT + PLOT_WIDTH);
        html_attr_int(h, "y1", top);
        html_attr_int(h, "y2", top);
        html_lit(h, "/><text text-anchor=\"end\"");
        put_place(h, PLOT_LEFT - 8, top + 12);
        html_lit(h, ">");
        html_text(h, slice_sub(host->name, 0, LABEL_BYTES_MAX));
        if (host->name.len > LABEL_BYTES_MAX)
            html_lit(h, "…");
        html_lit(h, "</text>");
    }
}

/* The host with row @row: the last that begins at or before it. */
static const struct overview_host *host_of_row(const struct crawl_overview *o,
                                               uint64_t row)
{
    size_t low = 0;
    size_t high = o->host_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (o->hosts[middle].first_row <= row)
            low = middle;
        else
            high = middle;
    }
    return &o->hosts[low];
}

static void put_time(struct html *h, int64_t us)
{
    struct buf text = BUF_INIT;
    text_put_time(&text, us / 1000000 * 1000000);
    html_text(h, buf_slice(&text));
    buf_close(&text);
}

/* A cell is darker the more captures it has, by the logarithm. */
static void put_cells(struct html *h, const struct crawl_overview *o)
{
    uint32_t *counts =
        mem_alloc((size_t)PLOT_COLUMNS * PLOT_ROWS * sizeof(*counts));
    char shade[32];
    uint32_t most = crawl_overview_plot(o, PLOT_COLUMNS, PLOT_ROWS, counts);
    for (size_t i = 0; i < (size_t)PLOT_COLUMNS * PLOT_ROWS; i++) {
        size_t x = i % PLOT_COLUMNS;
        size_t y = i / PLOT_COLUMNS;
        if (!counts[i])
            continue;
        html_lit(h, "<rect");
        put_place(h, PLOT_LEFT + (int)x * CELL_WIDTH,
                  PLOT_TOP + (int)y * CELL_HEIGHT);
        put_extent(h, CELL_WIDTH, CELL_HEIGHT);
        /* In hundredths, from a quarter on. */
        snprintf(shade, sizeof(shade), "0.%02d",
                 25 + (int)(74 * log1p(counts[i]) / log1p(most)));
        html_attr(h, "fill-opacity", shade);
        html_lit(h, "><title>");
        html_printf(h, "%u capture%s: ", counts[i], counts[i] == 1 ? "" : "s");
        html_text(h, host_of_row(o, y * o->pages / PLOT_ROWS)->name);
        html_lit(h, "</title></rect>");
    }
    mem_free(counts);
}

static void put_plot(struct html *h, const struct crawl_overview *o)
{
    char box[40];
    snprintf(box, sizeof(box), "0 0 %d %d", PLOT_LEFT + PLOT_WIDTH + 10,
             PLOT_TOP + PLOT_HEIGHT + 28);
    html_lit(h, "<svg class=\"overview-plot\" role=\"img\" "
                "aria-label=\"Captures by key and time\"");
    html_attr(h, "viewBox", box);
    html_lit(h, "><rect class=\"overview-ground\"");
    put_place(h, PLOT_LEFT, PLOT_TOP);
    put_extent(h, PLOT_WIDTH, PLOT_HEIGHT);
    html_lit(h, "/>");
    put_cells(h, o);
    put_host_labels(h, o);
    html_lit(h, "<text");
    put_place(h, PLOT_LEFT, PLOT_TOP + PLOT_HEIGHT + 20);
    html_lit(h, ">");
    put_time(h, o->first_us);
    html_lit(h, "</text><text text-anchor=\"end\"");
    put_place(h, PLOT_LEFT + PLOT_WIDTH, PLOT_TOP + PLOT_HEIGHT + 20);
    html_lit(h, ">");
    put_time(h, o->last_us);
    html_lit(h, "</text></svg>");
}

void replay_keys_page(struct replay_call *k)
{
    const struct crawl_overview *o = &k->replay->overview;
    struct html h;
    struct html_view view;
    if (!page_begin(k, &h, &view, "Captures by key and time"))
        return;
    html_lit(&h, "<p class=\"dim\">Rows from the first to the last key, down; "
                 "their captures by time, to the right.</p>");
    if (o->capture_count)
        put_plot(&h, o);
    page_end(k, &h);
}
