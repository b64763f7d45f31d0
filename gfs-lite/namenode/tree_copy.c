/* The leader's part of operations on whole trees, which take several commands.
 * Snapshots: the open chunks are sealed first, then the copy is made
 * (tree_snapshot.c), while commands that would change the source wait.
 * Replication: a step a command until all files have it.
 */
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "gfs-lite/namenode/namenode_state.h"

/* Between looks at a copy that another fiber makes. */
#define WAIT_US UINT64_C(10000)

int namenode_prepare_snapshot(struct namenode *nn,
                              struct gfs_command *c,
                              struct err *err)
{
    const struct names *ns = &nn->catalog.names;
    struct writer_view gone = {.present = false};
    int rc = namenode_lead_now(nn, err);
    PRE(c->op == GFS_OP_SNAPSHOT);
    c->length = nn->options.copy_step;
    while (rc == 0 && !names_is_copying(ns) && !namenode_is_answered(nn, c)) {
        struct inode *top;
        const struct inode *open;
        uint64_t length;
        rc = names_find(ns, c->path, &top, err);
        open = rc ? NULL : names_find_unsealed(ns, top);
        if (!open)
            break;
        rc = namenode_recover(nn, open->id, inode_last_chunk(open)->handle,
                              &gone, false, &length, err);
    }
    return rc == ERR_NOTFOUND ? 0 : rc; /* The command itself reports it. */
}

bool namenode_waits_for_copy(const struct gfs_command *c,
                             int rc,
                             const struct gfs_result *r)
{
    return r->code == ERR_UNAVAILABLE ||
           (rc == 0 && c->op == GFS_OP_SNAPSHOT && r->file);
}

static int copy_step(struct namenode *nn, struct err *err)
{
    struct gfs_command c = {.op = GFS_OP_COPY, .length = nn->options.copy_step};
    struct buf reply = BUF_INIT;
    struct gfs_result r;
    int rc;
    PRE(!nn->copies_tree);
    nn->copies_tree = true;
    rc = namenode_propose(nn, &c, &r, &reply, err);
    namenode_rest(nn);
    nn->copies_tree = false;
    buf_close(&reply);
    return rc;
}

int namenode_finish_copy(struct namenode *nn, struct err *err)
{
    const struct tree_copy *k = &nn->catalog.names.copy;
    uint64_t number = k->source ? k->top->id : 0;
    int rc = fiber_check(err);
    while (rc == 0 && k->source && k->top->id == number) {
        if (!nn->copies_tree) {
            rc = copy_step(nn, err);
        } else {
            world_sleep_us(nn->world, WAIT_US);
            rc = namenode_lead(nn, err);
        }
        if (rc == 0)
            rc = fiber_check(err);
    }
    return rc;
}

void namenode_continue_copy(struct namenode *nn, unsigned steps)
{
    for (;
         steps > 0 && !nn->copies_tree && names_is_copying(&nn->catalog.names);
         steps--)
        if (copy_step(nn, NULL))
            return;
}

int namenode_replicate_rest(struct namenode *nn,
                            const struct gfs_command *c,
                            struct slice after,
                            struct err *err)
{
    struct gfs_command step = {.op = GFS_OP_REPLICATE,
                               .path = c->path,
                               .replication = c->replication,
                               .length = nn->options.copy_step};
    struct buf behind = BUF_INIT;
    struct buf reply = BUF_INIT;
    int rc = 0;
    buf_append_slice(&behind, after);
    while (rc == 0 && behind.len) {
        struct gfs_result r = {.code = 0};
        buf_clear(&reply);
        step.to = buf_slice(&behind);
        rc = namenode_propose(nn, &step, &r, &reply, err);
        namenode_rest(nn);
        if (rc == 0) {
            buf_clear(&behind);
            buf_append_slice(&behind, r.text);
        } else if (namenode_waits_for_copy(&step, rc, &r)) {
            rc = namenode_finish_copy(nn, err);
        }
        if (rc == 0)
            rc = fiber_check(err);
    }
    buf_close(&behind);
    buf_close(&reply);
    return rc;
}
