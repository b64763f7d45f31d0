/* Record files as input: splits are runs of whole blocks. */
#include "base/core/panic.h"
#include "mapreduce/input/input.h"
#include "mapreduce/input/record_reader.h"

struct records_input {
    struct input_reader base;
    struct record_reader reader;
    uint64_t begin;
};

int input_records_plan(const struct input_context *ctx,
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
    struct input_split *s = NULL;
    int code = record_reader_open(&r, ctx->world, path, err);
    if (code)
        return code;
    while (record_reader_block(&r, &cursor, &bytes, &records)) {
        if (!s || s->bytes >= ctx->split_bytes) {
            s = input_splits_add(splits, input, path);
            s->begin = at;
        }
        at += bytes;
        s->end = at;
        s->bytes = at - s->begin;
    }
    record_reader_close(&r);
    return 0;
}

static int records_next(struct input_reader *base,
                        struct mr_record *record,
                        bool *more,
                        struct err *err)
{
    struct records_input *r = (struct records_input *)base;
    int code =
        record_reader_next(&r->reader, &record->key, &record->value, more, err);
    record->offset = r->reader.blocks.block_offset;
    base->bytes_done = record->offset - r->begin;
    return code;
}

static void records_close(struct input_reader *base)
{
    struct records_input *r = (struct records_input *)base;
    record_reader_close(&r->reader);
    mem_free(r);
}

int input_records_open(const struct input_context *ctx,
                       const struct input_split *split,
                       struct input_reader **out,
                       struct err *err)
{
    struct records_input *r = mem_zalloc(1, sizeof(*r));
    int code;
    *out = NULL;
    r->base.next = records_next;
    r->base.close = records_close;
    r->begin = split->begin;
    code = record_reader_open(&r->reader, ctx->world, split->path, err);
    if (code == 0 && (split->begin < 8 || split->begin > split->end ||
                      split->end > r->reader.data_end))
        code = err_set(err, ERR_CORRUPT, "%s: changed while the job ran",
                       split->path);
    if (code) {
        records_close(&r->base);
        return code;
    }
    record_reader_limit(&r->reader, split->begin, split->end);
    *out = &r->base;
    return 0;
}
