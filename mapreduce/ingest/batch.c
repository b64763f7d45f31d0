/* Rows gathered and applied together. The mutations are kept for reuse: their
 * memory is touched once an import, not once a page. */
#include <string.h>

#include "base/core/hash.h"
#include "base/core/panic.h"
#include "mapreduce/ingest/ingest_run.h"

void run_batch_init(struct run_batch *b, struct run *run)
{
    PRE(run);
    memset(b, 0, sizeof(*b));
    b->run = run;
    b->hashes = mem_zalloc(RUN_BATCH_ROWS, sizeof(*b->hashes));
    b->rows = mem_zalloc(RUN_BATCH_ROWS, sizeof(struct quarry_mutation *));
}

void run_batch_close(struct run_batch *b)
{
    for (size_t i = 0; i < b->made; i++)
        quarry_mutation_free(b->rows[i]);
    mem_free(b->rows);
    mem_free(b->hashes);
}

int run_batch_flush(struct run_batch *b, struct err *err)
{
    const struct quarry_write_options opts = {QUARRY_DEFERRED};
    int rc = 0;
    PRE(b->count <= b->made);
    if (b->count)
        rc = quarry_apply_batch(b->run->table, b->rows, b->count, &opts, NULL,
                                err);
    if (rc == 0)
        run_rows(b->run, b->hashes, b->count);
    b->counts.rows += b->count;
    b->count = 0;
    b->bytes = 0;
    return rc ? rc : run_count(b->run, &b->counts, err);
}

int run_batch_row(struct run_batch *b,
                  struct slice row,
                  struct quarry_mutation **m,
                  struct err *err)
{
    if (b->count == RUN_BATCH_ROWS || b->bytes >= RUN_BATCH_BYTES) {
        int rc = run_batch_flush(b, err);
        if (rc)
            return rc;
    }
    INVARIANT(b->count < RUN_BATCH_ROWS && b->count <= b->made);
    if (b->count == b->made)
        b->rows[b->made++] = quarry_mutation_new(row);
    else
        quarry_mutation_reset(b->rows[b->count], row);
    b->hashes[b->count] = hash64_slice(row);
    *m = b->rows[b->count++];
    return 0;
}

void run_batch_set(struct run_batch *b,
                   struct quarry_mutation *m,
                   const char *family,
                   struct slice qualifier,
                   int64_t time_us,
                   struct slice value)
{
    PRE(b->count > 0);
    quarry_mutation_set(m, family, qualifier, time_us, value);
    b->bytes += value.len + qualifier.len + 64;
    b->counts.cells++;
}
