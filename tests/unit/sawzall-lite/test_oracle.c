/* The machine computes what a tree-walking evaluator of the same expressions
 * computes, folded constants or not. */
#include <math.h>
#include <stdlib.h>

#include "base/core/rand.h"
#include "saw_run_text.h"
#include "tests/lib/check_main.h"

/* --- expressions and their obvious meaning ------------------------------- */

enum node_kind {
    NODE_INT,
    NODE_VAR,
    NODE_BINARY,
    NODE_NEGATE,
    NODE_CHOICE, /* A call of choose(c, a, b), with c a comparison. */
};

struct node {
    enum node_kind kind;
    int64_t value; /* Or index of the variable. */
    int op;
    struct node *l;
    struct node *r;
    struct node *c;
};

#define VARS 4

static const char *const ops[] = {"+", "-", "*", "/", "%",  "<<", ">>",
                                  "&", "|", "^", "<", "==", ">=", "!="};

static struct node *make(struct rand_gen *g, unsigned depth)
{
    struct node *n = calloc(1, sizeof(*n));
    uint64_t k = rand_below(g, depth == 0 ? 2 : 6);

    if (k == 0) {
        n->kind = NODE_INT;
        n->value = rand_one_in(g, 8) ? (int64_t)rand_u64(g)
                                     : (int64_t)rand_below(g, 9) - 4;
    } else if (k == 1) {
        n->kind = NODE_VAR;
        n->value = (int64_t)rand_below(g, VARS);
    } else if (k == 2) {
        n->kind = NODE_NEGATE;
        n->l = make(g, depth - 1);
    } else if (k == 3) {
        n->kind = NODE_CHOICE;
        n->op = 10 + (int)rand_below(g, 4);
        n->c = make(g, depth - 1);
        n->l = make(g, depth - 1);
        n->r = make(g, depth - 1);
    } else {
        n->kind = NODE_BINARY;
        n->op = (int)rand_below(g, 10);
        n->l = make(g, depth - 1);
        n->r = make(g, depth - 1);
    }
    return n;
}

static void drop(struct node *n)
{
    if (!n)
        return;
    drop(n->l);
    drop(n->r);
    drop(n->c);
    free(n);
}

static void print(const struct node *n, struct buf *b)
{
    switch (n->kind) {
    case NODE_INT: buf_printf(b, "(%lld)", (long long)n->value); break;
    case NODE_VAR: buf_printf(b, "v%lld", (long long)n->value); break;
    case NODE_NEGATE:
        buf_append_str(b, "(-(");
        print(n->l, b);
        buf_append_str(b, "))");
        break;
    case NODE_BINARY:
        buf_append_byte(b, '(');
        print(n->l, b);
        buf_append_str(b, ops[n->op]);
        print(n->r, b);
        buf_append_byte(b, ')');
        break;
    case NODE_CHOICE:
        buf_append_str(b, "choose(");
        print(n->c, b);
        buf_append_str(b, ops[n->op]);
        buf_append_str(b, "v0, ");
        print(n->l, b);
        buf_append_str(b, ", ");
        print(n->r, b);
        buf_append_byte(b, ')');
        break;
    }
}

static int64_t apply(int op, int64_t x, int64_t y, bool *undef)
{
    uint64_t a = (uint64_t)x;
    uint64_t b = (uint64_t)y;

    switch (op) {
    case 0: return (int64_t)(a + b);
    case 1: return (int64_t)(a - b);
    case 2: return (int64_t)(a * b);
    case 3:
    case 4:
        if (y == 0) {
            *undef = true;
            return 0;
        }
        if (y == -1)
            return op == 3 ? (int64_t)(0 - a) : 0;
        return op == 3 ? x / y : x % y;
    case 5: return (int64_t)(a << (b & 63));
    case 6: return (int64_t)(a >> (b & 63));
    case 7: return (int64_t)(a & b);
    case 8: return (int64_t)(a | b);
    case 9: return (int64_t)(a ^ b);
    case 10: return x < y;
    case 11: return x == y;
    case 12: return x >= y;
    default: return x != y;
    }
}

static int64_t eval(const struct node *n, const int64_t *vars, bool *undef)
{
    int64_t l;
    int64_t r;

    switch (n->kind) {
    case NODE_INT: return n->value;
    case NODE_VAR: return vars[n->value];
    case NODE_NEGATE: return (int64_t)(0 - (uint64_t)eval(n->l, vars, undef));
    case NODE_BINARY:
        l = eval(n->l, vars, undef);
        r = eval(n->r, vars, undef);
        return apply(n->op, l, r, undef);
    case NODE_CHOICE: /* A function: all its arguments are evaluated. */
        l = eval(n->l, vars, undef);
        r = eval(n->r, vars, undef);
        return apply(n->op, eval(n->c, vars, undef), vars[0], undef) ? l : r;
    }
    return 0;
}

/* --- the property -------------------------------------------------------- */

/* Once with variables, once with constants in their place. */
static void
program(const struct node *n, const int64_t *vars, bool constant, struct buf *b)
{
    int i;

    buf_append_str(b, "choose: function(c: bool, a: int, b: int): int {"
                      " if (c) return a; return b; };\n");
    for (i = 0; i < VARS; i++)
        buf_printf(b, "%sv%d: int = %lld;\n", constant ? "static " : "", i,
                   (long long)vars[i]);
    if (!constant) /* So that nothing is known while compiling. */
        buf_append_str(b, "for (k: int = 0; k < len(input); k++) v0 = v0 + 0;"
                          "\n");
    buf_append_str(b, "r: int = ");
    print(n, b);
    buf_append_str(b, ";\nif (def(r)) emit stdout <- string(r);"
                      " else emit stdout <- \"undefined\";\n");
}

static void compare(const struct node *n,
                    const int64_t *vars,
                    bool constant,
                    struct text_run *t)
{
    struct buf source = BUF_INIT;
    char want[64] = "undefined\n";
    bool undef = false;
    int64_t v = eval(n, vars, &undef);

    if (!undef)
        snprintf(want, sizeof(want), "%lld\n", (long long)v);
    program(n, vars, constant, &source);
    text_run(t, buf_slice(&source), NULL, 0);
    ck_assert_msg(t->compile_rc == 0, "%s\n%s", buf_cstr(&source),
                  buf_cstr(&t->diagnostics));
    ck_assert_msg(t->run_rc == 0, "%s\n%s", buf_cstr(&source), t->err.text);
    ck_assert_msg(strcmp(buf_cstr(&t->output), want) == 0,
                  "%s\ngives %swants %s", buf_cstr(&source),
                  buf_cstr(&t->output), want);
    buf_close(&source);
}

/* Random int expressions give what the evaluator gives. */
START_TEST(test_int_expressions)
{
    struct rand_gen g;
    struct text_run t = {.run = {.seed = 1}};
    int64_t vars[VARS];
    int i;
    int k;

    rand_init(&g, test_seed());
    for (i = 0; i < 1500; i++) {
        struct node *n = make(&g, 1 + (unsigned)rand_below(&g, 5));
        for (k = 0; k < VARS; k++)
            vars[k] = rand_one_in(&g, 4) ? (int64_t)rand_u64(&g)
                                         : (int64_t)rand_below(&g, 7) - 3;
        compare(n, vars, false, &t);
        compare(n, vars, true, &t);
        drop(n);
    }
    text_run_close(&t);
}

END_TEST

/* A map behaves like a list of pairs, through any sequence of assignments. */
START_TEST(test_maps)
{
    struct rand_gen g;
    struct text_run t = {.run = {.seed = 1}};
    int64_t model[64];
    struct buf source = BUF_INIT;
    struct buf want = BUF_INIT;
    int i;

    rand_init(&g, test_seed());
    memset(model, 0xff, sizeof(model));
    buf_append_str(&source, "m: map[string] of int = {:};\n"
                            "old: map[string] of int = {:};\n");
    for (i = 0; i < 2000; i++) {
        uint64_t k = rand_below(&g, 64);
        model[k] = (int64_t)rand_below(&g, 1000);
        buf_printf(&source, "m[\"key%llu\"] = %lld;\n", (unsigned long long)k,
                   (long long)model[k]);
        if (i == 1000)
            buf_append_str(&source, "old = m; old[\"other\"] = 1;\n");
    }
    for (i = 0; i < 64; i++) {
        buf_printf(&source,
                   "emit stdout <- string(lookup(m, \"key%d\", -1));\n", i);
        buf_printf(&want, "%lld\n", (long long)model[i]);
    }
    buf_append_str(&source, "emit stdout <- string(haskey(m, \"other\"));\n");
    buf_append_str(&want, "false\n");
    text_run(&t, buf_slice(&source), NULL, 0);
    ck_assert_msg(t.compile_rc == 0, "%s", buf_cstr(&t.diagnostics));
    ck_assert_str_eq(buf_cstr(&t.output), buf_cstr(&want));
    buf_close(&source);
    buf_close(&want);
    text_run_close(&t);
}

END_TEST

TEST_MAIN("oracle", test_int_expressions, test_maps)
