/* Tries of a call against the servers of leader_choice.h. The mutex guards the
 * choice alone and is not held while a call is under way; each try works with
 * a copy of the address that it asks.
 */
#include "base/session/leader.h"

#include <stdatomic.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/replica/replica.h"
#include "base/rpc/channel_set.h"
#include "base/runtime/fiber.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"

/* One server may take this long before another is asked. */
#define ATTEMPT_US UINT64_C(4000000)

struct leader {
    struct leader_options options;
    char *act_as; /* Owned; NULL: as itself. */
    atomic_bool hurry;
    struct mutex mutex; /* Of what follows. */
    struct leader_choice choice;
};

struct leader *leader_new(const struct leader_options *o)
{
    struct leader *l = mem_zalloc(1, sizeof(*l));
    PRE(o->world && o->channels && o->is_transient);
    l->options = *o;
    mutex_init(&l->mutex);
    return l;
}

void leader_free(struct leader *l)
{
    if (!l)
        return;
    leader_choice_close(&l->choice);
    mutex_close(&l->mutex);
    mem_free(l->act_as);
    mem_free(l);
}

void leader_add(struct leader *l, struct slice address)
{
    PRE(l);
    leader_choice_add(&l->choice, address);
}

int leader_add_list(struct leader *l, const char *addresses, struct err *err)
{
    struct slice rest = slice_str(addresses);
    while (rest.len) {
        size_t end = slice_find_byte(rest, ',');
        leader_add(l, slice_trim(slice_sub(rest, 0, end)));
        rest = slice_sub(rest, end + 1, rest.len);
    }
    if (l->choice.count == 0)
        return err_set(err, ERR_INVALID, "no %s in \"%.80s\"",
                       l->options.service, addresses);
    return 0;
}

void leader_act_as(struct leader *l, const char *principal)
{
    mem_free(l->act_as);
    l->act_as = *principal ? mem_strdup(principal) : NULL;
}

void leader_hurry(struct leader *l)
{
    atomic_store(&l->hurry, true);
}

static void leader_choose(struct leader *l, char out[LEADER_ADDRESS_BYTES])
{
    const char *from;
    PRE(l->choice.count > 0);
    mutex_lock(&l->mutex);
    from = leader_choice_current(&l->choice);
    memcpy(out, from, strlen(from) + 1);
    mutex_unlock(&l->mutex);
    POST(strlen(out) < LEADER_ADDRESS_BYTES);
}

/* @asked failed with @rc and @why. May another try do better? */
static bool leader_note_failure(struct leader *l,
                                struct leader_search *s,
                                const char *asked,
                                int rc,
                                const struct err *why)
{
    char hint[LEADER_ADDRESS_BYTES] = "";
    bool again;
    PRE(rc != 0);
    mutex_lock(&l->mutex);
    again = leader_search_continue(s, &l->choice, asked, rc) &&
            (rc == ERR_UNSUPPORTED || l->options.is_transient(rc));
    if (again) {
        if (!replica_leader_hint(why, hint, sizeof(hint)))
            hint[0] = '\0';
        leader_choice_failed(&l->choice, asked, hint);
    }
    mutex_unlock(&l->mutex);
    return again;
}

int leader_try(struct leader *l,
               struct leader_search *s,
               const struct leader_request *q,
               bool *again,
               struct err *failure)
{
    struct rpc_call_options opts = {.timeout_us = q->timeout_us,
                                    .act_as =
                                        slice_str(l->act_as ? l->act_as : "")};
    char address[LEADER_ADDRESS_BYTES];
    struct err why = ERR_INIT;
    int rc;
    PRE(q->timeout_us > 0);
    *again = false;
    leader_choose(l, address);
    if (q->reply_body)
        buf_clear(q->reply_body);
    if (q->reply_attachment)
        buf_clear(q->reply_attachment);
    rc = channel_set_call(l->options.channels, slice_str(address), q->method,
                          &opts, q->body, q->attachment, q->reply_body,
                          q->reply_attachment, &why);
    if (rc == 0)
        return 0;
    *again = leader_note_failure(l, s, address, rc, &why);
    /* A server of another role knows nothing of the service. */
    if (!*again || rc != ERR_UNSUPPORTED || (failure && !failure->code))
        err_copy(failure, &why);
    return rc;
}

uint64_t leader_pause_us(struct leader *l, const struct leader_search *s)
{
    uint64_t random = world_random(l->options.world);
    uint64_t us;
    PRE(s->tries > 0);
    mutex_lock(&l->mutex);
    us = leader_search_pause_us(s, &l->choice, random);
    mutex_unlock(&l->mutex);
    return us;
}

/* 0 if there is time for another try, else the error of the last ones. */
static int leader_await_turn(struct leader *l,
                             const struct leader_search *s,
                             uint64_t until_ns,
                             struct err *failure,
                             struct err *err)
{
    uint64_t pause_us;
    int rc = fiber_check(err);
    if (rc)
        return rc;
    if ((until_ns && world_mono_ns(l->options.world) >= until_ns) ||
        atomic_load(&l->hurry)) {
        err_wrap(failure, "no %s answers", l->options.service);
        failure->code = ERR_UNAVAILABLE;
        return err_copy(err, failure);
    }
    pause_us = leader_pause_us(l, s);
    if (pause_us)
        world_sleep_us(l->options.world, pause_us);
    return 0;
}

int leader_call(struct leader *l,
                uint32_t method,
                uint64_t timeout_us,
                struct slice body,
                struct slice attachment,
                struct buf *reply_body,
                struct buf *reply_attachment,
                struct err *err)
{
    uint64_t until_ns =
        timeout_us ? world_mono_ns(l->options.world) + timeout_us * 1000 : 0;
    struct leader_request q = {
        .method = method,
        .timeout_us = timeout_us ? MIN_OF(timeout_us, ATTEMPT_US) : ATTEMPT_US,
        .body = body,
        .attachment = attachment,
        .reply_body = reply_body,
        .reply_attachment = reply_attachment,
    };
    struct leader_search s = {.tries = 0};
    struct err failure = ERR_INIT;
    for (;;) {
        bool again;
        int rc = leader_try(l, &s, &q, &again, &failure);
        if (!again)
            return rc ? err_copy(err, &failure) : 0;
        rc = leader_await_turn(l, &s, until_ns, &failure, err);
        if (rc)
            return rc;
    }
}
