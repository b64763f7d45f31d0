/* Writing a log: batches, segments, compaction. */
#include "base/replica/log.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "base/core/fault.h"
#include "base/core/panic.h"
#include "base/replica/log_file.h"
#include "base/replica/log_segment.h"
#include "base/runtime/world.h"

/* How far ahead of the records a segment is filled with zeros, in parts of its
 * size, where no spare one was made in time: a sync that follows costs ten
 * times as much as others, because the file's size changes. */
#define ZEROS_PER_SEGMENT 8
/* Commands that are one record, at most: of these bytes, and of this part of a
 * segment. */
#define COMMANDS_BYTES_MAX   65536
#define COMMANDS_PER_SEGMENT 16
/* Writes that fill a spare one: records are written in between. */
#define SPARE_PARTS    128
#define SPARE_PAUSE_US 1000

/* The state that the records so far leave; a header says it. */
struct ends {
    uint64_t term;
    uint64_t vote;
    uint64_t index;
    uint64_t index_term;
};

struct replica_log {
    struct world *world;
    char *directory; /* Owned. */
    uint64_t segment_bytes;
    struct log_segment *segments; /* Oldest first; the last is written. */
    size_t count;
    size_t cap;
    struct log_file file;   /* Of the last segment: zeros behind the records. */
    struct log_file spare;  /* Zeros for the next one; may be closed. */
    struct log_file making; /* The spare, while it is made beside the rest. */
    uint64_t position;      /* Behind the last record that counts. */
    uint64_t synced;        /* Position known to be on the disk. */
    bool marked;            /* A record in the log says so. */
    bool failed;            /* Nothing is known about the disk any more. */
    atomic_bool closing;    /* No spare is made any more. */
    struct ends ends;       /* The batch included. */
    struct buf batch;       /* Records to be written at position. */
    struct buf commands;    /* Of the record that is being made. */
    struct ends flushed; /* As of position: a failed batch falls back to it. */
    size_t op_count;     /* Of a call: all in the batch or before it, */
    size_t done_count;   /* and of these on the disk. */
};

static struct log_segment *current(struct replica_log *l)
{
    return &l->segments[l->count - 1];
}

static uint64_t offset_of(struct replica_log *l, uint64_t position)
{
    return LOG_HEADER_BYTES + position - current(l)->base;
}

/* --- segments ------------------------------------------------------------- */

static void add_segment(struct replica_log *l, uint64_t number)
{
    if (l->count == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 8;
        l->segments = mem_realloc(l->segments, l->cap * sizeof(*l->segments));
    }
    l->segments[l->count++] = (struct log_segment){
        .number = number, .base = l->position, .bytes = LOG_HEADER_BYTES};
}

static int write_header(struct replica_log *l,
                        struct log_file *f,
                        uint64_t number,
                        struct err *err)
{
    const struct ends *e = &l->ends;
    struct log_header h = {.number = number,
                           .base = l->position,
                           .term = e->term,
                           .vote = e->vote,
                           .index = e->index,
                           .index_term = e->index_term};
    struct buf b = BUF_INIT;
    int rc;
    log_header_put(&h, &b);
    rc = log_file_write(f, 0, buf_slice(&b), 0, err);
    buf_close(&b);
    return rc ? rc : log_file_sync(f, err);
}

static int remove_if_there(struct replica_log *l, const char *path)
{
    int rc = world_remove(l->world, path, NULL);
    return rc == ERR_NOTFOUND ? 0 : rc;
}

/* Where zeros for the next segment wait. */
static void spare_path(const struct replica_log *l, struct buf *out)
{
    buf_printf(out, "%s/spare", l->directory);
}

/* The file of a segment that begins, with its header: the one that was made
 * before, or a new one. */
static int make_segment(struct replica_log *l,
                        const char *path,
                        uint64_t number,
                        struct log_file *f,
                        struct err *err)
{
    struct buf spare = BUF_INIT;
    bool is_spare = l->spare.file != NULL;
    int rc = 0;
    if (is_spare) {
        *f = l->spare;
        l->spare = (struct log_file){0};
        spare_path(l, &spare);
    } else {
        rc = log_file_create(f, l->world, path, err);
    }
    if (rc == 0)
        rc = write_header(l, f, number, err);
    if (rc == 0 && is_spare)
        rc = world_rename(l->world, buf_cstr(&spare), path, err);
    buf_close(&spare);
    return rc;
}

/* The header and the name are on the disk before any record is. */
static int
begin_segment(struct replica_log *l, uint64_t number, struct err *err)
{
    struct buf path = BUF_INIT;
    struct log_file f = {0};
    int rc;
    replica_log_path(l->directory, number, &path);
    rc = make_segment(l, buf_cstr(&path), number, &f, err);
    if (rc == 0)
        rc = world_sync_dir(l->world, l->directory, err);
    if (rc) {
        bool made = f.file != NULL;
        err_wrap(err, "%s", buf_cstr(&path));
        log_file_close(&f);
        if (made && remove_if_there(l, buf_cstr(&path)) != 0)
            l->failed = true;
    } else {
        log_file_close(&l->file);
        l->file = f;
        add_segment(l, number);
    }
    buf_close(&path);
    return rc;
}

static void remove_segment(struct replica_log *l, uint64_t number)
{
    struct buf path = BUF_INIT;
    replica_log_path(l->directory, number, &path);
    /* One that stays, or comes back with a loss of power, is removed by the
     * next start: reading begins behind the last gap. */
    if (world_remove(l->world, buf_cstr(&path), NULL) != 0)
        l->marked = false;
    buf_close(&path);
}

/* Let go of the oldest segments that hold nothing behind @index. */
static void compact(struct replica_log *l, uint64_t index)
{
    size_t drop = 0;
    while (drop + 1 < l->count && l->segments[drop].max_index <= index)
        remove_segment(l, l->segments[drop++].number);
    l->count -= drop;
    memmove(l->segments, l->segments + drop, l->count * sizeof(*l->segments));
}

/* --- batches -------------------------------------------------------------- */

static int write_at_end(struct replica_log *l, struct err *err)
{
    uint64_t offset = offset_of(l, l->position);
    uint64_t end = offset + l->batch.len;
    /* Zeros go with the records that reach behind the last ones. */
    size_t zeros =
        end > l->file.bytes ? l->segment_bytes / ZEROS_PER_SEGMENT : 0;
    return log_file_write(&l->file, offset, buf_slice(&l->batch), zeros, err);
}

/* Write the batch and sync. */
static int flush(struct replica_log *l, struct err *err)
{
    int rc = 0;
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
        err_wrap(err, "log segment %" PRIu64, current(l)->number);
        return rc;
    }
    l->position += l->batch.len;
    l->synced = l->position;
    l->marked = false;
    l->flushed = l->ends;
    l->done_count = l->op_count;
    current(l)->bytes = l->file.bytes;
    buf_clear(&l->batch);
    return 0;
}

/* Room for @bytes more: a segment is begun where they would not fit. */
static int make_room(struct replica_log *l, size_t bytes, struct err *err)
{
    uint64_t used = offset_of(l, l->position) + l->batch.len;
    /* Whoever has zeros that are on the disk does not add others. */
    uint64_t most = l->spare.file ? MIN_OF(l->segment_bytes, l->file.bytes)
                                  : l->segment_bytes;
    int rc;
    if (used + bytes <= most || used == LOG_HEADER_BYTES)
        return 0;
    rc = flush(l, err);
    if (rc == 0)
        rc = begin_segment(l, current(l)->number + 1, err);
    return rc;
}

static int put(struct replica_log *l,
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
    int rc = make_room(l, log_record_bytes(payload.len), err);
    if (rc)
        return rc;
    r.synced = l->synced;
    r.position = l->position + l->batch.len;
    log_record_put(current(l)->number, &r, &l->batch);
    return 0;
}

static enum log_kind log_kind_of(enum raft_entry_kind kind)
{
    return kind == RAFT_ENTRY_COMMAND ? LOG_COMMAND
           : kind == RAFT_ENTRY_NOOP  ? LOG_NOOP
                                      : LOG_CONFIG;
}

/* How many of the @count entries @e go into one record; its payload is in
 * l->commands if they are several. */
static size_t
gather(struct replica_log *l, const struct raft_entry *e, size_t count)
{
    size_t most = (size_t)MIN_OF(COMMANDS_BYTES_MAX,
                                 l->segment_bytes / COMMANDS_PER_SEGMENT);
    size_t n = 0;
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
    for (size_t i = 0; i < op->entry_count; i += n) {
        const struct raft_entry *e = &op->entries[i];
        uint64_t index = op->index + i;
        int rc;
        n = gather(l, e, op->entry_count - i);
        rc = n > 1 ? put(l, LOG_COMMANDS, index, e->term,
                         buf_slice(&l->commands), err)
                   : put(l, log_kind_of(e->kind), index, e->term,
                         raft_bytes_slice(e->bytes), err);
        if (rc)
            return rc;
        current(l)->max_index = MAX_OF(current(l)->max_index, index + n - 1);
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
        rc = put(l, LOG_META, op->vote, op->term, SLICE_EMPTY, err);
        l->ends.term = op->term;
        l->ends.vote = op->vote;
        break;
    case REPLICA_LOG_APPEND: rc = put_entries(l, op, err); break;
    case REPLICA_LOG_RESET:
        rc = put(l, LOG_RESET, op->index, op->term, SLICE_EMPTY, err);
        /* What is in them is void; they are removed once this is written. */
        for (size_t i = 0; i < l->count; i++)
            l->segments[i].max_index = 0;
        l->ends.index = op->index;
        l->ends.index_term = op->term;
        break;
    case REPLICA_LOG_COMPACT: break; /* When the rest is on the disk. */
    }
    return rc;
}

/* What follows from operations that are on the disk. */
static void settle(struct replica_log *l, const struct replica_log_op *op)
{
    if (op->kind == REPLICA_LOG_COMPACT || op->kind == REPLICA_LOG_RESET)
        compact(l, op->index);
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
    l->op_count = l->done_count = 0;
    while (rc == 0 && l->op_count < count) {
        rc = put_op(l, &ops[l->op_count], err);
        if (rc == 0)
            l->op_count++;
    }
    if (rc == 0 && l->batch.len)
        rc = flush(l, err);
    if (rc) {
        buf_clear(&l->batch);
        l->ends = l->flushed;
    } else {
        l->done_count = count;
    }
    for (size_t i = 0; i < l->done_count; i++)
        settle(l, &ops[i]);
    *done = l->done_count;
    return rc;
}

void replica_log_mark(struct replica_log *l)
{
    if (l->marked || l->failed)
        return;
    l->marked = true;
    if (put(l, LOG_MARK, 0, 0, SLICE_EMPTY, NULL) == 0 &&
        write_at_end(l, NULL) == 0)
        l->position += l->batch.len;
    buf_clear(&l->batch);
}

/* --- the next segment ----------------------------------------------------- */

bool replica_log_wants_spare(const struct replica_log *l)
{
    uint64_t used =
        LOG_HEADER_BYTES + l->position - l->segments[l->count - 1].base;
    return !l->failed && !l->spare.file &&
           used > l->segment_bytes / ZEROS_PER_SEGMENT / 2 &&
           used + l->segment_bytes / 2 > l->file.bytes;
}

static int pause_spare(struct replica_log *l, struct err *err)
{
    if (atomic_load(&l->closing))
        return err_set(err, ERR_CANCELLED, "the log is being closed");
    world_sleep_us(l->world, SPARE_PAUSE_US);
    return 0;
}

void replica_log_stop_spare(struct replica_log *l)
{
    atomic_store(&l->closing, true);
}

int replica_log_make_spare(struct replica_log *l, struct err *err)
{
    size_t part = (size_t)(l->segment_bytes / SPARE_PARTS);
    struct buf path = BUF_INIT;
    int rc;
    spare_path(l, &path);
    rc = log_file_create(&l->making, l->world, buf_cstr(&path), err);
    while (rc == 0 && l->making.bytes < l->segment_bytes) {
        rc = log_file_write(&l->making, l->making.bytes, SLICE_EMPTY, part + 1,
                            err);
        /* Records that are synced meanwhile do not wait for more than a part.
         */
        if (rc == 0 && l->making.bytes < l->segment_bytes)
            rc = pause_spare(l, err);
    }
    if (rc == 0)
        rc = log_file_sync(&l->making, err);
    if (rc) {
        err_wrap(err, "%s", buf_cstr(&path));
        log_file_close(&l->making);
        (void)remove_if_there(l, buf_cstr(&path));
    }
    buf_close(&path);
    return rc;
}

void replica_log_use_spare(struct replica_log *l)
{
    PRE(!l->spare.file);
    l->spare = l->making;
    l->making = (struct log_file){0};
}

uint64_t replica_log_bytes(const struct replica_log *l)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < l->count; i++)
        bytes += l->segments[i].bytes;
    return bytes;
}

/* --- life ----------------------------------------------------------------- */

static struct replica_log *new_log(const struct replica_log_options *opts)
{
    struct replica_log *l = mem_zalloc(1, sizeof(*l));
    l->world = opts->world;
    l->directory = mem_strdup(opts->directory);
    l->segment_bytes =
        opts->segment_bytes ? opts->segment_bytes : LOG_SEGMENT_BYTES;
    return l;
}

static void free_log(struct replica_log *l)
{
    log_file_close(&l->file);
    log_file_close(&l->spare);
    log_file_close(&l->making);
    buf_close(&l->batch);
    buf_close(&l->commands);
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
    l->ends = (struct ends){.term = term, .index = index, .index_term = term};
    if (rc == 0)
        rc = begin_segment(l, 1, err);
    free_log(l);
    return rc;
}

/* Go on in the last segment, behind what was read. What a process left in the
 * page cache counts from now on, since others will be told of it. If its sync
 * failed, the system believes it to be on the disk and another sync does
 * nothing: it is written anew. */
static int
continue_segment(struct replica_log *l, uint64_t synced, struct err *err)
{
    uint64_t begin = MAX_OF(synced, current(l)->base);
    struct buf path = BUF_INIT;
    int rc;
    replica_log_path(l->directory, current(l)->number, &path);
    rc = log_file_open(&l->file, l->world, buf_cstr(&path), offset_of(l, begin),
                       offset_of(l, l->position), err);
    if (rc == 0)
        rc = log_file_sync(&l->file, err);
    if (rc == 0)
        rc = world_sync_dir(l->world, l->directory, err);
    if (rc)
        err_wrap(err, "%s", buf_cstr(&path));
    buf_close(&path);
    l->synced = l->position;
    return rc;
}

/* One that stays is made anew when it is wanted. */
static void remove_spare(struct replica_log *l)
{
    struct buf path = BUF_INIT;
    spare_path(l, &path);
    (void)remove_if_there(l, buf_cstr(&path));
    buf_close(&path);
}

static int begin_behind(struct replica_log *l,
                        const struct log_tail *tail,
                        struct err *err)
{
    int rc = continue_segment(l, tail->synced, err);
    for (size_t i = 0; rc == 0 && i < tail->leftover_count; i++)
        remove_segment(l, tail->leftovers[i]);
    if (rc == 0)
        remove_spare(l);
    /* A torn end is left behind: the next segment's base cuts it off. Whoever
     * knows only an older version is not shown records it does not know. */
    if (rc == 0 && (!tail->clean || tail->torn || tail->old))
        rc = begin_segment(l, current(l)->number + 1, err);
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
    rc = begin_behind(l, &tail, err);
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
