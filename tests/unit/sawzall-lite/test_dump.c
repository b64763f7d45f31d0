/* Programs in readable form: the tree and the code. */
#include "saw_run_text.h"
#include "tests/lib/check_main.h"

static struct saw_program *compile(const char *text)
{
    struct saw_compile_options opts = {0};
    struct saw_program *p = NULL;
    struct buf d = BUF_INIT;
    int rc = saw_compile(&opts, slice_str(text), "dump.szl", &p, &d);

    ck_assert_msg(rc == 0, "%s", buf_cstr(&d));
    buf_close(&d);
    return p;
}

/* The tree shows statements with lines, expressions with types, chains of
 * operators as one node, and constants as what they were folded to. */
START_TEST(test_tree)
{
    struct saw_program *p = compile("t: table sum[k: string] of int;\n"
                                    "n := len(input);\n"
                                    "if (n - n * 2 + 3 > 2 + 2)\n"
                                    "  emit t[\"a\" + \"b\"] <- n;\n");
    struct buf b = BUF_INIT;

    saw_program_dump_tree(p, &b);
    ck_assert_str_eq(buf_cstr(&b), "static @1 t : table sum[k: string] of int\n"
                                   "var @2 n : int\n"
                                   "  len : int\n"
                                   "    input : bytes\n"
                                   "if @3\n"
                                   "  chain : bool\n"
                                   "    n : int\n"
                                   "    -\n"
                                   "    * : int\n"
                                   "      n : int\n"
                                   "      2 : int\n"
                                   "    +\n"
                                   "    3 : int\n"
                                   "    >\n"
                                   "    4 : int\n"
                                   "  then\n"
                                   "    emit @4 t\n"
                                   "      \"ab\" : string\n"
                                   "      <-\n"
                                   "        n : int\n");
    buf_close(&b);
    saw_program_free(p);
}

END_TEST

/* The whole dump is the tree, then tables and code. */
START_TEST(test_whole)
{
    struct saw_program *p = compile("t: table sum of int; emit t <- 1;\n");
    struct buf whole = BUF_INIT;
    struct buf parts = BUF_INIT;

    saw_program_dump(p, &whole);
    buf_append_str(&parts, "tree\n");
    saw_program_dump_tree(p, &parts);
    buf_append_str(&parts, "code\n");
    saw_program_dump_code(p, &parts);
    ck_assert_str_eq(buf_cstr(&whole), buf_cstr(&parts));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&whole), "EMIT"));
    buf_close(&whole);
    buf_close(&parts);
    saw_program_free(p);
}

END_TEST

/* Statements of every kind, and a spine of thousands of operands, have a tree
 * of bounded width. */
START_TEST(test_everything)
{
    struct buf text = BUF_INIT;
    struct buf b = BUF_INIT;
    struct saw_program *p;
    struct slice left;
    int i;

    buf_append_str(
        &text,
        "f: function(a: array of int): int {\n"
        "  when (i: some int; a[i] > 3) return a[i];\n"
        "  return 0;\n"
        "};\n"
        "m: map[string] of int; p: {x: int, y: string} = {1, \"z\"};\n"
        "for (k := 0; k < 3; k++) { if (k == 1) continue; else break; }\n"
        "do p.x--; while (p.x > 0);\n"
        "switch (p.x) { case 1, 2: m[\"a\"] = f({1, 5}); default: ; }\n"
        "s := string(input)[1:$];\n"
        "q := ?{ if (def(m)) result -1; result ~p.x; };\n"
        "sum := 0");
    for (i = 0; i < 20000; i++)
        buf_append_str(&text, " + q");
    buf_append_str(&text, ";\nemit stdout <- format(\"%d%s\", sum, s);\n");
    p = compile(buf_cstr(&text));
    saw_program_dump_tree(p, &b);
    ck_assert_uint_lt(b.len, 20000);
    left = buf_slice(&b);
    while (left.len) {
        size_t n = slice_find_byte(left, '\n');
        ck_assert_uint_lt(n, 300);
        left = slice_sub(left, n + 1, left.len);
    }
    buf_close(&text);
    buf_close(&b);
    saw_program_free(p);
}

END_TEST

TEST_MAIN("dump", test_tree, test_whole, test_everything)
