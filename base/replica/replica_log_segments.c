/* The segments of a log as files: beginning one, releasing old ones, and
 * writing the zeros of a spare one beforehand. The order of the steps in
 * replica_log__begin_segment() is what log_synced.h relies on.
 */
#include <inttypes.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/replica/log_state.h"
#include "base/runtime/world.h"

/* Writes that fill a spare one: records are written in between. */
#define SPARE_PARTS    128
#define SPARE_PAUSE_US 1000

static void add_segment(struct replica_log *l, uint64_t number)
{
    const struct log_segment *last =
        l->count ? &l->segments[l->count - 1] : NULL;
    PRE(!last || number == last->number + 1); /* INV-1 */
    PRE(!last || l->position >= last->base);  /* INV-1 */
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
    const struct log_ends *e = &l->ends;
    struct log_header h = {.number = number,
                           .is_sealed = l->keyring != NULL,
                           .base = l->position,
                           .term = e->term,
                           .vote = e->vote,
                           .index = e->index,
                           .index_term = e->index_term};
    struct buf b = BUF_INIT;
    int rc;
    PRE(number > 0);
    PRE(f->file);
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

/* The path of the spare segment. */
static void spare_path(const struct replica_log *l, struct buf *out)
{
    buf_printf(out, "%s/spare", l->directory);
}

/* The file of a segment that begins, with its header: the spare one or a new
 * one. It has l->segment_bytes, as INV-2 of log_synced.h demands. */
static int make_segment(struct replica_log *l,
                        const char *path,
                        uint64_t number,
                        struct log_file *f,
                        struct err *err)
{
    struct buf spare = BUF_INIT;
    bool is_spare = l->spare.file != NULL;
    int rc = 0;
    PRE(!f->file);
    if (is_spare) {
        *f = l->spare;
        l->spare = (struct log_file){0};
        spare_path(l, &spare);
    } else {
        rc = log_file_create(f, l->world, path, l->segment_bytes, err);
    }
    if (rc == 0)
        rc = write_header(l, f, number, err);
    if (rc == 0 && is_spare)
        rc = world_rename(l->world, buf_cstr(&spare), path, err);
    buf_close(&spare);
    return rc;
}

int replica_log__take_sealer(struct replica_log *l, struct err *err)
{
    struct unit_sealer *s;
    int rc;
    if (!l->keyring)
        return 0;
    rc = replica_log_sealer_new(l->keyring, &s, err);
    if (rc)
        return rc;
    unit_sealer_free(l->sealer);
    l->sealer = s;
    return 0;
}

int replica_log__begin_segment(struct replica_log *l,
                               uint64_t number,
                               struct err *err)
{
    struct buf path = BUF_INIT;
    struct log_file f = {0};
    struct log_reach reach;
    int rc;
    PRE(number > 0);
    PRE(l->batch.len == 0);
    replica_log_path(l->directory, number, &path);
    rc = replica_log__take_sealer(l, err);
    if (rc == 0)
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
        l->file_bytes = l->segment_bytes;
        add_segment(l, number);
        reach = replica_log__reach(l);
        rc = log_synced_begin(&l->synced_file, &reach, err);
        l->failed = l->failed || rc != 0;
        replica_log__check(l);
    }
    buf_close(&path);
    return rc;
}

void replica_log__check(const struct replica_log *l)
{
    const struct log_segment *last;
    INVARIANT(l->count > 0 && l->count <= l->cap); /* INV-1 */
    last = &l->segments[l->count - 1];
    INVARIANT(l->count < 2 || last[-1].number + 1 == last->number); /* INV-1 */
    INVARIANT(last->base <= l->position);                           /* INV-2 */
    INVARIANT(l->synced <= l->position);                            /* INV-2 */
}

void replica_log__remove_segment(struct replica_log *l, uint64_t number)
{
    struct buf path = BUF_INIT;
    PRE(number > 0 && number < replica_log__current(l)->number);
    replica_log_path(l->directory, number, &path);
    /* A segment that stays, or that a loss of power brings back, is removed at
     * the next start: reading begins after the last gap. */
    if (world_remove(l->world, buf_cstr(&path), NULL) != 0)
        l->marked = false;
    buf_close(&path);
}

void replica_log__compact(struct replica_log *l, uint64_t index)
{
    size_t drop = 0;
    while (drop + 1 < l->count && l->segments[drop].max_index <= index)
        replica_log__remove_segment(l, l->segments[drop++].number);
    l->count -= drop;
    INVARIANT(l->count > 0); /* The last one is written. */
    memmove(l->segments, l->segments + drop, l->count * sizeof(*l->segments));
}

/* --- the next segment ---------------------------------------------------- */

bool replica_log_wants_spare(const struct replica_log *l)
{
    uint64_t used =
        LOG_HEADER_BYTES + l->position - l->segments[l->count - 1].base;
    PRE(l->count > 0);
    return !l->failed && !l->spare.file &&
           used > l->segment_bytes / LOG_ZEROS_PER_SEGMENT / 2 &&
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
    PRE(!l->making.file);
    spare_path(l, &path);
    rc = log_file_create(&l->making, l->world, buf_cstr(&path), 0, err);
    while (rc == 0 && l->making.bytes < l->segment_bytes) {
        rc = log_file_write(&l->making, l->making.bytes, SLICE_EMPTY, part + 1,
                            err);
        /* So a sync of records waits for one part at most. */
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
    PRE(!l->spare.file && l->making.file);
    PRE(l->making.bytes >= l->segment_bytes);
    l->spare = l->making;
    l->making = (struct log_file){0};
}

void replica_log__remove_spare(struct replica_log *l)
{
    struct buf path = BUF_INIT;
    spare_path(l, &path);
    (void)remove_if_there(l, buf_cstr(&path));
    buf_close(&path);
}
