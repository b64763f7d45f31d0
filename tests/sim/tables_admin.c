/* Tables that come and go. */
#include "tests/sim/tables_admin.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/client/quarry.h"
#include "tests/clients/rows.h"

#define CALL_US (15 * SECOND_US)

enum {
    OWN_MAX = 64,
    NAME_BYTES = 16
};

/* What is known of a table: it is there, is not, or an order about it was not
 * answered. */
enum fate {
    ABSENT,
    PRESENT,
    IN_DOUBT
};

struct own {
    char name[NAME_BYTES];
    enum fate fate;
    enum fate family; /* "extra" of it. */
};

struct tables_admin {
    struct tables_cell *tables;
    const char *const *others;
    size_t other_count;
    struct own own[OWN_MAX];
    size_t own_count;
};

static enum fate fate_after(int rc, enum fate wanted)
{
    return rc == 0 ? wanted : IN_DOUBT;
}

/* --- orders ----------------------------------------------------------- */

static struct own *create(struct tables_admin *a, struct quarry *q)
{
    static const struct quarry_family_spec family = {"f", "versions=1"};
    struct own *o = &a->own[a->own_count];
    struct err err = ERR_INIT;
    int rc;
    if (a->own_count == OWN_MAX)
        return NULL;
    a->own_count++;
    snprintf(o->name, sizeof(o->name), "own%zu", a->own_count % 1000);
    o->fate = IN_DOUBT;
    rc = quarry_table_create(q, o->name, &family, 1, NULL, 0, &err);
    o->fate = fate_after(rc, PRESENT);
    return rc == 0 ? o : NULL;
}

static void add_family(struct own *o, struct quarry *q)
{
    static const struct quarry_alter add = {QUARRY_ADD_FAMILY, "extra", ""};
    o->family = IN_DOUBT;
    o->family =
        fate_after(quarry_table_alter(q, o->name, &add, 1, NULL), PRESENT);
}

static void drop_family(struct own *o, struct quarry *q)
{
    static const struct quarry_alter drop = {QUARRY_DROP_FAMILY, "extra", NULL};
    o->family = IN_DOUBT;
    o->family =
        fate_after(quarry_table_alter(q, o->name, &drop, 1, NULL), ABSENT);
}

static int
write_row(struct own *o, struct quarry_table *t, const char *family, char row)
{
    struct quarry_mutation *m = quarry_mutation_new(slice_make(&row, 1));
    struct err err = ERR_INIT;
    int rc;
    quarry_mutation_set(m, family, SLICE_LIT("q"), QUARRY_NOW,
                        slice_str(o->name));
    rc = quarry_apply(t, m, NULL, &err);
    quarry_mutation_free(m);
    return rc;
}

/* Writes to a table that is there do not find that it is not. */
static void write_rows(struct own *o, struct quarry *q, struct storm_client *c)
{
    struct quarry_table *t;
    struct err err = ERR_INIT;
    int rc = quarry_table_open(q, o->name, &t, &err);
    STORM_CHECK(rc != ERR_NOTFOUND, "%s: %s", o->name, err.text);
    for (int i = 0; rc == 0 && i < 8 && storm_goes_on(c); i++) {
        char row = (char)('a' + rand_below(&c->rand, 26));
        rc = write_row(o, t, "f", row);
        STORM_CHECK(rc != ERR_NOTFOUND, "%s: its family is not there", o->name);
        if (rc || o->family == IN_DOUBT)
            continue;
        rc = write_row(o, t, "extra", row);
        STORM_CHECK(rc != (o->family == PRESENT ? ERR_NOTFOUND : 0),
                    "%s: family extra is %s", o->name,
                    rc ? "missing" : "there");
        rc = 0;
    }
    quarry_table_close(t);
}

static void drop(struct own *o, struct quarry *q)
{
    o->fate = IN_DOUBT;
    o->fate = fate_after(quarry_table_drop(q, o->name, NULL), ABSENT);
}

/* --- tables of others ------------------------------------------------- */

static void
trouble_others(struct tables_admin *a, struct quarry *q, struct storm_client *c)
{
    const char *name = a->others[rand_below(&c->rand, a->other_count)];
    char row[ROW_KEY_BYTES];
    struct err err = ERR_INIT;
    row_key((uint32_t)rand_below(&c->rand, 256), row);
    if (rand_one_in(&c->rand, 4))
        (void)!quarry_table_compact(q, name, &err);
    else if (rand_one_in(&c->rand, 4))
        (void)!quarry_flush(q, &err);
    else
        (void)!quarry_table_split(q, name, slice_str(row), &err);
    c->storm->call_count++;
}

/* --- the whole -------------------------------------------------------- */

static void
one_table(struct tables_admin *a, struct quarry *q, struct storm_client *c)
{
    struct own *o = create(a, q);
    if (!o)
        return;
    write_rows(o, q, c);
    add_family(o, q);
    write_rows(o, q, c);
    if (rand_one_in(&c->rand, 2)) {
        drop_family(o, q);
        write_rows(o, q, c);
    }
    if (!rand_one_in(&c->rand, 3))
        drop(o, q);
    c->storm->call_count += 4;
}

void tables_admin_work(struct storm_client *c)
{
    struct tables_admin *a = c->ctx;
    struct quarry *q;
    if (tables_cell_open(a->tables, c->world, CALL_US, &q, NULL))
        return;
    while (storm_goes_on(c)) {
        if (rand_one_in(&c->rand, 3))
            one_table(a, q, c);
        else
            trouble_others(a, q, c);
        storm_sleep_us(rand_below(&c->rand, SECOND_US));
    }
    quarry_close(q);
}

void tables_admin_finish(struct tables_admin *a, struct quarry *q)
{
    for (size_t i = 0; i < a->own_count; i++) {
        struct own *o = &a->own[i];
        struct quarry_table *t = NULL;
        struct err err = ERR_INIT;
        int rc = quarry_table_open(q, o->name, &t, &err);
        STORM_CHECK(rc == 0 || rc == ERR_NOTFOUND, "%s: %s", o->name, err.text);
        STORM_CHECK(o->fate == IN_DOUBT || (rc == 0) == (o->fate == PRESENT),
                    "%s should%s be there", o->name, rc ? "" : " not");
        if (rc == 0)
            quarry_table_close(t);
    }
}

struct tables_admin *
tables_admin_new(struct tables_cell *t, const char *const *tables, size_t count)
{
    struct tables_admin *a = mem_zalloc(1, sizeof(*a));
    a->tables = t;
    a->others = tables;
    a->other_count = count;
    return a;
}

void tables_admin_free(struct tables_admin *a)
{
    mem_free(a);
}
