/* The cell of a server process, for roles on base/replica: members' addresses
 * and times from the configuration, the replica's directory, its credentials;
 * and the status of a replica as text.
 */
#include "cli/role_cell.h"

#include "base/core/conf.h"
#include "base/core/panic.h"
#include "base/metrics/metrics.h"

void role_directory(const struct role_env *env,
                    const char *role,
                    struct buf *out)
{
    buf_printf(out, "%s/%s", env->data, role);
}

static int read_ms(struct conf *c,
                   const char *role,
                   const char *key,
                   uint32_t *ms,
                   struct err *err)
{
    uint64_t us = 0;
    int rc = conf_get_duration(c, role, key, &us, err);
    if (rc == 0 && us / 1000 > UINT32_MAX)
        rc = err_set(err, ERR_INVALID, "[%s] %s: too long", role, key);
    if (rc == 0 && us)
        *ms = (uint32_t)(us / 1000);
    return rc;
}

static int read_times(const struct role_env *env,
                      const char *role,
                      struct replica_options *o,
                      struct err *err)
{
    int rc = read_ms(env->conf, role, "election", &o->election_ms, err);
    if (rc == 0)
        rc = read_ms(env->conf, role, "heartbeat", &o->heartbeat_ms, err);
    if (rc == 0)
        rc = read_ms(env->conf, role, "read-lease", &o->lease_ms, err);
    if (rc == 0)
        rc = conf_get_bytes(env->conf, role, "snapshot-log",
                            &o->snapshot_log_bytes, err);
    return rc;
}

int role_cell_read(const struct role_env *env,
                   const char *role,
                   struct role_cell *out,
                   struct err *err)
{
    *out = (struct role_cell){.name = BUF_INIT};
    if (env->cell_index == SIZE_MAX) {
        err_set(err, ERR_INVALID, "this node, %s, is not in its cell %s",
                env->address, env->cell);
        err_hint(err, "put it into --cell, or leave the role out of --roles");
        return ERR_INVALID;
    }
    PRE(env->cell_count <= REPLICA_MEMBERS_MAX);
    for (size_t i = 0; i < env->cell_count; i++)
        out->members[i] = (struct replica_member){
            .id = i + 1, .address = env->cell_members[i], .voting = true};
    buf_printf(&out->name, "%s/%s", env->cluster, role);
    role_directory(env, role, &out->directory);
    out->options = (struct replica_options){
        .name = buf_cstr(&out->name),
        .directory = buf_cstr(&out->directory),
        .address = env->address,
        .members = out->members,
        .member_count = env->cell_count,
        .security = env->security,
        .master_keys = env->master_keys,
        .version = env->version,
        .versions = env->versions,
    };
    return read_times(env, role, &out->options, err);
}

void role_cell_close(struct role_cell *c)
{
    buf_close(&c->name);
    buf_close(&c->directory);
}

/* By how much the slowest member that has a part in it is behind. */
static uint64_t follower_lag(const struct replica_status *s)
{
    uint64_t lag = 0;
    for (size_t i = 0; i < s->member_count; i++)
        if (s->members[i].id != s->id &&
            s->members[i].match_index < s->last_index)
            lag = MAX_OF(lag, s->last_index - s->members[i].match_index);
    return lag;
}

static void gather_leader(const struct replica_status *s,
                          const char *const *labels,
                          struct metric_set *out)
{
    size_t silent = 0;
    for (size_t i = 0; i < s->member_count; i++)
        silent += s->members[i].id != s->id && !s->members[i].reachable;
    metric_put(out, METRIC_cell_unreachable_members, labels, (double)silent);
    metric_put(out, METRIC_cell_follower_lag, labels, (double)follower_lag(s));
}

void role_cell_gather(const struct replica_status *s,
                      const char *cell,
                      struct metric_set *out)
{
    const char *const *labels = METRIC_LABELS(cell);
    bool leads = s->role == REPLICA_LEADER;
    metric_put(out, METRIC_cell_leader, labels, leads);
    metric_put(out, METRIC_cell_term, labels, (double)s->term);
    metric_put(out, METRIC_cell_elections, labels, (double)s->terms_seen);
    metric_put(out, METRIC_cell_members, labels, (double)s->member_count);
    metric_put(out, METRIC_cell_last_index, labels, (double)s->last_index);
    metric_put(out, METRIC_cell_commit_index, labels, (double)s->commit_index);
    metric_put(out, METRIC_cell_applied_index, labels,
               (double)s->applied_index);
    metric_put(
        out, METRIC_cell_apply_lag, labels,
        (double)(s->commit_index - MIN_OF(s->applied_index, s->commit_index)));
    if (s->key_made_us)
        metric_put(out, METRIC_encryption_key_made_seconds, labels,
                   (double)s->key_made_us / 1e6);
    if (leads)
        gather_leader(s, labels, out);
}

void role_cell_status(const struct replica_status *s, struct buf *out)
{
    static const char *const roles[] = {"follower", "candidate", "leader",
                                        "outside"};
    buf_printf(
        out,
        "state=%s member=%llu leader=%s term=%llu last=%llu committed=%llu "
        "applied=%llu snapshot=%llu members=%zu",
        roles[s->role], (unsigned long long)s->id,
        s->leader_address[0] ? s->leader_address : "-",
        (unsigned long long)s->term, (unsigned long long)s->last_index,
        (unsigned long long)s->commit_index,
        (unsigned long long)s->applied_index,
        (unsigned long long)s->snapshot_index, s->member_count);
    if (s->votes[0])
        buf_printf(out, " leaderless_ms=%llu %s",
                   (unsigned long long)s->leaderless_us / 1000, s->votes);
}
