/* Renames, in an order that leaves either the old state or the new. */
#include "mapreduce/output/commit.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/client/quarry.h"
#include "mapreduce/output/dirs.h"
#include "mapreduce/output/output.h"
#include "mapreduce/output/table_changes.h"

void commit_staging_path(const struct mr_spec *spec,
                         unsigned index,
                         const char *job_id,
                         const char *work_dir,
                         struct buf *out)
{
    const char *base;
    char *dir;
    if (spec->kind == MR_SPEC_TABLE) {
        buf_printf(out, "%s/out%u", work_dir, index);
        return;
    }
    dir = dirs_parent(spec->path, &base);
    buf_printf(out, "%s/.%s.%s", dir, base, job_id);
    mem_free(dir);
}

int commit_check(struct world *w,
                 const struct mr_spec *spec,
                 bool overwrite,
                 struct err *err)
{
    bool exists;
    bool empty;
    int code;
    if (spec->kind == MR_SPEC_TABLE)
        return 0;
    code = dirs_probe(w, spec->path, &exists, &empty, err);
    if (code || !exists || empty || overwrite)
        return code;
    code = err_set(err, ERR_EXISTS, "output %s exists already", spec->path);
    err_hint(err, "name another one, remove it, or allow it to be overwritten");
    return code;
}

static int adopt(struct world *w,
                 const char *staging,
                 const char *prefix,
                 const char *side,
                 unsigned task,
                 struct err *err)
{
    struct buf from = BUF_INIT;
    struct buf to = BUF_INIT;
    int code;
    output_path(&from, staging, prefix, side);
    buf_printf(&to, "%s/%s-%05u", staging, side ? side : "part", task);
    code = world_rename(w, buf_cstr(&from), buf_cstr(&to), err);
    buf_close(&from);
    buf_close(&to);
    return code;
}

int commit_task(struct world *w,
                char *const *staging,
                size_t output_count,
                const char *prefix,
                unsigned task,
                struct slice sides,
                struct err *err)
{
    struct cursor in = cursor_make(sides);
    size_t side_count = cursor_count(&in, 2);
    int code = 0;
    for (size_t i = 0; i < output_count && code == 0; i++)
        code = adopt(w, staging[i], prefix, NULL, task, err);
    for (size_t i = 0; i < side_count && code == 0; i++) {
        uint64_t output = cursor_varint(&in);
        struct slice s = cursor_lslice(&in);
        char *name = mem_strndup(s.data, s.len);
        if (in.bad || output >= output_count)
            code = err_set(err, ERR_CORRUPT, "malformed list of side files");
        else
            code = adopt(w, staging[output], prefix, name, task, err);
        mem_free(name);
    }
    return code;
}

/* Files of attempts that did not win begin with a dot. */
static int remove_losers(struct world *w, const char *staging, struct err *err)
{
    char **names = NULL;
    size_t count = 0;
    struct buf path = BUF_INIT;
    int code = world_list(w, staging, &names, &count, err);
    for (size_t i = 0; i < count && code == 0; i++) {
        if (names[i][0] != '.')
            continue;
        buf_clear(&path);
        buf_printf(&path, "%s/%s", staging, names[i]);
        code = world_remove(w, buf_cstr(&path), err);
    }
    world_names_free(names, count);
    buf_close(&path);
    return code;
}

static int write_success(struct world *w, const char *staging, struct err *err)
{
    struct buf path = BUF_INIT;
    struct file *f;
    int code;
    buf_printf(&path, "%s/_SUCCESS", staging);
    code = file_open(w, buf_cstr(&path), FILE_WRITE | FILE_CREATE, &f, err);
    if (code == 0)
        file_close(f);
    buf_close(&path);
    return code;
}

/* Put @staging in the place of @path. Between the two renames of an overwrite
 * the old output has its other name, from where a person can fetch it. */
static int swap_in(struct world *w,
                   const char *staging,
                   const char *path,
                   bool overwrite,
                   struct err *err)
{
    struct buf old = BUF_INIT;
    bool exists;
    bool empty;
    int code = dirs_probe(w, path, &exists, &empty, err);
    buf_printf(&old, "%s.old", staging);
    if (code == 0 && exists && !empty && !overwrite)
        code = err_set(err, ERR_EXISTS, "output %s appeared while the job ran",
                       path);
    if (code == 0 && exists)
        code = world_rename(w, path, buf_cstr(&old), err);
    if (code == 0)
        code = world_rename(w, staging, path, err);
    /* Also one that a process which died here has left. */
    if (code == 0)
        code = dirs_remove(w, buf_cstr(&old), err);
    buf_close(&old);
    return code;
}

static int commit_directory(struct world *w,
                            const struct mr_spec *spec,
                            const char *staging,
                            bool overwrite,
                            struct err *err)
{
    const char *base;
    char *parent = dirs_parent(spec->path, &base);
    int code = remove_losers(w, staging, err);
    if (code == 0)
        code = write_success(w, staging, err);
    if (code == 0)
        code = world_sync_dir(w, staging, err);
    if (code == 0)
        code = swap_in(w, staging, spec->path, overwrite, err);
    if (code == 0)
        code = world_sync_dir(w, parent, err);
    mem_free(parent);
    return code;
}

static int commit_table(struct world *w,
                        const struct mr_spec *spec,
                        const char *staging,
                        struct quarry *store,
                        uint64_t *rows,
                        struct err *err)
{
    char **names = NULL;
    size_t count = 0;
    struct buf path = BUF_INIT;
    int code = remove_losers(w, staging, err);
    if (code == 0)
        code = world_list(w, staging, &names, &count, err);
    for (size_t i = 0; i < count && code == 0; i++) {
        buf_clear(&path);
        buf_printf(&path, "%s/%s", staging, names[i]);
        code = table_changes_apply(w, buf_cstr(&path), store, spec->path, rows,
                                   err);
    }
    if (code == 0)
        code = quarry_flush(store, err);
    world_names_free(names, count);
    buf_close(&path);
    return code;
}

int commit_output(struct world *w,
                  const struct mr_spec *spec,
                  const char *staging,
                  bool overwrite,
                  struct quarry *store,
                  uint64_t *rows,
                  struct err *err)
{
    if (spec->kind == MR_SPEC_TABLE)
        return commit_table(w, spec, staging, store, rows, err);
    return commit_directory(w, spec, staging, overwrite, err);
}
