/* Reading single rows of the store, on the caller's thread. Options are parsed
 * once into a read_spec, which asynchronous reads keep.
 */
#include "base/core/panic.h"
#include "bigtable/client/embedded/embedded.h"
#include "bigtable/read/read_options.h"
#include "bigtable/row/mutation.h"
#include "bigtable/row/row_copy.h"
#include "bigtable/store/store.h"
#include "bigtable/tablet/table_part.h"

void prepared_read_init(struct prepared_read *r,
                        struct quarry_table *t,
                        const struct quarry_read_options *opts)
{
    *r = (struct prepared_read){.table = t};
    r->view = table_part_get_view(t->table);
    if (!r->view) {
        table_part_gone(t->table, &r->err);
        return;
    }
    if (read_spec_build(&r->spec, r->view, opts, &r->err)) {
        table_part_view_unref(r->view);
        r->view = NULL;
    }
}

void prepared_read_close(struct prepared_read *r)
{
    read_spec_close(&r->spec);
    table_part_view_unref(r->view);
}

int prepared_read_row(struct prepared_read *r,
                      struct slice row,
                      struct quarry_row **out,
                      struct err *err)
{
    const struct quarry_row *found;
    struct scan *scan;
    int rc;
    *out = NULL;
    if (!r->view)
        return err_copy(err, &r->err);
    rc = row_name_check(row, err);
    if (rc)
        return rc;
    read_spec_set_row(&r->spec, row);
    rc = scan_new(r->view, &r->spec,
                  tablet_env_age_us(&r->table->quarry->store->env), &scan, err);
    if (rc)
        return rc;
    rc = scan_next(scan, &found, err);
    if (rc == 0 && found)
        *out = row_copy(found);
    scan_free(scan);
    return rc;
}

int embedded_read_row(struct quarry_table *t,
                      struct slice row,
                      const struct quarry_read_options *opts,
                      struct quarry_row **out,
                      struct err *err)
{
    struct prepared_read r;
    int rc;
    prepared_read_init(&r, t, opts);
    rc = prepared_read_row(&r, row, out, err);
    prepared_read_close(&r);
    return rc;
}

int embedded_read_rows(struct quarry_table *t,
                       const struct slice *keys,
                       size_t count,
                       const struct quarry_read_options *opts,
                       struct quarry_row **rows,
                       struct err *err)
{
    struct prepared_read r;
    int rc = 0;
    PRE(count == 0 || rows[0] == NULL);
    prepared_read_init(&r, t, opts);
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = prepared_read_row(&r, keys[i], &rows[i], err);
    prepared_read_close(&r);
    return rc;
}

int embedded_get(struct quarry_table *t,
                 struct slice row,
                 const char *family,
                 struct slice qualifier,
                 struct buf *value,
                 bool *found,
                 struct err *err)
{
    int64_t timestamp_us;
    buf_clear(value);
    return read_cell(t->table, row, slice_str(family), qualifier, value,
                     &timestamp_us, found, err);
}

/* --- for asynchronous calls ---------------------------------------------- */

struct any_read *embedded_read_prepare(struct quarry_table *t,
                                       const struct quarry_read_options *opts)
{
    struct prepared_read *r = mem_alloc(sizeof(*r));
    prepared_read_init(r, t, opts);
    return (struct any_read *)r;
}

int embedded_read_run(struct any_read *r,
                      struct slice row,
                      struct quarry_row **out,
                      struct err *err)
{
    return prepared_read_row((struct prepared_read *)r, row, out, err);
}

void embedded_read_free(struct any_read *r)
{
    prepared_read_close((struct prepared_read *)r);
    mem_free(r);
}
