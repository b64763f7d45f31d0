/* The kind of a file by its first bytes. Texts are tried from the strictest
 * form to the loosest: web archives, JSON, exports, access logs, CSV. */
#include "mapreduce/ingest/detect.h"

#include <jansson.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/world.h"
#include "mapreduce/ingest/cell_parser.h"
#include "mapreduce/ingest/csv_fields.h"
#include "mapreduce/ingest/log_line.h"
#include "mapreduce/ingest/text_check.h"
#include "mapreduce/warc/decompress.h"
#include "mapreduce/warc/not_archive.h"

/* Lines of the head that are examined. */
#define LINES_MAX 20

const char *ingest_kind_name(enum ingest_kind kind)
{
    static const char *const names[INGEST_KINDS] = {
        "a web archive", "CSV",     "JSON lines", "an access log", "an export",
        "a record file", "Parquet", "Arrow",      "empty"};
    PRE(kind < INGEST_KINDS);
    return names[kind];
}

/* --- lines of the head --------------------------------------------------- */

struct head_lines {
    struct slice at[LINES_MAX];
    size_t count;
};

/* Lines that are not empty. One that the head does not hold whole is left out,
 * unless it is the only one. */
static void cut_lines(struct slice head, bool whole, struct head_lines *out)
{
    out->count = 0;
    while (head.len && out->count < LINES_MAX) {
        size_t n = slice_find_byte(head, '\n');
        struct slice line = slice_sub(head, 0, n);
        if (n == head.len && !whole && out->count > 0)
            break;
        if (line.len && line.data[line.len - 1] == '\r')
            line = slice_sub(line, 0, line.len - 1);
        if (slice_trim(line).len)
            out->at[out->count++] = line;
        head = slice_sub(head, MIN_OF(n + 1, head.len), head.len);
    }
}

/* --- JSON ---------------------------------------------------------------- */

static int no_json_lines(const char *what, const char *hint, struct err *err)
{
    err_set(err, ERR_INVALID, "%s", what);
    err_hint(err, "%s", hint);
    return ERR_INVALID;
}

/* Is it a row as export writes it? A line that is too long for the head is
 * judged by its beginning. */
static bool is_row(struct slice line, const json_t *object)
{
    if (json_is_object(object))
        return json_is_array(json_object_get(object, "cells")) &&
               (json_object_get(object, "row") ||
                json_object_get(object, "row_base64"));
    return slice_starts_with(line, SLICE_LIT("{\"row\": \"")) ||
           slice_starts_with(line, SLICE_LIT("{\"row_base64\": \""));
}

static int sniff_json(const struct head_lines *lines,
                      bool cut,
                      struct ingest_detected *out,
                      struct err *err)
{
    bool found = cut && lines->count == 1;
    bool rows = found && is_row(lines->at[0], NULL);
    PRE(lines->count > 0);
    for (size_t i = 0; i < lines->count && !found; i++) {
        json_t *v = json_loadb(lines->at[i].data, lines->at[i].len,
                               JSON_ALLOW_NUL, NULL);
        found = json_is_object(v);
        rows = found && is_row(lines->at[i], v);
        json_decref(v);
    }
    if (!found)
        return no_json_lines("JSON, but no object is on one line",
                             "jq -c . writes an object a line", err);
    out->kind = rows ? INGEST_KIND_CELLS : INGEST_KIND_JSONL;
    return 0;
}

/* --- other lines --------------------------------------------------------- */

static bool is_cell_line(struct slice line)
{
    struct cell_parser p;
    const char *why;
    bool ok;
    cell_parser_init(&p, CELLS_TSV);
    ok = cell_parser_take(&p, line, &why) == 0;
    for (const char *c = p.family; ok && *c; c++)
        ok = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
             (*c >= '0' && *c <= '9') || strchr("_-.", *c);
    cell_parser_close(&p);
    return ok;
}

static bool all_are_cells(const struct head_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        if (!is_cell_line(lines->at[i]))
            return false;
    return lines->count > 0;
}

/* Most of the lines are requests. */
static bool is_access_log(const struct head_lines *lines)
{
    size_t requests = 0;
    size_t others = 0;
    for (size_t i = 0; i < lines->count; i++) {
        struct log_line l;
        if (lines->at[i].data[0] == '#')
            continue;
        if (log_line_parse(lines->at[i], &l))
            requests++;
        else
            others++;
    }
    return requests > others;
}

static int unknown_kind(struct slice head, struct err *err)
{
    const char *kind = not_archive_kind(head);
    if (kind)
        err_set(err, ERR_INVALID, "%s", kind);
    else
        err_set(err, ERR_INVALID,
                "a text of no kind that can be told by its beginning");
    err_hint(err,
             "name the kind: quarry import csv, jsonl, access-log or warc");
    return ERR_INVALID;
}

static bool is_archive(struct slice head)
{
    return decompress__is_warc(head) ||
           slice_starts_with(head, SLICE_LIT("filedesc:"));
}

int ingest_sniff(struct slice head,
                 bool whole,
                 struct ingest_detected *out,
                 struct err *err)
{
    struct head_lines lines;
    int rc;
    *out = (struct ingest_detected){.kind = INGEST_KIND_WARC};
    if (is_archive(head))
        return 0;
    rc = text_check(head, err);
    if (rc)
        return rc;
    if (slice_starts_with(head, SLICE_LIT("\xef\xbb\xbf")))
        head = slice_sub(head, 3, head.len);
    cut_lines(head, whole, &lines);
    out->kind = INGEST_KIND_EMPTY;
    if (lines.count == 0)
        return 0;
    if (slice_trim(lines.at[0]).data[0] == '[')
        return no_json_lines("a JSON array, not lines of objects",
                             "jq -c '.[]' writes an object a line", err);
    if (slice_trim(lines.at[0]).data[0] == '{')
        return sniff_json(&lines, !whole, out, err);
    out->kind = INGEST_KIND_CELLS;
    if (slice_eq_str(lines.at[0], CELL_CSV_HEADER) || all_are_cells(&lines))
        return 0;
    out->kind = INGEST_KIND_ACCESS_LOG;
    if (is_access_log(&lines))
        return 0;
    out->kind = INGEST_KIND_CSV;
    if (!not_archive_kind(head) &&
        csv_sniff_separator(head, whole, &out->separator))
        return 0;
    return unknown_kind(head, err);
}

/* --- files --------------------------------------------------------------- */

/* Formats that are no text and not decompressed. */
static bool sniff_binary(struct slice head, struct ingest_detected *out)
{
    static const struct {
        struct slice magic;
        enum ingest_kind kind;
    } known[] = {
        {{"QRECORD1", 8}, INGEST_KIND_RECORDS},
        {{"PAR1", 4}, INGEST_KIND_PARQUET},
        {{"ARROW1\0\0", 8}, INGEST_KIND_ARROW},
        {{"\xff\xff\xff\xff", 4}, INGEST_KIND_ARROW},
        /* A WACZ; other ZIP files are refused by its import. */
        {{"PK\x03\x04", 4}, INGEST_KIND_WARC},
    };

    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (slice_starts_with(head, known[i].magic)) {
            *out = (struct ingest_detected){.kind = known[i].kind};
            return true;
        }
    }
    return false;
}

struct detect_input {
    struct file *file;
    uint64_t offset;
};

static int
read_input(void *ctx, void *dst, size_t len, size_t *got, struct err *err)
{
    struct detect_input *in = ctx;
    int rc = file_read_at(in->file, in->offset, dst, len, got, err);
    if (rc == 0)
        in->offset += *got;
    return rc;
}

static int sniff_text(struct detect_input *in,
                      struct ingest_detected *out,
                      struct err *err)
{
    const struct warc_reader_options opts = {.read = read_input, .ctx = in};
    struct decompressor u;
    int rc;
    in->offset = 0;
    decompress_init(&u);
    decompress_start(&u, &opts);
    rc = decompress_need(&u, DETECT_BYTES, err);
    if (!rc && u.damaged && decompress_avail(&u) == 0)
        rc = err_set(err, ERR_CORRUPT,
                     "compressed, and damaged or cut at its "
                     "beginning");
    if (!rc)
        rc = ingest_sniff(
            slice_make(decompress_data(&u),
                       MIN_OF(decompress_avail(&u), DETECT_BYTES)),
            u.done && decompress_avail(&u) <= DETECT_BYTES, out, err);
    decompress_close(&u);
    return rc;
}

int ingest_detect(struct world *world,
                  const char *path,
                  struct ingest_detected *out,
                  struct err *err)
{
    struct detect_input in = {.offset = 0};
    char head[TEXT_CHECK_BYTES];
    size_t got = 0;
    int rc = file_open(world, path, FILE_READ, &in.file, err);
    *out = (struct ingest_detected){.kind = INGEST_KIND_CSV};
    if (rc)
        return rc;
    rc = read_input(&in, head, sizeof(head), &got, err);
    if (!rc && !sniff_binary(slice_make(head, got), out)) {
        rc = text_check_packed(slice_make(head, got), err);
        if (!rc)
            rc = sniff_text(&in, out, err);
    }
    file_close(in.file);
    return rc;
}
