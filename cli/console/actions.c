/* The actions of the console, as a table, and running them. An order may
 * outlast its request: it runs as a task, the viewer waits a moment for its
 * end, and then learns where to look. */
#include "cli/console/actions.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/http/http_form.h"
#include "base/runtime/audit.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "cli/cluster_orders.h"
#include "cli/console/access.h"
#include "cli/console/html.h"
#include "mapreduce/cluster/job_client.h"

#define FIELDS_MAX 3
/* How long a call may take, tries included. */
#define ORDER_US   UINT64_C(60000000)
#define COMPACT_US UINT64_C(3600000000)

struct actions {
    struct action_cluster cluster;
    struct world *world;
    struct order *running;
    size_t count; /* INV-1 */
    bool is_stopped;
    struct fiber *closer; /* Waits until none runs. */
};

struct action {
    const char *name;
    const char *title;
    const char *about; /* The sentences over its form. */
    const char *button;

    struct action_field {
        const char *name;
        const char *label;
        bool may_be_empty;
    } fields[FIELDS_MAX]; /* The first names the object of the action. */

    int (*run)(struct order *o, struct err *err);
};

/* An action that runs. */
struct order {
    struct actions *actions;
    struct order *next;
    const struct action *action;
    char *values[FIELDS_MAX]; /* Owned. */
    char *who;
    char *from;
    struct fiber *fiber;
    struct fiber *waiter; /* NULL: nobody waits any more. */
    struct buf said;
    struct err err;
    bool is_done;
};

/* --- what they do -------------------------------------------------------- */

static int
with_tables(struct order *o,
            uint64_t timeout_us,
            int (*fn)(struct order *o, struct quarry *q, struct err *err),
            struct err *err)
{
    const struct action_cluster *c = &o->actions->cluster;
    const struct quarry_options opts = {.world = o->actions->world,
                                        .security = c->security,
                                        .cluster = c->name,
                                        .must_exist = true,
                                        .timeout_us = timeout_us};
    struct quarry *q = NULL;
    struct buf cell = BUF_INIT;
    int rc;
    for (size_t i = 0; i < c->cell_count; i++)
        buf_printf(&cell, "%s%s", i ? "," : "", c->cell[i]);
    rc = quarry_open(buf_cstr(&cell), &opts, &q, err);
    buf_close(&cell);
    if (rc == 0)
        rc = fn(o, q, err);
    quarry_close(q);
    return rc;
}

static int do_move(struct order *o, struct quarry *q, struct err *err)
{
    return order_move(q, o->values[0], o->values[1], o->values[2], &o->said,
                      err);
}

static int run_move(struct order *o, struct err *err)
{
    return with_tables(o, ORDER_US, do_move, err);
}

static int do_split(struct order *o, struct quarry *q, struct err *err)
{
    int rc = order_split(q, o->values[0], o->values[1], err);
    if (rc == 0)
        buf_printf(&o->said, "a tablet of table %s was split at row %s",
                   o->values[0], o->values[1]);
    return rc;
}

static int run_split(struct order *o, struct err *err)
{
    return with_tables(o, ORDER_US, do_split, err);
}

static int do_compact(struct order *o, struct quarry *q, struct err *err)
{
    const char *row = o->values[1];
    int rc = order_compact(q, o->values[0], row, err);
    if (rc == 0)
        buf_printf(&o->said, "%s of table %s compacted",
                   *row ? "the tablet" : "all tablets", o->values[0]);
    return rc;
}

static int run_compact(struct order *o, struct err *err)
{
    return with_tables(o, COMPACT_US, do_compact, err);
}

static int run_kill(struct order *o, struct err *err)
{
    const struct action_cluster *c = &o->actions->cluster;
    const struct job_client_options opts = {.cell = c->cell,
                                            .cell_count = c->cell_count,
                                            .security = c->security,
                                            .timeout_us = ORDER_US};
    struct job_client *jobs = NULL;
    int rc = job_client_open(o->actions->world, &opts, &jobs, err);
    if (rc == 0)
        rc = order_kill(jobs, o->values[0], err);
    job_client_close(jobs);
    if (rc == 0)
        buf_printf(&o->said, "job %s was killed", o->values[0]);
    return rc;
}

static int run_log_level(struct order *o, struct err *err)
{
    struct buf levels = BUF_INIT;
    int rc = order_log_level(o->values[0], o->actions->cluster.security,
                             slice_str(o->values[1]), &levels, err);
    if (rc == 0)
        buf_printf(&o->said, "%s logs %s now", o->values[0], buf_cstr(&levels));
    buf_close(&levels);
    return rc;
}

static const struct action actions[] = {
    {.name = "move",
     .title = "Move a tablet",
     .about = "Gives the tablet that holds the row to another tablet server. "
              "Its rows are not served for a moment, and balancing leaves it "
              "there for five minutes.",
     .button = "Move the tablet",
     .fields = {{"table", "Table", false},
                {"row", "Row", false},
                {"server", "To the server", false}},
     .run = run_move},
    {.name = "split",
     .title = "Split a tablet",
     .about = "Cuts the tablet that holds the row in two, in front of it. Both "
              "halves share the files that are there: nothing is copied.",
     .button = "Split the tablet",
     .fields = {{"table", "Table", false}, {"row", "At the row", false}},
     .run = run_split},
    {.name = "compact",
     .title = "Compact a table",
     .about = "Rewrites all files of the table, or of the tablet that holds "
              "the row, without what was deleted or has expired: it reads and "
              "writes as many bytes as these have.",
     .button = "Compact",
     .fields = {{"table", "Table", false},
                {"row", "Row (empty: all tablets)", true}},
     .run = run_compact},
    {.name = "kill",
     .title = "Kill a job",
     .about = "Stops the job, with all attempts that run. This cannot be "
              "undone.",
     .button = "Kill the job",
     .fields = {{"job", "Job", false}},
     .run = run_kill},
    {.name = "log-level",
     .title = "Set log levels",
     .about = "Changes what one process logs, until it restarts: debug, info, "
              "warn or error, for one component too, as in rpc=debug.",
     .button = "Set the levels",
     .fields = {{"node", "Address of the node", false},
                {"levels", "Levels", false}},
     .run = run_log_level},
};

static const struct action *find_action(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(actions); i++)
        if (strcmp(actions[i].name, name) == 0)
            return &actions[i];
    return NULL;
}

const char *action_title(const char *name)
{
    const struct action *a = find_action(name);
    return a ? a->title : NULL;
}

/* --- forms --------------------------------------------------------------- */

static void
put_field(struct html *h, const struct action_field *f, const json_t *given)
{
    html_lit(h, "<p><label");
    html_attr(h, "for", f->name);
    html_lit(h, ">");
    html_str(h, f->label);
    html_lit(h, "</label> <input autocomplete=\"off\"");
    if (!f->may_be_empty)
        html_lit(h, " required");
    html_attr(h, "id", f->name);
    html_attr(h, "name", f->name);
    html_attr(h, "value", json_string_value(json_object_get(given, f->name)));
    html_lit(h, "></p>");
}

void action_form(struct html *h, const char *name, const json_t *given)
{
    const struct action *a = find_action(name);
    PRE(a);
    html_lit(h, "<p>");
    html_str(h, a->about);
    html_lit(h, "</p><form class=\"action\" method=\"post\"");
    html_url(h, "action", "/actions/{}", name);
    html_lit(h, ">");
    html_form_token(h);
    for (size_t i = 0; i < FIELDS_MAX && a->fields[i].name; i++)
        put_field(h, &a->fields[i], given);
    html_lit(h, "<button>");
    html_str(h, a->button);
    html_lit(h, "</button></form>");
}

/* --- running ------------------------------------------------------------- */

static void order_free(struct order *o)
{
    for (size_t i = 0; i < FIELDS_MAX; i++)
        mem_free(o->values[i]);
    buf_close(&o->said);
    mem_free(o->who);
    mem_free(o->from);
    mem_free(o);
}

static void note_order(const struct order *o)
{
    struct buf what = BUF_INIT;
    char *args = NULL;
    json_t *values = json_object();
    struct audit_event e = {.who = slice_str(o->who),
                            .by = SLICE_LIT("console"),
                            .from = slice_str(o->from),
                            .on = slice_str(o->values[0]),
                            .code = o->err.code,
                            .why = slice_str(o->err.text)};
    for (size_t i = 0; i < FIELDS_MAX && o->values[i]; i++)
        json_object_set_new(values, o->action->fields[i].name,
                            json_string(o->values[i]));
    args = json_dumps(values, JSON_COMPACT);
    buf_printf(&what, "console.%s", o->action->name);
    for (size_t i = 0; i < what.len; i++)
        if (what.data[i] == '-')
            what.data[i] = '_';
    e.what = buf_slice(&what);
    e.args = slice_str(args ? args : "");
    audit_note(o->actions->world, &e);
    free(args);
    json_decref(values);
    buf_close(&what);
}

static void leave_running(struct order *o)
{
    struct actions *a = o->actions;
    struct order **p = &a->running;
    while (*p != o)
        p = &(*p)->next;
    *p = o->next;
    a->count--;
    if (!a->running && a->closer)
        fiber_wake(a->closer);
}

static void run_order(void *arg)
{
    struct order *o = arg;
    if (o->action->run(o, &o->err) == 0)
        err_init(&o->err); /* Of a try that was repeated. */
    note_order(o);
    leave_running(o);
    o->is_done = true;
    if (o->waiter)
        fiber_wake(o->waiter);
    else
        order_free(o);
}

static int
take_values(struct order *o, const struct http_form *given, struct err *err)
{
    for (size_t i = 0; i < FIELDS_MAX && o->action->fields[i].name; i++) {
        const struct action_field *f = &o->action->fields[i];
        const char *value = http_form_get(given, f->name);
        if ((!value || !*value) && !f->may_be_empty)
            return err_set(err, ERR_INVALID, "field \"%s\" is empty", f->label);
        o->values[i] = mem_strdup(value ? value : "");
    }
    return 0;
}

static void start_order(struct order *o)
{
    struct actions *a = o->actions;
    o->next = a->running;
    a->running = o;
    a->count++;
    o->waiter = fiber_self();
    o->fiber = fiber_start(loop_self(), "console action", run_order, o);
    fiber_detach(o->fiber);
}

/* Wait for the end, or long enough. */
static void await_order(struct order *o)
{
    uint64_t until_ns =
        world_mono_ns(o->actions->world) + ACTION_WAIT_US * 1000;
    while (!o->is_done && fiber_park_until(until_ns))
        ;
    o->waiter = NULL;
}

int action_run(struct actions *a,
               const char *name,
               const struct http_form *given,
               const struct console_viewer *v,
               json_t **out,
               struct err *err)
{
    struct order *o = mem_zalloc(1, sizeof(*o));
    int rc;
    o->actions = a;
    o->action = find_action(name);
    o->who = mem_strdup(v->name);
    o->from = mem_strdup(v->address);
    PRE(o->action);
    PRE(v->right == CONSOLE_OPERATE);
    rc = take_values(o, given, err);
    if (rc == 0 && (a->count >= ACTIONS_MAX || a->is_stopped)) /* INV-1 */
        rc = err_set(err, ERR_BUSY, "%d actions run already: try again later",
                     ACTIONS_MAX);
    if (rc == 0) {
        start_order(o);
        await_order(o);
        if (o->is_done)
            rc = err_copy(err, &o->err);
    }
    if (rc == 0 && !o->is_done)
        *out = json_pack("{s:s,s:s}", "outcome", "running", "text",
                         "it takes longer, and continues; the audit log will "
                         "tell its end");
    else
        *out = json_pack("{s:s,s:s}", "outcome", rc ? "failed" : "done", "text",
                         rc ? err->text : buf_cstr(&o->said));
    if (rc || o->is_done)
        order_free(o);
    return rc;
}

/* --- life ---------------------------------------------------------------- */

struct actions *actions_new(const struct action_cluster *cluster)
{
    struct actions *a = mem_zalloc(1, sizeof(*a));
    a->cluster = *cluster;
    a->world = loop_world(loop_self());
    return a;
}

void actions_stop(struct actions *a)
{
    if (!a)
        return;
    a->is_stopped = true;
    for (struct order *o = a->running; o; o = o->next)
        fiber_cancel(o->fiber);
}

void actions_free(struct actions *a)
{
    if (!a)
        return;
    actions_stop(a);
    a->closer = fiber_self();
    while (a->running)
        fiber_park();
    mem_free(a);
}
