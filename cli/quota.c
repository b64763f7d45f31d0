/* quarry quota show, set: how much a table may hold and be asked for. */
#include "base/core/slice.h"
#include "bigtable/client/quarry.h"
#include "bigtable/client/quarry_access.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/policy_printer.h"
#include "cli/remote.h"

static int finish(struct cli *cli, const char *table, int code, struct err *err)
{
    if (code == ERR_NOTFOUND)
        cli_hint_table(cli, table, err);
    return code;
}

static int run_show(struct cli *cli, const struct args *args, struct err *err)
{
    const char *table = args->words[0];
    struct quarry *q;
    int r = cli_store(cli, CLI_READ, &q, err);
    if (!r)
        r = finish(cli, table, policy_print_quotas(q, table, cli->format, err),
                   err);
    return r;
}

static int run_set(struct cli *cli, const struct args *args, struct err *err)
{
    const char *table = args->words[0];
    struct quarry_quota quota = {.stored_bytes = 0};
    struct quarry *q;
    int r = ERR_OK;
    /* Mistakes first, then what there is, and the changes over it. */
    for (size_t i = 1; i < args->word_count && !r; i++)
        r = quota_parse(slice_str(args->words[i]), &quota, err);
    if (r)
        return usage_error(args, err, "%s", err ? err->text : "");
    r = cli_store(cli, CLI_EXISTING, &q, err);
    if (!r)
        r = quarry_quota_get(q, table, &quota, NULL, err);
    for (size_t i = 1; i < args->word_count && !r; i++)
        r = quota_parse(slice_str(args->words[i]), &quota, err);
    if (!r)
        r = quarry_quota_set(q, table, &quota, err);
    return finish(cli, table, r, err);
}

const struct command quota_commands[] = {
    {.name = "quota show",
     .arguments = "TABLE",
     .summary = "Show a table's quotas, and what it uses of them",
     .examples = "quarry quota show webtable",
     .words_min = 1,
     .words_max = 1,
     .options = {remote_options},
     .run = run_show},
    {.name = "quota set",
     .arguments = "TABLE NAME=VALUE…",
     .summary = "Bound what a table holds, and is asked for",
     .details =
         "stored=SIZE  bytes of its files, before replication\n"
         "memory=SIZE  bytes in memory: memtables, groups with memory=on\n"
         "reads=N      rows read a second\n"
         "writes=N     rows written a second\n"
         "bytes=SIZE   bytes read and written a second\n"
         "NAME=none takes a quota away. A table over a size takes nothing in\n"
         "until enough of it is deleted; one over a rate makes clients wait.",
     .examples = "quarry quota set webtable stored=100GiB reads=5000\n"
                 "quarry quota set webtable reads=none",
     .words_min = 2,
     .words_max = WORDS_ANY,
     .options = {remote_options},
     .run = run_set},
    {.name = NULL},
};
