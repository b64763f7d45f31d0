/* Operations become records, records a batch, and a batch is written and synced
 * at once (group commit). `position`, `synced` and `flushed` move only when the
 * sync has succeeded; until then a failure takes the whole batch back.
 */
#include <inttypes.h>

#include "base/core/fault.h"
#include "base/core/panic.h"
#include "base/replica/log_state.h"

/* Bounds of commands that share a record: bytes, and a part of a segment. */
#define COMMANDS_BYTES_MAX   65536
#define COMMANDS_PER_SEGMENT 16

static int write_at_end(struct replica_log *l, struct err *err)
{
    uint64_t offset = replica_log__offset(l, l->position);
    uint64_t end = offset + l->batch.len;
    /* Records that reach past the last zeros bring new ones. */
    size_t zeros =
        end > l->file.bytes ? l->segment_bytes / LOG_ZEROS_PER_SEGMENT : 0;
    PRE(l->batch.len > 0);
    return log_file_write(&l->file, offset, buf_slice(&l->batch), zeros, err);
}

/* Write the batch and sync. */
static int log_write_flush(struct replica_log *l, struct err *err)
{
    struct log_reach reach;
    int rc = 0;
    INVARIANT(l->synced <= l->position);
    /* A mark was written without a sync. */
    if (l->batch.len == 0 && l->synced == l->position)
        return 0;
    if (l->batch.len)
        rc = write_at_end(l, err);
    if (rc == 0) {
        if (!fault_hit("replica.skip_sync"))
            rc = log_file_sync(&l->file, err);
        l->failed = l->failed || rc != 0;
    } else if (rc != ERR_FULL) {
        l->failed = true;
    }
    if (rc) {
        err_wrap(err, "log segment %" PRIu64, replica_log__current(l)->number);
        return rc;
    }
    l->position += l->batch.len;
    l->synced = l->position; /* INV-2 */
    reach = replica_log__reach(l);
    log_synced_write(&l->synced_file, &reach);
    l->marked = false;
    l->flushed = l->ends;
    l->done_count = l->op_count;
    replica_log__current(l)->bytes = l->file.bytes;
    buf_clear(&l->batch);
    replica_log__check(l);
    POST(l->synced == l->position);
    POST(l->batch.len == 0);
    return 0;
}

/* Room for @bytes: the next segment is begun if they do not fit. */
static int
log_write_make_room(struct replica_log *l, size_t bytes, struct err *err)
{
    uint64_t used = replica_log__offset(l, l->position) + l->batch.len;
    /* With a spare segment, whose zeros are on the disk, this one gets no more.
     */
    uint64_t most = l->spare.file ? MIN_OF(l->segment_bytes, l->file.bytes)
                                  : l->segment_bytes;
    int rc;
    PRE(bytes > 0);
    if (used + bytes <= most || used == LOG_HEADER_BYTES)
        return 0;
    rc = log_write_flush(l, err);
    if (rc == 0)
        rc = replica_log__begin_segment(l, replica_log__current(l)->number + 1,
                                        err);
    return rc;
}

static int log_write_record(struct replica_log *l,
                            enum log_kind kind,
                            uint64_t index,
                            uint64_t term,
                            struct slice payload,
                            struct err *err)
{
    struct log_record r = {.kind = kind,
                           .index = index,
                           .term = term,
                           .synced = l->synced,
                           .payload = payload};
    size_t stored =
        payload.len + (l->sealer && payload.len ? UNIT_BYTES_MORE : 0);
    int rc = log_write_make_room(l, log_record_bytes(stored), err);
    PRE(stored <= LOG_STORED_MAX);
    if (rc)
        return rc;
    r.synced = l->synced;
    r.position = l->position + l->batch.len;
    if (l->sealer)
        log_record_seal(l->sealer, replica_log__current(l)->number, &r,
                        &l->sealed);
    INVARIANT(r.synced <= r.position);
    log_record_put(replica_log__current(l)->number, &r, &l->batch);
    return 0;
}

static enum log_kind log_kind_of(enum raft_entry_kind kind)
{
    PRE(kind >= RAFT_ENTRY_COMMAND);
    PRE(kind <= RAFT_ENTRY_CONFIG);
    return kind == RAFT_ENTRY_COMMAND ? LOG_COMMAND
           : kind == RAFT_ENTRY_NOOP  ? LOG_NOOP
                                      : LOG_CONFIG;
}

/* The number of the @count entries @e that go into one record, at least one; if
 * there are several, l->commands is its payload. */
static size_t log_write_gather(struct replica_log *l,
                               const struct raft_entry *e,
                               size_t count)
{
    size_t most = (size_t)MIN_OF(COMMANDS_BYTES_MAX,
                                 l->segment_bytes / COMMANDS_PER_SEGMENT);
    size_t n = 0;
    PRE(count > 0);
    buf_clear(&l->commands);
    while (n < count && e[n].kind == RAFT_ENTRY_COMMAND &&
           e[n].term == e[0].term &&
           l->commands.len + log_commands_bytes(e[n].bytes->len) <= most)
        log_commands_put(raft_bytes_slice(e[n++].bytes), &l->commands);
    return MAX_OF(n, 1);
}

static int put_entries(struct replica_log *l,
                       const struct replica_log_op *op,
                       struct err *err)
{
    size_t n;
    PRE(op->entry_count > 0 && op->index > 0);
    /* No gaps: an append may void entries, not skip any. */
    PRE(op->index <= l->ends.index + 1);
    for (size_t i = 0; i < op->entry_count; i += n) {
        const struct raft_entry *e = &op->entries[i];
        uint64_t index = op->index + i;
        int rc;
        n = log_write_gather(l, e, op->entry_count - i);
        rc = n > 1 ? log_write_record(l, LOG_COMMANDS, index, e->term,
                                      buf_slice(&l->commands), err)
                   : log_write_record(l, log_kind_of(e->kind), index, e->term,
                                      raft_bytes_slice(e->bytes), err);
        if (rc)
            return rc;
        replica_log__current(l)->max_index =
            MAX_OF(replica_log__current(l)->max_index, index + n - 1);
        l->ends.index = index + n - 1;
        l->ends.index_term = e->term;
    }
    return 0;
}

static int
put_op(struct replica_log *l, const struct replica_log_op *op, struct err *err)
{
    int rc = 0;
    switch (op->kind) {
    case REPLICA_LOG_META:
        PRE(op->term >= l->ends.term); /* Terms never decrease. */
        rc =
            log_write_record(l, LOG_META, op->vote, op->term, SLICE_EMPTY, err);
        l->ends.term = op->term;
        l->ends.vote = op->vote;
        break;
    case REPLICA_LOG_APPEND: rc = put_entries(l, op, err); break;
    case REPLICA_LOG_RESET:
        rc = log_write_record(l, LOG_RESET, op->index, op->term, SLICE_EMPTY,
                              err);
        /* Their entries are void; they are removed once this is written. */
        for (size_t i = 0; i < l->count; i++)
            l->segments[i].max_index = 0;
        l->ends.index = op->index;
        l->ends.index_term = op->term;
        break;
    case REPLICA_LOG_COMPACT: break; /* log_write_settle() */
    }
    return rc;
}

/* @op is on the disk: release segments that it made useless. */
static void log_write_settle(struct replica_log *l,
                             const struct replica_log_op *op)
{
    if (op->kind == REPLICA_LOG_COMPACT || op->kind == REPLICA_LOG_RESET)
        replica_log__compact(l, op->index);
}

int replica_log_write(struct replica_log *l,
                      const struct replica_log_op *ops,
                      size_t count,
                      size_t *done,
                      struct err *err)
{
    int rc = 0;
    *done = 0;
    if (l->failed)
        return err_set(err, ERR_IO, "the log failed before");
    PRE(l->batch.len == 0); /* INV-3 */
    l->op_count = l->done_count = 0;
    while (rc == 0 && l->op_count < count) {
        rc = put_op(l, &ops[l->op_count], err);
        if (rc == 0)
            l->op_count++;
    }
    if (rc == 0 && l->batch.len)
        rc = log_write_flush(l, err);
    if (rc) {
        buf_clear(&l->batch);
        l->ends = l->flushed;
    } else {
        l->done_count = count;
    }
    INVARIANT(l->done_count <= count && l->batch.len == 0); /* INV-3 */
    for (size_t i = 0; i < l->done_count; i++)
        log_write_settle(l, &ops[i]);
    *done = l->done_count;
    return rc;
}

void replica_log_mark(struct replica_log *l)
{
    if (l->marked || l->failed)
        return;
    PRE(l->batch.len == 0);
    l->marked = true;
    if (log_write_record(l, LOG_MARK, 0, 0, SLICE_EMPTY, NULL) == 0 &&
        write_at_end(l, NULL) == 0)
        l->position += l->batch.len;
    buf_clear(&l->batch);
}
