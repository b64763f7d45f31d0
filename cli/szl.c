/* Flags, defaults and line rules of the published Sawzall interpreter, for its
 * scripts and test suites. Flags that have no meaning here are accepted and
 * ignored.
 */
#include "cli/szl.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/line_reader.h"
#include "cli/saw_host.h"
#include "cli/saw_results.h"
#include "sawzall-lite/sawzall.h"

/* A longer line is several records. */
#define LINE_BYTES_MAX 4095
/* As deep as that interpreter's calls go. */
#define DEPTH_MAX 6000

const struct option szl_options[] = {
    {"e", 'e', "TEXT", "the program itself instead of a file"},
    {"program", 0, "FILE", "the same as FILE as the first argument"},
    {"table-output", 0, "TABLES",
     "tables to aggregate and print at the end, * for all;\n"
     "others are printed as they are emitted"},
    {"ignore-undefs", 0, NULL, "skip statements with undefined values"},
    {"restrict", 0, NULL, "no files, processes or environment"},
    {"noexecute", 0, NULL, "only compile the program"},
    {"print-code", 0, NULL, "print the instructions"},
    {"print-tree", 0, NULL, "print the checked tree"},
    {"explain", 0, "NAME", "say what a predeclared name is"},
    {"begin-record", 0, "N", "first record, from 0"},
    {"end-record", 0, "N", "first record not to be processed"},
    {"num-records", 0, "N", "how many records to process"},
    {"memory-limit", 0, "MB", "at most this many megabytes"},
    {"bootstrapsum-seed", 0, "TEXT", "taken: draws follow from the records"},
    {"native", 0, NULL, "taken: there is one way to run"},
    {"nonative", 0, NULL, "taken: there is one way to run"},
    {NULL, 0, NULL, NULL},
};

struct szl {
    const struct args *args;
    struct saw_run *run;
    uint64_t number; /* Of the record, in its file. */
    uint64_t first;
    uint64_t end;
};

/* One record; what is behind a NUL byte is not part of it. */
static int szl_record(struct szl *s, struct slice line, struct err *err)
{
    char key[24];
    int n = snprintf(key, sizeof(key), "%" PRIu64, s->number);
    uint64_t number = s->number++;
    if (number < s->first || number >= s->end)
        return ERR_OK;
    return saw_run_record(s->run,
                          slice_sub(line, 0, slice_find_byte(line, '\0')),
                          slice_make(key, (size_t)n), err);
}

static int szl_records(struct szl *s, struct slice line, struct err *err)
{
    int rc = ERR_OK;
    do {
        size_t n = MIN_OF(line.len, (size_t)LINE_BYTES_MAX);
        rc = szl_record(s, slice_sub(line, 0, n), err);
        line = slice_sub(line, n, line.len);
    } while (!rc && line.len > 0);
    return rc;
}

static int szl_file(struct szl *s, const char *path, struct err *err)
{
    struct line_reader reader;
    struct slice line;
    bool more = true;
    int rc = line_reader_open(&reader, path, err);
    if (rc)
        return rc;
    s->number = 0;
    while (!(rc = line_reader_next(&reader, &line, &more, err)) && more) {
        rc = szl_records(s, line, err);
        if (rc)
            break;
    }
    line_reader_close(&reader);
    return rc;
}

static int
szl_numbers(struct szl *s, struct saw_run_options *o, struct err *err)
{
    uint64_t megabytes = 0;
    uint64_t count = UINT64_MAX;
    s->end = UINT64_MAX;
    if (args_number(s->args, "memory-limit", 0, UINT32_MAX, &megabytes, err) ||
        args_number(s->args, "begin-record", 0, UINT64_MAX, &s->first, err) ||
        args_number(s->args, "end-record", 0, UINT64_MAX, &s->end, err) ||
        args_number(s->args, "num-records", 0, UINT64_MAX, &count, err))
        return ERR_USAGE;
    if (count < UINT64_MAX - s->first)
        s->end = MIN_OF(s->end, s->first + count);
    o->memory_bytes_max = megabytes << 20;
    return ERR_OK;
}

/* As that interpreter: without a file, one run on an empty record. */
static int run_records(struct szl *s, size_t at, struct err *err)
{
    int rc = ERR_OK;
    if (at >= s->args->word_count)
        rc = saw_run_record(s->run, SLICE_EMPTY, SLICE_EMPTY, err);
    for (; at < s->args->word_count && !rc; at++)
        rc = szl_file(s, s->args->words[at], err);
    if (!rc)
        rc = saw_results_print(s->run, FORMAT_TEXT, false, err);
    return rc;
}

static int szl_execute(struct szl *s,
                       struct saw_host *h,
                       struct saw_program *p,
                       size_t words,
                       struct err *err)
{
    struct saw_run_options o = {.table_output =
                                    args_value(s->args, "table-output"),
                                .depth_max = DEPTH_MAX};
    int rc = szl_numbers(s, &o, err);
    if (rc)
        return rc;
    if (!o.table_output)
        o.table_output = "";
    saw_host_run_options(h, &o);
    o.cancel = interrupt_watch();
    rc = saw_run_new(p, &o, &s->run, err);
    if (!rc)
        rc = run_records(s, words, err);
    saw_run_free(s->run);
    return rc;
}

static void print_program(const struct args *args, const struct saw_program *p)
{
    struct buf text = BUF_INIT;
    if (args_flag(args, "print-tree"))
        saw_program_dump_tree(p, &text);
    if (args_flag(args, "print-code"))
        saw_program_dump_code(p, &text);
    fwrite(buf_slice(&text).data, 1, text.len, stdout);
    buf_close(&text);
}

static int szl_explain(const char *name, struct err *err)
{
    struct buf text = BUF_INIT;
    if (!saw_explain(slice_str(name), &text))
        return err_set(err, ERR_NOTFOUND, "%s is not predeclared", name);
    fputs(buf_cstr(&text), stdout);
    buf_close(&text);
    return ERR_OK;
}

int szl_run(struct cli *cli, const struct args *args, struct err *err)
{
    struct szl s = {.args = args};
    struct saw_host host = {.cli = cli};
    struct saw_program *p = NULL;
    size_t words;
    int closed;
    int rc;
    if (args_flag(args, "explain"))
        return szl_explain(args_value(args, "explain"), err);
    rc = saw_host_compile_args(&host, args, &p, &words, err);
    if (rc)
        return rc;
    print_program(args, p);
    if (!args_flag(args, "noexecute"))
        rc = szl_execute(&s, &host, p, words, err);
    saw_program_free(p);
    closed = saw_host_close(&host, rc ? NULL : err);
    return rc ? rc : closed;
}
