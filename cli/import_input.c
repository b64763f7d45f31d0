/* Inputs of imports. Pipes and files of the file system are copied to a
 * temporary file first, because parsers seek and read in parallel.
 */
#define _XOPEN_SOURCE 700

#include "cli/import_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "cli/fs_spool.h"
#include "cli/interrupt.h"

#define COPY_BYTES ((size_t)1 << 20)
#define FS_MARK    "fs:"

static int copy_all(int from, int to, const char *name, struct err *err)
{
    char *piece = mem_alloc(COPY_BYTES);
    int rc = 0;
    PRE(from >= 0 && to >= 0);
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

static int take_path(struct cli *cli,
                     struct import_input *in,
                     const char *path,
                     struct err *err)
{
    size_t i = in->count++;
    bool of_fs = strncmp(path, FS_MARK, strlen(FS_MARK)) == 0;
    struct buf name = BUF_INIT;
    int rc;
    int fd;
    PRE(in->count <= in->args->word_count);
    in->paths[i] = path;
    in->fds[i] = -1;
    if (!of_fs && !is_stream(path))
        return 0;
    rc = make_copy_file(&fd, err);
    if (rc)
        return rc;
    in->fds[i] = fd;
    buf_printf(&name, "/proc/self/fd/%d", fd);
    in->paths[i] = in->names[i] = buf_take(&name);
    if (of_fs)
        return fs_spool(cli, in->args, path + strlen(FS_MARK), fd, err);
    return copy_stream(path, fd, err);
}

int import_input_open(struct cli *cli,
                      const struct args *args,
                      struct import_input *in,
                      struct err *err)
{
    int rc = 0;
    *in = (struct import_input){.args = args};
    in->paths = mem_zalloc(args->word_count, sizeof(*in->paths));
    in->names = mem_zalloc(args->word_count, sizeof(*in->names));
    in->fds = mem_zalloc(args->word_count, sizeof(*in->fds));
    for (size_t i = 0; i < args->word_count && !rc; i++)
        rc = take_path(cli, in, args->words[i], err);
    return rc;
}

void import_input_close(struct import_input *in)
{
    for (size_t i = 0; i < in->count; i++) {
        if (in->fds[i] >= 0)
            close(in->fds[i]);
        mem_free(in->names[i]);
    }
    mem_free(in->names);
    mem_free(in->fds);
    mem_free(in->paths);
}

const char *import_input_name(const struct import_input *in, const char *path)
{
    for (size_t i = 0; i < in->count; i++)
        if (strcmp(in->paths[i], path) == 0)
            return in->args->words[i];
    return path;
}
