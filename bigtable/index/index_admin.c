/* Making, listing and dropping indexes.
 *
 * An index is made in this order: the table of its entries; then the schema of
 * its table names it, as building, from which on every writer keeps it; then
 * the rows that are there are entered (index_build.c); then it is ready. A
 * build that stops on the way is continued by the same call.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/client/client.h"
#include "bigtable/index/index.h"
#include "bigtable/index/index_build.h"
#include "bigtable/index/index_write.h"
#include "bigtable/row/schema.h"

/* --- definitions --------------------------------------------------------- */

static void def_of(const struct quarry_index_spec *s,
                   uint32_t number,
                   struct index_def *out)
{
    PRE(s->column_count <= INDEX_COLUMNS_MAX);
    PRE(number > 0);
    *out = (struct index_def){
        .number = number, .unique = s->unique, .state = INDEX_BUILDING};
    snprintf(out->name, sizeof(out->name), "%s", s->name);
    out->columns = mem_zalloc(s->column_count, sizeof(*out->columns));
    for (; out->column_count < s->column_count; out->column_count++) {
        const struct quarry_index_column *from = &s->columns[out->column_count];
        struct index_column *to = &out->columns[out->column_count];
        to->family = mem_strdup(from->family);
        to->qualifier =
            slice_make(mem_strndup(from->qualifier.data, from->qualifier.len),
                       from->qualifier.len);
    }
    POST(out->column_count == s->column_count);
}

static int check_spec(const struct quarry_index_spec *s, struct err *err)
{
    int rc = schema_check_name("index", slice_str(s->name), err);
    if (rc)
        return rc;
    if (strchr(s->name, '.'))
        return err_set(err, ERR_INVALID, "index name \"%s\" has a '.'",
                       s->name);
    if (s->column_count == 0 || s->column_count > INDEX_COLUMNS_MAX)
        return err_set(err, ERR_INVALID,
                       "an index has 1 to %d columns, not %zu",
                       INDEX_COLUMNS_MAX, s->column_count);
    for (size_t i = 0; i < s->column_count; i++)
        if (s->columns[i].qualifier.len > QUALIFIER_BYTES_MAX)
            return err_set(err, ERR_TOOBIG,
                           "a column of family %s has too long a name",
                           s->columns[i].family);
    if (strncmp(s->table, INDEX_TABLE_PREFIX, strlen(INDEX_TABLE_PREFIX)) == 0)
        return err_set(err, ERR_INVALID, "%s is itself of an index", s->table);
    POST(s->column_count > 0);
    return 0;
}

static bool is_same(const struct index_def *a, const struct index_def *b)
{
    bool same = a->unique == b->unique && a->column_count == b->column_count;
    PRE(a->column_count <= INDEX_COLUMNS_MAX);
    for (size_t i = 0; same && i < a->column_count; i++)
        same = index_column_eq(&a->columns[i], &b->columns[i]);
    return same;
}

static void put_hex(struct slice bytes, struct buf *out)
{
    for (size_t i = 0; i < bytes.len; i++)
        buf_printf(out, "%02x", (unsigned)(unsigned char)bytes.data[i]);
}

/* --- making -------------------------------------------------------------- */

static int
make_entries(struct quarry *q, const struct index_def *d, struct err *err)
{
    static const struct quarry_family_spec family = {INDEX_ENTRY_FAMILY,
                                                     "versions=1"};
    char name[TABLE_NAME_BYTES_MAX + 1];
    index_table_name(d, name);
    return quarry_table_create(q, name, &family, 1, NULL, 0, err);
}

/* Add @d to the schema of @table, in the place of the one named @replaced
 * (NULL: none). */
static int put_def(struct quarry *q,
                   const char *table,
                   const struct index_def *d,
                   const char *replaced,
                   struct err *err)
{
    struct buf bytes = BUF_INIT;
    struct buf hex = BUF_INIT;
    struct quarry_alter changes[2];
    size_t n = 0;
    int rc;
    PRE(d->number > 0);
    index_def_encode(d, &bytes);
    put_hex(buf_slice(&bytes), &hex);
    if (replaced)
        changes[n++] = (struct quarry_alter){QUARRY_DROP_INDEX, replaced, ""};
    changes[n++] =
        (struct quarry_alter){QUARRY_ADD_INDEX, d->name, buf_cstr(&hex)};
    rc = quarry_table_alter(q, table, changes, n, err);
    buf_close(&bytes);
    buf_close(&hex);
    POST(n <= ARRAY_LEN(changes));
    return rc;
}

static uint32_t new_number(struct quarry *q)
{
    return (uint32_t)(world_random(q->world) >> 33) + 1;
}

static void drop_entries(struct quarry *q, const struct index_def *d)
{
    struct index_def one = *d;
    const struct index_set set = {.defs = &one, .count = 1};
    index_drop_tables(q, &set);
}

/* Does the schema of @table name @d? *@named is set if it can be told. */
static int is_named(struct quarry *q,
                    const char *table,
                    const struct index_def *d,
                    bool *named)
{
    struct quarry_table *t = NULL;
    struct index_set *set = NULL;
    int rc = quarry_table_open(q, table, &t, NULL);
    if (rc == 0)
        rc = t->ops->table_indexes(t, &set, NULL);
    *named = false;
    for (size_t i = 0; rc == 0 && set && i < set->count; i++)
        *named |= set->defs[i].number == d->number;
    index_set_unref(set);
    quarry_table_close(t);
    return rc;
}

/* An order that was carried out and is sent again, to another master, is
 * refused: the schema says what became of it. The number is @d's alone. */
static int settle_def(struct quarry *q,
                      const char *table,
                      const struct index_def *d,
                      int code)
{
    bool open = code == ERR_UNKNOWN_OUTCOME || code == ERR_UNAVAILABLE ||
                code == ERR_DEADLINE;
    bool named;
    if (is_named(q, table, d, &named))
        return code;
    if (named)
        return 0;
    if (!open)
        drop_entries(q, d);
    return code;
}

/* The table of entries first: a writer that knows of the index finds it. */
static int add_index(struct quarry *q,
                     const char *table,
                     const struct index_def *d,
                     const char *replaced,
                     struct err *err)
{
    int rc = make_entries(q, d, err);
    PRE(d->state == INDEX_BUILDING);
    PRE(d->column_count > 0);
    if (rc)
        return rc;
    rc = put_def(q, table, d, replaced, err);
    return rc ? settle_def(q, table, d, rc) : 0;
}

/* The indexes of @t: a reference; never NULL. */
static int
take_set(struct quarry_table *t, struct index_set **out, struct err *err)
{
    int rc = t->ops->table_indexes(t, out, err);
    if (rc == 0 && !*out) {
        *out = mem_zalloc(1, sizeof(**out));
        atomic_init(&(*out)->references, 1);
    }
    POST(rc || *out);
    return rc;
}

static int no_index(const struct index_set *set,
                    const char *table,
                    const char *name,
                    struct err *err)
{
    const struct schema s = {.indexes = (struct index_set *)(uintptr_t)set};
    (void)schema_no_index(&s, name, err);
    err_wrap(err, "table %s", table);
    return ERR_NOTFOUND;
}

static int find_def(struct quarry *q,
                    const char *table,
                    const char *name,
                    struct quarry_table **t,
                    struct index_set **set,
                    const struct index_def **out,
                    struct err *err)
{
    int rc = quarry_table_open(q, table, t, err);
    *set = NULL;
    if (rc) {
        *t = NULL;
        return rc;
    }
    rc = take_set(*t, set, err);
    if (rc)
        return rc;
    *out = index_set_find(*set, name);
    INVARIANT(*set);
    return *out ? 0 : no_index(*set, table, name, err);
}

static void index_admin_release(struct quarry_table *t, struct index_set *set)
{
    index_set_unref(set);
    quarry_table_close(t);
}

/* Enter all rows, and be ready. */
static int fill_index(struct quarry *q,
                      const char *table,
                      const char *name,
                      quarry_index_progress progress,
                      void *ctx,
                      struct err *err)
{
    const struct index_def *d;
    struct quarry_table *t;
    struct index_set *set;
    char number[16];
    struct quarry_alter ready = {QUARRY_READY_INDEX, name, number};
    int rc = find_def(q, table, name, &t, &set, &d, err);
    INVARIANT(rc || d->number > 0);
    if (rc == 0 && d->state != INDEX_READY) {
        snprintf(number, sizeof(number), "%u", d->number);
        rc = index_build(t, set, d, progress, ctx, err);
        if (rc == 0)
            rc = quarry_table_alter(q, table, &ready, 1, err);
    }
    index_admin_release(t, set);
    return rc;
}

int quarry_index_create(struct quarry *q,
                        const struct quarry_index_spec *spec,
                        quarry_index_progress progress,
                        void *ctx,
                        struct err *err)
{
    const struct index_def *had = NULL;
    struct quarry_table *t = NULL;
    struct index_set *set = NULL;
    struct index_def d = {.number = 0};
    int rc = check_spec(spec, err);
    if (rc == 0)
        rc = quarry_table_open(q, spec->table, &t, err);
    if (rc == 0)
        rc = take_set(t, &set, err);
    if (rc == 0) {
        def_of(spec, new_number(q), &d);
        had = index_set_find(set, spec->name);
    }
    if (rc == 0 && had && (had->state == INDEX_READY || !is_same(had, &d)))
        rc = err_set(err, ERR_EXISTS, "index %s of table %s exists already",
                     spec->name, spec->table);
    if (rc == 0 && !had)
        rc = add_index(q, spec->table, &d, NULL, err);
    index_def_close(&d);
    index_admin_release(t, set);
    if (rc == 0)
        rc = fill_index(q, spec->table, spec->name, progress, ctx, err);
    if (rc)
        err_wrap(err, "index %s", spec->name);
    return rc;
}

int quarry_index_rebuild(struct quarry *q,
                         const char *table,
                         const char *name,
                         quarry_index_progress progress,
                         void *ctx,
                         struct err *err)
{
    const struct index_def *d;
    struct quarry_table *t;
    struct index_set *set;
    int rc = find_def(q, table, name, &t, &set, &d, err);
    INVARIANT(rc || d->column_count > 0);
    if (rc == 0) {
        struct index_def fresh = *d;
        fresh.number = new_number(q);
        fresh.state = INDEX_BUILDING;
        rc = add_index(q, table, &fresh, name, err);
        if (rc == 0)
            drop_entries(q, d);
    }
    index_admin_release(t, set);
    if (rc == 0)
        rc = fill_index(q, table, name, progress, ctx, err);
    if (rc)
        err_wrap(err, "index %s", name);
    return rc;
}

int quarry_index_drop(struct quarry *q,
                      const char *table,
                      const char *name,
                      struct err *err)
{
    const struct quarry_alter drop = {QUARRY_DROP_INDEX, name, ""};
    const struct index_def *d;
    struct quarry_table *t;
    struct index_set *set;
    int rc = find_def(q, table, name, &t, &set, &d, err);
    INVARIANT(rc || index_set_find(set, name) == d);
    if (rc == 0)
        rc = quarry_table_alter(q, table, &drop, 1, err);
    if (rc == 0)
        drop_entries(q, d);
    index_admin_release(t, set);
    return rc;
}

int quarry_index_check(struct quarry *q,
                       const char *table,
                       const char *name,
                       bool mend,
                       struct quarry_index_report *out,
                       quarry_index_progress progress,
                       void *ctx,
                       struct err *err)
{
    const struct index_def *d;
    struct quarry_table *t;
    struct index_set *set;
    int rc = find_def(q, table, name, &t, &set, &d, err);
    *out = (struct quarry_index_report){.rows = 0};
    if (rc == 0 && d->state != INDEX_READY)
        rc = err_set(err, ERR_UNSUPPORTED,
                     "it is being built: create it again to continue");
    if (rc == 0)
        rc = index_compare(t, set, d, mend, out, progress, ctx, err);
    if (rc)
        err_wrap(err, "index %s", name);
    index_admin_release(t, set);
    POST(rc || out->mended <= out->missing + out->stale);
    return rc;
}

/* --- listing ------------------------------------------------------------- */

struct index_listing {
    struct quarry_index_list list;
    struct arena arena;
    struct buf infos; /* struct quarry_index_info */
};

static void
list_def(struct index_listing *l, const char *table, const struct index_def *d)
{
    struct quarry_index_column *columns =
        arena_alloc(&l->arena, d->column_count * sizeof(*columns));
    char entries[TABLE_NAME_BYTES_MAX + 1];
    struct quarry_index_info info = {.table = arena_strdup(&l->arena, table),
                                     .name = arena_strdup(&l->arena, d->name),
                                     .columns = columns,
                                     .column_count = d->column_count,
                                     .unique = d->unique,
                                     .ready = d->state == INDEX_READY};
    PRE(d->column_count <= INDEX_COLUMNS_MAX);
    for (size_t i = 0; i < d->column_count; i++) {
        struct slice q = d->columns[i].qualifier;
        char *copy = arena_alloc(&l->arena, q.len + 1);
        memcpy(copy, q.data, q.len);
        columns[i] = (struct quarry_index_column){
            arena_strdup(&l->arena, d->columns[i].family),
            slice_make(copy, q.len)};
    }
    index_table_name(d, entries);
    info.entries = arena_strdup(&l->arena, entries);
    buf_append(&l->infos, &info, sizeof(info));
}

static int list_table(struct quarry *q,
                      struct index_listing *l,
                      const char *table,
                      struct err *err)
{
    struct index_set *set = NULL;
    struct quarry_table *t;
    int rc = quarry_table_open(q, table, &t, err);
    if (rc)
        return rc;
    rc = t->ops->table_indexes(t, &set, err);
    for (size_t i = 0; rc == 0 && set && i < set->count; i++)
        list_def(l, table, &set->defs[i]);
    index_set_unref(set);
    quarry_table_close(t);
    return rc;
}

static int list_all(struct quarry *q, struct index_listing *l, struct err *err)
{
    char **names;
    size_t count;
    int rc = quarry_table_list(q, &names, &count, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = names[i][0] == '.' ? 0 : list_table(q, l, names[i], err);
        if (rc == ERR_NOTFOUND || rc == ERR_DENIED)
            rc = 0; /* It was dropped meanwhile, or is not the caller's. */
    }
    quarry_names_free(names, count);
    return rc;
}

int quarry_index_list(struct quarry *q,
                      const char *table,
                      struct quarry_index_list **out,
                      struct err *err)
{
    struct index_listing *l = mem_zalloc(1, sizeof(*l));
    int rc;
    arena_init(&l->arena);
    rc = table ? list_table(q, l, table, err) : list_all(q, l, err);
    l->list.list = (const void *)l->infos.data;
    l->list.count = l->infos.len / sizeof(struct quarry_index_info);
    *out = &l->list;
    if (rc) {
        quarry_index_list_free(*out);
        *out = NULL;
    }
    return rc;
}

void quarry_index_list_free(struct quarry_index_list *list)
{
    struct index_listing *l;
    if (!list)
        return;
    l = CONTAINER_OF(list, struct index_listing, list);
    arena_close(&l->arena);
    buf_close(&l->infos);
    mem_free(l);
}
