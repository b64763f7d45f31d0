/* From cells to words: see page_document.h. Captures are compared by a hash of
 * their text, because most of a crawl repeats an earlier one.
 */
#include "web/search/build/page_document.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/hash.h"
#include "base/core/hash_map.h"
#include "base/core/hex.h"
#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "mapreduce/warc/archived_http.h"
#include "mapreduce/warc/charset.h"
#include "mapreduce/warc/links.h"
#include "web/search/build/inverter.h"
#include "web/search/text/page_fields.h"
#include "web/search/text/word_breaks.h"

/* Different texts of links to a page that are indexed, and words of all. */
#define ANCHOR_TEXTS_MAX 200
#define ANCHOR_WORDS_MAX 4000
/* Words of a body; far more than any page that is read. */
#define BODY_WORDS_MAX 1000000
/* Texts of fewer words are alike only if they are equal. */
#define LIKENESS_WORDS_MIN 40
/* Captures of a row that are looked at, the newest ones. */
#define ROW_CAPTURES_MAX 20000

/* The cells of one capture. */
struct page_capture {
    int64_t time_us;
    struct slice body;
    struct slice made_text; /* contents:text */
    struct slice type;
    struct slice status;
    struct slice url;
    bool has_body;
    bool has_record; /* It has http: or meta: cells. */
};

struct row_document_reader {
    struct word_breaker *words; /* Owned, as all here. */
    struct charset_decoder *charsets;
    struct page_fields fields;
    struct page_capture *captures;
    size_t capture_count;
    size_t capture_cap;
    int64_t *times;
    size_t times_cap;
    struct buf url;

    /* Of the document under way. */
    struct inverter *to; /* Borrowed. */
    uint32_t position;
    float count;
    enum word_kind kind;
    uint32_t words_left;
    size_t heading; /* The next one whose end is not behind us. */
    uint64_t shingle[2];
    uint64_t text_hash;
    uint32_t shingles;
    uint32_t body_words;
    int32_t likeness[64];
};

int row_document_reader_new(struct row_document_reader **out, struct err *err)
{
    struct row_document_reader *r = mem_zalloc(1, sizeof(*r));
    int rc = word_breaker_new(&r->words, err);
    r->charsets = charset_decoder_new();
    if (rc) {
        row_document_reader_free(r);
        r = NULL;
    }
    *out = r;
    return rc;
}

void row_document_reader_free(struct row_document_reader *r)
{
    if (!r)
        return;
    word_breaker_free(r->words);
    charset_decoder_free(r->charsets);
    page_fields_close(&r->fields);
    buf_close(&r->url);
    mem_free(r->captures);
    mem_free(r->times);
    mem_free(r);
}

struct word_breaker *row_document_breaker(struct row_document_reader *r)
{
    return r->words;
}

/* --- captures ------------------------------------------------------------ */

static bool family_is(const struct quarry_cell *c, const char *family)
{
    return slice_eq_str(c->family, family);
}

static bool column_is(const struct quarry_cell *c,
                      const char *family,
                      const char *qualifier)
{
    return family_is(c, family) && slice_eq_str(c->qualifier, qualifier);
}

static int by_time(const void *a, const void *b)
{
    const struct page_capture *x = a;
    const struct page_capture *y = b;
    return (x->time_us > y->time_us) - (x->time_us < y->time_us);
}

static void capture_cell(struct page_capture *p, const struct quarry_cell *c)
{
    bool contents = family_is(c, "contents");
    p->has_record |= !contents;
    if (contents && c->qualifier.len == 0) {
        p->body = c->value;
        p->has_body = true;
    } else if (column_is(c, "contents", "text")) {
        p->made_text = c->value;
    } else if (column_is(c, "http", "content-type")) {
        p->type = c->value;
    } else if (column_is(c, "http", "status")) {
        p->status = c->value;
    } else if (column_is(c, "http", "url")) {
        p->url = c->value;
    }
}

/* The captures of @row, oldest first: one for each time of its cells. */
static void read_captures(struct row_document_reader *r,
                          const struct quarry_row *row)
{
    size_t count = 0;
    if (row->cell_count > r->capture_cap) {
        r->capture_cap = row->cell_count;
        r->captures =
            mem_realloc(r->captures, r->capture_cap * sizeof(*r->captures));
    }
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct quarry_cell *c = &row->cells[i];
        if (!family_is(c, "contents") && !family_is(c, "http") &&
            !family_is(c, "meta"))
            continue;
        r->captures[count] = (struct page_capture){.time_us = c->timestamp_us};
        capture_cell(&r->captures[count++], c);
    }
    qsort(r->captures, count, sizeof(*r->captures), by_time);
    r->capture_count = 0;
    for (size_t i = 0; i < count; i++) { /* Those of one time are one. */
        struct page_capture *from = &r->captures[i];
        struct page_capture *to = &r->captures[r->capture_count];
        if (r->capture_count && to[-1].time_us == from->time_us) {
            to--;
            to->has_record |= from->has_record;
            if (from->has_body) {
                to->has_body = true;
                to->body = from->body;
            }
            if (from->made_text.len)
                to->made_text = from->made_text;
            if (from->type.len)
                to->type = from->type;
            if (from->status.len)
                to->status = from->status;
            if (from->url.len)
                to->url = from->url;
        } else {
            *to = *from;
            r->capture_count++;
        }
    }
    if (r->capture_count > ROW_CAPTURES_MAX) {
        size_t drop = r->capture_count - ROW_CAPTURES_MAX;
        memmove(r->captures, r->captures + drop,
                ROW_CAPTURES_MAX * sizeof(*r->captures));
        r->capture_count = ROW_CAPTURES_MAX;
    }
}

static bool status_is_good(struct slice status)
{
    return status.len == 0 || (status.len == 3 && status.data[0] == '2');
}

/* May a capture of this type be a page? By its cells but contents:. */
static bool type_may_be_page(struct slice content_type)
{
    struct slice type = http_media_type(content_type);
    return type.len == 0 || html_is(type, SLICE_EMPTY) ||
           http_slice_is(type, "text/plain") ||
           http_slice_is(type, "application/xhtml+xml");
}

/* Read the text of @p into @out; false: it has none. */
static bool capture_text(struct row_document_reader *r,
                         const struct page_capture *p,
                         struct page_fields *out)
{
    struct slice type = http_media_type(p->type);
    bool html;
    if (!p->has_record || !status_is_good(p->status))
        return false;
    if (!p->has_body || p->body.len == 0) {
        if (p->made_text.len == 0)
            return false;
        page_fields_plain(out, p->made_text);
        return true;
    }
    html =
        html_is(type, p->body) || http_slice_is(type, "application/xhtml+xml");
    if (!html && !http_slice_is(type, "text/plain")) {
        if (p->made_text.len == 0)
            return false;
        page_fields_plain(out, p->made_text);
        return true;
    }
    struct slice text =
        charset_decode(r->charsets, http_charset(p->type), html, p->body);
    if (html)
        page_fields_html(out, text);
    else
        page_fields_plain(out, text);
    return true;
}

/* --- words --------------------------------------------------------------- */

/* Words of the body vote on the bits of its likeness, three in a row at a time,
 * a quarter of these (Charikar 2002; Manku, Jain, Das Sarma 2007). */
static void likeness_add(struct row_document_reader *r, struct slice term)
{
    uint64_t h = hash64_slice(term);
    uint64_t three = hash_mix(h + 3 * r->shingle[0] + 7 * r->shingle[1]);
    r->text_hash = hash_mix(r->text_hash ^ h);
    r->body_words++;
    r->shingle[1] = r->shingle[0];
    r->shingle[0] = h;
    if (r->body_words < 3 || (three & 3) != 0)
        return;
    three = hash_mix(three);
    r->shingles++;
    for (int i = 0; i < 64; i++)
        r->likeness[i] += (int32_t)((three >> i) & 1);
}

static uint64_t likeness_of(const struct row_document_reader *r,
                            struct slice key)
{
    uint64_t bits = 0;
    if (r->body_words == 0)
        return hash64_slice(key);
    if (r->body_words < LIKENESS_WORDS_MIN || r->shingles == 0)
        return hash_mix(r->text_hash);
    for (int i = 0; i < 64; i++)
        bits |= (uint64_t)((uint32_t)r->likeness[i] * 2 > r->shingles) << i;
    return bits;
}

static void put_word(void *ctx, const struct word *w)
{
    struct row_document_reader *r = ctx;
    enum word_kind kind = r->kind;
    const struct page_fields *f = &r->fields;
    if (r->words_left == 0)
        return;
    r->words_left--;
    if (kind == WORD_BODY) {
        while (r->heading < f->heading_count &&
               f->headings[r->heading].end <= w->begin)
            r->heading++;
        if (r->heading < f->heading_count &&
            f->headings[r->heading].begin <= w->begin)
            kind = WORD_HEADING;
        likeness_add(r, w->term);
    }
    inverter_word(r->to, w->term, r->position++, kind, r->count);
}

static void put_text(struct row_document_reader *r,
                     struct slice text,
                     enum word_kind kind,
                     float count,
                     uint32_t words_max)
{
    r->kind = kind;
    r->count = count;
    r->words_left = words_max;
    word_breaks(r->words, text, put_word, r);
}

/* The URL as words: host and path, escapes decoded, cut at what is neither
 * letter nor digit. */
static void put_url(struct row_document_reader *r, struct slice url)
{
    size_t scheme = slice_find_byte(url, ':');
    if (scheme + 3 <= url.len && memcmp(url.data + scheme, "://", 3) == 0)
        url = slice_sub(url, scheme + 3, url.len);
    buf_clear(&r->url);
    for (size_t i = 0; i < url.len; i++) {
        char c = url.data[i];
        if (c == '%' && i + 2 < url.len && hex_value(url.data[i + 1]) >= 0 &&
            hex_value(url.data[i + 2]) >= 0) {
            c = (char)(hex_value(url.data[i + 1]) << 4 |
                       hex_value(url.data[i + 2]));
            i += 2;
        }
        bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       (c >= '0' && c <= '9') || (c & 0x80);
        buf_append_byte(&r->url, is_word ? c : ' ');
    }
    put_text(r, buf_slice(&r->url), WORD_URL, 1, 100);
}

struct anchor_text {
    struct slice text;
    uint32_t count;
};

/* The texts of links to the page, each once; of each link the newest. Returns
 * how many. */
static size_t read_anchors(const struct quarry_row *row,
                           struct anchor_text *out)
{
    struct hash_map seen;
    size_t count = 0;
    hash_map_init(&seen, HASH_KEYS_BORROWED);
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct quarry_cell *c = &row->cells[i];
        union hash_value *at;
        bool added;
        if (!family_is(c, "anchor") || c->value.len == 0 ||
            (i && family_is(&c[-1], "anchor") &&
             slice_eq(c[-1].qualifier, c->qualifier)))
            continue;
        if (count == ANCHOR_TEXTS_MAX) {
            at = hash_map_get(&seen, c->value);
            if (at)
                out[at->number].count++;
            continue;
        }
        at = hash_map_put(&seen, c->value, &added);
        if (added) {
            at->number = count;
            out[count++] = (struct anchor_text){c->value, 1};
        } else {
            out[at->number].count++;
        }
    }
    hash_map_close(&seen);
    return count;
}

static void put_anchors(struct row_document_reader *r,
                        const struct anchor_text *texts,
                        size_t count)
{
    uint32_t begin = r->position;
    for (size_t i = 0; i < count; i++) {
        uint32_t used = r->position - begin;
        if (used >= ANCHOR_WORDS_MAX)
            break;
        put_text(r, texts[i].text, WORD_ANCHOR,
                 1.0F + log2f((float)texts[i].count), ANCHOR_WORDS_MAX - used);
        r->position++; /* No phrase runs from one into the next. */
    }
}

/* The words of the document in r->fields. */
static void put_document_words(struct row_document_reader *r,
                               struct slice url,
                               const struct anchor_text *anchors,
                               size_t anchor_count,
                               struct segment_document *d)
{
    r->position = 0;
    r->heading = 0;
    r->shingle[0] = r->shingle[1] = 0;
    r->text_hash = 0;
    r->shingles = 0;
    r->body_words = 0;
    memset(r->likeness, 0, sizeof(r->likeness));
    put_text(r, buf_slice(&r->fields.title), WORD_TITLE, 1, 1000);
    d->ends[FIELD_TITLE] = r->position++;
    put_url(r, url);
    d->ends[FIELD_URL] = r->position++;
    put_anchors(r, anchors, anchor_count);
    d->ends[FIELD_ANCHOR] = r->position++;
    put_text(r, buf_slice(&r->fields.text), WORD_BODY, 1, BODY_WORDS_MAX);
    d->ends[FIELD_BODY] = r->position + 1;
}

/* --- rows ---------------------------------------------------------------- */

/* PageRank by the logarithm: 1e-9 and less is 0, 1 is 255. */
static uint8_t row_rank(const struct quarry_row *row)
{
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct quarry_cell *c = &row->cells[i];
        char text[32];
        double rank;
        if (!column_is(c, "rank", "") || c->value.len >= sizeof(text))
            continue;
        memcpy(text, c->value.data, c->value.len);
        text[c->value.len] = '\0';
        rank = strtod(text, NULL);
        if (!(rank > 1e-9))
            return 0;
        return (uint8_t)MIN_OF(255.0, (log2(rank) + 30.0) * 8.5);
    }
    return 0;
}

/* "com.cnn.www/path" as a URL, for rows whose captures tell none: the labels
 * are words in any order. */
static struct slice capture_url(const struct page_capture *p,
                                const struct quarry_row *row)
{
    return p->url.len ? p->url : row->key;
}

struct open_document {
    struct segment_document d;
    uint64_t raw_hash;
    uint64_t text_hash;
    bool is_open;
};

static void close_document(struct row_document_reader *r,
                           struct open_document *o,
                           int64_t next_us,
                           uint32_t *count)
{
    if (!o->is_open)
        return;
    o->d.times_us = r->times;
    o->d.next_us = next_us;
    inverter_document(r->to, &o->d);
    o->is_open = false;
    (*count)++;
}

static void
add_time(struct row_document_reader *r, struct segment_document *d, int64_t us)
{
    if (d->time_count == r->times_cap) {
        r->times_cap = MAX_OF(r->times_cap * 2, 16);
        r->times = mem_realloc(r->times, r->times_cap * sizeof(*r->times));
    }
    r->times[d->time_count++] = us;
}

static uint64_t raw_hash_of(const struct page_capture *p)
{
    uint64_t h = hash64_slice(p->body);
    h = hash64(p->type.data, p->type.len, h);
    h = hash64(p->url.data, p->url.len, h);
    return hash64(p->made_text.data, p->made_text.len, h ^ p->has_body);
}

static uint64_t text_hash_of(const struct row_document_reader *r,
                             struct slice url)
{
    uint64_t h = hash64_slice(buf_slice(&r->fields.title));
    h = hash64(url.data, url.len, h);
    h = hash64(r->fields.headings,
               r->fields.heading_count * sizeof(*r->fields.headings), h);
    return hash64(r->fields.text.data, r->fields.text.len, h);
}

static void row_capture_put(struct row_document_reader *r,
                            const struct quarry_row *row,
                            const struct page_capture *p,
                            const struct anchor_text *anchors,
                            size_t anchor_count,
                            struct open_document *o,
                            uint32_t *count)
{
    struct slice url = capture_url(p, row);
    uint64_t raw = raw_hash_of(p);
    uint64_t text;
    if (o->is_open && o->raw_hash == raw && p->has_record &&
        status_is_good(p->status)) {
        add_time(r, &o->d, p->time_us);
        return;
    }
    if (!capture_text(r, p, &r->fields))
        return;
    text = text_hash_of(r, url);
    if (o->is_open && o->text_hash == text) {
        add_time(r, &o->d, p->time_us);
        return;
    }
    close_document(r, o, p->time_us, count);
    if (*count == 0)
        inverter_row(r->to, row->key, row_signature(row));
    *o = (struct open_document){
        .raw_hash = raw, .text_hash = text, .is_open = true};
    o->d.rank = row_rank(row);
    add_time(r, &o->d, p->time_us);
    put_document_words(r, url, anchors, anchor_count, &o->d);
    o->d.likeness = likeness_of(r, row->key);
}

uint32_t row_documents_put(struct row_document_reader *r,
                           const struct quarry_row *row,
                           bool keep,
                           struct inverter *v)
{
    struct open_document o = {.is_open = false};
    struct anchor_text anchors[ANCHOR_TEXTS_MAX];
    size_t anchor_count = 0;
    uint32_t count = 0;
    r->to = v;
    read_captures(r, row);
    if (r->capture_count)
        anchor_count = read_anchors(row, anchors);
    for (size_t i = 0; i < r->capture_count; i++)
        row_capture_put(r, row, &r->captures[i], anchors, anchor_count, &o,
                        &count);
    close_document(r, &o, INT64_MAX, &count);
    if (count == 0 && keep)
        inverter_row(v, row->key, row_signature(row));
    return count;
}

uint64_t row_signature(const struct quarry_row *row)
{
    uint64_t h = 0;
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct quarry_cell *c = &row->cells[i];
        if (family_is(c, "contents"))
            continue;
        h = hash64(c->family.data, c->family.len, h);
        h = hash64(c->qualifier.data, c->qualifier.len, h + 1);
        h = hash64(&c->timestamp_us, sizeof(c->timestamp_us), h);
        h = hash64(c->value.data, c->value.len, h + 1);
    }
    return h;
}

bool row_has_pages(const struct quarry_row *row)
{
    bool is_capture = false;
    bool has_type = false;
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct quarry_cell *c = &row->cells[i];
        is_capture |= family_is(c, "http") || family_is(c, "meta");
        if (!column_is(c, "http", "content-type"))
            continue;
        has_type = true;
        if (type_may_be_page(c->value))
            return true;
    }
    return is_capture && !has_type;
}

bool row_capture_fields(struct row_document_reader *r,
                        const struct quarry_row *row,
                        int64_t time_us,
                        struct page_fields *fields,
                        struct slice *url)
{
    read_captures(r, row);
    for (size_t i = 0; i < r->capture_count; i++) {
        const struct page_capture *p = &r->captures[i];
        if (p->time_us != time_us)
            continue;
        *url = p->url;
        return capture_text(r, p, fields);
    }
    *url = SLICE_EMPTY;
    return false;
}
