/* Progress on standard error: a line with a bar on a terminal, redrawn a few
 * times a second at most and erased at the end; elsewhere a line every ten
 * seconds. The first second shows nothing.
 */
#include "cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/world.h"
#include "cli/cli.h"
#include "cli/table_printer.h"
#include "cli/text_form.h"

#define NS_PER_S    1000000000.0
#define REDRAW_NS   UINT64_C(150000000)
#define LOG_LINE_NS UINT64_C(10000000000)
#define SILENT_NS   UINT64_C(1000000000)
#define US_PER_S    UINT64_C(1000000)
#define BAR_CELLS   24
/* A shorter bar tells nothing. */
#define BAR_CELLS_MIN 6
#define BAR_EDGES     3
/* Of a terminal that does not say. */
#define COLUMNS_DEFAULT 80
#define ERASE_LINE      "\r\033[K"

void progress_start(struct progress *p, const struct cli *cli, const char *what)
{
    PRE(what);
    *p = (struct progress){.world = cli->world, .what = what};
    p->on = !cli->quiet;
    p->terminal = isatty(STDERR_FILENO) == 1;
    p->started_ns = world_mono_ns(p->world);
    p->shown_ns = p->started_ns;
}

double progress_seconds(const struct progress *p)
{
    return (double)(world_mono_ns(p->world) - p->started_ns) / NS_PER_S;
}

/* Is it time to show something? */
static bool is_due(struct progress *p)
{
    uint64_t now = world_mono_ns(p->world);
    uint64_t every = p->terminal ? REDRAW_NS : LOG_LINE_NS;
    PRE(now >= p->started_ns);
    if (!p->on || now - p->started_ns < SILENT_NS || now - p->shown_ns < every)
        return false;
    p->shown_ns = now;
    return true;
}

static void put_bar(struct buf *line, double share, size_t cells)
{
    size_t full = (size_t)(share * (double)cells);
    PRE(share >= 0);
    PRE(cells > 0);
    buf_append_byte(line, '[');
    for (size_t i = 0; i < cells; i++)
        buf_append_str(line, i < full ? "█" : "·");
    buf_append_str(line, "] ");
}

/* The share, and the time left. */
static void put_share(struct buf *text, const struct progress *p, double share)
{
    double seconds = progress_seconds(p);
    PRE(share >= 0);
    buf_printf(text, "%*.0f%%", p->terminal ? 3 : 0, share * 100);
    if (share > 0.01 && share < 1) {
        /* Whole seconds: the rest is noise. */
        double left = seconds / share * (1 - share);
        buf_append_str(text, "  ");
        text_put_duration(text, (uint64_t)(left + 0.5) * US_PER_S);
        buf_append_str(text, " left");
    }
}

/* One line of the terminal, whatever its width: one that wrapped could not be
 * erased. The bar has what room @text leaves. */
static void progress_draw(struct progress *p,
                          double share,
                          size_t columns,
                          struct slice text)
{
    struct buf line = BUF_INIT;
    struct buf shown = BUF_INIT;
    size_t used = strlen(p->what) + 2 + utf8_columns(text) + BAR_EDGES;
    PRE(columns > 0);
    buf_printf(&line, "%s  ", p->what);
    if (share >= 0 && used + BAR_CELLS_MIN < columns)
        put_bar(&line, share, MIN_OF(columns - 1 - used, (size_t)BAR_CELLS));
    buf_append_slice(&line, text);
    text_put_cut(&shown, buf_slice(&line), columns - 1);
    fprintf(stderr, ERASE_LINE "%s", buf_cstr(&shown));
    buf_close(&line);
    buf_close(&shown);
}

/* @share below 0: nobody knows. */
static void progress_show(struct progress *p,
                          double share,
                          struct buf *text,
                          const char *extra)
{
    size_t columns = terminal_columns_of(STDERR_FILENO);
    PRE(p->on);
    if (extra)
        buf_printf(text, "  %s", extra);
    if (p->terminal)
        progress_draw(p, share, columns ? columns : COLUMNS_DEFAULT,
                      buf_slice(text));
    else
        fprintf(stderr, "%s  %s\n", p->what, buf_cstr(text));
    fflush(stderr);
    p->drawn = p->terminal;
}

void progress_bytes(struct progress *p,
                    uint64_t done,
                    uint64_t total,
                    const char *extra)
{
    struct buf text = BUF_INIT;
    double share = total > 0 ? (double)done / (double)total : -1;
    if (!is_due(p))
        return;
    share = MIN_OF(share, 1.0);
    if (total > 0) {
        put_share(&text, p, share);
        buf_append_str(&text, "  ");
    }
    text_put_bytes(&text, done);
    buf_append_str(&text, "  ");
    text_put_bytes(&text, (uint64_t)((double)done / progress_seconds(p)));
    buf_append_str(&text, "/s");
    progress_show(p, share, &text, extra);
    buf_close(&text);
}

void progress_share(struct progress *p, unsigned permille, const char *extra)
{
    struct buf text = BUF_INIT;
    double share = MIN_OF((double)permille / 1000, 1.0);
    if (!is_due(p))
        return;
    put_share(&text, p, share);
    progress_show(p, share, &text, extra);
    buf_close(&text);
}

void progress_end(struct progress *p)
{
    if (p->drawn)
        fputs(ERASE_LINE, stderr);
    fflush(stderr);
    p->drawn = false;
}
