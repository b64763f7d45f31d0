/* The parts of the simulated world, one file each. Private to world_sim*.c. */
#ifndef BASE_RUNTIME_WORLD_SIM_H
#define BASE_RUNTIME_WORLD_SIM_H

#include "base/core/rand.h"
#include "base/core/trace.h"
#include "base/runtime/fiber_loop.h"
#include "base/runtime/sim.h"
#include "base/runtime/sim_disk.h"

struct sim_loop {
    struct loop base;
    struct sim_loop *next; /* In the world's list. */
    struct fiber *runner;  /* Inside loop_run(). */
    struct task *task;     /* Of loop_start(). */
};

struct sim_world {
    struct world base;
    struct sim_options options;
    struct rand_gen order;  /* Draws who runs next, */
    struct rand_gen faults; /* what fails and what is lost, */
    struct rand_gen user;   /* and what world_random() gives. */
    uint64_t mono_ns;
    struct trace trace;
    /* Scheduler */
    struct sim_loop *loops; /* All; the last is the tasks' own, `main`. */
    struct sim_loop *main;
    struct fiber **ready; /* Owned; in no particular order. */
    size_t ready_count;
    size_t ready_cap;
    size_t task_count; /* Not yet joined. */
    bool driving;      /* Inside sim_run(). */
    struct sim_listener *listeners;
    /* Disk */
    struct sim_disk disk;
    uint64_t life; /* Power-ups: open files know theirs. */
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

/* Let virtual time go by; yields at least. Nothing outside sim_run(). */
void sim__delay(struct sim_world *w, uint32_t about_us);
/* True @rate times in a million. */
bool sim__chance(struct sim_world *w, uint32_t rate);
/* The running fiber's name, or "-". */
const char *sim__who(void);

/* --- world_sim_file.c: the entries of world_ops for files --------------- */

enum sim_op {
    SIM_READ,
    SIM_WRITE,
    SIM_SYNC,
    SIM_NAME
};

/* Every operation begins with this: lets time go by, counts, and fails when the
 * power is off or goes off now, when the operation's turn to fail has come, or
 * when its kind's rate says so. @what and @path are for messages and trace. */
MUST_CHECK int sim__begin(struct sim_world *w,
                          enum sim_op op,
                          const char *what,
                          const char *path,
                          struct err *err);

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

/* --- world_sim_names.c: those for names and locks ------------------------ */

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

int sim__listen(struct loop *l,
                const char *address,
                struct stream_listener **out,
                struct err *err);
int sim__connect(struct loop *l,
                 const char *address,
                 struct stream **out,
                 struct err *err);

#endif /* BASE_RUNTIME_WORLD_SIM_H */
