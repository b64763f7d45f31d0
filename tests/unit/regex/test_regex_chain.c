/* Patterns that are chains find what RE2 finds, everywhere; other patterns are
 * left to RE2. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/core/buf.h"
#include "base/core/macros.h"
#include "base/core/rand.h"
#include "base/regex/regex.h"
#include "base/regex/regex_chain.h"
#include "tests/lib/check_main.h"

/* --- Helpers ------------------------------------------------------------- */

#define GROUPS 8

static bool is_chain(const char *pattern)
{
    struct regex_chain *c = regex_chain_new(slice_str(pattern), true);
    regex_chain_free(c);
    return c != NULL;
}

/* NULL: RE2 refuses it. */
static struct regex *chain_compile(const char *pattern, bool utf8)
{
    struct err err = ERR_INIT;
    struct regex *r;
    int rc = regex_new(slice_str(pattern), utf8 ? REGEX_UTF8 : REGEX_BYTES, &r,
                       &err);
    return rc ? NULL : r;
}

static const char *const items[] = {
    "a",       "b",         "\\.",     "a+",   "b*",    "a?",
    "[^ ]+",   "[^ ]*",     "[^\"]+",  ".*",   "[ab]+", "[0-9]+",
    "\\d",     "\\w+",      "\\s",     " ",    "\"",    "(GET|POST)",
    "(?:a|b)", "(",         ")",       "(?:",  "\\D+",  "[^\\s]+",
    "\\d{2}",  "[ab]{1,2}", "b{2,}",   ".",    "x",     "[a-c]",
    "(a|ab)",  "(xx|y)",    "[^b]{2}", "\\S*", "-",     "[^ab]+",
};

/* A pattern of some items, perhaps bound to an end. */
static void random_pattern(struct rand_gen *g, struct buf *b)
{
    unsigned open = 0;
    buf_clear(b);
    if (rand_below(g, 3) == 0)
        buf_append_str(b, "^");
    for (uint64_t n = 1 + rand_below(g, 6); n > 0; n--) {
        const char *item = items[rand_below(g, ARRAY_LEN(items))];
        if (strcmp(item, ")") == 0 && open == 0)
            continue;
        open += strcmp(item, "(") == 0 || strcmp(item, "(?:") == 0;
        open -= strcmp(item, ")") == 0;
        buf_append_str(b, item);
    }
    for (; open > 0; open--)
        buf_append_str(b, "a)");
    if (rand_below(g, 4) == 0)
        buf_append_str(b, "$");
}

static void random_text(struct rand_gen *g, struct buf *b)
{
    static const char *const pieces[] = {"a",  "b",   "aa",   "1", "23", " ",
                                         "\"", "GET", "POST", ".", "x",  "xx",
                                         "\n", "é",   "\xff", "c", "-",  "y"};
    /* The last but some are not ASCII: in every other text only. */
    bool ascii = rand_below(g, 2) == 0;
    buf_clear(b);
    for (uint64_t n = rand_below(g, 30); n > 0; n--) {
        const char *piece = pieces[rand_below(g, ARRAY_LEN(pieces))];
        if (!ascii || (unsigned char)piece[0] < 0x80)
            buf_append_str(b, piece);
    }
}

static void same_search(const struct regex *chain,
                        const struct regex *plain,
                        const char *pattern,
                        struct slice text,
                        size_t start)
{
    struct slice g[GROUPS];
    struct slice h[GROUPS];
    bool found = regex_search(chain, text, start, g, GROUPS);
    ck_assert_msg(found == regex_search(plain, text, start, h, GROUPS),
                  "`%s` in `%.*s` from %zu", pattern, SLICE_ARG(text), start);
    ck_assert_int_eq(found, regex_search(chain, text, start, NULL, 0));
    for (size_t i = 0; found && i < GROUPS; i++)
        ck_assert_msg(g[i].data == h[i].data && g[i].len == h[i].len,
                      "group %zu of `%s` in `%.*s` from %zu", i, pattern,
                      SLICE_ARG(text), start);
}

/* --- Tests --------------------------------------------------------------- */

/* Usual patterns of logs are chains; those that can match in several ways are
 * none. */
START_TEST(test_which)
{
    static const char *const chains[] = {
        "^([^ ]+) [^ ]+ \\[[^\\]]*\\] \"[A-Z]+ ([^ ]+) [^\"]*\" (\\d+)",
        "\"(GET|POST) ([^ ]+) HTTP/1.[01]\" ([0-9]+) ([0-9]+)$",
        "(\\d{4})-(\\d{2})-(\\d{2})",
        "status=(\\w+);",
        "a*b?$",
    };
    static const char *const others[] = {
        "",        "(.*) b",  "a|b",  "(a|ab)c", "a+?",  "(?i)a",       "\\bx",
        "(ab)+",   "[0-9]+5", "x{0}", "a.*a",    "\\pL", "[[:alpha:]]", "()",
        "a{1}{2}", "(a+b|c)", "é",    "[^\\D]",
    };
    for (size_t i = 0; i < ARRAY_LEN(chains); i++)
        ck_assert_msg(is_chain(chains[i]), "%s", chains[i]);
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        ck_assert_msg(!is_chain(others[i]), "%s", others[i]);
}

END_TEST

/* Random chains over random texts, from every start: RE2 gives the same match
 * and the same groups. */
START_TEST(test_as_re2)
{
    struct rand_gen g;
    struct buf pattern = BUF_INIT;
    struct buf text = BUF_INIT;
    struct buf wrapped = BUF_INIT;
    unsigned chains = 0;
    rand_init(&g, 5);
    for (unsigned round = 0; round < 6000; round++) {
        bool utf8 = round & 1;
        struct regex *chain;
        struct regex *plain;
        random_pattern(&g, &pattern);
        if (!is_chain(buf_cstr(&pattern)))
            continue;
        buf_clear(&wrapped);
        buf_printf(&wrapped, "(?:%s){1}", buf_cstr(&pattern));
        ck_assert(!is_chain(buf_cstr(&wrapped)));
        chain = chain_compile(buf_cstr(&pattern), utf8);
        plain = chain_compile(buf_cstr(&wrapped), utf8);
        if (chain && plain) {
            chains++;
            for (unsigned k = 0; k < 8; k++) {
                random_text(&g, &text);
                for (size_t start = 0; start <= text.len + 1; start += 1 + k)
                    same_search(chain, plain, buf_cstr(&pattern),
                                buf_slice(&text), start);
            }
        }
        regex_free(chain);
        regex_free(plain);
    }
    ck_assert_uint_gt(chains, 1000);
    buf_close(&pattern);
    buf_close(&text);
    buf_close(&wrapped);
}

END_TEST

/* Many places where a match could begin and none where it does: the time stays
 * linear in the text. */
START_TEST(test_linear)
{
    struct regex *r = chain_compile("[0-9]+ ms", true);
    struct buf text = BUF_INIT;
    clock_t begin = clock();
    buf_append_fill(&text, '7', 1 << 20);
    ck_assert(is_chain("[0-9]+ ms"));
    ck_assert(!regex_search(r, buf_slice(&text), 0, NULL, 0));
    /* 2^39 steps would take minutes. */
    ck_assert_int_lt((clock() - begin) / CLOCKS_PER_SEC, 20);
    buf_append_str(&text, " ms");
    ck_assert(regex_search(r, buf_slice(&text), 0, NULL, 0));
    buf_close(&text);
    regex_free(r);
}

END_TEST

/* A match of a vector's length or more ends where it should, wherever the text
 * lies. */
START_TEST(test_long_items)
{
    struct regex *r = chain_compile("([^ ]*) (.+)$", true);
    for (size_t n = 0; n < 70; n++) {
        struct buf text = BUF_INIT;
        struct slice g[3];
        buf_append_fill(&text, 'q', n);
        buf_append_byte(&text, ' ');
        buf_append_fill(&text, 'r', 70 - n);
        ck_assert(regex_search(r, buf_slice(&text), 0, g, 3));
        ck_assert_uint_eq(g[1].len, n);
        ck_assert_uint_eq(g[2].len, 70 - n);
        buf_close(&text);
    }
    regex_free(r);
}

END_TEST

TEST_MAIN("regex chain", test_which, test_as_re2, test_linear, test_long_items)
