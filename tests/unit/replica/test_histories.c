/* The judges of names, of locks and of rows accept what some order explains,
 * and nothing else; a history read from text prints the same text. */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "tests/lib/check_main.h"
#include "tests/lib/history_lock.h"
#include "tests/lib/history_names.h"
#include "tests/lib/history_rows.h"

/* A history as text, '|' for tabs, and whether it is right. */
struct story {
    bool right;
    const char *lines;
};

/* --- names --------------------------------------------------------------- */

static const struct story of_names[] = {
    {true, "names|1|2|1|create|d/a|-|0|-\n"
           "names|3|4|2|stat|d/a|-|0|file 7\n"
           "names|5|6|2|list|d|-|0|a\n"
           "names|7|8|2|rename|d/a|d/b|0|-\n"
           "names|9|10|1|stat|d/b|-|0|file 7\n"
           "names|11|12|1|stat|d/a|-|-4|-\n"},
    /* A renamed file keeps its number, a new one has another. */
    {false, "names|1|2|1|create|d/a|-|0|-\n"
            "names|3|4|2|stat|d/a|-|0|file 7\n"
            "names|7|8|2|rename|d/a|d/b|0|-\n"
            "names|9|10|1|stat|d/b|-|0|file 8\n"},
    {false, "names|1|2|1|create|d/a|-|0|-\n"
            "names|3|4|2|stat|d/a|-|0|file 7\n"
            "names|5|6|1|snapshot|d/a|d/b|0|-\n"
            "names|7|8|2|stat|d/b|-|0|file 7\n"},
    /* One of two rivals loses. */
    {false, "names|1|9|1|create-new|d/a|-|0|-\n"
            "names|2|8|2|create-new|d/a|-|0|-\n"},
    {true, "names|1|9|1|create-new|d/a|-|0|-\n"
           "names|2|8|2|create-new|d/a|-|-5|-\n"},
    /* A call without an answer may take effect late, once, or never. */
    {true, "names|1|?|1|create|d/a|-|?|-\n"
           "names|5|6|2|list|d|-|0|\n"
           "names|7|8|2|list|d|-|0|a\n"},
    {false, "names|1|?|1|create|d/a|-|?|-\n"
            "names|5|6|2|list|d|-|0|a\n"
            "names|7|8|2|list|d|-|0|\n"},
    /* An acknowledged change is there. */
    {false, "names|1|2|1|mkdir|d/a|-|0|-\n"
            "names|7|8|2|list|d|-|0|\n"},
    {false, "names|1|2|1|mkdir|d/a|-|0|-\n"
            "names|7|8|2|stat|d/a|-|0|file 3\n"},
    /* Kinds matter; directories are not mixed up. */
    {true, "names|1|2|1|mkdir|a|-|0|-\n"
           "names|3|4|1|create|b|-|0|-\n"
           "names|5|6|1|rename|b|a|-6|-\n"
           "names|7|8|1|remove|a|-|-6|-\n"
           "names|9|10|1|remove-tree|a|-|0|-\n"
           "names|11|12|1|rename|b|a|0|-\n"
           "names|13|14|1|list||-|0|a\n"
           "names|15|16|1|list|d|-|0|\n"},
};

/* @lines with tabs, line by line, to @take. */
static void
each_line(const char *lines, void (*take)(void *h, struct slice), void *h)
{
    char text[2048];
    ck_assert_uint_lt(strlen(lines), sizeof(text));
    for (size_t i = 0, begin = 0; lines[i]; i++) {
        text[i] = lines[i] == '|' ? '\t' : lines[i];
        if (text[i] == '\n') {
            take(h, slice_make(text + begin, i - begin));
            begin = i + 1;
        }
    }
}

static void expect_text(const char *lines, const struct buf *got)
{
    for (size_t i = 0; i < got->len; i++)
        if (got->data[i] == '\t')
            got->data[i] = '|';
    ck_assert_uint_eq(got->len, strlen(lines));
    ck_assert_mem_eq(got->data, lines, got->len);
}

static void take_names(void *h, struct slice line)
{
    ck_assert_int_eq(history_names_read(h, line, NULL), 0);
}

START_TEST(test_names)
{
    for (size_t i = 0; i < sizeof(of_names) / sizeof(of_names[0]); i++) {
        struct history_names *h = history_names_new();
        struct buf text = BUF_INIT;
        struct buf why = BUF_INIT;
        each_line(of_names[i].lines, take_names, h);
        ck_assert_msg((history_names_check(h, 0, &why) ==
                       HISTORY_LINEARIZABLE) == of_names[i].right,
                      "%s", of_names[i].lines);
        ck_assert_int_eq(why.len > 0, !of_names[i].right);
        for (size_t n = 0; n < history_names_count(h); n++)
            history_names_print(h, n, &text);
        expect_text(of_names[i].lines, &text);
        ck_assert_int_eq(history_names_read(h, SLICE_LIT("names\t1\t2"), NULL),
                         ERR_INVALID);
        buf_close(&text);
        buf_close(&why);
        history_names_free(h);
    }
}

END_TEST

/* --- locks --------------------------------------------------------------- */

static const struct story of_locks[] = {
    {true, "lock|1|2|1|create|/f|0|5|0|x|0|0|0|0\n"
           "lock|3|4|1|read|/f|0|0|0|x|0|9|1|5\n"
           "lock|5|6|1|write|/f|9|6|0|x|0|0|0|0\n"
           "lock|7|8|2|read|/f|9|0|0|x|0|9|2|6\n"
           "lock|9|10|2|write|/f|9|7|3|x|-17|0|0|0\n"
           "lock|11|12|2|write|/f|9|7|2|x|0|0|0|0\n"
           "lock|13|14|1|delete|/f|9|0|0|x|0|0|0|0\n"
           "lock|15|16|2|read|/f|9|0|0|x|-4|0|0|0\n"},
    /* An old value from a cache. */
    {false, "lock|1|2|1|create|/f|0|5|0|x|0|0|0|0\n"
            "lock|3|4|1|stat|/f|0|0|0|x|0|9|1|0\n"
            "lock|5|6|1|write|/f|9|6|0|x|0|0|0|0\n"
            "lock|7|8|2|read|/f|9|0|0|x|0|9|1|5\n"},
    /* A write that was acknowledged is lost. */
    {false, "lock|1|2|1|create|/f|0|5|0|x|0|0|0|0\n"
            "lock|3|4|1|stat|/f|0|0|0|x|0|9|1|0\n"
            "lock|5|6|1|write|/f|9|6|0|x|0|0|0|0\n"
            "lock|7|8|2|stat|/f|9|0|0|x|0|9|1|0\n"},
    /* The node of a handle is gone, and another of its name there. */
    {false, "lock|1|2|1|create|/f|0|5|0|x|0|0|0|0\n"
            "lock|3|4|1|stat|/f|0|0|0|x|0|9|1|0\n"
            "lock|5|6|1|delete|/f|9|0|0|x|0|0|0|0\n"
            "lock|7|8|1|create-new|/f|0|5|0|x|0|0|0|0\n"
            "lock|9|10|2|stat|/f|0|0|0|x|0|9|1|0\n"},
    /* Two holders; two holders with the first one's session in doubt. */
    {false, "lock|1|2|1|acquire|/l|0|0|0|x|0|0|0|0\n"
            "lock|3|4|2|acquire|/l|0|0|0|x|0|0|0|0\n"},
    {true, "lock|1|2|1|acquire|/l|0|0|0|x|0|0|0|0\n"
           "lock|3|?|1|expire|/l|0|0|0|x|?|0|0|0\n"
           "lock|4|5|2|acquire|/l|0|0|0|x|-7|0|0|0\n"
           "lock|6|7|2|acquire|/l|0|0|0|x|0|0|0|0\n"},
    /* Shared is shared, and generations count times of being held. */
    {true, "lock|1|2|1|acquire-shared|/l|0|0|0|x|0|0|0|0\n"
           "lock|3|4|2|acquire-shared|/l|0|0|0|x|0|0|0|0\n"
           "lock|5|6|2|sequencer|/l|0|0|0|x|0|0|1|0\n"
           "lock|7|8|3|acquire|/l|0|0|0|x|-7|0|0|0\n"
           "lock|9|10|1|release|/l|0|0|0|x|0|0|0|0\n"
           "lock|11|12|1|check|/l|0|0|1|s|0|0|0|0\n"
           "lock|13|14|2|release|/l|0|0|0|x|0|0|0|0\n"
           "lock|15|16|1|check|/l|0|0|1|s|-17|0|0|0\n"
           "lock|17|18|3|acquire|/l|0|0|0|x|0|0|0|0\n"
           "lock|19|20|3|sequencer|/l|0|0|0|x|0|0|2|0\n"},
    /* An old sequencer that is taken. */
    {false, "lock|1|2|1|acquire|/l|0|0|0|x|0|0|0|0\n"
            "lock|3|4|1|release|/l|0|0|0|x|0|0|0|0\n"
            "lock|5|6|1|check|/l|0|0|1|x|0|0|0|0\n"},
    {false, "lock|1|2|1|acquire|/l|0|0|0|x|0|0|0|0\n"
            "lock|3|4|2|acquire-shared|/l|0|0|0|x|0|0|0|0\n"},
};

static void take_lock(void *h, struct slice line)
{
    ck_assert_int_eq(history_lock_read(h, line, NULL), 0);
}

START_TEST(test_locks)
{
    for (size_t i = 0; i < sizeof(of_locks) / sizeof(of_locks[0]); i++) {
        struct history_lock *h = history_lock_new();
        struct buf text = BUF_INIT;
        struct buf why = BUF_INIT;
        each_line(of_locks[i].lines, take_lock, h);
        ck_assert_msg((history_lock_check(h, 0, &why) ==
                       HISTORY_LINEARIZABLE) == of_locks[i].right,
                      "%s", of_locks[i].lines);
        ck_assert_int_eq(why.len > 0, !of_locks[i].right);
        for (size_t n = 0; n < history_lock_count(h); n++)
            history_lock_print(h, n, &text);
        expect_text(of_locks[i].lines, &text);
        ck_assert_int_eq(history_lock_read(h, SLICE_LIT("lock\t1\t2"), NULL),
                         ERR_INVALID);
        buf_close(&text);
        buf_close(&why);
        history_lock_free(h);
    }
}

END_TEST

/* --- rows ---------------------------------------------------------------- */

static const struct story of_rows[] = {
    {true, "rows|1|2|1|put|t/a|5|7|0|0|0|0\n"
           "rows|3|4|2|read|t/a|0|0|0|7|7|0\n"
           "rows|5|6|1|check|t/a|0|7|9|1|0|0\n"
           "rows|7|8|2|read|t/a|0|0|0|38654705671|7|0\n"
           "rows|9|10|1|check|t/a|1|7|3|0|0|0\n"
           "rows|11|12|2|read|t/a|0|0|0|38654705667|7|0\n"
           "rows|13|14|1|add|t/a|0|2|0|2|0|0\n"
           "rows|15|16|1|append|t/a|0|7|0|17418742259747381417|0|0\n"
           "rows|17|18|1|append|t/a|0|8|0|2903742406105736859|0|0\n"
           "rows|19|20|2|read|t/a|0|0|0|38654705667|8589934599|"
           "2903742406105736859\n"
           "rows|21|22|2|delete|t/a|9|0|0|0|0|0\n"
           "rows|23|24|2|read|t/a|0|0|0|38654705664|7|2903742406105736859\n"
           "rows|25|26|2|delete-row|t/a|0|0|0|0|0|0\n"
           "rows|27|28|2|read|t/a|0|0|0|0|0|0\n"},
    /* Half of a mutation; one that is lost; one of another row. */
    {false, "rows|1|2|1|put|t/a|7|7|0|0|0|0\n"
            "rows|3|4|2|read|t/a|0|0|0|30064771079|0|0\n"},
    {false, "rows|1|2|1|put|t/a|1|7|0|0|0|0\n"
            "rows|3|4|2|read|t/a|0|0|0|0|0|0\n"},
    {false, "rows|1|2|1|put|t/a|1|7|0|0|0|0\n"
            "rows|3|4|2|read|t/b|0|0|0|7|0|0\n"},
    /* Counted once each; what was not answered, once or never. */
    {false, "rows|1|9|1|add|t/a|0|1|0|1|0|0\n"
            "rows|1|9|2|add|t/a|0|1|0|1|0|0\n"},
    {true, "rows|1|?|1|add|t/a|0|1|0|0|0|0\n"
           "rows|2|3|2|add|t/a|0|1|0|2|0|0\n"
           "rows|4|5|2|add|t/a|0|1|0|3|0|0\n"},
    {false, "rows|1|?|1|add|t/a|0|1|0|0|0|0\n"
            "rows|2|3|2|add|t/a|0|1|0|1|0|0\n"
            "rows|4|5|2|add|t/a|0|1|0|3|0|0\n"
            "rows|6|7|2|add|t/a|0|1|0|5|0|0\n"},
    /* A mutation, however often it is tried, is made once. */
    {false, "rows|1|20|1|put|t/a|1|7|0|0|0|0\n"
            "rows|2|3|2|read|t/a|0|0|0|7|0|0\n"
            "rows|4|5|2|put|t/a|1|8|0|0|0|0\n"
            "rows|6|7|2|read|t/a|0|0|0|8|0|0\n"
            "rows|8|9|2|read|t/a|0|0|0|7|0|0\n"},
};

static void take_row(void *h, struct slice line)
{
    ck_assert_int_eq(history_rows_read(h, line, NULL), 0);
}

START_TEST(test_rows)
{
    for (size_t i = 0; i < sizeof(of_rows) / sizeof(of_rows[0]); i++) {
        struct history_rows *h = history_rows_new();
        struct buf text = BUF_INIT;
        struct buf why = BUF_INIT;
        each_line(of_rows[i].lines, take_row, h);
        ck_assert_msg((history_rows_check(h, 0, &why) ==
                       HISTORY_LINEARIZABLE) == of_rows[i].right,
                      "%s", of_rows[i].lines);
        ck_assert_int_eq(why.len > 0, !of_rows[i].right);
        for (size_t n = 0; n < history_rows_count(h); n++)
            history_rows_print(h, n, &text);
        expect_text(of_rows[i].lines, &text);
        ck_assert_int_eq(history_rows_read(h, SLICE_LIT("rows\t1\t2"), NULL),
                         ERR_INVALID);
        buf_close(&text);
        buf_close(&why);
        history_rows_free(h);
    }
}

END_TEST

TEST_MAIN("histories", test_names, test_locks, test_rows)
