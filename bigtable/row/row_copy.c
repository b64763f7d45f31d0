/* Copies of rows, in one allocation: the row, its cells, then all of their
 * bytes, so that a copy is freed by one call and its owner needs no arena.
 */
#include "bigtable/row/row_copy.h"

#include <string.h>

#include "base/core/panic.h"

static size_t cell_bytes(const struct quarry_cell *c)
{
    return c->family.len + c->qualifier.len + c->value.len + c->label.len;
}

static struct slice row_copy_put(char **p, struct slice s)
{
    struct slice copy = slice_make(*p, s.len);
    if (s.len)
        memcpy(*p, s.data, s.len);
    *p += s.len;
    return copy;
}

struct quarry_row *row_copy(const struct quarry_row *row)
{
    size_t cells_bytes = row->cell_count * sizeof(struct quarry_cell);
    size_t bytes = row->key.len;
    struct quarry_cell *cells;
    struct quarry_row *copy;
    char *p;
    for (size_t i = 0; i < row->cell_count; i++)
        bytes += cell_bytes(&row->cells[i]);
    copy = mem_alloc(sizeof(*copy) + cells_bytes + bytes + 1);
    cells = (struct quarry_cell *)(copy + 1);
    p = (char *)cells + cells_bytes;
    copy->key = row_copy_put(&p, row->key);
    copy->cells = cells;
    copy->cell_count = row->cell_count;
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct quarry_cell *c = &row->cells[i];
        cells[i].family = row_copy_put(&p, c->family);
        cells[i].qualifier = row_copy_put(&p, c->qualifier);
        cells[i].timestamp_us = c->timestamp_us;
        cells[i].value = row_copy_put(&p, c->value);
        cells[i].label = row_copy_put(&p, c->label);
    }
    return copy;
}
