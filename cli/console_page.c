/* The console's page: a cell at a glance.
 *
 * A heading that counts the nodes that answer, then a section for each node,
 * with a table that has a row for the process and one for each role. The rows
 * are made from the texts "role: key=value …", so that a role that reports more
 * shows more.
 */
#include "base/core/buf.h"
#include "cli/console.h"
#include "cli/console_text.h"

static const char HEAD[] =
    "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">"
    "<meta name=\"viewport\" content=\"width=device-width\">"
    "<meta http-equiv=\"refresh\" content=\"5\"><style>"
    ":root{color-scheme:light dark}"
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;"
    "padding:0 1rem}"
    "h1{font-size:1.4rem}h2{font-size:1.1rem;margin:1.6rem 0 .4rem}"
    "table{border-collapse:collapse;width:100%}"
    "th,td{text-align:left;vertical-align:top;padding:.3rem .8rem .3rem 0;"
    "border-bottom:1px solid #8884}"
    "th{font-weight:600;white-space:nowrap}"
    "dl{display:flex;flex-wrap:wrap;margin:0;gap:.1rem 1.2rem}"
    "dl div{overflow-wrap:anywhere}dt,dd{display:inline;margin:0}"
    "dt{opacity:.65}dd{font-variant-numeric:tabular-nums}"
    ".down{color:#c33}nav a{margin-right:1rem}</style><title>";

static void put_escaped(struct buf *out, struct slice s)
{
    for (size_t i = 0; i < s.len; i++)
        switch (s.data[i]) {
        case '<': buf_append_str(out, "&lt;"); break;
        case '>': buf_append_str(out, "&gt;"); break;
        case '&': buf_append_str(out, "&amp;"); break;
        case '"': buf_append_str(out, "&quot;"); break;
        default: buf_append_byte(out, s.data[i]); break;
        }
}

/* "key=value key=value" as a list of figures. */
static void put_figures(struct buf *out, struct slice line)
{
    struct slice key, value;
    buf_append_str(out, "<dl>");
    while (console_figure(&line, &key, &value)) {
        buf_append_str(out, "<div><dt>");
        put_escaped(out, key);
        buf_append_str(out, "</dt> <dd>");
        put_escaped(out, value);
        buf_append_str(out, "</dd></div>");
    }
    buf_append_str(out, "</dl>");
}

/* The first line is the process's, the others are "role: figures". */
static void put_status(struct buf *out, struct slice status)
{
    buf_append_str(out, "<table><tr><th>process</th><td>");
    put_figures(out, console_cut(&status, '\n'));
    buf_append_str(out, "</td></tr>");
    while (status.len) {
        struct slice line = console_cut(&status, '\n');
        struct slice role = console_cut(&line, ':');
        buf_append_str(out, "<tr><th>");
        put_escaped(out, role);
        buf_append_str(out, "</th><td>");
        put_figures(out, line);
        buf_append_str(out, "</td></tr>");
    }
    buf_append_str(out, "</table>");
}

static void put_node(struct buf *out, const struct console_node *n)
{
    buf_append_str(out, "<h2>");
    put_escaped(out, slice_str(n->address));
    buf_append_str(out, "</h2>");
    if (n->status.len) {
        put_status(out, n->status);
        return;
    }
    buf_append_str(out, "<p class=\"down\">no answer: ");
    put_escaped(out, slice_str(n->why_not));
    buf_append_str(out, "</p>");
}

void console_page(const struct console_source *s,
                  const struct console_node *nodes,
                  size_t count,
                  struct buf *out)
{
    size_t up = 0;
    for (size_t i = 0; i < count; i++)
        up += nodes[i].status.len > 0;
    buf_append(out, HEAD, sizeof(HEAD) - 1);
    put_escaped(out, slice_str(s->cluster));
    buf_append_str(out, " - Quarry</title></head><body><h1>");
    put_escaped(out, slice_str(s->cluster));
    buf_printf(out, ": %zu of %zu nodes of the cell answer</h1><nav>", up,
               count);
    buf_append_str(out, "seen from ");
    put_escaped(out, slice_str(s->name));
    buf_append_str(out, ": ");
    for (const char *const *p =
             (const char *const[]){"status", "metrics", "vars", "fibers",
                                   "peers", "calls", "health", NULL};
         *p; p++)
        buf_printf(out, "<a href=\"/%s\">%s</a>", *p, *p);
    buf_append_str(out, "</nav>");
    for (size_t i = 0; i < count; i++)
        put_node(out, &nodes[i]);
    buf_append_str(out, "</body></html>\n");
}
