/* Places, rows, their order and what keys do. It knows neither the terminal
 * nor the cluster: a test feeds documents and keys, and looks at the rows. */
#include "cli/top/top_model.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "cli/top/top_rows.h"

#define DELAY_DEFAULT_US UINT64_C(2000000)
#define MAIN_VIEWS       (TOP_FINDINGS + 1)

/* --- places -------------------------------------------------------------- */

static void place_init(struct top_place *p, enum top_view_id view)
{
    const struct top_view *v = top_view(view);
    *p = (struct top_place){
        .view = view, .sort = v->sort, .is_descending = v->is_descending};
}

static void place_close(struct top_place *p)
{
    for (size_t i = 0; i < TOP_PARAMS_MAX; i++)
        mem_free(p->params[i]);
    buf_close(&p->filter);
    buf_close(&p->chosen_key);
}

static void model_forget(struct top_model *m)
{
    json_decref(m->document);
    m->document = NULL;
    arena_reset(&m->arena);
    m->rows = NULL;
    m->shown = NULL;
    m->row_count = m->shown_count = 0;
    m->place_number++;
    m->is_typing = false;
    buf_clear(&m->failure);
}

void top_model_init(struct top_model *m, enum top_view_id view)
{
    *m = (struct top_model){.depth = 1,
                            .delay_us = DELAY_DEFAULT_US,
                            .page_rows = 1,
                            .place_number = 1};
    arena_init(&m->arena);
    place_init(&m->places[0], view);
}

void top_model_close(struct top_model *m)
{
    while (m->depth)
        place_close(&m->places[--m->depth]);
    json_decref(m->overview);
    json_decref(m->document);
    buf_close(&m->failure);
    buf_close(&m->message);
    mem_free(m->last_table);
    arena_close(&m->arena);
}

static void place_push(struct top_model *m,
                       enum top_view_id view,
                       const char *const *params)
{
    struct top_place *p = &m->places[m->depth];
    INVARIANT(m->depth < TOP_DEPTH_MAX); /* INV-1 */
    place_init(p, view);
    for (size_t i = 0; params && i < TOP_PARAMS_MAX; i++)
        p->params[i] = params[i] ? mem_strdup(params[i]) : NULL;
    m->depth++;
    if (view == TOP_TABLETS) {
        mem_free(m->last_table);
        m->last_table = mem_strdup(p->params[0]);
    }
    model_forget(m);
}

void top_model_go(struct top_model *m,
                  enum top_view_id view,
                  const char *const *params)
{
    while (m->depth)
        place_close(&m->places[--m->depth]);
    place_push(m, view, params);
}

static void model_back(struct top_model *m)
{
    if (m->depth < 2)
        return;
    place_close(&m->places[--m->depth]);
    model_forget(m);
}

/* The parameter that @from names, of the row or of the place. */
static const char *
drill_param(struct top_model *m, const json_t *row, const char *from)
{
    if (from[0] == ':')
        return top_place(m)->params[from[1] - '0'];
    return json_string_value(json_object_get(row, from));
}

static const struct top_row *chosen_row(struct top_model *m)
{
    size_t at = top_place(m)->chosen;
    return at < m->shown_count ? &m->rows[m->shown[at]] : NULL;
}

static void model_enter(struct top_model *m)
{
    const struct top_view *v = top_view(top_place(m)->view);
    const struct top_row *row = chosen_row(m);
    const char *params[TOP_PARAMS_MAX] = {NULL};
    if (!row || v->drill == TOP_VIEWS || m->depth == TOP_DEPTH_MAX)
        return;
    for (size_t i = 0; i < TOP_PARAMS_MAX && v->drill_from[i]; i++) {
        params[i] = drill_param(m, row->value, v->drill_from[i]);
        if (!params[i]) {
            buf_append_str(&m->message, "nothing more is known of this row");
            return;
        }
    }
    place_push(m, v->drill, params);
}

/* --- order --------------------------------------------------------------- */

struct row_order {
    const struct top_row *rows;
    size_t column;
    bool is_descending;
};

/* Values that are not known come last, however it is sorted. */
static int compare_cells(const struct top_cell *x, const struct top_cell *y)
{
    if (x->is_number && y->is_number)
        return x->number < y->number ? -1 : x->number > y->number;
    return slice_cmp(x->text, y->text);
}

static int compare_rows(const void *a, const void *b, void *ctx)
{
    const struct row_order *o = ctx;
    size_t i = *(const size_t *)a;
    size_t k = *(const size_t *)b;
    const struct top_cell *x = &o->rows[i].cells[o->column];
    const struct top_cell *y = &o->rows[k].cells[o->column];
    int order;
    if ((x->text.len == 0) != (y->text.len == 0))
        return x->text.len == 0 ? 1 : -1;
    order = compare_cells(x, y);
    if (order)
        return o->is_descending ? -order : order;
    order = slice_cmp(o->rows[i].key, o->rows[k].key);
    return order ? order : i < k ? -1 : 1;
}

/* Merge sort: qsort() has no context, and thousands of rows are many. */
static void
sort_shown(size_t *at, size_t *spare, size_t count, struct row_order *o)
{
    size_t half = count / 2;
    size_t i = 0;
    size_t k = half;
    if (count < 2)
        return;
    sort_shown(at, spare, half, o);
    sort_shown(at + half, spare, count - half, o);
    for (size_t n = 0; n < count; n++) {
        bool left =
            k == count || (i < half && compare_rows(&at[i], &at[k], o) <= 0);
        spare[n] = left ? at[i++] : at[k++];
    }
    memcpy(at, spare, count * sizeof(*at));
}

static bool slice_has(struct slice text, struct slice part)
{
    const char *t = text.data;
    for (size_t i = 0; i + part.len <= text.len; i++)
        if (strncasecmp(t + i, part.data, part.len) == 0)
            return true;
    return false;
}

static bool row_matches(const struct top_model *m,
                        const struct top_view *v,
                        size_t row,
                        struct slice filter)
{
    if (filter.len == 0)
        return true;
    for (size_t i = 0; i < v->column_count; i++)
        if (slice_has(m->rows[row].cells[i].text, filter))
            return true;
    return false;
}

static void find_chosen(struct top_model *m)
{
    struct top_place *p = top_place(m);
    struct slice key = buf_slice(&p->chosen_key);
    for (size_t i = 0; i < m->shown_count; i++)
        if (slice_eq(m->rows[m->shown[i]].key, key) && p->chosen_key.data) {
            p->chosen = i;
            return;
        }
    if (p->chosen >= m->shown_count)
        p->chosen = m->shown_count ? m->shown_count - 1 : 0;
}

static void scroll_to_chosen(struct top_model *m)
{
    struct top_place *p = top_place(m);
    size_t page = MAX_OF(m->page_rows, (size_t)1);
    if (p->top + page > m->shown_count)
        p->top = m->shown_count > page ? m->shown_count - page : 0;
    if (p->chosen < p->top)
        p->top = p->chosen;
    if (p->chosen >= p->top + page)
        p->top = p->chosen - page + 1;
}

void top_model_arrange(struct top_model *m)
{
    struct top_place *p = top_place(m);
    const struct top_view *v = top_view(p->view);
    struct row_order o = {m->rows, p->sort, p->is_descending};
    m->shown_count = 0;
    if (m->row_count) {
        size_t *spare = mem_alloc(m->row_count * sizeof(*spare));
        if (!m->shown)
            m->shown = arena_alloc(&m->arena, m->row_count * sizeof(*m->shown));
        for (size_t i = 0; i < m->row_count; i++)
            if (row_matches(m, v, i, buf_slice(&p->filter)))
                m->shown[m->shown_count++] = i;
        if (p->sort < v->column_count)
            sort_shown(m->shown, spare, m->shown_count, &o);
        mem_free(spare);
    }
    find_chosen(m);
    scroll_to_chosen(m);
    INVARIANT(p->chosen < m->shown_count || p->chosen == 0); /* INV-2 */
}

void top_model_take(struct top_model *m,
                    json_t *overview,
                    json_t *document,
                    const char *failure)
{
    buf_clear(&m->failure);
    if (failure)
        buf_append_str(&m->failure, failure);
    if (overview) {
        json_decref(m->overview);
        m->overview = json_incref(overview);
    }
    if (!document)
        return;
    json_decref(m->document);
    m->document = json_incref(document);
    arena_reset(&m->arena);
    m->shown = NULL;
    top_rows_make(top_view(top_place(m)->view), document, &m->arena, &m->rows,
                  &m->row_count);
    top_model_arrange(m);
}

/* --- keys ---------------------------------------------------------------- */

static void choose_row(struct top_model *m, size_t index)
{
    struct top_place *p = top_place(m);
    const struct top_row *row;
    p->chosen = m->shown_count ? MIN_OF(index, m->shown_count - 1) : 0;
    row = chosen_row(m);
    buf_clear(&p->chosen_key);
    if (row) {
        buf_reserve(&p->chosen_key, 1); /* An empty key is one, too. */
        buf_append_slice(&p->chosen_key, row->key);
    }
    scroll_to_chosen(m);
}

static bool move_key(struct top_model *m, uint32_t key)
{
    size_t at = top_place(m)->chosen;
    size_t page = m->page_rows;
    if (key == TOP_KEY_UP || key == 'k')
        choose_row(m, at ? at - 1 : 0);
    else if (key == TOP_KEY_DOWN || key == 'j')
        choose_row(m, at + 1);
    else if (key == TOP_KEY_PAGE_UP)
        choose_row(m, at > page ? at - page : 0);
    else if (key == TOP_KEY_PAGE_DOWN)
        choose_row(m, at + page);
    else if (key == TOP_KEY_HOME)
        choose_row(m, 0);
    else if (key == TOP_KEY_END)
        choose_row(m, SIZE_MAX);
    else
        return false;
    return true;
}

void top_model_set_filter(struct top_model *m, struct slice text)
{
    struct top_place *p = top_place(m);
    buf_clear(&p->filter);
    buf_append_slice(&p->filter, text);
    top_model_arrange(m);
}

/* Drop the last character. */
static void filter_shorten(struct buf *filter)
{
    while (filter->len &&
           ((unsigned char)filter->data[filter->len - 1] & 0xc0) == 0x80)
        filter->len--;
    if (filter->len)
        filter->len--;
}

static void type_key(struct top_model *m, uint32_t key)
{
    struct buf *filter = &top_place(m)->filter;
    char bytes[4];
    if (key == TOP_KEY_ENTER) {
        m->is_typing = false;
    } else if (key == TOP_KEY_ESCAPE) {
        m->is_typing = false;
        buf_clear(filter);
    } else if (key == TOP_KEY_BACKSPACE) {
        filter_shorten(filter);
    } else if (key >= 0x20 && key != 0x7f && key < 0x110000 &&
               filter->len < TOP_FILTER_MAX) {
        buf_append(filter, bytes, utf8_encode(bytes, key));
    }
    top_model_arrange(m);
}

void top_model_set_sort(struct top_model *m, size_t column, bool is_descending)
{
    struct top_place *p = top_place(m);
    PRE(column <= top_view(p->view)->column_count);
    p->sort = column;
    p->is_descending = is_descending;
    top_model_arrange(m);
}

static void sort_by(struct top_model *m, size_t column)
{
    enum top_kind kind = top_view(top_place(m)->view)->columns[column].kind;
    top_model_set_sort(m, column, kind != TOP_TEXT && kind != TOP_ROLES);
}

static void sort_beside(struct top_model *m, bool is_right)
{
    size_t count = top_view(top_place(m)->view)->column_count;
    size_t at = top_place(m)->sort;
    if (at >= count)
        at = is_right ? 0 : count - 1;
    else
        at = (at + (is_right ? 1 : count - 1)) % count;
    sort_by(m, at);
}

static bool letter_key(struct top_model *m, uint32_t key)
{
    const struct top_view *v = top_view(top_place(m)->view);
    for (size_t i = 0; i < v->column_count; i++) {
        size_t at;
        if (top_column_letter(v, i, &at) &&
            (uint32_t)toupper((unsigned char)v->columns[i].title[at]) == key) {
            sort_by(m, i);
            return true;
        }
    }
    return false;
}

static void go_to_main(struct top_model *m, enum top_view_id view)
{
    const char *params[TOP_PARAMS_MAX] = {m->last_table};
    char *table = m->last_table ? mem_strdup(m->last_table) : NULL;
    params[0] = table;
    if (view != TOP_TABLETS) {
        top_model_go(m, view, NULL);
    } else if (table) {
        top_model_go(m, TOP_TABLES, NULL);
        place_push(m, view, params);
    } else {
        top_model_go(m, TOP_TABLES, NULL);
        buf_append_str(&m->message, "Enter shows the tablets of a table");
    }
    mem_free(table);
}

static void next_view(struct top_model *m)
{
    enum top_view_id view = m->places[0].view;
    do
        view = (view + 1) % MAIN_VIEWS;
    while (view == TOP_TABLETS);
    go_to_main(m, view);
}

static void change_delay(struct top_model *m, bool longer)
{
    uint64_t us = longer ? m->delay_us * 2 : m->delay_us / 2;
    m->delay_us = MAX_OF(TOP_DELAY_MIN_US, MIN_OF(us, TOP_DELAY_MAX_US));
    buf_append_str(&m->message, "delay ");
    text_put_duration(&m->message, m->delay_us);
}

static void escape_key(struct top_model *m)
{
    if (top_place(m)->filter.len)
        top_model_set_filter(m, SLICE_EMPTY);
    else
        model_back(m);
}

static void command_key(struct top_model *m, uint32_t key)
{
    if (key >= '1' && key < '1' + MAIN_VIEWS)
        go_to_main(m, (enum top_view_id)(key - '1'));
    else if (key == TOP_KEY_TAB)
        next_view(m);
    else if (key == TOP_KEY_ENTER)
        model_enter(m);
    else if (key == TOP_KEY_ESCAPE || key == TOP_KEY_BACKSPACE)
        escape_key(m);
    else if (key == '<' || key == '>')
        sort_beside(m, key == '>');
    else if (key == 'r')
        top_model_set_sort(m, top_place(m)->sort, !top_place(m)->is_descending);
    else if (key == '/')
        m->is_typing = true;
    else if (key == 'p')
        m->is_paused = !m->is_paused;
    else if (key == '+' || key == '-')
        change_delay(m, key == '+');
    else if (key == 'h' || key == '?')
        m->shows_help = true;
    else if (key == 'q')
        m->is_ended = true;
    else if (!letter_key(m, key))
        buf_append_str(&m->message, "no such key: h shows all");
}

void top_model_key(struct top_model *m, uint32_t key)
{
    buf_clear(&m->message);
    if (m->shows_help)
        m->shows_help = false;
    else if (m->is_typing)
        type_key(m, key);
    else if (!move_key(m, key))
        command_key(m, key);
}
