/* Reading every row of a table. Threads take ranges of rows, one after the
 * other, each into segments of its own; or others have read them (a job), and
 * their segments are taken in.
 *
 * No two of these segments have a row in common, so that their order means
 * nothing.
 */
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "web/search/build/index_build.h"
#include "web/search/build/row_segments.h"
#include "web/search/build/segment_intake.h"

/* Ranges a thread: enough to even out differences between rows. */
#define RANGES_PER_THREAD 8
#define THREADS_MAX       64u
/* Rows read between two reports. */
#define TELL_ROWS 64

struct whole_build {
    struct index_build *build;
    struct slice *keys; /* Where ranges but the first begin; owned. */
    size_t range_count;
    size_t room; /* Bytes of a thread. */
    /* All below under the build's lock. */
    size_t next; /* The range that nobody has taken. */
    uint64_t words;
    int rc; /* The first failure, */
    struct err err;
};

/* Take the next range; false: there is none, or a thread has failed. */
static bool take_range(struct whole_build *w, struct quarry_range *out)
{
    bool more;
    size_t n = 0;
    mutex_lock(&w->build->lock);
    more = w->rc == 0 && w->next < w->range_count;
    if (more)
        n = w->next++;
    mutex_unlock(&w->build->lock);
    *out = (struct quarry_range){SLICE_EMPTY, SLICE_EMPTY};
    if (more && n > 0)
        out->start = w->keys[n - 1];
    if (more && n + 1 < w->range_count)
        out->end = w->keys[n];
    return more;
}

static int whole_build_tell(struct whole_build *w,
                            struct row_segments *to,
                            struct search_progress *untold,
                            uint64_t *told,
                            struct err *err)
{
    struct search_progress p = *untold;
    p.documents = row_segments_documents(to) - *told;
    *told += p.documents;
    *untold = (struct search_progress){.rows = 0};
    return index_build_count(w->build, &p, err);
}

static int read_range(struct whole_build *w,
                      const struct quarry_range *range,
                      struct row_segments *to,
                      struct err *err)
{
    struct quarry_read_options read = index_build_read(w->build, true);
    struct quarry_scanner *rows = NULL;
    const struct quarry_row *row = NULL;
    struct search_progress untold = {.rows = 0};
    uint64_t told = row_segments_documents(to);
    int rc;
    read.ranges = range;
    read.range_count = 1;
    rc = quarry_scan(w->build->opts->table, &read, &rows, err);
    while (!rc) {
        rc = quarry_scanner_next(rows, &row, err);
        if (rc || !row)
            break;
        untold.rows++;
        untold.rows_read++;
        rc = row_segments_put(to, row, false, err);
        if (!rc && untold.rows == TELL_ROWS)
            rc = whole_build_tell(w, to, &untold, &told, err);
    }
    if (!rc)
        rc = whole_build_tell(w, to, &untold, &told, err);
    quarry_scanner_close(rows);
    return rc;
}

static void whole_failed(struct whole_build *w, int rc, const struct err *err)
{
    mutex_lock(&w->build->lock);
    if (w->rc == 0) {
        w->rc = rc;
        w->err = *err;
    }
    mutex_unlock(&w->build->lock);
}

/* The work of each thread, the caller's among them. */
static void read_ranges(void *arg)
{
    struct whole_build *w = arg;
    struct segment_place place = {.build = w->build};
    const struct row_segments_options o = index_build_segments(&place, w->room);
    struct row_segments *to = NULL;
    struct quarry_range range;
    struct err err = ERR_INIT;
    int rc = row_segments_new(&o, &to, &err);
    while (!rc && take_range(w, &range))
        rc = read_range(w, &range, to, &err);
    if (!rc)
        rc = row_segments_flush(to, &err);
    if (rc) {
        whole_failed(w, rc, &err);
    } else {
        mutex_lock(&w->build->lock);
        w->words += row_segments_words(to);
        mutex_unlock(&w->build->lock);
    }
    row_segments_free(to);
}

static void run_threads(struct whole_build *w, unsigned count)
{
    struct task *tasks[THREADS_MAX];
    for (unsigned i = 1; i < count; i++)
        tasks[i] =
            task_start(w->build->opts->world, "search-build", read_ranges, w);
    read_ranges(w);
    for (unsigned i = 1; i < count; i++)
        task_join(tasks[i]);
}

static int build_in_threads(struct index_build *b, unsigned count)
{
    size_t room =
        b->opts->memory_bytes ? b->opts->memory_bytes : ROW_SEGMENTS_ROOM_BYTES;
    struct whole_build w = {.build = b, .room = MAX_OF(room / count, 1)};
    int rc = 0;
    if (count > 1)
        rc = quarry_table_split_points(b->opts->table,
                                       (size_t)count * RANGES_PER_THREAD,
                                       &w.keys, &w.range_count, b->err);
    if (rc)
        return rc;
    w.range_count++;
    run_threads(&w, count);
    b->report->words = w.words;
    mem_free(w.keys);
    return w.rc ? err_copy(b->err, &w.err) : 0;
}

int index_build_all(struct index_build *b)
{
    const struct search_build_options *o = b->opts;
    b->report->way = SEARCH_BUILD_ALL;
    b->manifest.segment_count = 0;
    if (o->make)
        return segment_intake_run(b);
    return build_in_threads(b, MIN_OF(MAX_OF(o->threads, 1u), THREADS_MAX));
}
