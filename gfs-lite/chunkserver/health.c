/* Probe of the disk: a chunk server whose directory is gone, or cannot be
 * written, must not look as if it had its chunks. Writers and readers meet a
 * failing disk one chunk at a time; the probe tests the whole directory.
 */
#include "base/core/macros.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "gfs-lite/chunkserver/chunkserver_state.h"

#define PROBE_US UINT64_C(2000000)

/* A single slow one is nobody's fault. */
uint64_t chunkserver_probe_us(const struct chunkserver *cs)
{
    const uint64_t *us = cs->probe_us;
    if (cs->probe_count < PROBES_KEPT)
        return 0;
    return MAX_OF(MIN_OF(us[0], us[1]), MIN_OF(MAX_OF(us[0], us[1]), us[2]));
}

static void note_probe(struct chunkserver *cs, uint64_t begin_ns)
{
    PRE(begin_ns <= world_mono_ns(cs->world));
    cs->probe_us[cs->probe_count++ % PROBES_KEPT] =
        (world_mono_ns(cs->world) - begin_ns) / 1000;
}

static int chunkserver_health_probe(struct chunkserver *cs, struct err *err)
{
    uint64_t begin_ns = world_mono_ns(cs->world);
    int rc = chunk_store_probe(cs->store, err);
    note_probe(cs, begin_ns);
    if (rc == 0)
        rc = chunkserver_get_space(cs, &cs->capacity_bytes, &cs->free_bytes,
                                   err);
    if (rc == 0 && cs->free_bytes == 0)
        rc = err_set(err, ERR_FULL, "no space left in %s", cs->store->dir);
    return rc;
}

void chunkserver_run_prober(void *arg)
{
    struct chunkserver *cs = arg;
    while (!cs->stopping && fiber_check(NULL) == 0) {
        struct err found = ERR_INIT;
        (void)!chunkserver_health_probe(cs, &found);
        cs->health = found;
        world_sleep_to_tick(cs->world, PROBE_US);
    }
}

int chunkserver_health(const struct chunkserver *cs, struct err *err)
{
    return err_copy(err, &cs->health);
}
