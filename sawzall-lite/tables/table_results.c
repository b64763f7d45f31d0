/* Results of tables: as text, like the published interpreter prints them, and
 * as rows of columns for other printers. Both are sinks of one walk over the
 * keys, which ascend by the bytes of their data. */
#include <stdio.h>

#include "base/core/panic.h"
#include "sawzall-lite/sawzall.h"
#include "sawzall-lite/tables/table_state.h"

/* More index columns than a program can sensibly declare. */
#define COLUMN_COUNT_MAX 128
/* Bytes of text collected before a write(). */
#define PIECE_BYTES ((size_t)64 << 10)

/* The destination of text. */
struct text_walk {
    struct buf *out;
    const struct saw_text_sink *sink; /* NULL: it stays in @out. */
};

static void print_list(struct cursor *c, struct buf *out)
{
    const char *before = "";
    while (c->p < c->end) {
        buf_append_str(out, before);
        saw_datum_print(saw_datum_skip(c), out);
        before = ", ";
    }
}

static struct buf *text_of(const struct saw_walk *w)
{
    const struct text_walk *to = w->ctx;
    return to->out;
}

static void text_key(const struct saw_walk *w, struct buf *out)
{
    struct cursor key = cursor_make(w->key);

    buf_append_str(out, w->table->decl.name);
    buf_append_byte(out, '[');
    print_list(&key, out);
    buf_append_str(out, "] = ");
}

static void
text_line(struct saw_lines *l, const struct slice *data, size_t count)
{
    struct saw_walk *w = CONTAINER_OF(l, struct saw_walk, lines);
    const struct text_walk *to = w->ctx;
    struct buf *out = to->out;

    if (l->stopped)
        return;
    w->had_line = true;
    text_key(w, out);
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_append_str(out, ", ");
        saw_datum_print(data[i], out);
    }
    buf_append_byte(out, '\n');
    if (!to->sink || out->len < PIECE_BYTES)
        return;
    l->stopped = !to->sink->write(to->sink->ctx, buf_slice(out));
    buf_clear(out);
}

/* maximum(0) and the like keep nothing of what was emitted; the published
 * interpreter prints their keys. An overflowed set is left out. */
static void text_none(struct saw_walk *w)
{
    struct buf *out = text_of(w);

    if (!w->table->ops->keys_alone)
        return;
    text_key(w, out);
    buf_append_byte(out, '\n');
}

bool saw_table_write(struct saw_table *t,
                     const struct saw_text_sink *sink,
                     struct buf *pending)
{
    struct text_walk to = {pending, sink};
    struct saw_walk w = {
        .lines.line = text_line, .none = text_none, .table = t, .ctx = &to};
    saw_table__walk(t, &w);
    return !w.lines.stopped;
}

void saw_table_print(struct saw_table *t, struct buf *out)
{
    (void)saw_table_write(t, NULL, out);
}

/* --- structured ---------------------------------------------------------- */

struct row {
    struct buf text;
    size_t begin[COLUMN_COUNT_MAX + 1];
    struct slice values[COLUMN_COUNT_MAX];
    bool numeric[COLUMN_COUNT_MAX];
    size_t count;
};

static void row_add(struct row *r, struct slice datum)
{
    uint8_t tag = saw_datum_tag(datum);
    if (r->count == COLUMN_COUNT_MAX)
        return;
    r->begin[r->count] = r->text.len;
    r->numeric[r->count] = tag >= SAW_DATUM_INT && tag <= SAW_DATUM_TIME;
    saw_datum_print(datum, &r->text);
    r->count++;
    r->begin[r->count] = r->text.len;
}

struct sink_walk {
    const struct saw_result_sink *sink;
    struct row row;
};

static void
sink_line(struct saw_lines *l, const struct slice *data, size_t count)
{
    struct saw_walk *w = CONTAINER_OF(l, struct saw_walk, lines);
    struct sink_walk *s = w->ctx;
    struct row *r = &s->row;
    struct cursor key = cursor_make(w->key);

    if (l->stopped)
        return;
    r->count = 0;
    buf_clear(&r->text);
    while (key.p < key.end)
        row_add(r, saw_datum_skip(&key));
    for (size_t i = 0; i < count; i++)
        row_add(r, data[i]);
    for (size_t i = 0; i < r->count; i++)
        r->values[i] =
            slice_sub(buf_slice(&r->text), r->begin[i], r->begin[i + 1]);
    l->stopped = !s->sink->line(s->sink->ctx, r->values, r->numeric, r->count);
}

static const char *
results_named(const char *const *names, size_t i, const char *otherwise)
{
    return names && names[i] && names[i][0] ? names[i] : otherwise;
}

static const char *value_column(const struct saw_table *t, size_t i)
{
    const char *const element = t->decl.element_name;
    const char *const weight = t->decl.weight_name;
    const char *fixed = t->ops->columns ? t->ops->columns[i] : NULL;
    if (fixed)
        return fixed;
    if (i == 0)
        return results_named(&element, 0, "value");
    return results_named(&weight, 0, "weight");
}

bool saw_table_results(struct saw_table *t, const struct saw_result_sink *sink)
{
    struct sink_walk s = {.sink = sink, .row = {.text = BUF_INIT}};
    struct saw_walk w = {.lines.line = sink_line, .table = t, .ctx = &s};
    const char *columns[COLUMN_COUNT_MAX];
    char numbered[COLUMN_COUNT_MAX][8];
    size_t n = 0;

    for (; n < t->decl.index_count && n < COLUMN_COUNT_MAX - 4; n++) {
        snprintf(numbered[n], sizeof(numbered[n]), "key%zu", n + 1);
        columns[n] = results_named(t->decl.index_names, n, numbered[n]);
    }
    for (size_t i = 0; i < t->ops->column_count; i++)
        columns[n++] = value_column(t, i);
    INVARIANT(n <= COLUMN_COUNT_MAX);
    sink->table(sink->ctx, t->decl.name, columns, n);
    saw_table__walk(t, &w);
    buf_close(&s.row.text);
    return !w.lines.stopped;
}
