/* Files: one directory, the health of chunks and chunk servers, and one file
 * with its chunks and the nodes that have copies of them. */
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
    {"node", "Chunk server", CELL_TEXT, "/nodes/{}", NULL},
    {"address", "Address", CELL_TEXT, NULL, NULL},
    {"state", "State", CELL_STATE, NULL, NULL},
    {"rack", "Rack", CELL_TEXT, NULL, NULL},
    {"chunks", "Chunks", CELL_FIGURE, NULL, NULL},
    {"used_bytes", "Used", CELL_FIGURE, NULL, server_disk},
    {"heard_us", "Heard ago", CELL_FIGURE, NULL, NULL},
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

/* Chunks whose copies are fewer than wanted, and since when there are some. */
static void files_short_of(struct html *h,
                           const json_t *health,
                           const char *name,
                           const char *count,
                           const char *since)
{
    double at;
    page_figure_begin(h, name);
    page_put(h, health, count);
    if (page_number(health, since, &at)) {
        html_lit(h, " <small>since ");
        page_time(h, at);
        html_lit(h, "</small>");
    }
    page_figure_end(h);
}

static void files_health(struct html *h, const json_t *health)
{
    if (json_object_size(health) == 0)
        return;
    page_figures_begin(h, "The whole file system");
    page_figure(h, "Files", health, "files");
    page_figure(h, "Directories", health, "directories");
    page_figure(h, "Bytes", health, "bytes");
    page_figure(h, "Chunks", health, "chunks");
    files_short_of(h, health, "Lost chunks", "lost", "lost_since_at_us");
    files_short_of(h, health, "Chunks short of copies", "under_replicated",
                   "under_replicated_since_at_us");
    page_figure(h, "Chunks with too many copies", health, "over_replicated");
    page_figure(h, "Being copied", health, "copying");
    if (page_number_or(health, "unreported", 0) > 0)
        page_figure(h, "Not reported yet", health, "unreported");
    page_figures_end(h);
    if (page_is_true(health, "safe_mode"))
        html_lit(h, "<div class=\"note warn\" id=\"safe-mode\" role=\"note\">"
                    "The file system is in safe mode: it changes nothing until "
                    "chunk servers have reported their chunks.</div>");
}

/* The file of a chunk that is short of copies. */
static void thin_path(struct html *h, const json_t *row, const json_t *doc)
{
    const char *path = page_string_or_empty(row, "path");
    (void)doc;
    html_lit(h, "<a");
    html_url(h, "href", "/file?path={}", path);
    html_lit(h, ">");
    page_key(h, path, "");
    html_lit(h, "</a>");
}

/* Numbers of chunks are names: all their digits are shown. */
static void thin_chunk(struct html *h, const json_t *row, const json_t *doc)
{
    (void)doc;
    html_json(h, page_field(row, "chunk"));
}

static const struct page_column thin_columns[] = {
    {"path", "File", CELL_TEXT, NULL, thin_path},
    {"chunk", "Chunk", CELL_TEXT, NULL, thin_chunk},
    {"copies", "Copies", CELL_FIGURE, NULL, NULL},
    {"wanted", "Wanted", CELL_FIGURE, NULL, NULL},
};

static const struct page_rows thin_rows = {
    .id = "thin",
    .caption = "Chunks short of copies",
    .columns = thin_columns,
    .column_count = ARRAY_LEN(thin_columns),
    .sort = "sort_thin",
    .nothing = "All chunks here have their copies.",
    .next = "quarry fs fsck looks at all of them.",
};

void render_files(struct html *h, const json_t *doc)
{
    char text[FILES_PATH_MAX];
    const char *path = files_path(h, doc, text);
    page_path(h, "/files?path={}", path);
    page_head_begin(h, NULL, 0, strcmp(path, "/") == 0 ? "Files" : path);
    page_head_end(h, doc);
    files_health(h, page_field(doc, "health"));
    page_rows(h, &files_rows, page_list(doc, "entries"), doc);
    page_query_next(h, doc, "entries_next", "after", "More entries");
    if (page_list_size(doc, "thin"))
        page_rows(h, &thin_rows, page_list(doc, "thin"), doc);
    if (page_list(doc, "servers"))
        page_rows(h, &servers_rows, page_list(doc, "servers"), doc);
}

/* --- one file ------------------------------------------------------------ */

/* The nodes that have a copy; of unknown ones the address. */
static void chunk_servers(struct html *h, const json_t *row, const json_t *doc)
{
    const json_t *list = page_list(row, "servers");
    (void)doc;
    if (json_array_size(list) == 0)
        page_missing(h);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *server = json_array_get(list, i);
        const char *node = page_string(server, "node");
        if (i)
            html_lit(h, ", ");
        if (!node) {
            html_json(h, page_field(server, "address"));
            continue;
        }
        html_lit(h, "<a");
        html_url(h, "href", "/nodes/{}", node);
        html_attr(h, "title", page_string_or_empty(server, "address"));
        html_lit(h, ">");
        html_str(h, node);
        html_lit(h, "</a>");
    }
}

static void chunk_id(struct html *h, const json_t *row, const json_t *doc)
{
    (void)doc;
    html_json(h, page_field(row, "id"));
}

static const struct page_column chunks_columns[] = {
    {"index", "Chunk", CELL_FIGURE, NULL, NULL},
    {"id", "Id", CELL_TEXT, NULL, chunk_id},
    {"version", "Version", CELL_FIGURE, NULL, NULL},
    {"offset", "From byte", CELL_FIGURE, NULL, NULL},
    {"bytes", "Size", CELL_FIGURE, NULL, NULL},
    {"servers", "Copies on", CELL_TEXT, NULL, chunk_servers},
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
    page_figure(h, "Chunks", doc, "chunks_total");
    page_figure(h, "Owner", doc, "owner");
    page_figure(h, "Mode", doc, "mode");
    page_figures_end(h);
    page_rows(h, &chunks_rows, page_list(doc, "chunks"), doc);
    page_query_next(h, doc, "chunks_next", "after", "More chunks");
}
