/* Functions on floats, as the C library computes them. Results outside of
 * their domain are NaN, not undefined, as in the published interpreter. */
#include <math.h>

#include "sawzall-lite/builtins/private.h"

#define UNARY(name, function)                                                  \
    static enum saw_status fn_##name(                                          \
        struct saw_ctx *ctx, const struct saw_call *call,                      \
        const union saw_slot *args, union saw_slot *result)                    \
    {                                                                          \
        (void)ctx;                                                             \
        (void)call;                                                            \
        result->f = function(args[0].f);                                       \
        return SAW_OK;                                                         \
    }

#define BINARY(name, function)                                                 \
    static enum saw_status fn_##name(                                          \
        struct saw_ctx *ctx, const struct saw_call *call,                      \
        const union saw_slot *args, union saw_slot *result)                    \
    {                                                                          \
        (void)ctx;                                                             \
        (void)call;                                                            \
        result->f = function(args[0].f, args[1].f);                            \
        return SAW_OK;                                                         \
    }

#define PREDICATE(name, test)                                                  \
    static enum saw_status fn_##name(                                          \
        struct saw_ctx *ctx, const struct saw_call *call,                      \
        const union saw_slot *args, union saw_slot *result)                    \
    {                                                                          \
        (void)ctx;                                                             \
        (void)call;                                                            \
        result->i = test(args[0].f) != 0;                                      \
        return SAW_OK;                                                         \
    }

UNARY(ln, log)
UNARY(log10, log10)
UNARY(exp, exp)
UNARY(sqrt, sqrt)
UNARY(sin, sin)
UNARY(cos, cos)
UNARY(tan, tan)
UNARY(asin, asin)
UNARY(acos, acos)
UNARY(atan, atan)
UNARY(cosh, cosh)
UNARY(sinh, sinh)
UNARY(tanh, tanh)
UNARY(acosh, acosh)
UNARY(asinh, asinh)
UNARY(atanh, atanh)
UNARY(fabs, fabs)
UNARY(ceil, ceil)
UNARY(floor, floor)
UNARY(round, round)
UNARY(trunc, trunc)
BINARY(pow, pow)
BINARY(atan2, atan2)
PREDICATE(isnan, isnan)
PREDICATE(isinf, isinf)
PREDICATE(isfinite, isfinite)
PREDICATE(isnormal, isnormal)

#define ROW(n, sig, min, text)                                                 \
    {                                                                          \
        .name = #n, .signature = sig, .args_min = min,                         \
        .flags = SAW_BUILTIN_PURE, .fn = fn_##n, .help = text                  \
    }
#define ROW1(n, text) ROW(n, "function(x: float): float", 1, text)
#define ROW2(n, text) ROW(n, "function(x: float, y: float): float", 2, text)
#define ROWP(n, text) ROW(n, "function(x: float): bool", 1, text)

const struct saw_builtin saw_builtins_math[] = {
    ROW1(ln, "ln(x): natural logarithm"),
    ROW1(log10, "log10(x): logarithm to base 10"),
    ROW1(exp, "exp(x): e to the power x"),
    ROW1(sqrt, "sqrt(x): square root"),
    ROW2(pow, "pow(x, y): x to the power y"),
    ROW1(sin, "sin(x): sine of radians"),
    ROW1(cos, "cos(x): cosine of radians"),
    ROW1(tan, "tan(x): tangent of radians"),
    ROW1(asin, "asin(x): arc sine"),
    ROW1(acos, "acos(x): arc cosine"),
    ROW1(atan, "atan(x): arc tangent"),
    ROW2(atan2, "atan2(y, x): angle of the point (x, y)"),
    ROW1(cosh, "cosh(x): hyperbolic cosine"),
    ROW1(sinh, "sinh(x): hyperbolic sine"),
    ROW1(tanh, "tanh(x): hyperbolic tangent"),
    ROW1(acosh, "acosh(x): inverse hyperbolic cosine"),
    ROW1(asinh, "asinh(x): inverse hyperbolic sine"),
    ROW1(atanh, "atanh(x): inverse hyperbolic tangent"),
    ROW1(fabs, "fabs(x): absolute value"),
    ROW1(ceil, "ceil(x): the least whole number not below x"),
    ROW1(floor, "floor(x): the greatest whole number not above x"),
    ROW1(round, "round(x): nearest whole number, halves away from 0"),
    ROW1(trunc, "trunc(x): x without its fraction"),
    ROWP(isnan, "isnan(x): is it not a number?"),
    ROWP(isinf, "isinf(x): is it an infinity?"),
    ROWP(isfinite, "isfinite(x): is it a number?"),
    ROWP(isnormal, "isnormal(x): neither 0, subnormal, infinite nor nan?"),
    {.name = NULL},
};
