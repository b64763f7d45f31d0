/* The replicated registers, their members and their clients. */
#include "tests/sim/register_cell.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/hash.h"
#include "base/core/hash_map.h"
#include "base/replica/cell_call.h"
#include "base/replica/log_segment.h"
#include "base/replica/log_synced.h"
#include "base/rpc/remote.h"
#include "base/rpc/security.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "tests/lib/linearizable.h"
#include "tests/sim/storm.h"

enum {
    CLIENTS = 8,
    METHOD_CALL = 500
};

/* States tried for each register. */
#define BUDGET 20000

struct register_cell register_cell;

/* By index: a hash of the command that was applied there first. */
static struct hash_map applied;
static struct rpc_security *security;
static const char *const addresses[REGISTER_MEMBERS_MAX] = {
    "m1:70", "m2:70", "m3:70", "m4:70", "m5:70"};

const char *register_member_address(size_t i)
{
    return addresses[i];
}

/* --- the machine: some registers ----------------------------------------- */

/* All members must agree on what is at @index; @hash 0: nothing for the
 * machine.
 */
static void note_index(uint64_t index, uint64_t hash)
{
    bool added;
    union hash_value *v = hash_map_put(&applied, hash_key_u64(&index), &added);
    if (added)
        v->number = hash;
    STORM_CHECK(v->number == hash,
                "two members applied different commands at index %" PRIu64,
                index);
}

static void
note_applied(struct register_member *m, uint64_t index, struct slice command)
{
    for (uint64_t i = m->last_index + 1; m->last_index && i < index; i++)
        note_index(i, 0);
    note_index(index, hash64(command.data, command.len, index) | 1);
    m->last_index = index;
}

/* command = key:le64 kind:le64 number:le64 */
static void registers_apply(void *ctx,
                            uint64_t index,
                            struct slice command,
                            struct buf *reply)
{
    struct register_member *m = ctx;
    struct registers *r = &m->registers;
    struct cursor c = cursor_make(command);
    uint64_t key = cursor_le64(&c) % REGISTER_KEYS;
    uint64_t kind = cursor_le64(&c);
    uint64_t number = cursor_le64(&c);
    note_applied(m, index, command);
    if (kind == REGISTER_WRITE)
        r->values[key] = number;
    else
        r->values[key] += number;
    r->applied++;
    buf_put_le64(reply, r->values[key]);
}

static void registers_save(void *ctx, struct buf *out)
{
    const struct register_member *m = ctx;
    buf_append(out, &m->registers, sizeof(m->registers));
}

static int registers_load(void *ctx, struct slice image, struct err *err)
{
    struct register_member *m = ctx;
    m->last_index = 0;
    if (image.len == 0)
        m->registers = (struct registers){.applied = 0};
    else if (image.len == sizeof(m->registers))
        memcpy(&m->registers, image.data, image.len);
    else
        return err_set(err, ERR_CORRUPT, "registers");
    return 0;
}

/* --- the cell ------------------------------------------------------------ */

/* The register's service: reads behind a barrier, the rest by proposal. */
static int serve_call(void *ctx, struct rpc_call *call, struct err *err)
{
    struct register_member *m = ctx;
    struct cursor c = cursor_make(call->attachment);
    uint64_t key = cursor_le64(&c) % REGISTER_KEYS;
    uint64_t kind = cursor_le64(&c);
    int rc;
    if (kind != REGISTER_READ)
        return replica_propose(m->replica, call->attachment,
                               call->reply_attachment, err);
    rc = replica_read_barrier(m->replica, err);
    if (rc == 0)
        buf_put_le64(call->reply_attachment, m->registers.values[key]);
    return rc;
}

static int
serve_member(struct register_member *m, struct rpc_server *rpc, struct err *err)
{
    static const struct rpc_method method = {METHOD_CALL, "test.call",
                                             serve_call, 0};
    struct replica_member cell[REGISTER_MEMBERS_MAX];
    struct replica_machine machine = {m, registers_apply, registers_save,
                                      registers_load, NULL};
    char directory[32];
    struct replica_options opts = {.name = "test",
                                   .directory = directory,
                                   .id = register_cell.entering ? 0 : m->id,
                                   .address = m->address,
                                   .members = cell,
                                   .member_count = register_cell.founder_count,
                                   .security = security,
                                   .snapshot_log_bytes = 6000,
                                   .append_bytes_max =
                                       register_cell.append_bytes_max,
                                   .lease_ms = register_cell.lease_ms};
    struct rpc_listen_options listen = {.security = security};
    struct rpc_listener *listener = NULL;
    int rc;
    snprintf(directory, sizeof(directory), "/cell-%u", m->disks);
    for (size_t i = 0; i < register_cell.founder_count; i++)
        cell[i] = (struct replica_member){i + 1, addresses[i], true};
    if (m->id > register_cell.founder_count && !register_cell.entering)
        opts.member_count = 0;
    rc = replica_open(m->world, rpc, &machine, &opts, &m->replica, err);
    if (rc)
        return rc;
    STORM_CHECK(!m->cut, "member %" PRIu64 " starts with a log that was cut",
                m->id);
    rpc_server_add(rpc, &method, 1, m);
    rc = rpc_listen(rpc, m->address, &listen, &listener, err);
    while (rc == 0 && fiber_check(NULL) == 0) {
        world_sleep_us(m->world, SECOND_US / 10);
        rc = replica_health(m->replica, err);
        rc = rc == ERR_FULL ? 0 : rc;
    }
    rpc_listener_close(listener);
    replica_close(m->replica);
    m->replica = NULL;
    return rc;
}

void register_member_main(void *arg)
{
    struct register_member *m = arg;
    struct rpc_server *rpc = rpc_server_new(m->world);
    struct err err = ERR_INIT;
    int rc = serve_member(m, rpc, &err);
    if (rc)
        sim_note(register_cell.sim, "member %d ends: %s", (int)m->id, err.text);
    /* A damaged or foreign directory would be our own doing. */
    STORM_CHECK(rc != ERR_INVALID && (rc != ERR_CORRUPT || m->cut), "%s",
                err.text);
    rpc_server_free(rpc);
}

void register_cell_start(struct sim_cluster *sim,
                         const struct register_options *opts)
{
    static const struct sim_options o = {
        .network_us = 300, .sync_us = 500, .write_us = 50, .read_us = 50};
    security = rpc_security_none("test", "member");
    hash_map_init(&applied, HASH_KEYS_COPIED);
    register_cell =
        (struct register_cell){.sim = sim,
                               .append_bytes_max = opts->append_bytes_max,
                               .lease_ms = opts->lease_ms,
                               .entering = opts->entering,
                               .founder_count = opts->founders,
                               .member_count = opts->founders + opts->joiners};
    for (size_t i = 0; i < register_cell.member_count; i++) {
        char name[32];
        snprintf(name, sizeof(name), "m%zu", i + 1);
        register_cell.members[i] =
            (struct register_member){.world = sim_machine_new(sim, name, &o),
                                     .id = i + 1,
                                     .address = addresses[i]};
    }
}

void register_cell_boot(void)
{
    for (size_t i = 0; i < register_cell.member_count; i++)
        sim_boot(register_cell.members[i].world, register_member_main,
                 &register_cell.members[i]);
}

void register_cell_stop(void)
{
    for (size_t i = 0; i < register_cell.member_count; i++)
        if (sim_is_up(register_cell.members[i].world))
            sim_stop(register_cell.members[i].world);
}

void register_cell_finish(void)
{
    rpc_security_free(security);
    hash_map_close(&applied);
}

void register_sleep_us(uint64_t us)
{
    world_sleep_us(sim_director(register_cell.sim), us);
}

void register_kill(struct register_member *m, enum sim_crash how)
{
    m->dying = true;
    sim_crash(m->world, how);
}

void register_lose_disk(struct register_member *m)
{
    if (sim_is_up(m->world) && !m->dying)
        register_kill(m, SIM_CRASH_POWER);
    if (m->dying)
        sim_await_end(m->world);
    m->dying = false;
    m->disks++;
}

/* Make the segment at @path shorter, or remove it; both have reached the disk.
 */
static void cut_segment(struct world *w,
                        const char *directory,
                        const char *path,
                        struct rand_gen *r)
{
    struct file *f;
    uint64_t size;
    if (rand_one_in(r, 4)) {
        STORM_CHECK(world_remove(w, path, NULL) == 0 &&
                        world_sync_dir(w, directory, NULL) == 0,
                    "%s cannot be removed", path);
        return;
    }
    STORM_CHECK(file_open(w, path, FILE_READ | FILE_WRITE, &f, NULL) == 0 &&
                    file_size(f, &size, NULL) == 0 && size > 0 &&
                    file_truncate(f, rand_below(r, size), NULL) == 0 &&
                    file_sync(f, NULL) == 0,
                "%s cannot be cut", path);
    file_close(f);
}

/* Segment @last; where the power went, those before it too: the one that its
 * disk will name may be one of them. */
static void cut_segments(struct world *w,
                         const char *directory,
                         uint64_t last,
                         bool all,
                         struct rand_gen *r)
{
    struct buf path = BUF_INIT;
    struct file_info info;
    replica_log_path(directory, last, &path);
    cut_segment(w, directory, buf_cstr(&path), r);
    for (uint64_t number = last - 1; all && number > 0; number--) {
        replica_log_path(directory, number, &path);
        if (world_stat(w, buf_cstr(&path), &info, NULL) != 0)
            break;
        cut_segment(w, directory, buf_cstr(&path), r);
    }
    buf_close(&path);
}

void register_cut_log(struct register_member *m, struct rand_gen *r)
{
    bool power = rand_one_in(r, 2);
    char directory[48];
    struct log_reach reach;
    int rc;
    register_kill(m, power ? SIM_CRASH_POWER : SIM_CRASH_KILL);
    sim_await_end(m->world);
    m->dying = false;
    snprintf(directory, sizeof(directory), "/cell-%u/log", m->disks);
    rc = log_synced_read(m->world, directory, &reach, NULL);
    if (rc == 0 && reach.position > 0) {
        cut_segments(m->world, directory, reach.segment, power, r);
        m->cut = true;
        sim_boot_again(m->world);
        sim_await_end(m->world);
        m->cut = false;
    }
    m->disks++;
}

void register_boot(struct register_member *m)
{
    if (m->dying)
        sim_await_end(m->world);
    m->dying = false;
    if (!sim_is_up(m->world))
        sim_boot_again(m->world);
}

void register_boot_all(void)
{
    for (size_t i = 0; i < register_cell.member_count; i++)
        register_boot(&register_cell.members[i]);
}

uint64_t register_moment_us(struct rand_gen *r)
{
    static const uint64_t most_us[] = {1, 1500, 4000, 20000, 400000};
    return rand_below(r, most_us[rand_below(r, 5)]);
}

struct register_member *register_leader(void)
{
    for (size_t i = 0; i < register_cell.member_count; i++)
        if (register_cell.members[i].replica &&
            replica_is_leader(register_cell.members[i].replica))
            return &register_cell.members[i];
    return NULL;
}

struct register_member *register_await_leader(uint64_t within_us)
{
    uint64_t until = sim_cluster_now_us(register_cell.sim) + within_us;
    while (!register_leader() && sim_cluster_now_us(register_cell.sim) < until)
        register_sleep_us(1000);
    STORM_CHECK(register_leader(), "no leader within %" PRIu64 " us",
                within_us);
    return register_leader();
}

void register_cell_survives(uint64_t within_us)
{
    struct register_member *m = register_await_leader(within_us);
    size_t first = (size_t)(m - register_cell.members);
    for (size_t i = 0; i < (register_cell.member_count - 1) / 2; i++)
        register_kill(
            &register_cell.members[(first + i) % register_cell.member_count],
            SIM_CRASH_KILL);
    sim_await_end(m->world);
    register_await_leader(within_us);
    register_boot_all();
}

/* --- removals ------------------------------------------------------------ */

/* More than a member waits for answers of the others. */
#define REMOVE_US (10 * SECOND_US)

static bool has_no_answer(int rc)
{
    return rc == ERR_UNAVAILABLE || rc == ERR_BUSY || rc == ERR_DEADLINE;
}

int register_remove(const struct register_member *ask,
                    uint64_t id,
                    struct err *err)
{
    const struct cell_request q = {.verb = CELL_REMOVE, .id = id};
    uint64_t until = storm_now_us() + 2 * REMOVE_US;
    char hint[256];
    const char *to = ask->address;
    int rc;
    do {
        err_init(err);
        rc = cell_call(to, security, REPLICA_METHOD, REMOVE_US, &q, NULL, err);
        to = ask->address;
        if (replica_leader_hint(err, hint, sizeof(hint)))
            to = hint;
        else if (rc)
            register_sleep_us(50000);
    } while (has_no_answer(rc) && storm_now_us() < until);
    return rc;
}

/* --- clients ------------------------------------------------------------- */

struct client {
    struct rand_gen rand;
    struct fiber *fiber;
    struct rpc_channel *channels[REGISTER_MEMBERS_MAX];
    uint64_t id;
    size_t server; /* The one asked first. */
    uint64_t answered;
};

static struct history *history;
static uint64_t last_number; /* Written: all differ. */
static struct client clients[CLIENTS];
static bool ending;

/* One try at one member. */
static int call_member(struct client *c,
                       uint64_t key,
                       const struct history_value *in,
                       uint64_t *out,
                       struct err *err)
{
    struct rpc_call_options opts = {.timeout_us = 2 * SECOND_US};
    struct buf request = BUF_INIT;
    struct buf reply = BUF_INIT;
    bool sent = true;
    int rc;
    opts.sent = &sent;
    buf_put_le64(&request, key);
    buf_put_le64(&request, in->kind);
    buf_put_le64(&request, in->a);
    rc = rpc_call(c->channels[c->server], METHOD_CALL, &opts, SLICE_EMPTY,
                  buf_slice(&request), NULL, &reply, err);
    if (rc == 0)
        *out = reply.len == 8 ? get_le64(reply.data) : UINT64_MAX;
    buf_close(&request);
    buf_close(&reply);
    /* Refused: surely not executed. */
    if (rc && (!sent || strstr(err->text, "not the leader")))
        rc = ERR_BUSY;
    return rc;
}

static void choose_server(struct client *c, const struct err *err)
{
    char hint[64];
    if (replica_leader_hint(err, hint, sizeof(hint)))
        c->server = (size_t)(hint[1] - '1') % register_cell.member_count;
    else
        c->server = rand_below(&c->rand, register_cell.member_count);
}

static void one_call(struct client *c)
{
    uint64_t key = rand_below(&c->rand, REGISTER_KEYS);
    /* Sums of calls that nobody answered are hard to judge: few of them. */
    uint64_t draw = rand_below(&c->rand, 20);
    struct history_value in = {.kind = draw < 9    ? REGISTER_READ
                                       : draw < 19 ? REGISTER_WRITE
                                                   : REGISTER_ADD,
                               .a = ++last_number};
    struct history_value out = {0};
    struct err err = ERR_INIT;
    size_t op;
    int rc;
    if (in.kind == REGISTER_READ)
        in.a = 0;
    op = history_call(history, sim_cluster_now_us(register_cell.sim), c->id,
                      key, &in);
    rc = call_member(c, key, &in, &out.a, &err);
    if (rc == 0) {
        history_return(history, op, sim_cluster_now_us(register_cell.sim),
                       &out);
        c->answered++;
        return;
    }
    if (rc == ERR_BUSY || in.kind == REGISTER_READ)
        history_failed(history, op);
    choose_server(c, &err);
    register_sleep_us(rand_below(&c->rand, 50000));
}

static void run_client(void *arg)
{
    struct client *c = arg;
    for (size_t i = 0; i < register_cell.member_count; i++)
        c->channels[i] = rpc_channel_new(
            addresses[i], &(struct rpc_channel_options){.security = security});
    while (!ending) {
        one_call(c);
        register_sleep_us(rand_below(&c->rand, 40000));
    }
    for (size_t i = 0; i < register_cell.member_count; i++)
        rpc_channel_free(c->channels[i]);
}

void register_clients_start(uint64_t seed)
{
    ending = false;
    history = history_new();
    memset(clients, 0, sizeof(clients));
    for (size_t i = 0; i < CLIENTS; i++) {
        clients[i].id = i + 1;
        rand_init(&clients[i].rand, seed * CLIENTS + i);
        clients[i].fiber =
            fiber_start(loop_self(), "client", run_client, &clients[i]);
    }
}

static void judge(void)
{
    struct buf why = BUF_INIT;
    enum history_verdict v =
        history_check(history, &history_register, BUDGET, &why);
    /* After a hunt there may be too many calls without an answer. The
     * commands that members applied were compared all the same. */
    STORM_CHECK(v != HISTORY_WRONG, "%sthe registers' answers have no order",
                buf_cstr(&why));
    buf_close(&why);
    history_free(history);
}

uint64_t register_clients_end(void)
{
    uint64_t answered = 0;
    ending = true;
    for (size_t i = 0; i < CLIENTS; i++) {
        fiber_join(clients[i].fiber);
        answered += clients[i].answered;
    }
    judge();
    return answered;
}

static void expect_same(const struct register_member *a,
                        const struct register_member *b)
{
    struct replica_status s;
    struct replica_status t;
    replica_get_status(a->replica, &s);
    replica_get_status(b->replica, &t);
    STORM_CHECK(s.applied_index == t.applied_index,
                "member %" PRIu64 " is at %" PRIu64 ", member %" PRIu64
                " at %" PRIu64,
                a->id, s.applied_index, b->id, t.applied_index);
    STORM_CHECK(memcmp(&a->registers, &b->registers, sizeof(a->registers)) == 0,
                "members %" PRIu64 " and %" PRIu64 " differ", a->id, b->id);
}

void register_cell_agree(void)
{
    const struct register_member *m = register_await_leader(20 * SECOND_US);
    register_sleep_us(2 * SECOND_US);
    m = register_await_leader(20 * SECOND_US);
    for (size_t i = 0; i < register_cell.member_count; i++)
        if (register_cell.members[i].replica)
            expect_same(m, &register_cell.members[i]);
}
