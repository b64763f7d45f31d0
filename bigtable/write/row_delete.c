/* Deleting a range of rows, one by one: a scan of the keys, and a synced batch
 * of deletions for each thousand of them. The scan sees the tablets as they
 * were when it began, so rows that first appear later stay.
 */
#include "bigtable/write/row_delete.h"

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/read/scan.h"
#include "bigtable/row/mutation.h"
#include "bigtable/tablet/table_part.h"
#include "bigtable/tablet/tablet_env.h"
#include "bigtable/write/write_queue.h"

#define BATCH_ROWS 1024

struct deletion {
    struct quarry_mutation rows[BATCH_ROWS];
    const struct quarry_mutation *list[BATCH_ROWS];
    size_t count;
};

static int write_batch(struct tablet_env *env,
                       struct table_part *t,
                       struct deletion *d,
                       struct err *err)
{
    int rc = write_apply(env, t, d->list, d->count, WRITE_SYNCED,
                         (int64_t)world_now_us(env->world), NULL, NULL, err);
    PRE(d->count > 0);
    PRE(d->count <= BATCH_ROWS);
    d->count = 0;
    return rc;
}

static int delete_found(struct tablet_env *env,
                        struct table_part *t,
                        struct scan *scan,
                        struct deletion *d,
                        struct err *err)
{
    const struct quarry_row *row;
    int rc;
    PRE(d->count == 0);
    while ((rc = scan_next(scan, &row, err)) == 0 && row) {
        struct quarry_mutation *m = &d->rows[d->count];
        mutation_reset(m, row->key);
        mutation_delete_row(m);
        d->list[d->count++] = m;
        if (d->count == BATCH_ROWS) {
            rc = write_batch(env, t, d, err);
            if (rc)
                return rc;
        }
    }
    INVARIANT(d->count <= BATCH_ROWS);
    return rc == 0 && d->count ? write_batch(env, t, d, err) : rc;
}

int delete_rows(struct tablet_env *env,
                struct table_part *t,
                struct slice start,
                struct slice end,
                struct err *err)
{
    struct read_spec spec = {.keys_only = true, .versions = 1};
    struct table_part_view *v = table_part_get_view(t);
    struct deletion *d;
    struct scan *scan;
    int rc;
    if (!v)
        return table_part_gone(t, err);
    read_spec_add_range(&spec, start, end);
    read_spec_finish(&spec);
    rc = scan_new(v, &spec, tablet_env_age_us(env), &scan, err);
    if (rc == 0) {
        d = mem_zalloc(1, sizeof(*d));
        rc = delete_found(env, t, scan, d, err);
        for (size_t i = 0; i < BATCH_ROWS; i++)
            mutation_close(&d->rows[i]);
        mem_free(d);
        scan_free(scan);
    }
    read_spec_close(&spec);
    table_part_view_unref(v);
    return rc;
}
