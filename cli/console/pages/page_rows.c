/* Tables of a page: sort, cut, write. Sorting works without the script, by
 * links; with it, the browser sorts by the number in an attribute, not by the
 * text. */
#include "cli/console/pages/page_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "cli/console/pages/page_fields.h"
#include "cli/console/pages/page_parts.h"
#include "cli/console/pages/page_query.h"

#define PAGE_SORT_NAME_MAX 80

/* --- sorting ------------------------------------------------------------- */

struct page_sort {
    const struct page_column *by; /* NULL: as the document has it. */
    bool down;
};

struct page_sort_row {
    const json_t *row;
    const char *text; /* NULL: a number, or missing. */
    double number;    /* NAN: missing. */
    size_t at;
    bool down;
};

static const char *page_rows_sort_name(const struct page_rows *t)
{
    return t->sort ? t->sort : "sort";
}

static struct page_sort page_rows_sort(const struct html *h,
                                       const struct page_rows *t)
{
    struct page_sort s = {NULL, false};
    char name[PAGE_SORT_NAME_MAX];
    if (!page_query_get(h, page_rows_sort_name(t), name, sizeof(name)))
        return s;
    s.down = name[0] == '-';
    for (size_t i = 0; i < t->column_count; i++)
        if (strcmp(t->columns[i].field, name + s.down) == 0)
            s.by = &t->columns[i];
    return s;
}

static bool page_sort_missing(const struct page_sort_row *r)
{
    return !r->text && isnan(r->number);
}

static int page_sort_compare(const void *a, const void *b)
{
    const struct page_sort_row *x = a, *y = b;
    int order = page_sort_missing(x) - page_sort_missing(y);
    INVARIANT(x->down == y->down);
    if (order == 0) {
        if (x->text && y->text)
            order = strcmp(x->text, y->text);
        else
            order = (x->number > y->number) - (x->number < y->number);
        order = x->down ? -order : order;
    }
    return order ? order : (x->at > y->at) - (x->at < y->at);
}

/* The rows in the order to be shown; owned by the caller. */
static struct page_sort_row *page_rows_ordered(const json_t *rows,
                                               struct page_sort sort)
{
    size_t count = json_array_size(rows);
    struct page_sort_row *list = mem_zalloc(count + 1, sizeof(*list));
    for (size_t i = 0; i < count; i++) {
        struct page_sort_row *r = &list[i];
        r->row = json_array_get(rows, i);
        r->at = i;
        r->down = sort.down;
        r->number = NAN;
        if (sort.by && !page_number(r->row, sort.by->field, &r->number))
            r->text = page_string(r->row, sort.by->field);
    }
    if (sort.by)
        qsort(list, count, sizeof(*list), page_sort_compare);
    return list;
}

/* --- heads --------------------------------------------------------------- */

static bool page_column_is_number(const struct page_column *c)
{
    return c->kind == CELL_FIGURE || c->kind == CELL_AGE;
}

/* A link that sorts by the column: the other way round if it does already. */
static void page_rows_sort_link(struct html *h,
                                const struct page_rows *t,
                                const struct page_column *c,
                                struct page_sort sort)
{
    char value[PAGE_SORT_NAME_MAX + 1];
    bool down = sort.by == c ? !sort.down : page_column_is_number(c);
    snprintf(value, sizeof(value), "%s%s", down ? "-" : "", c->field);
    html_lit(h, "<a");
    page_query_link(h, page_rows_sort_name(t), value);
    html_lit(h, ">");
    html_str(h, c->title);
    html_lit(h, "</a>");
}

static void
page_rows_head(struct html *h, const struct page_rows *t, struct page_sort sort)
{
    html_lit(h, "<thead><tr>");
    for (size_t i = 0; i < t->column_count; i++) {
        const struct page_column *c = &t->columns[i];
        html_lit(h, "<th scope=\"col\"");
        html_attr(h, "data-key", c->field);
        if (page_column_is_number(c))
            html_lit(h, " class=\"num\"");
        if (sort.by == c)
            html_attr(h, "aria-sort", sort.down ? "descending" : "ascending");
        html_lit(h, ">");
        page_rows_sort_link(h, t, c, sort);
        html_lit(h, "</th>");
    }
    html_lit(h, "</tr></thead>");
}

/* --- cells --------------------------------------------------------------- */

static void page_cell_list(struct html *h, const json_t *list)
{
    if (json_array_size(list) == 0) {
        page_missing(h);
        return;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (i)
            html_lit(h, ", ");
        html_json(h, json_array_get(list, i));
    }
}

/* The value by its kind. */
static void page_cell_value(struct html *h,
                            const struct page_column *c,
                            const json_t *row,
                            const json_t *doc)
{
    switch (c->kind) {
    case CELL_STATE: page_state(h, page_string(row, c->field)); break;
    case CELL_KEY: page_key(h, page_string(row, c->field), "(empty)"); break;
    case CELL_AGE:
        page_age(h, page_number_or(row, c->field, NAN),
                 page_number_or(doc, "at_us", NAN));
        break;
    case CELL_LIST: page_cell_list(h, page_list(row, c->field)); break;
    case CELL_TEXT:
    case CELL_FIGURE: page_put(h, row, c->field); break;
    }
}

/* Texts keep a line up to a width, numbers and states always. */
static bool page_cell_is_text(const struct page_column *c)
{
    return c->kind == CELL_TEXT || c->kind == CELL_KEY || c->kind == CELL_LIST;
}

static void page_cell_content(struct html *h,
                              const struct page_column *c,
                              const json_t *row,
                              const json_t *doc)
{
    const char *target = c->link ? page_string(row, c->field) : NULL;
    if (c->put) {
        c->put(h, row, doc);
        return;
    }
    if (target) {
        html_lit(h, "<a");
        html_url(h, "href", c->link, target);
        html_lit(h, ">");
    }
    page_cell_value(h, c, row, doc);
    if (target)
        html_lit(h, "</a>");
}

/* The attribute by which the script sorts numbers. */
static void page_cell_data(struct html *h, double value)
{
    struct buf b = BUF_INIT;
    buf_printf(&b, "%.17g", value);
    html_attr_slice(h, "data-value", buf_slice(&b));
    buf_close(&b);
}

static void page_cell(struct html *h,
                      const struct page_column *c,
                      const json_t *row,
                      const json_t *doc,
                      bool first)
{
    double value;
    PRE(c->field);
    if (first)
        html_lit(h, "<th scope=\"row\"");
    else
        html_lit(h, "<td");
    if (page_column_is_number(c))
        html_lit(h, " class=\"num\"");
    if (page_number(row, c->field, &value))
        page_cell_data(h, value);
    html_lit(h, ">");
    if (page_cell_is_text(c))
        html_lit(h, "<div class=\"fit\">");
    page_cell_content(h, c, row, doc);
    if (page_cell_is_text(c))
        html_lit(h, "</div>");
    if (first)
        html_lit(h, "</th>");
    else
        html_lit(h, "</td>");
}

static void page_row(struct html *h,
                     const struct page_rows *t,
                     const json_t *row,
                     const json_t *doc)
{
    const char *key = t->key ? page_string(row, t->key) : NULL;
    html_lit(h, "<tr");
    if (key)
        html_attr(h, "data-row", key);
    html_lit(h, ">");
    for (size_t i = 0; i < t->column_count; i++)
        page_cell(h, &t->columns[i], row, doc, i == 0);
    html_lit(h, "</tr>");
}

/* --- the table ----------------------------------------------------------- */

/* Begin the region that scrolls, and the table with its caption. */
static void
page_rows_begin(struct html *h, const struct page_rows *t, size_t count)
{
    html_lit(h, "<div class=\"wide\" role=\"region\" tabindex=\"0\" id=\"");
    html_str(h, t->id);
    html_lit(h, "-region\"");
    html_attr(h, "aria-label", t->caption);
    html_lit(h, "><table");
    html_attr(h, "id", t->id);
    html_attr(h, "data-sort", page_rows_sort_name(t));
    if (count > PAGE_ROWS_MAX)
        html_lit(h, " data-cut");
    html_lit(h, "><caption>");
    html_str(h, t->caption);
    html_lit(h, " <small>");
    html_count(h, (int64_t)count);
    html_lit(h, "</small></caption>");
}

static void page_rows_cut(struct html *h, size_t count)
{
    if (count <= PAGE_ROWS_MAX)
        return;
    html_lit(h, "<p class=\"more\">The first ");
    html_count(h, PAGE_ROWS_MAX);
    html_lit(h, " of ");
    html_count(h, (int64_t)count);
    html_lit(h, " rows in this order. The JSON of this page has all.</p>");
}

static void page_rows_empty(struct html *h, const struct page_rows *t)
{
    html_lit(h, "<section class=\"panel\"><h2>");
    html_str(h, t->caption);
    html_lit(h, "</h2>");
    page_empty(h, t->nothing, t->next);
    html_lit(h, "</section>");
}

void page_rows(struct html *h,
               const struct page_rows *table,
               const json_t *rows,
               const json_t *doc)
{
    size_t count = json_array_size(rows);
    struct page_sort sort = page_rows_sort(h, table);
    PRE(table->column_count > 0);
    PRE(*table->id);
    PRE(*table->caption);
    PRE(strncmp(page_rows_sort_name(table), "sort", 4) == 0);
    struct page_sort_row *list = page_rows_ordered(rows, sort);
    if (count == 0) {
        page_rows_empty(h, table);
        mem_free(list);
        return;
    }
    page_rows_begin(h, table, count);
    page_rows_head(h, table, sort);
    html_lit(h, "<tbody>");
    for (size_t i = 0; i < MIN_OF(count, PAGE_ROWS_MAX); i++)
        page_row(h, table, list[i].row, doc);
    html_lit(h, "</tbody></table>");
    page_rows_cut(h, count);
    html_lit(h, "</div>");
    mem_free(list);
}
