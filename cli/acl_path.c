/* Rights by path: calls of the namenode, which keeps them with the files, so
 * that they move and go with them.
 */
#include "cli/acl_path.h"

#include <stdio.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "cli/cli.h"
#include "cli/cmd_fs.h"
#include "cli/command.h"
#include "cli/table_printer.h"

bool acl_is_path(const struct args *args)
{
    return args_value(args, "path") != NULL;
}

static const char *path_of(const struct args *args)
{
    const char *path = args_value(args, "path");
    while (*path == '/')
        path++;
    return path;
}

static int check_words(const struct args *args, size_t count, struct err *err)
{
    if (args->word_count != count || args_flag(args, "whole-cluster") ||
        (count && args_value(args, "family")))
        return usage_error(args, err,
                           count ? "expects RIGHT PRINCIPALS with "
                                   "--path, and nothing else"
                                 : "expects no table with --path");
    return 0;
}

/* --- showing ------------------------------------------------------------- */

static const char *right_name(uint32_t rights)
{
    static const char *const names[] = {"", "read", "write", "read,write"};
    return names[rights & (GFS_GRANT_READ | GFS_GRANT_WRITE)];
}

static int acl_path_show_cluster(const struct fs_command *c, struct err *err)
{
    static const struct sheet_column columns[] = {{"path", SHEET_TEXT},
                                                  {"right", SHEET_TEXT},
                                                  {"principal", SHEET_TEXT},
                                                  {"to", SHEET_TEXT}};
    struct gfs_path_grants g;
    struct sheet s;
    struct arena a;
    int rc = fs_command_needs_cluster(c, err);
    if (rc)
        return rc;
    arena_init(&a);
    rc = gfs_get_grants(c->fs, path_of(c->args), &a, &g, err);
    if (rc == 0) {
        sheet_init(&s, columns, ARRAY_LEN(columns));
        for (size_t i = 0; i < g.count; i++) {
            sheet_addf(&s, "/%.*s", SLICE_ARG(g.grants[i].path));
            sheet_add_str(&s, right_name(g.grants[i].rights));
            sheet_add(&s, g.grants[i].principal);
            sheet_add_str(&s, g.grants[i].by_owner ? "its owner's files"
                                                   : "all files");
        }
        sheet_print(&s, c->cli->format);
        sheet_close(&s);
    }
    arena_close(&a);
    return rc;
}

int acl_path_show(struct cli *cli, const struct args *args, struct err *err)
{
    int rc = check_words(args, 0, err);
    return rc ? rc : fs_command_run(cli, args, acl_path_show_cluster, err);
}

/* --- changing ------------------------------------------------------------ */

static int
parse_right(const struct args *args, uint32_t *right, struct err *err)
{
    const char *word = args->words[0];
    *right = strcmp(word, "read") == 0    ? GFS_GRANT_READ
             : strcmp(word, "write") == 0 ? GFS_GRANT_WRITE
                                          : 0;
    if (*right)
        return 0;
    return usage_error(args, err,
                       "the right %.40s: to a path it is read or "
                       "write",
                       word);
}

static int
acl_path_change(const struct fs_command *c, bool take, struct err *err)
{
    struct slice names = slice_str(c->args->words[1]);
    uint32_t right;
    int rc = parse_right(c->args, &right, err);
    if (rc == 0)
        rc = fs_command_needs_cluster(c, err);
    while (rc == 0 && names.len > 0) {
        size_t end = slice_find_byte(names, ',');
        rc = gfs_grant(c->fs, path_of(c->args), slice_sub(names, 0, end), right,
                       take, err);
        names = slice_sub(names, end + 1, names.len);
    }
    return rc;
}

static int acl_path_grant_one(const struct fs_command *c, struct err *err)
{
    return acl_path_change(c, false, err);
}

static int acl_path_revoke_one(const struct fs_command *c, struct err *err)
{
    return acl_path_change(c, true, err);
}

int acl_path_grant(struct cli *cli, const struct args *args, struct err *err)
{
    int rc = check_words(args, 2, err);
    return rc ? rc : fs_command_run(cli, args, acl_path_grant_one, err);
}

int acl_path_revoke(struct cli *cli, const struct args *args, struct err *err)
{
    int rc = check_words(args, 2, err);
    return rc ? rc : fs_command_run(cli, args, acl_path_revoke_one, err);
}
