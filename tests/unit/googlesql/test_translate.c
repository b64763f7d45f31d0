/* GoogleSQL becomes SQL of DuckDB: a table of queries, what is in their
 * translation, and the errors of those that are refused, with their places. */

#include <string.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/googlesql/gsql_lexer.h"
#include "bigtable/googlesql/gsql_literal.h"
#include "bigtable/googlesql/gsql_translate.h"
#include "tests/lib/check_main.h"

/* The catalog: table "t" and a view "v" of it. */
static int find(void *ctx,
                struct slice name,
                struct arena *arena,
                struct gsql_relation *out,
                struct err *err)
{
    struct slice *families = arena_alloc(arena, 2 * sizeof(*families));
    (void)ctx;
    families[0] = SLICE_LIT("cf");
    families[1] = SLICE_LIT("stats");
    if (slice_eq_str(name, "v")) {
        out->view = SLICE_LIT("SELECT _key AS id, cf['a'] AS a FROM t");
        return 0;
    }
    if (slice_eq_str(name, "loop")) {
        out->view = SLICE_LIT("SELECT * FROM loop");
        return 0;
    }
    if (!slice_eq_str(name, "t") && !slice_eq_str(name, "my-table-1"))
        return err_set(err, ERR_NOTFOUND, "no table");
    out->table = name;
    out->families = families;
    out->family_count = 2;
    return 0;
}

static int translate(const char *query,
                     struct arena *arena,
                     struct gsql_result *out,
                     struct err *err)
{
    const struct gsql_param params[] = {
        {.name = SLICE_LIT("k"),
         .type = gsql_scalar(GSQL_STRING),
         .sql = SLICE_LIT("('k1'::VARCHAR)"),
         .has_bytes = true,
         .bytes = SLICE_LIT("k1")},
        {.name = SLICE_LIT("n"),
         .type = gsql_scalar(GSQL_INT64),
         .sql = SLICE_LIT("('7'::BIGINT)")},
    };
    const struct gsql_options options = {
        .find = find, .params = params, .param_count = ARRAY_LEN(params)};
    return gsql_translate(slice_str(query), &options, arena, out, err);
}

static const struct {
    const char *query;
    const char *part; /* Of the translation. */
} accepted[] = {
    {"SELECT * FROM t", "SELECT t0.f0 AS c0, t0.f1 AS c1, t0.f2 AS c2 FROM "
                        "quarry(('t'::VARCHAR), binary := true) AS t0(f0, f1, "
                        "f2)"},
    {"select _KEY from `t`;", "SELECT t0.f0 AS c0 FROM"},
    {"SELECT _key FROM my-table-1", "('my-table-1'::VARCHAR)"},
    {"SELECT cf['q'] FROM t", "(t0.f1)[('\\x71'::BLOB)]"},
    {"SELECT cf[b'\\x00\\xff'] FROM t", "(t0.f1)[('\\x00\\xFF'::BLOB)]"},
    {"SELECT x.cf['q'] FROM t AS x", "(t0.f1)[('\\x71'::BLOB)]"},
    /* Bounds of keys. */
    {"SELECT 1 FROM t WHERE _key = 'r1'", "keys := [('\\x72\\x31'::BLOB)]"},
    {"SELECT 1 FROM t WHERE _key = @k", "keys := [('\\x6B\\x31'::BLOB)]"},
    {"SELECT 1 FROM t WHERE _key IN ('b', 'a', 'b')",
     "keys := [('\\x62'::BLOB), ('\\x61'::BLOB)]"},
    {"SELECT 1 FROM t WHERE _key >= 'a' AND _key < 'c'",
     "key_from := ('\\x61'::BLOB), key_to := ('\\x63'::BLOB)"},
    {"SELECT 1 FROM t WHERE 'c' > _key", "key_to := ('\\x63'::BLOB)"},
    {"SELECT 1 FROM t WHERE _key LIKE 'ab%'",
     "key_from := ('\\x61\\x62'::BLOB), key_to := ('\\x61\\x63'::BLOB)"},
    {"SELECT 1 FROM t WHERE STARTS_WITH(_key, b'\\xff')",
     "key_from := ('\\xFF'::BLOB))"},
    {"SELECT 1 FROM t WHERE _key BETWEEN 'a' AND 'b'",
     "key_from := ('\\x61'::BLOB), key_to := ('\\x62\\x00'::BLOB)"},
    {"SELECT 1 FROM t WHERE (_key = 'a' AND cf['x'] = 'y') OR _key > 'c'",
     "key_from := ('\\x61'::BLOB))"},
    {"SELECT 1 FROM t WHERE _key = 'a' AND _key = 'b'", "keys := []::BLOB[]"},
    {"SELECT 1 FROM t WHERE _key = 'a' OR cf['x'] IS NULL",
     "binary := true) AS"},
    {"SELECT 1 FROM t WHERE NOT _key = 'a'", "binary := true) AS"},
    /* Times. */
    {"SELECT cf['q'] FROM t(with_history => TRUE, latest_n => 2)",
     "versions := ('2'::BIGINT), history := true)"},
    {"SELECT cf FROM t(as_of => TIMESTAMP '2024-01-01')",
     "time_to := ((('2024-01-01'::VARCHAR)::TIMESTAMP) + to_microseconds(1))"},
    {"SELECT e.value FROM UNPACK((SELECT cf['q'] AS e FROM t(with_history => "
     "TRUE))) AS u WHERE e IS NULL",
     NULL},
    {"SELECT e, _timestamp FROM UNPACK((SELECT cf['q'] AS e FROM "
     "t(with_history => TRUE)))",
     "unnest(list_distinct("},
    {"SELECT cf['q'][OFFSET(0)].value FROM t(with_history => TRUE)",
     "list_extract("},
    /* Expressions. */
    {"SELECT 1 + 2 * 3", "(('1'::BIGINT) + (('2'::BIGINT) * ('3'::BIGINT)))"},
    {"SELECT -1 - -2", "((- ('1'::BIGINT)) - (- ('2'::BIGINT)))"},
    {"SELECT NOT TRUE AND FALSE OR TRUE", "(((NOT true) AND false) OR true)"},
    {"SELECT 0x1F, 1e3, .5", "('31'::BIGINT) AS c0, ('1000'::DOUBLE)"},
    {"SELECT 'it''s'", NULL},
    {"SELECT \"it's\", r'a\\b', '''x'y'''",
     "('it''s'::VARCHAR) AS c0, ('a\\b'::VARCHAR) AS c1, ('x''y'::VARCHAR)"},
    {"SELECT '\\u00e4'", "decode(('\\xC3\\xA4'::BLOB))"},
    {"SELECT CAST(cf['n'] AS STRING) FROM t", "decode("},
    {"SELECT SAFE_CAST('x' AS INT64)", "try(quarry_parse_int64("},
    {"SELECT CAST([1] AS ARRAY<INT64>), CAST(NULL AS ARRAY<STRUCT<a INT64, b "
     "ARRAY<STRING>>>)",
     "STRUCT(\"a\" BIGINT, \"b\" VARCHAR[])[]"},
    {"SELECT UPPER(cf['q']) FROM t", "quarry_unlatin1(translate("},
    {"SELECT REGEXP_EXTRACT('ab', r'(b)')", ", 1) END"},
    {"SELECT COUNT(*), COUNT(DISTINCT cf['q']), SUM(1) FROM t",
     "count(DISTINCT (t0.f1)"},
    {"SELECT cf['q'] AS q, COUNT(*) AS n FROM t GROUP BY q HAVING n > 1 ORDER "
     "BY n DESC, 1 LIMIT 5 OFFSET 2",
     "GROUP BY c0 HAVING (c1 > ('1'::BIGINT)) ORDER BY c1 DESC NULLS LAST, 1 "
     "ASC NULLS FIRST LIMIT 5 OFFSET 2"},
    {"SELECT * EXCEPT (stats) REPLACE (cf['a'] AS cf) FROM t",
     "(t0.f1)[('\\x61'::BLOB)] AS c1 FROM"},
    {"SELECT ARRAY_TRANSFORM([1, 2], e -> e + 1)", "lambda v0: (v0 + "},
    {"SELECT u FROM t, UNNEST(MAP_KEYS(cf)) AS u", "unnest(list_sort("},
    {"SELECT id, a FROM v WHERE a = 'x'", "(t1.f1 = ('\\x78'::BLOB))"},
    {"SELECT 1 LIMIT @n", " LIMIT 7"},
    {"SELECT EXTRACT(YEAR FROM CURRENT_TIMESTAMP())", "date_part('year'"},
    {"SELECT 1 -- end", "AS c0"},
    {"SELECT /* in */ 1 # end", "AS c0"},
};

START_TEST(test_accepted)
{
    for (size_t i = 0; i < ARRAY_LEN(accepted); i++) {
        struct arena arena;
        struct gsql_result r;
        struct err err = ERR_INIT;
        int rc;
        struct buf sql = BUF_INIT;
        arena_init(&arena);
        rc = translate(accepted[i].query, &arena, &r, &err);
        buf_append_slice(&sql, rc ? SLICE_EMPTY : r.sql);
        if (accepted[i].part)
            ck_assert_msg(rc == 0 && strstr(buf_cstr(&sql), accepted[i].part),
                          "%s: %s%s", accepted[i].query, buf_cstr(&sql),
                          err.text);
        else
            ck_assert_msg(rc == ERR_INVALID, "%s", accepted[i].query);
        buf_close(&sql);
        arena_close(&arena);
    }
}

END_TEST

static const struct {
    const char *query;
    const char *message;
} refused[] = {
    {"", "Unexpected end of query: expected select [at 1:1]"},
    {"SELECT", "[at 1:7]"},
    {"SELECT 1 FROM", "[at 1:14]"},
    {"SELECT 1\n  FROM t WHERE", "[at 2:15]"},
    {"SELECT * FROM nowhere", "Table not found: nowhere [at 1:15]"},
    {"SELECT x FROM t", "Unrecognized name: x [at 1:8]"},
    {"SELECT cf.q FROM t", "Cannot access field q on a value with type "
                           "MAP<BYTES, BYTES> [at 1:10]"},
    {"SELECT cf[1] FROM t", "No matching signature for operator SUBSCRIPT"},
    {"SELECT 1 FROM t WHERE _key = 1",
     "operator = for argument types: BYTES, INT64 [at 1:28]"},
    {"SELECT 1 FROM t WHERE _key", "WHERE takes a BOOL, not BYTES"},
    {"SELECT FARM_FINGERPRINT('a')", "FARM_FINGERPRINT [at 1:8]"},
    {"SELECT read_csv('/etc/passwd')", "read_csv [at 1:8]"},
    {"SELECT LENGTH()", "Wrong number of arguments for function LENGTH"},
    {"SELECT a FROM t JOIN t ON TRUE", "JOIN is not supported"},
    {"SELECT 1 FROM t, t", "A cross join of tables is not supported"},
    {"SELECT 1 UNION ALL SELECT 2", "UNION, INTERSECT or EXCEPT"},
    {"WITH a AS (SELECT 1) SELECT 1", "WITH is not supported"},
    {"SELECT (SELECT 1)", "A subquery as an expression is not supported"},
    {"SELECT EXISTS(SELECT 1)", "EXISTS is not supported"},
    {"INSERT INTO t VALUES (1)", "A statement other than a query"},
    {"SELECT SUM(1) OVER () FROM t", "A window (OVER) is not supported"},
    {"SELECT 'a", "Unclosed string literal [at 1:8]"},
    {"SELECT '\\q'", "an unknown escape [at 1:8]"},
    {"SELECT /* x", "Unclosed comment"},
    {"SELECT @missing", "Query parameter not found: missing"},
    {"SELECT ?", "A parameter by position is not supported"},
    {"SELECT 1; SELECT 2", "the end of the query"},
    {"SELECT 9223372036854775808", "Invalid integer literal"},
    {"SELECT CAST(_key AS INT64) FROM t", "Invalid cast: BYTES to INT64"},
    {"SELECT cf FROM t(latest_n => 1)", "need with_history => TRUE"},
    {"SELECT cf FROM t(with_history => TRUE, as_of => CURRENT_TIMESTAMP())",
     "as_of excludes"},
    {"SELECT cf FROM t(newest => 1)", "Named argument not found: newest"},
    {"SELECT * FROM UNPACK(t)", "UNPACK needs a column with history"},
    {"SELECT * FROM loop", "Too many views in views"},
    {"SELECT COUNT(COUNT(*)) FROM t", "An aggregate in an aggregate"},
    {"SELECT 1 FROM t WHERE COUNT(*) > 1", "not allowed in WHERE"},
    {"SELECT *", "must have a FROM clause"},
    {"SELECT 1 LIMIT 'a'", "LIMIT and OFFSET take an INT64"},
    {"SELECT e -> 1", "A lambda is not allowed here"},
};

START_TEST(test_refused)
{
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        struct arena arena;
        struct gsql_result r;
        struct err err = ERR_INIT;
        int rc;
        arena_init(&arena);
        rc = translate(refused[i].query, &arena, &r, &err);
        ck_assert_msg(rc != 0 && strstr(err.text, refused[i].message),
                      "%s: %d %s", refused[i].query, rc, err.text);
        arena_close(&arena);
    }
}

END_TEST

/* Queries over the rows of one table, in the order of the keys, are keyed; one
 * that is resumed begins behind a key. */
static const struct {
    const char *query;
    const char *whole; /* Part of the translation; NULL: it is not keyed. */
    const char *resumed;
} scans[] = {
    {"SELECT cf FROM t",
     "SELECT t0.f1 AS c0, t0.f0 AS k FROM quarry(('t'::VARCHAR), binary := "
     "true, ordered := true)",
     "ordered := true, key_from := ('\\x62\\x00'::BLOB))"},
    {"SELECT * FROM t WHERE _key < 'c' ORDER BY _key LIMIT 9 OFFSET 3",
     "('\\x63'::BLOB)) LIMIT 9 OFFSET 3", "('\\x63'::BLOB)) LIMIT 5"},
    {"SELECT 1 FROM t WHERE _key IN ('a', 'b', 'c')",
     "keys := [('\\x61'::BLOB), ", "keys := [('\\x63'::BLOB)]"},
    {"SELECT 1 FROM t WHERE _key = 'b'", "keys := [", "keys := []::BLOB[]"},
    {"SELECT 1 FROM t LIMIT 2", " LIMIT 2", " LIMIT 0"},
    {"SELECT _key FROM t ORDER BY _key DESC", NULL, NULL},
    {"SELECT cf['a'] AS _key FROM t ORDER BY _key", NULL, NULL},
    {"SELECT * REPLACE (cf['a'] AS _key) FROM t ORDER BY _key", NULL, NULL},
    {"SELECT _key FROM t ORDER BY _key, cf['a']", NULL, NULL},
    {"SELECT DISTINCT _key FROM t", NULL, NULL},
    {"SELECT COUNT(*) FROM t", NULL, NULL},
    {"SELECT _key FROM t GROUP BY _key", NULL, NULL},
    {"SELECT e FROM t, UNNEST(MAP_KEYS(cf)) AS e", NULL, NULL},
    {"SELECT id FROM v", NULL, NULL},
    {"SELECT k FROM (SELECT _key AS k FROM t)", NULL, NULL},
    {"SELECT 1", NULL, NULL},
};

static void expect_scan(const char *query,
                        const struct gsql_resume *resume,
                        const char *part)
{
    const struct gsql_options options = {
        .find = find, .keyed = true, .resume = resume};
    struct arena arena;
    struct gsql_result r;
    struct err err = ERR_INIT;
    arena_init(&arena);
    ck_assert_msg(
        gsql_translate(slice_str(query), &options, &arena, &r, &err) == 0,
        "%s: %s", query, err.text);
    ck_assert_msg(r.is_keyed == (part != NULL), "%s", query);
    if (part) {
        char *sql = mem_strndup(r.sql.data, r.sql.len);
        /* Names of the table's columns are between bounds and LIMIT. */
        char *names = strstr(sql, " AS t0(f0, f1, f2)");
        ck_assert(names);
        memmove(names, names + 18, strlen(names + 18) + 1);
        ck_assert_msg(strstr(sql, part), "%s: %s", query, sql);
        mem_free(sql);
    }
    arena_close(&arena);
}

START_TEST(test_keyed)
{
    const struct gsql_resume resume = {.after = SLICE_LIT("b"), .rows = 4};
    for (size_t i = 0; i < ARRAY_LEN(scans); i++) {
        expect_scan(scans[i].query, NULL, scans[i].whole);
        expect_scan(scans[i].query, &resume, scans[i].resumed);
    }
}

END_TEST

/* A query that is nested too deeply is refused, whatever nests it, and a long
 * chain of AND is not. */
START_TEST(test_depth)
{
    static const char *const deep[][2] = {
        {"(", ")"}, {"-", ""}, {"NOT ", ""}, {"[", "]"}, {"ABS(", ")"}};
    struct arena arena;
    struct gsql_result r;
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < ARRAY_LEN(deep); i++) {
        buf_append_str(&text, "SELECT ");
        for (int k = 0; k < 5000; k++)
            buf_append_str(&text, deep[i][0]);
        buf_append_str(&text, "1");
        for (int k = 0; k < 5000; k++)
            buf_append_str(&text, deep[i][1]);
        arena_init(&arena);
        ck_assert_int_eq(translate(buf_cstr(&text), &arena, &r, NULL),
                         ERR_INVALID);
        arena_close(&arena);
        buf_clear(&text);
    }
    buf_append_str(&text, "SELECT TRUE");
    for (int k = 0; k < 5000; k++)
        buf_append_str(&text, " AND TRUE");
    arena_init(&arena);
    ck_assert_int_eq(translate(buf_cstr(&text), &arena, &r, NULL), 0);
    arena_close(&arena);
    buf_close(&text);
}

END_TEST

/* Columns have the query's names and the types that are inferred. */
START_TEST(test_columns)
{
    struct arena arena;
    struct gsql_result r;
    struct buf type = BUF_INIT;
    arena_init(&arena);
    ck_assert_int_eq(translate("SELECT _key, cf['q'], MAP_ENTRIES(cf) AS e, "
                               "COUNT(*) AS n FROM t GROUP BY ALL",
                               &arena, &r, NULL),
                     0);
    ck_assert_uint_eq(r.column_count, 4);
    ck_assert(slice_eq_str(r.columns[0].name, "_key"));
    ck_assert_uint_eq(r.columns[1].name.len, 0);
    gsql_type_put(r.columns[2].type, &type);
    ck_assert_str_eq(buf_cstr(&type), "ARRAY<STRUCT<key BYTES, value BYTES>>");
    ck_assert_int_eq(r.columns[3].type->kind, GSQL_INT64);
    buf_close(&type);
    arena_close(&arena);
}

END_TEST

TEST_MAIN("translate",
          test_accepted,
          test_refused,
          test_keyed,
          test_depth,
          test_columns)
