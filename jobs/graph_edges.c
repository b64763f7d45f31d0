/* The forms in which graphs come. All jobs over graphs have one reader, so that
 * the output of one job, a table, or a file from elsewhere is good for each. */
#include "jobs/graph_edges.h"

#include <string.h>

#include "base/core/panic.h"
#include "bigtable/quarry.h"

static bool is_border(char c)
{
    return c == ' ' || c == '\t' || c == ',';
}

static struct slice next_field(struct slice *line)
{
    struct slice field;
    size_t n = 0;
    *line = slice_trim(*line);
    while (n < line->len && !is_border(line->data[n]))
        n++;
    field = slice_sub(*line, 0, n);
    *line = slice_sub(*line, n + 1, line->len);
    return field;
}

static void read_edge_line(struct slice line, graph_edge_fn fn, void *ctx)
{
    struct slice from = next_field(&line);
    struct slice to = next_field(&line);
    if (from.len > 0 && from.data[0] != '#')
        fn(ctx, from, to);
}

static void
read_edge_row(const struct quarry_row *row, graph_edge_fn fn, void *ctx)
{
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct quarry_cell *c = &row->cells[i];
        if (slice_eq_str(c->family, "link"))
            fn(ctx, row->key, c->qualifier);
        else if (slice_eq_str(c->family, "anchor"))
            fn(ctx, c->qualifier, row->key);
    }
}

void graph_edges_read(const struct mr_record *record,
                      graph_edge_fn fn,
                      void *ctx)
{
    struct slice left = record->value;
    PRE(fn != NULL);
    if (record->row) {
        read_edge_row(record->row, fn, ctx);
    } else if (record->key.len == 0) {
        read_edge_line(record->value, fn, ctx);
    } else {
        while (left.len > 0) {
            size_t n = slice_find_byte(left, '\n');
            fn(ctx, record->key, slice_sub(left, 0, n));
            left = slice_sub(left, n + 1, left.len);
        }
    }
}
