/* Making and verifying proofs: a MAC over the chunk, the rights, the length and
 * the principal. Verification compares MACs in constant time and never asks the
 * namenode.
 */
#include "gfs-lite/proof.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"

#define RIGHTS_AT 4
#define LENGTH_AT 5
#define MAC_AT    9

static void proof_compute(const struct proof_key *key,
                          uint64_t handle,
                          uint8_t rights,
                          uint32_t length,
                          struct slice principal,
                          uint8_t out[RPC_MAC_BYTES])
{
    char head[13];
    struct buf text = BUF_INIT;
    put_le64(head, handle);
    head[8] = (char)rights;
    put_le32(head + 9, length);
    buf_append(&text, head, sizeof(head));
    buf_append_slice(&text, principal);
    rpc_mac(key->secret, buf_slice(&text), out);
    buf_close(&text);
}

void proof_make(const struct proof_key *key,
                uint64_t handle,
                uint8_t rights,
                uint32_t length,
                struct slice principal,
                struct gfs_proof *out)
{
    put_le32((char *)out->bytes, key->id);
    out->bytes[RIGHTS_AT] = rights;
    put_le32((char *)out->bytes + LENGTH_AT, length);
    proof_compute(key, handle, rights, length, principal, out->bytes + MAC_AT);
    out->there = true;
}

static int proof_refuse(struct slice principal,
                        uint64_t handle,
                        const char *why,
                        struct err *err)
{
    return err_set(err, ERR_DENIED, "\"%.*s\" may not use chunk %llu: %s",
                   SLICE_ARG(principal), (unsigned long long)handle, why);
}

int proof_check(const struct gfs_proof *p,
                const struct proof_key *keys,
                size_t count,
                uint64_t handle,
                uint8_t rights,
                struct slice principal,
                uint32_t *length,
                struct err *err)
{
    const struct proof_key *key = NULL;
    uint8_t mac[RPC_MAC_BYTES];
    uint32_t id = get_le32((const char *)p->bytes);
    *length = get_le32((const char *)p->bytes + LENGTH_AT);
    if (!p->there)
        return proof_refuse(principal, handle, "the namenode gave no proof",
                            err);
    for (size_t i = 0; i < count && !key; i++)
        if (keys[i].id && keys[i].id == id)
            key = &keys[i];
    if (!key)
        return proof_refuse(principal, handle, "its proof has ended", err);
    proof_compute(key, handle, p->bytes[RIGHTS_AT], *length, principal, mac);
    if (!rpc_mac_is(mac, p->bytes + MAC_AT))
        return proof_refuse(principal, handle,
                            "its proof is for something else", err);
    if (rights & ~p->bytes[RIGHTS_AT])
        return proof_refuse(principal, handle, "its proof does not say so",
                            err);
    return 0;
}
