/* Each run begins with an update, and makes another one when rows changed. The
 * index keeps its own place in the changes, in the manifest that publishes its
 * segments: a run that is killed between the two records does an update that
 * finds nothing, and one that lost the follower meanwhile publishes what is
 * right, or is refused by the lock of builds. The follower's token only wakes.
 */
#include "cli/search_follower.h"

#include "base/runtime/world.h"
#include "bigtable/client/bulk_load.h"
#include "bigtable/follow/follow.h"
#include "bigtable/quarry.h"
#include "cli/search_files.h"
#include "gfs-lite/fs.h"
#include "web/search/search.h"

/* Between two updates: each writes a segment. */
#define PAUSE_US UINT64_C(1000000)
#define LOOK_US  UINT64_C(50000)

struct search_run {
    struct follower_run *run;
    struct quarry_table *table;
    struct quarry_changes *changes;
    struct fs *fs;
};

static int is_stopped(void *run, const struct search_progress *p)
{
    (void)p;
    return follower_stopped(run);
}

/* Bring the index up to date. */
static int search_follower_update(struct search_run *r, struct err *err)
{
    const struct search_build_options o = {.table = r->table,
                                           .fs = r->fs,
                                           .world = fs_world(r->fs),
                                           .progress = is_stopped,
                                           .progress_ctx = r->run};
    struct search_build_report report;
    int rc = search_files_prepare(r->fs, quarry_table_name(r->table), err);
    return rc ? rc : search_build(&o, &report, err);
}

static void pause_after_update(struct search_run *r)
{
    struct world *w = fs_world(r->fs);
    uint64_t end = world_mono_ns(w) + PAUSE_US * 1000;
    while (!follower_stopped(r->run) && world_mono_ns(w) < end)
        world_sleep_us(w, LOOK_US);
}

static int follow_index(struct search_run *r, struct err *err)
{
    const struct quarry_change *list;
    size_t count = 0;
    int rc = search_follower_update(r, err);
    while (!rc && !follower_stopped(r->run)) {
        rc = follower_next(r->run, r->changes, &list, &count, err);
        if (rc || count == 0)
            continue;
        rc = search_follower_update(r, err);
        if (!rc)
            rc = follower_save(r->run, r->changes, err);
        if (!rc)
            pause_after_update(r);
    }
    return rc == ERR_CANCELLED && follower_stopped(r->run) ? 0 : rc;
}

static int run_search(struct follower_run *run, struct err *err)
{
    struct quarry *q = follower_quarry(run);
    const char *name = follower_record(run)->table;
    struct search_run r = {.run = run};
    int rc = search_files_refuse_encrypted(q, name, err);
    if (!rc)
        rc = quarry_table_open(q, name, &r.table, err);
    if (!rc)
        rc = quarry_user_files(q, &r.fs, err);
    if (!rc)
        rc = follower_changes_open(run, r.table, NULL, &r.changes, err);
    if (!rc)
        rc = follow_index(&r, err);
    quarry_changes_close(r.changes);
    fs_close(r.fs);
    quarry_table_close(r.table);
    return rc;
}

const struct follower_kind search_follower = {.name = SEARCH_FOLLOWER_KIND,
                                              .run = run_search};

int search_follower_create(struct quarry *q, const char *table, struct err *err)
{
    const struct follower_record record = {.kind = SEARCH_FOLLOWER_KIND,
                                           .name = table,
                                           .table = table,
                                           .settings = SLICE_LIT("{}")};
    struct fs *fs = NULL;
    int rc = search_files_refuse_encrypted(q, table, err);
    if (!rc) /* The directory is its creator's, not of the server that runs. */
        rc = quarry_user_files(q, &fs, err);
    if (!rc)
        rc = search_files_prepare(fs, table, err);
    fs_close(fs);
    return rc ? rc : follower_create(q, &record, err);
}
