/* Finding the segments of dead servers' logs, and merging their mutations of
 * one tablet in the order of sequence numbers (recovery/log_merge.h). */
#include "bigtable/tablet_server/log_replay.h"

#include <stdio.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/fault.h"
#include "base/core/panic.h"
#include "base/rpc/channel_set.h"
#include "base/runtime/log.h"
#include "bigtable/log/segment_list.h"
#include "bigtable/log/shared_log.h"
#include "bigtable/recovery/log_sort.h"
#include "bigtable/recovery/segment_cache.h"
#include "bigtable/recovery/sorted_segment.h"
#include "bigtable/store/store.h"
#include "bigtable/tablet_server/tablet_server_state.h"
#include "bigtable/wire/log_calls.h"
#include "gfs-lite/fs.h"

/* For one batch: its holder may have to sort the segment again. */
#define FETCH_US UINT64_C(60000000)

void replay_log_dir(uint64_t number, char out[LOG_DIR_BYTES])
{
    snprintf(out, LOG_DIR_BYTES, BIGTABLE_FS_LOGS "/%08llu",
             (unsigned long long)number);
}

/* A segment that another server has in memory. */
struct elsewhere {
    struct elsewhere *next;
    struct tablet_server *server; /* This one. */
    struct log_read question;
    struct slice address;
    char *segment; /* Owned. */
};

struct replay {
    struct tablet_server *server;
    const struct tablet_origin *origin;
    struct slice start;
    struct slice end;
    struct slice sequencer;
    struct slice holders;
    struct log_merge *merge;
    struct elsewhere *elsewhere;
};

/* --- one segment --------------------------------------------------------- */

static int
replay_fetch(void *ctx, uint64_t skip, struct buf *out, struct err *err)
{
    const struct rpc_call_options o = {.timeout_us = FETCH_US};
    struct elsewhere *e = ctx;
    struct buf body = BUF_INIT;
    int rc;
    e->question.skip = skip;
    PRE(e->question.server != e->server->number);
    log_read_put(&e->question, &body);
    buf_clear(out);
    rc = channel_set_call(e->server->channels, e->address, TABLET_LOG_READ, &o,
                          buf_slice(&body), SLICE_EMPTY, NULL, out, err);
    buf_close(&body);
    return rc;
}

/* Read the segment from memory here, or from its sorted file. */
static int
add_here(struct replay *r, const char *dir, const char *name, struct err *err)
{
    struct tablet_server *s = r->server;
    struct sorted_segment *segment;
    struct buf path = BUF_INIT;
    int rc = segment_cache_get(s->segments, s->fs, dir, name, s->number,
                               &segment, err);
    if (rc == 0 && segment) {
        log_merge_add_segment(r->merge, segment);
    } else if (rc == 0) {
        log_sorted_path(dir, name, &path);
        rc = log_merge_add_file(r->merge, s->fs, s->store->cache,
                                buf_cstr(&path), err);
    }
    sorted_segment_unref(segment);
    buf_close(&path);
    return rc;
}

/* Does the order name another server that holds the segment? */
static bool find_holder(const struct replay *r,
                        uint64_t log,
                        const char *name,
                        struct log_holder *h)
{
    struct cursor c = cursor_make(r->holders);
    while (log_holder_next(&c, h))
        if (h->log == log && slice_eq(h->segment, slice_str(name)))
            return h->server != r->server->number;
    return false;
}

static int add_elsewhere(struct replay *r,
                         const struct log_holder *h,
                         const char *name,
                         struct err *err)
{
    struct elsewhere *e = mem_zalloc(1, sizeof(*e));

    PRE(h->server != r->server->number);
    e->server = r->server;
    e->segment = mem_strdup(name);
    e->address = h->address;
    e->question = (struct log_read){.sequencer = r->sequencer,
                                    .server = h->server,
                                    .log = h->log,
                                    .segment = slice_str(e->segment),
                                    .table = r->origin->table,
                                    .start = r->start,
                                    .end = r->end};
    e->next = r->elsewhere;
    r->elsewhere = e;
    return log_merge_add_remote(r->merge, replay_fetch, e, err);
}

static int add_segment(struct replay *r,
                       uint64_t log,
                       const char *dir,
                       const char *name,
                       struct err *err)
{
    struct err why = ERR_INIT;
    struct log_holder h;
    int rc;

    PRE(log != r->server->number); /* Ours is not replayed. */
    if (!find_holder(r, log, name, &h))
        return add_here(r, dir, name, err);
    rc = add_elsewhere(r, &h, name, &why);
    if (rc == 0)
        return 0;
    if (rc != ERR_EXISTS)
        log_warn(r->server->world, "tablet", "%s/%s at %.*s: %s", dir, name,
                 SLICE_ARG(h.address), why.text);
    return add_here(r, dir, name, err);
}

/* --- a log --------------------------------------------------------------- */

static int add_log(struct replay *r, uint64_t log, struct err *err)
{
    char dir[LOG_DIR_BYTES];
    const char *last = NULL;
    char **names = NULL;
    size_t count = 0;
    int rc;
    replay_log_dir(log, dir);
    rc = fs_list(r->server->fs, dir, &names, &count, err);
    if (rc == ERR_NOTFOUND) {
        err_set(err, ERR_CORRUPT, "%s, a log that the tablet needs, is missing",
                dir);
        return segment_list_refuse(err);
    }
    if (rc == 0)
        rc = segment_list_check(r->server->fs, dir, err);
    for (size_t i = 0; i < count; i++)
        if (shared_log_is_segment(names[i]))
            last = names[i];
    for (size_t i = 0; i < count && rc == 0; i++) {
        if (!shared_log_is_segment(names[i]) ||
            (names[i] == last && fault_hit("tablet.skip_last_segment")))
            continue;
        rc = add_segment(r, log, dir, names[i], err);
    }
    fs_names_free(names, count);
    return rc;
}

int replay_logs(struct tablet_server *s,
                const struct tablet_origin *o,
                struct slice start,
                struct slice end,
                struct slice sequencer,
                struct slice holders,
                log_merge_fn fn,
                void *ctx,
                struct err *err)
{
    struct replay r = {.server = s,
                       .origin = o,
                       .start = start,
                       .end = end,
                       .sequencer = sequencer,
                       .holders = holders};
    int rc = 0;
    PRE(s->number != 0);
    r.merge = log_merge_new(o->table, start, end);
    for (size_t i = 0; i < o->log_count && rc == 0; i++)
        if (o->logs[i] != s->number)
            rc = add_log(&r, o->logs[i], err);
    if (rc == 0)
        rc = log_merge_each(r.merge, fn, ctx, err);
    log_merge_free(r.merge);
    while (r.elsewhere) {
        struct elsewhere *e = r.elsewhere;
        r.elsewhere = e->next;
        mem_free(e->segment);
        mem_free(e);
    }
    return rc;
}
