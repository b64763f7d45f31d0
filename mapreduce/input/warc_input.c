/* Web archives as input: a file is one split, since records of compressed
 * archives can be found only by reading. Damage is skipped and reported as the
 * archive reader reports it. */
#include "base/core/panic.h"
#include "mapreduce/input/formats.h"
#include "mapreduce/input/input.h"
#include "mapreduce/warc/archive_reader.h"

struct warc_input {
    struct input_reader base;
    struct job_file *file;
    const char *path; /* Borrowed from the split. */
    uint64_t offset;  /* Of the next byte to read. */
    struct warc_reader *reader;
};

static int warc_plan(const struct input_context *ctx,
                     unsigned input,
                     const char *path,
                     struct input_splits *splits,
                     struct err *err)
{
    struct files_info info;
    struct input_split *s;
    int rc = files_stat(&ctx->files, path, &info, err);
    if (rc)
        return rc;
    s = input_splits_add(splits, input, path);
    s->end = info.size_bytes;
    s->bytes = info.size_bytes;
    return input_splits_locate(splits, splits->count - 1, &ctx->files, path,
                               err);
}

static int
warc_read(void *ctx, void *dst, size_t len, size_t *got, struct err *err)
{
    struct warc_input *r = ctx;
    int rc = job_file_read_at(r->file, r->offset, dst, len, got, err);
    r->offset += *got;
    return rc;
}

static void
warc_damage(void *ctx, uint64_t offset, const char *reason, bool lost)
{
    struct warc_input *r = ctx;
    if (lost)
        damage_add(&r->base.damage, 0, "%s: byte %llu: %s", r->path,
                   (unsigned long long)offset, reason);
}

static int warc_next(struct input_reader *base,
                     struct mr_record *record,
                     bool *more,
                     struct err *err)
{
    struct warc_input *r = (struct warc_input *)base;
    const struct warc_record *w = NULL;
    int rc = warc_reader_next(r->reader, &w, err);
    *more = rc == 0 && w;
    if (!*more)
        return rc;
    record->key = w->uri;
    record->value = w->block;
    record->warc = w;
    record->offset = w->offset;
    base->bytes_done = warc_reader_bytes_in(r->reader);
    return 0;
}

static void warc_close(struct input_reader *base)
{
    struct warc_input *r = (struct warc_input *)base;
    warc_reader_free(r->reader);
    job_file_close(r->file);
    mem_free(r);
}

static int warc_open(const struct input_context *ctx,
                     const struct input_split *split,
                     struct input_reader **out,
                     struct err *err)
{
    struct warc_input *r = mem_zalloc(1, sizeof(*r));
    struct warc_reader_options o = {.read = warc_read,
                                    .ctx = r,
                                    .on_damage = warc_damage,
                                    .size_bytes = split->end};
    int rc = job_file_open(&ctx->files, split->path, &r->file, err);
    *out = NULL;
    if (rc) {
        mem_free(r);
        return rc;
    }
    r->base.next = warc_next;
    r->base.close = warc_close;
    r->base.damage.expected = true;
    r->path = split->path;
    r->reader = warc_reader_new(&o);
    *out = &r->base;
    return 0;
}

const struct input_format input_format_warc = {
    .kind = MR_SPEC_WARC,
    .prefix = "warc:",
    .usage = "warc:GLOB",
    .is_glob = true,
    .plan = warc_plan,
    .open = warc_open,
};
