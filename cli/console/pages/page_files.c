/* Files: one directory, the health of chunks, chunk servers; one file. */
#include <math.h>
#include <string.h>

#include "cli/console/page_renderers.h"
#include "cli/console/pages/page_fields.h"
#include "cli/console/pages/page_parts.h"
#include "cli/console/pages/page_query.h"
#include "cli/console/pages/page_rows.h"

/* The file system accepts no longer ones. */
#define FILES_PATH_MAX 4096

/* The path that the page is about: the document's, or the one asked for. */
static const char *
files_path(const struct html *h, const json_t *doc, char *out)
{
    const char *path = page_string(doc, "path");
    if (path)
        return path;
    if (!page_query_get(h, "path", out, FILES_PATH_MAX))
        return "/";
    return out;
}

/* The name of @entry below the document's path. */
static void files_below(const struct html *h,
                        const json_t *doc,
                        const json_t *entry,
                        struct buf *out)
{
    char text[FILES_PATH_MAX];
    const char *name = page_string_or_empty(entry, "name");
    const char *path = files_path(h, doc, text);
    if (name[0] != '/') {
        buf_append_str(out, path);
        if (out->len == 0 || out->data[out->len - 1] != '/')
            buf_append_byte(out, '/');
    }
    buf_append_str(out, name);
    buf_append_byte(out, 0);
}

static bool files_is_directory(const json_t *entry)
{
    const char *kind = page_string_or_empty(entry, "kind");
    return strncmp(kind, "dir", 3) == 0;
}

static void files_name(struct html *h, const json_t *row, const json_t *doc)
{
    struct buf path = BUF_INIT;
    bool directory = files_is_directory(row);
    files_below(h, doc, row, &path);
    html_lit(h, "<a");
    if (directory)
        html_url(h, "href", "/files?path={}", path.data);
    else
        html_url(h, "href", "/file?path={}", path.data);
    html_lit(h, "><span class=\"key\">");
    html_str(h, page_string_or_empty(row, "name"));
    if (directory)
        html_lit(h, "/");
    html_lit(h, "</span></a>");
    buf_close(&path);
}

static const struct page_column files_columns[] = {
    {"name", "Name", CELL_TEXT, NULL, files_name},
    {"kind", "Kind", CELL_TEXT, NULL, NULL},
    {"bytes", "Size", CELL_FIGURE, NULL, NULL},
    {"chunks", "Chunks", CELL_FIGURE, NULL, NULL},
    {"replication", "Copies", CELL_FIGURE, NULL, NULL},
    {"owner", "Owner", CELL_TEXT, NULL, NULL},
    {"mode", "Mode", CELL_KEY, NULL, NULL},
    {"modified_at_us", "Changed ago", CELL_AGE, NULL, NULL},
};

static const struct page_rows files_rows = {
    .id = "entries",
    .caption = "Entries",
    .columns = files_columns,
    .column_count = ARRAY_LEN(files_columns),
    .key = "name",
    .nothing = "The directory is empty.",
    .next = "Put a file here: quarry fs put FILE PATH",
};

static void server_disk(struct html *h, const json_t *row, const json_t *doc)
{
    double used, size;
    (void)doc;
    page_put(h, row, "used_bytes");
    if (!page_number(row, "used_bytes", &used) ||
        !page_number(row, "size_bytes", &size) || size <= 0)
        return;
    html_lit(h, " <small>of ");
    page_put(h, row, "size_bytes");
    html_lit(h, "</small>");
    page_bar(h, used / size, used / size > 0.85);
}

static const struct page_column servers_columns[] = {
    {"address", "Chunk server", CELL_TEXT, NULL, NULL},
    {"state", "State", CELL_STATE, NULL, NULL},
    {"rack", "Rack", CELL_TEXT, NULL, NULL},
    {"chunks", "Chunks", CELL_FIGURE, NULL, NULL},
    {"used_bytes", "Used", CELL_FIGURE, NULL, server_disk},
};

static const struct page_rows servers_rows = {
    .id = "servers",
    .caption = "Chunk servers",
    .columns = servers_columns,
    .column_count = ARRAY_LEN(servers_columns),
    .key = "address",
    .sort = "sort_servers",
    .nothing = "No chunk server is known.",
    .next = "Nodes with the role chunk report to the namenode.",
};

/* Chunks that are not as they should be. */
static void files_health(struct html *h, const json_t *health)
{
    if (json_object_size(health) == 0)
        return;
    page_figures_begin(h, "Chunks");
    {
        const char *key;
        json_t *value;
        json_object_foreach((json_t *)(uintptr_t)health, key, value)
        {
            struct buf name = BUF_INIT;
            for (const char *p = key; *p; p++)
                buf_append_byte(&name, *p == '_' ? ' ' : *p);
            if (name.len && name.data[0] >= 'a' && name.data[0] <= 'z')
                name.data[0] = (char)(name.data[0] - 'a' + 'A');
            buf_append_byte(&name, 0);
            page_figure_begin(h, name.data);
            if (json_is_number(value))
                page_value(h, humane_unit_of(key), json_number_value(value));
            else
                html_json(h, value);
            page_figure_end(h);
            buf_close(&name);
        }
    }
    page_figures_end(h);
}

/* The link to the entries after these. */
static void files_more(struct html *h, const json_t *doc)
{
    const char *after = page_string(doc, "next_after");
    if (!after)
        return;
    html_lit(h, "<p><a class=\"btn\"");
    page_query_link(h, "after", after);
    html_lit(h, ">More entries</a></p>");
}

void render_files(struct html *h, const json_t *doc)
{
    char text[FILES_PATH_MAX];
    const char *path = files_path(h, doc, text);
    page_path(h, "/files?path={}", path);
    page_head_begin(h, NULL, 0, strcmp(path, "/") == 0 ? "Files" : path);
    page_head_end(h, doc);
    files_health(h, page_field(doc, "health"));
    page_rows(h, &files_rows, page_list(doc, "entries"), doc);
    files_more(h, doc);
    if (page_list(doc, "servers"))
        page_rows(h, &servers_rows, page_list(doc, "servers"), doc);
}

/* --- one file ------------------------------------------------------------ */

static const struct page_column chunks_columns[] = {
    {"index", "Chunk", CELL_FIGURE, NULL, NULL},
    {"id", "Id", CELL_KEY, NULL, NULL},
    {"version", "Version", CELL_FIGURE, NULL, NULL},
    {"bytes", "Size", CELL_FIGURE, NULL, NULL},
    {"servers", "Copies on", CELL_LIST, NULL, NULL},
};

static const struct page_rows chunks_rows = {
    .id = "chunks",
    .caption = "Chunks",
    .columns = chunks_columns,
    .column_count = ARRAY_LEN(chunks_columns),
    .nothing = "The file has no chunk.",
    .next = "It is empty: nothing has been written to it.",
};

void render_file(struct html *h, const json_t *doc)
{
    char text[FILES_PATH_MAX];
    const char *path = files_path(h, doc, text);
    page_path(h, "/files?path={}", path);
    page_head_begin(h, NULL, 0, path);
    page_head_end(h, doc);
    page_figures_begin(h, "Figures");
    page_figure(h, "Size", doc, "bytes");
    page_figure(h, "Copies wanted", doc, "replication");
    page_figure_begin(h, "Chunks");
    page_value(h, HUMANE_COUNT, (double)page_list_size(doc, "chunks"));
    page_figure_end(h);
    page_figures_end(h);
    page_rows(h, &chunks_rows, page_list(doc, "chunks"), doc);
}
