/* quarry cluster adopt: tables of a store in a directory become tables of a
 * cluster. The library does the work (quarry_backup_adopt()); here are the two
 * stores, words and progress.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/crypt/master_key.h"
#include "bigtable/quarry.h"
#include "bigtable/quarry_backup.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/remote_call.h"

static const struct option adopt_options[] = {
    {"table", 0, "TABLE[=NEW]",
     "this one, under the name NEW; without, all but system\n"
     "tables"},
    {"drop", 0, NULL,
     "drop each table from the directory once the cluster\n"
     "has it: its space is free then"},
    {"jobs", 'j', "N", "files at once (4)"},
    {NULL, 0, NULL, NULL},
};

struct cluster_adopt {
    struct cli *cli;
    const struct args *args;
    const char *dir;
    const char *target; /* "file:DIR" */
    struct progress progress;
    struct quarry *from;
    struct quarry *into; /* Borrowed. */
    struct master_keys *keys;
    struct quarry_backups *files;
    struct quarry_backup_choice *choices; /* With texts of its own. */
    size_t choice_count;
};

static void show_adopted(void *ctx, const struct quarry_backup_counts *counts)
{
    struct cluster_adopt *a = ctx;
    progress_bytes(&a->progress, counts->done_bytes, counts->bytes, NULL);
}

static void show_left(void *ctx, const char *text)
{
    const struct cluster_adopt *a = ctx;
    cli_remark(a->cli, "%s", text);
}

/* --- which tables -------------------------------------------------------- */

static void
add_choice(struct cluster_adopt *a, const char *table, const char *as)
{
    a->choices =
        mem_realloc(a->choices, (a->choice_count + 1) * sizeof(*a->choices));
    a->choices[a->choice_count++] = (struct quarry_backup_choice){
        mem_strdup(table), as ? mem_strdup(as) : NULL};
}

static int choose_all(struct cluster_adopt *a, struct err *err)
{
    char **names = NULL;
    size_t count = 0;
    int rc = quarry_table_list(a->from, &names, &count, err);
    for (size_t i = 0; i < count; i++)
        add_choice(a, names[i], NULL);
    quarry_names_free(names, count);
    return rc;
}

/* Tables that an interrupted call dropped have a snapshot still. */
static int choose_dropped(struct cluster_adopt *a, struct err *err)
{
    static const char prefix[] = "adopt-";
    struct quarry_snapshots *s = NULL;
    int rc = quarry_snapshot_list(a->from, &s, err);
    for (size_t i = 0; rc == 0 && i < s->count; i++) {
        const char *name = s->list[i].name;
        bool known = strncmp(name, prefix, strlen(prefix)) != 0;
        for (size_t k = 0; k < a->choice_count && !known; k++)
            known = strcmp(a->choices[k].table, name + strlen(prefix)) == 0;
        if (!known)
            add_choice(a, name + strlen(prefix), NULL);
    }
    quarry_snapshots_free(s);
    return rc;
}

static int choose_named(struct cluster_adopt *a, struct err *err)
{
    size_t count = args_count(a->args, "table");
    for (size_t i = 0; i < count; i++) {
        const char *text = args_nth(a->args, "table", i);
        const char *equals = strchr(text, '=');
        char *table =
            mem_strndup(text, equals ? (size_t)(equals - text) : strlen(text));
        add_choice(a, table, equals ? equals + 1 : NULL);
        mem_free(table);
    }
    if (count > 0)
        return 0;
    return choose_all(a, err) ? err->code : choose_dropped(a, err);
}

/* --- the command --------------------------------------------------------- */

static int open_both(struct cluster_adopt *a, struct err *err)
{
    struct quarry_backup_options files = {.world = a->cli->world,
                                          .progress = show_adopted,
                                          .problem = show_left,
                                          .ctx = a};
    struct quarry_options o = {.world = a->cli->world, .must_exist = true};
    uint64_t jobs = 0;
    int rc = args_number(a->args, "jobs", 1, 64, &jobs, err);
    files.jobs = (unsigned)jobs;
    if (rc == 0)
        rc = cli_master_keys(a->cli, &o.master_keys, err);
    files.master_keys = o.master_keys;
    /* Another process that has it open writes to it. */
    if (rc == 0)
        rc = cli_open_waiting(a->cli, a->target, &o, &a->from, err);
    if (rc == 0)
        rc = cli_store(a->cli, CLI_EXISTING, &a->into, err);
    if (rc == 0)
        rc = quarry_backups_open(a->dir, &files, &a->files, err);
    return rc;
}

static int adopt_all(struct cluster_adopt *a, struct err *err)
{
    struct quarry_backup_counts n = {.tables = 0};
    struct buf bytes = BUF_INIT;
    int rc = choose_named(a, err);
    if (rc)
        return rc;
    progress_start(&a->progress, a->cli, "cluster adopt");
    rc = quarry_backup_adopt(a->files, a->from, a->into, a->choices,
                             a->choice_count, args_flag(a->args, "drop"), &n,
                             err);
    progress_end(&a->progress);
    if (rc == 0) {
        text_put_bytes(&bytes, n.bytes);
        printf("%zu tables are the cluster's: %" PRIu64 " files, %s%s\n",
               a->choice_count, n.files, buf_cstr(&bytes),
               args_flag(a->args, "drop") ? ", dropped from the directory"
                                          : "; the directory is as it was");
    }
    buf_close(&bytes);
    return rc;
}

static int run_adopt(struct cli *cli, const struct args *args, struct err *err)
{
    const char *dir = args->words[0];
    struct buf target = BUF_INIT;
    struct cluster_adopt a = {.cli = cli, .args = args};
    int rc;
    a.dir = strncmp(dir, "file:", 5) == 0 ? dir + 5 : dir;
    if (!remote_is_cluster(cli->target))
        return usage_error(args, err,
                           "which cluster? -t HOST:PORT,… or -t cluster:DIR");
    buf_printf(&target, "file:%s", a.dir);
    a.target = buf_cstr(&target);
    rc = open_both(&a, err);
    if (rc == 0)
        rc = adopt_all(&a, err);
    buf_close(&target);
    quarry_backups_close(a.files);
    quarry_close(a.from);
    for (size_t i = 0; i < a.choice_count; i++) {
        mem_free((char *)(uintptr_t)a.choices[i].table);
        mem_free((char *)(uintptr_t)a.choices[i].as);
    }
    mem_free(a.choices);
    return rc;
}

const struct command cluster_adopt_commands[] = {
    {.name = "cluster adopt",
     .arguments = "DIR",
     .summary = "Make tables of a directory's store tables of a cluster",
     .details =
         "Their files are read where they lie and become tables of the "
         "cluster; no row is\ntaken apart. Each table appears whole, and one "
         "that the cluster has is not\nchanged. A call that was interrupted is "
         "repeated, and continues. Nobody else may\nhave the directory open; "
         "if it is encrypted, --encryption-key is its master key.",
     .examples = "quarry cluster adopt ./quarry-data -t n1:7400 --drop",
     .words_min = 1,
     .words_max = 1,
     .options = {adopt_options, remote_options},
     .run = run_adopt},
    {.name = NULL},
};
