/* Lines into cells; the first line tells the format. Errors name file and line.
 */
#include "cli/cell_file.h"

#include <inttypes.h>
#include <string.h>

#include "base/core/panic.h"

static int
bad_line(const struct cell_file *f, const char *what, struct err *err)
{
    PRE(what);
    err_set(err, ERR_INVALID, "%s: line %" PRIu64 ": %s", f->lines.path,
            f->lines.line_count, what);
    err_hint(err, "a line is ROW, FAMILY:QUALIFIER, TIME in µs or nothing, and "
                  "VALUE, with tabs between them, or as quarry export writes "
                  "JSON and CSV");
    return ERR_INVALID;
}

int cell_file_open(struct cell_file *f,
                   struct world *world,
                   const char *path,
                   struct err *err)
{
    *f = (struct cell_file){.record = BUF_INIT};
    cell_parser_init(&f->parser, CELLS_UNKNOWN);
    return line_reader_open_in(&f->lines, world, path, err);
}

void cell_file_close(struct cell_file *f)
{
    line_reader_close(&f->lines);
    cell_parser_close(&f->parser);
    buf_close(&f->record);
}

static size_t count_quotes(struct slice s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++)
        n += s.data[i] == '"';
    return n;
}

/* A record of CSV ends where its quotes are closed, which may be lines on. */
static int
whole_record(struct cell_file *f, struct slice *record, struct err *err)
{
    struct slice line = *record;
    size_t quotes = count_quotes(line);
    bool more = true;
    PRE(f->parser.form == CELLS_CSV);
    buf_clear(&f->record);
    buf_append_slice(&f->record, line);
    while (quotes % 2) {
        int rc = line_reader_next(&f->lines, &line, &more, err);
        if (rc)
            return rc;
        if (!more)
            return bad_line(f, "the file ends inside of quotes", err);
        buf_append_byte(&f->record, '\n');
        buf_append_slice(&f->record, line);
        quotes += count_quotes(line);
    }
    *record = buf_slice(&f->record);
    return ERR_OK;
}

static int take_line(struct cell_file *f, struct slice line, struct err *err)
{
    const char *why;
    int rc = ERR_OK;
    if (f->parser.form == CELLS_UNKNOWN) {
        f->parser.form = cell_form_of(line);
        if (f->parser.form == CELLS_CSV)
            return ERR_OK; /* Its header. */
    }
    if (f->parser.form == CELLS_CSV)
        rc = whole_record(f, &line, err);
    if (!rc && cell_parser_take(&f->parser, line, &why))
        rc = bad_line(f, why, err);
    return rc;
}

int cell_file_next(struct cell_file *f,
                   struct quarry_bulk_cell *c,
                   bool *more,
                   struct err *err)
{
    *more = true;
    for (;;) {
        struct slice line;
        const char *why;
        int code;
        int rc;
        if (cell_parser_next(&f->parser, c, &code, &why))
            return ERR_OK;
        if (code)
            return bad_line(f, why, err);
        rc = line_reader_next(&f->lines, &line, more, err);
        if (!rc && *more)
            rc = take_line(f, line, err);
        if (rc || !*more)
            return rc;
    }
}
