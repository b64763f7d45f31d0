/* Threads over the segments of an input; see line_scan.h.
 *
 * A thread takes a slot and the next segment for it, runs the program over it,
 * and settles: slots at the head of the order whose segments are done are added
 * to the result, and are free again. The number of slots bounds what waits.
 */
#include "mapreduce/lines/line_scan.h"

#include <inttypes.h>

#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "mapreduce/lines/line_output.h"
#include "mapreduce/lines/line_plan.h"
#include "mapreduce/lines/line_range.h"
#include "sawzall-lite/sawzall.h"

#define THREADS_MAX      64
#define SLOTS_PER_THREAD 2
/* A segment that wrote more waits until it is its turn. */
#define OUTPUT_BYTES_MAX ((size_t)64 << 20)
/* Between two looks at the caller's cancel flag. */
#define WATCH_US 50000

/* A file that is read in ranges; one descriptor, so that all see one file also
 * when another takes its name. */
struct scan_file {
    struct file *file; /* NULL: not open. */
    size_t refs;       /* Slots that read it. */
};

struct scan_job;

/* A segment under way and what it takes to run it. */
struct scan_slot {
    struct scan_slot *next; /* In the order of the input; or free. */
    struct scan_job *job;
    struct saw_run *run; /* Owned; made when first used. */
    atomic_bool stop;    /* Ends the run. */
    struct line_segment segment;
    struct buf block;               /* Memory of a range's reader. */
    struct buf output;              /* Written and not passed on yet. */
    uint64_t lines[LINE_PARTS_MAX]; /* Done, of each part. */
    size_t at;                      /* The part under way. */
    bool is_done;
    bool in_record; /* The error is of a record, not of reading. */
    struct err err;
};

struct scan_job {
    struct saw_run *run; /* The result. Borrowed. */
    const struct line_scan_options *opts;
    struct mutex lock; /* Of everything below; slots are their threads' until
                          they are done. */
    struct cond changed;
    struct line_plan plan;
    struct scan_file *files; /* One for each path. */
    uint64_t total;          /* Bytes of all files; 0: not known. */
    uint64_t read;           /* Of them, so far. */
    struct scan_slot *head;  /* The first segment that was not added yet. */
    struct scan_slot *tail;
    struct scan_slot *free;
    size_t slot_count;
    size_t slots_max;
    bool ended;     /* No segment is taken any more. */
    bool cancelled; /* By the caller. */
    unsigned busy;  /* Threads. */
    size_t file;    /* Of the last line that was added, */
    uint64_t line;  /* and how many of its lines were. */
    struct err err; /* Of the first record that failed. */
};

/* --- writing ------------------------------------------------------------- */

/* Wait until @s is the head and write what it holds back. */
static int scan_write_in_turn(struct scan_slot *s, struct err *err)
{
    struct scan_job *job = s->job;
    int rc = 0;
    mutex_lock(&job->lock);
    while (job->head != s && !atomic_load(&s->stop))
        cond_wait(&job->changed, &job->lock);
    if (job->head == s)
        rc = line_output_write(&s->output, saw_run_options(job->run), err);
    mutex_unlock(&job->lock);
    buf_clear(&s->output);
    return rc;
}

static int scan_hold(struct scan_slot *s,
                     const char *path,
                     bool is_pipe,
                     struct slice text,
                     struct err *err)
{
    line_output_put(&s->output, path, is_pipe, text);
    return s->output.len > OUTPUT_BYTES_MAX ? scan_write_in_turn(s, err) : 0;
}

static int
scan_write(void *ctx, const char *path, struct slice text, struct err *err)
{
    return scan_hold(ctx, path, false, text, err);
}

static int
scan_pipe(void *ctx, const char *command, struct slice text, struct err *err)
{
    return scan_hold(ctx, command, true, text, err);
}

/* --- slots --------------------------------------------------------------- */

static struct scan_slot *slot_new(struct scan_job *job)
{
    struct scan_slot *s = mem_zalloc(1, sizeof(*s));
    s->job = job;
    job->slot_count++;
    return s;
}

static void slot_free(struct scan_slot *s)
{
    saw_run_free(s->run);
    buf_close(&s->segment.text);
    buf_close(&s->block);
    buf_close(&s->output);
    mem_free(s);
}

/* Statics are initialised in each run, and what they emit and write counts
 * once: in the result's. */
static int slot_make_run(struct scan_slot *s, struct err *err)
{
    struct saw_run_options o = *saw_run_options(s->job->run);
    int rc;
    if (s->run)
        return 0;
    o.cancel = &s->stop;
    o.write = o.write ? scan_write : NULL;
    o.pipe = o.pipe ? scan_pipe : NULL;
    o.write_ctx = s;
    rc = saw_run_new(saw_run_program(s->job->run), &o, &s->run, err);
    if (!rc)
        saw_run_clear(s->run);
    buf_clear(&s->output);
    return rc;
}

/* --- files --------------------------------------------------------------- */

static const char *scan_path(const struct scan_job *job, size_t file)
{
    return job->plan.paths[file];
}

static int file_acquire(struct scan_job *job,
                        size_t file,
                        struct file **out,
                        struct err *err)
{
    struct scan_file *f = &job->files[file];
    int rc = 0;
    mutex_lock(&job->lock);
    if (!f->file)
        rc = file_open(job->opts->world, scan_path(job, file), FILE_READ,
                       &f->file, err);
    f->refs += rc == 0;
    *out = f->file;
    mutex_unlock(&job->lock);
    return rc;
}

static void file_release(struct scan_job *job, size_t file)
{
    struct scan_file *f = &job->files[file];
    mutex_lock(&job->lock);
    PRE(f->refs > 0);
    f->refs--;
    if (f->refs == 0 && job->plan.file > file) {
        file_close(f->file);
        f->file = NULL;
    }
    mutex_unlock(&job->lock);
}

/* --- running a segment --------------------------------------------------- */

static bool caller_cancels(const struct scan_job *job)
{
    return job->opts->cancel && atomic_load(job->opts->cancel);
}

static void scan_progress(struct scan_job *job, uint64_t bytes)
{
    mutex_lock(&job->lock);
    job->read += bytes;
    if (job->opts->progress)
        job->opts->progress(job->opts->progress_ctx, job->read, job->total);
    mutex_unlock(&job->lock);
}

static int slot_run_lines(struct scan_slot *s, const struct saw_line_block *b)
{
    uint64_t done;
    int rc = saw_run_lines(s->run, b, &done, &s->err);
    s->lines[s->at] += done;
    s->in_record = rc != 0;
    scan_progress(s->job, b->text.len);
    return rc;
}

static int slot_run_range(struct scan_slot *s, const struct line_part *part)
{
    struct line_range range;
    struct saw_line_block block = {.number = 0}; /* Nobody looks at it. */
    bool more = true;
    struct file *file;
    int rc = file_acquire(s->job, part->file, &file, &s->err);
    if (rc)
        return rc;
    line_range_init(&range, file, scan_path(s->job, part->file), part->begin,
                    part->end, &s->block);
    while (!(rc = line_range_next(&range, &block.text, &block.offset, &more,
                                  &s->err)) &&
           more) {
        rc = slot_run_lines(s, &block);
        if (!rc && (atomic_load(&s->stop) || caller_cancels(s->job)))
            rc = err_set(&s->err, ERR_CANCELLED, "cancelled");
        if (rc)
            break;
    }
    file_release(s->job, part->file);
    return rc;
}

static int slot_run_part(struct scan_slot *s, const struct line_part *part)
{
    const struct line_segment *g = &s->segment;
    const struct saw_line_block block = {buf_slice(&g->text), g->number,
                                         g->offset};
    s->lines[s->at] = 0;
    return g->is_text ? slot_run_lines(s, &block) : slot_run_range(s, part);
}

static void slot_run_segment(struct scan_slot *s)
{
    int rc = slot_make_run(s, &s->err);
    for (s->at = 0; s->at < s->segment.part_count && !rc; s->at++) {
        rc = slot_run_part(s, &s->segment.parts[s->at]);
        if (rc)
            break;
    }
}

/* --- settling ------------------------------------------------------------ */

/* Count the lines of @s up to the part it stands in. */
static void settle_lines(struct scan_job *job, const struct scan_slot *s)
{
    size_t last = MIN_OF(s->at, s->segment.part_count - 1);
    for (size_t i = 0; i <= last && s->segment.part_count > 0; i++) {
        if (s->segment.parts[i].file != job->file)
            job->line = 0;
        job->file = s->segment.parts[i].file;
        job->line += s->lines[i];
    }
}

/* Say where the error happened. */
static void settle_error(struct scan_job *job, struct scan_slot *s)
{
    const char *path = scan_path(job, job->file);
    job->err = s->err;
    if (job->cancelled || caller_cancels(job))
        err_set(&job->err, ERR_CANCELLED,
                "saw: interrupted at line %" PRIu64 " of %s", job->line, path);
    else if (s->err.code == ERR_TOOBIG && !s->in_record)
        err_set(&job->err, ERR_TOOBIG, "%s: line %" PRIu64 " is over 1 GiB",
                path, job->line + 1);
    else if (s->in_record)
        err_wrap(&job->err, "%s: line %" PRIu64, path, job->line + 1);
}

/* No further segment is taken, and those under way end. */
static void scan_end(struct scan_job *job)
{
    job->ended = true;
    for (struct scan_slot *s = job->head; s; s = s->next)
        atomic_store(&s->stop, true);
}

/* Add the head's segment to the result. */
static void settle_head(struct scan_job *job, struct scan_slot *s)
{
    struct err err = ERR_INIT;
    int rc;
    if (job->err.code)
        return;
    settle_lines(job, s);
    rc = line_output_write(&s->output, saw_run_options(job->run), &err);
    if (!rc && s->err.code) {
        settle_error(job, s);
        scan_end(job);
        return;
    }
    if (!rc)
        rc = saw_run_absorb(job->run, s->run, &err);
    if (rc) {
        job->err = err;
        scan_end(job);
    }
}

static void slot_recycle(struct scan_job *job, struct scan_slot *s)
{
    if (s->run)
        saw_run_clear(s->run);
    buf_clear(&s->output);
    s->next = job->free;
    job->free = s;
}

/* @s is done: settle it and those behind it that waited for it. */
static void scan_settle(struct scan_job *job, struct scan_slot *s)
{
    mutex_lock(&job->lock);
    s->is_done = true;
    if (s->err.code) { /* Segments behind it do not count. */
        job->ended = true;
        for (struct scan_slot *o = s->next; o; o = o->next)
            atomic_store(&o->stop, true);
    }
    while (job->head && job->head->is_done) {
        struct scan_slot *head = job->head;
        settle_head(job, head);
        job->head = head->next;
        slot_recycle(job, head);
    }
    cond_broadcast(&job->changed);
    mutex_unlock(&job->lock);
}

/* --- taking -------------------------------------------------------------- */

static void slot_prepare(struct scan_job *job, struct scan_slot *s)
{
    s->next = NULL;
    atomic_store(&s->stop, false);
    s->at = 0;
    s->is_done = false;
    s->in_record = false;
    err_init(&s->err);
    s->lines[0] = 0;
    if (job->head)
        job->tail->next = s;
    else
        job->head = s;
    job->tail = s;
}

/* A slot with the next segment, or NULL at the end. */
static struct scan_slot *scan_take(struct scan_job *job)
{
    struct scan_slot *s = NULL;
    struct err err = ERR_INIT;
    int rc;
    mutex_lock(&job->lock);
    while (!job->free && job->slot_count == job->slots_max && !job->ended)
        cond_wait(&job->changed, &job->lock);
    job->cancelled = job->cancelled || caller_cancels(job);
    if (job->ended || job->cancelled)
        goto out;
    s = job->free ? job->free : slot_new(job);
    if (s == job->free)
        job->free = s->next;
    rc = line_plan_next(&job->plan, &s->segment, &err);
    if (!rc && s->segment.part_count == 0) {
        slot_recycle(job, s);
        s = NULL;
        job->ended = true;
        cond_broadcast(&job->changed);
        goto out;
    }
    slot_prepare(job, s);
    if (rc) {
        s->segment.part_count = 1;
        s->err = err;
    }
out:
    mutex_unlock(&job->lock);
    return s;
}

static void scan_work(void *arg)
{
    struct scan_job *job = arg;
    struct scan_slot *s;
    while ((s = scan_take(job)) != NULL) {
        if (!s->err.code)
            slot_run_segment(s);
        scan_settle(job, s);
    }
    mutex_lock(&job->lock);
    job->busy--;
    cond_broadcast(&job->changed);
    mutex_unlock(&job->lock);
}

/* --- the whole ----------------------------------------------------------- */

/* Pass the caller's wish to end on to runs, which look at their own flags. */
static void scan_watch(struct scan_job *job)
{
    mutex_lock(&job->lock);
    while (job->busy > 0) {
        (void)cond_wait_us(&job->changed, &job->lock, job->opts->world,
                           WATCH_US);
        if (caller_cancels(job) && !job->cancelled) {
            job->cancelled = true;
            scan_end(job);
            cond_broadcast(&job->changed);
        }
    }
    mutex_unlock(&job->lock);
}

static void scan_run_threads(struct scan_job *job, unsigned count)
{
    struct task *tasks[THREADS_MAX];
    job->busy = count;
    for (unsigned i = 0; i < count; i++)
        tasks[i] = task_start(job->opts->world, "quarry-saw", scan_work, job);
    scan_watch(job);
    for (unsigned i = 0; i < count; i++)
        task_join(tasks[i]);
}

static uint64_t
total_size(struct world *world, const char *const *paths, size_t count)
{
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t size = line_plan_size(world, paths[i]);
        if (size == 0)
            return 0;
        total += size;
    }
    return total;
}

static void scan_close(struct scan_job *job)
{
    PRE(!job->head);
    while (job->free) {
        struct scan_slot *s = job->free;
        job->free = s->next;
        slot_free(s);
    }
    for (size_t i = 0; i < job->plan.path_count; i++)
        file_close(job->files[i].file);
    line_plan_close(&job->plan);
    mem_free(job->files);
    cond_close(&job->changed);
    mutex_close(&job->lock);
}

static int scan_segments(struct saw_run *run,
                         const char *const *paths,
                         size_t path_count,
                         const struct line_scan_options *opts,
                         struct err *err)
{
    bool numbered = saw_program_reads_key(saw_run_program(run));
    unsigned threads = MIN_OF(opts->thread_count, THREADS_MAX);
    struct scan_job job = {.run = run,
                           .opts = opts,
                           .total = total_size(opts->world, paths, path_count),
                           .slots_max = (size_t)threads * SLOTS_PER_THREAD};
    int rc;
    mutex_init(&job.lock);
    cond_init(&job.changed);
    line_plan_init(&job.plan, opts->world, paths, path_count,
                   opts->segment_bytes, numbered);
    job.files = mem_zalloc(path_count, sizeof(*job.files));
    if (job.total > 0)
        threads = (unsigned)MIN_OF(
            threads, job.total / line_plan_segment_bytes(&job.plan) + 1);
    scan_run_threads(&job, threads);
    if (job.cancelled && !job.err.code)
        err_set(&job.err, ERR_CANCELLED,
                "saw: interrupted at line %" PRIu64 " of %s", job.line,
                scan_path(&job, job.file));
    rc = job.err.code ? err_copy(err, &job.err) : 0;
    scan_close(&job);
    return rc;
}

/* --- in order ------------------------------------------------------------ */

static int run_in_order(struct saw_run *run,
                        const char *path,
                        uint64_t *number,
                        const struct line_scan_options *opts,
                        struct err *err)
{
    struct line_stream stream;
    struct buf text = BUF_INIT;
    uint64_t before = *number;
    int rc = line_stream_open(&stream, opts->world, path, err);
    if (rc)
        return rc;
    for (;;) {
        struct saw_line_block block;
        uint64_t done = 0;
        rc = line_stream_take(&stream, 0, &text, &block.offset, err);
        if (rc == ERR_TOOBIG)
            err_set(err, rc, "%s: line %" PRIu64 " is over 1 GiB", path,
                    *number - before + 1);
        if (rc || text.len == 0)
            break;
        block.text = buf_slice(&text);
        block.number = *number;
        rc = saw_run_lines(run, &block, &done, err);
        *number += done;
        if (rc && opts->cancel && atomic_load(opts->cancel))
            err_set(err, rc, "saw: interrupted at line %" PRIu64 " of %s",
                    *number - before, path);
        else if (rc)
            err_wrap(err, "%s: line %" PRIu64, path, *number - before + 1);
        if (rc)
            break;
        if (opts->progress)
            opts->progress(opts->progress_ctx, stream.offset, stream.size);
    }
    buf_close(&text);
    line_stream_close(&stream);
    return rc;
}

static bool must_be_in_order(struct saw_run *run,
                             struct world *world,
                             const char *const *paths,
                             size_t path_count)
{
    if (saw_program_is_stateful(saw_run_program(run)) ||
        saw_run_options(run)->memory_bytes_max)
        return true;
    if (!saw_run_writes(run))
        return false;
    for (size_t i = 0; i < path_count; i++) {
        if (line_plan_is_stream(world, paths[i]))
            return true;
    }
    return false;
}

int line_scan_run(struct saw_run *run,
                  const char *const *paths,
                  size_t path_count,
                  const struct line_scan_options *opts,
                  struct err *err)
{
    uint64_t number = 0;
    int rc = 0;
    PRE(opts->thread_count > 0);
    if (path_count == 0)
        return 0;
    if (!must_be_in_order(run, opts->world, paths, path_count))
        return scan_segments(run, paths, path_count, opts, err);
    for (size_t i = 0; i < path_count && !rc; i++)
        rc = run_in_order(run, paths[i], &number, opts, err);
    return rc;
}
