/* Tablet servers: which of them live, and what they report.
 *
 * A server lives as long as it holds the lock of its file. A server that does
 * not answer, or answers as another incarnation, is probed: if its lock can be
 * acquired, it serves no more and never will, because its file is deleted, and
 * with it the name under which it might take the lock again. If the lock is
 * held, the server may be cut off from the master alone, and still serve;
 * nothing is taken from it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/fault.h"
#include "base/core/panic.h"
#include "base/rpc/remote.h"
#include "base/runtime/world.h"
#include "bigtable/master/master_term.h"

#define SERVER_FILE_BYTES                                                      \
    (sizeof(BIGTABLE_LOCK_SERVERS) + CHUBBY_NAME_BYTES_MAX + 2)

/* --- calls --------------------------------------------------------------- */

int server_call(struct master_term *r,
                struct known_server *s,
                uint32_t method,
                struct slice body,
                struct buf *reply,
                uint64_t timeout_us,
                struct err *err)
{
    struct rpc_call_options o = {.timeout_us = timeout_us};
    int rc;

    INVARIANT(!s->alive || s->channel);
    if (!s->alive || r->ending)
        return err_set(err, ERR_UNAVAILABLE, "tablet server %llu is gone",
                       (unsigned long long)s->number);
    rc = rpc_call(s->channel, method, &o, body, SLICE_EMPTY, reply, NULL, err);
    if (rc)
        err_wrap(err, "tablet server %llu at %s", (unsigned long long)s->number,
                 s->address);
    return rc;
}

static int servers_order(struct master_term *r,
                         struct known_server *s,
                         uint32_t method,
                         const struct known_tablet *t,
                         struct slice row,
                         struct slice row_end,
                         struct slice holders,
                         struct buf *reply,
                         struct err *err)
{
    struct tablet_order o = {
        .sequencer = slice_str(r->sequencer),
        .server = s->number,
        .tablet = t->id,
        .epoch = t->epoch,
        .key = cluster_view_level(t) == LEVEL_ROOT ? SLICE_EMPTY
                                                   : buf_slice(&t->key),
        .row = row,
        .row_end = row_end,
        .holders = holders,
    };
    struct buf body = BUF_INIT;
    int rc;

    PRE(r->sequencer[0] != 0); /* Every order carries it. */
    tablet_order_put(&o, &body);
    rc = server_call(r, s, method, buf_slice(&body), reply,
                     r->options->order_us, err);
    buf_close(&body);
    if (rc == ERR_CLOSED)
        server_suspect(r, s);
    return rc;
}

int server_order(struct master_term *r,
                 struct known_server *s,
                 uint32_t method,
                 const struct known_tablet *t,
                 struct slice row,
                 struct slice row_end,
                 struct err *err)
{
    return servers_order(r, s, method, t, row, row_end, SLICE_EMPTY, NULL, err);
}

int server_order_load(struct master_term *r,
                      struct known_server *s,
                      const struct known_tablet *t,
                      struct err *err)
{
    struct buf holders = BUF_INIT;
    int rc;

    PRE(t->busy);
    PRE(t->server == s->number); /* INV-3 of the view. */
    recover_put_holders(r, t, &holders);
    rc = servers_order(r, s, TABLET_LOAD, t, SLICE_EMPTY, SLICE_EMPTY,
                       buf_slice(&holders), NULL, err);
    buf_close(&holders);
    return rc;
}

int server_order_reply(struct master_term *r,
                       struct known_server *s,
                       uint32_t method,
                       const struct known_tablet *t,
                       struct buf *reply,
                       struct err *err)
{
    return servers_order(r, s, method, t, SLICE_EMPTY, SLICE_EMPTY, SLICE_EMPTY,
                         reply, err);
}

int server_order_unload(struct master_term *r,
                        struct known_server *s,
                        const struct known_tablet *t,
                        uint64_t *closed_us,
                        struct err *err)
{
    struct buf reply = BUF_INIT;
    struct unload_reply u = {.closed_us = 0};
    int rc = server_order_reply(r, s, TABLET_UNLOAD, t, &reply, err);

    PRE(t->busy);
    PRE(t->server == s->number); /* INV-3 of the view. */
    if (rc == 0 && reply.len > 0)
        rc = unload_reply_get(buf_slice(&reply), &u, err);
    *closed_us = u.closed_us;
    buf_close(&reply);
    return rc;
}

/* --- life and death ------------------------------------------------------ */

static void
servers_bury(struct master_term *r, struct known_server *s, const char *why)
{
    struct rpc_channel *channel = s->channel;
    if (!s->alive)
        return;
    PRE(channel);
    master_note(r, EVENT_SERVER_DEATH, "server=%llu address=%s why=\"%s\"",
                (unsigned long long)s->number, s->address, why);
    cluster_view_server_died(&r->view, s);
    /* Recovering its tablets comes before moving any. */
    r->balanced_ns = master_term_now_ns(r);
    r->more_to_move = false;
    /* Its log is needed soon: begin to sort it now. */
    (void)recover_is_sorted(r, s->number);
    master_term_changed(r);
    /* Calls that wait for its answer end with the channel. */
    s->channel = NULL;
    rpc_channel_free(channel);
    POST(!s->alive);
    POST(!s->channel);
}

/* Is the record in the file that of @s? */
static bool is_record_of(struct chubby_handle *h, const struct known_server *s)
{
    struct buf b = BUF_INIT;
    struct server_record rec;
    bool is = chubby_read(h, &b, NULL, NULL) == 0 &&
              server_record_get(buf_slice(&b), &rec, NULL) == 0 &&
              rec.number == s->number;
    buf_close(&b);
    return is;
}

/* Take the lock of @s if it is free: then @s is dead. */
static void take_lock(struct master_term *r,
                      struct known_server *s,
                      struct chubby_handle *h)
{
    struct err err = ERR_INIT;
    bool bug = fault_hit("master.trust_silence");
    int rc = bug ? 0 : chubby_try_acquire(h, CHUBBY_EXCLUSIVE, &err);

    PRE(s->alive);
    if (rc == 0 && !bug)
        rc = chubby_delete(h, &err);
    if (rc == 0 || rc == ERR_NOTFOUND)
        servers_bury(r, s, "it lost its lock");
}

static void servers_probe(struct master_term *r, struct known_server *s)
{
    char path[SERVER_FILE_BYTES];
    struct chubby_handle *h = NULL;
    struct err err = ERR_INIT;
    int rc;

    PRE(s->alive);
    PRE(s->name);
    snprintf(path, sizeof(path), "%s/%s", BIGTABLE_LOCK_SERVERS, s->name);
    rc = chubby_open(r->chubby, path, CHUBBY_READ | CHUBBY_WRITE, NULL, &h,
                     &err);
    if (rc == ERR_NOTFOUND)
        servers_bury(r, s, "its file is gone");
    else if (rc == 0 && !is_record_of(h, s))
        /* Another server has its name, and could not have got it before @s
         * ended. */
        servers_bury(r, s, "another has its name");
    else if (rc == 0)
        take_lock(r, s, h);
    chubby_close(h);
}

void server_suspect(struct master_term *r, struct known_server *s)
{
    s->heard_ns = 0;
    s->suspect = true;
    cond_broadcast(&s->wake);
    master_term_changed(r);
}

/* --- what they say ------------------------------------------------------- */

/* The report of a server, page by page. */
struct collected {
    struct tablet_load *loads;
    size_t count;
};

static int compare_loads(const void *a, const void *b)
{
    uint64_t x = ((const struct tablet_load *)a)->id;
    uint64_t y = ((const struct tablet_load *)b)->id;
    return (x > y) - (x < y);
}

static int ask_page(struct master_term *r,
                    struct known_server *s,
                    struct collected *c,
                    bool *more,
                    struct err *err)
{
    struct status_order o = {s->number, 0, STATUS_TABLETS_MAX};
    struct server_status status;
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct arena a;
    int rc;

    PRE(*more);
    if (c->count)
        o.after = c->loads[c->count - 1].id;
    arena_init(&a);
    status_order_put(&o, &body);
    rc = server_call(r, s, TABLET_STATUS, buf_slice(&body), &reply,
                     r->options->silent_us, err);
    if (rc == 0)
        rc = server_status_get(buf_slice(&reply), &a, &status, err);
    if (rc == 0 && status.number != s->number)
        rc = err_set(err, ERR_CLOSED, "another incarnation");
    if (rc == 0) {
        c->loads = mem_realloc(c->loads, (c->count + status.tablet_count + 1) *
                                             sizeof(*c->loads));
        memcpy(c->loads + c->count, status.tablets,
               status.tablet_count * sizeof(*c->loads));
        c->count += status.tablet_count;
        qsort(c->loads, c->count, sizeof(*c->loads), compare_loads);
        s->memory_bytes = status.memory_bytes;
        s->memory_max = status.memory_max;
        s->files_decided = status.files_decided;
        *more = status.more && status.tablet_count > 0;
    }
    buf_close(&body);
    buf_close(&reply);
    arena_close(&a);
    return rc;
}

static int
servers_ask(struct master_term *r, struct known_server *s, struct err *err)
{
    struct collected c = {NULL, 0};
    uint64_t asked_ns = master_term_now_ns(r);
    bool more = true;
    int rc = 0;

    while (more && rc == 0)
        rc = ask_page(r, s, &c, &more, err);
    if (rc || !s->alive) {
        mem_free(c.loads);
        return rc;
    }
    INVARIANT(s->channel);
    s->heard_ns = master_term_now_ns(r);
    s->suspect = false;
    cluster_view_note_loads(&r->view, s, c.loads, c.count, asked_ns,
                            s->heard_ns);
    master_term_changed(r);
    return 0;
}

/* Rest until the next status call, or until @s is suspected. */
static void
servers_rest(struct master_term *r, struct known_server *s, uint64_t us)
{
    mutex_lock(&r->mutex);
    if (master_term_is_current(r))
        (void)cond_wait_us(&s->wake, &r->mutex, r->world,
                           world_to_tick_us(r->world, us));
    mutex_unlock(&r->mutex);
}

/* Should the lock of @s be probed? A server that serves loses nothing by it.
 * One that is joining has its file before its lock, and is not probed until it
 * has answered once. */
static bool may_be_gone(const struct master_term *r,
                        const struct known_server *s,
                        const struct err *why,
                        uint64_t since_ns)
{
    return why->code == ERR_CLOSED || s->suspect ||
           why->detail == ERR_DETAIL_REFUSED ||
           (why->code && (s->heard_ns || master_term_now_ns(r) - since_ns >
                                             r->options->silent_us * 1000));
}

static void servers_watch(struct master_term *r, void *arg)
{
    struct known_server *s = arg;
    uint64_t since = master_term_now_ns(r);
    INVARIANT(!s->alive || s->channel);
    if (s->suspect)
        servers_probe(r, s);
    while (s->alive && master_term_is_current(r)) {
        struct err err = ERR_INIT;
        int rc = servers_ask(r, s, &err);
        if (s->heard_ns > since)
            since = s->heard_ns;
        if (!s->alive || !master_term_is_current(r))
            break;
        if (may_be_gone(r, s, &err, since))
            servers_probe(r, s);
        /* A dead server holds its lock for a while, and nobody serves its
         * tablets meanwhile: probe it more often than others. */
        servers_rest(r, s,
                     rc ? r->options->status_us / 8 : r->options->status_us);
    }
}

bool servers_all_heard(const struct master_term *r)
{
    for (size_t i = 0; i < r->view.server_count; i++) {
        const struct known_server *s = r->view.servers[i];
        if (s->alive && s->heard_ns == 0)
            return false;
    }
    return true;
}

/* --- the directory ------------------------------------------------------- */

static void add_server(struct master_term *r,
                       const struct server_record *rec,
                       const char *name)
{
    struct rpc_channel_options o = {.security = r->options->security,
                                    .connect_wait_us = 200000,
                                    .backoff_max_us = 500000};
    struct known_server *s = cluster_view_server(&r->view, rec->number);
    if (s || rec->number == 0 || rec->address.len == 0)
        return;
    s = cluster_view_add_server(&r->view, rec, mem_strdup(name));
    PRE(!s->channel);
    s->channel = rpc_channel_new(s->address, &o);
    /* A server from before this term may have died with the old master: probe
     * it. One that is just joining loses its file by that, and joins again. */
    s->suspect = !r->listed;
    master_note(r, EVENT_SERVER_JOIN, "server=%llu address=%s",
                (unsigned long long)s->number, s->address);
    master_term_spawn(r, "watch", servers_watch, s);
}

/* A file that is empty, or gone again, is read when it changes. */
static int read_server(struct master_term *r, const char *name, struct err *err)
{
    char path[SERVER_FILE_BYTES];
    struct chubby_handle *h = NULL;
    struct server_record rec;
    struct buf b = BUF_INIT;
    int rc;

    snprintf(path, sizeof(path), "%s/%s", BIGTABLE_LOCK_SERVERS, name);
    rc = chubby_open(r->chubby, path, CHUBBY_READ, NULL, &h, err);
    if (rc == 0)
        rc = chubby_read(h, &b, NULL, err);
    if (rc == 0 && b.len > 0 &&
        server_record_get(buf_slice(&b), &rec, NULL) == 0)
        add_server(r, &rec, name);
    chubby_close(h);
    buf_close(&b);
    return rc == ERR_NOTFOUND ? 0 : rc;
}

static bool is_listed(char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

int servers_refresh(struct master_term *r, struct err *err)
{
    char **names;
    size_t count;
    int rc = chubby_list(r->servers, &names, &count, err);

    PRE(r->servers); /* The directory is open. */
    if (rc)
        return rc;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = read_server(r, names[i], err);
    for (size_t i = 0; i < r->view.server_count && rc == 0; i++) {
        struct known_server *s = r->view.servers[i];
        if (s->alive && !is_listed(names, count, s->name))
            server_suspect(r, s);
    }
    chubby_names_free(names, count);
    return rc;
}

void servers_close(struct master_term *r)
{
    PRE(r->ending);
    PRE(!r->tasks);
    for (size_t i = 0; i < r->view.server_count; i++) {
        rpc_channel_free(r->view.servers[i]->channel);
        r->view.servers[i]->channel = NULL;
    }
}
