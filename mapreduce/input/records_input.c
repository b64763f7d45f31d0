/* Record files as input: splits are runs of whole blocks, which the index gives
 * without reading the data. Blocks that cannot be read are skipped; a file that
 * lost its index is one split. */
#include "base/core/panic.h"
#include "base/crypt/keyring.h"
#include "mapreduce/input/formats.h"
#include "mapreduce/input/input.h"
#include "mapreduce/records/record_reader.h"

struct records_input {
    struct input_reader base;
    struct record_reader reader;
    uint64_t begin;
};

static int plan_unindexed(const struct input_context *ctx,
                          unsigned input,
                          const char *path,
                          struct input_splits *splits,
                          struct err *err)
{
    struct record_reader r;
    struct input_split *s;
    int rc = record_reader_salvage(&r, &ctx->files, path, err);
    if (rc)
        return rc;
    s = input_splits_add(splits, input, path);
    s->unindexed = true;
    s->begin = 8;
    s->end = r.data_end;
    s->bytes = r.data_end;
    record_reader_close(&r);
    return input_splits_locate(splits, splits->count - 1, &ctx->files, path,
                               err);
}

static int records_plan(const struct input_context *ctx,
                        unsigned input,
                        const char *path,
                        struct input_splits *splits,
                        struct err *err)
{
    struct record_reader r;
    uint64_t at = 8;
    uint64_t bytes;
    uint64_t records;
    size_t cursor = 0;
    size_t first = splits->count;
    struct input_split *s = NULL;
    int rc = record_reader_open(&r, &ctx->files, path, err);
    if (rc == ERR_CORRUPT)
        return plan_unindexed(ctx, input, path, splits, err);
    if (rc)
        return rc;
    while (record_reader_block(&r, &cursor, &bytes, &records)) {
        if (!s || s->bytes >= ctx->split_bytes) {
            s = input_splits_add(splits, input, path);
            s->begin = at;
        }
        at += bytes;
        s->end = at;
        s->bytes = at - s->begin;
    }
    INVARIANT(at <= r.data_end);
    record_reader_close(&r);
    return input_splits_locate(splits, first, &ctx->files, path, err);
}

/* Skip the damage that @why describes; it names the file and the block. */
static int
pass_over(struct records_input *r, const struct err *why, struct err *err)
{
    uint64_t records;
    uint64_t bytes;
    int rc = record_reader_resync(&r->reader, &records, &bytes, err);
    if (rc)
        return rc;
    if (records > 0)
        damage_add(&r->base.damage, records, "%s; %llu records lost", why->text,
                   (unsigned long long)records);
    else
        damage_add(&r->base.damage, 0, "%s; %llu bytes skipped", why->text,
                   (unsigned long long)bytes);
    return r->base.damage.places <= DAMAGE_PLACES_MAX ? 0 : err_copy(err, why);
}

static int records_next(struct input_reader *base,
                        struct mr_record *record,
                        bool *more,
                        struct err *err)
{
    struct records_input *r = (struct records_input *)base;
    for (;;) {
        struct err why = ERR_INIT;
        int rc = record_reader_next(&r->reader, &record->key, &record->value,
                                    more, &why);
        record->offset = r->reader.blocks.block_offset;
        base->bytes_done = record->offset - r->begin;
        if (rc == 0)
            return 0;
        if (rc != ERR_CORRUPT)
            return err_copy(err, &why);
        rc = pass_over(r, &why, err);
        if (rc)
            return rc;
    }
}

static void records_close(struct input_reader *base)
{
    struct records_input *r = (struct records_input *)base;
    record_reader_close(&r->reader);
    mem_free(r);
}

static int open_scratch(struct records_input *r,
                        const struct input_context *ctx,
                        struct err *err)
{
    struct keyring *keys = keyring_new_of(ctx->files.world, ctx->scratch_key);
    int rc = block_codec_encrypt(&r->reader.codec, keys, err);
    keyring_unref(keys);
    return rc;
}

/* Open the file of @split. A missing index is reported as damage. */
static int open_file(struct records_input *r,
                     const struct input_context *ctx,
                     const struct input_split *split,
                     struct err *err)
{
    struct err why = ERR_INIT;
    int rc = record_reader_open(&r->reader, &ctx->files, split->path, &why);
    if (rc == ERR_CORRUPT && split->unindexed) {
        damage_add(&r->base.damage, 0, "%s; its blocks are read without it",
                   why.text);
        return record_reader_salvage(&r->reader, &ctx->files, split->path, err);
    }
    if (rc == 0 && ctx->specs[split->input].scratch)
        rc = open_scratch(r, ctx, &why);
    if (rc)
        return err_copy(err, &why);
    if (split->unindexed || split->begin < 8 || split->begin > split->end ||
        split->end > r->reader.data_end)
        return err_set(err, ERR_CORRUPT, "%s: changed while the job ran",
                       split->path);
    record_reader_limit(&r->reader, split->begin, split->end);
    return 0;
}

static int records_open(const struct input_context *ctx,
                        const struct input_split *split,
                        struct input_reader **out,
                        struct err *err)
{
    struct records_input *r = mem_zalloc(1, sizeof(*r));
    int rc;
    *out = NULL;
    r->base.next = records_next;
    r->base.close = records_close;
    r->begin = split->begin;
    rc = open_file(r, ctx, split, err);
    if (rc)
        input_reader_close(&r->base);
    else
        *out = &r->base;
    return rc;
}

const struct input_format input_format_records = {
    .kind = MR_SPEC_RECORDS,
    .prefix = "records:",
    .usage = "records:GLOB",
    .output = "records:DIR",
    .is_glob = true,
    .plan = records_plan,
    .open = records_open,
};
