/* quarry debug: what a server process tells about itself, and a bundle of all
 * that a report of a bug needs. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/rpc/remote.h"
#include "base/runtime/world.h"
#include "cli/bundle/archive.h"
#include "cli/bundle/bundle.h"
#include "cli/bundle/node_texts.h"
#include "cli/bundle/scrub.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/output_file.h"
#include "cli/remote_call.h"

#define CLUSTER_SCHEME "cluster:"
#define PREFIX         "debug "

/* --- texts of nodes ------------------------------------------------------ */

/* All nodes of the target are asked, also after one has failed; the first
 * failure is reported. */
static int text_on_fiber(struct remote *r, struct err *err)
{
    const char *name = r->args->command->name + strlen(PREFIX);
    int first = 0;
    PRE(r->address_count <= REMOTE_ADDRESSES_MAX);
    for (size_t i = 0; i < r->address_count; i++) {
        struct rpc_channel *c = node_text_channel(r->addresses[i], r->security);
        struct buf text = BUF_INIT;
        struct err why = ERR_INIT;
        int rc = node_text_ask(c, name, &text, &why);
        if (rc && !first) {
            err_wrap(&why, "node %s", r->addresses[i]);
            first = err_copy(err, &why);
        }
        if (rc == 0 && r->address_count > 1)
            printf("== %s\n", r->addresses[i]);
        if (rc == 0)
            fputs(buf_cstr(&text), stdout);
        buf_close(&text);
        rpc_channel_free(c);
    }
    return first;
}

static int run_text(struct cli *cli, const struct args *args, struct err *err)
{
    return remote_run(cli, args, text_on_fiber, NULL, err);
}

/* --- the bundle ---------------------------------------------------------- */

/* "quarry-bundle-20260131T090000Z.tar.gz" */
static void default_name(struct world *w, char *out, size_t size)
{
    time_t now = (time_t)(world_now_us(w) / 1000000);
    struct tm t;
    PRE(gmtime_r(&now, &t));
    (void)strftime(out, size, "quarry-bundle-%Y%m%dT%H%M%SZ.tar.gz", &t);
}

static int cluster_on_fiber(struct remote *r, struct err *err)
{
    (void)err;
    bundle_add_cluster(r->ctx, r);
    return 0;
}

static void fill_cluster(struct bundle *b, const struct args *args)
{
    const char *target = b->cli->target;
    struct err why = ERR_INIT;
    if (strncmp(target, CLUSTER_SCHEME, strlen(CLUSTER_SCHEME)) == 0)
        bundle_add_cluster_files(b, target + strlen(CLUSTER_SCHEME));
    if (remote_run(b->cli, args, cluster_on_fiber, b, &why))
        bundle_miss(b, "documents and nodes", &why);
}

/* The files with which this command proves itself. */
static void learn_own_secrets(struct bundle *b)
{
    const struct cli *cli = b->cli;
    const char *const files[] = {cli->key, cli->certificate_key,
                                 cli->encryption_key, cli->previous_key};
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        if (files[i])
            scrub_add_secret_file(b->scrub, files[i]);
}

/* The last entry: what is in the others, and what could not be had. */
static void add_list(struct bundle *b)
{
    struct buf text = BUF_INIT;
    buf_printf(&text, "A bundle of quarry %s, packed at ", QUARRY_VERSION);
    text_put_time(&text, (int64_t)world_now_us(b->cli->world));
    buf_printf(&text, "\nTarget: %s\n\n", b->cli->target);
    buf_append_str(&text,
                   "Not in it: contents of key files, tokens and private keys, "
                   "values of cells,\ncontents of files and of locks, output "
                   "of jobs, the environment.\n");
    buf_printf(&text,
               "Replaced by \"(left out)\", since they look like "
               "secrets: %zu texts.\n",
               scrub_count(b->scrub));
    buf_append_str(
        &text,
        b->hash_keys
            ? "Row keys are replaced by hashes (--no-keys).\n"
            : "Row keys are in it, as bounds of tablets and of their files and "
              "in messages;\n--no-keys replaces them by hashes.\n");
    buf_append_str(&text, "Names of tables, families, files, nodes, jobs and "
                          "principals are in it.\n\n    bytes  entry\n");
    buf_append_slice(&text, buf_slice(&b->list));
    buf_append_str(&text, "\nNot to be had:\n");
    buf_append_slice(&text, b->missed_count ? buf_slice(&b->missed)
                                            : SLICE_LIT("nothing\n"));
    b->is_ending = true;
    bundle_add(b, "MANIFEST", buf_slice(&text));
    buf_close(&text);
}

/* One line, and one for each part that is not there. */
static void debug_tell(struct bundle *b, const char *path)
{
    FILE *to = path ? stdout : stderr;
    struct buf size = BUF_INIT;
    text_put_bytes(&size, b->bytes);
    if (b->missed_count)
        fprintf(stderr, "%s", buf_cstr(&b->missed));
    fprintf(to, "packed %zu entries (%s) into %s; ", b->entry_count,
            buf_cstr(&size), path ? path : "standard output");
    if (b->missed_count)
        fprintf(to, "%zu part%s could not be had\n", b->missed_count,
                b->missed_count == 1 ? "" : "s");
    else
        fprintf(to, "nothing is missing\n");
    buf_close(&size);
}

static void debug_fill(struct bundle *b, const struct args *args)
{
    learn_own_secrets(b);
    bundle_add_machine(b);
    if (remote_is_cluster(b->cli->target))
        fill_cluster(b, args);
    else
        bundle_add_store(b, cli_directory(b->cli));
    progress_end(&b->progress);
    add_list(b);
}

static int
write_bundle(struct bundle *b, const struct args *args, struct err *err)
{
    char name[64];
    const char *path = args_value(args, "output");
    struct output_file f;
    int rc;
    default_name(b->cli->world, name, sizeof(name));
    if (!path)
        path = name;
    if (strcmp(path, "-") == 0)
        path = NULL;
    rc = output_file_open(&f, path, err);
    if (rc)
        return rc;
    /* It tells much about a cluster. */
    if (path && f.partial.len)
        (void)fchmod(fileno(f.out), 0600);
    rc = archive_open(f.out, world_now_us(b->cli->world), &b->archive, err);
    if (rc == 0) {
        debug_fill(b, args);
        rc = b->code ? err_copy(err, &b->err) : 0;
    }
    rc = archive_close(b->archive, rc, err);
    rc = output_file_close(&f, rc, err);
    if (rc == 0)
        debug_tell(b, path);
    return rc;
}

/* A misspelt directory is an error, not a bundle about nothing. */
static int check_target(const struct cli *cli, struct err *err)
{
    struct file_info info;
    if (remote_is_cluster(cli->target))
        return 0;
    return world_stat(cli->world, cli_directory(cli), &info, err);
}

static int run_bundle(struct cli *cli, const struct args *args, struct err *err)
{
    struct bundle b = {.cli = cli, .hash_keys = args_flag(args, "no-keys")};
    int rc = check_target(cli, err);
    if (rc == 0)
        rc = scrub_new(cli->world, b.hash_keys, &b.scrub, err);
    if (rc)
        return rc;
    progress_start(&b.progress, cli, "bundle");
    rc = write_bundle(&b, args, err);
    scrub_free(b.scrub);
    buf_close(&b.list);
    buf_close(&b.missed);
    return rc;
}

/* --- commands ------------------------------------------------------------ */

static const struct option bundle_options[] = {
    {"output", 'o', "FILE",
     "the archive (quarry-bundle-TIME.tar.gz); -: standard\noutput"},
    {"no-keys", 0, NULL, "replace row keys by hashes"},
    {NULL, 0, NULL, NULL},
};

#define TEXT_DETAILS "Each node that the target names is asked."

const struct command debug_commands[] = {
    {.name = "debug bundle",
     .arguments = "",
     .summary = "Pack all that a report of a bug needs into one archive",
     .details =
         "Of a cluster: its documents (see monitor), of each node its "
         "status, metrics,\nfibers, connections, slow calls and the last MiB "
         "of its log, and settings with\ntheir origins. Of a directory: "
         "manifest, files, tables and how much they hold.\nOf this machine: "
         "kernel, limits, memory. Parts that cannot be had are named.\n\n"
         "Keys, tokens, private keys, values of cells and contents of files "
         "are not in it;\nrow keys are, unless --no-keys. MANIFEST in the "
         "archive lists what is.",
     .examples =
         "quarry debug bundle -t cluster:./quarry-cluster -o bug.tar.gz\n"
         "quarry debug bundle --no-keys -t a:7400,b:7400 --key key\n"
         "quarry debug bundle -t file:./quarry-data -o - | tar tz",
     .options = {bundle_options, remote_options},
     .run = run_bundle},
    {.name = "debug status",
     .arguments = "",
     .summary = "Print how servers say that they are",
     .details = TEXT_DETAILS,
     .examples = "quarry debug status -t a:7400 --key key",
     .options = {remote_options},
     .run = run_text},
    {.name = "debug metrics",
     .arguments = "",
     .summary = "Print all metrics of servers",
     .details = TEXT_DETAILS,
     .examples = "quarry debug metrics -t a:7400 --key key",
     .options = {remote_options},
     .run = run_text},
    {.name = "debug fibers",
     .arguments = "",
     .summary = "List what runs in servers, and what it waits for",
     .details = TEXT_DETAILS,
     .examples = "quarry debug fibers -t a:7400 --key key",
     .options = {remote_options},
     .run = run_text},
    {.name = "debug peers",
     .arguments = "",
     .summary = "List the connections of servers",
     .details = TEXT_DETAILS,
     .examples = "quarry debug peers -t a:7400 --key key",
     .options = {remote_options},
     .run = run_text},
    {.name = "debug calls",
     .arguments = "",
     .summary = "List the spans of calls that servers keep",
     .details = TEXT_DETAILS,
     .examples = "quarry debug calls -t a:7400 --key key",
     .options = {remote_options},
     .run = run_text},
    {.name = "debug log",
     .arguments = "",
     .summary = "Print the last lines of the logs of servers",
     .details = TEXT_DETAILS,
     .examples = "quarry debug log -t a:7400 --key key",
     .options = {remote_options},
     .run = run_text},
    {.name = NULL},
};
