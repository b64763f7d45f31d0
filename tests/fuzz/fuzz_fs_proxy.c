/* Hostile requests to the proxy server of a file system: each gets an answer,
 * none reaches a file that it does not name, nor, in a limited session, a file
 * outside of the session's list. The file system holds one file, in memory. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "gfs-lite/fs_ops.h"
#include "gfs-lite/fs_proxy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char contents[] = "what is in the one file";

#define OWN "d/.m1."

static bool limited;

/* A limited session writes nothing else. */
static void check_path(const char *path)
{
    if (strlen(path) > FS_PATH_BYTES_MAX)
        abort();
    if (limited && (strncmp(path, OWN, strlen(OWN)) != 0 ||
                    strchr(path + strlen(OWN), '/')))
        abort();
}

static int open_one(struct fs *fs,
                    const char *path,
                    struct fs_reader **out,
                    struct err *err)
{
    if (strcmp(path, "f") != 0)
        return err_set(err, ERR_NOTFOUND, "%s", path);
    *out = mem_zalloc(1, sizeof(**out));
    **out = (struct fs_reader){fs, sizeof(contents)};
    return 0;
}

static int read_one(struct fs_reader *r,
                    uint64_t offset,
                    void *dst,
                    size_t len,
                    size_t *got,
                    struct err *err)
{
    (void)err;
    *got = offset < r->size_bytes ? MIN_OF(len, r->size_bytes - offset) : 0;
    if (*got > 0)
        memcpy(dst, contents + offset, *got);
    return 0;
}

static void close_reader(struct fs_reader *r)
{
    mem_free(r);
}

static int create_one(struct fs *fs,
                      const char *path,
                      const struct fs_write_options *opts,
                      struct fs_writer **out,
                      struct err *err)
{
    check_path(path);
    if (opts->mode > FS_WRITE_LOG)
        abort();
    if (path[0] == '/')
        return err_set(err, ERR_INVALID, "%s", path);
    *out = mem_zalloc(1, sizeof(**out));
    (*out)->fs = fs;
    return 0;
}

static int
append_sync(struct fs_writer *w, const void *data, size_t len, struct err *err)
{
    (void)w;
    (void)data;
    (void)err;
    if (len > FS_PROXY_BYTES_MAX)
        abort();
    return 0;
}

static void close_writer(struct fs_writer *w)
{
    mem_free(w);
}

static int
append_one(struct fs_writer *w, const void *data, size_t len, struct err *err)
{
    return append_sync(w, data, len, err);
}

static int sync_one(struct fs_writer *w, struct err *err)
{
    (void)w;
    (void)err;
    return 0;
}

static void prefetch_one(struct fs_reader *r, uint64_t offset, uint64_t len)
{
    (void)r;
    (void)offset;
    (void)len;
}

static int
rename_one(struct fs *fs, const char *from, const char *to, struct err *err)
{
    (void)fs;
    (void)err;
    check_path(from);
    check_path(to);
    return 0;
}

static int remove_one(struct fs *fs, const char *path, struct err *err)
{
    (void)fs;
    (void)err;
    check_path(path);
    return 0;
}

static int
stat_one(struct fs *fs, const char *path, struct fs_info *info, struct err *err)
{
    (void)fs;
    (void)err;
    if (strcmp(path, "f") != 0)
        check_path(path);
    *info = (struct fs_info){.size_bytes = 1};
    return 0;
}

static int sync_dir_one(struct fs *fs, const char *path, struct err *err)
{
    (void)fs;
    (void)err;
    if (limited && strcmp(path, "d") != 0)
        abort();
    return 0;
}

static int list_one(struct fs *fs,
                    const char *path,
                    char ***names,
                    size_t *count,
                    struct err *err)
{
    if (sync_dir_one(fs, path, err))
        return err->code;
    *names = mem_alloc(sizeof(char *));
    (*names)[0] = mem_strdup(".m1.part");
    *count = 1;
    return 0;
}

static void ask(struct fs *fs, const uint8_t *data, size_t size)
{
    static const char *const reads[] = {"f"};
    static const struct fs_proxy_prefix writes[] = {{OWN, NULL}};
    const struct fs_proxy_rules rules = {reads, 1, writes, 1};
    struct fs_proxy_server *l = fs_proxy_server_new(fs);
    struct fs_proxy_session *s = fs_proxy_session_new(l, NULL);
    struct buf answer = BUF_INIT;
    struct cursor in;
    if (limited)
        fs_proxy_session_limit(s, &rules);
    fs_proxy_session_answer(s, slice_make((const char *)data, size), &answer);
    in = cursor_make(buf_slice(&answer));
    cursor_le64(&in);
    if (cursor_zigzag(&in) != 0) {
        cursor_lslice(&in);
        cursor_lslice(&in);
    }
    if (in.bad || answer.len > FS_PROXY_MESSAGE_MAX)
        abort();
    buf_close(&answer);
    fs_proxy_session_free(s);
    fs_proxy_server_free(l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct fs_ops ops = {.open = open_one,
                                      .read_at = read_one,
                                      .prefetch = prefetch_one,
                                      .reader_close = close_reader,
                                      .create = create_one,
                                      .append = append_one,
                                      .flush = sync_one,
                                      .sync = sync_one,
                                      .append_sync = append_sync,
                                      .writer_close = close_writer,
                                      .rename = rename_one,
                                      .remove = remove_one,
                                      .stat = stat_one,
                                      .sync_dir = sync_dir_one,
                                      .list = list_one};
    struct world *w = world_real_new();
    struct fs fs = {.ops = &ops, .world = w};
    for (int i = 0; i < 2; i++) {
        limited = i > 0;
        ask(&fs, data, size);
    }
    world_free(w);
    return 0;
}
