/* The records of observers: made unless they would trigger themselves, dropped,
 * and the rows that they have put aside.
 *
 * Cycles are found among the columns that observers say they watch and write,
 * when one is made; what they say is held against each write when they run. So
 * no chain of observers has a depth that must be counted.
 */
#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/world.h"
#include "bigtable/follow/follow.h"
#include "bigtable/observer/observer_code.h"

/* --- cycles -------------------------------------------------------------- */

struct observer_node {
    const char *name; /* Borrowed from the list. */
    struct observer_settings settings;
    bool visited;
};

/* Does a write of @a run @b? */
static bool observer_triggers(const struct observer_node *a,
                              const struct observer_node *b)
{
    for (size_t i = 0; i < a->settings.write_count; i++) {
        const struct observer_column *w = &a->settings.writes[i];
        struct slice qualifier = slice_str(w->qualifier ? w->qualifier : "");
        if (observer_has_column(b->settings.columns, b->settings.column_count,
                                w->table, slice_str(w->family),
                                w->qualifier ? &qualifier : NULL))
            return true;
    }
    return false;
}

/* Is there a way from @from to @to? It is prepended to @way. */
static bool find_way(struct observer_node *nodes,
                     size_t count,
                     size_t from,
                     size_t to,
                     struct buf *way)
{
    for (size_t i = 0; i < count; i++) {
        bool found;
        if (nodes[i].visited || !observer_triggers(&nodes[from], &nodes[i]))
            continue;
        nodes[i].visited = true;
        found = i == to || find_way(nodes, count, i, to, way);
        if (found) {
            buf_printf(way, " <- %s", nodes[from].name);
            return true;
        }
    }
    return false;
}

/* ERR_INVALID names the cycle in which observer @name is. */
static int check_cycles(struct quarry *q, const char *name, struct err *err)
{
    struct follower_info *list;
    struct observer_node *nodes;
    struct buf way = BUF_INIT;
    size_t n;
    size_t self = SIZE_MAX;
    int rc = follower_list(q, OBSERVER_KIND, &list, &n, err);
    if (rc)
        return rc;
    nodes = mem_zalloc(n + 1, sizeof(*nodes));
    for (size_t i = 0; i < n && rc == 0; i++) {
        const struct follower_record *r = &list[i].record;
        nodes[i].name = r->name;
        rc = observer_settings_get(r->table, r->settings, &nodes[i].settings,
                                   err);
        if (strcmp(r->name, name) == 0)
            self = i;
    }
    if (rc == 0 && self != SIZE_MAX && find_way(nodes, n, self, self, &way)) {
        rc = err_set(err, ERR_INVALID, "observer %s would trigger itself: %s%s",
                     name, name, buf_cstr(&way));
        err_hint(err, "what it writes is watched: write to another column");
    }
    for (size_t i = 0; i < n; i++)
        observer_settings_close(&nodes[i].settings);
    mem_free(nodes);
    buf_close(&way);
    follower_infos_free(list, n);
    return rc;
}

/* --- making and dropping ------------------------------------------------- */

static int
check_transactions(struct quarry *q, const char *table, struct err *err)
{
    struct quarry_table_info *info;
    int rc = quarry_table_describe(q, table, &info, err);
    if (rc)
        return rc;
    if (!info->transactions) {
        rc = err_set(err, ERR_UNSUPPORTED,
                     "table %s takes no part in transactions", table);
        err_hint(err, "quarry table alter %s --transactions", table);
    }
    quarry_table_info_free(info);
    return rc;
}

static int check_tables(struct quarry *q,
                        const char *table,
                        const struct observer_settings *s,
                        struct err *err)
{
    int rc = check_transactions(q, table, err);
    for (size_t i = 0; i < s->write_count && rc == 0; i++)
        rc = check_transactions(q, s->writes[i].table, err);
    return rc;
}

/* A store that had observers before they derived lacks a family. */
static int add_made(struct quarry *q, struct err *err)
{
    const struct quarry_alter add = {QUARRY_ADD_FAMILY, OBSERVER_MADE,
                                     "versions=1"};
    struct quarry_table_info *info;
    bool there = false;
    int rc = quarry_table_describe(q, OBSERVER_LETTERS, &info, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < info->family_count; i++)
        there = there || strcmp(info->families[i].name, OBSERVER_MADE) == 0;
    quarry_table_info_free(info);
    return there ? 0 : quarry_table_alter(q, OBSERVER_LETTERS, &add, 1, err);
}

static int make_letters(struct quarry *q, struct err *err)
{
    struct quarry_family_spec families[2 + QUARRY_TXN_FAMILIES] = {
        {OBSERVER_LETTER, "versions=1"}, {OBSERVER_MADE, "versions=1"}};
    struct quarry_group_spec group;
    int rc;
    quarry_txn_specs(&families[2], &group);
    rc = quarry_table_create(q, OBSERVER_LETTERS, families, ARRAY_LEN(families),
                             &group, 1, err);
    return rc == ERR_EXISTS ? add_made(q, err) : rc;
}

/* The families of the output, where nothing was declared. */
struct output_families {
    char *names[QUARRY_OBSERVER_COLUMNS_MAX]; /* Owned. */
    size_t count;
};

static int declare_output(struct quarry *q,
                          struct quarry_observer_spec *spec,
                          struct output_families *f,
                          struct err *err)
{
    struct quarry_table_info *info;
    struct buf name = BUF_INIT;
    int rc;
    if (!spec->output || spec->write_count)
        return 0;
    rc = quarry_table_describe(q, spec->output, &info, err);
    if (rc)
        return rc;
    if (info->family_count > QUARRY_OBSERVER_COLUMNS_MAX)
        rc = err_set(err, ERR_INVALID,
                     "table %s has %zu families: say which of them it writes",
                     spec->output, info->family_count);
    for (size_t i = 0; i < info->family_count && rc == 0; i++) {
        /* Those that transactions made. */
        if (info->families[i].name[0] == '.')
            continue;
        buf_printf(&name, "%s:%s", spec->output, info->families[i].name);
        f->names[f->count++] = buf_take(&name);
    }
    quarry_table_info_free(info);
    spec->writes = (const char *const *)f->names;
    spec->write_count = f->count;
    return rc;
}

/* A mistake in a program is better told now than by its first run. */
static int check_saw(const struct quarry_observer_spec *spec,
                     const struct observer_settings *s,
                     struct err *err)
{
    const struct observer_setup setup = {
        .name = spec->name, .table = spec->table, .settings = s};
    void *state;
    int rc;
    if (!s->kind || strcmp(s->kind, observer_saw.kind) != 0)
        return 0;
    rc = observer_saw.open(&setup, &state, err);
    if (rc == 0)
        observer_saw.close(state);
    return rc;
}

int quarry_observer_create(struct quarry *q,
                           const struct quarry_observer_spec *given,
                           struct err *err)
{
    struct quarry_observer_spec copy = *given;
    const struct quarry_observer_spec *spec = &copy;
    struct output_families families = {.count = 0};
    struct observer_settings s = {.tries = 0};
    struct buf settings = BUF_INIT;
    struct follower_record r = {
        .kind = OBSERVER_KIND, .name = spec->name, .table = spec->table};
    int rc = declare_output(q, &copy, &families, err);
    if (rc == 0)
        rc = observer_settings_put(spec, &settings, err);
    r.settings = buf_slice(&settings);
    if (rc == 0)
        rc = observer_settings_get(spec->table, r.settings, &s, err);
    if (rc == 0)
        rc = check_saw(spec, &s, err);
    if (rc == 0)
        rc = check_tables(q, spec->table, &s, err);
    if (rc == 0)
        rc = make_letters(q, err);
    /* Made first, and looked at then: of two that are made at once, and are a
     * cycle together, one at least sees the other. */
    r.paused = true;
    if (rc == 0)
        rc = follower_create(q, &r, err);
    if (rc == 0) {
        rc = check_cycles(q, spec->name, err);
        if (rc)
            (void)!follower_drop(q, OBSERVER_KIND, spec->name, NULL);
        else
            rc = follower_pause(q, OBSERVER_KIND, spec->name, false, err);
    }
    observer_settings_close(&s);
    for (size_t i = 0; i < families.count; i++)
        mem_free(families.names[i]);
    buf_close(&settings);
    return rc;
}

/* --- rows that were put aside -------------------------------------------- */

static void put_prefix(struct buf *b, const char *name)
{
    buf_printf(b, "%s/", name);
}

static unsigned times_of(struct slice text)
{
    uint64_t n = 0;
    return text_parse_u64(text, &n, NULL) ? 0 : (unsigned)MIN_OF(n, 1000U);
}

static void add_letter(const struct quarry_row *row,
                       size_t prefix,
                       struct quarry_observer_letter **list,
                       size_t *count)
{
    struct slice key = slice_sub(row->key, prefix, row->key.len);
    struct quarry_observer_letter l = {.error = mem_strdup("")};
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct quarry_cell *c = &row->cells[i];
        if (slice_eq_str(c->qualifier, "error")) {
            mem_free((char *)(uintptr_t)l.error);
            l.error = mem_strndup(c->value.data, c->value.len);
            l.time_us = c->timestamp_us;
        }
        l.waits = l.waits || slice_eq_str(c->qualifier, "retry");
        if (slice_eq_str(c->qualifier, "times"))
            l.times = times_of(c->value);
    }
    l.row = slice_make(mem_strndup(key.data, key.len), key.len);
    *list = mem_realloc(*list, (*count + 1) * sizeof(**list));
    (*list)[(*count)++] = l;
}

int quarry_observer_log(struct quarry *q,
                        const char *name,
                        struct quarry_observer_letter **out,
                        size_t *count,
                        struct err *err)
{
    struct quarry_table *t = NULL;
    struct quarry_scanner *rows = NULL;
    const struct quarry_row *row;
    struct buf start = BUF_INIT;
    struct buf end = BUF_INIT;
    struct quarry_range range;
    struct quarry_read_options o = {
        .ranges = &range, .range_count = 1, .versions = 1};
    int rc = quarry_table_open(q, OBSERVER_LETTERS, &t, err);
    *out = NULL;
    *count = 0;
    if (rc)
        return rc == ERR_NOTFOUND ? 0 : rc;
    put_prefix(&start, name);
    buf_printf(&end, "%s0", name); /* '0' follows '/'. */
    range = (struct quarry_range){buf_slice(&start), buf_slice(&end)};
    rc = quarry_scan(t, &o, &rows, err);
    while (rc == 0 && !(rc = quarry_scanner_next(rows, &row, err)) && row)
        add_letter(row, start.len, out, count);
    if (rows)
        quarry_scanner_close(rows);
    quarry_table_close(t);
    buf_close(&start);
    buf_close(&end);
    return rc;
}

void quarry_observer_letters_free(struct quarry_observer_letter *list,
                                  size_t count)
{
    for (size_t i = 0; i < count; i++) {
        mem_free((char *)(uintptr_t)list[i].row.data);
        mem_free((char *)(uintptr_t)list[i].error);
    }
    mem_free(list);
}

struct letter_change {
    struct quarry_table *table; /* Borrowed, as all. */
    const char *name;
    const struct quarry_observer_letter *letters;
    size_t count;
    const struct slice *row; /* NULL: all. */
    bool drop;
    size_t changed;
};

static int change_letters(struct quarry_txn *txn, void *ctx, struct err *err)
{
    struct letter_change *c = ctx;
    struct buf key = BUF_INIT;
    int rc = 0;
    c->changed = 0;
    for (size_t i = 0; i < c->count && rc == 0; i++) {
        struct slice row = c->letters[i].row;
        if (c->row && !slice_eq(*c->row, row))
            continue;
        buf_clear(&key);
        put_prefix(&key, c->name);
        buf_append_slice(&key, row);
        rc = c->drop ? quarry_txn_delete(txn, c->table, buf_slice(&key), NULL,
                                         SLICE_EMPTY, err)
                     : quarry_txn_put(txn, c->table, buf_slice(&key),
                                      OBSERVER_LETTER, SLICE_LIT("retry"),
                                      SLICE_LIT("1"), err);
        c->changed++;
    }
    buf_close(&key);
    return rc;
}

static int alter_letters(struct quarry *q,
                         const char *name,
                         const struct slice *row,
                         bool drop,
                         size_t *changed,
                         struct err *err)
{
    struct quarry_observer_letter *list;
    struct letter_change c = {.name = name, .row = row, .drop = drop};
    int rc = quarry_observer_log(q, name, &list, &c.count, err);
    c.letters = list;
    if (rc == 0 && c.count)
        rc = quarry_table_open(q, OBSERVER_LETTERS, &c.table, err);
    if (rc == 0 && c.count)
        rc = quarry_txn_run(q, NULL, change_letters, &c, err);
    quarry_table_close(c.table);
    quarry_observer_letters_free(list, c.count);
    *changed = c.changed;
    return rc;
}

int quarry_observer_retry(struct quarry *q,
                          const char *name,
                          const struct slice *row,
                          struct err *err)
{
    size_t changed;
    int rc = alter_letters(q, name, row, false, &changed, err);
    if (rc == 0 && row && changed == 0)
        rc = err_set(err, ERR_NOTFOUND,
                     "observer %s has not put row '%.*s' aside", name,
                     SLICE_ARG(slice_sub(*row, 0, MIN_OF(row->len, 80UL))));
    return rc;
}

/* Nobody runs it any more: no transaction is needed. */
static int drop_made(struct quarry *q, const char *name, struct err *err)
{
    struct quarry_table *t = NULL;
    struct quarry_scanner *rows = NULL;
    const struct quarry_row *row;
    struct buf start = BUF_INIT;
    struct buf end = BUF_INIT;
    struct quarry_range range;
    struct quarry_read_options o = {
        .ranges = &range, .range_count = 1, .versions = 1};
    int rc = quarry_table_open(q, OBSERVER_LETTERS, &t, err);
    buf_printf(&start, "%s:", name);
    buf_printf(&end, "%s;", name); /* ';' follows ':'. */
    range = (struct quarry_range){buf_slice(&start), buf_slice(&end)};
    if (rc == 0)
        rc = quarry_scan(t, &o, &rows, err);
    while (rc == 0 && !(rc = quarry_scanner_next(rows, &row, err)) && row) {
        struct quarry_mutation *m = quarry_mutation_new(row->key);
        quarry_mutation_delete_family(m, OBSERVER_MADE);
        rc = quarry_apply(t, m, NULL, err);
        quarry_mutation_free(m);
    }
    if (rows)
        quarry_scanner_close(rows);
    quarry_table_close(t);
    buf_close(&start);
    buf_close(&end);
    return rc;
}

int quarry_observer_drop(struct quarry *q, const char *name, struct err *err)
{
    size_t changed;
    int rc = follower_drop(q, OBSERVER_KIND, name, err);
    if (rc == 0)
        rc = alter_letters(q, name, NULL, true, &changed, err);
    return rc ? rc : drop_made(q, name, err);
}
