/* The model of quarry top: order, filter, choice, places and lines, without a
 * terminal.
 */
#include <string.h>

#include "base/core/text.h"
#include "cli/top/top_cell.h"
#include "cli/top/top_model.h"
#include "cli/top/top_paint.h"
#include "tests/lib/check_main.h"

/* --- Fixture ------------------------------------------------------------- */

static const char tables_text[] =
    "{\"at_us\": 1700000000000000, \"tables\": ["
    "{\"name\": \"web\", \"reads_per_s\": 12.5, \"tablets\": 3,"
    " \"families\": [\"a\", \"b\"], \"state\": \"well\"},"
    "{\"name\": \"Hot\", \"reads_per_s\": 90000, \"tablets\": 9},"
    "{\"name\": \"idle\", \"tablets\": 1, \"state\": \"unserved\"},"
    "{\"name\": \"evil\\u001b[2J\\u009b\\u202e\", \"reads_per_s\": 1}]}";

static json_t *doc_of(const char *text)
{
    json_error_t why;
    json_t *doc = json_loads(text, 0, &why);
    ck_assert_msg(doc != NULL, "%s", why.text);
    return doc;
}

static void give(struct top_model *m, const char *text)
{
    json_t *doc = doc_of(text);
    top_model_take(m, NULL, doc, NULL);
    json_decref(doc);
}

static void open_tables(struct top_model *m)
{
    top_model_init(m, TOP_TABLES);
    m->page_rows = 10;
    give(m, tables_text);
}

/* --- Helpers ------------------------------------------------------------- */

static const char *name_at(const struct top_model *m, size_t i)
{
    ck_assert_uint_lt(i, m->shown_count);
    return m->rows[m->shown[i]].cells[0].text.data;
}

static void expect_order(const struct top_model *m, const char *names)
{
    struct buf got = BUF_INIT;
    for (size_t i = 0; i < m->shown_count; i++)
        buf_printf(&got, "%s%.4s", i ? " " : "", name_at(m, i));
    ck_assert_str_eq(buf_cstr(&got), names);
    buf_close(&got);
}

static void keys(struct top_model *m, const char *text)
{
    for (; *text; text++)
        top_model_key(m, (unsigned char)*text);
}

static struct slice chosen_key(struct top_model *m)
{
    return m->rows[m->shown[top_place(m)->chosen]].key;
}

/* --- Tests --------------------------------------------------------------- */

/* Numbers are sorted as numbers from the largest, what is not known is last
 * whichever way, and letters, < > and r choose. */
START_TEST(test_order)
{
    struct top_model m;
    open_tables(&m);
    expect_order(&m, "Hot web evil idle");
    keys(&m, "r");
    expect_order(&m, "evil web Hot idle");
    keys(&m, "N");
    expect_order(&m, "Hot evil idle web");
    keys(&m, "T");
    expect_order(&m, "Hot web idle evil");
    keys(&m, "<>");
    ck_assert_uint_eq(top_place(&m)->sort, 5);
    keys(&m, "N<");
    ck_assert_uint_eq(top_place(&m)->sort, 7);
    top_model_close(&m);
}

END_TEST

/* Thousands of rows are in order, each of them once. */
START_TEST(test_order_of_many)
{
    struct top_model m;
    json_t *doc = json_object();
    json_t *rows = json_array();
    for (int i = 0; i < 5000; i++)
        json_array_append_new(rows,
                              json_pack("{s:s, s:i}", "name", "t",
                                        "reads_per_s", (i * 7919) % 5000 / 3));
    json_object_set_new(doc, "tables", rows);
    top_model_init(&m, TOP_TABLES);
    top_model_take(&m, NULL, doc, NULL);
    ck_assert_uint_eq(m.shown_count, 5000);
    for (size_t i = 1; i < m.shown_count; i++) {
        double before = m.rows[m.shown[i - 1]].cells[1].number;
        double now = m.rows[m.shown[i]].cells[1].number;
        ck_assert(before > now ||
                  (before == now && m.shown[i - 1] < m.shown[i]));
    }
    json_decref(doc);
    top_model_close(&m);
}

END_TEST

/* A filter leaves the rows that have its text in any column, without regard to
 * case; Esc drops it before it goes back. */
START_TEST(test_filter)
{
    struct top_model m;
    open_tables(&m);
    keys(&m, "/hOx");
    ck_assert_uint_eq(m.shown_count, 0);
    top_model_key(&m, TOP_KEY_ENTER); /* Of nothing: no row is entered. */
    top_model_key(&m, TOP_KEY_ENTER);
    ck_assert_uint_eq(m.depth, 1);
    keys(&m, "/");
    top_model_key(&m, TOP_KEY_BACKSPACE);
    expect_order(&m, "Hot");
    top_model_key(&m, TOP_KEY_ENTER);
    ck_assert(!m.is_typing);
    top_model_key(&m, TOP_KEY_ESCAPE);
    ck_assert_uint_eq(m.shown_count, 4);
    keys(&m, "/unserved");
    expect_order(&m, "idle");
    keys(&m, "\xff"); /* A character: U+00FF, two bytes. */
    top_model_key(&m, TOP_KEY_BACKSPACE);
    expect_order(&m, "idle");
    top_model_close(&m);
}

END_TEST

/* The chosen row stays chosen while others overtake it, and rows that vanish
 * leave another one chosen. */
START_TEST(test_choice_stays)
{
    struct top_model m;
    open_tables(&m);
    keys(&m, "j");
    ck_assert(slice_eq_str(chosen_key(&m), "web"));
    keys(&m, "r");
    ck_assert(slice_eq_str(chosen_key(&m), "web"));
    give(&m, "{\"tables\": [{\"name\": \"web\", \"reads_per_s\": 5},"
             "{\"name\": \"x\", \"reads_per_s\": 7},"
             "{\"name\": \"y\", \"reads_per_s\": 6}]}");
    ck_assert(slice_eq_str(chosen_key(&m), "web"));
    give(&m, "{\"tables\": [{\"name\": \"y\"}]}");
    ck_assert_uint_eq(top_place(&m)->chosen, 0);
    give(&m, "{\"tables\": []}");
    ck_assert_uint_eq(m.shown_count, 0);
    top_model_key(&m, TOP_KEY_DOWN);
    top_model_key(&m, TOP_KEY_END);
    top_model_key(&m, TOP_KEY_ENTER);
    ck_assert_uint_eq(m.depth, 1);
    top_model_close(&m);
}

END_TEST

/* Enter leads from a table to its tablets and to one of them, with the
 * parameters of their documents; Esc finds the row again. */
START_TEST(test_drill_down)
{
    struct top_model m;
    uint64_t before;
    open_tables(&m);
    keys(&m, "j");
    before = m.place_number;
    top_model_key(&m, TOP_KEY_ENTER);
    ck_assert_int_eq(top_place(&m)->view, TOP_TABLETS);
    ck_assert_str_eq(top_place(&m)->params[0], "web");
    ck_assert_uint_ne(m.place_number, before);
    ck_assert_ptr_null(m.document);
    give(&m, "{\"tablets\": [{\"start\": \"\", \"reads_per_s\": 9},"
             "{\"start\": \"m\", \"reads_per_s\": 3}]}");
    top_model_key(&m, TOP_KEY_ENTER);
    ck_assert_int_eq(top_place(&m)->view, TOP_TABLET);
    ck_assert_str_eq(top_place(&m)->params[0], "web");
    ck_assert_str_eq(top_place(&m)->params[1], "");
    give(&m, "{\"id\": 7, \"bytes\": 4096, \"files\": [{\"name\": \"f1\","
             " \"level\": 2}], \"compaction\": {\"running\": false}}");
    ck_assert_uint_eq(m.row_count, 5);
    ck_assert_str_eq(m.rows[1].cells[1].text.data, "4 KiB");
    ck_assert_str_eq(m.rows[3].cells[0].text.data, "files.f1.level");
    top_model_key(&m, TOP_KEY_BACKSPACE);
    top_model_key(&m, TOP_KEY_ESCAPE);
    ck_assert_uint_eq(m.depth, 1);
    give(&m, tables_text);
    ck_assert(slice_eq_str(chosen_key(&m), "web"));
    keys(&m, "3"); /* The tablets that were looked at. */
    ck_assert_str_eq(top_place(&m)->params[0], "web");
    keys(&m, "1");
    ck_assert_int_eq(top_place(&m)->view, TOP_NODES);
    top_model_close(&m);
}

END_TEST

/* The chosen row is among those that are seen, on any screen. */
START_TEST(test_scrolling)
{
    struct top_model m;
    struct top_picture p;
    top_picture_init(&p);
    open_tables(&m);
    for (size_t height = 1; height < 12; height++)
        for (size_t width = 1; width < 130; width += 7) {
            bool seen = false;
            top_model_key(&m, height % 2 ? TOP_KEY_END : TOP_KEY_HOME);
            top_paint(&m, width, height, 0, &p);
            ck_assert_uint_eq(p.count, height);
            for (size_t i = 0; i < p.count; i++) {
                ck_assert_uint_le(utf8_columns(top_picture_line(&p, i)), width);
                seen = seen || p.lines[i].is_chosen;
            }
            ck_assert_msg(seen, "%zu x %zu", width, height);
        }
    keys(&m, "h");
    top_paint(&m, 80, 24, 0, &p);
    ck_assert_uint_eq(p.count, 24);
    top_picture_close(&p);
    top_model_close(&m);
}

END_TEST

/* No byte of a server's text is obeyed by the terminal. */
START_TEST(test_printable)
{
    struct top_model m;
    struct top_picture p;
    struct buf text = BUF_INIT;
    top_picture_init(&p);
    open_tables(&m);
    top_model_take(&m, NULL, NULL, "n1: \x1b]0;title\x07 is away");
    top_paint(&m, 200, 24, 0, &p);
    for (size_t i = 0; i < p.text.len; i++)
        ck_assert_uint_ge((unsigned char)p.text.data[i], 0x20);
    ck_assert_ptr_nonnull(
        strstr(buf_cstr(&p.text), "evil\\x1b[2J\\u{9b}\\u{202e}"));
    top_put_printable(&text, SLICE_LIT("a\xff\x7f"
                                       "\xe2\x80\xa6"
                                       "\\n\n"));
    ck_assert_str_eq(buf_cstr(&text), "a\\xff\\x7f\xe2\x80\xa6\\n\\x0a");
    buf_close(&text);
    top_picture_close(&p);
    top_model_close(&m);
}

END_TEST

/* Each column has a letter of its own, and no letter is another key. */
START_TEST(test_letters)
{
    for (enum top_view_id id = 0; id < TOP_VIEWS; id++) {
        const struct top_view *v = top_view(id);
        bool taken[256] = {false};
        ck_assert_int_eq(top_view_find(v->name), id);
        for (size_t c = 0; c < v->column_count; c++) {
            size_t at;
            ck_assert_msg(top_column_letter(v, c, &at), "%s %s", v->name,
                          v->columns[c].title);
            ck_assert(!taken[(unsigned char)v->columns[c].title[at]]);
            taken[(unsigned char)v->columns[c].title[at]] = true;
            ck_assert_uint_eq(top_column_find(v, v->columns[c].field), c);
        }
    }
    ck_assert_int_eq(top_view_find("nothing"), TOP_VIEWS);
}

END_TEST

/* Values have units that a person reads. */
START_TEST(test_cells)
{
    static const struct {
        const char *value;
        enum top_kind kind;
        const char *text;
    } cases[] = {
        {"1536", TOP_BYTES, "1.5 KiB"},
        {"0", TOP_RATE, "0"},
        {"0.25", TOP_RATE, "0.2"},
        {"12345.6", TOP_RATE, "12,346"},
        {"750", TOP_DURATION, "750us"},
        {"1500", TOP_DURATION, "1.5ms"},
        {"2500000", TOP_DURATION, "2.5s"},
        {"1700000000999999", TOP_TIME, "2023-11-14T22:13:20Z"},
        {"-3", TOP_NUMBER, "-3"},
        {"1e300", TOP_BYTES, ""},
        {"true", TOP_TEXT, "yes"},
        {"null", TOP_TEXT, ""},
        {"[1, 2]", TOP_NUMBER, "2"},
        {"[{\"name\": \"lock\", \"leads\": true, \"health\": \"well\"},"
         "{\"name\": \"tablet\", \"health\": \"slow\"}]",
         TOP_ROLES, "lock* tablet!"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_t *value = json_loads(cases[i].value, JSON_DECODE_ANY, NULL);
        struct buf text = BUF_INIT;
        top_put_cell(&text, value, cases[i].kind);
        ck_assert_str_eq(buf_cstr(&text), cases[i].text);
        buf_close(&text);
        json_decref(value);
    }
}

END_TEST

TEST_MAIN("top",
          test_order,
          test_order_of_many,
          test_filter,
          test_choice_stays,
          test_drill_down,
          test_scrolling,
          test_printable,
          test_letters,
          test_cells)
