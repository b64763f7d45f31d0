/* Rows gathered and applied together. Mutations are used again, so that their
 * memory is touched once an import, not once a row. Those of long rows are few
 * and kept apart, up to the bytes of a batch: if every mutation had its turn
 * with a page, thousands would grow to the longest one. */
#include <string.h>

#include "base/core/hash.h"
#include "base/core/panic.h"
#include "mapreduce/ingest/ingest_run.h"

/* --- mutations to use again ---------------------------------------------- */

static void run_spare_init(struct run_spare *s)
{
    *s = (struct run_spare){
        .at = mem_zalloc(RUN_BATCH_ROWS, sizeof(struct run_mutation))};
}

static void run_spare_close(struct run_spare *s)
{
    for (size_t i = 0; i < s->count; i++)
        quarry_mutation_free(s->at[i].mutation);
    mem_free(s->at);
}

/* One for @row; a new one if none is there. */
static struct run_mutation run_spare_take(struct run_spare *s, struct slice row)
{
    struct run_mutation m = {NULL, 0};
    if (s->count == 0) {
        m.mutation = quarry_mutation_new(row);
        return m;
    }
    m = s->at[--s->count];
    INVARIANT(m.bytes_most <= s->bytes);
    s->bytes -= m.bytes_most;
    quarry_mutation_reset(m.mutation, row);
    return m;
}

/* Keep @m if the stack then has at most @most bytes. */
static void
run_spare_give(struct run_spare *s, struct run_mutation m, size_t most)
{
    if (s->count == RUN_BATCH_ROWS || s->bytes + m.bytes_most > most) {
        quarry_mutation_free(m.mutation);
        return;
    }
    s->at[s->count++] = m;
    s->bytes += m.bytes_most;
}

/* --- the batch ----------------------------------------------------------- */

void run_batch_init(struct run_batch *b, struct run *run)
{
    PRE(run);
    memset(b, 0, sizeof(*b));
    b->run = run;
    b->hashes = mem_zalloc(RUN_BATCH_ROWS, sizeof(*b->hashes));
    b->sizes = mem_zalloc(RUN_BATCH_ROWS, sizeof(*b->sizes));
    b->rows = mem_zalloc(RUN_BATCH_ROWS, sizeof(struct quarry_mutation *));
    b->key_ends = mem_zalloc(RUN_BATCH_ROWS, sizeof(*b->key_ends));
    b->absent = mem_zalloc(RUN_BATCH_ROWS, sizeof(*b->absent));
    run_spare_init(&b->short_rows);
    run_spare_init(&b->long_rows);
}

void run_batch_close(struct run_batch *b)
{
    for (size_t i = 0; i < b->count; i++)
        quarry_mutation_free(b->rows[i]);
    run_spare_close(&b->short_rows);
    run_spare_close(&b->long_rows);
    mem_free(b->rows);
    mem_free(b->sizes);
    mem_free(b->hashes);
    mem_free(b->absent);
    mem_free(b->key_ends);
    buf_close(&b->keys);
}

/* The last row has all its cells. */
static void end_row(struct run_batch *b)
{
    if (b->count > 0)
        b->sizes[b->count - 1] = MAX_OF(b->sizes[b->count - 1], b->row_bytes);
    b->row_bytes = 0;
}

static void give_back(struct run_batch *b)
{
    /* The first row's mutation ends on top, where the next batch begins. */
    while (b->count > 0) {
        struct run_mutation m = {b->rows[b->count - 1], b->sizes[b->count - 1]};
        if (m.bytes_most > RUN_LONG_ROW_BYTES)
            run_spare_give(&b->long_rows, m, RUN_BATCH_BYTES);
        else
            run_spare_give(&b->short_rows, m,
                           RUN_BATCH_ROWS * RUN_LONG_ROW_BYTES);
        b->count--;
    }
    b->bytes = 0;
    buf_clear(&b->keys);
}

/* Are rows that were not there before counted, by looking each one up? */
static bool looks_up(const struct run *run)
{
    return run->text && run->opts.count_new && !run->made_table &&
           !run->may_not_read;
}

/* Which of the rows are in the table? False: nobody asks, or the caller may
 * write and not read. */
static int look_up(struct run_batch *b, bool *looked, struct err *err)
{
    struct run *run = b->run;
    const struct quarry_read_options opts = {.versions = 1, .keys_only = true};
    struct quarry_row **rows;
    struct slice *keys;
    int rc;
    *looked = looks_up(run);
    if (!*looked)
        return 0;
    keys = mem_zalloc(b->count + 1, sizeof(*keys));
    rows = mem_zalloc(b->count + 1, sizeof(struct quarry_row *));
    for (size_t i = 0; i < b->count; i++)
        keys[i] = slice_sub(buf_slice(&b->keys), i ? b->key_ends[i - 1] : 0,
                            b->key_ends[i]);
    rc = quarry_read_rows(run->table, keys, b->count, &opts, rows, err);
    for (size_t i = 0; i < b->count; i++) {
        b->absent[i] = rows[i] == NULL;
        quarry_row_free(rows[i]);
    }
    mem_free(rows);
    mem_free(keys);
    if (rc == ERR_DENIED) {
        run->may_not_read = true;
        *looked = false;
        rc = 0;
        if (err)
            err_init(err);
    }
    return rc;
}

int run_batch_flush(struct run_batch *b, struct err *err)
{
    bool looked = false;
    const struct quarry_write_options opts = {QUARRY_DEFERRED};
    int rc = 0;
    PRE(b->count <= RUN_BATCH_ROWS);
    end_row(b);
    if (b->count)
        rc = look_up(b, &looked, err);
    if (b->count && !rc)
        rc = quarry_apply_batch(b->run->table, b->rows, b->count, &opts, NULL,
                                err);
    if (rc == 0)
        run_rows(b->run, b->hashes, looked ? b->absent : NULL, b->count);
    b->counts.rows += b->count;
    give_back(b);
    return rc ? rc : run_count(b->run, &b->counts, err);
}

int run_batch_row(struct run_batch *b,
                  struct slice row,
                  size_t bytes,
                  struct quarry_mutation **m,
                  struct err *err)
{
    bool is_long = bytes > RUN_LONG_ROW_BYTES;
    struct run_mutation taken;
    if (b->count == RUN_BATCH_ROWS || b->bytes >= RUN_BATCH_BYTES) {
        int rc = run_batch_flush(b, err);
        if (rc)
            return rc;
    }
    INVARIANT(b->count < RUN_BATCH_ROWS);
    end_row(b);
    taken = run_spare_take(is_long || b->short_rows.count == 0 ? &b->long_rows
                                                               : &b->short_rows,
                           row);
    b->hashes[b->count] = hash64_slice(row);
    if (looks_up(b->run)) {
        buf_append_slice(&b->keys, row);
        b->key_ends[b->count] = b->keys.len;
    }
    b->sizes[b->count] = taken.bytes_most;
    *m = b->rows[b->count++] = taken.mutation;
    return 0;
}

static bool is_aggregate(const struct run *run, const char *family)
{
    const struct quarry_table_info *info = run->aggregates;
    for (size_t i = 0; info && i < info->family_count; i++)
        if (strcmp(info->families[i].name, family) == 0)
            return *info->families[i].aggregate != '\0';
    return false;
}

void run_batch_set(struct run_batch *b,
                   struct quarry_mutation *m,
                   const char *family,
                   struct slice qualifier,
                   int64_t time_us,
                   struct slice value)
{
    PRE(b->count > 0);
    if (UNLIKELY(is_aggregate(b->run, family))) {
        if (time_us != QUARRY_NOW)
            quarry_mutation_delete_cells(m, family, qualifier, time_us,
                                         time_us + 1);
        quarry_mutation_merge(m, family, qualifier, time_us, value);
    } else {
        quarry_mutation_set(m, family, qualifier, time_us, value);
    }
    b->bytes += value.len + qualifier.len + 64;
    b->row_bytes += value.len + qualifier.len + 64;
    b->counts.cells++;
}
