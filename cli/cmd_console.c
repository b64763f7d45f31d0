/* quarry console: the console of a cluster, served by this process with the
 * rights of its user. A server's console needs an address and tokens in its
 * configuration; this one needs nothing but a way to the cluster.
 *
 * Other users of the machine can reach the port too, so that pages need a
 * session, and the token that begins one can be used once. It is behind the "#"
 * of the URL, which no browser sends in requests.
 */
#include <stdio.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/console/console.h"
#include "cli/interrupt.h"
#include "cli/monitor/monitor.h"
#include "cli/remote_call.h"

#define ADDRESS_DEFAULT "127.0.0.1:0"
#define LOOK_US         UINT64_C(100000)
#define TOKEN_BYTES     32

static int document_of(void *ctx,
                       const char *subject,
                       const struct monitor_param *params,
                       size_t count,
                       json_t **out,
                       struct err *err)
{
    return monitor_make(ctx, subject, params, count, out, err);
}

static void put_token(struct world *w, struct buf *out)
{
    unsigned char bytes[TOKEN_BYTES];
    world_random_bytes(w, bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++)
        buf_printf(out, "%02x", bytes[i]);
}

static int serve_console(struct remote *r,
                         struct monitor *m,
                         const char *address,
                         struct err *err)
{
    struct buf token = BUF_INIT;
    struct console_source source = {
        .ctx = m,
        .document = document_of,
        .names = address,
        .name = "",
        .cluster = r->cli->cluster,
        .actions = {.security = r->security,
                    .name = r->cli->cluster,
                    .cell = r->addresses,
                    .cell_count = r->address_count}};
    struct console *c = NULL;
    int rc;
    put_token(r->world, &token);
    source.access.once = buf_cstr(&token);
    rc = console_open(address, &source, &c, err);
    if (rc == 0) {
        printf("http://%s/login#%s\n", console_address(c), buf_cstr(&token));
        fflush(stdout);
        (void)interrupt_watch();
        while (!interrupted())
            world_sleep_us(r->world, LOOK_US);
        interrupt_unwatch();
    }
    console_close(c);
    buf_close(&token);
    return rc;
}

static int console_on_fiber(struct remote *r, struct err *err)
{
    const struct args *args = r->args;
    const char *address = args->word_count ? args->words[0] : ADDRESS_DEFAULT;
    const struct monitor_source source = {.world = r->world,
                                          .security = r->security,
                                          .cluster = r->cli->cluster,
                                          .cell = r->addresses,
                                          .cell_count = r->address_count};
    struct monitor *m = NULL;
    int rc = monitor_open(&source, &m, err);
    if (rc == 0)
        rc = serve_console(r, m, address, err);
    monitor_close(m);
    return rc;
}

static int
run_console(struct cli *cli, const struct args *args, struct err *err)
{
    return remote_run(cli, args, console_on_fiber, NULL, err);
}

const struct command console_commands[] = {
    {.name = "console",
     .arguments = "[ADDRESS]",
     .summary = "Show a cluster in the browser",
     .details =
         "Serves the pages of the console on ADDRESS, host:port (a free port "
         "of\n127.0.0.1), until Ctrl-C, and prints the URL to open. Pages show "
         "and change\nwhat this user may. The URL works once: it begins a "
         "session of twelve hours in\nthe browser that opened it.",
     .examples = "quarry console -t cluster:./quarry-cluster\n"
                 "quarry console 127.0.0.1:7480 -t a:7400,b:7400 --key key",
     .words_max = 1,
     .options = {remote_options},
     .run = run_console},
    {.name = NULL},
};
