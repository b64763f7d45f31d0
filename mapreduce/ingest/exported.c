/* Fields and heads of exported records. */
#include "mapreduce/ingest/exported.h"

#include <string.h>

#include "mapreduce/warc/http.h"

static const char mask[] = "X-Quarry-";
#define MASK_BYTES (sizeof(mask) - 1)

/* --- fields -------------------------------------------------------------- */

static void
field(const struct warc_record *rec, const char *name, struct slice *out)
{
    if (!warc_record_header(rec, name, out))
        *out = SLICE_EMPTY;
}

void exported_read(const struct warc_record *rec, struct exported *out)
{
    struct slice v;
    memset(out, 0, sizeof(*out));
    out->is_one = warc_record_header(rec, "quarry-record", &v);
    if (!out->is_one)
        return;
    out->made_id = warc_record_header(rec, "quarry-made-id", &v);
    out->masked = warc_record_header(rec, "quarry-head", &v);
    field(rec, "quarry-source", &out->source);
    field(rec, "quarry-type", &out->type);
    field(rec, "quarry-payload-digest", &out->digest);
    field(rec, "quarry-coding", &out->coding);
    field(rec, "quarry-revisit-of", &out->revisit_of);
}

void exported_put(struct buf *out, const char *name, struct slice value)
{
    if (value.len == 0)
        return;
    for (size_t i = 0; i < value.len; i++)
        if ((unsigned char)value.data[i] < ' ' && value.data[i] != '\t')
            return;
    buf_printf(out, "%s: %.*s\r\n", name, SLICE_ARG(value));
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

/* Lines that a body without its codings belies; and those that look masked. */
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
            break; /* The length that stands last was never sent. */
        if (is_masked(line))
            line = slice_sub(line, MASK_BYTES, line.len);
        buf_append_slice(out, line);
    }
}
