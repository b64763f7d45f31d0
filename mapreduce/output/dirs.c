/* Trees of directories. */
#include "mapreduce/output/dirs.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"

/* What we remove was made by jobs: outputs, and work directories. */
#define DEPTH_MAX 16

char *dirs_parent(const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    *name = slash ? slash + 1 : path;
    if (!slash)
        return mem_strdup(".");
    return slash == path ? mem_strdup("/")
                         : mem_strndup(path, (size_t)(slash - path));
}

static int make_one(struct world *w, const char *path, struct err *err)
{
    int code = world_mkdir(w, path, err);
    return code == ERR_EXISTS ? 0 : code;
}

int dirs_make(struct world *w, const char *path, struct err *err)
{
    char *copy = mem_strdup(path);
    struct file_info info;
    int code = 0;
    if (world_stat(w, path, &info, NULL) == 0) {
        if (info.kind != FILE_KIND_DIRECTORY)
            code = err_set(err, ERR_EXISTS, "%s is not a directory", path);
        mem_free(copy);
        return code;
    }
    for (char *p = copy + 1; code == 0 && (p = strchr(p, '/')); p++) {
        *p = '\0';
        code = make_one(w, copy, err);
        *p = '/';
    }
    if (code == 0)
        code = make_one(w, path, err);
    mem_free(copy);
    return code;
}

static int
remove_at(struct world *w, const char *path, unsigned depth, struct err *err)
{
    struct file_info info;
    struct buf below = BUF_INIT;
    char **names = NULL;
    size_t count = 0;
    int code = world_stat(w, path, &info, err);
    if (code)
        return code == ERR_NOTFOUND ? 0 : code;
    if (info.kind != FILE_KIND_DIRECTORY)
        return world_remove(w, path, err);
    if (depth == DEPTH_MAX)
        return err_set(err, ERR_TOOBIG, "%s: directories nest too deep", path);
    code = world_list(w, path, &names, &count, err);
    for (size_t i = 0; i < count && code == 0; i++) {
        buf_clear(&below);
        buf_printf(&below, "%s/%s", path, names[i]);
        code = remove_at(w, buf_cstr(&below), depth + 1, err);
    }
    world_names_free(names, count);
    buf_close(&below);
    return code ? code : world_rmdir(w, path, err);
}

int dirs_remove(struct world *w, const char *path, struct err *err)
{
    return remove_at(w, path, 0, err);
}

int dirs_probe(struct world *w,
               const char *path,
               bool *exists,
               bool *empty,
               struct err *err)
{
    struct file_info info;
    char **names = NULL;
    size_t count = 0;
    int code = world_stat(w, path, &info, err);
    *exists = code == 0;
    *empty = false;
    if (code)
        return code == ERR_NOTFOUND ? 0 : code;
    if (info.kind != FILE_KIND_DIRECTORY)
        return 0;
    code = world_list(w, path, &names, &count, err);
    *empty = code == 0 && count == 0;
    world_names_free(names, count);
    return code;
}
