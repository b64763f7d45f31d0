/* Whole tables out and in: the calls of table_import.h, by the target's
 * operations. */
#include "bigtable/client/table_import.h"

#include "base/crypt/keyring.h"
#include "bigtable/client/client.h"
#include "bigtable/client/cluster/cluster_client.h"
#include "bigtable/row/schema.h"
#include "bigtable/store/add_files.h"
#include "bigtable/store/store.h"
#include "bigtable/wire/load_calls.h"

void quarry_put_target(const struct quarry *q, struct buf *out)
{
    if (q->store)
        buf_printf(out, "file:%s", q->store->dir);
    else
        buf_append_str(out, q->cluster->target);
}

int quarry_snapshot_record(struct quarry *q,
                           const char *name,
                           struct buf *out,
                           struct err *err)
{
    return q->ops->snapshot_record(q, name, out, err);
}

int quarry_import_lend(struct quarry *q,
                       const char *table,
                       const char *id,
                       struct key_loan *out,
                       struct err *err)
{
    int rc = load_check_name("the import's id", slice_str(id), err);
    *out = (struct key_loan){.key_id = 0};
    return rc ? rc : q->ops->import_lend(q, table, id, out, err);
}

int quarry_import_table(struct quarry *q,
                        const char *table,
                        const char *id,
                        struct slice record,
                        struct err *err)
{
    int rc = load_check_name("the import's id", slice_str(id), err);
    if (rc == 0)
        rc = schema_check_table_name(slice_str(table), err);
    return rc ? rc : q->ops->import_table(q, table, id, record, err);
}

int quarry_import_check(struct fs *fs,
                        const struct new_file *f,
                        const struct schema *schema,
                        struct err *err)
{
    return check_new_file(fs, f, schema, err);
}
