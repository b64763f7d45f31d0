/* Types: the basic ones, comparison, printing; see types.h. */
#include "sawzall-lite/types.h"

#include "base/core/panic.h"

#define BASIC(id, k, text)                                                     \
    const struct saw_type saw_type_##id = {.kind = (k),                        \
                                           .name = {text, sizeof(text) - 1}}

BASIC(bool, SAW_BOOL, "bool");
BASIC(bytes, SAW_BYTES, "bytes");
BASIC(fingerprint, SAW_FINGERPRINT, "fingerprint");
BASIC(float, SAW_FLOAT, "float");
BASIC(int, SAW_INT, "int");
BASIC(string, SAW_STRING, "string");
BASIC(time, SAW_TIME, "time");
BASIC(uint, SAW_UINT, "uint");
BASIC(void, SAW_VOID, "void");
BASIC(incomplete, SAW_INCOMPLETE, "incomplete");
BASIC(bad, SAW_BAD, "bad type");

const struct saw_type saw_type_array_of_int = {.kind = SAW_ARRAY,
                                               .elem = &saw_type_int};
const struct saw_type saw_type_array_of_string = {.kind = SAW_ARRAY,
                                                  .elem = &saw_type_string};
const struct saw_type saw_type_array_of_bytes = {.kind = SAW_ARRAY,
                                                 .elem = &saw_type_bytes};

const struct saw_type *saw_type_array(struct arena *a,
                                      const struct saw_type *elem)
{
    struct saw_type *t;

    if (elem == &saw_type_int)
        return &saw_type_array_of_int;
    if (elem == &saw_type_string)
        return &saw_type_array_of_string;
    if (elem == &saw_type_bytes)
        return &saw_type_array_of_bytes;
    t = arena_zalloc(a, sizeof(*t));
    t->kind = SAW_ARRAY;
    t->elem = elem;
    t->name = SLICE_EMPTY;
    return t;
}

const struct saw_type *saw_type_map(struct arena *a,
                                    const struct saw_type *key,
                                    const struct saw_type *elem)
{
    struct saw_type *t = arena_zalloc(a, sizeof(*t));
    t->kind = SAW_MAP;
    t->key = key;
    t->elem = elem;
    t->name = SLICE_EMPTY;
    return t;
}

/* --- comparison ---------------------------------------------------------- */

/* A recursive type is equal to itself alone at this depth. */
static bool
equal_at(const struct saw_type *a, const struct saw_type *b, unsigned depth);

static bool fields_equal(const struct saw_type *a,
                         const struct saw_type *b,
                         bool names,
                         unsigned depth)
{
    size_t i;

    if (a->field_count != b->field_count)
        return false;
    for (i = 0; i < a->field_count; i++) {
        const struct saw_field *x = &a->fields[i];
        const struct saw_field *y = &b->fields[i];
        if (names && !slice_eq(x->name, y->name))
            return false;
        if (!equal_at(x->type, y->type, depth + 1))
            return false;
    }
    return true;
}

static bool
equal_at(const struct saw_type *a, const struct saw_type *b, unsigned depth)
{
    if (a == b || a->kind == SAW_BAD || b->kind == SAW_BAD)
        return true;
    if (a->kind != b->kind)
        return false;
    if (depth > SAW_TYPE_DEPTH_MAX)
        return false;
    switch (a->kind) {
    case SAW_ARRAY: return equal_at(a->elem, b->elem, depth + 1);
    case SAW_MAP:
        return equal_at(a->key, b->key, depth + 1) &&
               equal_at(a->elem, b->elem, depth + 1);
    case SAW_TUPLE: return fields_equal(a, b, true, depth);
    case SAW_FUNCTION:
        return equal_at(a->elem, b->elem, depth + 1) &&
               fields_equal(a, b, false, depth);
    case SAW_TABLE: return false;
    case SAW_BOOL:
    case SAW_BYTES:
    case SAW_FINGERPRINT:
    case SAW_FLOAT:
    case SAW_INT:
    case SAW_STRING:
    case SAW_TIME:
    case SAW_UINT:
    case SAW_VOID:
    case SAW_BAD: return true;
    case SAW_INCOMPLETE: return false;
    }
    return false;
}

bool saw_type_equal(const struct saw_type *a, const struct saw_type *b)
{
    return equal_at(a, b, 0);
}

/* --- printing ------------------------------------------------------------ */

/* Deeper parts are shown as "…": messages need no more. */
#define PRINT_DEPTH_MAX 6

static void print_at(const struct saw_type *t, struct buf *out, unsigned depth);

static void
print_fields(const struct saw_type *t, struct buf *out, unsigned depth)
{
    size_t i;

    for (i = 0; i < t->field_count; i++) {
        const struct saw_field *f = &t->fields[i];
        if (i)
            buf_append_str(out, ", ");
        if (f->name.len)
            buf_printf(out, "%.*s: ", SLICE_ARG(f->name));
        print_at(f->type, out, depth + 1);
        if (f->tag)
            buf_printf(out, " @ %d", f->tag);
    }
}

static void
print_table(const struct saw_table_type *t, struct buf *out, unsigned depth)
{
    size_t i;

    buf_printf(out, "table %.*s", SLICE_ARG(t->kind));
    if (t->param >= 0)
        buf_printf(out, "(%lld)", (long long)t->param);
    for (i = 0; i < t->index_count; i++) {
        buf_append_byte(out, '[');
        if (t->indices[i].name.len)
            buf_printf(out, "%.*s: ", SLICE_ARG(t->indices[i].name));
        print_at(t->indices[i].type, out, depth + 1);
        buf_append_byte(out, ']');
    }
    buf_append_str(out, " of ");
    if (t->element.name.len)
        buf_printf(out, "%.*s: ", SLICE_ARG(t->element.name));
    print_at(t->element.type, out, depth + 1);
    if (t->weight.type) {
        buf_append_str(out, " weight ");
        if (t->weight.name.len)
            buf_printf(out, "%.*s: ", SLICE_ARG(t->weight.name));
        print_at(t->weight.type, out, depth + 1);
    }
}

static void print_at(const struct saw_type *t, struct buf *out, unsigned depth)
{
    if (t->name.len &&
        (depth > 0 || saw_kind_is_basic(t->kind) || t->kind >= SAW_VOID)) {
        buf_append_slice(out, t->name);
        return;
    }
    if (depth > PRINT_DEPTH_MAX) {
        buf_append_str(out, "…");
        return;
    }
    if (t->kind == SAW_ARRAY) {
        buf_append_str(out, "array of ");
        print_at(t->elem, out, depth + 1);
    } else if (t->kind == SAW_MAP) {
        buf_append_str(out, "map [");
        print_at(t->key, out, depth + 1);
        buf_append_str(out, "] of ");
        print_at(t->elem, out, depth + 1);
    } else if (t->kind == SAW_TUPLE) {
        buf_append_str(out, t->message ? "parsedmessage { " : "{ ");
        print_fields(t, out, depth);
        buf_append_str(out, " }");
    } else if (t->kind == SAW_FUNCTION) {
        buf_append_str(out, "function(");
        print_fields(t, out, depth);
        buf_append_byte(out, ')');
        if (t->elem->kind != SAW_VOID) {
            buf_append_str(out, ": ");
            print_at(t->elem, out, depth + 1);
        }
    } else if (t->kind == SAW_TABLE) {
        print_table(t->table, out, depth);
    }
}

void saw_type_print(const struct saw_type *t, struct buf *out)
{
    print_at(t, out, 0);
}
