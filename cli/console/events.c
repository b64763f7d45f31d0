/* Topics and their viewers: a document that several people watch is made once
 * per turn, and each gets it when its text has changed. A topic ends with its
 * last viewer. */
#include "cli/console/events.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/http/http.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "cli/console/page_table.h"

/* One event, ready to be written. */
struct event_text {
    unsigned references;
    struct buf bytes;
};

struct topic {
    struct events *events;
    struct topic *next;
    struct page_match match; /* Its texts are in `key`. */
    struct buf key;
    struct event_text *text; /* NULL: none was made yet. */
    uint64_t version;        /* Of the text; 0: none. */
    struct buf known;        /* The document without its time. */
    struct fiber *fiber;     /* It makes the texts; NULL: not yet. */
    struct viewer *viewers;
};

struct viewer {
    struct topic *topic;
    struct viewer *next;
    uint64_t epoch;
    struct fiber *fiber; /* NULL until its stream begins. */
};

struct events {
    events_make make;
    void *ctx;
    struct world *world;
    uint64_t epoch; /* Streams of an earlier one end. */
    struct topic *topics;
    struct fiber *closer; /* Waits until there are none. */
};

static void event_text_unref(struct event_text *t)
{
    if (!t || --t->references > 0)
        return;
    buf_close(&t->bytes);
    mem_free(t);
}

/* --- topics -------------------------------------------------------------- */

static void put_key(const struct page_match *m, struct buf *out)
{
    buf_append(out, m->page->subject, strlen(m->page->subject) + 1);
    for (size_t i = 0; i < m->count; i++) {
        buf_append(out, m->params[i].name, strlen(m->params[i].name) + 1);
        buf_append(out, m->params[i].value, strlen(m->params[i].value) + 1);
    }
}

/* Point the parameters of @t into its own key. */
static void own_match(struct topic *t, const struct page_match *m)
{
    const char *p = t->key.data + strlen(m->page->subject) + 1;
    t->match.page = m->page;
    t->match.count = m->count;
    for (size_t i = 0; i < m->count; i++) {
        t->match.params[i].name = p;
        p += strlen(p) + 1;
        t->match.params[i].value = p;
        p += strlen(p) + 1;
    }
}

static void wake_viewers(const struct topic *t)
{
    for (const struct viewer *v = t->viewers; v; v = v->next)
        if (v->fiber)
            fiber_wake(v->fiber);
}

/* Replace the text by one of the event @name with @doc, unless only its time
 * has changed. */
static void set_text(struct topic *t, const char *name, json_t *doc)
{
    json_t *rest = json_copy(doc);
    char *known;
    char *all;
    json_object_del(rest, "at_us");
    known = json_dumps(rest, JSON_COMPACT);
    json_decref(rest);
    if (known && !slice_eq_str(buf_slice(&t->known), known)) {
        all = json_dumps(doc, JSON_COMPACT);
        buf_clear(&t->known);
        buf_append_str(&t->known, known);
        event_text_unref(t->text); /* INV-2 */
        t->text = mem_zalloc(1, sizeof(*t->text));
        t->text->references = 1;
        buf_printf(&t->text->bytes, "id: %llu\nevent: %s\ndata: %s\n\n",
                   (unsigned long long)++t->version, name, all ? all : "{}");
        free(all);
        wake_viewers(t);
    }
    free(known);
}

static void make_text(struct topic *t)
{
    struct events *e = t->events;
    struct err err = ERR_INIT;
    json_t *doc = NULL;
    if (e->make(e->ctx, &t->match, &doc, &err) == 0) {
        set_text(t, "document", doc);
    } else {
        doc = json_pack("{s:s}", "error", err.text);
        set_text(t, "failure", doc);
    }
    json_decref(doc);
}

static void topic_free(struct topic *t)
{
    struct events *e = t->events;
    struct topic **p = &e->topics;
    PRE(!t->viewers); /* INV-1 */
    while (*p != t)
        p = &(*p)->next;
    *p = t->next;
    if (!e->topics && e->closer)
        fiber_wake(e->closer);
    event_text_unref(t->text);
    buf_close(&t->known);
    buf_close(&t->key);
    mem_free(t);
}

static void run_topic(void *arg)
{
    struct topic *t = arg;
    while (t->viewers && fiber_check(NULL) == 0) {
        make_text(t);
        if (t->viewers)
            world_sleep_us(t->events->world, EVENTS_PERIOD_US);
    }
    topic_free(t);
}

static struct topic *topic_of(struct events *e, const struct page_match *m)
{
    struct buf key = BUF_INIT;
    struct topic *t = e->topics;
    put_key(m, &key);
    while (t && !slice_eq(buf_slice(&t->key), buf_slice(&key)))
        t = t->next;
    if (t) {
        buf_close(&key);
        return t;
    }
    t = mem_zalloc(1, sizeof(*t));
    t->events = e;
    t->key = key;
    own_match(t, m);
    t->next = e->topics;
    e->topics = t;
    return t;
}

/* --- viewers ------------------------------------------------------------- */

static void viewer_free(struct viewer *v)
{
    struct viewer **p = &v->topic->viewers;
    while (*p != v)
        p = &(*p)->next;
    *p = v->next;
    mem_free(v);
}

/* Write the newest text. */
static int write_text(struct viewer *v, struct http_stream *s, uint64_t *seen)
{
    struct event_text *text = v->topic->text;
    int rc;
    text->references++;
    *seen = v->topic->version;
    rc = http_stream_write(s, buf_slice(&text->bytes), NULL);
    event_text_unref(text);
    return rc;
}

/* Until the topic has something newer, or for a heartbeat: false then. */
static bool await_text(const struct viewer *v, uint64_t seen)
{
    struct world *w = v->topic->events->world;
    uint64_t until_ns = world_mono_ns(w) + EVENTS_HEARTBEAT_US * 1000;
    while (v->topic->version == seen && v->epoch == v->topic->events->epoch &&
           fiber_check(NULL) == 0)
        if (!fiber_park_until(until_ns))
            return false;
    return true;
}

static void view_events(void *ctx, struct http_stream *s)
{
    struct viewer *v = ctx;
    const struct events *e = v->topic->events;
    uint64_t until_ns = world_mono_ns(e->world) + EVENTS_STREAM_US * 1000;
    uint64_t seen = 0;
    int rc = http_stream_write(s, SLICE_LIT("retry: 3000\n\n"), NULL);
    v->fiber = fiber_self();
    while (rc == 0 && (rc = fiber_check(NULL)) == 0 && v->epoch == e->epoch &&
           world_mono_ns(e->world) < until_ns) {
        if (!await_text(v, seen))
            rc = http_stream_write(s, SLICE_LIT(": nothing new\n\n"), NULL);
        else if (v->topic->version != seen)
            rc = write_text(v, s, &seen);
    }
    viewer_free(v);
}

void events_reply(struct events *e,
                  const struct page_match *m,
                  const struct http_request *request,
                  struct http_reply *reply)
{
    struct viewer *v = mem_zalloc(1, sizeof(*v));
    struct topic *t;
    if (!http_stream_begin(request, view_events, v)) {
        mem_free(v);
        reply->status = 503;
        http_reply_header(reply, "Retry-After", "30");
        buf_append_str(&reply->body, "too many pages are open: close some\n");
        return;
    }
    t = topic_of(e, m);
    v->topic = t;
    v->epoch = e->epoch;
    v->next = t->viewers;
    t->viewers = v;
    if (!t->fiber) {
        t->fiber = fiber_start(loop_self(), "console events", run_topic, t);
        fiber_detach(t->fiber); /* The topic ends with it. */
    }
    reply->content_type = "text/event-stream";
}

void events_end_streams(struct events *e)
{
    e->epoch++;
    for (const struct topic *t = e->topics; t; t = t->next)
        wake_viewers(t);
}

/* --- life ---------------------------------------------------------------- */

struct events *events_new(events_make make, void *ctx)
{
    struct events *e = mem_zalloc(1, sizeof(*e));
    *e = (struct events){
        .make = make, .ctx = ctx, .world = loop_world(loop_self())};
    return e;
}

void events_free(struct events *e)
{
    if (!e)
        return;
    e->closer = fiber_self();
    for (struct topic *t = e->topics; t; t = t->next)
        fiber_cancel(t->fiber);
    while (e->topics)
        fiber_park();
    mem_free(e);
}
