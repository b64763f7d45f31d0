/* Counting what goes through. */
#include "tests/sim/cut_fs.h"

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "gfs-lite/fs_ops.h"

#define LOOK_US 1000

struct cut_fs {
    struct fs base;
    struct fs *inner; /* Owned. */
    struct cut *cut;
};

struct cut_writer {
    struct fs_writer base;
    struct fs_writer *inner; /* Owned. */
};

static void stand_still(struct cut_fs *f)
{
    f->cut->reached = true;
    f->cut->machine = f->base.world;
    while (!f->cut->released && !f->cut->fails && fiber_check(NULL) == 0)
        world_sleep_us(f->base.world, LOOK_US);
}

/* Before each change: an error, or it is to be made. */
static int before(struct fs *fs, uint64_t *step, struct err *err)
{
    struct cut_fs *f = (struct cut_fs *)fs;
    struct cut *c = f->cut;
    *step = ++c->count;
    if (*step == c->at && !c->after)
        stand_still(f);
    if (c->reached && c->fails && !c->released)
        return err_set(err, ERR_UNAVAILABLE, "cut at step %u", (unsigned)c->at);
    return 0;
}

/* Behind change @step: @code is what came of it. */
static int behind(struct fs *fs, uint64_t step, int code)
{
    struct cut_fs *f = (struct cut_fs *)fs;
    if (step == f->cut->at && f->cut->after)
        stand_still(f);
    return code;
}

static struct fs *inner_of(struct fs *fs)
{
    return ((struct cut_fs *)fs)->inner;
}

static struct fs_writer *inner_writer(struct fs_writer *w)
{
    return ((struct cut_writer *)w)->inner;
}

/* --- writing ------------------------------------------------------------- */

static int cut_create(struct fs *fs,
                      const char *path,
                      const struct fs_write_options *opts,
                      struct fs_writer **out,
                      struct err *err)
{
    struct fs_writer *inner = NULL;
    struct cut_writer *w;
    uint64_t step;
    int rc = before(fs, &step, err);
    if (rc == 0)
        rc = behind(fs, step, fs_create(inner_of(fs), path, opts, &inner, err));
    if (rc)
        return rc;
    w = mem_zalloc(1, sizeof(*w));
    w->base.fs = fs;
    w->inner = inner;
    *out = &w->base;
    return 0;
}

static int
cut_append(struct fs_writer *w, const void *data, size_t len, struct err *err)
{
    return fs_writer_append(inner_writer(w), data, len, err);
}

static int cut_flush(struct fs_writer *w, struct err *err)
{
    uint64_t step;
    int rc = before(w->fs, &step, err);
    return rc ? rc : behind(w->fs, step, fs_writer_flush(inner_writer(w), err));
}

static int cut_sync(struct fs_writer *w, struct err *err)
{
    uint64_t step;
    int rc = before(w->fs, &step, err);
    return rc ? rc : behind(w->fs, step, fs_writer_sync(inner_writer(w), err));
}

static int cut_append_sync(struct fs_writer *w,
                           const void *data,
                           size_t len,
                           struct err *err)
{
    uint64_t step;
    int rc = before(w->fs, &step, err);
    return rc ? rc
              : behind(w->fs, step,
                       fs_writer_append_sync(inner_writer(w), data, len, err));
}

static void cut_writer_close(struct fs_writer *w)
{
    fs_writer_close(inner_writer(w));
    mem_free(w);
}

static int
cut_recover(struct fs *fs, const char *path, uint64_t *length, struct err *err)
{
    uint64_t step;
    int rc = before(fs, &step, err);
    return rc ? rc
              : behind(fs, step, fs_recover(inner_of(fs), path, length, err));
}

/* --- names --------------------------------------------------------------- */

static int
cut_rename(struct fs *fs, const char *from, const char *to, struct err *err)
{
    uint64_t step;
    int rc = before(fs, &step, err);
    return rc ? rc : behind(fs, step, fs_rename(inner_of(fs), from, to, err));
}

static int cut_remove(struct fs *fs, const char *path, struct err *err)
{
    uint64_t step;
    int rc = before(fs, &step, err);
    return rc ? rc : behind(fs, step, fs_remove(inner_of(fs), path, err));
}

static int cut_mkdirs(struct fs *fs, const char *path, struct err *err)
{
    uint64_t step;
    int rc = before(fs, &step, err);
    return rc ? rc : behind(fs, step, fs_mkdirs(inner_of(fs), path, err));
}

static int cut_remove_tree(struct fs *fs, const char *path, struct err *err)
{
    uint64_t step;
    int rc = before(fs, &step, err);
    return rc ? rc : behind(fs, step, fs_remove_tree(inner_of(fs), path, err));
}

static int cut_sync_dir(struct fs *fs, const char *path, struct err *err)
{
    uint64_t step;
    int rc = before(fs, &step, err);
    return rc ? rc : behind(fs, step, fs_sync_dir(inner_of(fs), path, err));
}

/* --- reading ------------------------------------------------------------- */

/* The reader is the inner one's: nothing of it passes through here. */
static int cut_open(struct fs *fs,
                    const char *path,
                    struct fs_reader **out,
                    struct err *err)
{
    return fs_open(inner_of(fs), path, out, err);
}

static int
cut_stat(struct fs *fs, const char *path, struct fs_info *i, struct err *err)
{
    return fs_stat(inner_of(fs), path, i, err);
}

static int cut_list(struct fs *fs,
                    const char *path,
                    char ***names,
                    size_t *count,
                    struct err *err)
{
    return fs_list(inner_of(fs), path, names, count, err);
}

static void cut_hurry(struct fs *fs)
{
    fs_hurry(inner_of(fs));
}

static void cut_close(struct fs *fs)
{
    fs_close(inner_of(fs));
    mem_free(fs);
}

struct fs *cut_fs_new(struct fs *inner, struct cut *cut)
{
    static const struct fs_ops ops = {.close = cut_close,
                                      .hurry = cut_hurry,
                                      .create = cut_create,
                                      .append = cut_append,
                                      .flush = cut_flush,
                                      .sync = cut_sync,
                                      .append_sync = cut_append_sync,
                                      .writer_close = cut_writer_close,
                                      .recover = cut_recover,
                                      .open = cut_open,
                                      .rename = cut_rename,
                                      .remove = cut_remove,
                                      .mkdirs = cut_mkdirs,
                                      .remove_tree = cut_remove_tree,
                                      .stat = cut_stat,
                                      .sync_dir = cut_sync_dir,
                                      .list = cut_list};
    struct cut_fs *f = mem_zalloc(1, sizeof(*f));
    f->base = (struct fs){.ops = &ops, .world = fs_world(inner)};
    f->inner = inner;
    f->cut = cut;
    return &f->base;
}
