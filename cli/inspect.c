/* quarry dump, check: files as they are on the disk. The first or the last
 * bytes tell the format, and dump_*.c print it; what has none of the known
 * marks is read as a record file. cmd_check.c has the check.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/crypt/keyring.h"
#include "base/runtime/world.h"
#include "cli/cli.h"
#include "cli/cmd_check.h"
#include "cli/command.h"
#include "cli/dump.h"
#include "cli/remote_call.h"
#include "gfs-lite/fs.h"

/* Enough to tell the kinds of files apart, at either end. */
#define EDGE_BYTES 64

/* --- dump ---------------------------------------------------------------- */

static const struct option dump_options_list[] = {
    {"entries", 'e', NULL, "what is in it, one by one, instead of a summary"},
    {"limit", 'n', "N", "of entries"},
    {NULL, 0, NULL, NULL},
};

struct edges {
    char head[EDGE_BYTES];
    char tail[EDGE_BYTES];
    size_t head_len;
    size_t tail_len;
};

static int
read_edges(struct cli *cli, const char *path, struct edges *e, struct err *err)
{
    struct file *f;
    uint64_t size;
    int rc = file_open(cli->world, path, FILE_READ, &f, err);
    if (rc)
        return rc;
    rc = file_size(f, &size, err);
    if (!rc)
        rc = file_read_at(f, 0, e->head, EDGE_BYTES, &e->head_len, err);
    if (!rc)
        rc = file_read_at(f, size > EDGE_BYTES ? size - EDGE_BYTES : 0, e->tail,
                          EDGE_BYTES, &e->tail_len, err);
    file_close(f);
    return rc;
}

/* Keys of the store that the file in @dir is of, if it is encrypted: beside it,
 * or up to two above. */
static int
take_keys(struct cli *cli, struct fs *fs, const char *dir, struct err *err)
{
    static const char *const names[] = {"KEYS", "../KEYS", "../../KEYS"};
    struct master_keys *masters;
    struct keyring *k = NULL;
    int rc = cli_master_keys(cli, &masters, err);
    for (size_t i = 0; i < ARRAY_LEN(names) && !rc && masters && !k; i++) {
        struct buf path = BUF_INIT;
        buf_printf(&path, "%s/%s", dir, names[i]);
        rc = keyring_open(cli->world,
                          keyring_world_place(cli->world, buf_cstr(&path)),
                          masters, false, &k, err);
        buf_close(&path);
    }
    fs_set_keyring(fs, k);
    keyring_unref(k);
    return rc;
}

static int dump_file(struct cli *cli,
                     struct fs *fs,
                     const char *dir,
                     const char *path,
                     const char *name,
                     const struct dump_options *opts,
                     struct err *err)
{
    struct edges e;
    struct slice head, tail;
    int rc = read_edges(cli, path, &e, err);
    if (rc)
        return rc;
    head = slice_make(e.head, e.head_len);
    tail = slice_make(e.tail, e.tail_len);
    if (is_keys_file(head))
        return dump_keys_file(cli, path, opts, err);
    rc = take_keys(cli, fs, dir, err);
    if (rc)
        return rc;
    if (is_manifest(head))
        return dump_manifest(cli, fs, name, opts, err);
    if (is_log_segment(head))
        return dump_log_segment(cli, fs, name, opts, err);
    if (is_replica_log(head))
        return dump_replica_log(cli, path, opts, err);
    if (is_replica_synced(head))
        return dump_replica_synced(cli, path, opts, err);
    if (is_replica_snapshot(head))
        return dump_replica_snapshot(cli, fs_keyring(fs), path, opts, err);
    if (is_chunk_file(head))
        return dump_chunk_file(cli, path, opts, err);
    if (is_search_manifest(head))
        return dump_search_manifest(cli, fs, name, err);
    if (is_search_segment(head))
        return dump_search_segment(cli, fs, name, opts, err);
    if (is_sstable_file(tail))
        return dump_sstable_file(cli, fs, name, opts, err);
    rc = dump_record_file(cli, path, opts, err);
    if (rc == ERR_CORRUPT)
        err_hint(err, "dump reads SSTables, manifests, logs, snapshots of "
                      "cells, KEYS, chunks and record files");
    return rc;
}

static int run_dump(struct cli *cli, const struct args *args, struct err *err)
{
    const char *path = args->words[0];
    const char *slash = strrchr(path, '/');
    struct dump_options opts = {.entries = args_flag(args, "entries"),
                                .limit = UINT64_MAX};
    struct file_info info;
    struct fs *fs;
    char *dir;
    int rc = args_number(args, "limit", 1, UINT64_MAX, &opts.limit, err);
    if (!rc)
        rc = world_stat(cli->world, path, &info, err);
    if (!rc && info.kind != FILE_KIND_REGULAR) {
        rc = err_set(err, ERR_INVALID, "%s is no file", path);
        err_hint(err, "for a store: quarry check %s", path);
    }
    if (rc)
        return rc;
    dir =
        slash ? mem_strndup(path, (size_t)(slash - path) + 1) : mem_strdup(".");
    rc = fs_local_open(cli->world, dir, &fs, err);
    if (!rc) {
        rc =
            dump_file(cli, fs, dir, path, slash ? slash + 1 : path, &opts, err);
        fs_close(fs);
    }
    mem_free(dir);
    return rc;
}

/* --- check --------------------------------------------------------------- */

static int run_check(struct cli *cli, const struct args *args, struct err *err)
{
    const char *dir = args->word_count ? args->words[0] : cli_directory(cli);
    if (args->word_count == 0 && remote_is_cluster(cli->target)) {
        usage_error(args, err, "the target %s is a cluster", cli->target);
        return ERR_USAGE;
    }
    if (strncmp(dir, "file:", 5) == 0)
        dir += 5;
    return check_store(cli, dir, err);
}

const struct command inspect_commands[] = {
    {.name = "dump",
     .arguments = "FILE",
     .summary = "Show what a file of a store or a job holds",
     .details =
         "SSTables, manifests, log segments, what says how long a "
         "log is (log/synced),\nsnapshots of cells and of namenodes, "
         "KEYS (without the keys in it), chunks,\nsegments and manifests of "
         "search indexes, record files: told by content.",
     .examples =
         "quarry dump quarry-data/tables/000012.sst --entries --limit 5",
     .words_min = 1,
     .words_max = 1,
     .options = {dump_options_list},
     .run = run_dump},
    {.name = "check",
     .arguments = "[DIR]",
     .summary = "Verify every byte of a store that is not in use",
     .details =
         "Reads all SSTables, those of snapshots too, and the commit log: "
         "checksums,\norder, counts. Changes nothing. Exit status 1 "
         "when something is damaged.",
     .examples = "quarry check quarry-data",
     .words_max = 1,
     .run = run_check},
    {.name = NULL},
};
