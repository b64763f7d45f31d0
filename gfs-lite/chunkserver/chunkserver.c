/* A chunk server's life: options, methods, and the fibers that run until it
 * closes (heartbeats, maintenance, the disk's probe, write-back). Closing stops
 * them in the order in which they use each other.
 */
#include "gfs-lite/chunkserver/chunkserver.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/rpc/roles.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "gfs-lite/chunkserver/chunkserver_state.h"

#define HEARTBEAT_US_DEFAULT      UINT64_C(1000000)
#define SCRUB_BYTES_PER_S_DEFAULT (UINT64_C(16) << 20)
/* Shorter rounds are not worth it, even for few and small chunks. */
#define SCRUB_ROUND_US_DEFAULT   UINT64_C(10000000)
#define COPY_BYTES_PER_S_DEFAULT (UINT64_C(128) << 20)
#define SYNC_AFTER_US_DEFAULT    UINT64_C(5000000)
#define PROOF_GRACE_US_DEFAULT   (UINT64_C(30) * 60 * 1000000)

static uint64_t or_default(uint64_t v, uint64_t otherwise)
{
    return v ? v : otherwise;
}

static void take_options(struct chunkserver *cs,
                         const struct chunkserver_options *o)
{
    cs->machine = o->machine ? mem_strdup(o->machine) : NULL;
    cs->rack = mem_strdup(o->rack ? o->rack : "default");
    cs->socket_path = o->socket ? mem_strdup(o->socket) : NULL;
    cs->heartbeat_us = or_default(o->heartbeat_us, HEARTBEAT_US_DEFAULT);
    cs->scrub_bytes_per_s =
        or_default(o->scrub_bytes_per_s, SCRUB_BYTES_PER_S_DEFAULT);
    cs->scrub_round_us = or_default(o->scrub_round_us, SCRUB_ROUND_US_DEFAULT);
    cs->copy_bytes_per_s =
        or_default(o->copy_bytes_per_s, COPY_BYTES_PER_S_DEFAULT);
    cs->sync_after_us = or_default(o->sync_after_us, SYNC_AFTER_US_DEFAULT);
    cs->proof_grace_us = or_default(o->proof_grace_us, PROOF_GRACE_US_DEFAULT);
}

static void add_methods(struct chunkserver *cs, struct rpc_server *server)
{
    static const struct rpc_method methods[] = {CHUNK_METHODS(RPC_METHOD_ROW)};
    rpc_server_add(server, methods, ARRAY_LEN(methods), cs);
}

int chunkserver_open(struct world *w,
                     struct rpc_server *server,
                     const struct chunkserver_options *opts,
                     struct chunkserver **out,
                     struct err *err)
{
    struct chunkserver *cs = mem_zalloc(1, sizeof(*cs));
    PRE(opts->dir);
    PRE(opts->namenodes);
    int rc;
    *out = NULL;
    cs->world = w;
    cs->run = world_random(w);
    cs->make_from = UINT64_MAX; /* Until a namenode has answered. */
    take_options(cs, opts);
    if (opts->names_are_proved || cluster_roles_are_proved(opts->roles))
        cs->roles = opts->roles;
    cs->peers = peers_new(opts->security);
    rc = peers_find_leader(cs->peers, w, opts->namenodes, &cs->leader, err);
    if (rc == 0)
        rc = chunk_store_open(w, opts->dir, &cs->store, err);
    if (rc) {
        chunkserver_close(cs);
        return rc;
    }
    add_methods(cs, server);
    *out = cs;
    return 0;
}

int chunkserver_start(struct chunkserver *cs,
                      const char *address,
                      struct err *err)
{
    PRE(!cs->heart); /* Once. */
    const char *colon = strrchr(address, ':');
    int rc = cs->socket_path ? chunkserver_open_socket(cs, err) : 0;
    if (rc)
        return rc;
    cs->address = mem_strdup(address);
    if (!cs->machine)
        cs->machine = mem_strndup(address, colon ? (size_t)(colon - address)
                                                 : strlen(address));
    cs->heart =
        fiber_start(loop_self(), "chunk heart", chunkserver_run_heart, cs);
    cs->maintenance = fiber_start(loop_self(), "chunk maintenance",
                                  chunkserver_run_maintenance, cs);
    cs->prober =
        fiber_start(loop_self(), "chunk prober", chunkserver_run_prober, cs);
    cs->writer = fiber_start(loop_self(), "chunk write-back",
                             chunkserver_run_write_back, cs);
    return 0;
}

static void end_fiber(struct fiber *f)
{
    if (!f)
        return;
    fiber_cancel(f);
    fiber_join(f);
}

void chunkserver_close(struct chunkserver *cs)
{
    if (!cs)
        return;
    cs->stopping = true;
    chunkserver_close_socket(cs);
    end_fiber(cs->heart);
    end_fiber(cs->maintenance);
    end_fiber(cs->prober);
    end_fiber(cs->writer);
    cs->writer = NULL;
    chunkserver_end_copies(cs);
    leader_free(cs->leader);
    peers_close(cs->peers);
    chunk_store_close(cs->store);
    mem_free(cs->address);
    mem_free(cs->machine);
    INVARIANT(cs->copying == 0);
    INVARIANT(!cs->copies); /* INV-2 */
    mem_free(cs->rack);
    mem_free(cs->socket_path);
    mem_free(cs);
}

void chunkserver_get_stats(const struct chunkserver *cs,
                           struct chunkserver_stats *out)
{
    *out = (struct chunkserver_stats){.chunks = cs->store->chunks.count,
                                      .bytes = cs->store->bytes,
                                      .found_damage = cs->store->found_damage,
                                      .scrubbed_bytes = cs->scrubbed_bytes,
                                      .copied_chunks = cs->copied_chunks,
                                      .capacity_bytes = cs->capacity_bytes,
                                      .free_bytes = cs->free_bytes,
                                      .probe_us = chunkserver_probe_us(cs),
                                      .is_connected = cs->is_connected};
}
