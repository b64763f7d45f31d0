/* Types of the language, as every stage after the parser sees them.
 *
 * A type is immutable once made and lives in the arena of its program (the
 * basic ones are constants of the process). Types are compared by structure
 * with saw_type_equal(); pointers of equal types may differ.
 *
 * Invariants, kept by the checker (check_type.c, check_tuple.c)
 *   INV-1. Types written in the source nest at most SAW_TYPE_DEPTH_MAX deep, so
 *          a function may recurse over a type, and over a value by its type.
 *   INV-2. Written out, a type has at most SAW_TYPE_SIZE_MAX parts.
 *   INV-3. Only a tuple type being declared is `open`, and no value of an open
 *          type exists.
 */
#ifndef SAWZALL_LITE_VALUES_TYPES_H
#define SAWZALL_LITE_VALUES_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/slice.h"

/* Deepest nesting of array, map and tuple types. */
#define SAW_TYPE_DEPTH_MAX 100

/* Largest type, written out. Names repeat parts, so a short program could
 * declare a type of any size, and walks over types take time in proportion. */
#define SAW_TYPE_SIZE_MAX 20000U

enum saw_kind {
    SAW_BOOL,
    SAW_BYTES,
    SAW_FINGERPRINT,
    SAW_FLOAT,
    SAW_INT,
    SAW_STRING,
    SAW_TIME,
    SAW_UINT,
    SAW_ARRAY,
    SAW_MAP,
    SAW_TUPLE,
    SAW_FUNCTION,
    SAW_TABLE,
    SAW_VOID,       /* The result type of a function that has none. */
    SAW_INCOMPLETE, /* An empty literal {}: fits any array, map or tuple. */
    SAW_BAD,        /* After an error: fits everything, reports nothing. */
};

/* Wire types of proto tuples, `proto { x: int @ 1 : fixed64 }`. */
enum saw_proto_type {
    SAW_PROTO_DEFAULT,
    SAW_PROTO_INT32,
    SAW_PROTO_UINT32,
    SAW_PROTO_INT64,
    SAW_PROTO_UINT64,
    SAW_PROTO_SINT32,
    SAW_PROTO_SINT64,
    SAW_PROTO_FIXED32,
    SAW_PROTO_FIXED64,
    SAW_PROTO_SFIXED32,
    SAW_PROTO_SFIXED64,
    SAW_PROTO_FLOAT,
    SAW_PROTO_DOUBLE,
    SAW_PROTO_BOOL,
    SAW_PROTO_STRING,
    SAW_PROTO_BYTES,
    SAW_PROTO_ENUM,
    SAW_PROTO_MESSAGE,
    SAW_PROTO_GROUP,
};

struct saw_scope;
struct saw_table_expr;
struct saw_type;
union saw_slot;

/* A field of a tuple, a parameter of a function, an index of a table. */
struct saw_field {
    struct slice name; /* Empty when it has none. */
    const struct saw_type *type;
    int32_t tag;                /* Of a proto tuple's field; else 0. */
    uint8_t proto;              /* enum saw_proto_type. */
    bool required;              /* Proto: `required`. */
    bool has_default;           /* A parameter that may be left out. */
    const union saw_slot *init; /* Proto: the value when absent; NULL: zero. */
};

/* A type or a static declared inside of a named tuple type. */
struct saw_member {
    struct slice name;
    const struct saw_type *type;
    const union saw_slot *constant; /* Of a static of known value; else NULL. */
    bool is_type;
    size_t before; /* It stands before the field of this index. */
};

struct saw_type {
    enum saw_kind kind;
    const struct saw_type *elem; /* Of array and map; result of a function. */
    const struct saw_type *key;  /* Of a map. */
    const struct saw_field *fields; /* Of a tuple; parameters of a function. */
    size_t field_count;
    const struct saw_member *members; /* Of a named tuple, in order. */
    size_t member_count;
    const struct saw_scope *scope; /* Its names; the checker's. */
    bool proto;                    /* A proto tuple: fields can be absent. */
    bool message;                  /* Inside others a message, no group. */
    bool auto_tags;                /* `proto T`: tags by position. */
    bool open;                     /* Still being declared. */
    uint32_t size;     /* Of a composite: types it consists of, written out. */
    struct slice name; /* The name it was declared with, or empty. */
    const struct saw_table_type *table; /* Of SAW_TABLE. */
};

/* Types of some expressions. */
struct saw_type_list {
    const struct saw_type *const *at;
    size_t count;
};

/* A table type: `table kind(param)[indices] of element weight w file(…)
 * format(…)`. */
struct saw_table_type {
    struct slice kind; /* "sum", "top", … */
    int64_t param;     /* Of kind(param); -1 when absent. */
    const struct saw_field *indices;
    size_t index_count;
    struct saw_field element;
    struct saw_field weight;     /* type NULL when there is none. */
    struct saw_type_list file;   /* Arguments of file(…) or proc(…) */
    struct saw_type_list format; /* and of format(…). */
    const char *refusal; /* Why it cannot be aggregated; NULL: it can. */
    bool to_file;        /* file(…) or proc(…) given: goes out at once. */
    bool to_proc;        /* It is proc(…). */
    bool formatted;      /* format(…) given. */
    bool uses_vars;      /* Its arguments use variables that are not static. */
    struct saw_table_expr *syntax; /* The compiler's. */
};

extern const struct saw_type saw_type_bool;
extern const struct saw_type saw_type_bytes;
extern const struct saw_type saw_type_fingerprint;
extern const struct saw_type saw_type_float;
extern const struct saw_type saw_type_int;
extern const struct saw_type saw_type_string;
extern const struct saw_type saw_type_time;
extern const struct saw_type saw_type_uint;
extern const struct saw_type saw_type_void;
extern const struct saw_type saw_type_incomplete;
extern const struct saw_type saw_type_bad;
extern const struct saw_type saw_type_array_of_int;
extern const struct saw_type saw_type_array_of_string;
extern const struct saw_type saw_type_array_of_bytes;

/* In the arena @a, which must live as long as the type is used. */
const struct saw_type *saw_type_array(struct arena *a,
                                      const struct saw_type *elem);
const struct saw_type *saw_type_map(struct arena *a,
                                    const struct saw_type *key,
                                    const struct saw_type *elem);

static inline bool saw_kind_is_basic(enum saw_kind k)
{
    return k <= SAW_UINT;
}

/* Whether slots of this kind hold a pointer. */
static inline bool saw_kind_is_pointer(enum saw_kind k)
{
    return k == SAW_BYTES || k == SAW_STRING || k == SAW_ARRAY ||
           k == SAW_MAP || k == SAW_TUPLE || k == SAW_FUNCTION;
}

/* The number of types @t consists of, written out; a type being declared
 * counts once. */
static inline uint32_t saw_type_size(const struct saw_type *t)
{
    return t->size ? t->size : 1;
}

/* @size plus the size of @t, saturating. */
static inline uint32_t saw_type_size_add(uint32_t size,
                                         const struct saw_type *t)
{
    uint32_t more = saw_type_size(t);

    return more > UINT32_MAX - size ? UINT32_MAX : size + more;
}

/* Same structure. Names of a tuple's fields count, those of parameters and the
 * tags of proto tuples do not; inside a table's type tags do, and so does
 * whether a tuple is a proto tuple. SAW_BAD equals everything. */
bool saw_type_equal(const struct saw_type *a, const struct saw_type *b);
/* The same, but the names of fields do not matter. */
bool saw_type_same_shape(const struct saw_type *a, const struct saw_type *b);

/* How much of a type is written out. */
enum saw_type_detail {
    SAW_TYPE_NAMES,    /* Names where there are any. */
    SAW_TYPE_EXPANDED, /* The same, but for the type itself. */
    SAW_TYPE_FULL,     /* No names; a recursive type ends somewhere. */
};

/* Append the type as a program would write it: "map [string] of array of int".
 */
void saw_type_print(const struct saw_type *t, struct buf *out);
void saw_type_print_as(const struct saw_type *t,
                       enum saw_type_detail detail,
                       struct buf *out);

#endif /* SAWZALL_LITE_VALUES_TYPES_H */
