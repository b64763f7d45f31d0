/* Copies a file of the file system to a descriptor of this machine, for readers
 * that need to seek or to map a file. The caller makes the file and removes it.
 */
#include "cli/fs_spool.h"

#include <errno.h>
#include <unistd.h>

#include "base/core/panic.h"
#include "cli/cmd_fs.h"
#include "cli/interrupt.h"

#define COPY_BYTES ((size_t)1 << 20)

/* The one that is under way: commands of the file system carry no more. */
struct spool {
    struct args args; /* First; one word, the path. */
    int fd;
};

static int put_all(int fd, const char *p, size_t len, struct err *err)
{
    PRE(fd >= 0);
    while (len > 0) {
        ssize_t n = write(fd, p, len);
        if (n < 0 && errno != EINTR)
            return err_set_errno(err, errno, "temporary file");
        p += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int fs_spool_copy(const struct fs_command *c, struct err *err)
{
    const struct spool *s = (const struct spool *)(const void *)c->args;
    char *piece;
    struct fs_reader *r;
    uint64_t at = 0;
    size_t got = 1;
    int rc = fs_open(c->fs, fs_command_path(c, 0), &r, err);
    PRE(c->args->word_count == 1);
    if (rc)
        return rc;
    piece = mem_alloc(COPY_BYTES);
    while (!rc && got > 0) {
        rc = fs_read_at(r, at, piece, COPY_BYTES, &got, err);
        if (!rc)
            rc = put_all(s->fd, piece, got, err);
        if (!rc && interrupted())
            rc = err_set(err, ERR_CANCELLED, "interrupted");
        at += got;
    }
    mem_free(piece);
    fs_reader_close(r);
    return rc;
}

int fs_spool(struct cli *cli,
             const struct args *args,
             const char *path,
             int fd,
             struct err *err)
{
    struct spool s = {.args = *args, .fd = fd};
    s.args.words = &path;
    s.args.word_count = 1;
    return fs_command_run(cli, &s.args, fs_spool_copy, err);
}
