/* Rows of a scan, copied to an arena that is bounded as other results are: too
 * many end in an error, not in all memory.
 */
#include "bigtable/view/view_row_list.h"

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "bigtable/view/view_program.h"

struct view_row_list {
    struct arena arena; /* Of names and texts. */
    const char **names;
    size_t column_count;
    struct quarry_view_cell *cells; /* Rows one after the other; owned. */
    size_t count;                   /* Of cells. */
    size_t cap;
    uint64_t bytes;
};

static void take_row(struct view_row_list *l,
                     const struct quarry_view_column *columns,
                     const struct quarry_view_value *values)
{
    struct buf text = BUF_INIT;
    if (l->count + l->column_count > l->cap) {
        l->cap = 2 * l->cap + l->column_count;
        l->cells = mem_realloc(l->cells, l->cap * sizeof(*l->cells));
    }
    for (size_t i = 0; i < l->column_count; i++) {
        buf_clear(&text);
        if (!values[i].null)
            quarry_view_value_put(&values[i], columns[i].type, &text);
        l->cells[l->count++] = (struct quarry_view_cell){
            arena_dup(&l->arena, buf_slice(&text)), values[i].null};
        l->bytes += text.len + sizeof(*l->cells);
    }
    buf_close(&text);
}

static int read_rows(struct view_row_list *l,
                     struct quarry_view_scan *s,
                     uint64_t bytes_max,
                     struct err *err)
{
    const struct quarry_view_column *columns;
    const struct quarry_view_value *values;
    int rc;
    l->column_count = quarry_view_scan_columns(s, &columns);
    l->names =
        arena_alloc(&l->arena, (l->column_count + 1) * sizeof(*l->names));
    for (size_t i = 0; i < l->column_count; i++)
        l->names[i] = arena_strdup(&l->arena, columns[i].name);
    while ((rc = quarry_view_scan_next(s, &values, err)) == 0 && values) {
        take_row(l, columns, values);
        if (l->bytes > bytes_max)
            return err_set(err, ERR_EXHAUSTED,
                           "the view's rows need more than %llu MiB",
                           (unsigned long long)(bytes_max >> 20));
    }
    return rc;
}

int view_row_list_read(struct quarry *q,
                       const char *name,
                       uint64_t bytes_max,
                       struct view_row_list **out,
                       struct err *err)
{
    struct quarry_view_info *info = NULL;
    struct quarry_view_scan *s = NULL;
    struct view_row_list *l = NULL;
    int rc = quarry_view_describe(q, name, &info, err);
    *out = NULL;
    if (rc == 0 && *info->sql)
        rc = quarry_view_scan_open(q, name, NULL, &s, err);
    if (rc == 0 && s) {
        l = mem_zalloc(1, sizeof(*l));
        arena_init(&l->arena);
        rc = read_rows(l, s, bytes_max ? bytes_max : VIEW_MEMORY_BYTES, err);
    }
    quarry_view_scan_close(s);
    quarry_view_infos_free(info, 1);
    if (rc)
        view_row_list_free(l);
    else
        *out = l;
    return rc;
}

void view_row_list_free(struct view_row_list *l)
{
    if (!l)
        return;
    arena_close(&l->arena);
    mem_free(l->cells);
    mem_free(l);
}

size_t view_row_list_columns(const struct view_row_list *l,
                             const char *const **names)
{
    *names = l->names;
    return l->column_count;
}

size_t view_row_list_count(const struct view_row_list *l)
{
    return l->column_count ? l->count / l->column_count : 0;
}

const struct quarry_view_cell *view_row_list_at(const struct view_row_list *l,
                                                size_t index)
{
    PRE(index < view_row_list_count(l));
    return &l->cells[index * l->column_count];
}
