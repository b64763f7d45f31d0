/* Capturing a table: ask all its tablets, read METADATA again, and accept the
 * answers once they cover the table from end to end. A tablet whose bounds
 * changed since it answered is asked again. */
#include "bigtable/master/table_capture.h"

#include "base/core/panic.h"
#include "base/runtime/log.h"
#include "bigtable/master/master_term.h"
#include "bigtable/wire/snapshot_record.h"

#define RETRY_US UINT64_C(100000)
/* Captures in progress at once. */
#define CAPTURES_MAX 64

/* The answer of a tablet; the list has the newest first. */
struct capture_answer {
    struct capture_answer *next;
    uint64_t tablet;
    struct buf bytes;
    struct snapshot_tablet state; /* Borrows from them. */
};

struct capturing {
    struct master_term *term;
    struct table_state *out;
    uint64_t table;
    unsigned left; /* Fibers that still run. */
    bool again;    /* Some tablet has not answered. */
    struct err err;
    int code; /* A failure that trying again does not mend. */
};

struct capture_job {
    struct capturing *of;
    struct known_server *server;
    struct known_tablet as_known; /* A copy, for which the order is. */
};

static bool is_passing(int code)
{
    return code == ERR_NOTFOUND || code == ERR_UNAVAILABLE ||
           code == ERR_CLOSED || code == ERR_BUSY || code == ERR_DEADLINE;
}

static int
capture_ask(struct master_term *r, struct capture_job *j, struct err *err)
{
    struct capture_answer *a = mem_zalloc(1, sizeof(*a));
    PRE(j->of->left > 0);
    int rc = server_order_reply(r, j->server, TABLET_CAPTURE, &j->as_known,
                                &a->bytes, err);
    if (rc == 0)
        rc = snapshot_tablet_get(buf_slice(&a->bytes), &a->state, err);
    if (rc) {
        buf_close(&a->bytes);
        mem_free(a);
        return rc;
    }
    a->tablet = j->as_known.id;
    a->next = j->of->out->answers;
    j->of->out->answers = a;
    return 0;
}

static void run_ask(struct master_term *r, void *arg)
{
    struct capture_job *j = arg;
    struct capturing *c = j->of;
    struct err err = ERR_INIT;
    int rc = capture_ask(r, j, &err);
    if (is_passing(rc)) {
        c->again = true;
        log_debug(r->world, "master", "capture tablet %llu: %s",
                  (unsigned long long)j->as_known.id, err.text);
    } else if (rc && c->code == 0) {
        c->code = rc;
        err_copy(&c->err, &err);
    }
    buf_close(&j->as_known.key);
    buf_close(&j->as_known.start);
    INVARIANT(c->left > 0);
    c->left--;
    mem_free(j);
    master_term_changed(r);
}

static void capture_start(struct capturing *c,
                          struct known_server *s,
                          const struct known_tablet *t)
{
    struct capture_job *j = mem_zalloc(1, sizeof(*j));
    PRE(t->stage == STAGE_SERVED);
    PRE(t->server == s->number);
    j->of = c;
    j->server = s;
    j->as_known.id = t->id;
    j->as_known.table = t->table;
    j->as_known.epoch = t->epoch;
    buf_append_slice(&j->as_known.key, buf_slice(&t->key));
    buf_append_slice(&j->as_known.start, buf_slice(&t->start));
    c->left++;
    master_term_spawn(c->term, "capture", run_ask, j);
}

/* The answer of @t with its present bounds; NULL: there is none. */
static const struct capture_answer *answer_of(const struct table_state *s,
                                              const struct known_tablet *t)
{
    for (const struct capture_answer *a = s->answers; a; a = a->next)
        if (a->tablet == t->id &&
            slice_eq(a->state.start, buf_slice(&t->start)) &&
            slice_eq(a->state.end, buf_slice(&t->end)))
            return a;
    return NULL;
}

static void wait_until(struct capturing *c, unsigned left)
{
    PRE(left <= CAPTURES_MAX);
    while (c->left > left) {
        mutex_lock(&c->term->mutex);
        cond_wait(&c->term->changed, &c->term->mutex);
        mutex_unlock(&c->term->mutex);
    }
}

/* Ask the tablets that have not answered. The view may change while this waits,
 * so each tablet is looked up by its key. */
static void ask_all(struct capturing *c)
{
    struct cluster_view *p = &c->term->view;
    struct buf at = BUF_INIT;
    struct buf end = BUF_INIT;
    c->again = false;
    metadata_table_range(c->table, &at, &end);
    while (master_term_is_current(c->term)) {
        size_t i = cluster_view_at(p, buf_slice(&at));
        struct known_tablet *t = i < p->tablet_count ? p->tablets[i] : NULL;
        struct known_server *s;
        if (!t || t->table != c->table)
            break;
        buf_clear(&at);
        buf_append_slice(&at, buf_slice(&t->key));
        buf_append_byte(&at, '\0');
        s = cluster_view_server(p, t->server);
        if (answer_of(c->out, t))
            continue;
        if (t->stage == STAGE_SERVED && s && s->alive)
            capture_start(c, s, t);
        else
            c->again = true;
        wait_until(c, CAPTURES_MAX - 1);
    }
    wait_until(c, 0);
    POST(c->left == 0);
    buf_close(&at);
    buf_close(&end);
}

/* Collect the answers of the table's tablets. False: one is missing, or they
 * leave a gap. */
static bool capture_collect(struct capturing *c)
{
    const struct cluster_view *p = &c->term->view;
    struct table_state *out = c->out;
    bool whole = true;
    mem_free(out->tablets);
    out->tablets = mem_alloc((p->tablet_count + 1) * sizeof(*out->tablets));
    out->tablet_count = 0;
    for (size_t i = 0; i < p->tablet_count && whole; i++) {
        const struct capture_answer *a;
        struct slice reached = SLICE_EMPTY;
        if (p->tablets[i]->table != c->table)
            continue;
        if (out->tablet_count)
            reached = out->tablets[out->tablet_count - 1].end;
        a = answer_of(out, p->tablets[i]);
        whole = a && slice_eq(a->state.start, reached) &&
                (out->tablet_count == 0 || reached.len > 0);
        if (whole)
            out->tablets[out->tablet_count++] = a->state;
    }
    return whole && out->tablet_count > 0 &&
           out->tablets[out->tablet_count - 1].end.len == 0;
}

int capture_table(struct master_term *r,
                  struct slice name,
                  struct table_state *out,
                  struct err *err)
{
    struct capturing c = {.term = r, .out = out};
    int rc;
    *out = (struct table_state){.tablets = NULL};
    for (;;) {
        struct err why = ERR_INIT;
        buf_clear(&out->schema);
        rc = tables_find_schema(r, name, &c.table, &out->schema, err);
        if (rc)
            return rc;
        if (tables_read_rows(r, c.table, &why) && !master_term_is_current(r))
            return master_term_over(err);
        ask_all(&c);
        if (c.code)
            return err_copy(err, &c.err);
        if (!master_term_is_current(r))
            return master_term_over(err);
        if (tables_read_rows(r, c.table, &why) == 0 && capture_collect(&c)) {
            POST(out->tablet_count > 0);
            POST(out->tablets[0].start.len == 0);
            return 0;
        }
        if (!master_term_wait(r, RETRY_US))
            return master_term_over(err);
    }
}

void table_state_close(struct table_state *t)
{
    while (t->answers) {
        struct capture_answer *a = t->answers;
        t->answers = a->next;
        buf_close(&a->bytes);
        mem_free(a);
    }
    mem_free(t->tablets);
    buf_close(&t->schema);
}
