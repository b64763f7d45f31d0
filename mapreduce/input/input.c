/* From SPECs to splits, and from splits to readers: patterns are expanded here,
 * everything else is left to the format (formats.h). */
#include "mapreduce/input/input.h"

#include <string.h>

#include "base/core/macros.h"
#include "base/core/panic.h"
#include "mapreduce/input/formats.h"
#include "mapreduce/input/glob.h"

#define INPUT_FORMAT_ADDRESS(name) &input_format_##name,
static const struct input_format *const formats[] = {
    INPUT_FORMATS(INPUT_FORMAT_ADDRESS)};
#undef INPUT_FORMAT_ADDRESS

const struct input_format *input_format_at(unsigned index)
{
    return index < ARRAY_LEN(formats) ? formats[index] : NULL;
}

const struct input_format *input_format_find(enum mr_spec_kind kind)
{
    for (size_t i = 0; i < ARRAY_LEN(formats); i++)
        if (formats[i]->kind == kind)
            return formats[i];
    return NULL;
}

const struct input_format *input_format_of_text(const char *text)
{
    for (size_t i = 0; i < ARRAY_LEN(formats); i++)
        if (strncmp(text, formats[i]->prefix, strlen(formats[i]->prefix)) == 0)
            return formats[i];
    return NULL;
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

static int plan_files(const struct input_format *format,
                      const struct input_context *ctx,
                      unsigned input,
                      struct input_splits *splits,
                      struct err *err)
{
    const char *pattern = ctx->specs[input].path;
    char **paths = NULL;
    size_t count = 0;
    int rc = glob_files(&ctx->files, pattern, &paths, &count, err);
    if (rc == 0 && count == 0)
        rc = refuse_path(pattern, err);
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = format->plan(ctx, input, paths[i], splits, err);
    files_names_free(paths, count);
    return rc;
}

int input_plan(const struct input_context *ctx,
               unsigned input,
               struct input_splits *splits,
               struct err *err)
{
    const struct mr_spec *spec = &ctx->specs[input];
    const struct input_format *format = input_format_find(spec->kind);
    PRE(format != NULL);
    if (format->is_glob)
        return plan_files(format, ctx, input, splits, err);
    return format->plan(ctx, input, spec->path, splits, err);
}

int input_open(const struct input_context *ctx,
               const struct input_split *split,
               struct input_reader **out,
               struct err *err)
{
    const struct input_format *format =
        input_format_find(ctx->specs[split->input].kind);
    PRE(format != NULL);
    PRE(split->begin <= split->end);
    return format->open(ctx, split, out, err);
}

void input_reader_close(struct input_reader *r)
{
    if (!r)
        return;
    damage_close(&r->damage);
    r->close(r);
}
