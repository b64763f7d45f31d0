/* Texts (WET) and links and headers (WAT) of a Webtable's captures, as records
 * of their own files. Captures without a body, revisits that were not filled
 * among them, have none. */
#include <string.h>

#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "mapreduce/ingest/export.h"
#include "mapreduce/ingest/exported.h"
#include "mapreduce/ingest/index_lines.h"
#include "mapreduce/ingest/row_captures.h"
#include "mapreduce/warc/archive_writer.h"
#include "mapreduce/warc/archived_http.h"
#include "mapreduce/warc/charset.h"
#include "mapreduce/warc/language_guess.h"
#include "mapreduce/warc/links.h"
#include "mapreduce/warc/main_text.h"
#include "mapreduce/warc/url.h"
#include "mapreduce/warc/wat_json.h"

/* Given to the file in pieces of this size. */
#define WRITE_BYTES ((size_t)1 << 20)
#define GZIP_LEVEL  6
#define ZSTD_LEVEL  3

struct derived {
    const struct export_options *opts;
    struct export_report *report;
    bool is_wat;
    struct warc_writer *writer;
    struct row_captures captures;
    struct charset_decoder *charsets;
    struct main_text *texts;
    struct wat_writer *wat;
    struct buf out;
    struct buf uri;
    struct buf headers;
    struct buf json;
};

/* --- one capture --------------------------------------------------------- */

/* The body as UTF-8 and whether it is HTML; "": it is no text. */
static struct slice
text_of_body(struct derived *d, const struct capture *c, bool *is_html)
{
    struct slice type = http_media_type(c->content_type);
    *is_html = html_is(type, c->body);
    if (!*is_html && !http_slice_is(type, "text/plain"))
        return SLICE_EMPTY;
    return charset_decode(d->charsets, http_charset(c->content_type), *is_html,
                          c->body);
}

static void refer_to(struct derived *d, const struct capture *c)
{
    buf_clear(&d->headers);
    if (c->id.len && exported_is_plain(c->id))
        buf_printf(&d->headers, "WARC-Refers-To: <%.*s>\r\n", SLICE_ARG(c->id));
}

static void
put_wet(struct derived *d, struct slice uri, const struct capture *c)
{
    char code[LANGUAGE_CODE_BYTES];
    bool is_html;
    struct slice text = text_of_body(d, c, &is_html);
    text = is_html ? main_text_all(d->texts, text)
                   : main_text_plain(d->texts, text);
    if (text.len == 0) {
        d->report->left_out_count++;
        return;
    }
    refer_to(d, c);
    if (language_guess(text, c->language, code))
        buf_printf(&d->headers, "WARC-Identified-Content-Language: %s\r\n",
                   language_code_of_3(code));
    const struct warc_write_record rec = {
        .type = "conversion",
        .uri = uri,
        .time_us = c->time_us,
        .id = SLICE_EMPTY,
        .content_type = SLICE_LIT("text/plain"),
        .headers = buf_slice(&d->headers),
        .parts = &text,
        .part_count = 1,
    };
    warc_writer_put(d->writer, &rec, &d->out);
    d->report->record_count++;
    d->report->capture_count++;
}

static void
put_wat(struct derived *d, struct slice uri, const struct capture *c)
{
    bool is_html;
    struct slice text = text_of_body(d, c, &is_html);
    struct wat_capture w = {
        .type = http_slice_is(c->type, "resource") ? "resource" : "response",
        .uri = uri,
        .time_us = c->time_us,
        .id = c->id,
        .ip = c->ip,
        .digest = c->digest,
        .head = c->head,
        .body = c->body,
        .html = is_html ? text : SLICE_EMPTY,
    };
    struct slice part;
    w.has_offset = export_source(c->source, &w.file, &w.offset);
    buf_clear(&d->json);
    wat_put(d->wat, &w, &d->json);
    part = buf_slice(&d->json);
    refer_to(d, c);
    const struct warc_write_record rec = {
        .type = "metadata",
        .uri = uri,
        .time_us = d->opts->time_us,
        .id = SLICE_EMPTY,
        .content_type = SLICE_LIT("application/json"),
        .headers = buf_slice(&d->headers),
        .parts = &part,
        .part_count = 1,
    };
    warc_writer_put(d->writer, &rec, &d->out);
    d->report->record_count++;
    d->report->capture_count++;
}

/* --- the file ------------------------------------------------------------ */

static int write_derived(struct derived *d, size_t at_least, struct err *err)
{
    int rc;
    if (d->out.len < at_least)
        return 0;
    d->report->byte_count += d->out.len;
    rc = d->opts->write(d->opts->ctx, buf_slice(&d->out), d->report, err);
    buf_clear(&d->out);
    return rc;
}

static int put_derived_row(struct derived *d,
                           const struct quarry_row *row,
                           struct err *err)
{
    uint64_t before = d->report->record_count;
    int rc = 0;
    row_captures_read(&d->captures, row);
    for (size_t i = 0; i < d->captures.count && rc == 0; i++) {
        const struct capture *c = &d->captures.at[i];
        struct slice uri = c->url;
        if (!c->has_body) {
            d->report->left_out_count++;
            continue;
        }
        if (!exported_is_plain(uri) || uri.len == 0) {
            buf_clear(&d->uri);
            url_of_row_key(row->key, &d->uri);
            uri = buf_slice(&d->uri);
        }
        if (d->is_wat)
            put_wat(d, uri, c);
        else
            put_wet(d, uri, c);
        rc = write_derived(d, WRITE_BYTES, err);
    }
    d->report->row_count += d->report->record_count > before;
    return rc;
}

static int put_derived_rows(struct derived *d,
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
        rc = put_derived_row(d, row, err);
        if (rc)
            break;
    }
    quarry_scanner_close(scanner);
    return rc;
}

static enum warc_compression writer_compression(enum export_compression c)
{
    return c == EXPORT_GZIP   ? WARC_GZIP
           : c == EXPORT_ZSTD ? WARC_ZSTD
                              : WARC_PLAIN;
}

static int export_derived(struct derived *d,
                          struct quarry_table *table,
                          const struct quarry_read_options *read,
                          struct err *err)
{
    static const char *const families[] = {"contents", "language", "http",
                                           "meta"};
    struct quarry_read_options narrowed = *read;
    int rc;
    PRE(d->opts->write != NULL);
    memset(d->report, 0, sizeof(*d->report));
    narrowed.families = families;
    narrowed.family_count = ARRAY_LEN(families);
    d->charsets = charset_decoder_new();
    d->texts = main_text_new();
    d->wat = wat_writer_new();
    d->writer = warc_writer_new(
        writer_compression(d->opts->compression),
        d->opts->compression == EXPORT_GZIP ? GZIP_LEVEL : ZSTD_LEVEL);
    warc_writer_put_info(d->writer, d->opts->file_name, d->opts->time_us,
                         &d->out);
    rc = put_derived_rows(d, table, &narrowed, err);
    if (rc == 0)
        rc = write_derived(d, 1, err);
    warc_writer_free(d->writer);
    wat_writer_free(d->wat);
    main_text_free(d->texts);
    charset_decoder_free(d->charsets);
    row_captures_close(&d->captures);
    buf_close(&d->out);
    buf_close(&d->uri);
    buf_close(&d->headers);
    buf_close(&d->json);
    return rc;
}

int export_wet(struct quarry_table *table,
               const struct quarry_read_options *read,
               const struct export_options *opts,
               struct export_report *report,
               struct err *err)
{
    struct derived d = {.opts = opts, .report = report};
    return export_derived(&d, table, read, err);
}

int export_wat(struct quarry_table *table,
               const struct quarry_read_options *read,
               const struct export_options *opts,
               struct export_report *report,
               struct err *err)
{
    struct derived d = {.opts = opts, .report = report, .is_wat = true};
    return export_derived(&d, table, read, err);
}
