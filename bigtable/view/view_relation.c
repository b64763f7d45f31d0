/* Rows of a view by SQL; see view_relation.h. Table `n` has all groups, and the
 * others some of them, all in the same order. */
#include "bigtable/view/view_relation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "sawzall-lite/sawzall.h"

/* Before the text of a key that is not NULL; "true, " is one that is. */
#define KEY_PRESENT "false, "

/* A line of a table: texts of its keys, joined, and its value. */
struct result_line {
    struct slice key;
    const struct slice *keys;
    struct slice value;
};

struct result_lines {
    struct result_line *at;
    size_t count;
    size_t cap;
};

struct view_relation {
    const struct view_sql *sql;
    struct arena arena;
    struct result_lines *tables; /* Of sql->table_count. */
    size_t taking;               /* The table whose lines come now. */
    size_t *next;                /* In each table, of the rows in turn; */
    size_t next_row;             /* which is this one. */
    struct quarry_view_cell *cells;
    struct buf text; /* Of an average. */
};

/* --- taking results ------------------------------------------------------ */

static void take_table(void *ctx,
                       const char *name,
                       const char *const *columns,
                       size_t column_count)
{
    struct view_relation *r = ctx;
    (void)columns;
    (void)column_count;
    r->taking = SIZE_MAX;
    if (strcmp(name, "n") == 0)
        r->taking = 0;
    else if (*name == 'a')
        r->taking = (size_t)strtoul(name + 1, NULL, 10);
}

static bool take_line(void *ctx,
                      const struct slice *values,
                      const bool *numeric,
                      size_t count)
{
    struct view_relation *r = ctx;
    struct result_lines *l;
    struct slice *keys;
    struct buf joined = BUF_INIT;
    (void)numeric;
    if (r->taking >= r->sql->table_count || count <= r->sql->key_count)
        return true;
    l = &r->tables[r->taking];
    if (l->count == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 64;
        l->at = mem_realloc(l->at, l->cap * sizeof(*l->at));
    }
    keys = arena_alloc(&r->arena, (count + 1) * sizeof(*keys));
    for (size_t i = 0; i < r->sql->key_count; i++) {
        keys[i] = arena_dup(&r->arena, values[i]);
        buf_printf(&joined, "%zu:", values[i].len);
        buf_append_slice(&joined, values[i]);
    }
    l->at[l->count++] =
        (struct result_line){arena_dup(&r->arena, buf_slice(&joined)), keys,
                             arena_dup(&r->arena, values[r->sql->key_count])};
    buf_close(&joined);
    return true;
}

struct view_relation *view_relation_new(const struct view_sql *sql,
                                        struct saw_run *run)
{
    struct view_relation *r = mem_zalloc(1, sizeof(*r));
    const struct saw_result_sink sink = {r, take_table, take_line};

    r->sql = sql;
    arena_init(&r->arena);
    r->tables = mem_zalloc(sql->table_count, sizeof(*r->tables));
    r->next = mem_zalloc(sql->table_count, sizeof(*r->next));
    r->cells = mem_zalloc(sql->item_count + 1, sizeof(*r->cells));
    if (!saw_run_results(run, &sink))
        r->taking = SIZE_MAX; /* take_line() always wants more. */
    return r;
}

void view_relation_free(struct view_relation *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->sql->table_count; i++)
        mem_free(r->tables[i].at);
    mem_free(r->tables);
    mem_free(r->next);
    mem_free(r->cells);
    arena_close(&r->arena);
    buf_close(&r->text);
    mem_free(r);
}

/* --- rows ---------------------------------------------------------------- */

/* Without GROUP BY there is one row, whatever the table has. */
size_t view_relation_count(const struct view_relation *r)
{
    size_t count = r->tables[0].count;
    return count == 0 && r->sql->key_count == 0 ? 1 : count;
}

/* The group's line in @table, or NULL. */
static const struct result_line *
line_of(struct view_relation *r, size_t table, struct slice key)
{
    const struct result_lines *l = &r->tables[table];
    size_t at = r->next[table];
    if (at < l->count && slice_eq(l->at[at].key, key))
        return &l->at[at];
    return NULL;
}

static struct quarry_view_cell key_cell(struct slice text)
{
    if (slice_starts_with(text, SLICE_LIT(KEY_PRESENT)))
        return (struct quarry_view_cell){
            slice_sub(text, sizeof(KEY_PRESENT) - 1, text.len), false};
    return (struct quarry_view_cell){SLICE_EMPTY, true};
}

static struct quarry_view_cell
view_relation_average(struct view_relation *r,
                      const struct result_line *sum,
                      const struct result_line *count)
{
    char number[64];
    double total;
    double n;
    size_t at = r->text.len;
    if (!sum || !count)
        return (struct quarry_view_cell){SLICE_EMPTY, true};
    snprintf(number, sizeof(number), "%.*s", SLICE_ARG(sum->value));
    total = strtod(number, NULL);
    snprintf(number, sizeof(number), "%.*s", SLICE_ARG(count->value));
    n = strtod(number, NULL);
    buf_printf(&r->text, "%.15g", total / n);
    return (struct quarry_view_cell){
        slice_make(r->text.data + at, r->text.len - at), false};
}

static struct quarry_view_cell item_cell(struct view_relation *r,
                                         const struct view_sql_item *item,
                                         const struct result_line *n,
                                         struct slice key)
{
    const struct result_line *l;
    if (item->kind == VIEW_SQL_KEY)
        return key_cell(n->keys[item->key]);
    l = line_of(r, item->table, key);
    if (item->kind == VIEW_SQL_AVG)
        return view_relation_average(r, l, line_of(r, item->table + 1, key));
    if (!l && item->kind == VIEW_SQL_COUNT)
        return (struct quarry_view_cell){SLICE_LIT("0"), false};
    return l ? (struct quarry_view_cell){l->value, false}
             : (struct quarry_view_cell){SLICE_EMPTY, true};
}

/* Go to row @index: each table's next line is that of the group, or behind. */
static void view_relation_seek(struct view_relation *r, size_t index)
{
    if (index < r->next_row) {
        memset(r->next, 0, r->sql->table_count * sizeof(*r->next));
        r->next_row = 0;
    }
    for (; r->next_row < index; r->next_row++) {
        struct slice key = r->tables[0].at[r->next_row].key;
        for (size_t i = 1; i < r->sql->table_count; i++)
            r->next[i] += line_of(r, i, key) != NULL;
        r->next[0]++;
    }
}

const struct quarry_view_cell *view_relation_row(struct view_relation *r,
                                                 size_t index)
{
    const struct result_line *n = NULL;
    PRE(index < view_relation_count(r));
    view_relation_seek(r, index);
    buf_clear(&r->text);
    /* Averages must not move while the row is used. */
    buf_reserve(&r->text, 32 * r->sql->item_count);
    if (index < r->tables[0].count)
        n = &r->tables[0].at[index];
    for (size_t i = 0; i < r->sql->item_count; i++)
        r->cells[i] =
            item_cell(r, &r->sql->items[i], n, n ? n->key : SLICE_EMPTY);
    return r->cells;
}
