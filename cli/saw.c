/* quarry saw: a Sawzall program over the lines of files, or over the rows of a
 * table inside the engine.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/world.h"
#include "bigtable/client/quarry.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/line_reader.h"
#include "cli/progress.h"
#include "cli/saw_results.h"
#include "cli/scan_args.h"
#include "sawzall-lite/sawzall.h"

/* Files a program writes with file(…), beside the standard ones. */
#define OUTPUT_FILES_MAX 64

struct output_file {
    char *path; /* Owned. */
    FILE *file; /* Owned. */
};

struct saw_command {
    struct cli *cli;             /* Borrowed. */
    const struct args *args;     /* Borrowed. */
    struct saw_program *program; /* Owned. */
    struct saw_run *run;         /* Owned. */
    struct output_file outputs[OUTPUT_FILES_MAX];
    size_t output_count;
    uint64_t record_count;
    const char *name; /* Borrowed: of the program; NULL: from -e. */
};

/* --- what a program prints --------------------------------------------- */

static FILE *
output_for(struct saw_command *c, const char *path, struct err *err)
{
    struct output_file *o;
    if (strcmp(path, "/dev/stdout") == 0)
        return stdout;
    if (strcmp(path, "/dev/stderr") == 0)
        return stderr;
    for (size_t i = 0; i < c->output_count; i++)
        if (strcmp(c->outputs[i].path, path) == 0)
            return c->outputs[i].file;
    if (c->output_count == OUTPUT_FILES_MAX) {
        err_set(err, ERR_EXHAUSTED, "%s: more than %d output files", path,
                OUTPUT_FILES_MAX);
        return NULL;
    }
    o = &c->outputs[c->output_count];
    o->file = fopen(path, "wb");
    if (!o->file) {
        err_set_errno(err, errno, "%s", path);
        return NULL;
    }
    o->path = mem_strdup(path);
    c->output_count++;
    return o->file;
}

static int
write_output(void *ctx, const char *path, struct slice text, struct err *err)
{
    FILE *f = output_for(ctx, path, err);
    if (!f)
        return err ? err->code : ERR_IO;
    if (fwrite(text.data, 1, text.len, f) != text.len)
        return err_set_errno(err, errno, "%s", path);
    return ERR_OK;
}

static int close_outputs(struct saw_command *c, struct err *err)
{
    int r = ERR_OK;
    for (size_t i = 0; i < c->output_count; i++) {
        if (fclose(c->outputs[i].file) != 0 && !r)
            r = err_set_errno(err, errno, "%s", c->outputs[i].path);
        mem_free(c->outputs[i].path);
    }
    c->output_count = 0;
    return r;
}

/* --- over files -------------------------------------------------------- */

/* @offset: where in its file the line begins, which is all that a worker of a
 * job knows of it. */
static int run_line(struct saw_command *c,
                    struct slice line,
                    uint64_t offset,
                    struct err *err)
{
    char key[24];
    char place[24];
    int n = snprintf(key, sizeof(key), "%" PRIu64, c->record_count);
    int m = snprintf(place, sizeof(place), "%020" PRIu64, offset);
    c->record_count++;
    return saw_run_record_at(c->run, line, slice_make(key, (size_t)n),
                             slice_make(place, (size_t)m), err);
}

static int run_file(struct saw_command *c, const char *path, struct err *err)
{
    struct line_reader reader;
    struct progress progress;
    struct slice line;
    uint64_t offset = 0;
    bool more = true;
    int r = line_reader_open(&reader, path, err);
    if (r)
        return r;
    progress_start(&progress, c->cli, "saw");
    while (!(r = line_reader_next(&reader, &line, &more, err)) && more) {
        r = run_line(c, line, offset, err);
        offset = reader.byte_count;
        if (r) {
            err_wrap(err, "%s: line %" PRIu64, path, reader.line_count);
            break;
        }
        if (interrupted()) {
            r = err_set(err, ERR_CANCELLED,
                        "saw: interrupted at line %" PRIu64 " of %s",
                        reader.line_count, path);
            break;
        }
        if (reader.line_count % 4096 == 0)
            progress_bytes(&progress, reader.byte_count, reader.size, NULL);
    }
    progress_end(&progress);
    line_reader_close(&reader);
    return r;
}

/* As the published interpreter: without a file, one run on an empty record. */
static int run_files(struct saw_command *c, size_t first, struct err *err)
{
    int r = ERR_OK;
    if (first >= c->args->word_count)
        return saw_run_record(c->run, SLICE_EMPTY, SLICE_LIT("0"), err);
    for (size_t i = first; i < c->args->word_count && !r; i++)
        r = run_file(c, c->args->words[i], err);
    return r;
}

/* --- over a table ------------------------------------------------------ */

/* A program that reads bytes reads all cells of a table: whoever runs one says
 * which they are. */
static bool chooses_cells(const struct args *args)
{
    return args_flag(args, "family") || args_flag(args, "column");
}

static int run_table(struct saw_command *c, struct err *err)
{
    const char *name = args_value(c->args, "table");
    struct scan_args spec;
    struct quarry_table *t;
    int r;
    if (!saw_program_wants_rows(c->program) && !chooses_cells(c->args)) {
        err_set(err, ERR_INVALID, "saw: the program does not read rows");
        err_hint(err, "begin it with: r: Row = input; or choose, with --family "
                      "or --column, the cells whose values are its input");
        return ERR_INVALID;
    }
    r = scan_args_parse(c->cli, c->args, &spec, err);
    if (r)
        return r;
    spec.options.cancel = interrupt_watch();
    r = cli_table(c->cli, name, &t, err);
    if (!r) {
        r = quarry_run_program(t, &spec.options, c->run, &c->record_count, err);
        quarry_table_close(t);
    }
    scan_args_close(&spec);
    return r;
}

/* --- the command ------------------------------------------------------- */

static const struct option saw_options[] = {
    {"expression", 'e', "TEXT", "the program itself instead of a file"},
    {"table", 0, "TABLE",
     "run over its rows (r: Row = input;), beside the data"},
    {"check", 0, NULL, "only compile the program"},
    {"dump", 0, NULL, "print its syntax tree and its instructions"},
    {"aligned", 'a', NULL, "results as text in aligned columns"},
    {"fuel", 0, "N", "at most N instructions a record"},
    {"memory", 0, "SIZE", "at most so much for a record and the tables"},
    {"ignore-undefs", 0, NULL, "skip statements with undefined values"},
    {"table-output", 0, "TABLES",
     "tables to aggregate (* for all, the default); others are\n"
     "printed as they are emitted, with '' all of them"},
    {"restrict", 0, NULL, "no files, processes or environment"},
    {"seed", 0, "N", "of rand() and nrand(); by chance if not given"},
    {"bootstrapsum-seed", 0, "TEXT", "taken, and not used: the seed is fixed"},
    {"noexecute", 0, NULL, "the same as --check"},
    {NULL, 0, NULL, NULL},
};

/* Beside the including program first, then as it stands. */
static int
read_include(void *ctx, const char *path, struct buf *text, struct err *err)
{
    const struct saw_command *c = ctx;
    const char *slash = c->name ? strrchr(c->name, '/') : NULL;
    struct buf beside = BUF_INIT;
    int r = ERR_NOTFOUND;
    if (path[0] != '/' && slash) {
        buf_append(&beside, c->name, (size_t)(slash - c->name) + 1);
        buf_append_str(&beside, path);
        r = cli_read_file(buf_cstr(&beside), text, NULL);
    }
    buf_close(&beside);
    return r ? cli_read_file(path, text, err) : ERR_OK;
}

/* load(): any file the user may read; --restrict refuses it before. */
static int
read_file(void *ctx, struct slice path, struct buf *out, struct err *err)
{
    char *name = mem_strndup(path.data, path.len);
    int r = cli_read_file(name, out, err);
    (void)ctx;
    mem_free(name);
    return r;
}

static int64_t now_us(void *ctx)
{
    const struct saw_command *c = ctx;
    return (int64_t)world_now_us(c->cli->world);
}

static int compile(struct saw_command *c,
                   struct slice source,
                   const char *name,
                   struct err *err)
{
    struct saw_compile_options opts = {.read_include = read_include, .ctx = c};
    struct buf diagnostics = BUF_INIT;
    int r;
    opts.restricted = args_flag(c->args, "restrict");
    opts.ignore_undefs = args_flag(c->args, "ignore-undefs");
    if (opts.restricted)
        opts.read_include = NULL;
    r = saw_compile(&opts, source, name, &c->program, &diagnostics);
    fflush(stdout);
    fputs(buf_cstr(&diagnostics), stderr);
    buf_close(&diagnostics);
    if (r) {
        err_set(err, r, "saw: %s does not compile", name);
        err_hint(err, "the errors are above; the language: docs/language.md");
    }
    return r;
}

static int start_run(struct saw_command *c, struct err *err)
{
    struct saw_run_options opts = {.write = write_output, .write_ctx = c};
    const char *memory = args_value(c->args, "memory");
    struct err why = ERR_INIT;
    int r =
        args_number(c->args, "fuel", 1, UINT64_MAX, &opts.fuel_per_record, err);
    if (r)
        return r;
    if (memory &&
        text_parse_bytes(slice_str(memory), &opts.memory_bytes_max, &why))
        return usage_error(c->args, err, "--memory: %s", why.text);
    opts.table_output = args_value(c->args, "table-output");
    opts.now_us = now_us;
    opts.read_file = read_file;
    opts.world_ctx = c;
    opts.seed = world_random(c->cli->world);
    if (args_number(c->args, "seed", 0, UINT64_MAX, &opts.seed, err))
        return ERR_USAGE;
    opts.cancel = interrupt_watch();
    return saw_run_new(c->program, &opts, &c->run, err);
}

static int execute(struct saw_command *c, size_t first_file, struct err *err)
{
    int r = start_run(c, err);
    if (r)
        return r;
    if (args_flag(c->args, "table"))
        r = run_table(c, err);
    else
        r = run_files(c, first_file, err);
    if (!r)
        saw_results_print(c->run, c->cli->format,
                          args_flag(c->args, "aligned"));
    return r;
}

static int act(struct saw_command *c, size_t first_file, struct err *err)
{
    struct buf text = BUF_INIT;
    if (args_flag(c->args, "dump")) {
        saw_program_dump(c->program, &text);
        fwrite(buf_slice(&text).data, 1, text.len, stdout);
        buf_close(&text);
        return ERR_OK;
    }
    if (args_flag(c->args, "check") || args_flag(c->args, "noexecute"))
        return ERR_OK;
    return execute(c, first_file, err);
}

static int run_saw(struct cli *cli, const struct args *args, struct err *err)
{
    struct saw_command c = {.cli = cli, .args = args};
    const char *text = args_value(args, "expression");
    const char *name = text ? "<command line>" : NULL;
    size_t first_file = text ? 0 : 1;
    struct buf source = BUF_INIT;
    int r = ERR_OK;
    int closed;
    if (!text && args->word_count == 0)
        return usage_error(args, err, "which program? A file, or -e 'text'");
    if (args_flag(args, "table") && args->word_count > first_file)
        return usage_error(args, err, "either a table or files");
    if (text)
        buf_append_str(&source, text);
    else
        r = cli_read_file(name = c.name = args->words[0], &source, err);
    if (!r)
        r = compile(&c, buf_slice(&source), name, err);
    if (!r)
        r = act(&c, first_file, err);
    saw_run_free(c.run);
    saw_program_free(c.program);
    closed = close_outputs(&c, r ? NULL : err);
    buf_close(&source);
    return r ? r : closed;
}

const struct command saw_commands[] = {
    {.name = "saw",
     .arguments = "(PROGRAM | -e TEXT) [--table TABLE [OPTION…] | FILE…]",
     .summary = "Run a Sawzall program over files or a table",
     .details =
         "Over files: once for each line. Over a table: once for each row, in\n"
         "parallel inside the engine. Prints the program's tables.",
     .examples =
         "quarry saw -e 'n: table sum of int; emit n <- 1;' access.log\n"
         "quarry saw hosts.szl --table webtable --prefix com. --format csv",
     .words_max = WORDS_ANY,
     .options = {saw_options, read_options},
     .run = run_saw},
    {.name = NULL},
};
