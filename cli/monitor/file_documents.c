/* The documents `files` and `file`: a directory of the file system, its health
 * and its chunk servers; a file with its chunks and their servers. Asked of the
 * namenode, with the rights of who asks.
 */
#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "cli/fs_mode.h"
#include "cli/monitor/subject.h"
#include "gfs-lite/fs.h"
#include "gfs-lite/gfs.h"

#define ENTRIES_SHOWN 500
#define CHUNKS_SHOWN  1000
/* Files with too few copies that are named, and how much of the tree is looked
 * at for them: calls of GFS_CHECK_MAX files and chunks. */
#define FINDINGS_SHOWN 100
#define FINDING_CALLS  5

/* The path as the file system has it. */
static const char *strip_slashes(const char *path)
{
    while (path && *path == '/')
        path++;
    return path ? path : "";
}

static void put_stat(json_t *o, const struct gfs_stat *s)
{
    char mode[FS_MODE_BYTES + 1] = "";
    fs_mode_put(s->mode, s->is_directory, mode);
    doc_put_str(o, "kind", s->is_directory ? "directory" : "file");
    doc_put_u64(o, "bytes", s->is_directory ? s->bytes : s->size_bytes);
    if (s->is_directory)
        doc_put_u64(o, "files", s->file_count);
    else
        doc_put_u64(o, "replication", s->replication);
    doc_put_u64(o, "chunks", s->chunk_count);
    if (s->is_open)
        doc_put_bool(o, "open", true);
    if (s->owner.len)
        doc_put_text(o, "owner", s->owner);
    doc_put_str(o, "mode", mode);
    if (s->modified_us)
        doc_put_u64(o, "modified_at_us", s->modified_us);
    if (s->entry_quota)
        doc_put_u64(o, "quota_entries", s->entry_quota);
    if (s->byte_quota)
        doc_put_u64(o, "quota_bytes", s->byte_quota);
}

/* --- entries ------------------------------------------------------------- */

static void put_page(json_t *rows,
                     const struct gfs_listing *l,
                     size_t limit,
                     struct buf *after)
{
    for (size_t i = 0; i < l->count && json_array_size(rows) < limit; i++) {
        json_t *o = doc_append_object(rows);
        doc_put_text(o, "name", l->entries[i].name);
        put_stat(o, &l->entries[i].stat);
        buf_clear(after);
        buf_append_slice(after, l->entries[i].name);
    }
}

static int put_entries(struct fs *fs,
                       const char *path,
                       const char *from,
                       size_t limit,
                       json_t *doc,
                       struct err *err)
{
    json_t *rows = doc_put_array(doc, "entries");
    struct buf after = BUF_INIT;
    bool more = true;
    int rc = 0;
    buf_append_str(&after, from ? from : "");
    while (rc == 0 && more && json_array_size(rows) < limit) {
        struct gfs_listing l;
        struct arena a;
        arena_init(&a);
        rc = gfs_list(fs, path, buf_cstr(&after), &a, &l, err);
        if (rc == 0) {
            size_t had = json_array_size(rows);
            put_page(rows, &l, limit, &after);
            more = l.more || json_array_size(rows) - had < l.count;
        }
        arena_close(&a);
    }
    if (rc == 0 && more) {
        doc_put_text(doc, "entries_next", buf_slice(&after));
        doc_warn(doc, "more entries: ask with after=%s", buf_cstr(&after));
    }
    buf_close(&after);
    return rc;
}

/* --- health -------------------------------------------------------------- */

static void put_health(json_t *doc, const struct gfs_status *s)
{
    json_t *o = doc_put_object(doc, "health");
    doc_put_u64(o, "files", s->files);
    doc_put_u64(o, "directories", s->directories);
    doc_put_u64(o, "chunks", s->chunks);
    doc_put_u64(o, "bytes", s->bytes);
    doc_put_u64(o, "open_files", s->open_files);
    doc_put_u64(o, "lost", s->lost);
    if (s->lost_since_us)
        doc_put_u64(o, "lost_since_at_us", s->lost_since_us);
    doc_put_u64(o, "under_replicated", s->under_replicated);
    if (s->under_since_us)
        doc_put_u64(o, "under_replicated_since_at_us", s->under_since_us);
    doc_put_u64(o, "over_replicated", s->over_replicated);
    doc_put_u64(o, "unreported", s->unreported);
    doc_put_u64(o, "copying", s->copying);
    doc_put_bool(o, "safe_mode", s->safe_mode);
}

static const char *server_state(const struct gfs_server_status *s)
{
    switch (s->state) {
    case GFS_SERVER_LEAVING: return s->alive ? "leaving" : "left";
    case GFS_SERVER_GONE: return "gone";
    case GFS_SERVER_IN_SERVICE: break;
    }
    return s->alive ? "up" : "down";
}

static void put_servers(json_t *doc, const struct monitor_nodes *n)
{
    json_t *rows = doc_put_array(doc, "servers");
    for (size_t i = 0; i < n->files.server_count; i++) {
        const struct gfs_server_status *s = &n->files.servers[i];
        const struct monitor_node *node =
            monitor_nodes_find(n, s->server.address);
        json_t *o = doc_append_object(rows);
        doc_put_text(o, "address", s->server.address);
        if (node)
            doc_put_str(o, "node", node->name);
        doc_put_text(o, "machine", s->server.machine);
        doc_put_text(o, "rack", s->server.rack);
        doc_put_str(o, "state", server_state(s));
        doc_put_u64(o, "size_bytes", s->capacity_bytes);
        doc_put_u64(o, "used_bytes",
                    s->capacity_bytes -
                        MIN_OF(s->free_bytes, s->capacity_bytes));
        doc_put_u64(o, "chunks", s->chunk_count);
        if (s->heard_us_ago)
            doc_put_u64(o, "heard_us", s->heard_us_ago);
    }
}

static void put_findings(json_t *rows, const struct gfs_findings *f)
{
    for (size_t i = 0; i < f->count && json_array_size(rows) < FINDINGS_SHOWN;
         i++) {
        const struct gfs_finding *g = &f->findings[i];
        json_t *o = doc_append_object(rows);
        struct buf path = BUF_INIT;
        buf_printf(&path, "/%.*s", SLICE_ARG(g->path));
        doc_put_text(o, "path", buf_slice(&path));
        doc_put_u64(o, "chunk", g->chunk);
        doc_put_u64(o, "wanted", g->wanted);
        doc_put_u64(o, "copies", g->copies);
        if (g->is_open)
            doc_put_bool(o, "open", true);
        buf_close(&path);
    }
}

/* Name some files below @path that lack copies. */
static void put_thin(struct fs *fs, const char *path, json_t *doc)
{
    json_t *rows = doc_put_array(doc, "thin");
    struct gfs_findings f = {.more = true};
    struct buf after = BUF_INIT;
    struct err err = ERR_INIT;
    int rc = 0;
    for (int i = 0; i < FINDING_CALLS && rc == 0 && f.more &&
                    json_array_size(rows) < FINDINGS_SHOWN;
         i++) {
        struct arena a;
        arena_init(&a);
        rc = gfs_check(fs, path, buf_slice(&after), &a, &f, &err);
        if (rc == 0) {
            put_findings(rows, &f);
            buf_clear(&after);
            buf_append_slice(&after, f.after);
        }
        arena_close(&a);
    }
    if (rc)
        doc_warn(doc, "files with too few copies: %s", err.text);
    else if (f.more)
        doc_warn(doc, "not all files were looked at for missing copies: "
                      "quarry fs fsck does");
    buf_close(&after);
}

int subject_files(struct monitor *m,
                  const struct monitor_param *params,
                  size_t count,
                  json_t *doc,
                  struct err *err)
{
    const char *path =
        strip_slashes(monitor_param_value(params, count, "path"));
    const char *after = monitor_param_value(params, count, "after");
    struct monitor_nodes *n = NULL;
    struct fs *fs;
    size_t limit;
    int rc = monitor_param_limit(params, count, ENTRIES_SHOWN, &limit, err);
    if (rc == 0)
        rc = monitor_nodes_get(m, &n, err);
    if (rc == 0)
        rc = monitor_files(m, &fs, err);
    if (rc == 0)
        rc = put_entries(fs, path, after, limit, doc, err);
    if (rc == 0) {
        struct buf whole = BUF_INIT;
        buf_printf(&whole, "/%s", path);
        doc_put_text(doc, "path", buf_slice(&whole));
        buf_close(&whole);
    }
    if (rc == 0 && n->has_files) {
        put_health(doc, &n->files);
        put_servers(doc, n);
        if (n->files.under_replicated > 0 || n->files.lost > 0)
            put_thin(fs, path, doc);
    } else if (rc == 0) {
        doc_warn(doc, "the namenode did not tell its state");
    }
    monitor_nodes_unref(n);
    return rc;
}

/* --- file ---------------------------------------------------------------- */

static void put_chunk(json_t *o,
                      const struct monitor_nodes *n,
                      const struct gfs_layout *l,
                      const struct gfs_chunk *k)
{
    json_t *servers;
    doc_put_u64(o, "id", k->handle);
    doc_put_u64(o, "version", k->version);
    doc_put_u64(o, "offset", k->offset);
    if (k->sealed)
        doc_put_u64(o, "bytes", k->length);
    doc_put_bool(o, "sealed", k->sealed);
    servers = doc_put_array(o, "servers");
    for (unsigned i = 0; i < k->servers.count; i++)
        for (size_t s = 0; s < l->server_count; s++) {
            const struct monitor_node *node;
            json_t *row;
            if (l->servers[s].number != k->servers.numbers[i])
                continue;
            node = monitor_nodes_find(n, l->servers[s].address);
            row = doc_append_object(servers);
            doc_put_text(row, "address", l->servers[s].address);
            doc_put_text(row, "rack", l->servers[s].rack);
            if (node)
                doc_put_str(row, "node", node->name);
        }
}

/* Chunks from number @after on, at most @limit. */
struct chunk_rows {
    json_t *rows;
    uint64_t after;
    uint64_t index; /* Of the next chunk. */
    uint64_t offset;
    size_t limit;
    bool more;
};

static void put_chunks(struct chunk_rows *r,
                       const struct monitor_nodes *n,
                       const struct gfs_layout *l)
{
    for (size_t i = 0; i < l->chunk_count; i++) {
        const struct gfs_chunk *k = &l->chunks[i];
        r->offset = k->offset + k->length;
        if (r->index < r->after) {
            r->index++;
        } else if (json_array_size(r->rows) < r->limit) {
            json_t *o = doc_append_object(r->rows);
            doc_put_u64(o, "index", r->index++);
            put_chunk(o, n, l, k);
        } else {
            r->more = true;
        }
    }
}

/* Is the last chunk of the file in @l? */
static bool is_last_page(const struct gfs_layout *l, uint64_t offset)
{
    return l->chunk_count < GFS_LAYOUT_MAX ||
           !l->chunks[l->chunk_count - 1].sealed || offset >= l->size_bytes;
}

static int put_layout(struct fs *fs,
                      const char *path,
                      const struct monitor_nodes *n,
                      struct chunk_rows *r,
                      struct err *err)
{
    bool last = false;
    int rc = 0;
    while (rc == 0 && !last && !r->more) {
        struct gfs_layout l;
        struct arena a;
        arena_init(&a);
        rc = gfs_get_layout(fs, path, r->offset, &a, &l, err);
        if (rc == 0) {
            put_chunks(r, n, &l);
            last = is_last_page(&l, r->offset);
        }
        arena_close(&a);
    }
    return rc;
}

static int put_file(struct fs *fs,
                    const char *path,
                    json_t *doc,
                    bool *is_directory,
                    struct err *err)
{
    struct gfs_stat s;
    struct arena a;
    int rc;
    arena_init(&a);
    rc = gfs_look(fs, path, &a, &s, err);
    if (rc == 0) {
        struct buf whole = BUF_INIT;
        buf_printf(&whole, "/%s", path);
        doc_put_text(doc, "path", buf_slice(&whole));
        put_stat(doc, &s);
        /* The rows have that name. */
        json_object_del(doc, "chunks");
        doc_put_u64(doc, "chunks_total", s.chunk_count);
        *is_directory = s.is_directory;
        buf_close(&whole);
    }
    arena_close(&a);
    return rc;
}

int subject_file(struct monitor *m,
                 const struct monitor_param *params,
                 size_t count,
                 json_t *doc,
                 struct err *err)
{
    struct chunk_rows r = {.offset = 0};
    struct monitor_nodes *n = NULL;
    const char *path;
    struct fs *fs;
    bool is_directory = false;
    int rc = monitor_param_need(params, count, "path", &path, err);
    if (rc == 0)
        rc = monitor_param_limit(params, count, CHUNKS_SHOWN, &r.limit, err);
    if (rc == 0)
        rc = monitor_param_number(params, count, "after", 0, UINT32_MAX,
                                  &r.after, err);
    if (rc == 0)
        rc = monitor_nodes_get(m, &n, err);
    if (rc == 0)
        rc = monitor_files(m, &fs, err);
    if (rc == 0)
        rc = put_file(fs, strip_slashes(path), doc, &is_directory, err);
    if (rc == 0) {
        r.rows = doc_put_array(doc, "chunks");
        if (!is_directory)
            rc = put_layout(fs, strip_slashes(path), n, &r, err);
    }
    if (rc == 0 && r.more) {
        doc_put_u64(doc, "chunks_next", r.index);
        doc_warn(doc, "more chunks: ask with after=%llu",
                 (unsigned long long)r.index);
    }
    monitor_nodes_unref(n);
    return rc;
}
