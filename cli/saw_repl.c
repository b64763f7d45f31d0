/* Lines typed in the saw mode; see saw_repl.h. Lines are collected until the
 * parser finds the input complete, or an empty line ends it.
 */
#include "cli/saw_repl.h"

#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "cli/saw_session.h"
#include "sawzall-lite/sawzall.h"

struct saw_repl {
    struct saw_session *session; /* Owned. */
    struct buf pending;          /* Lines of an unfinished input. */
};

struct saw_repl *saw_repl_new(struct cli *cli)
{
    struct saw_repl *r = mem_zalloc(1, sizeof(*r));
    r->session = saw_session_new(cli);
    return r;
}

void saw_repl_free(struct saw_repl *r)
{
    if (!r)
        return;
    saw_session_free(r->session);
    buf_close(&r->pending);
    mem_free(r);
}

/* --- commands ------------------------------------------------------------ */

static const char help_text[] =
    "An expression is evaluated, shown, and leaves nothing behind. Statements\n"
    "are run, and what they change stays; a name may be declared again. An\n"
    "input may span lines until it is whole; an empty line ends it.\n"
    "  :type EXPR      the type of an expression, which is not evaluated\n"
    "  :tables         what was emitted so far\n"
    "  :load FILE      run a file as if it were typed here\n"
    "  :input TEXT     what the variable input holds\n"
    "  :list           the inputs that are kept\n"
    "  :clear          forget them\n"
    "  :help [NAME]    this, or what a predeclared name is\n"
    "  :quit           back; also Ctrl-D\n";

static int saw_repl_load(struct saw_repl *r, struct slice path, struct err *err)
{
    char *name = mem_strndup(path.data, path.len);
    int rc = saw_session_load(r->session, name, err);
    mem_free(name);
    return rc;
}

static int saw_repl_explain(struct slice name, struct err *err)
{
    struct buf text = BUF_INIT;
    int rc = ERR_OK;
    if (name.len == 0)
        fputs(help_text, stdout);
    else if (saw_explain(name, &text))
        fputs(buf_cstr(&text), stdout);
    else
        rc = err_set(err, ERR_NOTFOUND, "%.*s is not predeclared",
                     SLICE_ARG(name));
    buf_close(&text);
    return rc;
}

static int saw_repl_command(struct saw_repl *r,
                            struct slice line,
                            bool *leave,
                            struct err *err)
{
    size_t n = slice_find_byte(line, ' ');
    struct slice word = slice_sub(line, 1, n);
    struct slice rest = slice_trim(slice_sub(line, n, line.len));
    if (slice_eq_str(word, "type"))
        return saw_session_type(r->session, rest, err);
    if (slice_eq_str(word, "load"))
        return saw_repl_load(r, rest, err);
    if (slice_eq_str(word, "help"))
        return saw_repl_explain(rest, err);
    if (slice_eq_str(word, "tables")) {
        saw_session_print_tables(r->session);
    } else if (slice_eq_str(word, "list")) {
        saw_session_list(r->session);
    } else if (slice_eq_str(word, "clear")) {
        saw_session_clear(r->session);
    } else if (slice_eq_str(word, "input")) {
        saw_session_set_record(r->session, rest);
    } else if (slice_eq_str(word, "quit")) {
        *leave = true;
    } else {
        err_set(err, ERR_INVALID, ":%.*s is no command here", SLICE_ARG(word));
        err_hint(err, ":help lists them");
        return ERR_INVALID;
    }
    return ERR_OK;
}

/* --- lines --------------------------------------------------------------- */

bool saw_repl_pending(const struct saw_repl *r)
{
    return r->pending.len > 0;
}

void saw_repl_drop(struct saw_repl *r)
{
    buf_clear(&r->pending);
}

int saw_repl_line(struct saw_repl *r,
                  struct slice line,
                  bool *leave,
                  struct err *err)
{
    struct slice trimmed = slice_trim(line);
    bool more = false;
    int rc;
    if (r->pending.len == 0) {
        if (trimmed.len == 0)
            return ERR_OK;
        *leave = slice_eq_str(trimmed, "exit") || slice_eq_str(trimmed, "quit");
        if (*leave)
            return ERR_OK;
        if (trimmed.data[0] == ':')
            return saw_repl_command(r, trimmed, leave, err);
    }
    buf_append_slice(&r->pending, line);
    if (r->pending.data[r->pending.len - 1] != '\n')
        buf_append_byte(&r->pending, '\n');
    rc = saw_session_evaluate(r->session, buf_slice(&r->pending),
                              trimmed.len == 0, &more, err);
    if (!more)
        buf_clear(&r->pending);
    return rc;
}
