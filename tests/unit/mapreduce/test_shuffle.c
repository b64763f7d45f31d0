/* Everything a job may require of the shuffle: groups that are parts of keys,
 * orders over all parts, one key with most of the values, no map, several
 * inputs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/core/panic.h"
#include "base/core/rand.h"
#include "mapreduce/job.h"
#include "mapreduce/mapreduce.h"
#include "tests/lib/check_main.h"
#include "tests/unit/mapreduce/output.h"

/* --- Fixture ------------------------------------------------------------- */

static const char *dir;
static char in_spec[310];
static char out_spec[310];
static const char *inputs[2] = {in_spec, NULL};
static const char *outputs[1] = {out_spec};

static void write_file(const char *name, const struct buf *text)
{
    char path[310];
    FILE *f;
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "wb");
    ck_assert_uint_eq(fwrite(text->data, 1, text->len, f), text->len);
    fclose(f);
}

static void setup(const struct buf *text)
{
    dir = test_tmpdir();
    setenv("TMPDIR", dir, 1);
    snprintf(in_spec, sizeof(in_spec), "file:%s/in.txt", dir);
    snprintf(out_spec, sizeof(out_spec), "file:%s/out", dir);
    write_file("in.txt", text);
}

static struct mr_options options(const struct mr_job *job)
{
    return (struct mr_options){.program = {.job = job},
                               .inputs = inputs,
                               .input_count = 1,
                               .outputs = outputs,
                               .output_count = 1,
                               .workers = 2,
                               .encrypts = getenv("QUARRY_TEST_ENCRYPTED"),
                               .memory_bytes = 2 << 20,
                               .overwrite = true};
}

/* Owned. */
static char *read_output(void)
{
    char path[400];
    snprintf(path, sizeof(path), "%s/out", dir);
    return read_parts(path);
}

static void run(const struct mr_options *o, struct mr_report **report)
{
    struct err err = ERR_INIT;
    ck_assert_msg(mr_run(o, report, &err) == 0, "%s", err.text);
}

/* --- Secondary sort ------------------------------------------------------ */

/* Lines "name number": the key is both, the group the name. */
static int
pair_map(struct mr_task *t, const struct mr_record *r, struct err *err)
{
    (void)err;
    mr_emit(t, r->value, SLICE_LIT("x"));
    return 0;
}

static size_t name_group(struct mr_task *t, struct slice key)
{
    (void)t;
    return slice_find_byte(key, ' ');
}

/* One line a group; '!' where the numbers are not in order. */
static int order_reduce(struct mr_task *t,
                        struct slice key,
                        struct mr_values *values,
                        struct err *err)
{
    struct buf last = BUF_INIT;
    struct buf line = BUF_INIT;
    struct slice value;
    unsigned n = 0;
    bool sorted = true;
    (void)err;
    while (mr_values_next(values, &value)) {
        struct slice whole = mr_values_key(values);
        sorted = sorted && slice_cmp(buf_slice(&last), whole) <= 0;
        buf_clear(&last);
        buf_append_slice(&last, whole);
        n++;
    }
    buf_printf(&line, "%u%s", n, sorted ? "" : "!");
    mr_write(mr_output(t, NULL), key, buf_slice(&line));
    buf_close(&line);
    buf_close(&last);
    return 0;
}

/* A reduce call sees all keys of its group, in order of the whole keys, however
 * the input is cut and whether pairs were spilled. */
START_TEST(test_secondary_sort)
{
    static const struct mr_job job = {.abi_version = MR_ABI_VERSION,
                                      .name = "pairs",
                                      .map = pair_map,
                                      .group = name_group,
                                      .reduce = order_reduce};

    enum {
        NAMES = 50,
        LINES = 60000
    };
    struct rand_gen r;
    struct buf text = BUF_INIT;
    unsigned counts[NAMES] = {0};
    rand_init(&r, test_seed());
    for (int i = 0; i < LINES; i++) {
        unsigned name = (unsigned)rand_below(&r, NAMES);
        counts[name]++;
        buf_printf(&text, "name%02u %08u\n", name,
                   (unsigned)rand_below(&r, 100000000));
    }
    setup(&text);
    for (int i = 0; i < 3; i++) {
        struct mr_options o = options(&job);
        char *out;
        o.split_bytes = i == 1 ? 100000 : 0;
        o.reducers = i == 2 ? 4 : 1;
        run(&o, NULL);
        out = read_output();
        for (unsigned k = 0; k < NAMES; k++) {
            char want[40];
            snprintf(want, sizeof(want), "name%02u\t%u\n", k, counts[k]);
            ck_assert_ptr_nonnull(strstr(out, want));
        }
        ck_assert_ptr_null(strchr(out, '!'));
        mem_free(out);
    }
    buf_close(&text);
}

END_TEST

/* --- Total order --------------------------------------------------------- */

static int
line_map(struct mr_task *t, const struct mr_record *r, struct err *err)
{
    (void)err;
    mr_emit(t, r->value, SLICE_EMPTY);
    return 0;
}

static int keys_reduce(struct mr_task *t,
                       struct slice key,
                       struct mr_values *values,
                       struct err *err)
{
    struct slice value;
    (void)err;
    while (mr_values_next(values, &value))
        mr_write(mr_output(t, NULL), SLICE_EMPTY, key);
    return 0;
}

/* Parts follow each other, up or down, also of keys of which many are equal;
 * and no part has nearly all. */
START_TEST(test_total_order)
{
    struct mr_job job = {.abi_version = MR_ABI_VERSION,
                         .name = "order",
                         .map = line_map,
                         .reduce = keys_reduce,
                         .total_order = true};

    enum {
        LINES = 40000
    };
    struct rand_gen r;
    struct buf text = BUF_INIT;
    rand_init(&r, test_seed());
    for (int i = 0; i < LINES; i++)
        buf_printf(&text, "%06u\n",
                   rand_one_in(&r, 4) ? 7 : (unsigned)rand_below(&r, 1000000));
    setup(&text);
    for (int i = 0; i < 2; i++) {
        struct mr_options o = options(&job);
        struct mr_report *report;
        struct stat st;
        char path[400];
        char *out;
        unsigned lines = 0;
        job.sort = i ? MR_SORT_DESCENDING : MR_SORT_ASCENDING;
        o.split_bytes = 20000;
        o.reducers = 5;
        run(&o, &report);
        ck_assert_uint_ge(report->reduce_tasks, 4);
        out = read_output();
        for (char *p = out; p[7]; p += 7, lines++) {
            int c = memcmp(p, p + 7, 6);
            ck_assert(i ? c >= 0 : c <= 0);
        }
        ck_assert_uint_eq(lines + 1, LINES);
        for (unsigned k = 0; k < report->reduce_tasks; k++) {
            snprintf(path, sizeof(path), "%s/out/part-%05u", dir, k);
            ck_assert_int_eq(stat(path, &st), 0);
            ck_assert_int_lt(st.st_size, LINES * 7 / 2);
        }
        mem_free(out);
        mr_report_free(report);
    }
    buf_close(&text);
}

END_TEST

/* --- Skew ---------------------------------------------------------------- */

/* A line becomes a value of 4 KB, nine of ten for one key. */
static int
heavy_map(struct mr_task *t, const struct mr_record *r, struct err *err)
{
    static char value[4096];
    bool other = r->number % 10 == 0;
    (void)err;
    memset(value, 'a' + (int)(r->number % 26), sizeof(value));
    /* Incompressible. */
    for (size_t i = 0; i < sizeof(value); i += 8)
        memcpy(value + i,
               &(uint64_t){(r->number * 4096 + i) * 0x9e3779b97f4a7c15}, 8);
    mr_emit(t, other ? r->value : SLICE_LIT("one"),
            slice_make(value, sizeof(value)));
    return 0;
}

static int bytes_reduce(struct mr_task *t,
                        struct slice key,
                        struct mr_values *values,
                        struct err *err)
{
    struct slice value;
    int64_t bytes = 0;
    (void)err;
    while (mr_values_next(values, &value))
        bytes += (int64_t)value.len;
    mr_write_count(mr_output(t, NULL), key, bytes);
    return 0;
}

/* A key with fifty times the memory in values reaches its reducer: values are
 * read as they are wanted, and the limit on the attempt's memory holds. */
START_TEST(test_skewed_key)
{
    static const struct mr_job job = {.abi_version = MR_ABI_VERSION,
                                      .name = "skew",
                                      .map = heavy_map,
                                      .reduce = bytes_reduce};

    enum {
        LINES = 20000
    };
    struct mr_options o = options(&job);
    struct buf text = BUF_INIT;
    char want[40];
    char *out;
    for (int i = 0; i < LINES; i++)
        buf_printf(&text, "key%05d\n", i);
    setup(&text);
    o.heap_bytes = 48 << 20;
    o.split_bytes = 45000;
    o.reducers = 2;
    o.skip_none = true;
    run(&o, NULL);
    out = read_output();
    snprintf(want, sizeof(want), "one\t%lld\n",
             (long long)(LINES - LINES / 10) * 4096);
    ck_assert_ptr_nonnull(strstr(out, want));
    mem_free(out);
    buf_close(&text);
}

END_TEST

/* --- Without map; several inputs ----------------------------------------- */

static int sum_reduce(struct mr_task *t,
                      struct slice key,
                      struct mr_values *values,
                      struct err *err)
{
    (void)err;
    mr_write_count(mr_output(t, NULL), key, mr_values_sum(values));
    return 0;
}

static int
count_map(struct mr_task *t, const struct mr_record *r, struct err *err)
{
    (void)err;
    mr_emit_count(t, r->value, r->input == 0 ? 1 : 100);
    return 0;
}

static int pass_reduce(struct mr_task *t,
                       struct slice key,
                       struct mr_values *values,
                       struct err *err)
{
    struct slice value;
    (void)err;
    while (mr_values_next(values, &value))
        mr_write(mr_output(t, NULL), key, value);
    return 0;
}

/* Records that one job wrote are reduced by another that has no map; and inputs
 * are told apart by their number. */
START_TEST(test_reduce_only)
{
    static const struct mr_job first = {.abi_version = MR_ABI_VERSION,
                                        .name = "first",
                                        .map = count_map,
                                        .reduce = pass_reduce};
    static const struct mr_job second = {
        .abi_version = MR_ABI_VERSION, .name = "second", .reduce = sum_reduce};
    struct mr_options o = options(&first);
    struct buf text = BUF_INIT;
    char more[330];
    char records[330];
    const char *to[1] = {records};
    const char *from[1] = {records};
    char *out;
    buf_append_str(&text, "a\nb\na\n");
    setup(&text);
    write_file("more.txt", &text);
    snprintf(more, sizeof(more), "file:%s/more.txt", dir);
    snprintf(records, sizeof(records), "records:%s/pairs", dir);
    inputs[1] = more;
    o.input_count = 2;
    o.outputs = to;
    run(&o, NULL);
    o = options(&second);
    o.inputs = from;
    run(&o, NULL);
    out = read_output();
    ck_assert_str_eq(out, "a\t202\nb\t101\n");
    mem_free(out);
    buf_close(&text);
}

END_TEST

/* So it is with commands; and a reducer that reads nothing is no error, unless
 * it says so itself. */
START_TEST(test_command_reduces)
{
    struct mr_options o = options(NULL);
    struct buf text = BUF_INIT;
    char *out;
    for (int i = 0; i < 30000; i++)
        buf_printf(&text, "%c\t%d\n", 'c' - i % 3, 1);
    setup(&text);
    o.program.reducer = "cut -f1 | uniq -c | tr -s ' '";
    run(&o, NULL);
    out = read_output();
    ck_assert_str_eq(out, " 10000 a\n 10000 b\n 10000 c\n");
    mem_free(out);
    o.program.reducer = "echo nothing";
    o.reducers = 1;
    run(&o, NULL);
    out = read_output();
    ck_assert_str_eq(out, "nothing\n");
    mem_free(out);
    o.program.reducer = "echo no, thanks >&2; exit 4";
    ck_assert_int_eq(mr_run(&o, NULL, NULL), ERR_ABORTED);
    buf_close(&text);
}

END_TEST

static int ignore_reduce(struct mr_task *t,
                         struct slice key,
                         struct mr_values *values,
                         struct err *err)
{
    (void)values;
    (void)err;
    mr_write(mr_output(t, NULL), SLICE_EMPTY, key);
    return 0;
}

/* A reducer that looks at no value still sees every key once. */
START_TEST(test_values_ignored)
{
    static const struct mr_job job = {.abi_version = MR_ABI_VERSION,
                                      .name = "ignore",
                                      .map = count_map,
                                      .reduce = ignore_reduce};
    struct mr_options o = options(&job);
    struct mr_report *report;
    struct buf text = BUF_INIT;
    char *out;
    for (int i = 0; i < 3000; i++)
        buf_printf(&text, "%c\n", 'c' - i % 3);
    setup(&text);
    run(&o, &report);
    out = read_output();
    ck_assert_str_eq(out, "a\nb\nc\n");
    ck_assert_int_eq(mr_report_counter(report, "reduce.groups"), 3);
    mem_free(out);
    mr_report_free(report);
    buf_close(&text);
}

END_TEST

TEST_MAIN("shuffle",
          test_secondary_sort,
          test_total_order,
          test_skewed_key,
          test_reduce_only,
          test_command_reduces,
          test_values_ignored)
