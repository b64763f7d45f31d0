/* Orders of clients about all tablets of a table: each is given to the servers
 * of its tablets at once. Tablets that were moved or split meanwhile are looked
 * up, and the order is given again, until all have obeyed or one has refused
 * for good. An order may so reach a tablet twice; all of them may. */
#include "base/core/panic.h"
#include "bigtable/master/master_term.h"
#include "bigtable/wire/data_calls.h"

#define RETRY_US UINT64_C(100000)

/* An order to one server, about one tablet or all of them. */
struct table_job {
    struct known_server *server;
    struct known_tablet as_known; /* Ids and key alone. */
    uint32_t method;
    struct slice row;
    struct slice row_end;
    unsigned *left;
    int code;
    struct err err;
    struct table_job *next;
};

static void run_job(struct master_term *r, void *arg)
{
    struct table_job *j = arg;
    j->code = server_order(r, j->server, j->method, &j->as_known, j->row,
                           j->row_end, &j->err);
    INVARIANT(*j->left > 0);
    --*j->left;
}

static struct table_job *start_job(struct master_term *r,
                                   struct known_server *s,
                                   const struct known_tablet *t,
                                   uint32_t method,
                                   const struct table_order *o,
                                   unsigned *left,
                                   struct table_job *next)
{
    struct table_job *j = mem_zalloc(1, sizeof(*j));
    PRE(!t || (t->stage == STAGE_SERVED && t->server == s->number));
    j->server = s;
    j->method = method;
    j->row = o->row;
    j->row_end = o->row_end;
    j->left = left;
    j->next = next;
    if (t) {
        j->as_known.id = t->id;
        j->as_known.table = t->table;
        j->as_known.epoch = t->epoch;
        buf_append_slice(&j->as_known.key, buf_slice(&t->key));
        buf_append_slice(&j->as_known.start, buf_slice(&t->start));
    }
    ++*left;
    master_term_spawn(r, "table order", run_job, j);
    return j;
}

static bool
has_rows(const struct known_tablet *t, struct slice row, struct slice row_end)
{
    struct slice start = buf_slice(&t->start);
    struct slice end = buf_slice(&t->end);
    return (end.len == 0 || slice_cmp(row, end) < 0) &&
           (row_end.len == 0 || slice_cmp(start, row_end) < 0);
}

/* Start an order for each tablet of @table with rows in the range; *@unserved:
 * one of them is not served now. */
static struct table_job *start_jobs(struct master_term *r,
                                    uint64_t table,
                                    uint32_t method,
                                    const struct table_order *o,
                                    unsigned *left,
                                    bool *unserved)
{
    struct table_job *jobs = NULL;
    struct slice row_end = o->row_end;
    struct buf one = BUF_INIT;
    PRE(*left == 0);
    if (method == TABLET_SPLIT) {
        /* The one tablet that holds the row. */
        buf_append_slice(&one, o->row);
        buf_append_byte(&one, '\0');
        row_end = buf_slice(&one);
    }
    for (size_t i = 0; i < r->view.tablet_count; i++) {
        const struct known_tablet *t = r->view.tablets[i];
        struct known_server *s;
        if (t->table != table || !has_rows(t, o->row, row_end))
            continue;
        s = cluster_view_server(&r->view, t->server);
        if (t->stage != STAGE_SERVED || !s || !s->alive)
            *unserved = true;
        else
            jobs = start_job(r, s, t, method, o, left, jobs);
    }
    buf_close(&one);
    return jobs;
}

static void wait_for_jobs(struct master_term *r, const unsigned *left)
{
    while (*left > 0) {
        mutex_lock(&r->mutex);
        cond_wait(&r->changed, &r->mutex);
        mutex_unlock(&r->mutex);
    }
}

/* Has the tablet moved, split or lost its server, so that the order must be
 * given again? */
static bool is_passing(int code)
{
    return code == ERR_NOTFOUND || code == ERR_UNAVAILABLE ||
           code == ERR_CLOSED || code == ERR_BUSY;
}

/* Free the jobs. Returns the worst outcome: a final error rather than a passing
 * one. */
static int end_jobs(struct table_job *jobs, struct err *err)
{
    int rc = 0;
    while (jobs) {
        struct table_job *j = jobs;
        jobs = j->next;
        if (j->code && (rc == 0 || (is_passing(rc) && !is_passing(j->code)))) {
            rc = j->code;
            err_copy(err, &j->err);
        }
        buf_close(&j->as_known.key);
        buf_close(&j->as_known.start);
        mem_free(j);
    }
    return rc;
}

static int order_once(struct master_term *r,
                      uint64_t table,
                      uint32_t method,
                      const struct table_order *o,
                      struct err *err)
{
    unsigned left = 0;
    bool unserved = false;
    struct table_job *jobs = start_jobs(r, table, method, o, &left, &unserved);
    int rc;

    PRE(r->ready);
    wait_for_jobs(r, &left);
    rc = end_jobs(jobs, err);
    if (rc == 0 && unserved)
        rc = err_set(err, ERR_UNAVAILABLE, "a tablet is on its way");
    return rc;
}

/* All memtables of all servers. */
static int
flush_all(struct master_term *r, const struct table_order *o, struct err *err)
{
    unsigned left = 0;
    struct table_job *jobs = NULL;
    for (size_t i = 0; i < r->view.server_count; i++)
        if (r->view.servers[i]->alive)
            jobs = start_job(r, r->view.servers[i], NULL, TABLET_FLUSH, o,
                             &left, jobs);
    wait_for_jobs(r, &left);
    return end_jobs(jobs, err);
}

int tables_order(struct master_term *r,
                 uint32_t method,
                 const struct table_order *o,
                 struct err *err)
{
    uint64_t id = 0;
    int rc;

    PRE(r->ready);
    if (method == TABLET_FLUSH && o->name.len == 0)
        return flush_all(r, o, err);
    rc = tables_find(r, o->name, &id, err);
    if (rc)
        return rc;
    for (;;) {
        struct err why = ERR_INIT;
        rc = order_once(r, id, method, o, err);
        if (rc && !is_passing(rc))
            return rc;
        if (rc == 0 && method != TABLET_SPLIT)
            return 0;
        /* Find the tablets that have its rows now. */
        if (tables_read_rows(r, id, &why) && !master_term_is_current(r))
            return master_term_over(err);
        if (rc == 0)
            return 0;
        if (!master_term_wait(r, RETRY_US))
            return master_term_over(err);
    }
}
