/* A run opens both ends, continues the copy if it is not done, and then sends
 * changes until it is stopped. Places are saved once the other end has what was
 * before them; after a crash some of it is sent again, which does nothing.
 */
#include "bigtable/replication/replication_follower.h"

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/follow/follow.h"
#include "bigtable/replication/replication_settings.h"
#include "bigtable/replication/replication_stream.h"

#define CHANGES_BYTES ((size_t)2 << 20)
#define SAVE_NS       ((uint64_t)500000000)
#define IDLE_SAVE_NS  ((uint64_t)60000000000)

struct stream_run {
    struct follower_run *run;
    struct replication_settings settings;
    struct quarry_replication *stream;
    struct buf value;  /* Scratch. */
    uint64_t saved_ns; /* The place was, */
    uint64_t unsaved;  /* and the number of changes sent since. */
};

static int
is_in_phase(struct stream_run *s, const char *phase, bool *yes, struct err *err)
{
    bool found;
    int rc = follower_state_get(s->run, "phase", &s->value, &found, err);
    *yes = rc == 0 && found && slice_eq_str(buf_slice(&s->value), phase);
    return rc;
}

static int enter_phase(struct stream_run *s, const char *phase, struct err *err)
{
    return follower_state_put(s->run, "phase", slice_str(phase), err);
}

/* --- the copy ------------------------------------------------------------ */

/* Take the place from which changes follow, before anything is copied. */
static int begin_copy(struct stream_run *s, struct err *err)
{
    int rc;
    buf_clear(&s->value);
    rc = quarry_replication_begin(s->stream, &s->value, err);
    if (rc == 0)
        rc = follower_state_put(s->run, "from", buf_slice(&s->value), err);
    if (rc == 0)
        rc = enter_phase(s, "copy", err);
    return rc;
}

static int copied_up_to(void *arg,
                        struct slice row,
                        uint64_t rows,
                        uint64_t bytes,
                        struct err *err)
{
    struct stream_run *s = arg;
    int rc = follower_state_put(s->run, "at", row, err);
    follower_report(s->run, UINT64_MAX, rows, bytes);
    if (rc == 0 && follower_stopped(s->run))
        rc = err_set(err, ERR_CANCELLED, "the copy was stopped");
    return rc;
}

static int continue_copy(struct stream_run *s, struct err *err)
{
    struct buf at = BUF_INIT;
    struct slice row;
    bool found;
    int rc = follower_state_get(s->run, "at", &at, &found, err);
    row = buf_slice(&at);
    if (rc == 0)
        rc = quarry_replication_copy(s->stream, found ? &row : NULL,
                                     copied_up_to, s, err);
    if (rc == 0)
        rc = enter_phase(s, "changes", err);
    if (rc == 0 && found)
        rc = follower_state_put(s->run, "at", SLICE_EMPTY, err);
    buf_close(&at);
    return rc;
}

static int copy_if_needed(struct stream_run *s, struct err *err)
{
    bool copying = false;
    bool sending = false;
    int rc = is_in_phase(s, "changes", &sending, err);
    if (rc || sending)
        return rc;
    if (!s->settings.copy)
        return enter_phase(s, "changes", err);
    rc = is_in_phase(s, "copy", &copying, err);
    if (rc == 0 && !copying)
        rc = begin_copy(s, err);
    return rc ? rc : continue_copy(s, err);
}

/* --- changes ------------------------------------------------------------- */

static void report_place(struct stream_run *s,
                         const struct quarry_replication_place *at)
{
    int64_t now = (int64_t)world_now_us(quarry_world(follower_quarry(s->run)));
    uint64_t lag_us = UINT64_MAX;
    if (at->watermark_us)
        lag_us = (uint64_t)MAX_OF(now - at->watermark_us, INT64_C(0));
    follower_report(s->run, lag_us, at->changes, at->bytes);
}

/* A place is saved half a second after the one before, if there were changes,
 * or if it has aged for a minute: what is sent once more has no effect. */
static int keep_place(void *arg,
                      const struct quarry_replication_place *at,
                      struct err *err)
{
    struct stream_run *s = arg;
    uint64_t now_ns = world_mono_ns(quarry_world(follower_quarry(s->run)));
    int rc;
    report_place(s, at);
    s->unsaved += at->changes;
    if (!at->last &&
        now_ns - s->saved_ns < (s->unsaved ? SAVE_NS : IDLE_SAVE_NS))
        return 0;
    rc = follower_save_token(s->run, at->token, err);
    s->saved_ns = now_ns;
    s->unsaved = 0;
    return rc;
}

static int follow_changes(struct stream_run *s, struct err *err)
{
    struct quarry_changes_options o = {.start = s->settings.spec.start,
                                       .end = s->settings.spec.end,
                                       .batch_bytes = CHANGES_BYTES};
    struct quarry_changes *c = NULL;
    bool found;
    int rc = follower_state_get(s->run, "from", &s->value, &found, err);
    if (rc == 0 && found)
        o.token = buf_slice(&s->value);
    if (rc == 0)
        rc = follower_changes_open(s->run, s->stream->source, &o, &c, err);
    if (rc == 0)
        rc = quarry_replication_follow(s->stream, c, true, keep_place, s, err);
    quarry_changes_close(c);
    return rc;
}

static int stream_open(struct stream_run *s, struct err *err)
{
    const struct follower_record *r = follower_record(s->run);
    int rc = replication_settings_get(r->settings, &s->settings, err);
    if (rc)
        return rc;
    s->settings.spec.table = r->table;
    rc = quarry_replication_open(follower_quarry(s->run), &s->settings.spec,
                                 &s->stream, err);
    if (rc == 0)
        s->stream->stop = follower_stop_flag(s->run);
    return rc;
}

static int stream_run(struct follower_run *run, struct err *err)
{
    struct stream_run s = {.run = run};
    int rc = stream_open(&s, err);
    if (rc == 0)
        rc = copy_if_needed(&s, err);
    if (rc == 0)
        rc = follow_changes(&s, err);
    if (rc == ERR_CANCELLED && follower_stopped(run))
        rc = 0;
    quarry_replication_close(s.stream);
    replication_settings_close(&s.settings);
    buf_close(&s.value);
    return rc;
}

const struct follower_kind replication_follower = {.name = REPLICATION_KIND,
                                                   .run = stream_run};
