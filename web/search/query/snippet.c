/* A window over the words of a text: of all that are as long, the one whose
 * different words of the query are worth most; the first of these.
 *
 * Where the query is plain ASCII, the window is looked for by a scan of bytes,
 * which takes a fifth of the time that cutting all of the text into words does;
 * what is marked in the window is told by the words. */
#include "web/search/query/snippet.h"

#include <string.h>

#include "base/core/panic.h"
#include "web/search/text/word_breaks.h"

/* A longer text is looked at no further. */
#define SNIPPET_TEXT_MAX ((size_t)1 << 20)
#define WINDOW_BYTES     ((size_t)240)
#define LEAD_BYTES       ((size_t)60) /* Text before the first word shown. */
#define ELLIPSIS         "\xe2\x80\xa6"

struct found_word {
    uint32_t begin;
    uint32_t end;
    uint32_t term; /* Index of the query's. */
};

struct word_finder {
    const struct search_words *words;
    size_t shift;          /* Of words that are found, in the text. */
    struct found_word *at; /* Owned. */
    size_t count;
    size_t cap;
};

static void
finder_add(struct word_finder *f, size_t begin, size_t end, size_t term)
{
    if (f->count == f->cap) {
        f->cap = MAX_OF(f->cap * 2, 64);
        f->at = mem_realloc(f->at, f->cap * sizeof(*f->at));
    }
    f->at[f->count++] =
        (struct found_word){(uint32_t)(begin + f->shift),
                            (uint32_t)(end + f->shift), (uint32_t)term};
}

static void find_word(void *ctx, const struct word *w)
{
    struct word_finder *f = ctx;
    for (size_t i = 0; i < f->words->count; i++)
        if (slice_eq(w->term, f->words->terms[i])) {
            finder_add(f, w->begin, w->end, i);
            return;
        }
}

/* --- the quick way ------------------------------------------------------- */

static bool is_plain(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
}

/* Are all terms letters and digits of ASCII? */
static bool words_are_plain(const struct search_words *words)
{
    for (size_t i = 0; i < words->count; i++)
        for (size_t k = 0; k < words->terms[i].len; k++)
            if (!is_plain((unsigned char)words->terms[i].data[k]))
                return false;
    return true;
}

/* Is the byte inside a word? All but ASCII is taken to be between words. */
static void word_bytes(bool inside[256])
{
    for (unsigned c = 0; c < 256; c++)
        inside[c] =
            is_plain((unsigned char)c) || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool equals_folded(const char *text, struct slice term)
{
    for (size_t i = 0; i < term.len; i++) {
        char c = text[i];
        if ((c >= 'A' && c <= 'Z' ? c | 0x20 : c) != term.data[i])
            return false;
    }
    return true;
}

/* Find terms between bytes that are in no word: about what word_breaks() finds.
 */
static void find_plain(struct word_finder *f, struct slice text)
{
    bool inside[256];
    bool first[256] = {false};
    word_bytes(inside);
    for (size_t i = 0; i < f->words->count; i++) {
        unsigned char c;
        PRE(f->words->terms[i].len > 0);
        c = (unsigned char)f->words->terms[i].data[0];
        first[c] = true;
        first[c >= 'a' ? c & ~0x20U : c] = true;
    }
    for (size_t at = 0; at < text.len;) {
        const unsigned char *p = (const unsigned char *)text.data;
        size_t end = at + 1;
        if (!inside[p[at]]) {
            at++;
            continue;
        }
        while (end < text.len && inside[p[end]])
            end++;
        for (size_t i = 0; first[p[at]] && i < f->words->count; i++)
            if (f->words->terms[i].len == end - at &&
                equals_folded(text.data + at, f->words->terms[i])) {
                finder_add(f, at, end, i);
                break;
            }
        at = end;
    }
}

/* --- windows ------------------------------------------------------------- */

/* The index of the first word of the best window; count: none was found. */
static size_t best_window(const struct word_finder *f)
{
    uint32_t inside[QUERY_TERMS_MAX] = {0};
    double sum = 0;
    double best = 0;
    size_t best_at = f->count;
    size_t first = 0;
    for (size_t i = 0; i < f->count; i++) {
        const struct found_word *w = &f->at[i];
        while (w->end - f->at[first].begin > WINDOW_BYTES && first < i) {
            uint32_t t = f->at[first++].term;
            if (--inside[t] == 0)
                sum -= f->words->worth[t];
        }
        if (inside[w->term]++ == 0)
            sum += f->words->worth[w->term];
        if (sum > best * (1 + 1e-9)) {
            best = sum;
            best_at = first;
        }
    }
    return best_at;
}

/* The last blank at or before @at, but not before @least; else @at itself, or
 * where the character there begins. */
static size_t step_back(struct slice text, size_t at, size_t least)
{
    size_t i = at;
    while (i > least && (unsigned char)text.data[i - 1] > ' ')
        i--;
    if (i > least || at == 0)
        return i;
    while (at > 0 && at < text.len && (text.data[at] & 0xc0) == 0x80)
        at--;
    return at;
}

/* Append [begin, end) with runs of blanks as one, and the marks in it. */
static void append_marked(const struct word_finder *f,
                          struct slice text,
                          size_t begin,
                          size_t end,
                          struct search_text *out)
{
    size_t next = 0;
    bool blank = true;
    while (next < f->count && f->at[next].begin < begin)
        next++;
    for (size_t i = begin; i < end; i++) {
        const struct found_word *w = next < f->count ? &f->at[next] : NULL;
        bool is_blank = (unsigned char)text.data[i] <= ' ';
        if (w && i == w->begin && out->mark_count < SEARCH_MARKS_MAX)
            out->marks[out->mark_count].begin = (uint32_t)out->text.len;
        if (!is_blank)
            buf_append_byte(&out->text, text.data[i]);
        else if (!blank)
            buf_append_byte(&out->text, ' ');
        blank = is_blank;
        if (w && i + 1 == w->end) {
            if (out->mark_count < SEARCH_MARKS_MAX)
                out->marks[out->mark_count++].end = (uint32_t)out->text.len;
            next++;
        }
    }
    while (out->text.len && out->text.data[out->text.len - 1] == ' ')
        out->text.len--;
}

static void search_text_clear(struct search_text *t)
{
    buf_clear(&t->text);
    t->mark_count = 0;
}

void snippet_mark(struct word_breaker *b,
                  const struct search_words *words,
                  struct slice text,
                  size_t bytes_max,
                  struct search_text *out)
{
    struct word_finder f = {.words = words};
    bool is_cut = text.len > bytes_max;
    if (is_cut)
        text = slice_sub(text, 0, step_back(text, bytes_max, bytes_max / 2));
    word_breaks(b, text, find_word, &f);
    search_text_clear(out);
    append_marked(&f, text, 0, text.len, out);
    if (is_cut)
        buf_append_str(&out->text, " " ELLIPSIS);
    mem_free(f.at);
}

void snippet_make(struct word_breaker *b,
                  const struct search_words *words,
                  struct slice text,
                  struct search_text *out)
{
    struct word_finder f = {.words = words};
    size_t begin = 0;
    size_t end;
    size_t at;
    text = slice_sub(text, 0, SNIPPET_TEXT_MAX);
    if (words_are_plain(words))
        find_plain(&f, text);
    if (f.count == 0)
        word_breaks(b, text, find_word, &f);
    at = best_window(&f);
    if (at < f.count && f.at[at].begin > LEAD_BYTES) {
        size_t lead = f.at[at].begin - LEAD_BYTES;
        size_t line = f.at[at].begin;
        while (line > lead && text.data[line - 1] != '\n')
            line--;
        begin =
            line > lead ? line : step_back(text, lead, lead - MIN_OF(lead, 20));
    }
    end = begin + WINDOW_BYTES + LEAD_BYTES;
    end = end >= text.len ? text.len : step_back(text, end, end - 40);
    f.count = 0;
    f.shift = begin;
    word_breaks(b, slice_sub(text, begin, end), find_word, &f);
    search_text_clear(out);
    if (begin)
        buf_append_str(&out->text, ELLIPSIS " ");
    append_marked(&f, text, begin, end, out);
    if (end < text.len && out->text.len)
        buf_append_str(&out->text, " " ELLIPSIS);
    mem_free(f.at);
}
