/* Reading a view row by row: one scanner for each table of its program that
 * columns are made of, all in the order of groups, of one read-only
 * transaction. States are taken apart as bytes, so that no program is compiled;
 * that of a view by a program, whose tables may be of any kind, is, and makes
 * lines of one group after the other (view_lines.h).
 */
#include <string.h>

#include "base/core/panic.h"
#include "bigtable/follow/follow.h"
#include "bigtable/quarry_view.h"
#include "bigtable/view/group.h"
#include "bigtable/view/view_follow.h"
#include "bigtable/view/view_items.h"
#include "bigtable/view/view_keys.h"
#include "bigtable/view/view_lines.h"
#include "bigtable/view/view_row_maker.h"
#include "bigtable/view/view_settings.h"
#include "bigtable/view/view_txn.h"
#include "bigtable/view/view_values.h"
#include "sawzall-lite/values/datum.h"

#define SCAN_TIMEOUT_US QUARRY_TXN_US_MAX
#define NAMES_TOLD_MAX  ((size_t)8)

/* The groups of one table. */
struct table_cursor {
    struct view_cursor rows;
    bool is_open;
    bool wanted;
    bool at_end;
    const struct quarry_row *row; /* At hand; NULL: none yet. */
    struct group group;           /* Of it. */
};

struct quarry_view_scan {
    struct view_core core; /* Its source and program are not open. */
    struct view_txn txn;
    struct view_items items;
    struct table_cursor *tables; /* items.table_count; owned. */
    struct buf from;          /* Bytes that a key of a group is not before, */
    struct buf until;         /* and those it is before; empty: none. */
    bool given;               /* A row without keys was. */
    struct view_lines *lines; /* Of a view by a program; else NULL. */
    struct quarry_view_column *columns;
    struct quarry_view_value *values;
    size_t count;
    struct view_row_maker *maker; /* Of rows like a table's; NULL: not yet. */
    struct arena row;             /* Texts of the row at hand. */
    struct buf text;
};

/* --- the tables of the program ------------------------------------------- */

static int open_groups(struct quarry_view_scan *s,
                       struct table_cursor *c,
                       unsigned table,
                       struct err *err)
{
    struct buf start = BUF_INIT;
    struct buf end = BUF_INIT;
    bool is_empty;
    int rc = 0;
    view_key_group(&start, table, buf_slice(&s->from));
    if (s->until.len)
        view_key_group(&end, table, buf_slice(&s->until));
    else
        view_key_group(&end, table + 1, SLICE_EMPTY);
    is_empty = slice_cmp(buf_slice(&start), buf_slice(&end)) >= 0;
    if (!is_empty)
        rc = view_cursor_open(&s->txn, buf_slice(&start), buf_slice(&end),
                              &c->rows, err);
    c->is_open = rc == 0 && !is_empty;
    buf_close(&start);
    buf_close(&end);
    return rc;
}

static int
open_cursor(struct quarry_view_scan *s, unsigned table, struct err *err)
{
    return open_groups(s, &s->tables[table],
                       table + (unsigned)s->items.first_table, err);
}

/* Of a view by a program: of the one table that is read. */
static int open_lines(struct quarry_view_scan *s, struct err *err)
{
    return open_groups(s, &s->tables[0], view_lines_table(s->lines), err);
}

static void close_cursor(struct table_cursor *c)
{
    view_cursor_close(&c->rows);
    c->is_open = false;
    c->row = NULL;
    c->at_end = false;
}

static int
next_group(struct quarry_view_scan *s, unsigned table, struct err *err)
{
    struct table_cursor *c = &s->tables[table];
    int rc = c->is_open ? 0 : open_cursor(s, table, err);
    c->row = NULL;
    if (rc == 0 && c->is_open)
        rc = view_cursor_next(&c->rows, &c->row, err);
    if (rc)
        return rc;
    c->at_end = !c->row;
    if (c->at_end)
        return 0;
    if (!group_parse_key(c->row->key, &c->group))
        return err_set(err, ERR_CORRUPT, "a group of the view has a bad key");
    return s->lines ? 0 : group_parse(c->row->cells[0].value, &c->group, err);
}

/* Go to the group with @key in @table, or to the one behind. */
static int follow_key(struct quarry_view_scan *s,
                      unsigned table,
                      struct slice key,
                      struct err *err)
{
    struct table_cursor *c = &s->tables[table];
    int rc = 0;
    while (rc == 0 && !c->at_end &&
           (!c->row || slice_cmp(c->group.key, key) < 0))
        rc = next_group(s, table, err);
    return rc;
}

/* --- values -------------------------------------------------------------- */

/* The value of the group with @key there; empty: it has none. */
static struct slice value_at(const struct quarry_view_scan *s,
                             const struct quarry_view_place *p,
                             struct slice key)
{
    const struct table_cursor *c = &s->tables[p->table];
    if (!c->row || c->at_end || !slice_eq(c->group.key, key))
        return SLICE_EMPTY;
    return view_value_field(
        saw_state_first(p->kind, buf_slice(&c->group.state)), p->field);
}

/* A column of the index: { null, value }. */
static int put_key(struct quarry_view_scan *s,
                   struct slice key,
                   unsigned number,
                   struct quarry_view_value *out,
                   struct err *err)
{
    struct cursor c = cursor_make(key);
    struct slice column = SLICE_EMPTY;
    struct slice null;
    for (unsigned i = 0; i <= number && !c.bad; i++)
        column = saw_datum_skip(&c);
    null = c.bad ? SLICE_EMPTY : view_value_field(column, 0);
    if (saw_datum_tag(null) != SAW_DATUM_BOOL || null.len < 2)
        return err_set(err, ERR_CORRUPT, "a key of the view is damaged");
    out->null = null.data[1] != 0;
    return out->null ? 0
                     : view_value_read(view_value_field(column, 1), &s->row,
                                       &s->text, out, err);
}

static void put_average(struct slice count, struct quarry_view_value *v)
{
    const double n = saw_datum_number(count);
    v->null = !(n > 0);
    if (!v->null)
        v->real /= n;
}

static int put_item(struct quarry_view_scan *s,
                    const struct quarry_view_item *i,
                    struct slice key,
                    struct quarry_view_value *out,
                    struct err *err)
{
    struct slice count, value;
    int rc;
    *out = (struct quarry_view_value){.bytes = SLICE_EMPTY};
    if (i->source == QUARRY_VIEW_KEY)
        return put_key(s, key, i->key, out, err);
    value = value_at(s, &i->value, key);
    count = i->count.kind ? value_at(s, &i->count, key) : SLICE_EMPTY;
    out->null = i->source != QUARRY_VIEW_COUNT;
    if (value.len == 0 || (i->source == QUARRY_VIEW_VALUE && i->count.kind &&
                           !(saw_datum_number(count) > 0)))
        return 0;
    if (i->source == QUARRY_VIEW_AVERAGE) {
        out->real = saw_datum_number(value);
        put_average(count, out);
        return 0;
    }
    rc = view_value_read(value, &s->row, &s->text, out, err);
    return rc;
}

/* --- rows ---------------------------------------------------------------- */

static int
put_row(struct quarry_view_scan *s, struct slice key, struct err *err)
{
    int rc = 0;
    arena_reset(&s->row);
    for (unsigned t = 1; t < s->items.table_count && rc == 0; t++)
        if (s->tables[t].wanted)
            rc = follow_key(s, t, key, err);
    for (size_t i = 0; i < s->count && rc == 0; i++)
        rc = put_item(s, &s->items.list[i], key, &s->values[i], err);
    return rc;
}

/* Without keys there is one row, whatever the table has. */
static int
next_item_row(struct quarry_view_scan *s, bool *found, struct err *err)
{
    struct table_cursor *groups = &s->tables[0];
    int rc = next_group(s, 0, err);
    *found =
        rc == 0 && (!groups->at_end || (s->items.key_count == 0 && !s->given));
    s->given = true;
    if (rc || !*found)
        return rc;
    return put_row(s, groups->at_end ? SLICE_EMPTY : groups->group.key, err);
}

/* Lines of the group at hand, and of the next if there are none. */
static int next_line(struct quarry_view_scan *s, bool *found, struct err *err)
{
    struct table_cursor *c = &s->tables[0];
    int rc = 0;
    *found = view_lines_next(s->lines, s->values);
    while (rc == 0 && !*found && !c->at_end) {
        rc = c->is_open ? 0 : open_lines(s, err);
        if (rc == 0)
            rc = view_cursor_next(&c->rows, &c->row, err);
        c->at_end = rc == 0 && !c->row;
        if (rc == 0 && c->row)
            rc = view_lines_load(s->lines, &s->txn, c->row->key,
                                 c->row->cells[0].value, err);
        *found = rc == 0 && c->row && view_lines_next(s->lines, s->values);
    }
    return rc;
}

int quarry_view_scan_next(struct quarry_view_scan *s,
                          const struct quarry_view_value **values,
                          struct err *err)
{
    bool found = false;
    int rc =
        s->lines ? next_line(s, &found, err) : next_item_row(s, &found, err);
    *values = found ? s->values : NULL;
    return rc;
}

int quarry_view_scan_next_row(struct quarry_view_scan *s,
                              const struct quarry_row **row,
                              struct err *err)
{
    const struct quarry_view_value *values = NULL;
    int rc = quarry_view_scan_next(s, &values, err);
    if (!s->maker)
        s->maker = view_row_maker_new(s->columns, s->count);
    *row = rc == 0 && values ? view_row_make(s->maker, values) : NULL;
    return rc;
}

/* --- seeking ------------------------------------------------------------- */

/* The type of key @number; -1: no column has it. */
static int key_type(const struct quarry_view_scan *s, size_t number)
{
    for (size_t i = 0; i < s->items.count; i++)
        if (s->items.list[i].source == QUARRY_VIEW_KEY &&
            s->items.list[i].key == number)
            return (int)s->items.list[i].type;
    return -1;
}

/* The bytes of @keys in a group's key; *@all: no key was left out. */
static void put_keys(const struct quarry_view_scan *s,
                     const struct quarry_view_value *keys,
                     size_t count,
                     struct buf *out,
                     bool *all)
{
    size_t i = 0;
    buf_clear(out);
    for (; i < count; i++) {
        const int type = key_type(s, i);
        if (type < 0 || keys[i].null)
            break;
        view_value_bound(out, &keys[i], (enum quarry_view_type)type,
                         i + 1 == count);
    }
    *all = i == count;
}

static int refuse_order(struct err *err)
{
    return err_set(err, ERR_INVALID, "a view by a program has no order");
}

int quarry_view_scan_seek(struct quarry_view_scan *s,
                          const struct quarry_view_value *keys,
                          size_t count,
                          struct err *err)
{
    bool all;
    if (s->lines)
        return refuse_order(err);
    put_keys(s, keys, count, &s->from, &all);
    for (unsigned t = 0; t < s->items.table_count; t++)
        close_cursor(&s->tables[t]);
    return 0;
}

/* Behind a text without its end, and behind a number, the end of a column is
 * less than 00 02 and 02. */
int quarry_view_scan_until(struct quarry_view_scan *s,
                           const struct quarry_view_value *keys,
                           size_t count,
                           bool inclusive,
                           struct err *err)
{
    bool all;
    if (s->lines)
        return refuse_order(err);
    put_keys(s, keys, count, &s->until, &all);
    if (!all || count == 0)
        buf_clear(&s->until);
    else if (inclusive && (key_type(s, count - 1) == QUARRY_VIEW_TEXT ||
                           key_type(s, count - 1) == QUARRY_VIEW_BYTES))
        buf_append(&s->until, "\0\2", 2);
    else if (inclusive)
        buf_append_byte(&s->until, '\2');
    return 0;
}

/* --- life ---------------------------------------------------------------- */

static int check_follower(const struct follower_info *f,
                          const struct view_settings *settings,
                          const struct quarry_view_scan_options *o,
                          struct err *err)
{
    const char *name = f->record.name;
    if (o->resource &&
        !slice_eq_str(buf_slice(&settings->resource), o->resource))
        return err_set(err, ERR_NOTFOUND, "view %s is another's", name);
    if (o->maintained && (!f->running || f->record.paused))
        return err_set(err, ERR_BUSY, "no process maintains view %s", name);
    return 0;
}

static int check_meta(struct quarry_view_scan *s,
                      const char *name,
                      bool maintained,
                      struct err *err)
{
    const char key = VIEW_KEY_META;
    struct buf value = BUF_INIT;
    int rc = view_txn_get(&s->txn, slice_make(&key, 1), &value, err);
    if (rc == 0)
        rc = view_meta_parse(buf_slice(&value), &s->txn.meta, err);
    buf_close(&value);
    if (rc == 0 && maintained && s->txn.meta.phase != VIEW_PHASE_READY)
        return err_set(err, ERR_BUSY, "view %s is being built again", name);
    if (rc == 0 && s->txn.meta.builds == 0 &&
        s->txn.meta.phase != VIEW_PHASE_READY) {
        rc = err_set(err, ERR_BUSY, "view %s is still being built", name);
        err_hint(err,
                 "quarry follow run view/%s --until-caught-up does it, "
                 "where no server does",
                 name);
    }
    return rc;
}

/* That of the first group: the program's first table has all groups. */
static int find_first_table(struct quarry_view_scan *s, struct err *err)
{
    const char first = VIEW_KEY_GROUP, last = VIEW_KEY_GROUP + 1;
    struct table_cursor *c = &s->tables[0];
    int rc = view_cursor_open(&s->txn, slice_make(&first, 1),
                              slice_make(&last, 1), &c->rows, err);
    s->items.first_table = 0;
    if (rc == 0)
        rc = view_cursor_next(&c->rows, &c->row, err);
    if (rc == 0 && c->row && group_parse_key(c->row->key, &c->group))
        s->items.first_table = (int)c->group.table;
    close_cursor(c);
    return rc;
}

static int open_state(struct quarry_view_scan *s,
                      const char *name,
                      bool maintained,
                      struct err *err)
{
    const struct quarry_txn_options o = {.read_only = true,
                                         .timeout_us = SCAN_TIMEOUT_US};
    char *table = view_state_name(name);
    int rc = quarry_table_open(s->core.quarry, table, &s->core.state, err);
    if (rc == 0)
        rc = quarry_txn_begin(s->core.quarry, &o, &s->txn.txn, err);
    mem_free(table);
    if (rc == ERR_DENIED) { /* The store is open to be read alone. */
        *err = ERR_INIT;
        rc = 0;
    }
    if (rc == 0)
        rc = check_meta(s, name, maintained, err);
    return rc || s->items.first_table >= 0 ? rc : find_first_table(s, err);
}

/* Columns of the items, and which tables they are of. */
static void take_items(struct quarry_view_scan *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct quarry_view_item *item = &s->items.list[i];
        s->columns[i] = (struct quarry_view_column){
            item->name, item->type, item->source == QUARRY_VIEW_KEY};
        if (item->value.kind)
            s->tables[item->value.table].wanted = true;
        if (item->count.kind)
            s->tables[item->count.table].wanted = true;
    }
}

static int open_columns(struct quarry_view_scan *s,
                        const struct view_settings *settings,
                        const struct quarry_view_scan_options *o,
                        struct err *err)
{
    int rc = view_items_of(settings, &s->items, err);
    s->tables = mem_zalloc(s->items.table_count + 1, sizeof(*s->tables));
    if (rc == 0 && s->items.count == 0)
        rc = view_lines_open(buf_slice(&settings->program), o->table, &s->lines,
                             err);
    else if (rc == 0 && o->table)
        rc = err_set(err, ERR_INVALID, "a view by SQL has no tables");
    if (rc)
        return rc;
    s->count = s->lines ? view_lines_columns(s->lines) : s->items.count;
    s->columns = mem_zalloc(s->count + 1, sizeof(*s->columns));
    s->values = mem_zalloc(s->count + 1, sizeof(*s->values));
    if (s->lines)
        view_lines_describe(s->lines, s->columns);
    else
        take_items(s);
    return 0;
}

/* One read of all families: rights are the tablet servers' to check. */
static int check_source(struct quarry *q, const char *table, struct err *err)
{
    struct quarry_table *t = NULL;
    struct quarry_row *row = NULL;
    int rc = quarry_table_open(q, table, &t, err);
    if (rc == 0)
        rc = quarry_read_row(t, SLICE_LIT("-"), NULL, &row, err);
    quarry_row_free(row);
    if (t)
        quarry_table_close(t);
    return rc;
}

/* The hint has the names that there are. */
static int refuse_name(struct quarry *q, const char *name, struct err *err)
{
    struct follower_info *list = NULL;
    struct buf names = BUF_INIT;
    struct err ignored = ERR_INIT;
    size_t count = 0;
    err_set(err, ERR_NOTFOUND, "there is no view \"%s\"", name);
    if (follower_list(q, VIEW_KIND, &list, &count, &ignored) == 0) {
        for (size_t i = 0; i < count && i < NAMES_TOLD_MAX; i++)
            buf_printf(&names, "%s%s", i ? ", " : "", list[i].record.name);
        if (count > NAMES_TOLD_MAX)
            buf_append_str(&names, ", …");
    }
    if (names.len)
        err_hint(err, "there are: %s", buf_cstr(&names));
    else
        err_hint(err, "there is none yet: quarry view create");
    if (list)
        follower_infos_free(list, count);
    buf_close(&names);
    return ERR_NOTFOUND;
}

static int open_scan(struct quarry_view_scan *s,
                     const char *name,
                     const struct quarry_view_scan_options *o,
                     struct err *err)
{
    struct follower_info *info = NULL;
    struct view_settings settings = {.program = BUF_INIT};
    int rc = follower_get(s->core.quarry, VIEW_KIND, name, &info, err);
    if (rc == ERR_NOTFOUND)
        rc = refuse_name(s->core.quarry, name, err);
    if (rc)
        return rc;
    rc = view_settings_parse(info->record.settings, &settings, err);
    if (rc == 0) {
        rc = check_follower(info, &settings, o, err);
        if (rc == 0 && o->source_rights)
            rc = check_source(s->core.quarry, info->record.table, err);
        if (rc == 0)
            rc = open_columns(s, &settings, o, err);
        if (rc)
            err_wrap(err, "view %s", name);
        view_settings_close(&settings);
    }
    follower_infos_free(info, 1);
    return rc ? rc : open_state(s, name, o->maintained, err);
}

static int open_named(struct quarry *q,
                      const char *name,
                      const struct quarry_view_scan_options *o,
                      struct quarry_view_scan **out,
                      struct err *err)
{
    struct quarry_view_scan *s = mem_zalloc(1, sizeof(*s));
    int rc;
    arena_init(&s->row);
    arena_init(&s->items.arena);
    s->core.quarry = q;
    s->txn.view = &s->core;
    rc = open_scan(s, name, o, err);
    if (rc) {
        quarry_view_scan_close(s);
        s = NULL;
    }
    *out = s;
    return rc;
}

/* Names of views have dots, too: the whole is tried first. */
int quarry_view_scan_open(struct quarry *q,
                          const char *name,
                          const struct quarry_view_scan_options *opts,
                          struct quarry_view_scan **out,
                          struct err *err)
{
    struct quarry_view_scan_options o = {.table = NULL};
    const char *dot = strrchr(name, '.');
    struct err why = ERR_INIT;
    char *view;
    int rc;
    if (opts)
        o = *opts;
    rc = open_named(q, name, &o, out, err);
    if (rc != ERR_NOTFOUND || !dot || o.table)
        return rc;
    view = mem_strndup(name, (size_t)(dot - name));
    o.table = dot + 1;
    rc = open_named(q, view, &o, out, &why);
    mem_free(view);
    if (rc == 0)
        *err = ERR_INIT;
    else if (rc != ERR_NOTFOUND)
        err_copy(err, &why);
    return rc;
}

void quarry_view_scan_close(struct quarry_view_scan *s)
{
    if (!s)
        return;
    for (unsigned t = 0; s->tables && t < s->items.table_count; t++) {
        close_cursor(&s->tables[t]);
        group_close(&s->tables[t].group);
    }
    quarry_txn_close(s->txn.txn);
    view_meta_close(&s->txn.meta);
    if (s->core.state)
        quarry_table_close(s->core.state);
    view_lines_close(s->lines);
    view_row_maker_free(s->maker);
    view_items_close(&s->items);
    mem_free(s->tables);
    mem_free(s->columns);
    mem_free(s->values);
    arena_close(&s->row);
    buf_close(&s->from);
    buf_close(&s->until);
    buf_close(&s->text);
    mem_free(s);
}

size_t quarry_view_scan_columns(const struct quarry_view_scan *s,
                                const struct quarry_view_column **columns)
{
    *columns = s->columns;
    return s->count;
}

uint64_t quarry_view_scan_size(const struct quarry_view_scan *s)
{
    return s->txn.meta.groups / (s->lines ? 1 : s->items.table_count) + 1;
}
