/* Who may use which chunk: what the namenode has proved (proof.h). The cluster
 * itself, chunk servers that pass bytes on or copy among it, needs no proof.
 */
#include <string.h>

#include "base/rpc/roles.h"
#include "gfs-lite/chunkserver/state.h"

int chunkserver_check_proof(const struct chunkserver *cs,
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

static bool has_key(const struct chunkserver *cs, uint32_t id)
{
    for (size_t i = 0; i < PROOF_KEYS_KEPT; i++)
        if (cs->keys[i].id == id)
            return true;
    return false;
}

void chunkserver_take_keys(struct chunkserver *cs, const struct gfs_orders *o)
{
    for (size_t i = 0; i < o->key_count; i++) {
        if (o->keys[i].id == 0 || has_key(cs, o->keys[i].id))
            continue;
        memmove(cs->keys + 1, cs->keys,
                (PROOF_KEYS_KEPT - 1) * sizeof(cs->keys[0]));
        cs->keys[0] = o->keys[i];
    }
}
