/* Finding the namenode that leads. */
#include "gfs-lite/leader.h"

#include <stdatomic.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/replica/replica.h"
#include "base/rpc/rpc.h"
#include "base/runtime/fiber.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"

/* One server may take so long before another is asked. */
#define ATTEMPT_US UINT64_C(4000000)
/* Between rounds, doubling. */
#define PAUSE_US_MIN  UINT64_C(20000)
#define PAUSE_US_MAX  UINT64_C(500000)
#define ADDRESSES_MAX 16
#define ADDRESS_BYTES 256

struct leader {
    struct world *world; /* Borrowed. */
    struct peers *peers; /* Borrowed. */
    char *addresses[ADDRESSES_MAX];
    size_t count;
    char *act_as; /* Owned; NULL: as itself. */
    atomic_bool hurry;
    struct mutex mutex;       /* Of what follows. */
    size_t next;              /* Whom to ask when there is no hint. */
    char hint[ADDRESS_BYTES]; /* Who leads, as far as is known; or "". */
};

int leader_new(struct world *w,
               struct peers *peers,
               const char *addresses,
               struct leader **out,
               struct err *err)
{
    struct leader *l = mem_zalloc(1, sizeof(*l));
    struct slice rest = slice_str(addresses);
    l->world = w;
    l->peers = peers;
    mutex_init(&l->mutex);
    *out = NULL;
    while (rest.len && l->count < ADDRESSES_MAX) {
        size_t end = slice_find_byte(rest, ',');
        struct slice one = slice_trim(slice_sub(rest, 0, end));
        if (one.len && one.len < ADDRESS_BYTES)
            l->addresses[l->count++] = mem_strndup(one.data, one.len);
        rest = slice_sub(rest, end + 1, rest.len);
    }
    if (l->count == 0) {
        leader_free(l);
        return err_set(err, ERR_INVALID, "no namenode in \"%.80s\"", addresses);
    }
    *out = l;
    return 0;
}

void leader_free(struct leader *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->count; i++)
        mem_free(l->addresses[i]);
    mutex_close(&l->mutex);
    mem_free(l->act_as);
    mem_free(l);
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

static void leader_choose(struct leader *l, char out[ADDRESS_BYTES])
{
    const char *from;
    mutex_lock(&l->mutex);
    from = l->hint[0] ? l->hint : l->addresses[l->next % l->count];
    memcpy(out, from, strlen(from) + 1);
    mutex_unlock(&l->mutex);
}

/* @address did not answer as a leader; @failure may say who is. */
static void leader_note_failure(struct leader *l,
                                const char *address,
                                const struct err *why)
{
    char hint[ADDRESS_BYTES] = "";
    mutex_lock(&l->mutex);
    if (why->code == ERR_UNAVAILABLE &&
        replica_leader_hint(why, hint, sizeof(hint)) &&
        strcmp(hint, address) != 0) {
        memcpy(l->hint, hint, sizeof(hint));
    } else if (strcmp(l->hint, address) == 0) {
        l->hint[0] = '\0';
    } else {
        l->next++;
    }
    mutex_unlock(&l->mutex);
}

static void leader_note_good(struct leader *l, const char *address)
{
    mutex_lock(&l->mutex);
    memcpy(l->hint, address, strlen(address) + 1);
    mutex_unlock(&l->mutex);
}

/* Targets name nodes of a cluster, of which not every one is a namenode: that
 * @address is none. @other_services: a bit for each that has said so in this
 * call.
 */
static void note_other_service(const struct leader *l,
                               const char *address,
                               uint32_t *other_services)
{
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->addresses[i], address) == 0)
            *other_services |= UINT32_C(1) << i;
}

static bool is_final(const struct leader *l,
                     const char *address,
                     uint32_t *other_services,
                     int rc)
{
    if (rc == ERR_UNSUPPORTED) {
        note_other_service(l, address, other_services);
        return *other_services == (UINT32_C(1) << l->count) - 1;
    }
    return rc != ERR_UNAVAILABLE && rc != ERR_DEADLINE && rc != ERR_CANCELLED;
}

/* 0 if there is time for another try, else the error of the last one. */
static int wait_turn(struct leader *l,
                     unsigned tries,
                     uint64_t until_ns,
                     struct err *failure,
                     struct err *err)
{
    uint64_t pause = PAUSE_US_MIN << MIN_OF(tries / l->count, 5);
    int rc = fiber_check(err);
    if (rc)
        return rc;
    if ((until_ns && world_mono_ns(l->world) >= until_ns) ||
        atomic_load(&l->hurry)) {
        err_wrap(failure, "no namenode answers");
        failure->code = ERR_UNAVAILABLE;
        return err_copy(err, failure);
    }
    /* Hints are followed at once, and the first round is not slowed down. */
    if (tries >= l->count)
        world_sleep_us(l->world, MIN_OF(pause, PAUSE_US_MAX) / 2 +
                                     world_random(l->world) % PAUSE_US_MIN);
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
        timeout_us ? world_mono_ns(l->world) + timeout_us * 1000 : 0;
    uint64_t attempt_us =
        timeout_us ? MIN_OF(timeout_us, ATTEMPT_US) : ATTEMPT_US;
    struct rpc_call_options opts = {.timeout_us = attempt_us,
                                    .act_as =
                                        slice_str(l->act_as ? l->act_as : "")};
    uint32_t other_services = 0;
    struct err told = ERR_INIT; /* By whoever has told most. */
    for (unsigned tries = 0;; tries++) {
        struct err failure = ERR_INIT;
        char address[ADDRESS_BYTES];
        int rc;
        leader_choose(l, address);
        if (reply_body)
            buf_clear(reply_body);
        if (reply_attachment)
            buf_clear(reply_attachment);
        rc =
            peers_call_with(l->peers, slice_str(address), method, &opts, body,
                            attachment, reply_body, reply_attachment, &failure);
        if (is_final(l, address, &other_services, rc)) {
            if (rc != ERR_UNSUPPORTED)
                leader_note_good(l, address);
            err_copy(err, &failure);
            return rc;
        }
        leader_note_failure(l, address, &failure);
        if (rc != ERR_UNSUPPORTED || !told.code)
            told = failure;
        rc = wait_turn(l, tries, until_ns, &told, err);
        if (rc)
            return rc;
    }
}
