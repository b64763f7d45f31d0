/* A timeline of attempts, as SVG. Places are shares of the width, so that it
 * needs no script to fit; each bar has its facts as a title, and the table
 * below it tells the same. */
#include "cli/console/pages/page_timeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "cli/console/pages/page_fields.h"
#include "cli/console/pages/page_parts.h"

/* Rows of one lane, and their height in pixels. */
#define TIMELINE_ROWS_MAX 64
#define TIMELINE_ROW_PX   14

struct timeline_bar {
    const json_t *attempt;
    const char *worker;
    double from, to;
    unsigned row;
};

struct timeline {
    struct timeline_bar *bars; /* By worker, then begin. Owned. */
    size_t count;
    double from, to;
};

/* --- collect ------------------------------------------------------------- */

static bool timeline_bar(const json_t *a, double now_us, struct timeline_bar *b)
{
    b->attempt = a;
    b->worker = page_string_or_empty(a, "worker");
    b->row = 0;
    PRE(a);
    if (!page_number(a, "begun_at_us", &b->from) || b->from <= 0)
        return false;
    if (!page_number(a, "ended_at_us", &b->to) || b->to <= 0)
        b->to = now_us;
    if (!(b->to > b->from))
        b->to = b->from;
    return true;
}

static int timeline_compare(const void *a, const void *b)
{
    const struct timeline_bar *x = a, *y = b;
    int order = strcmp(x->worker, y->worker);
    return order ? order : (x->from > y->from) - (x->from < y->from);
}

static void
timeline_collect(struct timeline *t, const json_t *attempts, double now_us)
{
    size_t all = json_array_size(attempts);
    size_t skipped =
        all > TIMELINE_ATTEMPTS_MAX ? all - TIMELINE_ATTEMPTS_MAX : 0;
    memset(t, 0, sizeof(*t));
    t->bars = mem_zalloc(all - skipped + 1, sizeof(*t->bars));
    for (size_t i = skipped; i < all; i++) {
        struct timeline_bar *b = &t->bars[t->count];
        if (!timeline_bar(json_array_get(attempts, i), now_us, b))
            continue;
        t->from = t->count ? fmin(t->from, b->from) : b->from;
        t->to = t->count ? fmax(t->to, b->to) : b->to;
        t->count++;
    }
    if (t->count)
        qsort(t->bars, t->count, sizeof(*t->bars), timeline_compare);
}

/* Give each bar of a lane the first row that is free when it begins. Returns
 * how many rows there are. */
static unsigned timeline_pack(struct timeline_bar *bars, size_t count)
{
    double ends[TIMELINE_ROWS_MAX];
    unsigned rows = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned r = 0;
        while (r < rows && ends[r] > bars[i].from)
            r++;
        if (r == TIMELINE_ROWS_MAX)
            r--;
        else if (r == rows)
            rows++;
        INVARIANT(r < rows);
        INVARIANT(rows <= TIMELINE_ROWS_MAX);
        ends[r] = bars[i].to;
        bars[i].row = r;
    }
    return rows;
}

/* --- draw ---------------------------------------------------------------- */

/* Is @field the same in both? Also if neither has it. */
static bool attempt_same(const json_t *a, const json_t *b, const char *field)
{
    const json_t *x = page_field(a, field), *y = page_field(b, field);
    return x == y || json_equal(x, y);
}

bool page_is_straggler(const json_t *attempt, const json_t *stragglers)
{
    for (size_t i = 0; i < json_array_size(stragglers); i++) {
        const json_t *s = json_array_get(stragglers, i);
        if (page_field(s, "task") && attempt_same(attempt, s, "part") &&
            attempt_same(attempt, s, "kind") &&
            attempt_same(attempt, s, "task") &&
            attempt_same(attempt, s, "attempt"))
            return true;
    }
    return false;
}

/* The class that colours the attempt. */
static void timeline_look(struct html *h, const json_t *a, bool straggler)
{
    const char *state = page_string_or_empty(a, "state");
    if (strncmp(state, "fail", 4) == 0 || strcmp(state, "lost") == 0)
        html_lit(h, " class=\"s-fail\"");
    else if (strcmp(state, "killed") == 0 || strncmp(state, "cancel", 6) == 0 ||
             strncmp(state, "superseded", 10) == 0)
        html_lit(h, " class=\"s-stop\"");
    else if (straggler)
        html_lit(h, " class=\"s-slow\"");
    else if (strcmp(state, "running") == 0)
        html_lit(h, " class=\"s-run\"");
    else if (page_field_is(a, "kind", "reduce"))
        html_lit(h, " class=\"s-red\"");
    else
        html_lit(h, " class=\"s-done\"");
}

/* "map 12, attempt 2: failed, 3.2 s". */
static void timeline_title(struct html *h, const struct timeline_bar *b)
{
    struct buf took = BUF_INIT;
    humane_put(&took, HUMANE_DURATION, b->to - b->from);
    html_lit(h, "<title>");
    html_json(h, page_field(b->attempt, "kind"));
    html_lit(h, " ");
    html_json(h, page_field(b->attempt, "task"));
    html_lit(h, ", attempt ");
    html_json(h, page_field(b->attempt, "attempt"));
    html_lit(h, ": ");
    html_json(h, page_field(b->attempt, "state"));
    html_lit(h, ", ");
    html_text(h, buf_slice(&took));
    html_lit(h, "</title>");
    buf_close(&took);
}

static void timeline_rect(struct html *h,
                          const struct timeline *t,
                          const struct timeline_bar *b,
                          const json_t *stragglers)
{
    double span = fmax(t->to - t->from, 1);
    INVARIANT(t->from <= b->from);
    INVARIANT(b->to <= t->to);
    html_lit(h, "<rect");
    timeline_look(h, b->attempt, page_is_straggler(b->attempt, stragglers));
    page_percent_attr(h, "x", (b->from - t->from) / span);
    page_percent_attr(h, "width", fmax((b->to - b->from) / span, 0.003));
    html_attr_int(h, "y", b->row * TIMELINE_ROW_PX + 1);
    html_attr_int(h, "height", TIMELINE_ROW_PX - 2);
    html_lit(h, ">");
    timeline_title(h, b);
    html_lit(h, "</rect>");
}

/* The lane of one worker: @count bars at @bars. */
static void timeline_lane(struct html *h,
                          const struct timeline *t,
                          struct timeline_bar *bars,
                          size_t count,
                          const json_t *stragglers)
{
    unsigned rows = timeline_pack(bars, count);
    POST(rows > 0);
    html_lit(h, "<div>");
    html_str(h, *bars->worker ? bars->worker : "no worker");
    html_lit(h, "</div><div><svg aria-hidden=\"true\"");
    html_attr_int(h, "height", (int64_t)rows * TIMELINE_ROW_PX);
    html_lit(h, ">");
    for (size_t i = 0; i < count; i++)
        timeline_rect(h, t, &bars[i], stragglers);
    html_lit(h, "</svg></div>");
}

/* Times since the begin, at quarters of the width. */
static void timeline_axis(struct html *h, const struct timeline *t)
{
    html_lit(h, "<div>since the start</div><div><svg aria-hidden=\"true\" "
                "height=\"16\">");
    for (int i = 0; i <= 4; i++) {
        struct buf b = BUF_INIT;
        humane_put(&b, HUMANE_DURATION, (t->to - t->from) * i / 4);
        html_lit(h, "<text y=\"12\"");
        page_percent_attr(h, "x", i / 4.0);
        if (i)
            html_attr(h, "text-anchor", i == 4 ? "end" : "middle");
        html_lit(h, ">");
        html_text(h, buf_slice(&b));
        html_lit(h, "</text>");
        buf_close(&b);
    }
    html_lit(h, "</svg></div>");
}

static void timeline_legend(struct html *h)
{
#define KEY(look, name)                                                        \
    "<li><svg width=\"10\" height=\"10\" aria-hidden=\"true\"><rect "          \
    "class=\"" look "\" width=\"10\" height=\"10\" rx=\"2\"/></svg>" name      \
    "</li>"
    html_lit(h,
             "<ul class=\"legend\">" KEY("s-done", "map, done")
                 KEY("s-red", "reduce, done") KEY("s-run", "running")
                     KEY("s-slow", "straggler") KEY("s-fail", "failed or lost")
                         KEY("s-stop", "stopped") "</ul>");
#undef KEY
}

void page_timeline(struct html *h,
                   const json_t *attempts,
                   const json_t *stragglers,
                   double now_us)
{
    struct timeline t;
    size_t end;
    timeline_collect(&t, attempts, now_us);
    if (t.count == 0) {
        mem_free(t.bars);
        return;
    }
    html_lit(h, "<section class=\"panel\"><h2>Attempts by worker</h2>");
    timeline_legend(h);
    html_lit(h, "<div class=\"lanes\" role=\"region\" tabindex=\"0\" "
                "aria-label=\"Timeline of attempts; the table of attempts has "
                "the same\">");
    timeline_axis(h, &t);
    for (size_t i = 0; i < t.count; i = end) {
        for (end = i + 1; end < t.count; end++)
            if (strcmp(t.bars[i].worker, t.bars[end].worker) != 0)
                break;
        timeline_lane(h, &t, &t.bars[i], end - i, stragglers);
    }
    html_lit(h, "</div></section>");
    mem_free(t.bars);
}
