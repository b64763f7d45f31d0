/* An index of the archives that a table was imported from, without reading them
 * again: where a capture lies is in meta:source. Lengths of records are not
 * kept, so that lines have none; readers read to the end of the record then. */
#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "bigtable/quarry.h"
#include "mapreduce/ingest/export.h"
#include "mapreduce/ingest/index_lines.h"
#include "mapreduce/ingest/row_captures.h"
#include "mapreduce/warc/archived_http.h"
#include "mapreduce/warc/cdx.h"
#include "mapreduce/warc/url.h"

/* Given to the file in pieces of this size. */
#define WRITE_BYTES ((size_t)1 << 20)

unsigned export_status(struct slice text)
{
    uint64_t status;
    if (text_parse_u64(text, &status, NULL) || status > 999)
        return 0;
    return (unsigned)status;
}

bool export_source(struct slice source, struct slice *file, uint64_t *offset)
{
    size_t n = source.len;
    while (n > 0 && source.data[n - 1] != ':')
        n--;
    if (n < 2)
        return false;
    *file = slice_sub(source, 0, n - 1);
    return text_parse_u64(slice_sub(source, n, source.len), offset, NULL) == 0;
}

struct cdxj_export {
    struct row_captures captures;
    struct index_lines lines;
    struct buf uri;
    struct export_report *report;
};

static int put_cdxj_capture(struct cdxj_export *x,
                            struct slice row,
                            const struct capture *c,
                            struct err *err)
{
    struct slice type = http_media_type(c->content_type);
    struct cdx_entry e = {.uri = c->url,
                          .time_us = c->time_us,
                          .status = export_status(c->status),
                          .digest = c->digest,
                          .method = c->method,
                          .query = c->request_query};
    if (c->type.len == 0)
        return 0; /* Known from a text or from a WAT alone. */
    e.mime =
        http_slice_is(c->type, "revisit") ? SLICE_LIT("warc/revisit") : type;
    e.has_offset = export_source(c->source, &e.file_name, &e.offset);
    if (e.uri.len == 0) {
        buf_clear(&x->uri);
        url_of_row_key(row, &x->uri);
        e.uri = buf_slice(&x->uri);
    }
    cdx_put(&e, &x->lines.text);
    x->report->capture_count++;
    x->report->record_count++;
    return index_lines_end(&x->lines, err);
}

static int gather_cdxj(struct cdxj_export *x,
                       struct quarry_table *table,
                       const struct quarry_read_options *read,
                       struct err *err)
{
    struct quarry_scanner *scanner;
    const struct quarry_row *row;
    int rc = quarry_scan(table, read, &scanner, err);
    if (rc)
        return rc;
    while ((rc = quarry_scanner_next(scanner, &row, err)) == 0 && row) {
        uint64_t before = x->report->capture_count;
        row_captures_read(&x->captures, row);
        for (size_t i = 0; i < x->captures.count && rc == 0; i++)
            rc = put_cdxj_capture(x, row->key, &x->captures.at[i], err);
        x->report->row_count += x->report->capture_count > before;
        if (rc)
            break;
    }
    quarry_scanner_close(scanner);
    return rc;
}

static int write_cdxj(struct cdxj_export *x,
                      const struct export_options *opts,
                      struct err *err)
{
    struct buf out = BUF_INIT;
    int rc = 0;
    index_lines_sort(&x->lines);
    for (size_t i = 0; i < x->lines.count && rc == 0; i++) {
        buf_append_slice(&out, index_lines_get(&x->lines, i));
        if (out.len < WRITE_BYTES && i + 1 < x->lines.count)
            continue;
        x->report->byte_count += out.len;
        rc = opts->write(opts->ctx, buf_slice(&out), x->report, err);
        buf_clear(&out);
    }
    buf_close(&out);
    return rc;
}

int export_cdxj(struct quarry_table *table,
                const struct quarry_read_options *read,
                const struct export_options *opts,
                struct export_report *report,
                struct err *err)
{
    static const char *const families[] = {"http", "meta"};
    struct cdxj_export x = {.report = report};
    struct quarry_read_options narrowed = *read;
    int rc;
    PRE(opts->write != NULL);
    memset(report, 0, sizeof(*report));
    narrowed.families = families;
    narrowed.family_count = ARRAY_LEN(families);
    rc = gather_cdxj(&x, table, &narrowed, err);
    if (rc == 0)
        rc = write_cdxj(&x, opts, err);
    row_captures_close(&x.captures);
    index_lines_close(&x.lines);
    buf_close(&x.uri);
    return rc;
}
