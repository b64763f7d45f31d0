/* quarry shell: commands line by line over one open store, with history and
 * completion; or a script of commands on standard input, up to the first that
 * fails.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/line_editor.h"
#include "cli/line_reader.h"
#include "cli/saw_repl.h"
#include "cli/txn_session.h"
#include "cli/word_split.h"

#define HISTORY_FILE ".quarry_history"

struct shell {
    struct cli *cli;          /* Borrowed. */
    struct line_editor *edit; /* Owned; NULL when a script is read. */
    struct saw_repl *saw;     /* Owned; NULL until the saw mode was entered. */
    bool in_saw;
    struct txn_session *txn; /* Owned; NULL: none is under way. */
    struct completion completion;
};

static void enter_saw(struct shell *s)
{
    if (!s->saw)
        s->saw = saw_repl_new(s->cli);
    s->in_saw = true;
    if (s->edit)
        cli_remark(s->cli, "Sawzall. :help explains, :quit goes back.");
}

static int run_saw_line(struct shell *s, struct slice line, struct err *err)
{
    bool leave = false;
    int rc = saw_repl_line(s->saw, line, &leave, err);
    s->in_saw = !leave;
    fflush(stdout);
    return rc;
}

/* Does the line belong to a transaction: begin, or a statement while one is
 * under way? */
static bool is_of_txn(const struct shell *s, const char *first)
{
    return strcmp(first, "begin") == 0 || strcmp(first, "commit") == 0 ||
           strcmp(first, "rollback") == 0 ||
           (s->txn && txn_session_knows(first));
}

static int
run_in_txn(struct shell *s, const struct word_list *words, struct err *err)
{
    bool ended = false;
    int rc;
    if (strcmp(words->words[0], "begin") == 0) {
        bool serializable =
            words->count == 2 && strcmp(words->words[1], "--serializable") == 0;
        if (words->count > 1 + (size_t)serializable)
            return err_set(err, ERR_USAGE, "begin takes --serializable alone");
        if (s->txn)
            return err_set(err, ERR_USAGE,
                           "a transaction is under way: commit or rollback");
        return txn_session_begin(s->cli, serializable, &s->txn, err);
    }
    if (!s->txn)
        return err_set(err, ERR_USAGE, "no transaction is under way: begin");
    rc = txn_session_run(s->txn, words, &ended, err);
    if (ended) {
        txn_session_close(s->txn);
        s->txn = NULL;
    }
    return rc;
}

/* Run one line. *@leave is set by exit and quit. */
static int
run_line(struct shell *s, struct slice line, bool *leave, struct err *err)
{
    struct word_list words;
    enum cli_format format = s->cli->format;
    bool quiet = s->cli->quiet;
    int rc;
    if (s->in_saw)
        return run_saw_line(s, line, err);
    rc = words_split(line, &words, err);
    if (rc)
        return rc;
    if (words.count > 0) {
        const char *first = words.words[0];
        *leave = strcmp(first, "exit") == 0 || strcmp(first, "quit") == 0;
        if (strcmp(first, "shell") == 0)
            rc = err_set(err, ERR_USAGE, "this is the shell already");
        else if (strcmp(first, "saw") == 0 && words.count == 1)
            enter_saw(s);
        else if (is_of_txn(s, first))
            rc = run_in_txn(s, &words, err);
        else if (!*leave)
            rc = command_run(s->cli, (int)words.count, words.words, err);
    }
    /* Options of a line hold for that line. */
    s->cli->format = format;
    s->cli->quiet = quiet;
    words_free(&words);
    fflush(stdout);
    return rc;
}

/* --- at a terminal ------------------------------------------------------- */

static const char *shell_prompt(void *ctx)
{
    struct shell *s = ctx;
    if (!s->in_saw)
        return "quarry> ";
    return saw_repl_pending(s->saw) ? "...> " : "saw> ";
}

static bool shell_complete(void *ctx,
                           struct slice before,
                           struct completion **offers,
                           struct buf *insert)
{
    struct shell *s = ctx;
    *offers = &s->completion;
    if (s->in_saw) {
        buf_append_str(insert, "  ");
        return true;
    }
    return completion_find(&s->completion, s->cli, before, insert);
}

static void edit_open(struct shell *s)
{
    const struct line_editor_ops ops = {.history_file = HISTORY_FILE,
                                        .prompt = shell_prompt,
                                        .complete = shell_complete,
                                        .ctx = s};
    s->edit = line_editor_open(&ops);
}

/* A line that was typed. */
static void take_line(struct shell *s, struct slice line, bool *leave)
{
    struct err err = ERR_INIT;
    struct buf text = BUF_INIT;
    buf_append_slice(&text, line);
    line_editor_remember(s->edit, buf_cstr(&text));
    if (run_line(s, buf_slice(&text), leave, &err))
        cli_report(&err);
    buf_close(&text);
}

static void run_terminal(struct shell *s)
{
    bool leave = false;
    while (!leave) {
        struct slice line;
        enum line_outcome outcome = line_editor_read(s->edit, &line);
        if (outcome == LINE_INTERRUPTED) {
            if (s->saw)
                saw_repl_drop(s->saw);
            putchar('\n');
        } else if (outcome == LINE_TYPED) {
            take_line(s, line, &leave);
        } else if (s->in_saw) {
            s->in_saw = false;
            putchar('\n');
        } else {
            break;
        }
    }
    if (!leave)
        putchar('\n');
}

/* --- a script ------------------------------------------------------------ */

/* The first error ends a script, as `sh -e` does: later lines may rest on the
 * one that failed. */
static int run_script(struct shell *s, struct err *err)
{
    struct line_reader reader;
    struct slice line;
    bool more = true;
    bool leave = false;
    int rc = line_reader_open(&reader, "-", err);
    if (rc)
        return rc;
    while (!leave && !(rc = line_reader_next(&reader, &line, &more, err)) &&
           more) {
        rc = run_line(s, line, &leave, err);
        if (rc) {
            err_wrap(err, "line %llu", (unsigned long long)reader.line_count);
            break;
        }
    }
    line_reader_close(&reader);
    return rc;
}

static int run_shell(struct cli *cli, const struct args *args, struct err *err)
{
    struct shell s = {.cli = cli};
    int rc = ERR_OK;
    (void)args;
    cli->in_shell = true;
    completion_init(&s.completion);
    if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
        edit_open(&s);
    if (s.edit) {
        cli_remark(cli,
                   "%s. help lists the commands, Tab completes, exit "
                   "leaves.",
                   cli->target);
        run_terminal(&s);
    } else {
        rc = run_script(&s, err);
    }
    line_editor_close(s.edit);
    saw_repl_free(s.saw);
    completion_close(&s.completion);
    cli->in_shell = false;
    return rc;
}

const struct command shell_commands[] = {
    {.name = "shell",
     .arguments = "",
     .summary = "Type commands, with history and completion",
     .details = "The store stays open in between. Without a terminal, commands "
                "are read from\nstandard input, a line each, up to the first "
                "that fails.\n\nsaw without arguments enters a mode in which "
                "Sawzall is typed and evaluated.\n\nbegin [--serializable] "
                "begins a transaction: until commit or rollback,\nget, scan, "
                "put and delete are its statements (see quarry txn --help).",
     .examples = "quarry -t file:./quarry-data shell",
     .run = run_shell},
    {.name = NULL},
};
