/* The CDX API, as pywb's server has it: which captures there are.
 *
 *     /cdx?url=http://host/path&from=2014&output=json&fl=timestamp,url
 *
 * Lines are sorted by SURT and time. Without `output` they are CDXJ (SURT,
 * date, JSON object), with output=json an object a line, with output=text
 * fields between blanks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/http/http.h"
#include "base/regex/regex.h"
#include "mapreduce/warc/archived_http.h"
#include "mapreduce/warc/date.h"
#include "mapreduce/warc/surt.h"
#include "mapreduce/warc/url.h"
#include "web/replay/replay_call.h"
#include "web/replay/site_index.h"

#define LINES_MAX  ((uint64_t)100000)
#define FILTER_MAX 16

enum cdx_match {
    CDX_EXACT,
    CDX_PREFIX,
    CDX_HOST,
    CDX_DOMAIN,
};

enum cdx_field {
    CDX_URLKEY,
    CDX_TIMESTAMP,
    CDX_URL,
    CDX_MIME,
    CDX_STATUS,
    CDX_DIGEST,
    CDX_REDIRECT,
    CDX_LENGTH,
    CDX_OFFSET,
    CDX_FILENAME,
    CDX_METHOD,
    CDX_REQUEST_BODY,
    CDX_FIELDS,
};

static const struct {
    const char *name;
    const char *other; /* Its name at other servers; or NULL. */
} fields[CDX_FIELDS] = {
    [CDX_URLKEY] = {"urlkey", NULL},
    [CDX_TIMESTAMP] = {"timestamp", NULL},
    [CDX_URL] = {"url", "original"},
    [CDX_MIME] = {"mime", "mimetype"},
    [CDX_STATUS] = {"status", "statuscode"},
    [CDX_DIGEST] = {"digest", NULL},
    [CDX_REDIRECT] = {"redirect", NULL},
    [CDX_LENGTH] = {"length", NULL},
    [CDX_OFFSET] = {"offset", NULL},
    [CDX_FILENAME] = {"filename", NULL},
    [CDX_METHOD] = {"method", NULL},
    [CDX_REQUEST_BODY] = {"requestBody", NULL},
};

/* "[!][=~]field:text": with "=" the field is the text, with "~" it begins with
 * what the text, a regular expression, matches; with neither it contains it. */
struct cdx_filter {
    bool is_not;
    bool is_whole;
    struct regex *regex; /* Owned; or NULL. */
    enum cdx_field field;
    struct slice text;
};

struct cdx_question {
    enum cdx_match match;
    const char *output;
    int64_t from_us;
    int64_t to_us;
    int64_t closest_us;
    bool is_closest;
    bool is_reverse;
    uint64_t limit;
    enum cdx_field wanted[CDX_FIELDS];
    size_t wanted_count;
    struct cdx_filter filters[FILTER_MAX];
    size_t filter_count;
};

/* The fields of one capture, as text. */
struct cdx_row {
    struct buf text[CDX_FIELDS];
};

/* --- the question -------------------------------------------------------- */

static bool field_of(struct slice name, enum cdx_field *out)
{
    for (size_t i = 0; i < CDX_FIELDS; i++)
        if (slice_eq_str(name, fields[i].name) ||
            (fields[i].other && slice_eq_str(name, fields[i].other))) {
            *out = (enum cdx_field)i;
            return true;
        }
    return false;
}

/* From the beginning of the field, as pywb matches. */
static int compile_filter(struct cdx_filter *f, struct err *err)
{
    struct buf pattern = BUF_INIT;
    int rc;
    buf_printf(&pattern, "^(?:%.*s)", SLICE_ARG(f->text));
    rc = regex_new(buf_slice(&pattern), REGEX_UTF8, &f->regex, err);
    if (rc)
        err_wrap(err, "filter");
    buf_close(&pattern);
    return rc;
}

static int
parse_filter(const char *text, struct cdx_question *q, struct err *err)
{
    struct slice s = slice_str(text);
    struct cdx_filter f = {.text = s};
    bool is_regex = false;
    size_t colon;
    if (slice_starts_with(s, SLICE_LIT("!"))) {
        f.is_not = true;
        s = slice_sub(s, 1, s.len);
    }
    if (slice_starts_with(s, SLICE_LIT("=")) ||
        slice_starts_with(s, SLICE_LIT("~"))) {
        is_regex = s.data[0] == '~';
        f.is_whole = !is_regex;
        s = slice_sub(s, 1, s.len);
    }
    colon = slice_find_byte(s, ':');
    f.text = slice_sub(s, colon + 1, s.len);
    if (colon == s.len || !field_of(slice_sub(s, 0, colon), &f.field))
        return err_set(err, ERR_INVALID,
                       "filter: '%s' is not [!][=~]FIELD:TEXT", text);
    if (q->filter_count == FILTER_MAX)
        return err_set(err, ERR_INVALID, "filter: more than %d", FILTER_MAX);
    if (is_regex && compile_filter(&f, err))
        return ERR_INVALID;
    q->filters[q->filter_count++] = f;
    return 0;
}

static int
parse_wanted(const char *text, struct cdx_question *q, struct err *err)
{
    struct slice s = slice_str(text);
    while (s.len) {
        size_t n = slice_find_byte(s, ',');
        enum cdx_field f;
        if (!field_of(slice_sub(s, 0, n), &f) || q->wanted_count == CDX_FIELDS)
            return err_set(err, ERR_INVALID, "fl: '%.*s' is no field",
                           SLICE_ARG(slice_sub(s, 0, n)));
        q->wanted[q->wanted_count++] = f;
        s = slice_sub(s, n + 1, s.len);
    }
    return 0;
}

static int
parse_match(const char *text, struct cdx_question *q, struct err *err)
{
    static const char *const names[] = {"exact", "prefix", "host", "domain"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(text, names[i]) == 0) {
            q->match = (enum cdx_match)i;
            return 0;
        }
    return err_set(err, ERR_INVALID,
                   "matchType: '%s' is none of exact, prefix, host, domain",
                   text);
}

static int
parse_date(const char *text, bool is_end, int64_t *us, struct err *err)
{
    struct slice s = slice_str(text);
    if (!(is_end ? replay_date_parse(s, us) : date_parse(s, us)))
        return err_set(err, ERR_INVALID, "'%s' is no date of 1 to 14 digits",
                       text);
    return 0;
}

static int parse_sort(const char *text, struct cdx_question *q, struct err *err)
{
    if (strcmp(text, "reverse") == 0)
        q->is_reverse = true;
    else if (strcmp(text, "closest") != 0 && *text)
        return err_set(err, ERR_INVALID,
                       "sort: '%s' is neither reverse nor closest", text);
    return 0;
}

static int
parse_output(const char *text, struct cdx_question *q, struct err *err)
{
    if (strcmp(text, "json") != 0 && strcmp(text, "cdxj") != 0 &&
        strcmp(text, "text") != 0)
        return err_set(err, ERR_INVALID,
                       "output: '%s' is none of cdxj, json, text", text);
    q->output = text;
    return 0;
}

static int
parse_field(const struct http_field *f, struct cdx_question *q, struct err *err)
{
    const char *v = f->value;
    if (strcmp(f->name, "matchType") == 0)
        return parse_match(v, q, err);
    if (strcmp(f->name, "from") == 0 && *v)
        return parse_date(v, false, &q->from_us, err);
    if (strcmp(f->name, "to") == 0 && *v)
        return parse_date(v, true, &q->to_us, err);
    if (strcmp(f->name, "closest") == 0 && *v) {
        q->is_closest = true;
        return parse_date(v, true, &q->closest_us, err);
    }
    if (strcmp(f->name, "limit") == 0)
        return text_parse_u64(slice_str(v), &q->limit, err);
    if (strcmp(f->name, "sort") == 0)
        return parse_sort(v, q, err);
    if (strcmp(f->name, "output") == 0)
        return parse_output(v, q, err);
    if (strcmp(f->name, "fl") == 0 || strcmp(f->name, "fields") == 0)
        return parse_wanted(v, q, err);
    if (strcmp(f->name, "filter") == 0)
        return parse_filter(v, q, err);
    return 0;
}

/* "*.host" is a domain, "URL*" a prefix. The URL goes to @url. */
static int parse_url(const char *text,
                     struct cdx_question *q,
                     struct buf *url,
                     struct err *err)
{
    struct slice s = slice_str(text);
    if (slice_starts_with(s, SLICE_LIT("*."))) {
        q->match = CDX_DOMAIN;
        s = slice_sub(s, 2, s.len);
    } else if (slice_ends_with(s, SLICE_LIT("*"))) {
        q->match = CDX_PREFIX;
        s = slice_sub(s, 0, s.len - 1);
    }
    if (!replay_url_absolute(s, url))
        return err_set(err, ERR_INVALID, "url: '%s' is no URL", text);
    return 0;
}

static int parse_question(const struct http_form *form,
                          struct cdx_question *q,
                          struct buf *url,
                          struct err *err)
{
    const char *text = http_form_get(form, "url");
    int rc = 0;
    *q = (struct cdx_question){.output = "cdxj",
                               .from_us = INT64_MIN,
                               .to_us = INT64_MAX,
                               .limit = LINES_MAX};
    if (!text || !*text)
        return err_set(err, ERR_INVALID,
                       "say which captures: /cdx?url=http://host/path");
    for (size_t i = 0; rc == 0 && i < form->count; i++)
        rc = parse_field(&form->fields[i], q, err);
    q->limit = MIN_OF(q->limit, LINES_MAX);
    return rc ? rc : parse_url(text, q, url, err);
}

/* --- lines --------------------------------------------------------------- */

static void
line_make(struct cdx_row *l, const struct capture *c, struct slice surt)
{
    char date[DATE_TEXT_BYTES];
    struct slice media = http_media_type(c->type);
    struct slice digest = c->digest;
    struct slice source = c->source;
    struct slice values[CDX_FIELDS] = {[CDX_URLKEY] = surt};
    size_t colon = source.len;
    char status[16] = "";
    char length[24] = "";
    while (colon && source.data[colon - 1] != ':')
        colon--;
    date_format_14(c->time_us, date);
    /* As pywb has it: a revisit has no status of its own, and what names no
     * type is unknown. */
    if (c->status && c->revisit.len == 0)
        snprintf(status, sizeof(status), "%d", c->status);
    if (c->length)
        snprintf(length, sizeof(length), "%llu", (unsigned long long)c->length);
    if (slice_starts_with(digest, SLICE_LIT("sha1:")))
        digest = slice_sub(digest, 5, digest.len);
    values[CDX_TIMESTAMP] = slice_str(date);
    values[CDX_URL] = c->url;
    values[CDX_MIME] = c->revisit.len ? SLICE_LIT("warc/revisit")
                       : media.len    ? media
                                      : SLICE_LIT("unk");
    values[CDX_STATUS] = slice_str(status);
    values[CDX_DIGEST] = digest;
    values[CDX_REDIRECT] = c->location;
    values[CDX_LENGTH] = slice_str(length);
    values[CDX_OFFSET] = slice_sub(source, colon, source.len);
    values[CDX_FILENAME] = slice_sub(source, 0, colon ? colon - 1 : 0);
    values[CDX_METHOD] = c->method;
    values[CDX_REQUEST_BODY] = c->query;
    for (size_t i = 0; i < CDX_FIELDS; i++) {
        buf_clear(&l->text[i]);
        buf_append_slice(&l->text[i], values[i]);
    }
}

static bool slice_contains(struct slice s, struct slice part)
{
    for (size_t i = 0; i + part.len <= s.len; i++)
        if (part.len == 0 || memcmp(s.data + i, part.data, part.len) == 0)
            return true;
    return false;
}

static bool line_passes(const struct cdx_row *l, const struct cdx_question *q)
{
    for (size_t i = 0; i < q->filter_count; i++) {
        const struct cdx_filter *f = &q->filters[i];
        struct slice value = buf_slice(&l->text[f->field]);
        bool fits = f->regex      ? regex_search(f->regex, value, 0, NULL, 0)
                    : f->is_whole ? slice_eq(value, f->text)
                                  : slice_contains(value, f->text);
        if (fits == f->is_not)
            return false;
    }
    return true;
}

static void put_object(const struct cdx_row *l,
                       const struct cdx_question *q,
                       size_t first,
                       struct buf *out)
{
    bool any = false;
    buf_append_byte(out, '{');
    for (size_t i = 0; i < CDX_FIELDS; i++) {
        size_t f = q->wanted_count
                       ? i < q->wanted_count ? q->wanted[i] : CDX_FIELDS
                       : i;
        if (f >= CDX_FIELDS || f < first || l->text[f].len == 0)
            continue;
        buf_printf(out, "%s\"%s\": ", any ? ", " : "", fields[f].name);
        text_put_json(out, buf_slice(&l->text[f]));
        any = true;
    }
    buf_append_byte(out, '}');
}

static void put_words(const struct cdx_row *l,
                      const struct cdx_question *q,
                      struct buf *out)
{
    /* A line of all fields has those of CDX files. */
    size_t count = q->wanted_count ? q->wanted_count : CDX_METHOD;
    for (size_t i = 0; i < count; i++) {
        size_t f = q->wanted_count ? q->wanted[i] : i;
        if (i)
            buf_append_byte(out, ' ');
        if (l->text[f].len)
            buf_append_slice(out, buf_slice(&l->text[f]));
        else
            buf_append_byte(out, '-');
    }
}

static void
put_line(const struct cdx_row *l, const struct cdx_question *q, struct buf *out)
{
    if (strcmp(q->output, "text") == 0) {
        put_words(l, q, out);
    } else if (strcmp(q->output, "json") == 0) {
        put_object(l, q, 0, out);
    } else {
        buf_append_slice(out, buf_slice(&l->text[CDX_URLKEY]));
        buf_append_byte(out, ' ');
        buf_append_slice(out, buf_slice(&l->text[CDX_TIMESTAMP]));
        buf_append_byte(out, ' ');
        put_object(l, q, CDX_URL, out);
    }
    buf_append_byte(out, '\n');
}

/* --- captures of one SURT ------------------------------------------------ */

static int64_t distance_of(const struct capture *c,
                           const struct cdx_question *q)
{
    int64_t d = c->time_us / 1000000 - q->closest_us / 1000000;
    return d < 0 ? -d : d;
}

/* The order in which captures of @l are written; owned. By insertion: they are
 * sorted by time already, and distances fall and rise once. */
static size_t *order_of(const struct capture_list *l,
                        const struct cdx_question *q)
{
    size_t *order = mem_zalloc(l->count + 1, sizeof(*order));
    size_t left = 0;
    size_t right;
    for (size_t i = 0; i < l->count; i++)
        order[i] = q->is_reverse ? l->count - 1 - i : i;
    if (!q->is_closest)
        return order;
    while (left < l->count && l->at[left].time_us <= q->closest_us)
        left++;
    right = left;
    for (size_t i = 0; i < l->count; i++)
        if (right == l->count ||
            (left > 0 &&
             distance_of(&l->at[left - 1], q) <= distance_of(&l->at[right], q)))
            order[i] = --left;
        else
            order[i] = right++;
    return order;
}

static void put_captures(const struct capture_list *l,
                         const struct cdx_question *q,
                         struct slice surt,
                         struct cdx_row *line,
                         uint64_t *count,
                         struct buf *out)
{
    size_t *order = order_of(l, q);
    for (size_t i = 0; i < l->count && *count < q->limit; i++) {
        const struct capture *c = &l->at[order[i]];
        if (c->time_us < q->from_us ||
            c->time_us / 1000000 * 1000000 > q->to_us)
            continue;
        line_make(line, c, surt);
        if (!line_passes(line, q))
            continue;
        put_line(line, q, out);
        ++*count;
    }
    mem_free(order);
}

/* --- all of them --------------------------------------------------------- */

/* SURTs that @match takes begin with the text that is put in @out. */
static void surt_prefix(struct slice url, enum cdx_match match, struct buf *out)
{
    surt_key(url, out);
    if (match == CDX_HOST)
        buf_truncate(out, slice_find_byte(buf_slice(out), ')') + 1);
    else if (match == CDX_DOMAIN)
        buf_truncate(out, slice_find_byte(buf_slice(out), ')'));
    else if (slice_ends_with(url, SLICE_LIT("/")) && out->len &&
             out->data[out->len - 1] != '/')
        buf_append_byte(out, '/');
}

static bool surt_fits(struct slice surt, struct slice prefix, enum cdx_match m)
{
    if (!slice_starts_with(surt, prefix))
        return false;
    return m != CDX_DOMAIN ||
           (surt.len > prefix.len &&
            (surt.data[prefix.len] == ')' || surt.data[prefix.len] == ',' ||
             surt.data[prefix.len] == ':'));
}

/* The entries that are asked for, copied: reading their rows parks. */
static int matching_entries(struct replay_call *k,
                            const struct cdx_question *q,
                            struct arena *arena,
                            struct site_entry **out,
                            size_t *count,
                            struct err *err)
{
    const struct site_index *site;
    struct buf prefix = BUF_INIT;
    int rc = archive_site(k->replay->archive, buf_slice(&k->url),
                          q->match == CDX_DOMAIN, &site, err);
    size_t cap = 0;
    *count = 0;
    *out = NULL;
    surt_prefix(buf_slice(&k->url), q->match, &prefix);
    for (size_t i = rc ? 0 : site_index_find(site, buf_slice(&prefix));
         rc == 0 && i < site->count &&
         slice_starts_with(site->at[i].surt, buf_slice(&prefix));
         i++) {
        if (!surt_fits(site->at[i].surt, buf_slice(&prefix), q->match))
            continue;
        if (*count == cap) {
            cap = cap ? cap * 2 : 64;
            *out = mem_realloc(*out, cap * sizeof(**out));
        }
        (*out)[(*count)++] =
            (struct site_entry){arena_dup(arena, site->at[i].surt),
                                arena_dup(arena, site->at[i].row)};
    }
    buf_close(&prefix);
    return rc == ERR_NOTFOUND ? 0 : rc;
}

static int by_time(const void *a, const void *b)
{
    const struct capture *x = a;
    const struct capture *y = b;
    return x->time_us < y->time_us ? -1 : x->time_us > y->time_us;
}

/* Write the lines of rows [*i, …) that have one SURT, and step behind them. */
static int put_group(struct replay_call *k,
                     const struct cdx_question *q,
                     const struct site_entry *entries,
                     size_t count,
                     size_t *i,
                     struct cdx_row *line,
                     uint64_t *written,
                     struct err *err)
{
    struct capture_list l = {.at = NULL};
    struct slice surt = entries[*i].surt;
    int rc = 0;
    arena_init(&l.arena);
    for (; rc == 0 && *i < count && slice_eq(entries[*i].surt, surt); ++*i)
        rc = archive_row_captures(k->replay->archive, entries[*i].row, &l, err);
    if (l.count > 1)
        qsort(l.at, l.count, sizeof(*l.at), by_time);
    if (rc == 0)
        put_captures(&l, q, surt, line, written, &k->reply->body);
    capture_list_close(&l);
    return rc;
}

static int put_matching(struct replay_call *k,
                        const struct cdx_question *q,
                        struct err *err)
{
    struct arena arena;
    struct site_entry *entries;
    struct cdx_row line = {.text = {{NULL, 0, 0}}};
    size_t count;
    uint64_t written = 0;
    int rc;
    arena_init(&arena);
    rc = matching_entries(k, q, &arena, &entries, &count, err);
    for (size_t i = 0; rc == 0 && i < count && written < q->limit;)
        rc = put_group(k, q, entries, count, &i, &line, &written, err);
    for (size_t i = 0; i < CDX_FIELDS; i++)
        buf_close(&line.text[i]);
    mem_free(entries);
    arena_close(&arena);
    return rc;
}

static int
put_exact(struct replay_call *k, const struct cdx_question *q, struct err *err)
{
    struct capture_list l;
    struct cdx_row line = {.text = {{NULL, 0, 0}}};
    struct buf surt = BUF_INIT;
    uint64_t written = 0;
    int rc = archive_captures(k->replay->archive, buf_slice(&k->url), &l, err);
    surt_key(buf_slice(&k->url), &surt);
    if (rc == 0)
        put_captures(&l, q, buf_slice(&surt), &line, &written, &k->reply->body);
    for (size_t i = 0; i < CDX_FIELDS; i++)
        buf_close(&line.text[i]);
    buf_close(&surt);
    capture_list_close(&l);
    return rc;
}

void cdx_query(struct replay_call *k, const struct http_form *query)
{
    struct cdx_question q;
    struct err err = ERR_INIT;
    int rc = parse_question(query, &q, &k->url, &err);
    if (rc == 0)
        rc = q.match == CDX_EXACT ? put_exact(k, &q, &err)
                                  : put_matching(k, &q, &err);
    for (size_t i = 0; i < q.filter_count; i++)
        regex_free(q.filters[i].regex);
    if (rc) {
        buf_clear(&k->reply->body);
        replay_failed(k, &err);
        return;
    }
    k->reply->content_type = strcmp(q.output, "json") == 0
                                 ? "text/x-ndjson; charset=utf-8"
                                 : "text/plain; charset=utf-8";
}
