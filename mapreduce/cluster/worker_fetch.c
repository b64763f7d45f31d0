/* Locating the spills that a reduce attempt reads.
 *
 * Spills of this worker and of others on the same machine are opened as files;
 * segments of the partition in all others are taken from those pulled while
 * maps ran, if they are of the attempts that won, and the rest is fetched into
 * one file of the attempt. Runs on a thread of its own, beside the loop. A
 * worker that does not answer is called for a few seconds; then its spills are
 * missing, and the master has the maps run again (MapReduce, OSDI 2004, section
 * 3.3).
 */
#include <stdio.h>
#include <string.h>

#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "mapreduce/cluster/spill_peer.h"
#include "mapreduce/cluster/worker_state.h"
#include "mapreduce/records/files.h"
#include "mapreduce/records/stream_writer.h"

/* Tries of a call. */
#define TRIES 6

/* A spill to be located. */
struct wanted {
    uint32_t place;
    uint32_t file; /* Of the new spec, when it is a file here. */
    bool here;
    bool pulled; /* `found` says where. */
    struct spill_found found;
};

struct fetch {
    struct worker_attempt *attempt;
    struct worker *worker;
    struct worker_job *job;
    struct task_spec *spec;
    struct worker_place *places; /* Parsed. Owned. */
    struct wanted *wanted;       /* One a spill. Owned. */
    char **files;                /* Of the new spec. Owned. */
    size_t file_count;
    struct stream_writer out; /* The pieces that are fetched. */
    bool out_open;
    uint32_t out_file; /* Of `files`. */
    uint64_t out_bytes;
};

bool worker_fetch_wanted(const struct task_spec *spec)
{
    return spec->kind == TASK_REDUCE && !spec->resolved;
}

static bool is_killed(void *ctx)
{
    struct fetch *f = ctx;
    bool killed;
    mutex_lock(&f->worker->lock);
    killed = f->attempt->killed || f->worker->stopping;
    mutex_unlock(&f->worker->lock);
    return killed;
}

static void fetch_path(const struct worker_job *j,
                       const struct task_spec *spec,
                       struct buf *out)
{
    buf_clear(out);
    buf_printf(out, "%s/", j->package.setup.work_dir);
    task_spec_prefix(spec, out);
    buf_append_str(out, ".fetch");
}

static uint32_t add_file(struct fetch *f, const char *path)
{
    f->files = mem_realloc(f->files, (f->file_count + 1) * sizeof(char *));
    f->files[f->file_count] = mem_strdup(path);
    return (uint32_t)f->file_count++;
}

/* --- files of this machine ----------------------------------------------- */

static bool is_mine(const struct fetch *f, const struct worker_place *p)
{
    return p->number == f->worker->number;
}

static bool is_near(const struct fetch *f, const struct worker_place *p)
{
    return is_mine(f, p) ||
           (p->boot.len > 0 && slice_eq(p->boot, buf_slice(&f->worker->boot)));
}

/* Find the spills that can be opened as files. */
static void find_here(struct fetch *f)
{
    struct buf dir = BUF_INIT;
    struct buf path = BUF_INIT;
    for (size_t i = 0; i < f->spec->spill_count; i++) {
        const struct task_spill *s = &f->spec->spills[i];
        const struct worker_place *p = &f->places[s->place];
        struct wanted *w = &f->wanted[i];
        struct file_info info;
        w->place = s->place;
        if (!is_near(f, p))
            continue;
        worker_job_dir(p->directory, f->job->id, &dir);
        buf_append_str(&dir, "/work");
        task_spill_path(&path, buf_cstr(&dir), s->task, s->attempt);
        if (world_stat(f->worker->world, buf_cstr(&path), &info, NULL) == 0) {
            w->here = true;
            w->file = add_file(f, buf_cstr(&path));
        } else if (is_mine(f, p)) {
            w->found.missing = true;
        }
    }
    buf_close(&path);
    buf_close(&dir);
}

/* --- what was pulled before ---------------------------------------------- */

static void take_pulled(struct fetch *f,
                        const struct pulled *p,
                        const struct pulled_spill *s,
                        uint32_t file,
                        struct wanted *w)
{
    uint64_t bytes = 0;
    w->pulled = true;
    w->found.at = mem_zalloc((size_t)s->count + 1, sizeof(*w->found.at));
    for (; w->found.count < s->count; w->found.count++) {
        struct task_segment *g = &w->found.at[w->found.count];
        *g = p->segments[s->first + w->found.count];
        g->file = file;
        bytes += g->bytes;
    }
    f->attempt->far_bytes += bytes;
    f->attempt->early_bytes += s->early ? bytes : 0;
}

static void find_pulled(struct fetch *f)
{
    struct worker_attempt *a = f->attempt;
    uint32_t file;
    mutex_lock(&f->worker->lock);
    a->pulled = worker_pull_take(f->job, f->spec->index);
    mutex_unlock(&f->worker->lock);
    if (!a->pulled)
        return;
    file = add_file(f, a->pulled->path);
    for (size_t i = 0; i < f->spec->spill_count; i++) {
        const struct task_spill *s = &f->spec->spills[i];
        const struct pulled_spill *p =
            pulled_find(a->pulled, s->task, s->attempt);
        if (p && !f->wanted[i].here)
            take_pulled(f, a->pulled, p, file, &f->wanted[i]);
    }
}

/* --- segments of other machines ------------------------------------------ */

static int open_out(struct fetch *f, struct err *err)
{
    const struct job_files here = {.world = f->worker->world};
    struct buf path = BUF_INIT;
    int rc;
    if (f->out_open)
        return 0;
    fetch_path(f->job, f->spec, &path);
    rc = stream_writer_open(&f->out, &here, buf_cstr(&path), err);
    f->out_open = rc == 0;
    f->out_file = add_file(f, buf_cstr(&path));
    buf_close(&path);
    return rc;
}

static int take_bytes(void *ctx, struct slice bytes, struct err *err)
{
    struct fetch *f = ctx;
    (void)err;
    stream_writer_append(&f->out, bytes.data, bytes.len);
    atomic_fetch_add(&f->worker->fetched_bytes, bytes.len);
    STATUS_SET(&f->attempt->status, bytes, f->out_bytes);
    return 0;
}

/* Fetch all of @count spills. */
static int read_some(struct fetch *f,
                     const struct spill_peer *peer,
                     const size_t *list,
                     size_t count,
                     struct err *err)
{
    struct spill_reader r = {.peer = peer, .take = take_bytes, .ctx = f};
    int rc = open_out(f, err);
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct spill_found *w = &f->wanted[list[i]].found;
        for (size_t k = 0; k < w->count; k++) {
            w->at[k].file = f->out_file;
            w->at[k].offset = f->out_bytes;
            f->out_bytes += w->at[k].bytes;
        }
        rc = spill_reader_add(&r, w, err);
    }
    if (rc == 0)
        rc = spill_reader_finish(&r, err);
    spill_reader_close(&r);
    return rc;
}

/* Locate the segments in @count of the spills from @list on, by their numbers.
 */
static int ask_some(struct fetch *f,
                    const struct spill_peer *peer,
                    const size_t *list,
                    size_t count,
                    struct err *err)
{
    struct task_spill *spills = mem_zalloc(count + 1, sizeof(*spills));
    struct spill_found *found = mem_zalloc(count + 1, sizeof(*found));
    int rc;
    for (size_t i = 0; i < count; i++)
        spills[i] = f->spec->spills[list[i]];
    rc = spill_peer_ask(peer, spills, found, count, err);
    for (size_t i = 0; i < count; i++)
        f->wanted[list[i]].found = found[i];
    mem_free(found);
    mem_free(spills);
    return rc;
}

static int read_place(struct fetch *f, uint32_t place, struct err *err)
{
    const struct spill_peer peer = {.world = f->worker->world,
                                    .channels = f->worker->peers,
                                    .place = f->places[place],
                                    .job = f->job->id,
                                    .partition = f->spec->index,
                                    .tries = TRIES,
                                    .is_over = is_killed,
                                    .ctx = f};
    size_t *list = mem_alloc((f->spec->spill_count + 1) * sizeof(*list));
    size_t count = 0;
    int rc = 0;
    for (size_t i = 0; i < f->spec->spill_count; i++) {
        const struct wanted *w = &f->wanted[i];
        if (w->place == place && !w->here && !w->pulled && !w->found.missing)
            list[count++] = i;
    }
    for (size_t i = 0; i < count && rc == 0; i += SPILL_ASK_MAX) {
        size_t n = MIN_OF(count - i, (size_t)SPILL_ASK_MAX);
        rc = ask_some(f, &peer, list + i, n, err);
        if (rc == 0)
            rc = read_some(f, &peer, list + i, n, err);
    }
    if (spill_peer_is_to_blame(rc)) {
        /* A piece that was cut short is ignored; the next one begins where the
         * file really ends. */
        for (size_t i = 0; i < count; i++)
            f->wanted[list[i]].found.missing = true;
        if (f->out_open)
            f->out_bytes = stream_writer_offset(&f->out);
        rc = 0;
    }
    mem_free(list);
    return rc;
}

/* --- the whole ----------------------------------------------------------- */

static int parse_places(struct fetch *f, struct err *err)
{
    int rc = 0;
    if (f->spec->place_count == 0 && f->spec->spill_count > 0)
        return err_set(err, ERR_INVALID, "spills of no place");
    f->places = mem_zalloc(f->spec->place_count + 1, sizeof(*f->places));
    for (size_t i = 0; i < f->spec->place_count && rc == 0; i++)
        rc =
            worker_place_get(slice_str(f->spec->places[i]), &f->places[i], err);
    return rc;
}

static int list_missing(struct fetch *f,
                        struct task_spill **missing,
                        size_t *count,
                        struct err *err)
{
    const struct task_spill *first = NULL;
    *missing = mem_alloc((f->spec->spill_count + 1) * sizeof(**missing));
    *count = 0;
    for (size_t i = 0; i < f->spec->spill_count; i++)
        if (f->wanted[i].found.missing) {
            (*missing)[(*count)++] = f->spec->spills[i];
            first = first ? first : &f->spec->spills[i];
        }
    if (*count == 0) {
        mem_free(*missing);
        *missing = NULL;
        return 0;
    }
    return err_set(err, ERR_NOTFOUND,
                   "the output of %zu maps cannot be had, the first is map "
                   "task %u's at %.*s",
                   *count, first->task,
                   SLICE_ARG(f->places[first->place].address));
}

static void add_segment(struct fetch *f,
                        const struct task_segment *g,
                        const struct task_spill *owner,
                        size_t *cap)
{
    struct task_spec *s = f->spec;
    struct worker_attempt *a = f->attempt;
    if (s->segment_count == *cap) {
        *cap = MAX_OF(*cap * 2, (size_t)64);
        s->segments = mem_realloc(s->segments, *cap * sizeof(*s->segments));
        a->owners = mem_realloc(a->owners, *cap * sizeof(*a->owners));
    }
    a->owners[s->segment_count] = *owner;
    s->segments[s->segment_count++] = *g;
}

/* In order of the spills: equal keys come in the order of the maps. */
static void put_segments(struct fetch *f)
{
    struct task_spec *s = f->spec;
    size_t cap = 0;
    mem_free(s->segments);
    s->segments = NULL;
    s->segment_count = 0;
    for (size_t i = 0; i < s->spill_count; i++) {
        const struct wanted *w = &f->wanted[i];
        struct task_segment whole = {.file = w->file};
        if (w->here)
            add_segment(f, &whole, &s->spills[i], &cap);
        for (size_t k = 0; k < w->found.count; k++)
            add_segment(f, &w->found.at[k], &s->spills[i], &cap);
    }
    mem_free(s->files); /* Empty, as it was sent. */
    s->files = f->files;
    s->file_count = f->file_count;
    s->resolved = true;
    s->spill_count = 0;
    f->files = NULL;
    f->file_count = 0;
}

static int fetch_all(struct fetch *f, struct err *err)
{
    int rc = parse_places(f, err);
    if (rc)
        return rc;
    find_here(f);
    find_pulled(f);
    for (uint32_t i = 0; i < f->spec->place_count && rc == 0; i++)
        rc = read_place(f, i, err);
    if (rc == 0 && f->out_open)
        rc = stream_writer_finish(&f->out, false, err);
    return rc;
}

static void fetch_close(struct fetch *f, size_t spills)
{
    for (size_t i = 0; i < spills; i++)
        spill_found_close(&f->wanted[i].found);
    for (size_t i = 0; i < f->file_count; i++)
        mem_free(f->files[i]);
    mem_free(f->files);
    stream_writer_close(&f->out);
    mem_free(f->places);
    mem_free(f->wanted);
}

int worker_fetch(struct worker_attempt *a,
                 struct task_spill **missing,
                 size_t *missing_count,
                 struct err *err)
{
    struct fetch f = {.attempt = a,
                      .worker = a->job->worker,
                      .job = a->job,
                      .spec = &a->spec};
    size_t spills = a->spec.spill_count;
    int rc;
    f.wanted = mem_zalloc(spills + 1, sizeof(*f.wanted));
    rc = fetch_all(&f, err);
    if (rc == 0)
        rc = list_missing(&f, missing, missing_count, err);
    if (rc == 0)
        put_segments(&f);
    a->far_bytes += f.out_bytes;
    fetch_close(&f, spills);
    return rc;
}

static void remove_file(struct worker *k, const char *path)
{
    /* It was not made; or it is removed with the job. */
    IGNORE_RESULT(world_remove(k->world, path, NULL));
}

void worker_fetch_remove(const struct worker_attempt *a)
{
    struct worker *k = a->job->worker;
    struct buf path = BUF_INIT;
    if (a->spec.kind != TASK_REDUCE)
        return;
    fetch_path(a->job, &a->spec, &path);
    remove_file(k, buf_cstr(&path));
    if (a->pulled)
        remove_file(k, a->pulled->path);
    buf_close(&path);
}
