/* The rows of captures: pages as answered, resources, conversions of them, and
 * revisits, which have no contents of their own. */
#include <string.h>

#include "base/core/panic.h"
#include "mapreduce/ingest/pages.h"
#include "mapreduce/warc/charset.h"
#include "mapreduce/warc/date.h"
#include "mapreduce/warc/digest.h"
#include "mapreduce/warc/language_guess.h"
#include "mapreduce/warc/main_text.h"

/* Longer heads are cut: they are kept for people to read. */
#define HEAD_BYTES_MAX ((size_t)64 << 10)

/* --- HTTP ---------------------------------------------------------------- */

static void put_http(struct pages *p,
                     const struct warc_record *rec,
                     const struct http_message *m)
{
    static const char *const kept[] = {
        "location", "last-modified", "etag", "server", "content-encoding",
    };
    struct slice v;
    pages__set(p, "http", "url", rec->uri);
    if (m->status)
        pages__set_number(p, "http", "status", (uint64_t)m->status);
    if (http_header(m, "content-type", &v))
        pages__set(p, "http", "content-type", v);
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        if (http_header(m, kept[i], &v))
            pages__set(p, "http", kept[i], v);
    pages__set(p, "http", "headers", slice_sub(m->head, 0, HEAD_BYTES_MAX));
}

/* How the capture was asked for, if by another method than GET. */
static void put_request_cells(struct pages *p)
{
    if (!p->request)
        return;
    pages__set(p, "http", "method", buf_slice(&p->request->method));
    pages__set(p, "http", "request-query", buf_slice(&p->request->query));
    pages__set(p, "http", "request", buf_slice(&p->request->bytes));
}

/* When the record's own date makes no sense, the server's may. */
static int64_t time_of(const struct warc_record *rec,
                       const struct http_message *m)
{
    struct slice v;
    int64_t us;
    if (rec->time_us == INT64_MIN && http_header(m, "date", &v) &&
        date_parse_http(v, &us))
        return us;
    return rec->time_us;
}

/* Record what a reader of the page should know about its decoding. */
static void put_coding(struct pages *p, unsigned flags)
{
    pages__set(p, "meta", "coding", p->exported.coding);
    if (flags & HTTP_CUT)
        pages__set(p, "meta", "coding", SLICE_LIT("cut short"));
    else if (flags & HTTP_UNKNOWN_CODING)
        pages__set(p, "meta", "coding", SLICE_LIT("unknown, as stored"));
    else if (flags & HTTP_CODING_LIE)
        pages__set(p, "meta", "coding", SLICE_LIT("not as the header says"));
    else if (flags & HTTP_CHUNK_LIE)
        pages__set(p, "meta", "coding", SLICE_LIT("not chunked"));
}

/* Parse the message in @rec's block; one that an export masked comes as it was.
 */
static bool parse_message(struct pages *p, const struct warc_record *rec)
{
    struct http_message *m = &p->message;
    struct slice body;
    if (!http_parse(rec->block, m)) {
        m->header_count = 0;
        return false;
    }
    if (!p->exported.masked && !p->exported.bare_lines)
        return true;
    body = m->raw_body;
    buf_clear(&p->head);
    buf_clear(&p->lines);
    if (p->exported.masked)
        exported_head_unmask(m->head, &p->lines);
    else
        buf_append_slice(&p->lines, m->head);
    if (p->exported.bare_lines)
        exported_head_lf(buf_slice(&p->lines), &p->head);
    else
        buf_append_slice(&p->head, buf_slice(&p->lines));
    buf_append_str(&p->head, "\r\n");
    if (!http_parse(buf_slice(&p->head), m))
        m->header_count = 0;
    m->raw_body = body;
    return true;
}

/* The body without its codings; an export has none, whatever the head says. */
static unsigned
captures_decode(struct pages *p, struct slice *payload, struct slice *body)
{
    struct http_message *m = &p->message;
    if (!p->exported.is_one)
        return http_decode(p->decoder, m, (size_t)p->run->opts.page_bytes_max,
                           payload, body);
    *payload = *body = m->raw_body;
    return 0;
}

/* The payload's digest is of the bytes before content decoding; many writers
 * took it before dechunking. Does the page agree with it? One that differs is
 * reported: skipped, unless the block's own digest is right, so that the writer
 * hashed something else. */
static bool captures_verify(struct pages *p,
                            const struct warc_record *rec,
                            struct slice payload,
                            struct slice raw)
{
    bool proven;
    if (!p->run->opts.verify_digests || !rec->whole ||
        digest_check(rec->payload_digest, payload) != DIGEST_DIFFERENT ||
        digest_check(rec->payload_digest, raw) != DIGEST_DIFFERENT)
        return true;
    proven = digest_check(rec->block_digest, rec->block) == DIGEST_SAME;
    pages__damage(p, rec, !proven,
                  proven ? "payload digest differs, block digest does not"
                         : "payload digest differs, page skipped");
    return proven;
}

/* --- HTML ---------------------------------------------------------------- */

/* "en-US" of "en-US, fr; q=0.5", in lower case. */
static void put_language(struct pages *p, struct slice tag)
{
    char text[36];
    size_t n = 0;
    tag = slice_trim(tag);
    for (; n < tag.len && n < sizeof(text); n++) {
        char c = tag.data[n];
        if (c == ',' || c == ';' || c == ' ')
            break;
        text[n] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c == '_' ? '-' : c);
        if (!((text[n] >= 'a' && text[n] <= 'z') || text[n] == '-' ||
              (text[n] >= '0' && text[n] <= '9')))
            return;
    }
    pages__set(p, "language", "", slice_make(text, n));
}

static void put_html(struct pages *p, const struct html_page *page)
{
    pages__set(p, "meta", "title", page->title);
    pages__set(p, "meta", "robots", page->robots);
    pages__set(p, "meta", "canonical", page->canonical);
    if (page->link_count)
        pages__set_number(p, "meta", "links", page->link_count);
    if (page->image_count)
        pages__set_number(p, "meta", "images", page->image_count);
    if (page->script_count)
        pages__set_number(p, "meta", "scripts", page->script_count);
}

/* The main text of @html, which is UTF-8, and its language; @declared is what
 * the page says of it. */
static void
put_main_text(struct pages *p, struct slice html, struct slice declared)
{
    char language[LANGUAGE_CODE_BYTES];
    struct slice text;
    if (!p->texts)
        p->texts = main_text_new();
    text = main_text_of(p->texts, html);
    pages__set(p, "contents", "main", text);
    if (language_guess(text, declared, language))
        pages__set(p, "language", "text", slice_str(language));
}

/* --- a capture with contents --------------------------------------------- */

/* Write @body as the page's contents at the place found; @type is its media
 * type, @m the HTTP head or NULL. */
static int put_contents(struct pages *p,
                        const struct warc_record *rec,
                        const struct http_message *m,
                        struct slice type,
                        struct slice body,
                        unsigned flags,
                        struct err *err)
{
    struct html_page page;
    struct slice charset = http_charset(type);
    struct slice language = SLICE_EMPTY;
    struct slice decoded = SLICE_EMPTY;
    bool is_html = html_is(http_media_type(type), body);
    int rc;
    buf_clear(&p->links);
    if (is_html) {
        decoded = charset_decode(p->charsets, charset, true, body);
        html_scan(p->scanner, decoded,
                  p->run->opts.links ? pages__add_link : NULL, p, &page);
    }
    rc = run_batch_row(&p->batch, buf_slice(&p->row), body.len, &p->mutation,
                       err);
    if (rc)
        return rc;
    pages__put_record(p, rec);
    if (m) {
        put_http(p, rec, m);
        http_header(m, "content-language", &language);
    } else {
        pages__set(p, "http", "url", rec->uri);
        pages__set(p, "http", "content-type", type);
    }
    put_request_cells(p);
    if (is_html) {
        put_html(p, &page);
        language = page.lang.len ? page.lang : language;
        charset = charset.len ? charset : page.charset;
        if (charset.len == 0 && charset_was_detected(p->charsets))
            charset = slice_str(charset_name(p->charsets));
        if (p->run->opts.text)
            put_main_text(p, decoded, language);
    }
    put_language(p, p->exported.language.len ? p->exported.language : language);
    pages__set(p, "meta", "charset", charset);
    pages__set_number(p, "meta", "length", body.len);
    put_coding(p, flags);
    if (flags & HTTP_TOO_BIG)
        pages__set(p, "meta", "truncated", SLICE_LIT("length"));
    run_batch_set(&p->batch, p->mutation, "contents", SLICE_EMPTY, p->time_us,
                  body);
    p->batch.counts.pages++;
    return is_html ? pages__put_anchors(p, page.base, err) : 0;
}

/* Bodies over the limit are cut; so is a block that did not come whole. */
static struct slice limit_body(struct pages *p,
                               const struct warc_record *rec,
                               struct slice body,
                               unsigned *flags)
{
    uint64_t most = p->run->opts.page_bytes_max;
    if (body.len > most) {
        body = slice_sub(body, 0, (size_t)most);
        *flags |= HTTP_TOO_BIG;
    }
    if (!rec->whole)
        *flags |= HTTP_TOO_BIG;
    if (*flags & HTTP_TOO_BIG)
        pages__damage(p, rec, true, "page too long, cut");
    return body;
}

int pages__put_response(struct pages *p,
                        const struct warc_record *rec,
                        struct err *err)
{
    struct http_message *m = &p->message;
    struct slice payload;
    struct slice body;
    struct slice type = SLICE_EMPTY;
    unsigned flags;
    bool is_http = parse_message(p, rec) && !m->is_request;
    if (http_slice_is(p->exported.type, "revisit"))
        return pages__put_revisit(p, rec, err);
    if (!is_http) {
        /* dns:, ftp:, or HTTP/0.9, which has no head. */
        m->header_count = 0;
        type = rec->is_arc || !slice_starts_with(rec->content_type,
                                                 SLICE_LIT("application/http"))
                   ? rec->content_type
                   : SLICE_EMPTY;
    }
    if (!is_http) {
        flags = 0;
        if (!captures_verify(p, rec, rec->block, rec->block) ||
            !pages__place(p, rec, rec->uri, time_of(rec, m)))
            return 0;
        body = limit_body(p, rec, rec->block, &flags);
        return put_contents(p, rec, NULL, type, body, flags, err);
    }
    flags = captures_decode(p, &payload, &body);
    if (!captures_verify(p, rec, payload, m->raw_body) ||
        !pages__place(p, rec, rec->uri, time_of(rec, m)))
        return 0;
    body = limit_body(p, rec, body, &flags);
    http_header(m, "content-type", &type);
    return put_contents(p, rec, m, type, body, flags, err);
}

int pages__put_resource(struct pages *p,
                        const struct warc_record *rec,
                        struct err *err)
{
    unsigned flags = 0;
    struct slice body;
    if (http_slice_is(p->exported.type, "revisit"))
        return pages__put_revisit(p, rec, err);
    if (!captures_verify(p, rec, rec->block, rec->block) ||
        !pages__place(p, rec, rec->uri, rec->time_us))
        return 0;
    body = limit_body(p, rec, rec->block, &flags);
    return put_contents(p, rec, NULL, rec->content_type, body, flags, err);
}

/* --- a text made of a page ----------------------------------------------- */

int pages__put_conversion(struct pages *p,
                          const struct warc_record *rec,
                          struct err *err)
{
    unsigned flags = 0;
    struct slice body;
    struct slice v;
    char column[80] = "text";
    struct slice type = http_media_type(rec->content_type);
    int rc;
    /* A conversion has the date of its capture, whose cells it joins. */
    const struct pages_subject page = {rec->uri, rec->date, rec->time_us,
                                       rec->refers_to};
    if (!pages__join(p, rec, &page))
        return 0;
    body = limit_body(p, rec, rec->block, &flags);
    if (!http_slice_is(type, "text/plain") && type.len &&
        type.len < sizeof(column)) {
        memcpy(column, type.data, type.len);
        column[type.len] = '\0';
    }
    rc = run_batch_row(&p->batch, buf_slice(&p->row), body.len, &p->mutation,
                       err);
    if (rc)
        return rc;
    pages__set(p, "http", "url", rec->uri);
    pages__set(p, "meta", "converted-from", rec->refers_to);
    if (warc_record_header(rec, "warc-identified-content-language", &v))
        put_language(p, v);
    run_batch_set(&p->batch, p->mutation, "contents", slice_str(column),
                  p->time_us, body);
    p->batch.counts.pages++;
    return 0;
}

/* --- revisits ------------------------------------------------------------ */

static int remember_revisit(struct pages *p,
                            const struct warc_record *rec,
                            struct err *err)
{
    struct revisit v = {
        .row = buf_slice(&p->row),
        .time_us = p->time_us,
        .original_row = buf_slice(&p->row),
        .original_us = INT64_MIN,
        .original_span_us = 1,
        .digest = rec->payload_digest,
    };
    buf_clear(&p->target_row);
    if (rec->refers_to_uri.len && url_key(rec->refers_to_uri, &p->target_row))
        v.original_row = buf_slice(&p->target_row);
    if (!date_parse_span(rec->refers_to_date, &v.original_us,
                         &v.original_span_us))
        v.original_us = INT64_MIN;
    return revisits_add(p->revisits, &v, err);
}

/* "PROFILE DATE URI", or only the record's id where there is no more. */
static void put_revisit_of(struct pages *p, const struct warc_record *rec)
{
    struct slice profile = rec->profile;
    /* Profiles of all versions end in their meaning. */
    while (profile.len) {
        size_t slash = slice_find_byte(profile, '/');
        if (slash == profile.len)
            break;
        profile = slice_sub(profile, slash + 1, profile.len);
    }
    /* The first word of the cell: a URI has no blanks. */
    profile = slice_sub(profile, 0, slice_find_byte(profile, ' '));
    buf_clear(&p->text);
    buf_append_slice(&p->text, profile);
    if (rec->refers_to_uri.len || rec->refers_to_date.len) {
        buf_append_byte(&p->text, ' ');
        buf_append_slice(&p->text, rec->refers_to_date);
        buf_append_byte(&p->text, ' ');
        buf_append_slice(&p->text, rec->refers_to_uri.len ? rec->refers_to_uri
                                                          : rec->uri);
    } else if (rec->refers_to.len) {
        buf_append_byte(&p->text, ' ');
        buf_append_slice(&p->text, rec->refers_to);
    }
    pages__set(p, "meta", "revisit-of",
               p->exported.is_one ? p->exported.revisit_of
                                  : buf_slice(&p->text));
}

int pages__put_revisit(struct pages *p,
                       const struct warc_record *rec,
                       struct err *err)
{
    struct http_message *m = &p->message;
    bool is_http = rec->type != WARC_RESOURCE && parse_message(p, rec);
    int rc;
    if (!pages__place(p, rec, rec->uri, time_of(rec, m)))
        return 0;
    rc = run_batch_row(&p->batch, buf_slice(&p->row), rec->block.len,
                       &p->mutation, err);
    if (rc)
        return rc;
    pages__put_record(p, rec);
    if (is_http)
        put_http(p, rec, m);
    else
        pages__set(p, "http", "url", rec->uri);
    put_request_cells(p);
    put_revisit_of(p, rec);
    p->batch.counts.revisits++;
    /* An export has the contents with it unless they are in the same row. */
    if (rec->type == WARC_REVISIT)
        return remember_revisit(p, rec, err);
    run_batch_set(&p->batch, p->mutation, "contents", SLICE_EMPTY, p->time_us,
                  is_http ? m->raw_body : rec->block);
    return 0;
}

/* --- metadata ------------------------------------------------------------ */

/* The head of a capture that an export wrote without one. */
static int put_head_apart(struct pages *p,
                          const struct warc_record *rec,
                          const struct pages_subject *subject,
                          struct err *err)
{
    int rc;
    if (!pages__join(p, rec, subject))
        return 0;
    rc = run_batch_row(&p->batch, buf_slice(&p->row), 0, &p->mutation, err);
    if (rc == 0 && parse_message(p, rec))
        put_http(p, rec, &p->message);
    return rc;
}

int pages__put_metadata(struct pages *p,
                        const struct warc_record *rec,
                        struct err *err)
{
    struct pages_subject subject = {rec->uri, rec->date, rec->time_us,
                                    rec->refers_to};
    int rc;
    if (pages__is_wat(rec))
        return pages__put_wat(p, rec, err);
    if (p->exported.is_one &&
        slice_eq_str(rec->content_type, EXPORTED_HEAD_TYPE))
        return put_head_apart(p, rec, &subject, err);
    if (rec->uri.len == 0 || rec->block.len == 0 ||
        !slice_starts_with(rec->content_type,
                           SLICE_LIT("application/warc-fields"))) {
        p->batch.counts.skipped++;
        return 0;
    }
    if (!subject.id.len)
        warc_record_header(rec, "warc-concurrent-to", &subject.id);
    if (!pages__join(p, rec, &subject))
        return 0;
    rc = run_batch_row(&p->batch, buf_slice(&p->row), 0, &p->mutation, err);
    if (rc)
        return rc;
    pages__set(p, "meta", "fields", slice_sub(rec->block, 0, HEAD_BYTES_MAX));
    return 0;
}
