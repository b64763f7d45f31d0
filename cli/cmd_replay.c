/* quarry replay: the pages of a Webtable in a browser, as they were. The
 * server runs on this process's loop until a signal ends it; the table may be
 * of a directory or of a cluster. */
#include <stdio.h>

#include "base/core/buf.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/remote_call.h"
#include "web/policy/archive_policy.h"
#include "web/replay/replay_server.h"
#include "web/replay/robots_scan.h"

#define ADDRESS_DEFAULT "127.0.0.1:7490"
#define RANKS_DEFAULT   "rank"
#define LOOK_US         UINT64_C(100000)

struct replay_run {
    struct cli *cli;
    struct replay_options options;
    int rc;
    struct err *err;
};

static void replay_serve(void *arg)
{
    struct replay_run *run = arg;
    struct replay_server *r = NULL;
    run->rc = replay_server_open(&run->options, &r, run->err);
    if (run->rc == 0) {
        printf("http://%s/\n", replay_server_address(r));
        fflush(stdout);
        if (run->options.wombat.len == 0)
            cli_remark(run->cli, "wombat is not installed: links that scripts "
                                 "make are followed only in part "
                                 "(scripts/deps replay fetches it)");
        (void)interrupt_watch();
        while (!interrupted())
            world_sleep_us(run->cli->world, LOOK_US);
        interrupt_unwatch();
    }
    replay_server_close(r);
}

static int serve_on_loop(struct replay_run *run, struct err *err)
{
    struct loop *loop;
    int rc = loop_new(run->cli->world, "replay", &loop, err);
    if (rc)
        return rc;
    loop_start(loop);
    loop_call(loop, "replay", replay_serve, run);
    loop_stop(loop);
    loop_join(loop);
    loop_free(loop);
    return run->rc;
}

int cli_read_wombat(const char *given, struct buf *out, struct err *err)
{
    const char *cache = remote_variable("QUARRY_REPLAY_CACHE");
    const char *home = remote_variable("HOME");
    struct buf path = BUF_INIT;
    int rc;
    if (given || cache)
        buf_printf(&path, "%s/wombat.js", given ? given : cache);
    else
        buf_printf(&path, "%s/.cache/quarry/wombat/wombat.js",
                   home ? home : "");
    rc = cli_read_file(buf_cstr(&path), out, given ? err : NULL);
    buf_close(&path);
    return given ? rc : 0;
}

int cli_read_policy(const struct args *args,
                    struct archive_policy **out,
                    struct err *err)
{
    const char *list = args_value(args, "block");
    const char *robots = args_value(args, "robots");
    struct buf text = BUF_INIT;
    int rc = 0;
    *out = NULL;
    if (!list && !robots && !args_flag(args, "noarchive"))
        return 0;
    if (robots && !*robots)
        return err_set(err, ERR_INVALID, "--robots: name a robot, or *");
    *out = archive_policy_new();
    if (args_flag(args, "noarchive"))
        archive_policy_honour_noarchive(*out);
    if (robots)
        archive_policy_honour_robots(*out, robots);
    if (list)
        rc = cli_read_file(list, &text, err);
    if (list && rc == 0)
        rc = archive_policy_read(*out, buf_slice(&text), list, err);
    buf_close(&text);
    return rc;
}

int cli_read_robots(struct quarry_table *table,
                    struct archive_policy *policy,
                    struct err *err)
{
    if (!policy || !archive_policy_wants_robots_txt(policy))
        return 0;
    return robots_scan(table, policy, err);
}

/* Open table @name if it has ranks. */
static int open_ranked(struct quarry *q,
                       const char *name,
                       struct quarry_table **out,
                       struct err *err)
{
    int rc = quarry_table_open(q, name, out, err);
    if (rc) {
        *out = NULL;
        return rc;
    }
    rc = quarry_table_check_family(*out, "rank", err);
    if (rc) {
        quarry_table_close(*out);
        *out = NULL;
    }
    return rc;
}

int cli_open_ranks(struct cli *cli,
                   const struct args *args,
                   struct quarry_table **out,
                   struct err *err)
{
    const char *given = args_value(args, "ranks");
    const char *const usual[] = {args->words[0], RANKS_DEFAULT};
    struct quarry *q;
    int rc = cli_store(cli, CLI_READ, &q, err);
    *out = NULL;
    if (rc || given)
        return rc ? rc : open_ranked(q, given, out, err);
    /* These need not be there, nor have ranks. */
    for (size_t i = 0; i < ARRAY_LEN(usual) && !*out; i++) {
        rc = open_ranked(q, usual[i], out, err);
        if (rc && rc != ERR_NOTFOUND && rc != ERR_DENIED)
            return rc;
        err_init(err);
    }
    return 0;
}

static int run_replay(struct cli *cli, const struct args *args, struct err *err)
{
    struct archive_policy *policy;
    struct quarry_table *t = NULL;
    struct quarry_table *ranks = NULL;
    struct buf wombat = BUF_INIT;
    struct replay_run run = {.cli = cli, .err = err};
    int rc = cli_read_policy(args, &policy, err);
    if (rc == 0)
        rc = cli_read_wombat(args_value(args, "wombat"), &wombat, err);
    if (rc == 0)
        rc = cli_table(cli, args->words[0], CLI_READ, &t, err);
    if (rc == 0)
        rc = cli_read_robots(t, policy, err);
    if (rc == 0)
        rc = cli_open_ranks(cli, args, &ranks, err);
    if (rc) {
        quarry_table_close(t);
        buf_close(&wombat);
        archive_policy_free(policy);
        return rc;
    }
    run.options = (struct replay_options){
        .table = t,
        .ranks = ranks,
        .table_name = args->words[0],
        .address = args_value(args, "listen") ? args_value(args, "listen")
                                              : ADDRESS_DEFAULT,
        .names = args_value(args, "names") ? args_value(args, "names")
                                           : args_value(args, "listen"),
        .wombat = buf_slice(&wombat),
        .is_fixed = !remote_is_cluster(cli->target) && !cli->in_shell,
        .is_proxy = args_flag(args, "proxy"),
        .policy = policy};
    rc = serve_on_loop(&run, err);
    quarry_table_close(t);
    quarry_table_close(ranks);
    archive_policy_free(policy);
    buf_close(&wombat);
    return rc;
}

static const struct option replay_options[] = {
    {"listen", 0, "ADDRESS",
     "host:port to serve on (default: " ADDRESS_DEFAULT ")"},
    {"names", 0, "NAMES", "names of this host, with commas between"},
    {"proxy", 0, NULL, "answer as an HTTP proxy on the same port"},
    {"wombat", 0, "DIR", "where wombat.js is"},
    {"block", 0, "FILE",
     "a list of what is not shown: lines of block or allow, a URL,\n"
     "URL*, host or *.host, perhaps from=DATE to=DATE, and a reason"},
    {"noarchive", 0, NULL,
     "do not show pages that ask so (robots meta, X-Robots-Tag)"},
    {"robots", 0, "AGENT",
     "nor what robots.txt, as archived, forbids this robot (or *)"},
    {"ranks", 0, "TABLE", "where page_rank wrote (default: TABLE, or rank)"},
    {NULL, 0, NULL, NULL},
};

const struct command replay_commands[] = {
    {.name = "replay",
     .arguments = "TABLE",
     .summary = "Browse archived pages as they were",
     .details =
         "Serves the pages that `quarry import warc` stored, at any date, "
         "until Ctrl-C:\n/web/DATE/URL is the capture nearest to DATE, "
         "/web/*/URL a calendar, /cdx an index\nfor programs; /hosts, /ranks "
         "and /keys are about the whole crawl. Memento\n(RFC 7089) is "
         "understood.\n\nPages run with an origin of their own and "
         "load from this server alone. Links that\ntheir scripts make are "
         "rewritten by wombat, which is fetched by `scripts/deps replay`\n"
         "(its licence is the AGPL); without it they are followed only where "
         "the browser\ntells the server which page asked. With --proxy a "
         "browser that uses this address as\nits proxy for http sees pages at "
         "their own addresses, by Accept-Datetime.",
     .examples = "quarry replay webtable\n"
                 "quarry replay webtable --listen 127.0.0.1:8080 -t "
                 "cluster:./quarry-cluster",
     .words_min = 1,
     .words_max = 1,
     .options = {replay_options, remote_options},
     .run = run_replay},
    {.name = NULL},
};
