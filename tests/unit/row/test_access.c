/* Lists of rights say who may do what, and nothing else is allowed. */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "bigtable/row/access.h"
#include "tests/lib/check_main.h"

#define ALL (ACCESS_READ | ACCESS_WRITE | ACCESS_OWN | ACCESS_CREATE)

static struct access_list *must_parse(const char *text)
{
    struct access_list *l;
    struct err err = ERR_INIT;
    ck_assert_msg(access_parse(slice_str(text), &l, &err) == 0, "%s", err.text);
    return l;
}

/* The rights that a list gives: lines for all families and for one, everybody
 * and some; own gives all; a principal that is not named has none. */
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
        {"crawler", "contents", ALL},
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
    ck_assert_uint_eq(access_rights(NULL, SLICE_LIT("ann"), SLICE_LIT("f")),
                      ALL);
}

END_TEST

static int check(const struct access_list *l,
                 const char *who,
                 const char *family,
                 enum access_right right,
                 struct err *err)
{
    *err = ERR_INIT;
    return access_check(l, slice_str(who), SLICE_LIT("web"), slice_str(family),
                        right, err);
}

/* A refusal names who, the right, the family and the table. */
START_TEST(test_refusal)
{
    struct access_list *l = must_parse("f read ann\n* create cal");
    struct err err;
    ck_assert_int_eq(check(l, "ann", "f", ACCESS_READ, &err), 0);
    ck_assert_int_eq(check(l, "ann", "f", ACCESS_WRITE, &err), ERR_DENIED);
    ck_assert_str_eq(err.text, "\"ann\" may not write family \"f\" of table "
                               "\"web\": not a writer");
    ck_assert_int_eq(check(l, "bob", "f", ACCESS_READ, &err), ERR_DENIED);
    ck_assert_str_eq(err.text, "\"bob\" may not read family \"f\" of table "
                               "\"web\": not a reader");
    ck_assert_int_eq(check(l, "bob", "*", ACCESS_OWN, &err), ERR_DENIED);
    ck_assert_str_eq(err.text,
                     "\"bob\" may not change table \"web\": not an owner");
    ck_assert_int_eq(check(l, "cal", "*", ACCESS_CREATE, &err), 0);
    ck_assert_int_eq(check(l, "ann", "*", ACCESS_CREATE, &err), ERR_DENIED);
    access_free(l);
}

END_TEST

/* Rights to any family are those of all lines that name one. */
START_TEST(test_anywhere)
{
    struct access_list *l = must_parse("f read ann\ng write ann,bob");
    ck_assert_uint_eq(access_rights_anywhere(l, SLICE_LIT("ann")),
                      ACCESS_READ | ACCESS_WRITE);
    ck_assert_uint_eq(access_rights_anywhere(l, SLICE_LIT("bob")),
                      ACCESS_WRITE);
    ck_assert_uint_eq(access_rights_anywhere(l, SLICE_LIT("cal")), 0);
    ck_assert_uint_eq(access_rights_anywhere(NULL, SLICE_LIT("cal")), ALL);
    access_free(l);
}

END_TEST

static char *change(const char *text,
                    bool add,
                    const char *family,
                    const char *right,
                    const char *who)
{
    struct buf b = BUF_INIT;
    struct err err = ERR_INIT;
    ck_assert_msg(access_change(slice_str(text), add, slice_str(family),
                                slice_str(right), slice_str(who), &b,
                                &err) == 0,
                  "%s", err.text);
    return buf_take(&b);
}

#define CHANGES(text, add, family, right, who, want)                           \
    do {                                                                       \
        char *got = change(text, add, family, right, who);                     \
        ck_assert_str_eq(got, want);                                           \
        mem_free(got);                                                         \
    } while (0)

/* A right is added behind what is there, once; taken away it is gone, with a
 * line that names nobody any more; what is no right is refused. */
START_TEST(test_changes)
{
    struct buf b = BUF_INIT;
    CHANGES("", true, "*", "own", "ann", "* own ann\n");
    CHANGES("* own ann", true, "f", "read", "bob,cal",
            "* own ann\nf read bob,cal\n");
    CHANGES("f read a\n# text\nf read b,a", true, "f", "read", "c,a",
            "f read a,b,c\n");
    CHANGES("f read a,b\nf write b\n", false, "f", "read", "b,c",
            "f read a\nf write b\n");
    CHANGES("f read a\nf read b", false, "f", "read", "a,b", "");
    CHANGES("f read a", false, "*", "read", "a", "f read a\n");
    ck_assert_int_eq(access_change(SLICE_EMPTY, true, SLICE_LIT("f"),
                                   SLICE_LIT("read"), SLICE_LIT("a b"), &b,
                                   NULL),
                     ERR_INVALID);
    ck_assert_int_eq(access_change(SLICE_EMPTY, true, SLICE_LIT("f"),
                                   SLICE_LIT("read"), SLICE_LIT("a\n* own b"),
                                   &b, NULL),
                     ERR_INVALID);
    ck_assert_int_eq(access_change(SLICE_EMPTY, true, SLICE_LIT("f"),
                                   SLICE_LIT("create"), SLICE_LIT("a"), &b,
                                   NULL),
                     ERR_INVALID);
    buf_close(&b);
}

END_TEST

/* Adding a right gives it and nothing else; taking away what was added gives
 * the rights there were. */
START_TEST(test_drawn_changes)
{
    static const char *const families[] = {"*", "f", "g"};
    static const char *const rights[] = {"read", "write", "own"};
    static const char *const who[] = {"ann", "bob", "cal"};
    struct rand_gen r;
    bool has[3][3][3] = {{{0}}};
    char *text = mem_strdup("");
    rand_init(&r, test_seed());
    for (int round = 0; round < 2000; round++) {
        size_t f = rand_below(&r, 3), k = rand_below(&r, 3);
        size_t w = rand_below(&r, 3);
        bool add = rand_below(&r, 2) == 0;
        char *next = change(text, add, families[f], rights[k], who[w]);
        struct access_list *l = must_parse(next);
        mem_free(text);
        text = next;
        has[f][k][w] = add;
        for (size_t i = 0; i < 3; i++)
            for (size_t j = 0; j < 3; j++) {
                unsigned want = 0;
                static const unsigned bits[] = {ACCESS_READ, ACCESS_WRITE, ALL};
                for (size_t n = 0; n < 3; n++)
                    if (has[0][n][j] || has[i][n][j])
                        want |= bits[n];
                ck_assert_uint_eq(
                    access_rights(l, slice_str(who[j]), slice_str(families[i])),
                    want);
            }
        access_free(l);
    }
    mem_free(text);
}

END_TEST

/* A text that is no list is refused, with the number of the line. */
START_TEST(test_malformed)
{
    static const char *const bad[] = {
        "f",          "f read",        "f read a b", "f see a",
        "f read a,",  "f read ,a",     "f/g read a", "* read a\n\nf",
        "f READ a\n", "f read a,,b\n", "f create a",
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
    static const unsigned bits[] = {ACCESS_READ, ACCESS_WRITE, ALL};
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

/* A right of a role is one of its members, and of nobody who is only called so;
 * roles are made, changed and dropped. */
START_TEST(test_roles)
{
    static const struct {
        const char *verb;
        const char *role;
        const char *who;
        int code;
        const char *then;
    } steps[] = {
        {"add", "r", "ann", ERR_NOTFOUND, ""},
        {"create", "r", "ann,bob", 0, "r member ann,bob\n"},
        {"create", "r", "cal", ERR_EXISTS, "r member ann,bob\n"},
        {"create", "s", "cal", 0, "r member ann,bob\ns member cal\n"},
        {"add", "s", "role:r", ERR_INVALID, "r member ann,bob\ns member cal\n"},
        {"add", "s", "*", ERR_INVALID, "r member ann,bob\ns member cal\n"},
        {"add", "s", "ann", 0, "r member ann,bob\ns member cal,ann\n"},
        {"remove", "r", "bob", 0, "r member ann\ns member cal,ann\n"},
        {"remove", "r", "ann", 0, "s member cal,ann\n"},
        {"drop", "s", "", 0, ""},
        {"empty", "s", "", ERR_INVALID, ""},
    };

    struct access_list *l;
    struct buf list = BUF_INIT;
    struct buf roles = BUF_INIT;
    ck_assert_int_eq(access_parse_with(SLICE_LIT("* read role:r,role:none"),
                                       SLICE_LIT("r member ann,bob"), &l, NULL),
                     0);
    ck_assert_uint_eq(access_rights(l, SLICE_LIT("ann"), SLICE_LIT("f")),
                      ACCESS_READ);
    ck_assert_uint_eq(access_rights_anywhere(l, SLICE_LIT("bob")), ACCESS_READ);
    ck_assert_uint_eq(access_rights(l, SLICE_LIT("cal"), SLICE_LIT("f")), 0);
    ck_assert_uint_eq(access_rights(l, SLICE_LIT("role:r"), SLICE_LIT("f")), 0);
    ck_assert_uint_eq(access_rights(l, SLICE_LIT("r"), SLICE_LIT("f")), 0);
    access_free(l);
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        struct buf next = BUF_INIT;
        ck_assert_int_eq(
            access_change_roles(buf_slice(&list), slice_str(steps[i].verb),
                                slice_str(steps[i].role),
                                slice_str(steps[i].who), &next, NULL),
            steps[i].code);
        if (steps[i].code == 0) {
            buf_clear(&list);
            buf_append_slice(&list, buf_slice(&next));
        }
        buf_close(&next);
        ck_assert_str_eq(buf_cstr(&list), steps[i].then);
    }
    ck_assert_int_eq(
        access_parse(SLICE_LIT("r member ann\ns member ann,bob"), &l, NULL), 0);
    access_put_roles(l, SLICE_LIT("ann"), &roles);
    ck_assert_str_eq(buf_cstr(&roles), "r,s");
    access_free(l);
    buf_close(&roles);
    buf_close(&list);
}

END_TEST

TEST_MAIN("access",
          test_rights,
          test_refusal,
          test_anywhere,
          test_roles,
          test_malformed,
          test_drawn_lists,
          test_changes,
          test_drawn_changes)
