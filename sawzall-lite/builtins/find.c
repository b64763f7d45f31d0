/* The intrinsics by name, and the helpers of all families. The search is
 * linear: the checker asks once for each name of a program. */
#include <stdarg.h>
#include <stdio.h>

#include "base/core/panic.h"
#include "sawzall-lite/builtins/private.h"

#define TABLE(name) saw_builtins_##name,

static const struct saw_builtin *const families[] = {
    SAW_BUILTIN_FAMILIES(TABLE)};

const struct saw_builtin *saw_builtin_at(size_t index)
{
    for (size_t f = 0; f < ARRAY_LEN(families); f++) {
        for (size_t i = 0; families[f][i].name; i++) {
            if (index-- == 0)
                return &families[f][i];
        }
    }
    return NULL;
}

const struct saw_builtin *saw_builtin_find(struct slice name)
{
    for (size_t f = 0; f < ARRAY_LEN(families); f++) {
        for (size_t i = 0; families[f][i].name; i++) {
            if (slice_eq_str(name, families[f][i].name))
                return &families[f][i];
        }
    }
    return NULL;
}

struct saw_extra *saw_extra_of(struct saw_ctx *ctx)
{
    if (!ctx->extra)
        ctx->extra = mem_zalloc(1, sizeof(struct saw_extra));
    return ctx->extra;
}

void saw_builtins_close(struct saw_ctx *ctx)
{
    struct saw_extra *x = ctx->extra;
    if (x) {
        saw_zones_free(x->zones);
        saw_inputs_free(x->inputs);
        mem_free(x);
    }
    saw_regexes_free(ctx->regexes);
    ctx->extra = NULL;
    ctx->regexes = NULL;
}

const char *saw_type_name(const struct saw_type *t, struct buf *b)
{
    buf_clear(b);
    saw_type_print(t, b);
    return buf_cstr(b);
}

const struct saw_type *
saw_check_fail(struct saw_check *c, int i, const char *fmt, ...)
{
    va_list ap;

    PRE(i >= -1 && (i < 0 || (size_t)i < c->arg_count));
    c->bad_arg = i;
    va_start(ap, fmt);
    vsnprintf(c->message, sizeof(c->message), fmt, ap);
    va_end(ap);
    return NULL;
}
