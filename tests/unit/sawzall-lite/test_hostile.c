/* Programs that want all there is: each ends with an error that names its line,
 * soon and in bounded memory.
 */
#include <stdlib.h>
#include <sys/resource.h>

#include "saw_run_text.h"
#include "tests/lib/check_main.h"

#define FUEL         10000000
#define MEMORY_BYTES ((uint64_t)64 << 20)
/* Sanitizers make all of it an order of magnitude slower, and larger. */
#define SECONDS_MAX 20
#define RSS_KB_MAX  (1500 << 10)

struct hostile {
    const char *name;
    int line; /* Where it ends; 0: it may also end well. */
    const char *source;
};

/* clang-format off */
#define TEN(x)                                                                 \
    "{" x "," x "," x "," x "," x "," x "," x "," x "," x "," x "}"

/* A hundred million numbers in eighty slots. */
#define NESTED                                                                 \
    "type A = array of int; type B = array of A; type C = array of B; "        \
    "type D = array of C; type E = array of D; type F = array of E; "          \
    "type G = array of F; type H = array of G;\n"                              \
    "a: A = " TEN("1") "; b: B = " TEN("a") "; c: C = " TEN("b") "; "          \
    "d: D = " TEN("c") "; e: E = " TEN("d") "; f: F = " TEN("e") "; "          \
    "g: G = " TEN("f") "; h: H = " TEN("g") ";\n"
/* clang-format on */

static const struct hostile programs[] = {
    {"endless loop", 2, "i: int = 0;\nwhile (true) i++;\n"},
    {"endless loop without a body", 1, "for (;;) ;\n"},
    {"endless loop in a function", 2,
     "f: function() {\n  for (;;) ;\n};\nf();\n"},
    {"endless loop of undefined values", 3,
     "a: array of int = {1};\nx: int;\nwhile (!def(a[7])) { x = 1; }\n"},
    {"runaway recursion", 2,
     "f: function(n: int): int {\n  return f(n + 1) + 1;\n};\nx := f(0);\n"},
    {"exponential recursion", 0,
     "f: function(n: int): int {\n  if (n < 2) return n;\n"
     "  return f(n - 1) + f(n - 2);\n};\nemit stdout <- string(f(80));\n"},
    {"recursion through a closure", 0,
     "f: function(n: int): int {\n"
     "  g: function(m: int): int { return f(m + n); };\n"
     "  return g(1) + 1;\n};\nx := f(0);\n"},
    {"a string that doubles", 3,
     "s: string = \"abcdefgh\";\nwhile (true)\n  s = s + s;\n"},
    {"a string that doubles by format", 3,
     "s: string = \"abcdefgh\";\nwhile (true)\n"
     "  s = format(\"%s%s\", s, s);\n"},
    {"bytes that double", 3,
     "b: bytes = bytes(\"abcdefgh\");\nwhile (true)\n  b = b + b;\n"},
    {"an array that doubles", 3,
     "a: array of int = {1, 2};\nwhile (true)\n  a = a + a;\n"},
    {"arrays of the same arrays, printed", 3,
     NESTED "emit stdout <- string(h);\n"},
    {"arrays of the same arrays, compared", 4,
     NESTED "i: H = h; i[0] = h[1];\nif (h == i) emit stdout <- \"\";\n"},
    {"arrays of the same arrays, emitted", 4,
     NESTED "t: table collection of H;\nemit t <- h;\n"},
    {"arrays of the same arrays as keys", 4,
     NESTED "m: map[H] of int = {:};\nm[h] = 1;\n"},
    {"arrays of the same arrays, fingerprinted", 3,
     NESTED "x: fingerprint = fingerprintof(h);\nemit stdout <- "
            "string(x);\n"},
    {"a huge array", 1, "a := new(array of int, 1000000000, 0);\n"},
    {"the hugest array", 1,
     "a := new(array of int, 9223372036854775807, 0);\n"},
    {"a huge string", 1, "s := new(string, 1000000000, 'x');\n"},
    {"many large arrays", 3,
     "i: int = 0;\nwhile (true)\n  a := new(array of int, 100000, i);\n"},
    {"a map that grows", 3,
     "m: map[int] of int = {:};\ni: int = 0;\nwhile (true) { m[i] = i; i++; "
     "}\n"},
    {"a map with long keys", 3,
     "m: map[string] of int = {:}; s: string = new(string, 200000, 'x');\n"
     "i: int = 0;\nwhile (true) { m[s] = i; i++; s[0:1] = \"y\"; }\n"},
    {"keys of two large maps", 5,
     "m: map[int] of int = {:}; n: map[int] of int = {:};\n"
     "for (i := 0; i < 100000; i++) { m[i] = i; n[-i] = i; }\n"
     "c: int = 0;\nwhile (true)\n"
     "  when (k: each int; m[k] == n[k]) c++;\n"},
    {"sorting a large array over and over", 3,
     "a := new(array of int, 500000, 0);\nwhile (true)\n"
     "  b := sort(a);\n"},
    {"sorting long strings", 4,
     "s := new(string, 100000, 'x');\n"
     "a: array of string = new(array of string, 1000, s);\n"
     "while (true)\n  b := sort(a);\n"},
    {"quadratic search forwards", 4,
     "s := new(string, 1000000, 'a'); p := new(string, 500000, 'a') + \"b\";\n"
     "n: int = 0;\nwhile (true)\n  n = strfind(p, s);\n"},
    {"quadratic search backwards", 3,
     "s := new(string, 1000000, 'a'); p := new(string, 500000, 'a');\n"
     "p[0:1] = \"b\"; q := \"a\" + p;\nn := strrfind(q, s);\n"},
    {"a replacement that multiplies", 3,
     "s := new(string, 100000, 'a'); r := new(string, 100000, 'b');\n"
     "t: string;\nt = strreplace(s, \"a\", r, true);\n"},
    {"an exploding automaton", 4,
     "s := new(string, 100000, 'a') + new(string, 100000, 'b');\n"
     "while (match(\"(a|b)*a(a|b){300}c\", s + string(rand()))) ;\n"
     "x: int = 1;\nwhile (true) x = len(matchstrs(\"(a|b)*a(a|b){300}c\", "
     "s));\n"},
    {"a large pattern, again and again", 3,
     "s := new(string, 10000, 'a');\nn: int = 0;\n"
     "while (true) { match(format(\"((a?){900}b){%d}\", n % 9 + 1), s); n++; "
     "}\n"},
    {"patterns without end", 3,
     "n: int = 0;\nb: bool;\nwhile (true) { b = match(string(n) + \"[a-z]+\", "
     "\"x\"); n++; }\n"},
    {"groups of a long text", 3,
     "s := new(string, 2000000, 'a');\na: array of string;\n"
     "while (true) a = matchstrs(\"(.*)(.*)(.*)(.*)(.*)\", s);\n"},
    {"sawing a long text", 3,
     "s := new(string, 1000000, 'a');\na: array of string;\n"
     "while (true) a = sawzall(s, \"a\");\n"},
    {"characters of a long text that is not ASCII", 3,
     "s := new(string, 1000000, '\\u00e9');\nn: int = 0;\n"
     "while (true) n = s[999999];\n"},
    {"comparing long texts", 3,
     "s := new(string, 10000000, 'x'); t := s[0:5000000] + s[5000000:$];\n"
     "n: int = 0;\nwhile (s == t) n++;\n"},
    {"fingerprints of a long text", 3,
     "b := new(bytes, 10000000, 7);\nf: fingerprint;\n"
     "while (true) f = fingerprintof(b);\n"},
    {"table with huge keys", 3,
     "t: table sum[k: string] of int;\ns := new(string, 1000000, 'x');\n"
     "for (i := 0; true; i++) emit t[s + string(i)] <- 1;\n"},
    {"table with very many keys", 2,
     "t: table sum[i: int] of int;\n"
     "for (i := 0; true; i++) emit t[i * i] <- 1;\n"},
    {"collection without end", 2,
     "t: table collection of string;\n"
     "for (;;) emit t <- \"some text that is kept\";\n"},
    {"output without end", 1, "for (;;) emit stdout <- \"text\";\n"},
    {"undefined without end", 0,
     "# ignored\na: array of int = {1}; x: int = 0;\n"
     "for (;;) x = a[5];\n"},
    {"debugging without end", 1, "for (;;) DEBUG(\"print\", \"%d\", 1);\n"},
};

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec * 1e-6;
}

/* Appends to @wrong what is wrong with how the program ended. */
static void check_one(const struct hostile *h,
                      bool plain,
                      bool ignore_undefs,
                      struct buf *wrong)
{
    struct text_run t = {
        .compile = {.restricted = true,
                    .plain_code = plain,
                    .ignore_undefs = ignore_undefs},
        .run = {.fuel_per_record = FUEL, .memory_bytes_max = MEMORY_BYTES}};
    double begin = cpu_seconds();
    double seconds;
    char place[32];

    text_run(&t, slice_str(h->source), NULL, 0);
    seconds = cpu_seconds() - begin;
    if (getenv("QUARRY_VERBOSE"))
        printf("%-46s %6.3f s  %s\n", h->name, seconds, t.err.text);
    snprintf(place, sizeof(place), "test.szl:%d:", h->line);
    if (t.compile_rc != 0)
        buf_printf(wrong, "%s: %s\n", h->name, buf_cstr(&t.diagnostics));
    else if (seconds > SECONDS_MAX)
        buf_printf(wrong, "%s: %.1f s\n", h->name, seconds);
    else if (h->line && t.run_rc != ERR_EXHAUSTED)
        buf_printf(wrong, "%s: %d %s\n", h->name, t.run_rc, t.err.text);
    else if (h->line && strstr(t.err.text, place) != t.err.text)
        buf_printf(wrong, "%s: not at line %d: %s\n", h->name, h->line,
                   t.err.text);
    text_run_close(&t);
}

/* Each hostile program ends with an error at its line, soon. */
START_TEST(test_programs)
{
    struct buf wrong = BUF_INIT;
    struct rusage u;

    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        check_one(&programs[i], false, false, &wrong);
        check_one(&programs[i], true, false, &wrong);
    }
    ck_assert_msg(wrong.len == 0, "%s", buf_cstr(&wrong));
    getrusage(RUSAGE_SELF, &u);
    ck_assert_int_lt(u.ru_maxrss, RSS_KB_MAX);
}

END_TEST

/* The same where undefined values are ignored: skipping costs fuel too. */
START_TEST(test_ignoring)
{
    struct buf wrong = BUF_INIT;

    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
        check_one(&programs[i], false, true, &wrong);
    ck_assert_msg(wrong.len == 0, "%s", buf_cstr(&wrong));
}

END_TEST

/* @part, with @number for each '@' in it. */
static void append_numbered(struct buf *out, const char *part, int number)
{
    for (const char *p = part; *p; p++)
        if (*p == '@')
            buf_printf(out, "%d", number);
        else
            buf_append_byte(out, *p);
}

/* Sources that are hostile to the compiler are refused, or compile, soon. */
START_TEST(test_sources)
{
    static const struct {
        const char *begin;
        const char *part;
        const char *middle;
        const char *end_part;
        const char *end;
        int count;
    } sources[] = {
        {"x := ", "(", "1", ")", ";", 100000},
        {"x := ", "1 + ", "1", "", ";", 200000},
        {"x := ", "!", "true", "", ";", 100000},
        {"", "{", "", "}", "", 100000},
        {"", "if (true) ", ";", "", "", 100000},
        {"x: ", "array of ", "int", "", ";", 100000},
        {"", "while (true) { ", "", "}", "", 1000},
        {"", "for (i := 0; i < 1; i++) ", ";", "", "", 140},
        {"f: function(n: int): int { return n + n; };\nx := ", "f(", "1", ")",
         ";", 140},
        {"", "x: int = 1; ", "", "", "", 50000},
        {"x := {", "{1,2,3},", "{1}", "", "};", 20000},
        {"s := ", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\" + ",
         "\"\"", "", ";", 50000},
        {"b := ", "match(\"(a|b)*a(a|b){300}c\", \"abaabbbababaabab\") && ",
         "true", "", ";", 2000},
        {"", "f: function() { ", "", "};", "", 1000},
        {"", "?{", "", "}", "", 10000},
        {"when (", "i: each int; ", "true", "", ") ;", 10000},
        {"switch (1) {", "case 1: ;", "default: ;", "", "}", 50000},
        {"t: table sum", "[i@: int]", " of int;", "", "", 50000},
        {"type t = {", "f@: int, ", "f: int", "", "};", 50000},
        {"", "t@: table sum of int;", "", "", "", 50000},
    };

    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        struct buf text = BUF_INIT;
        struct text_run t = {
            .compile = {.restricted = true},
            .run = {.fuel_per_record = FUEL, .memory_bytes_max = MEMORY_BYTES}};
        double begin = cpu_seconds();
        buf_append_str(&text, sources[i].begin);
        for (int k = 0; k < sources[i].count; k++)
            append_numbered(&text, sources[i].part, k);
        buf_append_str(&text, sources[i].middle);
        for (int k = 0; k < sources[i].count; k++)
            buf_append_str(&text, sources[i].end_part);
        buf_append_str(&text, sources[i].end);
        text_run(&t, buf_slice(&text), NULL, 0);
        if (getenv("QUARRY_VERBOSE"))
            printf("source %zu: %.3f s, %d %d %.80s\n", i,
                   cpu_seconds() - begin, t.compile_rc, t.run_rc, t.err.text);
        ck_assert_msg(cpu_seconds() - begin < SECONDS_MAX, "source %zu", i);
        buf_close(&text);
        text_run_close(&t);
    }
}

END_TEST

TEST_MAIN("hostile", test_programs, test_ignoring, test_sources)
