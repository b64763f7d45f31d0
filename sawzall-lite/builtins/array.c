/* sort and sortx: arrays in ascending order, by a merge sort that is stable
 * and bounded for any input. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "sawzall-lite/builtins/private.h"

static bool is_comparison(const struct saw_type *f, const struct saw_type *elem)
{
    return f->kind == SAW_BAD ||
           (f->kind == SAW_FUNCTION && f->field_count == 2 &&
            saw_type_equal(f->fields[0].type, elem) &&
            saw_type_equal(f->fields[1].type, elem) &&
            f->elem->kind == SAW_INT);
}

static const struct saw_type *check_sorted(struct saw_check *c)
{
    struct buf b = BUF_INIT;
    const struct saw_type *t;
    if (c->arg_count < 1 || c->arg_count > 2)
        return saw_check_fail(c, -1,
                              "expected an array, and perhaps a comparison");
    t = c->arg_types[0];
    if (t->kind == SAW_BAD)
        return t;
    if (t->kind != SAW_ARRAY || !saw_kind_is_basic(t->elem->kind)) {
        saw_check_fail(c, 0, "expected an array of a basic type, not %s",
                       saw_type_name(t, &b));
        buf_close(&b);
        return NULL;
    }
    if (t->elem->kind == SAW_BOOL)
        return saw_check_fail(c, 0, "bools have no order");
    if (c->arg_count == 2 && !is_comparison(c->arg_types[1], t->elem)) {
        saw_check_fail(c, 1, "expected a function of two %s that gives an int",
                       saw_type_name(t->elem, &b));
        buf_close(&b);
        return NULL;
    }
    if (c->arg_count == 2)
        snprintf(c->warning, sizeof(c->warning),
                 "the comparison is ignored: values sort in ascending order");
    return t;
}

static const struct saw_type *check_sort(struct saw_check *c)
{
    return check_sorted(c);
}

static const struct saw_type *check_sortx(struct saw_check *c)
{
    return check_sorted(c) ? &saw_type_array_of_int : NULL;
}

/* A bottom-up merge sort of positions: stable, so that sortx() is determined,
 * and bounded however hostile the input. */
struct merge {
    const struct saw_type *elem;
    const union saw_slot *items;
    uint32_t *from;
    uint32_t *to;
};

static void merge_runs(const struct merge *m, size_t a, size_t b, size_t end)
{
    size_t left = a;
    size_t right = b;

    PRE(a <= b && b <= end);
    for (size_t at = a; at < end; at++) {
        bool take_left =
            right >= end ||
            (left < b && saw_value_compare(m->elem, m->items[m->from[left]],
                                           m->items[m->from[right]]) <= 0);
        m->to[at] = take_left ? m->from[left++] : m->from[right++];
    }
    POST(left == b && right == end);
}

/* Positions of the items in ascending order; owned. */
static uint32_t *
order_of(const struct saw_type *elem, const union saw_slot *items, size_t n)
{
    struct merge m = {elem, items, mem_alloc(n * 4 + 1), mem_alloc(n * 4 + 1)};
    for (size_t i = 0; i < n; i++)
        m.from[i] = (uint32_t)i;
    for (size_t width = 1; width < n; width *= 2) {
        uint32_t *swap = m.from;
        for (size_t a = 0; a < n; a += 2 * width)
            merge_runs(&m, a, MIN_OF(a + width, n), MIN_OF(a + 2 * width, n));
        m.from = m.to;
        m.to = swap;
    }
    mem_free(m.to);
    return m.from;
}

/* In each round every item is compared, which takes some instructions and a
 * walk over what texts have in common: at most all of them. */
static uint64_t sort_cost(const struct saw_ctx *ctx,
                          const struct saw_type *t,
                          union saw_slot array)
{
    size_t n = array.a->len;
    uint64_t rounds = 0;
    uint64_t walk = 0;
    while (n >> rounds)
        rounds++;
    if (t->elem->kind == SAW_STRING || t->elem->kind == SAW_BYTES)
        walk = saw_value_cost(t, array,
                              ctx->work_max ? ctx->work_max : UINT64_MAX / 64);
    return rounds * (4 * n + walk);
}

static enum saw_status sort_into(struct saw_ctx *ctx,
                                 const struct saw_call *call,
                                 union saw_slot array,
                                 bool positions,
                                 union saw_slot *result)
{
    const struct saw_array *a = array.a;
    struct saw_array *sorted = saw_array_new(ctx, a->len);
    uint32_t *order;
    if (!sorted)
        return SAW_FAIL;
    if (!saw_work(ctx, sort_cost(ctx, call->arg_types[0], array)))
        return SAW_FAIL;
    PRE(a->len < UINT32_MAX);
    order = order_of(call->arg_types[0]->elem, a->items, a->len);
    for (size_t i = 0; i < a->len; i++) {
        if (positions)
            sorted->items[i].i = order[i];
        else
            sorted->items[i] = a->items[order[i]];
    }
    mem_free(order);
    result->a = sorted;
    return SAW_OK;
}

static enum saw_status fn_sort(struct saw_ctx *ctx,
                               const struct saw_call *call,
                               const union saw_slot *args,
                               union saw_slot *result)
{
    return sort_into(ctx, call, args[0], false, result);
}

static enum saw_status fn_sortx(struct saw_ctx *ctx,
                                const struct saw_call *call,
                                const union saw_slot *args,
                                union saw_slot *result)
{
    return sort_into(ctx, call, args[0], true, result);
}

const struct saw_builtin saw_builtins_array[] = {
    {.name = "sort",
     .flags = SAW_BUILTIN_PURE,
     .fn = fn_sort,
     .check = check_sort,
     .help = "sort(a): the items of an array in ascending order"},
    {.name = "sortx",
     .flags = SAW_BUILTIN_PURE,
     .fn = fn_sortx,
     .check = check_sortx,
     .help = "sortx(a): the positions of the items in ascending order"},
    {.name = NULL},
};
