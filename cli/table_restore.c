/* Two scans in step: the table as it was, and the one that becomes it. Only
 * rows that differ are written, so a restore of what is nearly right is
 * cheap, and one that was interrupted can be repeated. */
#include "cli/table_restore.h"

#include <string.h>

#include "base/core/panic.h"
#include "bigtable/quarry.h"

/* Rows, or bytes, that are written at once. */
#define BATCH_ROWS  128
#define BATCH_BYTES ((size_t)1 << 20)

struct restoring {
    struct quarry_table_info *info; /* Of the table that is restored. */
    struct quarry_table *from;
    struct quarry_table *to;
    struct quarry_scanner *then;
    struct quarry_scanner *now;
    const struct quarry_row *was; /* Borrowed from the scanners. */
    const struct quarry_row *is;
    struct quarry_mutation *batch[BATCH_ROWS];
    size_t batch_count;
    size_t batch_bytes;
    struct table_restored *done;
};

static int check_info(struct quarry *q,
                      const char *from,
                      const struct restoring *r,
                      struct err *err)
{
    struct quarry_table_info *info;
    int rc = quarry_table_describe(q, from, &info, err);
    if (rc)
        return rc;
    if (strcmp(info->changes, "off") == 0) {
        rc = err_set(err, ERR_UNSUPPORTED,
                     "table %s keeps no changes: it cannot be brought back",
                     from);
        err_hint(err,
                 "with quarry table alter %s --changes 7d it can be from "
                 "then on",
                 from);
    } else if (r->info->transactions) {
        rc = err_set(err, ERR_UNSUPPORTED,
                     "table %s takes part in transactions", r->info->name);
        err_hint(err, "export it as of the time, and write that in one");
    }
    quarry_table_info_free(info);
    return rc;
}

static bool same_cell(const struct quarry_cell *a, const struct quarry_cell *b)
{
    return a->timestamp_us == b->timestamp_us &&
           slice_eq(a->family, b->family) &&
           slice_eq(a->qualifier, b->qualifier) && slice_eq(a->value, b->value);
}

static bool same_row(const struct quarry_row *a, const struct quarry_row *b)
{
    if (a->cell_count != b->cell_count)
        return false;
    for (size_t i = 0; i < a->cell_count; i++)
        if (!same_cell(&a->cells[i], &b->cells[i]))
            return false;
    return true;
}

static const struct quarry_family_info *family_of(const struct restoring *r,
                                                  struct slice name)
{
    for (size_t i = 0; i < r->info->family_count; i++)
        if (slice_eq_str(name, r->info->families[i].name))
            return &r->info->families[i];
    return NULL;
}

static int put_cell(const struct restoring *r,
                    struct quarry_mutation *m,
                    const struct quarry_cell *c,
                    struct err *err)
{
    const struct quarry_family_info *f = family_of(r, c->family);
    if (!f)
        return err_set(err, ERR_ABORTED, "the families have changed meanwhile");
    if (f->aggregate[0])
        quarry_mutation_merge(m, f->name, c->qualifier, c->timestamp_us,
                              c->value);
    else
        quarry_mutation_set(m, f->name, c->qualifier, c->timestamp_us,
                            c->value);
    return 0;
}

static int write_batch(struct restoring *r, struct err *err)
{
    int rc = 0;
    if (r->batch_count)
        rc = quarry_apply_batch(r->to, r->batch, r->batch_count, NULL, NULL,
                                err);
    for (size_t i = 0; i < r->batch_count; i++)
        quarry_mutation_free(r->batch[i]);
    r->batch_count = r->batch_bytes = 0;
    return rc;
}

/* Make the row @key what @was says; NULL: nothing. */
static int bring_back(struct restoring *r,
                      struct slice key,
                      const struct quarry_row *was,
                      struct err *err)
{
    struct quarry_mutation *m = quarry_mutation_new(key);
    int rc = 0;
    quarry_mutation_delete_row(m);
    for (size_t i = 0; was && rc == 0 && i < was->cell_count; i++)
        rc = put_cell(r, m, &was->cells[i], err);
    if (rc) {
        quarry_mutation_free(m);
        return rc;
    }
    r->done->rows_back += was != NULL;
    r->done->rows_gone += was == NULL;
    r->batch[r->batch_count++] = m;
    r->batch_bytes += quarry_mutation_bytes(m);
    return r->batch_count == BATCH_ROWS || r->batch_bytes >= BATCH_BYTES
               ? write_batch(r, err)
               : 0;
}

/* The next row of those in hand, in either. */
static int restore_next(struct restoring *r, struct err *err)
{
    int order = !r->was ? 1 : !r->is ? -1 : slice_cmp(r->was->key, r->is->key);
    int rc = 0;
    if (order < 0)
        rc = bring_back(r, r->was->key, r->was, err);
    else if (order > 0)
        rc = bring_back(r, r->is->key, NULL, err);
    else if (!same_row(r->was, r->is))
        rc = bring_back(r, r->was->key, r->was, err);
    if (rc == 0 && order <= 0)
        rc = quarry_scanner_next(r->then, &r->was, err);
    if (rc == 0 && order >= 0)
        rc = quarry_scanner_next(r->now, &r->is, err);
    return rc;
}

static int restore_rows(struct restoring *r, int64_t us, struct err *err)
{
    const struct quarry_read_options then = {.as_of_us = us};
    int rc = quarry_scan(r->from, &then, &r->then, err);
    if (rc == 0)
        rc = quarry_scan(r->to, NULL, &r->now, err);
    if (rc == 0)
        rc = quarry_scanner_next(r->then, &r->was, err);
    if (rc == 0)
        rc = quarry_scanner_next(r->now, &r->is, err);
    while (rc == 0 && (r->was || r->is))
        rc = restore_next(r, err);
    if (rc == 0)
        rc = write_batch(r, err);
    while (r->batch_count > 0)
        quarry_mutation_free(r->batch[--r->batch_count]);
    quarry_scanner_close(r->then);
    quarry_scanner_close(r->now);
    return rc;
}

int table_restore(struct quarry *q,
                  const char *from,
                  const char *to,
                  int64_t us,
                  struct table_restored *out,
                  struct err *err)
{
    struct restoring r = {.done = out};
    int rc = quarry_table_describe(q, to, &r.info, err);
    *out = (struct table_restored){.rows_back = 0};
    if (rc)
        return rc;
    rc = check_info(q, from, &r, err);
    if (rc == 0)
        rc = quarry_table_open(q, from, &r.from, err);
    if (rc == 0)
        rc = quarry_table_open(q, to, &r.to, err);
    if (rc == 0)
        rc = restore_rows(&r, us, err);
    if (r.to)
        quarry_table_close(r.to);
    if (r.from)
        quarry_table_close(r.from);
    quarry_table_info_free(r.info);
    return rc;
}
