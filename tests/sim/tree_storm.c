/* Snapshots of a directory amid all that befalls it. */
#include "tests/sim/tree_storm.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "gfs-lite/gfs.h"

#define PAUSE_US (4 * SECOND_US)

struct tree_storm {
    struct storm *storm;
    struct sim_cell *cell;
    struct file_model *model; /* Borrowed. */
    const char *directory;
    uint64_t count; /* Snapshots begun. */
};

/* A file that was there when a snapshot was asked for. */
struct copied {
    struct model_file *file;
    size_t synced;
    struct slice name;
};

/* One snapshot. */
struct copy {
    struct tree_storm *storm;
    char path[MODEL_PATH_BYTES];
    struct copied *files;
    size_t file_count;
    struct fs *fs;
    uint64_t entries; /* Once it was seen. */
    bool over;
};

/* --- the looker ---------------------------------------------------------- */

/* A reader that sees the copy sees all of it. */
static void look(struct copy *k)
{
    struct gfs_stat s;
    int rc = gfs_stat(k->fs, k->path, &s, NULL);
    STORM_CHECK(rc != ERR_NOTFOUND || !k->entries, "%s is there no more",
                k->path);
    if (rc)
        return;
    STORM_CHECK(!k->entries || s.entry_count == k->entries,
                "%s had %" PRIu64 " entries and has %" PRIu64, k->path,
                k->entries, s.entry_count);
    k->entries = s.entry_count;
}

static void run_looker(void *arg)
{
    struct copy *k = arg;
    while (!k->over && fiber_check(NULL) == 0) {
        look(k);
        storm_sleep_us(2000);
    }
}

/* --- the copier ---------------------------------------------------------- */

static void note_files(struct copy *k)
{
    const struct file_model *m = k->storm->model;
    size_t skip = strlen(k->storm->directory) + 1;
    k->files = mem_zalloc(m->count + 1, sizeof(*k->files));
    for (size_t i = 0; i < m->count; i++) {
        struct model_file *f = m->files[i];
        if (!f->gone && f->synced)
            k->files[k->file_count++] =
                (struct copied){f, f->synced, slice_str(f->path + skip)};
    }
}

/* Bytes synced before are in the copy of a file that nobody removed. */
static void check_copy(struct copy *k, const struct copied *f)
{
    char path[2 * MODEL_PATH_BYTES];
    struct buf got = BUF_INIT;
    int rc;
    snprintf(path, sizeof(path), "%s/%.*s", k->path, SLICE_ARG(f->name));
    rc = fs_read_all(k->fs, path, (size_t)1 << 28, &got, NULL);
    STORM_CHECK(rc != ERR_NOTFOUND || f->file->gone, "%s lacks %s", k->path,
                f->file->path);
    if (rc == 0 && !f->file->gone) {
        STORM_CHECK(got.len >= f->synced,
                    "%s: %zu bytes, %zu were synced before it was copied", path,
                    got.len, f->synced);
        STORM_CHECK(memcmp(got.data, f->file->all.data, f->synced) == 0,
                    "%s: not what was written", path);
    }
    buf_close(&got);
}

static void
copy_once(struct tree_storm *t, struct storm_client *c, struct fs *fs)
{
    struct copy k = {.storm = t, .fs = fs};
    struct fiber *looker;
    int rc;
    snprintf(k.path, sizeof(k.path), "copies/%" PRIu64, ++t->count);
    note_files(&k);
    looker = fiber_start(loop_self(), "looker", run_looker, &k);
    rc = gfs_snapshot(fs, t->directory, k.path, NULL);
    t->storm->call_count++;
    k.over = true;
    fiber_join(looker);
    if (rc == 0)
        look(&k);
    if (rc == 0 && k.file_count)
        check_copy(&k, &k.files[rand_below(&c->rand, k.file_count)]);
    sim_note(t->storm->sim, "%s of %zu files: %d, %" PRIu64 " entries", k.path,
             k.file_count, rc, k.entries);
    (void)!fs_remove_tree(fs, k.path, NULL);
    mem_free(k.files);
}

static void run_copier(struct storm_client *c)
{
    struct tree_storm *t = c->ctx;
    struct fs *fs = sim_cell_fs(t->cell, c->world, "copier");
    while (storm_goes_on(c)) {
        copy_once(t, c, fs);
        storm_sleep_us(rand_below(&c->rand, PAUSE_US));
    }
    fs_close(fs);
}

/* --- the whole ----------------------------------------------------------- */

struct tree_storm *tree_storm_new(struct storm *s,
                                  struct sim_cell *cell,
                                  struct file_model *model,
                                  const char *directory)
{
    struct tree_storm *t = mem_zalloc(1, sizeof(*t));
    *t = (struct tree_storm){s, cell, model, directory, 0};
    storm_add_client(s, "copier", run_copier, t);
    return t;
}

void tree_storm_free(struct tree_storm *t)
{
    mem_free(t);
}
