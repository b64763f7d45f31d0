/* A simulated machine for tests: one thread, virtual time, a disk in memory
 * that loses what was not synced, and faults drawn from a seed.
 *
 *     struct world *w = sim_world_new(&(struct sim_options){.seed = 7});
 *     sim_power_off_at_sync(w, 3);
 *     sim_run(w, workload, &ctx);    // its file calls fail from there on
 *     sim_power_on(w);               // applies the loss
 *     sim_run(w, verify, &ctx);
 *     world_free(w);
 *
 * Everything that runs is a fiber: sim_run() starts one, task_start() one more
 * each. Whenever the running one waits, the seed draws one of those that can
 * run; when none can, the clock jumps to the next timer. The same seed and the
 * same code give the same run, instruction for instruction. Computing takes no
 * time, except that reading a clock costs 100 ns, so that loops that watch the
 * clock end.
 *
 * The disk. Durable after
 *     file_sync       the file's bytes and size, whatever directory it is in
 *     world_sync_dir  the names in that directory: created, renamed, removed
 *
 * and nothing else: a synced file whose name was not synced is lost. At power
 * loss each unsynced write is kept, dropped, or torn into sectors that reached
 * the disk and sectors that did not; each unsynced change of a name is kept or
 * dropped, a rename within a directory as a whole. After a failed sync its
 * bytes stay uncertain: a later sync does not make them durable.
 *
 * Paths: absolute or relative, both below one root, without "." and "..". The
 * root directory exists. Files opened with FILE_DIRECT must keep its alignment,
 * or the world panics.
 *
 * Threads: one. File calls also work outside sim_run(), without any delay.
 */
#ifndef BASE_SIM_SIM_H
#define BASE_SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/runtime/world.h"

struct buf;

/* Unit the simulated disk writes as a whole. */
#define SIM_SECTOR_BYTES ((size_t)512)

/* Delays in virtual µs; each operation takes between half and one and a half of
 * its figure. Rates are faults per million operations. All 0: a perfect disk.
 */
struct sim_options {
    uint64_t seed;
    unsigned cpu_count; /* world_cpu_count(); 0: 2. */
    uint32_t read_us;   /* 0: none, but the caller still yields. */
    uint32_t write_us;
    uint32_t sync_us;
    uint32_t name_us;    /* Open, rename, remove, list, sync of a directory. */
    uint32_t network_us; /* One way. */
    uint32_t read_error_rate;  /* ERR_IO from a read, */
    uint32_t write_error_rate; /* from a write, a truncate or a name, */
    uint32_t sync_error_rate;  /* from a sync. */
    uint32_t read_flip_rate;   /* One bit of the bytes that a read returns is
                                  wrong; the disk stays right. */
    uint64_t disk_bytes;       /* Size of the disk; 0: endless. */
};

/* A new machine with an empty disk. Owned: world_free(). @o is copied. */
struct world *sim_world_new(const struct sim_options *o);

/* Run fn(arg) in a fiber and drive the world until it and all tasks started
 * have returned. Panics with a dump of all fibers when every one waits for
 * another and no timer is set, and when a task was not joined. */
void sim_run(struct world *w, task_fn fn, void *arg);

/* --- power --------------------------------------------------------------- */

/* Cut the power in the @n-th sync (file or directory; 1 is the next), write, or
 * operation of any kind from now: it and every later operation on files fails
 * with ERR_IO "power lost". 0 cancels that. */
void sim_power_off_at_sync(struct world *w, uint64_t n);
void sim_power_off_at_write(struct world *w, uint64_t n);
void sim_power_off_at_op(struct world *w, uint64_t n);
void sim_power_off(struct world *w); /* Now. */
bool sim_is_off(const struct world *w);
/* Apply the loss (also when the power was on: a reset) and serve again.
 * Calls on files and locks from before fail; they can only be closed. */
void sim_power_on(struct world *w);

/* --- faults -------------------------------------------------------------- */

/* Make the @n-th operation from now (1 is the next; 0: none) fail with
 * ERR_IO, once. For sweeps over every operation of a scenario. */
void sim_fail_at_op(struct world *w, uint64_t n);
/* Replace all rates and delays; the seed's sequence continues. */
void sim_set_options(struct world *w, const struct sim_options *o);
/* Copy the options that are in force. */
void sim_get_options(const struct world *w, struct sim_options *o);
/* 0: endless. Less than what is in use: every write that grows a file fails. */
void sim_set_disk_bytes(struct world *w, uint64_t bytes);
/* Flip bit @bit (0 to 7) of byte @offset of @path, durably. Errors:
 * ERR_NOTFOUND, ERR_INVALID (past the end). */
MUST_CHECK int sim_flip_bit(struct world *w,
                            const char *path,
                            uint64_t offset,
                            unsigned bit,
                            struct err *err);

/* --- figures ------------------------------------------------------------- */

uint64_t sim_sync_count(const struct world *w); /* Since the machine was
                                                   made; so are the next two. */
uint64_t sim_write_count(const struct world *w);
uint64_t sim_op_count(const struct world *w);   /* All kinds. */
uint64_t sim_disk_bytes(const struct world *w); /* In use. */
/* A checksum of everything that happened, in order: equal for equal runs. */
uint64_t sim_trace_hash(const struct world *w);
/* Append the newest lines of the trace, "time fiber operation outcome". */
void sim_trace_print(const struct world *w, struct buf *out);

#endif /* BASE_SIM_SIM_H */
