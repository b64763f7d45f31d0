/* Reading and writing tables' records. A name that is too long to exist gives
 * the same error as one that does not exist, with the detail that clients act
 * on. */
#include "bigtable/master/table_file.h"

#include <stdio.h>

#include "base/core/panic.h"
#include "bigtable/master/lock_state.h"
#include "bigtable/master/master_term.h"

static int no_table(struct slice name, struct err *err)
{
    err_set(err, ERR_NOTFOUND, "no table %.*s", SLICE_ARG(name));
    err_set_detail(err, ERR_DETAIL_NO_TABLE, "");
    return ERR_NOTFOUND;
}

int table_file_read(struct master_term *r,
                    struct slice name,
                    struct table_file *f,
                    struct err *err)
{
    int rc;
    f->bytes = BUF_INIT;
    if (name.len > TABLE_NAME_BYTES_MAX)
        return no_table(name, err);
    snprintf(f->path, sizeof(f->path), "%s/%.*s", BIGTABLE_LOCK_TABLES,
             SLICE_ARG(name));
    rc = lock_state_read(r->chubby, f->path, &f->bytes, &f->generation, err);
    if (rc == 0)
        rc = table_record_get(buf_slice(&f->bytes), &f->record, err);
    return rc;
}

int table_file_find(struct master_term *r,
                    struct slice name,
                    struct table_file *f,
                    struct err *err)
{
    int rc = table_file_read(r, name, f, err);

    PRE(r->chubby);
    if (rc == ERR_NOTFOUND || (rc == 0 && f->record.dropping))
        return no_table(name, err);
    return rc;
}

void table_file_close(struct table_file *f)
{
    buf_close(&f->bytes);
}

int table_file_write(struct master_term *r,
                     const struct table_file *f,
                     const struct table_record *rec,
                     struct err *err)
{
    struct buf b = BUF_INIT;
    int rc;

    PRE(f->generation != 0);
    PRE(rec->id == f->record.id);
    table_record_put(rec, &b);
    rc =
        lock_state_write(r->chubby, f->path, buf_slice(&b), f->generation, err);
    buf_close(&b);
    return rc;
}
