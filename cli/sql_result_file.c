/* For Parquet the query is put into a COPY; for Arrow a sink takes the columns
 * and writes them as they come. A file appears under its name when it is whole.
 */
#include "cli/sql_result_file.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bigtable/sql/sql_lexer.h"
#include "cli/command.h"

static const char *const sql_format_names[] = {
    "aligned", "csv", "json", "jsonl", "parquet", "arrow", "arrows", NULL};

int sql_format_parse(const char *word, enum sql_format *out, struct err *err)
{
    for (size_t i = 0; sql_format_names[i]; i++)
        if (strcmp(word, sql_format_names[i]) == 0) {
            *out = (enum sql_format)i;
            return 0;
        }
    if (strcmp(word, "text") == 0) {
        *out = SQL_ALIGNED;
        return 0;
    }
    return err_set(err, ERR_USAGE,
                   "format %s: not one of aligned, csv, json, jsonl, parquet, "
                   "arrow, arrows",
                   word);
}

bool sql_is_query(struct slice text)
{
    static const char *const words[] = {"select", "with", "from", "values"};
    struct sql_lexer l = {.text = text};
    const struct sql_token t = sql_lexer_next(&l);
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (sql_token_is(&t, words[i]))
            return true;
    return sql_token_is_byte(&t, '(');
}

/* --- Arrow --------------------------------------------------------------- */

static int arrow_write(void *ctx, struct slice bytes, struct err *err)
{
    struct sql_result_file *f = ctx;
    if (fwrite(bytes.data, 1, bytes.len, f->out.out) == bytes.len)
        return 0;
    return err_set(err, ERR_IO, "%s cannot be written",
                   f->path ? f->path : "standard output");
}

static int
arrow_columns(void *ctx, const struct ArrowSchema *types, struct err *err)
{
    struct sql_result_file *f = ctx;
    int rc = output_file_open_in(&f->out, f->world, f->path, err);
    f->open = rc == 0;
    return rc ? rc : arrow_file_begin(&f->arrow, types, err);
}

static int
arrow_rows(void *ctx, const struct ArrowArray *batch, struct err *err)
{
    struct sql_result_file *f = ctx;
    f->row_count += (uint64_t)batch->length;
    return batch->length ? arrow_file_add(&f->arrow, batch, err) : 0;
}

/* The types are gone when the statement has ended: the end of the file is
 * written before. */
static int arrow_end(void *ctx, struct err *err)
{
    struct sql_result_file *f = ctx;
    return arrow_file_end(&f->arrow, err);
}

static void arrow_begin(struct sql_result_file *f,
                        enum sql_format format,
                        struct sql_sink *sink)
{
    f->is_arrow = true;
    f->arrow = (struct arrow_file){
        .write = arrow_write, .ctx = f, .stream = format == SQL_ARROW_STREAM};
    *sink = (struct sql_sink){.ctx = f,
                              .columns = arrow_columns,
                              .arrays = arrow_rows,
                              .arrays_end = arrow_end};
}

/* --- Parquet ------------------------------------------------------------- */

static int check_output(const struct sql_result_file *f,
                        const char *format,
                        struct err *err)
{
    struct stat st;
    if (f->written)
        return err_set(err, ERR_INVALID,
                       "a file of %s is of one query, not of several", format);
    if (f->path)
        return 0;
    if (isatty(STDOUT_FILENO)) {
        err_set(err, ERR_INVALID, "%s is not for a terminal", format);
        err_hint(err, "add --output FILE");
        return ERR_INVALID;
    }
    if (fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode) &&
        lseek(STDOUT_FILENO, 0, SEEK_CUR) > 0)
        return err_set(err, ERR_INVALID,
                       "standard output is a file with "
                       "something in it already");
    return 0;
}

static void
put_copy(const struct sql_result_file *f, struct slice text, struct buf *out)
{
    buf_append_str(out, "COPY (");
    buf_append_slice(out, text);
    buf_append_str(out, "\n) TO ");
    sql_put_string(out, slice_str(f->path ? f->path : "/dev/stdout"));
    buf_append_str(out, " (FORMAT parquet)");
}

/* --- both ---------------------------------------------------------------- */

int sql_result_file_begin(struct sql_result_file *f,
                          enum sql_format format,
                          struct slice *text,
                          struct buf *copy,
                          struct sql_sink *sink,
                          struct err *err)
{
    const bool parquet = format == SQL_PARQUET;
    int rc = check_output(f, parquet ? "Parquet" : "Arrow", err);
    f->is_arrow = false;
    f->open = false;
    f->row_count = 0;
    if (rc)
        return rc;
    f->written = true;
    if (parquet) {
        put_copy(f, *text, copy);
        *text = buf_slice(copy);
        *sink = (struct sql_sink){.ctx = NULL};
    } else {
        arrow_begin(f, format, sink);
    }
    return 0;
}

int sql_result_file_end(struct sql_result_file *f,
                        int code,
                        uint64_t *rows,
                        struct err *err)
{
    if (!f->is_arrow)
        return code;
    *rows = f->row_count;
    arrow_file_free(&f->arrow);
    f->is_arrow = false;
    return f->open ? output_file_close(&f->out, code, err) : code;
}
