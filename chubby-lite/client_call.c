/* How a client's calls reach the leader, see chubby_client.h. A call waits
 * while the session is in jeopardy (Chubby, OSDI 2006, section 2.8): its answer
 * could come from a leader that has ended the session.
 */
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "chubby-lite/chubby_client.h"
#include "chubby-lite/lock_wire.h"

#define CALL_TIMEOUT_US UINT64_C(2000000)

/* --- calls --------------------------------------------------------------- */

bool client__is_transient(int code)
{
    return code == ERR_UNAVAILABLE || code == ERR_DEADLINE ||
           code == ERR_BUSY || code == ERR_IO || code == ERR_FULL ||
           code == ERR_CANCELLED;
}

/* Wait before the next try, but not past a change of the session's state. */
static int pause_before(struct lock_client *c,
                        const struct leader_search *s,
                        struct err *err)
{
    uint64_t us = leader_pause_us(c->leader, s);

    if (us)
        (void)!wait_queue_wait(&c->changed, world_mono_ns(c->world) + us * 1000,
                               NULL);
    return fiber_check(err);
}

/* Wait while the session is in jeopardy. */
static int wait_safe(struct lock_client *c, struct err *err)
{
    int rc = 0;

    while (!rc && c->state == SESSION_JEOPARDY)
        rc = wait_queue_wait(&c->changed, 0, err);
    if (!rc && c->state == SESSION_EXPIRED)
        rc = err_set(err, ERR_CLOSED,
                     "the session with the lock service has "
                     "expired");
    return rc;
}

int client__call(struct lock_client *c,
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
    int rc;

    PRE(reply);
    for (;;) {
        rc = wait_safe(c, err);
        if (rc)
            return rc;
        INVARIANT(c->state == SESSION_SAFE);
        rc = leader_try(c->leader, &search, &q, &again, &failure);
        if (!again)
            return rc ? err_copy(err, &failure) : 0;
        rc = fiber_check(err);
        if (!rc)
            rc = pause_before(c, &search, err);
        if (rc) {
            err_wrap(err, "%s", failure.text);
            err_set_detail(err, failure.detail, failure.subject);
            return rc;
        }
    }
}

/* --- commands ------------------------------------------------------------ */

int client__answer(struct slice bytes, struct chubby_answer *a, struct err *err)
{
    int rc = chubby_answer_get(bytes, a, err);

    if (!rc && a->code)
        rc = err_set(err, a->code, "%.*s", SLICE_ARG(a->text));
    return rc;
}

int client__execute(struct lock_client *c,
                    struct chubby_command *command,
                    struct buf *reply,
                    struct chubby_answer *a,
                    struct err *err)
{
    struct buf body = BUF_INIT;
    int rc = 0;

    PRE(command->sequence == 0);
    PRE(c->session != 0);
    while (!rc && session_window_is_full(&c->window))
        rc = wait_queue_wait(&c->landed, 0, err);
    if (rc)
        return rc;
    command->session = c->session;
    command->sequence = session_window_begin(&c->window);
    command->acknowledged = session_window_acknowledged(&c->window);
    chubby_command_put(command, &body);
    rc =
        client__call(c, CHUBBY_METHOD_EXECUTE, 0, buf_slice(&body), reply, err);
    session_window_end(&c->window, command->sequence);
    wait_queue_wake(&c->landed);
    buf_close(&body);
    return rc ? rc : client__answer(buf_slice(reply), a, err);
}
