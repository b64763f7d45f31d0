/* The form of an export, by --format, --compress and the name of the file: an
 * option decides, else the end of the name. */
#include "cli/export_target.h"

#include <string.h>

#include "base/core/panic.h"

static const char *const form_names[EXPORT_FORMS] = {
    "json", "csv", "tsv", "warc",    "wacz",
    "cdxj", "wet", "wat", "records", "parquet"};

bool export_form_is_archive(enum export_form form)
{
    return form == EXPORT_WARC || form == EXPORT_WACZ || form == EXPORT_CDXJ ||
           form == EXPORT_WET || form == EXPORT_WAT;
}

/* @path without the end that names a compression; *@packing is that. */
static struct slice unpacked_name(const char *path, enum packing *packing)
{
    struct slice s = slice_str(path);
    const char *dot = strrchr(path, '.');
    *packing = PACKING_NONE;
    PRE(path);
    if (dot && packing_of(slice_str(dot + 1), packing) &&
        strcmp(dot + 1, packing_suffix(*packing)) == 0)
        return slice_sub(s, 0, (size_t)(dot - path));
    *packing = PACKING_NONE;
    return s;
}

/* The end of a name that says a form, or NULL. */
static const char *form_suffix(struct slice name, enum export_form *form)
{
    static const struct {
        const char *suffix;
        enum export_form form;
    } known[] = {{".csv", EXPORT_CSV},         {".tsv", EXPORT_TSV},
                 {".jsonl", EXPORT_JSON},      {".json", EXPORT_JSON},
                 {".ndjson", EXPORT_JSON},     {".warc", EXPORT_WARC},
                 {".wacz", EXPORT_WACZ},       {".cdxj", EXPORT_CDXJ},
                 {".wet", EXPORT_WET},         {".wat", EXPORT_WAT},
                 {".records", EXPORT_RECORDS}, {".parquet", EXPORT_PARQUET}};

    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (slice_ends_with(name, slice_str(known[i].suffix))) {
            *form = known[i].form;
            return known[i].suffix;
        }
    }
    return NULL;
}

static int
form_of_name(const struct args *args, struct export_target *t, struct err *err)
{
    static const char *const foreign[] = {".zip",   ".orc",     ".avro",
                                          ".arrow", ".feather", ".7z"};
    enum packing packing;
    struct slice name = unpacked_name(t->path, &packing);
    for (size_t i = 0; i < ARRAY_LEN(foreign); i++)
        if (slice_ends_with(name, slice_str(foreign[i])))
            return usage_error(args, err,
                               "%s: files of this kind are not written; "
                               "name a .jsonl, .csv, .tsv, .records, .parquet, "
                               ".warc.gz, .wacz or .cdxj, or a --format",
                               t->path);
    (void)form_suffix(name, &t->form);
    return ERR_OK;
}

static int form_of_option(const struct args *args,
                          const char *format,
                          enum export_form *out,
                          struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(form_names); i++) {
        if (strcmp(format, form_names[i]) == 0) {
            *out = (enum export_form)i;
            return ERR_OK;
        }
    }
    *out = EXPORT_JSON;
    if (strcmp(format, "jsonl") == 0 || strcmp(format, "text") == 0)
        return ERR_OK;
    return usage_error(args, err,
                       "--format: '%s' is none of json, jsonl, csv, tsv, "
                       "records, parquet, warc, wacz, cdxj, wet and wat",
                       format);
}

/* --- checks -------------------------------------------------------------- */

/* Captures go whole or not at all. */
static int check_whole(const struct args *args, struct err *err)
{
    static const char *const narrowing[] = {"family", "column",    "value",
                                            "saw",    "keys-only", "saw-text"};
    for (size_t i = 0; i < ARRAY_LEN(narrowing); i++)
        if (args_flag(args, narrowing[i]))
            return usage_error(args, err,
                               "--%s: archives take whole captures; choose "
                               "rows and times",
                               narrowing[i]);
    return ERR_OK;
}

/* Is the form one of lines, which can be packed? */
static bool is_lines(enum export_form form)
{
    return form == EXPORT_JSON || form == EXPORT_CSV || form == EXPORT_TSV;
}

static int
take_packing(const struct args *args, struct export_target *t, struct err *err)
{
    const char *compress = args_value(args, "compress");
    t->packing = PACKING_NONE;
    if (t->path && is_lines(t->form))
        (void)unpacked_name(t->path, &t->packing);
    if (!compress)
        return ERR_OK;
    if (!is_lines(t->form))
        return usage_error(args, err,
                           "--compress: %s is compressed inside; a web "
                           "archive is as its name says, .warc.gz or .warc.zst",
                           form_names[t->form]);
    if (strcmp(compress, "none") == 0)
        t->packing = PACKING_NONE;
    else if (!packing_of(slice_str(compress), &t->packing))
        return usage_error(args, err,
                           "--compress: '%s' is none of gz, zst, lz4, bz2, xz "
                           "and none",
                           compress);
    return ERR_OK;
}

static int check_target(const struct args *args,
                        const struct export_target *t,
                        struct err *err)
{
    if (export_form_is_archive(t->form))
        return check_whole(args, err);
    if (args_flag(args, "keys-only") && !is_lines(t->form))
        return usage_error(args, err, "--keys-only: %s has cells",
                           form_names[t->form]);
    if (args_flag(args, "keys-only") && t->form == EXPORT_TSV)
        return usage_error(args, err, "--keys-only: TSV is a line a cell");
    return ERR_OK;
}

static int check_split(const struct args *args,
                       const struct export_target *t,
                       struct err *err)
{
    if (!t->split)
        return ERR_OK;
    if (!t->path)
        return usage_error(args, err,
                           "--split: into which FILE? There is none");
    if (export_form_is_archive(t->form) || t->form == EXPORT_PARQUET)
        return usage_error(args, err, "--split: %s is one file",
                           form_names[t->form]);
    if (args_flag(args, "limit"))
        return usage_error(args, err, "either --split or --limit");
    return ERR_OK;
}

int export_target_parse(const struct cli *cli,
                        const struct args *args,
                        struct export_target *out,
                        struct err *err)
{
    const char *format = args_value(args, "format");
    uint64_t split = 0;
    int rc = args_number(args, "split", 1, EXPORT_SPLIT_MAX, &split, err);
    *out = (struct export_target){
        .path = args_value(args, "output"),
        .form = cli->format == FORMAT_CSV ? EXPORT_CSV : EXPORT_JSON,
        .split = (size_t)split};
    if (rc)
        return rc;
    if (out->path && args->word_count > 1)
        return usage_error(args, err, "to %s or to %s?", args->words[1],
                           out->path);
    if (args->word_count > 1)
        out->path = args->words[1];
    if (out->path && strcmp(out->path, "-") == 0)
        out->path = NULL;
    if (format)
        rc = form_of_option(args, format, &out->form, err);
    else if (out->path)
        rc = form_of_name(args, out, err);
    if (!rc)
        rc = take_packing(args, out, err);
    if (!rc)
        rc = check_target(args, out, err);
    if (!rc)
        rc = check_split(args, out, err);
    if (!rc && !out->path && args_flag(args, "with-schema"))
        rc = usage_error(args, err,
                         "--with-schema: beside which FILE? There "
                         "is none");
    return rc;
}

void export_target_part(const struct export_target *t,
                        size_t index,
                        struct buf *out)
{
    struct slice path = slice_str(t->path);
    enum packing packing;
    enum export_form form;
    struct slice stem = unpacked_name(t->path, &packing);
    const char *suffix = form_suffix(stem, &form);
    PRE(t->split > 0);
    PRE(index < t->split);
    if (suffix)
        stem = slice_sub(stem, 0, stem.len - strlen(suffix));
    buf_append_slice(out, stem);
    buf_printf(out, "-%05zu-of-%05zu", index, t->split);
    buf_append_slice(out, slice_sub(path, stem.len, path.len));
}
