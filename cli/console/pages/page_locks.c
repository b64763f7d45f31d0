/* The lock service: nodes of its tree with their holders, and the sessions
 * that hold them. It is the first place to look when a role has no leader. */
#include <string.h>

#include "cli/console/page_renderers.h"
#include "cli/console/pages/page_fields.h"
#include "cli/console/pages/page_parts.h"
#include "cli/console/pages/page_query.h"
#include "cli/console/pages/page_rows.h"

/* Paths of the lock service are shorter. */
#define LOCKS_PATH_MAX 1024

static const char *
locks_path(const struct html *h, const json_t *doc, char *out)
{
    const char *path = page_string(doc, "path");
    if (path)
        return path;
    if (!page_query_get(h, "path", out, LOCKS_PATH_MAX))
        return "/";
    return out;
}

/* A directory is a link to what is in it. */
static void lock_name(struct html *h, const json_t *row, const json_t *doc)
{
    char text[LOCKS_PATH_MAX];
    struct buf path = BUF_INIT;
    const char *name = page_string_or_empty(row, "name");
    if (strncmp(page_string_or_empty(row, "kind"), "dir", 3) != 0) {
        page_key(h, name, "(root)");
        return;
    }
    if (name[0] != '/') {
        buf_append_str(&path, locks_path(h, doc, text));
        if (path.len == 0 || path.data[path.len - 1] != '/')
            buf_append_byte(&path, '/');
    }
    buf_append_str(&path, name);
    buf_append_byte(&path, 0);
    html_lit(h, "<a");
    html_url(h, "href", "/locks?path={}", path.data);
    html_lit(h, ">");
    page_key(h, name, "(root)");
    html_lit(h, "/</a>");
    buf_close(&path);
}

static void lock_holders(struct html *h, const json_t *row, const json_t *doc)
{
    const json_t *list = page_list(row, "holders");
    (void)doc;
    if (json_array_size(list) == 0)
        page_missing(h);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *holder = json_array_get(list, i);
        if (i)
            html_lit(h, ", ");
        if (page_field(holder, "node"))
            page_put(h, holder, "node");
        else
            page_put(h, holder, "client");
        if (page_field(holder, "session")) {
            html_lit(h, " <small>session ");
            html_json(h, page_field(holder, "session"));
            html_lit(h, "</small>");
        }
    }
}

static const struct page_column locks_columns[] = {
    {"name", "Name", CELL_TEXT, NULL, lock_name},
    {"kind", "Kind", CELL_TEXT, NULL, NULL},
    {"mode", "Held", CELL_TEXT, NULL, NULL},
    {"holders", "By", CELL_TEXT, NULL, lock_holders},
    {"generation", "Times taken", CELL_FIGURE, NULL, NULL},
    {"bytes", "Contents", CELL_FIGURE, NULL, NULL},
    {"children", "Children", CELL_FIGURE, NULL, NULL},
    {"handles", "Handles", CELL_FIGURE, NULL, NULL},
};

static const struct page_rows locks_rows = {
    .id = "locks",
    .caption = "Nodes of the tree",
    .columns = locks_columns,
    .column_count = ARRAY_LEN(locks_columns),
    .key = "name",
    .nothing = "Nothing is here.",
    .next = "Servers make their locks when they start.",
};

static const struct page_column sessions_columns[] = {
    {"id", "Session", CELL_KEY, NULL, NULL},
    {"node", "Node", CELL_TEXT, NULL, NULL},
    {"client", "Client", CELL_TEXT, NULL, NULL},
    {"principal", "Principal", CELL_TEXT, NULL, NULL},
    {"lease_left_us", "Lease left", CELL_FIGURE, NULL, NULL},
    {"handles", "Handles", CELL_FIGURE, NULL, NULL},
    {"locks", "Locks", CELL_LIST, NULL, NULL},
};

static const struct page_rows sessions_rows = {
    .id = "sessions",
    .caption = "Sessions",
    .columns = sessions_columns,
    .column_count = ARRAY_LEN(sessions_columns),
    .key = "id",
    .sort = "sort_sessions",
    .nothing = "No session is open.",
    .next = "Each server and client of the cell holds one.",
};

void render_locks(struct html *h, const json_t *doc)
{
    char text[LOCKS_PATH_MAX];
    const char *path = locks_path(h, doc, text);
    page_path(h, "/locks?path={}", path);
    page_head_begin(h, NULL, 0, strcmp(path, "/") == 0 ? "Locks" : path);
    page_head_end(h, doc);
    page_rows(h, &locks_rows, page_list(doc, "entries"), doc);
    page_query_next(h, doc, "entries_next", "after", "More nodes");
    page_rows(h, &sessions_rows, page_list(doc, "sessions"), doc);
    page_query_next(h, doc, "sessions_next", "after_session", "More sessions");
}
