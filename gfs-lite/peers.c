/* Channels by address. */
#include "gfs-lite/peers.h"

#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "base/rpc/remote.h"
#include "base/runtime/loop.h"
#include "base/runtime/sync.h"

struct peers {
    struct loop *loop;
    struct rpc_channel_options options;
    struct mutex mutex;       /* Of the map. */
    struct hash_map channels; /* Address to struct rpc_channel, owned. */
};

struct peers *peers_new(const struct rpc_security *security)
{
    struct peers *p = mem_zalloc(1, sizeof(*p));
    p->loop = loop_self();
    PRE(p->loop);
    p->options.security = security;
    /* Servers that come back should be found soon. */
    p->options.backoff_max_us = 500000;
    p->options.connect_timeout_us = 2000000;
    mutex_init(&p->mutex);
    hash_map_init(&p->channels, HASH_KEYS_COPIED);
    return p;
}

void peers_close(struct peers *p)
{
    size_t at = 0;
    struct hash_slot *s;
    if (!p)
        return;
    while ((s = hash_map_next(&p->channels, &at)))
        rpc_channel_free(s->value.pointer);
    hash_map_close(&p->channels);
    mutex_close(&p->mutex);
    mem_free(p);
}

struct make_call {
    struct peers *peers;
    const char *address;
    struct rpc_channel *channel;
};

static void make_channel(void *arg)
{
    struct make_call *m = arg;
    m->channel = rpc_channel_new(m->address, &m->peers->options);
}

static struct rpc_channel *get_channel(struct peers *p, struct slice address)
{
    union hash_value *v;
    struct rpc_channel *c;
    mutex_lock(&p->mutex);
    v = hash_map_get(&p->channels, address);
    c = v ? v->pointer : NULL;
    if (!c) {
        char *text = mem_strndup(address.data, address.len);
        struct make_call m = {.peers = p, .address = text};
        if (loop_self() == p->loop)
            make_channel(&m);
        else
            loop_call(p->loop, "connect", make_channel, &m);
        c = m.channel;
        hash_map_put(&p->channels, address, NULL)->pointer = c;
        mem_free(text);
    }
    mutex_unlock(&p->mutex);
    return c;
}

int peers_call_with(struct peers *p,
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
    return rpc_call(get_channel(p, address), method, opts, body, attachment,
                    reply_body, reply_attachment, err);
}

int peers_call(struct peers *p,
               struct slice address,
               uint32_t method,
               uint64_t timeout_us,
               struct slice body,
               struct slice attachment,
               struct buf *reply_body,
               struct buf *reply_attachment,
               struct err *err)
{
    struct rpc_call_options opts = {.timeout_us = timeout_us};
    return peers_call_with(p, address, method, &opts, body, attachment,
                           reply_body, reply_attachment, err);
}
