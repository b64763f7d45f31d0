/* A program over the lines of files gives what one run gives that has them one
 * after the other, however the input is cut and however many threads run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "mapreduce/lines/line_range.h"
#include "mapreduce/lines/line_scan.h"
#include "sawzall-lite/sawzall.h"
#include "tests/lib/check_main.h"
#include "tests/lib/saw_source.h"

#define FILES_MAX 4

/* --- Inputs -------------------------------------------------------------- */

struct inputs {
    char *paths[FILES_MAX];
    struct buf texts[FILES_MAX];
    size_t count;
};

static void inputs_add(struct inputs *in, struct slice text)
{
    struct buf path = BUF_INIT;
    FILE *f;
    buf_printf(&path, "%s/%zu", test_tmpdir(), in->count);
    f = fopen(buf_cstr(&path), "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(text.data, 1, text.len, f), text.len);
    ck_assert_int_eq(fclose(f), 0);
    buf_init(&in->texts[in->count]);
    buf_append_slice(&in->texts[in->count], text);
    in->paths[in->count++] = buf_take(&path);
}

static void inputs_close(struct inputs *in)
{
    for (size_t i = 0; i < in->count; i++) {
        (void)unlink(in->paths[i]);
        mem_free(in->paths[i]);
        buf_close(&in->texts[i]);
    }
    in->count = 0;
}

/* Lines of all sorts: empty, cut at a zero, not UTF-8, long ones; perhaps
 * without a line feed at the end. */
static void random_lines(struct rand_gen *g, size_t count, struct buf *b)
{
    static const char *const pieces[] = {
        "a", "12", "b ", "é", "\xff\xfe", ",", "x=7", "\xe2\x82", "\r"};
    for (size_t i = 0; i < count; i++) {
        uint64_t n = rand_below(g, 4) == 0 ? 0 : rand_below(g, 6);
        if (rand_below(g, 200) == 0)
            n = 3000;
        for (; n > 0; n--)
            buf_append_str(b, pieces[rand_below(g, 9)]);
        if (rand_below(g, 50) == 0)
            buf_append_byte(b, '\0');
        if (i + 1 < count || rand_below(g, 2) == 0)
            buf_append_byte(b, '\n');
    }
}

static void random_inputs(struct rand_gen *g, size_t lines, struct inputs *in)
{
    for (uint64_t n = 1 + rand_below(g, FILES_MAX); n > 0; n--) {
        struct buf b = BUF_INIT;
        random_lines(g, rand_below(g, lines + 1), &b);
        inputs_add(in, buf_slice(&b));
        buf_close(&b);
    }
}

/* --- Runs ---------------------------------------------------------------- */

struct outcome {
    struct buf written;
    struct buf results;
    struct err err;
    int rc;
};

static int
take_text(void *ctx, const char *path, struct slice text, struct err *err)
{
    struct outcome *o = ctx;
    (void)err;
    buf_printf(&o->written, "%s: ", path);
    buf_append_slice(&o->written, text);
    return 0;
}

static struct saw_run *start(struct saw_program *p,
                             struct outcome *o,
                             uint64_t memory,
                             const char *listed)
{
    struct saw_run_options opts = {.fuel_per_record = 400000,
                                   .depth_max = 500,
                                   .memory_bytes_max = memory,
                                   .table_output = listed,
                                   .seed = 11,
                                   .write = take_text,
                                   .write_ctx = o};
    struct saw_run *r = NULL;
    *o = (struct outcome){.written = BUF_INIT, .results = BUF_INIT};
    o->rc = saw_run_new(p, &opts, &r, &o->err);
    ck_assert_msg(o->rc == 0, "%s", o->err.text);
    return r;
}

static void finish(struct saw_run *r, struct outcome *o)
{
    if (!o->rc)
        saw_run_print(r, &o->results);
    saw_run_free(r);
}

static void outcome_close(struct outcome *o)
{
    buf_close(&o->written);
    buf_close(&o->results);
}

/* The model: each line by itself. False: the program met a limit. */
static bool model(struct saw_program *p,
                  const char *listed,
                  const struct inputs *in,
                  struct outcome *o)
{
    struct saw_run *r = start(p, o, 64 << 20, listed);
    uint64_t number = 0;
    for (size_t i = 0; i < in->count && !o->rc; i++) {
        struct slice rest = buf_slice(&in->texts[i]);
        uint64_t offset = 0;
        for (unsigned line = 1; rest.len > 0 && !o->rc; line++) {
            char key[24];
            char place[24];
            size_t n = slice_find_byte(rest, '\n');
            snprintf(key, sizeof(key), "%llu", (unsigned long long)number++);
            snprintf(place, sizeof(place), "%020llu",
                     (unsigned long long)offset);
            o->rc = saw_run_record_at(r, slice_sub(rest, 0, n), slice_str(key),
                                      slice_str(place), &o->err);
            if (o->rc)
                err_wrap(&o->err, "%s: line %u", in->paths[i], line);
            offset += n + 1;
            rest = slice_sub(rest, n + 1, rest.len);
        }
    }
    finish(r, o);
    return o->rc != ERR_EXHAUSTED;
}

static void scan(struct saw_program *p,
                 const char *listed,
                 const struct inputs *in,
                 unsigned threads,
                 uint64_t segment_bytes,
                 uint64_t memory,
                 struct outcome *o)
{
    struct world *world = world_real_new();
    struct line_scan_options opts = {.world = world,
                                     .thread_count = threads,
                                     .segment_bytes = segment_bytes};
    struct saw_run *r = start(p, o, memory, listed);
    o->rc = line_scan_run(r, (const char *const *)in->paths, in->count, &opts,
                          &o->err);
    finish(r, o);
    world_free(world);
}

static void same_outcome(const struct outcome *want,
                         const struct outcome *got,
                         struct slice source)
{
    ck_assert_msg(want->rc == got->rc, "%d, not %d: %s (%s)\n%.*s", got->rc,
                  want->rc, got->err.text, want->err.text, SLICE_ARG(source));
    if (want->rc)
        ck_assert_str_eq(got->err.text, want->err.text);
    ck_assert_msg(slice_eq(buf_slice(&want->written), buf_slice(&got->written)),
                  "written:\n%.*s\nnot:\n%.*s\n%.*s",
                  SLICE_ARG(buf_slice(&got->written)),
                  SLICE_ARG(buf_slice(&want->written)), SLICE_ARG(source));
    ck_assert_msg(slice_eq(buf_slice(&want->results), buf_slice(&got->results)),
                  "results:\n%.*s\nnot:\n%.*s\n%.*s",
                  SLICE_ARG(buf_slice(&got->results)),
                  SLICE_ARG(buf_slice(&want->results)), SLICE_ARG(source));
}

/* Compare scans of several kinds with the model. False: the program met a
 * limit, and nothing was compared. */
static bool agrees(struct slice source,
                   bool ignore_undefs,
                   const char *listed,
                   const struct inputs *in,
                   struct rand_gen *g)
{
    struct saw_compile_options copts = {.restricted = true,
                                        .ignore_undefs = ignore_undefs,
                                        .defer_tables = listed != NULL};
    struct saw_program *p = NULL;
    struct buf diagnostics = BUF_INIT;
    struct outcome want;
    bool fits;
    if (saw_compile(&copts, source, "p.szl", &p, &diagnostics)) {
        buf_close(&diagnostics);
        return false;
    }
    fits = model(p, listed, in, &want);
    for (unsigned k = 0; fits && k < 4; k++) {
        struct outcome got;
        uint64_t bytes = k == 0 ? 1 : 1 + rand_below(g, 4000);
        scan(p, listed, in, 1 + k, bytes, k == 3 ? 64 << 20 : 0, &got);
        same_outcome(&want, &got, source);
        outcome_close(&got);
    }
    outcome_close(&want);
    saw_program_free(p);
    buf_close(&diagnostics);
    return fits;
}

/* --- Tests --------------------------------------------------------------- */

/* Ranges that touch give each line once, wherever they are cut. */
START_TEST(test_ranges)
{
    struct world *world = world_real_new();
    struct rand_gen g;
    rand_init(&g, test_seed());
    for (unsigned round = 0; round < 200; round++) {
        struct inputs in = {.count = 0};
        struct buf text = BUF_INIT;
        struct buf got = BUF_INIT;
        struct buf memory = BUF_INIT;
        uint64_t at = 0;
        struct file *file;
        random_lines(&g, rand_below(&g, 40), &text);
        if (round % 50 == 0) /* Over several reads. */
            buf_append_fill(&text, 'l', 600000);
        inputs_add(&in, buf_slice(&text));
        ck_assert_int_eq(file_open(world, in.paths[0], FILE_READ, &file, NULL),
                         0);
        while (at < text.len) {
            uint64_t end = at + 1 + rand_below(&g, text.len);
            struct line_range r;
            struct slice lines;
            uint64_t offset;
            bool more;
            line_range_init(&r, file, "in", at, end, &memory);
            while (line_range_next(&r, &lines, &offset, &more, NULL) == 0 &&
                   more) {
                ck_assert_uint_eq(offset, got.len);
                ck_assert_uint_gt(lines.len, 0);
                buf_append_slice(&got, lines);
            }
            at = end;
        }
        ck_assert(slice_eq(buf_slice(&got), buf_slice(&text)));
        file_close(file);
        inputs_close(&in);
        buf_close(&text);
        buf_close(&got);
        buf_close(&memory);
    }
    world_free(world);
}

END_TEST

/* Every kind of table, what is written, undefined values, errors at a line. */
static const char *const sources[] = {
    "n: table sum of int; emit n <- 1;",
    "n: table sum[s: string] of int; emit n[string(input)] <- len(input);",
    "n: table sum[i: int][s: string] of { a: int, b: int };"
    "emit n[len(input)][string(input)] <- { 1, len(input) };",
    "n: table sum of float; emit n <- 0.1 * float(len(input));",
    "n: table sum of map[string] of int; emit n <- {string(input): 1};",
    "c: table collection of bytes; emit c <- input;",
    "c: table collection[i: int] of bytes; emit c[len(input)] <- input;",
    "m: table maximum(3) of bytes weight int; emit m <- input weight "
    "len(input);",
    "m: table minimum(3)[i: int] of bytes weight int;"
    "emit m[len(input) % 3] <- input weight len(input);",
    "t: table top(4) of s: string weight n: int; emit t <- string(input) "
    "weight 1;",
    "t: table top(4)[i: int] of s: string weight n: int;"
    "emit t[len(input)] <- string(input) weight len(input);",
    "t: table top(3) of s: int weight { a: int, b: int };"
    "emit t <- len(input) weight { 1, len(input) };",
    "u: table unique(10) of bytes; emit u <- input;",
    "u: table unique(1000)[i: int] of bytes; emit u[len(input)] <- input;",
    "s: table set(3) of int; emit s <- len(input);",
    "s: table set(100)[i: int] of bytes; emit s[len(input) % 5] <- input;",
    "s: table sample(5) of bytes; emit s <- input;",
    "n: table sum of int; s: table sample(3)[i: int] of bytes;"
    "emit n <- 1; emit s[len(input) % 3] <- input;",
    "s: table weightedsample(4) of bytes weight int; emit s <- input weight "
    "len(input);",
    "q: table quantile(5) of int; emit q <- len(input);",
    "d: table distinctsample(4) of bytes weight int; emit d <- input weight 1;",
    "h: table inversehistogram(50) of bytes weight int; emit h <- input weight "
    "1;",
    "b: table bootstrapsum(4) of int weight fingerprint;"
    "emit b <- len(input) weight fingerprintof(input);",
    "c: table mrcounter of int; emit c <- 1;",
    "r: table sum of int; emit r <- nrand(1000) + int(100.0 * rand());",
    "emit stdout <- string(input);",
    "n: table sum of int; if (len(input) > 3) emit stdout <- string(input); "
    "emit stderr <- \"x\"; emit n <- 1;",
    "n: table sum of int; emit n <- int(string(input), 10);",
    "n: table sum of int; emit stdout <- string(len(input));"
    "if (len(input) == 7) assert(false, \"seven\"); emit n <- 1;",
    "c: table collection of string; emit c <- string(input_key);",
    "n: table sum[s: string] of int; emit n[string(input_key)] <- 1;"
    "if (string(input_key) == \"29\") assert(false, \"that one\");",
    "c: table collection of string; emit c <- "
    "string(getadditionalinput(\"n\"));"
    "setadditionalinput(\"n\", bytes(string(input_key)));",
    "static s: int = ?{ emit stdout <- \"once\"; result 3; };"
    "n: table sum of int; emit n <- s;",
    "f: array of string = matchstrs(`^([^ ,]*),?([0-9]+)`, string(input));"
    "n: table sum[s: string] of int; if (len(f) > 2) emit n[f[1]] <- "
    "int(f[2]);",
    "f: array of string = saw(string(input), `[a-z]+`, skip ` `, `[0-9]+`);"
    "n: table sum[s: string] of int; if (len(f) > 1) emit n[f[1]] <- 1;",
};

START_TEST(test_tables)
{
    struct rand_gen g;
    unsigned compared = 0;
    rand_init(&g, test_seed());
    for (unsigned round = 0; round < 6; round++) {
        struct inputs in = {.count = 0};
        random_inputs(&g, round == 0 ? 3 : 120, &in);
        for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
            struct slice s = slice_str(sources[i]);
            compared += agrees(s, false, NULL, &in, &g);
            compared += agrees(s, true, NULL, &in, &g);
            compared += agrees(s, true, "n", &in, &g);
        }
        inputs_close(&in);
    }
    /* Each compiles and stays in its limits. */
    ck_assert_uint_eq(compared, 6 * 3 * ARRAY_LEN(sources));
}

END_TEST

/* The text with another expression in place of one. */
static void replace(struct buf *text, const char *old, const char *by)
{
    char *all = mem_strdup(buf_cstr(text));
    char *at = strstr(all, old);
    ck_assert_ptr_nonnull(at);
    buf_clear(text);
    buf_append(text, all, (size_t)(at - all));
    buf_append_str(text, by);
    buf_append_str(text, at + strlen(old));
    mem_free(all);
}

/* Random programs over random inputs. */
START_TEST(test_random_programs)
{
    const char *count = getenv("QUARRY_PROGRAMS");
    unsigned n = count ? (unsigned)strtoul(count, NULL, 10) : 120;
    unsigned compared = 0;
    struct rand_gen g;
    rand_init(&g, test_seed());
    for (unsigned i = 0; i < n; i++) {
        uint8_t bytes[300];
        struct saw_source s = {.p = bytes, .end = bytes + sizeof(bytes)};
        struct inputs in = {.count = 0};
        for (size_t k = 0; k < sizeof(bytes); k++)
            bytes[k] = (uint8_t)rand_u64(&g);
        s.end = bytes + rand_below(&g, sizeof(bytes));
        src_program(&s, 20000);
        if (i % 2) /* Then lines have no numbers. */
            replace(&s.text, "string(input_key)", "string(input)");
        random_inputs(&g, 30, &in);
        compared += agrees(buf_slice(&s.text), i % 4 < 3, NULL, &in, &g);
        inputs_close(&in);
        buf_close(&s.text);
    }
    ck_assert_uint_gt(compared, n / 4);
}

END_TEST

/* Results beyond what is kept exactly are the same with any number of threads,
 * too. */
START_TEST(test_estimates)
{
    static const char source[] =
        "q: table quantile(5) of int; emit q <- len(input) * 7919 % 100003;"
        "f: table sum of { a: float }; emit f <- { 0.1 * float(len(input)) };"
        "t: table top(3) of string weight float;"
        "emit t <- string(len(input)) weight 0.1;";
    struct saw_compile_options copts = {.restricted = true};
    struct saw_program *p;
    struct inputs in = {.count = 0};
    struct buf text = BUF_INIT;
    struct buf diagnostics = BUF_INIT;
    struct outcome want;
    for (unsigned i = 0; i < 12000; i++) {
        buf_append_fill(&text, 'x', i * 37 % 211);
        buf_append_byte(&text, '\n');
    }
    inputs_add(&in, buf_slice(&text));
    ck_assert_int_eq(
        saw_compile(&copts, slice_str(source), "p", &p, &diagnostics), 0);
    scan(p, NULL, &in, 1, 100000, 0, &want);
    for (unsigned threads = 2; threads < 5; threads++) {
        struct outcome got;
        scan(p, NULL, &in, threads, 100000, 0, &got);
        same_outcome(&want, &got, slice_str(source));
        outcome_close(&got);
    }
    outcome_close(&want);
    saw_program_free(p);
    inputs_close(&in);
    buf_close(&text);
    buf_close(&diagnostics);
}

END_TEST

/* A line of several reads and segments is one record. */
START_TEST(test_long_line)
{
    struct inputs in = {.count = 0};
    struct buf text = BUF_INIT;
    struct rand_gen g;
    rand_init(&g, 1);
    buf_append_str(&text, "a\n");
    buf_append_fill(&text, 'y', 1500000);
    buf_append_str(&text, "\n\nb");
    inputs_add(&in, buf_slice(&text));
    ck_assert(agrees(SLICE_LIT("c: table collection of int; emit c <- "
                               "len(input);"),
                     false, NULL, &in, &g));
    inputs_close(&in);
    buf_close(&text);
}

END_TEST

/* A file that is not there is the error of its place in the order: an earlier
 * line that fails comes first, and what was written before it stands. */
START_TEST(test_missing_file)
{
    struct saw_compile_options copts = {.restricted = true};
    struct saw_program *p;
    struct inputs in = {.count = 0};
    struct buf diagnostics = BUF_INIT;
    struct outcome got;
    inputs_add(&in, SLICE_LIT("one\ntwo\n"));
    in.paths[in.count++] = mem_strdup("/nonexistent/log");
    inputs_add(&in, SLICE_LIT("three\n"));
    ck_assert_int_eq(saw_compile(&copts,
                                 SLICE_LIT("emit stdout <- string(input);"),
                                 "p", &p, &diagnostics),
                     0);
    scan(p, NULL, &in, 2, 4, 0, &got);
    ck_assert_int_eq(got.rc, ERR_NOTFOUND);
    ck_assert_ptr_nonnull(strstr(got.err.text, "/nonexistent/log: "));
    ck_assert_str_eq(buf_cstr(&got.written),
                     "/dev/stdout: one\n/dev/stdout: two\n");
    outcome_close(&got);
    saw_program_free(p);
    inputs_close(&in);
    buf_close(&diagnostics);
}

END_TEST

/* Once cancelled, also an endless record ends, with the line reached. */
START_TEST(test_cancel)
{
    struct saw_compile_options copts = {.restricted = true};
    struct saw_run_options opts = {.seed = 1};
    struct world *world = world_real_new();
    atomic_bool cancel = false;
    struct line_scan_options o = {.world = world,
                                  .thread_count = 2,
                                  .segment_bytes = 4,
                                  .cancel = &cancel};
    struct saw_program *p;
    struct saw_run *r;
    struct inputs in = {.count = 0};
    struct buf diagnostics = BUF_INIT;
    struct err err = ERR_INIT;
    inputs_add(&in, SLICE_LIT("one\ntwo\nendless\nfour\n"));
    ck_assert_int_eq(
        saw_compile(&copts, SLICE_LIT("while (string(input) == \"endless\") ;"),
                    "p", &p, &diagnostics),
        0);
    ck_assert_int_eq(saw_run_new(p, &opts, &r, &err), 0);
    atomic_store(&cancel, true);
    ck_assert_int_eq(
        line_scan_run(r, (const char *const *)in.paths, 1, &o, &err),
        ERR_CANCELLED);
    ck_assert_ptr_nonnull(strstr(err.text, "saw: interrupted at line"));
    saw_run_free(r);
    saw_program_free(p);
    inputs_close(&in);
    buf_close(&diagnostics);
    world_free(world);
}

END_TEST

TEST_MAIN("line scan",
          test_ranges,
          test_tables,
          test_random_programs,
          test_estimates,
          test_long_line,
          test_missing_file,
          test_cancel)
