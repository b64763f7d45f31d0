/* Programs nobody vouches for: compiling and running them stays within bounds.
 *
 * If the first byte is a '~', the rest chooses the productions of a small
 * grammar, so that most programs are well formed and reach the compiler and the
 * machine; otherwise the input is the text of a program.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/core/panic.h"
#include "sawzall-lite/sawzall.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct source {
    const uint8_t *p;
    const uint8_t *end;
    struct buf text;
    unsigned depth;
};

static unsigned pick(struct source *s, unsigned n)
{
    return s->p < s->end ? *s->p++ % n : 0;
}

static void put(struct source *s, const char *text)
{
    buf_append_str(&s->text, text);
}

/* --- a small grammar ----------------------------------------------------- */

static const char *const ints[] = {"i",  "j",  "0",          "1",
                                   "-1", "63", "2147483648", "a[i]"};
static const char *const strings[] = {"s", "t", "\"\"", "\"ab\\u00e9\"",
                                      "m[i]"};
static const char *const arrays[] = {"a", "b", "{1,2,3}", "a[1:$]"};

static void expr(struct source *s, unsigned type);

static void int_expr(struct source *s)
{
    static const char *const ops[] = {"+", "-",  "*",  "/", "%",
                                      "&", "<<", ">>", "|", "^"};

    switch (pick(s, 8)) {
    case 0:
    case 1:
        put(s, "(");
        expr(s, 0);
        put(s, ops[pick(s, 10)]);
        expr(s, 0);
        put(s, ")");
        break;
    case 2:
        put(s, "f(");
        expr(s, 0);
        put(s, ",");
        expr(s, 1);
        put(s, ")");
        break;
    case 3:
        put(s, "len(");
        expr(s, 1 + pick(s, 2));
        put(s, ")");
        break;
    case 4:
        expr(s, 2);
        put(s, "[");
        expr(s, 0);
        put(s, "]");
        break;
    case 5: put(s, "?{ k: int = i; k++; result k + j; }"); break;
    default: put(s, ints[pick(s, 8)]); break;
    }
}

static void string_expr(struct source *s)
{
    switch (pick(s, 5)) {
    case 0:
        put(s, "(");
        expr(s, 1);
        put(s, "+");
        expr(s, 1);
        put(s, ")");
        break;
    case 1:
        expr(s, 1);
        put(s, "[");
        expr(s, 0);
        put(s, ":");
        expr(s, 0);
        put(s, "]");
        break;
    case 2:
        put(s, "string(");
        expr(s, pick(s, 4));
        put(s, ")");
        break;
    default: put(s, strings[pick(s, 5)]); break;
    }
}

static void expr(struct source *s, unsigned type)
{
    static const char *const compare[] = {"<", "<=", "==", "!=", ">", ">="};

    if (++s->depth > 12) {
        put(s, type == 0   ? "1"
               : type == 1 ? "\"x\""
               : type == 2 ? "a"
                           : "true");
    } else if (type == 0) {
        int_expr(s);
    } else if (type == 1) {
        string_expr(s);
    } else if (type == 2) {
        put(s, arrays[pick(s, 4)]);
    } else if (pick(s, 3) == 0) {
        expr(s, 3);
        put(s, pick(s, 2) ? " && " : " || ");
        expr(s, 3);
    } else if (pick(s, 4) == 0) {
        put(s, "def(");
        expr(s, pick(s, 3));
        put(s, ")");
    } else {
        unsigned t = pick(s, 2);
        expr(s, t);
        put(s, compare[pick(s, 6)]);
        expr(s, t);
    }
    s->depth--;
}

static void stmt(struct source *s);

static void body(struct source *s)
{
    unsigned n = pick(s, 3);

    put(s, "{ ");
    while (n-- > 0)
        stmt(s);
    put(s, "}\n");
}

static void assign(struct source *s)
{
    static const struct {
        const char *target;
        unsigned type;
    } targets[] = {{"i", 0},      {"j", 0},         {"s", 1},
                   {"a", 2},      {"a[i]", 0},      {"m[i]", 1},
                   {"p.x", 0},    {"p.y[j]", 0},    {"s[i:j]", 1},
                   {"a[1:j]", 2}, {"q[s].y[0]", 0}, {"b", 2}};

    unsigned k = pick(s, 12);

    put(s, targets[k].target);
    put(s, " = ");
    expr(s, targets[k].type);
    put(s, ";\n");
}

static void stmt(struct source *s)
{
    if (++s->depth > 10) {
        put(s, ";");
        s->depth--;
        return;
    }
    switch (pick(s, 11)) {
    case 0:
        put(s, "if (");
        expr(s, 3);
        put(s, ") ");
        body(s);
        put(s, "else ");
        body(s);
        break;
    case 1:
        put(s, "while (");
        expr(s, 3);
        put(s, ") ");
        body(s);
        break;
    case 2:
        put(s, "for (k: int = 0; k < 3; k++) ");
        body(s);
        break;
    case 3:
        put(s, "when (w: ");
        put(s, pick(s, 2) ? "each" : pick(s, 2) ? "some" : "all");
        put(s, " int; a[w] > ");
        expr(s, 0);
        put(s, ") ");
        body(s);
        break;
    case 4:
        put(s, "emit sums[");
        expr(s, 1);
        put(s, "] <- ");
        expr(s, 0);
        put(s, ";\n");
        break;
    case 5:
        put(s, "switch (");
        expr(s, 0);
        put(s, ") { case 1: ");
        stmt(s);
        put(s, "case i: break; default: ");
        stmt(s);
        put(s, "}\n");
        break;
    case 6: put(s, "a = a + b; q[s] = p; p2: T = p; p.x++;\n"); break;
    case 7:
        put(s, "{ g: function() { i = i + 1; a = a + {i}; }; g(); }\n");
        break;
    default: assign(s); break;
    }
    s->depth--;
}

static void generate(struct source *s)
{
    put(s,
        "type T = {x: int, y: array of int};\n"
        "sums: table sum[k: string] of int;\n"
        "i: int = 1; j: int = len(input); s: string = \"h\\u00e9llo\";\n"
        "t: string = string(input_key); m: map[int] of string = {0: \"z\"};\n"
        "a: array of int = {1, 2, 3}; b := a; p: T = {1, {2, 3}};\n"
        "q: map[string] of T = {\"k\": p};\n"
        "f: function(n: int, z: string): int { if (n < 2) return n;\n"
        "  return f(n - 1, z) + f(n - 2, z); };\n");
    while (s->p < s->end && s->text.len < 20000)
        stmt(s);
}

/* --- running it ---------------------------------------------------------- */

static void run(struct saw_program *p)
{
    struct saw_run_options opts = {.fuel_per_record = 200000,
                                   .memory_bytes_max = 4 << 20,
                                   .depth_max = 500};
    struct saw_cell cell = {SLICE_LIT("f"), SLICE_LIT("q"), 7,
                            SLICE_LIT("value")};
    struct saw_row row = {SLICE_LIT("key"), &cell, 1};
    struct saw_run *r;
    struct err err = ERR_INIT;
    struct buf out = BUF_INIT;
    int i;
    int rc = 0;

    if (saw_run_new(p, &opts, &r, &err) != 0)
        return;
    for (i = 0; i < 2; i++) {
        if (saw_program_wants_rows(p))
            rc |= saw_run_row(r, &row, &err);
        else
            rc |= saw_run_record(r, SLICE_LIT("one 22 \xff"), SLICE_LIT("k"),
                                 &err);
    }
    INVARIANT(rc == 0 || err.text[0] != '\0');
    saw_run_print(r, &out);
    buf_clear(&out);
    saw_run_encode_tables(r, &out);
    if (saw_run_merge_tables(r, buf_slice(&out), &err) != 0)
        INVARIANT(err.code == ERR_EXHAUSTED);
    buf_close(&out);
    saw_run_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct saw_compile_options opts = {.restricted = true};
    struct source s = {.p = data, .end = data + size};
    struct saw_program *p;
    struct buf diagnostics = BUF_INIT;

    if (size > 0 && data[0] == '~') {
        s.p++;
        generate(&s);
    } else {
        buf_append(&s.text, data, size);
    }
    opts.ignore_undefs = size > 1 && data[1] & 1;
    if (saw_compile(&opts, buf_slice(&s.text), "fuzz.szl", &p, &diagnostics) ==
        0) {
        run(p);
        saw_program_dump(p, &diagnostics);
        saw_program_free(p);
    } else {
        INVARIANT(diagnostics.len > 0);
    }
    buf_close(&diagnostics);
    buf_close(&s.text);
    return 0;
}
