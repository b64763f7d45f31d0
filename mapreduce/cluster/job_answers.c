/* The job master's answers to clients: submissions, news, lists, kills. A
 * submission is recorded in a file before it is answered; everything else is
 * read from the jobs in memory and the history. */
#include <string.h>

#include "base/core/panic.h"
#include "base/rpc/roles.h"
#include "base/rpc/rpc.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "mapreduce/cluster/job_master_state.h"
#include "mapreduce/cluster/job_paths.h"
#include "mapreduce/cluster/job_wire.h"
#include "mapreduce/cluster/pool.h"
#include "mapreduce/job_history.h"

/* The longest a client's call waits for news. */
#define WATCH_US_MAX       UINT64_C(30000000)
#define JOB_JSON_BYTES_MAX ((size_t)16 << 20)
#define LOOK_US            UINT64_C(100000)

/* --- coming and going ---------------------------------------------------- */

static struct job_master_term *job_answers_enter(struct job_master *m,
                                                 struct err *err)
{
    if (!m->term || atomic_load(&m->present.over)) {
        err_set(err, ERR_UNAVAILABLE, "this is not the job master");
        return NULL;
    }
    m->calls++;
    return m->term;
}

static void job_answers_leave(struct job_master *m)
{
    PRE(m->calls > 0);
    m->calls--;
    cond_broadcast(&m->present.changed);
}

static struct managed_job *find_kept(struct job_master_term *r, struct slice id)
{
    for (struct managed_job *j = r->jobs; j; j = j->next)
        if (slice_eq_str(id, j->id))
            return j;
    return NULL;
}

static int write_down(struct job_master_term *r,
                      const struct job_submission *s,
                      struct slice bytes,
                      struct err *err)
{
    struct buf path = BUF_INIT;
    struct files_info info;
    int rc;
    buf_printf(&path, "%s/%.*s", JOBS_HISTORY, SLICE_ARG(s->id));
    rc = files_stat(&r->files, buf_cstr(&path), &info, err);
    if (rc == 0) {
        rc = ERR_EXISTS;
    } else if (rc == ERR_NOTFOUND) {
        buf_clear(&path);
        buf_printf(&path, "%s/%.*s/submitted", JOBS_ROOT, SLICE_ARG(s->id));
        rc = files_replace_sealed(&r->files, buf_cstr(&path), bytes, err);
    }
    buf_close(&path);
    return rc;
}

/* Is the lock still held? Then the next master will read what was written
 * before this. */
static int check_term(struct job_master_term *r, struct err *err)
{
    while (atomic_load(&r->in_danger) && !atomic_load(&r->over) &&
           fiber_check(NULL) == 0)
        world_sleep_us(r->world, LOOK_US);
    if (!atomic_load(&r->over) && fiber_check(NULL) == 0)
        return 0;
    return err_set(err, ERR_UNAVAILABLE, "this is not the job master any more");
}

/* Record the submission @s in its file, once. */
static int add_submitted(struct job_master_term *r,
                         const struct job_submission *s,
                         struct err *err)
{
    struct buf bytes = BUF_INIT;
    struct managed_job *j;
    int rc;
    job_submission_put(s, &bytes);
    rc = write_down(r, s, buf_slice(&bytes), err);
    buf_close(&bytes);
    if (rc == 0)
        rc = check_term(r, err);
    if (rc == ERR_EXISTS || (rc == 0 && find_kept(r, s->id)))
        return 0; /* It was submitted before, or meanwhile. */
    return rc ? rc : managed_job_add(r, s, false, &j, err);
}

static int job_answers_submit(struct job_master_term *r,
                              struct rpc_call *call,
                              struct err *err)
{
    struct job_submission s;
    struct saved_job options = {.job_id = NULL};
    int rc = job_submission_get(call->body, &s, err);
    if (rc)
        return rc;
    s.principal = call->principal;
    if (!worker_job_id_ok(s.id))
        return err_set(err, ERR_INVALID, "\"%.*s\" cannot name a job",
                       SLICE_ARG(s.id));
    if (find_kept(r, s.id))
        return 0;
    rc = saved_job_decode(&options, s.options, err);
    if (rc == 0)
        rc = job_caps_check(&r->options->caps, &options.options, err);
    if (rc == 0)
        rc = job_paths_check(r->options->roles, s.principal, s.id,
                             &options.options, r->world, err);
    saved_job_close(&options);
    return rc ? rc : add_submitted(r, &s, err);
}

/* --- rights -------------------------------------------------------------- */

/* May @who see and end the jobs of @owner? Its own, those of unknown owners
 * and, for the cluster itself and its administrators, all. Parks. */
static bool
is_theirs(struct job_master_term *r, struct slice who, const char *owner)
{
    const struct job_master_options *o = r->options;
    return !owner || !*owner || slice_eq_str(who, owner) ||
           !o->is_administrator || o->is_administrator(o->ctx, who);
}

static int job_answers_refuse(struct slice who,
                              const char *what,
                              const char *id,
                              const char *owner,
                              struct err *err)
{
    err_set(err, ERR_DENIED, "%.*s may not %s job %s, which is %s's",
            SLICE_ARG(who), what, id, owner);
    err_hint(err, "who submitted it may, and administrators: quarry acl grant "
                  "--whole-cluster own NAME");
    return ERR_DENIED;
}

/* --- asking -------------------------------------------------------------- */

static int read_history(struct job_master_term *r,
                        const char *id,
                        struct buf *json,
                        struct err *err)
{
    struct buf path = BUF_INIT;
    int rc;
    job_file_path(&path, JOBS_HISTORY, id, "job.json");
    rc = files_read_all_sealed(&r->files, buf_cstr(&path), JOB_JSON_BYTES_MAX,
                               json, err);
    buf_close(&path);
    return rc;
}

/* Find the job that @id means among those in memory and in the history. *@name
 * is owned. */
static int job_answers_resolve(struct job_master_term *r,
                               struct slice id,
                               char **name,
                               struct err *err)
{
    char **names = NULL;
    size_t count = 0;
    size_t matches = 0;
    bool last = slice_eq_str(id, "last");
    int rc = files_list(&r->files, JOBS_HISTORY, &names, &count, err);
    *name = NULL;
    if (rc)
        return rc;
    for (size_t i = 0; i < count; i++)
        if (last || slice_starts_with(slice_str(names[i]), id)) {
            mem_free(*name);
            *name = mem_strdup(names[i]);
            matches++;
        }
    for (struct managed_job *j = r->jobs; j; j = j->next)
        if ((last && (!*name || strcmp(j->id, *name) > 0)) ||
            (!last && slice_starts_with(slice_str(j->id), id) &&
             (!*name || strcmp(*name, j->id) != 0))) {
            mem_free(*name);
            *name = mem_strdup(j->id);
            matches++;
        }
    files_names_free(names, count);
    if (matches == 0)
        return err_set(err, ERR_NOTFOUND, "there is no job %.*s",
                       SLICE_ARG(id));
    if (!last && matches > 1) {
        mem_free(*name);
        *name = NULL;
        return err_set(err, ERR_INVALID, "%zu jobs begin with %.*s", matches,
                       SLICE_ARG(id));
    }
    return 0;
}

/* May @who see everything that the history has in @json? */
static int check_ended(struct job_master_term *r,
                       struct slice who,
                       struct slice json,
                       struct err *err)
{
    struct job_summary *s = mem_zalloc(1, sizeof(*s));
    int rc = job_summary_decode(json, s, err);
    if (rc == 0 && !is_theirs(r, who, s->principal))
        rc = job_answers_refuse(who, "look into", s->id, s->principal, err);
    job_summaries_free(s, 1);
    return rc;
}

int job_answers_find(struct job_master_term *r,
                     struct slice id,
                     struct slice who,
                     struct managed_job **kept,
                     char **name,
                     struct err *err)
{
    struct buf json = BUF_INIT;
    int rc = job_answers_resolve(r, id, name, err);
    *kept = rc == 0 ? find_kept(r, slice_str(*name)) : NULL;
    if (rc == 0 && *kept) {
        if (!is_theirs(r, who, (*kept)->principal))
            rc = job_answers_refuse(who, "look into", (*kept)->id,
                                    (*kept)->principal, err);
    } else if (rc == 0) {
        rc = read_history(r, *name, &json, err);
        if (rc == 0)
            rc = check_ended(r, who, buf_slice(&json), err);
    }
    buf_close(&json);
    if (rc) {
        mem_free(*name);
        *name = NULL;
    }
    return rc;
}

/* Reduce @json to the public part where the job is not @who's. */
static void
show_others(struct job_master_term *r, struct slice who, struct buf *json)
{
    struct job_summary *s = mem_zalloc(1, sizeof(*s));
    if (job_summary_decode(buf_slice(json), s, NULL)) {
        buf_clear(json);
    } else if (!is_theirs(r, who, s->principal)) {
        const struct job_summary public = {.id = s->id,
                                           .name = s->name,
                                           .principal = s->principal,
                                           .state = s->state,
                                           .phase = s->phase,
                                           .started_us = s->started_us,
                                           .ended_us = s->ended_us,
                                           .tasks_total = s->tasks_total,
                                           .tasks_done = s->tasks_done,
                                           .tasks_running = s->tasks_running};
        buf_clear(json);
        job_summary_encode(&public, json);
    }
    job_summaries_free(s, 1);
}

/* Wait until news of @j are newer than @w->seen. */
static void job_answers_await(struct job_master_term *r,
                              struct managed_job *j,
                              const struct job_watch *w,
                              uint64_t until_ns)
{
    mutex_lock(&r->mutex);
    while (j->version <= w->seen && j->state < MANAGED_ENDED &&
           !atomic_load(&r->over) && fiber_check(NULL) == 0) {
        uint64_t now = world_mono_ns(r->world);
        if (now >= until_ns)
            break;
        (void)cond_wait_us(&r->changed, &r->mutex, r->world,
                           (until_ns - now) / 1000 + 1);
    }
    mutex_unlock(&r->mutex);
}

static int job_answers_watch(struct job_master_term *r,
                             struct rpc_call *call,
                             struct err *err)
{
    struct job_watch w;
    struct job_news n = {.ended = true};
    struct buf json = BUF_INIT;
    struct managed_job *j;
    char *name = NULL;
    int rc = job_watch_get(call->body, &w, err);
    if (rc)
        return rc;
    j = find_kept(r, w.id);
    if (!j) {
        rc = job_answers_resolve(r, w.id, &name, err);
        j = rc == 0 ? find_kept(r, slice_str(name)) : NULL;
    }
    if (rc == 0 && j && !is_theirs(r, call->principal, j->principal))
        rc = job_answers_refuse(call->principal, "look into", j->id,
                                j->principal, err);
    if (rc == 0 && j) {
        job_answers_await(r, j, &w,
                          world_mono_ns(r->world) +
                              MIN_OF(w.wait_us, WATCH_US_MAX) * 1000);
        managed_job_news(j, &n, &json);
    } else if (rc == 0) {
        rc = read_history(r, name, &json, err);
        if (rc == 0)
            rc = check_ended(r, call->principal, buf_slice(&json), err);
        n.summary = buf_slice(&json);
        n.progress.phase = MR_PHASE_DONE;
    }
    if (rc == 0 && atomic_load(&r->over))
        rc = err_set(err, ERR_UNAVAILABLE, "this is not the job master");
    if (rc == 0)
        job_news_put(&n, call->reply_body);
    buf_close(&json);
    mem_free(name);
    return rc;
}

static int
kill_job(struct job_master_term *r, struct rpc_call *call, struct err *err)
{
    struct job_watch w;
    struct managed_job *j;
    char *name = NULL;
    int rc = job_watch_get(call->body, &w, err);
    if (rc == 0)
        rc = job_answers_resolve(r, w.id, &name, err);
    if (rc)
        return rc;
    j = find_kept(r, slice_str(name));
    if (!j)
        rc = err_set(err, ERR_INVALID, "job %s does not run", name);
    else if (!is_theirs(r, call->principal, j->principal))
        rc = job_answers_refuse(call->principal, "end", j->id, j->principal,
                                err);
    else
        rc = managed_job_kill(j, err);
    mem_free(name);
    return rc;
}

/* Texts of all that run, after those of the newest that have ended. */
static int
list_jobs(struct job_master_term *r, struct rpc_call *call, struct err *err)
{
    struct job_list l;
    struct job_texts t = {NULL, 0};
    struct buf *texts;
    char **names = NULL;
    size_t count = 0;
    size_t max;
    int rc = job_list_get(call->body, &l, err);
    if (rc == 0)
        rc = files_list(&r->files, JOBS_HISTORY, &names, &count, err);
    if (rc)
        return rc;
    max = (size_t)MIN_OF(l.ended_max, (uint64_t)JOB_TEXTS_MAX / 2);
    texts = mem_zalloc(JOB_TEXTS_MAX, sizeof(*texts));
    for (size_t i = count - MIN_OF(count, max); i < count; i++)
        if (read_history(r, names[i], &texts[t.count], NULL) == 0) {
            show_others(r, call->principal, &texts[t.count]);
            t.count++;
        }
    for (struct managed_job *j = r->jobs; j && t.count < JOB_TEXTS_MAX;
         j = j->next) {
        struct job_news n;
        managed_job_news(j, &n, &texts[t.count]);
        if (!n.ended)
            show_others(r, call->principal, &texts[t.count++]);
        else
            buf_clear(&texts[t.count]);
    }
    t.at = mem_alloc((t.count + 1) * sizeof(*t.at));
    for (size_t i = 0; i < t.count; i++)
        t.at[i] = buf_slice(&texts[i]);
    job_texts_put(&t, call->reply_body);
    for (size_t i = 0; i < JOB_TEXTS_MAX; i++)
        buf_close(&texts[i]);
    mem_free(t.at);
    mem_free(texts);
    files_names_free(names, count);
    return 0;
}

static int list_workers(struct job_master_term *r, struct rpc_call *call)
{
    struct pool_worker *list;
    struct job_workers w = {NULL, 0};
    worker_pool_list(r->pool, &list, &w.count);
    w.at = mem_zalloc(w.count + 1, sizeof(*w.at));
    for (size_t i = 0; i < w.count; i++)
        w.at[i] = (struct job_worker){.number = list[i].number,
                                      .name = slice_str(list[i].name),
                                      .address = slice_str(list[i].address),
                                      .machine = slice_str(list[i].machine),
                                      .rack = slice_str(list[i].rack),
                                      .slots = list[i].slots,
                                      .busy = list[i].busy,
                                      .memory_bytes = list[i].memory_bytes,
                                      .used_bytes = list[i].used_bytes,
                                      .is_silent = list[i].is_silent};
    job_workers_put(&w, call->reply_body);
    mem_free(w.at);
    worker_pool_list_free(list, w.count);
    return 0;
}

static int job_answers_answer(void *ctx, struct rpc_call *call, struct err *err)
{
    struct job_master *m = ctx;
    struct job_master_term *r = job_answers_enter(m, err);
    int rc = ERR_UNSUPPORTED;
    if (!r)
        return ERR_UNAVAILABLE;
    switch (call->method) {
    case JOB_SUBMIT: rc = job_answers_submit(r, call, err); break;
    case JOB_WATCH: rc = job_answers_watch(r, call, err); break;
    case JOB_LIST: rc = list_jobs(r, call, err); break;
    case JOB_KILL: rc = kill_job(r, call, err); break;
    case JOB_WORKERS: rc = list_workers(r, call); break;
    case JOB_ATTEMPTS: rc = job_answers_attempts(r, call, err); break;
    case JOB_LOG: rc = job_answers_log(r, call, err); break;
    default: PANIC("no method of the job master: %u", call->method);
    }
    job_answers_leave(m);
    return rc;
}

void job_answers_add(struct job_master *m, struct rpc_server *server)
{
    static const struct rpc_method methods[] = {
        {JOB_SUBMIT, "job.submit", job_answers_answer, 0},
        {JOB_WATCH, "job.watch", job_answers_answer, RPC_METHOD_WAITS},
        {JOB_LIST, "job.list", job_answers_answer, 0},
        {JOB_KILL, "job.kill", job_answers_answer, 0},
        {JOB_WORKERS, "job.workers", job_answers_answer, 0},
        {JOB_ATTEMPTS, "job.attempts", job_answers_answer, 0},
        {JOB_LOG, "job.log", job_answers_answer, 0},
    };
    rpc_server_add(server, methods, ARRAY_LEN(methods), m);
}
