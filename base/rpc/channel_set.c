/* Channels by address. */
#include "base/rpc/channel_set.h"

#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "base/runtime/loop.h"
#include "base/runtime/sync.h"

struct channel_set {
    struct loop *loop;
    struct rpc_channel_options options;
    struct mutex mutex;       /* Of the map. */
    struct hash_map channels; /* Address to struct rpc_channel, owned. */
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

void channel_set_close(struct channel_set *s)
{
    struct hash_slot *slot;
    size_t at = 0;
    if (!s)
        return;
    while ((slot = hash_map_next(&s->channels, &at)))
        rpc_channel_free(slot->value.pointer);
    hash_map_close(&s->channels);
    mutex_close(&s->mutex);
    mem_free(s);
}

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
static struct rpc_channel *add_channel(struct channel_set *s,
                                       struct slice address)
{
    char *text = mem_strndup(address.data, address.len);
    struct making m = {.set = s, .address = text};
    if (loop_self() == s->loop)
        make_channel(&m);
    else
        loop_call(s->loop, "connect", make_channel, &m);
    hash_map_put(&s->channels, address, NULL)->pointer = m.channel;
    mem_free(text);
    return m.channel;
}

static struct rpc_channel *get_channel(struct channel_set *s,
                                       struct slice address)
{
    struct rpc_channel *c;
    union hash_value *v;
    mutex_lock(&s->mutex);
    v = hash_map_get(&s->channels, address);
    c = v ? v->pointer : add_channel(s, address);
    mutex_unlock(&s->mutex);
    return c;
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
    if (address.len == 0)
        return err_set(err, ERR_UNAVAILABLE, "no address");
    return rpc_call(get_channel(s, address), method, opts, body, attachment,
                    reply_body, reply_attachment, err);
}

size_t channel_set_count(struct channel_set *s)
{
    size_t n;
    mutex_lock(&s->mutex);
    n = s->channels.count;
    mutex_unlock(&s->mutex);
    return n;
}
