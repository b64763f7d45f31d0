/* The command that a worker starts to fork attempts of a job from: its words
 * give the cell, the worker's name and credentials. main() looks for it first;
 * help and completion do not show it, because it works on descriptors of its
 * worker. So does what starts the commands of observers.
 */
#include "cli/attempts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/err.h"
#include "base/core/panic.h"
#include "base/rpc/security.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "gfs-lite/gfs.h"
#include "gfs-lite/routed.h"
#include "jobs/jobs.h"
#include "mapreduce/attempt/exec.h"
#include "mapreduce/cluster/job_paths.h"
#include "mapreduce/sandbox/caged_command.h"

struct attempts {
    char *const *words;
    struct rpc_security *security; /* NULL: not read. */
    const char *principal;         /* The owner of the job; NULL: none. */
    struct quarry_options store;
};

static int open_fs(void *ctx, struct world *w, struct fs **out, struct err *err)
{
    const struct attempts *a = ctx;
    struct gfs_options o = {.namenodes = a->words[ATTEMPTS_CELL],
                            .name = a->words[ATTEMPTS_NAME],
                            .security = a->security};
    bool have_owners = *a->words[ATTEMPTS_CERTIFICATE] != '\0';
    struct fs *own;
    int rc = fs_gfs_open(w, &o, &own, err);
    *out = own;
    if (rc || !a->principal || !have_owners)
        return rc;
    /* It is closed with the process. */
    o.act_as = a->principal;
    rc = fs_gfs_open(w, &o, out, err);
    if (rc)
        fs_close(own);
    else
        *out = fs_routed_new(own, *out, job_own_trees);
    return rc;
}

static void note_principal(void *ctx, const char *principal)
{
    struct attempts *a = ctx;
    a->principal = principal;
}

static int open_security(void *ctx, struct err *err)
{
    struct attempts *a = ctx;
    struct world *w = world_real_new();
    char *const *v = a->words;
    int rc = 0;
    PRE(!a->security);
    if (*v[ATTEMPTS_KEY])
        rc = rpc_security_key(w, v[ATTEMPTS_CLUSTER], v[ATTEMPTS_NAME],
                              v[ATTEMPTS_KEY], &a->security, err);
    else if (*v[ATTEMPTS_CERTIFICATE])
        rc = rpc_security_tls(w, v[ATTEMPTS_CLUSTER], v[ATTEMPTS_CERTIFICATE],
                              v[ATTEMPTS_CERTIFICATE_KEY],
                              v[ATTEMPTS_AUTHORITY], &a->security, err);
    else
        a->security = rpc_security_none(v[ATTEMPTS_CLUSTER], v[ATTEMPTS_NAME]);
    world_free(w);
    a->store.security = a->security;
    return rc;
}

void attempts_command(int argc, char *const *argv)
{
    struct attempts a = {.words = argv + 2, .store = {.must_exist = true}};
    struct attempts_options o = {.find = jobs_find_job,
                                 .identify = open_security,
                                 .is_for = note_principal,
                                 .store = &a.store,
                                 .open_fs = open_fs,
                                 .ctx = &a};
    caged_command_main(argc, argv);
    if (argc != 2 + ATTEMPTS_WORDS || strcmp(argv[1], ATTEMPTS_COMMAND) != 0)
        return;
    o.weak_sandbox = strcmp(a.words[ATTEMPTS_WEAK], "weak") == 0;
    o.slots = (unsigned)strtoul(a.words[ATTEMPTS_SLOTS], NULL, 10);
    attempts_main(&o);
}
