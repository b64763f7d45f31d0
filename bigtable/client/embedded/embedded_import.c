/* Whole tables out of a directory and into it: calls of the store. The keys of
 * an import are lent by the directory itself, as there is no master.
 */
#include "base/crypt/keyring.h"
#include "bigtable/client/embedded/embedded.h"
#include "bigtable/store/import_table.h"
#include "bigtable/store/snapshot.h"
#include "bigtable/store/store.h"
#include "bigtable/wire/load_calls.h"
#include "bigtable/wire/snapshot_calls.h"
#include "gfs-lite/fs.h"

int embedded_snapshot_record(struct quarry *q,
                             const char *name,
                             struct buf *out,
                             struct err *err)
{
    return store_snapshot_record(q->store, name, out, err);
}

int embedded_import_lend(struct quarry *q,
                         const char *table,
                         const char *id,
                         struct key_loan *out,
                         struct err *err)
{
    struct keyring *keys = fs_keyring(q->store->fs);
    unsigned char lent[KEYRING_SALT_BYTES];
    (void)table;
    load_loan_name(0, SLICE_EMPTY, slice_str(id), lent);
    return keys ? keyring_lend(keys, lent, out, err) : 0;
}

int embedded_import_table(struct quarry *q,
                          const char *table,
                          const char *id,
                          struct slice record,
                          struct err *err)
{
    const struct import_order o = {slice_str(table), slice_str(id), record};
    return store_import_table(q->store, &o, err);
}
