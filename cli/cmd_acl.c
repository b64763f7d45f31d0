/* quarry acl show, grant, revoke, set, role: the rights to tables, which the
 * master keeps. With --path the first three are about files (acl_path.c); roles
 * are in acl_role.c.
 */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "bigtable/quarry_access.h"
#include "cli/acl_path.h"
#include "cli/acl_role.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/policy_printer.h"
#include "cli/remote_call.h"

static const struct option scope_options[] = {
    {"whole-cluster", 0, NULL,
     "the list of the cluster instead of a table's: rights\nto create tables, "
     "and to own everything"},
    {NULL, 0, NULL, NULL},
};

#define PATH_OPTION                                                            \
    {                                                                          \
        "path", 0, "PATH",                                                     \
            "a file, or a directory with all below it, instead of\na table: "  \
            "read or write"                                                    \
    }

static const struct option path_options[] = {
    PATH_OPTION,
    {NULL, 0, NULL, NULL},
};

/* The words of a command: a table, unless it is about the cluster, then @more.
 */
static int take_words(const struct args *args,
                      size_t more,
                      const char **table,
                      const char *const **rest,
                      struct err *err)
{
    bool all = args_flag(args, "whole-cluster");
    *table = "";
    *rest = args->words;
    if (args->word_count != more + (all ? 0 : 1))
        return usage_error(args, err, "expects %s", args->command->arguments);
    *table = all ? "" : args->words[0];
    *rest = args->words + (all ? 0 : 1);
    return ERR_OK;
}

static int acl_command_finish(struct cli *cli,
                              const char *table,
                              int code,
                              struct err *err)
{
    if (code == ERR_NOTFOUND && *table)
        cli_hint_table(cli, table, err);
    return code;
}

static int run_show(struct cli *cli, const struct args *args, struct err *err)
{
    const char *const *rest;
    const char *table;
    struct quarry *q;
    int rc;
    if (acl_is_path(args))
        return acl_path_show(cli, args, err);
    rc = take_words(args, 0, &table, &rest, err);
    if (!rc)
        rc = cli_store(cli, CLI_READ, &q, err);
    if (!rc)
        rc = acl_command_finish(
            cli, table, policy_print_rights(q, table, cli->format, err), err);
    return rc;
}

/* RIGHT PRINCIPALS, of --family or of all. */
static int acl_command_change(struct cli *cli,
                              const struct args *args,
                              int (*fn)(struct quarry *q,
                                        const char *table,
                                        const char *family,
                                        const char *right,
                                        const char *principals,
                                        struct err *err),
                              struct err *err)
{
    const char *family = args_value(args, "family");
    const char *const *rest;
    const char *table;
    struct quarry *q;
    int rc = take_words(args, 2, &table, &rest, err);
    if (!rc)
        rc = cli_store(cli, CLI_EXISTING, &q, err);
    if (!rc)
        rc = acl_command_finish(
            cli, table,
            fn(q, table, family ? family : "*", rest[0], rest[1], err), err);
    return rc;
}

static int run_grant(struct cli *cli, const struct args *args, struct err *err)
{
    if (acl_is_path(args))
        return acl_path_grant(cli, args, err);
    return acl_command_change(cli, args, quarry_acl_grant, err);
}

static int run_revoke(struct cli *cli, const struct args *args, struct err *err)
{
    if (acl_is_path(args))
        return acl_path_revoke(cli, args, err);
    return acl_command_change(cli, args, quarry_acl_revoke, err);
}

static int run_set(struct cli *cli, const struct args *args, struct err *err)
{
    bool open = args_flag(args, "open");
    const char *const *rest;
    const char *table;
    struct buf list = BUF_INIT;
    struct quarry *q;
    int rc = take_words(args, open ? 0 : 1, &table, &rest, err);
    if (!rc && !open)
        rc = cli_read_file(rest[0], &list, err);
    if (!rc && !open && memchr(list.data ? list.data : "x", 0, list.len))
        rc = usage_error(args, err, "%s is no list of rights", rest[0]);
    if (!rc)
        rc = cli_store(cli, CLI_EXISTING, &q, err);
    if (!rc)
        rc = acl_command_finish(
            cli, table,
            quarry_acl_set(q, table, open ? NULL : buf_cstr(&list), err), err);
    buf_close(&list);
    return rc;
}

static const struct option change_options[] = {
    {"family", 'f', "FAMILY", "to this family alone, not to all of the table"},
    PATH_OPTION,
    {NULL, 0, NULL, NULL},
};

static const struct option set_options[] = {
    {"open", 0, NULL, "no list any more: all who are let in may do everything"},
    {NULL, 0, NULL, NULL},
};

#define RIGHTS_TEXT                                                            \
    "RIGHT is read, write or own, which includes both and is needed to\n"      \
    "change the table and its rights; of the cluster create (tables) or\n"     \
    "own (everything). PRINCIPALS are the names that certificates or\n"        \
    "--principal give, with commas, role:NAME (quarry acl role), or * for\n"   \
    "everybody."

const struct command acl_commands[] = {
    {.name = "acl show",
     .arguments = "TABLE",
     .summary = "Show who may do what with a table",
     .details = "A table without a list of rights is open to all who are let "
                "into the\ncluster.",
     .examples = "quarry acl show webtable\nquarry acl show --whole-cluster\n"
                 "quarry acl show --path /logs",
     .words_max = 1,
     .options = {scope_options, path_options, remote_options},
     .run = run_show},
    {.name = "acl grant",
     .arguments = "TABLE RIGHT PRINCIPALS",
     .summary = "Give a right to a table, one of its families, or files",
     .details = RIGHTS_TEXT
     " The first right that is\ngiven to an open table closes it to all "
     "others, and its giver stays an owner.\nA right to a path is given by its "
     "owner, for what is his below it, or by an\nadministrator, for all below "
     "it; it comes on top of what modes allow (quarry fs\nchmod).",
     .examples =
         "quarry acl grant webtable read '*'\n"
         "quarry acl grant webtable write crawler,indexer --family anchor\n"
         "quarry acl grant --whole-cluster create crawler\n"
         "quarry acl grant --path /logs read reporter",
     .words_min = 2,
     .words_max = 3,
     .options = {change_options, scope_options, remote_options},
     .run = run_grant},
    {.name = "acl revoke",
     .arguments = "TABLE RIGHT PRINCIPALS",
     .summary = "Take a right away",
     .details = RIGHTS_TEXT " Tablet servers apply it as soon as\nthey "
                            "learn of it, mostly at once.",
     .examples = "quarry acl revoke webtable write indexer --family anchor",
     .words_min = 2,
     .words_max = 3,
     .options = {change_options, scope_options, remote_options},
     .run = run_revoke},
    {.name = "acl set",
     .arguments = "TABLE FILE",
     .summary = "Replace a table's list of rights by a file",
     .details = "As quarry acl show prints it: lines of a family or *, a "
                "right, and principals\nwith commas. FILE - is standard input.",
     .examples = "quarry acl set webtable rights.txt\n"
                 "quarry acl set webtable --open",
     .words_max = 2,
     .options = {set_options, scope_options, remote_options},
     .run = run_set},
    {.name = "acl role",
     .arguments = "create|add|remove|drop|show|list [ROLE [PRINCIPALS]]",
     .summary = "Make, change and show roles: named sets of principals",
     .details =
         "create ROLE PRINCIPALS makes one, add ROLE PRINCIPALS adds members, "
         "remove ROLE\nPRINCIPALS takes some out (the last one takes the role "
         "along), drop ROLE drops it,\nshow ROLE and list show members. "
         "A right that is given to role:ROLE is one of all\nits members, of "
         "tables and of files, from within a second. Administrators change\n"
         "roles.",
     .examples = "quarry acl role create crawlers ann,bob\n"
                 "quarry acl grant webtable write role:crawlers\n"
                 "quarry acl role remove crawlers bob",
     .words_min = 1,
     .words_max = 3,
     .options = {remote_options},
     .run = acl_role_run},
    {.name = NULL},
};
