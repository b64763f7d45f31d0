/* Proofs of rights to chunks, made by the leader. Each leader draws its own
 * keys; chunk servers keep those of leaders before it as long as they are
 * valid, and a client whose proof has expired asks for the layout again. Where
 * principals are not authenticated there are no proofs.
 */
#include "base/core/panic.h"
#include "base/rpc/roles.h"
#include "base/runtime/world.h"
#include "gfs-lite/namenode/namenode_state.h"

static bool makes_proofs(const struct namenode *nn)
{
    const struct rights_rules *r = &nn->options.rights;
    return r->roles &&
           (r->names_are_proved || cluster_roles_are_proved(r->roles));
}

static void draw_key(struct namenode *nn, struct proof_key *key)
{
    world_random_bytes(nn->world, key, sizeof(*key));
    key->id |= 1; /* Not 0. */
    POST(key->id != 0);
}

void namenode_begin_keys(struct namenode *nn)
{
    nn->key_turned_ns = 0;
    for (size_t i = 0; i < PROOF_KEYS_MAX; i++)
        nn->keys[i] = (struct proof_key){.id = 0};
}

static void turn_once(struct namenode *nn)
{
    PRE(nn->keys[2].id != 0);
    nn->keys[0] = nn->keys[1];
    nn->keys[1] = nn->keys[2];
    draw_key(nn, &nn->keys[2]);
}

/* Keys of the turn before, of this one, and of the next, which chunk servers
 * get before it is used. None is kept longer than two turns, even by a leader
 * that was suspended meanwhile. */
static void turn_keys(struct namenode *nn)
{
    uint64_t turn = nn->options.proof_turn_us * 1000;
    uint64_t now = world_mono_ns(nn->world);
    uint64_t used = now - nn->key_turned_ns;
    if (nn->key_turned_ns && used < turn)
        return;
    if (!nn->key_turned_ns)
        draw_key(nn, &nn->keys[2]);
    else if (used >= 2 * turn)
        turn_once(nn);
    turn_once(nn);
    nn->key_turned_ns = now ? now : 1;
    POST(nn->keys[1].id != 0);
    POST(nn->keys[2].id != 0);
}

size_t namenode_put_keys(struct namenode *nn,
                         struct proof_key keys[PROOF_KEYS_MAX])
{
    if (!makes_proofs(nn))
        return 0;
    turn_keys(nn);
    INVARIANT(nn->key_turned_ns != 0);
    for (size_t i = 0; i < PROOF_KEYS_MAX; i++)
        keys[i] = nn->keys[i];
    return PROOF_KEYS_MAX;
}

void namenode_prove(struct namenode *nn,
                    const struct rpc_call *call,
                    uint64_t handle,
                    uint8_t rights,
                    uint32_t length,
                    struct gfs_proof *out)
{
    out->there = false;
    if (!rights || !rights_bind(&nn->options.rights, call->principal))
        return;
    turn_keys(nn);
    INVARIANT(nn->keys[1].id != 0);
    proof_make(&nn->keys[1], handle, rights, length, call->principal, out);
}
