/* Sites: a store has a random number, drawn once, and each of its tables one
 * that follows from it and from the table's name.
 */
#include "base/core/coding.h"
#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/quarry_replication.h"
#include "bigtable/row/mutation.h"

#define SITE_ROW    SLICE_LIT("store")
#define SITE_FAMILY "site"
#define SITE_NUMBER SLICE_LIT("number")
#define SITE_BYTES  8

static int
open_sites(struct quarry *q, struct quarry_table **out, struct err *err)
{
    const struct quarry_family_spec family = {SITE_FAMILY, "versions=1"};
    struct err ignored = ERR_INIT;
    int rc = quarry_table_open(q, REPLICATION_SITES, out, &ignored);
    if (rc == ERR_NOTFOUND) {
        rc =
            quarry_table_create(q, REPLICATION_SITES, &family, 1, NULL, 0, err);
        if (rc == 0 || rc == ERR_EXISTS)
            rc = quarry_table_open(q, REPLICATION_SITES, out, err);
    } else if (rc) {
        err_copy(err, &ignored);
    }
    return rc;
}

/* Draw a number, unless there is one. */
static int
draw_number(struct quarry *q, struct quarry_table *t, struct err *err)
{
    struct quarry_mutation *m = quarry_mutation_new(SITE_ROW);
    char bytes[SITE_BYTES];
    int rc;
    world_random_bytes(quarry_world(q), bytes, sizeof(bytes));
    quarry_mutation_set(m, SITE_FAMILY, SITE_NUMBER, 0,
                        slice_make(bytes, sizeof(bytes)));
    rc = quarry_check_and_mutate(t, SITE_ROW, NULL, NULL, m, NULL, NULL, err);
    quarry_mutation_free(m);
    return rc;
}

static int store_number(struct quarry *q, struct buf *number, struct err *err)
{
    struct quarry_table *t = NULL;
    bool found = false;
    int rc = open_sites(q, &t, err);
    for (int i = 0; i < 2 && rc == 0 && !found; i++) {
        if (i)
            rc = draw_number(q, t, err);
        if (rc == 0)
            rc = quarry_get(t, SITE_ROW, SITE_FAMILY, SITE_NUMBER, number,
                            &found, err);
    }
    if (rc == 0 && (!found || number->len != SITE_BYTES))
        rc = err_set(err, ERR_CORRUPT, "table %s: the store's number is gone",
                     REPLICATION_SITES);
    if (t)
        quarry_table_close(t);
    return rc;
}

int quarry_replication_site(struct quarry *q,
                            const char *table,
                            uint64_t *site,
                            struct err *err)
{
    struct buf name = BUF_INIT;
    int rc = store_number(q, &name, err);
    if (rc == 0) {
        buf_append_str(&name, table);
        *site = MAX_OF(hash64_slice(buf_slice(&name)), UINT64_C(1));
    } else {
        err_wrap(err, "number of the site");
    }
    buf_close(&name);
    return rc;
}

void quarry_mutation_set_origin(struct quarry_mutation *m,
                                const struct quarry_origin *origin,
                                uint64_t here)
{
    mutation_set_origin(m, origin, here);
}
