/* Variants first, then the text without those that are dropped: which of a
 * group remains is known only behind its last one. */
#include "web/replay/playlist_rewriter.h"

#include <string.h>
#include <strings.h>

#include "base/core/macros.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "mapreduce/warc/archived_http.h"
#include "mapreduce/warc/html_token.h"

/* One of several of the same film, and its place in the text. */
struct variant {
    size_t begin;
    size_t end;
    size_t group; /* Of which one at least remains. */
    uint64_t pixels;
    uint64_t bandwidth;
    bool is_archived;
    bool is_dropped;
};

struct playlist {
    const struct playlist_options *opts;
    struct slice text;
    struct byte_sink *out;
    struct variant *variants; /* PLAYLIST_VARIANTS_MAX; owned. */
    size_t count;
    size_t group;
    bool in_link; /* Of DASH: the next text is a link. */
};

/* --- kinds --------------------------------------------------------------- */

static bool has_text(struct slice s, const char *text)
{
    size_t n = strlen(text);
    for (size_t i = 0; i + n <= s.len; i++)
        if (memcmp(s.data + i, text, n) == 0)
            return true;
    return false;
}

enum playlist_kind playlist_kind_of(struct slice media, struct slice body)
{
    static const char *const hls[] = {"application/x-mpegurl",
                                      "application/vnd.apple.mpegurl",
                                      "audio/mpegurl", "audio/x-mpegurl"};
    static const char *const xml[] = {"", "application/octet-stream",
                                      "application/xml", "text/xml"};
    struct slice front = slice_sub(body, 0, 1024);
    if (http_slice_is(media, "application/dash+xml"))
        return PLAYLIST_DASH;
    for (size_t i = 0; i < ARRAY_LEN(hls); i++)
        if (http_slice_is(media, hls[i]))
            return PLAYLIST_HLS;
    if (slice_starts_with(body, SLICE_LIT("#EXTM3U")))
        return PLAYLIST_HLS;
    for (size_t i = 0; i < ARRAY_LEN(xml); i++)
        if (http_slice_is(media, xml[i]) && has_text(front, "<MPD") &&
            has_text(front, "urn:mpeg:"))
            return PLAYLIST_DASH;
    return PLAYLIST_NONE;
}

/* --- variants ------------------------------------------------------------ */

static bool is_link_archived(const struct playlist *p, struct slice link)
{
    struct buf url = BUF_INIT;
    bool is;
    url_resolve(&p->opts->links->parts, link, &url);
    is = p->opts->is_archived(p->opts->ctx, buf_slice(&url));
    buf_close(&url);
    return is;
}

/* NULL: there are too many. */
static struct variant *add_variant(struct playlist *p, size_t begin)
{
    struct variant *v;
    if (p->count == PLAYLIST_VARIANTS_MAX)
        return NULL;
    v = &p->variants[p->count++];
    *v = (struct variant){.begin = begin, .end = begin, .group = p->group};
    return v;
}

static bool is_better(const struct variant *a, const struct variant *b)
{
    return a->pixels != b->pixels ? a->pixels > b->pixels
                                  : a->bandwidth > b->bandwidth;
}

/* Drop those of the group [from, to) that were not archived, or, if none was,
 * all but the best. */
static void drop_in_group(struct playlist *p, size_t from, size_t to)
{
    const struct variant *best = &p->variants[from];
    bool any = false;
    for (size_t i = from; i < to; i++) {
        any |= p->variants[i].is_archived;
        if (is_better(&p->variants[i], best))
            best = &p->variants[i];
    }
    for (size_t i = from; i < to; i++) {
        struct variant *v = &p->variants[i];
        v->is_dropped = any ? !v->is_archived : v != best;
    }
}

static void drop_variants(struct playlist *p)
{
    size_t from = 0;
    if (p->count == PLAYLIST_VARIANTS_MAX)
        return;
    for (size_t i = 1; i <= p->count; i++)
        if (i == p->count || p->variants[i].group != p->variants[from].group) {
            drop_in_group(p, from, i);
            from = i;
        }
}

/* The variant that is dropped and begins at @at; NULL: there is none. */
static const struct variant *dropped_at(const struct playlist *p, size_t at)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->variants[i].begin == at)
            return p->variants[i].is_dropped ? &p->variants[i] : NULL;
    return NULL;
}

static uint64_t number_of(struct slice text)
{
    uint64_t n = 0;
    size_t digits = 0;
    while (digits < text.len && text.data[digits] >= '0' &&
           text.data[digits] <= '9')
        digits++;
    return text_parse_u64(slice_sub(text, 0, digits), &n, NULL) ? 0 : n;
}

static void put_link(struct playlist *p, struct slice link)
{
    link_rewrite(p->opts->links, link, REPLAY_MOD_OE, &p->out->pending);
    byte_sink_check(p->out);
}

/* --- HLS ----------------------------------------------------------------- */

/* The line at @at without its end; *@next: where the next one begins. */
static struct slice line_at(struct slice text, size_t at, size_t *next)
{
    size_t n = slice_find_byte(slice_sub(text, at, text.len), '\n');
    *next = MIN_OF(at + n + 1, text.len);
    return slice_trim(slice_sub(text, at, at + n));
}

/* Behind NAME= in a tag's attributes; "" if it is not there. */
static struct slice tag_attribute(struct slice line, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 1; i + n <= line.len; i++)
        if (memcmp(line.data + i, name, n) == 0 &&
            strchr(":, ", line.data[i - 1]))
            return slice_sub(line, i + n, line.len);
    return SLICE_EMPTY;
}

static bool is_variant_tag(struct slice line)
{
    return slice_starts_with(line, SLICE_LIT("#EXT-X-STREAM-INF:"));
}

static void note_stream(struct variant *v, struct slice line)
{
    struct slice size = tag_attribute(line, "RESOLUTION=");
    size_t x = slice_find_byte(size, 'x');
    v->bandwidth = number_of(tag_attribute(line, "BANDWIDTH="));
    v->pixels = number_of(size) % (1u << 16) *
                (number_of(slice_sub(size, x + 1, size.len)) % (1u << 16));
}

static void find_streams(struct playlist *p)
{
    struct variant *open = NULL;
    for (size_t at = 0, next; at < p->text.len; at = next) {
        struct slice line = line_at(p->text, at, &next);
        if (is_variant_tag(line)) {
            open = add_variant(p, at);
            if (open)
                note_stream(open, line);
        } else if (open && line.len && line.data[0] != '#') {
            open->end = next;
            open->is_archived = is_link_archived(p, line);
            open = NULL;
        }
    }
    /* The last of them has no link. */
    p->count -= open != NULL;
}

/* #EXT-X-KEY:METHOD=AES-128,URI="key" */
static void put_tag(struct playlist *p, struct slice line)
{
    struct slice rest = tag_attribute(line, "URI=\"");
    size_t n = slice_find_byte(rest, '"');
    size_t at = (size_t)(rest.data - line.data);
    if (rest.len == 0 || n == rest.len) {
        byte_sink_put(p->out, line);
        return;
    }
    byte_sink_put(p->out, slice_sub(line, 0, at));
    put_link(p, slice_sub(rest, 0, n));
    byte_sink_put(p->out, slice_sub(rest, n, rest.len));
}

static void put_hls(struct playlist *p)
{
    for (size_t at = 0, next; at < p->text.len && p->out->rc == 0; at = next) {
        struct slice line = line_at(p->text, at, &next);
        const struct variant *v =
            is_variant_tag(line) ? dropped_at(p, at) : NULL;
        size_t begin;
        if (v) {
            next = v->end;
            continue;
        }
        /* Blanks around the line stay. */
        begin = line.len ? (size_t)(line.data - p->text.data) : at;
        byte_sink_put(p->out, slice_sub(p->text, at, begin));
        if (line.len && line.data[0] == '#')
            put_tag(p, line);
        else if (line.len)
            put_link(p, line);
        byte_sink_put(p->out, slice_sub(p->text, begin + line.len, next));
    }
}

/* --- DASH ---------------------------------------------------------------- */

static bool is_self_closed(const struct html_token *t)
{
    return slice_ends_with(t->bytes, SLICE_LIT("/>"));
}

static void note_representation(struct variant *v, const struct html_token *t)
{
    struct slice rest = t->attributes;
    struct html_attribute a;
    uint64_t width = 0;
    uint64_t height = 0;
    while (html_attribute_next(&rest, &a))
        if (html_name_is(a.name, "width"))
            width = number_of(a.value) % (1u << 16);
        else if (html_name_is(a.name, "height"))
            height = number_of(a.value) % (1u << 16);
        else if (html_name_is(a.name, "bandwidth"))
            v->bandwidth = number_of(a.value);
    v->pixels = width * height;
}

static void find_representations(struct playlist *p)
{
    struct html_tokens tokens = {.html = p->text, .raw = SLICE_EMPTY};
    struct html_token t;
    struct variant *open = NULL;
    bool in_base = false;
    while (html_token_next(&tokens, &t)) {
        size_t at = (size_t)(t.bytes.data - p->text.data);
        bool starts = t.kind == HTML_TOKEN_START;
        bool is_variant = (starts || t.kind == HTML_TOKEN_END) &&
                          html_name_is(t.name, "representation");
        if (starts && html_name_is(t.name, "adaptationset"))
            p->group++;
        if (is_variant && starts) {
            open = add_variant(p, at);
            if (open)
                note_representation(open, &t);
        }
        if (open && in_base && t.kind == HTML_TOKEN_TEXT)
            open->is_archived = is_link_archived(p, slice_trim(t.bytes));
        in_base = starts && html_name_is(t.name, "baseurl");
        if (open && is_variant && (!starts || is_self_closed(&t))) {
            open->end = at + t.bytes.len;
            open = NULL;
        }
    }
    p->count -= open != NULL;
}

/* Does the link stand for itself, without a <BaseURL> before it? */
static bool is_rooted(struct slice link)
{
    return slice_starts_with(link, SLICE_LIT("/")) ||
           slice_starts_with(link, SLICE_LIT("http:")) ||
           slice_starts_with(link, SLICE_LIT("https:"));
}

static void put_rooted(struct playlist *p, struct slice link)
{
    if (is_rooted(link))
        put_link(p, link);
    else
        byte_sink_put(p->out, link);
}

static void put_element(struct playlist *p, const struct html_token *t)
{
    static const char *const links[] = {"media", "initialization", "sourceurl",
                                        "index", "xlink:href"};
    struct slice rest = t->attributes;
    struct html_attribute a;
    size_t copied = 0;
    while (html_attribute_next(&rest, &a)) {
        size_t at;
        bool is_link = false;
        for (size_t i = 0; i < ARRAY_LEN(links); i++)
            is_link |= html_name_is(a.name, links[i]);
        if (!is_link || !a.has_value || !a.quote || !is_rooted(a.value))
            continue;
        at = (size_t)(a.value.data - t->bytes.data);
        byte_sink_put(p->out, slice_sub(t->bytes, copied, at));
        put_link(p, a.value);
        copied = at + a.value.len;
    }
    byte_sink_put(p->out, slice_sub(t->bytes, copied, t->bytes.len));
    p->in_link = html_name_is(t->name, "baseurl") ||
                 html_name_is(t->name, "location") ||
                 html_name_is(t->name, "patchlocation");
}

static void put_text(struct playlist *p, struct slice text)
{
    struct slice link = slice_trim(text);
    size_t at = link.len ? (size_t)(link.data - text.data) : text.len;
    byte_sink_put(p->out, slice_sub(text, 0, at));
    put_rooted(p, link);
    byte_sink_put(p->out, slice_sub(text, at + link.len, text.len));
}

static void put_dash(struct playlist *p)
{
    struct html_tokens tokens = {.html = p->text, .raw = SLICE_EMPTY};
    struct html_token t;
    size_t skip = 0; /* Bytes before it are dropped. */
    while (p->out->rc == 0 && html_token_next(&tokens, &t)) {
        size_t at = (size_t)(t.bytes.data - p->text.data);
        bool starts = t.kind == HTML_TOKEN_START;
        const struct variant *v =
            starts && html_name_is(t.name, "representation") ? dropped_at(p, at)
                                                             : NULL;
        if (v)
            skip = v->end;
        if (at < skip)
            continue;
        if (starts) {
            put_element(p, &t);
        } else if (p->in_link && t.kind == HTML_TOKEN_TEXT) {
            put_text(p, t.bytes);
            p->in_link = false;
        } else {
            byte_sink_put(p->out, t.bytes);
            p->in_link = false;
        }
    }
}

/* --- both ---------------------------------------------------------------- */

void playlist_rewrite(const struct playlist_options *opts,
                      enum playlist_kind kind,
                      struct slice text,
                      struct byte_sink *out)
{
    struct playlist p = {.opts = opts, .text = text, .out = out};
    PRE(kind != PLAYLIST_NONE);
    p.variants = mem_zalloc(PLAYLIST_VARIANTS_MAX, sizeof(*p.variants));
    if (kind == PLAYLIST_HLS) {
        find_streams(&p);
        drop_variants(&p);
        put_hls(&p);
    } else {
        find_representations(&p);
        drop_variants(&p);
        put_dash(&p);
    }
    mem_free(p.variants);
}
