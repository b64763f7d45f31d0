/* Views as users have them: create, drop, list, describe, read, check. A view
 * is a follower with a table of its own; what it does with a row is in
 * view_apply.c. */
#include "bigtable/quarry_view.h"

#include <string.h>

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "bigtable/view/view_check.h"
#include "bigtable/view/view_core.h"
#include "bigtable/view/view_follow.h"
#include "bigtable/view/view_items.h"
#include "bigtable/view/view_relation.h"
#include "bigtable/view/view_row_list.h"
#include "bigtable/view/view_settings.h"
#include "bigtable/view/view_sql.h"

struct quarry_view_rows {
    struct view_program program;
    struct saw_run *run;
    struct view_sql *sql; /* Of a view by SQL; and of it: */
    struct view_relation *relation;
    const char **names;         /* Borrowed from it. */
    struct view_row_list *list; /* Instead: of one that has items. */
};

/* --- the definition ------------------------------------------------------ */

/* A view as its follower's record has it. */
struct definition {
    struct follower_info *info;
    struct view_settings settings;
};

static void definition_close(struct definition *d)
{
    view_settings_close(&d->settings);
    follower_infos_free(d->info, 1);
}

static int definition_read(struct quarry *q,
                           const char *name,
                           struct definition *d,
                           struct err *err)
{
    int rc = follower_get(q, VIEW_KIND, name, &d->info, err);

    if (rc == ERR_NOTFOUND) {
        rc = err_set(err, ERR_NOTFOUND, "there is no view \"%s\"", name);
        err_hint(err, "see: quarry view list");
    }
    if (rc)
        return rc;
    rc = view_settings_parse(d->info->record.settings, &d->settings, err);
    if (rc) {
        follower_infos_free(d->info, 1);
        err_wrap(err, "view %s", name);
    }
    return rc;
}

/* @sql (may be NULL) gets the SQL, if it is translated here. On failure nothing
 * is owned. */
static int view_open(struct quarry *q,
                     const char *name,
                     struct view_core *out,
                     struct buf *sql,
                     struct err *err)
{
    struct definition d = {.info = NULL};
    int rc = definition_read(q, name, &d, err);

    if (rc)
        return rc;
    rc = view_core_open(q, name, d.info->record.table,
                        buf_slice(&d.settings.program), out, err);
    if (rc)
        err_wrap(err, "view %s", name);
    else if (sql && d.settings.items.len == 0)
        buf_append_slice(sql, buf_slice(&d.settings.sql));
    definition_close(&d);
    return rc;
}

/* --- making and dropping ------------------------------------------------- */

/* Before anything is made: what the follower could not run. */
static int check_definition(struct quarry *q,
                            const char *table,
                            struct slice program,
                            struct err *err)
{
    struct view_program p;
    struct view_source s;
    int rc = view_program_open(&p, program, err);

    if (rc)
        return rc;
    view_program_close(&p);
    rc = view_source_open(q, table, &s, err);
    if (rc == 0)
        view_source_close(&s);
    return rc;
}

static int drop_state(struct quarry *q, const char *name, struct err *err)
{
    char *table = view_state_name(name);
    int rc = quarry_table_drop(q, table, err);
    mem_free(table);
    return rc;
}

/* One that a create or a drop left, which was stopped half-way, goes first. */
static int make_state(struct quarry *q, const char *name, struct err *err)
{
    struct follower_info *info = NULL;
    int rc = follower_get(q, VIEW_KIND, name, &info, err);

    if (info)
        follower_infos_free(info, 1);
    if (rc == 0)
        return err_set(err, ERR_EXISTS, "there is a view \"%s\" already", name);
    if (rc != ERR_NOTFOUND)
        return rc;
    rc = drop_state(q, name, err);
    if (rc && rc != ERR_NOTFOUND)
        return rc;
    err_init(err);
    return view_state_create(q, name, err);
}

static int create_view(struct quarry *q,
                       const char *name,
                       const char *table,
                       const struct view_settings *s,
                       struct err *err)
{
    struct buf text = BUF_INIT;
    struct err ignored = ERR_INIT;
    int rc = view_settings_put(s, &text, err);

    if (rc == 0)
        rc = check_definition(q, table, buf_slice(&s->program), err);
    if (rc == 0)
        rc = make_state(q, name, err);
    if (rc == 0) {
        const struct follower_record r = {.kind = VIEW_KIND,
                                          .name = name,
                                          .table = table,
                                          .settings = buf_slice(&text),
                                          .principal = ""};
        rc = follower_create(q, &r, err);
        if (rc && rc != ERR_EXISTS && drop_state(q, name, &ignored))
            err_hint(err, "its table .view.%s is left", name);
    }
    buf_close(&text);
    return rc;
}

static bool is_view_name(const char *name)
{
    size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.-");
    return len > 0 && len <= FOLLOWER_NAME_BYTES_MAX && name[len] == '\0';
}

static int take_sql(const char *text,
                    struct view_settings *s,
                    struct buf *table,
                    struct err *err)
{
    struct view_sql *sql = NULL;
    int rc = view_sql_parse(slice_str(text), &sql, err);

    if (rc)
        return rc;
    buf_append_str(&s->sql, text);
    buf_append_slice(&s->program, buf_slice(&sql->program));
    buf_append_slice(table, buf_slice(&sql->table));
    view_sql_free(sql);
    return 0;
}

static int take_items(const struct quarry_view_spec *spec,
                      struct view_settings *s,
                      struct err *err)
{
    struct view_program p;
    unsigned first = 0;
    int rc = view_program_open(&p, spec->program, err);

    if (rc)
        return rc;
    first = view_program_first_table(&p);
    view_program_close(&p);
    return view_items_put(spec->items, spec->item_count, first, &s->items, err);
}

int quarry_view_create(struct quarry *q,
                       const struct quarry_view_spec *spec,
                       struct err *err)
{
    struct view_settings s = {.program = BUF_INIT};
    struct buf table = BUF_INIT;
    int rc = 0;

    if (!is_view_name(spec->name))
        return err_set(err, ERR_INVALID,
                       "\"%s\" is no name of a view: at most %d of a-z, 0-9, "
                       "_, . and -",
                       spec->name, FOLLOWER_NAME_BYTES_MAX);
    if (spec->sql) {
        rc = take_sql(spec->sql, &s, &table, err);
    } else {
        buf_append_slice(&s.program, spec->program);
        buf_append_str(&s.sql, spec->text ? spec->text : "");
        buf_append_str(&s.resource, spec->resource ? spec->resource : "");
    }
    if (rc == 0 && spec->item_count)
        rc = take_items(spec, &s, err);
    if (rc == 0 && spec->table) {
        if (table.len && strcmp(buf_cstr(&table), spec->table) != 0)
            rc = err_set(err, ERR_INVALID, "the SQL is FROM %s, not %s",
                         buf_cstr(&table), spec->table);
        buf_clear(&table);
        buf_append_str(&table, spec->table);
    }
    if (rc == 0 && table.len == 0)
        rc = err_set(err, ERR_INVALID, "a view needs a table");
    if (rc == 0)
        rc = create_view(q, spec->name, buf_cstr(&table), &s, err);
    view_settings_close(&s);
    buf_close(&table);
    return rc;
}

int quarry_view_drop(struct quarry *q, const char *name, struct err *err)
{
    int rc = follower_drop(q, VIEW_KIND, name, err);

    if (rc == ERR_NOTFOUND) {
        rc = err_set(err, ERR_NOTFOUND, "there is no view \"%s\"", name);
        err_hint(err, "see: quarry view list");
    }
    if (rc)
        return rc;
    rc = drop_state(q, name, err);
    return rc == ERR_NOTFOUND ? 0 : rc;
}

/* --- describing ---------------------------------------------------------- */

static int read_figures(struct quarry *q,
                        const char *name,
                        struct view_meta *m,
                        struct err *err)
{
    struct view_core v = {.quarry = q};
    char *state = view_state_name(name);
    int rc = quarry_table_open(q, state, &v.state, err);

    if (rc == 0)
        rc = view_meta_read(&v, m, err);
    if (v.state)
        quarry_table_close(v.state);
    mem_free(state);
    return rc;
}

static char *own_text(struct arena *a, const struct buf *b)
{
    return arena_printf(a, "%.*s", SLICE_ARG(buf_slice(b)));
}

static void
put_figures(struct quarry *q, struct quarry_view_info *out, struct arena *a)
{
    struct view_meta m = {.phase = VIEW_PHASE_ROWS};
    struct err why = ERR_INIT;

    if (read_figures(q, out->name, &m, &why)) {
        if (!*out->error)
            out->error = arena_strdup(a, why.text);
    }
    out->rows = m.rows;
    out->failed = m.failed;
    out->failure = own_text(a, &m.error);
    out->groups = m.groups;
    out->builds = m.builds;
    out->state =
        m.phase == VIEW_PHASE_READY ? QUARRY_VIEW_READY : QUARRY_VIEW_BUILDING;
    view_meta_close(&m);
}

static void describe_view(struct quarry *q,
                          const struct follower_info *f,
                          struct quarry_view_info *out,
                          struct arena *a)
{
    struct view_settings s = {.program = BUF_INIT};
    struct err why = ERR_INIT;

    out->name = arena_strdup(a, f->record.name);
    out->table = arena_strdup(a, f->record.table);
    out->paused = f->record.paused;
    out->running = f->running;
    out->caught_us = f->caught_us;
    out->error = arena_strdup(a, f->error);
    if (view_settings_parse(f->record.settings, &s, &why))
        out->error = arena_strdup(a, why.text);
    out->program = own_text(a, &s.program);
    out->sql = own_text(a, &s.sql);
    out->resource = own_text(a, &s.resource);
    view_settings_close(&s);
    put_figures(q, out, a);
}

static int describe_all(struct quarry *q,
                        const struct follower_info *list,
                        size_t count,
                        struct quarry_view_info **out)
{
    struct arena *a = mem_zalloc(1, sizeof(*a));

    arena_init(a);
    *out = mem_zalloc(count + 1, sizeof(**out));
    (*out)->owner = a;
    for (size_t i = 0; i < count; i++) {
        describe_view(q, &list[i], &(*out)[i], a);
        (*out)[i].owner = a;
    }
    return 0;
}

int quarry_view_list(struct quarry *q,
                     struct quarry_view_info **out,
                     size_t *count,
                     struct err *err)
{
    struct follower_info *list = NULL;
    int rc = follower_list(q, VIEW_KIND, &list, count, err);

    *out = NULL;
    if (rc == 0)
        rc = describe_all(q, list, *count, out);
    if (list)
        follower_infos_free(list, *count);
    return rc;
}

int quarry_view_describe(struct quarry *q,
                         const char *name,
                         struct quarry_view_info **out,
                         struct err *err)
{
    struct definition d = {.info = NULL};
    int rc = definition_read(q, name, &d, err);

    *out = NULL;
    if (rc)
        return rc;
    rc = describe_all(q, d.info, 1, out);
    definition_close(&d);
    return rc;
}

void quarry_view_infos_free(struct quarry_view_info *list, size_t count)
{
    struct arena *a;
    (void)count;
    if (!list)
        return;
    a = list->owner;
    arena_close(a);
    mem_free(a);
    mem_free(list);
}

/* --- using --------------------------------------------------------------- */

int quarry_view_refresh(struct quarry *q, const char *name, struct err *err)
{
    struct view_core v;
    int rc = view_open(q, name, &v, NULL, err);

    if (rc)
        return rc;
    rc = view_build_begin(&v, err);
    view_core_close(&v);
    return rc;
}

static int check_built(struct view_core *v, const char *name, struct err *err)
{
    struct view_meta m;
    int rc = view_meta_read(v, &m, err);

    if (rc == 0 && m.builds == 0 && m.phase != VIEW_PHASE_READY) {
        rc = err_set(err, ERR_BUSY, "view %s is still being built", name);
        err_hint(err,
                 "quarry follow run view/%s --until-caught-up does it, "
                 "where no server does",
                 name);
    }
    view_meta_close(&m);
    return rc;
}

static void make_relation(struct quarry_view_rows *r)
{
    r->relation = view_relation_new(r->sql, r->run);
    r->names = mem_alloc((r->sql->item_count + 1) * sizeof(*r->names));
    for (size_t i = 0; i < r->sql->item_count; i++)
        r->names[i] = buf_cstr(&r->sql->items[i].name);
}

static int load_rows(struct view_core *v,
                     const char *name,
                     uint64_t bytes_max,
                     struct quarry_view_rows *r,
                     struct err *err)
{
    int rc = check_built(v, name, err);
    if (rc == 0)
        rc = view_program_run(&v->program,
                              bytes_max ? bytes_max : VIEW_MEMORY_BYTES,
                              &r->run, err);
    return rc ? rc : view_load(v, r->run, err);
}

int quarry_view_read(struct quarry *q,
                     const char *name,
                     uint64_t bytes_max,
                     struct quarry_view_rows **out,
                     struct err *err)
{
    struct quarry_view_rows *r = mem_zalloc(1, sizeof(*r));
    struct buf sql = BUF_INIT;
    struct view_core v;
    int rc = view_open(q, name, &v, &sql, err);

    *out = NULL;
    if (rc == 0) {
        rc = load_rows(&v, name, bytes_max, r, err);
        /* The run needs its program. */
        r->program = v.program;
        v.program = (struct view_program){.program = NULL};
        view_core_close(&v);
    }
    if (rc == 0 && sql.len)
        rc = view_sql_parse(buf_slice(&sql), &r->sql, err);
    if (rc == 0 && r->sql)
        make_relation(r);
    else if (rc == 0)
        rc = view_row_list_read(q, name, bytes_max, &r->list, err);
    buf_close(&sql);
    if (rc == 0)
        *out = r;
    else
        quarry_view_rows_close(r);
    return rc;
}

struct saw_run *quarry_view_rows_run(struct quarry_view_rows *rows)
{
    return rows->run;
}

size_t quarry_view_rows_columns(const struct quarry_view_rows *rows,
                                const char *const **names)
{
    if (rows->list)
        return view_row_list_columns(rows->list, names);
    *names = rows->names;
    return rows->sql ? rows->sql->item_count : 0;
}

size_t quarry_view_rows_count(const struct quarry_view_rows *rows)
{
    if (rows->list)
        return view_row_list_count(rows->list);
    return rows->relation ? view_relation_count(rows->relation) : 0;
}

const struct quarry_view_cell *
quarry_view_rows_at(struct quarry_view_rows *rows, size_t index)
{
    if (rows->list)
        return view_row_list_at(rows->list, index);
    PRE(rows->relation);
    return view_relation_row(rows->relation, index);
}

void quarry_view_rows_close(struct quarry_view_rows *rows)
{
    if (!rows)
        return;
    view_row_list_free(rows->list);
    view_relation_free(rows->relation);
    view_sql_free(rows->sql);
    mem_free(rows->names);
    saw_run_free(rows->run);
    view_program_close(&rows->program);
    mem_free(rows);
}

int quarry_view_check(struct quarry *q,
                      const char *name,
                      uint64_t wait_us,
                      struct quarry_view_check *out,
                      struct err *err)
{
    struct view_core v;
    int rc = view_open(q, name, &v, NULL, err);

    *out = (struct quarry_view_check){.rows = 0};
    if (rc)
        return rc;
    rc = check_built(&v, name, err);
    if (rc == 0)
        rc = view_check(&v, wait_us, out, err);
    view_core_close(&v);
    return rc;
}
