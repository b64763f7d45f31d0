/* A writer whose calls to the namenode are refused from some moment on says so,
 * and does not wait: each call of each way of writing is the first to be
 * refused once. And a right that was taken away does not end the writing. */
#include "base/rpc/remote.h"
#include "base/rpc/roles.h"
#include "base/rpc/security.h"
#include "gfs-lite/gfs_wire.h"
#include "gfs-lite/peers.h"
#include "tests/unit/gfs-lite/cell_files.h"

enum {
    CHUNK_BYTES = 128 << 10,
    PIECE_BYTES = 100 << 10,
    PIECES = 3,
    SERVERS = 4,
    QUICK_US = 15000000 /* A client waits for 40 s before it gives up. */
};

/* --- a gate before the namenode ------------------------------------------ */

struct gate {
    struct cell *cell;
    struct world *world; /* The machine it runs on. */
    struct peers *peers;
    unsigned calls;  /* Since the file was made. */
    unsigned refuse; /* The first of them that is refused; 0: none is. */
    bool open;       /* Nothing is counted. */
};

static struct gate gate;

static int pass_gate(void *ctx, struct rpc_call *call, struct err *err)
{
    (void)ctx;
    if (!gate.open && call->method != GFS_RENEW &&
        ++gate.calls >= gate.refuse && gate.refuse)
        return err_set(err, ERR_DENIED, "the gate is closed");
    return peers_call(gate.peers, slice_str(gate.cell->namenodes[0].address),
                      call->method, 3000000, call->body, call->attachment,
                      call->reply_body, call->reply_attachment, err);
}

static const struct rpc_method gate_methods[] = {
    {GFS_EXECUTE, "gate.execute", pass_gate, 0},
    {GFS_LAYOUT, "gate.layout", pass_gate, 0},
    {GFS_RECOVER, "gate.recover", pass_gate, 0},
    {GFS_RENEW, "gate.renew", pass_gate, 0},
};

static void run_gate(void *arg)
{
    struct rpc_server *server = rpc_server_new(gate.world);
    struct rpc_listener *listener = NULL;
    (void)arg;
    gate.peers = peers_new(NULL);
    rpc_server_add(server, gate_methods, ARRAY_LEN(gate_methods), NULL);
    OK(rpc_listen(server, "0.0.0.0:" CELL_PORT, NULL, &listener, err));
    cell_serve_until_cancelled(gate.world);
    rpc_listener_close(listener);
    rpc_server_free(server);
    peers_close(gate.peers);
}

/* A client that finds the namenode behind the gate. */
static struct fs *open_behind_gate(struct cell *c)
{
    struct fs *fs = cell_client(c, sim_director(c->sim), "first");
    await_servers(c, fs);
    fs_close(fs);
    gate = (struct gate){
        .cell = c, .world = c->chunks[SERVERS].world, .open = true};
    sim_boot(gate.world, run_gate, NULL);
    world_sleep_us(sim_director(c->sim), 100000);
    snprintf(c->addresses, sizeof(c->addresses), "%s",
             c->chunks[SERVERS].address);
    return cell_client(c, sim_director(c->sim), "writer");
}

/* --- ways of writing ----------------------------------------------------- */

struct way {
    enum fs_write_mode mode;
    bool sync_each;
    bool lose_server; /* A chunk server dies under it. */
};

static const struct way ways[] = {
    {FS_WRITE_STREAM, false, false},
    {FS_WRITE_LOG, true, false},
    {FS_WRITE_STREAM, true, true},
};

static const struct way *way; /* The one under test, */
static unsigned refuse;       /* and the call to refuse. */
static unsigned call_count;   /* How many there were. */
static int outcome;

/* Append and sync all; the first error, with what it says in @err. */
static int write_pieces(struct cell *c, struct fs_writer *w, struct err *err)
{
    struct buf piece = BUF_INIT;
    int rc = 0;
    for (int i = 0; i < PIECES && rc == 0; i++) {
        buf_clear(&piece);
        fill(&piece, (uint64_t)i * PIECE_BYTES, PIECE_BYTES, 7);
        if (i == 1 && way->lose_server)
            sim_crash(c->chunks[0].world, SIM_CRASH_KILL);
        rc = way->sync_each
                 ? fs_writer_append_sync(w, piece.data, piece.len, err)
                 : fs_writer_append(w, piece.data, piece.len, err);
    }
    buf_close(&piece);
    return rc ? rc : fs_writer_sync(w, err);
}

static void write_behind_gate(struct cell *c)
{
    const struct fs_write_options o = {.mode = way->mode};
    struct world *world = sim_director(c->sim);
    struct fs *fs = open_behind_gate(c);
    struct err why = ERR_INIT;
    struct fs_writer *w;
    uint64_t begun;
    OK(fs_create(fs, "f", &o, &w, err));
    begun = world_mono_ns(world);
    gate.refuse = refuse;
    gate.open = false;
    outcome = write_pieces(c, w, &why);
    ck_assert_msg(outcome == 0 || why.code == outcome, "%d, but \"%s\" is %d",
                  outcome, why.text, why.code);
    if (outcome)
        ck_assert_msg(strstr(why.text, "the gate is closed"), "%s", why.text);
    fs_writer_close(w);
    call_count = gate.calls;
    ck_assert_msg(world_mono_ns(world) - begun < QUICK_US * UINT64_C(1000),
                  "call %u is refused, and %d comes after %d ms", refuse,
                  outcome, (int)((world_mono_ns(world) - begun) / 1000000));
    gate.open = true;
    fs_close(fs);
}

static void run_on_cell(void (*scenario)(struct cell *c))
{
    struct cell *c = cell_new(test_seed(), 1, SERVERS);
    cell_add_node(c, &c->chunks[SERVERS], "c", SERVERS);
    c->chunk_bytes = CHUNK_BYTES;
    cell_run(c, scenario);
    cell_free(c);
}

START_TEST(test_each_call_is_refused)
{
    unsigned refused = 0;
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        way = &ways[i];
        refuse = 0;
        run_on_cell(write_behind_gate);
        ck_assert_int_eq(outcome, 0);
        for (unsigned n = 1, all = call_count; n <= all; n++) {
            refuse = n;
            run_on_cell(write_behind_gate);
            /* Nothing was promised of what the last ones do. */
            ck_assert(outcome == ERR_DENIED || (outcome == 0 && n > 1));
            refused += outcome == ERR_DENIED;
        }
    }
    ck_assert_uint_gt(refused, 3 * ARRAY_LEN(ways));
}

END_TEST

/* --- chunk servers that refuse ------------------------------------------- */

static void write_refused(struct cell *c)
{
    struct world *world = sim_director(c->sim);
    struct fs *fs = cell_client(c, world, "ann");
    uint64_t begun;
    await_servers(c, fs);
    begun = world_mono_ns(world);
    ck_assert_int_eq(fs_replace(fs, "f", SLICE_LIT("bytes"), NULL), ERR_DENIED);
    ck_assert_uint_lt(world_mono_ns(world) - begun, QUICK_US * UINT64_C(1000));
    fs_close(fs);
}

/* They want proofs, and the namenode gives none: another chunk is tried, and
 * not one after the other. */
START_TEST(test_servers_refuse)
{
    struct rpc_security *security = rpc_security_none("", "server");
    struct cluster_roles *roles = cluster_roles_new(security, NULL);
    struct cell *c = cell_new(test_seed(), 1, 3);
    c->chunk_options.security = security;
    c->chunk_options.roles = roles;
    c->chunk_options.names_are_proved = true;
    cell_run(c, write_refused);
    cell_free(c);
    cluster_roles_free(roles);
    rpc_security_free(security);
}

END_TEST

/* --- rights that are taken away ------------------------------------------ */

/* "ann" may not pass the directory any more once she has made her file. */
static void write_without_pass(struct cell *c)
{
    const struct fs_write_options o = {.mode = FS_WRITE_STREAM};
    struct world *world = sim_director(c->sim);
    struct fs *fs = cell_client(c, world, "ann");
    struct buf bytes = BUF_INIT;
    struct fs_writer *w;
    await_servers(c, fs);
    fill(&bytes, 0, PIECE_BYTES * PIECES, 7);
    OK(fs_mkdirs(fs, "d", err));
    OK(fs_create(fs, "d/f", &o, &w, err));
    OK(gfs_set_mode(fs, "d", 0, err));
    OK(fs_writer_append(w, bytes.data, bytes.len, err));
    OK(fs_writer_sync(w, err));
    fs_writer_close(w);
    ck_assert_int_eq(fs_open(fs, "d/f", &(struct fs_reader *){NULL}, NULL),
                     ERR_DENIED);
    OK(gfs_set_mode(fs, "d", 070, err));
    check_file(fs, "d/f", buf_slice(&bytes));
    buf_close(&bytes);
    fs_close(fs);
}

START_TEST(test_a_right_that_was_taken_away)
{
    struct rpc_security *security = rpc_security_none("", "server");
    struct cluster_roles *roles = cluster_roles_new(security, NULL);
    struct cell *c = cell_new(test_seed(), 1, 3);
    c->security = security;
    c->namenode_options.rights =
        (struct rights_rules){.roles = roles, .names_are_proved = true};
    c->chunk_options.security = security;
    c->chunk_options.roles = roles;
    c->chunk_options.names_are_proved = true;
    c->chunk_bytes = CHUNK_BYTES;
    cell_run(c, write_without_pass);
    cell_free(c);
    cluster_roles_free(roles);
    rpc_security_free(security);
}

END_TEST

TEST_MAIN("denied",
          test_each_call_is_refused,
          test_servers_refuse,
          test_a_right_that_was_taken_away)
