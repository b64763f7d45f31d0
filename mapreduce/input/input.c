/* From SPECs to splits, and from splits to readers. */
#include "mapreduce/input/input.h"

#include <string.h>

#include "mapreduce/input/glob.h"

static int warc_plan(const struct input_context *ctx,
                     unsigned input,
                     const char *path,
                     struct input_splits *splits,
                     struct err *err)
{
    struct files_info info;
    struct input_split *s;
    int code = files_stat(&ctx->files, path, &info, err);
    if (code)
        return code;
    s = input_splits_add(splits, input, path);
    s->end = info.size_bytes;
    s->bytes = info.size_bytes;
    return input_splits_locate(splits, splits->count - 1, &ctx->files, path,
                               err);
}

static int plan_file(const struct input_context *ctx,
                     unsigned input,
                     const char *path,
                     struct input_splits *splits,
                     struct err *err)
{
    switch (ctx->specs[input].kind) {
    case MR_SPEC_RECORDS:
        return input_records_plan(ctx, input, path, splits, err);
    case MR_SPEC_WARC: return warc_plan(ctx, input, path, splits, err);
    case MR_SPEC_FILE:
    case MR_SPEC_TABLE: break;
    }
    return input_text_plan(ctx, input, path, splits, err);
}

/* A table is easily named as if it were a file. */
static int refuse_path(const char *path, struct err *err)
{
    if (strpbrk(path, "/.*?["))
        err_set(err, ERR_NOTFOUND, "input %s: no file matches", path);
    else
        err_set(err, ERR_NOTFOUND,
                "input %s: no file matches; a table would be table:%s", path,
                path);
    err_set_detail(err, ERR_DETAIL_NO_INPUT, path);
    return ERR_NOTFOUND;
}

int input_plan(const struct input_context *ctx,
               unsigned input,
               struct input_splits *splits,
               struct err *err)
{
    const struct mr_spec *spec = &ctx->specs[input];
    char **paths = NULL;
    size_t count = 0;
    int code;
    if (spec->kind == MR_SPEC_TABLE)
        return input_table_plan(ctx, input, splits, err);
    code = glob_files(&ctx->files, spec->path, &paths, &count, err);
    if (code == 0 && count == 0)
        code = refuse_path(spec->path, err);
    for (size_t i = 0; i < count && code == 0; i++)
        code = plan_file(ctx, input, paths[i], splits, err);
    files_names_free(paths, count);
    return code;
}

int input_open(const struct input_context *ctx,
               const struct input_split *split,
               struct input_reader **out,
               struct err *err)
{
    if (ctx->specs[split->input].kind == MR_SPEC_TABLE && ctx->open_rows)
        return ctx->open_rows(ctx->rows_ctx, split, out, err);
    switch (ctx->specs[split->input].kind) {
    case MR_SPEC_FILE: return input_text_open(ctx, split, out, err);
    case MR_SPEC_RECORDS: return input_records_open(ctx, split, out, err);
    case MR_SPEC_WARC: return input_warc_open(ctx, split, out, err);
    case MR_SPEC_TABLE: return input_table_open(ctx, split, out, err);
    }
    return err_set(err, ERR_INVALID, "input of an unknown kind");
}

void input_reader_close(struct input_reader *r)
{
    if (!r)
        return;
    damage_close(&r->damage);
    r->close(r);
}
