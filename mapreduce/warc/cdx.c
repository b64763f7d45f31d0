/* Index lines of web archives, with the fields that pywb and the Internet
 * Archive's tools read. */
#include "mapreduce/warc/cdx.h"

#include "mapreduce/warc/date.h"
#include "mapreduce/warc/digest.h"
#include "mapreduce/warc/html_text.h"
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

/* The digest after its algorithm's name, as written. */
static void digest_field(const struct warc_record *rec,
                         const struct http_message *m,
                         struct buf *out)
{
    struct slice label = rec->payload_digest;
    char text[DIGEST_TEXT_MAX];
    struct digest d;
    size_t colon;
    if (label.len == 0) {
        digest_of(DIGEST_SHA1, m ? m->raw_body : rec->block, &d);
        label = slice_make(text, digest_format(&d, text));
    }
    colon = slice_find_byte(label, ':');
    if (colon < label.len)
        label = slice_sub(label, colon + 1, label.len);
    cdx_field(out, "digest", label);
}

bool cdx_line(const struct warc_record *rec,
              const struct http_message *m,
              const char *file_name,
              struct buf *out)
{
    char time[DATE_TEXT_BYTES];
    if ((rec->type != WARC_RESPONSE && rec->type != WARC_RESOURCE &&
         rec->type != WARC_REVISIT) ||
        rec->time_us == INT64_MIN)
        return false;
    date_format_14(rec->time_us, time);
    surt_key(rec->uri, out);
    buf_printf(out, " %s {", time);
    cdx_field(out, "url", rec->uri);
    cdx_field(out, "mime", mime_of(rec, m));
    if (m && m->status)
        cdx_number(out, "status", (uint64_t)m->status);
    digest_field(rec, m, out);
    cdx_number(out, "length", rec->length);
    cdx_number(out, "offset", rec->offset);
    cdx_field(out, "filename", slice_str(file_name));
    buf_append_str(out, "}\n");
    return true;
}
