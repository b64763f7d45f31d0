/* quarry fs: bytes in and out. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "cli/fs.h"
#include "cli/interrupt.h"

#define COPY_BYTES     ((size_t)1 << 20)
#define TAIL_BYTES     1024
#define TAIL_BYTES_MAX (UINT64_C(1) << 30)

/* --- out --------------------------------------------------------------- */

/* Write [@from, end) of @path to @out. */
static int copy_out(struct fs *fs,
                    const char *path,
                    uint64_t last_bytes,
                    FILE *out,
                    struct err *err)
{
    struct fs_reader *r;
    char *piece;
    uint64_t at;
    size_t got = 1;
    int code = fs_open(fs, path, &r, err);
    if (code)
        return code;
    at = fs_reader_size(r);
    at -= MIN_OF(at, last_bytes);
    piece = mem_alloc(COPY_BYTES);
    while (!code && got > 0) {
        code = fs_read_at(r, at, piece, COPY_BYTES, &got, err);
        if (!code && fwrite(piece, 1, got, out) != got)
            code = err_set_errno(err, errno ? errno : EIO, "write");
        if (!code && interrupted())
            code = err_set(err, ERR_CANCELLED, "interrupted");
        at += got;
    }
    mem_free(piece);
    fs_reader_close(r);
    return code;
}

static int cat(const struct fs_command *c, struct err *err)
{
    int code = 0;
    for (size_t i = 0; i < c->args->word_count && !code; i++)
        code = copy_out(c->fs, fs_command_path(c, i), UINT64_MAX, stdout, err);
    return code;
}

int fs_run_cat(struct cli *cli, const struct args *args, struct err *err)
{
    return fs_command_run(cli, args, cat, err);
}

static int tail(const struct fs_command *c, struct err *err)
{
    uint64_t bytes = TAIL_BYTES;
    int code = args_number(c->args, "bytes", 1, TAIL_BYTES_MAX, &bytes, err);
    return code ? code
                : copy_out(c->fs, fs_command_path(c, 0), bytes, stdout, err);
}

int fs_run_tail(struct cli *cli, const struct args *args, struct err *err)
{
    return fs_command_run(cli, args, tail, err);
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int get(const struct fs_command *c, struct err *err)
{
    const char *path = fs_command_path(c, 0);
    const char *to = c->args->word_count > 1 ? c->args->words[1] : ".";
    struct buf full = BUF_INIT;
    FILE *out;
    int code;
    if (strcmp(to, "-") == 0)
        return copy_out(c->fs, path, UINT64_MAX, stdout, err);
    buf_append_str(&full, to);
    if (is_directory(to))
        buf_printf(&full, "/%s", last_part(path));
    out = fopen(buf_cstr(&full), args_flag(c->args, "force") ? "wb" : "wbx");
    if (!out) {
        code = err_set_errno(err, errno, "%s", buf_cstr(&full));
        if (code == ERR_EXISTS)
            err_hint(err, "--force replaces it");
        buf_close(&full);
        return code;
    }
    code = copy_out(c->fs, path, UINT64_MAX, out, err);
    if (fclose(out) != 0 && !code)
        code = err_set_errno(err, errno, "%s", buf_cstr(&full));
    buf_close(&full);
    return code;
}

int fs_run_get(struct cli *cli, const struct args *args, struct err *err)
{
    return fs_command_run(cli, args, get, err);
}

/* --- in ---------------------------------------------------------------- */

static int open_target(const struct fs_command *c,
                       const char *to,
                       struct fs_writer **w,
                       struct err *err)
{
    struct fs_write_options o = {.mode = FS_WRITE_STREAM,
                                 .exclusive = !args_flag(c->args, "force")};
    int code;
    if (args_flag(c->args, "append")) {
        o.exclusive = false;
        code = fs_command_needs_cluster(c, err);
        return code ? code : gfs_append_open(c->fs, to, &o, w, err);
    }
    code = fs_create(c->fs, to, &o, w, err);
    if (code == ERR_EXISTS)
        err_hint(err, "--force replaces it");
    return code;
}

static int copy_in(const struct fs_command *c,
                   const char *from,
                   const char *to,
                   struct err *err)
{
    FILE *in = strcmp(from, "-") == 0 ? stdin : fopen(from, "rb");
    struct fs_writer *w = NULL;
    char *piece;
    size_t got = 1;
    int code;
    if (!in)
        return err_set_errno(err, errno, "%s", from);
    code = open_target(c, to, &w, err);
    piece = mem_alloc(COPY_BYTES);
    while (!code && got > 0) {
        got = fread(piece, 1, COPY_BYTES, in);
        if (got < COPY_BYTES && ferror(in))
            code = err_set_errno(err, errno ? errno : EIO, "%s", from);
        else if (got > 0)
            code = fs_writer_append(w, piece, got, err);
        if (!code && interrupted())
            code = err_set(err, ERR_CANCELLED, "interrupted");
    }
    if (!code)
        code = fs_writer_sync(w, err);
    fs_writer_close(w);
    mem_free(piece);
    if (in != stdin)
        (void)fclose(in);
    return code;
}

static int put(const struct fs_command *c, struct err *err)
{
    size_t last = c->args->word_count - 1;
    const char *to = fs_command_path(c, last);
    struct fs_info info;
    bool into = *to == '\0' || to[strlen(to) - 1] == '/' || last > 1;
    int code = 0;
    if (fs_stat(c->fs, to, &info, NULL) == 0)
        into |= info.is_directory;
    for (size_t i = 0; i < last && !code; i++) {
        const char *from = c->args->words[i];
        struct buf full = BUF_INIT;
        buf_append_str(&full, to);
        if (into && full.len && full.data[full.len - 1] != '/')
            buf_append_byte(&full, '/');
        if (into)
            buf_append_str(&full, last_part(from));
        code = copy_in(c, from, buf_cstr(&full), err);
        buf_close(&full);
    }
    return code;
}

int fs_run_put(struct cli *cli, const struct args *args, struct err *err)
{
    return fs_command_run(cli, args, put, err);
}
