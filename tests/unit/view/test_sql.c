/* A view by SQL gives the rows that SQL defines: NULLs, three-valued
 * conditions, casts that fail, groups of NULL. Other SQL is refused by
 * name. */
#include <string.h>

#include "base/core/buf.h"
#include "bigtable/view/view_program.h"
#include "bigtable/view/view_relation.h"
#include "bigtable/view/view_sql.h"
#include "sawzall-lite/sawzall.h"
#include "tests/lib/check_main.h"

static struct err err;

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

/* Rows r1…: lang, n; NULL: no such cell. */
static const struct {
    const char *key;
    const char *lang;
    const char *n;
} rows[] = {
    {"r1", "de", "1"},  {"r2", "en", "2"}, {"r3", "de", "ten"},
    {"r4", NULL, "4"},  {"r5", "", "5"},   {"r6", "en", NULL},
    {"r7", "DE", "-7"},
};

static void run_rows(struct saw_run *run)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct saw_cell cells[2];
        struct saw_row row = {slice_str(rows[i].key), cells, 0};
        if (rows[i].lang)
            cells[row.cell_count++] = (struct saw_cell){
                SLICE_LIT("c"), SLICE_LIT("lang"), 1, slice_str(rows[i].lang)};
        if (rows[i].n)
            cells[row.cell_count++] = (struct saw_cell){
                SLICE_LIT("c"), SLICE_LIT("n"), 1, slice_str(rows[i].n)};
        OK(saw_run_row(run, &row, &err));
    }
}

/* The rows of @sql, cells by |, NULL as NULL, rows by a space. */
static void expect(const char *sql, const char *want)
{
    struct view_sql *s = NULL;
    struct view_program p;
    struct saw_run *run;
    struct view_relation *r;
    struct buf have = BUF_INIT;
    OK(view_sql_parse(slice_str(sql), &s, &err));
    ck_assert_msg(view_program_open(&p, buf_slice(&s->program), &err) == 0,
                  "%s\n%s", err.text, buf_cstr(&s->program));
    OK(view_program_run(&p, 0, &run, &err));
    run_rows(run);
    r = view_relation_new(s, run);
    for (size_t i = 0; i < view_relation_count(r); i++) {
        const struct quarry_view_cell *cells = view_relation_row(r, i);
        buf_append_str(&have, i ? " " : "");
        for (size_t k = 0; k < s->item_count; k++)
            buf_printf(
                &have, "%s%.*s", k ? "|" : "",
                SLICE_ARG(cells[k].null ? SLICE_LIT("NULL") : cells[k].text));
    }
    ck_assert_msg(slice_eq_str(buf_slice(&have), want), "%s\nwant %s\nhave %s",
                  sql, want, buf_cstr(&have));
    view_relation_free(r);
    saw_run_free(run);
    view_program_close(&p);
    view_sql_free(s);
    buf_close(&have);
}

static void refuse(const char *sql, int code, const char *word)
{
    struct view_sql *s = NULL;
    ck_assert_int_eq(view_sql_parse(slice_str(sql), &s, &err), code);
    ck_assert_msg(strstr(err.text, word) != NULL, "%s: %s", sql, err.text);
    ck_assert_ptr_null(s);
}

START_TEST(test_groups_and_aggregates)
{
    expect("SELECT c['lang'], count(*) FROM t GROUP BY c['lang']",
           "|1 DE|1 de|2 en|2 NULL|1");
    expect("select lower(c['lang']) as l, count(c['n']::BIGINT), "
           "sum(c['n']::BIGINT), min(key), max(key), avg(c['n']::BIGINT) "
           "from t group by l;",
           "|1|5|r5|r5|5 de|2|-6|r1|r7|-3 en|1|2|r2|r6|2 "
           "NULL|1|4|r4|r4|4");
    expect("SELECT count(*), 1 AS one FROM t GROUP BY 2", "7|1");
    expect("SELECT count(*), sum(c['n']::DOUBLE / 2) FROM t", "7|2.5");
    expect("SELECT count(*), sum(c['x']::BIGINT), count(c['x']) FROM t WHERE "
           "key = 'none'",
           "0|NULL|0");
    expect("SELECT c['lang'] || '!', c['n']::BIGINT % 2, count(*) FROM t WHERE "
           "c['lang'] IN ('de', 'en') GROUP BY 1, 2",
           "de!|1|1 de!|NULL|1 en!|0|1 en!|NULL|1");
}

END_TEST

START_TEST(test_conditions_have_three_values)
{
    /* NULL is neither equal nor different. */
    expect("SELECT count(*) FROM t WHERE c['lang'] = 'de'", "2");
    expect("SELECT count(*) FROM t WHERE c['lang'] <> 'de'", "4");
    expect("SELECT count(*) FROM t WHERE NOT c['lang'] = 'de'", "4");
    expect("SELECT count(*) FROM t WHERE c['lang'] IS NULL", "1");
    expect("SELECT count(*) FROM t WHERE c['n']::BIGINT IS NOT NULL", "5");
    expect("SELECT count(*) FROM t WHERE c['lang'] = 'de' OR key = 'r4'", "3");
    expect("SELECT count(*) FROM t WHERE NOT (c['lang'] = 'de' AND key = 'r4')",
           "6");
    expect("SELECT count(*) FROM t WHERE c['lang'] NOT IN ('de', 'en')", "2");
    expect("SELECT count(*) FROM t WHERE c['n']::BIGINT BETWEEN 2 AND 4", "2");
    expect("SELECT count(*) FROM t WHERE c['n']::BIGINT NOT BETWEEN 2 AND 4",
           "3");
    expect("SELECT count(*) FROM t WHERE c['lang'] LIKE '_e%'", "2");
    expect("SELECT count(*) FROM t WHERE key LIKE 'r.'", "0");
    expect("SELECT count(*) FROM t WHERE coalesce(c['lang'], 'none') = 'none' "
           "AND length(key) = 2 AND -c['n']::BIGINT < 0 AND 1 + 2 * 3 = 7",
           "1");
    expect("SELECT count(*) FROM t WHERE CAST(c['n'] AS DOUBLE) >= 4.5", "1");
    expect("SELECT count(*) FROM t WHERE c['lang'] = 'it''s' -- nothing", "0");
}

END_TEST

START_TEST(test_others_are_refused_by_name)
{
    refuse("SELECT count(*) FROM t HAVING count(*) > 1", ERR_UNSUPPORTED,
           "HAVING");
    refuse("SELECT c['x'] FROM t", ERR_UNSUPPORTED, "GROUP BY");
    refuse("SELECT count(*) FROM a JOIN b", ERR_UNSUPPORTED, "JOIN");
    refuse("SELECT count(*) FROM a, b", ERR_UNSUPPORTED, "one table");
    refuse("SELECT count(DISTINCT key) FROM t", ERR_UNSUPPORTED, "DISTINCT");
    refuse("SELECT sum(key) FROM t", ERR_INVALID, "sum() needs numbers");
    refuse("SELECT count(*) FROM t WHERE key", ERR_INVALID, "condition");
    refuse("SELECT count(*) FROM t WHERE key = 3", ERR_INVALID, "types");
    refuse("SELECT count(*) FROM t WHERE lang = 'x'", ERR_INVALID, "lang");
    refuse("SELECT count(*) FROM t WHERE now() > 3", ERR_UNSUPPORTED, "now()");
    refuse("SELECT FROM t", ERR_INVALID, "an item");
    refuse("SELECT count(*), FROM t", ERR_INVALID, "an item");
    refuse("SELECT count(*)", ERR_INVALID, "FROM");
    refuse("SELECT count(*) FROM t WHERE", ERR_INVALID, "condition");
    refuse("SELECT count(*) FROM t extra", ERR_INVALID, "extra");
    refuse("SELECT count(*) FROM t WHERE key = 'x", ERR_INVALID, "quotation");
    refuse("SELECT count(*) FROM t GROUP key", ERR_INVALID, "BY");
    refuse("SELECT max(count(key)) FROM t", ERR_UNSUPPORTED, "count()");
    refuse("DROP TABLE t", ERR_INVALID, "SELECT");
    refuse("", ERR_INVALID, "SELECT");
}

END_TEST

/* Every beginning of a statement, and deep nesting, ends in order. */
START_TEST(test_cut_statements)
{
    const char *sql = "SELECT lower(c['l']) AS l, avg(c['n']::BIGINT) FROM t "
                      "WHERE NOT (key LIKE 'a%' OR c['x'] IN ('a', 'b')) AND "
                      "c['y']::INT64 BETWEEN -1 AND 2.5 GROUP BY l;";
    struct buf deep = BUF_INIT;
    for (size_t i = 0; i < strlen(sql); i++) {
        struct view_sql *s = NULL;
        int rc = view_sql_parse(slice_make(sql, i), &s, &err);
        ck_assert((rc == 0) == (s != NULL));
        view_sql_free(s);
    }
    buf_append_str(&deep, "SELECT count(*) FROM t WHERE ");
    for (int i = 0; i < 1900; i++)
        buf_append_byte(&deep, '(');
    refuse(buf_cstr(&deep), ERR_TOOBIG, "nested");
    buf_close(&deep);
}

END_TEST

TEST_MAIN("sql",
          test_groups_and_aggregates,
          test_conditions_have_three_values,
          test_others_are_refused_by_name,
          test_cut_statements)
