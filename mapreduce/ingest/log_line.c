/* A line of a web server's access log, parsed from both ends of what varies:
 * the bracketed time and the quoted request are found first. */
#include "mapreduce/ingest/log_line.h"

#include "mapreduce/warc/date.h"

static struct slice log_line_word(struct slice *s)
{
    size_t n;
    struct slice w;
    while (s->len && s->data[0] == ' ')
        *s = slice_sub(*s, 1, s->len);
    n = slice_find_byte(*s, ' ');
    w = slice_sub(*s, 0, n);
    *s = slice_sub(*s, n, s->len);
    return w;
}

static struct slice unless_dash(struct slice s)
{
    return slice_eq_str(s, "-") ? SLICE_EMPTY : s;
}

/* A field in quotes, in which a backslash escapes the next byte. */
static bool log_line_quoted(struct slice *s, struct slice *out)
{
    size_t i = 0;
    while (s->len && s->data[0] == ' ')
        *s = slice_sub(*s, 1, s->len);
    if (s->len == 0 || s->data[0] != '"')
        return false;
    for (i = 1; i < s->len && s->data[i] != '"'; i++)
        i += s->data[i] == '\\';
    if (i >= s->len)
        return false;
    *out = slice_sub(*s, 1, i);
    *s = slice_sub(*s, i + 1, s->len);
    return true;
}

static void split_request(struct log_line *l)
{
    struct slice s = l->request;
    size_t n = s.len;
    l->method = l->path = l->protocol = SLICE_EMPTY;
    if (slice_find_byte(s, ' ') == s.len)
        return; /* "-", or bytes that a scanner sent. */
    l->method = log_line_word(&s);
    while (s.len && s.data[0] == ' ')
        s = slice_sub(s, 1, s.len);
    n = s.len;
    while (n > 0 && s.data[n - 1] != ' ')
        n--;
    if (n > 0 && slice_starts_with(slice_sub(s, n, s.len), SLICE_LIT("HTTP"))) {
        l->protocol = slice_sub(s, n, s.len);
        s = slice_trim(slice_sub(s, 0, n));
    }
    l->path = s;
}

static bool is_number(struct slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.data[i] < '0' || s.data[i] > '9')
            return false;
    return s.len > 0;
}

/* "client ident user [": user names may contain blanks, so the bracket is
 * searched. */
static bool take_client(struct slice *s, struct log_line *l)
{
    size_t bracket = slice_find_byte(*s, '[');
    struct slice head = slice_sub(*s, 0, bracket);
    struct slice rest;
    size_t words = 0;
    if (bracket == s->len)
        return false;
    for (rest = head; log_line_word(&rest).len;)
        words++;
    if (words < 3)
        return false;
    l->vhost = SLICE_EMPTY;
    rest = head;
    if (words > 3) {
        /* "vhost:port client ident user": recognised by the port. */
        struct slice first = log_line_word(&rest);
        size_t colon = slice_find_byte(first, ':');
        if (is_number(slice_sub(first, colon + 1, first.len)))
            l->vhost = first;
        else
            rest = head;
    }
    l->client = log_line_word(&rest);
    log_line_word(&rest);
    l->user = unless_dash(slice_trim(rest));
    *s = slice_sub(*s, bracket, s->len);
    return l->client.len > 0;
}

bool log_line_parse(struct slice line, struct log_line *out)
{
    struct slice s = slice_trim(line);
    size_t close;
    out->referer = out->agent = SLICE_EMPTY;
    if (!take_client(&s, out))
        return false;
    close = slice_find_byte(s, ']');
    if (close == s.len ||
        !date_parse_log(slice_sub(s, 1, close), &out->time_us))
        return false;
    s = slice_sub(s, close + 1, s.len);
    if (!log_line_quoted(&s, &out->request))
        return false;
    split_request(out);
    out->status = log_line_word(&s);
    out->bytes = unless_dash(log_line_word(&s));
    if (!is_number(out->status) || (out->bytes.len && !is_number(out->bytes)))
        return false;
    if (log_line_quoted(&s, &out->referer) && log_line_quoted(&s, &out->agent))
        out->agent = unless_dash(out->agent);
    out->referer = unless_dash(out->referer);
    return true;
}
