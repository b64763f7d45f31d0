/* The cluster itself and its processes are told from users, by names where
 * these are claims. TLS is in cluster/access.
 */
#include "base/rpc/roles.h"
#include "base/rpc/security.h"
#include "tests/lib/check_main.h"

static bool has(const struct cluster_roles *r, const char *name)
{
    return cluster_roles_has(r, slice_str(name));
}

/* Without proofs a process is one of the cluster's for all other processes, by
 * the name that it goes by; no other name begins so. */
START_TEST(test_processes)
{
    struct rpc_security *one = rpc_security_none("quarry", "n1");
    struct rpc_security *two = rpc_security_none("quarry", "n2");
    struct rpc_security *other = rpc_security_none("quarr", "n2");
    struct rpc_security *process = cluster_roles_process(two);
    struct rpc_security *stranger = cluster_roles_process(other);
    struct cluster_roles *r = cluster_roles_new(one, "ops, backup");
    const char *name = rpc_security_principal(process);
    ck_assert_str_eq(name, "quarry:n2");
    ck_assert_str_eq(rpc_security_cluster(process), "quarry");
    ck_assert(has(r, name));
    ck_assert(!has(r, rpc_security_principal(stranger)));
    ck_assert(has(r, "n1") && has(r, "ops") && has(r, "backup") && has(r, ""));
    ck_assert(!has(r, "n2") && !has(r, "quarry") && !has(r, "quarr:y"));
    ck_assert(!cluster_roles_are_proved(r));
    cluster_roles_free(r);
    rpc_security_free(process);
    rpc_security_free(stranger);
    rpc_security_free(other);
    rpc_security_free(two);
    rpc_security_free(one);
}

END_TEST

TEST_MAIN("roles", test_processes)
