/* quarry fs …: the file system from the command line, with the verbs that users
 * of `hdfs dfs` know. This file has the table of commands and opens the file
 * system they run on.
 */
#include "cli/cmd_fs.h"

#include <string.h>

#include "base/core/buf.h"
#include "cli/remote_fs.h"
#include "gfs-lite/objects.h"

/* --- targets ------------------------------------------------------------- */

struct fs_visit {
    fs_command_fn fn;
};

static int on_cluster(struct remote *r, struct err *err)
{
    const struct fs_visit *v = r->ctx;
    struct fs_command c = {.cli = r->cli, .args = r->args, .root = "/"};
    struct gfs_options o = {.security = r->security, .name = "quarry fs"};
    struct buf all = BUF_INIT;
    int rc = remote_timeout(UINT64_C(30000000), &o.timeout_us, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < r->address_count; i++)
        buf_printf(&all, "%s%s", i ? "," : "", r->addresses[i]);
    o.namenodes = buf_cstr(&all);
    rc = fs_gfs_open(r->world, &o, &c.fs, err);
    if (!rc) {
        rc = v->fn(&c, err);
        fs_close(c.fs);
    }
    if (rc)
        remote_unreached(r, err);
    buf_close(&all);
    return rc;
}

static int on_directory(struct cli *cli,
                        const struct args *args,
                        fs_command_fn fn,
                        struct err *err)
{
    struct fs_command c = {.cli = cli, .args = args, .root = "/"};
    int rc = fs_local_open(cli->world, cli_directory(cli), &c.fs, err);
    if (!rc) {
        rc = fn(&c, err);
        fs_close(c.fs);
    }
    return rc;
}

/* Words [*@begin, *@end) are no paths of the target: of put all but the last,
 * of get the last of several, of some what is to be set. */
static void local_words(const struct args *args, size_t *begin, size_t *end)
{
    static const char *const setters[] = {"fs chmod", "fs chown", "fs setrep"};
    size_t count = args->word_count;
    *begin = *end = count;
    for (size_t i = 0; i < ARRAY_LEN(setters); i++)
        if (strcmp(args->command->name, setters[i]) == 0) {
            *begin = 0;
            *end = 1;
        }
    if (strcmp(args->command->name, "fs put") == 0) {
        *begin = 0;
        *end = count - 1;
    } else if (strcmp(args->command->name, "fs get") == 0 && count > 1) {
        *begin = count - 1;
    }
}

/* The first path that names a remote file system, or NULL; *@one: so do all
 * others, and the same one. */
static const char *remote_word(const struct args *args, bool *one)
{
    const char *first = NULL;
    size_t begin;
    size_t end;
    local_words(args, &begin, &end);
    for (size_t i = 0; i < args->word_count && !first; i++)
        if ((i < begin || i >= end) && fs_name_is_remote(args->words[i]))
            first = args->words[i];
    *one = true;
    for (size_t i = 0; i < args->word_count && first; i++)
        if (i < begin || i >= end)
            *one &= fs_name_is_remote(args->words[i]) &&
                    fs_remote_is_same(first, args->words[i]);
    return first;
}

static int on_remote(struct cli *cli,
                     const struct args *args,
                     const char *word,
                     fs_command_fn fn,
                     struct err *err)
{
    struct fs_command c = {.cli = cli, .args = args};
    struct buf root = BUF_INIT;
    int rc = remote_fs_open(cli->world, word, &c.fs, &root, err);
    if (rc)
        return rc;
    c.root = buf_cstr(&root);
    rc = fn(&c, err);
    remote_fs_close(cli, c.fs, c.root);
    buf_close(&root);
    return rc;
}

int fs_command_run(struct cli *cli,
                   const struct args *args,
                   fs_command_fn fn,
                   struct err *err)
{
    struct fs_visit v = {fn};
    bool one;
    const char *remote = remote_word(args, &one);
    if (remote && !one)
        return usage_error(
            args, err,
            "%s and other words are of different file systems: "
            "copy by way of this machine, with fs get and fs put",
            remote);
    if (remote)
        return on_remote(cli, args, remote, fn, err);
    if (strncmp(cli->target, "file:", 5) == 0 || !strchr(cli->target, ':'))
        return on_directory(cli, args, fn, err);
    return remote_run(cli, args, on_cluster, &v, err);
}

const char *fs_command_path(const struct fs_command *c, size_t index)
{
    const char *path = index < c->args->word_count ? c->args->words[index] : "";
    if (fs_name_is_remote(path))
        path = fs_remote_path(path);
    while (*path == '/')
        path++;
    return path;
}

int fs_command_needs_cluster(const struct fs_command *c, struct err *err)
{
    if (fs_is_gfs(c->fs))
        return 0;
    if (strcmp(c->root, "/") != 0)
        return err_set(err, ERR_UNSUPPORTED, "%s: %s is not a cluster's",
                       c->args->command->name, c->root);
    err_set(err, ERR_UNSUPPORTED, "%s: the target %s is a directory",
            c->args->command->name, c->cli->target);
    err_hint(err, "a cluster is -t HOST:PORT,… or -t cluster:DIR");
    return ERR_UNSUPPORTED;
}

#define REMOTE_DETAILS                                                         \
    "A path may also be s3://BUCKET/KEY, as AWS's tools would reach it "       \
    "(AWS_PROFILE,\nAWS_ENDPOINT_URL and the like), hdfs://HOST:PORT/PATH, "   \
    "rados://POOL/PATH\nor, to be read, http(s)://HOST/PATH."
#define PATTERN_DETAILS                                                        \
    "A PATH of the target with *, ? or [ in it names all that match, which "   \
    "the\nshell must be kept from reading: '/logs/*'. A backslash takes the "  \
    "meaning from\nthe next character."

/* --- commands ------------------------------------------------------------ */

static const struct option ls_options[] = {
    {"recursive", 'R', NULL, "all below, too"},
    {"long", 'l', NULL, "with modes and owners (a cluster's files)"},
    {NULL, 0, NULL, NULL},
};

static const struct option rights_options[] = {
    {"recursive", 'R', NULL, "directories with all that is below them"},
    {NULL, 0, NULL, NULL},
};

static const struct option copy_options[] = {
    {"recursive", 'R', NULL, "directories with all that is in them"},
    {"force", 'f', NULL, "replace what is there"},
    {NULL, 0, NULL, NULL},
};

static const struct option put_options[] = {
    {"append", 'a', NULL, "append to what is there (a cluster's files)"},
    {NULL, 0, NULL, NULL},
};

static const struct option rm_options[] = {
    {"recursive", 'R', NULL, "directories with all that is in them; also -r"},
    {"recursive", 'r', NULL, NULL},
    {"skip-trash", 0, NULL, "for good, not into the trash"},
    {NULL, 0, NULL, NULL},
};

static const struct option tail_options[] = {
    {"bytes", 'c', "N", "this many from the end (1024)"},
    {NULL, 0, NULL, NULL},
};

static const struct option quota_options[] = {
    {"entries", 0, "N", "files and directories at most; 0: no bound"},
    {"bytes", 0, "SIZE", "bytes at most, copies not counted; 0: no bound"},
    {NULL, 0, NULL, NULL},
};

static const struct option leave_options[] = {
    {"back", 0, NULL, "it stays after all"},
    {"gone", 0, NULL, "it will not be back"},
    {NULL, 0, NULL, NULL},
};

const struct command fs_commands[] = {
    {.name = "fs ls",
     .arguments = "[PATH…]",
     .summary = "List directories",
     .details = PATTERN_DETAILS
     "\n\n" REMOTE_DETAILS
     "\n\n-l shows modes: d for a directory, then what the owner and what all "
     "others may,\nand t for a sticky directory, from which each removes his "
     "own.",
     .examples = "quarry fs ls -R /logs -t cluster:c\n"
                 "quarry fs ls -l '/logs/2024-*/part-?'\n"
                 "quarry fs ls s3://crawl/2024/",
     .words_max = WORDS_ANY,
     .options = {ls_options, remote_options},
     .run = fs_run_ls},
    {.name = "fs cat",
     .arguments = "PATH…",
     .summary = "Write files to standard output",
     .details = PATTERN_DETAILS "\n\n" REMOTE_DETAILS,
     .examples = "quarry fs cat /logs/today | head",
     .words_min = 1,
     .words_max = WORDS_ANY,
     .options = {remote_options},
     .run = fs_run_cat},
    {.name = "fs put",
     .arguments = "LOCAL… PATH",
     .summary = "Copy files of this machine (- is standard input)",
     .details = REMOTE_DETAILS,
     .examples = "quarry fs put access.log /logs/\n"
                 "quarry fs put -R site /backup",
     .words_min = 2,
     .words_max = WORDS_ANY,
     .options = {copy_options, put_options, remote_options},
     .run = fs_run_put},
    {.name = "fs get",
     .arguments = "PATH… [LOCAL]",
     .summary = "Copy files to this machine (- is standard output)",
     .details = "Without LOCAL, into the working directory.\n\n" PATTERN_DETAILS
                "\n\n" REMOTE_DETAILS,
     .examples = "quarry fs get /logs/today .\n"
                 "quarry fs get '/logs/2024-*' here",
     .words_min = 1,
     .words_max = WORDS_ANY,
     .options = {copy_options, remote_options},
     .run = fs_run_get},
    {.name = "fs rm",
     .arguments = "PATH…",
     .summary = "Remove files; a cluster keeps them in its trash for a while",
     .details = PATTERN_DETAILS,
     .examples = "quarry fs rm -r /logs/2024",
     .words_min = 1,
     .words_max = WORDS_ANY,
     .options = {rm_options, remote_options},
     .run = fs_run_rm},
    {.name = "fs cp",
     .arguments = "FROM… TO",
     .summary = "Copy files of the target within it",
     .details = "The bytes travel through this machine; fs snapshot copies at "
                "once, and shares\nthem.\n\n" PATTERN_DETAILS,
     .examples = "quarry fs cp -R /logs /logs-to-keep",
     .words_min = 2,
     .words_max = WORDS_ANY,
     .options = {copy_options, remote_options},
     .run = fs_run_cp},
    {.name = "fs mv",
     .arguments = "FROM… TO",
     .summary = "Rename a file or directory, or move several",
     .details = PATTERN_DETAILS,
     .examples = "quarry fs mv /logs/today /logs/yesterday",
     .words_min = 2,
     .words_max = WORDS_ANY,
     .options = {remote_options},
     .run = fs_run_mv},
    {.name = "fs mkdir",
     .arguments = "PATH…",
     .summary = "Make directories, with what is missing above them",
     .examples = "quarry fs mkdir /logs/2025",
     .words_min = 1,
     .words_max = WORDS_ANY,
     .options = {remote_options},
     .run = fs_run_mkdir},
    {.name = "fs stat",
     .arguments = "PATH",
     .summary = "Tell all about a file: its chunks and where they are",
     .examples = "quarry fs stat /logs/today",
     .words_min = 1,
     .words_max = 1,
     .options = {remote_options},
     .run = fs_run_stat},
    {.name = "fs du",
     .arguments = "[PATH…]",
     .summary = "Bytes and files below each entry of a directory",
     .details = PATTERN_DETAILS,
     .examples = "quarry fs du /logs",
     .words_max = WORDS_ANY,
     .options = {remote_options},
     .run = fs_run_du},
    {.name = "fs tail",
     .arguments = "PATH",
     .summary = "Write the end of a file to standard output",
     .examples = "quarry fs tail -c 200 /logs/today",
     .words_min = 1,
     .words_max = 1,
     .options = {tail_options, remote_options},
     .run = fs_run_tail},
    {.name = "fs snapshot",
     .arguments = "FROM TO",
     .summary = "Copy a file or tree at once, sharing its chunks",
     .examples = "quarry fs snapshot /logs /logs-before",
     .words_min = 2,
     .words_max = 2,
     .options = {remote_options},
     .run = fs_run_snapshot},
    {.name = "fs chmod",
     .arguments = "MODE PATH…",
     .summary = "Set what owner and others may do with files",
     .details =
         "MODE is octal, 750: a digit for the owner, one for all others (the "
         "one between\nthem must be the last one: there are no groups, roles "
         "are given rights by quarry\nacl grant --path); or changes: "
         "u+w,o-rwx,a=r, with u the owner, o all others, a\nboth, and +t "
         "for a directory from which each removes his own. Of a directory "
         "r\nlists it, w makes and removes names in it, x passes through. "
         "The owner may,\nand administrators.",
     .examples = "quarry fs chmod 700 /users/ann\n"
                 "quarry fs chmod -R o-w /shared",
     .words_min = 2,
     .words_max = WORDS_ANY,
     .options = {rights_options, remote_options},
     .run = fs_run_chmod},
    {.name = "fs chown",
     .arguments = "OWNER PATH…",
     .summary = "Give files to another owner",
     .details =
         "Rights that the old owner has given are removed. The owner may,\n"
         "and administrators.",
     .examples = "quarry fs chown -R bob /users/ann/old",
     .words_min = 2,
     .words_max = WORDS_ANY,
     .options = {rights_options, remote_options},
     .run = fs_run_chown},
    {.name = "fs setrep",
     .arguments = "COPIES PATH",
     .summary = "Set how many copies there are of a file, or all below",
     .examples = "quarry fs setrep 2 /scratch",
     .words_min = 2,
     .words_max = 2,
     .options = {remote_options},
     .run = fs_run_setrep},
    {.name = "fs quota",
     .arguments = "PATH",
     .summary = "Bound what may be below a directory, or show the bounds",
     .details = "A bound that is not given stays as it is; without any, both "
                "are shown, with what\nis used of them.",
     .examples = "quarry fs quota --bytes 10GiB /users/ann",
     .words_min = 1,
     .words_max = 1,
     .options = {quota_options, remote_options},
     .run = fs_run_quota},
    {.name = "fs df",
     .arguments = "",
     .summary = "Show the chunk servers, their disks, and how all is",
     .examples = "quarry fs df",
     .words_max = 0,
     .options = {remote_options},
     .run = fs_run_df},
    {.name = "fs fsck",
     .arguments = "[PATH]",
     .summary = "List files with too few copies; fails if any byte is lost",
     .details =
         "Exit status 1 if a chunk has no copy at all. Chunks with\nfewer "
         "copies than they should have are copied automatically.",
     .examples = "quarry fs fsck /",
     .words_max = 1,
     .options = {remote_options},
     .run = fs_run_fsck},
    {.name = "fs leave",
     .arguments = "ADDRESS",
     .summary = "Take a chunk server out of service: its chunks go elsewhere",
     .examples = "quarry fs leave 127.0.0.1:7103",
     .words_min = 1,
     .words_max = 1,
     .options = {leave_options, remote_options},
     .run = fs_run_leave},
    {.name = NULL},
};
