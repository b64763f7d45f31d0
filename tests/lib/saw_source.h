/* Programs out of bytes: each byte chooses a production of a grammar of
 * well-typed Sawzall, so that random bytes, or those of a fuzzer, become
 * programs that compile and mostly end.
 *
 * Loops are bounded by counters of their own. Undefined operations (indices,
 * divisions, missing keys) are left in on purpose.
 */
#ifndef TESTS_LIB_SAW_SOURCE_H
#define TESTS_LIB_SAW_SOURCE_H

#include <stdint.h>

#include "base/core/buf.h"

struct saw_source {
    const uint8_t *p;
    const uint8_t *end;
    struct buf text;
    unsigned depth;
    unsigned loops; /* Around what is generated now. */
    unsigned serial;
    bool in_function; /* No `emit` into all tables, `return` is possible. */
};

enum saw_source_type {
    SRC_INT,
    SRC_STRING,
    SRC_ARRAY,
    SRC_BOOL,
    SRC_FLOAT,
};

static inline unsigned src_pick(struct saw_source *s, unsigned n)
{
    return s->p < s->end ? *s->p++ % n : 0;
}

static inline void src_put(struct saw_source *s, const char *text)
{
    buf_append_str(&s->text, text);
}

static inline void src_expr(struct saw_source *s, enum saw_source_type type);

/* Text in which %i, %s, %a, %b, %f stand for expressions, %% for itself. */
static inline void src_form(struct saw_source *s, const char *form)
{
    for (; *form; form++) {
        if (*form != '%') {
            buf_append_byte(&s->text, *form);
            continue;
        }
        switch (*++form) {
        case 'i': src_expr(s, SRC_INT); break;
        case 's': src_expr(s, SRC_STRING); break;
        case 'a': src_expr(s, SRC_ARRAY); break;
        case 'b': src_expr(s, SRC_BOOL); break;
        case 'f': src_expr(s, SRC_FLOAT); break;
        default: buf_append_byte(&s->text, *form); break;
        }
    }
}

#define SRC_CHOOSE(s, list)                                                    \
    src_form(s, (list)[src_pick(s, sizeof(list) / sizeof((list)[0]))])

static inline void src_leaf(struct saw_source *s, enum saw_source_type type)
{
    static const char *const ints[] = {
        "i", "j", "0",   "1",    "2",     "-1",     "63", "2147483648",
        "i", "j", "p.x", "a[0]", "40000", "-32768", "st", "undefined_int"};
    static const char *const strings[] = {
        "s", "t", "\"\"", "\"abc\"", "m[i]", "m[0]", "\"h\\u00e9\"", "s"};
    static const char *const arrays[] = {"a", "b", "{1, 2, 3}", "p.y", "a"};
    static const char *const bools[] = {"true", "false", "ok", "i < j",
                                        "s == t"};
    static const char *const floats[] = {"x", "y", "0.5", "2.0", "-1.5", "x"};

    switch (type) {
    case SRC_INT: SRC_CHOOSE(s, ints); break;
    case SRC_STRING: SRC_CHOOSE(s, strings); break;
    case SRC_ARRAY: SRC_CHOOSE(s, arrays); break;
    case SRC_BOOL: SRC_CHOOSE(s, bools); break;
    case SRC_FLOAT: SRC_CHOOSE(s, floats); break;
    }
}

static inline void src_expr(struct saw_source *s, enum saw_source_type type)
{
    static const char *const ints[] = {
        "(%i + %i)",
        "(%i - %i)",
        "(%i * %i)",
        "(%i / %i)",
        "(%i %% %i)",
        "(%i / 7 + %i %% 10)",
        "(%i & 255)",
        "(%i << 3)",
        "(%i >> 2)",
        "(%i | %i ^ %i & %i)",
        "-%i",
        "~%i",
        "len(%s)",
        "len(%a)",
        "%a[%i]",
        "f(%i, %s)",
        "inc(%i)",
        "pick(%b, %i, %i)",
        "count(%a)",
        "outer(%i)",
        "int(%f)",
        "int(%s, 10)",
        "?{ k: int = %i; k++; result k + j; }",
        "?{ i = %i; result i; }",
        "?{ if (%b) result %i; result %i; }",
        "strfind(%s, %s)",
        "q[%s].x",
        "p.y[%i]",
        "abs(%i)",
        "max(%i, %i)",
    };
    static const char *const strings[] = {"(%s + %s)",
                                          "%s[%i:%i]",
                                          "%s[1:$]",
                                          "string(%i)",
                                          "string(%f)",
                                          "string(%b)",
                                          "string(%a)",
                                          "lowercase(%s)",
                                          "m[%i]",
                                          "twice(%s)",
                                          "format(\"%%d-%%s\", %i, %s)",
                                          "matchstrs(\"b*(c?)\", %s)[%i]",
                                          "?{ t = %s; result t + s; }"};
    static const char *const arrays[] = {
        "(%a + %a)", "%a[%i:%i]",    "{%i, %i}",
        "sort(%a)",  "grow(%a, %i)", "new(array of int, %i & 7, %i)",
        "p.y"};
    static const char *const bools[] = {"%i < %i",
                                        "%i <= 5",
                                        "%i == %i",
                                        "3 > %i",
                                        "%s == %s",
                                        "%s < %s",
                                        "%f < %f",
                                        "%f >= 0.5",
                                        "2.0 < %f",
                                        "(%b && %b)",
                                        "(%b || %b)",
                                        "(%b and %b)",
                                        "(%b or %b)",
                                        "!(%b)",
                                        "def(%i)",
                                        "def(%s)",
                                        "def(m[%i])",
                                        "haskey(m, %i)",
                                        "match(\"a+b\", %s)",
                                        "even(%i)",
                                        "%a == %a",
                                        "%f != %f"};
    static const char *const floats[] = {"(%f + %f)",
                                         "(%f - %f)",
                                         "(%f * %f)",
                                         "(%f / %f)",
                                         "(%f * %f + %f)",
                                         "(%f * %f - %f * %f)",
                                         "(2.0 * %f * %f + %f)",
                                         "float(%i)",
                                         "(%f / 4.0)",
                                         "half(%f)",
                                         "fabs(%f)"};

    if (++s->depth > 6 || src_pick(s, 3) == 0) {
        src_leaf(s, type);
        s->depth--;
        return;
    }
    switch (type) {
    case SRC_INT: SRC_CHOOSE(s, ints); break;
    case SRC_STRING: SRC_CHOOSE(s, strings); break;
    case SRC_ARRAY: SRC_CHOOSE(s, arrays); break;
    case SRC_BOOL: SRC_CHOOSE(s, bools); break;
    case SRC_FLOAT: SRC_CHOOSE(s, floats); break;
    }
    s->depth--;
}

static inline void src_stmt(struct saw_source *s);

static inline void src_body(struct saw_source *s)
{
    unsigned n = 1 + src_pick(s, 3);

    src_put(s, "{ ");
    while (n-- > 0)
        src_stmt(s);
    src_put(s, "}\n");
}

static inline void src_loop(struct saw_source *s)
{
    unsigned n = s->serial++;

    if (s->loops >= 3) {
        src_put(s, ";\n");
        return;
    }
    s->loops++;
    switch (src_pick(s, 4)) {
    case 0:
        buf_printf(&s->text, "for (k%u: int = 0; k%u < 3; k%u++) ", n, n, n);
        src_body(s);
        break;
    case 1:
        buf_printf(&s->text, "{ g%u: int = 0; while (g%u < 3 && ", n, n);
        src_form(s, "%b");
        buf_printf(&s->text, ") { g%u++; ", n);
        src_body(s);
        src_put(s, "} }\n");
        break;
    case 2:
        buf_printf(&s->text, "{ g%u: int = 0; do { g%u++; ", n, n);
        src_body(s);
        buf_printf(&s->text, "} while (g%u < 2 && ", n);
        src_form(s, "%b); }\n");
        break;
    default:
        buf_printf(&s->text, "when (w%u: ", n);
        src_put(s, src_pick(s, 2) ? "each" : src_pick(s, 2) ? "some" : "all");
        buf_printf(&s->text, " int; a[w%u] > ", n);
        src_form(s, "%i) ");
        src_body(s);
        break;
    }
    s->loops--;
}

/* A new variable, used at once. */
static inline void src_declare(struct saw_source *s)
{
    unsigned n = s->serial++;

    switch (src_pick(s, 3)) {
    case 0:
        buf_printf(&s->text, "v%u: int = ", n);
        src_form(s, "%i; ");
        buf_printf(&s->text, "if (def(v%u)) j = v%u; emit out <- v%u;\n", n, n,
                   n);
        break;
    case 1:
        buf_printf(&s->text, "v%u: string = ", n);
        src_form(s, "%s; ");
        buf_printf(&s->text, "if (def(v%u)) t = v%u + s;\n", n, n);
        break;
    default:
        buf_printf(&s->text, "v%u := ", n);
        src_form(s, "%a; ");
        buf_printf(&s->text, "v%u = v%u + a; v%u[0] = ", n, n, n);
        src_form(s, "%i; ");
        buf_printf(&s->text, "emit sums[\"v\"] <- len(v%u) + a[0];\n", n);
        break;
    }
}

static inline void src_stmt(struct saw_source *s)
{
    static const char *const simple[] = {
        "i = %i;\n",
        "j = %i;\n",
        "s = %s;\n",
        "t = %s;\n",
        "a = %a;\n",
        "a = a + %a;\n",
        "b = a;\n",
        "a[%i] = %i;\n",
        "m[%i] = %s;\n",
        "p.x = %i;\n",
        "p.y[%i] = %i;\n",
        "p = {%i, %a};\n",
        "q[%s] = p;\n",
        "q[s].x++;\n",
        "i++;\n",
        "a[0]--;\n",
        "p.x++;\n",
        "s[%i:%i] = %s;\n",
        "a[1:%i] = %a;\n",
        "x = %f;\n",
        "y = %f;\n",
        "ok = %b;\n",
        "emit sums[%s] <- %i;\n",
        "emit out <- %i;\n",
        "emit tops <- %s weight %i;\n",
        "note(%s);\n",
        "{ h: function() { i = i + 1; a = a + {i}; }; h(); }\n",
        "undefined_int = %i;\n",
    };

    if (++s->depth > 5) {
        src_put(s, ";");
        s->depth--;
        return;
    }
    switch (src_pick(s, 8)) {
    case 0:
        src_form(s, "if (%b) ");
        src_body(s);
        if (src_pick(s, 2)) {
            src_put(s, "else ");
            src_body(s);
        }
        break;
    case 1: src_loop(s); break;
    case 2:
        src_form(s, "switch (%i) { case 1, 2: ");
        src_stmt(s);
        src_form(s, "case %i: break; default: ");
        src_stmt(s);
        src_put(s, "}\n");
        break;
    case 3: src_declare(s); break;
    default: SRC_CHOOSE(s, simple); break;
    }
    s->depth--;
}

/* Append a whole program made from the bytes s->p … s->end. */
static inline void src_program(struct saw_source *s, size_t length_max)
{
    src_put(s,
            "type T = {x: int, y: array of int};\n"
            "sums: table sum[k: string] of int;\n"
            "out: table collection of int;\n"
            "tops: table top(5) of s: string weight w: int;\n"
            "static st: int = 7; static unused: int = len(\"abc\") * st;\n"
            "i: int = 1; j: int = len(input); s: string = \"h\\u00e9llo\";\n"
            "t: string = string(input_key); m: map[int] of string = {0: "
            "\"z\"};\n"
            "a: array of int = {1, 2, 3}; b := a; p: T = {1, {2, 3}};\n"
            "q: map[string] of T = {\"k\": p}; x: float = 1.25; y := x + 2.0;\n"
            "ok: bool = len(input) > 3; undefined_int: int;\n"
            "f: function(n: int, z: string): int { if (n < 2 || n > 9) return "
            "n;\n"
            "  return f(n - 1, z) + f(n - 2, z); };\n"
            "inc: function(n: int): int { return n + 1; };\n"
            "pick: function(c: bool, n: int, o: int): int {\n"
            "  if (c) return n; else return o / n; };\n"
            "count: function(v: array of int): int {\n"
            "  n: int = 0; when (e: each int; v[e] > 1) n++; return n; };\n"
            "outer: function(n: int): int { j = j + n; return i * n; };\n"
            "twice: function(v: string): string { v = v + \"!\"; return v + v; "
            "};\n"
            "grow: function(v: array of int, n: int): array of int {\n"
            "  v[0] = n; return v + {n}; };\n"
            "even: function(n: int): bool { return n % 2 == 0; };\n"
            "half: function(v: float): float { return v * 0.5; };\n"
            "note: function(v: string) { emit sums[v] <- 1; };\n");
    while (s->p < s->end && s->text.len < length_max)
        src_stmt(s);
    src_put(s, "emit out <- i; emit out <- j; emit sums[s + t] <- len(a);\n"
               "emit sums[string(a) + string(x) + string(y)] <- p.x;\n");
}

#endif /* TESTS_LIB_SAW_SOURCE_H */
