/* quarry quota show, set, remove: how much a table may hold and be asked for,
 * and how much a principal may ask for. */
#include "base/core/buf.h"
#include "base/core/slice.h"
#include "bigtable/quarry.h"
#include "bigtable/quarry_access.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/policy_printer.h"
#include "cli/remote_call.h"

static int quota_command_finish(struct cli *cli,
                                const char *table,
                                int code,
                                struct err *err)
{
    if (code == ERR_NOTFOUND)
        cli_hint_table(cli, table, err);
    return code;
}

/* --- principals ---------------------------------------------------------- */

static const struct option principal_option[] = {
    {"principal", 0, "NAME", "whose rate, instead of a table's quotas"},
    {.name = NULL},
};

static const struct option rate_options[] = {
    {"principal", 0, "NAME", "whose rate, instead of a table's quotas"},
    {"ops", 0, "N", "rows it reads and writes a second; 'none': any number"},
    {"bytes", 0, "SIZE", "bytes it reads and writes a second, likewise"},
    {.name = NULL},
};

/* The bound that the option @name gives, read as the quota @quota is; what is
 * not given stays. */
static int read_bound(const struct args *args,
                      const char *name,
                      const char *quota,
                      struct quarry_quota *q,
                      struct err *err)
{
    const char *value = args_value(args, name);
    struct buf word = BUF_INIT;
    int rc = ERR_OK;
    if (!value)
        return ERR_OK;
    buf_printf(&word, "%s=%s", quota, value);
    rc = quota_parse(buf_slice(&word), q, err);
    buf_close(&word);
    return rc ? usage_error(args, err, "--%s %s: a number a second, or none",
                            name, value)
              : ERR_OK;
}

static void
keep_rate(void *ctx, struct slice principal, uint64_t ops, uint64_t bytes)
{
    struct quarry_quota *q = ctx;
    (void)principal;
    q->reads_per_s = ops;
    q->bytes_per_s = bytes;
}

static int
read_bounds(const struct args *args, struct quarry_quota *q, struct err *err)
{
    int rc = read_bound(args, "ops", "reads", q, err);
    return rc ? rc : read_bound(args, "bytes", "bytes", q, err);
}

static int set_rate(struct cli *cli, const struct args *args, struct err *err)
{
    const char *principal = args_value(args, "principal");
    struct quarry_quota bounds = {.reads_per_s = 0};
    struct quarry *q;
    int rc;
    if (args->word_count)
        return usage_error(args, err, "a table or --principal, not both");
    if (!args_value(args, "ops") && !args_value(args, "bytes"))
        return usage_error(args, err, "--ops N, --bytes SIZE or both");
    rc = read_bounds(args, &bounds, err);
    if (!rc)
        rc = cli_store(cli, CLI_EXISTING, &q, err);
    if (!rc)
        rc = quarry_rates_get(q, principal, keep_rate, &bounds, err);
    if (!rc)
        rc = read_bounds(args, &bounds, err);
    if (!rc)
        rc = quarry_rate_set(q, principal, bounds.reads_per_s,
                             bounds.bytes_per_s, err);
    return rc;
}

static int run_remove(struct cli *cli, const struct args *args, struct err *err)
{
    const char *principal = args_value(args, "principal");
    struct quarry *q;
    int rc;
    if (!principal)
        return usage_error(args, err, "whose? --principal NAME");
    rc = cli_store(cli, CLI_EXISTING, &q, err);
    return rc ? rc : quarry_rate_set(q, principal, 0, 0, err);
}

static int show_rates(struct cli *cli, const struct args *args, struct err *err)
{
    struct quarry *q;
    int rc = cli_store(cli, CLI_READ, &q, err);
    if (!rc)
        rc = policy_print_rates(q, args_value(args, "principal"), cli->format,
                                err);
    return rc;
}

/* --- tables -------------------------------------------------------------- */

static int run_show(struct cli *cli, const struct args *args, struct err *err)
{
    const char *table = args->words[0];
    struct quarry *q;
    int rc;
    if (args->word_count == 0)
        return show_rates(cli, args, err);
    if (args_value(args, "principal"))
        return usage_error(args, err, "a table or --principal, not both");
    rc = cli_store(cli, CLI_READ, &q, err);
    if (!rc)
        rc = quota_command_finish(
            cli, table, policy_print_quotas(q, table, cli->format, err), err);
    return rc;
}

static int run_set(struct cli *cli, const struct args *args, struct err *err)
{
    const char *table = args->words[0];
    struct quarry_quota quota = {.stored_bytes = 0};
    struct quarry *q;
    int rc = ERR_OK;
    if (args_value(args, "principal"))
        return set_rate(cli, args, err);
    if (args_value(args, "ops") || args_value(args, "bytes"))
        return usage_error(args, err, "--ops and --bytes are of a --principal");
    if (args->word_count < 2)
        return usage_error(args, err, "TABLE NAME=VALUE…, or --principal NAME");
    /* Mistakes first, then what there is, and the changes over it. */
    for (size_t i = 1; i < args->word_count && !rc; i++)
        rc = quota_parse(slice_str(args->words[i]), &quota, err);
    if (rc)
        return usage_error(args, err, "%s", err ? err->text : "");
    rc = cli_store(cli, CLI_EXISTING, &q, err);
    if (!rc)
        rc = quarry_quota_get(q, table, &quota, NULL, err);
    for (size_t i = 1; i < args->word_count && !rc; i++)
        rc = quota_parse(slice_str(args->words[i]), &quota, err);
    if (!rc)
        rc = quarry_quota_set(q, table, &quota, err);
    return quota_command_finish(cli, table, rc, err);
}

const struct command quota_commands[] = {
    {.name = "quota show",
     .arguments = "[TABLE | --principal NAME]",
     .summary = "Show a table's quotas, or the rates of principals",
     .details =
         "Of a table also what it uses. Without one, what principals may\n"
         "ask for.",
     .examples = "quarry quota show webtable\n"
                 "quarry quota show\n"
                 "quarry quota show --principal crawler",
     .words_min = 0,
     .words_max = 1,
     .options = {principal_option, remote_options},
     .run = run_show},
    {.name = "quota set",
     .arguments = "TABLE NAME=VALUE… | --principal NAME --ops N --bytes SIZE",
     .summary = "Bound what a table holds, or what a principal asks for",
     .details =
         "stored=SIZE  bytes of its files, before replication\n"
         "memory=SIZE  bytes in memory: memtables, groups with memory=on\n"
         "reads=N      rows read a second\n"
         "writes=N     rows written a second\n"
         "bytes=SIZE   bytes read and written a second\n"
         "NAME=none takes a quota away. A table over a size takes nothing in\n"
         "until enough of it is deleted; one over a rate makes clients wait.\n"
         "\n"
         "A principal's rate is of all tables of the cluster together: rows\n"
         "and bytes that it reads and writes a second, through whatever way,\n"
         "jobs and the public API included.",
     .examples =
         "quarry quota set webtable stored=100GiB reads=5000\n"
         "quarry quota set webtable reads=none\n"
         "quarry quota set --principal crawler --ops 5000 --bytes 50MiB",
     .words_min = 0,
     .words_max = WORDS_ANY,
     .options = {rate_options, remote_options},
     .run = run_set},
    {.name = "quota remove",
     .arguments = "--principal NAME",
     .summary = "Let a principal ask for any number of rows",
     .examples = "quarry quota remove --principal crawler",
     .words_min = 0,
     .words_max = 0,
     .options = {principal_option, remote_options},
     .run = run_remove},
    {.name = NULL},
};
