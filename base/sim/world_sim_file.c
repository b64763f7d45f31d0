/* Files of the simulated world: faults and delays around the disk in memory.
 * Every call passes sim__begin(), which counts it, so that a sweep can fail
 * or cut the power at any operation of a scenario, one after the other. */
#include <errno.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/sim/world_sim.h"

struct sim_file {
    struct file base;
    struct sim_node *node; /* Referenced. */
    uint64_t life;         /* The power-up it was opened in. */
    unsigned flags;
    char *path; /* For messages and trace. Owned. */
};

static struct sim_file *sim_file(struct file *f)
{
    return (struct sim_file *)f;
}

/* --- the beginning of every operation ------------------------------------ */

static int power_lost(const char *what, const char *path, struct err *err)
{
    return err_set(err, ERR_IO, "%s %s: power lost", what, path);
}

/* Count the operation; true when it is one at which the power goes. */
static bool count_op(struct sim_world *w, enum sim_op op)
{
    bool off = ++w->op_count == w->off_at_op;
    if (op == SIM_SYNC)
        off |= ++w->sync_count == w->off_at_sync;
    if (op == SIM_WRITE)
        off |= ++w->write_count == w->off_at_write;
    return off;
}

static uint32_t delay_of(const struct sim_options *o, enum sim_op op)
{
    switch (op) {
    case SIM_READ: return o->read_us;
    case SIM_WRITE: return o->write_us;
    case SIM_SYNC: return o->sync_us;
    case SIM_NAME: return o->name_us;
    }
    return 0;
}

static uint32_t error_rate_of(const struct sim_options *o, enum sim_op op)
{
    switch (op) {
    case SIM_READ: return o->read_error_rate;
    case SIM_NAME:
    case SIM_WRITE: return o->write_error_rate;
    case SIM_SYNC: return o->sync_error_rate;
    }
    return 0;
}

/* True if the disk refuses. The disk of a crashed machine still serves the
 * director, which inspects it from outside, if there is power. */
static bool is_off(const struct sim_world *w)
{
    struct fiber *f = fiber_self();
    return w->off || (w->dead && f && loop_world(fiber_loop(f)) == &w->base);
}

static int world_sim_file_decide(struct sim_world *w,
                                 enum sim_op op,
                                 const char *what,
                                 const char *path,
                                 struct err *err)
{
    if (is_off(w))
        return power_lost(what, path, err);
    if (count_op(w, op)) {
        w->off = true;
        return power_lost(what, path, err);
    }
    if (w->op_count == w->fail_at_op)
        return err_set(err, ERR_IO, "%s %s: simulated failure", what, path);
    if (sim__chance(&w->faults, error_rate_of(&w->options, op)))
        return err_set(err, ERR_IO, "%s %s: simulated disk error", what, path);
    return 0;
}

int sim__begin(struct sim_world *w,
               enum sim_op op,
               const char *what,
               const char *path,
               struct err *err)
{
    int rc;
    sim__delay(w, delay_of(&w->options, op));
    rc = world_sim_file_decide(w, op, what, path, err);
    sim__trace(w->cluster, "%s %s%s%s", what, path, rc ? ": " : "",
               rc ? err_name(rc) : "");
    return rc;
}

/* The same for an open file, which may date from before a loss of power. */
static int begin_file(struct sim_file *f,
                      enum sim_op op,
                      const char *what,
                      struct err *err)
{
    struct sim_world *w = sim_world(f->base.world);
    if (f->life != w->life)
        return power_lost(what, f->path, err);
    return sim__begin(w, op, what, f->path, err);
}

static uint64_t now_us(struct sim_world *w)
{
    return world_now_us(&w->base);
}

/* --- open and close ------------------------------------------------------ */

/* The node to open, made or emptied as @flags say. */
static int get_node(struct sim_world *w,
                    const char *path,
                    unsigned flags,
                    struct sim_node **out)
{
    int errnum;
    struct sim_node *n = sim_find(&w->disk, path, &errnum);
    if (!n && errnum == ENOENT && (flags & FILE_CREATE))
        return sim_create(&w->disk, path, false, now_us(w), out);
    if (!n)
        return errnum;
    if ((flags & FILE_CREATE) && (flags & FILE_EXCLUSIVE))
        return EEXIST;
    if (n->is_dir)
        return EISDIR;
    if ((flags & FILE_TRUNCATE) && n->data.len)
        sim_truncate(&w->disk, n, 0);
    *out = n;
    return 0;
}

int sim__file_open(struct world *base,
                   const char *path,
                   unsigned flags,
                   struct file **out,
                   struct err *err)
{
    struct sim_world *w = sim_world(base);
    struct sim_node *n = NULL;
    struct sim_file *f;
    int errnum;
    int rc = sim__begin(w, SIM_NAME, "open", path, err);
    if (rc)
        return rc;
    errnum = get_node(w, path, flags, &n);
    if (errnum == EISDIR)
        return err_set(err, ERR_INVALID, "%s: is a directory", path);
    if (errnum)
        return err_set_errno(err, errnum, "%s", path);
    f = mem_zalloc(1, sizeof(*f));
    f->base.world = base;
    f->node = sim_node_ref(n);
    f->life = w->life;
    f->flags = flags;
    f->path = mem_strdup(path);
    *out = &f->base;
    return 0;
}

void sim__file_close(struct file *base)
{
    struct sim_file *f = sim_file(base);
    sim_node_unref(&sim_world(base->world)->disk, f->node);
    mem_free(f->path);
    mem_free(f);
}

/* --- reading and writing ------------------------------------------------- */

static bool
is_aligned(const struct sim_file *f, uint64_t offset, const void *p, size_t len)
{
    return !(f->flags & FILE_DIRECT) ||
           (offset % FILE_DIRECT_ALIGN == 0 &&
            (uintptr_t)p % FILE_DIRECT_ALIGN == 0 &&
            len % FILE_DIRECT_ALIGN == 0);
}

int sim__file_read_at(struct file *base,
                      uint64_t offset,
                      void *dst,
                      size_t len,
                      size_t *got,
                      struct err *err)
{
    struct sim_file *f = sim_file(base);
    struct sim_world *w = sim_world(base->world);
    const struct buf *data = &f->node->data;
    int rc;
    PRE(f->flags & FILE_READ);
    PRE(is_aligned(f, offset, dst, len));
    rc = begin_file(f, SIM_READ, "read", err);
    if (rc)
        return rc;
    if (offset >= data->len || len == 0)
        return 0;
    *got = MIN_OF(len, data->len - (size_t)offset);
    memcpy(dst, data->data + offset, *got);
    if (sim__chance(&w->faults, w->options.read_flip_rate))
        ((unsigned char *)dst)[rand_below(&w->faults, *got)] ^=
            (unsigned char)(1u << rand_below(&w->faults, 8));
    return 0;
}

static int write_part(struct sim_file *f,
                      uint64_t offset,
                      struct slice part,
                      struct err *err)
{
    struct sim_world *w = sim_world(f->base.world);
    size_t n = sim_write(&w->disk, f->node, offset, part.data, part.len);
    f->node->modified_us = now_us(w);
    if (n < part.len)
        return err_set_errno(err, ENOSPC, "write %s at %llu", f->path,
                             (unsigned long long)(offset + n));
    return 0;
}

/* A write that fails may have written any part of itself. */
static void write_some(struct sim_file *f,
                       uint64_t offset,
                       const struct slice *parts,
                       size_t part_count)
{
    struct sim_world *w = sim_world(f->base.world);
    size_t whole = rand_below(&w->faults, part_count + 1);
    for (size_t i = 0; i < part_count && i <= whole; i++) {
        size_t len = parts[i].len;
        if (i == whole)
            len = rand_below(&w->faults, len + 1);
        if (sim_write(&w->disk, f->node, offset, parts[i].data, len) < len)
            return;
        offset += len;
    }
}

int sim__file_write_at(struct file *base,
                       uint64_t offset,
                       const struct slice *parts,
                       size_t part_count,
                       struct err *err)
{
    struct sim_file *f = sim_file(base);
    bool was_off = is_off(sim_world(base->world));
    int rc;
    PRE(f->flags & FILE_WRITE);
    for (size_t i = 0; i < part_count; i++)
        PRE(is_aligned(f, offset, parts[i].data, parts[i].len));
    rc = begin_file(f, SIM_WRITE, "write", err);
    if (rc && !was_off && f->life == sim_world(base->world)->life)
        write_some(f, offset, parts, part_count);
    for (size_t i = 0; i < part_count && rc == 0; i++) {
        rc = write_part(f, offset, parts[i], err);
        offset += parts[i].len;
    }
    return rc;
}

int sim__file_sync(struct file *base, struct err *err)
{
    struct sim_file *f = sim_file(base);
    struct sim_world *w = sim_world(base->world);
    bool was_off = is_off(w);
    int rc = begin_file(f, SIM_SYNC, "sync", err);
    if (rc == 0)
        sim_sync_data(f->node);
    else if (!was_off && f->life == w->life)
        sim_fail_sync(f->node, &w->faults);
    return rc;
}

/* --- the rest ------------------------------------------------------------ */

int sim__file_size(struct file *base, uint64_t *bytes, struct err *err)
{
    struct sim_file *f = sim_file(base);
    struct sim_world *w = sim_world(base->world);
    if (is_off(w) || f->life != w->life)
        return power_lost("stat", f->path, err);
    *bytes = f->node->data.len;
    return 0;
}

int sim__file_truncate(struct file *base, uint64_t bytes, struct err *err)
{
    struct sim_file *f = sim_file(base);
    int errnum;
    int rc;
    PRE(f->flags & FILE_WRITE);
    rc = begin_file(f, SIM_WRITE, "truncate", err);
    if (rc)
        return rc;
    errnum = sim_truncate(&sim_world(base->world)->disk, f->node, bytes);
    return errnum ? err_set_errno(err, errnum, "truncate %s", f->path) : 0;
}

void sim__file_allocate(struct file *base, uint64_t bytes)
{
    (void)base; /* A hint, which this disk ignores. */
    (void)bytes;
}

void sim__file_advise(struct file *base,
                      uint64_t offset,
                      uint64_t len,
                      enum file_advice advice)
{
    (void)base;
    (void)offset;
    (void)len;
    (void)advice;
}

/* --- power and faults ---------------------------------------------------- */

static uint64_t nth_from(uint64_t count, uint64_t n)
{
    return n ? count + n : 0;
}

void sim_power_off_at_sync(struct world *w, uint64_t n)
{
    sim_world(w)->off_at_sync = nth_from(sim_world(w)->sync_count, n);
}

void sim_power_off_at_write(struct world *w, uint64_t n)
{
    sim_world(w)->off_at_write = nth_from(sim_world(w)->write_count, n);
}

void sim_power_off_at_op(struct world *w, uint64_t n)
{
    sim_world(w)->off_at_op = nth_from(sim_world(w)->op_count, n);
}

void sim_fail_at_op(struct world *w, uint64_t n)
{
    sim_world(w)->fail_at_op = nth_from(sim_world(w)->op_count, n);
}

void sim_power_off(struct world *w)
{
    sim_world(w)->off = true;
}

bool sim_is_off(const struct world *w)
{
    return sim_world_const(w)->off;
}

void sim_power_on(struct world *base)
{
    struct sim_world *w = sim_world(base);
    sim_disk_crash(&w->disk, &w->faults);
    w->life++;
    w->off = false;
    w->off_at_sync = 0;
    w->off_at_write = 0;
    w->off_at_op = 0;
    w->fail_at_op = 0;
    trace_add(&w->cluster->trace, w->cluster->now_ns / 1000,
              "-------- power on %s", w->name);
}

int sim_flip_bit(struct world *base,
                 const char *path,
                 uint64_t offset,
                 unsigned bit,
                 struct err *err)
{
    int errnum;
    struct sim_node *n = sim_find(&sim_world(base)->disk, path, &errnum);
    PRE(bit < 8);
    if (!n)
        return err_set_errno(err, errnum, "%s", path);
    if (n->is_dir || offset >= n->data.len)
        return err_set(err, ERR_INVALID, "%s: no byte %llu", path,
                       (unsigned long long)offset);
    n->data.data[offset] = (char)(n->data.data[offset] ^ (1 << bit));
    if (offset < n->disk.len)
        n->disk.data[offset] = n->data.data[offset];
    return 0;
}
