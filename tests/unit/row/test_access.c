/* Lists of rights say who may do what, and nothing else is allowed. */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "bigtable/row/access.h"
#include "tests/lib/check_main.h"

static struct access_list *must_parse(const char *text)
{
    struct access_list *l;
    struct err err = ERR_INIT;
    ck_assert_msg(access_parse(slice_str(text), &l, &err) == 0, "%s", err.text);
    return l;
}

/* What a list gives: lines for all families and for one, everybody and some;
 * own gives all; who is not named has nothing. */
START_TEST(test_rights)
{
    struct access_list *l = must_parse("# a comment\n"
                                       "*\tread  *\n"
                                       "anchor write crawler,indexer # two\n"
                                       "\n"
                                       "contents own crawler");

    static const struct {
        const char *principal, *family;
        unsigned rights;
    } cases[] = {
        {"ann", "anchor", ACCESS_READ},
        {"ann", "*", ACCESS_READ},
        {"indexer", "anchor", ACCESS_READ | ACCESS_WRITE},
        {"indexer", "contents", ACCESS_READ},
        {"crawler", "contents", ACCESS_READ | ACCESS_WRITE | ACCESS_OWN},
        {"crawler", "other", ACCESS_READ},
        {"crawle", "contents", ACCESS_READ},
        {"", "contents", ACCESS_READ},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        ck_assert_msg(access_rights(l, slice_str(cases[i].principal),
                                    slice_str(cases[i].family)) ==
                          cases[i].rights,
                      "case %zu", i);
    access_free(l);
    l = must_parse("");
    ck_assert_uint_eq(access_rights(l, SLICE_LIT("ann"), SLICE_LIT("f")), 0);
    access_free(l);
    ck_assert_uint_eq(access_rights(NULL, SLICE_LIT("ann"), SLICE_LIT("f")), 7);
}

END_TEST

/* A refusal names who, the right and the family. */
START_TEST(test_refusal)
{
    struct access_list *l = must_parse("f read ann");
    struct err err = ERR_INIT;
    ck_assert_int_eq(
        access_check(l, SLICE_LIT("ann"), SLICE_LIT("f"), ACCESS_READ, &err),
        0);
    ck_assert_int_eq(
        access_check(l, SLICE_LIT("ann"), SLICE_LIT("f"), ACCESS_WRITE, &err),
        ERR_DENIED);
    ck_assert_str_eq(err.text, "ann has not the right to write family f");
    ck_assert_int_eq(
        access_check(l, SLICE_LIT("bob"), SLICE_LIT("*"), ACCESS_OWN, &err),
        ERR_DENIED);
    ck_assert_str_eq(err.text, "bob has not the right to own the table");
    access_free(l);
}

END_TEST

/* What is no list is refused, with the number of its line. */
START_TEST(test_malformed)
{
    static const char *const bad[] = {
        "f",          "f read",        "f read a b", "f see a",
        "f read a,",  "f read ,a",     "f/g read a", "* read a\n\nf",
        "f READ a\n", "f read a,,b\n",
    };
    struct access_list *l;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct err err = ERR_INIT;
        ck_assert_msg(access_parse(slice_str(bad[i]), &l, &err) == ERR_INVALID,
                      "%s", bad[i]);
        ck_assert_ptr_null(l);
        ck_assert_ptr_nonnull(strstr(err.text, i == 7 ? "line 3" : "line 1"));
    }
}

END_TEST

/* Lists of drawn lines give what a walk over the lines gives. */
START_TEST(test_drawn_lists)
{
    static const char *const families[] = {"*", "f", "g"};
    static const char *const rights[] = {"read", "write", "own"};
    static const unsigned bits[] = {1, 2, 7};
    static const char *const who[] = {"*", "ann", "bob"};
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int round = 0; round < 2000; round++) {
        struct buf text = BUF_INIT;
        struct access_list *l;
        unsigned want[3][3] = {{0}};
        for (uint64_t n = rand_below(&r, 5); n > 0; n--) {
            size_t f = rand_below(&r, 3), k = rand_below(&r, 3);
            size_t w = rand_below(&r, 3);
            buf_printf(&text, "%s %s nobody,%s\n", families[f], rights[k],
                       who[w]);
            for (size_t i = 0; i < 3; i++)
                for (size_t j = 0; j < 3; j++)
                    if ((f == 0 || f == i) && (w == 0 || w == j))
                        want[i][j] |= bits[k];
        }
        l = must_parse(buf_cstr(&text));
        for (size_t i = 0; i < 3; i++)
            for (size_t j = 1; j < 3; j++)
                ck_assert_uint_eq(
                    access_rights(l, slice_str(who[j]), slice_str(families[i])),
                    want[i][j]);
        access_free(l);
        buf_close(&text);
    }
}

END_TEST

TEST_MAIN("access", test_rights, test_refusal, test_malformed, test_drawn_lists)
