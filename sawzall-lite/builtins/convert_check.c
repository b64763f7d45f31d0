/* Which conversions exist, for the checker: the same table and the same rules
 * as convert.c runs by, without values. */
#include <stdio.h>

#include "sawzall-lite/builtins/convert_internal.h"
#include "sawzall-lite/builtins/private.h"

#define MESSAGE_BYTES 200

/* How one value of @from becomes one of @to. */
struct way {
    enum saw_extra_kind extra;
    bool extra_required;
    bool may_be_undef;
};

static bool is_array_of_int(const struct saw_type *t)
{
    return t->kind == SAW_ARRAY && t->elem->kind == SAW_INT;
}

static bool find_to_string(const struct saw_type *from, struct way *w)
{
    if (is_array_of_int(from)) {
        w->extra = SAW_EXTRA_ENCODING;
        w->may_be_undef = true;
    }
    return from->kind == SAW_ARRAY || from->kind == SAW_MAP ||
           from->kind == SAW_TUPLE || from->kind == SAW_FUNCTION;
}

/* One step: basic types, strings, protos. */
static bool
find_step(const struct saw_type *from, const struct saw_type *to, struct way *w)
{
    const struct saw_basic_conversion *b;
    *w = (struct way){0};
    if (from->kind == SAW_BYTES && to->kind == SAW_TUPLE && to->proto) {
        w->may_be_undef = true;
        return true;
    }
    if (from->kind == SAW_TUPLE && from->proto && to->kind == SAW_BYTES) {
        w->may_be_undef = true;
        return true;
    }
    if (saw_type_equal(from, to))
        return true;
    if (saw_kind_is_basic(from->kind) && saw_kind_is_basic(to->kind)) {
        b = saw_basic_conversion(from->kind, to->kind);
        w->extra = b->extra;
        w->extra_required = b->extra == SAW_EXTRA_LAYOUT;
        w->may_be_undef = b->may_be_undef;
        return b->fn != NULL;
    }
    if (from->kind == SAW_STRING && is_array_of_int(to)) {
        w->extra = SAW_EXTRA_ENCODING;
        w->extra_required = true;
        w->may_be_undef = true;
        return true;
    }
    if (to->kind == SAW_STRING)
        return find_to_string(from, w);
    return false;
}

/* Parts of maps are made of equal types, or of basic ones. */
static bool pairs_up(const struct saw_type *from, const struct saw_type *to)
{
    return saw_type_equal(from, to) ||
           (saw_kind_is_basic(from->kind) && saw_kind_is_basic(to->kind));
}

/* Conversions of the pairs of an array into a map take nothing further. */
static bool find_array_to_map(const struct saw_type *from,
                              const struct saw_type *to,
                              struct way *w)
{
    struct way key;
    struct way value;
    if (!pairs_up(from->elem, to->key) || !pairs_up(from->elem, to->elem))
        return false;
    if (!find_step(from->elem, to->key, &key) ||
        !find_step(from->elem, to->elem, &value))
        return false;
    *w = (struct way){.may_be_undef = true};
    return !key.extra_required && !value.extra_required;
}

static bool find_array_to_tuple(const struct saw_type *from,
                                const struct saw_type *to,
                                struct way *w)
{
    for (size_t i = 0; i < to->field_count; i++) {
        if (!find_step(from->elem, to->fields[i].type, w) || w->extra_required)
            return false;
    }
    *w = (struct way){.may_be_undef = true};
    return true;
}

static bool find_array_to_array(const struct saw_type *from,
                                const struct saw_type *to,
                                struct way *w)
{
    const struct saw_type *a = from->elem;
    const struct saw_type *b = to->elem;
    bool proto = (a->kind == SAW_BYTES && b->kind == SAW_TUPLE) ||
                 (a->kind == SAW_TUPLE && b->kind == SAW_BYTES);
    if (a->kind == SAW_TUPLE && b->kind == SAW_TUPLE) {
        *w = (struct way){0};
        return saw_type_same_shape(a, b);
    }
    if (!proto && (!saw_kind_is_basic(a->kind) || !saw_kind_is_basic(b->kind)))
        return false;
    return find_step(a, b, w);
}

static bool
find_way(const struct saw_type *from, const struct saw_type *to, struct way *w)
{
    if (find_step(from, to, w))
        return true;
    if (from->kind == SAW_TUPLE && to->kind == SAW_TUPLE)
        return saw_type_same_shape(from, to);
    if (from->kind != SAW_ARRAY)
        return false;
    if (to->kind == SAW_ARRAY)
        return find_array_to_array(from, to, w);
    if (to->kind == SAW_MAP)
        return find_array_to_map(from, to, w);
    return to->kind == SAW_TUPLE && find_array_to_tuple(from, to, w);
}

static const char *extra_text(enum saw_extra_kind extra)
{
    switch (extra) {
    case SAW_EXTRA_NONE: break;
    case SAW_EXTRA_BASE: return "a base (an int)";
    case SAW_EXTRA_ENCODING: return "an encoding (a string)";
    case SAW_EXTRA_LAYOUT:
        return "an encoding (\"varint\", \"fixed64-little\", …)";
    case SAW_EXTRA_ZONE: return "a time zone (a string)";
    }
    return "nothing";
}

static bool extra_fits(const struct way *w,
                       const struct saw_type *const *types,
                       size_t count,
                       char message[MESSAGE_BYTES])
{
    enum saw_kind want = w->extra == SAW_EXTRA_BASE ? SAW_INT : SAW_STRING;
    if (count == 0 && !w->extra_required)
        return true;
    if (w->extra != SAW_EXTRA_NONE && count == 1 &&
        (types[0]->kind == want || types[0]->kind == SAW_BAD))
        return true;
    snprintf(message, MESSAGE_BYTES,
             "this conversion takes %s besides the "
             "value",
             extra_text(w->extra));
    return false;
}

bool saw_convert_check(const struct saw_type *from,
                       const struct saw_type *to,
                       const struct saw_type *const *extra_types,
                       size_t extra_count,
                       bool *may_be_undef,
                       char message[MESSAGE_BYTES])
{
    struct way w = {0};
    struct buf a = BUF_INIT;
    struct buf b = BUF_INIT;

    *may_be_undef = false;
    message[0] = '\0';
    if (from->kind == SAW_BAD || to->kind == SAW_BAD)
        return true;
    if (!find_way(from, to, &w)) {
        snprintf(message, MESSAGE_BYTES, "cannot convert %s to %s",
                 saw_type_name(from, &a), saw_type_name(to, &b));
        buf_close(&a);
        buf_close(&b);
        return false;
    }
    *may_be_undef = w.may_be_undef || extra_count > 0;
    return extra_fits(&w, extra_types, extra_count, message);
}

const char *saw_regex_for_type(struct arena *a,
                               const struct saw_type *t,
                               int64_t base,
                               char message[MESSAGE_BYTES])
{
    (void)a;
    if (t->kind == SAW_FLOAT && base == 0)
        return "([-+]?(([[:digit:]]+(\\.[[:digit:]]*)?|\\.[[:digit:]]+)"
               "([eE][-+]?[[:digit:]]+)?))";
    if (t->kind != SAW_INT) {
        snprintf(message, MESSAGE_BYTES,
                 "regex() knows int, with a base perhaps, and float");
        return NULL;
    }
    switch (base) {
    case 0: return "([-+]?(0x[[:xdigit:]]+|0[0-7]+|[[:digit:]]+))";
    case 8: return "([-+]?[0-7]+)";
    case 10: return "([-+]?[[:digit:]]+)";
    case 16: return "([-+]?(0x)?[[:xdigit:]]+)";
    default: break;
    }
    snprintf(message, MESSAGE_BYTES, "regex(int) knows the bases 8, 10 and 16");
    return NULL;
}
