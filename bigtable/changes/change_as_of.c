/* A snapshot of the past: one of now, which hides the entries numbered above
 * the commit that was the newest then, and adds the files of the past, which
 * hold what compactions have dropped since. First it waits until no commit of
 * an earlier time is still under way. */
#include "bigtable/changes/change_as_of.h"

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "bigtable/changes/change_read.h"
#include "bigtable/changes/change_sources.h"
#include "bigtable/lsm/version.h"
#include "bigtable/tablet/table_part.h"
#include "bigtable/tablet/tablet_changes.h"
#include "bigtable/tablet/tablet_env.h"

/* For commits of a moment ago to become visible. */
#define SETTLE_TRIES    2000
#define SETTLE_SLEEP_US 1000

static int not_kept(const struct tablet *t, int64_t floor_us, struct err *err)
{
    struct buf time = BUF_INIT;
    text_put_time(&time, floor_us);
    err_set(err, ERR_EXHAUSTED,
            "table %s: its state of that time is not kept any more",
            t->table->name);
    err_hint(err, "the earliest is %s", buf_cstr(&time));
    buf_close(&time);
    return ERR_EXHAUSTED;
}

/* Wait until all commits at or before @us are visible. */
static int wait_settled(struct tablet *t, int64_t us, struct err *err)
{
    struct world *w = t->env->world;
    int rc = 0;
    if (us > (int64_t)world_now_us(w))
        return err_set(err, ERR_INVALID,
                       "a table is read as of a time that has come");
    if (!t->env->log)
        return 0; /* Opened to read: nothing is under way. */
    for (int i = 0; rc == 0 && change_settled_us(t) < us; i++) {
        if (i == SETTLE_TRIES)
            return err_set(err, ERR_UNAVAILABLE,
                           "table %s: commits of that time are under way",
                           t->table->name);
        world_sleep_us(w, SETTLE_SLEEP_US);
        rc = fiber_check(err);
    }
    return rc;
}

static bool is_needed(const struct change_file *f, uint32_t group, int64_t us)
{
    return f->info.group == group && change_file_is_past(&f->info) &&
           f->info.file.extent.last_us > us;
}

/* Add to group @i of @out the files of the past that hold something of @us. */
static int add_past(const struct change_sources *s,
                    size_t i,
                    int64_t us,
                    struct tablet_snapshot *out,
                    struct err *err)
{
    const struct tablet_group *g = out->tablet->groups[i];
    struct sstable_file **files =
        mem_zalloc(s->kept_count + 1, sizeof(struct sstable_file *));
    struct lsm_snapshot *now = out->groups[i];
    size_t count = 0;
    int rc = 0;
    for (size_t k = 0; k < s->kept_count && rc == 0; k++)
        if (is_needed(s->kept[k], g->id, us)) {
            rc = change_file_open(s->kept[k], g->lsm, &files[count], err);
            count += rc == 0;
        }
    if (rc == 0 && count > 0) {
        out->groups[i] = state_with_tables(now, files, count);
        lsm_snapshot_free(now);
    } else if (rc) {
        err_wrap(err, "file of the past");
    }
    while (count > 0)
        sstable_file_unref(files[--count]);
    mem_free(files);
    return rc;
}

static int open_at(struct change_sources *s,
                   int64_t us,
                   struct tablet_snapshot *out,
                   struct err *err)
{
    uint64_t next = UINT64_MAX;
    int rc = 0;
    if (us < s->floor_us)
        return not_kept(s->snapshot.tablet, s->floor_us, err);
    rc = change_find_time(s, us + 1, &next, err);
    if (rc)
        return rc;
    *out = s->snapshot;
    (void)tablet_ref(out->tablet);
    for (size_t i = 0; i < out->group_count; i++)
        out->groups[i] = state_ref(s->snapshot.groups[i]);
    out->sequence = MIN_OF(s->snapshot.sequence, next - 1);
    for (size_t i = 0; i < out->group_count && rc == 0; i++)
        rc = add_past(s, i, us, out, err);
    if (rc)
        tablet_snapshot_drop(out);
    return rc;
}

int change_as_of(struct tablet *t,
                 int64_t us,
                 struct tablet_snapshot *out,
                 struct err *err)
{
    struct change_sources s;
    int rc;
    PRE(us < INT64_MAX);
    if (!atomic_load(&t->changes->on))
        return err_set(err, ERR_EXHAUSTED,
                       "table %s: it begins to keep changes just now",
                       t->table->name);
    rc = wait_settled(t, us, err);
    if (rc)
        return rc;
    change_sources_open(t, &s);
    rc = open_at(&s, us, out, err);
    change_sources_close(&s);
    return rc;
}
