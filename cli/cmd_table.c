/* quarry table …: making, changing, describing and maintaining tables. The
 * library does it for a directory and for a cluster; moving tablets, rights and
 * quotas are for clusters. `table tablets` is in table_tablets.c.
 */
#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "bigtable/gateway/protection.h"
#include "bigtable/quarry.h"
#include "bigtable/quarry_access.h"
#include "bigtable/quarry_txn.h"
#include "cli/cli.h"
#include "cli/cluster_orders.h"
#include "cli/command.h"
#include "cli/policy_printer.h"
#include "cli/remote_call.h"
#include "cli/table_info_printer.h"
#include "cli/table_printer.h"
#include "cli/table_tablets.h"
#include "cli/text_form.h"

/* "NAME,key=value,…" cut behind the name. */
struct spec {
    char *name;          /* Owned. */
    const char *options; /* Borrowed from argv; "" for none. */
};

static void spec_parse(const char *text, struct spec *out)
{
    const char *comma = strchr(text, ',');
    size_t n = comma ? (size_t)(comma - text) : strlen(text);
    out->name = mem_strndup(text, n);
    out->options = comma ? comma + 1 : "";
}

static void specs_free(struct spec *specs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mem_free(specs[i].name);
    mem_free(specs);
}

/* All values of option @name; *@count of them, owned. */
static struct spec *
specs_of(const struct args *args, const char *name, size_t *count)
{
    struct spec *specs;
    *count = args_count(args, name);
    specs = mem_zalloc(*count + 1, sizeof(*specs));
    for (size_t i = 0; i < *count; i++)
        spec_parse(args_nth(args, name, i), &specs[i]);
    return specs;
}

/* --- create, drop, alter ------------------------------------------------- */

static const struct option create_options[] = {
    {"family", 'f', "NAME[,OPTION…]",
     "a column family: versions=N, ttl=7d, group=GROUP, gc=RULE,\n"
     "aggregate=sum|min|max|hll|hll-bytes (see: add)"},
    {"group", 'g', "NAME[,OPTION…]",
     "a locality group: compression=none|zstd, level=3,\n"
     "block=64KiB, bloom=none|row|rowcol, memory=on|off,\n"
     "dictionary=on|off, references=on|off,\n"
     "cache=auto|off|on"},
    {"transactions", 0, NULL, "let it take part in transactions"},
    {"changes", 0, "TIME[,max=BYTES]",
     "keep changes for that time, as 7d, in at most so\n"
     "many bytes for each tablet; see: quarry changes"},
    {NULL, 0, NULL, NULL},
};

static int run_create(struct cli *cli, const struct args *args, struct err *err)
{
    const char *name = args->words[0];
    size_t nf, ng;
    struct spec *families = specs_of(args, "family", &nf);
    struct spec *groups = specs_of(args, "group", &ng);
    struct quarry_family_spec *f =
        mem_zalloc(nf + QUARRY_TXN_FAMILIES + 1, sizeof(*f));
    struct quarry_group_spec *g = mem_zalloc(ng + 2, sizeof(*g));
    bool transactions = args_flag(args, "transactions");
    struct quarry *q;
    int rc;
    for (size_t i = 0; i < nf; i++)
        f[i] =
            (struct quarry_family_spec){families[i].name, families[i].options};
    for (size_t i = 0; i < ng; i++)
        g[i] = (struct quarry_group_spec){groups[i].name, groups[i].options};
    if (nf == 0)
        rc = usage_error(args, err, "a table needs a --family");
    else
        rc = cli_store(cli, CLI_CREATE, &q, err);
    if (transactions)
        quarry_txn_specs(&f[nf], &g[ng]);
    if (!rc)
        rc = quarry_table_create_with_changes(
            q, name, f, nf + (transactions ? QUARRY_TXN_FAMILIES : 0), g,
            ng + transactions, args_value(args, "changes"), err);
    if (rc == ERR_EXISTS)
        err_hint(err, "see: quarry table describe %s", name);
    mem_free(f);
    mem_free(g);
    specs_free(families, nf);
    specs_free(groups, ng);
    return rc;
}

static const struct option drop_options[] = {
    {"keep", 0, "TIME", "keep it for undelete: 12h, 7d"},
    {NULL, 0, NULL, NULL},
};

/* The snapshot that `table undelete` restores, in the place of an older one. */
static int
keep_dropped(struct quarry *q, const char *table, uint64_t us, struct err *err)
{
    struct buf name = BUF_INIT;
    int rc;
    buf_printf(&name, QUARRY_DROPPED_PREFIX "%s", table);
    rc = quarry_snapshot_drop(q, buf_cstr(&name), NULL);
    if (rc == 0 || rc == ERR_NOTFOUND)
        rc = quarry_table_snapshot(q, table, buf_cstr(&name), us, err);
    else
        rc =
            err_set(err, rc, "snapshot %s cannot be replaced", buf_cstr(&name));
    buf_close(&name);
    return rc;
}

static int run_drop(struct cli *cli, const struct args *args, struct err *err)
{
    const char *keep = args_value(args, "keep");
    struct quarry *q;
    uint64_t us = 0;
    int rc = keep ? text_parse_duration(slice_str(keep), &us, err) : 0;
    if (rc)
        return err_wrap(err, "--keep"), rc;
    rc = cli_store(cli, CLI_EXISTING, &q, err);
    for (size_t i = 0; i < args->word_count && !rc; i++) {
        rc = protection_check(q, args->words[i], err);
        if (!rc && us)
            rc = keep_dropped(q, args->words[i], us, err);
        if (!rc)
            rc = quarry_table_drop(q, args->words[i], err);
        if (rc == ERR_NOTFOUND)
            cli_hint_table(cli, args->words[i], err);
    }
    return rc;
}

static int
run_undelete(struct cli *cli, const struct args *args, struct err *err)
{
    struct quarry *q;
    int rc = cli_store(cli, CLI_EXISTING, &q, err);
    for (size_t i = 0; i < args->word_count && !rc; i++) {
        struct buf name = BUF_INIT;
        buf_printf(&name, QUARRY_DROPPED_PREFIX "%s", args->words[i]);
        rc = quarry_snapshot_restore(q, buf_cstr(&name), args->words[i], err);
        if (rc == 0)
            rc = quarry_snapshot_drop(q, buf_cstr(&name), err);
        else if (rc == ERR_NOTFOUND)
            err_hint(err, "a table comes back that was dropped with --keep, or "
                          "by the public API within a day");
        buf_close(&name);
    }
    return rc;
}

static int
run_unprotect(struct cli *cli, const struct args *args, struct err *err)
{
    struct quarry *q;
    int rc = cli_store(cli, CLI_EXISTING, &q, err);
    for (size_t i = 0; i < args->word_count && !rc; i++)
        rc = protection_lift(q, args->words[i], err);
    return rc;
}

static const struct option alter_options[] = {
    {"add-family", 0, "NAME[,OPTION…]", "as --family of table create"},
    {"update-family", 0, "NAME,OPTION…", "another rule: versions=, ttl=, gc="},
    {"drop-family", 0, "NAME", "with all its cells"},
    {"add-group", 0, "NAME[,OPTION…]", "as --group of table create"},
    {"update-group", 0, "NAME,OPTION…", "for files written from now on"},
    {"replication", 0, "N",
     "copies of its SSTables, in a cluster; present ones\n"
     "are changed in the background; 0: as the cluster does"},
    {"changes", 0, "TIME[,max=BYTES]|off", "as --changes of table create"},
    {"transactions", 0, NULL,
     "let it take part in transactions, for good: overwritten\n"
     "cells stay 15 minutes longer"},
    {NULL, 0, NULL, NULL},
};

static bool alter_kind(const char *option, enum quarry_alter_kind *out)
{
    static const enum quarry_alter_kind kinds[] = {
        QUARRY_ADD_FAMILY, QUARRY_UPDATE_FAMILY, QUARRY_DROP_FAMILY,
        QUARRY_ADD_GROUP,  QUARRY_UPDATE_GROUP,  QUARRY_SET_REPLICATION,
        QUARRY_SET_CHANGES};

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(alter_options[i].name, option) == 0) {
            *out = kinds[i];
            return true;
        }
    return false;
}

/* The changes happen in the order in which they were written. */
static int run_alter(struct cli *cli, const struct args *args, struct err *err)
{
    struct quarry_alter *changes =
        mem_zalloc(args->option_count + QUARRY_TXN_CHANGES, sizeof(*changes));
    struct spec *specs = mem_zalloc(args->option_count + 1, sizeof(*specs));
    bool transactions = args_flag(args, "transactions");
    struct quarry *q;
    size_t n = 0;
    int rc;
    for (size_t i = 0; i < args->option_count; i++) {
        if (!alter_kind(args->options[i].option->name, &changes[n].kind))
            continue;
        spec_parse(args->options[i].value, &specs[n]);
        changes[n].name = specs[n].name;
        changes[n].options = specs[n].options;
        n++;
    }
    if (transactions)
        quarry_txn_changes(&changes[n]);
    if (n == 0 && !transactions)
        rc = usage_error(args, err, "no change was asked for");
    else
        rc = cli_store(cli, CLI_EXISTING, &q, err);
    if (!rc) {
        rc = quarry_table_alter(q, args->words[0], changes,
                                n + (transactions ? QUARRY_TXN_CHANGES : 0),
                                err);
        if (rc == ERR_NOTFOUND)
            cli_hint_table(cli, args->words[0], err);
    }
    mem_free(changes);
    specs_free(specs, n);
    return rc;
}

/* --- looking ------------------------------------------------------------- */

static int table_command_describe(struct cli *cli,
                                  const char *name,
                                  struct quarry_table_info **out,
                                  struct err *err)
{
    struct quarry *q;
    int rc = cli_store(cli, CLI_READ, &q, err);
    if (rc)
        return rc;
    rc = quarry_table_describe(q, name, out, err);
    if (rc == ERR_NOTFOUND)
        cli_hint_table(cli, name, err);
    return rc;
}

static void add_list_row(struct sheet *s, const struct quarry_table_info *info)
{
    struct buf families = BUF_INIT;
    uint64_t bytes = 0;
    for (size_t i = 0; i < info->family_count; i++)
        buf_printf(&families, "%s%s", i ? " " : "", info->families[i].name);
    for (size_t i = 0; i < info->group_count; i++)
        bytes += info->groups[i].table_bytes + info->groups[i].memtable_bytes;
    sheet_add_str(s, info->name);
    sheet_add_u64(s, info->tablet_count);
    sheet_add_u64(s, bytes);
    sheet_add(s, buf_slice(&families));
    buf_close(&families);
}

/* One that may not be looked into: it is there, and no more is known of it. */
static void add_closed_row(struct sheet *s, const char *name)
{
    sheet_add_str(s, name);
    for (int i = 0; i < 3; i++)
        sheet_add(s, SLICE_EMPTY);
}

static void print_closed(struct cli *cli, size_t closed)
{
    if (closed)
        cli_remark(cli,
                   "%zu of them you have no right to: their sizes and "
                   "families are not shown",
                   closed);
}

static int run_list(struct cli *cli, const struct args *args, struct err *err)
{
    static const struct sheet_column columns[] = {{"table", SHEET_TEXT},
                                                  {"tablets", SHEET_NUMBER},
                                                  {"bytes", SHEET_BYTES},
                                                  {"families", SHEET_TEXT}};
    struct quarry *q;
    struct sheet s;
    char **names;
    size_t closed = 0;
    size_t count;
    int rc = cli_store(cli, CLI_READ, &q, err);
    (void)args;
    if (rc)
        return rc;
    rc = quarry_table_list(q, &names, &count, err);
    if (rc)
        return rc;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < count && !rc; i++) {
        struct quarry_table_info *info;
        rc = quarry_table_describe(q, names[i], &info, err);
        if (rc == ERR_NOTFOUND || rc == ERR_DENIED) {
            if (rc == ERR_DENIED)
                add_closed_row(&s, names[i]);
            closed += rc == ERR_DENIED;
            rc = 0; /* Else it was dropped meanwhile. */
            continue;
        }
        if (rc)
            break;
        add_list_row(&s, info);
        quarry_table_info_free(info);
    }
    if (!rc) {
        sheet_print(&s, cli->format);
        print_closed(cli, closed);
    }
    sheet_close(&s);
    quarry_names_free(names, count);
    return rc;
}

/* Every table has a group "default", for families that name none: it is worth a
 * row only when there are such, or were. */
static bool is_used(const struct quarry_table_info *info,
                    const struct quarry_group_info *g)
{
    for (size_t i = 0; i < info->family_count; i++)
        if (strcmp(info->families[i].group, g->name) == 0)
            return true;
    return g->table_bytes > 0 || g->memtable_bytes > 0 ||
           strcmp(g->name, "default") != 0;
}

static void print_group_options(const struct quarry_table_info *info)
{
    static const struct sheet_column columns[] = {{"group", SHEET_TEXT},
                                                  {"options", SHEET_TEXT}};
    struct sheet s;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < info->group_count; i++) {
        if (!is_used(info, &info->groups[i]))
            continue;
        sheet_add_str(&s, info->groups[i].name);
        sheet_add_str(&s, info->groups[i].options);
    }
    sheet_print(&s, FORMAT_TEXT);
    sheet_close(&s);
}

static void json_pair(struct buf *out, const char *name, const char *value)
{
    buf_printf(out, "\"%s\": ", name);
    text_put_json(out, slice_str(value));
}

static int print_schema_json(struct quarry *q,
                             const struct quarry_table_info *info,
                             struct err *err)
{
    struct buf b = BUF_INIT;
    int rc;
    buf_append_byte(&b, '{');
    json_pair(&b, "table", info->name);
    buf_append_str(&b, ", \"families\": [");
    for (size_t i = 0; i < info->family_count; i++) {
        buf_append_str(&b, i ? ", {" : "{");
        json_pair(&b, "family", info->families[i].name);
        buf_append_str(&b, ", ");
        json_pair(&b, "group", info->families[i].group);
        buf_append_str(&b, ", ");
        json_pair(&b, "gc", info->families[i].gc);
        buf_append_str(&b, ", ");
        json_pair(&b, "aggregate", info->families[i].aggregate);
        buf_append_byte(&b, '}');
    }
    buf_append_str(&b, "], \"groups\": [");
    for (size_t i = 0; i < info->group_count; i++) {
        buf_append_str(&b, i ? ", {" : "{");
        json_pair(&b, "group", info->groups[i].name);
        buf_append_str(&b, ", ");
        json_pair(&b, "options", info->groups[i].options);
        buf_append_byte(&b, '}');
    }
    buf_append_str(&b, "], ");
    json_pair(&b, "changes", info->changes);
    if (info->transactions)
        buf_append_str(&b, ", \"transactions\": true");
    rc = policy_put_json(q, info->name, &b, err);
    buf_append_str(&b, "}\n");
    if (!rc)
        fwrite(b.data, 1, b.len, stdout);
    buf_close(&b);
    return rc;
}

/* Of a cluster's table that has any. */
static int print_quotas(struct quarry *q, const char *table, struct err *err)
{
    struct quarry_quota quota;
    int rc = quarry_quota_get(q, table, &quota, NULL, err);
    if (rc || quota_is_none(&quota))
        return rc;
    putchar('\n');
    return policy_print_quotas(q, table, FORMAT_TEXT, err);
}

/* On a cluster, who may do what, and how much. */
static int print_policy(struct quarry *q, const char *table, struct err *err)
{
    int rc;
    putchar('\n');
    rc = policy_print_rights(q, table, FORMAT_TEXT, err);
    putchar('\n');
    return rc ? rc : policy_print_quotas(q, table, FORMAT_TEXT, err);
}

static int
run_describe(struct cli *cli, const struct args *args, struct err *err)
{
    struct quarry_table_info *info;
    int rc = table_command_describe(cli, args->words[0], &info, err);
    if (rc)
        return rc;
    switch (cli->format) {
    case FORMAT_TEXT:
        table_print_families(info, FORMAT_TEXT);
        putchar('\n');
        print_group_options(info);
        if (info->transactions)
            printf("\nIt takes part in transactions.\n");
        if (strcmp(info->changes, "off") != 0)
            printf("\nchanges are kept: %s\n", info->changes);
        if (remote_is_cluster(cli->target))
            rc = print_policy(cli->store, info->name, err);
        break;
    case FORMAT_CSV: table_print_families(info, FORMAT_CSV); break;
    case FORMAT_JSON: rc = print_schema_json(cli->store, info, err); break;
    }
    quarry_table_info_free(info);
    return rc;
}

static void print_group_sizes(const struct quarry_table_info *info,
                              enum cli_format format)
{
    static const struct sheet_column columns[] = {{"group", SHEET_TEXT},
                                                  {"files", SHEET_NUMBER},
                                                  {"bytes", SHEET_BYTES},
                                                  {"memory", SHEET_BYTES},
                                                  {"entries", SHEET_NUMBER}};
    struct sheet s;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < info->group_count; i++) {
        const struct quarry_group_info *g = &info->groups[i];
        if (!is_used(info, g))
            continue;
        sheet_add_str(&s, g->name);
        sheet_add_u64(&s, g->table_file_count);
        sheet_add_u64(&s, g->table_bytes);
        sheet_add_u64(&s, g->memtable_bytes);
        sheet_add_u64(&s, g->entry_count);
    }
    sheet_print(&s, format);
    sheet_close(&s);
}

static void print_family_sizes(const struct quarry_table_info *info,
                               enum cli_format format)
{
    static const struct sheet_column columns[] = {{"family", SHEET_TEXT},
                                                  {"stored", SHEET_BYTES},
                                                  {"memory", SHEET_BYTES}};
    struct sheet s;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < info->family_count; i++) {
        sheet_add_str(&s, info->families[i].name);
        sheet_add_u64(&s, info->families[i].stored_bytes);
        sheet_add_u64(&s, info->families[i].memory_bytes);
    }
    sheet_print(&s, format);
    sheet_close(&s);
}

static int print_counters(struct cli *cli, struct err *err)
{
    static const struct sheet_column columns[] = {{"counter", SHEET_TEXT},
                                                  {"value", SHEET_NUMBER},
                                                  {"about", SHEET_TEXT}};
    struct quarry_counter counters[QUARRY_COUNTERS_MAX];
    struct quarry *q;
    struct sheet s;
    size_t count;
    int rc = cli_store(cli, CLI_READ, &q, err);
    if (rc)
        return rc;
    count = quarry_counters(q, counters);
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < count; i++) {
        sheet_add_str(&s, counters[i].name);
        sheet_add_u64(&s, counters[i].value);
        sheet_add_str(&s, counters[i].about);
    }
    sheet_print(&s, cli->format);
    sheet_close(&s);
    return ERR_OK;
}

static const struct option stats_options[] = {
    {"tablets", 0, NULL, "the tablets instead of the locality groups"},
    {"families", 0, NULL, "the column families instead"},
    {"counters", 0, NULL,
     "what caches, writers and compactions did since the\nstore was opened"},
    {NULL, 0, NULL, NULL},
};

static int run_stats(struct cli *cli, const struct args *args, struct err *err)
{
    struct quarry_table_info *info;
    int rc = table_command_describe(cli, args->words[0], &info, err);
    if (rc)
        return rc;
    if (args_flag(args, "tablets"))
        table_print_tablets(info, cli->format);
    else if (args_flag(args, "families"))
        print_family_sizes(info, cli->format);
    else if (args_flag(args, "counters"))
        rc = print_counters(cli, err);
    else
        print_group_sizes(info, cli->format);
    if (!rc && cli->format == FORMAT_TEXT && !args_flag(args, "counters") &&
        remote_is_cluster(cli->target))
        rc = print_quotas(cli->store, info->name, err);
    quarry_table_info_free(info);
    return rc;
}

/* --- upkeep -------------------------------------------------------------- */

static int run_split(struct cli *cli, const struct args *args, struct err *err)
{
    struct quarry *q;
    int rc = cli_store(cli, CLI_EXISTING, &q, err);
    for (size_t i = 1; i < args->word_count && !rc; i++) {
        rc = order_split(q, args->words[0], args->words[i], err);
        if (rc == ERR_NOTFOUND)
            cli_hint_table(cli, args->words[0], err);
    }
    return rc;
}

static int run_move(struct cli *cli, const struct args *args, struct err *err)
{
    struct quarry *q;
    struct buf said = BUF_INIT;
    int rc = cli_store(cli, CLI_EXISTING, &q, err);
    if (!rc)
        rc = order_move(q, args->words[0], args->words[1], args->words[2],
                        &said, err);
    if (!rc)
        printf("%s\n", buf_cstr(&said));
    buf_close(&said);
    return rc;
}

static const struct option compact_options[] = {
    {"row", 0, "ROW", "only the tablet that holds this row"},
    {NULL, 0, NULL, NULL},
};

static int
run_compact(struct cli *cli, const struct args *args, struct err *err)
{
    const char *row = args_value(args, "row");
    struct quarry *q;
    int rc = cli_store(cli, CLI_EXISTING, &q, err);
    for (size_t i = 0; i < args->word_count && !rc; i++) {
        rc = order_compact(q, args->words[i], row ? row : "", err);
        if (rc == ERR_NOTFOUND)
            cli_hint_table(cli, args->words[i], err);
    }
    return rc;
}

const struct command table_commands[] = {
    {.name = "table create",
     .arguments = "NAME --family FAMILY[,OPTION…]…",
     .summary = "Make a table with its column families",
     .details = "Families hold columns; cells beyond versions=N or older than\n"
                "ttl=T are dropped. Families of one locality group are stored\n"
                "together: put what is read together into one group.",
     .examples =
         "quarry table create webtable --family contents,versions=3,group=page "
         "\\\n    --family anchor --family language --group page,block=128KiB",
     .words_min = 1,
     .words_max = 1,
     .options = {create_options},
     .run = run_create},
    {.name = "table list",
     .arguments = "",
     .summary = "List the tables",
     .examples = "quarry table list",
     .run = run_list},
    {.name = "table describe",
     .arguments = "NAME",
     .summary = "Show a table's families and locality groups",
     .examples = "quarry table describe webtable --format json",
     .words_min = 1,
     .words_max = 1,
     .run = run_describe},
    {.name = "table alter",
     .arguments = "NAME CHANGE…",
     .summary = "Add, change and drop families and groups",
     .details = "All changes happen, or none.",
     .examples = "quarry table alter webtable --add-family rank,versions=1",
     .words_min = 1,
     .words_max = 1,
     .options = {alter_options},
     .run = run_alter},
    {.name = "table drop",
     .arguments = "NAME…",
     .summary = "Delete tables with all their rows",
     .details = "With --keep a snapshot stays, and holds the table's space: "
                "quarry table\nundelete brings it back.",
     .examples = "quarry table drop scratch --keep 1d",
     .words_min = 1,
     .words_max = WORDS_ANY,
     .options = {drop_options},
     .run = run_drop},
    {.name = "table undelete",
     .arguments = "NAME…",
     .summary = "Bring tables back that were dropped",
     .details = "Those that quarry table drop --keep has dropped, and those "
                "that a client of\nthe public API has, for a day.",
     .examples = "quarry table undelete scratch",
     .words_min = 1,
     .words_max = WORDS_ANY,
     .run = run_undelete},
    {.name = "table unprotect",
     .arguments = "NAME…",
     .summary = "Let a table be dropped that the API protects",
     .details = "Clients of the public API may set a table's "
                "deletion_protection. It\nthen cannot be dropped, in whatever "
                "way, until they unset it or this does.",
     .examples = "quarry table unprotect webtable",
     .words_min = 1,
     .words_max = WORDS_ANY,
     .run = run_unprotect},
    {.name = "table split",
     .arguments = "NAME ROW…",
     .summary = "Cut a table's tablets at these rows",
     .details = "Both halves share the files that are there: nothing is "
                "copied. Jobs and\nprograms run over tablets in parallel.",
     .examples = "quarry table split webtable com.m org",
     .words_min = 2,
     .words_max = WORDS_ANY,
     .run = run_split},
    {.name = "table move",
     .arguments = "NAME ROW HOST:PORT",
     .summary = "Give the tablet of a row to a tablet server",
     .details =
         "For clusters. The master moves tablets by itself; this is for\n"
         "emptying a machine, or trying. Balancing leaves a moved tablet\n"
         "where it is for five minutes.",
     .examples = "quarry table move webtable com.cnn.www 10.0.0.7:7450",
     .words_min = 3,
     .words_max = 3,
     .run = run_move},
    {.name = "table compact",
     .arguments = "NAME…",
     .summary = "Rewrite a table without what was deleted",
     .examples = "quarry table compact webtable\n"
                 "quarry table compact webtable --row com.cnn.www",
     .words_min = 1,
     .words_max = WORDS_ANY,
     .options = {compact_options},
     .run = run_compact},
    {.name = "table stats",
     .arguments = "NAME",
     .summary = "Show how much a table's groups, families or tablets hold",
     .details =
         "Of a cluster's table with quotas also these, and what is used\n"
         "of them.",
     .examples = "quarry table stats webtable --tablets\n"
                 "quarry table stats webtable --families",
     .words_min = 1,
     .words_max = 1,
     .options = {stats_options},
     .run = run_stats},
    {.name = "table tablets",
     .arguments = "[NAME]",
     .summary = "Show which server has which tablet, or what each server has",
     .details = "With a name, the table's tablets, where each is served, and "
                "its bytes; without,\nthe servers, and how many tablets and "
                "bytes of all tables each has. A directory\nhas no servers.\n\n"
                "reads_per_s and writes_per_s are rows a second, bytes_per_s "
                "bytes of both, over\nthe last minute. Of a directory they "
                "are what this process did: see quarry shell.",
     .examples = "quarry table tablets webtable -t cluster:quarry-cluster "
                 "--sort reads_per_s\n"
                 "quarry table tablets --format json",
     .words_min = 0,
     .words_max = 1,
     .options = {table_tablets_options},
     .run = table_tablets_run},
    {.name = "table where",
     .arguments = "NAME [ROW]",
     .summary = "Show which server has a row, or each tablet, and its load",
     .details = "The tablet that holds the row, or would if the row existed; "
                "without a row all\ntablets, as quarry table tablets shows "
                "them. Escapes are those of quarry get.",
     .examples = "quarry table where webtable org.wikipedia.en/wiki/Quarry\n"
                 "quarry table where webtable --format json",
     .words_min = 1,
     .words_max = 2,
     .options = {table_tablets_options},
     .run = table_where_run},
    {.name = NULL},
};
