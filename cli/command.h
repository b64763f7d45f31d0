/* A command, and how its arguments are read.
 *
 * Each file of a command family exports an array of struct command that ends
 * with a NULL name; main.c knows the arrays. Options are the same everywhere:
 * `--name value`, `--name=value`, `-n value`, anywhere before `--`; underscores
 * in names count as hyphens. Every command takes the global ones (target,
 * format, help, quiet).
 *
 * Threads: one.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct args;
struct buf;
struct cli;

/* The user's mistake: exit status 2 instead of 1. Below all codes of err.h. */
#define ERR_USAGE (-1000)

struct option {
    const char *name;     /* "limit" for --limit; NULL ends an array. */
    char letter;          /* 'n' for -n, or 0. */
    const char *argument; /* The value's name in help; NULL: it is a flag. */
    const char *help;     /* NULL: another letter of an option that has it. */
};

#define COMMAND_OPTION_SETS 4

struct command {
    const char *name;      /* "table create"; NULL ends an array. */
    const char *arguments; /* "NAME --family FAMILY…" */
    const char *summary;   /* One line, no full stop. */
    const char *details;   /* Paragraphs for --help; NULL for none. */
    const char *examples;  /* Lines for --help, without indentation. */
    size_t words_min;      /* Positional arguments. */
    size_t words_max;
    bool own_format; /* It reads --format itself. */
    const struct option *options[COMMAND_OPTION_SETS]; /* NULL ends. */
    /* Do it. ERR_USAGE for a wrong use; other codes as usual. */
    int (*run)(struct cli *cli, const struct args *args, struct err *err);
};

struct arg_option {
    const struct option *option; /* Borrowed from the command. */
    const char *value;           /* Borrowed from argv; NULL for a flag. */
};

/* A parsed command line. Everything is borrowed from argv but the arrays. */
struct args {
    const struct command *command;
    const char **words; /* Positional arguments; owned array. */
    size_t word_count;
    struct arg_option *options; /* In the order given; owned array. */
    size_t option_count;
};

#define WORDS_ANY SIZE_MAX

extern const struct option global_options[];

/* Parse @argc words at @argv (without the command's name). On success the
 * caller owns *@out: args_close(). On error nothing is owned.
 * Errors: ERR_USAGE, with a suggestion for a misspelt option. --help is an
 * option like others here: args_flag(out, "help"). */
MUST_CHECK int args_parse(const struct command *command,
                          int argc,
                          const char *const *argv,
                          struct args *out,
                          struct err *err);
void args_close(struct args *args);

/* The last value given for option @name, or NULL. Borrowed. */
const char *args_value(const struct args *args, const char *name);
/* The same of an option of every command, where the command has one of this
 * name, too. */
const char *args_global(const struct args *args, const char *name);
/* Was @name given? */
bool args_flag(const struct args *args, const char *name);
/* How often, and the value of the @index-th time. */
size_t args_count(const struct args *args, const char *name);
const char *args_nth(const struct args *args, const char *name, size_t index);
/* The value of @name as a number within [min, max]; *@out is left alone when
 * the option was not given. Errors: ERR_USAGE. */
MUST_CHECK int args_number(const struct args *args,
                           const char *name,
                           uint64_t min,
                           uint64_t max,
                           uint64_t *out,
                           struct err *err);

struct archive_policy;
/* The policy of --block and --noarchive, owned; NULL: there is none. It is set
 * after an error, too. Errors: of reading the list. */
MUST_CHECK int cli_read_policy(const struct args *args,
                               struct archive_policy **out,
                               struct err *err);

/* "scan: <text>", hint "see quarry scan --help". Returns ERR_USAGE. */
int usage_error(const struct args *args, struct err *err, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* --- all commands -------------------------------------------------------- */

extern const struct command table_commands[];
extern const struct command acl_commands[];
extern const struct command quota_commands[];
extern const struct command token_commands[];
extern const struct command encryption_commands[];
extern const struct command snapshot_commands[];
extern const struct command load_commands[];
extern const struct command backup_commands[];
extern const struct command cell_commands[];
extern const struct command changes_commands[];
extern const struct command replication_commands[];
extern const struct command view_commands[];
extern const struct command index_commands[];
extern const struct command scan_commands[];
extern const struct command import_commands[];
extern const struct command import_cc_commands[];
extern const struct command export_commands[];
extern const struct command replay_commands[];
extern const struct command search_commands[];
extern const struct command saw_commands[];
extern const struct command job_commands[];
extern const struct command inspect_commands[];
extern const struct command server_commands[];
extern const struct command cluster_commands[];
extern const struct command cluster_adopt_commands[];
extern const struct command cluster_host_commands[];
extern const struct command slurm_commands[];
extern const struct command lock_commands[];
extern const struct command member_commands[];
extern const struct command log_level_commands[];
extern const struct command doctor_commands[];
extern const struct command monitor_commands[];
extern const struct command console_commands[];
extern const struct command top_commands[];
extern const struct command trace_commands[];
extern const struct command debug_commands[];
extern const struct command fs_commands[];
extern const struct command bench_commands[];
extern const struct command shell_commands[];
extern const struct command sql_commands[];
extern const struct command txn_commands[];
extern const struct command completion_commands[];
extern const struct command about_commands[];
extern const struct command follow_commands[];
extern const struct command observer_commands[];

/* Call @visit for every command in the order of the overview. */
void commands_each(void (*visit)(void *ctx, const struct command *c),
                   void *ctx);

/* The command that @argv starts with; *@used is how many words named it. On
 * failure NULL and @err with a suggestion (ERR_USAGE). */
const struct command *
command_find(int argc, const char *const *argv, int *used, struct err *err);

/* Run the command line in @argv (without "quarry"), help included. The result
 * is 0 or an error to report with cli_report(). */
MUST_CHECK int command_run(struct cli *cli,
                           int argc,
                           const char *const *argv,
                           struct err *err);

/* Append to @out the overview of all commands, and the page of one. */
void help_overview(struct buf *out);
void help_command(struct buf *out, const struct command *c);
/* Is @word the first word of a family ("table")? Then append its commands. */
bool help_family(struct buf *out, const char *word);

#endif /* CLI_COMMAND_H */
