/* Cells of a row grouped by their times: the import gives every capture of a
 * row a time of its own, so that equal times mean one capture. */
#include "mapreduce/ingest/row_captures.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "bigtable/quarry.h"

/* The member for the value of a column. */
static const struct {
    const char *family;
    const char *qualifier;
    size_t at;
} parts[] = {
    {"contents", "", offsetof(struct capture, body)},
    {"http", "headers", offsetof(struct capture, head)},
    {"http", "url", offsetof(struct capture, url)},
    {"http", "content-type", offsetof(struct capture, content_type)},
    {"http", "status", offsetof(struct capture, status)},
    {"meta", "title", offsetof(struct capture, title)},
    {"language", "", offsetof(struct capture, language)},
    {"meta", "type", offsetof(struct capture, type)},
    {"meta", "source", offsetof(struct capture, source)},
    {"meta", "id", offsetof(struct capture, id)},
    {"meta", "ip", offsetof(struct capture, ip)},
    {"meta", "digest", offsetof(struct capture, digest)},
    {"meta", "truncated", offsetof(struct capture, truncated)},
    {"meta", "coding", offsetof(struct capture, coding)},
    {"meta", "revisit-of", offsetof(struct capture, revisit_of)},
    {"meta", "converted-from", offsetof(struct capture, converted_from)},
    {"meta", "fields", offsetof(struct capture, fields)},
    {"http", "method", offsetof(struct capture, method)},
    {"http", "request-query", offsetof(struct capture, request_query)},
    {"http", "request", offsetof(struct capture, request)},
};

void row_captures_close(struct row_captures *r)
{
    mem_free(r->at);
    mem_free(r->cells);
    *r = (struct row_captures){0};
}

bool capture_is_text(const struct quarry_cell *cell)
{
    return cell->qualifier.len && slice_eq_str(cell->family, "contents") &&
           !slice_eq_str(cell->qualifier, "main");
}

static int by_time(const void *a, const void *b)
{
    const struct quarry_cell *const *x = a;
    const struct quarry_cell *const *y = b;
    if ((*x)->timestamp_us != (*y)->timestamp_us)
        return (*x)->timestamp_us < (*y)->timestamp_us ? -1 : 1;
    return *x < *y ? -1 : *x > *y;
}

/* All cells but the anchors, which belong to captures of other rows. */
static size_t row_captures_gather(struct row_captures *r,
                                  const struct quarry_row *row)
{
    size_t n = 0;
    if (r->cell_cap < row->cell_count) {
        r->cell_cap = row->cell_count;
        r->cells = mem_realloc(r->cells, r->cell_cap * sizeof(*r->cells));
    }
    for (size_t i = 0; i < row->cell_count; i++)
        if (!slice_eq_str(row->cells[i].family, "anchor"))
            r->cells[n++] = &row->cells[i];
    if (n > 1)
        qsort(r->cells, n, sizeof(*r->cells), by_time);
    return n;
}

static void take_cell(struct capture *c, const struct quarry_cell *cell)
{
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (!slice_eq_str(cell->qualifier, parts[i].qualifier) ||
            !slice_eq_str(cell->family, parts[i].family))
            continue;
        memcpy((char *)c + parts[i].at, &cell->value, sizeof(cell->value));
        c->has_body |= parts[i].at == offsetof(struct capture, body);
        return;
    }
}

static struct capture *row_captures_add(struct row_captures *r)
{
    if (r->count == r->cap) {
        r->cap = r->cap ? r->cap * 2 : 16;
        r->at = mem_realloc(r->at, r->cap * sizeof(*r->at));
    }
    memset(&r->at[r->count], 0, sizeof(*r->at));
    return &r->at[r->count++];
}

void row_captures_read(struct row_captures *r, const struct quarry_row *row)
{
    PRE(row != NULL);
    size_t n = row_captures_gather(r, row);
    struct capture *c = NULL;
    r->count = 0;
    for (size_t i = 0; i < n; i++) {
        if (!c || c->time_us != r->cells[i]->timestamp_us) {
            c = row_captures_add(r);
            c->time_us = r->cells[i]->timestamp_us;
            c->cells = &r->cells[i];
        }
        c->cell_count++;
        take_cell(c, r->cells[i]);
    }
}
