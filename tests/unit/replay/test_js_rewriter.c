/* Scripts of archived pages: the block around them, and what is changed in it.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "web/replay/html_rewriter.h"
#include "web/replay/js_rewriter.h"
#include "web/replay/js_token.h"

#define W      "/web/20140126200624"
#define THIS   "_____WB$wombat$check$this$function_____(this)"
#define ASSIGN "_____WB$wombat$assign$function_____"
#define TO(ARGUMENTS)                                                          \
    "((globalThis.__WB_check_loc && "                                          \
    "globalThis.__WB_check_loc(location, " ARGUMENTS ")) || {}).maybeHref ="
#define EVAL                                                                   \
    "WB_wombat_runEval2((_______eval_arg, isGlobal) => { var ge = eval; "      \
    "return isGlobal ? ge(_______eval_arg) : eval(_______eval_arg); })"        \
    ".eval(this, (function() { return arguments })(),"

static struct buf text;

static const char *rewrite(const char *js, bool is_module)
{
    struct link_rewriter links;
    struct byte_sink out = {.pending = BUF_INIT};
    const struct js_rewrite_options opts = {
        .links = &links, .module_url = "/static/m.js", .is_module = is_module};
    link_rewriter_init(&links, "/web/", SLICE_LIT("20140126200624"),
                       SLICE_LIT("http://example.com/js/a.js"));
    js_rewrite(&opts, slice_str(js), &out);
    link_rewriter_close(&links);
    buf_close(&text);
    text = out.pending;
    return buf_cstr(&text);
}

/* The script within the block that was put around it; or all of it. */
static const char *inner(const char *js)
{
    char *all = (char *)(uintptr_t)rewrite(js, false);
    char *begin = strstr(all, "let arguments; { ");
    if (!begin)
        return all;
    ck_assert_ptr_nonnull(strstr(all, "\n}}"));
    all[strlen(all) - 3] = '\0';
    return begin + strlen("let arguments; { ");
}

/* Pairs of a script and what becomes of it in its block. */
static void check_pairs(const char *const (*pairs)[2], size_t count)
{
    for (size_t i = 0; i < count; i++)
        ck_assert_str_eq(inner(pairs[i][0]), pairs[i][1]);
}

#define CHECK_PAIRS(PAIRS)                                                     \
    check_pairs(PAIRS, sizeof(PAIRS) / sizeof((PAIRS)[0]))

/* A script that uses none of the names stays as it is, and so does one that is
 * not understood. */
START_TEST(test_same)
{
    static const char *const same[] = {
        "",
        "var a = 1;",
        "\"location = this\"",
        "a.location = b.top; c = {top: 1, parent: function() {}}",
        "// location = this\n/* top */ x",
        "`location ${a} this`",
        "x = /location = this/.test(y)",
        "<!-- location = 1\nx",
        "class A { top() {} location = 5 }",
        "this.a = 1; this[b]",
        "new this(a)",
        /* Not understood: */
        "location = 'a",
        "(location = 1]",
        "location = 1; {",
        "location = `a${b`",
        "/location",
    };
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
        ck_assert_str_eq(rewrite(same[i], false), same[i]);
}

END_TEST

START_TEST(test_names)
{
    ck_assert_str_eq(
        rewrite("a = top", false),
        "var " ASSIGN " = function(name) {return (self._wb_wombat && "
        "self._wb_wombat.local_init && self._wb_wombat.local_init(name)) || "
        "self[name]; }; if (!self.__WB_pmw) { self.__WB_pmw = function(obj) { "
        "this.__WB_source = obj; return this; } } { let top = " ASSIGN
        "(\"top\"); let arguments; { a = top\n}}");
}

END_TEST

START_TEST(test_location)
{
    static const char *const pairs[][2] = {
        {"location = a", "location =" TO("arguments") " a"},
        {"function f() { location=a }",
         "function f() { location=" TO("arguments") "a }"},
        {"if (location == a || location => 1) {}",
         "if (location == a || location => 1) {}"},
        {"function f() { let location = a; const b = 1, location = c }",
         "function f() { let location = a; const b = 1, location = c }"},
        {"a.location = location", "a.location = location"},
        {"f = ({location = 1}) => 2", "f = ({location = 1}) => 2"},
        {"x = class { b = () => { location = top } }",
         "x = class { b = () => { location =" TO("[]") " top } }"},
        {"x = class { b() { location = top } }",
         "x = class { b() { location =" TO("arguments") " top } }"},
    };
    CHECK_PAIRS(pairs);
}

END_TEST

/* `this` may be the window where it is a value. */
START_TEST(test_this)
{
    static const char *const pairs[][2] = {
        {"(function(w) {})(this)", "(function(w) {})(" THIS ")"},
        {"f = function() { return this }",
         "f = function() { return " THIS " }"},
        {"this.location", THIS ".location"},
        {"this?.top", THIS "?.top"},
        {"this['parent']", THIS "['parent']"},
        {"this.locations + this.a", "this.locations + this.a"},
        {"a\nthis\n.b", "a\nthis\n.b"},
        {"x = {this: 1, a: this}", "x = {this: 1, a: " THIS "}"},
        {"`${this}`", "`${" THIS "}`"},
        {"a = b / this / c", "a = b / " THIS " / c"},
        {"if (a) /this/.b()", "if (a) /this/.b()"},
        {"a = {} / this / 1", "a = {} / " THIS " / 1"},
        {"{} /this/.c", "{} /this/.c"},
    };
    CHECK_PAIRS(pairs);
}

END_TEST

START_TEST(test_calls)
{
    static const char *const pairs[][2] = {
        {"a.postMessage(b)", "a.__WB_pmw(globalThis).postMessage(b)"},
        {"a.postMessage = b", "a.postMessage = b"},
        {"import('./x.js')", "____wb_rewrite_import__(null, './x.js')"},
        {"a = {import(b) {}}", "a = {import(b) {}}"},
        {"eval (a)", EVAL "a)"},
        {"a.eval(b)", "a.eval(b)"},
        {"(0, eval)(a)", "(0, globalThis.eval)(a)"},
    };
    CHECK_PAIRS(pairs);
}

END_TEST

/* Names that the script declares are its own. */
START_TEST(test_declared)
{
    static const char *const own[] = {
        "var top = 1",
        "if (a) { for (var top in b) c }",
        "var a = f(1, 2), top = 3",
        "var {a: [top]} = b",
        "function top() {}",
        "let top = 1",
        "class top {}",
        "const [a, ...top] = b",
    };
    static const char *const others[] = {
        "function f() { var top = 1 }", "f = () => { var top }",
        "a = {b() { var top }}",        "{ let top = 1 }",
        "a = function top() {}",        "var {top: a} = b",
    };
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        ck_assert_msg(!strstr(rewrite(own[i], false), "let top = " ASSIGN),
                      "%s", own[i]);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        ck_assert_msg(
            !!strstr(rewrite(others[i], false), "let top = " ASSIGN) ==
                !!strcmp(others[i], "var {top: a} = b"),
            "%s", others[i]);
}

END_TEST

/* Names that would stay in the block are given to the window. */
START_TEST(test_exports)
{
    static const struct {
        const char *js;
        const char *names; /* In order, with a blank behind each. */
    } cases[] = {
        {"let a = top, b; const c = {d: 1, e: 2}", "a b c "},
        {"const {a, b: c, d = x, ...e} = top", "a c d e "},
        {"let [a, [b], {c}] = top", "a b c "},
        {"class A extends top {}", "A "},
        {"async function f() { top } function* g() {} function h() {}", "f g "},
        {"{ let a = top; const {b} = c }", ""},
        {"let a = top\nf(), b = 1", "a "},
        {"let a = () => { top }\nb = 1, c = 2", "a "},
        {"(function() { let a = top })(); x = class B {}", ""},
        {"a = function*() { top }; b = async function c() {}", ""},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf seen = BUF_INIT;
        const char *at = rewrite(cases[i].js, false);
        while ((at = strstr(at, "export$function_____(\""))) {
            at += strlen("export$function_____(\"");
            buf_append(&seen, at, strcspn(at, "\""));
            buf_append_byte(&seen, ' ');
        }
        ck_assert_str_eq(buf_cstr(&seen), cases[i].names);
        buf_close(&seen);
    }
}

END_TEST

START_TEST(test_modules)
{
    static const char *const pairs[][2] = {
        {"import {a, top} from './b.js'; import \"/c.js\"; import 'd'",
         "import {a, top} from '" W
         "esm_/http://example.com/js/b.js'; import \"" W
         "esm_/http://example.com/c.js\"; import 'd'"},
        {"export * from '../a.js'",
         "export * from '" W "esm_/http://example.com/a.js'"},
        {"export const a = 1; import('b')",
         "export const a = 1; ____wb_rewrite_import__(import.meta.url, 'b')"},
        {"import a from 'b'; top",
         "import { " ASSIGN ", top } from \"/static/m.js\"; import a from 'b'; "
         "top"},
        {"import a from 'b'; location = top",
         "import { " ASSIGN
         ", top } from \"/static/m.js\"; var location = " ASSIGN
         "(\"location\"); import a from 'b'; location =" TO("[]") " top"},
    };
    CHECK_PAIRS(pairs);
    ck_assert_str_eq(rewrite("self", true),
                     "import { " ASSIGN ", self } from \"/static/m.js\"; "
                     "self");
}

END_TEST

/* --- in pages ------------------------------------------------------------ */

static const char *rewrite_html(const char *html)
{
    struct link_rewriter links;
    struct byte_sink out = {.pending = BUF_INIT};
    const struct html_rewrite_options opts = {.links = &links,
                                              .head_insert = SLICE_EMPTY,
                                              .module_url = "/static/m.js"};
    link_rewriter_init(&links, "/web/", SLICE_LIT("20140126200624"),
                       SLICE_LIT("http://example.com/"));
    html_rewrite(&opts, slice_str(html), &out);
    link_rewriter_close(&links);
    buf_close(&text);
    text = out.pending;
    return buf_cstr(&text);
}

START_TEST(test_elements)
{
    static const char *const same[] = {
        "<script type=application/json>{\"top\": top}</script>",
        "<script type=text/template>top</script>",
        "<p onclick=\"f(&eacute;, top)\">",
        "<p onclick='f(1)' ontop=''>",
    };
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
        ck_assert_str_eq(rewrite_html(same[i]), same[i]);
    ck_assert_ptr_nonnull(strstr(rewrite_html("<script>top</script>"),
                                 "let arguments; { top\n}}</script>"));
    ck_assert_ptr_nonnull(
        strstr(rewrite_html("<script type=\" Text/JavaScript \">top</script>"),
               "let arguments; { top\n}}</script>"));
    ck_assert_ptr_nonnull(
        strstr(rewrite_html("<script type=module>top</script>"),
               "top } from \"/static/m.js\"; top</script>"));
    ck_assert_str_eq(rewrite_html("<script src=a.js type=module></script>"),
                     "<script src=\"" W
                     "esm_/http://example.com/a.js\" type=module></script>");
}

END_TEST

START_TEST(test_handlers)
{
    ck_assert_ptr_nonnull(
        strstr(rewrite_html("<p onclick='top.a(&quot;&amp;&quot;) && b'>"),
               "{ let top = " ASSIGN "(&quot;top&quot;); let arguments; { "
               "top.a(&quot;&amp;&quot;) &amp;&amp; b }}'>"));
    ck_assert_ptr_nonnull(strstr(rewrite_html("<a href=javascript:top.b()>"),
                                 "<a href=\"javascript:var " ASSIGN));
    ck_assert_str_eq(rewrite_html("<a href=\"javascript:void(0)\">"),
                     "<a href=\"javascript:void(0)\">");
}

END_TEST

/* --- any text ------------------------------------------------------------ */

/* Every prefix of a script is either written with the block, or as it was; and
 * the tokens stand in order. */
START_TEST(test_prefixes)
{
    static const char js[] =
        "let a = `x${ {b: /[/]/g, 'c': top} }y`; /* d */ var e = (f) => { "
        "this.location = 1 }\nclass G extends H { static i = 5e-3; *j() {} } "
        "location = \"\\\"\" // k\n";
    for (size_t n = 0; n < sizeof(js); n++) {
        char part[sizeof(js)];
        struct js_scanner s;
        struct js_token t;
        const char *at = part;
        memcpy(part, js, n);
        part[n] = '\0';
        js_scanner_init(&s, slice_make(part, n), false);
        while (js_token_next(&s, &t)) {
            ck_assert(t.bytes.len > 0 && t.bytes.data >= at);
            at = t.bytes.data + t.bytes.len;
        }
        if (s.is_lost)
            ck_assert_str_eq(rewrite(part, false), part);
        js_scanner_close(&s);
    }
    ck_assert(strlen(rewrite(js, false)) > sizeof(js));
}

END_TEST

/* Brackets without end take bounded memory, and stay as they are. */
START_TEST(test_deep)
{
    static char deep[200000];
    memset(deep, '(', sizeof(deep) - 1);
    ck_assert_str_eq(rewrite(deep, false), deep);
    memset(deep, '/', sizeof(deep) - 1);
    deep[0] = '=';
    for (size_t i = 2; i + 1 < sizeof(deep); i += 2)
        deep[i] = '[';
    ck_assert_str_eq(rewrite(deep, false), deep);
    buf_close(&text);
}

END_TEST

TEST_MAIN("js_rewriter",
          test_same,
          test_names,
          test_location,
          test_this,
          test_calls,
          test_declared,
          test_exports,
          test_modules,
          test_elements,
          test_handlers,
          test_prefixes,
          test_deep)
