/* quarry fs: owners and modes (chmod, chown, ls -l). A change of a tree is one
 * change for each name, what is below a directory first; the first one that is
 * refused ends it, and those before it stay.
 */
#include <string.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "cli/cmd_fs.h"
#include "cli/fs_mode.h"
#include "cli/fs_walk.h"
#include "cli/table_printer.h"

#define THE_SERVERS "(servers)"

/* Called for a name and, in a tree, for all below it: directories first. */
typedef int (*visit_fn)(void *ctx,
                        const char *path,
                        const struct gfs_stat *s,
                        struct err *err);

struct tree_walk {
    struct fs *fs;
    visit_fn visit;
    void *ctx;
    bool recursive;
};

static int
walk_entries(const struct tree_walk *w, const char *directory, struct err *err);

static int walk_entry(const struct tree_walk *w,
                      const char *directory,
                      const struct gfs_entry *e,
                      struct err *err)
{
    struct buf path = BUF_INIT;
    int rc;
    buf_append_str(&path, directory);
    if (*directory)
        buf_append_byte(&path, '/');
    buf_append_slice(&path, e->name);
    rc = w->visit(w->ctx, buf_cstr(&path), &e->stat, err);
    /* Paths have a greatest depth, and so has this. */
    if (rc == 0 && w->recursive && e->stat.is_directory)
        rc = walk_entries(w, buf_cstr(&path), err);
    buf_close(&path);
    return rc == ERR_NOTFOUND ? 0 : rc; /* It went meanwhile. */
}

static int
walk_entries(const struct tree_walk *w, const char *directory, struct err *err)
{
    struct gfs_listing l = {.more = true};
    struct buf after = BUF_INIT;
    int rc = 0;
    while (rc == 0 && l.more) {
        struct arena a;
        arena_init(&a);
        rc = gfs_list(w->fs, directory, buf_cstr(&after), &a, &l, err);
        for (size_t i = 0; rc == 0 && i < l.count; i++)
            rc = walk_entry(w, directory, &l.entries[i], err);
        buf_clear(&after);
        if (rc == 0 && l.count)
            buf_append_slice(&after, l.entries[l.count - 1].name);
        arena_close(&a);
    }
    buf_close(&after);
    return rc;
}

/* --- chmod, chown -------------------------------------------------------- */

struct rights_change {
    const struct fs_command *command;
    const char *text; /* The mode, or the owner. */
};

static int change_mode(void *ctx,
                       const char *path,
                       const struct gfs_stat *s,
                       struct err *err)
{
    const struct rights_change *k = ctx;
    uint32_t mode = s->mode;
    int rc = fs_mode_change(k->text, &mode, err);
    if (!s->is_directory) /* Of a tree directories alone are sticky. */
        mode &= ~(uint32_t)GFS_STICKY;
    return rc ? rc : gfs_set_mode(k->command->fs, path, mode, err);
}

static int change_owner(void *ctx,
                        const char *path,
                        const struct gfs_stat *s,
                        struct err *err)
{
    const struct rights_change *k = ctx;
    (void)s;
    return gfs_set_owner(k->command->fs, path, slice_str(k->text), err);
}

/* Of a tree what is below it first: a directory that is closed, or given away,
 * is not looked into any more. */
static int change_path(struct rights_change *k,
                       visit_fn visit,
                       const char *path,
                       struct err *err);

struct deep_change {
    struct rights_change *change;
    visit_fn visit;
};

static int visit_deep(void *ctx,
                      const char *path,
                      const struct gfs_stat *s,
                      struct err *err)
{
    const struct deep_change *d = ctx;
    return s->is_directory ? change_path(d->change, d->visit, path, err)
                           : d->visit(d->change, path, s, err);
}

static int change_path(struct rights_change *k,
                       visit_fn visit,
                       const char *path,
                       struct err *err)
{
    struct deep_change d = {k, visit};
    struct tree_walk w = {.fs = k->command->fs, .visit = visit_deep, .ctx = &d};
    struct gfs_stat s;
    int rc = gfs_stat(k->command->fs, path, &s, err);
    if (!rc && s.is_directory && args_flag(k->command->args, "recursive"))
        rc = walk_entries(&w, path, err);
    return rc ? rc : visit(k, path, &s, err);
}

static int
change_all(const struct fs_command *c, visit_fn visit, struct err *err)
{
    struct rights_change k = {.command = c, .text = c->args->words[0]};
    struct fs_paths paths;
    int rc = fs_command_needs_cluster(c, err);
    if (rc == 0)
        rc = fs_paths_of_words(c, 1, c->args->word_count, &paths, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < paths.count && !rc; i++)
        rc = change_path(&k, visit, paths.list[i], err);
    fs_paths_close(&paths);
    return rc;
}

static int chmod_all(const struct fs_command *c, struct err *err)
{
    uint32_t mode = 0;
    int rc = fs_mode_change(c->args->words[0], &mode, err);
    return rc ? rc : change_all(c, change_mode, err);
}

static int chown_all(const struct fs_command *c, struct err *err)
{
    return change_all(c, change_owner, err);
}

int fs_run_chmod(struct cli *cli, const struct args *args, struct err *err)
{
    return fs_command_run(cli, args, chmod_all, err);
}

int fs_run_chown(struct cli *cli, const struct args *args, struct err *err)
{
    return fs_command_run(cli, args, chown_all, err);
}

/* --- showing ------------------------------------------------------------- */

static void add_owner(struct sheet *sheet, const struct gfs_stat *s)
{
    if (s->owner.len)
        sheet_add(sheet, s->owner);
    else
        sheet_add_str(sheet, THE_SERVERS);
}

int fs_put_rights(const struct fs_command *c,
                  const char *path,
                  struct sheet *s,
                  struct gfs_stat *out,
                  struct err *err)
{
    char mode[FS_MODE_BYTES];
    struct arena a;
    int rc;
    arena_init(&a);
    rc = gfs_look(c->fs, path, &a, out, err);
    if (rc == 0) {
        fs_mode_put(out->mode, out->is_directory, mode);
        sheet_add_str(s, "owner");
        add_owner(s, out);
        sheet_add_str(s, "mode");
        sheet_add_str(s, mode);
    }
    out->owner = SLICE_EMPTY;
    arena_close(&a);
    return rc;
}

/* --- ls -l --------------------------------------------------------------- */

static int visit_long(void *ctx,
                      const char *path,
                      const struct gfs_stat *s,
                      struct err *err)
{
    struct sheet *sheet = ctx;
    char mode[FS_MODE_BYTES];
    (void)err;
    fs_mode_put(s->mode, s->is_directory, mode);
    sheet_add_str(sheet, mode);
    add_owner(sheet, s);
    if (s->is_directory)
        sheet_add_str(sheet, "");
    else
        sheet_add_u64(sheet, s->replication);
    sheet_add_u64(sheet, s->is_directory ? 0 : s->size_bytes);
    sheet_add_u64(sheet, s->modified_us);
    sheet_addf(sheet, "/%s", path);
    return 0;
}

/* The entries of a directory, or the file itself. */
static int list_path(void *ctx, const char *path, struct err *err)
{
    const struct tree_walk *w = ctx;
    struct gfs_stat s;
    struct arena a;
    int rc;
    arena_init(&a);
    rc = gfs_look(w->fs, path, &a, &s, err);
    if (!rc && s.is_directory)
        rc = walk_entries(w, path, err);
    else if (!rc)
        rc = w->visit(w->ctx, path, &s, err);
    arena_close(&a);
    return rc;
}

static int list_long(const struct fs_command *c, struct err *err)
{
    static const struct sheet_column columns[] = {
        {"mode", SHEET_TEXT},     {"owner", SHEET_TEXT},
        {"copies", SHEET_NUMBER}, {"bytes", SHEET_BYTES},
        {"modified", SHEET_TIME}, {"path", SHEET_TEXT}};
    struct sheet sheet;
    struct tree_walk w = {.fs = c->fs,
                          .visit = visit_long,
                          .ctx = &sheet,
                          .recursive = args_flag(c->args, "recursive")};
    int rc = fs_command_needs_cluster(c, err);
    return rc ? rc
              : fs_print_paths(c, columns, ARRAY_LEN(columns), &sheet,
                               list_path, &w, err);
}

int fs_run_ls_long(struct cli *cli, const struct args *args, struct err *err)
{
    return fs_command_run(cli, args, list_long, err);
}
