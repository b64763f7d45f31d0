/* The header block of a WARC record (ISO 28500, section 4), read leniently:
 * bare LF, folded lines, names in any case, blanks around colons, URIs in angle
 * brackets. */
#include "base/core/panic.h"
#include "mapreduce/warc/archived_http.h"
#include "mapreduce/warc/date.h"
#include "mapreduce/warc/decompress.h"
#include "mapreduce/warc/head.h"

/* Cut the first line off *@s, without its CR LF (some write CR CR LF). False:
 * no line ends in @s. */
static bool take_line(struct slice *s, struct slice *line)
{
    size_t n = slice_find_byte(*s, '\n');
    size_t end = n;
    if (n == s->len)
        return false;
    while (end > 0 && s->data[end - 1] == '\r')
        end--;
    *line = slice_sub(*s, 0, end);
    *s = slice_sub(*s, n + 1, s->len);
    return true;
}

static bool is_version_line(struct slice line)
{
    return decompress__is_warc(line) && line.len <= 32 && line.len > 5 &&
           line.data[5] >= '0' && line.data[5] <= '9';
}

size_t head_warc_length(struct slice s, bool at_end, bool *bad)
{
    struct slice rest = s;
    struct slice line;
    size_t n = 0;
    *bad = false;
    while (take_line(&rest, &line)) {
        if ((n == 0) != is_version_line(line)) {
            *bad = true;
            return 0;
        }
        if (line.len == 0)
            return s.len - rest.len;
        n++;
    }
    *bad = s.len > HEAD_BYTES_MAX;
    return at_end && rest.len == 0 && n > 1 ? s.len : 0;
}

bool head_warc_starts(struct slice s)
{
    struct slice line;
    struct slice rest = slice_sub(s, 0, 64);
    if (!take_line(&rest, &line) || !is_version_line(line))
        return false;
    for (size_t i = 0; i < rest.len; i++) {
        char c = rest.data[i];
        if (c == ':')
            return i > 1;
        if (!((c | 0x20) >= 'a' && (c | 0x20) <= 'z') && c != '-' && c != ' ')
            return false;
    }
    return rest.len > 8;
}

/* --- fields -------------------------------------------------------------- */

/* A number of bytes; false: not a number, or absurd. */
static bool head_warc_number(struct slice s, uint64_t *v)
{
    uint64_t n = 0;
    if (s.len == 0)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if (s.data[i] < '0' || s.data[i] > '9' || n > INT64_MAX / 10)
            return false;
        n = n * 10 + (uint64_t)(s.data[i] - '0');
        if (n > INT64_MAX)
            return false;
    }
    *v = n;
    return true;
}

static struct slice head_warc_unbracket(struct slice s)
{
    if (s.len >= 2 && s.data[0] == '<' && s.data[s.len - 1] == '>')
        return slice_trim(slice_sub(s, 1, s.len - 1));
    return s;
}

enum warc_type head_type(struct slice name)
{
    static const struct {
        const char *name;
        enum warc_type type;
    } types[] = {
        {"response", WARC_RESPONSE}, {"request", WARC_REQUEST},
        {"metadata", WARC_METADATA}, {"revisit", WARC_REVISIT},
        {"resource", WARC_RESOURCE}, {"conversion", WARC_CONVERSION},
        {"warcinfo", WARC_INFO},     {"continuation", WARC_CONTINUATION},
    };

    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (http_slice_is(name, types[i].name))
            return types[i].type;
    return WARC_OTHER;
}

enum field {
    FIELD_SLICE,
    FIELD_URI,
    FIELD_NUMBER,
};

static const struct {
    const char *name;
    enum field kind;
    size_t offset;
} fields[] = {

#define FIELD(name, kind, member)                                              \
    {                                                                          \
        name, kind, offsetof(struct warc_record, member)                       \
    }
    FIELD("warc-type", FIELD_SLICE, type_name),
    FIELD("warc-target-uri", FIELD_URI, uri),
    FIELD("warc-date", FIELD_SLICE, date),
    FIELD("warc-record-id", FIELD_URI, id),
    FIELD("content-type", FIELD_SLICE, content_type),
    FIELD("warc-ip-address", FIELD_SLICE, ip),
    FIELD("warc-block-digest", FIELD_SLICE, block_digest),
    FIELD("warc-payload-digest", FIELD_SLICE, payload_digest),
    FIELD("warc-truncated", FIELD_SLICE, truncated),
    FIELD("warc-profile", FIELD_URI, profile),
    FIELD("warc-refers-to", FIELD_URI, refers_to),
    FIELD("warc-refers-to-target-uri", FIELD_URI, refers_to_uri),
    FIELD("warc-refers-to-date", FIELD_SLICE, refers_to_date),
    FIELD("warc-segment-origin-id", FIELD_URI, segment_origin),
    FIELD("warc-segment-number", FIELD_NUMBER, segment_number),
    FIELD("warc-segment-total-length", FIELD_NUMBER, segment_total),
#undef FIELD
};

/* The first of a name counts; only WARC-Concurrent-To may repeat. */
static void put_field(struct head *h, const struct warc_header *f)
{
    char *base = (char *)&h->record;
    if (http_slice_is(f->name, "content-length")) {
        if (!h->has_length && !h->bad_length) {
            h->has_length =
                head_warc_number(f->value, &h->record.content_length);
            h->bad_length = !h->has_length;
        }
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (!http_slice_is(f->name, fields[i].name))
            continue;
        if (fields[i].kind == FIELD_NUMBER) {
            uint64_t *to = (uint64_t *)(void *)(base + fields[i].offset);
            if (*to == 0 && !head_warc_number(f->value, to))
                *to = 0;
        } else {
            struct slice *to =
                (struct slice *)(void *)(base + fields[i].offset);
            if (to->len == 0)
                *to = fields[i].kind == FIELD_URI
                          ? head_warc_unbracket(f->value)
                          : f->value;
        }
        return;
    }
}

/* Join a folded line to the value before it. */
static void
head_warc_fold(struct warc_header *f, struct slice line, struct arena *arena)
{
    struct slice more = slice_trim(line);
    char *p = arena_alloc(arena, f->value.len + more.len + 1);
    if (f->value.len)
        memcpy(p, f->value.data, f->value.len);
    p[f->value.len] = ' ';
    if (more.len)
        memcpy(p + f->value.len + 1, more.data, more.len);
    f->value = slice_trim(slice_make(p, f->value.len + 1 + more.len));
}

static void put_line(struct head *h, struct slice line, struct arena *arena)
{
    struct warc_record *r = &h->record;
    size_t colon = slice_find_byte(line, ':');
    if (line.data[0] == ' ' || line.data[0] == '\t') {
        if (r->header_count)
            head_warc_fold(&h->headers[r->header_count - 1], line, arena);
        return;
    }
    if (colon == line.len || r->header_count == HEAD_HEADER_COUNT_MAX)
        return;
    h->headers[r->header_count++] = (struct warc_header){
        slice_trim(slice_sub(line, 0, colon)),
        slice_trim(slice_sub(line, colon + 1, line.len)),
    };
}

bool head_warc_parse(struct slice s, struct head *h, struct arena *arena)
{
    struct warc_record *r = &h->record;
    struct slice line;
    *r = (struct warc_record){.headers = h->headers, .time_us = INT64_MIN};
    h->has_length = h->bad_length = false;
    if (!take_line(&s, &line) || !is_version_line(line))
        return false;
    r->version = slice_trim(slice_sub(line, 5, line.len));
    while (take_line(&s, &line) && line.len > 0)
        put_line(h, line, arena);
    for (size_t i = 0; i < r->header_count; i++)
        put_field(h, &h->headers[i]);
    r->type = head_type(r->type_name);
    if (!date_parse(r->date, &r->time_us))
        r->time_us = INT64_MIN;
    return true;
}
