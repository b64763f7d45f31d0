/* Chunk servers give chunks to those alone to whom the namenode gave a proof: a
 * client that guesses numbers gets nothing. */
#include "base/core/arena.h"
#include "base/core/panic.h"
#include "base/rpc/roles.h"
#include "base/rpc/security.h"
#include "gfs-lite/peers.h"
#include "gfs-lite/proof.h"
#include "tests/lib/check_main.h"
#include "tests/unit/gfs-lite/cell.h"
#include "tests/unit/gfs-lite/cell_files.h"

#define HANDLE UINT64_C(77)

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

/* --- a client that guesses ------------------------------------------------ */

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

START_TEST(test_guessed)
{
    struct rpc_security *security = rpc_security_none("", "server");
    struct cluster_roles *roles = cluster_roles_new(security, NULL);
    struct cell *c = cell_new(test_seed(), 1, 1);
    c->security = security;
    c->namenode_options.rights =
        (struct rights_rules){.roles = roles, .names_are_proved = true};
    c->chunk_options.security = security;
    c->chunk_options.roles = roles;
    c->chunk_options.names_are_proved = true;
    cell_run(c, guess);
    cell_free(c);
    cluster_roles_free(roles);
    rpc_security_free(security);
}

END_TEST

TEST_MAIN("proof", test_forged, test_guessed)
