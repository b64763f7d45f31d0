/* Any bytes as the manifest of a backup, with a digest that matches: it is
 * refused, or every file of its records is listed, and it is written again as
 * it was read. The same bytes as the record of a table that is imported. */
#include <stdint.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/backup/backup_manifest.h"
#include "bigtable/wire/snapshot_calls.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void find_listed(void *ctx, uint64_t number)
{
    POST(backup_manifest_file(ctx, number));
}

static void read_manifest(struct slice bytes)
{
    struct backup_manifest m;
    struct buf again = BUF_INIT;
    struct arena a;
    arena_init(&a);
    if (backup_manifest_get(bytes, &a, &m, NULL) == 0) {
        struct snapshot_record r;
        for (size_t i = 0; i < m.table_count; i++)
            if (snapshot_record_get(m.tables[i].record, &a, &r, NULL) ||
                snapshot_each_file(&r, find_listed, &m, NULL))
                PANIC("a record that was understood is not any more");
        backup_manifest_put(&m, &again);
        arena_reset(&a);
        POST(backup_manifest_get(buf_slice(&again), &a, &m, NULL) == 0);
    }
    arena_close(&a);
    buf_close(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char digest[SHA256_BYTES];
    struct slice in = slice_make((const char *)data, size);
    const struct import_order o = {SLICE_LIT("t"), SLICE_LIT("id"), in};
    struct snapshot_record r;
    struct buf bytes = BUF_INIT;
    struct arena a;
    sha256_of(in, digest);
    buf_append(&bytes, BACKUP_MAGIC, sizeof(BACKUP_MAGIC) - 1);
    buf_append(&bytes, digest, sizeof(digest));
    buf_append_slice(&bytes, in);
    read_manifest(buf_slice(&bytes));
    read_manifest(in);
    arena_init(&a);
    if (import_record_get(&o, &a, &r, NULL) == 0)
        POST(r.tablet_count > 0);
    arena_close(&a);
    buf_close(&bytes);
    return 0;
}
