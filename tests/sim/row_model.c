/* Rows are found by their names in a list, cells in that of their row: both are
 * short, and what is slow is plain. A table is compared with the model as text,
 * so that a failure shows the first cell that differs.
 */
#include "tests/sim/row_model.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "tests/sim/storm.h"

/* Characters around a difference that a failure shows. */
#define AROUND 160

struct model_cell {
    char *family;
    char *qualifier;
    char *value;
    int64_t us;
};

struct model_row {
    char *name;
    struct model_cell *cells;
    size_t count;
    size_t room;
};

struct row_model {
    struct model_row *rows;
    size_t count;
};

struct row_model *row_model_new(void)
{
    return mem_zalloc(1, sizeof(struct row_model));
}

static char *text_of(struct slice s)
{
    char *text = mem_alloc(s.len + 1);
    memcpy(text, s.data, s.len);
    text[s.len] = '\0';
    return text;
}

static void free_cell(const struct model_cell *c)
{
    mem_free(c->family);
    mem_free(c->qualifier);
    mem_free(c->value);
}

void row_model_free(struct row_model *m)
{
    for (size_t i = 0; i < m->count; i++) {
        for (size_t k = 0; k < m->rows[i].count; k++)
            free_cell(&m->rows[i].cells[k]);
        mem_free(m->rows[i].cells);
        mem_free(m->rows[i].name);
    }
    mem_free(m->rows);
    mem_free(m);
}

static struct model_row *row_at(struct row_model *m, struct slice name)
{
    for (size_t i = 0; i < m->count; i++)
        if (slice_eq_str(name, m->rows[i].name))
            return &m->rows[i];
    m->rows = mem_realloc(m->rows, (m->count + 1) * sizeof(*m->rows));
    m->rows[m->count] = (struct model_row){.name = text_of(name)};
    return &m->rows[m->count++];
}

static bool hides(const struct quarry_change_entry *e,
                  const struct model_cell *c)
{
    bool family = slice_eq_str(e->family, c->family);
    bool column = family && slice_eq_str(e->qualifier, c->qualifier);
    switch (e->kind) {
    case QUARRY_CHANGE_SET: return column && c->us == e->timestamp_us;
    case QUARRY_CHANGE_DELETE_CELLS:
        return column && ((e->timestamp_us == 0 && e->max_us == 0) ||
                          (c->us >= e->timestamp_us && c->us < e->max_us));
    case QUARRY_CHANGE_DELETE_FAMILY: return family;
    case QUARRY_CHANGE_DELETE_ROW: return true;
    case QUARRY_CHANGE_ADD:
    case QUARRY_CHANGE_MERGE: break;
    }
    PANIC("the model has no aggregates");
}

static void apply_entry(struct model_row *r,
                        const struct quarry_change_entry *e)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->count; i++)
        if (hides(e, &r->cells[i]))
            free_cell(&r->cells[i]);
        else
            r->cells[kept++] = r->cells[i];
    r->count = kept;
    if (e->kind != QUARRY_CHANGE_SET)
        return;
    if (r->count == r->room) {
        r->room = 2 * r->room + 8;
        r->cells = mem_realloc(r->cells, r->room * sizeof(*r->cells));
    }
    r->cells[r->count++] =
        (struct model_cell){text_of(e->family), text_of(e->qualifier),
                            text_of(e->value), e->timestamp_us};
}

void row_model_apply(struct row_model *m, const struct quarry_change *c)
{
    struct model_row *r = row_at(m, c->row);
    for (size_t i = 0; i < c->entry_count; i++)
        apply_entry(r, &c->entries[i]);
}

/* --- comparing ----------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    const struct model_row *x = a;
    const struct model_row *y = b;
    return strcmp(x->name, y->name);
}

static int by_column(const void *a, const void *b)
{
    const struct model_cell *x = a;
    const struct model_cell *y = b;
    int c = strcmp(x->family, y->family);
    if (c == 0)
        c = strcmp(x->qualifier, y->qualifier);
    return c ? c : (x->us < y->us) - (x->us > y->us);
}

static void model_text(const struct row_model *m, struct buf *out)
{
    if (m->count)
        qsort(m->rows, m->count, sizeof(*m->rows), by_name);
    for (size_t i = 0; i < m->count; i++) {
        const struct model_row *r = &m->rows[i];
        if (r->count)
            qsort(r->cells, r->count, sizeof(*r->cells), by_column);
        for (size_t k = 0; k < r->count; k++)
            buf_printf(out, "%s %s:%s@%lld=%s\n", r->name, r->cells[k].family,
                       r->cells[k].qualifier, (long long)r->cells[k].us,
                       r->cells[k].value);
    }
}

static int table_text(struct quarry_table *t, struct buf *out, struct err *err)
{
    const struct quarry_row *row;
    struct quarry_scanner *scan;
    int rc = quarry_scan(t, NULL, &scan, err);
    if (rc)
        return rc;
    while ((rc = quarry_scanner_next(scan, &row, err)) == 0 && row)
        for (size_t i = 0; i < row->cell_count; i++) {
            const struct quarry_cell *c = &row->cells[i];
            buf_printf(out, "%.*s %.*s:%.*s@%lld=%.*s\n", SLICE_ARG(row->key),
                       SLICE_ARG(c->family), SLICE_ARG(c->qualifier),
                       (long long)c->timestamp_us, SLICE_ARG(c->value));
        }
    quarry_scanner_close(scan);
    return rc;
}

bool row_model_is(const struct row_model *m, struct quarry_table *t)
{
    struct buf is = BUF_INIT;
    struct buf ought = BUF_INIT;
    bool same = table_text(t, &is, NULL) == 0;
    model_text(m, &ought);
    same = same && strcmp(buf_cstr(&is), buf_cstr(&ought)) == 0;
    buf_close(&is);
    buf_close(&ought);
    return same;
}

void row_model_check(const struct row_model *m,
                     struct quarry_table *t,
                     const char *who)
{
    struct buf is = BUF_INIT;
    struct buf ought = BUF_INIT;
    struct err err = ERR_INIT;
    const char *a;
    const char *b;
    size_t same = 0;
    STORM_CHECK(table_text(t, &is, &err) == 0, "%s", err.text);
    model_text(m, &ought);
    a = buf_cstr(&is);
    b = buf_cstr(&ought);
    while (a[same] && a[same] == b[same])
        same++;
    while (same && a[same - 1] != '\n')
        same--;
    STORM_CHECK(strcmp(a, b) == 0,
                "%s: rows are not what the commits make of them:\n"
                "they are …%.*s\nand should be …%.*s",
                who, AROUND, a + same, AROUND, b + same);
    buf_close(&is);
    buf_close(&ought);
}
