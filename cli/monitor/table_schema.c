/* The schema of a table, from its file in the lock service: the tablet
 * servers that would tell it may be the ones that do not answer. */
#include "cli/monitor/table_schema.h"

#include <string.h>

#include "base/core/panic.h"
#include "bigtable/client/table_info.h"
#include "bigtable/row/schema.h"
#include "chubby-lite/chubby.h"

static int read_record(struct monitor *m,
                       const char *name,
                       struct buf *out,
                       struct err *err)
{
    struct chubby_handle *h = NULL;
    struct buf path = BUF_INIT;
    struct chubby *c;
    int rc = monitor_locks(m, &c, err);
    buf_printf(&path, "%s/%s", BIGTABLE_LOCK_TABLES, name);
    if (rc == 0)
        rc = chubby_open(c, buf_cstr(&path), CHUBBY_READ, NULL, &h, err);
    if (rc == 0)
        rc = chubby_read(h, out, NULL, err);
    chubby_close(h);
    buf_close(&path);
    if (rc == ERR_NOTFOUND)
        err_set(err, ERR_NOTFOUND, "there is no table %s", name);
    return rc;
}

static int decode_record(struct slice bytes,
                         struct schema **schema,
                         uint64_t *id,
                         struct err *err)
{
    struct table_record record;
    int rc = table_record_get(bytes, &record, err);
    if (rc)
        return rc;
    *id = record.id;
    return schema_decode(record.schema, schema, err);
}

int table_schema_get(struct monitor *m,
                     const char *name,
                     struct quarry_table_info **out,
                     uint64_t *id,
                     struct err *err)
{
    struct schema *schema = NULL;
    struct buf bytes = BUF_INIT;
    int rc = 0;
    *out = NULL;
    if (strcmp(name, METADATA_TABLE) == 0) {
        schema = metadata_schema();
        *id = METADATA_TABLE_ID;
    } else {
        rc = schema_check_table_name(slice_str(name), err);
        if (rc)
            return err_set(err, ERR_NOTFOUND, "there is no table of that name");
        rc = read_record(m, name, &bytes, err);
        if (rc == 0)
            rc = decode_record(buf_slice(&bytes), &schema, id, err);
    }
    if (rc == 0)
        *out = &table_info_new(name, schema)->info;
    schema_free(schema);
    buf_close(&bytes);
    return rc;
}
