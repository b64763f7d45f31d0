/* The threads of a client: started one by one as requests pile up, each with a
 * connection that it keeps.
 */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/objects/object_client_parts.h"
#include "base/runtime/world.h"

static const char *scheme_text(enum object_scheme s)
{
    return s == OBJECT_S3 ? "s3" : s == OBJECT_HTTP ? "http" : "https";
}

/* A connection shows that the libraries are there; it is not made yet. */
static int check_library(struct err *err)
{
    struct object_connection *c;
    int rc = object_connection_open(&c, err);
    if (rc == 0)
        object_connection_close(c);
    return rc;
}

int object_client_open(struct world *w,
                       const struct object_name *name,
                       object_variable variable,
                       struct object_client **out,
                       struct err *err)
{
    struct object_client *c = mem_zalloc(1, sizeof(*c));
    struct buf text = BUF_INIT;
    int rc = object_settings_read(w, variable, &c->settings, err);
    *out = NULL;
    if (rc == 0)
        rc = check_library(err);
    if (rc) {
        object_settings_close(&c->settings);
        mem_free(c);
        return rc;
    }
    c->world = w;
    c->scheme = name->scheme;
    c->place = mem_strndup(name->place.data, name->place.len);
    buf_printf(&text, "%s://%s", scheme_text(c->scheme), c->place);
    c->name = buf_take(&text);
    c->last = &c->first;
    c->budget = RETRY_BUDGET;
    snprintf(c->region, sizeof(c->region), "%s", c->settings.region);
    mutex_init(&c->mutex);
    mutex_init(&c->keys_mutex);
    cond_init(&c->changed);
    *out = c;
    return 0;
}

void object_client_close(struct object_client *c)
{
    if (!c)
        return;
    mutex_lock(&c->mutex);
    PRE(!c->first);
    c->stopping = true;
    cond_broadcast(&c->changed);
    mutex_unlock(&c->mutex);
    for (size_t i = 0; i < c->thread_count; i++)
        task_join(c->threads[i]);
    cond_close(&c->changed);
    mutex_close(&c->keys_mutex);
    mutex_close(&c->mutex);
    object_keys_close(&c->keys);
    object_settings_close(&c->settings);
    mem_free(c->place);
    mem_free(c->name);
    mem_free(c);
}

void object_client_hurry(struct object_client *c)
{
    atomic_store(&c->hurried, true);
    mutex_lock(&c->mutex);
    cond_broadcast(&c->changed);
    mutex_unlock(&c->mutex);
}

bool object_client_is_s3(const struct object_client *c)
{
    return c->scheme == OBJECT_S3;
}

const char *object_client_name(const struct object_client *c)
{
    return c->name;
}

void object_client_counts(struct object_client *c, struct object_counts *out)
{
    out->requests = atomic_load(&c->requests);
    out->retries = atomic_load(&c->retries);
    out->read_bytes = atomic_load(&c->read_bytes);
    out->written_bytes = atomic_load(&c->written_bytes);
}

/* --- threads ------------------------------------------------------------- */

/* PRE: the mutex is held. */
static struct object_job *take_job(struct object_client *c)
{
    struct object_job *j = c->first;
    if (j) {
        c->first = j->next;
        if (!c->first)
            c->last = &c->first;
        INVARIANT(c->waiting > 0);
        c->waiting--;
    }
    return j;
}

static void run_jobs(void *arg)
{
    struct object_client *c = arg;
    struct object_connection *connection = NULL;
    /* It was opened once, when the client was: what fails now is memory. */
    if (object_connection_open(&connection, NULL))
        PANIC("libcurl has no memory for a connection");
    mutex_lock(&c->mutex);
    for (;;) {
        struct object_job *j;
        while (!(j = take_job(c)) && !c->stopping) {
            c->idle++;
            cond_wait(&c->changed, &c->mutex);
            c->idle--;
        }
        if (!j)
            break;
        mutex_unlock(&c->mutex);
        j->run(c, connection, j->arg);
        mutex_lock(&c->mutex);
    }
    mutex_unlock(&c->mutex);
    object_connection_close(connection);
}

void object_client_start(struct object_client *c, struct object_job *j)
{
    j->next = NULL;
    mutex_lock(&c->mutex);
    PRE(!c->stopping);
    *c->last = j;
    c->last = &j->next;
    c->waiting++;
    if (c->waiting > c->idle && c->thread_count < c->settings.connections)
        c->threads[c->thread_count++] =
            task_start(c->world, "objects", run_jobs, c);
    /* Those that wait before a retry wait for it, too. */
    cond_broadcast(&c->changed);
    mutex_unlock(&c->mutex);
}

/* --- calls from anywhere ------------------------------------------------- */

struct waiting_call {
    struct object_job job;
    const struct object_call *call;
    struct object_reply *reply;
    struct err *err;
    int rc;
    bool done;
    struct mutex mutex;
    struct cond ended;
};

static void run_call(struct object_client *c,
                     struct object_connection *connection,
                     void *arg)
{
    struct waiting_call *w = arg;
    int rc = object_call_run(c, connection, w->call, w->reply, w->err);
    mutex_lock(&w->mutex);
    w->rc = rc;
    w->done = true;
    cond_signal(&w->ended);
    mutex_unlock(&w->mutex);
}

int object_call(struct object_client *c,
                const struct object_call *call,
                struct object_reply *reply,
                struct err *err)
{
    struct waiting_call w = {.call = call, .reply = reply, .err = err};
    w.job.run = run_call;
    w.job.arg = &w;
    mutex_init(&w.mutex);
    cond_init(&w.ended);
    object_client_start(c, &w.job);
    mutex_lock(&w.mutex);
    while (!w.done)
        cond_wait(&w.ended, &w.mutex);
    mutex_unlock(&w.mutex);
    cond_close(&w.ended);
    mutex_close(&w.mutex);
    return w.rc;
}

/* --- reads in the background --------------------------------------------- */

struct read_job {
    struct object_job job;
    struct object_read *read;
};

static void run_read(struct object_client *c,
                     struct object_connection *connection,
                     void *arg)
{
    struct read_job *j = arg;
    struct object_read *r = j->read;
    mem_free(j);
    err_init(&r->err);
    r->rc = atomic_load(&r->stop)
                ? err_set(&r->err, ERR_CANCELLED, "the read was given up")
                : object_get_run(c, connection, r, &r->err);
    r->done(r); /* May free it. */
}

void object_read_start(struct object_client *c, struct object_read *r)
{
    struct read_job *j = mem_zalloc(1, sizeof(*j));
    j->job.run = run_read;
    j->job.arg = j;
    j->read = r;
    r->client = c;
    r->got = 0;
    object_client_start(c, &j->job);
}

void object_read_stop(struct object_read *r)
{
    struct object_client *c = r->client;
    atomic_store(&r->stop, true);
    mutex_lock(&c->mutex);
    cond_broadcast(&c->changed);
    mutex_unlock(&c->mutex);
}
