/* quarry-storm: the clients of tests with real processes, see storm.h.
 *
 *     quarry-storm run|finish|check|watch [--servers A,B,…] [--key FILE]
 *                  [--journal FILE] [--index N] [--seed N] [--within SECONDS]
 *                  [--tables] [--origin US]
 *                  [JOURNAL…]
 *
 * Exit status: 0; 1 when something is wrong, which standard error says; 2 when
 * used wrongly.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/rpc/security.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "tests/cluster/storm/storm.h"

#define CLUSTER "quarry"
/* Of rows, by one process. */
#define VALUES_MAX 10000000

static volatile sig_atomic_t told_to_end;

static void on_signal(int number)
{
    (void)number;
    told_to_end = 1;
}

bool storm_goes_on(void)
{
    return !told_to_end;
}

/* --- what the command line says ------------------------------------------ */

struct command {
    struct storm storm;
    const char *mode;
    const char *key;
    const char *journal;
    uint64_t within_s;
    char *server_text; /* Cut at its commas. Owned. */
    char **journals;
    size_t journal_count;
};

NORETURN static void fail_usage(const char *why)
{
    fprintf(stderr, "quarry-storm: %s\n", why);
    exit(2);
}

static uint64_t number(const char *text)
{
    uint64_t v = 0;
    if (text_parse_u64(slice_str(text), &v, NULL))
        fail_usage("expects a number");
    return v;
}

static void take_servers(struct command *c, const char *text)
{
    c->server_text = mem_strdup(text);
    c->storm.all_servers = text;
    for (char *p = strtok(c->server_text, ","); p; p = strtok(NULL, ",")) {
        if (c->storm.server_count == STORM_SERVERS_MAX)
            fail_usage("too many servers");
        c->storm.servers[c->storm.server_count++] = p;
    }
}

static void read_options(struct command *c, int argc, char **argv)
{
    static const struct option options[] = {
        {"servers", required_argument, NULL, 's'},
        {"key", required_argument, NULL, 'k'},
        {"journal", required_argument, NULL, 'j'},
        {"index", required_argument, NULL, 'i'},
        {"seed", required_argument, NULL, 'r'},
        {"within", required_argument, NULL, 'w'},
        {"tables", no_argument, NULL, 't'},
        {"origin", required_argument, NULL, 'o'},
        {NULL, 0, NULL, 0}};
    int o;
    while ((o = getopt_long(argc, argv, "", options, NULL)) != -1)
        switch (o) {
        case 's': take_servers(c, optarg); break;
        case 'k': c->key = optarg; break;
        case 'j': c->journal = optarg; break;
        case 'i': c->storm.index = number(optarg); break;
        case 'r': c->storm.seed = number(optarg); break;
        case 'w': c->within_s = number(optarg); break;
        case 't': c->storm.of_tables = true; break;
        case 'o': c->storm.origin_us = number(optarg); break;
        default: exit(2);
        }
    if (optind == argc)
        fail_usage("run, finish, check or watch?");
    c->mode = argv[optind];
    c->journals = &argv[optind + 1];
    c->journal_count = (size_t)(argc - optind - 1);
}

/* --- running ------------------------------------------------------------- */

static void run_client(void *arg)
{
    struct storm_client *c = arg;
    c->work(c);
}

static void run(struct storm *s)
{
    static void (*const work[])(struct storm_client *) = {
        storm_work_locks, storm_work_locks, storm_work_names,
        storm_work_files, storm_work_files, storm_work_records};
    struct storm_client clients[ARRAY_LEN(work)];
    struct fiber *fibers[ARRAY_LEN(work)];
    for (size_t i = 0; i < ARRAY_LEN(work); i++) {
        clients[i] = (struct storm_client){
            .storm = s,
            .number = storm_number(s),
            .work = s->of_tables ? storm_work_tables : work[i]};
        rand_init(&clients[i].rand, s->seed * 1000 + s->index * 10 + i);
        fibers[i] = fiber_start(loop_self(), "client", run_client, &clients[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(work); i++)
        fiber_join(fibers[i]);
    printf("calls=%" PRIu64 "\n", s->call_count);
}

static void finish(struct command *c)
{
    struct storm *s = &c->storm;
    uint64_t from = storm_now_us(s);
    uint64_t until = from + c->within_s * SECOND_US;
    if (s->of_tables) {
        storm_finish_tables(s, until);
        printf("tables_ms=%" PRIu64 "\n", (storm_now_us(s) - from) / 1000);
        return;
    }
    storm_finish_locks(s, until);
    printf("locks_ms=%" PRIu64 "\n", (storm_now_us(s) - from) / 1000);
    storm_finish_names(s, until);
    printf("names_ms=%" PRIu64 "\n", (storm_now_us(s) - from) / 1000);
    storm_finish_files(s, c->journals, c->journal_count, until);
    printf("files_ms=%" PRIu64 "\n", (storm_now_us(s) - from) / 1000);
}

static void open_security(struct command *c)
{
    struct err err = ERR_INIT;
    int rc = 0;
    if (c->key)
        rc = rpc_security_key(c->storm.world, CLUSTER, "storm", c->key,
                              &c->storm.security, &err);
    else
        c->storm.security = rpc_security_none(CLUSTER, "storm");
    STORM_CHECK(rc == 0, "%s", err.text);
}

static void on_loop(void *arg)
{
    struct command *c = arg;
    struct storm *s = &c->storm;
    open_security(c);
    if (strcmp(c->mode, "run") == 0)
        run(s);
    else if (strcmp(c->mode, "finish") == 0)
        finish(c);
    else
        storm_watch(s);
    rpc_security_free(s->security);
}

static void end_well(struct storm *s)
{
    if (s->journal) {
        storm_note(s, "end");
        fclose(s->journal);
    }
    for (size_t i = 0; i < STORM_LOCKS; i++)
        mem_free(s->sequencer[i]);
    history_lock_free(s->locks);
    history_names_free(s->names);
    history_rows_free(s->rows);
}

static void run_mode(struct command *c)
{
    struct storm *s = &c->storm;
    struct err err = ERR_INIT;
    struct loop *l = NULL;
    int rc;
    if (c->journal)
        s->journal = fopen(c->journal, "a");
    if (!s->journal && strcmp(c->mode, "watch") != 0)
        fail_usage("--journal FILE");
    s->world = world_real_new();
    s->locks = history_lock_new();
    s->names = history_names_new();
    s->rows = history_rows_new();
    s->last_value = (uint32_t)s->index * VALUES_MAX;
    rc = loop_new(s->world, "storm", &l, &err);
    STORM_CHECK(rc == 0, "%s", err.text);
    loop_start(l);
    loop_call(l, c->mode, on_loop, c);
    loop_stop(l);
    loop_join(l);
    loop_free(l);
    end_well(s);
    world_free(s->world);
}

int main(int argc, char **argv)
{
    struct command c = {.within_s = 30};
    int status = 0;
    signal(SIGTERM, on_signal);
    signal(SIGPIPE, SIG_IGN);
    read_options(&c, argc, argv);
    if (strcmp(c.mode, "check") == 0)
        status = storm_check(c.journals, c.journal_count);
    else if (strcmp(c.mode, "run") == 0 || strcmp(c.mode, "finish") == 0 ||
             strcmp(c.mode, "watch") == 0)
        run_mode(&c);
    else
        fail_usage("run, finish, check or watch?");
    mem_free(c.server_text);
    return status;
}
