/* quarry fs: bytes in and out (cat, tail, put, get), and the copy of a file for
 * cp. Copies go through a buffer of fixed size. A file of this machine appears
 * under its name when it is complete; one of the file system is removed again
 * when its copy fails, unless it was appended to.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "cli/cmd_fs.h"
#include "cli/fs_walk.h"
#include "cli/interrupt.h"
#include "cli/output_file.h"

#define COPY_BYTES     ((size_t)1 << 20)
#define TAIL_BYTES     1024
#define TAIL_BYTES_MAX (UINT64_C(1) << 30)

/* --- out ----------------------------------------------------------------- */

/* Write the last @last_bytes of @r to @out. */
static int
copy_from(struct fs_reader *r, uint64_t last_bytes, FILE *out, struct err *err)
{
    char *piece = mem_alloc(COPY_BYTES);
    uint64_t at = fs_reader_size(r);
    size_t got = 1;
    int rc = 0;
    PRE(out);
    at -= MIN_OF(at, last_bytes);
    while (!rc && got > 0) {
        rc = fs_read_at(r, at, piece, COPY_BYTES, &got, err);
        if (!rc && fwrite(piece, 1, got, out) != got)
            rc = err_set_errno(err, errno ? errno : EIO, "write");
        if (!rc && interrupted())
            rc = err_set(err, ERR_CANCELLED, "interrupted");
        at += got;
    }
    mem_free(piece);
    return rc;
}

static int copy_out(struct fs *fs,
                    const char *path,
                    uint64_t last_bytes,
                    FILE *out,
                    struct err *err)
{
    struct fs_reader *r;
    int rc = fs_open(fs, path, &r, err);
    if (rc)
        return rc;
    rc = copy_from(r, last_bytes, out, err);
    fs_reader_close(r);
    return rc;
}

static int fs_data_cat(const struct fs_command *c, struct err *err)
{
    struct fs_paths paths;
    int rc = fs_paths_of_words(c, 0, c->args->word_count, &paths, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < paths.count && !rc; i++)
        rc = copy_out(c->fs, paths.list[i], UINT64_MAX, stdout, err);
    fs_paths_close(&paths);
    return rc;
}

int fs_run_cat(struct cli *cli, const struct args *args, struct err *err)
{
    return fs_command_run(cli, args, fs_data_cat, err);
}

static int fs_data_tail(const struct fs_command *c, struct err *err)
{
    uint64_t bytes = TAIL_BYTES;
    int rc = args_number(c->args, "bytes", 1, TAIL_BYTES_MAX, &bytes, err);
    return rc ? rc : copy_out(c->fs, fs_command_path(c, 0), bytes, stdout, err);
}

int fs_run_tail(struct cli *cli, const struct args *args, struct err *err)
{
    return fs_command_run(cli, args, fs_data_tail, err);
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

static bool is_regular(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Make the file @to of this machine out of @r; half of it is not left there. */
static int get_into(const struct fs_command *c,
                    struct fs_reader *r,
                    const char *to,
                    struct err *err)
{
    struct output_file f;
    int rc;
    if (is_regular(to) && !args_flag(c->args, "force")) {
        err_set_errno(err, EEXIST, "%s", to);
        err_hint(err, "--force replaces it");
        return ERR_EXISTS;
    }
    rc = output_file_open(&f, to, err);
    if (rc)
        return rc;
    rc = copy_from(r, UINT64_MAX, f.out, err);
    return output_file_close(&f, rc, err);
}

int fs_get_file(const struct fs_command *c,
                const char *from,
                const char *to,
                struct err *err)
{
    struct fs_reader *r;
    int rc = fs_open(c->fs, from, &r, err);
    if (rc)
        return rc;
    rc = get_into(c, r, to, err);
    fs_reader_close(r);
    return rc;
}

static const char *last_part_of(const char *path)
{
    const char *part = last_part(path);
    return *part ? part : ".";
}

/* The last of several words is where to, of this machine. */
static int fs_data_get(const struct fs_command *c, struct err *err)
{
    size_t last = c->args->word_count - (c->args->word_count > 1);
    const char *to = c->args->word_count > 1 ? c->args->words[last] : ".";
    bool into = is_directory(to);
    struct fs_paths from;
    struct buf full = BUF_INIT;
    int rc = fs_paths_of_words(c, 0, last, &from, err);
    PRE(c->args->word_count > 0);
    if (rc)
        return rc;
    if (from.count > 1 && !into && strcmp(to, "-") != 0)
        rc = err_set(err, ERR_INVALID,
                     "%s: no such directory, and %zu files are to go there", to,
                     from.count);
    for (size_t i = 0; i < from.count && !rc; i++) {
        if (strcmp(to, "-") == 0) {
            rc = copy_out(c->fs, from.list[i], UINT64_MAX, stdout, err);
            continue;
        }
        buf_clear(&full);
        buf_append_str(&full, to);
        if (into)
            fs_join(to, last_part_of(from.list[i]), &full);
        rc = fs_get_tree(c, from.list[i], buf_cstr(&full), err);
    }
    fs_paths_close(&from);
    buf_close(&full);
    return rc;
}

int fs_run_get(struct cli *cli, const struct args *args, struct err *err)
{
    return fs_command_run(cli, args, fs_data_get, err);
}

/* --- in ------------------------------------------------------------------ */

static int open_target(const struct fs_command *c,
                       const char *to,
                       struct fs_writer **w,
                       struct err *err)
{
    struct fs_write_options o = {.mode = FS_WRITE_STREAM,
                                 .exclusive = !args_flag(c->args, "force")};
    int rc;
    if (args_flag(c->args, "append")) {
        o.exclusive = false;
        rc = fs_command_needs_cluster(c, err);
        return rc ? rc : gfs_append_open(c->fs, to, &o, w, err);
    }
    rc = fs_create(c->fs, to, &o, w, err);
    if (rc == ERR_EXISTS)
        err_hint(err, "--force replaces it");
    return rc;
}

static int open_source(const char *from, FILE **in, struct err *err)
{
    *in = stdin;
    if (strcmp(from, "-") == 0)
        return 0;
    if (is_directory(from))
        return err_set(err, ERR_INVALID, "%s is a directory", from);
    *in = fopen(from, "rb");
    return *in ? 0 : err_set_errno(err, errno, "%s", from);
}

/* Append all of @in to @w. */
static int
write_all(struct fs_writer *w, FILE *in, const char *from, struct err *err)
{
    char *piece = mem_alloc(COPY_BYTES);
    size_t got = 1;
    int rc = 0;
    while (!rc && got > 0) {
        got = fread(piece, 1, COPY_BYTES, in);
        if (got < COPY_BYTES && ferror(in))
            rc = err_set_errno(err, errno ? errno : EIO, "%s", from);
        else if (got > 0)
            rc = fs_writer_append(w, piece, got, err);
        if (!rc && interrupted())
            rc = err_set(err, ERR_CANCELLED, "interrupted");
    }
    mem_free(piece);
    return rc ? rc : fs_writer_sync(w, err);
}

/* Of a file that could not be made whole, no half is left under its name. */
int fs_put_file(const struct fs_command *c,
                const char *from,
                const char *to,
                struct err *err)
{
    struct fs_writer *w = NULL;
    FILE *in;
    int rc = open_source(from, &in, err);
    if (rc)
        return rc;
    rc = open_target(c, to, &w, err);
    if (!rc) {
        rc = write_all(w, in, from, err);
        fs_writer_close(w);
        if (rc && !args_flag(c->args, "append"))
            (void)!fs_remove(c->fs, to, NULL);
    }
    if (in != stdin)
        (void)fclose(in);
    return rc;
}

/* --- across -------------------------------------------------------------- */

static int copy_into(struct fs_reader *r, struct fs_writer *w, struct err *err)
{
    char *piece = mem_alloc(COPY_BYTES);
    uint64_t at = 0;
    size_t got = 1;
    int rc = 0;
    while (!rc && got > 0) {
        rc = fs_read_at(r, at, piece, COPY_BYTES, &got, err);
        if (!rc && got > 0)
            rc = fs_writer_append(w, piece, got, err);
        if (!rc && interrupted())
            rc = err_set(err, ERR_CANCELLED, "interrupted");
        at += got;
    }
    mem_free(piece);
    return rc ? rc : fs_writer_sync(w, err);
}

int fs_copy_file(const struct fs_command *c,
                 const char *from,
                 const char *to,
                 struct err *err)
{
    struct fs_writer *w;
    struct fs_reader *r;
    int rc = fs_open(c->fs, from, &r, err);
    if (rc)
        return rc;
    rc = open_target(c, to, &w, err);
    if (!rc) {
        rc = copy_into(r, w, err);
        fs_writer_close(w);
        if (rc)
            (void)!fs_remove(c->fs, to, NULL);
    }
    fs_reader_close(r);
    return rc;
}

/* --- several in ---------------------------------------------------------- */

/* Append to the directory @full the last part of @from, if that is a name. */
static void append_name_of(const char *from, struct buf *full)
{
    struct slice name = slice_str(from);
    while (name.len > 0 && name.data[name.len - 1] == '/')
        name.len--;
    for (size_t i = name.len; i > 0; i--)
        if (name.data[i - 1] == '/') {
            name = slice_sub(name, i, name.len);
            break;
        }
    if (slice_eq_str(name, ".") || slice_eq_str(name, ".."))
        name = SLICE_EMPTY;
    if (name.len && full->len)
        buf_append_byte(full, '/');
    buf_append_slice(full, name);
}

static int fs_data_put(const struct fs_command *c, struct err *err)
{
    size_t last = c->args->word_count - 1;
    const char *to = fs_command_path(c, last);
    struct fs_info info;
    bool into = *to == '\0' || to[strlen(to) - 1] == '/' || last > 1;
    int rc = 0;
    if (fs_stat(c->fs, to, &info, NULL) == 0)
        into |= info.is_directory;
    for (size_t i = 0; i < last && !rc; i++) {
        const char *from = c->args->words[i];
        struct buf full = BUF_INIT;
        buf_append_str(&full, to);
        while (into && full.len && full.data[full.len - 1] == '/')
            buf_truncate(&full, full.len - 1);
        if (into)
            append_name_of(from, &full);
        rc = fs_put_tree(c, from, buf_cstr(&full), err);
        buf_close(&full);
    }
    return rc;
}

int fs_run_put(struct cli *cli, const struct args *args, struct err *err)
{
    return fs_command_run(cli, args, fs_data_put, err);
}
