/* Lines lie one after the other in one buffer, of which only the offsets are
 * sorted: a line an allocation would double what millions of them take. */
#define _GNU_SOURCE

#include "mapreduce/ingest/index_lines.h"

#include <stdlib.h>

#include "base/core/panic.h"
#include "mapreduce/ingest/export.h"

void index_lines_close(struct index_lines *l)
{
    buf_close(&l->text);
    mem_free(l->at);
    *l = (struct index_lines){.count = 0};
}

int index_lines_end(struct index_lines *l, struct err *err)
{
    if (l->count == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 1024;
        l->at = mem_realloc(l->at, l->cap * sizeof(*l->at));
    }
    l->at[l->count++] = l->begun;
    l->begun = l->text.len;
    if (l->text.len <= EXPORT_INDEX_BYTES_MAX)
        return 0;
    err_set(err, ERR_FULL, "the index has more than %zu MiB",
            EXPORT_INDEX_BYTES_MAX >> 20);
    err_hint(err, "export parts of the table, by --prefix");
    return ERR_FULL;
}

struct slice index_lines_get(const struct index_lines *l, size_t i)
{
    PRE(i < l->count);
    struct slice rest = slice_sub(buf_slice(&l->text), l->at[i], l->text.len);
    return slice_sub(rest, 0, slice_find_byte(rest, '\n') + 1);
}

static int by_line(const void *a, const void *b, void *ctx)
{
    const char *text = ctx;
    const size_t *x = a;
    const size_t *y = b;
    /* Each ends in a line end, which no line contains. */
    const char *p = text + *x;
    const char *q = text + *y;
    while (*p == *q && *p != '\n') {
        p++;
        q++;
    }
    if (*p == *q)
        return 0;
    if (*p == '\n' || *q == '\n')
        return *p == '\n' ? -1 : 1;
    return (unsigned char)*p < (unsigned char)*q ? -1 : 1;
}

void index_lines_sort(struct index_lines *l)
{
    size_t kept = 0;
    if (l->count == 0)
        return;
    qsort_r(l->at, l->count, sizeof(*l->at), by_line, l->text.data);
    for (size_t i = 0; i < l->count; i++)
        if (kept == 0 ||
            !slice_eq(index_lines_get(l, kept - 1), index_lines_get(l, i)))
            l->at[kept++] = l->at[i];
    l->count = kept;
}
