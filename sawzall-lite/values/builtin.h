/* The seam between the compiler and the intrinsic functions of builtins/.
 *
 * Each family file of builtins/ has a constant table of struct saw_builtin.
 * The compiler looks a name up once per use (saw_builtin_find) and emits one
 * CALL instruction with a pointer to a struct saw_call, the properties of that
 * call site.
 *
 * The compiler itself implements the functions that need a syntax of their own
 * or lvalues: def, convert and T(x), new, regex, len, haskey, lookup(map),
 * inproto, clearproto, ___undefine, DEBUG. Their computations on values are
 * declared below ("Provided").
 */
#ifndef SAWZALL_LITE_VALUES_BUILTIN_H
#define SAWZALL_LITE_VALUES_BUILTIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "sawzall-lite/values/types.h"
#include "sawzall-lite/values/value.h"

struct regex;

#define SAW_CALL_ARGS_MAX 64

/* Words before an argument of saw() and its like. */
enum saw_arg_flag {
    ARG_PLAIN,
    ARG_SKIP,
    ARG_REST,
    ARG_SUBMATCH,
};

/* One call site. Belongs to the program: constant after compilation, and
 * shared by runs in several threads. */
struct saw_call {
    const struct saw_builtin *builtin;
    size_t arg_count;
    const struct saw_type *const *arg_types; /* arg_count of them. */
    const struct saw_type *result_type;      /* &saw_type_void: none. */
    void *prepared; /* Of builtin->prepare; NULL otherwise. */
    /* Of saw, sawn and sawzall: the word before each argument; else NULL. */
    const enum saw_arg_flag *flags;
    bool once;              /* saw() rather than sawzall(). */
    const char *source;     /* Of a conversion: the expression converted. */
    uint64_t unread_fields; /* Of a conversion to a proto tuple: bits of fields
                               that need not be decoded. */
};

/* Compute. @args are call->arg_count slots in the order written. *@result is
 * set if and only if SAW_OK is returned and there is a result. Objects of the
 * arguments may be shared into the result (saw_share() for composites). */
typedef enum saw_status (*saw_builtin_fn)(struct saw_ctx *ctx,
                                          const struct saw_call *call,
                                          const union saw_slot *args,
                                          union saw_slot *result);

/* A call being compiled, as a check function sees it. */
struct saw_check {
    const struct saw_type *const *arg_types;
    /* Value of an argument that is a constant, else NULL. */
    const union saw_slot *const *constants;
    size_t arg_count;
    struct arena *arena; /* For types made by the check. */
    /* Filled by the check when it returns NULL: which argument (-1: the call as
     * a whole) and what was expected. */
    int bad_arg;
    char message[200];
    /* A warning, if any: e.g. a constant pattern that cannot match. */
    char warning[200];
};

enum {
    /* The result depends on the arguments alone, and there is no other effect:
     * constants fold. */
    SAW_BUILTIN_PURE = 1,
    /* Can return SAW_UNDEF. Without it the result is known to be defined. */
    SAW_BUILTIN_UNDEF = 2,
    /* Refused when compiled with `restricted`: file, environment, process. */
    SAW_BUILTIN_OUTSIDE = 4,
    /* Its effect outlives the record: a run must have all of them, in order. */
    SAW_BUILTIN_STATEFUL = 8,
    /* Draws from ctx->rand. */
    SAW_BUILTIN_RANDOM = 16,
    /* Depends on when, or on which machine, it is called. */
    SAW_BUILTIN_MOMENT = 32,
};

struct saw_builtin {
    const char *name;
    /* Either a signature in the language's own syntax, "function(t: time, n:
     * int, tz: string): time", of which the last arguments may be left out down
     * to @args_min; or NULL and @check decides. */
    const char *signature;
    size_t args_min;
    unsigned flags;
    saw_builtin_fn fn;
    /* The result type of a call with these arguments; NULL with c->bad_arg and
     * c->message set ("expected an array, not int") when they do not fit. For
     * functions with a signature it is optional, is called after the arguments
     * were matched, and can refuse constants ("bad regular expression: …"). */
    const struct saw_type *(*check)(struct saw_check *c);
    /* Called once per call site, after the check, to compute in advance from
     * constant arguments (@constants as in struct saw_check), such as to
     * compile a regex. NULL: nothing was prepared. @release frees the result
     * with the program. */
    void *(*prepare)(const struct saw_call *call,
                     const union saw_slot *const *constants);
    void (*release)(void *prepared);
    /* Static text: one line of help, shown by the shell. */
    const char *help;
};

/* --- provided by builtins/ ----------------------------------------------- */

/* The `+` of fingerprints: the compiler calls it. */
extern const struct saw_builtin saw_builtin_fingerprint_cat;

/* The function called @name, or NULL. Any thread. */
const struct saw_builtin *saw_builtin_find(struct slice name);
/* All of them, for help and completion; NULL past the end. */
const struct saw_builtin *saw_builtin_at(size_t index);

/* Whether a value of @from can be converted to @to with @extra_count further
 * arguments of @extra_types (a base, a time zone, an encoding). False with the
 * reason in @message. *@may_be_undef: some values have no conversion. */
bool saw_convert_check(const struct saw_type *from,
                       const struct saw_type *to,
                       const struct saw_type *const *extra_types,
                       size_t extra_count,
                       bool *may_be_undef,
                       char message[200]);
/* Convert args[0]; args[1…] are the further arguments. call->arg_types[0] is
 * the type converted from, call->result_type the type wanted. Pure. */
enum saw_status saw_convert(struct saw_ctx *ctx,
                            const struct saw_call *call,
                            const union saw_slot *args,
                            union saw_slot *result);

/* @data as a string: bytes that are no part of valid UTF-8, and zeros, become
 * U+FFFD. NULL at the memory limit. */
MUST_CHECK const struct saw_str *saw_string_repair(struct saw_ctx *ctx,
                                                   struct slice data);

/* The pattern `regex(T, base)` stands for, or NULL when T has none. Borrowed
 * from constants or, if it depends on the base, from @a. */
const char *saw_regex_for_type(struct arena *a,
                               const struct saw_type *t,
                               int64_t base,
                               char message[200]);

/* The type that argument @index after @format must have; NULL: there is no
 * such argument, or any type fits. */
const struct saw_type *saw_format_arg_type(struct slice format, size_t index);

/* The language's fingerprintof(). */
uint64_t saw_value_fingerprint(const struct saw_type *t, union saw_slot v);

/* The treatment of the match of one pattern of saw(). */
enum saw_saw_flag {
    SAW_SAW_PLAIN,    /* The match is a piece. */
    SAW_SAW_SKIP,     /* The match is dropped. */
    SAW_SAW_SUBMATCH, /* The groups are pieces; the match if it has none. */
};

/* Cut a string into pieces by patterns: saw, sawn and sawzall. The compiler
 * parses skip, rest and submatch; the patterns between two `rest` make one
 * call of this, and `rest x` stores the *text that is left.
 *
 * Apply the patterns in turn, up to @count times, each from the end of the
 * match before, until one does not match. Pieces are appended to *@result,
 * which is made when NULL. *@text becomes the rest. Errors: SAW_UNDEF a
 * pattern is bad; SAW_FAIL the memory limit. PRE: @pattern_count <=
 * SAW_CALL_ARGS_MAX.
 */
enum saw_status saw_saw(struct saw_ctx *ctx,
                        const struct saw_str **text,
                        int64_t count,
                        const struct saw_str *const *patterns,
                        const uint8_t *flags,
                        size_t pattern_count,
                        struct saw_array **result);

/* Free what ctx->regexes and ctx->extra hold. */
void saw_builtins_close(struct saw_ctx *ctx);

#endif /* SAWZALL_LITE_VALUES_BUILTIN_H */
