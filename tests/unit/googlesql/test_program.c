/* Queries of materialized views become programs: which columns they have and
 * how each is made, and the reasons of those that do not. That programs give
 * what the queries give is for cluster/kept_views. */

#include <string.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/googlesql/gsql_program.h"
#include "tests/lib/check_main.h"

/* The catalog: table "t", of which the family n has numbers, and a view. */
static int find(void *ctx,
                struct slice name,
                struct arena *arena,
                struct gsql_relation *out,
                struct err *err)
{
    struct slice *families = arena_alloc(arena, 2 * sizeof(*families));
    const struct gsql_type **types = arena_alloc(arena, 2 * sizeof(*types));
    (void)ctx;
    families[0] = SLICE_LIT("f");
    families[1] = SLICE_LIT("n");
    types[0] = gsql_scalar(GSQL_BYTES);
    types[1] = gsql_scalar(GSQL_INT64);
    if (slice_eq_str(name, "v")) {
        out->view = SLICE_LIT("SELECT _key FROM t");
        return 0;
    }
    if (!slice_eq_str(name, "t"))
        return err_set(err, ERR_NOTFOUND, "no table");
    *out = (struct gsql_relation){
        .table = name, .families = families, .types = types, .family_count = 2};
    return 0;
}

static int make(const char *query,
                struct arena *arena,
                struct gsql_program *out,
                struct err *err)
{
    const struct gsql_options options = {.find = find};
    return gsql_program_make(slice_str(query), &options, arena, out, err);
}

/* "name:key0", "name:sum0.1/0.2" of each column. */
static void describe(const struct gsql_program *p, struct buf *out)
{
    for (size_t i = 0; i < p->column_count; i++) {
        const struct gsql_program_column *c = &p->columns[i];
        buf_printf(out, "%s%.*s:", i ? " " : "", SLICE_ARG(c->name));
        if (c->source == GSQL_PROGRAM_KEY) {
            buf_printf(out, "key%u", c->key);
            continue;
        }
        buf_printf(out, "%s%u.%u", c->value.kind, c->value.table,
                   c->value.field);
        if (c->count.kind)
            buf_printf(out, "/%u.%u", c->count.table, c->count.field);
    }
}

static const struct {
    const char *query;
    const char *columns;
    const char *part; /* Of the program. */
} kept[] = {
    {"SELECT _key, COUNT(*) AS c FROM t GROUP BY _key", "_key:key0 c:sum0.0",
     "n: table sum[k0: { null: bool, v: bytes }] of int;"},
    {"SELECT '*' AS _key, COUNT(*) AS c FROM t GROUP BY _key;",
     "_key:key0 c:sum0.0", "x0: string = string(X\"2a\");"},
    {"SELECT LENGTH(f['a']) AS l, SUM(n['x']) AS s, AVG(n['y']) AS a FROM t "
     "GROUP BY 1",
     "l:key0 s:sum0.1/0.2 a:sum0.3/0.4", "of { f0: int, f1: int, f2: int"},
    {"SELECT f['a'] AS a, MIN(f['b']) AS lo, MAX(n['b']) AS hi, "
     "SUM(CAST(n['x'] AS FLOAT64)) AS s FROM t GROUP BY a",
     "a:key0 lo:minimum1.0 hi:maximum2.0 s:sum3.0",
     "a2: table maximum(1)[k0: { null: bool, v: bytes }] of int weight int;"},
    {"SELECT n['b'] AS b, f['a'] AS _key, COUNTIF(n['x'] > 1) AS c FROM t "
     "GROUP BY b, _key",
     "b:key1 _key:key0 c:sum0.1", "int(x"},
    {"SELECT SPLIT(CAST(t._key AS STRING), '#')[OFFSET(1)] AS p, COUNT(*) AS "
     "c FROM t WHERE f['a'] LIKE 'x%' GROUP BY p",
     "p:key0 c:sum0.0", "part: function"},
};

START_TEST(test_kept)
{
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        struct gsql_program *p = mem_zalloc(1, sizeof(*p));
        struct buf have = BUF_INIT;
        struct buf text = BUF_INIT;
        struct err err = ERR_INIT;
        struct arena arena;
        arena_init(&arena);
        ck_assert_msg(make(kept[i].query, &arena, p, &err) == 0, "%s: %s",
                      kept[i].query, err.text);
        describe(p, &have);
        ck_assert_str_eq(buf_cstr(&have), kept[i].columns);
        ck_assert_str_eq(p->table.data, "t");
        buf_append_slice(&text, p->text);
        ck_assert_msg(strstr(buf_cstr(&text), kept[i].part), "%s\n%s",
                      kept[i].query, buf_cstr(&text));
        buf_close(&have);
        buf_close(&text);
        arena_close(&arena);
        mem_free(p);
    }
}

END_TEST

static const struct {
    const char *query;
    int code;
    const char *why;
} refused[] = {
    {"SELECT", ERR_INVALID, "Syntax error"},
    {"SELECT _key, COUNT(*) AS c FROM no GROUP BY _key", ERR_NOTFOUND,
     "no table"},
    {"SELECT COUNT(*) AS c FROM t", ERR_UNSUPPORTED, "without GROUP BY"},
    {"SELECT _key FROM t ORDER BY _key", ERR_UNSUPPORTED, "ORDER BY"},
    {"SELECT _key, COUNT(*) AS c FROM v GROUP BY _key", ERR_UNSUPPORTED,
     "view of a view"},
    {"SELECT _key, COUNT(*) AS c FROM t(with_history => TRUE) GROUP BY _key",
     ERR_UNSUPPORTED, "with_history"},
    {"SELECT COUNT(*) AS c FROM t GROUP BY _key", ERR_UNSUPPORTED,
     "not selected"},
    {"SELECT _key, COUNT(*) + 1 AS c FROM t GROUP BY _key", ERR_UNSUPPORTED,
     "expression of aggregates"},
    {"SELECT _key, COUNT(DISTINCT f['a']) AS c FROM t GROUP BY _key",
     ERR_UNSUPPORTED, "DISTINCT"},
    {"SELECT _key, BIT_OR(n['a']) AS c FROM t GROUP BY _key", ERR_UNSUPPORTED,
     "another kind"},
    {"SELECT _key, COUNT(*) AS c FROM t GROUP BY _key HAVING COUNT(*) > 1",
     ERR_UNSUPPORTED, "HAVING"},
    {"SELECT CAST(n['a'] AS FLOAT64) AS a, COUNT(*) AS c FROM t GROUP BY a",
     ERR_UNSUPPORTED, "key of this type"},
    {"SELECT MD5(f['a']) AS a, COUNT(*) AS c FROM t GROUP BY a",
     ERR_UNSUPPORTED, "MD5()"},
    {"SELECT SUBSTR(_key, n['a']) AS a, COUNT(*) AS c FROM t GROUP BY a",
     ERR_UNSUPPORTED, "no small literal"},
    {"SELECT f['a\\n'] AS a, COUNT(*) AS c FROM t GROUP BY a", ERR_UNSUPPORTED,
     "plain ASCII"},
    {"SELECT f AS a, COUNT(*) AS c FROM t GROUP BY a", ERR_UNSUPPORTED,
     "as a whole"},
    {"SELECT _key, SUM(n['a'] << 1) AS c FROM t GROUP BY _key", ERR_UNSUPPORTED,
     "operator of bits"},
    {"SELECT _key, MAX(@p) AS c FROM t GROUP BY _key", ERR_UNSUPPORTED,
     "parameter"},
};

START_TEST(test_refused_programs)
{
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        struct gsql_program *p = mem_zalloc(1, sizeof(*p));
        struct err err = ERR_INIT;
        struct arena arena;
        arena_init(&arena);
        ck_assert_msg(make(refused[i].query, &arena, p, &err) ==
                          refused[i].code,
                      "%s: %s", refused[i].query, err.text);
        ck_assert_msg(strstr(err.text, refused[i].why), "%s: %s",
                      refused[i].query, err.text);
        arena_close(&arena);
        mem_free(p);
    }
}

END_TEST

START_TEST(test_nested_cases)
{
    /* The type of a CASE is looked for in its branches, which must not take
     * twice as long for each level. */
    struct gsql_program *p = mem_zalloc(1, sizeof(*p));
    struct buf query = BUF_INIT;
    struct err err = ERR_INIT;
    struct arena arena;
    arena_init(&arena);
    buf_append_str(&query, "SELECT ");
    for (int i = 0; i < 40; i++)
        buf_append_str(&query, "IF(TRUE, 1, ");
    buf_append_str(&query, "2");
    for (int i = 0; i < 40; i++)
        buf_append_byte(&query, ')');
    buf_append_str(&query, " AS a, COUNT(*) AS c FROM t GROUP BY a");
    ck_assert_int_eq(make(buf_cstr(&query), &arena, p, &err), ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.text, "as long as this"));
    buf_close(&query);
    arena_close(&arena);
    mem_free(p);
}

END_TEST

TEST_MAIN("program", test_kept, test_refused_programs, test_nested_cases)
