/* Tables that come and go. */
#include "tests/sim/tables_admin.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "tests/clients/rows.h"

#define CALL_US (15 * SECOND_US)

enum {
    OWN_MAX = 64,
    NAME_BYTES = 16
};

/* The state of a table: it exists, does not, or an order about it was not
 * answered. */
enum fate {
    ABSENT,
    PRESENT,
    IN_DOUBT
};

struct own {
    char name[NAME_BYTES];
    char value[NAME_BYTES]; /* Of all its cells: the table that wrote them. */
    enum fate fate;
    enum fate family;  /* "extra" of it. */
    uint32_t rows;     /* Of "f" that were acknowledged, and that a copy has. */
    bool has_snapshot; /* One of its name; or perhaps. */
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

/* --- orders -------------------------------------------------------------- */

static struct own *new_table(struct tables_admin *a, const char *stem)
{
    struct own *o = &a->own[a->own_count];
    if (a->own_count == OWN_MAX)
        return NULL;
    a->own_count++;
    snprintf(o->name, sizeof(o->name), "%s%zu", stem, a->own_count % 1000);
    memcpy(o->value, o->name, sizeof(o->value));
    o->fate = IN_DOUBT;
    return o;
}

static struct own *create(struct tables_admin *a, struct quarry *q)
{
    static const struct quarry_family_spec family = {"f", "versions=1"};
    struct own *o = new_table(a, "own");
    struct err err = ERR_INIT;
    int rc;
    if (!o)
        return NULL;
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
        if (rc == 0)
            o->rows |= UINT32_C(1) << (row - 'a');
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

/* A table of what another is, or was when its snapshot was taken. */
static void copy(struct tables_admin *a,
                 struct quarry *q,
                 struct own *from,
                 struct storm_client *c)
{
    bool by_snapshot = rand_one_in(&c->rand, 2);
    struct own *o = new_table(a, "copy");
    int rc = 0;
    if (!o)
        return;
    memcpy(o->value, from->name, sizeof(o->value));
    o->rows = from->rows;
    o->family = IN_DOUBT;
    if (by_snapshot) {
        from->has_snapshot = true;
        rc = quarry_table_snapshot(q, from->name, from->name, 0, NULL);
        write_rows(from, q, c); /* The copy may lack these. */
    }
    if (rc == 0)
        rc = by_snapshot ? quarry_snapshot_restore(q, from->name, o->name, NULL)
                         : quarry_table_clone(q, from->name, o->name, NULL);
    o->fate = fate_after(rc, PRESENT);
    c->storm->call_count++;
}

/* --- tables of others ---------------------------------------------------- */

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

/* --- the whole ----------------------------------------------------------- */

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
    if (rand_one_in(&c->rand, 2))
        copy(a, q, o, c);
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

/* Its rows are those that were written, and nothing else. */
static void read_own(const struct own *o, struct quarry_table *t)
{
    const struct quarry_read_options opts = {.versions = 1};
    struct quarry_scanner *s = NULL;
    const struct quarry_row *row = NULL;
    struct err err = ERR_INIT;
    uint32_t seen = 0;
    int rc = quarry_scan(t, &opts, &s, &err);
    while (rc == 0) {
        rc = quarry_scanner_next(s, &row, &err);
        if (rc || !row)
            break;
        STORM_CHECK(row->key.len == 1 && row->key.data[0] >= 'a' &&
                        row->key.data[0] <= 'z',
                    "%s: row %.*s was never written", o->name,
                    SLICE_ARG(row->key));
        for (size_t i = 0; i < row->cell_count; i++) {
            STORM_CHECK(slice_eq_str(row->cells[i].value, o->value),
                        "%s: row %.*s holds %.*s", o->name, SLICE_ARG(row->key),
                        SLICE_ARG(row->cells[i].value));
            if (slice_eq_str(row->cells[i].family, "f"))
                seen |= UINT32_C(1) << (row->key.data[0] - 'a');
        }
    }
    STORM_CHECK(rc == 0, "%s: %s", o->name, err.text);
    STORM_CHECK((seen & o->rows) == o->rows,
                "%s: rows %" PRIx32 " are there, and %" PRIx32
                " were acknowledged",
                o->name, seen, o->rows);
    quarry_scanner_close(s);
}

/* Files of a snapshot are not garbage: readers miss none. */
static void drop_snapshot(struct own *o, struct quarry *q)
{
    struct err err = ERR_INIT;
    int rc = o->has_snapshot ? quarry_snapshot_drop(q, o->name, &err) : 0;
    STORM_CHECK(rc == 0 || rc == ERR_NOTFOUND, "snapshot %s: %s", o->name,
                err.text);
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
        if (rc == 0) {
            read_own(o, t);
            quarry_table_close(t);
        }
        drop_snapshot(o, q);
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
