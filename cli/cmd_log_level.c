/* quarry log-level: the levels of the logs of running servers, shown and
 * changed. Each node is asked by itself: one that is away keeps what it has,
 * and is named in the error.
 */
#include "base/core/buf.h"
#include "base/runtime/log.h"
#include "cli/cli.h"
#include "cli/cluster_orders.h"
#include "cli/command.h"
#include "cli/remote_call.h"
#include "cli/table_printer.h"

/* All nodes get it, also after one has failed; the first failure is told. */
static int log_level_on_fiber(struct remote *r, struct err *err)
{
    static const struct sheet_column columns[] = {{"node", SHEET_TEXT},
                                                  {"levels", SHEET_TEXT}};
    const char *change = r->args->word_count ? r->args->words[0] : "";
    struct buf levels = BUF_INIT;
    struct sheet s;
    size_t answers = 0;
    int first = 0;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < r->address_count; i++) {
        struct err why = ERR_INIT;
        int rc;
        buf_clear(&levels);
        rc = order_log_level(r->addresses[i], r->security, slice_str(change),
                             &levels, &why);
        if (rc && !first)
            first = err_copy(err, &why);
        if (rc)
            continue;
        sheet_add_str(&s, r->addresses[i]);
        sheet_add(&s, buf_slice(&levels));
        answers++;
    }
    if (answers)
        sheet_print(&s, r->cli->format);
    sheet_close(&s);
    buf_close(&levels);
    return first;
}

/* The table of components; no cluster is asked. */
static void print_components(const struct cli *cli)
{
    static const struct sheet_column columns[] = {{"component", SHEET_TEXT},
                                                  {"about", SHEET_TEXT}};
    const char *name, *about;
    struct sheet s;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t i = 0; (name = log_component_name(i, &about)); i++) {
        sheet_add_str(&s, name);
        sheet_add_str(&s, about);
    }
    sheet_print(&s, cli->format);
    sheet_close(&s);
}

static int
run_log_level(struct cli *cli, const struct args *args, struct err *err)
{
    if (args_flag(args, "components")) {
        print_components(cli);
        return 0;
    }
    return remote_run(cli, args, log_level_on_fiber, NULL, err);
}

static const struct option log_level_options[] = {
    {"components", 0, NULL, "list the components"},
    {NULL, 0, NULL, NULL},
};

const struct command log_level_commands[] = {
    {.name = "log-level",
     .arguments = "[LEVEL|COMPONENT=LEVEL,…]",
     .summary = "Show or change what running servers log",
     .details =
         "LEVEL is debug, info, warn or error. The component is the word after "
         "the level in a\nline of the log (--components lists them); "
         "COMPONENT=default gives it the\nlevel of the others again. Changes "
         "are for the nodes that the target names, and last\nuntil they "
         "restart: log-level of their configuration stays.",
     .examples = "quarry log-level -t cluster:./quarry-cluster\n"
                 "quarry log-level rpc=debug,tablet=debug -t a:7400 --key key\n"
                 "quarry log-level info,rpc=default -t a:7400,b:7400 --key key",
     .words_min = 0,
     .words_max = 1,
     .options = {log_level_options, remote_options},
     .run = run_log_level},
    {.name = NULL},
};
