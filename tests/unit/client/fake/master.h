/* A fake master: tables are made, changed and dropped at once. */
#ifndef TESTS_UNIT_CLIENT_FAKE_MASTER_H
#define TESTS_UNIT_CLIENT_FAKE_MASTER_H

#include <string.h>

#include "base/core/panic.h"
#include "bigtable/wire/control_calls.h"
#include "tests/unit/client/fake/tablets.h"

static inline struct fake_table *fake_table(struct fake *f, struct slice name)
{
    for (size_t i = 0; i < f->table_count; i++)
        if (slice_eq_str(name, f->tables[i].name))
            return &f->tables[i];
    return NULL;
}

/* The same schema, made by the public library: families and groups. */
static inline int fake_make(struct fake *f,
                            const char *name,
                            const struct schema *s,
                            struct err *e)
{
    struct quarry_family_spec *families =
        mem_zalloc(s->family_count + 1, sizeof(*families));
    int rc;
    for (size_t i = 0; i < s->family_count; i++)
        families[i] = (struct quarry_family_spec){s->families[i].name, ""};
    rc = quarry_table_create(f->store, name, families, s->family_count, NULL, 0,
                             e);
    mem_free(families);
    return rc;
}

static inline int
fake_create(struct fake *f, const struct table_order *o, struct err *e)
{
    struct fake_table *t = &f->tables[f->table_count];
    int rc;
    if (fake_table(f, o->name))
        return err_set(e, ERR_EXISTS, "table %.*s exists already",
                       SLICE_ARG(o->name));
    *t = (struct fake_table){.id = f->next_table++, .generation = 1};
    snprintf(t->name, sizeof(t->name), "%.*s", SLICE_ARG(o->name));
    rc = schema_decode(o->schema, &t->schema, e);
    if (rc == 0)
        rc = fake_make(f, t->name, t->schema, e);
    if (rc)
        return rc;
    f->table_count++;
    fake_record(f, fake_add(f, t->id, t->name, SLICE_EMPTY, SLICE_EMPTY,
                            (unsigned)f->table_count));
    fake_record_table(f, t);
    return 0;
}

static inline int fake_drop(struct fake *f, struct fake_table *t, struct err *e)
{
    char path[128];
    struct chubby_handle *h;
    int rc = quarry_table_drop(f->store, t->name, e);
    if (rc)
        return rc;
    snprintf(path, sizeof(path), BIGTABLE_LOCK_TABLES "/%s", t->name);
    fake_must(
        chubby_open(f->chubby, path, CHUBBY_READ | CHUBBY_WRITE, NULL, &h, e),
        e);
    fake_must(chubby_delete(h, e), e);
    chubby_close(h);
    for (size_t i = 0; i < f->tablet_count; i++)
        if (f->tablets[i].table == t->id)
            f->tablets[i].id = 0;
    t->name[0] = '\0';
    return 0;
}

static inline int fake_alter(struct fake *f,
                             struct fake_table *t,
                             const struct table_order *o,
                             struct err *e)
{
    /* The store takes the same changes: read them for it. */
    struct schema *s = schema_copy(t->schema);
    int rc = alter_apply(o->schema, s, e);
    if (rc == 0)
        for (size_t i = 0; i < s->family_count && rc == 0; i++)
            if (!schema_family(t->schema, slice_str(s->families[i].name))) {
                struct quarry_alter a = {QUARRY_ADD_FAMILY, s->families[i].name,
                                         ""};
                rc = quarry_table_alter(f->store, t->name, &a, 1, e);
            }
    if (rc) {
        schema_free(s);
        return rc;
    }
    schema_free(t->schema);
    t->schema = s;
    t->generation++;
    fake_record_table(f, t);
    return 0;
}

static inline int fake_order(void *ctx, struct rpc_call *call, struct err *e)
{
    struct fake *f = ctx;
    struct table_order o;
    struct fake_table *t;
    int rc = table_order_get(call->body, &o, e);
    if (rc)
        return rc;
    t = fake_table(f, o.name);
    if (f->no_master || fake_take(&f->faults.refuse))
        return err_set(e, ERR_UNAVAILABLE, "not the master");
    if (call->method == MASTER_CREATE_TABLE)
        rc = fake_create(f, &o, e);
    else if (call->method == MASTER_FLUSH)
        rc = quarry_flush(f->store, e);
    else if (!t)
        rc = err_set(e, ERR_NOTFOUND, "no table %.*s", SLICE_ARG(o.name));
    else if (call->method == MASTER_DROP_TABLE)
        rc = fake_drop(f, t, e);
    else if (call->method == MASTER_ALTER_TABLE)
        rc = fake_alter(f, t, &o, e);
    else if (call->method == MASTER_SPLIT)
        fake_split_tablet(f, fake_find(f, t->name, o.row), o.row);
    else if (call->method == MASTER_COMPACT)
        rc = quarry_table_compact(f->store, t->name, e);
    else if (call->method == MASTER_DROP_ROWS)
        rc = quarry_table_drop_rows(f->store, t->name, o.row, o.row_end, e);
    if (rc == 0 && fake_take(&f->faults.lose_answers))
        rc = err_set(e, ERR_UNAVAILABLE, "the answer was lost");
    return rc;
}

#endif /* TESTS_UNIT_CLIENT_FAKE_MASTER_H */
