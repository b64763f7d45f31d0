/* Runs of ASCII are cut here by the same rules, twenty times as fast as ICU
 * does it: the property test compares both. Everything else goes to ICU, a
 * region at a time. A region ends before a blank or another character that no
 * rule joins to anything, so that cutting it apart changes no word.
 */
#include "web/search/text/word_breaks.h"

#include <string.h>
#include <unicode/ubrk.h>
#include <unicode/unorm2.h>
#include <unicode/ustring.h>
#include <unicode/utext.h>

#include "base/core/panic.h"
#include "base/core/text.h"

/* UTF-16 of a word, and of its normal form, which may be longer. */
#define WORD_UNITS   512
#define NORMAL_UNITS 2048
/* ICU counts in 32 bits; a region this long is cut in any case. */
#define REGION_BYTES_MAX ((size_t)1 << 20)

enum byte_class {
    BYTE_OTHER,  /* Joins nothing. */
    BYTE_LETTER, /* ALetter */
    BYTE_DIGIT,  /* Numeric */
    BYTE_JOINER, /* ExtendNumLet: '_' */
    BYTE_COLON,  /* MidLetter */
    BYTE_STOP,   /* MidNumLet, Single_Quote: '.' and '\'' */
    BYTE_COMMA,  /* MidNum: ',' and ';' */
    BYTE_QUOTE,  /* Double_Quote: between Hebrew letters. */
    BYTE_HIGH,   /* Of a character beyond ASCII. */
};

struct word_breaker {
    UBreakIterator *words; /* Owned. */
    const UNormalizer2 *folder;
    UText *text; /* Owned, used again. */
    unsigned char class_of[256];
    char term[WORD_TERM_BYTES_MAX + 4];
    UChar units[WORD_UNITS];
    UChar normal[NORMAL_UNITS];
};

static void fill_classes(unsigned char class_of[256])
{
    memset(class_of, BYTE_OTHER, 128);
    memset(class_of + 128, BYTE_HIGH, 128);
    memset(class_of + '0', BYTE_DIGIT, 10);
    memset(class_of + 'a', BYTE_LETTER, 26);
    memset(class_of + 'A', BYTE_LETTER, 26);
    class_of['_'] = BYTE_JOINER;
    class_of[':'] = BYTE_COLON;
    class_of['.'] = class_of['\''] = BYTE_STOP;
    class_of[','] = class_of[';'] = BYTE_COMMA;
    class_of['"'] = BYTE_QUOTE;
}

int word_breaker_new(struct word_breaker **out, struct err *err)
{
    struct word_breaker *b = mem_zalloc(1, sizeof(*b));
    UErrorCode status = U_ZERO_ERROR;
    fill_classes(b->class_of);
    b->words = ubrk_open(UBRK_WORD, "", NULL, 0, &status);
    b->folder = unorm2_getNFKCCasefoldInstance(&status);
    *out = b;
    if (U_SUCCESS(status))
        return 0;
    word_breaker_free(b);
    *out = NULL;
    return err_set(err, ERR_UNSUPPORTED, "ICU cannot break words: %s",
                   u_errorName(status));
}

void word_breaker_free(struct word_breaker *b)
{
    if (!b)
        return;
    ubrk_close(b->words);
    utext_close(b->text);
    mem_free(b);
}

/* --- one form ------------------------------------------------------------ */

/* Lower case of a word of ASCII. */
static struct slice fold_ascii(struct word_breaker *b, struct slice word)
{
    if (word.len > WORD_TERM_BYTES_MAX)
        return SLICE_EMPTY;
    for (size_t i = 0; i < word.len; i++) {
        unsigned char c = (unsigned char)word.data[i];
        b->term[i] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    }
    return slice_make(b->term, word.len);
}

static struct slice fold_unicode(struct word_breaker *b, struct slice word)
{
    UErrorCode status = U_ZERO_ERROR;
    int32_t units = 0;
    int32_t folded;
    int32_t bytes = 0;
    if (word.len > WORD_UNITS)
        return SLICE_EMPTY;
    u_strFromUTF8WithSub(b->units, WORD_UNITS, &units, word.data,
                         (int32_t)word.len, 0xfffd, NULL, &status);
    folded = unorm2_normalize(b->folder, b->units, units, b->normal,
                              NORMAL_UNITS, &status);
    u_strToUTF8WithSub(b->term, (int32_t)sizeof(b->term), &bytes, b->normal,
                       folded, 0xfffd, NULL, &status);
    if (U_FAILURE(status) || bytes > (int32_t)WORD_TERM_BYTES_MAX)
        return SLICE_EMPTY;
    return slice_make(b->term, (size_t)bytes);
}

static bool is_ascii(struct slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.data[i] >= 0x80)
            return false;
    return true;
}

/* --- by ICU -------------------------------------------------------------- */

static void breaks_by_icu(struct word_breaker *b,
                          struct slice text,
                          size_t base,
                          word_fn fn,
                          void *ctx)
{
    UErrorCode status = U_ZERO_ERROR;
    int32_t from;
    int32_t to;
    b->text = utext_openUTF8(b->text, text.data, (int64_t)text.len, &status);
    ubrk_setUText(b->words, b->text, &status);
    if (U_FAILURE(status))
        return;
    from = ubrk_first(b->words);
    for (to = ubrk_next(b->words); to != UBRK_DONE;
         from = to, to = ubrk_next(b->words)) {
        struct word w = {.begin = base + (size_t)from,
                         .end = base + (size_t)to};
        struct slice bytes = slice_sub(text, (size_t)from, (size_t)to);
        if (ubrk_getRuleStatus(b->words) < UBRK_WORD_NONE_LIMIT)
            continue;
        w.term =
            is_ascii(bytes) ? fold_ascii(b, bytes) : fold_unicode(b, bytes);
        fn(ctx, &w);
    }
}

void word_breaks_plain(struct word_breaker *b,
                       struct slice text,
                       word_fn fn,
                       void *ctx)
{
    breaks_by_icu(b, text, 0, fn, ctx);
}

/* --- ASCII --------------------------------------------------------------- */

static unsigned class_at(const struct word_breaker *b, struct slice s, size_t i)
{
    return i < s.len ? b->class_of[(unsigned char)s.data[i]] : BYTE_OTHER;
}

static bool is_joined(unsigned class)
{
    return class == BYTE_LETTER || class == BYTE_DIGIT || class == BYTE_JOINER;
}

/* Does the character at @i, neither letter nor digit, join its neighbours? */
static bool
is_between(const struct word_breaker *b, struct slice s, size_t i, unsigned was)
{
    unsigned class = class_at(b, s, i);
    unsigned next = class_at(b, s, i + 1);
    return (was == BYTE_LETTER && next == BYTE_LETTER &&
            (class == BYTE_COLON || class == BYTE_STOP)) ||
           (was == BYTE_DIGIT && next == BYTE_DIGIT &&
            (class == BYTE_COMMA || class == BYTE_STOP));
}

/* The end of the word that begins at @i; *@is_word: it has a letter or digit.
 */
static size_t ascii_word(const struct word_breaker *b,
                         struct slice s,
                         size_t i,
                         bool *is_word)
{
    unsigned was = BYTE_OTHER;
    *is_word = false;
    for (;;) {
        unsigned class = class_at(b, s, i);
        if (is_joined(class)) {
            *is_word |= class != BYTE_JOINER;
            was = class;
            i++;
        } else if (is_between(b, s, i, was)) {
            i++;
        } else {
            return i;
        }
    }
}

static void breaks_of_ascii(struct word_breaker *b,
                            struct slice text,
                            size_t base,
                            word_fn fn,
                            void *ctx)
{
    size_t i = 0;
    while (i < text.len) {
        struct word w = {.begin = i};
        bool is_word;
        if (!is_joined(class_at(b, text, i))) {
            i++;
            continue;
        }
        i = ascii_word(b, text, i, &is_word);
        if (!is_word)
            continue;
        w.term = fold_ascii(b, slice_sub(text, w.begin, i));
        w.begin += base;
        w.end = base + i;
        fn(ctx, &w);
    }
}

/* --- regions ------------------------------------------------------------- */

/* The end of the run at @i that no rule joins to what follows; *@high: it has
 * characters beyond ASCII. */
static size_t
run_end(const struct word_breaker *b, struct slice text, size_t i, bool *high)
{
    size_t begin = i;
    *high = false;
    while (i < text.len && i - begin < REGION_BYTES_MAX) {
        unsigned class = b->class_of[(unsigned char)text.data[i]];
        if (class == BYTE_OTHER)
            break;
        *high |= class == BYTE_HIGH;
        i++;
    }
    while (i < text.len && (text.data[i] & 0xc0) == 0x80)
        i++; /* Not inside a character. */
    return i;
}

void word_breaks(struct word_breaker *b,
                 struct slice text,
                 word_fn fn,
                 void *ctx)
{
    size_t i = 0;
    while (i < text.len) {
        bool high;
        size_t end;
        if (b->class_of[(unsigned char)text.data[i]] == BYTE_OTHER) {
            i++;
            continue;
        }
        end = run_end(b, text, i, &high);
        if (high)
            breaks_by_icu(b, slice_sub(text, i, end), i, fn, ctx);
        else
            breaks_of_ascii(b, slice_sub(text, i, end), i, fn, ctx);
        i = end;
    }
}
