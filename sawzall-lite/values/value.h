/* Values while a program runs.
 *
 * A value is one 64-bit slot; its type is known statically, so a slot carries
 * no tag. Numbers, bools, times and fingerprints are in the slot; everything
 * else is a pointer to an object in an arena:
 *
 *   static arena   constants of the program and values of statics; live as long
 *                  as their program or run, are never changed and are read by
 *                  several threads
 *   record arena   everything else; dropped at the end of the record
 *
 * Nothing is freed one by one. A slot is never "undefined": a function that
 * cannot produce a value returns SAW_UNDEF, and the caller decides what
 * follows.
 *
 * Value semantics without copies. Text is immutable, and a piece of it shares
 * the bytes. An array, map or tuple is `shared` from the moment a second
 * variable or container may hold it. To change a shared one, a program changes
 * a copy (saw_array_own and the like), whose parts are then shared in turn.
 *
 * Every function that allocates can meet the run's memory limit: it returns
 * NULL (or SAW_FAIL) with the error set in the context, and the caller passes
 * that on.
 *
 * Invariants
 *   INV-1. `shared` is never cleared, and an object with it set is never
 *          changed. Kept by the machine: it owns (saw_*_own) before it changes.
 *   INV-2. Objects of the static arena are shared.
 *   INV-3. In a string, chars <= len; they are equal if and only if it is
 *          ASCII. In bytes, chars == len.
 *   INV-4. In an array, len <= cap; in a map, count <= cap, and with an index
 *          at least half of its slots are free, so every search ends.
 */
#ifndef SAWZALL_LITE_VALUES_VALUE_H
#define SAWZALL_LITE_VALUES_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/rand.h"
#include "base/core/slice.h"
#include "sawzall-lite/values/types.h"

struct saw_array;
struct saw_closure;
struct saw_map;
struct saw_str;
struct saw_tuple;

/* Which member is valid follows from the static type. */
union saw_slot {
    int64_t i;               /* int; bool as 0 or 1. */
    uint64_t u;              /* uint, fingerprint, time (us since 1970). */
    double f;                /* float. */
    const struct saw_str *s; /* string, bytes. */
    struct saw_array *a;
    struct saw_map *m;
    struct saw_tuple *t;
    struct saw_closure *c; /* function. */
    void *p;
};

/* string or bytes. A string is valid UTF-8; `chars` is its length in code
 * points, equal to `len` exactly if it is ASCII. In bytes, chars == len. */
struct saw_str {
    const char *data; /* Not NUL-terminated. */
    size_t len;       /* Bytes. */
    size_t chars;     /* Code points. */
};

struct saw_array {
    union saw_slot *items;
    size_t len;
    size_t cap;  /* Slots at items; appending in place uses the spare ones. */
    bool shared; /* See above. */
};

struct saw_map_entry {
    union saw_slot key;
    union saw_slot value;
    uint64_t hash;
};

/* Entries in order of insertion, which is the order a program sees, and a hash
 * index over them (open addressing, positions + 1). */
struct saw_map {
    struct saw_map_entry *entries;
    uint32_t *index;
    uint32_t count;
    uint32_t cap;        /* Of entries. */
    uint32_t index_mask; /* Size of index - 1; index NULL for small maps. */
    bool shared;
};

struct saw_tuple {
    bool shared;
    uint64_t *present; /* A bit per field of a proto tuple; else NULL. */
    union saw_slot fields[];
};

/* The properties of a function that are known without its code. */
struct saw_callee {
    struct slice text; /* The result of string(). */
    uint32_t index;    /* Among the functions of the program. */
    bool uses_env;     /* It uses variables of functions around it. */
};

struct saw_code;

/* A function as a value. */
struct saw_closure {
    const struct saw_code *code;     /* The generator's (opcodes.h). */
    const struct saw_callee *callee; /* Of that code. */
    uint64_t env;    /* Base of the frame around it, if it uses one, */
    uint32_t serial; /* and which frame that was. */
};

/* The outcome of an operation. */
enum saw_status {
    SAW_OK,
    SAW_UNDEF, /* No value: ctx->err may hold why (saw_undef). */
    SAW_FAIL,  /* The record ends with ctx->err. */
};

/* The part of a run (or, while constants are folded, of the compiler) that
 * code working on values sees. One thread. */
struct saw_ctx {
    struct arena *arena;  /* Where new objects go. */
    size_t bytes_max;     /* Limit of arena->bytes; SIZE_MAX: none. */
    struct err err;       /* Of SAW_FAIL; the reason of SAW_UNDEF. */
    char *text_end;       /* End of the last text made by +, and */
    char *text_limit;     /* of the spare room after it; NULL: none. */
    struct buf scratch;   /* A buffer for use within one operation. */
    uint64_t work;        /* Of intrinsics, not yet charged as fuel. */
    uint64_t work_max;    /* Limit of one record; 0: none. */
    struct rand_gen rand; /* Source of rand() and nrand(). */
    bool folding;         /* At compile time: no clock, no randomness. */
    bool restricted;      /* No file, getenv, load. */
    int64_t (*now_us)(void *ctx); /* The clock. */
    int (*read_file)(void *ctx,
                     struct slice path,
                     struct buf *out,
                     struct err *err); /* load(); NULL: refused. */
    void *hook_ctx;                    /* Of the two above. */
    struct saw_regex_cache *regexes;   /* Patterns met while running; owned by
                                        * builtins/, NULL until needed. */
    void *extra; /* Additional inputs and the like; owned by builtins/. */
};

/* Record why there is no value, "divide by zero" (the runtime adds the rest of
 * the sentence), and return SAW_UNDEF. Cheap: @why is kept by pointer when it
 * has no arguments. */
enum saw_status saw_undef(struct saw_ctx *ctx, const char *fmt, ...)
    PRINTF_LIKE(2, 3);
/* End the record: sets ctx->err and returns SAW_FAIL. */
enum saw_status saw_fail(struct saw_ctx *ctx, int code, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* Slow path of saw_work: sets the error. */
bool saw_work_refused(struct saw_ctx *ctx);

/* Charge work worth @n instructions, before it is done where it can be large.
 * False, with the error set: the record may not spend that much. */
MUST_CHECK static inline bool saw_work(struct saw_ctx *ctx, uint64_t n)
{
    ctx->work += n;
    return LIKELY(!ctx->work_max || ctx->work <= ctx->work_max) ||
           saw_work_refused(ctx);
}

/* Slow path of saw_alloc: a fresh block, or NULL at the limit. */
void *saw_alloc_slow(struct saw_ctx *ctx, size_t size);

/* @size bytes of the context's arena; NULL (error set) at the memory limit. */
MUST_CHECK static inline void *saw_alloc(struct saw_ctx *ctx, size_t size)
{
    struct arena *a = ctx->arena;
    size_t n = (size + 7) & ~(size_t)7;
    if (LIKELY(n >= size && n <= (size_t)(a->end - a->next))) {
        void *p = a->next;
        a->next += n;
        a->bytes += n;
        return p;
    }
    return saw_alloc_slow(ctx, size);
}

/* --- text ---------------------------------------------------------------- */

/* An object over bytes that live long enough already (a piece of another text,
 * a constant). The first is for bytes, the second for a string of known length
 * in code points, the third counts them. PRE for strings: valid UTF-8. */
MUST_CHECK const struct saw_str *saw_bytes_of(struct saw_ctx *ctx,
                                              struct slice data);
MUST_CHECK const struct saw_str *
saw_string_of(struct saw_ctx *ctx, struct slice data, size_t chars);
MUST_CHECK const struct saw_str *saw_string_count(struct saw_ctx *ctx,
                                                  struct slice data);
/* The same with a copy of @data. */
MUST_CHECK const struct saw_str *saw_bytes_dup(struct saw_ctx *ctx,
                                               struct slice data);
MUST_CHECK const struct saw_str *saw_string_dup(struct saw_ctx *ctx,
                                                struct slice data);

static inline struct slice saw_str_slice(const struct saw_str *s)
{
    return slice_make(s->data, s->len);
}

static inline bool saw_str_is_ascii(const struct saw_str *s)
{
    return s->chars == s->len;
}

extern const struct saw_str saw_str_empty;

/* The number of code points in @s. PRE: valid UTF-8. */
size_t saw_utf8_count(struct slice s);
/* Whether @s is valid UTF-8; if so, *@chars gets the number of code points. */
bool saw_utf8_check(struct slice s, size_t *chars);
/* Whether @s is ASCII without zeros: then its bytes are the string, whichever
 * way they are converted. */
bool saw_is_plain_ascii(struct slice s);
/* Byte offset of code point @index (clamped to the end). O(1) for ASCII. */
size_t saw_str_offset(const struct saw_str *s, size_t index);
/* Decode one code point at @p < @end of valid UTF-8; *@len gets its bytes. */
uint32_t saw_utf8_decode(const char *p, const char *end, size_t *len);
/* Encode @cp at @out (4 bytes of room); returns the count, 0 if invalid. */
size_t saw_utf8_encode(uint32_t cp, char *out);

/* --- arrays, maps, tuples ------------------------------------------------ */

/* @len items, uninitialised: the caller fills them all. */
MUST_CHECK struct saw_array *saw_array_new(struct saw_ctx *ctx, size_t len);
/* An array of string or bytes objects over @parts, in two allocations. */
MUST_CHECK struct saw_array *saw_array_of_texts(struct saw_ctx *ctx,
                                                enum saw_kind kind,
                                                const struct slice *parts,
                                                size_t count);
/* An empty map with room for @expect entries. */
MUST_CHECK struct saw_map *saw_map_new(struct saw_ctx *ctx, size_t expect);
/* The entry of @key or NULL. @t is the map's type. */
struct saw_map_entry *saw_map_find(const struct saw_map *m,
                                   const struct saw_type *t,
                                   union saw_slot key);
/* The entry of @key, made (value uninitialised, *@made) when absent. PRE: @m
 * not shared. NULL at the memory limit. */
MUST_CHECK struct saw_map_entry *saw_map_add(struct saw_ctx *ctx,
                                             struct saw_map *m,
                                             const struct saw_type *t,
                                             union saw_slot key,
                                             bool *made);
/* Fields uninitialised; of a proto tuple all absent. */
MUST_CHECK struct saw_tuple *saw_tuple_new(struct saw_ctx *ctx,
                                           const struct saw_type *t);

/* Record that a second holder has @v. Cheap; nothing for numbers and text. */
static inline void saw_share(const struct saw_type *t, union saw_slot v)
{
    if (t->kind == SAW_ARRAY) {
        if (!v.a->shared)
            v.a->shared = true;
    } else if (t->kind == SAW_MAP) {
        if (!v.m->shared)
            v.m->shared = true;
    } else if (t->kind == SAW_TUPLE) {
        if (!v.t->shared)
            v.t->shared = true;
    }
}

/* @v itself if it is not shared, else a copy that may be changed; NULL at the
 * memory limit. */
MUST_CHECK struct saw_array *saw_array_own(struct saw_ctx *ctx,
                                           const struct saw_type *t,
                                           struct saw_array *v);
MUST_CHECK struct saw_map *
saw_map_own(struct saw_ctx *ctx, const struct saw_type *t, struct saw_map *v);
MUST_CHECK struct saw_tuple *saw_tuple_own(struct saw_ctx *ctx,
                                           const struct saw_type *t,
                                           struct saw_tuple *v);

/* Values of recursive types can be nested to any depth. A walk over a value
 * stops below this depth as if nothing were there: deeper parts compare equal,
 * are not printed, and are not part of a hash or a message. */
#define SAW_VALUE_DEPTH_MAX 400

/* --- whole values by type ------------------------------------------------ */

/* Equality of the language: floats as numbers, maps regardless of order,
 * absent fields of proto tuples as equal when both are absent. */
bool saw_value_equal(const struct saw_type *t,
                     union saw_slot a,
                     union saw_slot b);
/* Order: <0, 0, >0. Defined for every type but functions (composites item by
 * item, a prefix first; maps by sorted keys), so that tables can sort. Texts
 * bytewise, which for UTF-8 is the order of code points; NaN is smallest. */
int saw_value_compare(const struct saw_type *t,
                      union saw_slot a,
                      union saw_slot b);
/* Equal values hash equal; not stable between versions. */
uint64_t saw_value_hash(const struct saw_type *t, union saw_slot v);
/* The zero of a type: 0, "", {}, tuple of zeros or, in a proto tuple, of the
 * default values. False at the limit. */
MUST_CHECK bool saw_value_zero(struct saw_ctx *ctx,
                               const struct saw_type *t,
                               union saw_slot *out);

/* Work of walking all of a value: its parts and the bytes of its texts.
 * Counting stops above @limit, because shared parts count each time. */
uint64_t
saw_value_cost(const struct saw_type *t, union saw_slot v, uint64_t limit);

#endif /* SAWZALL_LITE_VALUES_VALUE_H */
