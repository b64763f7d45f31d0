/* Cells in the order of their names, as a table's are: the columns of a view
 * have the order of its query.
 */
#include "bigtable/view/view_row_maker.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/panic.h"

struct view_row_maker {
    const struct quarry_view_column *columns; /* Borrowed. */
    size_t *order;                            /* Owned, as the next. */
    struct quarry_cell *cells;
    size_t count;
    uint64_t made;
    struct arena arena; /* Of the row at hand. */
    struct buf text;
    struct quarry_row row;
};

struct view_row_maker *
view_row_maker_new(const struct quarry_view_column *columns, size_t count)
{
    struct view_row_maker *m = mem_zalloc(1, sizeof(*m));
    m->columns = columns;
    m->count = count;
    m->order = mem_zalloc(count + 1, sizeof(*m->order));
    m->cells = mem_zalloc(count + 1, sizeof(*m->cells));
    arena_init(&m->arena);
    for (size_t i = 0; i < count; i++) {
        size_t at = i;
        for (;
             at && strcmp(columns[m->order[at - 1]].name, columns[i].name) > 0;
             at--)
            m->order[at] = m->order[at - 1];
        m->order[at] = i;
    }
    return m;
}

void view_row_maker_free(struct view_row_maker *m)
{
    if (!m)
        return;
    arena_close(&m->arena);
    buf_close(&m->text);
    mem_free(m->order);
    mem_free(m->cells);
    mem_free(m);
}

static struct slice make_key(struct view_row_maker *m,
                             const struct quarry_view_value *values)
{
    size_t keys = 0;
    buf_clear(&m->text);
    for (size_t i = 0; i < m->count; i++) {
        if (!m->columns[i].is_key)
            continue;
        buf_append_str(&m->text, keys++ ? "\t" : "");
        if (!values[i].null)
            quarry_view_value_put(&values[i], m->columns[i].type, &m->text);
    }
    if (keys == 0)
        buf_printf(&m->text, "%020llu", (unsigned long long)m->made);
    return arena_dup(&m->arena, buf_slice(&m->text));
}

const struct quarry_row *view_row_make(struct view_row_maker *m,
                                       const struct quarry_view_value *values)
{
    size_t count = 0;
    arena_reset(&m->arena);
    m->row.key = make_key(m, values);
    for (size_t i = 0; i < m->count; i++) {
        const size_t at = m->order[i];
        if (values[at].null)
            continue;
        buf_clear(&m->text);
        quarry_view_value_put(&values[at], m->columns[at].type, &m->text);
        m->cells[count++] = (struct quarry_cell){
            .family = SLICE_LIT(VIEW_ROW_FAMILY),
            .qualifier = slice_str(m->columns[at].name),
            .value = arena_dup(&m->arena, buf_slice(&m->text)),
            .label = SLICE_EMPTY};
    }
    m->made++;
    m->row.cells = m->cells;
    m->row.cell_count = count;
    return &m->row;
}
