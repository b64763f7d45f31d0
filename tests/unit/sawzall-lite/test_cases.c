/* Every program in cases/ does what its comments say.
 *
 *     # input: TEXT          one record (several: several)
 *     # expect: TEXT         the next line of its output, in order
 *     # error: TEXT          somewhere in the diagnostics or the run's error
 *     # warning: TEXT        somewhere in the diagnostics
 *     # option: ignore_undefs | fuel=N | memory=N | depth=N | restricted
 *
 * A program without `# error:` must compile and run without one, and its output
 * must be the expected lines and nothing else.
 */
#include <dirent.h>
#include <stdarg.h>
#include <stdlib.h>

#include "saw_run_text.h"
#include "tests/lib/check_main.h"

struct expectation {
    struct slice inputs[16];
    size_t input_count;
    struct buf output;
    struct slice errors[16];
    size_t error_count;
    struct slice warnings[16];
    size_t warning_count;
};

static void option(struct text_run *t, struct slice o)
{
    char text[64];

    snprintf(text, sizeof(text), "%.*s", SLICE_ARG(o));
    if (strcmp(text, "ignore_undefs") == 0)
        t->compile.ignore_undefs = true;
    else if (strcmp(text, "restricted") == 0)
        t->compile.restricted = true;
    else if (strncmp(text, "fuel=", 5) == 0)
        t->run.fuel_per_record = strtoull(text + 5, NULL, 10);
    else if (strncmp(text, "memory=", 7) == 0)
        t->run.memory_bytes_max = strtoull(text + 7, NULL, 10);
    else if (strncmp(text, "depth=", 6) == 0)
        t->run.depth_max = (uint32_t)strtoul(text + 6, NULL, 10);
    else
        ck_abort_msg("unknown option %s", text);
}

static bool directive(struct slice line, const char *name, struct slice *rest)
{
    if (!slice_starts_with(line, slice_str(name)))
        return false;
    *rest = slice_sub(line, strlen(name), line.len);
    return true;
}

static void
parse(struct slice source, struct expectation *x, struct text_run *t)
{
    size_t at = 0;

    while (at < source.len) {
        struct slice rest = slice_sub(source, at, source.len);
        struct slice line = slice_sub(rest, 0, slice_find_byte(rest, '\n'));
        struct slice v;
        at += line.len + 1;
        if (directive(line, "# input: ", &v)) {
            x->inputs[x->input_count++] = v;
        } else if (directive(line, "# expect: ", &v)) {
            buf_append_slice(&x->output, v);
            buf_append_byte(&x->output, '\n');
        } else if (directive(line, "# error: ", &v)) {
            x->errors[x->error_count++] = v;
        } else if (directive(line, "# warning: ", &v)) {
            x->warnings[x->warning_count++] = v;
        } else if (directive(line, "# option: ", &v)) {
            option(t, v);
        }
    }
}

static bool text_contains(const char *in, struct slice what)
{
    char text[256];

    snprintf(text, sizeof(text), "%.*s", SLICE_ARG(what));
    return strstr(in, text) != NULL;
}

static bool contains(struct buf *b, struct slice what)
{
    return text_contains(buf_cstr(b), what);
}

/* Print a failure; all of them are seen in one run. */
static int failures;

static void PRINTF_LIKE(2, 3) complain(const char *name, const char *fmt, ...)
{
    va_list ap;

    failures++;
    printf("%s: ", name);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    printf("\n");
    fflush(stdout);
}

static void check(const char *name, struct expectation *x, struct text_run *t)
{
    size_t i;

    for (i = 0; i < x->error_count; i++) {
        if (!contains(&t->diagnostics, x->errors[i]) &&
            !text_contains(t->err.text, x->errors[i]))
            complain(name, "no error \"%.*s\" in:\n%s\n%s",
                     SLICE_ARG(x->errors[i]), buf_cstr(&t->diagnostics),
                     t->err.text);
    }
    for (i = 0; i < x->warning_count; i++) {
        if (!contains(&t->diagnostics, x->warnings[i]))
            complain(name, "no warning \"%.*s\" in:\n%s",
                     SLICE_ARG(x->warnings[i]), buf_cstr(&t->diagnostics));
    }
    if (x->error_count == 0 && t->compile_rc != 0)
        complain(name, "%s", buf_cstr(&t->diagnostics));
    else if (x->error_count == 0 && t->run_rc != 0)
        complain(name, "%s", t->err.text);
    else if (x->error_count > 0 && t->compile_rc == 0 && t->run_rc == 0)
        complain(name, "an error was expected");
    if (t->compile_rc == 0 &&
        strcmp(buf_cstr(&t->output), buf_cstr(&x->output)) != 0)
        complain(name, "output is\n%sbut should be\n%s", buf_cstr(&t->output),
                 buf_cstr(&x->output));
}

static void run_case(const char *path, const char *name)
{
    struct expectation x = {.output = BUF_INIT};
    struct text_run t = {.run = {.seed = 1}};
    struct buf source = BUF_INIT;
    FILE *f = fopen(path, "rb");
    size_t n;

    ck_assert_ptr_nonnull(f);
    do {
        n = fread(buf_reserve(&source, 65536), 1, 65536, f);
        source.len += n;
    } while (n > 0);
    fclose(f);
    parse(buf_slice(&source), &x, &t);
    text_run(&t, buf_slice(&source), x.inputs, x.input_count);
    check(name, &x, &t);
    text_run_close(&t);
    buf_close(&x.output);
    buf_close(&source);
}

/* Each program of cases/ gives exactly the output and errors it names. */
START_TEST(test_cases)
{
    const char *dir = QUARRY_SOURCE_DIR "/tests/unit/sawzall-lite/cases";
    DIR *d = opendir(dir);
    struct dirent *e;
    int count = 0;

    ck_assert_ptr_nonnull(d);
    while ((e = readdir(d)) != NULL) {
        char path[512];
        const char *dot = strrchr(e->d_name, '.');
        if (!dot || strcmp(dot, ".szl") != 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
        run_case(path, e->d_name);
        count++;
    }
    closedir(d);
    ck_assert_int_ge(count, 20);
    ck_assert_int_eq(failures, 0);
}

END_TEST

TEST_MAIN("cases", test_cases)
