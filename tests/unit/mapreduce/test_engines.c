/* Programs that are not C: commands and Sawzall, as jobs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "mapreduce/job.h"
#include "mapreduce/mapreduce.h"
#include "tests/lib/check_main.h"

static const char *dir;
static char in_spec[310];
static char out_spec[310];
static const char *inputs[1] = {in_spec};
static const char *outputs[1] = {out_spec};

static void setup(const char *text)
{
    char path[310];
    FILE *f;
    dir = test_tmpdir();
    setenv("TMPDIR", dir, 1);
    snprintf(in_spec, sizeof(in_spec), "file:%s/in.txt", dir);
    snprintf(out_spec, sizeof(out_spec), "file:%s/out", dir);
    snprintf(path, sizeof(path), "%s/in.txt", dir);
    f = fopen(path, "wb");
    fputs(text, f);
    fclose(f);
}

static struct mr_options options(struct mr_program program)
{
    return (struct mr_options){.program = program,
                               .inputs = inputs,
                               .input_count = 1,
                               .outputs = outputs,
                               .output_count = 1,
                               .workers = 2,
                               .memory_bytes = 2 << 20,
                               .overwrite = true};
}

static void check_output(const char *want)
{
    char path[400];
    char text[4096];
    size_t n;
    FILE *f;
    snprintf(path, sizeof(path), "%s/out/part-00000", dir);
    f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    n = fread(text, 1, sizeof(text) - 1, f);
    text[n] = '\0';
    fclose(f);
    ck_assert_str_eq(text, want);
}

static void run(struct mr_options *o, int want, const char *text)
{
    struct err err = ERR_INIT;
    int rc = mr_run(o, NULL, &err);
    ck_assert_msg(rc == want, "%d: %s", rc, err.text);
    ck_assert_msg(!text || strstr(err.text, text), "%s", err.text);
}

#define COUNT                                                                  \
    "awk -F'\\t' '{n[$1] += $2} END {for (k in n) print k \"\\t\" n[k]}'"

/* Commands see every line and their lines are the result, with and without a
 * combiner, in one task or several. */
START_TEST(test_streaming)
{
    struct mr_options o;
    setup("b a\na b\na c\n");
    o = options((struct mr_program){.mapper = "tr ' ' '\\n' | sed 's/$/\\t1/'",
                                    .reducer = COUNT " | sort"});
    for (int i = 0; i < 4; i++) {
        o.split_bytes = i & 1 ? 5 : 0;
        o.reducers = 1;
        o.program.combiner = i & 2 ? COUNT : NULL;
        run(&o, 0, NULL);
        check_output("a\t3\nb\t2\nc\t1\n");
    }
}

END_TEST

/* Without a reducer the mapper's lines are the result. */
START_TEST(test_streaming_map_only)
{
    struct mr_options o;
    setup("one\ntwo\n");
    o = options((struct mr_program){.mapper = "sed 's/^/k\\t/'"});
    run(&o, 0, NULL);
    check_output("k\tone\nk\ttwo\n");
}

END_TEST

/* A command knows its task by its environment, counts and notes beside its
 * output, and reads side files. */
START_TEST(test_streaming_protocol)
{
    static const struct mr_setting params[] = {{"who", "you"}};
    struct mr_setting file = {"words", NULL};
    struct mr_options o;
    struct mr_report *report;
    char path[320];
    setup("one\ntwo\n");
    snprintf(path, sizeof(path), "%s/in.txt", dir);
    file.value = path;
    o = options((struct mr_program){
        .mapper = "cat >/dev/null; echo count things 3 >&$QUARRY_CONTROL; "
                  "echo count things >&9; echo note here >&9; echo what >&9; "
                  "echo $QUARRY_PARAM_who; wc -l <$QUARRY_FILE_words; "
                  "echo $QUARRY_STAGE $QUARRY_TASK $QUARRY_ATTEMPT; "
                  "test -r $QUARRY_INPUT && echo readable"});
    o.params = params;
    o.param_count = 1;
    o.files = &file;
    o.file_count = 1;
    ck_assert_int_eq(mr_run(&o, &report, NULL), 0);
    check_output("you\t\n2\t\nmap 0 1\t\nreadable\t\n");
    ck_assert_int_eq(mr_report_counter(report, "things"), 4);
    mr_report_free(report);
    file.value = "/nowhere";
    run(&o, ERR_NOTFOUND, "side file words");
    file.name = "a-b";
    run(&o, ERR_INVALID, "letters");
}

END_TEST

/* A command that says it is alive is not stopped for silence; one that does not
 * is. */
START_TEST(test_streaming_life)
{
    struct mr_options o;
    setup("one\n");
    o = options((struct mr_program){
        .mapper = "for i in 1 2 3 4 5 6; do sleep 0.75; echo alive >&9; done; "
                  "echo done"});
    o.timeout_us = 3000 * 1000;
    o.attempts_max = 1;
    run(&o, 0, NULL);
    check_output("done\t\n");
    o.program.mapper = "sleep 20";
    run(&o, ERR_DEADLINE, "in time");
}

END_TEST

/* A command that answers with more than any pipe holds before it has read all,
 * and one that reads nothing, block nobody. */
START_TEST(test_streaming_flow)
{
    struct buf text = BUF_INIT;
    struct mr_options o;
    for (int i = 0; i < 200000; i++)
        buf_printf(&text, "%d some words to fill a line\n", i);
    setup(buf_cstr(&text));
    o = options((struct mr_program){
        .mapper = "awk '{for (i = 0; i < 8; i++) print $1 % 3 \"\\t\" $0}'",
        .reducer = "cut -f1 | uniq -c | awk '{print $2, $1}'"});
    o.memory_bytes = 64 << 20;
    o.reducers = 1;
    run(&o, 0, NULL);
    check_output("0 533336\n1 533336\n2 533328\n");
    o.program.mapper = "head -1 > /dev/null; echo done";
    run(&o, 0, NULL);
    buf_close(&text);
}

END_TEST

/* A command that fails fails the job, with its status and its last words. */
START_TEST(test_streaming_failures)
{
    struct mr_options o;
    setup("x\n");
    o = options((struct mr_program){
        .mapper = "cat > /dev/null; echo cannot find my hat >&2; exit 3"});
    run(&o, ERR_ABORTED, "status 3");
    run(&o, ERR_ABORTED, "cannot find my hat");
    o.program.mapper = "kill -9 $$";
    run(&o, ERR_ABORTED, "signal 9");
    o.program.mapper = "no-such-command-at-all";
    run(&o, ERR_ABORTED, "127");
    o.program.mapper = "cat";
    o.program.reducer = "exit 5";
    run(&o, ERR_ABORTED, "status 5");
    o.program.reducer = "cat";
    o.program.combiner = "cat; exit 6";
    run(&o, ERR_ABORTED, "status 6");
    o.program.mapper = "cat; exit 4";
    o.program.combiner = "cat";
    run(&o, ERR_ABORTED, "status 4");
}

END_TEST

/* A Sawzall program's tables are summed over all tasks. */
START_TEST(test_sawzall)
{
    struct mr_options o;
    setup("1\n2\n3\n4\n5\n");
    o = options((struct mr_program){.saw = "n: table sum of int;\n"
                                           "s: table sum[odd: bool] of int;\n"
                                           "x: int = int(string(input));\n"
                                           "emit n <- 1;\n"
                                           "emit s[x % 2 == 1] <- x;\n",
                                    .saw_name = "test.szl"});
    for (int i = 0; i < 2; i++) {
        o.split_bytes = i ? 2 : 0;
        run(&o, 0, NULL);
        check_output("n[] = 5\ns[false] = 6\ns[true] = 9\n");
    }
    o.program.saw = "emit n <- ;\n";
    run(&o, ERR_INVALID, "test.szl:1");
}

END_TEST

/* An object that is no job is refused in words. */
START_TEST(test_object_without_job)
{
    struct mr_options o;
    setup("x\n");
    o = options((struct mr_program){.object = "libm.so.6"});
    run(&o, ERR_INVALID, "no job");
    o.in_process = true;
    run(&o, ERR_INVALID, "no job");
}

END_TEST

TEST_MAIN("engines",
          test_streaming,
          test_streaming_map_only,
          test_streaming_protocol,
          test_streaming_life,
          test_streaming_flow,
          test_streaming_failures,
          test_sawzall,
          test_object_without_job)
