/* The job master's answers about the timelines of jobs, to those who may look
 * into them: of a job that runs from memory, of one that has ended from the
 * history. */
#include <string.h>

#include "base/core/panic.h"
#include "base/rpc/rpc.h"
#include "base/runtime/world.h"
#include "mapreduce/cluster/job_master_state.h"
#include "mapreduce/master/job_timeline.h"

/* A job whose directory has just moved is found in the other place. */
static const char *const roots[] = {JOBS_ROOT, JOBS_HISTORY};

static int read_timeline(struct job_master_term *r,
                         const char *id,
                         struct buf *out,
                         struct err *err)
{
    struct buf dir = BUF_INIT;
    int rc = ERR_NOTFOUND;
    for (size_t i = ARRAY_LEN(roots); i-- > 0 && rc == ERR_NOTFOUND;) {
        job_file_path(&dir, roots[i], id, "");
        rc = job_timeline_read(&r->files, buf_cstr(&dir), out, err);
    }
    buf_close(&dir);
    return rc;
}

/* All attempts of a job; none of one that an older program ran. */
static int find_timeline(struct job_master_term *r,
                         struct managed_job *j,
                         const char *id,
                         struct buf *out,
                         struct err *err)
{
    const struct attempt_list none = {.parts = 0};
    int rc = 0;
    PRE(!j || strcmp(j->id, id) == 0);
    if (j && j->timeline)
        job_timeline_encode(j->timeline, out);
    else
        rc = read_timeline(r, id, out, err);
    if (rc == ERR_NOTFOUND) {
        attempt_list_put(&none, out);
        rc = 0;
    }
    return rc;
}

int job_answers_attempts(struct job_master_term *r,
                         struct rpc_call *call,
                         struct err *err)
{
    struct job_attempts_ask ask;
    struct job_attempts a = {.total = 0};
    struct managed_job *j;
    struct buf bytes = BUF_INIT;
    char *name = NULL;
    int rc = job_attempts_ask_get(call->body, &ask, err);
    if (rc == 0)
        rc = job_answers_find(r, ask.id, call->principal, &j, &name, err);
    if (rc == 0)
        rc = find_timeline(r, j, name, &bytes, err);
    if (rc == 0) {
        a.id = slice_str(name);
        a.now_us = world_now_us(r->world);
        rc = job_attempts_digest(buf_slice(&bytes), ask.after, ask.limit, &a,
                                 err);
    }
    if (rc == 0)
        job_attempts_put(&a, call->reply_body);
    job_attempts_close(&a);
    buf_close(&bytes);
    mem_free(name);
    return rc;
}

int job_answers_log(struct job_master_term *r,
                    struct rpc_call *call,
                    struct err *err)
{
    struct job_log_ask ask;
    struct managed_job *j;
    struct buf dir = BUF_INIT;
    struct buf text = BUF_INIT;
    char *name = NULL;
    int rc = job_log_ask_get(call->body, &ask, err);
    if (rc == 0)
        rc = job_answers_find(r, ask.id, call->principal, &j, &name, err);
    if (rc == 0) {
        const struct attempt_record a = {.part = ask.part,
                                         .kind = ask.kind,
                                         .task = ask.task,
                                         .attempt = ask.attempt};
        rc = ERR_NOTFOUND;
        for (size_t i = 0; i < ARRAY_LEN(roots) && rc == ERR_NOTFOUND; i++) {
            job_file_path(&dir, roots[i], name, "");
            rc = job_timeline_read_log(&r->files, buf_cstr(&dir), &a, &text,
                                       NULL);
        }
        if (rc == ERR_NOTFOUND)
            rc = err_set(err, ERR_NOTFOUND,
                         "no output of attempt %u of %s task %u of job %s is "
                         "kept",
                         ask.attempt, attempt_kind_name(ask.kind), ask.task,
                         name);
        else if (rc)
            err_set(err, rc, "the log of job %s cannot be read", name);
    }
    if (rc == 0)
        job_log_put(&(struct job_log){buf_slice(&text)}, call->reply_body);
    buf_close(&dir);
    buf_close(&text);
    mem_free(name);
    return rc;
}
