/* What the families of intrinsics share. Private to builtins/.
 */
#ifndef SAWZALL_LITE_BUILTINS_PRIVATE_H
#define SAWZALL_LITE_BUILTINS_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

#include "sawzall-lite/values/builtin.h"

/* A family: a table that ends with a NULL name. */
extern const struct saw_builtin saw_builtins_array[];
extern const struct saw_builtin saw_builtins_codec[];
extern const struct saw_builtin saw_builtins_core[];
extern const struct saw_builtin saw_builtins_format[];
extern const struct saw_builtin saw_builtins_match[];
extern const struct saw_builtin saw_builtins_math[];
extern const struct saw_builtin saw_builtins_outside[];
extern const struct saw_builtin saw_builtins_proto[];
extern const struct saw_builtin saw_builtins_string[];
extern const struct saw_builtin saw_builtins_time[];

/* Things a run keeps between calls, made when first needed: ctx->extra. */
struct saw_extra {
    struct saw_zone *zones;   /* Loaded time zones, a list. */
    struct saw_input *inputs; /* setadditionalinput(), a list. */
    bool inputs_locked;
};

struct saw_extra *saw_extra_of(struct saw_ctx *ctx);
void saw_zones_free(struct saw_zone *z);
void saw_inputs_free(struct saw_input *i);
void saw_regexes_free(struct saw_regex_cache *c);

/* Return @s, or SAW_FAIL when it is NULL (the memory limit). */
static inline enum saw_status saw_give_text(const struct saw_str *s,
                                            union saw_slot *result)
{
    result->s = s;
    return s ? SAW_OK : SAW_FAIL;
}

/* Refuse argument @i (-1: the call) of a call being checked; gives NULL. */
const struct saw_type *
saw_check_fail(struct saw_check *c, int i, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* Append a type for a message; borrowed until the next call with @b. */
const char *saw_type_name(const struct saw_type *t, struct buf *b);

/* Append @x as the language writes floats: %.15g, with ".0" if it would look
 * like an int. */
void saw_print_float(double x, struct buf *out);
/* Append a quoted string with escapes, at most @chars_max code points of it. */
void saw_print_quoted(struct slice s,
                      size_t chars_max,
                      char quote,
                      bool ascii_only,
                      struct buf *out);
/* As string() of a composite writes it: "{ 1, 2 }", times as dates. */
void saw_value_format(const struct saw_type *t,
                      union saw_slot v,
                      struct buf *out);
/* Append an integer in a base from 2 to 36, lower case. */
void saw_print_uint(uint64_t v, unsigned base, struct buf *out);

#endif /* SAWZALL_LITE_BUILTINS_PRIVATE_H */
