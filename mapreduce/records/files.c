/* Files of the world and of a cell's file system under one set of names: each
 * function chooses by job_files.fs, so that nothing above asks where a file is.
 */
#include "mapreduce/records/files.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/crypt/sealed_bytes.h"
#include "base/runtime/world.h"
#include "gfs-lite/fs.h"
#include "gfs-lite/objects.h"

const char *files_fs_path(const char *path)
{
    while (path[0] == '/' || (path[0] == '.' && path[1] == '/'))
        path++;
    return path[0] == '.' && path[1] == '\0' ? "" : path;
}

/* --- reading ------------------------------------------------------------- */

struct world_file {
    struct job_file base;
    struct file *file;
};

static int world_read_at(struct job_file *base,
                         uint64_t offset,
                         void *dst,
                         size_t len,
                         size_t *got,
                         struct err *err)
{
    struct world_file *f = (struct world_file *)base;
    return file_read_at(f->file, offset, dst, len, got, err);
}

static int
world_file_size(struct job_file *base, uint64_t *bytes, struct err *err)
{
    struct world_file *f = (struct world_file *)base;
    return file_size(f->file, bytes, err);
}

static void world_file_close(struct job_file *base)
{
    struct world_file *f = (struct world_file *)base;
    file_close(f->file);
    mem_free(f);
}

static const struct job_file_ops world_ops = {
    .read_at = world_read_at,
    .size = world_file_size,
    .close = world_file_close,
};

struct cell_file {
    struct job_file base;
    struct fs_reader *reader;
};

static int cell_read_at(struct job_file *base,
                        uint64_t offset,
                        void *dst,
                        size_t len,
                        size_t *got,
                        struct err *err)
{
    struct cell_file *f = (struct cell_file *)base;
    return fs_read_at(f->reader, offset, dst, len, got, err);
}

static int
cell_file_size(struct job_file *base, uint64_t *bytes, struct err *err)
{
    struct cell_file *f = (struct cell_file *)base;
    (void)err;
    *bytes = fs_reader_size(f->reader);
    return 0;
}

static void cell_file_close(struct job_file *base)
{
    struct cell_file *f = (struct cell_file *)base;
    fs_reader_close(f->reader);
    mem_free(f);
}

static size_t cell_locality(struct job_file *base,
                            uint64_t offset,
                            uint64_t len,
                            const char **machines,
                            size_t machines_max)
{
    struct cell_file *f = (struct cell_file *)base;
    return fs_locality(f->reader, offset, len, machines, machines_max);
}

static const struct job_file_ops cell_ops = {
    .read_at = cell_read_at,
    .size = cell_file_size,
    .close = cell_file_close,
    .locality = cell_locality,
};

/* Of a cluster nobody has said with whose keys. */
static int files_refuse_remote(const char *path, struct err *err)
{
    if (!fs_name_is_remote(path))
        return 0;
    err_set(err, ERR_UNSUPPORTED,
            "%s: jobs of a cluster read and write files of its own file system",
            path);
    err_hint(err, "run the job on a directory (-t file:DIR), or bring the file "
                  "there: quarry fs put");
    return ERR_UNSUPPORTED;
}

static int open_in_cell(const struct job_files *files,
                        const char *path,
                        struct job_file **out,
                        struct err *err)
{
    struct fs_reader *reader = NULL;
    struct cell_file *f;
    int rc = files_refuse_remote(path, err);
    if (rc == 0)
        rc = fs_open(files->fs, files_fs_path(path), &reader, err);
    if (rc)
        return rc;
    f = mem_zalloc(1, sizeof(*f));
    f->base.ops = &cell_ops;
    f->reader = reader;
    *out = &f->base;
    return 0;
}

struct job_file *job_file_of(struct file *file)
{
    struct world_file *f = mem_zalloc(1, sizeof(*f));
    f->base.ops = &world_ops;
    f->file = file;
    return &f->base;
}

int job_file_open(const struct job_files *files,
                  const char *path,
                  struct job_file **out,
                  struct err *err)
{
    struct file *file = NULL;
    int rc;
    *out = NULL;
    if (files->fs)
        return open_in_cell(files, path, out, err);
    rc = file_open(files->world, path, FILE_READ, &file, err);
    if (rc == 0)
        *out = job_file_of(file);
    return rc;
}

void job_file_close(struct job_file *f)
{
    if (f)
        f->ops->close(f);
}

size_t job_file_locality(struct job_file *f,
                         uint64_t offset,
                         uint64_t len,
                         const char **machines,
                         size_t machines_max)
{
    if (!f->ops->locality)
        return 0;
    return f->ops->locality(f, offset, len, machines, machines_max);
}

/* --- names --------------------------------------------------------------- */

int files_stat(const struct job_files *files,
               const char *path,
               struct files_info *info,
               struct err *err)
{
    struct file_info w;
    struct fs_info c;
    int rc;
    *info = (struct files_info){.size_bytes = 0};
    if (files->fs && *files_fs_path(path) == '\0') {
        info->is_directory = true;
        return 0;
    }
    if (files->fs) {
        rc = files_refuse_remote(path, err);
        if (rc == 0)
            rc = fs_stat(files->fs, files_fs_path(path), &c, err);
        if (rc == 0)
            *info = (struct files_info){c.is_directory, c.size_bytes};
        return rc;
    }
    rc = world_stat(files->world, path, &w, err);
    if (rc == 0)
        *info =
            (struct files_info){w.kind == FILE_KIND_DIRECTORY, w.size_bytes};
    return rc;
}

int files_rename(const struct job_files *files,
                 const char *from,
                 const char *to,
                 struct err *err)
{
    if (files->fs)
        return fs_rename(files->fs, files_fs_path(from), files_fs_path(to),
                         err);
    return world_rename(files->world, from, to, err);
}

int files_remove(const struct job_files *files,
                 const char *path,
                 struct err *err)
{
    if (files->fs)
        return fs_remove(files->fs, files_fs_path(path), err);
    return world_remove(files->world, path, err);
}

int files_sync_dir(const struct job_files *files,
                   const char *path,
                   struct err *err)
{
    if (files->fs)
        return fs_sync_dir(files->fs, files_fs_path(path), err);
    return world_sync_dir(files->world, path, err);
}

/* Names from the world and from a file system are freed in the same way. */
int files_list(const struct job_files *files,
               const char *path,
               char ***names,
               size_t *count,
               struct err *err)
{
    if (files->fs && fs_name_is_remote(path))
        return files_refuse_remote(path, err);
    if (files->fs)
        return fs_list(files->fs, files_fs_path(path), names, count, err);
    return world_list(files->world, *path ? path : ".", names, count, err);
}

void files_names_free(char **names, size_t count)
{
    world_names_free(names, count);
}

/* --- small files --------------------------------------------------------- */

static int replace_in_world(struct world *w,
                            const char *path,
                            struct slice contents,
                            struct err *err)
{
    struct buf fresh = BUF_INIT;
    struct file *f;
    int rc;
    buf_printf(&fresh, "%s.new", path);
    rc = file_open(w, buf_cstr(&fresh),
                   FILE_WRITE | FILE_CREATE | FILE_TRUNCATE, &f, err);
    if (rc == 0) {
        if (contents.len > 0)
            rc = file_write_at(f, 0, &contents, 1, err);
        file_close(f);
    }
    if (rc == 0)
        rc = world_rename(w, buf_cstr(&fresh), path, err);
    buf_close(&fresh);
    return rc;
}

int files_replace(const struct job_files *files,
                  const char *path,
                  struct slice contents,
                  struct err *err)
{
    if (files->fs)
        return fs_replace(files->fs, files_fs_path(path), contents, err);
    return replace_in_world(files->world, path, contents, err);
}

int files_read_all(const struct job_files *files,
                   const char *path,
                   size_t bytes_max,
                   struct buf *out,
                   struct err *err)
{
    struct job_file *f = NULL;
    uint64_t size = 0;
    size_t got = 0;
    size_t before = out->len;
    int rc = job_file_open(files, path, &f, err);
    if (rc)
        return rc;
    rc = job_file_size(f, &size, err);
    if (rc == 0 && size > bytes_max)
        rc = err_set(err, ERR_TOOBIG, "%s is too long", path);
    if (rc == 0)
        rc = job_file_read_at(f, 0, buf_extend(out, size), size, &got, err);
    out->len = before + got;
    job_file_close(f);
    return rc;
}

int files_replace_sealed(const struct job_files *files,
                         const char *path,
                         struct slice contents,
                         struct err *err)
{
    struct buf sealed = BUF_INIT;
    int rc = 0;
    if (files->keyring) {
        rc = sealed_bytes_put(files->keyring, contents, &sealed, err);
        contents = buf_slice(&sealed);
    }
    if (rc == 0)
        rc = files_replace(files, path, contents, err);
    buf_close(&sealed);
    return rc;
}

int files_read_all_sealed(const struct job_files *files,
                          const char *path,
                          size_t bytes_max,
                          struct buf *out,
                          struct err *err)
{
    size_t before = out->len;
    int rc =
        files_read_all(files, path, bytes_max + SEALED_BYTES_MORE, out, err);
    if (rc)
        return rc;
    rc = sealed_bytes_open(files->keyring, out, before, err);
    if (rc)
        err_wrap(err, "%s", path);
    return rc;
}
