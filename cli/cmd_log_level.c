/* quarry log-level: the levels of the logs of running servers, shown and
 * changed. Each node is asked by itself: one that is away keeps what it has,
 * and is named in the error.
 */
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/rpc/codec.h"
#include "base/rpc/remote.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/remote_call.h"
#include "cli/server_host.h"
#include "cli/table_printer.h"

#define NODE_US UINT64_C(5000000)

/* Send @change ("": none) to the node; its levels are appended to @levels. */
static int log_level_ask(const struct remote *r,
                         const char *address,
                         struct slice change,
                         struct buf *levels,
                         struct err *err)
{
    struct rpc_channel_options o = {.security = r->security};
    struct rpc_call_options call = {.timeout_us = NODE_US};
    struct rpc_channel *c = rpc_channel_new(address, &o);
    struct buf request = BUF_INIT;
    struct buf body = BUF_INIT;
    struct codec_reader reader;
    int rc;
    codec_put_array(&request, 1);
    codec_put_str(&request, change);
    rc = rpc_call(c, SERVER_LOG_LEVEL, &call, buf_slice(&request), SLICE_EMPTY,
                  &body, NULL, err);
    if (rc == 0) {
        reader = codec_reader_make(buf_slice(&body));
        if (codec_get_array(&reader) >= 1)
            buf_append_slice(levels, codec_get_bytes(&reader));
        if (reader.bad)
            rc = err_set(err, ERR_CORRUPT, "malformed answer");
    }
    if (rc)
        err_wrap(err, "node %s", address);
    rpc_channel_free(c);
    buf_close(&request);
    buf_close(&body);
    return rc;
}

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
        rc =
            log_level_ask(r, r->addresses[i], slice_str(change), &levels, &why);
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

static int
run_log_level(struct cli *cli, const struct args *args, struct err *err)
{
    return remote_run(cli, args, log_level_on_fiber, NULL, err);
}

const struct command log_level_commands[] = {
    {.name = "log-level",
     .arguments = "[LEVEL|COMPONENT=LEVEL,…]",
     .summary = "Show or change what running servers log",
     .details =
         "LEVEL is debug, info, warn or error. The component is the word after "
         "the level in a\nline of the log (rpc, tablet, master, namenode, …); "
         "COMPONENT=default gives it the\nlevel of the others again. Changes "
         "are for the nodes that the target names, and last\nuntil they "
         "restart: log-level of their configuration stays.",
     .examples = "quarry log-level -t cluster:./quarry-cluster\n"
                 "quarry log-level rpc=debug,tablet=debug -t a:7400 --key key\n"
                 "quarry log-level info,rpc=default -t a:7400,b:7400 --key key",
     .words_min = 0,
     .words_max = 1,
     .options = {remote_options},
     .run = run_log_level},
    {.name = NULL},
};
