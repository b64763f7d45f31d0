/* How a client's calls reach the leader, see client.h. A call waits while the
 * session is in jeopardy (Chubby, OSDI 2006, section 2.8): its answer could
 * come from a leader that has ended the session.
 */
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "chubby-lite/client.h"
#include "chubby-lite/wire.h"

#define CALL_TIMEOUT_US UINT64_C(2000000)

/* --- calls --------------------------------------------------------------- */

bool client__is_transient(int code)
{
    return code == ERR_UNAVAILABLE || code == ERR_DEADLINE ||
           code == ERR_BUSY || code == ERR_IO || code == ERR_FULL ||
           code == ERR_CANCELLED;
}

/* Wait before the next try, but not past a change of the session's state. */
static int
pause_before(struct chubby *c, const struct leader_search *s, struct err *err)
{
    uint64_t us = leader_pause_us(c->leader, s);
    int code = 0;

    if (us)
        code = wait_queue_wait(&c->changed, world_mono_ns(c->world) + us * 1000,
                               NULL);
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
    const struct leader_request q = {
        .method = method,
        .timeout_us = timeout_us ? timeout_us : CALL_TIMEOUT_US,
        .body = body,
        .reply_body = reply,
    };
    struct leader_search search = {.tries = 0};
    struct err failure = ERR_INIT;
    bool again;
    int code;

    PRE(reply);
    for (;;) {
        code = wait_safe(c, err);
        if (code)
            return code;
        INVARIANT(c->state == SESSION_SAFE);
        code = leader_try(c->leader, &search, &q, &again, &failure);
        if (!again)
            return code ? err_copy(err, &failure) : 0;
        code = fiber_check(err);
        if (!code)
            code = pause_before(c, &search, err);
        if (code) {
            err_wrap(err, "%s", failure.text);
            err_set_detail(err, failure.detail, failure.subject);
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

int client__execute(struct chubby *c,
                    struct chubby_command *command,
                    struct buf *reply,
                    struct chubby_answer *a,
                    struct err *err)
{
    struct buf body = BUF_INIT;
    int code = 0;

    PRE(command->sequence == 0 && c->session != 0);
    while (!code && session_window_is_full(&c->window))
        code = wait_queue_wait(&c->landed, 0, err);
    if (code)
        return code;
    command->session = c->session;
    command->sequence = session_window_begin(&c->window);
    command->acknowledged = session_window_acknowledged(&c->window);
    chubby_command_put(command, &body);
    code =
        client__call(c, CHUBBY_METHOD_EXECUTE, 0, buf_slice(&body), reply, err);
    session_window_end(&c->window, command->sequence);
    wait_queue_wake(&c->landed);
    buf_close(&body);
    return code ? code : client__answer(buf_slice(reply), a, err);
}
