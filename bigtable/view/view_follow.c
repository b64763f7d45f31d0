/* The follower that maintains a view: it builds the view, and then applies each
 * row that was written, and those whose cells get too old.
 *
 * The token is saved behind what was applied. After a crash some rows are
 * applied again, which changes nothing (view_core.h): so no transaction holds
 * both.
 */
#include "bigtable/view/view_follow.h"

#include "base/core/fault.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/view/view_core.h"
#include "bigtable/view/view_settings.h"

/* How often the rules of the table, and whether somebody asked for a build, are
 * looked at. */
#define LOOK_EVERY_US ((int64_t)2000000)

struct view_run {
    struct follower_run *run; /* Borrowed. */
    struct view_core view;
    struct quarry_changes *changes; /* Owned. */
    int64_t next_look_us;
    int64_t next_due_us; /* 0: no row is due before one is applied. */
};

/* --- building ------------------------------------------------------------ */

/* The table as it is now: expiries are by its rules. *@again: they are not
 * those that the view was built by. */
static int look_at_source(struct view_run *r, bool *again, struct err *err)
{
    struct view_source now;
    struct view_meta m = {.phase = VIEW_PHASE_ROWS};
    int rc = view_source_open(r->view.quarry, follower_record(r->run)->table,
                              &now, err);
    if (rc)
        return rc;
    rc = view_meta_read(&r->view, &m, err);
    *again = rc == 0 && !slice_eq(buf_slice(&m.rules), buf_slice(&now.rules));
    view_meta_close(&m);
    if (*again &&
        !slice_eq(buf_slice(&r->view.source.rules), buf_slice(&now.rules))) {
        const struct view_source before = r->view.source;
        struct quarry_table *table = now.table;
        r->view.source = now;
        now = before;
        /* The reader of changes has the table that was opened first. */
        r->view.source.table = before.table;
        now.table = table;
    }
    view_source_close(&now);
    return rc;
}

/* Until all rows are in, whether that was begun here or before. */
static int view_follow_build(struct view_run *r, struct err *err)
{
    bool ready = false;
    int rc = 0;
    while (rc == 0 && !ready && !follower_stopped(r->run))
        rc = view_build_step(&r->view, &ready, err);
    r->next_due_us = 1;
    return rc;
}

static int view_follow_look(struct view_run *r, struct err *err)
{
    const int64_t now_us = view_core_now_us(&r->view);
    bool again = false;
    int rc;

    if (now_us < r->next_look_us)
        return 0;
    r->next_look_us = now_us + LOOK_EVERY_US;
    rc = look_at_source(r, &again, err);
    if (rc == 0 && again)
        rc = view_build_begin(&r->view, err);
    return rc ? rc : view_follow_build(r, err);
}

/* --- changes ------------------------------------------------------------- */

static int view_follow_expire(struct view_run *r, struct err *err)
{
    const int64_t now_us = view_core_now_us(&r->view);
    if (r->next_due_us == 0 || now_us < r->next_due_us)
        return 0;
    return view_expire(&r->view, now_us, &r->next_due_us, err);
}

static int view_follow_apply(struct view_run *r,
                             const struct quarry_change *list,
                             size_t count,
                             struct err *err)
{
    struct slice *rows = mem_alloc(count * sizeof(*rows));
    int rc;
    for (size_t i = 0; i < count; i++)
        rows[i] = list[i].row;
    rc = view_apply(&r->view, rows, count, err);
    mem_free(rows);
    r->next_due_us = 1; /* One of them may be due before the others. */
    return rc;
}

static int view_follow_follow(struct view_run *r, struct err *err)
{
    const struct quarry_change *list;
    size_t count = 0;
    int rc = 0;

    while (rc == 0 && !follower_stopped(r->run)) {
        rc = view_follow_look(r, err);
        if (rc == 0)
            rc = view_follow_expire(r, err);
        if (rc == 0)
            rc = follower_next(r->run, r->changes, &list, &count, err);
        if (rc || count == 0)
            continue;
        if (fault_hit("view.save_first"))
            rc = follower_save(r->run, r->changes, err);
        if (rc == 0)
            rc = view_follow_apply(r, list, count, err);
        if (rc == 0)
            rc = follower_save(r->run, r->changes, err);
    }
    return rc;
}

static int run_view(struct follower_run *run, struct err *err)
{
    const struct follower_record *record = follower_record(run);
    struct view_run r = {.run = run};
    struct view_settings s;
    int rc = view_settings_parse(record->settings, &s, err);

    if (rc)
        return rc;
    rc = view_core_open(follower_quarry(run), record->name, record->table,
                        buf_slice(&s.program), &r.view, err);
    view_settings_close(&s);
    if (rc)
        return rc;
    r.view.cancel = follower_stop_flag(run);
    rc = follower_changes_open(run, r.view.source.table, NULL, &r.changes, err);
    if (rc == 0)
        rc = view_follow_follow(&r, err);
    quarry_changes_close(r.changes);
    view_core_close(&r.view);
    /* The next run does what this one was stopped in. */
    return rc == ERR_CANCELLED && follower_stopped(run) ? 0 : rc;
}

const struct follower_kind view_kind = {.name = VIEW_KIND, .run = run_view};
