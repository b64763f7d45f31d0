/* Texts by lines: what a page says, and what changed of it. */
#include <string.h>

#include "tests/lib/check_main.h"
#include "web/replay/page_text.h"
#include "web/replay/text_difference.h"

/* "=a -b +c ~x|y": a row each. */
static void check(const char *left, const char *right, const char *want)
{
    struct difference d;
    struct buf got = BUF_INIT;
    difference_make(slice_str(left), slice_str(right), &d);
    for (size_t i = 0; i < d.count; i++) {
        const struct difference_row *r = &d.at[i];
        if (r->is_same)
            buf_printf(&got, "=%.*s ", SLICE_ARG(r->left));
        else
            buf_printf(&got, "%.*s|%.*s ", SLICE_ARG(r->left),
                       SLICE_ARG(r->right));
    }
    ck_assert_str_eq(buf_cstr(&got), want);
    buf_close(&got);
    difference_close(&d);
}

START_TEST(test_difference)
{
    check("", "", "");
    check("a\nb\n", "a\nb\n", "=a =b ");
    check("a\nb\nc\n", "a\nc\n", "=a b| =c ");
    check("a\nc\n", "a\nb\nc\n", "=a |b =c ");
    check("a\nx\nc\n", "a\ny\nz\nc\n", "=a x|y |z =c ");
    check("a\n", "", "a| ");
    check("a\nb\nc\nd\ne\n", "b\nx\nd\n", "a| =b c|x =d e| ");
    check("a\na\n", "a\na\na\n", "=a =a |a ");
}

END_TEST

/* Two long texts without a common line take no large table. */
START_TEST(test_coarse)
{
    struct buf a = BUF_INIT;
    struct buf b = BUF_INIT;
    struct difference d;
    for (int i = 0; i < 9000; i++) {
        buf_printf(&a, "a%d\n", i);
        buf_printf(&b, "b%d\n", i);
    }
    difference_make(buf_slice(&a), buf_slice(&b), &d);
    ck_assert(d.is_coarse);
    ck_assert_uint_eq(d.count, 9000);
    ck_assert_uint_eq(d.removed, 9000);
    difference_close(&d);
    buf_close(&a);
    buf_close(&b);
}

END_TEST

START_TEST(test_page_text)
{
    struct buf out = BUF_INIT;
    page_text_append(SLICE_LIT("<title>T</title><style>no</style><p>One "
                               "<b>two</b>\n  three &amp; four<p>five<script>no"
                               "</script><td>6</td><td>7</td><!-- no -->"),
                     1 << 20, &out);
    ck_assert_str_eq(buf_cstr(&out), "T\nOne two three & four\nfive\n6  7\n");
    buf_close(&out);
}

END_TEST

TEST_MAIN("text_difference", test_difference, test_coarse, test_page_text)
