/* Types: the basic ones, comparison, printing; see types.h.
 *
 * Recursive types make the graph of types cyclic. Comparison assumes that a
 * pair it is already comparing is equal (coinduction, as for equi-recursive
 * types); printing cuts at a depth and at a size.
 */
#include "sawzall-lite/values/types.h"

#include "base/core/panic.h"
#include "sawzall-lite/values/value_text.h"

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

    PRE(elem);
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
    t->size = saw_type_size_add(1, elem);
    return t;
}

const struct saw_type *saw_type_map(struct arena *a,
                                    const struct saw_type *key,
                                    const struct saw_type *elem)
{
    struct saw_type *t = arena_zalloc(a, sizeof(*t));
    PRE(key && elem);
    t->kind = SAW_MAP;
    t->key = key;
    t->elem = elem;
    t->name = SLICE_EMPTY;
    t->size = saw_type_size_add(saw_type_size_add(1, key), elem);
    return t;
}

/* --- comparison ---------------------------------------------------------- */

/* The pairs being compared, from the innermost out. A pair that occurs again
 * inside of itself, which only recursive types do, is equal unless something
 * else tells the two apart. */
struct pair {
    const struct saw_type *a;
    const struct saw_type *b;
    const struct pair *outer;
    unsigned depth;
    bool loose;  /* Names of fields do not matter. */
    bool strict; /* Proto tuples differ from others, and by their tags. */
};

static bool equal_at(const struct saw_type *a,
                     const struct saw_type *b,
                     const struct pair *in);

static bool fields_equal(const struct saw_type *a,
                         const struct saw_type *b,
                         bool names,
                         const struct pair *in)
{
    size_t i;

    if (a->field_count != b->field_count)
        return false;
    for (i = 0; i < a->field_count; i++) {
        const struct saw_field *x = &a->fields[i];
        const struct saw_field *y = &b->fields[i];
        if (names && !slice_eq(x->name, y->name))
            return false;
        if (in->strict && x->tag != y->tag)
            return false;
        if (!equal_at(x->type, y->type, in))
            return false;
    }
    return true;
}

static bool columns_equal(const struct saw_field *a,
                          const struct saw_field *b,
                          const struct pair *in)
{
    return slice_eq(a->name, b->name) && equal_at(a->type, b->type, in);
}

static bool tuple_types_equal(const struct saw_type *a,
                              const struct saw_type *b,
                              const struct pair *in)
{
    if (in->strict && (a->proto != b->proto || a->message != b->message))
        return false;
    return fields_equal(a, b, !in->loose, in);
}

/* Compare the types of the arguments of file(…), proc(…) or format(…). */
static bool format_types_equal(const struct saw_type_list *a,
                               const struct saw_type_list *b,
                               const struct pair *in)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        if (!equal_at(a->at[i], b->at[i], in))
            return false;
    }
    return true;
}

/* The texts of formats do not matter; the types they print do, and whether
 * there is a format at all. */
static bool tables_equal(const struct saw_table_type *a,
                         const struct saw_table_type *b,
                         const struct pair *outer)
{
    struct pair strict = *outer;
    const struct pair *in = &strict;
    size_t i;

    strict.strict = true;
    if (!slice_eq(a->kind, b->kind) || a->param != b->param ||
        a->to_file != b->to_file || a->to_proc != b->to_proc ||
        a->formatted != b->formatted || a->index_count != b->index_count ||
        !a->weight.type != !b->weight.type)
        return false;
    for (i = 0; i < a->index_count; i++) {
        if (!columns_equal(&a->indices[i], &b->indices[i], in))
            return false;
    }
    if (!format_types_equal(&a->file, &b->file, in) ||
        !format_types_equal(&a->format, &b->format, in))
        return false;
    return columns_equal(&a->element, &b->element, in) &&
           (!a->weight.type || equal_at(a->weight.type, b->weight.type, in));
}

static bool is_assumed(const struct saw_type *a,
                       const struct saw_type *b,
                       const struct pair *in)
{
    for (; in; in = in->outer) {
        if (in->a == a && in->b == b)
            return true;
    }
    return false;
}

static bool equal_at(const struct saw_type *a,
                     const struct saw_type *b,
                     const struct pair *outer)
{
    struct pair here = {a,
                        b,
                        outer,
                        outer ? outer->depth + 1 : 0,
                        outer && outer->loose,
                        outer && outer->strict};
    const struct pair *in = &here;

    if (a == b || a->kind == SAW_BAD || b->kind == SAW_BAD)
        return true;
    if (a->kind != b->kind || a->open || b->open)
        return false;
    if (saw_kind_is_basic(a->kind) || is_assumed(a, b, outer))
        return true;
    if (here.depth > SAW_TYPE_DEPTH_MAX)
        return false;
    switch (a->kind) {
    case SAW_ARRAY: return equal_at(a->elem, b->elem, in);
    case SAW_MAP:
        return equal_at(a->key, b->key, in) && equal_at(a->elem, b->elem, in);
    case SAW_TUPLE: return tuple_types_equal(a, b, in);
    case SAW_FUNCTION:
        return equal_at(a->elem, b->elem, in) && fields_equal(a, b, false, in);
    case SAW_TABLE: return tables_equal(a->table, b->table, in);
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
    return equal_at(a, b, NULL);
}

bool saw_type_same_shape(const struct saw_type *a, const struct saw_type *b)
{
    struct pair loose = {.loose = true};

    return equal_at(a, b, &loose);
}

/* --- printing ------------------------------------------------------------ */

/* Deeper parts are shown as "…". Only recursive types get there. */
#define PRINT_DEPTH_MAX 12

/* A type written out in full can be long; the text is cut there. */
#define PRINT_BYTES_MAX 65536

struct printer {
    struct buf *out;
    enum saw_type_detail detail;
    size_t end; /* Of out->len; what comes after is "…". */
};

static void
print_at(struct printer *p, const struct saw_type *t, unsigned depth);

static void
print_field(struct printer *p, const struct saw_field *f, unsigned depth)
{
    if (f->name.len)
        buf_printf(p->out, "%.*s: ", SLICE_ARG(f->name));
    print_at(p, f->type, depth + 1);
}

static void
print_member(struct printer *p, const struct saw_member *m, unsigned depth)
{
    struct printer inner = {p->out, SAW_TYPE_EXPANDED, p->end};

    if (m->is_type) {
        buf_printf(p->out, "type %.*s = ", SLICE_ARG(m->name));
        print_at(&inner, m->type, depth < PRINT_DEPTH_MAX ? 0 : depth);
        return;
    }
    buf_printf(p->out, "static %.*s: ", SLICE_ARG(m->name));
    print_at(p, m->type, depth + 1);
    if (m->constant) {
        buf_append_str(p->out, " = ");
        saw_value_print(m->type, *m->constant, SAW_PRINT_SOURCE, p->out);
    }
}

static void print_tuple_field(struct printer *p,
                              const struct saw_type *t,
                              const struct saw_field *f,
                              unsigned depth)
{
    print_field(p, f, depth);
    if (f->init) {
        buf_append_str(p->out, " = ");
        saw_value_print(f->type, *f->init, SAW_PRINT_SOURCE, p->out);
    }
    if (f->tag && !t->auto_tags)
        buf_printf(p->out, " @ %d", f->tag);
}

static void
print_tuple(struct printer *p, const struct saw_type *t, unsigned depth)
{
    size_t member = 0;

    if (t->auto_tags)
        buf_append_str(p->out, "proto ");
    else if (t->message)
        buf_append_str(p->out, "parsedmessage ");
    buf_append_byte(p->out, '{');
    for (size_t field = 0; field <= t->field_count; field++) {
        for (; member < t->member_count && t->members[member].before <= field;
             member++) {
            if (field + member > 0)
                buf_append_str(p->out, ", ");
            print_member(p, &t->members[member], depth);
        }
        if (field == t->field_count)
            break;
        if (field + member > 0)
            buf_append_str(p->out, ", ");
        print_tuple_field(p, t, &t->fields[field], depth);
    }
    buf_append_byte(p->out, '}');
}

static void
print_function(struct printer *p, const struct saw_type *t, unsigned depth)
{
    size_t i;

    buf_append_str(p->out, "function(");
    for (i = 0; i < t->field_count; i++) {
        if (i)
            buf_append_str(p->out, ", ");
        print_field(p, &t->fields[i], depth);
    }
    buf_append_byte(p->out, ')');
    if (t->elem->kind != SAW_VOID) {
        buf_append_str(p->out, ": ");
        print_at(p, t->elem, depth + 1);
    }
}

static void
print_table(struct printer *p, const struct saw_table_type *t, unsigned depth)
{
    size_t i;

    buf_printf(p->out, "table %.*s", SLICE_ARG(t->kind));
    if (t->param >= 0)
        buf_printf(p->out, "(%lld)", (long long)t->param);
    for (i = 0; i < t->index_count; i++) {
        buf_append_byte(p->out, '[');
        print_field(p, &t->indices[i], depth);
        buf_append_byte(p->out, ']');
    }
    buf_append_str(p->out, " of ");
    print_field(p, &t->element, depth);
    if (t->weight.type) {
        buf_append_str(p->out, " weight ");
        print_field(p, &t->weight, depth);
    }
}

static bool
by_name(const struct printer *p, const struct saw_type *t, unsigned depth)
{
    if (t->name.len == 0)
        return false;
    if (saw_kind_is_basic(t->kind) || t->kind >= SAW_VOID)
        return true;
    return p->detail == SAW_TYPE_NAMES ||
           (p->detail == SAW_TYPE_EXPANDED && depth > 0);
}

static void
print_at(struct printer *p, const struct saw_type *t, unsigned depth)
{
    if (by_name(p, t, depth)) {
        buf_append_slice(p->out, t->name);
        return;
    }
    if (depth > PRINT_DEPTH_MAX || p->out->len > p->end) {
        buf_append_str(p->out, "…");
        return;
    }
    if (t->kind == SAW_ARRAY) {
        buf_append_str(p->out, "array of ");
        print_at(p, t->elem, depth + 1);
    } else if (t->kind == SAW_MAP) {
        buf_append_str(p->out, "map [");
        print_at(p, t->key, depth + 1);
        buf_append_str(p->out, "] of ");
        print_at(p, t->elem, depth + 1);
    } else if (t->kind == SAW_TUPLE) {
        print_tuple(p, t, depth);
    } else if (t->kind == SAW_FUNCTION) {
        print_function(p, t, depth);
    } else if (t->kind == SAW_TABLE) {
        print_table(p, t->table, depth);
    }
}

void saw_type_print_as(const struct saw_type *t,
                       enum saw_type_detail detail,
                       struct buf *out)
{
    struct printer p = {out, detail, out->len + PRINT_BYTES_MAX};

    PRE(t);
    print_at(&p, t, 0);
}

void saw_type_print(const struct saw_type *t, struct buf *out)
{
    saw_type_print_as(t, SAW_TYPE_NAMES, out);
}
