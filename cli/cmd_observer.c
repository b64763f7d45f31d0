/* quarry observer: make and drop observers, look at them, and look after the
 * rows that they have put aside. One that keeps no program is run by a program
 * that calls the library: quarry_observer.h.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/macros.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "bigtable/follow/follow.h"
#include "bigtable/quarry_observer.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/table_printer.h"
#include "cli/text_form.h"
#include "jobs/jobs.h"
#include "mapreduce/mapreduce.h"

/* More than an observer keeps: it says so itself. */
#define SOURCE_BYTES_MAX ((size_t)1 << 20)

static const struct option observer_create_options[] = {
    {"table", 0, "TABLE", "the table that it observes"},
    {"column", 0, "COLUMN",
     "FAMILY or FAMILY:QUALIFIER that it watches; may be given again"},
    {"command", 0, "TEXT",
     "of the shell: reads a line of JSON for each row that changed, and\n"
     "answers with one"},
    {"saw", 0, "FILE", "a Sawzall program: its tables are cells of the output"},
    {"python", 0, "FILE:NAME", "a function of a row that yields changes"},
    {"job", 0, "NAME",
     "a job that works row by row, such as inverted_index: the cells that\n"
     "it makes of a row are what the row stands for"},
    {"param", 0, "NAME=VALUE", "a parameter of the job; may be given again"},
    {"output", 0, "TABLE", "that it writes, where an answer names no other"},
    {"writes", 0, "COLUMN",
     "TABLE:FAMILY or TABLE:FAMILY:QUALIFIER that it may write; may be\n"
     "given again (default: all of the output)"},
    {"derive", 0, NULL,
     "answers are all that a row stands for: cells of an earlier answer\n"
     "that are not in the new one are deleted (always so with --saw, --job)"},
    {"stay", 0, NULL,
     "the command answers each line at once, and is kept for more"},
    {"timeout", 0, "TIME",
     "end it when it has not answered for this time (30s)"},
    {"memory", 0, "SIZE", "of its processes together (512MiB)"},
    {"tries", 0, "N", "put a row aside that failed N times (default: 3)"},
    {"retry", 0, "TIME",
     "try it again after this time, then after twice, … 64 times of it;\n"
     "0: when asked to (default: 1m)"},
    {.name = NULL},
};

#define RETRY_US ((uint64_t)60000000)

/* The lists and texts that a specification points to. */
struct observer_args {
    const char *columns[QUARRY_OBSERVER_COLUMNS_MAX + 1];
    const char *writes[QUARRY_OBSERVER_COLUMNS_MAX + 1];
    struct buf text;
    char *file; /* Owned; NULL: none. */
};

static size_t take_list(const struct args *args,
                        const char *name,
                        const char *list[QUARRY_OBSERVER_COLUMNS_MAX + 1])
{
    size_t n =
        MIN_OF(args_count(args, name), (size_t)QUARRY_OBSERVER_COLUMNS_MAX + 1);
    for (size_t i = 0; i < n; i++)
        list[i] = args_nth(args, name, i);
    return n;
}

static int read_source(const char *path, struct buf *out, struct err *err)
{
    FILE *f = fopen(path, "re");
    int rc = 0;
    size_t n = 1;
    if (!f)
        return err_set_errno(err, errno, "%s", path);
    while (n > 0 && out->len <= SOURCE_BYTES_MAX) {
        n = fread(buf_reserve(out, 4096), 1, 4096, f);
        buf_extend(out, n);
    }
    if (ferror(f))
        rc = err_set_errno(err, errno, "%s", path);
    fclose(f);
    return rc;
}

/* "FILE:NAME" */
static int take_python(const struct args *args,
                       struct observer_args *a,
                       struct quarry_observer_program *p,
                       struct err *err)
{
    const char *word = args_value(args, "python");
    const char *colon = strrchr(word, ':');
    if (!colon || colon == word || !colon[1])
        return usage_error(args, err, "--python %s: FILE:NAME is wanted", word);
    p->function = colon + 1;
    a->file = mem_strndup(word, (size_t)(colon - word));
    return read_source(a->file, &a->text, err);
}

static bool takes_param(const struct mr_job *job, struct slice name)
{
    for (size_t i = 0; i < job->param_count; i++)
        if (slice_eq_str(name, job->params[i].name))
            return true;
    return false;
}

/* The job's name, and a line for each parameter. */
static int take_job(const struct args *args, struct buf *text, struct err *err)
{
    const char *name = args_value(args, "job");
    const struct mr_job *job = jobs_find_by_row(name);
    if (!job) {
        err_set(err, ERR_INVALID, "%s is no job that runs row by row", name);
        err_hint(err, "those are anchor_texts, inverted_index, link_graph");
        return ERR_INVALID;
    }
    buf_append_str(text, name);
    for (size_t i = 0; i < args_count(args, "param"); i++) {
        struct slice word = slice_str(args_nth(args, "param", i));
        size_t n = slice_find_byte(word, '=');
        if (n == word.len || slice_find_byte(word, '\n') != word.len)
            return usage_error(args, err, "--param %s: NAME=VALUE is wanted",
                               word.data);
        if (!takes_param(job, slice_sub(word, 0, n)))
            return err_set(err, ERR_INVALID, "job %s takes no parameter %.*s",
                           name, (int)n, word.data);
        buf_printf(text, "\n%s", word.data);
    }
    return 0;
}

static int take_program(const struct args *args,
                        struct observer_args *a,
                        struct quarry_observer_program *p,
                        struct err *err)
{
    static const char *const kinds[] = {"command", "saw", "python", "job"};
    int rc = 0;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (!args_value(args, kinds[i]))
            continue;
        if (p->kind)
            return usage_error(args, err, "--%s and --%s: one is possible",
                               p->kind, kinds[i]);
        p->kind = kinds[i];
    }
    if (args_count(args, "param") && (!p->kind || strcmp(p->kind, "job") != 0))
        return usage_error(args, err, "--param is of --job");
    if (!p->kind)
        return 0;
    if (strcmp(p->kind, "job") == 0)
        rc = take_job(args, &a->text, err);
    else if (strcmp(p->kind, "command") == 0)
        buf_append_str(&a->text, args_value(args, p->kind));
    else if (strcmp(p->kind, "saw") == 0)
        rc = read_source(args_value(args, p->kind), &a->text, err);
    else
        rc = take_python(args, a, p, err);
    p->text = buf_slice(&a->text);
    p->derives = args_flag(args, "derive");
    p->stays = args_flag(args, "stay");
    return rc;
}

static int take_limits(const struct args *args,
                       struct quarry_observer_spec *spec,
                       struct err *err)
{
    const char *timeout = args_value(args, "timeout");
    const char *memory = args_value(args, "memory");
    const char *retry = args_value(args, "retry");
    uint64_t tries = QUARRY_OBSERVER_TRIES;
    int rc = args_number(args, "tries", 1, 1000, &tries, err);
    spec->tries = (unsigned)tries;
    spec->retry_us = spec->program.kind ? RETRY_US : 0;
    if (rc == 0 && timeout)
        rc = text_parse_duration(slice_str(timeout), &spec->program.timeout_us,
                                 err);
    if (rc == 0 && memory)
        rc = text_parse_bytes(slice_str(memory), &spec->program.memory_bytes,
                              err);
    if (rc == 0 && retry)
        rc = text_parse_duration(slice_str(retry), &spec->retry_us, err);
    return rc;
}

/* Errors are explained by what is missing. */
static int make_observer(struct cli *cli,
                         const struct quarry_observer_spec *spec,
                         struct err *err)
{
    struct quarry *q;
    int rc = cli_store(cli, CLI_EXISTING, &q, err);
    if (rc == 0)
        rc = quarry_observer_create(q, spec, err);
    if (rc == ERR_NOTFOUND)
        cli_hint_table(cli, spec->table, err);
    return rc;
}

static int
run_observer_create(struct cli *cli, const struct args *args, struct err *err)
{
    struct observer_args a = {.text = BUF_INIT};
    struct quarry_observer_spec spec = {.name = args->words[0],
                                        .table = args_value(args, "table"),
                                        .columns = a.columns,
                                        .writes = a.writes,
                                        .output = args_value(args, "output")};
    int rc;
    if (!spec.table || !args_count(args, "column"))
        return usage_error(args, err, "--table and --column are wanted");
    spec.column_count = take_list(args, "column", a.columns);
    spec.write_count = take_list(args, "writes", a.writes);
    rc = take_program(args, &a, &spec.program, err);
    if (rc == 0)
        rc = take_limits(args, &spec, err);
    if (rc == 0)
        rc = make_observer(cli, &spec, err);
    mem_free(a.file);
    buf_close(&a.text);
    return rc;
}

/* --- looking ------------------------------------------------------------- */

/* The kind of its program, or "function": it keeps none. */
static const char *kind_of(const json_t *settings)
{
    const json_t *program = json_object_get(settings, "program");
    const char *kind = json_string_value(json_object_get(program, "kind"));
    return kind ? kind : "function";
}

static const char *observer_state(const struct follower_info *i)
{
    if (i->record.paused)
        return "paused";
    if (!i->running)
        return "waiting";
    return *i->error && i->error_us > i->caught_us ? "failing" : "running";
}

/* Rows that it has put aside. */
static int
count_aside(struct quarry *q, const char *name, size_t *count, struct err *err)
{
    struct quarry_observer_letter *list;
    int rc = quarry_observer_log(q, name, &list, count, err);
    if (rc == 0)
        quarry_observer_letters_free(list, *count);
    return rc;
}

static int add_observer(struct sheet *s,
                        struct quarry *q,
                        const struct follower_info *f,
                        struct err *err)
{
    json_t *settings =
        json_loadb(f->record.settings.data, f->record.settings.len, 0, NULL);
    size_t aside = 0;
    int rc = count_aside(q, f->record.name, &aside, err);
    sheet_add_str(s, f->record.name);
    sheet_add_str(s, f->record.table);
    sheet_add_str(s, kind_of(settings));
    sheet_add_str(s, observer_state(f));
    if (f->lag_us == UINT64_MAX)
        sheet_add_str(s, "");
    else
        sheet_add_u64(s, f->lag_us);
    sheet_add_u64(s, f->changes);
    sheet_add_u64(s, aside);
    sheet_add_u64(s, f->failures);
    sheet_add_str(s, f->error);
    json_decref(settings);
    return rc;
}

static int
run_observer_list(struct cli *cli, const struct args *args, struct err *err)
{
    static const struct sheet_column columns[] = {
        {"observer", SHEET_TEXT}, {"table", SHEET_TEXT},
        {"program", SHEET_TEXT},  {"state", SHEET_TEXT},
        {"lag", SHEET_AGE},       {"changes", SHEET_NUMBER},
        {"aside", SHEET_NUMBER},  {"failures", SHEET_NUMBER},
        {"error", SHEET_TEXT}};
    struct follower_info *list = NULL;
    struct quarry *q;
    struct sheet s;
    size_t n = 0;
    int rc = cli_store(cli, CLI_READ, &q, err);
    (void)args;
    if (rc == 0)
        rc = follower_list(q, "observer", &list, &n, err);
    if (rc)
        return rc;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = add_observer(&s, q, &list[i], err);
    if (rc == 0)
        sheet_print(&s, cli->format);
    sheet_close(&s);
    follower_infos_free(list, n);
    return rc;
}

static void show_texts(const char *name, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        printf("%-10s %s\n", i ? "" : name,
               json_string_value(json_array_get(list, i)));
}

static void show_program(const json_t *settings)
{
    const json_t *p = json_object_get(settings, "program");
    const char *output = json_string_value(json_object_get(settings, "output"));
    const char *function = json_string_value(json_object_get(p, "function"));
    const char *text = json_string_value(json_object_get(p, "text"));
    show_texts("watches", json_object_get(settings, "columns"));
    show_texts("writes", json_object_get(settings, "writes"));
    if (output)
        printf("%-10s %s\n", "output", output);
    printf("%-10s %s%s%s\n", "program", kind_of(settings), function ? " " : "",
           function ? function : "");
    if (json_is_true(json_object_get(p, "derives")))
        printf("%-10s %s\n", "", "answers are all that a row stands for");
    if (text)
        printf("\n%s%s", text, text[strlen(text) - 1] == '\n' ? "" : "\n");
}

static int
run_observer_show(struct cli *cli, const struct args *args, struct err *err)
{
    struct follower_info *f;
    struct quarry *q;
    json_t *settings;
    size_t aside = 0;
    int rc = cli_store(cli, CLI_READ, &q, err);
    if (rc == 0)
        rc = follower_get(q, "observer", args->words[0], &f, err);
    if (rc)
        return rc;
    rc = count_aside(q, args->words[0], &aside, err);
    settings =
        json_loadb(f->record.settings.data, f->record.settings.len, 0, NULL);
    if (rc == 0 && cli->format == FORMAT_JSON) {
        printf("%.*s\n", SLICE_ARG(f->record.settings));
    } else if (rc == 0) {
        printf("%-10s %s\n%-10s %s\n%-10s %s\n%-10s %s\n", "name",
               f->record.name, "table", f->record.table, "principal",
               f->record.principal, "state", observer_state(f));
        printf("%-10s %llu\n%-10s %zu\n%-10s %llu\n", "changes",
               (unsigned long long)f->changes, "aside", aside, "failures",
               (unsigned long long)f->failures);
        if (*f->error)
            printf("%-10s %s\n", "error", f->error);
        show_program(settings);
    }
    json_decref(settings);
    follower_infos_free(f, 1);
    return rc;
}

static int pause_observer(struct cli *cli,
                          const struct args *args,
                          bool paused,
                          struct err *err)
{
    struct quarry *q;
    int rc = cli_store(cli, CLI_EXISTING, &q, err);
    return rc ? rc : follower_pause(q, "observer", args->words[0], paused, err);
}

static int
run_observer_pause(struct cli *cli, const struct args *args, struct err *err)
{
    return pause_observer(cli, args, true, err);
}

static int
run_observer_resume(struct cli *cli, const struct args *args, struct err *err)
{
    return pause_observer(cli, args, false, err);
}

static int
run_observer_drop(struct cli *cli, const struct args *args, struct err *err)
{
    struct quarry *q;
    int rc = cli_store(cli, CLI_EXISTING, &q, err);
    return rc ? rc : quarry_observer_drop(q, args->words[0], err);
}

static int
run_observer_log(struct cli *cli, const struct args *args, struct err *err)
{
    static const struct sheet_column columns[] = {{"row", SHEET_TEXT},
                                                  {"time", SHEET_TIME},
                                                  {"state", SHEET_TEXT},
                                                  {"error", SHEET_TEXT}};
    struct quarry_observer_letter *list = NULL;
    struct quarry *q;
    struct sheet s;
    size_t n = 0;
    int rc = cli_store(cli, CLI_READ, &q, err);
    if (rc == 0)
        rc = quarry_observer_log(q, args->words[0], &list, &n, err);
    if (rc)
        return rc;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < n; i++) {
        struct buf row = BUF_INIT;
        text_put_escaped(&row, list[i].row, 0);
        sheet_add(&s, buf_slice(&row));
        sheet_addf(&s, "%lld", (long long)list[i].time_us);
        sheet_add_str(&s, list[i].waits ? "waits" : "aside");
        sheet_add_str(&s, list[i].error);
        buf_close(&row);
    }
    sheet_print(&s, cli->format);
    sheet_close(&s);
    quarry_observer_letters_free(list, n);
    return 0;
}

static int
run_observer_retry(struct cli *cli, const struct args *args, struct err *err)
{
    struct buf key = BUF_INIT;
    struct slice row;
    struct quarry *q;
    int rc = cli_store(cli, CLI_EXISTING, &q, err);
    if (args->word_count > 1)
        argument_unescape(&key, slice_str(args->words[1]));
    row = buf_slice(&key);
    if (rc == 0)
        rc = quarry_observer_retry(q, args->words[0],
                                   args->word_count > 1 ? &row : NULL, err);
    buf_close(&key);
    return rc;
}

const struct command observer_commands[] = {
    {.name = "observer create",
     .arguments = "NAME --table TABLE --column COLUMN… [OPTION…]",
     .summary = "Make an observer: a program that runs after columns change",
     .details =
         "The servers of a cluster with the role `follow` run its program; on "
         "a\ndirectory, `quarry follow run` does. Commands and Python run in a "
         "cage, with\nthe rights of who made the observer. Without a program, "
         "one that calls the\nlibrary runs it. The table keeps its changes and "
         "takes part in transactions,\nand so do those that are written. An "
         "observer that would trigger itself, by\nway of others or not, is "
         "refused.",
     .examples = "quarry observer create words --table pages --column contents "
                 "\\\n    --saw words.szl --output index\n"
                 "quarry observer create mail --table orders --column state "
                 "\\\n    --command 'jq -c …' --output outbox",
     .words_min = 1,
     .words_max = 1,
     .options = {observer_create_options},
     .run = run_observer_create},
    {.name = "observer list",
     .arguments = "",
     .summary = "List observers, how far behind they are, and what failed",
     .examples = "quarry observer list --format json",
     .run = run_observer_list},
    {.name = "observer show",
     .arguments = "NAME",
     .summary = "Show an observer with its program",
     .examples = "quarry observer show words",
     .words_min = 1,
     .words_max = 1,
     .run = run_observer_show},
    {.name = "observer pause",
     .arguments = "NAME",
     .summary = "Stop an observer until it is resumed; it loses nothing",
     .examples = "quarry observer pause words",
     .words_min = 1,
     .words_max = 1,
     .run = run_observer_pause},
    {.name = "observer resume",
     .arguments = "NAME",
     .summary = "Let a paused observer continue where it stopped",
     .examples = "quarry observer resume words",
     .words_min = 1,
     .words_max = 1,
     .run = run_observer_resume},
    {.name = "observer drop",
     .arguments = "NAME",
     .summary = "Drop an observer, with the rows that it has put aside",
     .examples = "quarry observer drop words",
     .words_min = 1,
     .words_max = 1,
     .run = run_observer_drop},
    {.name = "observer log",
     .arguments = "NAME",
     .summary = "List the rows that an observer has put aside, and why",
     .details = "Its lag and its failures: quarry follow show observer/NAME",
     .examples = "quarry observer log words",
     .words_min = 1,
     .words_max = 1,
     .run = run_observer_log},
    {.name = "observer retry",
     .arguments = "NAME [ROW]",
     .summary = "Have rows that were put aside tried again",
     .examples = "quarry observer retry words com.cnn.www",
     .words_min = 1,
     .words_max = 2,
     .run = run_observer_retry},
    {.name = NULL},
};
