/* Shared by the tests of tables: values drawn at random, emitted in one pass
 * or split over a tree of workers whose states are merged. For one test
 * program each. */
#ifndef TESTS_UNIT_SAWZALL_LITE_TABLE_FIXTURE_H
#define TESTS_UNIT_SAWZALL_LITE_TABLE_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/core/rand.h"
#include "sawzall-lite/sawzall.h"
#include "sawzall-lite/tables/saw_table.h"
#include "sawzall-lite/values/datum.h"
#include "tests/lib/check_main.h"

struct value {
    int64_t key;
    int64_t element;
    int64_t weight;
    uint64_t origin;
};

enum {
    VALUE_COUNT_MAX = 100000
};

static struct value values[VALUE_COUNT_MAX];

static UNUSED const struct saw_table_traits *kind_named(const char *name)
{
    const struct saw_table_traits *t = saw_table_traits_find(slice_str(name));
    ck_assert_ptr_nonnull(t);
    return t;
}

static UNUSED bool kind_is(const struct saw_table_decl *d, const char *name)
{
    return strcmp(d->kind->name, name) == 0;
}

static UNUSED struct saw_table_decl declare(const char *kind, int64_t param)
{
    const struct saw_table_traits *traits = kind_named(kind);
    return (struct saw_table_decl){
        .name = "t",
        .kind = traits,
        .param = param,
        .index_count = traits->indexed ? 1 : 0,
        .weighted = traits->weight != SAW_TABLE_NEVER,
    };
}

/* Weights are tuples { weight, { key, 0.5 } }. */
static bool tuple_weights;

static UNUSED void put_weight(struct buf *weight, const struct value *v)
{
    if (!tuple_weights) {
        saw_datum_put_int(weight, v->weight);
        return;
    }
    saw_datum_put_open(weight, SAW_DATUM_TUPLE);
    saw_datum_put_int(weight, v->weight);
    saw_datum_put_open(weight, SAW_DATUM_TUPLE);
    saw_datum_put_int(weight, v->key);
    saw_datum_put_float(weight, 0.5);
    saw_datum_put_end(weight);
    saw_datum_put_end(weight);
}

static UNUSED void put(struct saw_table *t, const struct value *v)
{
    const struct saw_table_decl *d = saw_table_decl(t);
    struct buf key = BUF_INIT;
    struct buf element = BUF_INIT;
    struct buf weight = BUF_INIT;
    if (d->index_count)
        saw_datum_put_int(&key, v->key);
    saw_datum_put_int(&element, v->element);
    if (kind_is(d, "bootstrapsum"))
        saw_datum_put_word(&weight, SAW_DATUM_FINGERPRINT, (uint64_t)v->weight);
    else if (d->weighted)
        put_weight(&weight, v);
    ck_assert_int_eq(saw_table_emit(t, buf_slice(&key), buf_slice(&element),
                                    buf_slice(&weight), v->origin, NULL),
                     0);
    buf_close(&key);
    buf_close(&element);
    buf_close(&weight);
}

static UNUSED void
draw(struct rand_gen *r, size_t n, uint64_t keys, uint64_t elements)
{
    for (size_t i = 0; i < n; i++)
        values[i] = (struct value){
            .key = (int64_t)rand_below(r, keys),
            .element = (int64_t)rand_below(r, elements) - 5,
            .weight = (int64_t)rand_below(r, 30),
            .origin = rand_u64(r),
        };
}

/* The printed results of values [begin, end) put in one table. */
static UNUSED char *
one_pass(const struct saw_table_decl *d, size_t begin, size_t end)
{
    struct saw_table *t = saw_table_new(d, NULL);
    struct buf out = BUF_INIT;
    for (size_t i = begin; i < end; i++)
        put(t, &values[i]);
    saw_table_print(t, &out);
    saw_table_free(t);
    return buf_take(&out);
}

static UNUSED void merge_state(struct saw_table *t, const struct buf *state)
{
    struct cursor c = cursor_make(buf_slice(state));
    ck_assert_int_eq(saw_table_merge(t, &c, NULL), 0);
    ck_assert(c.p == c.end);
}

/* The state of values [begin, end) by a random tree of workers. */
static UNUSED void tree_state(struct rand_gen *r,
                              const struct saw_table_decl *d,
                              size_t begin,
                              size_t end,
                              struct buf *state)
{
    struct saw_table *t = saw_table_new(d, NULL);
    size_t at = begin;
    while (at < end) {
        size_t n = 1 + rand_below(r, end - at);
        struct buf part = BUF_INIT;
        if (n < 40 || rand_one_in(r, 3)) {
            for (size_t i = at; i < at + n; i++)
                put(t, &values[i]);
        } else {
            tree_state(r, d, at, at + n, &part);
            merge_state(t, &part);
        }
        buf_close(&part);
        at += n;
    }
    saw_table_encode(t, state);
    saw_table_free(t);
}

static UNUSED char *by_tree(struct rand_gen *r,
                            const struct saw_table_decl *d,
                            size_t begin,
                            size_t end)
{
    struct buf state = BUF_INIT;
    struct buf out = BUF_INIT;
    struct saw_table *t = saw_table_new(d, NULL);
    tree_state(r, d, begin, end, &state);
    merge_state(t, &state);
    saw_table_print(t, &out);
    saw_table_free(t);
    buf_close(&state);
    return buf_take(&out);
}

static UNUSED const struct {
    const char *kind;
    int64_t param;
} exact_kinds[] = {
    {"sum", 0},
    {"mrcounter", 0},
    {"maximum", 5},
    {"maximum", 0},
    {"minimum", 7},
    {"top", 6},
    {"unique", 4},
    {"unique", 1000},
    {"set", 3},
    {"set", 40},
    {"sample", 6},
    {"weightedsample", 6},
    {"distinctsample", 5},
    {"inversehistogram", 1000},
    {"inversehistogram", 5},
    {"bootstrapsum", 4},
    {"quantile", 5},
    {"collection", 0},
    {"text", 0},
    {"recordio", 1},
};

#endif /* TESTS_UNIT_SAWZALL_LITE_TABLE_FIXTURE_H */
