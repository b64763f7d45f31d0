/* Bars on a terminal, lines in a log. */
#include "cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/text.h"
#include "base/runtime/world.h"
#include "cli/cli.h"

#define NS_PER_S    1000000000.0
#define REDRAW_NS   UINT64_C(150000000)
#define LOG_LINE_NS UINT64_C(10000000000)
#define SILENT_NS   UINT64_C(1000000000)
#define US_PER_S    UINT64_C(1000000)
#define BAR_CELLS   24
#define ERASE_LINE  "\r\033[K"

void progress_start(struct progress *p, const struct cli *cli, const char *what)
{
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
    if (!p->on || now - p->started_ns < SILENT_NS || now - p->shown_ns < every)
        return false;
    p->shown_ns = now;
    return true;
}

static void append_bar(struct buf *line, double share)
{
    size_t full = (size_t)(share * BAR_CELLS);
    buf_append_byte(line, '[');
    for (size_t i = 0; i < BAR_CELLS; i++)
        buf_append_str(line, i < full ? "█" : "·");
    buf_printf(line, "] %3.0f%%", share * 100);
}

/* The share with its bar or without, and the time left. */
static void
append_share(struct buf *line, const struct progress *p, double share)
{
    double seconds = progress_seconds(p);
    if (share > 1)
        share = 1;
    if (p->terminal)
        append_bar(line, share);
    else
        buf_printf(line, "%.0f%%", share * 100);
    if (share > 0.01) {
        /* Whole seconds: the rest is noise. */
        double left = seconds / share * (1 - share);
        buf_append_str(line, "  ");
        text_put_duration(line, (uint64_t)(left + 0.5) * US_PER_S);
        buf_append_str(line, " left");
    }
}

static void show(struct progress *p, struct buf *line, const char *extra)
{
    if (extra)
        buf_printf(line, "  %s", extra);
    if (p->terminal)
        fprintf(stderr, ERASE_LINE "%s", buf_cstr(line));
    else
        fprintf(stderr, "%s\n", buf_cstr(line));
    fflush(stderr);
    p->drawn = p->terminal;
}

void progress_bytes(struct progress *p,
                    uint64_t done,
                    uint64_t total,
                    const char *extra)
{
    struct buf line = BUF_INIT;
    if (!is_due(p))
        return;
    buf_printf(&line, "%s  ", p->what);
    if (total > 0)
        append_share(&line, p, (double)done / (double)total);
    buf_append_str(&line, "  ");
    text_put_bytes(&line, done);
    buf_append_str(&line, "  ");
    text_put_bytes(&line, (uint64_t)((double)done / progress_seconds(p)));
    buf_append_str(&line, "/s");
    show(p, &line, extra);
    buf_close(&line);
}

void progress_share(struct progress *p, unsigned permille, const char *extra)
{
    struct buf line = BUF_INIT;
    if (!is_due(p))
        return;
    buf_printf(&line, "%s  ", p->what);
    append_share(&line, p, (double)permille / 1000);
    show(p, &line, extra);
    buf_close(&line);
}

void progress_end(struct progress *p)
{
    if (p->drawn)
        fputs(ERASE_LINE, stderr);
    fflush(stderr);
    p->drawn = false;
}
