/* How a client's calls reach the leader, see client.h. */
#include "base/core/panic.h"
#include "base/replica/replica.h"
#include "base/rpc/remote.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "chubby-lite/client.h"
#include "chubby-lite/session.h"
#include "chubby-lite/wire.h"

#define CALL_TIMEOUT_US UINT64_C(2000000)
#define PAUSE_MIN_US    UINT64_C(10000)
#define PAUSE_MAX_US    UINT64_C(500000)

/* --- servers ------------------------------------------------------------- */

static size_t find_server(const struct chubby *c, struct slice address)
{
    size_t i;

    for (i = 0; i < c->server_count; i++)
        if (slice_eq_str(address, c->servers[i].address))
            break;
    return i;
}

void client__add_server(struct chubby *c, struct slice address)
{
    struct rpc_channel_options opts = {.security = c->security,
                                       .connect_timeout_us = 2000000,
                                       .connect_wait_us = 500000,
                                       .backoff_max_us = 500000};
    struct client_server *s = &c->servers[c->server_count];

    if (c->server_count == CLIENT_SERVERS_MAX ||
        find_server(c, address) < c->server_count)
        return;
    s->address = mem_strndup(address.data, address.len);
    s->channel = rpc_channel_new(s->address, &opts);
    c->server_count++;
}

void client__close_servers(struct chubby *c)
{
    while (c->server_count > 0) {
        struct client_server *s = &c->servers[--c->server_count];
        rpc_channel_free(s->channel);
        mem_free(s->address);
    }
}

/* Whom to ask after @asked has failed with @e. */
static void
chubby_call_choose_server(struct chubby *c, size_t asked, const struct err *e)
{
    char hint[256];
    size_t found;

    if (c->leader != asked)
        return; /* Another call has found out more. */
    if (replica_leader_hint(e, hint, sizeof(hint))) {
        client__add_server(c, slice_str(hint));
        found = find_server(c, slice_str(hint));
        if (found < c->server_count && found != asked) {
            c->leader = found;
            return;
        }
    }
    c->leader = (asked + 1) % c->server_count;
}

/* Targets name nodes of a cluster, of which not every one has each role. */
static bool are_all_other_services(const struct chubby *c)
{
    size_t i;

    for (i = 0; i < c->server_count; i++)
        if (!c->servers[i].is_other_service)
            return false;
    return true;
}

int client__try(struct chubby *c,
                uint32_t method,
                uint64_t timeout_us,
                struct slice body,
                struct buf *reply,
                bool *again,
                struct err *err)
{
    struct rpc_call_options opts = {.timeout_us = timeout_us};
    struct err e = ERR_INIT;
    size_t asked = c->leader;
    int code;

    buf_clear(reply);
    code = rpc_call(c->servers[asked].channel, method, &opts, body, SLICE_EMPTY,
                    reply, NULL, &e);
    c->servers[asked].is_other_service = code == ERR_UNSUPPORTED;
    /* Codes of the server's own trouble; the machine's come in answers. */
    *again = code == ERR_UNAVAILABLE || code == ERR_DEADLINE ||
             code == ERR_BUSY || code == ERR_IO || code == ERR_FULL ||
             code == ERR_CANCELLED ||
             (code == ERR_UNSUPPORTED && !are_all_other_services(c));
    if (code && *again)
        chubby_call_choose_server(c, asked, &e);
    if (code)
        err_copy(err, &e);
    return code;
}

/* --- calls --------------------------------------------------------------- */

/* A growing, jittered pause before try number @n + 1. */
static int pause_before(struct chubby *c, unsigned n, struct err *err)
{
    uint64_t us = PAUSE_MIN_US << MIN_OF(n / 2, 6u);
    uint64_t until;
    int code;

    us = MIN_OF(us, PAUSE_MAX_US);
    us = us / 2 + rand_below(&c->random, us);
    until = world_mono_ns(c->world) + us * 1000;
    code = wait_queue_wait(&c->changed, until, NULL);
    return code == ERR_DEADLINE || code == 0 ? fiber_check(err) : code;
}

/* Wait while the session is in jeopardy. */
static int wait_safe(struct chubby *c, struct err *err)
{
    int code = 0;

    while (!code && c->state == SESSION_JEOPARDY)
        code = wait_queue_wait(&c->changed, 0, err);
    if (!code && c->state == SESSION_EXPIRED)
        code = err_set(err, ERR_CLOSED,
                       "the session with the lock service has "
                       "expired");
    return code;
}

int client__call(struct chubby *c,
                 uint32_t method,
                 uint64_t timeout_us,
                 struct slice body,
                 struct buf *reply,
                 struct err *err)
{
    struct err told = ERR_INIT; /* By whoever has told most. */
    struct err e;
    unsigned tries = 0;
    bool again;
    int code;

    for (;;) {
        code = wait_safe(c, err);
        if (code)
            return code;
        e = ERR_INIT;
        code = client__try(c, method, timeout_us ? timeout_us : CALL_TIMEOUT_US,
                           body, reply, &again, &e);
        if (code == 0)
            return 0;
        if (!again)
            return err_copy(err, &e);
        if (code != ERR_UNSUPPORTED || !told.code)
            told = e;
        code = fiber_check(err);
        if (!code)
            code = pause_before(c, tries++, err);
        if (code) {
            err_wrap(err, "%s", told.text);
            err_set_detail(err, told.detail, told.subject);
            return code;
        }
    }
}

/* --- commands ------------------------------------------------------------ */

int client__answer(struct slice bytes, struct chubby_answer *a, struct err *err)
{
    int code = chubby_answer_get(bytes, a, err);

    if (!code && a->code)
        code = err_set(err, a->code, "%.*s", SLICE_ARG(a->text));
    return code;
}

/* Take a number; wait while too many are under way. */
static int take_off(struct chubby *c, struct flight *f, struct err *err)
{
    int code = 0;

    while (!code && !TAILQ_EMPTY(&c->flights) &&
           c->sequence - TAILQ_FIRST(&c->flights)->sequence >=
               SESSION_ANSWERS_MAX / 2)
        code = wait_queue_wait(&c->landed, 0, err);
    if (code)
        return code;
    f->sequence = ++c->sequence;
    TAILQ_INSERT_TAIL(&c->flights, f, link);
    return 0;
}

int client__execute(struct chubby *c,
                    struct chubby_command *command,
                    struct buf *reply,
                    struct chubby_answer *a,
                    struct err *err)
{
    struct buf body = BUF_INIT;
    struct flight f;
    int code = take_off(c, &f, err);

    if (code)
        return code;
    command->session = c->session;
    command->sequence = f.sequence;
    command->acknowledged = TAILQ_FIRST(&c->flights)->sequence;
    chubby_command_put(command, &body);
    code =
        client__call(c, CHUBBY_METHOD_EXECUTE, 0, buf_slice(&body), reply, err);
    TAILQ_REMOVE(&c->flights, &f, link);
    wait_queue_wake(&c->landed);
    buf_close(&body);
    return code ? code : client__answer(buf_slice(reply), a, err);
}
