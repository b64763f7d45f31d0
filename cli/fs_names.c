/* quarry fs: names (ls, stat, mv, rm, mkdir, du, snapshot, setrep, quota). For
 * du a cluster counts what is below a directory itself; a local directory is
 * walked.
 */
#include <stdio.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "cli/cmd_fs.h"
#include "cli/fs_walk.h"
#include "cli/table_printer.h"

/* As users know it: from the root. */
static void
add_path(struct sheet *s, const struct fs_command *c, const char *path)
{
    sheet_addf(s, "%s%s", c->root, path);
}

/* --- ls ------------------------------------------------------------------ */

struct ls {
    const struct fs_command *command;
    struct sheet sheet;
    bool recursive;
    unsigned depth;
};

static void add_entry(struct ls *l, const struct fs_entry *e)
{
    bool is_file = !e->info.is_directory;
    sheet_add_str(&l->sheet, is_file ? "file" : "dir");
    if (is_file && e->stat)
        sheet_add_u64(&l->sheet, e->stat->replication);
    else
        sheet_add_str(&l->sheet, is_file ? "1" : "");
    sheet_add_u64(&l->sheet, e->info.size_bytes);
    if (e->info.modified_us)
        sheet_add_u64(&l->sheet, e->info.modified_us);
    else
        sheet_add_str(&l->sheet, "");
    add_path(&l->sheet, l->command, e->path);
}

static int visit_ls(void *ctx, const struct fs_entry *e, struct err *err)
{
    struct ls *l = ctx;
    int rc = 0;
    add_entry(l, e);
    if (!l->recursive || !e->info.is_directory || l->depth == FS_TREE_DEPTH_MAX)
        return 0;
    l->depth++;
    rc = fs_each_entry(l->command->fs, e->path, visit_ls, l, err);
    l->depth--;
    return rc;
}

/* A file itself, what is in a directory. */
static int list_path(void *ctx, const char *path, struct err *err)
{
    struct ls *l = ctx;
    struct gfs_stat stat;
    struct fs_entry e;
    int rc = fs_entry_of(l->command->fs, path, &stat, &e, err);
    if (rc)
        return rc;
    if (e.info.is_directory)
        return fs_each_entry(l->command->fs, path, visit_ls, l, err);
    add_entry(l, &e);
    return 0;
}

int fs_print_paths(const struct fs_command *c,
                   const struct sheet_column *columns,
                   size_t column_count,
                   struct sheet *sheet,
                   fs_list_fn list,
                   void *ctx,
                   struct err *err)
{
    size_t words = MAX_OF(c->args->word_count, (size_t)1);
    struct fs_paths paths;
    int rc = fs_paths_of_words(c, 0, words, &paths, err);
    if (rc)
        return rc;
    sheet_init(sheet, columns, column_count);
    for (size_t i = 0; i < paths.count && !rc; i++)
        rc = list(ctx, paths.list[i], err);
    if (!rc)
        sheet_print(sheet, c->cli->format);
    sheet_close(sheet);
    fs_paths_close(&paths);
    return rc;
}

static int fs_names_ls(const struct fs_command *c, struct err *err)
{
    static const struct sheet_column columns[] = {{"kind", SHEET_TEXT},
                                                  {"copies", SHEET_NUMBER},
                                                  {"bytes", SHEET_BYTES},
                                                  {"modified", SHEET_TIME},
                                                  {"path", SHEET_TEXT}};
    struct ls l = {.command = c, .recursive = args_flag(c->args, "recursive")};
    return fs_print_paths(c, columns, ARRAY_LEN(columns), &l.sheet, list_path,
                          &l, err);
}

int fs_run_ls(struct cli *cli, const struct args *args, struct err *err)
{
    if (args_flag(args, "long"))
        return fs_run_ls_long(cli, args, err);
    return fs_command_run(cli, args, fs_names_ls, err);
}

/* --- du ------------------------------------------------------------------ */

struct sum {
    struct fs *fs;
    uint64_t bytes;
    uint64_t files;
    uint64_t directories;
    unsigned depth;
};

static int visit_sum(void *ctx, const struct fs_entry *e, struct err *err)
{
    struct sum *s = ctx;
    int rc;
    if (!e->info.is_directory) {
        s->files++;
        s->bytes += e->info.size_bytes;
        return 0;
    }
    s->directories++;
    if (s->depth == FS_TREE_DEPTH_MAX)
        return 0;
    s->depth++;
    rc = fs_each_entry(s->fs, e->path, visit_sum, s, err);
    s->depth--;
    return rc;
}

/* Add up the sizes at and below @e: a cluster has counted them, a directory is
 * walked. */
static int
sum_up(struct fs *fs, const struct fs_entry *e, struct sum *s, struct err *err)
{
    *s = (struct sum){.fs = fs};
    if (!e->stat || !e->info.is_directory)
        return visit_sum(s, e, err);
    s->bytes = e->stat->bytes;
    s->files = e->stat->file_count;
    s->directories = e->stat->entry_count - e->stat->file_count + 1;
    return 0;
}

struct du {
    const struct fs_command *command;
    struct fs *fs;
    struct sheet sheet;
};

static int visit_du(void *ctx, const struct fs_entry *e, struct err *err)
{
    struct du *d = ctx;
    struct sum s;
    int rc = sum_up(d->fs, e, &s, err);
    if (rc)
        return rc;
    sheet_add_u64(&d->sheet, s.bytes);
    sheet_add_u64(&d->sheet, s.files);
    sheet_add_u64(&d->sheet, s.directories);
    add_path(&d->sheet, d->command, e->path);
    return 0;
}

static int du_path(void *ctx, const char *path, struct err *err)
{
    struct du *d = ctx;
    struct gfs_stat stat;
    struct fs_entry e;
    int rc = fs_entry_of(d->fs, path, &stat, &e, err);
    if (!rc && e.info.is_directory)
        rc = fs_each_entry(d->fs, path, visit_du, d, err);
    return rc ? rc : visit_du(d, &e, err);
}

static int fs_names_du(const struct fs_command *c, struct err *err)
{
    static const struct sheet_column columns[] = {{"bytes", SHEET_BYTES},
                                                  {"files", SHEET_NUMBER},
                                                  {"directories", SHEET_NUMBER},
                                                  {"path", SHEET_TEXT}};
    struct du d = {.command = c, .fs = c->fs};
    return fs_print_paths(c, columns, ARRAY_LEN(columns), &d.sheet, du_path, &d,
                          err);
}

int fs_run_du(struct cli *cli, const struct args *args, struct err *err)
{
    return fs_command_run(cli, args, fs_names_du, err);
}

/* --- stat ---------------------------------------------------------------- */

static void add_fact(struct sheet *s, const char *name, uint64_t value)
{
    sheet_add_str(s, name);
    sheet_add_u64(s, value);
}

static int put_layout(const struct fs_command *c,
                      const char *path,
                      struct sheet *s,
                      struct err *err)
{
    struct gfs_layout l;
    struct arena a;
    int rc;
    arena_init(&a);
    rc = gfs_get_layout(c->fs, path, 0, &a, &l, err);
    for (size_t i = 0; !rc && i < l.chunk_count; i++) {
        const struct gfs_chunk *k = &l.chunks[i];
        struct buf where = BUF_INIT;
        buf_printf(&where, "at %llu, ", (unsigned long long)k->offset);
        if (k->sealed)
            buf_printf(&where, "%u bytes, version %u:", k->length, k->version);
        else
            buf_append_str(&where, "open:");
        for (unsigned n = 0; n < k->servers.count; n++)
            for (size_t m = 0; m < l.server_count; m++)
                if (l.servers[m].number == k->servers.numbers[n])
                    buf_printf(&where, " %.*s",
                               SLICE_ARG(l.servers[m].address));
        sheet_addf(s, "chunk %llu", (unsigned long long)k->handle);
        sheet_add(s, buf_slice(&where));
        buf_close(&where);
    }
    arena_close(&a);
    return rc;
}

static int put_gfs_stat(const struct fs_command *c,
                        const char *path,
                        struct sheet *s,
                        struct err *err)
{
    struct gfs_stat g;
    int rc = fs_put_rights(c, path, s, &g, err);
    if (rc)
        return rc;
    if (g.is_directory) {
        add_fact(s, "files_below", g.file_count);
        add_fact(s, "bytes_below", g.bytes);
        add_fact(s, "entry_quota", g.entry_quota);
        add_fact(s, "byte_quota", g.byte_quota);
        return 0;
    }
    add_fact(s, "copies", g.replication);
    sheet_add_str(s, "open");
    sheet_add_str(s, g.is_open ? "yes" : "no");
    rc = put_layout(c, path, s, err);
    return rc == ERR_DENIED ? 0 : rc; /* Its bytes are not the caller's. */
}

static int stat_path(const struct fs_command *c, struct err *err)
{
    static const struct sheet_column columns[] = {{"name", SHEET_TEXT},
                                                  {"value", SHEET_TEXT}};
    const char *path = fs_command_path(c, 0);
    struct buf time = BUF_INIT;
    struct fs_info info;
    struct sheet s;
    int rc = fs_stat(c->fs, path, &info, err);
    if (rc)
        return rc;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    sheet_add_str(&s, "kind");
    sheet_add_str(&s, info.is_directory ? "directory" : "file");
    add_fact(&s, "bytes", info.size_bytes);
    text_put_time(&time, (int64_t)info.modified_us);
    sheet_add_str(&s, "modified");
    sheet_add(&s, buf_slice(&time));
    if (fs_is_gfs(c->fs))
        rc = put_gfs_stat(c, path, &s, err);
    if (!rc)
        sheet_print(&s, c->cli->format);
    sheet_close(&s);
    buf_close(&time);
    return rc;
}

int fs_run_stat(struct cli *cli, const struct args *args, struct err *err)
{
    return fs_command_run(cli, args, stat_path, err);
}

/* --- changes ------------------------------------------------------------- */

static int
remove_one(const struct fs_command *c, const char *path, struct err *err)
{
    struct fs_info info;
    int rc = fs_stat(c->fs, path, &info, err);
    if (rc)
        return rc;
    if (*path == '\0')
        return err_set(err, ERR_INVALID, "the root cannot be removed");
    if (info.is_directory && !args_flag(c->args, "recursive")) {
        err_set(err, ERR_INVALID, "%s%s is a directory", c->root, path);
        err_hint(err, "-r removes it with all that is in it");
        return ERR_INVALID;
    }
    if (fs_is_gfs(c->fs) && !args_flag(c->args, "skip-trash"))
        return gfs_discard(c->fs, path, err);
    return info.is_directory ? fs_remove_tree(c->fs, path, err)
                             : fs_remove(c->fs, path, err);
}

static int fs_names_rm(const struct fs_command *c, struct err *err)
{
    struct fs_paths paths;
    int rc = fs_paths_of_words(c, 0, c->args->word_count, &paths, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < paths.count && !rc; i++)
        rc = remove_one(c, paths.list[i], err);
    fs_paths_close(&paths);
    return rc;
}

int fs_run_rm(struct cli *cli, const struct args *args, struct err *err)
{
    return fs_command_run(cli, args, fs_names_rm, err);
}

static int move_one(const struct fs_command *c,
                    const char *from,
                    const char *to,
                    struct err *err)
{
    return fs_rename(c->fs, from, to, err);
}

static int fs_names_mv(const struct fs_command *c, struct err *err)
{
    return fs_each_into(c, fs_command_path(c, c->args->word_count - 1),
                        move_one, err);
}

int fs_run_mv(struct cli *cli, const struct args *args, struct err *err)
{
    return fs_command_run(cli, args, fs_names_mv, err);
}

static int make_dirs(const struct fs_command *c, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < c->args->word_count && !rc; i++)
        rc = fs_mkdirs(c->fs, fs_command_path(c, i), err);
    return rc;
}

int fs_run_mkdir(struct cli *cli, const struct args *args, struct err *err)
{
    return fs_command_run(cli, args, make_dirs, err);
}

static int fs_names_snapshot(const struct fs_command *c, struct err *err)
{
    int rc = fs_command_needs_cluster(c, err);
    return rc ? rc
              : gfs_snapshot(c->fs, fs_command_path(c, 0),
                             fs_command_path(c, 1), err);
}

int fs_run_snapshot(struct cli *cli, const struct args *args, struct err *err)
{
    return fs_command_run(cli, args, fs_names_snapshot, err);
}

static int fs_names_setrep(const struct fs_command *c, struct err *err)
{
    uint64_t copies = 0;
    int rc = text_parse_u64(slice_str(c->args->words[0]), &copies, err);
    if (rc || copies == 0 || copies > GFS_REPLICAS_MAX)
        return usage_error(c->args, err, "'%s' is no number from 1 to %d",
                           c->args->words[0], GFS_REPLICAS_MAX);
    rc = fs_command_needs_cluster(c, err);
    return rc ? rc
              : gfs_set_replication(c->fs, fs_command_path(c, 1),
                                    (uint32_t)copies, err);
}

int fs_run_setrep(struct cli *cli, const struct args *args, struct err *err)
{
    return fs_command_run(cli, args, fs_names_setrep, err);
}

static int print_quota(const struct fs_command *c,
                       const struct gfs_stat *g,
                       struct err *err)
{
    static const struct sheet_column columns[] = {{"entries", SHEET_NUMBER},
                                                  {"entry_quota", SHEET_NUMBER},
                                                  {"bytes", SHEET_BYTES},
                                                  {"byte_quota", SHEET_BYTES}};
    struct sheet s;
    (void)err;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    sheet_add_u64(&s, g->file_count);
    sheet_add_u64(&s, g->entry_quota);
    sheet_add_u64(&s, g->bytes);
    sheet_add_u64(&s, g->byte_quota);
    sheet_print(&s, c->cli->format);
    sheet_close(&s);
    return 0;
}

/* Values that are not given stay as they are; without any, both are printed. */
static int fs_names_quota(const struct fs_command *c, struct err *err)
{
    const char *bytes_text = args_value(c->args, "bytes");
    const char *path = fs_command_path(c, 0);
    uint64_t entries = 0;
    uint64_t bytes = 0;
    struct gfs_stat g;
    int rc = args_number(c->args, "entries", 0, UINT64_MAX, &entries, err);
    if (!rc && bytes_text &&
        text_parse_bytes(slice_str(bytes_text), &bytes, err))
        rc = usage_error(c->args, err, "--bytes: '%s' is no size", bytes_text);
    if (!rc)
        rc = fs_command_needs_cluster(c, err);
    if (!rc)
        rc = gfs_stat(c->fs, path, &g, err);
    if (rc)
        return rc;
    if (!bytes_text && !args_flag(c->args, "entries"))
        return print_quota(c, &g, err);
    return gfs_set_quota(
        c->fs, path, args_flag(c->args, "entries") ? entries : g.entry_quota,
        bytes_text ? bytes : g.byte_quota, err);
}

int fs_run_quota(struct cli *cli, const struct args *args, struct err *err)
{
    return fs_command_run(cli, args, fs_names_quota, err);
}
