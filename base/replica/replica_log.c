/* A log is made, opened after the records that were read, and closed.
 *
 * A process that opens a log counts on everything it read, and other members
 * will learn of it; but the process before may have left it in the page cache
 * only. So opening writes the unsynced part again and syncs it.
 */
#include "base/replica/replica_log.h"

#include "base/core/panic.h"
#include "base/crypt/sealer.h"
#include "base/replica/log_state.h"
#include "base/runtime/world.h"

static struct replica_log *new_log(const struct replica_log_options *opts)
{
    struct replica_log *l = mem_zalloc(1, sizeof(*l));
    PRE(opts->world && opts->directory);
    PRE(opts->segment_bytes <= LOG_SEGMENT_MAX);
    l->world = opts->world;
    l->directory = mem_strdup(opts->directory);
    l->keyring = opts->keyring;
    l->segment_bytes =
        opts->segment_bytes ? opts->segment_bytes : LOG_SEGMENT_BYTES;
    return l;
}

static void free_log(struct replica_log *l)
{
    PRE(l->segments || l->count == 0);
    PRE(l->count <= l->cap);
    log_file_close(&l->file);
    log_file_close(&l->spare);
    log_file_close(&l->making);
    log_synced_close(&l->synced_file);
    buf_close(&l->batch);
    buf_close(&l->commands);
    buf_close(&l->sealed);
    unit_sealer_free(l->sealer);
    mem_free(l->segments);
    mem_free(l->directory);
    mem_free(l);
}

void replica_log_close(struct replica_log *l)
{
    if (!l)
        return;
    replica_log_mark(l);
    free_log(l);
}

static int remove_all(struct replica_log *l, struct err *err)
{
    struct buf path = BUF_INIT;
    char **names;
    size_t count;
    int rc = world_list(l->world, l->directory, &names, &count, err);
    if (rc)
        return rc;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        buf_clear(&path);
        buf_printf(&path, "%s/%s", l->directory, names[i]);
        rc = world_remove(l->world, buf_cstr(&path), err);
    }
    world_names_free(names, count);
    buf_close(&path);
    return rc;
}

int replica_log_create(const struct replica_log_options *opts,
                       uint64_t index,
                       uint64_t term,
                       struct err *err)
{
    struct replica_log *l = new_log(opts);
    int rc = remove_all(l, err);
    l->ends =
        (struct log_ends){.term = term, .index = index, .index_term = term};
    if (rc == 0)
        rc = replica_log__begin_segment(l, 1, err);
    POST(rc || (l->count == 1 && l->position == 0));
    free_log(l);
    return rc;
}

/* Continue in the last segment, after the records that were read. Records that
 * a process left in the page cache count from now on. If its sync failed, the
 * system believes them to be on the disk and another sync does nothing, so they
 * are written again. */
static int
continue_segment(struct replica_log *l, uint64_t synced, struct err *err)
{
    uint64_t begin = MAX_OF(synced, replica_log__current(l)->base);
    struct buf path = BUF_INIT;
    struct log_reach reach;
    int rc;
    replica_log_path(l->directory, replica_log__current(l)->number, &path);
    rc = log_file_open(
        &l->file, l->world, buf_cstr(&path), replica_log__offset(l, begin),
        replica_log__offset(l, l->position), l->segment_bytes, err);
    if (rc == 0)
        rc = log_file_sync(&l->file, err);
    if (rc == 0)
        rc = log_synced_open(&l->synced_file, l->world, l->directory, err);
    if (rc == 0)
        rc = world_sync_dir(l->world, l->directory, err);
    if (rc)
        err_wrap(err, "%s", buf_cstr(&path));
    buf_close(&path);
    if (rc)
        return rc;
    l->synced = l->position;
    l->file_bytes = l->segment_bytes;
    replica_log__current(l)->bytes = l->file.bytes;
    replica_log__check(l);
    reach = replica_log__reach(l);
    return log_synced_begin(&l->synced_file, &reach, err);
}

static int
begin_after(struct replica_log *l, const struct log_tail *tail, struct err *err)
{
    int rc = continue_segment(l, tail->synced, err);
    PRE(l->count > 0);
    for (size_t i = 0; rc == 0 && i < tail->leftover_count; i++)
        replica_log__remove_segment(l, tail->leftovers[i]);
    if (rc == 0)
        replica_log__remove_spare(l);
    /* A torn end stays: the base of the next segment cuts it off. A segment of
     * an older version gets no records that its readers do not know. */
    if (rc == 0 && tail->is_sealed)
        rc = replica_log__take_sealer(l, err);
    if (rc == 0 && (!tail->clean || tail->torn || tail->old ||
                    tail->is_sealed != (l->keyring != NULL)))
        rc = replica_log__begin_segment(l, replica_log__current(l)->number + 1,
                                        err);
    return rc;
}

int replica_log_open(const struct replica_log_options *opts,
                     struct replica_log **out,
                     struct replica_log_state *state,
                     struct err *err)
{
    struct log_tail tail;
    struct replica_log *l = NULL;
    int rc = log_read_all(opts, state, &tail, err);
    *out = NULL;
    if (rc) {
        mem_free(tail.leftovers);
        mem_free(tail.segments);
        raft_log_close(&state->entries);
        return rc;
    }
    l = new_log(opts);
    l->segments = tail.segments;
    l->count = l->cap = tail.count;
    l->position = tail.position;
    l->ends.term = state->term;
    l->ends.vote = state->vote;
    l->ends.index = raft_log_last(&state->entries);
    l->ends.index_term = raft_log_term(&state->entries, l->ends.index);
    l->flushed = l->ends;
    INVARIANT(l->count > 0 && tail.synced <= tail.position);
    rc = begin_after(l, &tail, err);
    mem_free(tail.leftovers);
    if (rc) {
        free_log(l);
        raft_log_close(&state->entries);
        return rc;
    }
    *out = l;
    return 0;
}

int replica_log_read(const struct replica_log_options *opts,
                     struct replica_log_state *state,
                     struct err *err)
{
    struct log_tail tail;
    int rc = log_read_all(opts, state, &tail, err);
    mem_free(tail.leftovers);
    mem_free(tail.segments);
    if (rc)
        raft_log_close(&state->entries);
    return rc;
}
