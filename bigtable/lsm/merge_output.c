/* Writing tables of a bounded size.
 *
 * A table is opened again as soon as it is written: so that what the edit names
 * has been read back once, and the first reader does not wait for it.
 * Whether it stays in the page cache is cache_policy.h's to say.
 */
#include "bigtable/lsm/merge_output.h"

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/lsm/cache_policy.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/sstable/block_cache.h"
#include "bigtable/sstable/properties.h"
#include "bigtable/sstable/sstable_reader.h"
#include "bigtable/sstable/sstable_writer.h"
#include "gfs-lite/fs.h"

void output_init(struct output *o, struct lsm *l, uint64_t expected_bytes)
{
    PRE(l);
    *o = (struct output){.lsm = l, .expected_bytes = expected_bytes};
}

/* As it is now: memory may have become short since the last table. */
static bool output_is_cached(const struct output *o,
                             const struct group_options *group)
{
    const struct lsm_options *opts = &o->lsm->options;
    struct world_memory memory;
    PRE(o->lsm);

    world_memory(fs_world(opts->fs), &memory);
    return cache_policy_keeps(group, block_cache_file_bytes(opts->cache),
                              o->expected_bytes, &memory);
}

static int start_table(struct output *o, struct err *err)
{
    const struct lsm_options *opts = &o->lsm->options;
    struct group_options group = lsm__group_options(o->lsm);
    struct buf path = BUF_INIT;
    int rc;

    PRE(!o->writer);
    PRE(o->number == 0);
    buf_clear(&o->row);
    o->number = opts->hooks.new_number(opts->hooks.ctx);
    lsm__table_path(o->lsm, o->number, &path);
    rc = sstable_writer_open(opts->fs, buf_cstr(&path), &group,
                             MIN_OF(o->expected_bytes, OUTPUT_BYTES_TARGET),
                             output_is_cached(o, &group), &o->writer, err);
    buf_close(&path);
    if (!rc && o->hurried)
        sstable_writer_hurry(o->writer);
    else if (!rc && o->lasts && group.references)
        sstable_writer_refer(o->writer);
    return rc;
}

static int finish_table(struct output *o, struct err *err)
{
    const struct sstable_properties *p;
    struct sstable_file *f;
    struct lsm_table info;
    int rc;

    PRE(o->writer);
    PRE(o->number > 0);
    if (o->changes)
        sstable_writer_set_changes(o->writer, o->changes, o->marks);
    rc = sstable_writer_finish(o->writer, err);
    if (rc)
        return rc;
    p = sstable_writer_properties(o->writer);
    info = (struct lsm_table){
        .number = o->number,
        .bytes = sstable_writer_file_bytes(o->writer),
        .entry_count = p->entry_count,
        .sequence_min = p->sequence_min,
        .sequence_max = p->sequence_max,
        .first_key = buf_slice(&p->first_key),
        .last_key = buf_slice(&p->last_key),
    };
    INVARIANT(slice_cmp(info.first_key, info.last_key) <= 0);
    INVARIANT(info.sequence_min <= info.sequence_max);
    INVARIANT(info.entry_count > 0);
    INVARIANT(o->file_count == 0 || /* One run: INV-4 of lsm.h. */
              slice_cmp(o->files[o->file_count - 1]->info.last_key,
                        info.first_key) < 0);
    rc = lsm__open_table(o->lsm, &info, &f, err);
    if (rc)
        return rc;
    sstable_writer_free(o->writer);
    o->writer = NULL;
    o->number = 0;
    o->bytes += info.bytes;
    o->files = mem_realloc(o->files,
                           (o->file_count + 1) * sizeof(struct sstable_file *));
    o->files[o->file_count++] = f;
    return 0;
}

/* True if the table is large enough and @key begins another row. A row that is
 * larger than a table is cut anywhere. */
static bool must_cut(const struct output *o, struct slice key)
{
    uint64_t bytes = sstable_writer_bytes(o->writer);
    PRE(o->writer);

    if (LIKELY(bytes < OUTPUT_BYTES_TARGET))
        return false;
    return bytes >= 2 * OUTPUT_BYTES_TARGET ||
           !slice_starts_with(key, buf_slice(&o->row));
}

int output_add(struct output *o,
               struct slice key,
               struct slice value,
               struct err *err)
{
    int rc = 0;
    PRE(key.len > 0);

    if (o->writer && must_cut(o, key))
        rc = finish_table(o, err);
    if (!rc && !o->writer)
        rc = start_table(o, err);
    if (rc)
        return rc;
    if (UNLIKELY(sstable_writer_bytes(o->writer) >=
                 OUTPUT_BYTES_TARGET - OUTPUT_BYTES_TARGET / 8)) {
        /* Near the cut: know which row this is. */
        buf_clear(&o->row);
        buf_append(&o->row, key.data, cell_key_row_length(key));
    }
    return sstable_writer_add(o->writer, key, value, err);
}

void output_hurry(struct output *o)
{
    if (o->writer)
        sstable_writer_hurry(o->writer);
}

int output_finish(struct output *o, struct err *err)
{
    return o->writer ? finish_table(o, err) : 0;
}

static void output_decided(const struct output *o, uint64_t number)
{
    const struct lsm_hooks *h = &o->lsm->options.hooks;

    if (h->decided && number)
        h->decided(h->ctx, number);
}

void output_close(struct output *o, bool keep)
{
    PRE(o->files || o->file_count == 0);
    sstable_writer_free(o->writer);
    output_decided(o, o->number);
    for (size_t i = 0; i < o->file_count; i++) {
        struct buf path = BUF_INIT;
        output_decided(o, o->files[i]->info.number);
        lsm__table_path(o->lsm, o->files[i]->info.number, &path);
        sstable_file_unref(o->files[i]);
        if (!keep && fs_remove(o->lsm->options.fs, buf_cstr(&path), NULL))
            keep = false; /* A stray: its owner sweeps those at a start. */
        buf_close(&path);
    }
    mem_free(o->files);
    buf_close(&o->row);
}
