/* Lines of one group at a time. A line's values come as texts, as results are
 * printed; those of columns that are numbers by their declaration are read back
 * from these. */
#include "bigtable/view/view_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "bigtable/view/view_program.h"
#include "bigtable/view/view_txn.h"

struct view_lines {
    struct view_program program;
    struct saw_run *run;
    uint32_t table;
    const char *name; /* Of it. */
    struct arena names;
    struct quarry_view_column *columns; /* Of `names`. */
    size_t count;
    bool taking;          /* Lines that come are of the table. */
    struct arena texts;   /* Of the group's lines, one after the other: */
    struct slice *values; /* owned. */
    size_t value_count;
    size_t value_cap;
    size_t next;
};

/* --- which table --------------------------------------------------------- */

/* "of two, three" */
static void put_names(struct view_lines *l, struct buf *out)
{
    const char *name;
    for (uint32_t i = 0; (name = saw_run_table_name(l->run, i)) != NULL; i++)
        if (*name)
            buf_printf(out, "%s%s", out->len ? ", " : "", name);
}

static int
refuse_table(struct view_lines *l, const char *wanted, struct err *err)
{
    struct buf names = BUF_INIT;
    int rc;
    put_names(l, &names);
    rc = wanted
             ? err_set(err, ERR_INVALID, "its program has no table %s", wanted)
             : err_set(err, ERR_INVALID, "its program has several tables");
    err_hint(err, "name one of %s", buf_cstr(&names));
    buf_close(&names);
    return rc;
}

static int find_table(struct view_lines *l, const char *wanted, struct err *err)
{
    const char *name;
    unsigned found = 0;
    for (uint32_t i = 0; (name = saw_run_table_name(l->run, i)) != NULL; i++) {
        if (!*name || (wanted && strcmp(name, wanted) != 0))
            continue;
        l->table = i;
        l->name = name;
        found++;
    }
    return found == 1 ? 0 : refuse_table(l, wanted, err);
}

/* --- columns ------------------------------------------------------------- */

static enum quarry_view_type type_of(enum saw_column_type t)
{
    switch (t) {
    case SAW_COLUMN_INT: return QUARRY_VIEW_INT;
    case SAW_COLUMN_FLOAT: return QUARRY_VIEW_FLOAT;
    case SAW_COLUMN_BOOL: return QUARRY_VIEW_BOOL;
    case SAW_COLUMN_TIME: return QUARRY_VIEW_TIME;
    case SAW_COLUMN_TEXT: break;
    }
    return QUARRY_VIEW_TEXT;
}

/* Index columns come first, and have names of their own. */
static void take_table(void *ctx,
                       const char *name,
                       const char *const *columns,
                       size_t count)
{
    struct view_lines *l = ctx;
    l->taking = strcmp(name, l->name) == 0;
    if (!l->taking || l->columns)
        return;
    l->columns = arena_zalloc(&l->names, (count + 1) * sizeof(*l->columns));
    l->count = count;
    for (size_t i = 0; i < count; i++)
        l->columns[i] = (struct quarry_view_column){
            .name = arena_strdup(&l->names, columns[i]),
            .type = type_of(saw_run_column_type(l->run, l->table, i)),
            .is_key = i < saw_run_table_keys(l->run, l->table)};
}

static bool take_line(void *ctx,
                      const struct slice *values,
                      const bool *numeric,
                      size_t count)
{
    struct view_lines *l = ctx;
    (void)numeric;
    if (!l->taking)
        return true;
    if (l->value_count + l->count > l->value_cap) {
        l->value_cap = 2 * l->value_cap + l->count;
        l->values = mem_realloc(l->values, l->value_cap * sizeof(*l->values));
    }
    for (size_t i = 0; i < l->count; i++)
        l->values[l->value_count++] =
            i < count ? arena_dup(&l->texts, values[i]) : SLICE_EMPTY;
    return true;
}

static void take_results(struct view_lines *l)
{
    const struct saw_result_sink sink = {l, take_table, take_line};
    l->taking = false;
    (void)saw_run_results(l->run, &sink); /* All is taken. */
}

int view_lines_open(struct slice program,
                    const char *table,
                    struct view_lines **out,
                    struct err *err)
{
    struct view_lines *l = mem_zalloc(1, sizeof(*l));
    int rc = view_program_open(&l->program, program, err);
    arena_init(&l->names);
    arena_init(&l->texts);
    if (rc == 0)
        rc = view_program_run(&l->program, VIEW_MEMORY_BYTES, &l->run, err);
    if (rc == 0)
        rc = find_table(l, table, err);
    if (rc == 0)
        take_results(l);
    if (rc) {
        view_lines_close(l);
        l = NULL;
    }
    *out = l;
    return rc;
}

void view_lines_close(struct view_lines *l)
{
    if (!l)
        return;
    saw_run_free(l->run);
    view_program_close(&l->program);
    arena_close(&l->names);
    arena_close(&l->texts);
    mem_free(l->values);
    mem_free(l);
}

unsigned view_lines_table(const struct view_lines *l)
{
    return l->table;
}

size_t view_lines_columns(const struct view_lines *l)
{
    return l->count;
}

void view_lines_describe(const struct view_lines *l,
                         struct quarry_view_column *out)
{
    for (size_t i = 0; i < l->count; i++)
        out[i] = l->columns[i];
}

/* --- lines --------------------------------------------------------------- */

int view_lines_load(struct view_lines *l,
                    struct view_txn *t,
                    struct slice key,
                    struct slice value,
                    struct err *err)
{
    int rc = view_load_group(t, l->run, key, value, err);
    arena_reset(&l->texts);
    l->value_count = 0;
    l->next = 0;
    if (rc == 0)
        take_results(l);
    return rc;
}

/* A text that is no such number is of a value that is none: NULL. */
static void read_value(struct slice text,
                       enum quarry_view_type type,
                       struct quarry_view_value *out)
{
    char number[64];
    *out = (struct quarry_view_value){.bytes = text};
    switch (type) {
    case QUARRY_VIEW_TEXT:
    case QUARRY_VIEW_BYTES: break;
    case QUARRY_VIEW_FLOAT:
        snprintf(number, sizeof(number), "%.*s", SLICE_ARG(text));
        out->real = strtod(number, NULL);
        out->null = text.len == 0;
        break;
    case QUARRY_VIEW_BOOL: out->integer = slice_eq_str(text, "true"); break;
    case QUARRY_VIEW_INT:
    case QUARRY_VIEW_TIME:
        out->null = text_parse_i64(text, &out->integer, NULL) != 0;
        break;
    }
}

bool view_lines_next(struct view_lines *l, struct quarry_view_value *values)
{
    if (l->next >= l->value_count)
        return false;
    for (size_t i = 0; i < l->count; i++)
        read_value(l->values[l->next++], l->columns[i].type, &values[i]);
    return true;
}
