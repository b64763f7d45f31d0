/* An import's life: paths checked, table opened or made, files read by tasks,
 * failures collected, everything flushed at the end. */
#include "mapreduce/ingest/ingest_run.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "mapreduce/ingest/text_check.h"

#define PROGRESS_NS ((uint64_t)100000000)
#define TASKS_MAX   64u

void ingest_options_init(struct ingest_options *o)
{
    *o = (struct ingest_options){
        .damage_kept_max = INGEST_DAMAGE_KEPT_DEFAULT,
        .create_table = true,
        .count_new = true,
        .links = true,
        .page_bytes_max = (uint64_t)64 << 20,
        .revisit_bytes_max = (uint64_t)64 << 20,
        .temp_dir = "/tmp",
        .family = "data",
        .separator = '\0',
        .header = true,
        .log_host = "localhost",
    };
}

void ingest_report_free(struct ingest_report *r)
{
    for (size_t i = 0; i < r->damage_kept; i++)
        mem_free(r->damage[i].file);
    for (size_t i = 0; i < r->damage_kept; i++)
        mem_free(r->damage[i].reason);
    mem_free(r->damage);
    r->damage = NULL;
    r->damage_kept = 0;
}

/* --- opening ------------------------------------------------------------- */

/* All paths must be files: checked before anything is written. */
static int check_paths(struct run *run, struct err *err)
{
    for (size_t i = 0; i < run->path_count; i++) {
        struct file_info info;
        int rc = world_stat(run->world, run->paths[i], &info, err);
        if (rc) {
            err_wrap(err, "import"); /* The cause names the file. */
            return rc;
        }
        if (info.kind == FILE_KIND_DIRECTORY) {
            err_set(err, ERR_INVALID, "import %s: is a directory",
                    run->names[i]);
            err_hint(err, "name the files: %s/*", run->names[i]);
            return ERR_INVALID;
        }
        run->bytes_total += info.size_bytes;
    }
    return 0;
}

/* The same of what the files are, by their first bytes. */
static int check_text(struct run *run, size_t index, struct err *err)
{
    PRE(index < run->path_count);
    char head[TEXT_CHECK_BYTES];
    struct run_input in;
    size_t got = 0;
    int rc = run_input_open(run, index, &in, err);
    if (rc == 0) {
        rc = run_input_read(&in, head, sizeof(head), &got, err);
        run_input_close(&in);
    }
    if (rc == 0)
        rc = text_check_packed(slice_make(head, got), err);
    if (rc)
        err_wrap(err, "import %s", run->names[index]);
    return rc;
}

static int check_families(struct run *run,
                          const struct ingest_job *job,
                          const struct run_shape *shape,
                          struct err *err)
{
    struct quarry_table_info *info;
    bool aggregates = false;
    int rc = quarry_table_describe(job->q, job->table, &info, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < info->family_count; i++)
        aggregates |= *info->families[i].aggregate != '\0';
    for (size_t i = 0; i < shape->family_count && rc == 0; i++) {
        const char *name = shape->families[i].name;
        size_t k = 0;
        while (k < info->family_count &&
               strcmp(info->families[k].name, name) != 0)
            k++;
        if (k == info->family_count) {
            rc = err_set(err, ERR_INVALID,
                         "table %s has no family \"%s\", which this import "
                         "writes",
                         job->table, name);
            err_hint(err,
                     "import into a new table, or: quarry table alter %s "
                     "--add-family %s",
                     job->table, name);
        }
    }
    if (rc == 0 && aggregates)
        run->aggregates = info;
    else
        quarry_table_info_free(info);
    return rc;
}

static int open_table(struct run *run,
                      const struct ingest_job *job,
                      const struct run_shape *shape,
                      struct err *err)
{
    int rc = quarry_table_open(job->q, job->table, &run->table, err);
    if (rc == 0)
        return check_families(run, job, shape, err);
    if (rc != ERR_NOTFOUND || !run->opts.create_table)
        return rc;
    rc = quarry_table_create(job->q, job->table, shape->families,
                             shape->family_count, shape->groups,
                             shape->group_count, err);
    run->made_table = rc == 0;
    if (rc == 0)
        rc = quarry_table_open(job->q, job->table, &run->table, err);
    return rc;
}

int run_open(struct run *run,
             const struct ingest_job *job,
             const struct run_shape *shape,
             struct ingest_report *report,
             struct err *err)
{
    int rc;
    memset(run, 0, sizeof(*run));
    memset(report, 0, sizeof(*report));
    mutex_init(&run->lock);
    run->q = job->q;
    run->report = report;
    run->table_name = job->table;
    run->paths = job->paths;
    run->path_count = job->path_count;
    run->names = job->names ? job->names : job->paths;
    if (job->opts)
        run->opts = *job->opts;
    else
        ingest_options_init(&run->opts);
    run->owns_world = run->opts.world == NULL;
    run->world = run->owns_world ? world_real_new() : run->opts.world;
    run->started_ns = world_mono_ns(run->world);
    run->text = shape->text;
    rc = check_paths(run, err);
    for (size_t i = 0;
         i < run->path_count && run->text && !shape->binary && !rc; i++)
        rc = check_text(run, i, err);
    return rc ? rc : open_table(run, job, shape, err);
}

static int by_place(const void *a, const void *b)
{
    const struct ingest_damage *x = a;
    const struct ingest_damage *y = b;
    int c = strcmp(x->file, y->file);
    if (c)
        return c;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return strcmp(x->reason, y->reason);
}

int run_close(struct run *run, int code, struct err *err)
{
    struct ingest_report *r = run->report;
    if (code == 0)
        code = quarry_flush(run->q, err);
    else if ((code == ERR_CANCELLED || code == ERR_CORRUPT) && r->row_count &&
             quarry_flush(run->q, NULL))
        err_wrap(err, "what was read could not be stored");
    if (code == 0 && r->refused_count)
        code = err_set(err, ERR_CORRUPT,
                       "import: %zu of %zu files skipped as they are of "
                       "another kind: %s%s",
                       r->refused_count, run->path_count,
                       run->names[run->first_refused],
                       r->refused_count > 1 ? " and others" : "");
    if (run->table)
        quarry_table_close(run->table);
    quarry_table_info_free(run->aggregates);
    /* An import that failed leaves no empty table. */
    if (code && run->made_table && r->row_count == 0 &&
        quarry_table_drop(run->q, run->table_name, NULL))
        err_hint(err, "the table %s was made, and is empty", run->table_name);
    time_set_close(&run->rows);
    if (r->damage_kept)
        qsort(r->damage, r->damage_kept, sizeof(*r->damage), by_place);
    r->elapsed_us = (world_mono_ns(run->world) - run->started_ns) / 1000;
    mutex_close(&run->lock);
    if (run->owns_world)
        world_free(run->world);
    return code;
}

/* --- tasks --------------------------------------------------------------- */

/* The next file to read; false: there is none, or another task failed. */
static bool take_path(struct run *run, size_t *index)
{
    bool ok;
    mutex_lock(&run->lock);
    ok = run->next_path < run->path_count && run->err.code == 0;
    if (ok)
        *index = run->next_path++;
    mutex_unlock(&run->lock);
    return ok;
}

static void file_done(struct run *run, int code, const struct err *err)
{
    mutex_lock(&run->lock);
    run->paths_done++;
    if (code && run->err.code == 0) {
        err_copy(&run->err, err);
        run->err.code = code;
    }
    mutex_unlock(&run->lock);
}

/* A file of another kind does not stop the others. */
static void refuse_file(struct run *run, size_t index, struct err *err)
{
    run_damage(run, index, 0, true, err->text);
    mutex_lock(&run->lock);
    if (run->report->refused_count++ == 0)
        run->first_refused = index;
    mutex_unlock(&run->lock);
}

static void read_files(void *arg)
{
    struct run *run = arg;
    size_t index;
    while (take_path(run, &index)) {
        struct err err = ERR_INIT;
        int rc = run->read_file(run, index, &err);
        if (rc == ERR_CORRUPT && run->skips_other_kinds) {
            refuse_file(run, index, &err);
            rc = 0;
        }
        if (rc)
            err_wrap(&err, "import %s", run->names[index]);
        file_done(run, rc, &err);
    }
}

int run_files(struct run *run, struct err *err)
{
    struct task *tasks[TASKS_MAX];
    unsigned n =
        run->opts.tasks ? run->opts.tasks : world_cpu_count(run->world);
    n = n < TASKS_MAX ? n : TASKS_MAX;
    if (n > run->path_count)
        n = (unsigned)run->path_count;
    for (unsigned i = 1; i < n; i++)
        tasks[i] = task_start(run->world, "import", read_files, run);
    read_files(run);
    for (unsigned i = 1; i < n; i++)
        task_join(tasks[i]);
    return err_copy(err, &run->err);
}

/* --- counting ------------------------------------------------------------ */

/* PRE: the lock is held. */
static void report_progress(struct run *run)
{
    const struct ingest_report *r = run->report;
    struct ingest_progress p = {
        .bytes_done = r->bytes_read,
        .bytes_total = run->bytes_total,
        .record_count = r->record_count,
        .damage_count = r->damage_count,
        .files_done = run->paths_done,
        .files_total = run->path_count,
    };
    uint64_t now = world_mono_ns(run->world);
    if (now - run->progress_ns < PROGRESS_NS)
        return;
    run->progress_ns = now;
    run->opts.progress(run->opts.progress_ctx, &p);
}

int run_count(struct run *run, struct run_counts *c, struct err *err)
{
    struct ingest_report *r = run->report;
    int rc;
    mutex_lock(&run->lock);
    r->record_count += c->records;
    r->page_count += c->pages;
    r->revisit_count += c->revisits;
    r->link_count += c->links;
    r->skipped_count += c->skipped;
    r->row_count += c->rows;
    r->cell_count += c->cells;
    r->bytes_read += c->bytes_read;
    r->bytes_decoded += c->bytes_decoded;
    if (run->opts.progress)
        report_progress(run);
    if (run->opts.cancel && atomic_load(run->opts.cancel) && !run->err.code)
        err_set(&run->err, ERR_CANCELLED, "interrupted");
    rc = err_copy(err, &run->err);
    mutex_unlock(&run->lock);
    memset(c, 0, sizeof(*c));
    return rc;
}

/* A row that is written more than once is new once. */
void run_rows(struct run *run,
              const uint64_t *hashes,
              const bool *absent,
              size_t count)
{
    struct ingest_report *r = run->report;
    if (!run->text)
        return;
    mutex_lock(&run->lock);
    for (size_t i = 0; i < count && run->rows.count <= INGEST_DISTINCT_MAX; i++)
        if (time_set_add(&run->rows, hashes[i]) && absent)
            r->new_count += absent[i];
    r->distinct_count =
        run->rows.count <= INGEST_DISTINCT_MAX ? run->rows.count : 0;
    r->new_is_known =
        run->opts.count_new && !run->may_not_read && r->distinct_count > 0;
    if (run->made_table)
        r->new_count = r->distinct_count;
    mutex_unlock(&run->lock);
}

void run_lost(struct run *run, uint64_t lines)
{
    mutex_lock(&run->lock);
    run->report->lost_count += lines;
    mutex_unlock(&run->lock);
}

/* PRE: the lock is held. */
static void limit_damage(struct run *run, const struct ingest_reject *d)
{
    const struct ingest_options *o = &run->opts;
    if (!o->bad_limited || run->report->damage_count <= o->bad_max ||
        run->err.code)
        return;
    atomic_store(&run->stopped, true);
    if (o->bad_max == 0)
        err_set(&run->err, ERR_CORRUPT, "%s: damaged at byte %" PRIu64 ": %s",
                d->file, d->offset, d->reason);
    else
        err_set(&run->err, ERR_CORRUPT,
                "%s: damaged at byte %" PRIu64 ", and at more than %" PRIu64
                " places in all: %s",
                d->file, d->offset, o->bad_max, d->reason);
}

/* List it, while there is room. PRE: the lock is held. */
static void keep_damage(struct run *run, const struct ingest_reject *d)
{
    struct ingest_report *r = run->report;
    if (r->damage_kept >=
        MIN_OF(run->opts.damage_kept_max, (size_t)INGEST_DAMAGE_KEPT_MAX))
        return;
    if (r->damage_kept == run->damage_cap) {
        run->damage_cap = run->damage_cap ? run->damage_cap * 2 : 16;
        r->damage =
            mem_realloc(r->damage, run->damage_cap * sizeof(*r->damage));
    }
    r->damage[r->damage_kept++] = (struct ingest_damage){
        .file = mem_strdup(d->file),
        .offset = d->offset,
        .line = d->line,
        .reason = mem_strdup(d->reason),
        .lost = d->lost,
    };
}

static void add_damage(struct run *run, const struct ingest_reject *d)
{
    struct ingest_report *r = run->report;
    mutex_lock(&run->lock);
    r->damage_count++;
    r->lost_count += d->lost;
    limit_damage(run, d);
    keep_damage(run, d);
    if (run->opts.reject && d->bytes.len)
        run->opts.reject(run->opts.reject_ctx, d);
    mutex_unlock(&run->lock);
}

void run_damage(struct run *run,
                size_t path_index,
                uint64_t offset,
                bool lost,
                const char *reason)
{
    const struct ingest_reject d = {.file = run->names[path_index],
                                    .offset = offset,
                                    .reason = reason,
                                    .lost = lost};
    PRE(path_index < run->path_count);
    add_damage(run, &d);
}

void run_refuse(struct run *run,
                size_t path_index,
                const struct run_line *line,
                bool lost,
                const char *reason)
{
    const struct ingest_reject d = {.file = run->names[path_index],
                                    .offset = line->offset,
                                    .line = line->number,
                                    .reason = reason,
                                    .lost = lost,
                                    .bytes = line->raw};
    PRE(path_index < run->path_count);
    add_damage(run, &d);
}

void run_cut(struct run *run, size_t path_index)
{
    mutex_lock(&run->lock);
    if (run->cut_count++ == 0)
        run->first_cut = path_index;
    mutex_unlock(&run->lock);
}

/* --- input --------------------------------------------------------------- */

int run_input_open(struct run *run,
                   size_t index,
                   struct run_input *in,
                   struct err *err)
{
    int rc;
    *in = (struct run_input){.path = run->paths[index]};
    rc = file_open(run->world, in->path, FILE_READ, &in->file, err);
    if (rc)
        return rc;
    rc = file_size(in->file, &in->size_bytes, err);
    if (rc) {
        file_close(in->file);
        in->file = NULL;
        return rc;
    }
    file_advise(in->file, 0, in->size_bytes, FILE_WILL_NEED);
    return 0;
}

int run_input_read(void *ctx,
                   void *dst,
                   size_t len,
                   size_t *got,
                   struct err *err)
{
    struct run_input *in = ctx;
    int rc = file_read_at(in->file, in->offset, dst, len, got, err);
    if (rc == 0)
        in->offset += *got;
    return rc;
}

void run_input_close(struct run_input *in)
{
    file_close(in->file);
    in->file = NULL;
}
