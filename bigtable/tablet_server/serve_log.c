/* Sorting segments of dead servers' logs by order of the master, and sending
 * the rows of a tablet in them to the server that loads it. Segments are sorted
 * on threads; what fits stays in the cache of recovery/segment_cache.h. */
#include "base/core/panic.h"
#include "bigtable/recovery/segment_cache.h"
#include "bigtable/recovery/sorted_segment.h"
#include "bigtable/tablet_server/log_replay.h"
#include "bigtable/tablet_server/tablet_server_state.h"
#include "bigtable/wire/log_calls.h"

/* Sorting a segment, on a thread. */
struct sort_job {
    struct tablet_server *server;
    char dir[LOG_DIR_BYTES];
    char *name;
    struct sorted_segment *segment;
    struct err err;
    int rc;
};

static void run_sort(void *arg)
{
    struct sort_job *j = arg;
    j->rc = segment_cache_get(j->server->segments, j->server->fs, j->dir,
                              j->name, j->server->number, &j->segment, &j->err);
}

/* Get the segment, sorted and referenced; *@out is NULL if it was written to a
 * file instead. */
static int get_segment(struct tablet_server *s,
                       uint64_t log,
                       struct slice name,
                       struct sorted_segment **out,
                       struct err *err)
{
    struct sort_job j = {.server = s};

    PRE(s->number != 0);
    *out = NULL;
    if (log == s->number)
        return err_set(err, ERR_INVALID, "log %llu is in use",
                       (unsigned long long)log);
    replay_log_dir(log, j.dir);
    j.name = mem_strndup(name.data, name.len);
    server_in_thread(s, run_sort, &j);
    mem_free(j.name);
    POST(j.rc == 0 || !j.segment);
    *out = j.segment;
    return j.rc ? err_copy(err, &j.err) : 0;
}

int handle_log_sort(struct tablet_server *s,
                    struct rpc_call *call,
                    struct err *err)
{
    struct sorted_segment *segment = NULL;
    struct log_order o;
    int rc = log_order_get(call->body, &o, err);

    PRE(atomic_load(&s->ready)); /* The gate. */
    if (rc == 0)
        rc = get_segment(s, o.log, o.segment, &segment, err);
    if (rc == 0)
        log_sorted_put(&(struct log_sorted){.held = segment != NULL},
                       call->reply_body);
    sorted_segment_unref(segment);
    return rc;
}

int handle_log_read(struct tablet_server *s,
                    struct rpc_call *call,
                    struct err *err)
{
    struct sorted_segment *segment = NULL;
    struct log_read r;
    int rc = log_read_get(call->body, &r, err);

    PRE(atomic_load(&s->ready)); /* The gate. */
    if (rc == 0)
        rc = get_segment(s, r.log, r.segment, &segment, err);
    if (rc == 0 && !segment)
        rc = err_set(err, ERR_EXISTS, "the segment is in its file");
    if (rc == 0)
        log_batch_put(segment, r.table, r.start, r.end, r.skip,
                      call->reply_attachment);
    sorted_segment_unref(segment);
    return rc;
}
