/* A monitor gathers the answers of all nodes: one that is dead, hangs or
 * answers garbage is shown with why, and delays one document and no later ones.
 */
#include <math.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/rpc/codec.h"
#include "base/rpc/remote.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "cli/monitor/subject.h"
#include "tests/lib/check_main.h"

/* --- Fixture ------------------------------------------------------------- */

#define SERVERS 4

enum behaviour {
    WELL,
    HANGS,
    GARBAGE,
    NO_METRICS
};

struct fake {
    enum behaviour behaviour;
    char address[32];
    struct rpc_server *server;
    struct rpc_listener *listener;
    unsigned scrapes;
    unsigned pid;
};

static struct world *world;
static struct fake fakes[SERVERS];
static struct monitor *monitor;
static const char *cell[SERVERS + 1];
static size_t cell_count;

static void put_status(const struct fake *f, struct buf *out)
{
    buf_printf(out,
               "node=%s address=%s pid=%u version=1.2.3 up_us=5000000 "
               "time=%llu\n"
               "lock: health=well state=leader term=4\n"
               "chunk: health=\"disk full\" under-replicated=7 odd=x\n",
               f->address + 4, f->address, f->pid,
               (unsigned long long)world_now_us(world));
}

/* 50 rows more with each scrape. */
static void put_metrics(struct fake *f, struct buf *out)
{
    f->scrapes++;
    buf_printf(out,
               "quarry_tablet_read_rows_total{table=\"a\"} %u\n"
               "process_open_fds 12\n",
               f->scrapes * 50);
}

static int answer_fake(void *ctx, struct rpc_call *call, struct err *err)
{
    struct fake *f = ctx;
    struct buf text = BUF_INIT;
    if (f->behaviour == HANGS)
        return fiber_park_checked(err);
    if (call->method == SERVER_METRICS && f->behaviour == NO_METRICS)
        buf_append_str(&text, "<html>no</html>");
    else if (call->method == SERVER_METRICS)
        put_metrics(f, &text);
    else if (f->behaviour == GARBAGE)
        buf_append_str(&text, "\xff\xfe = = \n:::\n\"");
    else
        put_status(f, &text);
    codec_put_array(call->reply_body, 1);
    codec_put_str(call->reply_body, buf_slice(&text));
    buf_close(&text);
    return 0;
}

static void start_fake(struct fake *f)
{
    static const struct rpc_method methods[] = {
        {SERVER_STATUS, "server.status", answer_fake, 0},
        {SERVER_METRICS, "server.metrics", answer_fake, 0},
    };
    struct err err = ERR_INIT;
    f->server = rpc_server_new(world);
    rpc_server_add(f->server, methods, ARRAY_LEN(methods), f);
    ck_assert_msg(rpc_listen(f->server, f->address, NULL, &f->listener, &err) ==
                      0,
                  "%s", err.text);
}

static void stop_fake(struct fake *f)
{
    rpc_listener_close(f->listener);
    rpc_server_free(f->server);
    f->server = NULL;
    f->listener = NULL;
}

static void open_all(const enum behaviour *behaviours, size_t count)
{
    struct monitor_source source;
    memset(fakes, 0, sizeof(fakes));
    for (size_t i = 0; i < count; i++) {
        struct fake *f = &fakes[i];
        f->behaviour = behaviours[i];
        f->pid = (unsigned)i + 1;
        snprintf(f->address, sizeof(f->address), "sim:%zu", i + 1);
        start_fake(f);
        cell[i] = f->address;
    }
    cell_count = count;
    source = (struct monitor_source){
        .world = world, .cluster = "c", .cell = cell, .cell_count = cell_count};
    ck_assert_int_eq(monitor_open(&source, &monitor, NULL), 0);
}

static void close_all(void)
{
    monitor_close(monitor);
    for (size_t i = 0; i < SERVERS; i++)
        if (fakes[i].server)
            stop_fake(&fakes[i]);
}

static void in_simulation(void (*fn)(void *))
{
    world = sim_world_new(&(struct sim_options){.seed = 1, .network_us = 300});
    sim_run(world, fn, NULL);
    world_free(world);
}

/* The document, and how long it took. */
static json_t *make_document(const char *subject, uint64_t *us)
{
    struct err err = ERR_INIT;
    uint64_t from = world_mono_ns(world);
    json_t *doc;
    int rc = monitor_make(monitor, subject, NULL, 0, &doc, &err);
    ck_assert_msg(rc == 0, "%s", err.text);
    *us = (world_mono_ns(world) - from) / 1000;
    return doc;
}

static const json_t *node_of(const json_t *doc, const char *address)
{
    const json_t *nodes = json_object_get(doc, "nodes");
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        const json_t *n = json_array_get(nodes, i);
        if (strcmp(json_string_value(json_object_get(n, "address")), address) ==
            0)
            return n;
    }
    ck_abort_msg("no node %s", address);
}

static const char *text_of(const json_t *o, const char *name)
{
    const char *text = json_string_value(json_object_get(o, name));
    return text ? text : "";
}

/* --- Tests --------------------------------------------------------------- */

static void read_a_node(void *arg)
{
    static const enum behaviour one[] = {WELL};

    const json_t *node;
    const json_t *chunk;
    const json_t *figures;
    uint64_t us;
    json_t *doc;
    (void)arg;
    open_all(one, 1);
    doc = make_document("nodes", &us);
    node = node_of(doc, "sim:1");
    ck_assert_str_eq(text_of(node, "state"), "up");
    ck_assert_str_eq(text_of(node, "version"), "1.2.3");
    ck_assert_int_eq(json_integer_value(json_object_get(node, "fds")), 12);
    ck_assert_int_eq(json_integer_value(json_object_get(node, "pid")), 1);
    chunk = json_array_get(json_object_get(node, "roles"), 1);
    ck_assert_str_eq(text_of(chunk, "health"), "disk full");
    figures = json_object_get(chunk, "figures");
    ck_assert_int_eq(
        json_integer_value(json_object_get(figures, "under_replicated")), 7);
    ck_assert_str_eq(text_of(figures, "odd"), "x");
    json_decref(doc);
    close_all();
}

/* The status and the metrics of a node become fields: numbers are numbers, and
 * keys of roles have no hyphens. */
START_TEST(test_fields_of_a_node)
{
    in_simulation(read_a_node);
}

END_TEST

static void read_rates(void *arg)
{
    static const enum behaviour one[] = {WELL};

    uint64_t us;
    double rate;
    json_t *doc;
    (void)arg;
    open_all(one, 1);
    doc = make_document("nodes", &us);
    rate = json_number_value(
        json_object_get(node_of(doc, "sim:1"), "reads_per_s"));
    /* 50 rows between two samples that are about a second apart. */
    ck_assert_msg(rate > 20 && rate < 55, "%f", rate);
    json_decref(doc);
    /* Another process at the address: its counters begin with 0. */
    fakes[0].pid = 77;
    world_sleep_us(world, 2000000);
    doc = make_document("nodes", &us);
    rate = json_number_value(
        json_object_get(node_of(doc, "sim:1"), "reads_per_s"));
    ck_assert_msg(rate < 55, "%f", rate);
    json_decref(doc);
    close_all();
}

/* The first document has rates, and those of a process that was restarted are
 * not reckoned from the counters of the one before. */
START_TEST(test_rates)
{
    in_simulation(read_rates);
}

END_TEST

static void look_at_bad_nodes(void *arg)
{
    static const enum behaviour all[] = {WELL, HANGS, GARBAGE, NO_METRICS};

    uint64_t us;
    json_t *doc;
    (void)arg;
    open_all(all, 4);
    doc = make_document("nodes", &us);
    ck_assert_str_eq(text_of(node_of(doc, "sim:1"), "state"), "up");
    ck_assert_str_eq(text_of(node_of(doc, "sim:2"), "state"), "silent");
    ck_assert_str_ne(text_of(node_of(doc, "sim:2"), "why"), "");
    ck_assert_str_eq(text_of(node_of(doc, "sim:3"), "state"), "silent");
    ck_assert_ptr_nonnull(strstr(text_of(node_of(doc, "sim:3"), "why"),
                                 "not the status of a server"));
    ck_assert_str_eq(text_of(node_of(doc, "sim:4"), "state"), "up");
    ck_assert_uint_ge(json_array_size(json_object_get(doc, "warnings")), 3);
    json_decref(doc);
    /* From now on nobody waits for the one that hangs. */
    for (int i = 0; i < 5; i++) {
        world_sleep_us(world, 1100000);
        doc = make_document("nodes", &us);
        ck_assert_msg(us < 200000, "a document took %llu us",
                      (unsigned long long)us);
        ck_assert_str_eq(text_of(node_of(doc, "sim:2"), "state"), "silent");
        json_decref(doc);
    }
    close_all();
}

/* A node that hangs costs its time-out once. */
START_TEST(test_nodes_that_hang)
{
    in_simulation(look_at_bad_nodes);
}

END_TEST

static void lose_a_node(void *arg)
{
    static const enum behaviour all[] = {WELL, WELL};

    uint64_t us;
    json_t *doc;
    (void)arg;
    open_all(all, 2);
    doc = make_document("nodes", &us);
    ck_assert_str_eq(text_of(node_of(doc, "sim:2"), "name"), "2");
    json_decref(doc);
    stop_fake(&fakes[1]);
    world_sleep_us(world, 1100000);
    doc = make_document("nodes", &us);
    ck_assert_str_ne(text_of(node_of(doc, "sim:2"), "state"), "up");
    ck_assert_str_eq(text_of(node_of(doc, "sim:2"), "name"), "2");
    ck_assert_ptr_null(json_object_get(node_of(doc, "sim:2"), "rss_bytes"));
    json_decref(doc);
    start_fake(&fakes[1]);
    world_sleep_us(world, 5000000);
    json_decref(make_document("nodes", &us));
    world_sleep_us(world, 1100000);
    doc = make_document("nodes", &us);
    ck_assert_str_eq(text_of(node_of(doc, "sim:2"), "state"), "up");
    json_decref(doc);
    close_all();
}

/* A node that dies keeps its name, and is up once it is back. */
START_TEST(test_a_node_dies_and_returns)
{
    in_simulation(lose_a_node);
}

END_TEST

static void ask_wrongly(void *arg)
{
    static const enum behaviour one[] = {WELL};
    static const struct monitor_param bad[] = {{"nam", "x"}};
    static const struct monitor_param absent[] = {{"name", "x"}};
    static const struct monitor_param zero[] = {{"limit", "0"}};
    struct err err = ERR_INIT;
    json_t *doc;
    (void)arg;
    open_all(one, 1);
    ck_assert_int_eq(monitor_make(monitor, "nodez", NULL, 0, &doc, &err),
                     ERR_NOTFOUND);
    ck_assert_ptr_nonnull(strstr(err.hint, "nodes"));
    ck_assert_int_eq(monitor_make(monitor, "node", bad, 1, &doc, &err),
                     ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(err.hint, "name"));
    ck_assert_int_eq(monitor_make(monitor, "node", NULL, 0, &doc, &err),
                     ERR_INVALID);
    ck_assert_int_eq(monitor_make(monitor, "node", absent, 1, &doc, &err),
                     ERR_NOTFOUND);
    ck_assert_int_eq(monitor_make(monitor, "nodes", zero, 1, &doc, &err),
                     ERR_INVALID);
    ck_assert_ptr_null(doc);
    close_all();
}

/* Mistakes are errors that say what there is instead. */
START_TEST(test_wrong_questions)
{
    in_simulation(ask_wrongly);
}

END_TEST

static void read_pages(void *arg)
{
    static const enum behaviour all[] = {WELL, WELL, WELL};
    static const struct monitor_param first[] = {{"limit", "2"}};
    static const struct monitor_param next[] = {{"limit", "2"}, {"after", "2"}};
    struct err err = ERR_INIT;
    json_t *doc;
    (void)arg;
    open_all(all, 3);
    ck_assert_int_eq(monitor_make(monitor, "nodes", first, 1, &doc, &err), 0);
    ck_assert_uint_eq(json_array_size(json_object_get(doc, "nodes")), 2);
    node_of(doc, "sim:2");
    json_decref(doc);
    ck_assert_int_eq(monitor_make(monitor, "nodes", next, 2, &doc, &err), 0);
    ck_assert_uint_eq(json_array_size(json_object_get(doc, "nodes")), 1);
    node_of(doc, "sim:3");
    json_decref(doc);
    close_all();
}

/* A document that was cut continues behind its last row. */
START_TEST(test_pages)
{
    in_simulation(read_pages);
}

END_TEST

/* --- Sums ---------------------------------------------------------------- */

static struct monitor_tablet tablet(const char *start, const char *end)
{
    return (struct monitor_tablet){.t = {.start = slice_str(start),
                                         .end = slice_str(end),
                                         .bytes = 10,
                                         .milli_reads_per_s = 1500}};
}

/* Rows that no server reports are gaps, wherever they are. */
START_TEST(test_gaps)
{
    struct monitor_tablet whole[] = {tablet("", "g"), tablet("g", "")};
    struct monitor_tablet middle[] = {tablet("", "b"), tablet("g", "")};
    struct monitor_tablet ends[] = {tablet("b", "g"), tablet("g", "k")};
    struct tablet_totals sum = tablet_totals_of(whole, 2);
    ck_assert_uint_eq(sum.gaps, 0);
    ck_assert_uint_eq(sum.bytes, 20);
    ck_assert(fabs(sum.reads_per_s - 3) < 1e-9);
    ck_assert_str_eq(tablet_totals_state(&sum, true), "well");
    sum = tablet_totals_of(middle, 2);
    ck_assert_uint_eq(sum.gaps, 1);
    ck_assert_str_eq(tablet_totals_state(&sum, true),
                     "not all rows are served");
    ck_assert_str_eq(tablet_totals_state(&sum, false),
                     "not all servers have told what they serve");
    ck_assert_uint_eq(tablet_totals_of(ends, 2).gaps, 2);
    ck_assert_uint_eq(tablet_totals_of(NULL, 0).gaps, 1);
}

END_TEST

/* Texts of other processes are no danger to a document. */
START_TEST(test_hostile_texts)
{
    json_t *doc = json_object();
    doc_put_array(doc, "warnings");
    doc_put_text(doc, "text", SLICE_LIT("a\xff\0b"));
    ck_assert_str_eq(text_of(doc, "text"), "a??b");
    doc_put_key(doc, "key", SLICE_LIT("r\xff\\"));
    ck_assert_str_eq(text_of(doc, "key"), "r\\xff\\\\");
    doc_put_double(doc, "nan", NAN);
    ck_assert_ptr_null(json_object_get(doc, "nan"));
    doc_put_double(doc, "big", 1e300);
    ck_assert(json_is_real(json_object_get(doc, "big")));
    doc_put_u64(doc, "most", UINT64_MAX);
    ck_assert_int_eq(json_integer_value(json_object_get(doc, "most")),
                     INT64_MAX);
    doc_warn_lines(doc, SLICE_LIT("one\ntwo\n"));
    ck_assert_uint_eq(json_array_size(json_object_get(doc, "warnings")), 2);
    json_decref(doc);
}

END_TEST

TEST_MAIN("monitor",
          test_fields_of_a_node,
          test_rates,
          test_nodes_that_hang,
          test_a_node_dies_and_returns,
          test_wrong_questions,
          test_pages,
          test_gaps,
          test_hostile_texts)
