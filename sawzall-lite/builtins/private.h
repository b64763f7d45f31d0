/* Shared by the families of intrinsics. Private to builtins/. */
#ifndef SAWZALL_LITE_BUILTINS_PRIVATE_H
#define SAWZALL_LITE_BUILTINS_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

#include "sawzall-lite/values/builtin.h"
#include "sawzall-lite/values/value_text.h"

/* The register of families, in the order of help: a family is a file that
 * defines saw_builtins_NAME, a table that ends with a NULL name, and a line
 * here. A function is a line of its family's table. */
#define SAW_BUILTIN_FAMILIES(FAMILY)                                           \
    FAMILY(core)                                                               \
    FAMILY(array)                                                              \
    FAMILY(string)                                                             \
    FAMILY(match)                                                              \
    FAMILY(format)                                                             \
    FAMILY(math)                                                               \
    FAMILY(time)                                                               \
    FAMILY(codec)                                                              \
    FAMILY(outside)                                                            \
    FAMILY(proto)

#define SAW_FAMILY_DECLARE(name)                                               \
    extern const struct saw_builtin saw_builtins_##name[];
SAW_BUILTIN_FAMILIES(SAW_FAMILY_DECLARE)
#undef SAW_FAMILY_DECLARE

/* Things a run keeps between calls, made when first needed: ctx->extra. */
struct saw_extra {
    struct saw_zone *zones;   /* Loaded time zones, a list. */
    struct saw_input *inputs; /* setadditionalinput(), a list. */
    bool inputs_locked;
};

/* That of @ctx, made on first use; saw_builtins_close() frees it. */
struct saw_extra *saw_extra_of(struct saw_ctx *ctx);
/* Free the parts of an extra and the cache; NULL is allowed. */
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

/* As string() of a composite writes it: "{ 1, 2 }", times as dates. */
void saw_value_format(const struct saw_type *t,
                      union saw_slot v,
                      struct buf *out);

#endif /* SAWZALL_LITE_BUILTINS_PRIVATE_H */
