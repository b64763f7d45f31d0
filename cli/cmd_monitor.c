/* quarry monitor: a document about the cluster as JSON, the same that the
 * console shows and `quarry top` draws, for scripts. */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/monitor/monitor.h"
#include "cli/remote_call.h"

#define PARAMS_MAX 16

/* "name=value"; *@name is owned and split in place. */
static int
read_param(const char *word, char **name, const char **value, struct err *err)
{
    char *equals;
    *name = mem_strdup(word);
    equals = strchr(*name, '=');
    if (!equals || equals == *name)
        return err_set(err, ERR_USAGE,
                       "monitor: %.100s is not of the form name=value", word);
    *equals = '\0';
    *value = equals + 1;
    return 0;
}

static void print_document(const json_t *doc)
{
    char *text = json_dumps(doc, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    if (text)
        printf("%s\n", text);
    mem_free(text);
}

static int make_document(const struct remote *r,
                         const struct monitor_param *params,
                         size_t count,
                         struct err *err)
{
    const struct monitor_source source = {.world = r->world,
                                          .security = r->security,
                                          .cluster = r->cli->cluster,
                                          .cell = r->addresses,
                                          .cell_count = r->address_count};
    struct monitor *m;
    json_t *doc = NULL;
    int rc = monitor_open(&source, &m, err);
    if (rc)
        return rc;
    rc = monitor_make(m, r->args->words[0], params, count, &doc, err);
    if (rc == 0)
        print_document(doc);
    json_decref(doc);
    monitor_close(m);
    return rc;
}

static int monitor_on_fiber(struct remote *r, struct err *err)
{
    struct monitor_param params[PARAMS_MAX];
    char *names[PARAMS_MAX];
    size_t count = r->args->word_count - 1;
    size_t read = 0;
    int rc = 0;
    PRE(count <= PARAMS_MAX);
    while (rc == 0 && read < count) {
        rc = read_param(r->args->words[read + 1], &names[read],
                        &params[read].value, err);
        params[read].name = names[read];
        read++;
    }
    if (rc == 0)
        rc = make_document(r, params, count, err);
    while (read)
        mem_free(names[--read]);
    return rc;
}

static int
run_monitor(struct cli *cli, const struct args *args, struct err *err)
{
    return remote_run(cli, args, monitor_on_fiber, NULL, err);
}

const struct command monitor_commands[] = {
    {.name = "monitor",
     .arguments = "SUBJECT [NAME=VALUE…]",
     .summary = "Print what can be seen of a cluster, as JSON",
     .details =
         "The document of SUBJECT is the one that the console shows as a page. "
         "Rows of long\nlists are cut: limit=N says how many there are, "
         "after=NAME where they begin.\nRates are those of the last seconds, "
         "for which the command takes two samples.",
     .examples = "quarry monitor nodes -t cluster:./quarry-cluster\n"
                 "quarry monitor nodes limit=10 after=n7 -t a:7400 --key key",
     .words_min = 1,
     .words_max = 1 + PARAMS_MAX,
     .options = {remote_options},
     .run = run_monitor},
    {.name = NULL},
};
