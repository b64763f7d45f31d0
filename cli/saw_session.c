/* Evaluation of inputs one after the other; see saw_session.h. Earlier inputs
 * are run again with recorded times and their output dropped up to a mark.
 */
#include "cli/saw_session.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/saw_host.h"
#include "cli/saw_results.h"
#include "sawzall-lite/sawzall.h"

/* Inputs are included by these names, which messages then show. More than the
 * compiler includes are joined. */
#define NAME_BYTES_MAX 24
#define INPUTS_MAX     200
/* Output before the mark was printed by inputs run again. */
#define MARK "\x01quarry\x01\n"

struct input {
    char *text;     /* Owned. */
    char *declares; /* The name it declares, or NULL. Owned. */
    unsigned number;
    bool old; /* Goes, if what is declared again compiles then. */
};

struct saw_session {
    struct cli *cli;
    struct saw_host host;
    struct saw_compile_options compile;
    struct saw_run_options run_options; /* Of the host. */
    struct input *inputs;               /* Accepted; owned. */
    size_t count;
    struct input now;  /* The one being evaluated. */
    struct buf record; /* The variable `input`. */
    int64_t *times;    /* Results of now(), in order; owned. */
    size_t time_count;
    size_t time_at;              /* In the run at hand. */
    bool marked;                 /* The run at hand has passed the mark. */
    struct saw_program *program; /* Of the last good run; owned. */
    struct saw_run *run;
};

/* --- what a run sees ----------------------------------------------------- */

static int
write_text(void *ctx, const char *path, struct slice text, struct err *err)
{
    struct saw_session *r = ctx;
    if (slice_eq_str(text, MARK)) {
        r->marked = true;
        return ERR_OK;
    }
    if (!r->marked)
        return ERR_OK;
    return r->run_options.write(r->run_options.write_ctx, path, text, err);
}

/* Inputs that are run again see the time they saw first. */
static int64_t now_us(void *ctx)
{
    struct saw_session *r = ctx;
    if (r->time_at == r->time_count) {
        r->times =
            mem_realloc(r->times, (r->time_count + 1) * sizeof(*r->times));
        r->times[r->time_count++] = (int64_t)world_now_us(r->cli->world);
    }
    INVARIANT(r->time_at < r->time_count);
    return r->times[r->time_at++];
}

static int
read_file(void *ctx, struct slice path, struct buf *out, struct err *err)
{
    struct saw_session *r = ctx;
    return r->run_options.read_file(r->run_options.world_ctx, path, out, err);
}

static const struct input *find_input(const struct saw_session *r,
                                      unsigned number)
{
    if (r->now.text && r->now.number == number)
        return &r->now;
    for (size_t i = 0; i < r->count; i++)
        if (r->inputs[i].number == number)
            return &r->inputs[i];
    return NULL;
}

static int
read_include(void *ctx, const char *path, struct buf *text, struct err *err)
{
    struct saw_session *r = ctx;
    const struct input *in = NULL;
    if (path[0] == '[')
        in = find_input(r, (unsigned)strtoul(path + 1, NULL, 10));
    if (!in)
        return r->compile.read_include(r->compile.ctx, path, text, err);
    buf_append_str(text, in->text);
    return ERR_OK;
}

/* --- life ---------------------------------------------------------------- */

static void input_close(struct input *in)
{
    mem_free(in->text);
    mem_free(in->declares);
    *in = (struct input){.number = in->number};
}

struct saw_session *saw_session_new(struct cli *cli)
{
    struct saw_session *r = mem_zalloc(1, sizeof(*r));
    r->cli = cli;
    r->host.cli = cli;
    saw_host_compile_options(&r->host, &r->compile);
    saw_host_run_options(&r->host, &r->run_options);
    return r;
}

static void forget_run(struct saw_session *r)
{
    saw_run_free(r->run);
    saw_program_free(r->program);
    r->run = NULL;
    r->program = NULL;
}

void saw_session_clear(struct saw_session *r)
{
    forget_run(r);
    for (size_t i = 0; i < r->count; i++)
        input_close(&r->inputs[i]);
    r->count = 0;
}

void saw_session_free(struct saw_session *r)
{
    struct err err = ERR_INIT;
    if (!r)
        return;
    saw_session_clear(r);
    input_close(&r->now);
    mem_free(r->inputs);
    mem_free(r->times);
    buf_close(&r->record);
    if (saw_host_close(&r->host, &err))
        cli_report(&err);
    mem_free(r);
}

/* --- programs ------------------------------------------------------------ */

/* How the input at hand stands in the program. */
enum form {
    FORM_STATEMENTS,
    FORM_CLOSED, /* Statements that lack the last semicolon. */
    FORM_SHOWN,  /* An expression whose value is printed. */
    FORM_TYPED,  /* An expression at the end. */
};

/* Which inputs the program has. */
enum basis {
    BASIS_ALL,
    BASIS_REPLACED, /* The one at hand for the one it declares again. */
    BASIS_YOUNG,    /* Those that are not old. */
};

static void put_input(enum form form, unsigned number, struct buf *b)
{
    if (form == FORM_SHOWN)
        buf_append_str(b, "emit stdout <- ___show(");
    buf_printf(b, "include \"[%u]\"\n", number);
    if (form == FORM_SHOWN)
        buf_append_str(b, ")");
    if (form != FORM_STATEMENTS)
        buf_append_str(b, ";\n");
}

/* All inputs of the basis, the mark, and the one at hand. */
static void program_text(const struct saw_session *r,
                         enum form form,
                         enum basis basis,
                         struct buf *b)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct input *in = &r->inputs[i];
        if (basis == BASIS_YOUNG && in->old)
            continue;
        if (basis == BASIS_REPLACED && in->old && in->declares)
            put_input(form, r->now.number, b);
        else
            put_input(FORM_STATEMENTS, in->number, b);
    }
    buf_append_str(b, "emit stdout <- \"\\x01quarry\\x01\";\n");
    if (basis != BASIS_REPLACED)
        put_input(form, r->now.number, b);
}

static int saw_session_compile(struct saw_session *r,
                               enum form form,
                               enum basis basis,
                               struct saw_program **out,
                               struct buf *diagnostics)
{
    struct saw_compile_options o = r->compile;
    struct buf text = BUF_INIT;
    int rc;
    o.read_include = read_include;
    o.ctx = r;
    program_text(r, form, basis, &text);
    if (form == FORM_TYPED) {
        struct buf type = BUF_INIT;
        rc = saw_type_of(&o, buf_slice(&text), "saw", &type, diagnostics);
        if (!rc)
            puts(buf_cstr(&type));
        buf_close(&type);
    } else {
        rc = saw_compile(&o, buf_slice(&text), "saw", out, diagnostics);
    }
    buf_close(&text);
    return rc;
}

/* Print the errors; warnings are for programs that are finished. An error at
 * the end of the input has no line to show. */
static void print_errors(struct buf *diagnostics)
{
    const char *p = buf_cstr(diagnostics);
    bool shown = true;
    fflush(stdout);
    while (*p) {
        size_t n = strcspn(p, "\n");
        const char *warning = strstr(p, ": warning: ");
        if (strncmp(p, "saw:", 4) == 0 && strstr(p, "error: ")) {
            p = strstr(p, "error: ");
            fprintf(stderr, "%.*s\n", (int)strcspn(p, "\n"), p);
            return;
        }
        if (*p != ' ')
            shown = !warning || warning > p + n;
        if (shown)
            fprintf(stderr, "%.*s\n", (int)n, p);
        p += n + (p[n] == '\n');
    }
}

/* Show the place that the error of a run names: [number]:line:column. */
static void print_place(const struct saw_session *r, const struct err *err)
{
    unsigned number;
    unsigned line;
    unsigned column;
    const struct input *in;
    const char *text;
    if (err->detail != ERR_DETAIL_PLACE ||
        sscanf(err->subject, "[%u]:%u:%u", &number, &line, &column) != 3)
        return;
    in = find_input(r, number);
    text = in ? in->text : "";
    for (; line > 1 && *text; line--)
        text += strcspn(text, "\n") + (text[strcspn(text, "\n")] == '\n');
    if (column == 0 || column > strcspn(text, "\n"))
        return;
    fflush(stdout);
    fprintf(stderr, "    %.*s\n    %*s\n", (int)strcspn(text, "\n"), text,
            (int)column, "^");
}

/* --- runs ---------------------------------------------------------------- */

static int
saw_session_run(struct saw_session *r, struct saw_program *p, struct err *err)
{
    struct saw_run_options o = r->run_options;
    struct saw_run *run = NULL;
    int rc;
    o.write = write_text;
    o.write_ctx = r;
    o.now_us = now_us;
    o.read_file = read_file;
    o.world_ctx = r;
    o.cancel = interrupt_watch();
    r->time_at = 0;
    r->marked = false;
    rc = saw_run_new(p, &o, &run, err);
    if (!rc)
        rc = saw_run_record(run, buf_slice(&r->record), SLICE_EMPTY, err);
    fflush(stdout);
    if (rc) {
        print_place(r, err);
        saw_run_free(run);
        saw_program_free(p);
        return rc;
    }
    forget_run(r);
    r->program = p;
    r->run = run;
    return ERR_OK;
}

/* --- accepting ----------------------------------------------------------- */

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The name that a declaration at the beginning of @s declares, or empty. */
static struct slice saw_session_declared(struct slice s)
{
    char sign = ':';
    size_t at = 0;
    struct slice name;
    s = slice_trim(s);
    if (slice_starts_with(s, SLICE_LIT("static ")))
        s = slice_trim(slice_sub(s, 7, s.len));
    if (slice_starts_with(s, SLICE_LIT("type "))) {
        s = slice_trim(slice_sub(s, 5, s.len));
        sign = '=';
    }
    while (at < s.len && in_name(s.data[at]))
        at++;
    name = slice_sub(s, 0, at);
    s = slice_trim(slice_sub(s, at, s.len));
    return s.len > 0 && s.data[0] == sign ? name : SLICE_EMPTY;
}

static bool saw_session_mentions(const char *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = strstr(text, name); p; p = strstr(p + 1, name))
        if ((p == text || !in_name(p[-1])) && !in_name(p[n]))
            return true;
    return false;
}

/* Mark the input that declared what the one at hand declares again, and the
 * statements about that. False if there is none. */
static bool mark_old(struct saw_session *r)
{
    const char *name = r->now.declares;
    bool found = false;
    for (size_t i = 0; i < r->count; i++) {
        struct input *in = &r->inputs[i];
        in->old = name && (in->declares
                               ? strcmp(in->declares, name) == 0
                               : found && saw_session_mentions(in->text, name));
        found = found || in->old;
    }
    return found;
}

/* Keep the first inputs as one: a program has a limited number of includes. */
static void join_inputs(struct saw_session *r)
{
    struct buf b = BUF_INIT;
    buf_append_str(&b, r->inputs[0].text);
    buf_append_byte(&b, '\n');
    buf_append_str(&b, r->inputs[1].text);
    mem_free(r->inputs[0].text);
    r->inputs[0].text = buf_take(&b);
    mem_free(r->inputs[0].declares);
    r->inputs[0].declares = NULL;
    input_close(&r->inputs[1]);
    memmove(&r->inputs[1], &r->inputs[2], (r->count - 2) * sizeof(*r->inputs));
    r->count--;
}

/* Drop the inputs that are old. */
static void drop_old(struct saw_session *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->count; i++)
        if (r->inputs[i].old)
            input_close(&r->inputs[i]);
        else
            r->inputs[n++] = r->inputs[i];
    r->count = n;
}

static void replace_old(struct saw_session *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->inputs[i].old && r->inputs[i].declares) {
            input_close(&r->inputs[i]);
            r->inputs[i] = r->now;
        }
}

static void append_input(struct saw_session *r)
{
    if (r->count == INPUTS_MAX)
        join_inputs(r);
    r->inputs = mem_realloc(r->inputs, (r->count + 1) * sizeof(*r->inputs));
    r->inputs[r->count++] = r->now;
}

static void
saw_session_accept(struct saw_session *r, enum form form, enum basis basis)
{
    struct buf text = BUF_INIT;
    buf_append_slice(&text, slice_trim(slice_str(r->now.text)));
    /* A comment at the end must not hide the semicolon. */
    if (form == FORM_CLOSED)
        buf_append_str(&text, strchr(r->now.text, '#') ? "\n;" : ";");
    mem_free(r->now.text);
    r->now.text = buf_take(&text);
    if (basis == BASIS_YOUNG)
        drop_old(r);
    if (basis == BASIS_REPLACED)
        replace_old(r);
    else
        append_input(r);
    r->now = (struct input){.number = r->now.number};
}

/* --- one input ----------------------------------------------------------- */

static void begin_input(struct saw_session *r, struct slice text)
{
    struct slice name = saw_session_declared(text);
    unsigned number = r->now.number + 1;
    input_close(&r->now);
    r->now.number = number;
    r->now.text = mem_strndup(text.data, text.len);
    if (name.len > 0)
        r->now.declares = mem_strndup(name.data, name.len);
}

/* Is the first thing wrong that the last semicolon is missing? */
static bool lacks_semicolon(struct buf *diagnostics)
{
    const char *error = strstr(buf_cstr(diagnostics), ": error: ");
    const char *want = ": error: ';' expected; found end of file";
    return error && strncmp(error, want, strlen(want)) == 0;
}

/* Does the text end where more must follow? */
static bool is_unfinished(struct buf *diagnostics)
{
    return strstr(buf_cstr(diagnostics), "found end of file") &&
           !lacks_semicolon(diagnostics);
}

/* Compile with the first basis that will do: a function declared again takes
 * the place of the old one, since others call it; a variable restarts. */
static bool compile_input(struct saw_session *r,
                          enum form form,
                          enum basis *basis,
                          struct saw_program **p,
                          struct buf *diagnostics)
{
    *basis = BASIS_ALL;
    if (saw_session_compile(r, form, *basis, p, diagnostics) == ERR_OK)
        return true;
    if (!mark_old(r))
        return false;
    *basis = strstr(r->now.text, "function") ? BASIS_REPLACED : BASIS_YOUNG;
    buf_clear(diagnostics);
    if (saw_session_compile(r, form, *basis, p, diagnostics) == ERR_OK)
        return true;
    *basis = BASIS_YOUNG;
    buf_clear(diagnostics);
    return saw_session_compile(r, form, *basis, p, diagnostics) == ERR_OK;
}

/* Try @form. Returns false if it does not compile. */
static bool try_form(struct saw_session *r,
                     enum form form,
                     struct buf *diagnostics,
                     int *code,
                     struct err *err)
{
    struct saw_program *p = NULL;
    enum basis basis;
    size_t times;
    if (!compile_input(r, form, &basis, &p, diagnostics))
        return false;
    times = r->time_count;
    *code = saw_session_run(r, p, err);
    if (*code || form == FORM_SHOWN)
        r->time_count = times;
    else
        saw_session_accept(r, form, basis);
    return true;
}

/* An expression may have a semicolon behind it. */
static struct slice without_semicolon(struct slice s)
{
    s = slice_trim(s);
    while (s.len > 0 && s.data[s.len - 1] == ';')
        s = slice_trim(slice_sub(s, 0, s.len - 1));
    return s;
}

static bool try_shown(struct saw_session *r, int *code, struct err *err)
{
    struct buf ignored = BUF_INIT;
    char *whole = r->now.text;
    struct slice text = without_semicolon(slice_str(whole));
    bool done;
    r->now.text = mem_strndup(text.data, text.len);
    done = try_form(r, FORM_SHOWN, &ignored, code, err);
    mem_free(r->now.text);
    r->now.text = whole;
    buf_close(&ignored);
    return done;
}

static int saw_session_evaluate_form(struct saw_session *r,
                                     bool last,
                                     bool *more,
                                     struct err *err)
{
    struct buf plain = BUF_INIT;
    struct buf closed = BUF_INIT;
    int rc = ERR_OK;
    if (!try_shown(r, &rc, err) &&
        !try_form(r, FORM_STATEMENTS, &plain, &rc, err) &&
        !try_form(r, FORM_CLOSED, &closed, &rc, err)) {
        *more = !last && is_unfinished(&plain);
        if (!*more) {
            print_errors(lacks_semicolon(&plain) ? &closed : &plain);
            rc = err_set(err, ERR_INVALID, "the errors are above");
        }
    }
    buf_close(&plain);
    buf_close(&closed);
    return rc;
}

int saw_session_evaluate(struct saw_session *r,
                         struct slice text,
                         bool last,
                         bool *more,
                         struct err *err)
{
    int rc;
    begin_input(r, text);
    rc = saw_session_evaluate_form(r, last, more, err);
    if (*more)
        r->now.number--;
    return rc;
}

int saw_session_load(struct saw_session *r, const char *path, struct err *err)
{
    struct buf text = BUF_INIT;
    bool more = false;
    int rc = cli_read_file(path, &text, err);
    if (!rc) {
        begin_input(r, buf_slice(&text));
        mem_free(r->now.declares); /* It may declare much. */
        r->now.declares = NULL;
        rc = saw_session_evaluate_form(r, true, &more, err);
    }
    buf_close(&text);
    return rc;
}

int saw_session_type(struct saw_session *r, struct slice text, struct err *err)
{
    struct buf diagnostics = BUF_INIT;
    int rc;
    begin_input(r, without_semicolon(text));
    rc = saw_session_compile(r, FORM_TYPED, BASIS_ALL, NULL, &diagnostics);
    if (rc) {
        print_errors(&diagnostics);
        rc = err_set(err, rc, "this is no expression");
        if (diagnostics.len > 0)
            err_set(err, rc, "the errors are above");
    }
    buf_close(&diagnostics);
    return rc;
}

void saw_session_print_tables(struct saw_session *r)
{
    if (r->run && saw_results_print(r->run, FORMAT_TEXT, false, NULL))
        putchar('\n'); /* It was enough. */
}

void saw_session_list(const struct saw_session *r)
{
    for (size_t i = 0; i < r->count; i++)
        printf("[%u] %.*s\n", r->inputs[i].number,
               SLICE_ARG(slice_trim(slice_str(r->inputs[i].text))));
}

void saw_session_set_record(struct saw_session *r, struct slice record)
{
    buf_clear(&r->record);
    buf_append_slice(&r->record, record);
}
