/* What a reduce attempt reads, from wherever it lies: spills of this worker and
 * of others on the same machine are opened as files; segments of the partition
 * in all others are brought here, into one file of the attempt.
 *
 * Runs on a thread of its own, beside the loop. A worker that does not answer
 * is asked for a few seconds; then its spills are missing, and the master has
 * the maps run again.
 */
#include <stdio.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/rpc/channel_set.h"
#include "base/rpc/rpc.h"
#include "base/runtime/world.h"
#include "mapreduce/cluster/worker_state.h"
#include "mapreduce/files.h"
#include "mapreduce/output/stream_writer.h"

/* A call, and tries of it. */
#define CALL_US    UINT64_C(3000000)
#define TRIES      6
#define BETWEEN_US UINT64_C(250000)

/* A spill that is to be found. */
struct wanted {
    uint32_t place;
    uint32_t file; /* Of the new spec, when it is a file here. */
    bool here;
    bool missing;
    struct spill_piece *pieces; /* Of one that is far. Owned. */
    struct task_segment *at;    /* Where they were put. Owned. */
    size_t count;
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
    struct stream_writer out; /* What is brought here. */
    bool out_open;
    uint32_t out_file; /* Of `files`. */
    uint64_t out_bytes;
};

bool worker_fetch_wanted(const struct task_spec *spec)
{
    return spec->kind == TASK_REDUCE && !spec->resolved;
}

static bool is_killed(struct fetch *f)
{
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

/* --- files of this machine ------------------------------------------------ */

static bool is_mine(const struct fetch *f, const struct worker_place *p)
{
    return p->number == f->worker->number;
}

static bool is_near(const struct fetch *f, const struct worker_place *p)
{
    return is_mine(f, p) ||
           (!f->worker->options.no_short_circuit && p->boot.len > 0 &&
            slice_eq(p->boot, buf_slice(&f->worker->boot)));
}

/* Spills that can be opened. */
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
            w->missing = true;
        }
    }
    buf_close(&path);
    buf_close(&dir);
}

/* --- segments of other machines ------------------------------------------- */

/* Ask until there is an answer, of any kind. */
static int call(struct fetch *f,
                const struct worker_place *p,
                uint32_t method,
                const struct buf *body,
                const struct buf *attachment,
                struct buf *reply,
                struct err *err)
{
    const struct rpc_call_options o = {.timeout_us = CALL_US};
    int code = ERR_UNAVAILABLE;
    for (int i = 0; i < TRIES; i++) {
        if (i > 0)
            world_sleep_us(f->worker->world, BETWEEN_US);
        if (is_killed(f))
            return err_set(err, ERR_CANCELLED, "stopped");
        buf_clear(reply);
        code = channel_set_call(f->worker->peers, p->address, method, &o,
                                buf_slice(body), buf_slice(attachment), NULL,
                                reply, err);
        if (code != ERR_UNAVAILABLE && code != ERR_DEADLINE &&
            code != ERR_CORRUPT)
            return code;
        /* One silent call is as telling as many. */
        if (code == ERR_DEADLINE)
            return code;
    }
    return code;
}

static void
take_pieces(struct cursor *in, const struct task_spill *s, struct wanted *w)
{
    size_t count;
    w->missing = cursor_u8(in) == 0;
    count = cursor_count(in, 3);
    w->pieces = mem_zalloc(count + 1, sizeof(*w->pieces));
    w->at = mem_zalloc(count + 1, sizeof(*w->at));
    for (w->count = 0; w->count < count; w->count++) {
        struct spill_piece *g = &w->pieces[w->count];
        g->task = s->task;
        g->attempt = s->attempt;
        g->offset = cursor_varint(in);
        g->bytes = cursor_varint(in);
        w->at[w->count].pairs = cursor_varint(in);
        w->at[w->count].bytes = g->bytes;
        in->bad |= g->bytes == 0 || g->offset + g->bytes < g->offset;
    }
}

/* The segments in @count of the spills from @list on, by their numbers. */
static int ask_some(struct fetch *f,
                    const struct worker_place *p,
                    const size_t *list,
                    size_t count,
                    struct err *err)
{
    struct task_spill *spills = mem_zalloc(count + 1, sizeof(*spills));
    const struct spill_ask ask = {.number = p->number,
                                  .job = slice_str(f->job->id),
                                  .partition = f->spec->index,
                                  .spills = spills,
                                  .count = count};
    struct buf body = BUF_INIT;
    struct buf attachment = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct cursor in;
    int code;
    for (size_t i = 0; i < count; i++)
        spills[i] = f->spec->spills[list[i]];
    spill_ask_put(&ask, &body, &attachment);
    code = call(f, p, WORKER_SPILL_INDEX, &body, &attachment, &reply, err);
    in = cursor_make(buf_slice(&reply));
    for (size_t i = 0; i < count && code == 0; i++)
        take_pieces(&in, &spills[i], &f->wanted[list[i]]);
    if (code == 0 && (in.bad || cursor_left(&in) > 0))
        code = err_set(err, ERR_CORRUPT, "malformed segments of spills");
    buf_close(&body);
    buf_close(&attachment);
    buf_close(&reply);
    mem_free(spills);
    return code;
}

static int open_out(struct fetch *f, struct err *err)
{
    const struct job_files here = {f->worker->world, NULL};
    struct buf path = BUF_INIT;
    int code;
    if (f->out_open)
        return 0;
    fetch_path(f->job, f->spec, &path);
    code = stream_writer_open(&f->out, &here, buf_cstr(&path), err);
    f->out_open = code == 0;
    f->out_file = add_file(f, buf_cstr(&path));
    buf_close(&path);
    return code;
}

/* Pieces that are asked for in one call. */
struct batch {
    struct spill_piece *pieces;
    size_t count;
    size_t cap;
    uint64_t bytes;
};

static int read_batch(struct fetch *f,
                      const struct worker_place *p,
                      struct batch *b,
                      struct err *err)
{
    const struct spill_read r = {
        .number = p->number, .job = slice_str(f->job->id), .count = b->count};
    struct buf body = BUF_INIT;
    struct buf attachment = BUF_INIT;
    struct buf reply = BUF_INIT;
    int code;
    if (b->count == 0)
        return 0;
    spill_read_put(&r, b->pieces, &body, &attachment);
    code = call(f, p, WORKER_SPILL_READ, &body, &attachment, &reply, err);
    if (code == 0 && reply.len != b->bytes)
        code = err_set(err, ERR_CORRUPT, "spills of another length");
    if (code == 0)
        stream_writer_append(&f->out, reply.data, reply.len);
    atomic_fetch_add(&f->worker->fetched_bytes, reply.len);
    STATUS_SET(&f->attempt->status, bytes, f->out_bytes);
    buf_close(&body);
    buf_close(&attachment);
    buf_close(&reply);
    b->count = 0;
    b->bytes = 0;
    return code;
}

static void add_piece(struct batch *b, const struct spill_piece *p)
{
    if (b->count == b->cap) {
        b->cap = MAX_OF(b->cap * 2, (size_t)64);
        b->pieces = mem_realloc(b->pieces, b->cap * sizeof(*b->pieces));
    }
    b->pieces[b->count++] = *p;
    b->bytes += p->bytes;
}

/* One segment, in parts where it is long. */
static int read_segment(struct fetch *f,
                        const struct worker_place *p,
                        const struct spill_piece *whole,
                        struct batch *b,
                        struct err *err)
{
    struct spill_piece part = *whole;
    uint64_t end = whole->offset + whole->bytes;
    int code = 0;
    for (; part.offset < end && code == 0; part.offset += part.bytes) {
        part.bytes = MIN_OF(end - part.offset, SPILL_READ_BYTES_MAX);
        if (b->bytes + part.bytes > SPILL_READ_BYTES_MAX ||
            b->count == SPILL_ASK_MAX)
            code = read_batch(f, p, b, err);
        add_piece(b, &part);
    }
    return code;
}

/* Bring all of @count spills here. */
static int read_some(struct fetch *f,
                     const struct worker_place *p,
                     const size_t *list,
                     size_t count,
                     struct err *err)
{
    struct batch b = {.count = 0};
    int code = open_out(f, err);
    for (size_t i = 0; i < count && code == 0; i++) {
        struct wanted *w = &f->wanted[list[i]];
        for (size_t k = 0; k < w->count && code == 0; k++) {
            w->at[k].file = f->out_file;
            w->at[k].offset = f->out_bytes;
            f->out_bytes += w->at[k].bytes;
            code = read_segment(f, p, &w->pieces[k], &b, err);
        }
    }
    if (code == 0)
        code = read_batch(f, p, &b, err);
    mem_free(b.pieces);
    return code;
}

/* Errors that tell of the other worker, or of the way to it. */
static bool is_theirs(int code)
{
    return code != 0 && code != ERR_CANCELLED && code != ERR_FULL &&
           code != ERR_IO;
}

static int read_place(struct fetch *f, uint32_t place, struct err *err)
{
    const struct worker_place *p = &f->places[place];
    size_t *list = mem_alloc((f->spec->spill_count + 1) * sizeof(*list));
    size_t count = 0;
    int code = 0;
    for (size_t i = 0; i < f->spec->spill_count; i++)
        if (f->wanted[i].place == place && !f->wanted[i].here &&
            !f->wanted[i].missing)
            list[count++] = i;
    for (size_t i = 0; i < count && code == 0; i += SPILL_ASK_MAX) {
        size_t n = MIN_OF(count - i, (size_t)SPILL_ASK_MAX);
        code = ask_some(f, p, list + i, n, err);
        if (code == 0)
            code = read_some(f, p, list + i, n, err);
    }
    if (is_theirs(code)) {
        /* What was written of it is not looked at; what follows begins where
         * the file really ends. */
        for (size_t i = 0; i < count; i++)
            f->wanted[list[i]].missing = true;
        if (f->out_open)
            f->out_bytes = stream_writer_offset(&f->out);
        code = 0;
    }
    mem_free(list);
    return code;
}

/* --- the whole -------------------------------------------------------------
 */

static int parse_places(struct fetch *f, struct err *err)
{
    int code = 0;
    if (f->spec->place_count == 0 && f->spec->spill_count > 0)
        return err_set(err, ERR_INVALID, "spills of no place");
    f->places = mem_zalloc(f->spec->place_count + 1, sizeof(*f->places));
    for (size_t i = 0; i < f->spec->place_count && code == 0; i++)
        code =
            worker_place_get(slice_str(f->spec->places[i]), &f->places[i], err);
    return code;
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
        if (f->wanted[i].missing) {
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

/* In order of the spills: equal keys come as the maps were. */
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
        for (size_t k = 0; k < w->count; k++)
            add_segment(f, &w->at[k], &s->spills[i], &cap);
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
    int code = parse_places(f, err);
    if (code)
        return code;
    find_here(f);
    for (uint32_t i = 0; i < f->spec->place_count && code == 0; i++)
        code = read_place(f, i, err);
    if (code == 0 && f->out_open)
        code = stream_writer_finish(&f->out, false, err);
    return code;
}

static void fetch_close(struct fetch *f, size_t spills)
{
    for (size_t i = 0; i < spills; i++) {
        mem_free(f->wanted[i].pieces);
        mem_free(f->wanted[i].at);
    }
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
    int code;
    f.wanted = mem_zalloc(spills + 1, sizeof(*f.wanted));
    code = fetch_all(&f, err);
    if (code == 0)
        code = list_missing(&f, missing, missing_count, err);
    if (code == 0)
        put_segments(&f);
    fetch_close(&f, spills);
    return code;
}

void worker_fetch_remove(struct worker *k,
                         const struct worker_job *j,
                         const struct task_spec *spec)
{
    struct buf path = BUF_INIT;
    if (spec->kind != TASK_REDUCE)
        return;
    fetch_path(j, spec, &path);
    if (world_remove(k->world, buf_cstr(&path), NULL)) {
        /* Nothing was far. */
    }
    buf_close(&path);
}
