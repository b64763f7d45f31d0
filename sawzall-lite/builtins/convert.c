/* Conversions: T(x), convert(T, x) and the implicit ones of initialisers.
 *
 * Basic conversions are a table from kind to kind (convert_internal.h); this
 * file has those of composites, which convert part by part, and reads the
 * extra arguments once per conversion.
 */
#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "sawzall-lite/builtins/convert_internal.h"
#include "sawzall-lite/builtins/private.h"
#include "sawzall-lite/builtins/time.h"

/* --- short ones ---------------------------------------------------------- */

static enum saw_status same_bits(struct saw_ctx *ctx,
                                 const struct saw_conversion *c,
                                 union saw_slot v,
                                 union saw_slot *result)
{
    (void)ctx;
    (void)c;
    *result = v;
    return SAW_OK;
}

static enum saw_status int_to_float(struct saw_ctx *ctx,
                                    const struct saw_conversion *c,
                                    union saw_slot v,
                                    union saw_slot *result)
{
    (void)ctx;
    (void)c;
    result->f = (double)v.i;
    return SAW_OK;
}

static enum saw_status uint_to_float(struct saw_ctx *ctx,
                                     const struct saw_conversion *c,
                                     union saw_slot v,
                                     union saw_slot *result)
{
    (void)ctx;
    (void)c;
    result->f = (double)v.u;
    return SAW_OK;
}

/* Out of range, and NaN, give the smallest int, as the hardware does. */
static enum saw_status float_to_int(struct saw_ctx *ctx,
                                    const struct saw_conversion *c,
                                    union saw_slot v,
                                    union saw_slot *result)
{
    bool fits = v.f >= -0x1p63 && v.f < 0x1p63;
    (void)ctx;
    (void)c;
    result->i = fits ? (int64_t)v.f : INT64_MIN;
    return SAW_OK;
}

static enum saw_status float_to_uint(struct saw_ctx *ctx,
                                     const struct saw_conversion *c,
                                     union saw_slot v,
                                     union saw_slot *result)
{
    if (v.f >= 0x1p63 && v.f < 0x1p64) {
        result->u = (uint64_t)v.f;
        return SAW_OK;
    }
    return float_to_int(ctx, c, v, result);
}

static enum saw_status bool_to_text(struct saw_ctx *ctx,
                                    const struct saw_conversion *c,
                                    union saw_slot v,
                                    union saw_slot *result)
{
    struct slice s = v.i ? SLICE_LIT("true") : SLICE_LIT("false");
    (void)c;
    return saw_give_text(saw_string_of(ctx, s, s.len), result);
}

static enum saw_status text_to_bool(struct saw_ctx *ctx,
                                    const struct saw_conversion *c,
                                    union saw_slot v,
                                    union saw_slot *result)
{
    (void)ctx;
    (void)c;
    result->i = v.s->len > 0 && (v.s->data[0] == 't' || v.s->data[0] == 'T');
    return SAW_OK;
}

/* Floats, fingerprints, and composites. */
static enum saw_status convert_formatted(struct saw_ctx *ctx,
                                         const struct saw_conversion *c,
                                         union saw_slot v,
                                         union saw_slot *result)
{
    struct buf *b = &ctx->scratch;
    buf_clear(b);
    saw_value_format(c->from, v, b);
    return saw_give_text(saw_string_dup(ctx, buf_slice(b)), result);
}

static enum saw_status fingerprint_to_bytes(struct saw_ctx *ctx,
                                            const struct saw_conversion *c,
                                            union saw_slot v,
                                            union saw_slot *result)
{
    char bytes[8];
    (void)c;
    put_be64(bytes, v.u);
    return saw_give_text(saw_bytes_dup(ctx, slice_make(bytes, 8)), result);
}

static enum saw_status bytes_to_fingerprint(struct saw_ctx *ctx,
                                            const struct saw_conversion *c,
                                            union saw_slot v,
                                            union saw_slot *result)
{
    (void)c;
    if (v.s->len != 8)
        return saw_undef(ctx, "converting bytes to fingerprint: input must be "
                              "exactly 64 bits long");
    result->u = get_be64(v.s->data);
    return SAW_OK;
}

static enum saw_status text_to_time(struct saw_ctx *ctx,
                                    const struct saw_conversion *c,
                                    union saw_slot v,
                                    union saw_slot *result)
{
    struct slice s = saw_str_slice(v.s);
    if (saw_time_parse(ctx, s, c->zone, &result->u))
        return SAW_OK;
    return saw_undef(ctx,
                     "date conversion failed (\"%.*s\" is not an accepted date "
                     "string) or time zone \"%.*s\" was not recognized",
                     SLICE_ARG(slice_sub(s, 0, 100)), SLICE_ARG(c->zone));
}

static enum saw_status time_to_text(struct saw_ctx *ctx,
                                    const struct saw_conversion *c,
                                    union saw_slot v,
                                    union saw_slot *result)
{
    struct buf *b = &ctx->scratch;
    buf_clear(b);
    if (!saw_time_print(ctx, v.u, c->zone, b))
        return saw_undef(ctx,
                         "date conversion failed: invalid time or time zone "
                         "\"%.*s\" was not recognized",
                         SLICE_ARG(c->zone));
    return saw_give_text(saw_string_dup(ctx, buf_slice(b)), result);
}

/* --- which there are ----------------------------------------------------- */

#define BITS                                                                   \
    {                                                                          \
        same_bits, SAW_EXTRA_NONE, false                                       \
    }

static const struct saw_basic_conversion basic[8][8] = {
    [SAW_BOOL] =
        {
            [SAW_INT] = BITS,
            [SAW_UINT] = BITS,
            [SAW_STRING] = {bool_to_text, SAW_EXTRA_NONE, false},
        },
    [SAW_BYTES] =
        {
            [SAW_FINGERPRINT] = {bytes_to_fingerprint, SAW_EXTRA_NONE, true},
            [SAW_INT] = {saw_bytes_to_int, SAW_EXTRA_LAYOUT, true},
            [SAW_UINT] = {saw_bytes_to_int, SAW_EXTRA_LAYOUT, true},
            [SAW_STRING] = {saw_bytes_to_text, SAW_EXTRA_ENCODING, true},
        },
    [SAW_FINGERPRINT] =
        {
            [SAW_BYTES] = {fingerprint_to_bytes, SAW_EXTRA_NONE, false},
            [SAW_INT] = BITS,
            [SAW_UINT] = BITS,
            [SAW_STRING] = {convert_formatted, SAW_EXTRA_NONE, false},
        },
    [SAW_FLOAT] =
        {
            [SAW_INT] = {float_to_int, SAW_EXTRA_NONE, false},
            [SAW_UINT] = {float_to_uint, SAW_EXTRA_NONE, false},
            [SAW_STRING] = {convert_formatted, SAW_EXTRA_NONE, false},
        },
    [SAW_INT] =
        {
            [SAW_BYTES] = {saw_int_to_bytes, SAW_EXTRA_LAYOUT, true},
            [SAW_FINGERPRINT] = BITS,
            [SAW_FLOAT] = {int_to_float, SAW_EXTRA_NONE, false},
            [SAW_STRING] = {saw_int_to_text, SAW_EXTRA_BASE, true},
            [SAW_TIME] = BITS,
            [SAW_UINT] = BITS,
        },
    [SAW_STRING] =
        {
            [SAW_BOOL] = {text_to_bool, SAW_EXTRA_NONE, false},
            [SAW_BYTES] = {saw_text_to_bytes, SAW_EXTRA_ENCODING, true},
            [SAW_FINGERPRINT] = {saw_text_to_uint, SAW_EXTRA_BASE, true},
            [SAW_FLOAT] = {saw_text_to_float, SAW_EXTRA_NONE, true},
            [SAW_INT] = {saw_text_to_int, SAW_EXTRA_BASE, true},
            [SAW_TIME] = {text_to_time, SAW_EXTRA_ZONE, true},
            [SAW_UINT] = {saw_text_to_uint, SAW_EXTRA_BASE, true},
        },
    [SAW_TIME] =
        {
            [SAW_INT] = BITS,
            [SAW_UINT] = BITS,
            [SAW_STRING] = {time_to_text, SAW_EXTRA_ZONE, true},
        },
    [SAW_UINT] =
        {
            [SAW_BYTES] = {saw_int_to_bytes, SAW_EXTRA_LAYOUT, true},
            [SAW_FINGERPRINT] = BITS,
            [SAW_FLOAT] = {uint_to_float, SAW_EXTRA_NONE, false},
            [SAW_INT] = BITS,
            [SAW_STRING] = {saw_int_to_text, SAW_EXTRA_BASE, true},
            [SAW_TIME] = BITS,
        },
};

const struct saw_basic_conversion *saw_basic_conversion(enum saw_kind from,
                                                        enum saw_kind to)
{
    PRE(saw_kind_is_basic(from) && saw_kind_is_basic(to));
    return &basic[from][to];
}

/* --- the extra argument -------------------------------------------------- */

static void default_extra(struct saw_conversion *c)
{
    const struct saw_type *item = c->from;

    if (item->kind == SAW_ARRAY) /* Deeper ones are not converted. */
        item = item->elem;
    c->base = item->kind == SAW_STRING ? 0 : 10;
    c->encoding = SAW_ENCODING_UTF8;
    c->zone = SLICE_EMPTY;
}

/* Read the arguments after the value. */
static enum saw_status take_extra(struct saw_ctx *ctx,
                                  const struct saw_call *call,
                                  const union saw_slot *args,
                                  struct saw_conversion *c)
{
    default_extra(c);
    if (call->arg_count < 2)
        return SAW_OK;
    if (call->arg_types[1]->kind == SAW_INT) {
        c->base = args[1].i;
        return SAW_OK;
    }
    c->zone = saw_str_slice(args[1].s);
    c->encoding = saw_encoding_find(c->zone);
    if (c->from->kind == SAW_TIME || c->to->kind == SAW_TIME)
        return SAW_OK;
    /* An array of ints to string: "" is the same as none. */
    if (c->from->kind == SAW_ARRAY && c->zone.len == 0)
        return SAW_OK;
    if (c->encoding == SAW_ENCODING_NONE)
        return saw_undef(ctx, "unknown encoding \"%.*s\"", SLICE_ARG(c->zone));
    return SAW_OK;
}

/* --- composites ---------------------------------------------------------- */

static enum saw_status convert_one(struct saw_ctx *ctx,
                                   const struct saw_conversion *c,
                                   union saw_slot v,
                                   union saw_slot *result);

static enum saw_status array_to_array(struct saw_ctx *ctx,
                                      const struct saw_conversion *c,
                                      const struct saw_array *from,
                                      union saw_slot *result)
{
    struct saw_conversion item = *c;
    struct saw_array *to = saw_array_new(ctx, from->len);
    if (!to)
        return SAW_FAIL;
    item.from = c->from->elem;
    item.to = c->to->elem;
    for (size_t i = 0; i < from->len; i++) {
        enum saw_status status =
            convert_one(ctx, &item, from->items[i], &to->items[i]);
        if (status != SAW_OK)
            return status;
    }
    result->a = to;
    return SAW_OK;
}

/* Key and value in turn. */
static enum saw_status array_to_map(struct saw_ctx *ctx,
                                    const struct saw_conversion *c,
                                    const struct saw_array *from,
                                    union saw_slot *result)
{
    struct saw_conversion key = {.from = c->from->elem, .to = c->to->key};
    struct saw_conversion value = {.from = c->from->elem, .to = c->to->elem};
    struct saw_map *m;

    if (from->len & 1)
        return saw_undef(ctx, "odd number of array elements in map conversion");
    default_extra(&key);
    default_extra(&value);
    m = saw_map_new(ctx, from->len / 2);
    if (!m)
        return SAW_FAIL;
    for (size_t i = 0; i < from->len; i += 2) {
        union saw_slot k;
        union saw_slot v;
        struct saw_map_entry *e;
        bool made;
        enum saw_status status = convert_one(ctx, &key, from->items[i], &k);
        if (status == SAW_OK)
            status = convert_one(ctx, &value, from->items[i + 1], &v);
        if (status != SAW_OK)
            return status;
        e = saw_map_add(ctx, m, c->to, k, &made);
        if (!e)
            return SAW_FAIL;
        e->value = v;
    }
    result->m = m;
    return SAW_OK;
}

static enum saw_status array_to_tuple(struct saw_ctx *ctx,
                                      const struct saw_conversion *c,
                                      const struct saw_array *from,
                                      union saw_slot *result)
{
    struct saw_tuple *t;
    if (from->len != c->to->field_count)
        return saw_undef(
            ctx, "array -> tuple conversion failed: len(%s) != %zu",
            c->source ? c->source : "the array", c->to->field_count);
    t = saw_tuple_new(ctx, c->to);
    if (!t)
        return SAW_FAIL;
    for (size_t i = from->len; i-- > 0;) { /* As literals are evaluated. */
        struct saw_conversion item = {.from = c->from->elem,
                                      .to = c->to->fields[i].type};
        enum saw_status status;
        default_extra(&item);
        status = convert_one(ctx, &item, from->items[i], &t->fields[i]);
        if (status != SAW_OK)
            return status;
    }
    if (t->present)
        memset(t->present, 0xff, (c->to->field_count + 63) / 64 * 8);
    result->t = t;
    return SAW_OK;
}

/* The same fields, perhaps under other names or tags. */
static enum saw_status tuple_to_tuple(struct saw_ctx *ctx,
                                      const struct saw_conversion *c,
                                      const struct saw_tuple *from,
                                      union saw_slot *result)
{
    struct saw_tuple *to = saw_tuple_new(ctx, c->to);
    size_t words = (c->to->field_count + 63) / 64;
    if (!to)
        return SAW_FAIL;
    for (size_t i = 0; i < c->to->field_count; i++) {
        to->fields[i] = from->fields[i];
        saw_share(c->to->fields[i].type, to->fields[i]);
    }
    if (to->present && from->present)
        memcpy(to->present, from->present, words * 8);
    else if (to->present)
        memset(to->present, 0xff, words * 8);
    result->t = to;
    return SAW_OK;
}

static enum saw_status text_to_points(struct saw_ctx *ctx,
                                      const struct saw_str *s,
                                      union saw_slot *result)
{
    struct saw_array *a = saw_array_new(ctx, s->chars);
    const char *p = s->data;
    const char *end = s->data + s->len;
    if (!a)
        return SAW_FAIL;
    for (size_t i = 0; i < s->chars; i++) {
        size_t n;
        a->items[i].i = saw_utf8_decode(p, end, &n);
        p += n;
    }
    result->a = a;
    return SAW_OK;
}

static enum saw_status points_to_text(struct saw_ctx *ctx,
                                      const struct saw_array *a,
                                      union saw_slot *result)
{
    struct buf *b = &ctx->scratch;
    buf_clear(b);
    for (size_t i = 0; i < a->len; i++) {
        int64_t c = a->items[i].i;
        char *p = buf_reserve(b, 4);
        size_t n = c > 0 && c <= 0x10ffff ? saw_utf8_encode((uint32_t)c, p) : 0;
        if (c == 0)
            return saw_undef(ctx, "integer 0 encountered converting array of "
                                  "int to string");
        if (n == 0)
            return saw_undef(ctx,
                             "character value 0x%llx out of range converting "
                             "array of int to string",
                             (unsigned long long)c);
        b->len += n;
    }
    return saw_give_text(saw_string_dup(ctx, buf_slice(b)), result);
}

static enum saw_status convert_composite(struct saw_ctx *ctx,
                                         const struct saw_conversion *c,
                                         union saw_slot v,
                                         union saw_slot *result)
{
    enum saw_kind from = c->from->kind;
    enum saw_kind to = c->to->kind;
    if (from == SAW_BYTES && to == SAW_TUPLE)
        return saw_proto_decode(ctx, c->to, c->unread, saw_str_slice(v.s),
                                result);
    if (from == SAW_TUPLE && to == SAW_BYTES)
        return saw_proto_encode(ctx, c->from, v, result);
    if (from == SAW_TUPLE && to == SAW_TUPLE)
        return tuple_to_tuple(ctx, c, v.t, result);
    if (from == SAW_STRING)
        return text_to_points(ctx, v.s, result);
    if (to == SAW_STRING) {
        if (from == SAW_ARRAY && c->encoding == SAW_ENCODING_UNICODE)
            return points_to_text(ctx, v.a, result);
        return convert_formatted(ctx, c, v, result);
    }
    if (to == SAW_ARRAY)
        return array_to_array(ctx, c, v.a, result);
    if (to == SAW_MAP)
        return array_to_map(ctx, c, v.a, result);
    return array_to_tuple(ctx, c, v.a, result);
}

static enum saw_status convert_one(struct saw_ctx *ctx,
                                   const struct saw_conversion *c,
                                   union saw_slot v,
                                   union saw_slot *result)
{
    const struct saw_basic_conversion *b;
    if (!saw_kind_is_basic(c->from->kind) || !saw_kind_is_basic(c->to->kind)) {
        /* Only proto tuples know which fields they have. */
        if (c->from->proto == c->to->proto && saw_type_equal(c->from, c->to)) {
            *result = v;
            saw_share(c->from, v);
            return SAW_OK;
        }
        return convert_composite(ctx, c, v, result);
    }
    if (c->from->kind == c->to->kind) {
        *result = v;
        return SAW_OK;
    }
    b = saw_basic_conversion(c->from->kind, c->to->kind);
    INVARIANT(b->fn != NULL);
    return b->fn(ctx, c, v, result);
}

/* The records of most programs: bytes that are ASCII are the string. */
static bool is_text_already(const struct saw_call *call,
                            const union saw_slot *args)
{
    return call->result_type->kind == SAW_STRING &&
           call->arg_types[0]->kind == SAW_BYTES && call->arg_count == 1 &&
           saw_is_plain_ascii(saw_str_slice(args[0].s));
}

static enum saw_status convert_any(struct saw_ctx *ctx,
                                   const struct saw_call *call,
                                   const union saw_slot *args,
                                   union saw_slot *result)
{
    struct saw_conversion c = {.from = call->arg_types[0],
                               .to = call->result_type,
                               .source = call->source,
                               .unread = call->unread_fields};
    enum saw_status status = take_extra(ctx, call, args, &c);
    return status == SAW_OK ? convert_one(ctx, &c, args[0], result) : status;
}

enum saw_status saw_convert(struct saw_ctx *ctx,
                            const struct saw_call *call,
                            const union saw_slot *args,
                            union saw_slot *result)
{
    if (is_text_already(call, args)) {
        *result = args[0];
        return SAW_OK;
    }
    return convert_any(ctx, call, args, result);
}
