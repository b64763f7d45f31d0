/* Chunk servers give chunks to those alone to whom the namenode gave a proof: a
 * client that guesses numbers gets nothing. */
#include "base/core/arena.h"
#include "base/rpc/roles.h"
#include "base/rpc/security.h"
#include "gfs-lite/peers.h"
#include "gfs-lite/proof.h"
#include "tests/lib/check_main.h"
#include "tests/unit/gfs-lite/cell.h"
#include "tests/unit/gfs-lite/cell_files.h"

#define HANDLE   UINT64_C(77)
#define TURN_US  UINT64_C(3000000)
#define GRACE_US UINT64_C(2000000)

static int check(const struct gfs_proof *p,
                 const struct proof_key *key,
                 uint64_t handle,
                 uint8_t rights,
                 const char *who)
{
    uint32_t length;
    return proof_check(p, key, 1, handle, rights, slice_str(who), &length,
                       NULL);
}

/* A proof is for one principal, chunk and right, and no byte of it can be
 * another. */
START_TEST(test_forged)
{
    const struct proof_key key = {7, {1, 2, 3}};
    const struct proof_key other = {7, {1, 2, 4}};
    const struct proof_key later = {8, {1, 2, 3}};
    struct gfs_proof p;
    proof_make(&key, HANDLE, PROOF_READ, 100, SLICE_LIT("ann"), &p);
    ck_assert_int_eq(check(&p, &key, HANDLE, PROOF_READ, "ann"), 0);
    ck_assert_int_eq(check(&p, &key, HANDLE, PROOF_READ, "bob"), ERR_DENIED);
    ck_assert_int_eq(check(&p, &key, HANDLE, PROOF_READ, ""), ERR_DENIED);
    ck_assert_int_eq(check(&p, &key, HANDLE + 1, PROOF_READ, "ann"),
                     ERR_DENIED);
    ck_assert_int_eq(check(&p, &key, HANDLE, PROOF_WRITE, "ann"), ERR_DENIED);
    ck_assert_int_eq(check(&p, &other, HANDLE, PROOF_READ, "ann"), ERR_DENIED);
    ck_assert_int_eq(check(&p, &later, HANDLE, PROOF_READ, "ann"), ERR_DENIED);
    for (size_t i = 0; i < PROOF_BYTES; i++)
        for (unsigned bit = 1; bit < 256; bit *= 2) {
            struct gfs_proof forged = p;
            forged.bytes[i] = (uint8_t)(forged.bytes[i] ^ bit);
            ck_assert_int_eq(check(&forged, &key, HANDLE, PROOF_READ, "ann"),
                             ERR_DENIED);
        }
    p.there = false;
    ck_assert_int_eq(check(&p, &key, HANDLE, PROOF_READ, "ann"), ERR_DENIED);
}

END_TEST

/* --- a client that guesses ----------------------------------------------- */

static int ask(struct peers *peers,
               struct cell *c,
               uint32_t method,
               const struct chunk_call *call,
               struct slice data)
{
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct buf attached = BUF_INIT;
    int rc;
    chunk_call_put(call, &body);
    rc = peers_call(peers, slice_str(c->chunks[0].address), method, 1000000,
                    buf_slice(&body), data, &reply, &attached, NULL);
    buf_close(&body);
    buf_close(&reply);
    buf_close(&attached);
    return rc;
}

static void guess(struct cell *c)
{
    struct fs *fs = cell_client(c, sim_director(c->sim), "ann");
    struct peers *peers = peers_new(NULL);
    struct gfs_layout l;
    struct arena a;
    struct buf read = BUF_INIT;
    char other[] = "other";
    await_servers(c, fs);
    ck_assert_int_eq(fs_replace(fs, "f", SLICE_LIT("some bytes"), NULL), 0);
    ck_assert_int_eq(fs_read_all(fs, "f", 100, &read, NULL), 0);
    ck_assert_str_eq(buf_cstr(&read), "some bytes");
    arena_init(&a);
    ck_assert_int_eq(gfs_get_layout(fs, "f", 0, &a, &l, NULL), 0);
    ck_assert_uint_eq(l.chunk_count, 1);
    ck_assert(l.chunks[0].proof.there);
    for (uint64_t handle = 0; handle < 20; handle++) {
        struct chunk_call call = {
            .handle = handle, .version = 1, .length = 5, .flags = CHUNK_MAKE};
        static const uint32_t methods[] = {CHUNK_READ, CHUNK_OPEN, CHUNK_SEAL,
                                           CHUNK_WRITE, CHUNK_APPEND};
        for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
            struct slice data =
                methods[i] >= CHUNK_READ ? SLICE_EMPTY : slice_str(other);
            call.proof.there = false;
            ck_assert_int_eq(ask(peers, c, methods[i], &call, data),
                             ERR_DENIED);
            call.proof = l.chunks[0].proof;
            if (handle != l.chunks[0].handle)
                ck_assert_int_eq(ask(peers, c, methods[i], &call, data),
                                 ERR_DENIED);
        }
    }
    {
        struct chunk_call call = {.handle = l.chunks[0].handle,
                                  .version = 1,
                                  .length = 5,
                                  .proof = l.chunks[0].proof};
        ck_assert_int_eq(ask(peers, c, CHUNK_READ, &call, SLICE_EMPTY), 0);
        /* Nobody says how long a chunk is but the namenode. */
        ck_assert_int_eq(ask(peers, c, CHUNK_SEAL, &call, SLICE_EMPTY),
                         ERR_DENIED);
    }
    arena_close(&a);
    buf_close(&read);
    peers_close(peers);
    fs_close(fs);
}

/* Run @scenario in a cell that proves names and turns keys in seconds. */
static void run_proved(void (*scenario)(struct cell *c))
{
    struct rpc_security *security = rpc_security_none("", "server");
    struct cluster_roles *roles = cluster_roles_new(security, NULL);
    struct cell *c = cell_new(test_seed(), 1, 1);
    c->security = security;
    c->namenode_options.rights =
        (struct rights_rules){.roles = roles, .names_are_proved = true};
    c->namenode_options.proof_turn_us = TURN_US;
    c->chunk_options.security = security;
    c->chunk_options.roles = roles;
    c->chunk_options.names_are_proved = true;
    c->chunk_options.proof_grace_us = GRACE_US;
    cell_run(c, scenario);
    cell_free(c);
    cluster_roles_free(roles);
    rpc_security_free(security);
}

START_TEST(test_guessed)
{
    run_proved(guess);
}

END_TEST

/* --- the end of a proof -------------------------------------------------- */

/* The file system as @security's principal sees it. */
static struct fs *open_as(struct cell *c, const struct rpc_security *security)
{
    const struct gfs_options o = {.namenodes = c->addresses,
                                  .security = security,
                                  .replication = 1,
                                  .chunk_bytes = 4096,
                                  .timeout_us = 40000000};
    struct fs *fs;
    ck_assert_int_eq(fs_gfs_open(sim_director(c->sim), &o, &fs, NULL), 0);
    return fs;
}

static int read_ten(struct fs_reader *r)
{
    char bytes[10];
    size_t got;
    return fs_read_at(r, 0, bytes, sizeof(bytes), &got, NULL);
}

static void outlive(struct cell *c)
{
    struct world *w = sim_director(c->sim);
    struct rpc_security *ann = rpc_security_none("", "ann");
    struct rpc_security *eve = rpc_security_none("", "eve");
    struct fs *fs = open_as(c, ann);
    struct fs *other = open_as(c, eve);
    struct peers *peers = peers_new(ann);
    struct chunk_call call = {.version = 1, .length = 5};
    struct fs_reader *kept;
    struct fs_reader *lost;
    struct gfs_layout l;
    struct arena a;
    await_servers(c, fs);
    arena_init(&a);
    ck_assert_int_eq(fs_replace(fs, "f", SLICE_LIT("some bytes"), NULL), 0);
    ck_assert_int_eq(gfs_get_layout(fs, "f", 0, &a, &l, NULL), 0);
    ck_assert_int_eq(fs_open(fs, "f", &kept, NULL), 0);
    ck_assert_int_eq(fs_open(other, "f", &lost, NULL), 0);
    ck_assert_int_eq(read_ten(kept), 0);
    ck_assert_int_eq(read_ten(lost), 0);
    ck_assert_int_eq(
        gfs_set_mode(fs, "f", GFS_OWNER_READ | GFS_OWNER_WRITE, NULL), 0);
    call.handle = l.chunks[0].handle;
    call.proof = l.chunks[0].proof;
    ck_assert_int_eq(ask(peers, c, CHUNK_READ, &call, SLICE_EMPTY), 0);
    world_sleep_us(w, 2 * TURN_US + GRACE_US + 1000000);
    ck_assert_int_eq(ask(peers, c, CHUNK_READ, &call, SLICE_EMPTY), ERR_DENIED);
    ck_assert_int_eq(read_ten(lost), ERR_DENIED);
    ck_assert_int_eq(read_ten(kept), 0);
    fs_reader_close(lost);
    fs_reader_close(kept);
    arena_close(&a);
    peers_close(peers);
    fs_close(other);
    fs_close(fs);
    rpc_security_free(eve);
    rpc_security_free(ann);
}

/* A proof ends some turns after it was made: who lost his right reads an open
 * file no more, who has it still reads on. */
START_TEST(test_ends)
{
    run_proved(outlive);
}

END_TEST

/* The chunk server has slept through the end of all keys that it knows. */
static void open_early(struct cell *c)
{
    struct world *w = sim_director(c->sim);
    struct fs *fs = cell_client(c, w, "ann");
    struct fs_write_options o = {.mode = FS_WRITE_LOG};
    struct fs_writer *writer;
    struct fs_reader *r;
    await_servers(c, fs);
    ck_assert_int_eq(fs_create(fs, "log", &o, &writer, NULL), 0);
    ck_assert_int_eq(fs_writer_append(writer, "some bytes", 10, NULL), 0);
    ck_assert_int_eq(fs_writer_flush(writer, NULL), 0);
    sim_pause(c->chunks[0].world);
    world_sleep_us(w, 3 * GRACE_US);
    sim_resume(c->chunks[0].world);
    ck_assert_int_eq(fs_open(fs, "log", &r, NULL), 0);
    ck_assert_uint_eq(fs_reader_size(r), 10);
    fs_reader_close(r);
    fs_writer_close(writer);
    fs_close(fs);
}

/* A chunk server that does not know the key of a proof yet is asked again: its
 * refusal is no lack of rights. */
START_TEST(test_early)
{
    run_proved(open_early);
}

END_TEST

/* Every fourth piece needs another chunk, with a key of the namenode that
 * leads. */
static void write_on(struct cell *c)
{
    struct rpc_security *ann = rpc_security_none("", "ann");
    struct fs *fs = open_as(c, ann);
    struct fs_write_options o = {.mode = FS_WRITE_LOG};
    struct fs_writer *writer;
    char piece[1024] = {0};
    struct err err = ERR_INIT;
    await_servers(c, fs);
    ck_assert_int_eq(fs_create(fs, "log", &o, &writer, NULL), 0);
    for (int i = 0; i < 100; i++) {
        if (i % 10 == 5) {
            sim_crash(c->namenodes[0].world, SIM_CRASH_KILL);
            sim_await_end(c->namenodes[0].world);
            sim_boot_again(c->namenodes[0].world);
        }
        ck_assert_msg(fs_writer_append(writer, piece, sizeof(piece), &err) ==
                              0 &&
                          fs_writer_flush(writer, &err) == 0,
                      "piece %d: %s", i, err.text);
    }
    fs_writer_close(writer);
    fs_close(fs);
    rpc_security_free(ann);
}

/* A namenode that has just begun to lead gives proofs by a key that chunk
 * servers learn with their next heartbeat only: until then their refusals are
 * no lack of rights, for writers either. */
START_TEST(test_new_leader)
{
    run_proved(write_on);
}

END_TEST

TEST_MAIN("proof",
          test_forged,
          test_guessed,
          test_ends,
          test_early,
          test_new_leader)
