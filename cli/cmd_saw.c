/* quarry saw: a Sawzall program over the lines of files, or over the rows of a
 * table inside the engine; and saw check, dump and explain, which look at
 * programs without running them.
 */
#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "bigtable/quarry_view.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/saw_fmt.h"
#include "cli/saw_host.h"
#include "cli/saw_results.h"
#include "cli/scan_args.h"
#include "cli/szl.h"
#include "mapreduce/lines/line_scan.h"
#include "sawzall-lite/sawzall.h"

#define THREADS_MAX 64

struct saw_command {
    struct cli *cli;         /* Borrowed. */
    const struct args *args; /* Borrowed. */
    struct saw_host host;
    struct saw_program *program; /* Owned. */
    struct saw_run *run;         /* Owned. */
    size_t first_file;           /* Words before it are the program's. */
    uint64_t record_count;
};

/* --- over files ---------------------------------------------------------- */

static void show_progress(void *ctx, uint64_t done, uint64_t total)
{
    progress_bytes(ctx, done, total, NULL);
}

/* As the published interpreter: without a file, one run on an empty record. */
static int run_files(struct saw_command *c, struct err *err)
{
    struct progress progress;
    uint64_t threads = world_cpu_count(c->cli->world);
    struct line_scan_options o = {.world = c->cli->world,
                                  .cancel = interrupt_watch(),
                                  .progress = show_progress,
                                  .progress_ctx = &progress};
    size_t first = c->first_file;
    int rc;
    if (first >= c->args->word_count)
        return saw_run_record(c->run, SLICE_EMPTY, SLICE_LIT("0"), err);
    if (args_number(c->args, "threads", 1, THREADS_MAX, &threads, err))
        return ERR_USAGE;
    o.thread_count = (unsigned)threads;
    progress_start(&progress, c->cli, "saw");
    rc = line_scan_run(c->run, &c->args->words[first],
                       c->args->word_count - first, &o, err);
    progress_end(&progress);
    return rc;
}

/* --- over a table -------------------------------------------------------- */

/* A program that reads bytes reads all cells of a table, so the command must
 * say which. */
static bool chooses_cells(const struct args *args)
{
    return args_flag(args, "family") || args_flag(args, "column");
}

static int run_table(struct saw_command *c, struct err *err)
{
    const char *name = args_value(c->args, "table");
    struct scan_args spec;
    struct quarry_table *t;
    int rc;
    if (!saw_program_wants_rows(c->program) && !chooses_cells(c->args)) {
        err_set(err, ERR_INVALID, "saw: the program does not read rows");
        err_hint(err, "begin it with: r: Row = input; or choose, with --family "
                      "or --column, the cells whose values are its input");
        return ERR_INVALID;
    }
    rc = scan_args_parse(c->cli, c->args, &spec, err);
    if (rc)
        return rc;
    spec.options.cancel = interrupt_watch();
    rc = cli_table(c->cli, name, CLI_READ, &t, err);
    if (!rc) {
        rc =
            quarry_run_program(t, &spec.options, c->run, &c->record_count, err);
        quarry_table_close(t);
    }
    scan_args_close(&spec);
    return rc;
}

/* --- over a view --------------------------------------------------------- */

static int run_view_row(struct saw_command *c,
                        const struct quarry_row *row,
                        struct err *err)
{
    struct saw_cell *cells = mem_alloc((row->cell_count + 1) * sizeof(*cells));
    const struct saw_row r = {row->key, cells, row->cell_count};
    int rc;
    for (size_t i = 0; i < row->cell_count; i++)
        cells[i] =
            (struct saw_cell){row->cells[i].family, row->cells[i].qualifier,
                              row->cells[i].timestamp_us, row->cells[i].value};
    rc = saw_run_row(c->run, &r, err);
    mem_free(cells);
    if (rc)
        err_wrap(err, "row \"%.*s\"", SLICE_ARG(slice_sub(row->key, 0, 128)));
    return rc;
}

/* Its rows come here: a view has few of them beside its table. */
static int run_view(struct saw_command *c, struct err *err)
{
    struct quarry_view_scan *s = NULL;
    const struct quarry_row *row;
    struct quarry *q;
    int rc;
    if (!saw_program_wants_rows(c->program)) {
        err_set(err, ERR_INVALID, "saw: the program does not read rows");
        err_hint(err, "begin it with: r: Row = input;");
        return ERR_INVALID;
    }
    rc = cli_store(c->cli, CLI_READ, &q, err);
    if (rc == 0)
        rc = quarry_view_scan_open(q, args_value(c->args, "view"), NULL, &s,
                                   err);
    while (rc == 0 && (rc = quarry_view_scan_next_row(s, &row, err)) == 0 &&
           row)
        rc = run_view_row(c, row, err);
    quarry_view_scan_close(s);
    return rc;
}

/* --- running ------------------------------------------------------------- */

static const struct option program_options[] = {
    {"expression", 'e', "TEXT", "the program itself instead of a file"},
    {"program", 0, "FILE", "the same as FILE as the first argument"},
    {"ignore-undefs", 0, NULL, "skip statements with undefined values"},
    {"restrict", 0, NULL, "no files, processes or environment"},
    {NULL, 0, NULL, NULL},
};

static const struct option run_options[] = {
    {"table", 0, "TABLE", "run over its rows, beside the data"},
    {"view", 0, "VIEW", "run over its rows; VIEW.TABLE: one of its tables"},
    {"check", 0, NULL, "only compile the program"},
    {"noexecute", 0, NULL, "the same"},
    {"dump", 0, NULL, "print its syntax tree and its instructions"},
    {"aligned", 'a', NULL,
     "results as text in aligned columns, as wide as the\n"
     "first 4,096 lines ask for"},
    {"fuel", 0, "N", "at most N instructions a record"},
    {"memory", 0, "SIZE", "at most this for a record and the tables"},
    {"table-output", 0, "TABLES",
     "tables to aggregate (* for all, the default); others are\n"
     "printed as they are emitted, with '' all of them"},
    {"threads", 0, "N",
     "over files: at most N threads; all cores if not given"},
    {"seed", 0, "N", "of rand() and nrand(); by chance if not given"},
    {NULL, 0, NULL, NULL},
};

static int start_run(struct saw_command *c, struct err *err)
{
    struct saw_run_options opts = {
        .table_output = args_value(c->args, "table-output"),
    };
    const char *memory = args_value(c->args, "memory");
    struct err why = ERR_INIT;
    int rc =
        args_number(c->args, "fuel", 1, UINT64_MAX, &opts.fuel_per_record, err);
    if (rc)
        return rc;
    if (memory &&
        text_parse_bytes(slice_str(memory), &opts.memory_bytes_max, &why))
        return usage_error(c->args, err, "--memory: %s", why.text);
    saw_host_run_options(&c->host, &opts);
    if (args_number(c->args, "seed", 0, UINT64_MAX, &opts.seed, err))
        return ERR_USAGE;
    opts.cancel = interrupt_watch();
    return saw_run_new(c->program, &opts, &c->run, err);
}

static int saw_command_execute(struct saw_command *c, struct err *err)
{
    int rc = start_run(c, err);
    if (rc)
        return rc;
    if (args_flag(c->args, "table"))
        rc = run_table(c, err);
    else if (args_flag(c->args, "view"))
        rc = run_view(c, err);
    else
        rc = run_files(c, err);
    if (!rc)
        rc = saw_results_print(c->run, c->cli->format,
                               args_flag(c->args, "aligned"), err);
    return rc;
}

static void saw_command_dump(const struct saw_program *p, bool tree, bool code)
{
    struct buf text = BUF_INIT;
    if (tree == code)
        saw_program_dump(p, &text);
    else if (tree)
        saw_program_dump_tree(p, &text);
    else
        saw_program_dump_code(p, &text);
    fwrite(buf_slice(&text).data, 1, text.len, stdout);
    buf_close(&text);
}

static int saw_command_act(struct saw_command *c, struct err *err)
{
    if (args_flag(c->args, "table") + args_flag(c->args, "view") +
            (c->args->word_count > c->first_file) >
        1)
        return usage_error(c->args, err, "either a table, a view or files");
    if (args_flag(c->args, "dump"))
        saw_command_dump(c->program, false, false);
    else if (!args_flag(c->args, "check") && !args_flag(c->args, "noexecute"))
        return saw_command_execute(c, err);
    return ERR_OK;
}

static int run_saw(struct cli *cli, const struct args *args, struct err *err)
{
    struct saw_command c = {.cli = cli, .args = args, .host.cli = cli};
    int closed;
    int rc =
        saw_host_compile_args(&c.host, args, &c.program, &c.first_file, err);
    if (!rc)
        rc = saw_command_act(&c, err);
    saw_run_free(c.run);
    saw_program_free(c.program);
    closed = saw_host_close(&c.host, rc ? NULL : err);
    return rc ? rc : closed;
}

/* --- looking at programs ------------------------------------------------- */

static const struct option dump_options[] = {
    {"tree", 0, NULL, "only the checked tree"},
    {"code", 0, NULL, "only the instructions"},
    {NULL, 0, NULL, NULL},
};

static int run_dump(struct cli *cli, const struct args *args, struct err *err)
{
    struct saw_host host = {.cli = cli};
    struct saw_program *p = NULL;
    size_t words;
    int rc = saw_host_compile_args(&host, args, &p, &words, err);
    if (rc)
        return rc;
    if (args->word_count > words)
        rc = usage_error(args, err, "unexpected argument '%s'",
                         args->words[words]);
    else
        saw_command_dump(p, args_flag(args, "tree"), args_flag(args, "code"));
    saw_program_free(p);
    return rc;
}

static int check_file(struct cli *cli,
                      const struct saw_compile_options *o,
                      const char *path,
                      struct err *err)
{
    struct saw_host host = {.cli = cli, .program = path};
    struct saw_program *p = NULL;
    struct buf source = BUF_INIT;
    int rc = cli_read_file(path, &source, err);
    if (!rc)
        rc = saw_host_compile(&host, buf_slice(&source), path, o, &p, err);
    saw_program_free(p);
    buf_close(&source);
    return rc;
}

/* All of them, whatever is wrong with the first. */
static int run_check(struct cli *cli, const struct args *args, struct err *err)
{
    const struct saw_compile_options o = {
        .restricted = args_flag(args, "restrict"),
        .ignore_undefs = args_flag(args, "ignore-undefs"),
    };
    size_t bad = 0;
    int r = ERR_OK;
    for (size_t i = 0; i < args->word_count; i++) {
        struct err why = ERR_INIT;
        int rc = check_file(cli, &o, args->words[i], &why);
        if (!rc)
            continue;
        bad++;
        r = err_copy(err, &why);
    }
    if (bad > 1)
        err_set(err, r, "%zu of %zu programs are wrong", bad, args->word_count);
    return r;
}

static int
run_explain(struct cli *cli, const struct args *args, struct err *err)
{
    struct buf text = BUF_INIT;
    int rc = ERR_OK;
    (void)cli;
    for (size_t i = 0; args->word_count == 0 && saw_predeclared(i); i++)
        (void)saw_explain(slice_str(saw_predeclared(i)), &text);
    for (size_t i = 0; i < args->word_count && !rc; i++)
        if (!saw_explain(slice_str(args->words[i]), &text))
            rc = err_set(err, ERR_NOTFOUND, "%s is not predeclared",
                         args->words[i]);
    if (rc)
        err_hint(err, "quarry saw explain, without a name, lists all");
    fwrite(buf_slice(&text).data, 1, text.len, stdout);
    buf_close(&text);
    return rc;
}

const struct command saw_commands[] = {
    {.name = "saw",
     .arguments =
         "(PROGRAM | -e TEXT) [--table TABLE [OPTION…] | --view VIEW | FILE…]",
     .summary = "Run a Sawzall program over files or a table",
     .details =
         "Over files: once for each line, on all cores, with the results of\n"
         "one pass in order; without a file, once with nothing to read.\n"
         "Over a table: once for each row (r: Row = input;), or for\n"
         "each value of the cells chosen, in parallel inside the engine.\n"
         "Prints the program's tables. A program file may begin with #!.",
     .examples =
         "quarry saw -e 'n: table sum of int; emit n <- 1;' access.log\n"
         "quarry saw hosts.szl --table webtable --prefix com. --format csv",
     .words_max = WORDS_ANY,
     .options = {program_options, run_options, read_options},
     .run = run_saw},
    {.name = "saw check",
     .arguments = "PROGRAM…",
     .summary = "Compile Sawzall programs and print what is wrong",
     .examples = "quarry saw check jobs/top_hosts.szl",
     .words_min = 1,
     .words_max = WORDS_ANY,
     .options = {&program_options[2]},
     .run = run_check},
    {.name = "saw fmt",
     .arguments = "FILE… [--check | --write]",
     .summary = "Lay Sawzall programs out in the usual way",
     .details =
         "Prints the result; - is standard input. Blanks and line breaks\n"
         "change, and nothing else.",
     .examples = "quarry saw fmt --write jobs/top_hosts.szl",
     .words_min = 1,
     .words_max = WORDS_ANY,
     .options = {saw_fmt_options},
     .run = saw_fmt_run},
    {.name = "saw dump",
     .arguments = "(PROGRAM | -e TEXT) [--tree | --code]",
     .summary = "Print a program's checked tree and its instructions",
     .examples = "quarry saw dump -e 'x := 1 + 2;' --code",
     .words_max = WORDS_ANY,
     .options = {program_options, dump_options},
     .run = run_dump},
    {.name = "saw explain",
     .arguments = "[NAME…]",
     .summary = "Say what predeclared names of the language are",
     .examples = "quarry saw explain matchstrs",
     .words_max = WORDS_ANY,
     .run = run_explain},
    {.name = "szl",
     .arguments = "[FLAG…] (PROGRAM | -e TEXT) [FILE…]",
     .summary = "Run a program as the published interpreter does",
     .details =
         "Takes that interpreter's flags and does as it does where quarry saw\n"
         "does not: tables that --table_output does not list are printed as\n"
         "they are emitted, and lines are cut at 4095 bytes.",
     .examples = "quarry szl --table_output='*' hosts.szl access.log",
     .words_max = WORDS_ANY,
     .options = {szl_options},
     .run = szl_run},
    {.name = NULL},
};
