/* Running a command over rows: lines go in and answers come out together, so
 * that neither side blocks the other.
 *
 * A command is started for the rows at hand and gets the end of its input
 * behind them; one that stays answers each line at once, and is kept until it
 * fails.
 *
 * Invariant INV-1: a process that is kept has answered all that it was given.
 */
#include "mapreduce/observe/observe_command.h"

#include <jansson.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "mapreduce/observe/python_runner.h"
#include "mapreduce/observe/row_lines.h"
#include "mapreduce/sandbox/caged_command.h"

/* How long it waits before it looks whether the run shall end. */
#define LOOK_MS 100
/* A line that does not end cannot be kept for ever. */
#define LINE_BYTES_MAX ((size_t)64 << 20)

struct command_observer {
    const struct observer_settings *settings; /* Borrowed, as the next two. */
    const quarry_flag *stop;
    struct world *world;
    struct caged_rules rules;
    struct buf greeting; /* The first lines of input of each process. */
    bool stays;
    bool running;
    struct caged_command process; /* Where running. */
};

/* Rows that are being answered. */
struct exchange {
    struct quarry_observation *rows; /* Borrowed. */
    size_t count;
    size_t done;
    size_t answered;    /* Lines; more than `done` once one was wrong. */
    struct err wrong;   /* Of the first wrong answer; code 0: none. */
    struct slice input; /* Left of the lines. */
    uint64_t moved_ns;  /* Something came or went then. */
};

/* --- a process ----------------------------------------------------------- */

static void end_process(struct command_observer *c)
{
    if (c->running)
        caged_command_close(&c->process);
    c->running = false;
}

static int begin_process(struct command_observer *c, struct err *err)
{
    int rc;
    if (c->running)
        return 0;
    c->running = true;
    rc = caged_command_start(&c->process, &c->rules, err);
    if (rc)
        end_process(c);
    return rc;
}

/* --- answers ------------------------------------------------------------- */

/* Behind a wrong one they are read, so that the process may be kept, and not
 * used. */
static void take_answer(const struct command_observer *c,
                        struct exchange *x,
                        struct slice line)
{
    PRE(x->answered < x->count);
    if (!x->wrong.code && row_line_take(&x->rows[x->answered], line,
                                        c->settings->output, &x->wrong) == 0)
        x->done++;
    x->answered++;
}

static int
take_answers(struct command_observer *c, struct exchange *x, struct err *err)
{
    struct slice left = buf_slice(&c->process.output);
    int rc = 0;
    for (;;) {
        size_t n = slice_find_byte(left, '\n');
        if (n == left.len && (n == 0 || c->process.out >= 0))
            break;
        if (x->answered == x->count) {
            rc = err_set(err, ERR_ABORTED,
                         "the command answered more lines than it had rows");
            break;
        }
        take_answer(c, x, slice_sub(left, 0, n));
        left = slice_sub(left, MIN_OF(n + 1, left.len), left.len);
    }
    buf_consume(&c->process.output, c->process.output.len - left.len);
    if (rc == 0 && left.len > LINE_BYTES_MAX)
        rc =
            err_set(err, ERR_ABORTED, "the command answers a line without end");
    return rc;
}

static int check_patience(struct command_observer *c,
                          const struct exchange *x,
                          struct err *err)
{
    uint64_t waited = (world_mono_ns(c->world) - x->moved_ns) / 1000;
    if (*c->stop)
        return err_set(err, ERR_CANCELLED, "stopped");
    if (waited < c->settings->timeout_us)
        return 0;
    return err_set(err, ERR_ABORTED, "no answer of the command in %llu ms",
                   (unsigned long long)(c->settings->timeout_us / 1000));
}

/* Its output has ended: with less than all answers, or in order. */
static int
take_end(struct command_observer *c, struct exchange *x, struct err *err)
{
    int rc = caged_command_wait(&c->process, err);
    end_process(c);
    if (rc == 0 && x->answered < x->count)
        rc = err_set(err, ERR_ABORTED,
                     "the command answered %zu lines for %zu rows", x->answered,
                     x->count);
    /* It says that it failed: no answer counts. */
    if (rc)
        x->done = 0;
    return rc;
}

static int
exchange_lines(struct command_observer *c, struct exchange *x, struct err *err)
{
    int rc = 0;
    while (rc == 0) {
        size_t written;
        if (c->stays && x->answered == x->count && !x->input.len)
            return 0;
        if (!c->stays && !x->input.len)
            caged_command_end_input(&c->process);
        if (c->process.in < 0)
            x->input = SLICE_EMPTY;
        if (caged_command_move(&c->process, x->input, &written, LOOK_MS))
            x->moved_ns = world_mono_ns(c->world);
        x->input = slice_sub(x->input, written, x->input.len);
        rc = take_answers(c, x, err);
        if (rc == 0 && c->process.out < 0)
            return take_end(c, x, err);
        if (rc == 0)
            rc = check_patience(c, x, err);
    }
    return rc;
}

static int command_rows(void *state,
                        struct quarry_observation *rows,
                        size_t count,
                        size_t *done,
                        bool *exact,
                        struct err *err)
{
    struct command_observer *c = state;
    struct exchange x = {.rows = rows, .count = count};
    struct buf lines = BUF_INIT;
    bool fresh = !c->running;
    int rc = 0;
    *done = 0;
    if (count == 0)
        return 0;
    if (fresh)
        buf_append_slice(&lines, buf_slice(&c->greeting));
    for (size_t i = 0; i < count; i++)
        row_line_put(&rows[i], &lines);
    x.input = buf_slice(&lines);
    x.moved_ns = world_mono_ns(c->world);
    rc = begin_process(c, err);
    if (rc == 0)
        rc = exchange_lines(c, &x, err);
    if (rc || !c->stays)
        end_process(c);
    buf_close(&lines);
    *done = x.done;
    *exact = rc == 0;
    return rc ? rc : err_copy(err, &x.wrong);
}

/* --- life ---------------------------------------------------------------- */

static void command_close(void *state)
{
    struct command_observer *c = state;
    end_process(c);
    buf_close(&c->greeting);
    mem_free(c);
}

static struct command_observer *new_observer(const struct observer_setup *setup)
{
    const struct observe_host *host = setup->host;
    struct command_observer *c = mem_zalloc(1, sizeof(*c));
    c->settings = setup->settings;
    c->stop = setup->stop;
    c->world = setup->world;
    c->stays = setup->settings->stays;
    c->rules =
        (struct caged_rules){.command = setup->settings->text.data,
                             .memory_bytes = setup->settings->memory_bytes,
                             .weak = host->weak_sandbox,
                             .open = host->no_sandbox};
    return c;
}

static int
command_open(const struct observer_setup *setup, void **state, struct err *err)
{
    (void)err;
    *state = new_observer(setup);
    return 0;
}

static int
python_open(const struct observer_setup *setup, void **state, struct err *err)
{
    const struct observer_settings *s = setup->settings;
    struct command_observer *c;
    json_t *doc;
    char *text;
    *state = NULL;
    if (!s->function)
        return err_set(err, ERR_INVALID,
                       "an observer in Python needs the name of its function");
    doc = json_pack("{s:s%, s:s, s:s}", "source", s->text.data, s->text.len,
                    "function", s->function, "file", setup->name);
    text = doc ? json_dumps(doc, JSON_COMPACT) : NULL;
    json_decref(doc);
    if (!text)
        return err_set(err, ERR_INVALID, "the observer's source is not UTF-8");
    c = new_observer(setup);
    c->rules.command = PYTHON_RUNNER_COMMAND;
    c->rules.variable = python_runner_variable;
    c->stays = true;
    buf_append_str(&c->greeting, text);
    buf_append_byte(&c->greeting, '\n');
    mem_free(text);
    *state = c;
    return 0;
}

const struct observer_engine observe_command = {"command", command_open,
                                                command_rows, command_close};
const struct observer_engine observe_python = {"python", python_open,
                                               command_rows, command_close};
