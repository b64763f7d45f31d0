/* Elements are tracked as browsers nest them, as far as it matters here: a
 * stack of those that group text, by whose end tags inner ones without an end
 * close too. All text in an element inherits its flags. */
#include "mapreduce/warc/text_blocks.h"

#include <string.h>

#include "base/core/macros.h"
#include "base/core/panic.h"
#include "mapreduce/warc/html_text.h"
#include "mapreduce/warc/html_token.h"

/* --- words --------------------------------------------------------------- */

/* Of a character that begins with these bytes of UTF-8: is it of a script that
 * has no blanks between words (Thai, Lao, Khmer; CJK, kana)? */
static bool is_unspaced(unsigned char first, unsigned char second)
{
    if (first == 0xe0)
        return second >= 0xb8 && second <= 0xbb;
    if (first == 0xe1)
        return second == 0x9e || second == 0x9f;
    if (first == 0xe3)
        return second >= 0x81;
    return first >= 0xe4 && first <= 0xe9;
}

/* U+2000 to U+207F: dashes, quotes, blanks. */
static bool is_mark(const unsigned char *p, size_t n)
{
    return n > 2 && p[0] == 0xe2 && p[1] <= 0x81;
}

static bool is_word_letter(const unsigned char *p, size_t n)
{
    bool is_ascii = ((p[0] | 0x20) >= 'a' && (p[0] | 0x20) <= 'z') ||
                    (p[0] >= '0' && p[0] <= '9');
    return is_ascii || (p[0] >= 0x80 && !is_mark(p, n));
}

static bool is_unspaced_at(const unsigned char *p, size_t n)
{
    return n > 2 && p[0] >= 0xe0 && is_unspaced(p[0], p[1]);
}

bool text_word_next(struct slice *rest, struct slice *word)
{
    const unsigned char *p = (const unsigned char *)rest->data;
    size_t n = rest->len;
    size_t from = 0;
    size_t to;
    while (from < n && !is_word_letter(p + from, n - from))
        from += is_mark(p + from, n - from) ? 3 : 1;
    if (from == n)
        return false;
    to = from;
    if (is_unspaced_at(p + from, n - from))
        to += 3;
    else
        while (to < n && is_word_letter(p + to, n - to) &&
               !is_unspaced_at(p + to, n - to))
            to++;
    *word = slice_sub(*rest, from, to);
    *rest = slice_sub(*rest, to, n);
    return true;
}

uint32_t text_words(struct slice text)
{
    uint32_t words = 0;
    uint32_t unspaced = 0;
    struct slice word;
    while (text_word_next(&text, &word)) {
        bool is_one =
            is_unspaced_at((const unsigned char *)word.data, word.len);
        words += !is_one;
        unspaced += is_one;
    }
    return words + (unspaced + 1) / 2;
}

/* --- elements ------------------------------------------------------------ */

struct element_kind {
    const char *name;
    uint32_t flags;
};

/* Those that are kept on the stack; others only end blocks, or not even that.
 */
static const struct element_kind kinds[] = {
    {"a", 0},
    {"address", 0},
    {"article", TEXT_BLOCK_MAIN},
    {"aside", TEXT_BLOCK_FRAME},
    {"blockquote", TEXT_BLOCK_PARAGRAPH},
    {"body", 0},
    {"button", TEXT_BLOCK_FRAME},
    {"center", 0},
    {"details", 0},
    {"dialog", TEXT_BLOCK_FRAME},
    {"div", 0},
    {"dl", TEXT_BLOCK_ITEM},
    {"fieldset", TEXT_BLOCK_FRAME},
    {"figcaption", 0},
    {"figure", 0},
    {"footer", TEXT_BLOCK_FRAME},
    {"form", 0}, /* Old pages lie in one as a whole. */
    {"h1", TEXT_BLOCK_HEADING},
    {"h2", TEXT_BLOCK_HEADING},
    {"h3", TEXT_BLOCK_HEADING},
    {"h4", TEXT_BLOCK_HEADING},
    {"h5", TEXT_BLOCK_HEADING},
    {"h6", TEXT_BLOCK_HEADING},
    {"header", 0},
    {"label", TEXT_BLOCK_FRAME},
    {"main", TEXT_BLOCK_MAIN},
    {"map", 0},
    {"menu", TEXT_BLOCK_FRAME},
    {"nav", TEXT_BLOCK_FRAME},
    {"noscript", TEXT_BLOCK_HIDDEN},
    {"object", 0},
    {"ol", TEXT_BLOCK_ITEM},
    {"pre", TEXT_BLOCK_PARAGRAPH},
    {"section", 0},
    {"select", TEXT_BLOCK_HIDDEN},
    {"svg", TEXT_BLOCK_HIDDEN},
    {"table", TEXT_BLOCK_TABLE},
    {"template", TEXT_BLOCK_HIDDEN},
    {"ul", TEXT_BLOCK_ITEM},
    {"video", TEXT_BLOCK_HIDDEN},
};

/* Elements that do not end a block. */
static const char *const inline_names[] = {
    "a",    "abbr", "acronym", "b",     "bdi",    "bdo",    "big",
    "cite", "code", "del",     "dfn",   "em",     "font",   "i",
    "img",  "ins",  "kbd",     "label", "mark",   "nobr",   "q",
    "s",    "samp", "small",   "span",  "strike", "strong", "sub",
    "sup",  "time", "tt",      "u",     "var",    "wbr"};

/* The name in lower case, cut. */
static void lower_name(struct slice name, char out[12])
{
    size_t n = MIN_OF(name.len, (size_t)11);
    for (size_t i = 0; i < n; i++)
        out[i] = (char)(name.data[i] >= 'A' && name.data[i] <= 'Z'
                            ? name.data[i] | 0x20
                            : name.data[i]);
    out[n] = '\0';
}

static const struct element_kind *find_element(const char *name)
{
    size_t low = 0;
    size_t high = ARRAY_LEN(kinds);
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int c = strcmp(name, kinds[mid].name);
        if (c == 0)
            return &kinds[mid];
        if (c < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}

static bool is_inline_name(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(inline_names); i++)
        if (strcmp(name, inline_names[i]) == 0)
            return true;
    return false;
}

/* --- names of what frames a page ----------------------------------------- */

/* Of a class or id; the rest is not looked at. */
#define NAME_BYTES_MAX 512

/* Parts of class names and ids, between characters that are no letters. Those
 * that resiliparse, Readability and trafilatura agree on. */
static const char *const frame_words[] = {
    "ad",         "ads",        "advert",    "advertisement", "aside",
    "author-box", "banner",     "bottom",    "breadcrumb",    "breadcrumbs",
    "byline",     "captcha",    "comment",   "commentlist",   "comments",
    "consent",    "cookie",     "cookies",   "copyright",     "disqus",
    "dropdown",   "foot",       "footer",    "gdpr",          "legal",
    "login",      "masthead",   "menu",      "menus",         "meta",
    "modal",      "nav",        "navbar",    "navi",          "navigation",
    "newsletter", "overlay",    "pager",     "paging",        "pagination",
    "popup",      "postmeta",   "promo",     "promotion",     "recommended",
    "related",    "reply",      "respond",   "rss",           "search",
    "share",      "sharedaddy", "sharing",   "shoutbox",      "sidebar",
    "signup",     "sitemap",    "skip",      "social",        "socials",
    "sponsor",    "sponsored",  "subscribe", "subscription",  "tag",
    "tagcloud",   "tags",       "teaser",    "teasers",       "toolbar",
    "trackback",  "widget",     "widgets"};

/* Parts that say the contrary: class="content with-sidebar". */
static const char *const text_names[] = {
    "article", "blog", "body",  "content", "entry", "has",  "main",
    "no",      "page", "story", "text",    "with",  "wrap", "wrapper"};

static bool is_one_of(struct slice word, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (html_name_is(word, list[i]))
            return true;
    return false;
}

static bool is_name_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The next run of letters of a class name. */
static struct slice name_run(struct slice *rest)
{
    size_t from = 0;
    size_t to;
    while (from < rest->len && !is_name_letter(rest->data[from]))
        from++;
    to = from;
    while (to < rest->len && is_name_letter(rest->data[to]))
        to++;
    struct slice run = slice_sub(*rest, from, to);
    *rest = slice_sub(*rest, to, rest->len);
    return run;
}

/* The next part of such a run: "main" and "Menu" of "mainMenu". */
static struct slice name_hump(struct slice *run)
{
    size_t to = 1;
    while (to < run->len && !(run->data[to] <= 'Z' && run->data[to - 1] >= 'a'))
        to++;
    struct slice hump = slice_sub(*run, 0, to);
    *run = slice_sub(*run, to, run->len);
    return hump;
}

/* Does @names, a class or an id, say that the element is no part of the text?
 */
static bool names_frame(struct slice names)
{
    bool found = false;
    struct slice run;
    names = slice_sub(names, 0, NAME_BYTES_MAX);
    while ((run = name_run(&names)).len > 0) {
        found = found || is_one_of(run, frame_words, ARRAY_LEN(frame_words));
        while (run.len) {
            struct slice hump = name_hump(&run);
            if (is_one_of(hump, text_names, ARRAY_LEN(text_names)))
                return false;
            found =
                found || is_one_of(hump, frame_words, ARRAY_LEN(frame_words));
        }
    }
    return found;
}

static bool is_framing_role(struct slice role)
{
    static const char *const roles[] = {"navigation",  "banner",
                                        "contentinfo", "complementary",
                                        "search",      "menu"};
    return is_one_of(role, roles, ARRAY_LEN(roles));
}

/* The flags that the attributes of an element give its text. */
static uint32_t flags_of_attributes(struct slice attributes, bool *is_link)
{
    struct html_attribute a;
    uint32_t flags = 0;
    while (html_attribute_next(&attributes, &a)) {
        if (html_name_is(a.name, "class") || html_name_is(a.name, "id"))
            flags |= names_frame(a.value) ? TEXT_BLOCK_NAMED : 0U;
        else if (html_name_is(a.name, "role"))
            flags |= is_framing_role(a.value)        ? TEXT_BLOCK_FRAME
                     : html_name_is(a.value, "main") ? TEXT_BLOCK_MAIN
                                                     : 0U;
        else if (html_name_is(a.name, "hidden"))
            flags |= TEXT_BLOCK_HIDDEN;
        else if (html_name_is(a.name, "aria-hidden") &&
                 html_name_is(a.value, "true"))
            flags |= TEXT_BLOCK_HIDDEN;
        else if (html_name_is(a.name, "href"))
            *is_link = true;
        else if (html_name_is(a.name, "itemprop") &&
                 html_name_is(a.value, "articleBody"))
            flags |= TEXT_BLOCK_MAIN;
    }
    return flags;
}

/* --- blocks -------------------------------------------------------------- */

static uint32_t inherited_flags(const struct text_blocks *t)
{
    return t->depth ? t->open[t->depth - 1].flags : 0;
}

/* Keep the line read so far as a block, if there is something on it. */
static void end_block(struct text_blocks *t)
{
    struct text_block *b = &t->block;
    struct slice line;
    html_text_fix(&t->line, 0); /* A page may call itself UTF-8 and not be. */
    line = slice_trim(buf_slice(&t->line));
    if (line.len && t->count < TEXT_BLOCKS_COUNT_MAX &&
        t->text.len + line.len < TEXT_BLOCKS_BYTES_MAX) {
        if (t->count == t->cap) {
            t->cap = t->cap ? t->cap * 2 : 64;
            t->at = mem_realloc(t->at, t->cap * sizeof(*t->at));
        }
        b->at = t->text.len;
        b->len = line.len;
        b->words = text_words(line);
        b->link_words = MIN_OF(b->link_words, b->words); /* INV-2 */
        buf_append_slice(&t->text, line);
        buf_append_byte(&t->text, '\n');
        t->at[t->count++] = *b;
    }
    buf_clear(&t->line);
    *b = (struct text_block){.flags = 0};
}

static void add_block_text(struct text_blocks *t, struct slice bytes)
{
    size_t before = t->line.len;
    html_text_append(&t->line, bytes, true, TEXT_BLOCKS_BYTES_MAX);
    if (t->line.len == before)
        return;
    /* The flags of where its text begins. */
    if (before == 0)
        t->block.flags |= inherited_flags(t);
    if (t->links)
        t->block.link_words +=
            text_words(slice_sub(buf_slice(&t->line), before, t->line.len));
}

static void pop_to(struct text_blocks *t, size_t depth)
{
    while (t->depth > depth) {
        t->depth--;
        if (strcmp(t->open[t->depth].name, "a") == 0)
            t->links--;
    }
}

static void close_element(struct text_blocks *t, const char *name)
{
    if (t->depth_beyond) {
        t->depth_beyond--;
        return;
    }
    for (size_t i = t->depth; i-- > 0;) {
        if (strcmp(t->open[i].name, name) == 0) {
            pop_to(t, i);
            return;
        }
        /* The end tag of a link does not close what is around it. */
        if (strcmp(name, "a") == 0 && !is_inline_name(t->open[i].name))
            return;
    }
}

static void open_element(struct text_blocks *t,
                         const struct element_kind *kind,
                         const struct html_token *token)
{
    bool is_link = false;
    bool is_anchor = strcmp(kind->name, "a") == 0;
    uint32_t flags = flags_of_attributes(token->attributes, &is_link);
    if (is_anchor)
        close_element(t, "a"); /* Links do not nest. */
    if (is_anchor && !is_link)
        return;
    if (t->depth == TEXT_BLOCKS_DEPTH_MAX) {
        t->depth_beyond++;
        return;
    }
    /* A page's own name for all of it says nothing about a part. */
    if (strcmp(kind->name, "body") == 0 || (kind->flags & TEXT_BLOCK_MAIN))
        flags &= ~(uint32_t)TEXT_BLOCK_NAMED;
    struct text_element *e = &t->open[t->depth];
    e->flags = inherited_flags(t) | kind->flags | flags;
    /* A list or table in a heading is none of it. */
    if (kind->flags & (TEXT_BLOCK_ITEM | TEXT_BLOCK_TABLE))
        e->flags &= ~(uint32_t)TEXT_BLOCK_HEADING;
    memcpy(e->name, kind->name, strlen(kind->name) + 1);
    t->depth++;
    t->links += is_anchor;
}

static void read_tag(struct text_blocks *t, const struct html_token *token)
{
    char name[12];
    lower_name(token->name, name);
    const struct element_kind *kind = find_element(name);
    if (!is_inline_name(name))
        end_block(t);
    if (kind && token->kind == HTML_TOKEN_START)
        open_element(t, kind, token);
    else if (kind)
        close_element(t, name);
    if (token->kind == HTML_TOKEN_START && strcmp(name, "p") == 0)
        t->block.flags |= TEXT_BLOCK_PARAGRAPH;
}

void text_blocks_read(struct text_blocks *t, struct slice html)
{
    struct html_tokens tokens = {.html = html, .raw = SLICE_EMPTY};
    struct html_token token;
    buf_clear(&t->text);
    buf_clear(&t->line);
    t->count = t->depth = t->depth_beyond = t->links = 0;
    t->block = (struct text_block){.flags = 0};
    while (t->text.len < TEXT_BLOCKS_BYTES_MAX &&
           html_token_next(&tokens, &token)) {
        switch (token.kind) {
        case HTML_TOKEN_TEXT: add_block_text(t, token.bytes); break;
        case HTML_TOKEN_START:
        case HTML_TOKEN_END: read_tag(t, &token); break;
        case HTML_TOKEN_RAW:
        case HTML_TOKEN_COMMENT: break;
        }
    }
    end_block(t);
    INVARIANT(t->count <= t->cap);
}

struct slice text_blocks_text(const struct text_blocks *t,
                              const struct text_block *b)
{
    PRE(b->at + b->len <= t->text.len);
    return slice_sub(buf_slice(&t->text), b->at, b->at + b->len);
}

void text_blocks_close(struct text_blocks *t)
{
    buf_close(&t->text);
    buf_close(&t->line);
    mem_free(t->at);
    *t = (struct text_blocks){.count = 0};
}
