/* quarry: finds the command, runs it, and turns its outcome into what the shell
 * sees: 0 done, 1 failed, 2 used wrongly. A command that Ctrl-C ended ends by
 * SIGINT. Output that could not be written is a failure.
 */
#define _XOPEN_SOURCE 700

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/runtime/descriptors.h"
#include "cli/attempts.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/command_trace.h"
#include "cli/interrupt.h"
#include "cli/man_page.h"
#include "cli/pager.h"
#include "cli/remote_call.h"
#include "cli/suggest.h"
#include "cli/table_printer.h"

#define COMMAND_NAME_BYTES_MAX 64
#define WAIT_SECONDS_MAX       (7 * 24 * 3600)

enum {
    EXIT_WRONG_USE = 2
};

/* --- version and help ---------------------------------------------------- */

static int
run_version(struct cli *cli, const struct args *args, struct err *err)
{
    static const struct sheet_column columns[] = {{"name", SHEET_TEXT},
                                                  {"version", SHEET_TEXT}};
    struct sheet s;
    (void)args;
    (void)err;
    if (cli->format == FORMAT_TEXT) {
        printf("quarry %s\n", QUARRY_VERSION);
        return ERR_OK;
    }
    sheet_init(&s, columns, ARRAY_LEN(columns));
    sheet_add_str(&s, "quarry");
    sheet_add_str(&s, QUARRY_VERSION);
    sheet_print(&s, cli->format);
    sheet_close(&s);
    return ERR_OK;
}

static void show_overview(void)
{
    struct buf text = BUF_INIT;
    help_overview(&text);
    pager_show(buf_slice(&text));
    buf_close(&text);
}

static void show_command(const struct command *c)
{
    struct buf text = BUF_INIT;
    help_command(&text, c);
    pager_show(buf_slice(&text));
    buf_close(&text);
}

static bool show_family(const char *word)
{
    struct buf text = BUF_INIT;
    bool found = help_family(&text, word);
    if (found)
        pager_show(buf_slice(&text));
    buf_close(&text);
    return found;
}

/* For packages: not a page on the terminal. */
static int print_man_page(const struct args *args, struct err *err)
{
    const struct command *c = NULL;
    struct buf text = BUF_INIT;
    int used;
    if (args->word_count > 0)
        c = command_find((int)args->word_count, args->words, &used, err);
    if (args->word_count > 0 && !c)
        return ERR_USAGE;
    if (c)
        man_page_command(&text, c);
    else
        man_page_overview(&text);
    fwrite(text.data, 1, text.len, stdout);
    buf_close(&text);
    return ERR_OK;
}

static const struct option help_options[] = {
    {"man", 0, NULL, "print it as a manual page, for man"},
    {"man-pages", 0, "DIR", "write the pages of all commands as files there"},
    {NULL, 0, NULL, NULL},
};

static int run_help(struct cli *cli, const struct args *args, struct err *err)
{
    const struct command *c;
    int used;
    (void)cli;
    if (args_value(args, "man-pages"))
        return man_pages_write(args_value(args, "man-pages"), err);
    if (args_flag(args, "man"))
        return print_man_page(args, err);
    if (args->word_count == 0) {
        show_overview();
        return ERR_OK;
    }
    if (args->word_count == 1 && show_family(args->words[0]))
        return ERR_OK;
    c = command_find((int)args->word_count, args->words, &used, err);
    if (!c)
        return ERR_USAGE;
    show_command(c);
    return ERR_OK;
}

const struct command about_commands[] = {
    {.name = "version",
     .arguments = "",
     .summary = "Print the version",
     .examples = "quarry version",
     .run = run_version},
    {.name = "help",
     .arguments = "[COMMAND]",
     .summary = "Explain the commands, or one of them",
     .details = "On a terminal, what does not fit on the screen is shown by "
                "$PAGER, or by\nless if that is not set.",
     .examples = "quarry help table create",
     .words_max = 2,
     .options = {help_options},
     .run = run_help},
    {.name = NULL},
};

/* --- finding commands ---------------------------------------------------- */

static const struct command *const families[] = {
    table_commands,        snapshot_commands, load_commands,
    acl_commands,          quota_commands,    token_commands,
    encryption_commands,   cell_commands,     scan_commands,
    changes_commands,      import_commands,   export_commands,
    replay_commands,       saw_commands,      job_commands,
    inspect_commands,      txn_commands,      shell_commands,
    server_commands,       cluster_commands,  cluster_adopt_commands,
    cluster_host_commands, monitor_commands,  doctor_commands,
    top_commands,          console_commands,  log_level_commands,
    member_commands,       lock_commands,     fs_commands,
    bench_commands,        about_commands,    sql_commands,
    trace_commands,        debug_commands,    completion_commands,
    replication_commands,  follow_commands,   view_commands,
    observer_commands,     index_commands,    slurm_commands,
    backup_commands,       search_commands,   import_cc_commands,
};

void commands_each(void (*visit)(void *ctx, const struct command *c), void *ctx)
{
    for (size_t i = 0; i < ARRAY_LEN(families); i++)
        for (const struct command *c = families[i]; c->name; c++)
            visit(ctx, c);
}

struct search {
    const char *name;
    const struct command *found;
};

static void main_match_command(void *ctx, const struct command *c)
{
    struct search *s = ctx;
    /* A shell looks for each line: most names differ in their first letter. */
    if (*c->name == *s->name && strcmp(c->name, s->name) == 0)
        s->found = c;
}

static void main_offer_command(void *ctx, const struct command *c)
{
    suggest_offer(ctx, c->name);
}

struct family_search {
    const char *word;
    bool found;
};

static void match_family(void *ctx, const struct command *c)
{
    struct family_search *s = ctx;
    size_t n = strlen(s->word);
    s->found |= strncmp(c->name, s->word, n) == 0 && c->name[n] == ' ';
}

/* The first one or two words of a command line. */
static void
join_words(char out[COMMAND_NAME_BYTES_MAX], int count, const char *const *argv)
{
    snprintf(out, COMMAND_NAME_BYTES_MAX, "%s%s%s", argv[0],
             count > 1 ? " " : "", count > 1 ? argv[1] : "");
}

/* Say that there is no command @words, and which could be meant. */
static bool fail_unknown(const char *words, const char *shown, struct err *err)
{
    struct suggest s;
    suggest_init(&s, words);
    commands_each(main_offer_command, &s);
    err_set(err, ERR_USAGE, "%s: no such command", shown);
    if (suggest_best(&s))
        err_hint(err, "did you mean: quarry %s?", suggest_best(&s));
    return suggest_best(&s) != NULL;
}

const struct command *
command_find(int argc, const char *const *argv, int *used, struct err *err)
{
    char words[COMMAND_NAME_BYTES_MAX];
    struct family_search family = {argv[0], false};
    for (*used = MIN_OF(argc, 2); *used > 0; (*used)--) {
        struct search s = {words, NULL};
        join_words(words, *used, argv);
        commands_each(main_match_command, &s);
        if (s.found)
            return s.found;
    }
    commands_each(match_family, &family);
    join_words(words, MIN_OF(argc, 2), argv);
    if (family.found && argc == 1) {
        err_set(err, ERR_USAGE, "%s: which of its commands?", argv[0]);
        err_hint(err, "see: quarry help %s", argv[0]);
    } else if (family.found) {
        (void)fail_unknown(words, words, err);
    } else if (!fail_unknown(argv[0], argv[0], err)) {
        /* "tabel create": the family itself is misspelt. */
        (void)fail_unknown(words, argv[0], err);
    }
    err_hint(err, "see: quarry help");
    return NULL;
}

/* --- running ------------------------------------------------------------- */

static int parse_format(const char *text, enum cli_format *out, struct err *err)
{
    static const char *const names[] = {"text", "json", "csv"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(text, names[i]) == 0) {
            *out = (enum cli_format)i;
            return ERR_OK;
        }
    err_set(err, ERR_USAGE, "--format: '%s' is none of text, json, csv", text);
    return ERR_USAGE;
}

/* Apply the options every command takes. */
static int
apply_globals(struct cli *cli, const struct args *args, struct err *err)
{
    const char *target = args_value(args, "target");
    const char *format = args_value(args, "format");
    if (target && cli->in_shell && strcmp(target, cli->target) != 0)
        return usage_error(args, err, "the shell stays with its target %s",
                           cli->target);
    if (target)
        cli->target = target;
    if (args_global(args, "key"))
        cli->key = args_global(args, "key");
    if (args_global(args, "encryption-key")) {
        cli->encryption_key = args_global(args, "encryption-key");
        cli->encryption_key_command = NULL;
    }
    remote_take(cli, args);
    if (args_flag(args, "quiet"))
        cli->quiet = true;
    if (args_global(args, "wait")) {
        uint64_t seconds = 0;
        int rc = args_number(args, "wait", 0, WAIT_SECONDS_MAX, &seconds, err);
        if (rc)
            return rc;
        cli->wait_us = seconds * 1000000;
    }
    if (args->command->own_format)
        return ERR_OK;
    return format ? parse_format(format, &cli->format, err) : ERR_OK;
}

/* Is @word an option of @set whose value is the next word? */
static bool takes_next(const struct option *set, const char *word)
{
    for (; set->name; set++)
        if (set->argument &&
            ((word[1] == set->letter && word[2] == '\0') ||
             (word[1] == '-' && strcmp(word + 2, set->name) == 0)))
            return true;
    return false;
}

/* Options may stand before the command: how many words they take. */
static int leading_options(int argc, const char *const *argv)
{
    int n = 0;
    while (n < argc && argv[n][0] == '-' && argv[n][1] != '\0')
        n += takes_next(global_options, argv[n]) ||
                     takes_next(remote_options, argv[n])
                 ? 2
                 : 1;
    return MIN_OF(n, argc);
}

static int
run_leading(struct cli *cli, int argc, const char *const *argv, struct err *err)
{
    static const struct command none = {
        .name = "", .arguments = "COMMAND", .words_max = 0};
    struct args args;
    int rc = args_parse(&none, argc, argv, &args, err);
    if (rc)
        return rc;
    rc = apply_globals(cli, &args, err);
    if (!rc && args_flag(&args, "help"))
        show_overview();
    args_close(&args);
    return rc;
}

static int run_found(struct cli *cli,
                     const struct command *c,
                     int argc,
                     const char *const *argv,
                     struct err *err)
{
    struct args args;
    int rc = args_parse(c, argc, argv, &args, err);
    if (rc)
        return rc;
    rc = apply_globals(cli, &args, err);
    if (!rc && args_flag(&args, "help"))
        show_command(c);
    else if (!rc)
        rc = command_run_traced(cli, c, &args, err);
    if (rc == ERR_CORRUPT && err->detail == ERR_DETAIL_TABLE_FILE &&
        !remote_is_cluster(cli->target))
        err_hint(err, "quarry check tells what is damaged; rows before and "
                      "behind can still be read: --start, --end");
    args_close(&args);
    return rc;
}

/* `quarry table --help`: the family's commands. */
static bool is_family_help(int argc, const char *const *argv)
{
    return argc == 2 &&
           (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) &&
           show_family(argv[0]);
}

int command_run(struct cli *cli,
                int argc,
                const char *const *argv,
                struct err *err)
{
    static const char *const version[] = {"version"};
    const struct command *c;
    int lead;
    int used;
    int rc;
    /* A line with the program's name, pasted into the shell. */
    if (cli->in_shell && argc > 1 && strcmp(argv[0], "quarry") == 0) {
        argc--;
        argv++;
    }
    if (argc == 1 &&
        (strcmp(argv[0], "--version") == 0 || strcmp(argv[0], "-V") == 0))
        argv = version;
    lead = leading_options(argc, argv);
    rc = lead ? run_leading(cli, lead, argv, err) : ERR_OK;
    if (rc)
        return rc;
    argc -= lead;
    argv += lead;
    if (argc == 0 && lead > 0)
        return ERR_OK;
    if (argc == 0) {
        show_overview();
        return ERR_OK;
    }
    c = command_find(argc, argv, &used, err);
    if (!c)
        return is_family_help(argc, argv) ? ERR_OK : ERR_USAGE;
    return run_found(cli, c, argc - used, argv + used, err);
}

/* Names of any script are printed: take UTF-8 even where the environment asks
 * for plain ASCII. */
static void choose_locale(void)
{
    setlocale(LC_CTYPE, "");
    if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        setlocale(LC_CTYPE, "C.UTF-8");
}

/* Output that did not arrive is a failure of the command. */
static int check_output(struct err *err)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return ERR_OK;
    return err_set_errno(err, errno ? errno : EIO, "standard output");
}

static int exit_status(int code)
{
    if (code == ERR_OK)
        return EXIT_SUCCESS;
    return code == ERR_USAGE ? EXIT_WRONG_USE : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct cli cli;
    struct err err = ERR_INIT;
    bool stopped;
    int rc;
    attempts_command(argc, argv);
    descriptors_raise();
    choose_locale();
    cli_init(&cli);
    rc = command_run(&cli, argc - 1, (const char *const *)argv + 1, &err);
    if (!rc)
        rc = check_output(&err);
    if (rc)
        cli_report(&err);
    stopped = rc && interrupted();
    cli_close(&cli);
    if (stopped) {
        /* The shell that runs a script must see why it ended. */
        interrupt_unwatch();
        raise(SIGINT);
    }
    return rc ? exit_status(rc) : cli.status;
}
