/* Channels to the file system's processes, with short delays between attempts
 * to connect, so that servers that restart are found soon; and the search for
 * the leading namenode.
 */
#include "gfs-lite/peers.h"

#include "base/core/panic.h"
#include "base/rpc/channel_set.h"
#include "base/session/leader.h"

struct peers {
    struct channel_set *channels; /* Owned. */
};

struct peers *peers_new(const struct rpc_security *security)
{
    const struct rpc_channel_options o = {.security = security,
                                          .backoff_max_us = 500000,
                                          .connect_timeout_us = 2000000,
                                          .connect_wait_us = 500000};
    struct peers *p = mem_zalloc(1, sizeof(*p));
    p->channels = channel_set_new(&o);
    return p;
}

void peers_close(struct peers *p)
{
    if (!p)
        return;
    channel_set_close(p->channels);
    mem_free(p);
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
    return channel_set_call(p->channels, address, method, opts, body,
                            attachment, reply_body, reply_attachment, err);
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

/* All other codes are a namenode's answers. */
static bool is_transient(int code)
{
    return code == ERR_UNAVAILABLE || code == ERR_DEADLINE ||
           code == ERR_CANCELLED;
}

int peers_find_leader(struct peers *p,
                      struct world *w,
                      const char *addresses,
                      struct leader **out,
                      struct err *err)
{
    const struct leader_options o = {.world = w,
                                     .channels = p->channels,
                                     .service = "namenode",
                                     .is_transient = is_transient};
    struct leader *l = leader_new(&o);
    int rc = leader_add_list(l, addresses, err);
    if (rc) {
        leader_free(l);
        l = NULL;
    }
    *out = l;
    return rc;
}
