/* Files of the simulated disk, and the effect of a loss of power on them.
 * Unsynced writes are kept as a list, each with its bytes, and applied to
 * the durable copy one sector at a time, so that torn writes are as likely
 * as the seed wants them. Memory per file is twice its size, which is small
 * in simulations. */
#include "base/sim/sim_disk.h"

#include <errno.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/sim/sim.h"

/* --- nodes --------------------------------------------------------------- */

static void drop_writes(struct sim_node *n)
{
    while (n->writes) {
        struct sim_write *next = n->writes->next;
        mem_free(n->writes);
        n->writes = next;
    }
    n->writes_end = &n->writes;
}

struct sim_node *sim__node_new(struct sim_disk *d, bool is_dir)
{
    struct sim_node *n = mem_zalloc(1, sizeof(*n));
    n->is_dir = is_dir;
    n->writes_end = &n->writes;
    n->changes_end = &n->changes;
    n->next = d->all;
    if (d->all)
        d->all->prev = n;
    d->all = n;
    return n;
}

struct sim_node *sim_node_ref(struct sim_node *n)
{
    n->refs++;
    return n;
}

void sim_node_unref(struct sim_disk *d, struct sim_node *n)
{
    INVARIANT(n->refs > 0);
    if (--n->refs)
        return;
    if (n->prev)
        n->prev->next = n->next;
    else
        d->all = n->next;
    if (n->next)
        n->next->prev = n->prev;
    d->used_bytes -= n->data.len;
    drop_writes(n);
    buf_close(&n->data);
    buf_close(&n->disk);
    sim__names_free(d, n);
    mem_free(n);
}

void sim_disk_init(struct sim_disk *d)
{
    *d = (struct sim_disk){.root = NULL};
    d->root = sim_node_ref(sim__node_new(d, true));
}

void sim_disk_close(struct sim_disk *d)
{
    sim_node_unref(d, d->root);
    PRE(!d->all);
}

/* --- contents ------------------------------------------------------------ */

static void put_bytes(struct buf *b, uint64_t at, const char *p, size_t len)
{
    if (b->len < at + len)
        buf_append_fill(b, 0, (size_t)at + len - b->len);
    memcpy(b->data + at, p, len);
}

static void set_size(struct buf *b, uint64_t bytes)
{
    if (bytes > b->len)
        buf_append_fill(b, 0, (size_t)bytes - b->len);
    else
        buf_truncate(b, (size_t)bytes);
}

static void add_write(struct sim_node *n, struct sim_write *w)
{
    w->next = NULL;
    *n->writes_end = w;
    n->writes_end = &w->next;
}

/* How many bytes of [offset, offset+len) the disk has room for. */
static size_t room_for(const struct sim_disk *d,
                       const struct sim_node *n,
                       uint64_t offset,
                       size_t len)
{
    uint64_t end = offset + len;
    uint64_t room;
    if (d->bytes_max == 0 || end <= n->data.len)
        return len;
    room = d->bytes_max > d->used_bytes ? d->bytes_max - d->used_bytes : 0;
    if (end - n->data.len <= room)
        return len;
    end = n->data.len + room;
    return end > offset ? (size_t)(end - offset) : 0;
}

size_t sim_write(struct sim_disk *d,
                 struct sim_node *n,
                 uint64_t offset,
                 const char *data,
                 size_t len)
{
    struct sim_write *w;
    size_t before = n->data.len;
    len = room_for(d, n, offset, len);
    if (len == 0)
        return 0;
    w = mem_alloc(sizeof(*w) + len);
    w->offset = offset;
    w->len = len;
    w->truncate = false;
    memcpy(w->data, data, len);
    add_write(n, w);
    put_bytes(&n->data, offset, data, len);
    d->used_bytes += n->data.len - before;
    return len;
}

int sim_truncate(struct sim_disk *d, struct sim_node *n, uint64_t bytes)
{
    struct sim_write *w;
    if (bytes > n->data.len && d->bytes_max &&
        d->used_bytes + (bytes - n->data.len) > d->bytes_max)
        return ENOSPC;
    w = mem_zalloc(1, sizeof(*w));
    w->offset = bytes;
    w->truncate = true;
    add_write(n, w);
    d->used_bytes -= n->data.len;
    set_size(&n->data, bytes);
    d->used_bytes += n->data.len;
    return 0;
}

/* Apply all of @w to the disk state. */
static void sim_disk_apply(struct sim_node *n, const struct sim_write *w)
{
    if (w->truncate)
        set_size(&n->disk, w->offset);
    else
        put_bytes(&n->disk, w->offset, w->data, w->len);
}

void sim_sync_data(struct sim_node *n)
{
    for (const struct sim_write *w = n->writes; w; w = w->next)
        sim_disk_apply(n, w);
    drop_writes(n);
}

/* --- loss ---------------------------------------------------------------- */

/* Apply some of the sectors that @w touches to the disk state. */
static void
apply_torn(struct sim_node *n, const struct sim_write *w, struct rand_gen *r)
{
    uint64_t at = w->offset;
    uint64_t end = w->offset + w->len;
    while (at < end) {
        uint64_t next =
            MIN_OF((at / SIM_SECTOR_BYTES + 1) * SIM_SECTOR_BYTES, end);
        if (rand_one_in(r, 2))
            put_bytes(&n->disk, at, w->data + (at - w->offset),
                      (size_t)(next - at));
        at = next;
    }
}

static void lose_writes(struct sim_node *n, enum loss loss, struct rand_gen *r)
{
    for (const struct sim_write *w = n->writes; w; w = w->next) {
        uint64_t fate = loss == LOSE_SOME ? rand_below(r, 3) : loss;
        if (fate == LOSE_NONE)
            sim_disk_apply(n, w);
        else if (fate == LOSE_SOME && !w->truncate)
            apply_torn(n, w, r);
    }
    drop_writes(n);
}

void sim_fail_sync(struct sim_node *n, struct rand_gen *r)
{
    lose_writes(n, LOSE_SOME, r);
}

static void crash_file(struct sim_disk *d, struct sim_node *n)
{
    d->used_bytes -= n->data.len;
    buf_clear(&n->data);
    buf_append_slice(&n->data, buf_slice(&n->disk));
    d->used_bytes += n->data.len;
}

void sim_disk_crash(struct sim_disk *d, struct rand_gen *r)
{
    /* One time in four everything or nothing is lost: the common cases on
     * real machines, and those that programs most easily get wrong. */
    uint64_t draw = rand_below(r, 8);
    enum loss loss = draw == 0 ? LOSE_ALL : draw == 1 ? LOSE_NONE : LOSE_SOME;
    uint64_t seed = rand_u64(r);
    struct sim_node **nodes;
    size_t count = 0;
    for (struct sim_node *n = d->all; n; n = n->next)
        count++;
    nodes = mem_zalloc(count, sizeof(*nodes));
    count = 0;
    for (struct sim_node *n = d->all; n; n = n->next)
        nodes[count++] = sim_node_ref(n);
    for (size_t i = 0; i < count; i++) {
        if (nodes[i]->is_dir) {
            sim__names_crash(d, nodes[i], loss, seed);
        } else {
            lose_writes(nodes[i], loss, r);
            crash_file(d, nodes[i]);
        }
    }
    for (size_t i = 0; i < count; i++)
        sim_node_unref(d, nodes[i]);
    mem_free(nodes);
}
