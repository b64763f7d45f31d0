/* Words of any text: where they begin and end, and in which form. */
#include <stdlib.h>
#include <string.h>
#include <unicode/ubrk.h>
#include <unicode/utext.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/core/text.h"
#include "tests/lib/check_main.h"
#include "web/search/text/word_breaks.h"

static struct word_breaker *breaker;

/* --- helpers ------------------------------------------------------------- */

struct word_log {
    struct slice text;
    struct buf out; /* "term@begin-end " */
    size_t last_end;
};

static void log_word(void *ctx, const struct word *w)
{
    struct word_log *l = ctx;
    ck_assert_uint_ge(w->begin, l->last_end); /* INV-1 */
    ck_assert_uint_lt(w->begin, w->end);
    ck_assert_uint_le(w->end, l->text.len);
    buf_printf(&l->out, "%.*s@%zu-%zu ", SLICE_ARG(w->term), w->begin, w->end);
    l->last_end = w->end;
}

static void expect_words(const char *text, const char *want)
{
    struct word_log l = {.text = slice_str(text)};
    word_breaks(breaker, slice_str(text), log_word, &l);
    ck_assert_str_eq(buf_cstr(&l.out), want);
    buf_close(&l.out);
}

/* The terms alone. */
static void log_term(void *ctx, const struct word *w)
{
    buf_append_slice(ctx, w->term);
    buf_append_byte(ctx, '|');
}

static void expect_terms(const char *text, const char *want)
{
    struct buf out = BUF_INIT;
    word_breaks(breaker, slice_str(text), log_term, &out);
    ck_assert_str_eq(buf_cstr(&out), want);
    buf_close(&out);
}

/* --- tests --------------------------------------------------------------- */

/* Words are cut as Unicode says, and come in one form. */
START_TEST(test_words)
{
    expect_words("", "");
    expect_words("One, two.", "one@0-3 two@5-8 ");
    expect_terms("don't stop: 3.14 or 1,000; e.g. a_b c-d",
                 "don't|stop|3.14|or|1,000|e.g|a_b|c|d|");
    expect_terms("__ _ ' . :", "");
    expect_terms("STRASSE straße Straße", "strasse|strasse|strasse|");
    expect_terms("ﬁle ｆｕｌｌ Ⅷ", "file|full|viii|");
    expect_terms("caf\xc3\xa9 cafe\xcc\x81", "café|café|");
    expect_terms("co\xc2\xadop", "coop|");
}

END_TEST

/* Scripts without blanks are cut by dictionaries; marks stay with letters. */
START_TEST(test_scripts)
{
    expect_terms("中华人民共和国宪法", "中华|人民|共和国|宪法|");
    expect_terms("東京都の図書館", "東京|都|の|図書館|");
    expect_terms("สวัสดีชาวโลก", "สวัสดี|ชาว|โลก|");
    expect_terms("שלום עולם", "שלום|עולם|");
    expect_terms("हिन्दी भाषा", "हिन्दी|भाषा|");
    expect_terms("Привет, МИР", "привет|мир|");
}

END_TEST

/* Bytes that are not UTF-8 are no part of a word, and end none of the others.
 */
START_TEST(test_broken)
{
    expect_terms("a\xff"
                 "b \xc3",
                 "a|b|");
    expect_terms("\xe4\xb8 word \xf0\x9f", "word|");
    expect_terms("\xc3\xa9\xc3 x", "é|x|");
}

END_TEST

static void put_random_piece(struct rand_gen *r, struct buf *out)
{
    static const char *const pieces[] = {
        "a",        "B",    "zz", "7",    "42",   "_",        "'",
        ".",        ",",    ";",  ":",    "\"",   " ",        "\n",
        "-",        "é",    "ß",  "Ж",    "中",   "国",       "あ",
        "カ",       "ก",    "ข",  "א",    "ב",    "\xcc\x81", "\xe2\x80\x8d",
        "\xc2\xad", "🙂", "🇩🇪", "\xff", "\xc3", "％",       "๑"};
    buf_append_str(out, pieces[rand_below(r, ARRAY_LEN(pieces))]);
}

/* The quick way finds the words that ICU alone finds in the same text. */
START_TEST(test_quick_is_plain)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int i = 0; i < 4000; i++) {
        struct buf text = BUF_INIT;
        struct word_log a = {.last_end = 0};
        struct word_log b = {.last_end = 0};
        for (size_t n = rand_below(&r, 24); n; n--)
            put_random_piece(&r, &text);
        a.text = b.text = buf_slice(&text);
        word_breaks(breaker, a.text, log_word, &a);
        word_breaks_plain(breaker, b.text, log_word, &b);
        ck_assert_msg(slice_eq(buf_slice(&a.out), buf_slice(&b.out)),
                      "'%s':\n%s\n%s", buf_cstr(&text), buf_cstr(&a.out),
                      buf_cstr(&b.out));
        buf_close(&text);
        buf_close(&a.out);
        buf_close(&b.out);
    }
}

END_TEST

struct boundary_check {
    UBreakIterator *characters;
};

static void check_boundaries(void *ctx, const struct word *w)
{
    struct boundary_check *c = ctx;
    ck_assert(ubrk_isBoundary(c->characters, (int32_t)w->begin));
    ck_assert(ubrk_isBoundary(c->characters, (int32_t)w->end));
}

/* No word begins or ends inside of what people see as one character. */
START_TEST(test_characters_stay_whole)
{
    struct rand_gen r;
    UErrorCode status = U_ZERO_ERROR;
    struct boundary_check c = {ubrk_open(UBRK_CHARACTER, "", NULL, 0, &status)};
    UText *ut = NULL;
    rand_init(&r, test_seed());
    for (int i = 0; i < 2000; i++) {
        struct buf text = BUF_INIT;
        for (size_t n = rand_below(&r, 24); n; n--)
            put_random_piece(&r, &text);
        ut = utext_openUTF8(ut, text.data ? text.data : "", (int64_t)text.len,
                            &status);
        ubrk_setUText(c.characters, ut, &status);
        ck_assert(U_SUCCESS(status));
        word_breaks(breaker, buf_slice(&text), check_boundaries, &c);
        buf_close(&text);
    }
    utext_close(ut);
    ubrk_close(c.characters);
}

END_TEST

/* A word of any length is one word; one that no one types has no term. */
START_TEST(test_long)
{
    struct buf text = BUF_INIT;
    struct buf out = BUF_INIT;
    buf_append_fill(&text, 'x', 5000);
    buf_append_str(&text, " y ");
    for (int i = 0; i < 3000; i++)
        buf_append_str(&text, "é");
    word_breaks(breaker, buf_slice(&text), log_term, &out);
    ck_assert_str_eq(buf_cstr(&out), "|y||");
    buf_close(&text);
    buf_close(&out);
}

END_TEST

int main(void)
{
    const TTest *const tests[] = {test_words,
                                  test_scripts,
                                  test_broken,
                                  test_quick_is_plain,
                                  test_characters_stay_whole,
                                  test_long};
    int rc = word_breaker_new(&breaker, NULL);
    if (rc == 0)
        rc = check_main("word_breaks", tests, ARRAY_LEN(tests));
    word_breaker_free(breaker);
    return rc != 0;
}
