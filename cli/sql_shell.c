/* The session of `quarry sql`: it opens the store for reading, and again for
 * writing when a statement wants that; splits texts into statements; prints
 * results, errors and times.
 */
#include "cli/sql_shell.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "bigtable/sql/sql_lexer.h"
#include "bigtable/sql/sql_session.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/interrupt.h"
#include "cli/line_editor.h"
#include "cli/sql_library.h"
#include "cli/sql_printer.h"
#include "cli/sql_result_file.h"
#include "cli/suggest.h"

#define HISTORY_FILE ".quarry_sql_history"
/* How often a running statement looks for Ctrl-C. */
#define INTERRUPT_POLL_US UINT64_C(50000)

struct sql_shell {
    struct cli *cli; /* Borrowed. */
    struct sql_session *session;
    enum sql_format format;
    struct sql_printer printer;
    bool interactive;
    bool timing;
    bool google;                 /* Statements are in GoogleSQL. */
    bool no_bail;                /* A script continues after one that fails. */
    size_t fail_count;           /* Of the script at hand. */
    struct sql_result_file file; /* Of Parquet and Arrow. */
    bool leave;
    struct line_editor *edit; /* NULL: a script is read. */
    struct completion completion;
    struct buf pending; /* Typed so far of a statement. */
    /* The thread that waits for Ctrl-C while a statement runs. */
    struct mutex lock; /* Of the next two. */
    struct cond changed;
    bool running;
    bool ending;
    struct task *watcher;
};

/* --- the store ----------------------------------------------------------- */

static int shell_store(void *ctx, struct quarry **out, struct err *err)
{
    struct sql_shell *s = ctx;
    return cli_store(s->cli, CLI_READ, out, err);
}

/* Nothing of a store that was opened to be read is in use between statements,
 * and before the query of one that writes. */
static int shell_writable(void *ctx, struct quarry **out, struct err *err)
{
    struct sql_shell *s = ctx;
    const bool in_shell = s->cli->in_shell;
    int rc;
    if (!in_shell && s->cli->store) {
        quarry_close(s->cli->store);
        s->cli->store = NULL;
    }
    s->cli->in_shell = true; /* From now on it is open for both. */
    rc = cli_store(s->cli, CLI_EXISTING, out, err);
    if (rc)
        s->cli->in_shell = in_shell;
    return rc;
}

/* --- DuckDB's library ---------------------------------------------------- */

static int open_session(struct sql_shell *s, struct err *err)
{
    struct buf path = BUF_INIT;
    struct buf remarks = BUF_INIT;
    struct sql_session_options opts = {
        .store = shell_store, .writable = shell_writable, .ctx = s};
    int rc;
    opts.google = s->google;
    sql_library_find(&path);
    opts.library = buf_cstr(&path);
    rc = sql_session_open(&opts, &s->session, &remarks, err);
    if (remarks.len)
        cli_remark(s->cli, "%.*s", (int)remarks.len - 1, remarks.data);
    buf_close(&remarks);
    buf_close(&path);
    return rc;
}

/* --- Ctrl-C -------------------------------------------------------------- */

static void watch_interrupts(void *arg)
{
    struct sql_shell *s = arg;
    mutex_lock(&s->lock);
    while (!s->ending) {
        if (!s->running) {
            cond_wait(&s->changed, &s->lock);
            continue;
        }
        (void)cond_wait_us(&s->changed, &s->lock, s->cli->world,
                           INTERRUPT_POLL_US);
        if (s->running && interrupted())
            sql_session_interrupt(s->session);
    }
    mutex_unlock(&s->lock);
}

static void set_running(struct sql_shell *s, bool running)
{
    mutex_lock(&s->lock);
    s->running = running;
    if (running)
        cond_signal(&s->changed);
    mutex_unlock(&s->lock);
}

static void end_watcher(struct sql_shell *s)
{
    mutex_lock(&s->lock);
    s->ending = true;
    cond_signal(&s->changed);
    mutex_unlock(&s->lock);
    if (s->watcher)
        task_join(s->watcher);
}

/* --- statements ---------------------------------------------------------- */

static void say_outcome(struct sql_shell *s, uint64_t changed, uint64_t ns)
{
    if (changed != UINT64_MAX)
        cli_remark(s->cli, "%" PRIu64 " rows written.", changed);
    if (s->timing || s->interactive)
        cli_remark(s->cli, "%" PRIu64 " rows, %.3f ms", s->printer.row_count,
                   (double)ns / 1e6);
}

static int
run_statement(struct sql_shell *s, struct slice text, struct err *err)
{
    struct sql_sink sink = sql_printer_sink(&s->printer);
    struct buf copy = BUF_INIT;
    const uint64_t begin = world_mono_ns(s->cli->world);
    const bool to_file = s->format >= SQL_PARQUET && sql_is_query(text);
    uint64_t changed = UINT64_MAX;
    int rc = 0;
    if (to_file)
        rc = sql_result_file_begin(&s->file, s->format, &text, &copy, &sink,
                                   err);
    s->printer.row_count = 0;
    set_running(s, true);
    if (rc == 0)
        rc = sql_session_run(s->session, text, &sink, &changed, err);
    set_running(s, false);
    if (to_file)
        rc = sql_result_file_end(&s->file, rc, &s->printer.row_count, err);
    sql_printer_end(&s->printer, rc == 0);
    buf_close(&copy);
    if (rc == 0)
        say_outcome(s, changed, world_mono_ns(s->cli->world) - begin);
    return rc;
}

/* A statement failed. Does the script continue? Then its error is said now. */
static bool sql_shell_continues(struct sql_shell *s, struct err *err)
{
    if (!s->no_bail || s->interactive || interrupted())
        return false;
    fflush(stdout);
    cli_report(err);
    *err = ERR_INIT;
    s->fail_count++;
    return true;
}

/* Run the statements of @text; *@used is where the first without an end begins.
 * @all: what has no semicolon at its end is one, too. */
static int run_text(struct sql_shell *s,
                    struct slice text,
                    bool all,
                    size_t *used,
                    struct err *err)
{
    int rc = 0;
    *used = 0;
    while (rc == 0) {
        struct slice rest = slice_sub(text, *used, text.len);
        size_t len, end;
        const bool ended = sql_statement_end(rest, &len, &end);
        if (!ended && (!all || len == 0))
            break;
        if (len > 0)
            rc = run_statement(s, slice_trim(slice_sub(rest, 0, len)), err);
        if (rc && sql_shell_continues(s, err))
            rc = 0;
        *used += end;
    }
    return rc;
}

/* --- commands of the shell ----------------------------------------------- */

static int run_tables(struct sql_shell *s, const char *word, struct err *err)
{
    char **names;
    size_t count;
    struct quarry *q;
    int rc = shell_store(s, &q, err);
    (void)word;
    if (rc == 0)
        rc = quarry_table_list(q, &names, &count, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], SQL_VIEWS_TABLE) != 0)
            printf("%s\n", names[i]);
    quarry_names_free(names, count);
    return run_statement(
        s,
        SLICE_LIT("SELECT view_name AS view FROM duckdb_views() "
                  "WHERE NOT internal ORDER BY 1"),
        err);
}

static int run_schema(struct sql_shell *s, const char *word, struct err *err)
{
    struct buf sql = BUF_INIT;
    int rc;
    if (!*word)
        return err_set(err, ERR_USAGE, ".schema NAME: of which table or view");
    buf_append_str(&sql, "DESCRIBE ");
    sql_put_name(&sql, word);
    rc = run_statement(s, buf_slice(&sql), err);
    buf_close(&sql);
    return rc;
}

static int set_timing(struct sql_shell *s, const char *word, struct err *err)
{
    (void)err;
    s->timing = strcmp(word, "off") != 0;
    return 0;
}

static int set_format(struct sql_shell *s, const char *word, struct err *err)
{
    int rc = sql_format_parse(word, &s->format, err);
    s->printer.format = s->format;
    return rc;
}

static int set_bail(struct sql_shell *s, const char *word, struct err *err)
{
    (void)err;
    s->no_bail = strcmp(word, "off") == 0;
    return 0;
}

/* A directory that was opened to be read stays as it was. */
static int
sql_shell_refresh(struct sql_shell *s, const char *word, struct err *err)
{
    struct quarry *q;
    (void)word;
    if (s->cli->store && !s->cli->in_shell) {
        quarry_close(s->cli->store);
        s->cli->store = NULL;
    }
    return shell_store(s, &q, err);
}

static int
sql_shell_leave(struct sql_shell *s, const char *word, struct err *err)
{
    (void)word;
    (void)err;
    s->leave = true;
    return 0;
}

static int show_help(struct sql_shell *s, const char *word, struct err *err);

static const struct {
    const char *name;
    int (*run)(struct sql_shell *s, const char *word, struct err *err);
    const char *about;
} shell_words[] = {
    {".tables", run_tables, "the tables, and the views"},
    {".schema", run_schema, "NAME: the columns of a table or view"},
    {".format", set_format,
     "aligned, csv, json, jsonl, parquet, arrow, arrows"},
    {".timer", set_timing, "on or off: how long statements take"},
    {".bail", set_bail, "on (default) or off: does an error end a script"},
    {".refresh", sql_shell_refresh,
     "see what others have written to a directory"},
    {".help", show_help, "this list"},
    {".exit", sql_shell_leave, "end; so does Ctrl-D"},
    {".quit", sql_shell_leave, NULL},
};

static int show_help(struct sql_shell *s, const char *word, struct err *err)
{
    (void)s;
    (void)word;
    (void)err;
    puts("A statement ends with a semicolon, and may have several lines.");
    for (size_t i = 0; i < ARRAY_LEN(shell_words); i++)
        if (shell_words[i].about)
            printf("%-9s %s\n", shell_words[i].name, shell_words[i].about);
    return 0;
}

static int run_word(struct sql_shell *s, struct slice line, struct err *err)
{
    const size_t blank = slice_find_byte(line, ' ');
    const struct slice first = slice_sub(line, 0, blank);
    const struct slice rest = slice_trim(slice_sub(line, blank, line.len));
    char *word = mem_strndup(rest.data, rest.len);
    int rc = 0;
    size_t i = 0;
    while (i < ARRAY_LEN(shell_words) &&
           !slice_eq(first, slice_str(shell_words[i].name)))
        i++;
    if (i < ARRAY_LEN(shell_words))
        rc = shell_words[i].run(s, word, err);
    else
        rc = err_set(err, ERR_USAGE, "%.*s: not a command (.help lists them)",
                     SLICE_ARG(first));
    mem_free(word);
    fflush(stdout);
    return rc;
}

/* --- a terminal ---------------------------------------------------------- */

static const char *sql_prompt(void *ctx)
{
    struct sql_shell *s = ctx;
    return s->pending.len ? " ...> " : "sql> ";
}

static void offer_names(struct sql_shell *s, struct slice typed)
{
    char **names;
    size_t count;
    struct quarry *q;
    if (shell_store(s, &q, NULL) || quarry_table_list(q, &names, &count, NULL))
        return;
    for (size_t i = 0; i < count; i++) {
        struct quarry_table_info *info;
        completion_offer_word(&s->completion, typed, names[i], " ");
        if (quarry_table_describe(q, names[i], &info, NULL))
            continue;
        for (size_t k = 0; k < info->family_count; k++)
            completion_offer_word(&s->completion, typed, info->families[k].name,
                                  "");
        quarry_table_info_free(info);
    }
    quarry_names_free(names, count);
}

static bool sql_complete(void *ctx,
                         struct slice before,
                         struct completion **offers,
                         struct buf *insert)
{
    static const char *const words[] = {
        "SELECT",      "FROM",        "WHERE",
        "GROUP BY",    "ORDER BY",    "LIMIT",
        "JOIN",        "WITH",        "INSERT INTO",
        "DELETE FROM", "CREATE VIEW", "DROP VIEW",
        "COPY",        "EXPLAIN",     "EXPLAIN ANALYZE",
        "DESCRIBE",    "quarry",      "quarry_cells",
        "read_csv",    "read_json",   "read_parquet",
        "count",       "key",
    };
    struct sql_shell *s = ctx;
    size_t at = before.len;
    struct slice typed;
    while (at > 0 && !strchr(" \t\n(),'\"=<>[", before.data[at - 1]))
        at--;
    typed = slice_sub(before, at, before.len);
    completion_begin(&s->completion);
    if (typed.len > 0 && typed.data[0] == '.')
        for (size_t i = 0; i < ARRAY_LEN(shell_words); i++)
            completion_offer_word(&s->completion, typed, shell_words[i].name,
                                  " ");
    else
        offer_names(s, typed);
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        completion_offer_word(&s->completion, typed, words[i], " ");
    *offers = &s->completion;
    return completion_end(&s->completion, typed, insert);
}

/* Run the statements that are complete; the rest waits. */
static void run_pending(struct sql_shell *s)
{
    struct err err = ERR_INIT;
    size_t used;
    struct buf text = s->pending;
    s->pending = BUF_INIT;
    if (run_text(s, buf_slice(&text), false, &used, &err))
        cli_report(&err);
    else
        buf_append_slice(&s->pending,
                         slice_sub(buf_slice(&text), used, text.len));
    if (slice_trim(buf_slice(&s->pending)).len == 0)
        buf_clear(&s->pending);
    buf_close(&text);
}

static void take_line(struct sql_shell *s, struct slice line)
{
    struct buf text = BUF_INIT;
    struct err err = ERR_INIT;
    buf_append_slice(&text, line);
    line_editor_remember(s->edit, buf_cstr(&text));
    if (s->pending.len == 0 && line.len > 0 && line.data[0] == '.') {
        if (run_word(s, slice_trim(buf_slice(&text)), &err))
            cli_report(&err);
    } else {
        buf_append_slice(&s->pending, buf_slice(&text));
        run_pending(s);
    }
    buf_close(&text);
}

static void run_terminal(struct sql_shell *s)
{
    while (!s->leave) {
        struct slice line;
        enum line_outcome outcome = line_editor_read(s->edit, &line);
        if (outcome == LINE_END)
            break;
        if (outcome == LINE_INTERRUPTED) {
            buf_clear(&s->pending);
            putchar('\n');
        } else {
            take_line(s, line);
        }
    }
    if (!s->leave)
        putchar('\n');
}

/* --- all ----------------------------------------------------------------- */

/* Lines with a leading dot are commands of the shell in a script, too. */
static int run_script(struct sql_shell *s, struct slice text, struct err *err)
{
    size_t used;
    int rc;
    while (text.len > 0) {
        const struct slice line =
            slice_sub(text, 0, slice_find_byte(text, '\n'));
        if (line.len == 0 || line.data[0] != '.')
            break;
        rc = run_word(s, slice_trim(line), err);
        if (rc || s->leave)
            return rc;
        text = slice_sub(text, line.len + 1, text.len);
    }
    s->fail_count = 0;
    rc = run_text(s, text, true, &used, err);
    if (rc == 0 && s->fail_count)
        rc = err_set(err, ERR_INVALID, "%zu statements failed", s->fail_count);
    return rc;
}

static int run_file(struct sql_shell *s, const char *path, struct err *err)
{
    struct buf text = BUF_INIT;
    int rc = cli_read_file(path, &text, err);
    if (rc == 0)
        rc = run_script(s, buf_slice(&text), err);
    buf_close(&text);
    return rc;
}

static int
run_input(struct sql_shell *s, const struct args *args, struct err *err)
{
    const struct line_editor_ops ops = {.history_file = HISTORY_FILE,
                                        .prompt = sql_prompt,
                                        .complete = sql_complete,
                                        .ctx = s};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < args_count(args, "command"); i++)
        rc = run_script(s, slice_str(args_nth(args, "command", i)), err);
    if (rc || args_count(args, "command"))
        return rc;
    if (args->word_count)
        return run_file(s, args->words[0], err);
    if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
        s->edit = line_editor_open(&ops);
    if (!s->edit)
        return run_file(s, "-", err);
    s->interactive = true;
    cli_remark(s->cli,
               "%s, DuckDB %s. .help explains, Tab completes, Ctrl-D "
               "leaves.",
               s->cli->target, sql_session_version());
    run_terminal(s);
    line_editor_close(s->edit);
    return 0;
}

static int parse_dialect(const char *name, struct sql_shell *s, struct err *err)
{
    s->google = name && strcmp(name, "google") == 0;
    if (!name || s->google || strcmp(name, "duckdb") == 0)
        return s->google && s->format == SQL_PARQUET
                   ? err_set(err, ERR_INVALID,
                             "sql: queries in GoogleSQL have no format parquet")
                   : 0;
    return err_set(err, ERR_INVALID, "dialect %s: neither duckdb nor google",
                   name);
}

int sql_shell_run(struct cli *cli, const struct args *args, struct err *err)
{
    struct sql_shell s = {
        .cli = cli,
        .timing = args_flag(args, "timing"),
        .file = {.world = cli->world, .path = args_value(args, "output")}};
    const char *format = args_value(args, "format");
    int rc = format ? sql_format_parse(format, &s.format, err) : 0;
    if (rc == 0)
        rc = parse_dialect(args_value(args, "dialect"), &s, err);
    if (rc)
        return rc;
    mutex_init(&s.lock);
    cond_init(&s.changed);
    completion_init(&s.completion);
    sql_printer_init(&s.printer, s.format);
    rc = open_session(&s, err);
    if (rc == 0) {
        (void)interrupt_watch();
        s.watcher = task_start(cli->world, "quarry-sql", watch_interrupts, &s);
        rc = run_input(&s, args, err);
    }
    end_watcher(&s);
    sql_session_close(s.session);
    sql_printer_close(&s.printer);
    completion_close(&s.completion);
    buf_close(&s.pending);
    cond_close(&s.changed);
    mutex_close(&s.lock);
    return rc;
}
