/* Inputs of imports. Pipes and files of the file system are copied to a
 * temporary file first, because parsers seek and read in parallel.
 */
#define _XOPEN_SOURCE 700

#include "cli/import_input.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "base/runtime/world_mount.h"
#include "cli/fs_spool.h"
#include "cli/interrupt.h"
#include "gfs-lite/objects.h"

#define COPY_BYTES ((size_t)1 << 20)
#define FS_MARK    "fs:"
/* Directories in directories that are followed. */
#define DIRECTORY_DEPTH_MAX 32

static int copy_all(int from, int to, const char *name, struct err *err)
{
    char *piece = mem_alloc(COPY_BYTES);
    int rc = 0;
    PRE(from >= 0);
    PRE(to >= 0);
    while (!rc) {
        ssize_t n = read(from, piece, COPY_BYTES);
        if (n == 0)
            break;
        if (n < 0 && errno == EINTR && !interrupted())
            continue;
        if (interrupted())
            rc = err_set(err, ERR_CANCELLED, "interrupted");
        else if (n < 0)
            rc = err_set_errno(err, errno, "%s", name);
        for (ssize_t at = 0; at < n && !rc;) {
            ssize_t put = write(to, piece + at, (size_t)(n - at));
            if (put < 0 && errno != EINTR)
                rc = err_set_errno(err, errno, "copy of %s", name);
            at += put > 0 ? put : 0;
        }
    }
    mem_free(piece);
    return rc;
}

static int copy_stream(const char *path, int to, struct err *err)
{
    bool standard = strcmp(path, "-") == 0;
    int from = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    int rc;
    if (from < 0)
        return err_set_errno(err, errno, "%s", path);
    rc = copy_all(from, to, path, err);
    if (!standard)
        close(from);
    return rc;
}

/* A new file beside other temporary ones, which has no name any more: it goes
 * with the process, however that ends. */
static int make_copy_file(int *fd, struct err *err)
{
    const char *dir = getenv("TMPDIR");
    struct buf b = BUF_INIT;
    char *name;
    int rc = 0;
    buf_printf(&b, "%s/quarry-import-XXXXXX", dir && *dir ? dir : "/tmp");
    name = buf_take(&b);
    *fd = mkstemp(name);
    if (*fd < 0)
        rc = err_set_errno(err, errno, "%s", name);
    else
        (void)unlink(name);
    mem_free(name);
    return rc;
}

static bool is_stream(const char *path)
{
    struct stat st;
    return strcmp(path, "-") == 0 ||
           (stat(path, &st) == 0 &&
            (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)));
}

static void room_for_one(struct import_input *in)
{
    if (in->count < in->cap)
        return;
    in->cap = in->cap ? in->cap * 2 : 16;
    in->paths = mem_realloc(in->paths, in->cap * sizeof(*in->paths));
    in->names = mem_realloc(in->names, in->cap * sizeof(*in->names));
    in->copies = mem_realloc(in->copies, in->cap * sizeof(*in->copies));
    in->fds = mem_realloc(in->fds, in->cap * sizeof(*in->fds));
}

/* One more input, which is read where it is. Returns its index. */
static size_t add_file(struct import_input *in, const char *name)
{
    size_t i;
    room_for_one(in);
    INVARIANT(in->count < in->cap);
    i = in->count++;
    in->names[i] = mem_strdup(name);
    in->paths[i] = in->names[i];
    in->copies[i] = NULL;
    in->fds[i] = -1;
    return i;
}

/* One more input, of which a copy is read. */
static int add_copy(struct cli *cli,
                    const struct args *args,
                    struct import_input *in,
                    const char *name,
                    struct err *err)
{
    size_t i = add_file(in, name);
    struct buf path = BUF_INIT;
    int fd;
    int rc = make_copy_file(&fd, err);
    if (rc)
        return rc;
    in->fds[i] = fd;
    buf_printf(&path, "/proc/self/fd/%d", fd);
    in->paths[i] = in->copies[i] = buf_take(&path);
    if (strncmp(name, FS_MARK, strlen(FS_MARK)) == 0)
        return fs_spool(cli, args, name + strlen(FS_MARK), fd, err);
    return copy_stream(name, fd, err);
}

/* --- directories and patterns -------------------------------------------- */

/* Is @name left out of directories? */
static bool is_left_out(const char *name)
{
    struct slice s = slice_str(name);
    return name[0] == '.' || name[0] == '_' ||
           slice_ends_with(s, SLICE_LIT(".schema")) ||
           slice_ends_with(s, SLICE_LIT(".reasons"));
}

static int choose_entry(const struct dirent *e)
{
    return !is_left_out(e->d_name);
}

/* The regular files in @dir and below; links to directories are not followed.
 */
static int add_directory(struct import_input *in,
                         const char *dir,
                         int depth,
                         struct err *e)
{
    struct dirent **list;
    struct buf path = BUF_INIT;
    int n = scandir(dir, &list, choose_entry, alphasort);
    int rc = n < 0 ? err_set_errno(e, errno, "%s", dir) : 0;
    for (int i = 0; i < n; i++) {
        struct stat st;
        buf_clear(&path);
        buf_printf(&path, "%s/%s", dir, list[i]->d_name);
        free(list[i]);
        if (rc || lstat(buf_cstr(&path), &st))
            continue; /* Gone meanwhile. */
        if (S_ISDIR(st.st_mode) && depth < DIRECTORY_DEPTH_MAX)
            rc = add_directory(in, buf_cstr(&path), depth + 1, e);
        else if (S_ISDIR(st.st_mode))
            rc =
                err_set(e, ERR_TOOBIG, "%s: directories in more than %d levels",
                        buf_cstr(&path), DIRECTORY_DEPTH_MAX);
        else if (stat(buf_cstr(&path), &st) == 0 && S_ISREG(st.st_mode))
            add_file(in, buf_cstr(&path));
    }
    if (n >= 0)
        free(list);
    buf_close(&path);
    return rc;
}

static int
add_existing(struct import_input *in, const char *path, struct err *err)
{
    struct stat st;
    struct buf dir = BUF_INIT;
    size_t before = in->count;
    int rc;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
        add_file(in, path);
        return 0;
    }
    buf_append_str(&dir, path);
    while (dir.len > 1 && dir.data[dir.len - 1] == '/')
        buf_truncate(&dir, dir.len - 1);
    rc = add_directory(in, buf_cstr(&dir), 0, err);
    buf_close(&dir);
    if (!rc && in->count == before)
        rc = err_set(err, ERR_NOTFOUND, "%s: a directory without files to read",
                     path);
    return rc;
}

static int
add_matches(struct import_input *in, const char *pattern, struct err *err)
{
    glob_t found;
    int rc = 0;
    PRE(in->count <= in->cap);
    int g = glob(pattern, 0, NULL, &found);
    if (g == GLOB_NOMATCH)
        return err_set(err, ERR_NOTFOUND, "%s: no file matches", pattern);
    if (g)
        return err_set(err, ERR_IO, "%s: the pattern cannot be expanded",
                       pattern);
    for (size_t i = 0; i < found.gl_pathc && !rc; i++)
        rc = add_existing(in, found.gl_pathv[i], err);
    globfree(&found);
    return rc;
}

/* --- names of other systems ---------------------------------------------- */

/* Add the file @path, or, of a directory, the files in it and below. */
static int add_remote_tree(struct cli *cli,
                           struct import_input *in,
                           const char *path,
                           int depth,
                           struct err *err)
{
    struct file_info info;
    struct buf below = BUF_INIT;
    char **names = NULL;
    size_t count = 0;
    int rc = world_stat(cli->world, path, &info, err);
    if (rc == 0 && info.kind != FILE_KIND_DIRECTORY) {
        add_file(in, path);
        return 0;
    }
    if (rc == 0 && depth == DIRECTORY_DEPTH_MAX)
        rc = err_set(err, ERR_TOOBIG, "%s: directories in more than %d levels",
                     path, DIRECTORY_DEPTH_MAX);
    if (rc == 0)
        rc = world_list(cli->world, path, &names, &count, err);
    for (size_t i = 0; i < count && rc == 0; i++) {
        if (is_left_out(names[i]))
            continue;
        buf_clear(&below);
        buf_printf(&below, "%s/%s", path, names[i]);
        rc = add_remote_tree(cli, in, buf_cstr(&below), depth + 1, err);
    }
    world_names_free(names, count);
    buf_close(&below);
    return rc;
}

/* The names that the part @rest of a pattern, below the directory @dir, stands
 * for, part by part. */
static int add_remote_matches(struct cli *cli,
                              struct import_input *in,
                              const char *dir,
                              const char *rest,
                              struct err *err)
{
    const char *slash = strchr(rest, '/');
    char *part =
        mem_strndup(rest, slash ? (size_t)(slash - rest) : strlen(rest));
    struct buf path = BUF_INIT;
    char **names = NULL;
    size_t count = 0;
    int rc = 0;
    if (strpbrk(part, "*?["))
        rc = world_list(cli->world, dir, &names, &count, err);
    else
        count = 1;
    if (rc)
        count = 0;
    if (rc == ERR_NOTFOUND) /* Nothing matches in it. */
        rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        const char *name = names ? names[i] : part;
        if (names && (is_left_out(name) || fnmatch(part, name, 0) != 0))
            continue;
        buf_clear(&path);
        buf_printf(&path, "%s/%s", dir, name);
        rc = slash
                 ? add_remote_matches(cli, in, buf_cstr(&path), slash + 1, err)
                 : add_remote_tree(cli, in, buf_cstr(&path), 0, err);
    }
    world_names_free(names, names ? count : 0);
    buf_close(&path);
    mem_free(part);
    return rc;
}

static int add_remote(struct cli *cli,
                      struct import_input *in,
                      const char *word,
                      struct err *err)
{
    size_t before = in->count;
    size_t len = strlen(word);
    char *name;
    const char *first;
    int rc;
    while (len > 0 && word[len - 1] == '/')
        len--;
    name = mem_strndup(word, len);
    first = fs_remote_path(name);
    if (strpbrk(first, "*?[")) {
        char *root = mem_strndup(name, (size_t)(first - name) - 1);
        rc = add_remote_matches(cli, in, root, first, err);
        mem_free(root);
    } else {
        rc = add_remote_tree(cli, in, name, 0, err);
    }
    if (rc == 0 && in->count == before)
        rc = err_set(err, ERR_NOTFOUND, "%s: no file matches", word);
    mem_free(name);
    return rc;
}

static int take_word(struct cli *cli,
                     const struct args *args,
                     struct import_input *in,
                     const char *word,
                     struct err *err)
{
    struct stat st;
    if (strncmp(word, FS_MARK, strlen(FS_MARK)) == 0 || is_stream(word))
        return add_copy(cli, args, in, word, err);
    if (world_is_mounted(cli->world, word))
        return add_remote(cli, in, word, err);
    if (stat(word, &st) != 0 && strpbrk(word, "*?["))
        return add_matches(in, word, err);
    return add_existing(in, word, err);
}

int import_input_open(struct cli *cli,
                      const struct args *args,
                      struct import_input *in,
                      struct err *err)
{
    int rc = 0;
    *in = (struct import_input){.paths = NULL};
    for (size_t i = 0; i < args->word_count && !rc; i++)
        rc = take_word(cli, args, in, args->words[i], err);
    return rc;
}

void import_input_close(struct import_input *in)
{
    for (size_t i = 0; i < in->count; i++) {
        if (in->fds[i] >= 0)
            close(in->fds[i]);
        mem_free(in->copies[i]);
        mem_free(in->names[i]);
    }
    mem_free(in->names);
    mem_free(in->copies);
    mem_free(in->fds);
    mem_free(in->paths);
}
