/* Opening and closing a client, and its work on the threads of its pool: calls
 * that are waited for, and reads in the background.
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
        rc = request_pool_open(&c->pool, w, c->settings.connections,
                               c->settings.attempts, err);
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
    snprintf(c->region, sizeof(c->region), "%s", c->settings.region);
    mutex_init(&c->keys_mutex);
    *out = c;
    return 0;
}

void object_client_close(struct object_client *c)
{
    if (!c)
        return;
    request_pool_close(&c->pool);
    mutex_close(&c->keys_mutex);
    object_keys_close(&c->keys);
    object_settings_close(&c->settings);
    mem_free(c->place);
    mem_free(c->name);
    mem_free(c);
}

void object_client_hurry(struct object_client *c)
{
    request_pool_hurry(&c->pool);
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
    out->requests = atomic_load(&c->pool.requests);
    out->retries = atomic_load(&c->pool.retries);
    out->read_bytes = atomic_load(&c->read_bytes);
    out->written_bytes = atomic_load(&c->written_bytes);
}

/* --- calls from anywhere ------------------------------------------------- */

struct waiting_call {
    struct object_client *client;
    const struct object_call *call;
    struct object_reply *reply;
    struct err *err;
    int rc;
};

static void run_call(struct object_connection *connection, void *arg)
{
    struct waiting_call *w = arg;
    w->rc = object_call_run(w->client, connection, w->call, w->reply, w->err);
}

int object_call(struct object_client *c,
                const struct object_call *call,
                struct object_reply *reply,
                struct err *err)
{
    struct waiting_call w = {
        .client = c, .call = call, .reply = reply, .err = err};
    request_pool_run(&c->pool, run_call, &w);
    return w.rc;
}

/* --- reads in the background --------------------------------------------- */

struct read_job {
    struct request_job job;
    struct object_client *client;
    struct object_read *read;
};

static void run_read(struct object_connection *connection, void *arg)
{
    struct read_job *j = arg;
    struct object_client *c = j->client;
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
    j->client = c;
    j->read = r;
    r->pool = &c->pool;
    r->got = 0;
    request_pool_start(&c->pool, &j->job);
}

void object_read_stop(struct object_read *r)
{
    struct request_pool *pool = r->pool;
    atomic_store(&r->stop, true);
    if (pool)
        request_pool_wake(pool);
}
