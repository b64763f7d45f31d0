/* abs, min, max, assert, fingerprintof, highbit, keys: intrinsics whose types
 * depend on their arguments, and a few without another home. */
#include <math.h>

#include "sawzall-lite/builtins/fingerprint.h"
#include "sawzall-lite/builtins/private.h"

/* --- abs ----------------------------------------------------------------- */

static const struct saw_type *check_abs(struct saw_check *c)
{
    struct buf b = BUF_INIT;
    const struct saw_type *t = c->arg_count == 1 ? c->arg_types[0] : NULL;
    if (!t)
        return saw_check_fail(c, -1, "abs() takes one int or float");
    if (t->kind == SAW_INT || t->kind == SAW_FLOAT || t->kind == SAW_BAD)
        return t;
    saw_check_fail(c, 0, "expected an int or a float, not %s",
                   saw_type_name(t, &b));
    buf_close(&b);
    return NULL;
}

static enum saw_status fn_abs(struct saw_ctx *ctx,
                              const struct saw_call *call,
                              const union saw_slot *args,
                              union saw_slot *result)
{
    (void)ctx;
    if (call->arg_types[0]->kind == SAW_FLOAT)
        result->f = fabs(args[0].f);
    else /* Of the smallest int it is itself: it wraps. */
        result->u = args[0].i < 0 ? 0 - args[0].u : args[0].u;
    return SAW_OK;
}

/* --- min, max ------------------------------------------------------------ */

static const struct saw_type *check_minmax(struct saw_check *c)
{
    struct buf b = BUF_INIT;
    const struct saw_type *t;
    if (c->arg_count != 2)
        return saw_check_fail(c, -1, "expected two arguments, not %zu",
                              c->arg_count);
    t = c->arg_types[0];
    if (t->kind == SAW_BAD || c->arg_types[1]->kind == SAW_BAD)
        return t;
    if (t->kind != SAW_INT && t->kind != SAW_FLOAT && t->kind != SAW_TIME &&
        t->kind != SAW_STRING) {
        saw_check_fail(c, 0, "expected an int, float, time or string, not %s",
                       saw_type_name(t, &b));
        buf_close(&b);
        return NULL;
    }
    if (c->arg_types[1]->kind == t->kind)
        return t;
    saw_check_fail(c, 1, "expected %s, like the first argument",
                   saw_type_name(t, &b));
    buf_close(&b);
    return NULL;
}

/* The first unless the second is less. Comparisons with NaN are false, as for
 * numbers. */
static enum saw_status fn_min(struct saw_ctx *ctx,
                              const struct saw_call *call,
                              const union saw_slot *args,
                              union saw_slot *result)
{
    const struct saw_type *t = call->arg_types[0];
    bool first = t->kind == SAW_FLOAT
                     ? args[0].f < args[1].f
                     : saw_value_compare(t, args[0], args[1]) < 0;
    (void)ctx;
    *result = first ? args[0] : args[1];
    return SAW_OK;
}

static enum saw_status fn_max(struct saw_ctx *ctx,
                              const struct saw_call *call,
                              const union saw_slot *args,
                              union saw_slot *result)
{
    const struct saw_type *t = call->arg_types[0];
    bool first = t->kind == SAW_FLOAT
                     ? args[0].f > args[1].f
                     : saw_value_compare(t, args[0], args[1]) > 0;
    (void)ctx;
    *result = first ? args[0] : args[1];
    return SAW_OK;
}

/* --- the rest ------------------------------------------------------------ */

static enum saw_status fn_assert(struct saw_ctx *ctx,
                                 const struct saw_call *call,
                                 const union saw_slot *args,
                                 union saw_slot *result)
{
    (void)result;
    if (args[0].i)
        return SAW_OK;
    if (call->arg_count < 2 || args[1].s->len == 0)
        return saw_fail(ctx, ERR_INVALID, "assertion failed");
    return saw_fail(ctx, ERR_INVALID, "assertion failed: %.*s",
                    SLICE_ARG(saw_str_slice(args[1].s)));
}

static const struct saw_type *check_fingerprintof(struct saw_check *c)
{
    enum saw_kind kind;
    if (c->arg_count != 1)
        return saw_check_fail(c, -1, "fingerprintof() takes one value");
    kind = c->arg_types[0]->kind;
    if (kind == SAW_TABLE || kind == SAW_VOID || kind == SAW_INCOMPLETE)
        return saw_check_fail(c, 0, "this has no fingerprint");
    return &saw_type_fingerprint;
}

static enum saw_status fn_fingerprintof(struct saw_ctx *ctx,
                                        const struct saw_call *call,
                                        const union saw_slot *args,
                                        union saw_slot *result)
{
    (void)ctx;
    result->u = saw_value_fingerprint(call->arg_types[0], args[0]);
    return SAW_OK;
}

static const struct saw_type *check_show(struct saw_check *c)
{
    enum saw_kind kind;
    if (c->arg_count != 1)
        return saw_check_fail(c, -1, "___show() takes one value");
    kind = c->arg_types[0]->kind;
    if (kind == SAW_TABLE || kind == SAW_VOID || kind == SAW_INCOMPLETE)
        return saw_check_fail(c, 0, "this is no value to show");
    return &saw_type_string;
}

/* For the shell, which shows values of any type. */
static enum saw_status fn_show(struct saw_ctx *ctx,
                               const struct saw_call *call,
                               const union saw_slot *args,
                               union saw_slot *result)
{
    struct buf b = BUF_INIT;
    enum saw_status s;
    saw_value_print(call->arg_types[0], args[0], SAW_PRINT_SOURCE, &b);
    s = saw_give_text(saw_string_dup(ctx, buf_slice(&b)), result);
    buf_close(&b);
    return s;
}

static enum saw_status fn_highbit(struct saw_ctx *ctx,
                                  const struct saw_call *call,
                                  const union saw_slot *args,
                                  union saw_slot *result)
{
    (void)ctx;
    (void)call;
    result->i = args[0].u ? 64 - __builtin_clzll(args[0].u) : 0;
    return SAW_OK;
}

/* --- maps ---------------------------------------------------------------- */

static const struct saw_type *check_keys(struct saw_check *c)
{
    struct buf b = BUF_INIT;
    if (c->arg_count != 1)
        return saw_check_fail(c, -1, "keys() takes one map");
    if (c->arg_types[0]->kind == SAW_BAD)
        return c->arg_types[0];
    if (c->arg_types[0]->kind == SAW_MAP)
        return saw_type_array(c->arena, c->arg_types[0]->key);
    saw_check_fail(c, 0, "expected a map, not %s",
                   saw_type_name(c->arg_types[0], &b));
    buf_close(&b);
    return NULL;
}

static enum saw_status fn_keys(struct saw_ctx *ctx,
                               const struct saw_call *call,
                               const union saw_slot *args,
                               union saw_slot *result)
{
    const struct saw_map *m = args[0].m;
    const struct saw_type *key = call->arg_types[0]->key;
    struct saw_array *a = saw_array_new(ctx, m->count);
    if (!a)
        return SAW_FAIL;
    for (uint32_t i = 0; i < m->count; i++) {
        a->items[i] = m->entries[i].key;
        saw_share(key, a->items[i]);
    }
    result->a = a;
    return SAW_OK;
}

static enum saw_status fn_fingerprint_cat(struct saw_ctx *ctx,
                                          const struct saw_call *call,
                                          const union saw_slot *args,
                                          union saw_slot *result)
{
    (void)ctx;
    (void)call;
    result->u = saw_fingerprint_cat(args[0].u, args[1].u);
    return SAW_OK;
}

const struct saw_builtin saw_builtin_fingerprint_cat = {
    .name = "+",
    .flags = SAW_BUILTIN_PURE,
    .fn = fn_fingerprint_cat,
    .help = "the + of fingerprints",
};

const struct saw_builtin saw_builtins_core[] = {
    {.name = "abs",
     .flags = SAW_BUILTIN_PURE,
     .fn = fn_abs,
     .check = check_abs,
     .help = "abs(x): the absolute value of an int or float"},
    {.name = "min",
     .flags = SAW_BUILTIN_PURE,
     .fn = fn_min,
     .check = check_minmax,
     .help = "min(a, b): the lesser of two ints, floats, times or strings"},
    {.name = "max",
     .flags = SAW_BUILTIN_PURE,
     .fn = fn_max,
     .check = check_minmax,
     .help = "max(a, b): the greater of two ints, floats, times or strings"},
    {.name = "assert",
     .signature = "function(condition: bool, message: string)",
     .args_min = 1,
     .fn = fn_assert,
     .help = "assert(condition, message): end the run if it is false"},
    {.name = "fingerprintof",
     .flags = SAW_BUILTIN_PURE,
     .fn = fn_fingerprintof,
     .check = check_fingerprintof,
     .help = "fingerprintof(x): a 64-bit hash of any value"},
    {.name = "___show",
     .fn = fn_show,
     .check = check_show,
     .help = "___show(x): the value as the language writes it"},
    {.name = "highbit",
     .signature = "function(n: int): int",
     .args_min = 1,
     .flags = SAW_BUILTIN_PURE,
     .fn = fn_highbit,
     .help = "highbit(n): position of the highest one bit, from 1; 0 for 0"},
    {.name = "keys",
     .flags = SAW_BUILTIN_PURE,
     .fn = fn_keys,
     .check = check_keys,
     .help = "keys(m): an array of the keys of a map"},
    {.name = NULL},
};
