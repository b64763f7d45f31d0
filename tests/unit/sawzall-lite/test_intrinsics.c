/* Every intrinsic, constant, type and table of the published language is there
 * and does what it says.
 *
 * Each line of `known` is an expression in which the intrinsic it is named
 * after is called, and its value as string() writes it. Where the list of the
 * published names is at hand (../shared), each of them must occur here.
 */
#include <stdlib.h>

#include "saw_run_text.h"
#include "tests/lib/check_main.h"

static const struct {
    const char *name;
    const char *expr;
    const char *value;
} known[] = {
    /* The compiler's own. */
    {"def", "string(def(1 / (len(input) - 0)))", "false"},
    {"convert", "string(convert(int, \"ff\", 16))", "255"},
    {"new", "string(new(array of int, 2, 7))", "{ 7, 7 }"},
    {"new", "new(string, 3, 'x') + string(len(new(map[int] of int)))", "xxx0"},
    {"regex", "string(match(\"^\" + regex(int, 16) + \"$\", \"-1f\"))", "true"},
    {"saw", "string(saw(\"a12b34\", `[0-9]+`, `[a-z]`))", "{ \"12\", \"b\" }"},
    {"sawn", "string(sawn(2, \"1 2 3\", `[0-9]`))", "{ \"1\", \"2\" }"},
    {"sawzall", "string(sawzall(\"1 2\", `[0-9]`))", "{ \"1\", \"2\" }"},
    {"len", "string(len(\"日本\")) + string(len(B\"ab\"))", "22"},
    {"haskey", "string(haskey({1: 2}, 1))", "true"},
    {"lookup", "string(lookup({1: 2}, 5, 9))", "9"},
    {"inproto",
     "?{ p: proto { a: int } = B\"\"; result string(inproto(p.a)); }", "false"},
    {"clearproto",
     "?{ p: proto { a: int } = {1}; clearproto(p.a); "
     "result string(inproto(p.a)); }",
     "false"},
    {"inprotocount",
     "?{ p: proto { a: int, b: int } = {1, 2}; "
     "result string(inprotocount(p)); }",
     "2"},
    {"___undefine", "?{ x: int = 1; ___undefine(x); result string(def(x)); }",
     "false"},
    {"___heapcheck", "?{ ___heapcheck(); result \"\"; }", ""},
    {"___addressof", "string(___addressof(\"a\") >= 0)", "true"},
    {"DEBUG", "string(DEBUG(\"ref\", 1) >= 0)", "true"},
    {"format", "format(\"%d %s %5.2f|%-3d|%x\", 1, \"a\", 2.5, 7, 255)",
     "1 a  2.50|7  |ff"},
    /* Core. */
    {"abs", "string(abs(-3)) + string(abs(-1.5))", "31.5"},
    {"min", "string(min(2, 1)) + min(\"b\", \"a\")", "1a"},
    {"max", "string(max(2.0, 1.0)) + string(max(1T, 2T) == 2T)", "2.0true"},
    {"keys", "string(keys({\"b\": 1, \"a\": 2}))", "{ \"b\", \"a\" }"},
    {"fingerprintof", "string(fingerprintof(1) == fingerprintof(1))", "true"},
    {"highbit", "string(highbit(0)) + string(highbit(256))", "09"},
    {"assert", "?{ assert(true); assert(true, \"so\"); result \"\"; }", ""},
    {"sort", "string(sort({3, 1, 2}))", "{ 1, 2, 3 }"},
    {"sortx", "string(sortx({3, 1, 2}))", "{ 1, 2, 0 }"},
    {"rand", "string(rand() < 1.0)", "true"},
    {"nrand", "string(nrand(1))", "0"},
    {"getresourcestats",
     "?{ r: resourcestats = getresourcestats(); "
     "result string(r.allocatedmem >= 0); }",
     "true"},
    {"load", "string(def(load(\"no such file\")))", "false"},
    {"getenv", "string(def(getenv(\"NO_SUCH_VARIABLE\")))", "false"},
    {"setadditionalinput",
     "?{ setadditionalinput(\"k\", B\"v\"); "
     "result string(getadditionalinput(\"k\")); }",
     "v"},
    {"getadditionalinput", "string(len(getadditionalinput(\"no\")))", "0"},
    {"lockadditionalinput", "?{ lockadditionalinput(); result \"\"; }", ""},
    {"dbconnect",
     "?{ d: SQL_DB = dbconnect(\"\", \"\"); result string(def(d)); }", "false"},
    {"dbquery",
     "?{ a: array of array of string = dbquery(0, \"\"); "
     "result string(def(a)); }",
     "false"},
    /* Times; 1234567890 s is Friday 13 February 2009, 15:31:30 PST. */
    {"now", "string(def(now()))", "true"},
    {"addday", "string(addday(1234567890000000T, 2) == 1234740690000000T)",
     "true"},
    {"addweek", "string(addweek(0T, 1, \"UTC\") == 604800000000T)", "true"},
    {"addmonth", "string(monthof(addmonth(1234567890000000T, 11)))", "1"},
    {"addyear", "string(yearof(addyear(1234567890000000T)))", "2010"},
    {"yearof", "string(yearof(1234567890000000T))", "2009"},
    {"monthof", "string(monthof(1234567890000000T))", "2"},
    {"dayofmonth", "string(dayofmonth(1234567890000000T))", "13"},
    {"dayofweek", "string(dayofweek(1234567890000000T))", "5"},
    {"dayofyear", "string(dayofyear(1234567890000000T))", "44"},
    {"hourof", "string(hourof(1234567890000000T, \"UTC\"))", "23"},
    {"minuteof", "string(minuteof(1234567890000000T))", "31"},
    {"secondof", "string(secondof(1234567890000000T))", "30"},
    {"trunctosecond", "string(int(trunctosecond(1234567890999999T)))",
     "1234567890000000"},
    {"trunctominute", "string(secondof(trunctominute(1234567890000000T)))",
     "0"},
    {"trunctohour", "string(minuteof(trunctohour(1234567890000000T)))", "0"},
    {"trunctoday", "string(hourof(trunctoday(1234567890000000T)))", "0"},
    {"trunctomonth", "string(dayofmonth(trunctomonth(1234567890000000T)))",
     "1"},
    {"trunctoyear", "string(dayofyear(trunctoyear(1234567890000000T)))", "1"},
    {"formattime", "formattime(\"%Y-%m-%d %H\", 1234567890000000T, \"+0000\")",
     "2009-02-13 23"},
    /* Text. */
    {"lowercase", "lowercase(\"ÄB\")", "äb"},
    {"uppercase", "uppercase(\"äb\")", "ÄB"},
    {"strfind", "string(strfind(\"本\", \"日本本\"))", "1"},
    {"strrfind", "string(strrfind(\"本\", \"日本本\"))", "2"},
    {"bytesfind", "string(bytesfind(B\"b\", B\"abb\"))", "1"},
    {"bytesrfind", "string(bytesrfind(B\"b\", B\"abb\"))", "2"},
    {"strreplace", "strreplace(\"aXbX\", \"X\", \"-\", true)", "a-b-"},
    {"match", "string(match(`b+`, \"abbc\"))", "true"},
    {"matchposns", "string(matchposns(`b(b)`, \"abbc\"))", "{ 1, 3, 2, 3 }"},
    {"matchstrs", "string(matchstrs(`b(b)`, \"abbc\"))", "{ \"bb\", \"b\" }"},
    {"splitcsvline", "string(len(splitcsvline(B\"a,\\\"b,c\\\",d\")))", "3"},
    {"splitcsv", "string(splitcsv(B\"a,b,c\", {3, 1})[0])", "c"},
    {"tobase64", "string(tobase64(B\"hi?\", false))", "aGk/"},
    {"frombase64", "string(frombase64(B\"aGk_\", true))", "hi?"},
    {"zlibcompress",
     "string(zlibuncompress(zlibcompress(B\"abc\", false), false))", "abc"},
    {"zlibuncompress", "string(def(zlibuncompress(B\"abc\", true)))", "false"},
    {"gzip", "string(gunzip(gzip(B\"abc\")))", "abc"},
    {"gunzip", "string(def(gunzip(B\"abc\")))", "false"},
    /* Numbers. */
    {"ln", "string(ln(1.0))", "0.0"},
    {"log10", "string(log10(100.0))", "2.0"},
    {"exp", "string(exp(0.0))", "1.0"},
    {"sqrt", "string(sqrt(4.0))", "2.0"},
    {"pow", "string(pow(2.0, 10.0))", "1024.0"},
    {"sin", "string(sin(0.0))", "0.0"},
    {"cos", "string(cos(0.0))", "1.0"},
    {"tan", "string(tan(0.0))", "0.0"},
    {"asin", "string(asin(0.0))", "0.0"},
    {"acos", "string(acos(1.0))", "0.0"},
    {"atan", "string(atan(0.0))", "0.0"},
    {"atan2", "string(atan2(0.0, 1.0))", "0.0"},
    {"sinh", "string(sinh(0.0))", "0.0"},
    {"cosh", "string(cosh(0.0))", "1.0"},
    {"tanh", "string(tanh(0.0))", "0.0"},
    {"asinh", "string(asinh(0.0))", "0.0"},
    {"acosh", "string(acosh(1.0))", "0.0"},
    {"atanh", "string(atanh(0.0))", "0.0"},
    {"fabs", "string(fabs(-2.5))", "2.5"},
    {"ceil", "string(ceil(1.2))", "2.0"},
    {"floor", "string(floor(-1.2))", "-2.0"},
    {"round", "string(round(-1.5))", "-2.0"},
    {"trunc", "string(trunc(-1.7))", "-1.0"},
    {"isnan", "string(isnan(nan))", "true"},
    {"isinf", "string(isinf(Inf))", "true"},
    {"isfinite", "string(isfinite(inf))", "false"},
    {"isnormal", "string(isnormal(0.0))", "false"},
    /* Constants. */
    {"true", "string(true)", "true"},
    {"false", "string(false)", "false"},
    {"PI", "string(PI)", "3.14159265358979"},
    {"inf", "string(inf == Inf)", "true"},
    {"nan", "string(isnan(NaN))", "true"},
    {"Inf", "string(Inf > 1e300)", "true"},
    {"NaN", "string(isnan(NaN))", "true"},
    {"SECOND", "string(SECOND == SEC)", "true"},
    {"SEC", "string(int(SEC))", "1000000"},
    {"MINUTE", "string(MINUTE == MIN)", "true"},
    {"MIN", "string(int(MIN))", "60000000"},
    {"HOUR", "string(HOUR == HR)", "true"},
    {"HR", "string(int(HR))", "3600000000"},
    /* Types and tables. */
    {"int", "string(int(1))", "1"},
    {"uint", "string(uint(1))", "1"},
    {"float", "string(float(1))", "1.0"},
    {"string", "string(1)", "1"},
    {"time", "string(int(time(1)))", "1"},
    {"bytes", "string(bytes(\"a\"))", "a"},
    {"bool", "string(bool(\"t\"))", "true"},
    {"fingerprint", "string(fingerprint(1))", "0x0000000000000001P"},
    {"resourcestats",
     "?{ r: resourcestats = getresourcestats(); "
     "result string(int(r.usertime) >= 0); }",
     "true"},
    {"SQL_DB", "?{ d: SQL_DB = 3; result string(d); }", "3"},
    {"output", "?{ emit output <- B\"\"; result \"\"; }", ""},
    {"stdout", "?{ if (!true) emit stdout <- \"\"; result \"\"; }", ""},
    {"stderr", "?{ emit stderr <- \"\"; result \"\"; }", ""},
    {"_undef_cnt", "?{ if (!true) emit _undef_cnt <- 1; result \"\"; }", ""},
    {"_undef_details",
     "?{ if (!true) emit _undef_details[\"a\"] <- 1; result \"\"; }", ""},
};

/* Aids for testing the published interpreter itself. */
static const char *const left_out[] = {"___raise_segv"};

START_TEST(test_each_intrinsic_gives_its_value)
{
    struct text_run t = {.compile = {0}};
    struct buf source = BUF_INIT;
    int failures = 0;

    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        struct slice got;
        buf_clear(&source);
        buf_printf(&source, "emit stdout <- %s;\n", known[i].expr);
        text_run(&t, buf_slice(&source), NULL, 0);
        got = slice_make(t.output.data ? t.output.data : "", t.output.len);
        if (got.len && got.data[got.len - 1] == '\n')
            got.len--;
        if (t.compile_rc == 0 && t.run_rc == 0 &&
            slice_eq_str(got, known[i].value))
            continue;
        failures++;
        fprintf(stderr, "%s: %s\n  is '%.*s', not '%s'\n%s%s\n", known[i].name,
                known[i].expr, SLICE_ARG(got), known[i].value,
                buf_cstr(&t.diagnostics), t.err.text);
    }
    buf_close(&source);
    text_run_close(&t);
    ck_assert_int_eq(failures, 0);
}

END_TEST

static bool is_known(struct slice name)
{
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (slice_eq_str(name, known[i].name))
            return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(left_out); i++) {
        if (slice_eq_str(name, left_out[i]))
            return true;
    }
    return false;
}

/* Each name of the published list is tested above. */
START_TEST(test_no_published_name_is_missing)
{
    char *path = test_shared("facts/sawzall-intrinsics.txt");
    char line[4096];
    FILE *f = path ? fopen(path, "r") : NULL;

    free(path);
    if (!f)
        return;
    while (fgets(line, sizeof(line), f)) {
        const char *p = line;
        struct slice name;
        if (strncmp(p, "type ", 5) == 0)
            p += 5;
        else if (strncmp(p, "static ", 7) == 0)
            p += 7;
        name = slice_make(p, strcspn(p, ": =\n"));
        if (name.len && !is_known(name))
            ck_abort_msg("%.*s is not tested", SLICE_ARG(name));
    }
    fclose(f);
}

END_TEST

static int read_zone(const char *name, struct buf *out, struct err *err)
{
    struct buf path = BUF_INIT;
    FILE *f;
    size_t n;

    buf_printf(&path, "/usr/share/zoneinfo/%s", name);
    f = fopen(buf_cstr(&path), "rb");
    buf_close(&path);
    if (!f)
        return err_set(err, ERR_NOTFOUND, "no zone %s", name);
    do {
        n = fread(buf_reserve(out, 4096), 1, 4096, f);
        out->len += n;
    } while (n > 0);
    fclose(f);
    return 0;
}

/* Programs that may read no files still know the system's time zones. */
START_TEST(test_restricted_programs_have_time_zones)
{
    struct text_run t = {.compile = {.restricted = true}};

    saw_zones_from(read_zone);
    text_run(&t,
             SLICE_LIT("emit stdout <- string(hourof(1234567890000000T, "
                       "\"Europe/Paris\"));\n"
                       "emit stdout <- string(def(hourof(0T, "
                       "\"../../etc/passwd\")));\n"),
             NULL, 0);
    saw_zones_from(NULL);
    ck_assert_int_eq(t.run_rc, 0);
    ck_assert_str_eq(buf_cstr(&t.output), "0\nfalse\n");
    text_run_close(&t);
}

END_TEST

TEST_MAIN("intrinsics",
          test_restricted_programs_have_time_zones,
          test_each_intrinsic_gives_its_value,
          test_no_published_name_is_missing)
