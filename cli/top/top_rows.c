/* Rows of a view: the objects of an array, or all values of a document, each
 * with the path that leads to it.
 */
#include "cli/top/top_rows.h"

#include <string.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/macros.h"
#include "cli/top/top_cell.h"
#include "cli/top/top_model.h"

/* Of values within values; documents have four. */
#define DEPTH_MAX 12

struct row_list {
    struct arena *arena;
    struct top_row *at;
    size_t count;
    size_t cap;
};

static struct top_row *row_list_add(struct row_list *l, size_t columns)
{
    struct top_row *row;
    if (l->count == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 64;
        struct top_row *more = arena_alloc(l->arena, cap * sizeof(*more));
        if (l->count)
            memcpy(more, l->at, l->count * sizeof(*more));
        l->at = more;
        l->cap = cap;
    }
    row = &l->at[l->count++];
    *row = (struct top_row){
        .cells = arena_zalloc(l->arena, columns * sizeof(struct top_cell))};
    return row;
}

static int severity_of(const json_t *row)
{
    static const char *const failing[] = {"down",     "failure", "failed",
                                          "unserved", "lost",    "killed"};
    static const char *const warning[] = {"silent", "warning", "unloading",
                                          "unknown"};
    const char *state = json_string_value(json_object_get(row, "state"));
    if (!state)
        state = json_string_value(json_object_get(row, "severity"));
    for (size_t i = 0; state && i < ARRAY_LEN(failing); i++)
        if (strcmp(state, failing[i]) == 0)
            return 2;
    for (size_t i = 0; state && i < ARRAY_LEN(warning); i++)
        if (strcmp(state, warning[i]) == 0)
            return 1;
    return 0;
}

static struct top_cell
cell_make(struct arena *arena, const json_t *value, enum top_kind kind)
{
    struct buf text = BUF_INIT;
    struct top_cell cell;
    top_put_cell(&text, value, kind);
    cell = (struct top_cell){.text = arena_dup(arena, buf_slice(&text)),
                             .is_number = json_is_number(value),
                             .number = json_number_value(value)};
    if (json_is_array(value) && kind != TOP_ROLES) {
        cell.is_number = true;
        cell.number = (double)json_array_size(value);
    }
    buf_close(&text);
    return cell;
}

static void
add_object(struct row_list *l, const struct top_view *v, const json_t *x)
{
    const json_t *key = json_object_get(x, v->key);
    struct top_row *row = row_list_add(l, v->column_count);
    row->value = x;
    row->severity = severity_of(x);
    row->key = cell_make(l->arena, key, TOP_NUMBER).text;
    for (size_t i = 0; i < v->column_count; i++)
        row->cells[i] =
            cell_make(l->arena, json_object_get(x, v->columns[i].field),
                      v->columns[i].kind);
}

static void add_value(struct row_list *l, struct slice path, const json_t *x)
{
    const char *dot = strrchr(path.data, '.');
    struct top_row *row = row_list_add(l, 2);
    row->cells[0].text = arena_dup(l->arena, path);
    row->cells[1] =
        cell_make(l->arena, x, top_kind_of(dot ? dot + 1 : path.data, x));
    row->key = row->cells[0].text;
}

static bool is_branch(const json_t *x)
{
    return json_is_object(x) || json_is_array(x);
}

/* A row of an array has a name in most documents. */
static void put_step(struct buf *path, size_t index, const json_t *x)
{
    const char *name = json_string_value(json_object_get(x, "name"));
    if (name)
        top_put_printable(path, slice_str(name));
    else
        buf_printf(path, "%zu", index);
}

static void top_rows_flatten(struct row_list *l,
                             struct buf *path,
                             const json_t *x,
                             int depth)
{
    size_t before = path->len;
    size_t i;
    const char *name;
    json_t *part;
    if (l->count >= TOP_ROWS_MAX || depth > DEPTH_MAX)
        return;
    if (!is_branch(x)) {
        buf_reserve(path, 1);
        path->data[path->len] = '\0';
        add_value(l, buf_slice(path), x);
        return;
    }
    if (before)
        buf_append_byte(path, '.');
    before = path->len;
    json_object_foreach((json_t *)(uintptr_t)x, name, part) {
        top_put_printable(path, slice_str(name));
        top_rows_flatten(l, path, part, depth + 1);
        path->len = before;
    }
    json_array_foreach(x, i, part) {
        put_step(path, i, part);
        top_rows_flatten(l, path, part, depth + 1);
        path->len = before;
    }
}

void top_rows_make(const struct top_view *v,
                   const json_t *doc,
                   struct arena *arena,
                   struct top_row **rows,
                   size_t *count)
{
    struct row_list l = {.arena = arena};
    size_t i;
    json_t *x;
    if (!v->rows[0]) {
        struct buf path = BUF_INIT;
        top_rows_flatten(&l, &path, doc, 0);
        buf_close(&path);
    }
    for (size_t a = 0; a < ARRAY_LEN(v->rows) && v->rows[a]; a++)
        json_array_foreach(json_object_get(doc, v->rows[a]), i, x) {
            if (l.count < TOP_ROWS_MAX)
                add_object(&l, v, x);
        }
    *rows = l.at;
    *count = l.count;
}
