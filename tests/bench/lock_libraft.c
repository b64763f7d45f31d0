/* The peer: libraft with its own libuv back end, and group commit around it, in
 * which it is far faster than with one request for each command: all commands
 * that wait are one entry, and the next is begun when it is applied. */
#include <raft.h>
#include <raft/uv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <uv.h>

#include "tests/bench/lock.h"

#define PORT         29160
#define ELECTION_MS  300
#define HEARTBEAT_MS 50

static const struct bench_cell *cell;
static struct raft raft;
static struct raft_apply request;
static struct raft_buffer batch;
static double batch_began;
static int busy;
static int told;

static int
apply(struct raft_fsm *fsm, const struct raft_buffer *buf, void **result)
{
    (void)fsm;
    (void)buf;
    *result = NULL;
    return 0;
}

static int
snapshot(struct raft_fsm *fsm, struct raft_buffer *bufs[], unsigned *count)
{
    (void)fsm;
    *count = 1;
    *bufs = raft_malloc(sizeof(**bufs));
    (*bufs)[0].len = 8;
    (*bufs)[0].base = raft_calloc(1, 8);
    return 0;
}

static int restore(struct raft_fsm *fsm, struct raft_buffer *buf)
{
    (void)fsm;
    raft_free(buf->base);
    return 0;
}

static void send_batch(void);

static void on_applied(struct raft_apply *req, int status, void *result)
{
    double us = (bench_now() - batch_began) * 1e6;
    (void)req;
    (void)result;
    busy = 0;
    if (status)
        return;
    if (cell->in_flight == 0 && !told) {
        told = 1;
        bench_report_leader(cell);
    }
    for (unsigned i = 0; i < cell->in_flight; i++)
        bench_commit(us);
    if (cell->in_flight && bench_continues(cell))
        send_batch();
}

static void send_batch(void)
{
    size_t count = cell->in_flight ? cell->in_flight : 1;
    batch.len = count * BENCH_COMMAND_BYTES;
    batch.base = raft_calloc(1, batch.len);
    batch_began = bench_now();
    busy = raft_apply(&raft, &request, &batch, 1, on_applied) == 0;
    if (!busy)
        raft_free(batch.base);
}

/* There is no event for "leads now": look. */
static void look(uv_timer_t *timer)
{
    (void)timer;
    if (raft_state(&raft) != RAFT_LEADER || busy || told)
        return;
    if (cell->in_flight == 0 || bench_continues(cell))
        send_batch();
}

static void check(int rc, const char *what)
{
    if (rc == 0)
        return;
    fprintf(stderr, "%s: %s\n", what, raft_errmsg(&raft));
    _exit(1);
}

static void bootstrap(void)
{
    struct raft_configuration c;
    char address[64];
    raft_configuration_init(&c);
    for (unsigned i = 0; i < BENCH_MEMBERS; i++) {
        snprintf(address, sizeof(address), "127.0.0.1:%u", PORT + i);
        check(raft_configuration_add(&c, i + 1, address, RAFT_VOTER), "add");
    }
    check(raft_bootstrap(&raft, &c), "bootstrap");
    raft_configuration_close(&c);
}

void bench_serve(const struct bench_cell *c, unsigned id)
{
    static struct uv_loop_s loop;
    static struct raft_uv_transport transport;
    static struct raft_io io;
    static struct raft_fsm fsm = {
        .version = 1, .apply = apply, .snapshot = snapshot, .restore = restore};
    uv_timer_t timer;
    char directory[512];
    char address[64];
    cell = c;
    snprintf(directory, sizeof(directory), "%s/%u", c->directory, id);
    snprintf(address, sizeof(address), "127.0.0.1:%u", PORT + id - 1);
    mkdir(directory, 0700);
    uv_loop_init(&loop);
    check(raft_uv_tcp_init(&transport, &loop), "tcp");
    check(raft_uv_init(&io, &loop, directory, &transport), "uv");
    raft_uv_set_connect_retry_delay(&io, 100);
    check(raft_init(&raft, &io, &fsm, id, address), "init");
    raft_set_election_timeout(&raft, ELECTION_MS);
    raft_set_heartbeat_timeout(&raft, HEARTBEAT_MS);
    bootstrap();
    check(raft_start(&raft), "start");
    uv_timer_init(&loop, &timer);
    uv_timer_start(&timer, look, 0, 1);
    uv_run(&loop, UV_RUN_DEFAULT);
}
