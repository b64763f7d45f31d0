/* Schemas and GC rules: what is written as text or bytes is read back, and what
 * is wrong is refused with the name of the thing and what it may be. */
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/rand.h"
#include "bigtable/row/gc_rule.h"
#include "bigtable/row/schema.h"
#include "tests/lib/check_main.h"

/* --- Helpers ------------------------------------------------------------- */

static struct err err;

static struct gc_rule *random_rule(struct rand_gen *r, int depth)
{
    struct gc_rule *parts[3];
    size_t count = 2 + rand_below(r, 2);
    enum gc_rule_kind kind;
    if (depth == 0 || rand_one_in(r, 2))
        return rand_one_in(r, 2)
                   ? gc_rule_versions(1 + (uint32_t)rand_below(r, 5))
                   : gc_rule_age(rand_below(r, 1000000));
    kind = rand_one_in(r, 2) ? GC_RULE_UNION : GC_RULE_INTERSECTION;
    for (size_t i = 0; i < count; i++)
        parts[i] = random_rule(r, depth - 1);
    return gc_rule_combine(kind, parts, count);
}

static void expect_family_error(const char *options, const char *text)
{
    struct schema *s = schema_new();
    ck_assert_int_ne(schema_add_family(s, "f", options, &err), 0);
    ck_assert_str_eq(err.text, text);
    ck_assert_uint_eq(s->family_count, 0);
    schema_free(s);
}

static bool is_encoded(const struct gc_rule *r, struct slice bytes)
{
    struct buf b = BUF_INIT;
    bool is;
    gc_rule_encode(r, &b);
    is = slice_eq(buf_slice(&b), bytes);
    buf_close(&b);
    return is;
}

/* --- Tests --------------------------------------------------------------- */

/* Rules survive text and bytes, and judge monotonely from new to old. */
START_TEST(test_rules_round_trip)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int i = 0; i < 20000; i++) {
        struct gc_rule *a = random_rule(&r, 3);
        struct gc_rule *b;
        struct buf text = BUF_INIT;
        struct buf bytes = BUF_INIT;
        struct cursor c;
        bool collected = false;
        gc_rule_format(a, &text);
        ck_assert_msg(gc_rule_parse(buf_slice(&text), &b, &err) == 0, "%s",
                      err.text);
        gc_rule_encode(a, &bytes);
        ck_assert(is_encoded(b, buf_slice(&bytes)));
        gc_rule_free(b);
        c = cursor_make(buf_slice(&bytes));
        gc_rule_decode(&c, &b);
        ck_assert(!c.bad && c.p == c.end);
        ck_assert(is_encoded(b, buf_slice(&bytes)));
        for (uint64_t n = 0; n < 8; n++) {
            bool now =
                gc_rule_collects(b, n, 1000000 - (int64_t)n * 150000, 1000000);
            ck_assert(now || !collected);
            collected = now;
        }
        gc_rule_free(a);
        gc_rule_free(b);
        buf_close(&text);
        buf_close(&bytes);
    }
}

END_TEST

/* The operators mean what they say. */
START_TEST(test_rules_judge)
{
    const int64_t day = INT64_C(86400) * 1000000;
    struct gc_rule *r;
    ck_assert_int_eq(gc_rule_parse(SLICE_LIT("versions=1 && ttl=1d"), &r, &err),
                     0);
    ck_assert(!gc_rule_collects(r, 0, 0, 9 * day));
    ck_assert(!gc_rule_collects(r, 1, 9 * day, 9 * day));
    ck_assert(gc_rule_collects(r, 1, 0, 9 * day));
    gc_rule_free(r);
    ck_assert_int_eq(
        gc_rule_parse(SLICE_LIT("(versions=1 and maxage=1d) or ttl=1w"), &r,
                      &err),
        0);
    ck_assert(gc_rule_collects(r, 0, 0, 9 * day));
    ck_assert(!gc_rule_collects(r, 0, 3 * day, 9 * day));
    ck_assert(gc_rule_collects(r, 1, 3 * day, 9 * day));
    gc_rule_free(r);
    ck_assert(!gc_rule_collects(NULL, 99, 0, 9 * day));
}

END_TEST

/* A schema survives its bytes; any flipped or cut byte gives an error or
 * another valid schema, never more. */
START_TEST(test_schema_round_trip)
{
    struct schema *s = schema_new();
    struct schema *d;
    struct buf a = BUF_INIT;
    struct buf b = BUF_INIT;
    struct rand_gen r;
    ck_assert_int_eq(
        schema_add_group(s, "pages", "block=8KiB,level=-2,cache=off", &err), 0);
    ck_assert_int_eq(schema_add_family(s, "a", "versions=3,ttl=7d", &err), 0);
    ck_assert_int_eq(schema_add_family(s, "b", "group=pages", &err), 0);
    ck_assert_int_eq(
        schema_add_family(s, "c", "gc=(versions=1 && ttl=1h) || ttl=2h", &err),
        0);
    ck_assert_int_eq(schema_drop_family(s, "b", &err), 0);
    ck_assert_int_eq(schema_add_family(s, "b", "", &err), 0);
    ck_assert_uint_eq(schema_family(s, SLICE_LIT("b"))->id, 4);
    schema_encode(s, &a);
    ck_assert_int_eq(schema_decode(buf_slice(&a), &d, &err), 0);
    schema_encode(d, &b);
    ck_assert(slice_eq(buf_slice(&a), buf_slice(&b)));
    schema_free(d);
    ck_assert_int_eq(schema_update_group(s, "pages", "references=on", &err), 0);
    buf_clear(&a);
    buf_clear(&b);
    schema_encode(s, &a);
    ck_assert_int_eq(schema_decode(buf_slice(&a), &d, &err), 0);
    ck_assert(schema_group_by_id(d, 2)->options.references);
    ck_assert(!schema_group_by_id(d, 1)->options.references);
    ck_assert_ptr_null(d->indexes);
    schema_encode(d, &b);
    ck_assert(slice_eq(buf_slice(&a), buf_slice(&b)));
    schema_free(d);
    rand_init(&r, test_seed());
    for (int i = 0; i < 20000; i++) {
        size_t at = rand_below(&r, b.len);
        char old = b.data[at];
        b.data[at] = (char)rand_u64(&r);
        if (schema_decode(
                slice_sub(buf_slice(&b), 0,
                          rand_one_in(&r, 2) ? b.len : rand_below(&r, b.len)),
                &d, &err) == 0)
            schema_free(d);
        b.data[at] = old;
    }
    buf_close(&a);
    buf_close(&b);
    schema_free(s);
}

END_TEST

/* Options of a group read back as they are printed. */
START_TEST(test_group_options)
{
    struct group_options o;
    struct buf text = BUF_INIT;
    group_options_default(&o);
    ck_assert_int_eq(
        group_options_parse(&o,
                            "compression=none, level=7,block=8KiB,bloom=row,"
                            "bits=12,memory=on,dictionary=off,memtable=1MiB",
                            &err),
        0);
    group_options_format(&o, &text);
    ck_assert_str_eq(buf_cstr(&text),
                     "compression=none,level=7,dictionary=off,block=8KiB,"
                     "bloom=row,bits=12,memory=on,memtable=1MiB");
    ck_assert_int_eq(
        group_options_parse(&o, "cache=on,replication=2,references=on", &err),
        0);
    buf_clear(&text);
    group_options_format(&o, &text);
    ck_assert_str_eq(buf_cstr(&text),
                     "compression=none,level=7,dictionary=off,block=8KiB,"
                     "bloom=row,bits=12,memory=on,memtable=1MiB,"
                     "references=on,cache=on,replication=2");
    buf_close(&text);
}

END_TEST

/* Each mistake has its message. */
START_TEST(test_messages)
{
    struct group_options o;
    struct schema *s = schema_new();
    group_options_default(&o);
    ck_assert_int_eq(group_options_parse(&o, "bloom=x", &err), ERR_INVALID);
    ck_assert_str_eq(err.text, "bloom=x: it must be one of none, row, rowcol");
    ck_assert_int_eq(group_options_parse(&o, "level=99", &err), ERR_INVALID);
    ck_assert_str_eq(err.text, "level=99: it must be a number from -5 to 19");
    ck_assert_int_eq(group_options_parse(&o, "block=3", &err), ERR_INVALID);
    ck_assert_str_eq(err.text, "block=3: it must be a size from 1KiB to "
                               "16384KiB, such as 64KiB");
    ck_assert_int_eq(group_options_parse(&o, "fast=1", &err), ERR_INVALID);
    ck_assert_str_eq(err.text,
                     "unknown group option fast: the options are compression, "
                     "level, dictionary, references, block, bloom, bits, "
                     "memory, cache, memtable, replication");
    expect_family_error("versions=0",
                        "column family f: GC rule: versions=0 is not a number "
                        "of at least 1");
    expect_family_error("ttl=7x",
                        "column family f: GC rule: ttl: 7x is not a duration");
    expect_family_error("group=nope", "column family f: no locality group "
                                      "nope; there are: default");
    expect_family_error("colour=red",
                        "column family f: unknown family option colour: the "
                        "options are versions, ttl, gc, group, aggregate");
    expect_family_error("versions", "column family f: option \"versions\" is "
                                    "not of the form key=value");
    expect_family_error("gc=versions=1 ||",
                        "column family f: GC rule: it ends too soon");
    ck_assert_int_eq(schema_add_family(s, "a b", "", &err), ERR_INVALID);
    ck_assert_str_eq(err.text, "column family name \"a b\" is not allowed");
    schema_free(s);
}

END_TEST

TEST_MAIN("schema",
          test_rules_round_trip,
          test_rules_judge,
          test_schema_round_trip,
          test_group_options,
          test_messages)
