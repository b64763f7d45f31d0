/* The role `chunk`: a chunk server of the file system. Translates the
 * configuration into chunkserver options; gfs-lite/chunkserver does the rest.
 */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/conf.h"
#include "base/core/panic.h"
#include "base/metrics/metrics.h"
#include "cli/role.h"
#include "cli/role_cell.h"
#include "gfs-lite/chunkserver/chunkserver.h"

extern const struct role chunk_role;

struct chunk {
    struct chunkserver *server; /* Owned. */
    char *address;              /* Where others reach it. Owned. */
};

/* The rates of section [chunk]. */
static int
read_rates(struct conf *c, struct chunkserver_options *o, struct err *err)
{
    int rc = conf_get_bytes(c, "chunk", "scrub-bytes-per-s",
                            &o->scrub_bytes_per_s, err);
    if (rc == 0)
        rc = conf_get_bytes(c, "chunk", "copy-bytes-per-s",
                            &o->copy_bytes_per_s, err);
    if (rc == 0)
        rc = conf_get_duration(c, "chunk", "heartbeat", &o->heartbeat_us, err);
    return rc;
}

static int chunk_open(const struct role_env *env, void **out, struct err *err)
{
    struct buf dir = BUF_INIT;
    struct buf socket = BUF_INIT;
    struct chunk *k = mem_zalloc(1, sizeof(*k));
    struct chunkserver_options o = {.namenodes = env->cell,
                                    .rack = *env->rack ? env->rack : NULL,
                                    .security = env->security,
                                    .roles = env->roles};
    int rc = read_rates(env->conf, &o, err);
    role_directory(env, "chunk", &dir);
    role_directory(env, "chunk.sock", &socket);
    o.dir = buf_cstr(&dir);
    o.socket = buf_cstr(&socket);
    if (rc == 0)
        rc = chunkserver_open(env->world, env->server, &o, &k->server, err);
    k->address = mem_strdup(env->address);
    buf_close(&dir);
    buf_close(&socket);
    if (rc) {
        mem_free(k->address);
        mem_free(k);
        k = NULL;
    }
    *out = k;
    return rc;
}

static int chunk_started(void *role, struct err *err)
{
    struct chunk *k = role;
    return chunkserver_start(k->server, k->address, err);
}

static void chunk_status(void *role, struct buf *out)
{
    const struct chunk *k = role;
    struct chunkserver_stats s;
    chunkserver_get_stats(k->server, &s);
    buf_printf(
        out,
        "connected=%s chunks=%llu bytes=%llu capacity=%llu free=%llu "
        "damaged=%llu copied=%llu",
        s.is_connected ? "yes" : "no", (unsigned long long)s.chunks,
        (unsigned long long)s.bytes, (unsigned long long)s.capacity_bytes,
        (unsigned long long)s.free_bytes, (unsigned long long)s.found_damage,
        (unsigned long long)s.copied_chunks);
}

static void chunk_gather(void *role, struct metric_set *out)
{
    const struct chunk *k = role;
    struct chunkserver_stats s;
    chunkserver_get_stats(k->server, &s);
    metric_put(out, METRIC_chunk_connected, NULL, s.is_connected);
    metric_put(out, METRIC_chunk_chunks, NULL, (double)s.chunks);
    metric_put(out, METRIC_chunk_stored_bytes, NULL, (double)s.bytes);
    metric_put(out, METRIC_chunk_capacity_bytes, NULL,
               (double)s.capacity_bytes);
    metric_put(out, METRIC_chunk_free_bytes, NULL, (double)s.free_bytes);
    if (s.probe_us)
        metric_put(out, METRIC_chunk_probe_seconds, NULL,
                   (double)s.probe_us / 1e6);
    metric_put(out, METRIC_chunk_damaged_chunks, NULL, (double)s.found_damage);
    metric_put(out, METRIC_chunk_scrubbed_bytes, NULL,
               (double)s.scrubbed_bytes);
    metric_put(out, METRIC_chunk_copied_chunks, NULL, (double)s.copied_chunks);
}

static int chunk_health(void *role, struct err *err)
{
    const struct chunk *k = role;
    return chunkserver_health(k->server, err);
}

static void chunk_close(void *role)
{
    struct chunk *k = role;
    chunkserver_close(k->server);
    mem_free(k->address);
    mem_free(k);
}

const struct role chunk_role = {
    .name = "chunk",
    .help = "a chunk server of the file system",
    .open = chunk_open,
    .started = chunk_started,
    .status = chunk_status,
    .gather = chunk_gather,
    .health = chunk_health,
    .close = chunk_close,
};
