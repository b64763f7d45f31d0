/* Rights to chunks: the proofs that the namenode signed (proof.h) are verified
 * with the keys it sent with heartbeats, so that no call to it is needed. The
 * cluster itself, chunk servers that forward bytes or copy, needs no proof.
 */
#include <string.h>

#include "base/core/fault.h"
#include "base/core/panic.h"
#include "base/rpc/roles.h"
#include "base/runtime/world.h"
#include "gfs-lite/chunkserver/chunkserver_state.h"

/* Forget keys that no namenode has named for the grace: a proof ends with its
 * key. */
static void forget_old_keys(struct chunkserver *cs)
{
    uint64_t now = world_mono_ns(cs->world);
    if (fault_hit("gfs.trust_old_proof"))
        return;
    for (size_t i = 0; i < PROOF_KEYS_KEPT; i++) {
        INVARIANT(cs->key_named_ns[i] <= now);
        if (now - cs->key_named_ns[i] > cs->proof_grace_us * 1000)
            cs->keys[i].id = 0;
    }
}

int chunkserver_check_proof(struct chunkserver *cs,
                            const struct rpc_call *rpc,
                            const struct chunk_call *call,
                            uint8_t rights,
                            bool seals,
                            uint8_t *has,
                            struct err *err)
{
    uint32_t length;
    int rc;
    *has = PROOF_READ | PROOF_WRITE;
    if (!cs->roles || cluster_roles_has(cs->roles, rpc->principal))
        return 0;
    forget_old_keys(cs);
    rc = proof_check(&call->proof, cs->keys, PROOF_KEYS_KEPT, call->handle,
                     rights, rpc->principal, &length, err);
    if (rc)
        return rc;
    *has = call->proof.bytes[4];
    if (seals && (length == 0 || length != call->length))
        return err_set(
            err, ERR_DENIED, "\"%.*s\" may not seal chunk %llu at %llu bytes",
            SLICE_ARG(rpc->principal), (unsigned long long)call->handle,
            (unsigned long long)call->length);
    return 0;
}

/* The index of key @id; PROOF_KEYS_KEPT: it is not known. */
static size_t find_key(const struct chunkserver *cs, uint32_t id)
{
    size_t i = 0;
    while (i < PROOF_KEYS_KEPT && cs->keys[i].id != id)
        i++;
    return i;
}

/* Put @key first; the last one is dropped. */
static void add_key(struct chunkserver *cs, const struct proof_key *key)
{
    PRE(key->id != 0);
    memmove(cs->keys + 1, cs->keys,
            (PROOF_KEYS_KEPT - 1) * sizeof(cs->keys[0]));
    memmove(cs->key_named_ns + 1, cs->key_named_ns,
            (PROOF_KEYS_KEPT - 1) * sizeof(cs->key_named_ns[0]));
    cs->keys[0] = *key;
}

void chunkserver_take_keys(struct chunkserver *cs, const struct gfs_orders *o)
{
    uint64_t now = world_mono_ns(cs->world);
    for (size_t i = 0; i < o->key_count; i++) {
        size_t at = find_key(cs, o->keys[i].id);
        if (o->keys[i].id == 0)
            continue;
        if (at == PROOF_KEYS_KEPT) {
            add_key(cs, &o->keys[i]);
            at = 0;
        }
        INVARIANT(at < PROOF_KEYS_KEPT);
        cs->key_named_ns[at] = now;
    }
}
