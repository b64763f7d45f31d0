/* The parts of the simulated world, one file each: the cluster that all
 * machines share, and one machine. Private to base/sim.
 *
 * Times: the cluster's clock is true time in ns; each machine's clocks are
 * functions of it. Timers of fibers are in their machine's monotonic time.
 *
 * Invariants
 *     INV-1. now_ns never goes back, and no timer before due_ns exists unless
 *            `attention` is set (sim_scheduler.c).
 *     INV-2. A fiber is in `ready`, or in its machine's `held`, or neither;
 *            never twice.
 *     INV-3. The digest depends only on the seed and the code: nothing here
 *            reads an address, a real clock or the environment.
 */
#ifndef BASE_SIM_WORLD_SIM_H
#define BASE_SIM_WORLD_SIM_H

#include "base/core/rand.h"
#include "base/core/trace.h"
#include "base/runtime/fiber_loop.h"
#include "base/sim/sim.h"
#include "base/sim/sim_cluster.h"
#include "base/sim/sim_disk.h"

/* Longest name of a machine. */
#define SIM_NAME_BYTES_MAX 31

struct sim_pipe;
struct sim_world;

/* Fibers that can run. */
struct sim_ready {
    struct fiber **items; /* Owned; in the order they became ready. */
    size_t count;
    size_t cap;
};

struct sim_cluster {
    bool alone; /* Made for one machine, by sim_world_new(). */
    uint64_t seed;
    struct rand_gen order; /* Draws the next fiber, */
    struct rand_gen net;   /* and the network's faults. */
    uint64_t now_ns;       /* True time. */
    struct trace trace;
    void (*on_trace)(void *ctx, const char *line);
    void *on_trace_ctx;
    uint64_t event_count;       /* Steps of fibers, */
    uint64_t digest;            /* and a checksum of them. */
    struct sim_world *machines; /* In the order they were made. */
    size_t machine_count;       /* Ever made: their indexes. */
    struct sim_world *director; /* NULL when alone. */
    struct sim_link *links;     /* By index: [from * machine_count + to]. */
    struct sim_pipe *pipes;     /* All that are in use. */
    unsigned last_port;         /* Chosen for a client or for port 0. */
    /* Scheduler */
    struct sim_ready ready;
    uint64_t due_ns; /* No timer is due before. */
    bool attention;  /* A loop has posts or was stopped, or a machine was
                        paused. */
    bool driving;    /* Inside sim_run(). */
    char who[SIM_NAME_BYTES_MAX + FIBER_NAME_BYTES + 2]; /* sim__who()'s. */
};

struct sim_loop {
    struct loop base;
    struct sim_loop *next; /* In the machine's list. */
    struct fiber *runner;  /* Inside its task. */
    struct task *task;     /* Of loop_start(). */
};

/* A fiber that ends with its machine: the program, or one that sim_spawn()
 * started. */
struct sim_program {
    struct sim_program *next; /* In the machine's list. */
    struct sim_world *machine;
    struct fiber *fiber;
    task_fn fn;
    void *arg;
    bool is_main; /* When it returns, so does the process. */
};

/* How a machine's clocks differ from true time, and since when. */
struct sim_clock {
    uint64_t true_ns;  /* At this true time */
    uint64_t local_ns; /* the monotonic clock showed this, */
    int32_t drift_ppm; /* and gains this much since. */
    int64_t offset_us; /* Of the wall clock. */
};

struct sim_world {
    struct world base;
    struct sim_cluster *cluster;
    struct sim_world *next; /* In the cluster's list. */
    size_t index;
    char name[SIM_NAME_BYTES_MAX + 1]; /* "" when alone. */
    struct sim_options options;
    struct rand_gen faults; /* Draws failures and losses, */
    struct rand_gen user;   /* and the values of world_random(). */
    struct sim_clock clock;
    struct sim_loop *loops; /* All; the last is the tasks' own, `main`. */
    struct sim_loop *main;
    size_t task_count; /* Not yet joined. */
    struct sim_listener *listeners;
    /* Life */
    struct sim_program *programs;
    task_fn boot_fn; /* For sim_boot_again(). */
    void *boot_arg;
    bool paused;
    bool dead;              /* Crashed; its fibers unwind. */
    struct sim_ready held;  /* Ready fibers of a paused machine. */
    struct fiber *awaiting; /* Inside sim_await_end(). */
    /* Disk */
    struct sim_disk disk;
    uint64_t life; /* Power-ups; an open file has the number of its own. */
    bool off;
    struct sim_lock *locks;
    uint64_t op_count;
    uint64_t sync_count;
    uint64_t write_count;
    uint64_t off_at_op; /* Values of the counters; 0: never. */
    uint64_t off_at_sync;
    uint64_t off_at_write;
    uint64_t fail_at_op;
};

static inline struct sim_world *sim_world(struct world *w)
{
    return (struct sim_world *)w;
}

static inline const struct sim_world *sim_world_const(const struct world *w)
{
    return (const struct sim_world *)w;
}

/* --- world_sim.c --------------------------------------------------------- */

/* A machine of @c, last in its list. */
struct sim_world *sim__machine_new(struct sim_cluster *c,
                                   const char *name,
                                   const struct sim_options *o);
/* Let virtual time pass; at least yields. Does nothing outside sim_run(). */
void sim__delay(struct sim_world *w, uint32_t about_us);
/* True @rate times in a million. */
bool sim__chance(struct rand_gen *r, uint32_t rate);
/* "machine/fiber" of the running one, or "-". Borrowed until the next call. */
const char *sim__who(struct sim_cluster *c);
/* Add a line: the running fiber, then the text. */
void sim__trace(struct sim_cluster *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* @w's monotonic clock at true time @true_ns, and back: the first true time at
 * which it shows at least @local_ns. UINT64_MAX stays. */
uint64_t sim__local_ns(const struct sim_world *w, uint64_t true_ns);
uint64_t sim__true_ns(const struct sim_world *w, uint64_t local_ns);
/* The local time of an alarm that goes off at @true_ns or just after it, never
 * before.
 */
uint64_t sim__alarm_ns(const struct sim_world *w, uint64_t true_ns);

/* --- sim_scheduler.c ----------------------------------------------------- */

/* A cluster without machines; @alone: for one machine without a director. */
struct sim_cluster *sim__cluster_new(uint64_t seed, bool alone);
void sim__cluster_free(struct sim_cluster *c);
/* The `ready` entry of loop_ops. */
void sim__make_ready(struct loop *l, struct fiber *f);
/* True if any loop of @w has a live fiber. */
bool sim__has_live(const struct sim_world *w);
/* Move the ready fibers of @w to `held` until it is resumed, and back. */
void sim__hold(struct sim_world *w);
void sim__unhold(struct sim_world *w);

/* --- sim_net.c ----------------------------------------------------------- */

/* The link's settings, borrowed until a machine is added. */
struct sim_link *sim__link(struct sim_cluster *c,
                           const struct sim_world *from,
                           const struct sim_world *to);
/* Grow the table of links for a new machine. */
void sim__links_grow(struct sim_cluster *c);
/* Update the connections of @w after a crash, or after it came back. */
void sim__net_crash(struct sim_world *w, enum sim_crash how);
void sim__net_back(struct sim_world *w);

/* --- world_sim_file.c ---------------------------------------------------- */

enum sim_op {
    SIM_READ,
    SIM_WRITE,
    SIM_SYNC,
    SIM_NAME
};

/* Every operation begins with this: it lets time pass, counts, and fails
 * when the power is off or goes off now, when this operation was chosen to
 * fail, or at the rate of its kind. @what and @path are for messages and
 * trace. */
MUST_CHECK int sim__begin(struct sim_world *w,
                          enum sim_op op,
                          const char *what,
                          const char *path,
                          struct err *err);

/* The entries of world_ops for files, with the contracts of world.h. */
int sim__file_open(struct world *w,
                   const char *path,
                   unsigned flags,
                   struct file **out,
                   struct err *err);
int sim__file_read_at(struct file *f,
                      uint64_t offset,
                      void *dst,
                      size_t len,
                      size_t *got,
                      struct err *err);
int sim__file_write_at(struct file *f,
                       uint64_t offset,
                       const struct slice *parts,
                       size_t part_count,
                       struct err *err);
int sim__file_sync(struct file *f, struct err *err);
int sim__file_size(struct file *f, uint64_t *bytes, struct err *err);
int sim__file_truncate(struct file *f, uint64_t bytes, struct err *err);
void sim__file_allocate(struct file *f, uint64_t bytes);
void sim__file_advise(struct file *f,
                      uint64_t offset,
                      uint64_t len,
                      enum file_advice advice);
void sim__file_close(struct file *f);

/* --- world_sim_names.c --------------------------------------------------- */

/* The entries of world_ops for names and locks. */
int sim__rename(struct world *w,
                const char *from,
                const char *to,
                struct err *err);
int sim__remove(struct world *w, const char *path, struct err *err);
int sim__mkdir(struct world *w, const char *path, struct err *err);
int sim__rmdir(struct world *w, const char *path, struct err *err);
int sim__stat(struct world *w,
              const char *path,
              struct file_info *info,
              struct err *err);
int sim__sync_dir(struct world *w, const char *path, struct err *err);
int sim__space(struct world *w,
               const char *path,
               uint64_t *capacity_bytes,
               uint64_t *free_bytes,
               struct err *err);
int sim__list(struct world *w,
              const char *path,
              char ***names,
              size_t *count,
              struct err *err);
int sim__lock(struct world *w,
              const char *path,
              struct file_lock **out,
              struct err *err);
void sim__unlock(struct file_lock *l);

/* --- world_sim_stream.c -------------------------------------------------- */

/* The entries of world_ops for streams. */
int sim__listen(struct loop *l,
                const char *address,
                struct stream_listener **out,
                struct err *err);
int sim__connect(struct loop *l,
                 const char *address,
                 struct stream **out,
                 struct err *err);

#endif /* BASE_SIM_WORLD_SIM_H */
