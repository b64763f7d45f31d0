/* Fields and heads of exported records. Each direction is the exact inverse of
 * the other: an import of an export gives the same cells. */
#include "mapreduce/ingest/exported.h"

#include <string.h>

#include "base/core/hex.h"
#include "base/core/macros.h"
#include "base/core/panic.h"
#include "mapreduce/warc/archived_http.h"

static const char mask[] = "X-Quarry-";
#define MASK_BYTES (sizeof(mask) - 1)

/* --- fields -------------------------------------------------------------- */

static void exported_field(const struct warc_record *rec,
                           const char *name,
                           struct slice *out)
{
    if (!warc_record_header(rec, name, out))
        *out = SLICE_EMPTY;
}

static const char escaped[] = "quarry-escaped-";
#define ESCAPED_BYTES (sizeof(escaped) - 1)

/* Fields of WARC itself that may be escaped. */
static const struct {
    const char *name;
    size_t at;
} restored[] = {
    {"warc-target-uri", offsetof(struct warc_record, uri)},
    {"warc-record-id", offsetof(struct warc_record, id)},
    {"warc-ip-address", offsetof(struct warc_record, ip)},
    {"warc-truncated", offsetof(struct warc_record, truncated)},
    {"warc-payload-digest", offsetof(struct warc_record, payload_digest)},
    {"warc-refers-to-date", offsetof(struct warc_record, refers_to_date)},
    {"warc-refers-to-target-uri", offsetof(struct warc_record, refers_to_uri)},
    {"warc-refers-to", offsetof(struct warc_record, refers_to)},
    {"content-type", offsetof(struct warc_record, content_type)},
};

/* Append @s with its %XX undone; others stay. */
static void exported_unescape(struct slice s, struct buf *out)
{
    for (size_t i = 0; i < s.len; i++) {
        int high =
            i + 2 < s.len && s.data[i] == '%' ? hex_value(s.data[i + 1]) : -1;
        int low = high < 0 ? -1 : hex_value(s.data[i + 2]);
        if (low < 0) {
            buf_append_byte(out, s.data[i]);
        } else {
            buf_append_byte(out, (char)(high * 16 + low));
            i += 2;
        }
    }
}

static bool is_escaped(const struct warc_header *h)
{
    return h->name.len > ESCAPED_BYTES &&
           http_slice_is(slice_sub(h->name, 0, ESCAPED_BYTES), escaped);
}

/* Unescape all of them; out->text does not move meanwhile. Each value takes the
 * place of its field. */
static void read_escaped(struct warc_record *rec, struct exported *out)
{
    struct slice *const own[] = {&out->source,     &out->type,
                                 &out->digest,     &out->coding,
                                 &out->revisit_of, &out->language};
    static const char *const names[] = {
        "quarry-source", "quarry-type",       "quarry-payload-digest",
        "quarry-coding", "quarry-revisit-of", "quarry-language"};
    size_t most = 0;
    for (size_t i = 0; i < rec->header_count; i++)
        if (is_escaped(&rec->headers[i]))
            most += rec->headers[i].value.len;
    buf_clear(&out->text);
    buf_reserve(&out->text, most + 1);
    for (size_t i = 0; i < rec->header_count; i++) {
        struct slice name = rec->headers[i].name;
        size_t before = out->text.len;
        struct slice value;
        if (!is_escaped(&rec->headers[i]))
            continue;
        name = slice_sub(name, ESCAPED_BYTES, name.len);
        exported_unescape(rec->headers[i].value, &out->text);
        value = slice_sub(buf_slice(&out->text), before, out->text.len);
        for (size_t k = 0; k < ARRAY_LEN(restored); k++)
            if (http_slice_is(name, restored[k].name))
                memcpy((char *)rec + restored[k].at, &value, sizeof(value));
        for (size_t k = 0; k < ARRAY_LEN(own); k++)
            if (http_slice_is(name, names[k]))
                *own[k] = value;
    }
}

void exported_read(struct warc_record *rec, struct exported *out)
{
    struct slice v;
    const struct buf text = out->text;
    memset(out, 0, sizeof(*out));
    out->text = text;
    out->is_one = warc_record_header(rec, "quarry-record", &v);
    if (!out->is_one)
        return;
    out->made_id = warc_record_header(rec, "quarry-made-id", &v);
    out->masked =
        warc_record_header(rec, "quarry-head", &v) && slice_eq_str(v, "masked");
    out->bare_lines = warc_record_header(rec, "quarry-head-lines", &v);
    exported_field(rec, "quarry-source", &out->source);
    exported_field(rec, "quarry-type", &out->type);
    exported_field(rec, "quarry-payload-digest", &out->digest);
    exported_field(rec, "quarry-coding", &out->coding);
    exported_field(rec, "quarry-revisit-of", &out->revisit_of);
    exported_field(rec, "quarry-language", &out->language);
    read_escaped(rec, out);
}

void exported_close(struct exported *e)
{
    buf_close(&e->text);
}

bool exported_is_plain(struct slice value)
{
    struct slice trimmed = slice_trim(value);
    for (size_t i = 0; i < value.len; i++)
        if ((unsigned char)value.data[i] < ' ' && value.data[i] != '\t')
            return false;
    return trimmed.len == value.len && value.len > 0 &&
           !(value.data[0] == '<' && value.data[value.len - 1] == '>');
}

void exported_put(struct buf *out, const char *name, struct slice value)
{
    PRE(name != NULL);
    if (exported_is_plain(value))
        buf_printf(out, "%s: %.*s\r\n", name, SLICE_ARG(value));
    else
        exported_put_escaped(out, name, value);
}

void exported_put_escaped(struct buf *out, const char *name, struct slice value)
{
    PRE(name[0] != '\0');
    if (value.len == 0)
        return;
    buf_printf(out, "Quarry-Escaped-%s: ", name);
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.data[i];
        if (c <= ' ' || c >= 0x7f || c == '%' || c == '<' || c == '>')
            buf_printf(out, "%%%02X", c);
        else
            buf_append_byte(out, (char)c);
    }
    buf_append_str(out, "\r\n");
}

/* --- heads --------------------------------------------------------------- */

/* Cut the first line off @s, with its end. */
static struct slice take_line(struct slice *s)
{
    size_t n = slice_find_byte(*s, '\n');
    struct slice line = slice_sub(*s, 0, n < s->len ? n + 1 : n);
    *s = slice_sub(*s, line.len, s->len);
    return line;
}

static struct slice line_name(struct slice line)
{
    size_t colon = slice_find_byte(line, ':');
    return colon == line.len ? SLICE_EMPTY
                             : slice_trim(slice_sub(line, 0, colon));
}

static bool is_masked(struct slice line)
{
    return line.len > MASK_BYTES &&
           http_slice_is(slice_sub(line, 0, MASK_BYTES), "x-quarry-");
}

/* Lines that are false for a decoded body, and those that look masked. */
static bool needs_mask(struct slice line)
{
    struct slice name = line_name(line);
    return http_slice_is(name, "content-encoding") ||
           http_slice_is(name, "transfer-encoding") ||
           http_slice_is(name, "content-length") || is_masked(line);
}

/* Does @line tell the length @bytes? */
static bool tells_length(struct slice line, size_t bytes)
{
    struct buf want = BUF_INIT;
    struct slice v;
    bool ok;
    if (!http_slice_is(line_name(line), "content-length"))
        return false;
    v = slice_trim(slice_sub(line, slice_find_byte(line, ':') + 1, line.len));
    buf_printf(&want, "%zu", bytes);
    ok = slice_eq(v, buf_slice(&want));
    buf_close(&want);
    return ok;
}

enum exported_lines exported_head_lines(struct slice head)
{
    bool has_cr = slice_find_byte(head, '\r') < head.len;
    for (size_t i = 0; i < head.len; i++)
        if (head.data[i] == '\n' && (i == 0 || head.data[i - 1] != '\r'))
            return has_cr ? EXPORTED_LINES_MIXED : EXPORTED_LINES_LF;
    return EXPORTED_LINES_CRLF;
}

void exported_head_crlf(struct slice head, struct buf *out)
{
    for (size_t i = 0; i < head.len; i++) {
        if (head.data[i] == '\n' && (i == 0 || head.data[i - 1] != '\r'))
            buf_append_byte(out, '\r');
        buf_append_byte(out, head.data[i]);
    }
}

void exported_head_lf(struct slice head, struct buf *out)
{
    for (size_t i = 0; i < head.len; i++)
        if (head.data[i] != '\r')
            buf_append_byte(out, head.data[i]);
}

bool exported_head_fits(struct slice head, size_t body_bytes)
{
    while (head.len) {
        struct slice line = take_line(&head);
        if (needs_mask(line) && !tells_length(line, body_bytes))
            return false;
    }
    return true;
}

void exported_head_mask(struct slice head, size_t body_bytes, struct buf *out)
{
    while (head.len) {
        struct slice line = take_line(&head);
        if (needs_mask(line))
            buf_append_str(out, mask);
        buf_append_slice(out, line);
    }
    buf_printf(out, "Content-Length: %zu\r\n", body_bytes);
}

void exported_head_unmask(struct slice head, struct buf *out)
{
    while (head.len) {
        struct slice line = take_line(&head);
        if (head.len == 0)
            break; /* The last length was added by the exporter. */
        if (is_masked(line))
            line = slice_sub(line, MASK_BYTES, line.len);
        buf_append_slice(out, line);
    }
}
