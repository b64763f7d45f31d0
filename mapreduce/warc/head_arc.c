/* The line at the head of an ARC record:
 *     v1  URL IP-address Archive-date Content-type Archive-length
 *     v2  URL IP-address Archive-date Content-type Result-code Checksum
 *         Location Offset Filename Archive-length
 * URLs hold blanks now and then, so the fields are taken from the right. */
#include "mapreduce/warc/date.h"
#include "mapreduce/warc/head.h"

static bool all_digits(struct slice s, size_t least, size_t most)
{
    if (s.len < least || s.len > most)
        return false;
    for (size_t i = 0; i < s.len; i++)
        if (s.data[i] < '0' || s.data[i] > '9')
            return false;
    return true;
}

/* Cut the last word off *@s. */
static struct slice last_word(struct slice *s)
{
    struct slice w;
    size_t n = s->len;
    while (n > 0 && s->data[n - 1] != ' ')
        n--;
    w = slice_sub(*s, n, s->len);
    *s = slice_sub(*s, 0, n > 0 ? n - 1 : 0);
    return w;
}

/* "name:" with a name such as http, dns, filedesc, at the start. */
static bool has_scheme(struct slice s)
{
    size_t n = slice_find_byte(slice_sub(s, 0, 32), ':');
    if (n < 2 || n >= 32 || n >= s.len)
        return false;
    for (size_t i = 0; i < n; i++) {
        char c = s.data[i];
        if (!((c | 0x20) >= 'a' && (c | 0x20) <= 'z') &&
            !(i &&
              ((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.')))
            return false;
    }
    return true;
}

static bool is_ip(struct slice s)
{
    if (s.len == 0 || s.len > 45)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.data[i];
        bool hex =
            (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
        if (!hex && c != '.' && c != ':' && c != '-')
            return false;
    }
    return true;
}

static bool length_of(struct slice s, uint64_t *v)
{
    uint64_t n = 0;
    if (!all_digits(s, 1, 18))
        return false;
    for (size_t i = 0; i < s.len; i++)
        n = n * 10 + (uint64_t)(s.data[i] - '0');
    *v = n;
    return true;
}

/* Digits, or what broken writers put in their place. */
static bool is_date(struct slice s)
{
    return all_digits(s, 6, 23) || slice_eq_str(s, "null") ||
           slice_eq_str(s, "-");
}

/* Five words from the right end make v1 if the third is a date and the second
 * an address; else ten make v2. */
static bool
head_arc_split(struct slice line, struct warc_record *r, struct slice *length)
{
    struct slice rest = line;
    struct slice w[10];
    size_t date_at;
    for (size_t i = 0; i < 10; i++)
        w[i] = SLICE_EMPTY;
    *length = last_word(&rest);
    for (size_t i = 0; i < 8; i++) {
        /* w[i] is content type, date, ip, … from the right. */
        w[i] = last_word(&rest);
        if (i < 2)
            continue;
        date_at = i - 1;
        if ((date_at == 1 || date_at == 6) && is_date(w[date_at]) &&
            is_ip(w[i]) && rest.len > 0) {
            r->content_type = w[date_at - 1];
            r->date = w[date_at];
            r->ip = w[i];
            r->uri = rest;
            r->version = date_at == 1 ? SLICE_LIT("arc/1") : SLICE_LIT("arc/2");
            return true;
        }
    }
    return false;
}

bool head_arc_parse(struct slice line, bool strict, struct head *h)
{
    struct warc_record *r = &h->record;
    struct slice length;
    *r = (struct warc_record){.headers = h->headers, .time_us = INT64_MIN};
    h->has_length = h->bad_length = false;
    if (line.len > HEAD_ARC_LINE_BYTES_MAX)
        return false;
    line = slice_trim(line);
    if (!has_scheme(line) || !head_arc_split(line, r, &length))
        return false;
    h->has_length = length_of(length, &r->content_length);
    h->bad_length = !h->has_length;
    r->is_arc = true;
    r->type = slice_starts_with(r->uri, SLICE_LIT("filedesc:")) ? WARC_INFO
                                                                : WARC_RESPONSE;
    r->type_name =
        r->type == WARC_INFO ? SLICE_LIT("warcinfo") : SLICE_LIT("response");
    if (!date_parse(r->date, &r->time_us))
        r->time_us = INT64_MIN;
    return !strict || r->date.len >= 12 || h->has_length;
}
