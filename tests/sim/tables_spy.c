/* Checks who may read, and who may not. */
#include "tests/sim/tables_spy.h"

#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "bigtable/quarry_access.h"

#define TABLE   "closed"
#define FAMILY  "f"
#define COLUMN  SLICE_LIT("q")
#define FRIEND  "friend"
#define GUEST   "guest"
#define MALLORY "mallory"
#define CALL_US (15 * SECOND_US)
/* So soon after it was taken away a right is gone everywhere. */
#define GONE_US (30 * SECOND_US)

enum {
    ROWS = 20,
    WAYS = 3, /* Of look(). */
    KEY_BYTES = 8
};

struct tables_spy {
    struct tables_cell *tables;
};

/* A principal, and the table as it sees it. */
struct eye {
    struct quarry *quarry;
    struct quarry_table *table;
};

struct tables_spy *tables_spy_new(struct tables_cell *t)
{
    struct tables_spy *s = mem_zalloc(1, sizeof(*s));
    s->tables = t;
    return s;
}

void tables_spy_free(struct tables_spy *s)
{
    mem_free(s);
}

static void make_key(uint64_t row, char out[KEY_BYTES])
{
    snprintf(out, KEY_BYTES, "s%02u", (unsigned)(row % 100));
}

/* --- before -------------------------------------------------------------- */

static void must(int rc, const struct err *err)
{
    STORM_CHECK(rc == 0, "spy: %s", err->text);
}

static void put_rows(struct quarry_table *t)
{
    struct err err = ERR_INIT;
    for (uint64_t i = 0; i < ROWS; i++) {
        struct quarry_mutation *m;
        char key[KEY_BYTES];
        make_key(i, key);
        m = quarry_mutation_new(slice_str(key));
        quarry_mutation_set(m, FAMILY, COLUMN, 1000, slice_str(key));
        must(quarry_apply(t, m, NULL, &err), &err);
        quarry_mutation_free(m);
    }
}

void tables_spy_prepare(struct tables_spy *s, struct quarry *q)
{
    static const struct quarry_family_spec family = {FAMILY, ""};
    struct quarry_table *t;
    struct err err = ERR_INIT;
    (void)s;
    must(quarry_table_create(q, TABLE, &family, 1, NULL, 0, &err), &err);
    must(quarry_table_open(q, TABLE, &t, &err), &err);
    put_rows(t);
    quarry_table_close(t);
    must(quarry_acl_grant(q, TABLE, "*", "read", FRIEND "," GUEST, &err), &err);
}

/* --- looking ------------------------------------------------------------- */

static int eye_open(struct eye *e, struct quarry *q, const char *name)
{
    int rc = quarry_as(q, name, &e->quarry, NULL);
    if (rc)
        return rc;
    rc = quarry_table_open(e->quarry, TABLE, &e->table, NULL);
    if (rc)
        quarry_close(e->quarry);
    return rc;
}

static void eye_close(struct eye *e)
{
    quarry_table_close(e->table);
    quarry_close(e->quarry);
}

static int look_by_scan(struct eye *e, bool *seen, struct err *err)
{
    const struct quarry_row *row = NULL;
    struct quarry_scanner *s;
    int rc = quarry_scan(e->table, NULL, &s, err);
    if (rc)
        return rc;
    rc = quarry_scanner_next(s, &row, err);
    *seen = rc == 0 && row;
    quarry_scanner_close(s);
    return rc;
}

/* Change @key to what it is, if that is allowed. */
static int look_by_change(struct eye *e, const char *key, struct err *err)
{
    struct quarry_mutation *m = quarry_mutation_new(slice_str(key));
    int rc;
    quarry_mutation_set(m, FAMILY, COLUMN, 1000, slice_str(key));
    rc = quarry_apply(e->table, m, NULL, err);
    quarry_mutation_free(m);
    return rc;
}

/* One way of several to row @key; *@seen: it was there. */
static int
look(struct eye *e, unsigned way, const char *key, bool *seen, struct err *err)
{
    struct slice k = slice_str(key);
    struct quarry_row *row = NULL;
    struct buf value = BUF_INIT;
    int rc;
    *seen = false;
    if (way == 0) {
        rc = look_by_scan(e, seen, err);
    } else if (way == 1) {
        rc = quarry_get(e->table, k, FAMILY, COLUMN, &value, seen, err);
    } else {
        rc = quarry_read_row(e->table, k, NULL, &row, err);
        *seen = row != NULL;
    }
    quarry_row_free(row);
    buf_close(&value);
    return rc;
}

static void
look_once(struct storm_client *c, struct eye *friend, struct eye *mallory)
{
    unsigned way = (unsigned)rand_below(&c->rand, WAYS);
    struct err err = ERR_INIT;
    char key[KEY_BYTES];
    bool seen;
    int rc;
    make_key(rand_below(&c->rand, ROWS), key);
    rc = look(mallory, way, key, &seen, &err);
    STORM_CHECK(rc != 0 && !seen, MALLORY " sees row %s by way %u", key, way);
    rc = look_by_change(mallory, key, &err);
    STORM_CHECK(rc != 0, MALLORY " writes row %s", key);
    rc = look(friend, way, key, &seen, &err);
    STORM_CHECK(rc != ERR_DENIED, FRIEND " is refused: %s", err.text);
    STORM_CHECK(rc || seen, FRIEND " does not find row %s by way %u", key, way);
    c->storm->call_count += 3;
}

void tables_spy_work(struct storm_client *c)
{
    struct tables_spy *s = c->ctx;
    struct quarry *q;
    struct eye friend;
    struct eye mallory;
    if (tables_cell_open(s->tables, c->world, CALL_US, &q, NULL))
        return;
    if (eye_open(&friend, q, FRIEND) == 0) {
        if (eye_open(&mallory, q, MALLORY) == 0) {
            while (storm_goes_on(c)) {
                look_once(c, &friend, &mallory);
                storm_sleep_us(rand_below(&c->rand, SECOND_US / 4));
            }
            eye_close(&mallory);
        }
        eye_close(&friend);
    }
    quarry_close(q);
}

/* --- after --------------------------------------------------------------- */

void tables_spy_finish(struct tables_spy *s, struct quarry *q)
{
    struct err err = ERR_INIT;
    struct eye guest;
    bool seen;
    (void)s;
    must(quarry_acl_grant(q, TABLE, "*", "read", GUEST, &err), &err);
    must(eye_open(&guest, q, GUEST), &err);
    storm_sleep_us(GONE_US);
    must(look(&guest, 1, "s00", &seen, &err), &err);
    must(quarry_acl_revoke(q, TABLE, "*", "read", GUEST, &err), &err);
    storm_sleep_us(GONE_US);
    for (unsigned way = 0; way < WAYS; way++)
        STORM_CHECK(look(&guest, way, "s00", &seen, &err) == ERR_DENIED,
                    GUEST " keeps a right that was taken away, by way %u", way);
    eye_close(&guest);
}
