/* Trees of directories, made, removed and probed through the job's files: a
 * cell's file system makes and removes a tree in one call, of the world's files
 * it is done here, directory by directory and to a bounded depth. */
#include "mapreduce/output/dirs.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "gfs-lite/fs.h"
#include "mapreduce/records/files.h"

/* Deeper trees are not made by jobs: outputs and work directories. */
#define DEPTH_MAX 16

char *dirs_parent(const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    PRE(name);
    *name = slash ? slash + 1 : path;
    if (!slash)
        return mem_strdup(".");
    return slash == path ? mem_strdup("/")
                         : mem_strndup(path, (size_t)(slash - path));
}

static int
make_one(const struct job_files *files, const char *path, struct err *err)
{
    int rc = world_mkdir_shared(files->world, path, err);
    return rc == ERR_EXISTS ? 0 : rc;
}

int dirs_make(const struct job_files *files, const char *path, struct err *err)
{
    struct files_info info;
    char *copy;
    int rc = 0;
    if (files->fs)
        return fs_mkdirs(files->fs, files_fs_path(path), err);
    copy = mem_strdup(path);
    if (files_stat(files, path, &info, NULL) == 0) {
        if (!info.is_directory)
            rc = err_set(err, ERR_EXISTS, "%s is not a directory", path);
        mem_free(copy);
        return rc;
    }
    for (char *p = copy + 1; rc == 0 && (p = strchr(p, '/')); p++) {
        *p = '\0';
        rc = make_one(files, copy, err);
        *p = '/';
    }
    if (rc == 0)
        rc = make_one(files, path, err);
    mem_free(copy);
    return rc;
}

static int remove_at(const struct job_files *files,
                     const char *path,
                     unsigned depth,
                     struct err *err)
{
    struct files_info info;
    struct buf below = BUF_INIT;
    char **names = NULL;
    size_t count = 0;
    int rc = files_stat(files, path, &info, err);
    PRE(depth <= DEPTH_MAX);
    if (rc)
        return rc == ERR_NOTFOUND ? 0 : rc;
    if (!info.is_directory)
        return files_remove(files, path, err);
    if (depth == DEPTH_MAX)
        return err_set(err, ERR_TOOBIG, "%s: directories nest too deep", path);
    rc = files_list(files, path, &names, &count, err);
    for (size_t i = 0; i < count && rc == 0; i++) {
        buf_clear(&below);
        buf_printf(&below, "%s/%s", path, names[i]);
        rc = remove_at(files, buf_cstr(&below), depth + 1, err);
    }
    files_names_free(names, count);
    buf_close(&below);
    return rc ? rc : world_rmdir(files->world, path, err);
}

int dirs_remove(const struct job_files *files,
                const char *path,
                struct err *err)
{
    PRE(path[0] != '\0');
    int rc;
    if (!files->fs)
        return remove_at(files, path, 0, err);
    rc = fs_remove_tree(files->fs, files_fs_path(path), err);
    return rc == ERR_NOTFOUND ? 0 : rc;
}

int dirs_probe(const struct job_files *files,
               const char *path,
               bool *exists,
               bool *empty,
               struct err *err)
{
    struct files_info info;
    char **names = NULL;
    size_t count = 0;
    int rc = files_stat(files, path, &info, err);
    *exists = rc == 0;
    *empty = false;
    if (rc)
        return rc == ERR_NOTFOUND ? 0 : rc;
    if (!info.is_directory)
        return 0;
    rc = files_list(files, path, &names, &count, err);
    *exists = rc != ERR_NOTFOUND; /* It may have been removed meanwhile. */
    *empty = rc == 0 && count == 0;
    files_names_free(names, count);
    return *exists ? rc : 0;
}
