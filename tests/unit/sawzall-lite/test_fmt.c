/* The formatter: the layout it gives, and that it changes nothing else. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "sawzall-lite/sawzall.h"
#include "tests/lib/check_main.h"

/* --- Helpers ------------------------------------------------------------- */

static char *formatted(struct slice source)
{
    struct buf out = BUF_INIT;
    struct buf diagnostics = BUF_INIT;
    int rc = saw_format(source, "p.szl", &out, &diagnostics);

    ck_assert_msg(rc == 0, "%s", buf_cstr(&diagnostics));
    buf_close(&diagnostics);
    return buf_take(&out);
}

static void expect(const char *source, const char *want)
{
    char *once = formatted(slice_str(source));
    char *twice = formatted(slice_str(once));

    ck_assert_str_eq(once, want);
    ck_assert_str_eq(twice, want);
    free(once);
    free(twice);
}

/* --- Layout -------------------------------------------------------------- */

/* Blanks stand around operators and after commas, not before brackets. */
START_TEST(test_blanks)
{
    expect("x:int=1+2*-3;y:=x;", "x: int = 1 + 2 * -3;\ny := x;\n");
    expect("t:table sum[ k :string ] of  int ;",
           "t: table sum[k: string] of int;\n");
    expect("emit t [ \"a\" ]<-a[ i :j ] ;", "emit t[\"a\"] <- a[i:j];\n");
    expect("type T={a:int,b:{c:bool}};",
           "type T = { a: int, b: { c: bool } };\n");
    expect("a:array of int={ 1,2 , 3};", "a: array of int = {1, 2, 3};\n");
    expect("m:map[string]of int={:};", "m: map[string] of int = {:};\n");
    expect("x=- -1;y=!(a)&&not b;z = f (1) ;",
           "x = - -1;\ny = !(a) && not b;\nz = f(1);\n");
    expect("p:proto{a:int@1,b:string@2:bytes}={};",
           "p: proto { a: int @ 1, b: string @ 2: bytes } = {};\n");
    expect("x=?{result (1);};", "x = ?{ result (1); };\n");
    expect("t:table top(10)of s:string weight w:int format(\"%s\",s);",
           "t: table top(10) of s: string weight w: int format(\"%s\", s);\n");
    expect("i++ ;", "i++;\n");
    expect("", "");
}

END_TEST

/* Statements have lines of their own; blocks are indented by two. */
START_TEST(test_lines)
{
    expect("if(a)b=1;else{b=2;c=3;}",
           "if (a) b = 1; else {\n  b = 2;\n  c = 3;\n}\n");
    expect("if (a)\nb = 1;\nelse if (c)\nb = 2;\nelse\nb = 3;",
           "if (a)\n  b = 1;\nelse if (c)\n  b = 2;\nelse\n  b = 3;\n");
    expect("while (x) {}", "while (x) {}\n");
    expect("do {x++; y++;}\nwhile (x < 3);",
           "do {\n  x++;\n  y++;\n} while (x < 3);\n");
    expect("for(;;)break;", "for (;;) break;\n");
    expect("for (i:=0;i<3;i++)\n{\nf(i);\n}",
           "for (i := 0; i < 3; i++) {\n  f(i);\n}\n");
    expect("f: function(a:int):int{return a;};",
           "f: function(a: int): int { return a; };\n");
    expect("f: function(a:int):int{if(a>0)return a;return 0;};",
           "f: function(a: int): int {\n  if (a > 0) return a;\n"
           "  return 0;\n};\n");
    expect("switch(x){case 1,2:y=1;case 3:\ny=2;z=3;default:;}",
           "switch (x) {\ncase 1, 2: y = 1;\ncase 3:\n  y = 2;\n  z = 3;\n"
           "default: ;\n}\n");
    expect("when(i:each int;a[i]>1)emit t<-i;",
           "when (i: each int; a[i] > 1) emit t <- i;\n");
}

END_TEST

/* Lines that the author broke stay broken, and are indented. */
START_TEST(test_continuations)
{
    expect("x = a +\nb +\n      c;", "x = a +\n  b +\n  c;\n");
    expect("x = f(\na,\nb\n);", "x = f(\n  a,\n  b\n);\n");
    expect("x = f(a,\nb);", "x = f(a,\n  b);\n");
    expect("if (a &&\nb) {\nc();\nd();\n}",
           "if (a &&\n  b) {\n  c();\n  d();\n}\n");
    expect("a = {\n{1,\n2},\n3};", "a = {\n  {1,\n    2},\n  3};\n");
    expect("x\n;\n", "x;\n");
}

END_TEST

/* Comments stay where they are: after code, aligned, or on their own line. */
START_TEST(test_comments)
{
    expect("#a\n\n\n# b  \nx=1;#c\nyy=22; # d\n\n   # e\n",
           "#a\n\n# b\nx = 1;    #c\nyy = 22;  # d\n\n# e\n");
    expect("if (x) { # why\n# what\ny();\n# end\n}",
           "if (x) {  # why\n  # what\n  y();\n  # end\n}\n");
    expect("f(a, # first\nb # second\n);",
           "f(a,  # first\n  b   # second\n);\n");
    expect("if (a) b(); # one\n# two\nelse c();",
           "if (a) b();  # one\n# two\nelse c();\n");
    expect(
        "switch (x) {\n# one\ncase 1: a();\n# two\ndefault: b();\n# three\n}",
        "switch (x) {\n# one\ncase 1: a();\n# two\ndefault: b();\n"
        "  # three\n}\n");
}

END_TEST

/* An include clause keeps its place. */
START_TEST(test_includes)
{
    expect("include \"a.szl\"\ninclude   `b`;x=1;",
           "include \"a.szl\"\ninclude   `b`;\nx = 1;\n");
    expect("x=1;include \"a\" # why\n", "x = 1;\ninclude \"a\"  # why\n");
}

END_TEST

/* One blank line between statements stays; more, and those at the edges of
 * blocks, go. */
START_TEST(test_blank_lines)
{
    expect("\n\nx=1;\n\n\n\ny=2;\n\n", "x = 1;\n\ny = 2;\n");
    expect("if (a) {\n\nx=1;\n\ny=2;\n\n}\n",
           "if (a) {\n  x = 1;\n\n  y = 2;\n}\n");
}

END_TEST

/* A program that does not parse is reported and not formatted. */
START_TEST(test_errors)
{
    struct buf out = BUF_INIT;
    struct buf diagnostics = BUF_INIT;

    ck_assert_int_eq(
        saw_format(SLICE_LIT("x: int = ;"), "p.szl", &out, &diagnostics),
        ERR_INVALID);
    ck_assert_uint_eq(out.len, 0);
    ck_assert_msg(strstr(buf_cstr(&diagnostics), "p.szl:1:10") != NULL, "%s",
                  buf_cstr(&diagnostics));
    buf_close(&diagnostics);
}

END_TEST

/* --- Properties ---------------------------------------------------------- */

static bool read_file(const char *path, struct buf *out)
{
    FILE *f = fopen(path, "rb");
    size_t n;

    if (!f)
        return false;
    do {
        n = fread(buf_reserve(out, 65536), 1, 65536, f);
        out->len += n;
    } while (n > 0);
    fclose(f);
    return true;
}

/* Includes are read from beside the program. */
static int
include(void *ctx, const char *path, struct buf *text, struct err *err)
{
    char full[1000];

    snprintf(full, sizeof(full), "%s/%s", (const char *)ctx, path);
    return read_file(full, text) || read_file(path, text)
               ? 0
               : err_set(err, ERR_NOTFOUND, "no %s", path);
}

/* The code of a program, or NULL if it does not compile. */
static char *code_of(struct slice source, const char *dir)
{
    struct saw_compile_options opts = {.read_include = include,
                                       .ctx = (void *)(uintptr_t)dir};
    struct buf diagnostics = BUF_INIT;
    struct buf code = BUF_INIT;
    struct saw_program *p;

    if (saw_compile(&opts, source, "p", &p, &diagnostics) == 0) {
        saw_program_dump_code(p, &code);
        saw_program_free(p);
    }
    buf_close(&diagnostics);
    return code.len ? buf_take(&code) : NULL;
}

/* Line numbers move with the layout: they are no part of the code. */
static void forget_lines(char *code)
{
    char *to = code;

    for (const char *p = code; *p;) {
        size_t len = strcspn(p, "\n") + 1;
        if (strncmp(p, "  line ", 7) != 0) {
            memmove(to, p, len);
            to += len;
        }
        p += len;
    }
    *to = '\0';
}

static void
check_program(const char *name, const char *dir, struct slice source)
{
    struct buf out = BUF_INIT;
    struct buf diagnostics = BUF_INIT;

    if (saw_format(source, "p", &out, &diagnostics) == 0) {
        char *again = formatted(buf_slice(&out));
        char *before = code_of(source, dir);
        char *after = code_of(buf_slice(&out), dir);
        ck_assert_msg(strcmp(buf_cstr(&out), again) == 0,
                      "%s: formatting again differs: %.1000s", name, again);
        ck_assert_msg((before == NULL) == (after == NULL), "%s: %s compiles",
                      name, before ? "only it" : "only now");
        if (before) {
            forget_lines(before);
            forget_lines(after);
            ck_assert_msg(strcmp(before, after) == 0, "%s: other code: %.1000s",
                          name, after);
        }
        free(again);
        free(before);
        free(after);
    }
    buf_close(&out);
    buf_close(&diagnostics);
}

static size_t check_directory(const char *dir)
{
    DIR *d = opendir(dir);
    size_t n = 0;

    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        char path[1000];
        struct buf text = BUF_INIT;
        size_t len = strlen(e->d_name);
        snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
        if (e->d_name[0] != '.' && len > 4 &&
            strcmp(e->d_name + len - 4, ".szl") == 0 &&
            read_file(path, &text)) {
            check_program(path, dir, buf_slice(&text));
            n++;
        } else if (e->d_name[0] != '.' && !strchr(e->d_name, '.')) {
            n += check_directory(path);
        }
        buf_close(&text);
    }
    if (d)
        closedir(d);
    return n;
}

/* Every program of the tree compiles to the same code when formatted, and
 * formatting it again changes nothing. */
START_TEST(test_all_programs)
{
    const char *suite = getenv("QUARRY_SZL_SUITE");

    ck_assert_uint_gt(check_directory(QUARRY_SOURCE_DIR "/jobs"), 4);
    ck_assert_uint_gt(
        check_directory(QUARRY_SOURCE_DIR "/tests/unit/sawzall-lite/cases"),
        20);
    if (suite)
        ck_assert_uint_gt(check_directory(suite), 400);
    else
        printf("SKIPPED: the published suite is not here "
               "(QUARRY_SZL_SUITE)\n");
}

END_TEST

/* Any white space and comments between the tokens of a program: formatting is
 * idempotent, whatever the author's layout. */
START_TEST(test_any_layout)
{
    static const char *const words[] = {
        "f",      ":",     "function", "(",     "a",      ":",      "int",
        ")",      ":",     "int",      "{",     "if",     "(",      "a",
        ">",      "-",     "1",        ")",     "return", "?",      "{",
        "result", "a",     ";",        "}",     ";",      "else",   "{",
        "return", "0",     ";",        "}",     "}",      ";",      "x",
        ":",      "array", "of",       "{",     "p",      ":",      "int",
        "}",      "=",     "{",        "{",     "1",      "}",      ",",
        "{",      "2",     "}",        "}",     ";",      "switch", "(",
        "f",      "(",     "1",        ")",     ")",      "{",      "case",
        "1",      ",",     "2",        ":",     "x",      "=",      "x",
        "[",      "0",     ":",        "$",     "]",      ";",      "default",
        ":",      ";",     "}",        "do",    "x",      "=",      "x",
        "+",      "x",     ";",        "while", "(",      "true",   ")",
        ";",      "when",  "(",        "i",     ":",      "some",   "int",
        ";",      "x",     "[",        "i",     "]",      ".",      "p",
        "==",     "1",     ")",        "{",     "emit",   "t",      "[",
        "i",      "]",     "<-",       "`a b`", "weight", "1",      ";",
        "}"};
    static const char *const between[] = {" ", " ",      "\n",       "\n\n\n",
                                          " ", " # c\n", "\n  #d\n", "\t\r\n"};
    struct rand_gen r;
    uint64_t seed = test_seed();

    rand_init(&r, seed);
    for (int round = 0; round < 300; round++) {
        struct buf source = BUF_INIT;
        for (size_t i = 0; i < ARRAY_LEN(words); i++) {
            buf_append_str(&source, words[i]);
            buf_append_str(
                &source,
                between[rand_below(&r, round % 3 ? 2 : ARRAY_LEN(between))]);
        }
        buf_append_byte(&source, '\0');
        check_program(source.data, ".", slice_str(source.data));
        buf_close(&source);
    }
}

END_TEST

TEST_MAIN("fmt",
          test_blanks,
          test_lines,
          test_continuations,
          test_comments,
          test_includes,
          test_blank_lines,
          test_errors,
          test_all_programs,
          test_any_layout)
