/* Captures of a Webtable as WARC/1.1 records (ISO 28500). The record types
 * follow section 6: response with its HTTP head where that fits a reader's
 * limits, else resource with the head in a metadata record, and revisit for a
 * body that another record has. */
#include <string.h>

#include "base/core/hash.h"
#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "mapreduce/ingest/export.h"
#include "mapreduce/ingest/exported.h"
#include "mapreduce/ingest/row_captures.h"
#include "mapreduce/warc/archive_writer.h"
#include "mapreduce/warc/archived_http.h"
#include "mapreduce/warc/date.h"
#include "mapreduce/warc/digest.h"
#include "mapreduce/warc/json_query.h"
#include "mapreduce/warc/url.h"

/* Given to the file in pieces of this size. */
#define WRITE_BYTES ((size_t)1 << 20)
/* For gzip the usual level, for zstd its own default. */
#define GZIP_LEVEL 6
#define ZSTD_LEVEL 3

#define PROFILE_START "http://netpreserve.org/warc/1.1/revisit/"

struct export
{
    const struct export_options *opts;
    struct export_report *report;
    struct warc_writer *writer;
    struct row_captures captures;
    struct buf out;
    struct buf uri;        /* Of a row without http:url. */
    struct buf head;       /* Of HTTP, masked, */
    struct buf lines;      /* and as it will stand in the block. */
    struct buf headers;    /* Of the record, beyond what every one has. */
    struct buf id;         /* Of a record that had none. */
    struct digest payload; /* Of the record at hand. */
    /* Of the capture's record, which is written first. */
    uint64_t record_at;
    uint64_t record_bytes;
};

enum export_compression export_compression_of(const char *file_name)
{
    struct slice name = slice_str(file_name);
    if (slice_ends_with(name, SLICE_LIT(".gz")))
        return EXPORT_GZIP;
    return slice_ends_with(name, SLICE_LIT(".zst")) ? EXPORT_ZSTD
                                                    : EXPORT_PLAIN;
}

/* --- fields -------------------------------------------------------------- */

/* The URI that the page was requested by; it may contain anything but a line
 * end. */
static struct slice
uri_of(struct export *x, struct slice row, const struct capture *c)
{
    if (exported_is_plain(c->url))
        return c->url;
    buf_clear(&x->uri);
    url_of_row_key(row, &x->uri);
    return buf_slice(&x->uri);
}

static void put_payload_digest(struct export *x, struct slice payload)
{
    char text[DIGEST_TEXT_MAX];
    digest_of(DIGEST_SHA1, payload, &x->payload);
    exported_put(&x->headers, "WARC-Payload-Digest",
                 slice_make(text, digest_format(&x->payload, text)));
}

/* A field that the record has itself, unless its line cannot hold @value. */
static void put_odd(struct buf *out, const char *name, struct slice value)
{
    if (!exported_is_plain(value))
        exported_put(out, name, value);
}

/* The fields that every capture has; @type is that of its record. */
static void
put_capture_fields(struct export *x, const struct capture *c, const char *type)
{
    struct buf *h = &x->headers;
    exported_put(h, "WARC-IP-Address", c->ip);
    exported_put(h, "WARC-Truncated", c->truncated);
    exported_put(h, "Quarry-Record", SLICE_LIT("1"));
    exported_put(h, "Quarry-Source", c->source);
    put_odd(h, "WARC-Target-URI", c->url);
    put_odd(h, "WARC-Record-ID", c->id);
    if (!slice_eq_str(c->type, type))
        exported_put(h, "Quarry-Type", c->type);
    exported_put(h, "Quarry-Payload-Digest", c->digest);
    exported_put(h, "Quarry-Coding", c->coding);
    exported_put(h, "Quarry-Revisit-Of", c->revisit_of);
    if (c->id.len == 0)
        exported_put(h, "Quarry-Made-Id", SLICE_LIT("1"));
}

static void put_record(struct export *x, const struct warc_write_record *rec)
{
    size_t before = x->out.len;
    warc_writer_put(x->writer, rec, &x->out);
    if (x->record_bytes == 0) {
        x->record_at = x->report->byte_count + before;
        x->record_bytes = x->out.len - before;
    }
    x->report->record_count++;
}

/* --- captures ------------------------------------------------------------ */

/* Other readers refuse long heads. One that was cut has no line end, and would
 * have one if a body stood behind it. */
static bool stands_apart(const struct capture *c)
{
    bool ends = c->head.len && c->head.data[c->head.len - 1] == '\n';
    return c->head.len > EXPORTED_HEAD_BYTES_MAX ||
           (c->head.len && !ends && c->body.len);
}

/* The HTTP head with its blank line, masked unless it fits the body that
 * follows; that of a revisit speaks of a body elsewhere. One that was cut is
 * all there is. */
static struct slice
http_head(struct export *x, const struct capture *c, bool is_revisit)
{
    enum exported_lines lines = exported_head_lines(c->head);
    bool ends = c->head.len && c->head.data[c->head.len - 1] == '\n';
    buf_clear(&x->head);
    buf_clear(&x->lines);
    if (!ends)
        return c->head;
    if (!is_revisit && !exported_head_fits(c->head, c->body.len)) {
        exported_head_mask(c->head, c->body.len, &x->head);
        exported_put(&x->headers, "Quarry-Head", SLICE_LIT("masked"));
    } else {
        buf_append_slice(&x->head, c->head);
    }
    if (lines == EXPORTED_LINES_LF)
        exported_put(&x->headers, "Quarry-Head-Lines", SLICE_LIT("lf"));
    exported_head_crlf(buf_slice(&x->head), &x->lines);
    buf_append_str(&x->lines, "\r\n");
    return buf_slice(&x->lines);
}

/* The head of a capture whose record has none: a record of its own, which only
 * an import reads. */
static void
put_head_apart(struct export *x, struct slice uri, const struct capture *c)
{
    struct warc_write_record rec = {
        .type = "metadata",
        .uri = uri,
        .time_us = c->time_us,
        .content_type = SLICE_LIT(EXPORTED_HEAD_TYPE),
        .parts = &c->head,
        .part_count = 1,
    };
    buf_clear(&x->headers);
    exported_put(&x->headers, "Quarry-Record", SLICE_LIT("1"));
    put_odd(&x->headers, "WARC-Target-URI", c->url);
    rec.headers = buf_slice(&x->headers);
    put_record(x, &rec);
}

/* The id of @c's record: of one that another record names, always. */
static struct slice id_of(struct export *x, const struct capture *c)
{
    if (exported_is_plain(c->id))
        return c->id;
    if (c->method.len == 0)
        return SLICE_EMPTY;
    uint64_t a = hash64_slice(c->url) ^ (uint64_t)c->time_us;
    uint64_t b = hash64(c->request_query.data, c->request_query.len, a);
    buf_clear(&x->id);
    buf_printf(&x->id, "urn:uuid:%08x-%04x-8%03x-%04x-%012llx",
               (unsigned)(a >> 32), (unsigned)(a >> 16 & 0xffff),
               (unsigned)(a & 0xfff), (unsigned)(0x8000 | (b >> 48 & 0x3fff)),
               (unsigned long long)(b & UINT64_C(0xffffffffffff)));
    return buf_slice(&x->id);
}

/* The request of a capture by another method than GET, behind its record, whose
 * id is @answer. One that was not kept is written as a form that says the same.
 */
static void put_request(struct export *x,
                        struct slice uri,
                        const struct capture *c,
                        struct slice answer)
{
    struct buf made = BUF_INIT;
    struct buf form = BUF_INIT;
    struct slice part = c->request;
    struct warc_write_record rec = {
        .type = "request",
        .uri = uri,
        .time_us = c->time_us,
        .content_type = SLICE_LIT("application/http; msgtype=request"),
        .parts = &part,
        .part_count = 1,
    };
    if (c->method.len == 0)
        return;
    if (part.len == 0) {
        json_query_escape(c->request_query, &form);
        buf_printf(&made,
                   "%.*s / HTTP/1.1\r\n"
                   "Content-Type: application/x-www-form-urlencoded\r\n"
                   "Content-Length: %zu\r\n\r\n%.*s",
                   SLICE_ARG(c->method), form.len, (int)form.len,
                   form.len ? form.data : "");
        part = buf_slice(&made);
    }
    buf_clear(&x->headers);
    buf_printf(&x->headers, "WARC-Concurrent-To: <%.*s>\r\n",
               SLICE_ARG(answer));
    rec.headers = buf_slice(&x->headers);
    put_record(x, &rec);
    buf_close(&made);
    buf_close(&form);
}

/* The media type of a block that is not an HTTP message: one that claims to be
 * would make readers look for a head in it. */
static struct slice plain_type(struct export *x, struct slice type)
{
    struct slice media = http_media_type(type);
    bool is_message = http_slice_is(media, "application/http");
    if (type.len == 0 || (exported_is_plain(type) && !is_message))
        return type;
    exported_put_escaped(&x->headers, "Content-Type", type);
    return SLICE_LIT("application/octet-stream");
}

/* To other readers a response without a head is malformed: they would take the
 * first lines of its body for one. */
static const char *page_type(const struct capture *c)
{
    bool is_resource = http_slice_is(c->type, "resource");
    return is_resource || c->head.len == 0 || stands_apart(c) ? "resource"
                                                              : "response";
}

static void
put_page(struct export *x, struct slice uri, const struct capture *c)
{
    const char *type = page_type(c);
    bool apart = stands_apart(c);
    struct slice parts[2] = {SLICE_EMPTY, c->body};
    struct warc_write_record rec = {
        .type = type,
        .uri = uri,
        .time_us = c->time_us,
        .id = id_of(x, c),
        .content_type = c->content_type,
        .parts = parts,
        .part_count = 2,
    };
    buf_clear(&x->headers);
    put_capture_fields(x, c, type);
    put_payload_digest(x, c->body);
    if (c->head.len == 0 || apart) {
        rec.content_type = plain_type(x, c->content_type);
    } else {
        rec.content_type = SLICE_LIT("application/http; msgtype=response");
        parts[0] = http_head(x, c, false);
    }
    if (apart) {
        exported_put(&x->headers, "Quarry-Head", SLICE_LIT("apart"));
        exported_put(&x->headers, "Quarry-Language", c->language);
    }
    rec.headers = buf_slice(&x->headers);
    put_record(x, &rec);
    put_request(x, uri, c, rec.id);
    if (apart || exported_head_lines(c->head) == EXPORTED_LINES_MIXED)
        put_head_apart(x, uri, c);
}

/* Cut the first word off @s. */
static struct slice take_word(struct slice *s)
{
    size_t n = slice_find_byte(*s, ' ');
    struct slice word = slice_sub(*s, 0, n);
    *s = slice_sub(*s, n < s->len ? n + 1 : n, s->len);
    return word;
}

/* "PROFILE DATE URI" or "PROFILE ID", as meta:revisit-of has it. */
static void put_reference(struct export *x, struct slice of)
{
    struct slice first;
    take_word(&of);
    first = take_word(&of);
    if (of.len == 0) {
        exported_put(&x->headers, "WARC-Refers-To", first);
        return;
    }
    exported_put(&x->headers, "WARC-Refers-To-Date", first);
    exported_put(&x->headers, "WARC-Refers-To-Target-URI", of);
}

/* @original: the capture in the same row whose body it shares, or NULL. */
static void put_revisit(struct export *x,
                        struct slice uri,
                        const struct capture *c,
                        struct slice original_uri,
                        const struct capture *original)
{
    struct slice part;
    struct slice of = c->revisit_of;
    struct slice profile = take_word(&of);
    struct warc_write_record rec = {
        .type = "revisit",
        .uri = uri,
        .time_us = c->time_us,
        .id = id_of(x, c),
        .parts = &part,
        .part_count = 1,
    };
    char date[DATE_TEXT_BYTES];
    buf_clear(&x->headers);
    put_capture_fields(x, c, "revisit");
    buf_printf(&x->headers, "WARC-Profile: " PROFILE_START "%.*s\r\n",
               SLICE_ARG(exported_is_plain(profile)
                             ? profile
                             : SLICE_LIT("identical-payload-digest")));
    if (original) {
        put_payload_digest(x, original->body);
        exported_put(&x->headers, "WARC-Refers-To-Target-URI", original_uri);
        exported_put(&x->headers, "WARC-Refers-To-Date",
                     slice_make(date, date_format_us(original->time_us, date)));
    } else {
        exported_put(&x->headers, "WARC-Payload-Digest", c->digest);
        put_reference(x, c->revisit_of);
    }
    part = stands_apart(c) ? SLICE_EMPTY : http_head(x, c, true);
    if (c->head.len && !stands_apart(c))
        rec.content_type = SLICE_LIT("application/http; msgtype=response");
    rec.headers = buf_slice(&x->headers);
    put_record(x, &rec);
    put_request(x, uri, c, rec.id);
    if (stands_apart(c) || exported_head_lines(c->head) == EXPORTED_LINES_MIXED)
        put_head_apart(x, uri, c);
}

/* The newest capture before @i, no revisit itself, with the body of @i. */
static const struct capture *find_original(const struct row_captures *r,
                                           size_t i)
{
    const struct capture *c = &r->at[i];
    while (i-- > 0) {
        const struct capture *o = &r->at[i];
        if (o->has_body && o->type.len && !http_slice_is(o->type, "revisit") &&
            slice_eq(o->body, c->body))
            return o;
    }
    return NULL;
}

/* --- what joins a capture ------------------------------------------------ */

/* Write the record of a text or note that joins the capture @c, and refers to
 * @id. */
static void
put_joining_fields(struct export *x, const struct capture *c, struct slice id)
{
    exported_put(&x->headers, "Quarry-Record", SLICE_LIT("1"));
    put_odd(&x->headers, "WARC-Target-URI", c->url);
    if (exported_is_plain(id))
        buf_printf(&x->headers, "WARC-Refers-To: <%.*s>\r\n", SLICE_ARG(id));
    else
        exported_put(&x->headers, "WARC-Refers-To", id);
}

static void put_text(struct export *x,
                     struct slice uri,
                     const struct capture *c,
                     const struct quarry_cell *text)
{
    struct warc_write_record rec = {
        .type = "conversion",
        .uri = uri,
        .time_us = c->time_us,
        .content_type = slice_eq_str(text->qualifier, "text")
                            ? SLICE_LIT("text/plain")
                            : text->qualifier,
        .parts = &text->value,
        .part_count = 1,
    };
    buf_clear(&x->headers);
    put_joining_fields(x, c, c->converted_from);
    rec.content_type = plain_type(x, rec.content_type);
    exported_put(&x->headers, "WARC-Identified-Content-Language", c->language);
    rec.headers = buf_slice(&x->headers);
    put_record(x, &rec);
}

static void
put_notes(struct export *x, struct slice uri, const struct capture *c)
{
    struct warc_write_record rec = {
        .type = "metadata",
        .uri = uri,
        .time_us = c->time_us,
        .content_type = SLICE_LIT("application/warc-fields"),
        .parts = &c->fields,
        .part_count = 1,
    };
    buf_clear(&x->headers);
    put_joining_fields(x, c, c->id);
    rec.headers = buf_slice(&x->headers);
    put_record(x, &rec);
}

static int tell_capture(struct export *x,
                        struct slice uri,
                        const struct capture *c,
                        bool is_revisit,
                        struct err *err)
{
    char text[DIGEST_TEXT_MAX];
    struct slice digest = c->digest;
    if (!x->opts->on_capture)
        return 0;
    if (x->payload.kind != DIGEST_NONE)
        digest = slice_make(text, digest_format(&x->payload, text));
    const struct export_capture told = {.uri = uri,
                                        .time_us = c->time_us,
                                        .is_revisit = is_revisit,
                                        .content_type = c->content_type,
                                        .status = c->status,
                                        .title = c->title,
                                        .digest = digest,
                                        .method = c->method,
                                        .query = c->request_query,
                                        .offset = x->record_at,
                                        .length = x->record_bytes};
    return x->opts->on_capture(x->opts->ctx, &told, err);
}

static int put_capture(struct export *x,
                       const struct quarry_row *row,
                       size_t i,
                       struct err *err)
{
    const struct capture *c = &x->captures.at[i];
    struct slice uri = uri_of(x, row->key, c);
    bool is_revisit = http_slice_is(c->type, "revisit");
    const struct capture *original =
        is_revisit && c->has_body ? find_original(&x->captures, i) : NULL;
    uint64_t before = x->report->record_count;
    bool as_revisit = original || (is_revisit && !c->has_body);
    int rc = 0;
    x->record_bytes = 0;
    x->payload.kind = DIGEST_NONE;
    if (as_revisit)
        put_revisit(x, uri, c,
                    original && exported_is_plain(original->url) ? original->url
                                                                 : uri,
                    original);
    else if (c->has_body)
        put_page(x, uri, c);
    x->report->capture_count += x->report->record_count > before;
    if (x->report->record_count > before)
        rc = tell_capture(x, uri, c, as_revisit, err);
    for (size_t k = 0; k < c->cell_count; k++)
        if (capture_is_text(c->cells[k]))
            put_text(x, uri, c, c->cells[k]);
    if (c->fields.len)
        put_notes(x, uri, c);
    x->report->left_out_count += x->report->record_count == before;
    return rc;
}

/* --- the file ------------------------------------------------------------ */

static int write_out(struct export *x, size_t at_least, struct err *err)
{
    int rc;
    if (x->out.len < at_least)
        return 0;
    x->report->byte_count += x->out.len;
    rc = x->opts->write(x->opts->ctx, buf_slice(&x->out), x->report, err);
    buf_clear(&x->out);
    return rc;
}

static int
put_row(struct export *x, const struct quarry_row *row, struct err *err)
{
    uint64_t before = x->report->record_count;
    int rc = 0;
    row_captures_read(&x->captures, row);
    for (size_t i = 0; i < x->captures.count && rc == 0; i++) {
        rc = put_capture(x, row, i, err);
        if (rc == 0)
            rc = write_out(x, WRITE_BYTES, err);
    }
    x->report->row_count += x->report->record_count > before;
    return rc;
}

static int put_rows(struct export *x,
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
        rc = put_row(x, row, err);
        if (rc)
            break;
    }
    quarry_scanner_close(scanner);
    return rc;
}

int export_warc(struct quarry_table *table,
                const struct quarry_read_options *read,
                const struct export_options *opts,
                struct export_report *report,
                struct err *err)
{
    PRE(opts->write != NULL);
    static const char *const families[] = {"contents", "language", "http",
                                           "meta"};
    struct export x = {.opts = opts, .report = report};
    struct quarry_read_options narrowed = *read;
    int rc;
    memset(report, 0, sizeof(*report));
    /* Anchors are derived again from the pages that have them. */
    narrowed.families = families;
    narrowed.family_count = ARRAY_LEN(families);
    x.writer = warc_writer_new(opts->compression == EXPORT_GZIP   ? WARC_GZIP
                               : opts->compression == EXPORT_ZSTD ? WARC_ZSTD
                                                                  : WARC_PLAIN,
                               opts->compression == EXPORT_GZIP ? GZIP_LEVEL
                                                                : ZSTD_LEVEL);
    warc_writer_put_info(x.writer, opts->file_name, opts->time_us, &x.out);
    rc = put_rows(&x, table, &narrowed, err);
    if (rc == 0)
        rc = write_out(&x, 1, err);
    warc_writer_free(x.writer);
    row_captures_close(&x.captures);
    buf_close(&x.out);
    buf_close(&x.uri);
    buf_close(&x.head);
    buf_close(&x.lines);
    buf_close(&x.headers);
    buf_close(&x.id);
    return rc;
}
