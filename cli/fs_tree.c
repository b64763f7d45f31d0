/* quarry fs: whole trees in, out and across, and several names into one
 * directory. Files are copied one after the other; the first error ends the
 * copy.
 */
#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "cli/cmd_fs.h"
#include "cli/fs_walk.h"

/* A tree that is copied: what is at hand of it. */
struct tree {
    const struct fs_command *command;
    const char *to; /* Of the directory at hand. */
    unsigned depth;
};

static int too_deep(const char *path, struct err *err)
{
    return err_set(err, ERR_TOOBIG, "%s: more than %d directories deep", path,
                   FS_TREE_DEPTH_MAX);
}

static int needs_flag(const char *path, struct err *err)
{
    err_set(err, ERR_INVALID, "%s is a directory", path);
    err_hint(err, "-R copies it with all that is in it");
    return ERR_INVALID;
}

static bool is_recursive(const struct fs_command *c)
{
    return args_flag(c->args, "recursive");
}

/* --- out ----------------------------------------------------------------- */

/* A name that another machine gave must stay in the directory it is made in. */
static bool is_plain_name(const char *name)
{
    return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
           !strchr(name, '/');
}

static int make_local(const char *path, struct err *err)
{
    struct stat st;
    if (mkdir(path, 0777) == 0 ||
        (errno == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode)))
        return 0;
    return err_set_errno(err, errno, "%s", path);
}

static int get_entry(void *ctx, const struct fs_entry *e, struct err *err)
{
    struct tree *t = ctx;
    struct tree below = *t;
    struct buf to = BUF_INIT;
    int rc = 0;
    PRE(t->depth <= FS_TREE_DEPTH_MAX);
    if (!is_plain_name(e->name))
        return err_set(err, ERR_INVALID, "%s%s: no name for a file here",
                       t->command->root, e->path);
    fs_join(t->to, e->name, &to);
    below.to = buf_cstr(&to);
    if (!e->info.is_directory)
        rc = fs_get_file(t->command, e->path, below.to, err);
    else if (++below.depth > FS_TREE_DEPTH_MAX)
        rc = too_deep(e->path, err);
    else if ((rc = make_local(below.to, err)) == 0)
        rc = fs_each_entry(t->command->fs, e->path, get_entry, &below, err);
    buf_close(&to);
    return rc;
}

int fs_get_tree(const struct fs_command *c,
                const char *from,
                const char *to,
                struct err *err)
{
    struct tree t = {.command = c, .to = to};
    struct fs_info info;
    int rc = fs_stat(c->fs, from, &info, err);
    if (rc)
        return rc;
    if (!info.is_directory)
        return fs_get_file(c, from, to, err);
    if (!is_recursive(c)) {
        struct buf name = BUF_INIT;
        buf_printf(&name, "%s%s", c->root, from);
        rc = needs_flag(buf_cstr(&name), err);
        buf_close(&name);
        return rc;
    }
    rc = make_local(to, err);
    return rc ? rc : fs_each_entry(c->fs, from, get_entry, &t, err);
}

/* --- in ------------------------------------------------------------------ */

static int put_below(const struct tree *t, const char *from, struct err *err);

static int put_path(const struct tree *t, const char *from, struct err *err)
{
    struct stat st;
    if (stat(from, &st) != 0)
        return err_set_errno(err, errno, "%s", from);
    if (S_ISDIR(st.st_mode))
        return put_below(t, from, err);
    return fs_put_file(t->command, from, t->to, err);
}

static int put_name(const struct tree *t,
                    const char *dir,
                    const char *name,
                    struct err *err)
{
    struct tree below = *t;
    struct buf from = BUF_INIT;
    struct buf to = BUF_INIT;
    int rc;
    PRE(t->depth <= FS_TREE_DEPTH_MAX);
    fs_join(dir, name, &from);
    fs_join(t->to, name, &to);
    below.to = buf_cstr(&to);
    below.depth++;
    rc = put_path(&below, buf_cstr(&from), err);
    buf_close(&from);
    buf_close(&to);
    return rc;
}

static int put_below(const struct tree *t, const char *from, struct err *err)
{
    struct dirent **names = NULL;
    int count;
    int rc;
    if (t->depth > FS_TREE_DEPTH_MAX)
        return too_deep(from, err);
    count = scandir(from, &names, NULL, alphasort);
    if (count < 0)
        return err_set_errno(err, errno, "%s", from);
    rc = fs_mkdirs(t->command->fs, t->to, err);
    for (int i = 0; i < count; i++) {
        const char *name = names[i]->d_name;
        if (rc == 0 && is_plain_name(name))
            rc = put_name(t, from, name, err);
        mem_free(names[i]);
    }
    mem_free(names);
    return rc;
}

int fs_put_tree(const struct fs_command *c,
                const char *from,
                const char *to,
                struct err *err)
{
    struct tree t = {.command = c, .to = to};
    struct stat st;
    if (strcmp(from, "-") == 0)
        return fs_put_file(c, from, to, err);
    if (stat(from, &st) == 0 && S_ISDIR(st.st_mode) && !is_recursive(c))
        return needs_flag(from, err);
    return put_path(&t, from, err);
}

/* --- across -------------------------------------------------------------- */

static int copy_entry(void *ctx, const struct fs_entry *e, struct err *err)
{
    struct tree *t = ctx;
    struct tree below = *t;
    struct buf to = BUF_INIT;
    int rc = 0;
    PRE(t->depth <= FS_TREE_DEPTH_MAX);
    fs_join(t->to, e->name, &to);
    below.to = buf_cstr(&to);
    if (!e->info.is_directory)
        rc = fs_copy_file(t->command, e->path, below.to, err);
    else if (++below.depth > FS_TREE_DEPTH_MAX)
        rc = too_deep(e->path, err);
    else if ((rc = fs_mkdirs(t->command->fs, below.to, err)) == 0)
        rc = fs_each_entry(t->command->fs, e->path, copy_entry, &below, err);
    buf_close(&to);
    return rc;
}

/* A copy below itself would have no end. */
static bool is_below(const char *path, const char *dir)
{
    size_t n = strlen(dir);
    return n == 0 ||
           (strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0'));
}

static int copy_tree(const struct fs_command *c,
                     const char *from,
                     const char *to,
                     struct err *err)
{
    struct tree t = {.command = c, .to = to};
    struct fs_info info;
    int rc = fs_stat(c->fs, from, &info, err);
    if (rc)
        return rc;
    if (is_below(to, from))
        return err_set(err, ERR_INVALID, "%s%s: cannot be copied to %s%s",
                       c->root, from, c->root, to);
    if (!info.is_directory)
        return fs_copy_file(c, from, to, err);
    if (!is_recursive(c)) {
        struct buf name = BUF_INIT;
        buf_printf(&name, "%s%s", c->root, from);
        rc = needs_flag(buf_cstr(&name), err);
        buf_close(&name);
        return rc;
    }
    rc = fs_mkdirs(c->fs, to, err);
    return rc ? rc : fs_each_entry(c->fs, from, copy_entry, &t, err);
}

/* --- several at once ----------------------------------------------------- */

/* Do several of the paths go to @to, or one into it? */
int fs_each_into(const struct fs_command *c,
                 const char *to,
                 fs_into_fn fn,
                 struct err *err)
{
    struct fs_paths from;
    struct buf full = BUF_INIT;
    struct fs_info info = {.is_directory = false};
    bool exists = fs_stat(c->fs, to, &info, NULL) == 0;
    int rc = fs_paths_of_words(c, 0, c->args->word_count - 1, &from, err);
    PRE(c->args->word_count > 0);
    if (rc)
        return rc;
    if (from.count > 1 && !info.is_directory)
        rc = err_set(err, exists ? ERR_INVALID : ERR_NOTFOUND,
                     "%s%s: %s, and %zu files are to go there", c->root, to,
                     exists ? "is not a directory" : "no such directory",
                     from.count);
    for (size_t i = 0; i < from.count && !rc; i++) {
        const char *slash = strrchr(from.list[i], '/');
        buf_clear(&full);
        buf_append_str(&full, to);
        if (info.is_directory)
            fs_join(to, slash ? slash + 1 : from.list[i], &full);
        rc = fn(c, from.list[i], buf_cstr(&full), err);
    }
    fs_paths_close(&from);
    buf_close(&full);
    return rc;
}

static int fs_tree_cp(const struct fs_command *c, struct err *err)
{
    return fs_each_into(c, fs_command_path(c, c->args->word_count - 1),
                        copy_tree, err);
}

int fs_run_cp(struct cli *cli, const struct args *args, struct err *err)
{
    return fs_command_run(cli, args, fs_tree_cp, err);
}
