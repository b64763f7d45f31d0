/* Signs of life: written, renewed, looked for. Ages are differences of two
 * times that the place itself gave: the clocks of machines do not matter.
 */
#include "bigtable/backup/backup_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/backup/backup_place.h"
#include "gfs-lite/fs.h"

#define ID_BYTES 17

struct backup_run {
    struct quarry_backups *backups;
    char id[ID_BYTES];
    char *path;        /* Owned. */
    struct task *task; /* Renews it. */
    struct mutex lock; /* Of the rest. */
    struct cond wake;
    uint64_t renewed_ns;
    uint64_t times;
    bool ending;
};

static const char *const suffixes[] = {".create", ".drop"};

static int backup_run_write(struct backup_run *run, struct err *err)
{
    struct quarry_backups *b = run->backups;
    uint64_t begun_ns = world_mono_ns(b->world);
    struct buf text = BUF_INIT;
    int rc;
    /* Other bytes each time, so that no store takes it for the same. */
    buf_printf(&text, "%" PRIu64 "\n", ++run->times);
    rc = fs_replace(b->place.fs, run->path, buf_slice(&text), err);
    buf_close(&text);
    if (rc == 0) {
        mutex_lock(&run->lock);
        run->renewed_ns = begun_ns;
        mutex_unlock(&run->lock);
    }
    return rc;
}

static void run_renew(void *arg)
{
    struct backup_run *run = arg;
    struct quarry_backups *b = run->backups;
    mutex_lock(&run->lock);
    while (!run->ending) {
        (void)cond_wait_us(&run->wake, &run->lock, b->world,
                           b->options.lease_us / 10);
        if (run->ending)
            break;
        mutex_unlock(&run->lock);
        /* The next one may succeed; backup_run_check() knows. */
        IGNORE_RESULT(backup_run_write(run, NULL));
        mutex_lock(&run->lock);
    }
    mutex_unlock(&run->lock);
}

int backup_run_begin(struct quarry_backups *b,
                     enum backup_run_kind kind,
                     struct backup_run **out,
                     struct err *err)
{
    struct backup_run *run = mem_zalloc(1, sizeof(*run));
    struct buf path = BUF_INIT;
    uint64_t id;
    int rc;
    *out = NULL;
    world_random_bytes(b->world, &id, sizeof(id));
    run->backups = b;
    snprintf(run->id, sizeof(run->id), "%016" PRIx64, id);
    buf_printf(&path, "%s" BACKUP_RUNS_DIR, b->place.path);
    rc = fs_mkdirs(b->place.fs, buf_cstr(&path), err);
    buf_printf(&path, "/%s%s", run->id, suffixes[kind]);
    run->path = buf_take(&path);
    mutex_init(&run->lock);
    cond_init(&run->wake);
    if (rc == 0)
        rc = backup_run_write(run, err);
    if (rc) {
        backup_run_end(run);
        return rc;
    }
    run->task = task_start(b->world, "quarry-backup", run_renew, run);
    *out = run;
    return 0;
}

const char *backup_run_id(const struct backup_run *run)
{
    return run->id;
}

struct run_look {
    struct backup_run *run;
    const char *suffix;
    uint64_t now_us; /* Of the place: of our own file. */
    bool found;
};

static bool has_suffix(const char *name, const char *suffix)
{
    size_t len = strlen(name);
    size_t n = strlen(suffix);
    return len > n && strcmp(name + len - n, suffix) == 0;
}

static int see_run(void *ctx,
                   const char *name,
                   const struct fs_info *info,
                   struct err *err)
{
    struct run_look *l = ctx;
    struct quarry_backups *b = l->run->backups;
    struct buf path = BUF_INIT;
    /* One that a kill left half written is no sign of life, and stays for as
     * long as one would be. */
    bool is_half = has_suffix(name, ".new");
    (void)err;
    if ((!is_half && !has_suffix(name, l->suffix)) ||
        strncmp(name, l->run->id, 16) == 0)
        return 0;
    if (l->now_us <= info->modified_us ||
        l->now_us - info->modified_us <= b->options.lease_us) {
        l->found |= !is_half;
        return 0;
    }
    buf_printf(&path, "%s" BACKUP_RUNS_DIR "/%s", b->place.path, name);
    /* Somebody else did. */
    IGNORE_RESULT(fs_remove(b->place.fs, buf_cstr(&path), NULL));
    buf_close(&path);
    return 0;
}

int backup_run_look(struct backup_run *run,
                    enum backup_run_kind kind,
                    bool *found,
                    struct err *err)
{
    struct quarry_backups *b = run->backups;
    struct run_look l = {.run = run, .suffix = suffixes[kind]};
    struct buf path = BUF_INIT;
    struct fs_info info;
    int rc = backup_run_write(run, err);
    if (rc == 0)
        rc = fs_stat(b->place.fs, run->path, &info, err);
    l.now_us = rc ? 0 : info.modified_us;
    if (rc == 0)
        rc = fs_each(b->place.fs,
                     fs_location_path(&b->place, BACKUP_RUNS_DIR, &path),
                     see_run, &l, err);
    *found = l.found;
    buf_close(&path);
    return rc;
}

int backup_run_check(struct backup_run *run, struct err *err)
{
    uint64_t lease_ns = run->backups->options.lease_us * 1000;
    uint64_t age_ns;
    mutex_lock(&run->lock);
    age_ns = world_mono_ns(run->backups->world) - run->renewed_ns;
    mutex_unlock(&run->lock);
    if (age_ns < lease_ns / 2)
        return 0;
    err_set(err, ERR_ABORTED, "%s did not take a sign of life for %u s",
            run->backups->place.name, (unsigned)(age_ns / 1000000000));
    err_hint(err, "others may have removed files meanwhile: begin again");
    return ERR_ABORTED;
}

void backup_run_end(struct backup_run *run)
{
    if (!run)
        return;
    if (run->task) {
        mutex_lock(&run->lock);
        run->ending = true;
        cond_broadcast(&run->wake);
        mutex_unlock(&run->lock);
        task_join(run->task);
    }
    /* It is dead when the lease is over. */
    IGNORE_RESULT(fs_remove(run->backups->place.fs, run->path, NULL));
    cond_close(&run->wake);
    mutex_close(&run->lock);
    mem_free(run->path);
    mem_free(run);
}
