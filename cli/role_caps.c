/* Capabilities that jobs may ask for, as section [worker] allows them to a
 * worker or job master. By default, where principals are authenticated, no job
 * runs without a sandbox, and where sandboxes are weak none loads objects.
 */
#include "cli/role_caps.h"

#include "base/core/conf.h"
#include "base/rpc/roles.h"
#include "cli/role.h"
#include "mapreduce/task/caps.h"

#define SECTION "worker"

int role_caps_read(const struct role_env *env,
                   struct job_caps *caps,
                   struct err *err)
{
    bool proved = cluster_roles_are_proved(env->roles);
    bool network = true;
    bool no_sandbox = !proved;
    bool weak = false;
    bool objects;
    uint64_t processes = 0;
    int rc = conf_get_bool(env->conf, SECTION, "weak-sandbox", &weak, err);
    /* In a cage they have what they are lent and nothing else. */
    objects = !proved || !weak;
    if (rc == 0)
        rc = conf_get_bytes(env->conf, SECTION, "max-memory", &caps->memory_max,
                            err);
    if (rc == 0)
        rc = conf_get_u64(env->conf, SECTION, "max-processes", &processes, err);
    if (rc == 0)
        rc = conf_get_bool(env->conf, SECTION, "network", &network, err);
    if (rc == 0)
        rc = conf_get_bool(env->conf, SECTION, "no-sandbox", &no_sandbox, err);
    if (rc == 0)
        rc = conf_get_bool(env->conf, SECTION, "objects", &objects, err);
    if (rc == 0 && processes > UINT32_MAX)
        rc = err_set(err, ERR_INVALID, "[worker] max-processes: too many");
    caps->processes_max = (unsigned)processes;
    caps->no_network = !network;
    caps->sandbox_always = !no_sandbox;
    caps->no_objects = !objects;
    return rc;
}
