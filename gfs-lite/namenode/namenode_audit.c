/* Events of the audit log beyond refusals: reads that only an administrator's
 * right to everything allowed, and changes of rights. Reads by the same
 * principal of the same path are noted once a second, so that a scan does not
 * flood the log.
 */
#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/runtime/audit.h"
#include "base/runtime/world.h"
#include "gfs-lite/namenode/namenode_state.h"
#include "gfs-lite/namenode/permission.h"

/* Between notes of the same reader and path. */
#define NOTED_NS UINT64_C(1000000000)

/* Was it noted a moment ago? Records that it is noted now. */
static bool
is_noted(struct namenode *nn, struct slice principal, struct slice path)
{
    uint64_t hash =
        hash64(path.data, path.len, hash64_slice(principal)) | 1; /* Not 0. */
    struct noted_read *r = &nn->noted[hash_mix(hash) % NOTED_READS_MAX];
    uint64_t now = world_mono_ns(nn->world);
    INVARIANT(hash != 0); /* 0 marks a free entry. */
    if (r->hash == hash && now - r->at_ns < NOTED_NS)
        return true;
    *r = (struct noted_read){hash, now};
    return false;
}

/* Would modes and grants have allowed it to the caller as an ordinary user? */
static bool may_anyway(const struct namenode *nn,
                       const struct rpc_call *call,
                       const struct inode *n,
                       unsigned bits)
{
    const struct rights_rules *rules = &nn->options.rights;
    struct permission_caller who = {.principal = call->principal};
    struct buf roles = BUF_INIT;
    bool may;
    PRE(rules->lists); /* Nobody else knows administrators. */
    rules->lists->put_roles(rules->lists_ctx, call->principal, &roles);
    who.roles = buf_slice(&roles);
    may = permission_check(&nn->catalog.names, &who, n, bits, NULL) == 0;
    buf_close(&roles);
    return may;
}

void namenode_audit_read(struct namenode *nn,
                         const struct rpc_call *call,
                         const struct inode *n,
                         unsigned bits)
{
    const struct rights_rules *rules = &nn->options.rights;
    struct audit_event e = {.who = call->principal,
                            .from = call->peer,
                            .what =
                                SLICE_LIT("namenode.read_as_administrator")};
    struct buf path = BUF_INIT;
    if (!world_is_audited(nn->world) || !rights_bind(rules, call->principal) ||
        rights_bind_modes(rules, call->principal) ||
        may_anyway(nn, call, n, bits))
        return;
    if (!slice_eq(call->actor, call->principal))
        e.by = call->actor;
    buf_append_byte(&path, '/');
    inode_put_path(n, &path);
    e.on = buf_slice(&path);
    if (!is_noted(nn, call->principal, e.on))
        audit_note(nn->world, &e);
    buf_close(&path);
}

/* Rights and quotas are always audited, so that the log shows who
 * may do what. Names are audited if a principal other than the cluster itself
 * removes, replaces or copies them, and below the watched paths. */
bool namenode_is_for_audit(const struct namenode *nn,
                           const struct rpc_call *call,
                           const struct gfs_command *c)
{
    const struct rights_rules *r = &nn->options.rights;
    switch ((int)c->op) {
    case GFS_OP_SET_QUOTA:
    case GFS_OP_SET_MODE:
    case GFS_OP_SET_OWNER:
    case GFS_OP_GRANT: return true;
    case GFS_OP_REMOVE:
    case GFS_OP_RENAME:
    case GFS_OP_SNAPSHOT:
    case GFS_OP_SET_REPLICATION:
        return rights_owner(r, call->principal).len > 0 ||
               rights_is_watched(r, c->path) || rights_is_watched(r, c->to);
    default: return false;
    }
}
