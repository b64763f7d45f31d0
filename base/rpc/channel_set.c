/* Channels by address. A call holds its channel by a count that grows only
 * under the mutex, so that an idle channel can be taken out and closed
 * without a race; the sweep rides on calls, because without calls no
 * channels are added. */
#include "base/rpc/channel_set.h"

#include <stdatomic.h>

#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "base/runtime/loop.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"

/* A channel that no call used for this time is closed: processes come and
 * go, and their addresses with them. */
#define IDLE_NS (UINT64_C(300) * 1000000000)

struct entry {
    struct rpc_channel *channel;
    atomic_uint users;     /* Calls under way; grows under the mutex only. */
    atomic_ullong used_ns; /* When the last call ended. */
};

struct channel_set {
    struct loop *loop;
    struct rpc_channel_options options;
    struct mutex mutex;       /* Guards what follows. */
    struct hash_map channels; /* Address to struct entry, owned. */
    atomic_ullong swept_ns;   /* Read without it. */
};

struct channel_set *channel_set_new(const struct rpc_channel_options *opts)
{
    struct channel_set *s = mem_zalloc(1, sizeof(*s));
    s->loop = loop_self();
    PRE(s->loop);
    if (opts)
        s->options = *opts;
    mutex_init(&s->mutex);
    hash_map_init(&s->channels, HASH_KEYS_COPIED);
    return s;
}

static void close_entry(void *arg)
{
    struct entry *e = arg;
    rpc_channel_free(e->channel);
    mem_free(e);
}

void channel_set_close(struct channel_set *s)
{
    struct hash_slot *slot;
    size_t at = 0;
    if (!s)
        return;
    while ((slot = hash_map_next(&s->channels, &at)))
        close_entry(slot->value.pointer);
    hash_map_close(&s->channels);
    mutex_close(&s->mutex);
    mem_free(s);
}

/* Run fn(arg) on the loop of the channels. Parks. */
static void run_on_loop(struct channel_set *s, loop_fn fn, void *arg)
{
    if (loop_self() == s->loop)
        fn(arg);
    else
        loop_call(s->loop, "channels", fn, arg);
}

/* --- closing idle channels ----------------------------------------------- */

/* Remove and return an idle one, or NULL. PRE: the mutex is held. */
static struct entry *take_idle(struct channel_set *s, uint64_t now_ns)
{
    struct hash_slot *slot;
    size_t at = 0;
    while ((slot = hash_map_next(&s->channels, &at))) {
        struct entry *e = slot->value.pointer;
        if (atomic_load(&e->users) == 0 &&
            now_ns - atomic_load(&e->used_ns) >= IDLE_NS) {
            (void)hash_map_remove(&s->channels, slot->key, NULL);
            return e;
        }
    }
    return NULL;
}

/* Close idle channels, at most once per interval. */
static void channel_set_sweep(struct channel_set *s, uint64_t now_ns)
{
    struct entry *e;
    if (now_ns - atomic_load(&s->swept_ns) < IDLE_NS / 4)
        return;
    atomic_store(&s->swept_ns, now_ns);
    do {
        mutex_lock(&s->mutex);
        e = take_idle(s, now_ns);
        mutex_unlock(&s->mutex);
        if (e)
            run_on_loop(s, close_entry, e);
    } while (e);
}

/* --- calling ------------------------------------------------------------- */

struct making {
    struct channel_set *set;
    const char *address;
    struct rpc_channel *channel;
};

static void make_channel(void *arg)
{
    struct making *m = arg;
    m->channel = rpc_channel_new(m->address, &m->set->options);
}

/* PRE: the mutex is held. */
static struct entry *add_entry(struct channel_set *s, struct slice address)
{
    char *text = mem_strndup(address.data, address.len);
    struct making m = {.set = s, .address = text};
    struct entry *e = mem_zalloc(1, sizeof(*e));
    run_on_loop(s, make_channel, &m);
    e->channel = m.channel;
    hash_map_put(&s->channels, address, NULL)->pointer = e;
    mem_free(text);
    return e;
}

/* Find or add the entry of @address, which stays until release_entry(). */
static struct entry *hold_entry(struct channel_set *s, struct slice address)
{
    union hash_value *v;
    struct entry *e;
    mutex_lock(&s->mutex);
    v = hash_map_get(&s->channels, address);
    e = v ? v->pointer : add_entry(s, address);
    atomic_fetch_add(&e->users, 1);
    mutex_unlock(&s->mutex);
    return e;
}

int channel_set_call(struct channel_set *s,
                     struct slice address,
                     uint32_t method,
                     const struct rpc_call_options *opts,
                     struct slice body,
                     struct slice attachment,
                     struct buf *reply_body,
                     struct buf *reply_attachment,
                     struct err *err)
{
    uint64_t now_ns;
    struct entry *e;
    int rc;
    if (address.len == 0)
        return err_set(err, ERR_UNAVAILABLE, "no address");
    e = hold_entry(s, address);
    rc = rpc_call(e->channel, method, opts, body, attachment, reply_body,
                  reply_attachment, err);
    now_ns = world_mono_ns(loop_world(s->loop));
    atomic_store(&e->used_ns, now_ns);
    atomic_fetch_sub(&e->users, 1);
    channel_set_sweep(s, now_ns);
    return rc;
}

size_t channel_set_count(struct channel_set *s)
{
    size_t n;
    mutex_lock(&s->mutex);
    n = s->channels.count;
    mutex_unlock(&s->mutex);
    return n;
}
