/* Index lines of web archives, with the fields that pywb and the Internet
 * Archive's tools read. */
#include "mapreduce/warc/cdx.h"

#include "mapreduce/warc/date.h"
#include "mapreduce/warc/digest.h"
#include "mapreduce/warc/html_text.h"
#include "mapreduce/warc/method_query.h"
#include "mapreduce/warc/surt.h"

void cdx_json_string(struct slice s, struct buf *out)
{
    struct buf text = BUF_INIT;
    buf_append_slice(&text, s);
    html_text_fix(&text, 0);
    buf_append_byte(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c < 0x20)
            buf_printf(out, "\\u%04x", c);
        else
            buf_append_byte(out, (char)c);
    }
    buf_append_byte(out, '"');
    buf_close(&text);
}

static void cdx_field(struct buf *out, const char *name, struct slice value)
{
    if (out->data[out->len - 1] != '{')
        buf_append_str(out, ", ");
    buf_printf(out, "\"%s\": ", name);
    cdx_json_string(value, out);
}

static void cdx_number(struct buf *out, const char *name, uint64_t value)
{
    if (out->data[out->len - 1] != '{')
        buf_append_str(out, ", ");
    buf_printf(out, "\"%s\": \"%llu\"", name, (unsigned long long)value);
}

static struct slice mime_of(const struct warc_record *rec,
                            const struct http_message *m)
{
    struct slice v = SLICE_EMPTY;
    if (rec->type == WARC_REVISIT)
        return SLICE_LIT("warc/revisit");
    if (m)
        http_header(m, "content-type", &v);
    else
        v = rec->content_type;
    v = http_media_type(v);
    return v.len ? v : SLICE_LIT("unk");
}

static void cdx_key(const struct cdx_entry *e, struct buf *out)
{
    struct buf asked = BUF_INIT;
    if (e->method.len == 0) {
        surt_key(e->uri, out);
        return;
    }
    method_query_url(e->uri, e->method, e->query, &asked);
    surt_key(buf_slice(&asked), out);
    buf_close(&asked);
}

void cdx_put(const struct cdx_entry *e, struct buf *out)
{
    char time[DATE_TEXT_BYTES];
    date_format_14(e->time_us, time);
    cdx_key(e, out);
    buf_printf(out, " %s {", time);
    cdx_field(out, "url", e->uri);
    if (e->mime.len)
        cdx_field(out, "mime", e->mime);
    if (e->status)
        cdx_number(out, "status", e->status);
    if (e->digest.len)
        cdx_field(out, "digest", e->digest);
    if (e->length)
        cdx_number(out, "length", e->length);
    if (e->has_offset)
        cdx_number(out, "offset", e->offset);
    if (e->file_name.len)
        cdx_field(out, "filename", e->file_name);
    if (e->method.len)
        cdx_field(out, "method", e->method);
    if (e->query.len)
        cdx_field(out, "requestBody", e->query);
    buf_append_str(out, "}\n");
}

/* The digest of the payload after its algorithm's name, as written; @text is
 * for one that is made here. */
static struct slice payload_digest(const struct warc_record *rec,
                                   const struct http_message *m,
                                   char text[DIGEST_TEXT_MAX])
{
    struct slice label = rec->payload_digest;
    struct digest d;
    size_t colon;
    if (label.len == 0) {
        digest_of(DIGEST_SHA1, m ? m->raw_body : rec->block, &d);
        label = slice_make(text, digest_format(&d, text));
    }
    colon = slice_find_byte(label, ':');
    return colon < label.len ? slice_sub(label, colon + 1, label.len) : label;
}

bool cdx_line(const struct warc_record *rec,
              const struct http_message *m,
              const char *file_name,
              struct buf *out)
{
    char text[DIGEST_TEXT_MAX];
    if ((rec->type != WARC_RESPONSE && rec->type != WARC_RESOURCE &&
         rec->type != WARC_REVISIT) ||
        rec->time_us == INT64_MIN)
        return false;
    const struct cdx_entry e = {
        .uri = rec->uri,
        .time_us = rec->time_us,
        .mime = mime_of(rec, m),
        .status = m && m->status > 0 ? (unsigned)m->status : 0,
        .digest = payload_digest(rec, m, text),
        .length = rec->length,
        .has_offset = true,
        .offset = rec->offset,
        .file_name = slice_str(file_name),
    };
    cdx_put(&e, out);
    return true;
}
