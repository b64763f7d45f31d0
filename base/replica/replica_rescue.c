/* The last resort of a cell that lost its majority for good: one of the
 * remaining members continues alone, by an entry in its log that makes it the
 * only one.
 */
#include <inttypes.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/replica/replica_state.h"

static int load_nothing(void *ctx, struct slice image, struct err *err)
{
    (void)ctx;
    (void)image;
    (void)err;
    return 0;
}

/* Append the table with this member alone, as an entry of a term without a
 * leader. It is in force once it is in the log, and is committed, with all
 * entries before it, when this member has elected itself. */
static int
write_table(struct replica *r, const struct raft_member *self, struct err *err)
{
    struct raft_config alone = {.count = 1, .members = {*self}};
    struct raft_entry entry = {.term = raft_term(r->raft) + 1,
                               .kind = RAFT_ENTRY_CONFIG};
    struct replica_log_op ops[] = {
        {.kind = REPLICA_LOG_META, .term = entry.term},
        {.kind = REPLICA_LOG_APPEND,
         .index = raft_log_last(raft_entries(r->raft)) + 1,
         .entries = &entry,
         .entry_count = 1}};
    struct buf bytes = BUF_INIT;
    size_t done;
    int rc;
    PRE(self->voting && self->id == r->id);
    raft_config_encode(&alone, &bytes);
    entry.bytes = raft_bytes_new(buf_slice(&bytes));
    rc = replica_log_write(r->log, ops, ARRAY_LEN(ops), &done, err);
    INVARIANT(rc || done == ARRAY_LEN(ops));
    raft_bytes_unref(entry.bytes);
    buf_close(&bytes);
    return rc;
}

static int leave_alone(struct replica *r, size_t *others, struct err *err)
{
    const struct raft_config *c = raft_members(r->raft);
    const struct raft_member *self = raft_config_find(c, r->id);
    PRE(r->lock);
    PRE(!r->outside);
    *others = c->count ? c->count - 1 : 0;
    if (r->joining || !self || !self->voting)
        return err_set(err, ERR_INVALID,
                       "%s: member %" PRIu64 " was not a voter of the cell: it "
                       "may lack what others have",
                       r->directory, r->id);
    return *others ? write_table(r, self, err) : 0;
}

int replica_rescue(struct world *w,
                   const char *name,
                   const char *directory,
                   struct master_keys *masters,
                   size_t *others,
                   struct err *err)
{
    const struct replica_machine machine = {.load = load_nothing};
    const struct replica_options opts = {.name = name,
                                         .directory = directory,
                                         .address = "",
                                         .master_keys = masters};
    struct replica *r = replica__new(w, &machine, &opts);
    int rc = replica__reopen(r, err);
    POST(rc || r->id > 0);
    *others = 0;
    if (rc == 0)
        rc = leave_alone(r, others, err);
    replica__free(r);
    return rc;
}
