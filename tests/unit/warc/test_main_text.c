/* The text of a page is found between its menus, whatever its tags do, and its
 * language is known. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "mapreduce/warc/html_text.h"
#include "mapreduce/warc/language_guess.h"
#include "mapreduce/warc/main_text.h"
#include "mapreduce/warc/public_suffix.h"
#include "mapreduce/warc/text_blocks.h"
#include "tests/lib/check_main.h"

/* --- Pages --------------------------------------------------------------- */

#define SENTENCE                                                               \
    "The quick brown fox jumps over the lazy dog while seven wizards quietly " \
    "prepare a jug of toxic brew for the evil queen"

static void put_menu(struct buf *b, int links)
{
    buf_append_str(b, "<ul>");
    for (int i = 0; i < links; i++)
        buf_printf(b, "<li><a href='/%d'>Menu entry %d</a>", i, i);
    buf_append_str(b, "</ul>");
}

static char *text_of(const char *html)
{
    struct main_text *m = main_text_new();
    struct slice text = main_text_of(m, slice_str(html));
    char *s = strndup(text.data, text.len);
    main_text_free(m);
    return s;
}

/* --- Tests --------------------------------------------------------------- */

/* Paragraphs are text, with their headings and short lines between them; menus,
 * footers, comments, hidden parts and scripts are none, with tags that say so
 * and with names alone. */
START_TEST(test_paragraphs_and_menus)
{
    struct buf b = BUF_INIT;
    buf_append_str(&b, "<html><head><title>T</title></head><body><nav>" SENTENCE
                       "</nav><div class=\"sideBar left\"><p>" SENTENCE
                       " in the sidebar</p></div>");
    put_menu(&b, 12);
    buf_append_str(&b, "<div class='content with-sidebar'><h1>A heading</h1><p>"
                       "First: " SENTENCE ".<p>Short line.<p>Second: " SENTENCE
                       " &amp; <a href=x>one link</a>.<pre>Third: " SENTENCE
                       "</pre><noscript>" SENTENCE " unseen</noscript></div>"
                       "<script>var x = '<p>" SENTENCE " code';</script>"
                       "<div id=comments><p>" SENTENCE " says a reader</div>"
                       "<footer><p>" SENTENCE " below</footer>");
    char *text = text_of(buf_cstr(&b));
    ck_assert_str_eq(text, "A heading\nFirst: " SENTENCE
                           ".\nShort line.\nSecond: " SENTENCE
                           " & one link.\nThird: " SENTENCE "\n");
    free(text);
    buf_close(&b);
}

END_TEST

/* Names do not hide a page that would have no text then; a page of links, and
 * one of nothing, have none. */
START_TEST(test_misleading_names)
{
    struct buf b = BUF_INIT;
    char *text = text_of("<div class=sidebar><p>" SENTENCE ".<p>" SENTENCE
                         ".</div><p>Short.");
    ck_assert_str_eq(text, SENTENCE ".\n" SENTENCE ".\nShort.\n");
    free(text);
    put_menu(&b, 50);
    text = text_of(buf_cstr(&b));
    ck_assert_str_eq(text, "");
    free(text);
    text = text_of("");
    ck_assert_str_eq(text, "");
    free(text);
    buf_close(&b);
}

END_TEST

/* A small <article> is a teaser when there is much more text outside of it; a
 * large one is all there is. */
START_TEST(test_article)
{
    struct buf b = BUF_INIT;
    buf_append_str(&b, "<article><p>" SENTENCE " " SENTENCE "</article>");
    for (int i = 0; i < 10; i++)
        buf_printf(&b, "<p>Paragraph %d: " SENTENCE ".", i);
    char *text = text_of(buf_cstr(&b));
    ck_assert(strstr(text, "Paragraph 9") != NULL);
    free(text);
    buf_clear(&b);
    buf_append_str(&b, "<p>Before: " SENTENCE "<main>");
    for (int i = 0; i < 10; i++)
        buf_printf(&b, "<p>Paragraph %d: " SENTENCE ".", i);
    buf_append_str(&b, "</main><p>After: " SENTENCE);
    text = text_of(buf_cstr(&b));
    ck_assert(strncmp(text, "Paragraph 0", 11) == 0);
    ck_assert(strstr(text, "After") == NULL);
    free(text);
    buf_close(&b);
}

END_TEST

/* Any bytes: blocks lie in the text in order, words of links are words, and all
 * text holds the main text's lines in their order. */
START_TEST(test_any_bytes)
{
    static const char *const pieces[] = {"<div>",
                                         "</div>",
                                         "<a href=x>",
                                         "</a>",
                                         "<p>",
                                         "<ul><li>",
                                         "</ul>",
                                         "<table>",
                                         "</table>",
                                         "<nav class=menu>",
                                         "</nav>",
                                         "<h2>",
                                         "</h2>",
                                         "<main>",
                                         "<select>",
                                         "</select>",
                                         "<body id=footer>",
                                         "word ",
                                         SENTENCE,
                                         "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e",
                                         "\xe2\x80\x94",
                                         "&amp;",
                                         "<!--",
                                         "-->",
                                         "<script>",
                                         "</script>",
                                         "\xff",
                                         "<b",
                                         "'",
                                         "<svg>"};
    struct rand_gen r;
    struct text_blocks blocks = {.count = 0};
    struct main_text *m = main_text_new();
    struct main_text *all = main_text_new();
    struct buf b = BUF_INIT;
    rand_init(&r, test_seed());
    for (int i = 0; i < 1500; i++) {
        size_t n = rand_below(&r, 60);
        buf_clear(&b);
        for (size_t k = 0; k < n; k++)
            buf_append_str(
                &b, pieces[rand_below(&r, sizeof(pieces) / sizeof(*pieces))]);
        text_blocks_read(&blocks, buf_slice(&b));
        for (size_t k = 0; k < blocks.count; k++) {
            const struct text_block *t = &blocks.at[k];
            ck_assert_uint_gt(t->len, 0);
            ck_assert_uint_le(t->link_words, t->words);
            ck_assert(html_text_is_utf8(text_blocks_text(&blocks, t), NULL));
            ck_assert_int_eq(blocks.text.data[t->at + t->len], '\n');
            ck_assert(k == 0 ||
                      t->at == blocks.at[k - 1].at + blocks.at[k - 1].len + 1);
        }
        struct slice rest = main_text_all(all, buf_slice(&b));
        struct slice text = main_text_of(m, buf_slice(&b));
        while (text.len) {
            size_t end = slice_find_byte(text, '\n') + 1;
            while (!slice_starts_with(rest, slice_sub(text, 0, end))) {
                ck_assert_uint_gt(rest.len, 0);
                rest =
                    slice_sub(rest, slice_find_byte(rest, '\n') + 1, rest.len);
            }
            rest = slice_sub(rest, end, rest.len);
            text = slice_sub(text, end, text.len);
        }
    }
    text_blocks_close(&blocks);
    main_text_free(m);
    main_text_free(all);
    buf_close(&b);
}

END_TEST

/* Elements without end, deeper than are remembered, take time in proportion. */
START_TEST(test_deep)
{
    struct buf b = BUF_INIT;
    struct main_text *m = main_text_new();
    for (int i = 0; i < 200000; i++)
        buf_append_str(&b, "<div><a href=x>y</b>");
    for (int i = 0; i < 100000; i++)
        buf_append_str(&b, "</section></a></div>");
    buf_append_str(&b, "<p>" SENTENCE " " SENTENCE " " SENTENCE);
    (void)main_text_of(m, buf_slice(&b));
    main_text_free(m);
    buf_close(&b);
}

END_TEST

/* Bytes that are not the UTF-8 they are called become text, in pages and in
 * plain text. */
START_TEST(test_other_bytes)
{
    struct main_text *m = main_text_new();
    struct slice text = main_text_all(m, SLICE_LIT("<p>caf\xe9 ol\xe9</p>"));
    ck_assert(slice_eq_str(text, "caf\xc3\xa9 ol\xc3\xa9\n"));
    text = main_text_plain(m, SLICE_LIT("caf\xe9 x"));
    ck_assert(slice_eq_str(text, "caf\xc3\xa9 x"));
    text = main_text_plain(m, SLICE_LIT("caf\xc3\xa9"));
    ck_assert(slice_eq_str(text, "caf\xc3\xa9"));
    main_text_free(m);
}

END_TEST

/* Words are counted alike with blanks and in scripts without them. */
START_TEST(test_words)
{
    ck_assert_uint_eq(text_words(SLICE_LIT("one, two \xe2\x80\x94 3")), 3);
    ck_assert_uint_eq(text_words(SLICE_LIT("\xc3\xa9t\xc3\xa9")), 1);
    /* Six characters of Japanese. */
    ck_assert_uint_eq(
        text_words(SLICE_LIT("\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e"
                             "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e")),
        3);
    ck_assert_uint_eq(text_words(SLICE_LIT("\xe2")), 1);
    ck_assert_uint_eq(text_words(SLICE_EMPTY), 0);
}

END_TEST

/* The language is that of the text; short and broken texts have none. */
START_TEST(test_languages)
{
    static const struct {
        const char *code;
        const char *text;
    } texts[] = {
        {"en", SENTENCE},
        {"de", "Die Würde des Menschen ist unantastbar. Sie zu achten und zu "
               "schützen ist Verpflichtung aller staatlichen Gewalt."},
        {"fr", "Tous les êtres humains naissent libres et égaux en dignité et "
               "en droits. Ils sont doués de raison et de conscience."},
        {"ja", "すべての人間は、生まれながらにして自由であり、かつ、尊厳と"
               "権利とについて平等である。"},
        {"", "ok"},
        {"", ""},
        {"", "\xff\xfe broken bytes are no text of any language at all"},
    };

    char code[LANGUAGE_CODE_BYTES];
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        bool known =
            language_guess(slice_str(texts[i].text), SLICE_EMPTY, code);
        ck_assert_str_eq(code, texts[i].code);
        ck_assert_int_eq(known, *texts[i].code != '\0');
    }
    ck_assert(language_guess(SLICE_LIT(SENTENCE), SLICE_LIT("de, x\n"), code));
    ck_assert_str_eq(code, "en");
}

END_TEST

/* Of a long text the part that is read ends between characters. */
START_TEST(test_language_of_long_text)
{
    char code[LANGUAGE_CODE_BYTES];
    struct buf b = BUF_INIT;
    buf_append_str(&b, "x");
    while (b.len < 300000)
        buf_append_str(&b, "Über Äpfel müßte man öfter schreiben. ");
    ck_assert(language_guess(buf_slice(&b), SLICE_EMPTY, code));
    ck_assert_str_eq(code, "de");
    buf_close(&b);
}

END_TEST

/* The registrable domain of a host is one label more than its public suffix;
 * addresses, suffixes and names that are none stay. */
START_TEST(test_domains)
{
    static const char *const hosts[][2] = {
        {"com.cnn.www", "com.cnn"},
        {"com.cnn", "com.cnn"},
        {"uk.co.bbc.news.www", "uk.co.bbc"},
        {"uk.co", "uk.co"},
        {"com.github.someone", "com.github"},
        {"io.github.someone.www", "io.github.someone"},
        {"192.168.1.10", "192.168.1.10"},
        {"[::1]", "[::1]"},
        {"localhost", "localhost"},
        {"", ""},
        {"..", ".."},
    };
    struct public_suffixes *p = public_suffixes_new();
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++) {
        struct slice d = public_suffixes_domain(p, slice_str(hosts[i][0]));
        ck_assert_msg(slice_eq_str(d, hosts[i][1]), "%s: %.*s", hosts[i][0],
                      SLICE_ARG(d));
    }
    buf_append_fill(&b, 'a', 5000);
    ck_assert_uint_eq(public_suffixes_domain(p, buf_slice(&b)).len, 5000);
    public_suffixes_free(p);
    buf_close(&b);
}

END_TEST

TEST_MAIN("main_text",
          test_paragraphs_and_menus,
          test_misleading_names,
          test_article,
          test_any_bytes,
          test_deep,
          test_other_bytes,
          test_words,
          test_languages,
          test_language_of_long_text,
          test_domains)
