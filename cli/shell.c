/* quarry shell: commands line by line over one open store, with history and
 * completion; or a script of commands on standard input, up to the first that
 * fails.
 */
#include <errno.h>
#include <histedit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/interrupt.h"
#include "cli/line_reader.h"
#include "cli/saw_repl.h"
#include "cli/word_split.h"

#define HISTORY_LINES 1000
#define HISTORY_FILE  "/.quarry_history"

struct shell {
    struct cli *cli; /* Borrowed. */
    EditLine *edit;  /* Owned; NULL when a script is read. */
    History *history;
    char *history_path;   /* Owned; NULL when there is no home. */
    struct saw_repl *saw; /* Owned; NULL until the saw mode was entered. */
    bool in_saw;
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

static const char *shell_prompt(EditLine *edit)
{
    struct shell *s;
    if (el_get(edit, EL_CLIENTDATA, &s) != 0 || !s->in_saw)
        return "quarry> ";
    return saw_repl_pending(s->saw) ? "...> " : "saw> ";
}

/* The next character. libedit's own reading would sleep on when a Ctrl-C came
 * just before it. Bytes that are no character are skipped. */
static int read_key(EditLine *edit, wchar_t *key)
{
    mbstate_t state = {0};
    char byte;
    ssize_t got;
    (void)edit;
    while ((got = interrupt_read(STDIN_FILENO, &byte, 1)) > 0) {
        size_t n = mbrtowc(key, &byte, 1, &state);
        if (n <= 1)
            return 1;
        if (n == (size_t)-1)
            state = (mbstate_t){0};
    }
    return (int)got;
}

static unsigned char on_tab(EditLine *edit, int key)
{
    struct shell *s;
    const LineInfo *info = el_line(edit);
    struct slice before =
        slice_make(info->buffer, (size_t)(info->cursor - info->buffer));
    struct buf insert = BUF_INIT;
    unsigned char result = CC_REFRESH;
    (void)key;
    if (el_get(edit, EL_CLIENTDATA, &s) != 0)
        return CC_ERROR;
    if (s->in_saw) {
        el_insertstr(edit, "  ");
        return CC_REFRESH;
    }
    if (!completion_find(&s->completion, s->cli, before, &insert))
        result = CC_REFRESH_BEEP;
    else if (insert.len > 0)
        el_insertstr(edit, buf_cstr(&insert));
    else {
        putchar('\n');
        completion_print(&s->completion);
        result = CC_REDISPLAY;
    }
    buf_close(&insert);
    return result;
}

static void history_open(struct shell *s)
{
    HistEvent event;
    const char *home = getenv("HOME");
    struct buf path = BUF_INIT;
    s->history = history_init();
    history(s->history, &event, H_SETSIZE, HISTORY_LINES);
    history(s->history, &event, H_SETUNIQUE, 1);
    if (home) {
        buf_append_str(&path, home);
        buf_append_str(&path, HISTORY_FILE);
        s->history_path = buf_take(&path);
        history(s->history, &event, H_LOAD, s->history_path);
    }
}

static void edit_open(struct shell *s)
{
    s->edit = el_init("quarry", stdin, stdout, stderr);
    if (!s->edit)
        return;
    history_open(s);
    el_set(s->edit, EL_CLIENTDATA, s);
    el_set(s->edit, EL_PROMPT, shell_prompt);
    el_set(s->edit, EL_GETCFN, read_key);
    /* Or a Ctrl-C could take away what poll() has seen, and read() sleep. */
    el_set(s->edit, EL_SETTY, "-d", "+noflsh", NULL);
    el_set(s->edit, EL_EDITOR, "emacs");
    el_set(s->edit, EL_HIST, history, s->history);
    el_set(s->edit, EL_ADDFN, "quarry-complete", "complete a word", on_tab);
    el_set(s->edit, EL_BIND, "^I", "quarry-complete", NULL);
    el_set(s->edit, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_source(s->edit, NULL);
}

static void edit_close(struct shell *s)
{
    HistEvent event;
    if (s->history) {
        if (s->history_path)
            history(s->history, &event, H_SAVE, s->history_path);
        history_end(s->history);
    }
    if (s->edit)
        el_end(s->edit);
    mem_free(s->history_path);
}

static void shell_remember(struct shell *s, const char *line)
{
    HistEvent event;
    if (line[strspn(line, " \t\n")] != '\0')
        history(s->history, &event, H_ENTER, line);
}

static void run_terminal(struct shell *s)
{
    bool leave = false;
    while (!leave) {
        struct err err = ERR_INIT;
        int count = 0;
        const char *line;
        (void)interrupt_watch_shell();
        line = el_gets(s->edit, &count);
        if (interrupted()) {
            (void)tcflush(STDIN_FILENO, TCIFLUSH); /* Input typed before it. */
            if (s->saw)
                saw_repl_drop(s->saw);
            putchar('\n');
            continue;
        }
        if ((!line || count <= 0) && s->in_saw) {
            s->in_saw = false;
            putchar('\n');
            continue;
        }
        if (!line || count <= 0)
            break;
        shell_remember(s, line);
        if (run_line(s, slice_make(line, (size_t)count), &leave, &err))
            cli_report(&err);
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
    edit_close(&s);
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
                "Sawzall is typed and evaluated.",
     .examples = "quarry -t file:./quarry-data shell",
     .run = run_shell},
    {.name = NULL},
};
