/* Lines of a view: health, place, header, rows, keys. On a screen of a few
 * lines the rows stay, and keys, place and health go one after the other.
 */
#include "cli/top/top_paint.h"

#include <ctype.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "cli/top/top_cell.h"
#include "cli/top/top_model.h"

#define GAP 2
/* A text that leaves room for columns to its right. */
#define CELL_COLUMNS_MAX 32
/* Rows by whose width columns are made. */
#define MEASURED_ROWS 200

static const char *const help_lines[] = {
    "1 nodes  2 tables  3 tablets  4 jobs  5 calls  6 findings  Tab",
    "",
    "arrows j k PgUp PgDn Home End   choose a row",
    "Enter                           into it: table, tablets, tablet;",
    "                                node; job, attempts; call, trace",
    "Esc Backspace                   back; first it ends a filter",
    "< >                             sort by the column to the left or right",
    "A-Z                             by the column of this letter",
    "r                               turn the order",
    "/                               filter rows by a text; Enter, Esc",
    "p                               pause, and continue",
    "+ -                             look less or more often",
    "h ?                             this page",
    "q Ctrl-C                        end",
    "",
    "* leads   ! is not well   rates are those of the last seconds",
};

/* --- pictures ------------------------------------------------------------ */

void top_picture_init(struct top_picture *p)
{
    *p = (struct top_picture){0};
}

void top_picture_close(struct top_picture *p)
{
    buf_close(&p->text);
    mem_free(p->lines);
}

struct slice top_picture_line(const struct top_picture *p, size_t index)
{
    PRE(index < p->count);
    return slice_sub(buf_slice(&p->text), p->lines[index].begin,
                     p->lines[index].end);
}

static void picture_clear(struct top_picture *p)
{
    buf_clear(&p->text);
    p->count = 0;
}

/* A line of what of @text fits into @width. */
static struct top_line *picture_add(struct top_picture *p,
                                    struct slice text,
                                    size_t width,
                                    enum top_style style)
{
    struct top_line *line;
    if (p->count == p->cap) {
        p->cap = p->cap ? p->cap * 2 : 64;
        p->lines = mem_realloc(p->lines, p->cap * sizeof(*p->lines));
    }
    line = &p->lines[p->count++];
    *line = (struct top_line){.begin = p->text.len, .style = style};
    (void)top_put_columns(&p->text, text, width, false);
    line->end = p->text.len;
    return line;
}

/* --- parts --------------------------------------------------------------- */

static void
paint_health(const struct top_model *m, size_t width, struct top_picture *out)
{
    const char *state =
        json_string_value(json_object_get(m->overview, "state"));
    enum top_style style = TOP_STYLE_PLAIN;
    struct buf text = BUF_INIT;
    if (m->failure.len) {
        top_put_printable(&text, buf_slice(&m->failure));
        style = TOP_STYLE_FAILING;
    } else if (state) {
        top_put_cell(&text, json_object_get(m->overview, "sentence"), TOP_TEXT);
        style = strcmp(state, "well") == 0      ? TOP_STYLE_WELL
                : strcmp(state, "warning") == 0 ? TOP_STYLE_WARNING
                                                : TOP_STYLE_FAILING;
    } else {
        buf_append_str(&text, m->overview ? "" : "asking the cluster …");
    }
    picture_add(out, buf_slice(&text), width, style);
    buf_close(&text);
}

static void put_clock(struct buf *out, uint64_t at_us)
{
    unsigned s = (unsigned)(at_us / 1000000 % 86400);
    buf_printf(out, "%02u:%02u:%02uZ", s / 3600, s / 60 % 60, s % 60);
}

static void put_place(struct top_model *m, struct buf *out)
{
    for (size_t i = 0; i < m->depth; i++) {
        const struct top_place *p = &m->places[i];
        size_t last = TOP_PARAMS_MAX;
        buf_printf(out, "%s%s", i ? " > " : "", top_view(p->view)->name);
        while (last > 0 && !p->params[last - 1])
            last--;
        if (last == 0)
            continue;
        buf_append_byte(out, ' ');
        if (p->params[last - 1][0])
            top_put_printable(out, slice_str(p->params[last - 1]));
        else
            buf_append_str(out, "(first)");
    }
}

static void paint_place(struct top_model *m,
                        size_t width,
                        uint64_t now_us,
                        struct top_picture *out)
{
    struct buf text = BUF_INIT;
    struct slice filter = buf_slice(&top_place(m)->filter);
    double at = json_number_value(json_object_get(m->document, "at_us"));
    size_t away = json_array_size(json_object_get(m->document, "warnings"));
    put_place(m, &text);
    buf_printf(&text, "  %zu", m->shown_count);
    if (m->shown_count != m->row_count)
        buf_printf(&text, " of %zu", m->row_count);
    if (at > 0) {
        buf_append_str(&text, "  ");
        put_clock(&text, (uint64_t)at);
    }
    if (at > 0 && now_us > (uint64_t)at + m->delay_us + 5000000) {
        buf_append_str(&text, " (");
        text_put_duration(&text, (now_us - (uint64_t)at) / 1000000 * 1000000);
        buf_append_str(&text, " ago)");
    }
    if (m->is_paused)
        buf_append_str(&text, "  paused");
    if (filter.len) {
        buf_append_str(&text, "  filter: ");
        top_put_printable(&text, filter);
    }
    if (away) {
        buf_append_str(&text, "  not asked: ");
        top_put_cell(
            &text, json_array_get(json_object_get(m->document, "warnings"), 0),
            TOP_TEXT);
    }
    picture_add(out, buf_slice(&text), width, TOP_STYLE_PLAIN);
    buf_close(&text);
}

static bool is_to_the_left(enum top_kind kind)
{
    return kind == TOP_TEXT || kind == TOP_ROLES || kind == TOP_TIME;
}

struct layout {
    size_t widths[TOP_COLUMNS_MAX];
    bool is_whole; /* No column is cut. */
};

static void measure_columns(struct top_model *m, struct layout *l)
{
    const struct top_view *v = top_view(top_place(m)->view);
    size_t first = l->is_whole ? 0 : top_place(m)->top;
    size_t count = l->is_whole ? m->shown_count : MEASURED_ROWS;
    for (size_t c = 0; c < v->column_count; c++) {
        /* A mark of the order stands behind the title. */
        l->widths[c] = strlen(v->columns[c].title) + 1;
        for (size_t i = first; i < m->shown_count && i < first + count; i++)
            l->widths[c] = MAX_OF(
                l->widths[c], utf8_columns(m->rows[m->shown[i]].cells[c].text));
        if (!l->is_whole && c + 1 < v->column_count)
            l->widths[c] = MIN_OF(l->widths[c], (size_t)CELL_COLUMNS_MAX);
    }
}

static void put_aligned(struct buf *out,
                        struct slice text,
                        size_t width,
                        enum top_kind kind,
                        bool is_last)
{
    size_t taken = utf8_columns(text);
    if (is_to_the_left(kind)) {
        (void)top_put_columns(out, text, width, !is_last);
        return;
    }
    for (; taken < width; taken++)
        buf_append_byte(out, ' ');
    (void)top_put_columns(out, text, width, false);
}

/* The letter that chooses the column is its only capital one. */
static void put_title(const struct top_place *p, size_t column, struct buf *out)
{
    const struct top_view *v = top_view(p->view);
    size_t letter;
    bool has = top_column_letter(v, column, &letter);
    for (size_t i = 0; v->columns[column].title[i]; i++) {
        char c = v->columns[column].title[i];
        if (has && i == letter)
            c = (char)toupper((unsigned char)c);
        buf_append_byte(out, c);
    }
    if (p->sort == column)
        buf_append_byte(out, p->is_descending ? '-' : '+');
}

static void paint_header(struct top_model *m,
                         const struct layout *l,
                         size_t width,
                         struct top_picture *out)
{
    const struct top_place *p = top_place(m);
    const struct top_view *v = top_view(p->view);
    struct buf line = BUF_INIT;
    struct buf title = BUF_INIT;
    for (size_t c = 0; c < v->column_count; c++) {
        buf_clear(&title);
        put_title(p, c, &title);
        buf_append(&line, "  ", c ? GAP : 0);
        put_aligned(&line, buf_slice(&title), l->widths[c], v->columns[c].kind,
                    c + 1 == v->column_count);
    }
    picture_add(out, buf_slice(&line), width, TOP_STYLE_HEADER);
    buf_close(&line);
    buf_close(&title);
}

static void paint_row(struct top_model *m,
                      size_t shown,
                      const struct layout *l,
                      size_t width,
                      struct top_picture *out)
{
    const struct top_view *v = top_view(top_place(m)->view);
    const struct top_row *row = &m->rows[m->shown[shown]];
    enum top_style style = row->severity == 2   ? TOP_STYLE_FAILING
                           : row->severity == 1 ? TOP_STYLE_WARNING
                                                : TOP_STYLE_PLAIN;
    struct buf line = BUF_INIT;
    for (size_t c = 0; c < v->column_count; c++) {
        buf_append(&line, "  ", c ? GAP : 0);
        put_aligned(&line, row->cells[c].text, l->widths[c], v->columns[c].kind,
                    c + 1 == v->column_count);
    }
    while (line.len && line.data[line.len - 1] == ' ')
        line.len--;
    picture_add(out, buf_slice(&line), width, style)->is_chosen =
        !l->is_whole && shown == top_place(m)->chosen;
    buf_close(&line);
}

static void
paint_keys(struct top_model *m, size_t width, struct top_picture *out)
{
    struct buf text = BUF_INIT;
    if (m->is_typing) {
        buf_append_str(&text, "filter: ");
        top_put_printable(&text, buf_slice(&top_place(m)->filter));
        buf_append_str(&text, "_   Enter: keep it  Esc: drop it");
    } else if (m->message.len) {
        top_put_printable(&text, buf_slice(&m->message));
    } else {
        buf_append_str(&text,
                       "q end  h help  1-6 views  Enter in  Esc back  < > sort "
                       " r turn  / filter  p pause");
    }
    picture_add(out, buf_slice(&text), width, TOP_STYLE_KEYS);
    buf_close(&text);
}

static void paint_help(size_t width, size_t height, struct top_picture *out)
{
    for (size_t i = 0; i < height; i++)
        picture_add(out,
                    slice_str(i < ARRAY_LEN(help_lines) ? help_lines[i] : ""),
                    width, TOP_STYLE_PLAIN);
}

/* --- whole --------------------------------------------------------------- */

void top_paint(struct top_model *m,
               size_t width,
               size_t height,
               uint64_t now_us,
               struct top_picture *out)
{
    struct layout l = {.is_whole = false};
    size_t around = height >= 6 ? 4 : height >= 4 ? 2 : 0;
    size_t first;
    picture_clear(out);
    m->page_rows = MAX_OF(height - MIN_OF(around, height), (size_t)1);
    top_model_arrange(m);
    if (m->shows_help) {
        paint_help(width, height, out);
        return;
    }
    first = top_place(m)->top;
    measure_columns(m, &l);
    if (around >= 2)
        paint_health(m, width, out);
    if (around >= 4)
        paint_place(m, width, now_us, out);
    if (around >= 2)
        paint_header(m, &l, width, out);
    if (around == 2) /* Health and header; the keys take a row. */
        m->page_rows = height - 2;
    for (size_t i = 0; i < m->page_rows; i++)
        if (first + i < m->shown_count)
            paint_row(m, first + i, &l, width, out);
        else
            picture_add(out, SLICE_EMPTY, width, TOP_STYLE_PLAIN);
    if (around >= 4)
        paint_keys(m, width, out);
    POST(out->count == height || height == 0);
}

void top_paint_once(struct top_model *m,
                    uint64_t now_us,
                    struct top_picture *out)
{
    struct layout l = {.is_whole = true};
    picture_clear(out);
    top_model_arrange(m);
    measure_columns(m, &l);
    if (m->overview)
        paint_health(m, SIZE_MAX, out);
    paint_place(m, SIZE_MAX, now_us, out);
    paint_header(m, &l, SIZE_MAX, out);
    for (size_t i = 0; i < m->shown_count; i++)
        paint_row(m, i, &l, SIZE_MAX, out);
}
