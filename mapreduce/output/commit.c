/* Publishing outputs by renames, in an order that leaves the old output or the
 * new one whole after a crash at any point. Between the two renames of an
 * overwrite there is nothing at the path, and the old output is in the staging
 * directory: a resumed job continues, an abandoned one puts it back.
 *
 * Attempts that run twice are made harmless as in MapReduce (OSDI 2004, section
 * 3.3), by renames that are atomic. */
#include "mapreduce/output/commit.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "gfs-lite/fs.h"
#include "mapreduce/output/bulk_output.h"
#include "mapreduce/output/dirs.h"
#include "mapreduce/output/output.h"
#include "mapreduce/output/table_changes.h"
#include "mapreduce/records/files.h"

#define OLD_NAME ".old"
/* Inside it, the output that was at the path. */
#define OLD_OUTPUT OLD_NAME "/output"

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

int commit_check(const struct job_files *files,
                 const struct mr_spec *spec,
                 bool overwrite,
                 struct err *err)
{
    bool exists;
    bool empty;
    int rc;
    if (spec->kind == MR_SPEC_TABLE)
        return 0;
    rc = dirs_probe(files, spec->path, &exists, &empty, err);
    if (rc || !exists || empty || overwrite)
        return rc;
    rc = err_set(err, ERR_EXISTS, "output %s exists already", spec->path);
    err_hint(err, "name another one, remove it, or allow it to be overwritten: "
                  "--overwrite");
    return rc;
}

static int commit_adopt(const struct job_files *files,
                        const char *staging,
                        const char *prefix,
                        const char *side,
                        unsigned task,
                        struct err *err)
{
    struct buf from = BUF_INIT;
    struct buf to = BUF_INIT;
    int rc;
    output_path(&from, staging, prefix, side);
    buf_printf(&to, "%s/%s-%05u", staging, side ? side : "part", task);
    rc = files_rename(files, buf_cstr(&from), buf_cstr(&to), err);
    buf_close(&from);
    buf_close(&to);
    return rc;
}

int commit_task(const struct job_files *files,
                char *const *staging,
                size_t output_count,
                const char *prefix,
                unsigned task,
                struct slice sides,
                struct err *err)
{
    struct cursor in = cursor_make(sides);
    size_t side_count = cursor_count(&in, 2);
    int rc = 0;
    for (size_t i = 0; i < output_count && rc == 0; i++)
        rc = commit_adopt(files, staging[i], prefix, NULL, task, err);
    for (size_t i = 0; i < side_count && rc == 0; i++) {
        uint64_t output = cursor_varint(&in);
        struct slice s = cursor_lslice(&in);
        char *name = mem_strndup(s.data, s.len);
        if (in.bad || output >= output_count)
            rc = err_set(err, ERR_CORRUPT, "malformed list of side files");
        else
            rc = commit_adopt(files, staging[output], prefix, name, task, err);
        mem_free(name);
    }
    return rc;
}

/* Files of attempts that did not win begin with a dot. */
static int remove_losers(const struct job_files *files,
                         const char *staging,
                         struct err *err)
{
    char **names = NULL;
    size_t count = 0;
    struct buf path = BUF_INIT;
    int rc = files_list(files, staging, &names, &count, err);
    for (size_t i = 0; i < count && rc == 0; i++) {
        if (names[i][0] != '.' || strcmp(names[i], OLD_NAME) == 0)
            continue;
        buf_clear(&path);
        buf_printf(&path, "%s/%s", staging, names[i]);
        rc = files_remove(files, buf_cstr(&path), err);
        if (rc == ERR_NOTFOUND)
            rc = 0; /* Another master does the same. */
    }
    files_names_free(names, count);
    buf_close(&path);
    return rc;
}

/* The file is empty, so a second writer of it changes nothing. */
static int write_empty_in_cell(struct fs *fs, const char *path, struct err *err)
{
    const struct fs_write_options o = {.mode = FS_WRITE_STREAM,
                                       .exclusive = true};
    struct fs_writer *w = NULL;
    int rc = fs_create(fs, files_fs_path(path), &o, &w, err);
    if (rc == ERR_EXISTS)
        return 0;
    if (rc == 0)
        rc = fs_writer_sync(w, err);
    fs_writer_close(w);
    return rc;
}

static int write_success(const struct job_files *files,
                         const char *staging,
                         struct err *err)
{
    struct buf path = BUF_INIT;
    int rc;
    buf_printf(&path, "%s/_SUCCESS", staging);
    if (files->fs)
        rc = write_empty_in_cell(files->fs, buf_cstr(&path), err);
    else
        rc = files_replace(files, buf_cstr(&path), SLICE_EMPTY, err);
    buf_close(&path);
    return rc;
}

int commit_begin(const struct job_files *files,
                 const char *staging,
                 struct err *err)
{
    struct buf old = BUF_INIT;
    int rc;
    buf_printf(&old, "%s/" OLD_NAME, staging);
    rc = dirs_make(files, buf_cstr(&old), err);
    buf_close(&old);
    return rc;
}

int commit_find_staging(const struct job_files *files,
                        const char *staging,
                        struct err *err)
{
    struct buf old = BUF_INIT;
    struct files_info info;
    int rc;
    buf_printf(&old, "%s/" OLD_NAME, staging);
    rc = files_stat(files, buf_cstr(&old), &info, err);
    buf_close(&old);
    return rc;
}

int commit_forget_old(const struct job_files *files,
                      const char *path,
                      struct err *err)
{
    struct buf old = BUF_INIT;
    int rc;
    buf_printf(&old, "%s/" OLD_NAME, path);
    rc = dirs_remove(files, buf_cstr(&old), err);
    buf_close(&old);
    return rc;
}

/* Move the old output at @path into @staging. Another master that publishes the
 * same staging directory also publishes, or has moved, the old output. A master
 * that was delayed finds no .old directory to move the output to: creating a
 * file may make @staging again, but nothing makes its contents. */
static int move_away(const struct job_files *files,
                     const char *staging,
                     const char *path,
                     struct err *err)
{
    struct buf old = BUF_INIT;
    int rc;
    buf_printf(&old, "%s/" OLD_OUTPUT, staging);
    rc = files_rename(files, path, buf_cstr(&old), err);
    buf_clear(&old);
    buf_printf(&old, "%s/" OLD_NAME, staging);
    if (rc == 0)
        rc = files_sync_dir(files, buf_cstr(&old), err);
    buf_close(&old);
    /* Another master moved it; if it also published, the next rename fails. */
    return rc == ERR_NOTFOUND ? 0 : rc;
}

/* Put @staging in the place of @path. Between the two renames of an overwrite
 * the old output is in the staging directory. */
static int swap_in(const struct job_files *files,
                   const char *staging,
                   const char *path,
                   bool overwrite,
                   struct err *err)
{
    bool exists;
    bool empty;
    int rc = dirs_probe(files, path, &exists, &empty, err);
    if (rc == 0 && exists && !empty && !overwrite)
        rc = err_set(err, ERR_EXISTS, "output %s appeared while the job ran",
                     path);
    if (rc == 0 && exists)
        rc = move_away(files, staging, path, err);
    if (rc == 0)
        rc = files_rename(files, staging, path, err);
    return rc;
}

int commit_abandon(const struct job_files *files,
                   const char *staging,
                   const char *path,
                   struct err *err)
{
    struct buf old = BUF_INIT;
    struct files_info info;
    bool exists;
    bool empty;
    int rc;
    buf_printf(&old, "%s/" OLD_OUTPUT, staging);
    rc = files_stat(files, buf_cstr(&old), &info, err);
    if (rc == 0)
        rc = dirs_probe(files, path, &exists, &empty, err);
    if (rc == 0 && exists)
        rc = err_set(err, ERR_EXISTS, "%s, which was at %s before",
                     buf_cstr(&old), path);
    else if (rc == 0)
        rc = files_rename(files, buf_cstr(&old), path, err);
    if (rc == 0 || rc == ERR_NOTFOUND)
        rc = dirs_remove(files, staging, err);
    buf_close(&old);
    return rc;
}

/* A staging directory created again after publication is empty. */
static int check_staging(const struct job_files *files,
                         const char *staging,
                         struct err *err)
{
    int rc = commit_find_staging(files, staging, err);
    if (rc != ERR_NOTFOUND)
        return rc;
    rc = dirs_remove(files, staging, err);
    return rc ? rc
              : err_set(err, ERR_NOTFOUND, "%s has been moved away", staging);
}

static int commit_directory(const struct job_files *files,
                            const struct mr_spec *spec,
                            const char *staging,
                            bool overwrite,
                            struct err *err)
{
    const char *base;
    char *parent = dirs_parent(spec->path, &base);
    int rc = remove_losers(files, staging, err);
    if (rc == 0)
        rc = write_success(files, staging, err);
    if (rc == 0)
        rc = files_sync_dir(files, staging, err);
    if (rc == 0)
        rc = check_staging(files, staging, err);
    if (rc == 0)
        rc = swap_in(files, staging, spec->path, overwrite, err);
    if (rc == 0)
        rc = files_sync_dir(files, parent, err);
    mem_free(parent);
    return rc;
}

static int commit_table(const struct job_files *files,
                        const struct mr_spec *spec,
                        const char *staging,
                        struct keyring *keys,
                        struct quarry *store,
                        uint64_t *rows,
                        struct err *err)
{
    char **names = NULL;
    size_t count = 0;
    struct buf path = BUF_INIT;
    int rc = remove_losers(files, staging, err);
    if (rc == 0 && spec->bulk)
        return bulk_output_commit(files, staging, store, err);
    if (rc == 0)
        rc = files_list(files, staging, &names, &count, err);
    for (size_t i = 0; i < count && rc == 0; i++) {
        buf_clear(&path);
        buf_printf(&path, "%s/%s", staging, names[i]);
        rc = table_changes_apply(files, buf_cstr(&path), keys, store,
                                 spec->path, rows, err);
    }
    if (rc == 0)
        rc = quarry_flush(store, err);
    files_names_free(names, count);
    buf_close(&path);
    return rc;
}

int commit_output(const struct job_files *files,
                  const struct mr_spec *spec,
                  const char *staging,
                  bool overwrite,
                  struct keyring *keys,
                  struct quarry *store,
                  uint64_t *rows,
                  struct err *err)
{
    if (spec->kind == MR_SPEC_TABLE)
        return commit_table(files, spec, staging, keys, store, rows, err);
    return commit_directory(files, spec, staging, overwrite, err);
}
